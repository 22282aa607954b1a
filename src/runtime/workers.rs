//! Worker threads: timely's, from a configuration made by hand, with panics caught at the edge of the run.
//!
//! timely's own option parser, hostfile and start-up messages stay out of it (design, section 11).
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use timely::WorkerConfig;
use timely::communication::Config as Threads;
use timely::execute::Config;
use timely::worker::Worker;

/// Why the workers did not all come to an end.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// They could not be started.
    #[error("cannot start {workers} workers: {reason}")]
    Start {
        /// Threads asked for.
        workers: usize,
        /// What the engine said.
        reason: String,
    },
    /// One panicked (and timely brought the others down).
    #[error("a worker panicked: {0} (a defect of undust; please report it)")]
    Panic(String),
}

/// Tells the workers of a process that one of them is lost. In one process timely does not: the others would wait for
/// ever for its progress.
#[derive(Debug, Default)]
pub struct Alarm(AtomicBool);

/// What workers end with that are well themselves.
const ANOTHER: &str = "another worker is lost";

impl Alarm {
    fn ring(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Lets `worker` work while `going` holds.
    ///
    /// # Panics
    /// When another worker has panicked; [`run`] turns that into an error.
    pub fn work_while(&self, worker: &mut Worker, mut going: impl FnMut() -> bool) {
        while going() {
            if self.0.load(Ordering::Acquire) {
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
            let said = payload.downcast_ref::<String>().map(String::as_str);
            let said = said.or(payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
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
                // The others wait for progress that never comes.
                alarm.work_while(worker, || true);
            })
            .expect_err("panicked");
            assert!(matches!(&error, WorkersError::Panic(said) if said == "the first gives up"), "{error}");
        }
    }
}
