//! Leader barrier: the first worker of a process publishes a value, for which the others are parked.

use crate::runtime::workers::Alarm;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use timely::worker::Worker;

/// A value that its first worker publishes, and the threads that wait for it: they are parked, and woken
/// when it changes.
#[derive(Debug)]
pub struct LeaderBarrier<T>(Mutex<(Option<T>, Vec<Thread>)>);

impl<T> Default for LeaderBarrier<T> {
    fn default() -> LeaderBarrier<T> {
        LeaderBarrier(Mutex::new((None, Vec::new())))
    }
}

impl<T> LeaderBarrier<T> {
    fn lock(&self) -> MutexGuard<'_, (Option<T>, Vec<Thread>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a value.
    pub fn publish(&self, value: T) {
        self.change(|known| *known = Some(value));
    }

    /// Changes the published value, if there is one.
    pub fn update(&self, change: impl FnOnce(&mut T)) {
        self.change(|known| known.as_mut().map_or((), change));
    }

    fn change(&self, change: impl FnOnce(&mut Option<T>)) {
        let mut state = self.lock();
        change(&mut state.0);
        state.1.drain(..).for_each(|waiting| waiting.unpark());
    }

    /// Result of `read` on the value, as soon as it is some; until then `worker` steps its dataflows.
    pub fn wait<R>(&self, worker: &mut Worker, alarm: &Alarm, read: impl Fn(&T) -> Option<R>) -> R {
        let mut found = None;
        alarm.work_while(worker, || {
            let mut state = self.lock();
            found = state.0.as_ref().and_then(&read);
            let waits = found.is_none();
            let this = std::thread::current();
            if waits && state.1.iter().all(|waiting| waiting.id() != this.id()) {
                state.1.push(this);
            }
            waits
        });
        found.expect("waited for")
    }

    /// The value, for the end of the run.
    pub fn take(&self) -> Option<T> {
        self.lock().0.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::workers;
    use std::sync::Arc;

    #[test]
    fn waiting_workers_see_the_published_value() {
        for workers in 1..=4 {
            let barrier: Arc<LeaderBarrier<usize>> = Arc::default();
            let theirs = barrier.clone();
            let seen = workers::run(workers, move |worker, alarm| {
                let mut seen = Vec::new();
                for round in 0..50 {
                    if worker.index() == 0 {
                        match round {
                            0 => theirs.publish(0),
                            _ => theirs.update(|known| *known = round),
                        }
                    }
                    seen.push(theirs.wait(worker, alarm, |&known| (known >= round).then_some(known)) >= round);
                }
                seen
            });
            assert!(seen.expect("no worker fails").iter().flatten().all(|&saw| saw));
            assert_eq!(barrier.take(), Some(49));
            assert_eq!(barrier.take(), None);
        }
    }
}
