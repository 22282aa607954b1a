//! Progress on standard error: a bar on a terminal, else a line every ten seconds.
use crate::model::shown::visible;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What has been done so far; counted by all workers.
#[derive(Debug, Default)]
pub struct Progress {
    records: AtomicU64,
    bytes: AtomicU64,
    stage: Mutex<&'static str>,
}

impl Progress {
    /// Records and bytes of strings that were read.
    pub fn add(&self, records: usize, bytes: usize) {
        self.records.fetch_add(records as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Names the stage the run is in.
    pub fn stage(&self, name: &'static str) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = name;
    }

    /// Records read, over all passes.
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    fn line(&self, before: (u64, u64), seconds: f64) -> String {
        let (records, bytes) = (self.records(), self.bytes.load(Ordering::Relaxed));
        let rate = |now: u64, then: u64| (now - then) as f64 / seconds.max(1e-9);
        let stage = *self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        format!(
            "{stage}: {records} records, {:.0} records/s, {:.1} MB/s",
            rate(records, before.0),
            rate(bytes, before.1) / 1e6
        )
    }
}

/// A thread that reports; it ends when this is dropped.
#[derive(Debug)]
pub struct Reporter {
    end: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

/// The bar that is drawn, if any.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Clears the bar, if one is drawn, for good: for the last words of a process.
pub fn clear() {
    if let Some(bar) = BAR.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.finish_and_clear();
    }
}

/// Time between lines where standard error is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Time between updates of the bar.
const BAR_EVERY: Duration = Duration::from_millis(250);

impl Reporter {
    /// Starts to report on `progress`.
    pub fn start(progress: Arc<Progress>) -> Reporter {
        let end = Arc::new((Mutex::new(false), Condvar::new()));
        let ours = end.clone();
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(move || report(&progress, &ours));
        // Without a thread there is no progress line, which is no reason not to run.
        Reporter { end, thread: thread.ok() }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        *self.end.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.end.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic in the reporter concerns nobody else.
            let _ = thread.join();
        }
    }
}

fn report(progress: &Progress, end: &(Mutex<bool>, Condvar)) {
    let bar = std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new_spinner();
        bar.set_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}").expect("a valid template"));
        *BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        bar
    });
    let every = if bar.is_some() { BAR_EVERY } else { LINE_EVERY };
    let (mut before, mut then) = ((0, 0), Instant::now());
    let mut over = end.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !*over {
        let (guard, wait) = end.1.wait_timeout(over, every).unwrap_or_else(PoisonError::into_inner);
        over = guard;
        if *over || !wait.timed_out() {
            continue;
        }
        let line = progress.line(before, then.elapsed().as_secs_f64());
        let line = visible(&line).into_owned();
        match &bar {
            Some(bar) => {
                bar.set_message(line);
                bar.tick();
            }
            // A closed standard error must not end the run.
            None => drop(writeln!(std::io::stderr().lock(), "{line}")),
        }
        (before, then) = ((progress.records(), progress.bytes.load(Ordering::Relaxed)), Instant::now());
    }
    clear();
}
