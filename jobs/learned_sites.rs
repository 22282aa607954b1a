//! Learned sites as pieces of a journal beside the result, for `learn --resume`.
use super::cluster::{ClusterError, build, digest};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use undust::dataflow::learned_site::LearnedSite;
use undust::dataflow::{Journal, SourceError};
use undust::io::journal::{self, Binding};
use undust::io::{Shard, fingerprint};
use undust::runtime::mesh::Mesh;

/// Learned sites as pieces of a journal.
#[derive(Debug)]
pub struct LearnedSites {
    journal: journal::Journal,
    taken: AtomicUsize,
    kept: AtomicUsize,
}

impl LearnedSites {
    /// Opens the journal in the folder of the result, which process 0 must have prepared; with `resume` it
    /// reads the pieces there. `agreed`: the common digest of the shards of all processes. `local`: each
    /// process has shards of its own.
    ///
    /// # Errors
    /// [`ClusterError::Shards`], [`ClusterError::Journal`], [`ClusterError::Mesh`].
    pub fn open(
        out: &Path,
        resume: bool,
        mesh: Option<&Mesh>,
        parameters: &str,
        agreed: &str,
        shards: &[Shard],
        local: bool,
    ) -> Result<Arc<LearnedSites>, ClusterError> {
        let shared = mesh.is_some() && !local;
        let contents = if shared { agreed.to_owned() } else { fingerprint::contents(shards)? };
        let mut input = contents + &fingerprint::times(shards);
        if let Some(mesh) = mesh {
            // One digest for all, whichever process has which shards and times.
            let all = mesh.gather(input.into_bytes())?;
            let all = all.map_or_else(Vec::new, |all| if local { all.concat() } else { all[0].clone() });
            input = digest(&mesh.broadcast(all)?);
        }
        let binding = Binding::new(build()?, parameters.to_owned(), input);
        let folder = out.join(undust::io::output::WORK);
        let process = mesh.map_or(0, Mesh::process);
        let open = if resume { journal::Journal::resume } else { journal::Journal::create };
        let journal = open(&folder, process, &binding)?;
        Ok(Arc::new(LearnedSites { journal, taken: AtomicUsize::new(0), kept: AtomicUsize::new(0) }))
    }

    /// Numbers of sites from an earlier run, and of sites learned, at this process.
    pub fn counts(&self) -> (usize, usize) {
        (self.taken.load(Ordering::Relaxed), self.kept.load(Ordering::Relaxed))
    }

    /// Removes the journal of a complete run. For a process that does not write the result.
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
