//! Ordered pipeline: blocks pass worker threads and leave in the order in which they came.
//!
//! ```text
//!            worker 0, 1, .. N-1
//! source ->  read, work, put in its place  -> receiver
//!   ^------------- empty blocks -----------------|
//! ```
//! There are no threads but the workers: each reads the next block when it has none, and the worker
//! that finishes the block due next passes it, and finished ones behind it, to the receiver. A slow worker
//! delays nothing but the receiver. A fixed number of blocks circulates: memory is bounded by them, and a
//! slow receiver holds the source back.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Blocks in the pipeline for each worker: one under work, the others done before their turn.
const BLOCKS_PER_WORKER: usize = 4;

/// Runs blocks through `workers` threads. `source` fills a block that it must clear first, or returns
/// false at the end; `work` is called with a state made by `state` for each thread; `receive` takes the
/// blocks in order. Source and receiver are called by one thread at a time, not always the same one. With
/// one worker everything happens on the calling thread.
///
/// # Errors
/// The first error of the receiver, else of the source; blocks before the error of the source go through
/// first.
pub fn in_order<B: Default + Send, S, E: Send>(
    workers: usize,
    mut source: impl FnMut(&mut B) -> Result<bool, E> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut B, &mut S) + Sync,
    mut receive: impl FnMut(&mut B) -> Result<(), E> + Send,
) -> Result<(), E> {
    if workers <= 1 {
        let mut state = state();
        let mut block = B::default();
        while source(&mut block)? {
            work(&mut block, &mut state);
            receive(&mut block)?;
        }
        return Ok(());
    }
    let line = Pipeline {
        source: Mutex::new(Source { fill: source, next: 0, ended: false, error: None }),
        done: Mutex::new(Done {
            receive: Some(receive),
            next: 0,
            waiting: BTreeMap::new(),
            free: (0..workers * BLOCKS_PER_WORKER).map(|_| B::default()).collect(),
            stopped: false,
            error: None,
        }),
        freed: Condvar::new(),
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(|| line.run(&state, &work));
        }
        line.run(&state, &work);
    });
    let done = line.done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let source = line.source.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.error.or(source.error).map_or(Ok(()), Err)
}

/// State shared by the workers.
struct Pipeline<B, E, F, K> {
    source: Mutex<Source<E, F>>,
    done: Mutex<Done<B, E, K>>,
    /// A block became free, or the run stopped.
    freed: Condvar,
}

struct Source<E, F> {
    fill: F,
    /// Number of the next block.
    next: u64,
    ended: bool,
    error: Option<E>,
}

struct Done<B, E, K> {
    /// Taken by the worker that uses it.
    receive: Option<K>,
    /// Number of the block that is due next.
    next: u64,
    /// Blocks finished before their turn.
    waiting: BTreeMap<u64, B>,
    free: Vec<B>,
    stopped: bool,
    error: Option<E>,
}

impl<B, E, F, K> Pipeline<B, E, F, K>
where
    F: FnMut(&mut B) -> Result<bool, E>,
    K: FnMut(&mut B) -> Result<(), E>,
{
    /// Runs a worker.
    fn run<S>(&self, state: &impl Fn() -> S, work: &impl Fn(&mut B, &mut S)) {
        // A worker that panics releases those blocked on its block.
        let _ends = Ends(self);
        let mut state = state();
        while let Some(mut block) = self.free_block() {
            let Some(number) = self.read(&mut block) else {
                self.done().free.push(block);
                self.freed.notify_all();
                return;
            };
            work(&mut block, &mut state);
            self.put(number, block);
        }
    }

    fn done(&self) -> MutexGuard<'_, Done<B, E, K>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block to fill; `None` where the run has stopped.
    fn free_block(&self) -> Option<B> {
        let mut done = self.done();
        loop {
            if done.stopped {
                return None;
            }
            if let Some(block) = done.free.pop() {
                return Some(block);
            }
            done = self.freed.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Fills a block and gives its number; `None` at the end.
    fn read(&self, block: &mut B) -> Option<u64> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if source.ended {
            return None;
        }
        match (source.fill)(block) {
            Ok(true) => {
                source.next += 1;
                return Some(source.next - 1);
            }
            Ok(false) => {}
            Err(error) => source.error = Some(error),
        }
        source.ended = true;
        None
    }

    /// Finishes a block, and passes due blocks to the receiver.
    fn put(&self, number: u64, block: B) {
        let mut done = self.done();
        done.waiting.insert(number, block);
        // A worker that has the receiver checks here again before it returns it.
        let Some(mut receive) = done.receive.take() else { return };
        while !done.stopped {
            let turn = done.next;
            let Some(mut block) = done.waiting.remove(&turn) else { break };
            done.next += 1;
            drop(done);
            let received = receive(&mut block);
            done = self.done();
            done.free.push(block);
            if let Err(error) = received {
                done.error = Some(error);
                done.stopped = true;
            }
            self.freed.notify_all();
        }
        done.receive = Some(receive);
    }
}

/// Stops the run where a worker panics.
struct Ends<'l, B, E, F, K>(&'l Pipeline<B, E, F, K>);

impl<B, E, F, K> Drop for Ends<'_, B, E, F, K> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.done.lock().unwrap_or_else(PoisonError::into_inner).stopped = true;
            self.0.freed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Squares 0..n; odd blocks take longer, so that order is not luck.
    fn squares(
        workers: usize,
        n: u64,
        fail_source_at: u64,
        fail_receiver_at: u64,
    ) -> (Vec<u64>, Result<(), &'static str>) {
        let mut next = 0;
        let mut out = Vec::new();
        let result = in_order(
            workers,
            |block: &mut u64| {
                if next == fail_source_at {
                    return Err("source");
                }
                *block = next;
                next += 1;
                Ok(*block < n)
            },
            || (),
            |block, ()| {
                if *block % 2 == 1 && *block < 20 {
                    thread::sleep(Duration::from_millis(2));
                }
                *block *= *block;
            },
            |block| {
                if out.len() as u64 == fail_receiver_at {
                    return Err("receiver");
                }
                out.push(*block);
                Ok(())
            },
        );
        (out, result)
    }

    #[test]
    fn blocks_come_out_in_order() {
        for workers in 1..=5 {
            for n in [0, 1, 2, 7, 1000] {
                let expected: Vec<u64> = (0..n).map(|i| i * i).collect();
                assert_eq!(squares(workers, n, u64::MAX, u64::MAX), (expected, Ok(())), "{workers} workers");
            }
        }
    }

    #[test]
    fn what_came_before_an_error_of_the_source_comes_out() {
        for workers in 1..=4 {
            assert_eq!(squares(workers, 100, 10, u64::MAX), ((0..10).map(|i| i * i).collect(), Err("source")));
        }
    }

    #[test]
    fn an_error_of_the_receiver_ends_everything() {
        for workers in 1..=4 {
            let (out, result) = squares(workers, u64::MAX, u64::MAX, 3);
            assert_eq!((out, result), (vec![0, 1, 4], Err("receiver")), "{workers} workers, endless source");
        }
    }

    #[test]
    fn a_panic_of_a_worker_ends_everything() {
        let mut next = 0u64;
        let source = |block: &mut u64| {
            *block = next;
            next += 1;
            Ok::<bool, ()>(true)
        };
        let work = |block: &mut u64, (): &mut ()| assert!(*block != 5, "block 5");
        let run = std::panic::AssertUnwindSafe(|| in_order(2, source, || (), work, |_| Ok(())));
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
