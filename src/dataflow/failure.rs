//! Failures of a run, and running its workers.

use crate::runtime::mesh::{Cause, Mesh, Shutdown};
use crate::runtime::workers::{self, Alarm, Crew, WorkersError};
use crate::spill::Scratch;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use timely::worker::Worker;

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

/// Runs `work` at `workers` threads, together with those of the other processes of `mesh`; gives what
/// they return, by index. `scratch` of a lost run is removed here: its workers are parked and never
/// release it. A failure that was recorded is for the caller to [check](Failure::check) first.
///
/// # Errors
/// [`WorkersError`] when the threads cannot be started, one panics, or another process is lost or fails.
pub fn run_workers<T: Send + 'static>(
    workers: usize,
    mesh: Option<&Arc<Mesh>>,
    scratch: &[&Scratch],
    work: impl Fn(&mut Worker, &Alarm) -> T + Send + Sync + 'static,
) -> Result<Vec<T>, WorkersError> {
    let worked = workers::run_on(&Crew { workers: workers.max(1), mesh: mesh.cloned() }, work);
    if worked.is_err() && mesh.is_some() {
        scratch.iter().for_each(|scratch| scratch.discard());
    }
    worked
}
