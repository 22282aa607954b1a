//! Blocks through worker threads, out in the order in which they came in.
//!
//! ```text
//! source -> worker 0, 1, .. N-1 -> sink        block k goes through worker k mod N
//!   ^------------- empty blocks -----|
//! ```
//! Block k is dealt to worker k mod N and taken back from the same worker, so order needs no buffer of its own. A fixed
//! number of blocks goes round: memory is bounded by them, and a slow sink holds the source back.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Blocks in the pipeline for each worker: one under work, one waiting, one under way to or from it.
const BLOCKS_PER_WORKER: usize = 3;

/// Runs blocks through `workers` threads. `source` fills a block that it must clear first, or says false at the end;
/// `work` is called with a state made by `state` for each thread; `sink` takes the blocks in order, on the calling thread.
/// With one worker everything happens on the calling thread.
///
/// # Errors
/// The first of the sink, else of the source; what the source gave before its error goes through first.
pub fn in_order<B: Default + Send, S, E: Send>(
    workers: usize,
    mut source: impl FnMut(&mut B) -> Result<bool, E> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut B, &mut S) + Sync,
    mut sink: impl FnMut(&mut B) -> Result<(), E>,
) -> Result<(), E> {
    if workers <= 1 {
        let mut state = state();
        let mut block = B::default();
        while source(&mut block)? {
            work(&mut block, &mut state);
            sink(&mut block)?;
        }
        return Ok(());
    }
    thread::scope(|scope| {
        let (free, empty) = channel::<B>();
        for _ in 0..workers * BLOCKS_PER_WORKER {
            free.send(B::default()).expect("the receiver is at hand");
        }
        let mut to_workers: Vec<Sender<B>> = Vec::with_capacity(workers);
        let mut from_workers: Vec<Receiver<B>> = Vec::with_capacity(workers);
        for _ in 0..workers {
            let (deal, dealt) = channel::<B>();
            let (done, finished) = channel::<B>();
            to_workers.push(deal);
            from_workers.push(finished);
            let (state, work) = (&state, &work);
            scope.spawn(move || {
                let mut state = state();
                for mut block in dealt {
                    work(&mut block, &mut state);
                    if done.send(block).is_err() {
                        break;
                    }
                }
            });
        }
        let reader = scope.spawn(move || {
            // Both ends of a channel vanish when the sink gives up: then there is nothing left to read for.
            for to_worker in to_workers.iter().cycle() {
                let Ok(mut block) = empty.recv() else { break };
                if !source(&mut block)? || to_worker.send(block).is_err() {
                    break;
                }
            }
            Ok(())
        });
        let sunk = sink_all(&from_workers, &free, &mut sink);
        drop((from_workers, free));
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        sunk.and(read)
    })
}

/// Takes the blocks back in the order in which they were dealt.
fn sink_all<B, E>(
    from_workers: &[Receiver<B>],
    free: &Sender<B>,
    sink: &mut impl FnMut(&mut B) -> Result<(), E>,
) -> Result<(), E> {
    for finished in from_workers.iter().cycle() {
        // A worker that ends without the block whose turn it is had none: it is the end for all.
        let Ok(mut block) = finished.recv() else { break };
        sink(&mut block)?;
        // Refused once the source has ended.
        let _ = free.send(block);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Squares 0..n; odd blocks take longer, so that order is not luck.
    fn squares(workers: usize, n: u64, fail_source_at: u64, fail_sink_at: u64) -> (Vec<u64>, Result<(), &'static str>) {
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
                if out.len() as u64 == fail_sink_at {
                    return Err("sink");
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
    fn an_error_of_the_sink_ends_everything() {
        for workers in 1..=4 {
            let (out, result) = squares(workers, u64::MAX, u64::MAX, 3);
            assert_eq!((out, result), (vec![0, 1, 4], Err("sink")), "{workers} workers, endless source");
        }
    }
}
