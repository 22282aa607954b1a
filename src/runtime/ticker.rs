//! A thread that does something every so often.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A thread that calls a function at a fixed interval; it ends when this is dropped.
#[derive(Debug)]
pub struct Ticker {
    end: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Calls `tick` every `every`, the first time after one interval, on a thread of this name. Where the
    /// system gives no thread, `tick` is never called.
    pub fn start(name: &str, every: Duration, mut tick: impl FnMut() + Send + 'static) -> Ticker {
        let end = Arc::new((Mutex::new(false), Condvar::new()));
        let ours = end.clone();
        let run = move || {
            let (over, woken) = &*ours;
            let mut over = over.lock().unwrap_or_else(PoisonError::into_inner);
            let mut next = Instant::now() + every;
            while !*over {
                let left = next.saturating_duration_since(Instant::now());
                if !left.is_zero() {
                    over = woken.wait_timeout(over, left).unwrap_or_else(PoisonError::into_inner).0;
                    continue;
                }
                drop(over);
                tick();
                next = Instant::now() + every;
                over = ours.0.lock().unwrap_or_else(PoisonError::into_inner);
            }
        };
        // Progress is no reason not to run: the error of a system without threads is dropped.
        Ticker { end, thread: std::thread::Builder::new().name(name.to_owned()).spawn(run).ok() }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        *self.end.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.end.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the ticker is reported by the panic hook and affects nothing else.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn it_ticks_until_it_is_dropped() {
        let (sent, received) = channel();
        let ticker = Ticker::start("test", Duration::from_millis(1), move || _ = sent.send(()));
        for _ in 0..3 {
            received.recv_timeout(Duration::from_secs(30)).expect("a tick");
        }
        drop(ticker);
        // The sender went with the thread: what is left are ticks of before.
        assert!(received.iter().count() < 1_000_000);
        // A long interval does not delay the end.
        let began = Instant::now();
        drop(Ticker::start("test", Duration::from_secs(3600), || ()));
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
