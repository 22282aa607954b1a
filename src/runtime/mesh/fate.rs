//! What becomes of a run: the first thing that goes wrong decides, and everyone can wait for it.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What went wrong first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A peer is gone or silent.
    Lost {
        /// Which.
        process: usize,
        /// How that shows.
        what: String,
    },
    /// A peer gave up and said why.
    Failed {
        /// Which.
        process: usize,
        /// Why.
        reason: String,
    },
    /// A worker of this process panicked.
    Panicked(String),
}

/// Shared by all threads of a process.
#[derive(Debug, Default)]
pub struct Fate {
    sealed: AtomicBool,
    cause: Mutex<Option<Cause>>,
    bell: Condvar,
}

impl Fate {
    fn lock(&self) -> MutexGuard<'_, Option<Cause>> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what went wrong; only the first to do so counts.
    pub fn seal(&self, cause: Cause) {
        self.lock().get_or_insert(cause);
        self.sealed.store(true, Ordering::Release);
        self.bell.notify_all();
    }

    /// True once something went wrong. Cheap.
    pub fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }

    /// What went wrong, if anything.
    pub fn cause(&self) -> Option<Cause> {
        self.lock().clone()
    }

    /// Wakes whoever waits.
    pub fn nudge(&self) {
        drop(self.lock());
        self.bell.notify_all();
    }

    /// Waits until something goes wrong, someone nudges, or the time is over.
    pub fn wait(&self, time: Duration) {
        let cause = self.lock();
        if cause.is_none() {
            drop(self.bell.wait_timeout(cause, time).unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Where threads end that must neither go on nor unwind: a run that is lost ends as a process, and the engine's threads
/// would panic on their way out.
pub fn rest() -> ! {
    loop {
        std::thread::park();
    }
}
