//! Worker threads: timely's, from a configuration made by hand, with panics caught at the edge of the
//! run.
//!
//! timely's own option parser, hostfile and start-up messages are not used. On several processes the
//! sockets are those of the mesh. Workers of a lost run are parked until the process ends: unwinding
//! would panic the engine's threads. [`run_on`] returns at once.

use super::mesh::{Cause, Mesh, MeshError, Shutdown, either, park};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use timely::WorkerConfig;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};
use timely::communication::{Config as Threads, Hooks};
use timely::execute::{Config, execute_from};
use timely::worker::Worker;

/// Why the workers did not all come to an end.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// The worker threads could not be started.
    #[error("cannot start {workers} workers: {reason}")]
    Start {
        /// Requested threads.
        workers: usize,
        /// Error of the engine.
        reason: String,
    },
    /// One panicked (and timely brought the others down).
    #[error("a worker panicked: {0} (a defect of undust; please report it)")]
    Panic(String),
    /// Another process was lost or failed.
    #[error(transparent)]
    Peer(#[from] MeshError),
}

/// Workers of a run: threads of this process, alone or with those of others.
#[derive(Clone, Debug)]
pub struct Crew {
    /// Worker threads of each process.
    pub workers: usize,
    /// The other processes, if any.
    pub mesh: Option<Arc<Mesh>>,
}

/// Notifies the workers of a process that one of them is lost. In one process timely does not: the
/// others would block for ever on its progress.
#[derive(Debug, Default)]
pub struct Alarm {
    rung: AtomicBool,
    /// On several processes.
    shutdown: Option<Arc<Shutdown>>,
}

/// Panic message of the workers that are not the cause.
const ANOTHER: &str = "another worker is lost";

impl Alarm {
    fn ring(&self) {
        self.rung.store(true, Ordering::Release);
    }

    /// Lets `worker` work while `going` holds. Where the run on several processes is lost it does not
    /// return.
    ///
    /// # Panics
    /// When another worker has panicked; [`run`] turns that into an error.
    pub fn work_while(&self, worker: &mut Worker, mut going: impl FnMut() -> bool) {
        while going() {
            if self.shutdown.as_ref().is_some_and(|shutdown| shutdown.is_set()) {
                park();
            }
            if self.rung.load(Ordering::Acquire) {
                resume_unwind(Box::new(ANOTHER.to_owned()));
            }
            worker.step_or_park(Some(LOOK_UP));
        }
    }
}

/// How long a worker without work sleeps before it looks at the alarm.
const LOOK_UP: Duration = Duration::from_millis(20);

/// Runs `work` at each of `workers` threads and gives what they return, by index.
///
/// # Errors
/// [`WorkersError`] when the threads cannot be started or one panics.
pub fn run<T: Send + 'static>(
    workers: usize,
    work: impl Fn(&mut Worker, &Alarm) -> T + Send + Sync + 'static,
) -> Result<Vec<T>, WorkersError> {
    let communication = if workers <= 1 { Threads::Thread } else { Threads::Process(workers) };
    let config = Config { communication, worker: WorkerConfig::default() };
    let alarm = Arc::new(Alarm::default());
    let first: Arc<Mutex<Option<String>>> = Arc::default();
    let cause = first.clone();
    let started = timely::execute(config, move |worker| {
        catch_unwind(AssertUnwindSafe(|| work(worker, &alarm))).unwrap_or_else(|payload| {
            let said = said(payload.as_ref());
            if said != ANOTHER {
                cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(said.to_owned());
            }
            alarm.ring();
            resume_unwind(payload)
        })
    });
    let guards = started.map_err(|reason| WorkersError::Start { workers, reason })?;
    let results: Result<Vec<T>, String> = guards.join().into_iter().collect();
    results.map_err(|said| {
        let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
        WorkersError::Panic(first.unwrap_or(said))
    })
}

/// The message of a panic.
fn said(payload: &(dyn Any + Send)) -> &str {
    let said = payload.downcast_ref::<String>().map(String::as_str);
    said.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Runs `work` at each worker of this process, together with those of the others, and returns the
/// results of this process. After an error the threads of the run are left parked: the process should
/// end.
///
/// # Errors
/// [`WorkersError`] when the threads cannot be started, one panics, or another process is lost or
/// fails.
pub fn run_on<T: Send + 'static>(
    crew: &Crew,
    work: impl Fn(&mut Worker, &Alarm) -> T + Send + Sync + 'static,
) -> Result<Vec<T>, WorkersError> {
    let Some(mesh) = crew.mesh.as_ref().filter(|mesh| mesh.processes() > 1) else { return run(crew.workers, work) };
    let failed = |reason: String| WorkersError::Start { workers: crew.workers, reason };
    let hooks = Hooks::default();
    let threads = ProcessBuilder::new_typed_vector(crew.workers, hooks.refill.clone(), None);
    let (builders, network) =
        initialize_networking_from_sockets(threads, mesh.wires(), mesh.process(), crew.workers, hooks)
            .map_err(|error| failed(error.to_string()))?;
    let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
    let shutdown = mesh.shutdown().clone();
    let alarm = Alarm { shutdown: Some(shutdown.clone()), ..Alarm::default() };
    let told = shutdown.clone();
    let guards = execute_from(builders, Box::new(network), WorkerConfig::default(), move |worker| {
        catch_unwind(AssertUnwindSafe(|| work(worker, &alarm))).unwrap_or_else(|payload| {
            told.record(Cause::Panicked(said(payload.as_ref()).to_owned()));
            park()
        })
    })
    .map_err(failed)?;
    // Joining never ends when the run is lost, so a separate thread does it.
    let answer = Arc::new(Mutex::new(None));
    let (kept, bell) = (answer.clone(), shutdown.clone());
    let joiner = std::thread::Builder::new().name("mesh:join".to_owned()).spawn(move || {
        let results: Vec<Result<T, String>> = guards.join();
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(results);
        bell.notify();
    });
    joiner.map_err(|error| failed(error.to_string()))?;
    match either(&shutdown, &answer) {
        Some(results) => results.into_iter().collect::<Result<Vec<T>, String>>().map_err(WorkersError::Panic),
        None => match (shutdown.cause(), mesh.error()) {
            (Some(Cause::Panicked(said)), _) => Err(WorkersError::Panic(said)),
            (_, Some(error)) => Err(WorkersError::Peer(error)),
            (_, None) => Err(WorkersError::Panic("the run ended without a reason".to_owned())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_return_in_order() {
        for workers in 1..4 {
            let indices = run(workers, |worker, _| worker.index()).expect("ran");
            assert_eq!(indices, (0..workers).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        for workers in [1, 2, 3] {
            let error = run(workers, |worker, alarm| {
                assert!(worker.index() != 0, "the first gives up");
                // The others block on progress that never comes.
                alarm.work_while(worker, || true);
            })
            .expect_err("panicked");
            assert!(matches!(&error, WorkersError::Panic(said) if said == "the first gives up"), "{error}");
        }
    }
}
