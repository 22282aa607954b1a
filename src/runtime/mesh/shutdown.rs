//! How a run on several processes ends early: the first cause, shared by all threads of a process.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Why a run ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A peer is gone or silent, or this process was stopped for so long that its peers gave it up.
    Lost {
        /// Index of the process.
        process: usize,
        /// How the loss shows.
        what: String,
    },
    /// A peer gave up and said why.
    Failed {
        /// Index of the process.
        process: usize,
        /// Its reason.
        reason: String,
    },
    /// A worker of this process panicked.
    Panicked(String),
}

/// The first cause, if any, and a condition variable for threads that block on it.
#[derive(Debug, Default)]
pub struct Shutdown {
    set: AtomicBool,
    cause: Mutex<Option<Cause>>,
    changed: Condvar,
}

impl Shutdown {
    fn lock(&self) -> MutexGuard<'_, Option<Cause>> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a cause; only the first one counts.
    pub fn record(&self, cause: Cause) {
        self.lock().get_or_insert(cause);
        self.set.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Whether a cause was recorded. One atomic load.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// The recorded cause.
    pub fn cause(&self) -> Option<Cause> {
        self.lock().clone()
    }

    /// Ends every [`wait`](Self::wait) that is in progress.
    pub fn notify(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Returns when a cause is recorded, at [`notify`](Self::notify), or after `time`.
    pub fn wait(&self, time: Duration) {
        let cause = self.lock();
        if cause.is_none() {
            drop(self.changed.wait_timeout(cause, time).unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Parks the calling thread for ever: in a run that is lost, unwinding would panic the engine's
/// threads.
pub fn park() -> ! {
    loop {
        std::thread::park();
    }
}
