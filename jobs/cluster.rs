//! Runs on several processes: the arguments that name them, and how a job begins and ends among peers.

use super::exit::Exit;
use super::failure::{Failure, chain};
use super::messages::say;
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use undust::io::journal::JournalError;
use undust::io::{IoError, Rejects, Shard, fingerprint};
use undust::model::hash128;
use undust::runtime::hosts::{Cluster, HostsError};
use undust::runtime::mesh::hello::Terms;
use undust::runtime::mesh::{Mesh, MeshError, ThisProcess};
use undust::runtime::secret::{Secret, SecretError};
use undust::runtime::workers::WorkersError;

/// Environment variable with the file of the secret where `cluster.toml` names none.
const SECRET_FILE: &str = "UNDUST_SECRET_FILE";

/// Arguments of a run on several processes.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Several machines")]
pub struct ClusterArgs {
    /// One process a line, address:port, process 0 (which writes the result) first; # begins a comment.
    #[arg(long, value_name = "FILE", requires = "process", conflicts_with = "cluster")]
    hostfile: Option<PathBuf>,
    /// The hosts and more: see the sample cluster.toml.
    #[arg(long, value_name = "FILE", requires = "process")]
    cluster: Option<PathBuf>,
    /// Index of this process among the hosts, from 0.
    #[arg(long, value_name = "I")]
    process: Option<usize>,
}

/// Location of the inputs of a run on several processes.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Several machines")]
pub struct ShardArgs {
    /// The inputs are on this host's own disks: this process reads all of them. Else they are on a file
    /// system that all share, and each process reads its part.
    #[arg(long, requires = "process")]
    pub local_shards: bool,
}

impl ShardArgs {
    /// The state of the shards on which all processes of a run must agree. `cluster`: the list of hosts, if
    /// any.
    ///
    /// # Errors
    /// Errors of [`fingerprint::contents`].
    pub fn agreed(self, cluster: Option<&Cluster>, shards: &[Shard]) -> Result<String, IoError> {
        match cluster {
            None => Ok(String::new()),
            Some(_) if self.local_shards => Ok("local".to_owned()),
            Some(_) => fingerprint::contents(shards),
        }
    }
}

/// Reason why a run on several processes does not begin.
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
    /// The shards cannot be read.
    #[error(transparent)]
    Shards(#[from] IoError),
    /// Work of an earlier run cannot be resumed.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl ClusterError {
    /// The exit code of the job.
    pub fn exit(&self) -> Exit {
        match self {
            ClusterError::Usage(_) | ClusterError::Hosts(_) | ClusterError::Secret(_) => Exit::Usage,
            ClusterError::Mesh(MeshError::Config(_) | MeshError::Refused { .. }) => Exit::Usage,
            ClusterError::Mesh(MeshError::NeverCame { .. } | MeshError::Lost { .. }) => Exit::PeerLost,
            ClusterError::Mesh(MeshError::Failed { .. }) => Exit::Failed,
            ClusterError::Journal(JournalError::Stale { .. }) => Exit::Usage,
            ClusterError::Journal(_) | ClusterError::Shards(_) => Exit::Failed,
        }
    }

    /// The failure of the job.
    pub fn into_failure(self) -> Failure {
        Failure::new(self.exit(), self)
    }
}

/// The failure of a job whose workers were lost: with the exit code of a lost peer where it was one.
pub fn lost(error: WorkersError) -> Failure {
    match error {
        WorkersError::Peer(error) => ClusterError::Mesh(error).into_failure(),
        error => Failure::new(Exit::Failed, error),
    }
}

/// Runs this process's part of a job that begins and ends with those of `mesh`, with an orderly
/// shutdown, or sends the reason of its failure to the others.
///
/// # Errors
/// Errors of `part`.
pub fn together(mesh: Option<&Mesh>, part: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let done = part();
    if let Some(mesh) = mesh {
        match &done {
            Ok(()) => mesh.farewell(),
            Err(failure) if matches!(failure.exit(), Exit::TooManyRejects | Exit::ReaderGone) => mesh.farewell(),
            Err(failure) => mesh.give_up(&chain(failure.error())),
        }
    }
    done
}

/// The rejects of all processes, at each of them. Every process must call it.
///
/// # Errors
/// [`ClusterError::Mesh`].
pub fn all_rejects(mesh: &Mesh, mine: &Rejects) -> Result<Rejects, ClusterError> {
    merged(mesh, mine, Rejects::merge)
}

/// The counts of all processes, merged by process 0, at each of them. Every process must call it.
///
/// # Errors
/// [`ClusterError::Mesh`].
pub fn merged<T: Clone + Serialize + DeserializeOwned>(
    mesh: &Mesh,
    mine: &T,
    merge: impl Fn(&mut T, T),
) -> Result<T, ClusterError> {
    let note = |counts: &T| serde_json::to_vec(counts).expect("counts are JSON");
    let read = |note: &[u8]| {
        serde_json::from_slice::<T>(note).map_err(|error| MeshError::Config(format!("another build? {error}")))
    };
    let mut all = mine.clone();
    for part in mesh.gather(note(mine))?.iter().flatten().skip(1) {
        merge(&mut all, read(part)?);
    }
    Ok(read(&mesh.broadcast(note(&all))?)?)
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

    /// The index of this process.
    pub fn process(&self) -> usize {
        self.process.unwrap_or_default()
    }

    /// Connects to the other processes. `parameters` and `shards` are digests on which all must agree.
    ///
    /// # Errors
    /// [`ClusterError`].
    pub fn meet(
        &self,
        cluster: Option<&Cluster>,
        workers: usize,
        parameters: &str,
        shards: &str,
    ) -> Result<Option<Arc<Mesh>>, ClusterError> {
        let Some(cluster) = cluster else { return Ok(None) };
        let file = cluster.secret_file.clone().or_else(|| std::env::var_os(SECRET_FILE).map(PathBuf::from));
        let secret = match file {
            Some(file) => Secret::read(&file)?,
            None if cluster.is_local() => Secret::none(),
            None => {
                return Err(ClusterError::Usage(format!(
                    "no secret: make one with `undust secret --out FILE` and name it in cluster.toml (secret_file) or in \
                     the environment variable {SECRET_FILE}; without one, each address and each `listen` must be a \
                     loopback address"
                )));
            }
        };
        let terms = Terms {
            processes: cluster.hosts.len(),
            workers,
            encrypt: cluster.encrypts(),
            build: build()?,
            parameters: parameters.to_owned(),
            shards: shards.to_owned(),
        };
        let place = ThisProcess { process: self.process(), secret, terms };
        Ok(Some(Arc::new(Mesh::join(cluster, place, Arc::new(|line: &str| say(line)))?)))
    }
}

/// Digest of the parameters that determine the result.
pub fn digest_of(what: &impl Serialize) -> String {
    digest(&serde_json::to_vec(what).expect("parameters are JSON"))
}

pub(super) fn digest(bytes: &[u8]) -> String {
    format!("{:032x}", hash128(bytes))
}

/// Digest of the executable: two builds of one version may learn different rules.
pub(super) fn build() -> Result<String, ClusterError> {
    fingerprint::executable()
        .map_err(|error| MeshError::Config(format!("cannot read the executable of this process: {error}")).into())
}

/// `name.ext` with the index of the process that writes it: `name.INDEX.ext`.
pub(super) fn part_of(out: &Path, process: usize) -> PathBuf {
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extension) = name.split_once('.').map_or((&*name, String::new()), |(a, b)| (a, format!(".{b}")));
    out.with_file_name(format!("{stem}.{process}{extension}"))
}
