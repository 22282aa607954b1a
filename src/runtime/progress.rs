//! Progress of a run: counters that all workers add to, and a thread that reports them, as a bar on a
//! terminal, else as a report every ten seconds.
use super::ticker::Ticker;
use crate::model::Stage;
use crate::model::shown::visible;
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work done so far; counted by all workers.
#[derive(Debug)]
pub struct Progress {
    records: AtomicU64,
    bytes: AtomicU64,
    rejects: AtomicU64,
    sites: AtomicU64,
    phase: Mutex<Stage>,
}

impl Default for Progress {
    fn default() -> Progress {
        let zero = || AtomicU64::new(0);
        Progress { records: zero(), bytes: zero(), rejects: zero(), sites: zero(), phase: Mutex::new(Stage::Starting) }
    }
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Phase that the run is in.
    pub phase: Stage,
    /// Records read, over all passes.
    pub records: u64,
    /// Bytes of their strings.
    pub bytes: u64,
    /// Records rejected; counted in the first pass.
    pub rejects: u64,
    /// Sites learned; for jobs that take rules, sites of the rules.
    pub sites: u64,
}

impl Progress {
    /// Adds records that were read, and bytes of their strings.
    pub fn add(&self, records: usize, bytes: usize) {
        self.records.fetch_add(records as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds rejected records.
    pub fn reject(&self, records: u64) {
        self.rejects.fetch_add(records, Ordering::Relaxed);
    }

    /// Adds sites that were learned or opened.
    pub fn sites(&self, sites: usize) {
        self.sites.fetch_add(sites as u64, Ordering::Relaxed);
    }

    /// Sets the phase that the run is in: that of `stage`.
    pub fn stage(&self, stage: Stage) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = stage.phase();
    }

    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Snapshot {
            phase: *self.phase.lock().unwrap_or_else(PoisonError::into_inner),
            records: count(&self.records),
            bytes: count(&self.bytes),
            rejects: count(&self.rejects),
            sites: count(&self.sites),
        }
    }
}

/// The counters, and how fast they grew since the report before. Displays as a line for people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The counters at the time of the report.
    pub now: Snapshot,
    /// Records a second.
    pub records_per_second: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
}

impl Report {
    /// The report of `now`, `seconds` after `before`.
    pub fn since(before: Snapshot, now: Snapshot, seconds: f64) -> Report {
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds.max(1e-9);
        Report {
            now,
            records_per_second: rate(now.records, before.records),
            bytes_per_second: rate(now.bytes, before.bytes),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { now: Snapshot { phase, records, .. }, records_per_second, bytes_per_second } = self;
        let phase = phase.text();
        let megabytes = bytes_per_second / 1e6;
        write!(f, "{phase}: {records} records, {records_per_second:.0} records/s, {megabytes:.1} MB/s")
    }
}

/// A thread that reports; it ends when this is dropped.
#[derive(Debug)]
pub struct Reporter {
    /// Taken when dropped.
    ticker: Option<Ticker>,
}

/// The bar that is drawn, if any.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Clears the bar, if one is drawn, for good: for the last words of a process.
pub fn clear() {
    if let Some(bar) = BAR.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.finish_and_clear();
    }
}

/// Time between reports where standard error is not a terminal.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// Time between updates of the bar.
const BAR_EVERY: Duration = Duration::from_millis(250);

impl Reporter {
    /// Starts to report on `progress`: to `tell` every ten seconds, or, where `may_draw` and standard error
    /// is a terminal, as a bar.
    pub fn start(progress: Arc<Progress>, may_draw: bool, tell: fn(&Report)) -> Reporter {
        let bar = (may_draw && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}").expect("a valid template"));
            *BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
            bar
        });
        let every = if bar.is_some() { BAR_EVERY } else { REPORT_EVERY };
        let (mut before, mut then) = (progress.snapshot(), Instant::now());
        let ticker = Ticker::start("progress", every, move || {
            let report = Report::since(before, progress.snapshot(), then.elapsed().as_secs_f64());
            match &bar {
                Some(bar) => {
                    bar.set_message(visible(&report.to_string()).into_owned());
                    bar.tick();
                }
                None => tell(&report),
            }
            (before, then) = (report.now, Instant::now());
        });
        Reporter { ticker: Some(ticker) }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        drop(self.ticker.take());
        clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_tells_what_was_counted_and_how_fast() {
        let progress = Progress::default();
        let before = progress.snapshot();
        assert_eq!((before.phase, before.records), (Stage::Starting, 0));
        // Sampling is a part of reading.
        progress.stage(Stage::Sample);
        progress.add(30, 5_000_000);
        progress.reject(2);
        progress.sites(3);
        let report = Report::since(before, progress.snapshot(), 2.0);
        let now = Snapshot { phase: Stage::Reading, records: 30, bytes: 5_000_000, rejects: 2, sites: 3 };
        assert_eq!(report, Report { now, records_per_second: 15.0, bytes_per_second: 2.5e6 });
        assert_eq!(report.to_string(), "reading: 30 records, 15 records/s, 2.5 MB/s");
    }
}
