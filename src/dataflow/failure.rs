//! The first failure of a run.

use crate::runtime::mesh::{Cause, Mesh, Shutdown};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first failure at the workers of a process. Sources stop at the next batch.
#[derive(Debug)]
pub struct Failure<E> {
    /// On several processes: this one's index, and the common shutdown of the run.
    shutdown: Option<(usize, Arc<Shutdown>)>,
    failed: AtomicBool,
    first: Mutex<Option<E>>,
}

impl<E> Failure<E> {
    /// None yet, of a run with the processes of `mesh`.
    pub fn new(mesh: Option<&Arc<Mesh>>) -> Failure<E> {
        let shutdown = mesh.map(|mesh| (mesh.process(), mesh.shutdown().clone()));
        Failure { shutdown, failed: AtomicBool::new(false), first: Mutex::new(None) }
    }

    /// Keeps the first failure. On several processes the run ends here: the dataflow would not inform the
    /// others in time.
    pub fn record(&self, error: impl Into<E>) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error.into());
        self.failed.store(true, Ordering::Release);
        if let Some((process, shutdown)) = &self.shutdown {
            shutdown.record(Cause::Failed { process: *process, reason: String::new() });
        }
    }

    /// True once something has failed.
    pub fn is_set(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// The failure, if any.
    ///
    /// # Errors
    /// The failure itself.
    pub fn check(&self) -> Result<(), E> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}
