//! Runs on several processes: the arguments that name them, and how a job begins and ends among peers.
use super::report::{Exit, say};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;
use undust::dataflow::types::LearnedSite;
use undust::dataflow::{Journal, SourceError};
use undust::io::Shard;
use undust::io::journal::{self, Binding, JournalError};
use undust::model::hash128;
use undust::runtime::hosts::{Cluster, HostsError};
use undust::runtime::mesh::hello::Terms;
use undust::runtime::mesh::{Mesh, MeshError, Place};
use undust::runtime::secret::{Secret, SecretError};

/// Names the file of the secret where `cluster.toml` does not.
const SECRET_FILE: &str = "UNDUST_SECRET_FILE";

/// Where a job runs.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Several machines")]
pub struct ClusterArgs {
    /// One process a line, address:port, process 0 (which writes the result) first; # begins a comment.
    #[arg(long, value_name = "FILE", requires = "process", conflicts_with = "cluster")]
    hostfile: Option<PathBuf>,
    /// The hosts and more: see the sample cluster.toml.
    #[arg(long, value_name = "FILE", requires = "process")]
    cluster: Option<PathBuf>,
    /// Which of the hosts this process is, from 0.
    #[arg(long, value_name = "I")]
    process: Option<usize>,
    /// The inputs are on this host's own disks: this process reads all of them. Else they are on a file system that all
    /// share, and each process reads its part.
    #[arg(long)]
    pub local_shards: bool,
    /// Goes on with a run that ended early: sites that it learned are not learned again. They are kept in DIR/.work until
    /// the run is whole, by runs on several processes, and by those on one with this option: give it from the start.
    #[arg(long, conflicts_with = "overwrite")]
    pub resume: bool,
}

/// Why a run on several processes does not begin.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Arguments that do not go together.
    #[error("{0}")]
    Usage(String),
    /// The list of hosts is faulty.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// The secret cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The processes did not meet, or one was lost.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// Work of an earlier run cannot be taken up.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl ClusterError {
    /// How the job ends (design, section 3).
    pub fn exit(&self) -> Exit {
        match self {
            ClusterError::Usage(_) | ClusterError::Hosts(_) | ClusterError::Secret(_) => Exit::Usage,
            ClusterError::Mesh(MeshError::Config(_) | MeshError::Refused { .. }) => Exit::Usage,
            ClusterError::Mesh(MeshError::NeverCame { .. } | MeshError::Lost { .. }) => Exit::PeerLost,
            ClusterError::Mesh(MeshError::Failed { .. }) => Exit::Failed,
            ClusterError::Journal(JournalError::Stale { .. }) => Exit::Usage,
            ClusterError::Journal(_) => Exit::Failed,
        }
    }
}

impl ClusterArgs {
    /// The list of hosts, if one was given.
    ///
    /// # Errors
    /// [`ClusterError::Hosts`], [`ClusterError::Usage`].
    pub fn read(&self) -> Result<Option<Cluster>, ClusterError> {
        let cluster = match (&self.hostfile, &self.cluster) {
            (Some(path), _) => Cluster::from_hostfile(path)?,
            (None, Some(path)) => Cluster::from_toml(path)?,
            (None, None) if self.process.is_some() => {
                return Err(ClusterError::Usage("--process goes with --hostfile FILE or --cluster FILE".to_owned()));
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(cluster))
    }

    /// Meets the other processes. `parameters` and `shards` are digests that all must agree on.
    ///
    /// # Errors
    /// [`ClusterError`].
    pub fn meet(
        &self,
        cluster: Option<&Cluster>,
        workers: usize,
        parameters: &str,
        shards: &[Shard],
    ) -> Result<Option<Arc<Mesh>>, ClusterError> {
        let Some(cluster) = cluster else { return Ok(None) };
        let file = cluster.secret_file.clone().or_else(|| std::env::var_os(SECRET_FILE).map(PathBuf::from));
        let secret = match file {
            Some(file) => Secret::read(&file)?,
            None if cluster.is_local() => Secret::none(),
            None => {
                return Err(ClusterError::Usage(format!(
                    "no secret: name its file in cluster.toml (secret_file) or in the environment variable {SECRET_FILE}; \
                     without one all addresses must be loopback addresses"
                )));
            }
        };
        let terms = Terms {
            processes: cluster.hosts.len(),
            workers,
            encrypt: cluster.encrypts(),
            parameters: parameters.to_owned(),
            shards: if self.local_shards { "local".to_owned() } else { shard_digest(shards, false) },
        };
        let place = Place { process: self.process.unwrap_or_default(), secret, terms };
        Ok(Some(Arc::new(Mesh::join(cluster, place, Arc::new(|line: &str| say(line)))?)))
    }

    /// The journal of learned sites in the folder of the result: process 0 must have made that ready.
    ///
    /// # Errors
    /// [`ClusterError::Journal`], [`ClusterError::Mesh`].
    pub fn journal(
        &self,
        mesh: Option<&Mesh>,
        out: &Path,
        parameters: &str,
        shards: &[Shard],
    ) -> Result<Arc<LearnedSites>, ClusterError> {
        let mut input = shard_digest(shards, true);
        if let Some(mesh) = mesh {
            // One digest for all, whoever sees which shards and with which times.
            let all = mesh.gather(input.into_bytes())?;
            let all = all.map_or_else(Vec::new, |all| if self.local_shards { all.concat() } else { all[0].clone() });
            input = digest(&mesh.broadcast(all)?);
        }
        let binding = Binding::new(parameters.to_owned(), input);
        let folder = out.join(undust::io::output::WORK);
        let process = mesh.map_or(0, Mesh::process);
        let open = if self.resume { journal::Journal::resume } else { journal::Journal::create };
        let journal = open(&folder, process, &binding)?;
        Ok(Arc::new(LearnedSites { journal, taken: AtomicUsize::new(0), kept: AtomicUsize::new(0) }))
    }
}

/// A digest of whatever decides on the result.
pub fn digest_of(what: &impl Serialize) -> String {
    digest(&serde_json::to_vec(what).expect("parameters are JSON"))
}

fn digest(bytes: &[u8]) -> String {
    format!("{:032x}", hash128(bytes))
}

/// A digest of the shards: names, formats and sizes; not the folders they are in, which may differ between hosts. With
/// `times` also when they were changed last.
fn shard_digest(shards: &[Shard], times: bool) -> String {
    let mut text = String::new();
    for shard in shards {
        let name = shard.path.file_name().unwrap_or_default();
        let changed = times.then(|| shard.path.metadata().and_then(|meta| meta.modified()).ok()).flatten();
        let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_nanos());
        text.push_str(&format!("{name:?} {:?} {:?} {} {changed:?}\n", shard.format, shard.range, shard.size));
    }
    digest(text.as_bytes())
}

/// Learned sites as pieces of a journal.
#[derive(Debug)]
pub struct LearnedSites {
    journal: journal::Journal,
    taken: AtomicUsize,
    kept: AtomicUsize,
}

impl LearnedSites {
    /// Sites that were taken from an earlier run, and sites that were learned, at this process.
    pub fn counts(&self) -> (usize, usize) {
        (self.taken.load(Ordering::Relaxed), self.kept.load(Ordering::Relaxed))
    }

    /// The run is whole: nothing is to be taken up. For a process that does not write the result.
    pub fn remove(self: Arc<LearnedSites>) {
        if let Ok(sites) = Arc::try_unwrap(self) {
            sites.journal.remove();
        }
    }
}

impl Journal for LearnedSites {
    fn finished(&self, site: &str) -> Result<Option<LearnedSite>, SourceError> {
        let Some(content) = self.journal.get(site)? else { return Ok(None) };
        let learned = serde_json::from_slice(&content)?;
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(Some(learned))
    }

    fn keep(&self, site: &LearnedSite) -> Result<(), SourceError> {
        self.kept.fetch_add(1, Ordering::Relaxed);
        Ok(self.journal.put(&site.rules.site, &serde_json::to_vec(site)?)?)
    }
}
