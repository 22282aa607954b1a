//! What a job says on standard error while it runs.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use crate::options::Quiet;

/// One message on standard error, after the program's name. Nobody is told when standard error is closed.
pub fn say(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "undust: {message}");
}

/// A line of progress every ten seconds, so only for long runs.
pub struct Pace {
    job: &'static str,
    unit: &'static str,
    quiet: Quiet,
    start: Instant,
    said: Instant,
    before: u64,
}

impl Pace {
    /// Time between two lines.
    const EVERY: Duration = Duration::from_secs(10);

    /// Starts the clock.
    pub fn new(job: &'static str, unit: &'static str, quiet: Quiet) -> Pace {
        let now = Instant::now();
        Pace { job, unit, quiet, start: now, said: now, before: 0 }
    }

    /// So many units are done; call it once a block.
    pub fn at(&mut self, done: u64) {
        let since = self.said.elapsed();
        if self.quiet.is_set() || since < Self::EVERY {
            return;
        }
        let rate = (done - self.before) as f64 / since.as_secs_f64();
        say(format!("{}: {done} {} in {} s, now {rate:.0}/s", self.job, self.unit, self.start.elapsed().as_secs()));
        self.said = Instant::now();
        self.before = done;
    }
}
