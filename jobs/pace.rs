//! Progress of jobs with a single loop.

use crate::messages::progress;
use crate::quiet::Quiet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use undust::runtime::progress::{Progress, Report, Snapshot};

/// A line of progress every ten seconds, so only for long runs: for jobs with a single loop.
pub struct Pace {
    job: &'static str,
    unit: &'static str,
    quiet: Quiet,
    progress: Arc<Progress>,
    start: Instant,
    said: Instant,
    /// Units done, and the counters, at the last line.
    before: (u64, Snapshot),
}

impl Pace {
    /// Time between two lines.
    const EVERY: Duration = Duration::from_secs(10);

    /// Starts the clock.
    pub fn new(job: &'static str, unit: &'static str, quiet: Quiet, progress: Arc<Progress>) -> Pace {
        let (now, before) = (Instant::now(), (0, progress.snapshot()));
        Pace { job, unit, quiet, progress, start: now, said: now, before }
    }

    /// Reports that so many units are done; called once a block.
    pub fn at(&mut self, done: u64) {
        let since = self.said.elapsed();
        if self.quiet.is_set() || since < Self::EVERY {
            return;
        }
        let report = Report::since(self.before.1, self.progress.snapshot(), since.as_secs_f64());
        let rate = (done - self.before.0) as f64 / since.as_secs_f64();
        let seconds = self.start.elapsed().as_secs();
        progress(&report, &format!("{}: {done} {} in {seconds} s, now {rate:.0}/s", self.job, self.unit));
        self.said = Instant::now();
        self.before = (done, report.now);
    }
}
