//! Detection of silent peers, distinct from a stop of this process itself.
//!
//! One thread looks at all links a few times a second. Its own lateness is the measure of a stop: a
//! process that was suspended (SIGSTOP, a frozen virtual machine) heard nothing of its peers for as
//! long, which says nothing about them.

use super::link::Link;
use super::shutdown::{Cause, Shutdown};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// When the watching thread last ran, and whether this process was stopped lately.
#[derive(Debug)]
pub struct Pulse {
    /// Index of this process.
    own: usize,
    born: Instant,
    /// Time without a sign of life after which peers give each other up.
    silence: Duration,
    /// When the watching thread last ran, since `born`; `None` before the first time.
    last: Mutex<Option<Duration>>,
    /// End and length of the last stop.
    stop: Mutex<Option<(Duration, Duration)>>,
}

impl Pulse {
    /// For process `own`, whose peers give it up after `silence`.
    pub fn new(own: usize, silence: Duration) -> Pulse {
        Pulse { own, born: Instant::now(), silence, last: Mutex::default(), stop: Mutex::default() }
    }

    /// Index of this process.
    pub fn own(&self) -> usize {
        self.own
    }

    /// Notes that the watching thread runs. Returns true when it comes so late that the process was
    /// stopped.
    fn beat(&self) -> bool {
        let now = self.born.elapsed();
        let late = self.late(now);
        if let Some(late) = late {
            *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, late));
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        late.is_some()
    }

    /// How late the watching thread is at `now`, if that counts as a stop: three quarters of the silence,
    /// since peers add up to a sixth of it (the time between two signs of life) to what they measure.
    fn late(&self, now: Duration) -> Option<Duration> {
        let last = (*self.last.lock().unwrap_or_else(PoisonError::into_inner))?;
        Some(now.saturating_sub(last)).filter(|&late| late > self.silence * 3 / 4)
    }

    /// Length of a stop that ended within the last `silence`: its effects show at once. Counts one that has
    /// just ended, too: any thread may be the first to run again.
    pub fn stopped(&self) -> Option<Duration> {
        let now = self.born.elapsed();
        let stop = *self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = stop.filter(|(end, _)| now.saturating_sub(*end) < self.silence).map(|(_, length)| length);
        self.late(now).or(recent)
    }

    /// The cause of a loss that shows in the connection to `peer` as `what`: that peer, unless this process
    /// was stopped.
    pub fn blame(&self, peer: usize, what: String) -> Cause {
        match self.stopped() {
            None => Cause::Lost { process: peer, what },
            Some(time) => {
                let seconds = time.as_secs_f64();
                let what = format!("this process was stopped for {seconds:.1} s; then, of process {peer}: {what}");
                Cause::Lost { process: self.own, what }
            }
        }
    }
}

/// The links that are watched; they are added as peers join.
pub type Watched = Arc<Mutex<Vec<Weak<Link>>>>;

/// Looks at `links` until `over` or `shutdown` is set; a peer that is silent for longer than `silence`
/// is lost. Blocks, for a thread of its own.
pub fn watch(links: &Watched, shutdown: &Shutdown, over: &AtomicBool, pulse: &Pulse, silence: Duration) {
    let pause = (silence / 20).clamp(Duration::from_millis(10), Duration::from_millis(250));
    while !over.load(Ordering::Acquire) && !shutdown.is_set() {
        let was_stopped = pulse.beat();
        let links: Vec<Arc<Link>> =
            links.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect();
        for link in links {
            if was_stopped {
                link.heard();
            } else if let Some(quiet) = link.silence().filter(|&quiet| quiet > silence) {
                let what = format!("it has said nothing for {:.1} s", quiet.as_secs_f64());
                shutdown.record(Cause::Lost { process: link.process, what });
            }
        }
        std::thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_of_the_process_is_not_the_silence_of_a_peer() {
        let pulse = Pulse::new(1, Duration::from_millis(200));
        let blamed = |pulse: &Pulse| match pulse.blame(0, "it closed".to_owned()) {
            Cause::Lost { process, what } => (process, what),
            other => panic!("{other:?}"),
        };
        std::thread::sleep(Duration::from_millis(250));
        assert_eq!(pulse.stopped(), None, "the watching thread has not run yet");
        assert!(!pulse.beat());
        assert_eq!(blamed(&pulse), (0, "it closed".to_owned()));
        std::thread::sleep(Duration::from_millis(250));
        let (process, what) = blamed(&pulse);
        assert_eq!(process, 1);
        assert!(
            what.starts_with("this process was stopped for 0.") && what.ends_with("process 0: it closed"),
            "{what}"
        );
        assert!(pulse.beat() && !pulse.beat());
        assert_eq!(blamed(&pulse).0, 1, "it is remembered for a while");
        for _ in 0..30 {
            std::thread::sleep(Duration::from_millis(10));
            pulse.beat();
        }
        assert_eq!(blamed(&pulse).0, 0, "and not for ever");
    }
}
