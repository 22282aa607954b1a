//! Running the workers of a dataflow, alone or with other processes.

use crate::runtime::mesh::Mesh;
use crate::runtime::workers::{self, Alarm, Crew, WorkersError};
use crate::spill::Scratch;
use std::sync::Arc;
use timely::worker::Worker;

/// Runs `work` at `workers` threads, together with those of the other processes of `mesh`; gives what
/// they return, by index. `scratch` of a lost run is removed here: its workers are parked and never
/// release it. A failure that was recorded is for the caller to check first (`Failure::check`).
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
