//! All that a job prints. Text for people, on either stream, passes through [`undust::model::shown`]; data do not. No other
//! file names the streams.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::error::Error as _;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::time::{Duration, Instant};

use clap::error::{ContextKind, ContextValue};
use serde::Serialize;
use undust::model::shown::{Page, brief};

use crate::options::Quiet;

/// One message on standard error, on one line, after the program's name. A closed standard error is ignored.
pub fn say(message: impl Display) {
    let mut line = Page::default();
    let _ = writeln!(line, "undust: {message}");
    say_page(&line);
}

fn say_page(page: &Page) {
    let _ = io::stderr().lock().write_all(page.as_str().as_bytes());
}

/// Text for people on standard output.
///
/// # Errors
/// That of standard output.
pub fn show(page: &Page) -> io::Result<()> {
    data(page.as_str().as_bytes())
}

/// Data on standard output, as they are: a whole block at a time, so that a reader who waits for an answer gets it.
///
/// # Errors
/// That of standard output.
pub fn data(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

/// Values on standard output as JSON, one a line.
///
/// # Errors
/// That of standard output, and of values that JSON cannot write.
pub fn json_lines(values: &[impl Serialize]) -> io::Result<()> {
    let mut lines = Vec::new();
    for value in values {
        serde_json::to_writer(&mut lines, value)?;
        lines.push(b'\n');
    }
    data(&lines)
}

/// What clap stops at: help and version, which are results, on standard output; a usage error, which repeats arguments, on
/// standard error, in plain text. A closed stream is ignored. Returns true for a usage error.
pub fn stopped(mut stop: clap::Error) -> bool {
    if !stop.use_stderr() {
        let _ = stop.print();
        return false;
    }
    let values: Vec<(ContextKind, ContextValue)> =
        stop.context().map(|(kind, value)| (kind, shown_context(value))).collect();
    for (kind, value) in values {
        stop.insert(kind, value);
    }
    let mut text = stop.render().to_string();
    if let Some(reason) = stop.source().map(ToString::to_string) {
        // The reason of a value parser may repeat the value.
        text = text.replace(&reason, &brief(&reason));
    }
    let mut page = Page::default();
    text.lines().for_each(|line| _ = writeln!(page, "{line}"));
    say_page(&page);
    true
}

/// An argument that clap repeats, without line ends of its own.
fn shown_context(value: &ContextValue) -> ContextValue {
    match value {
        ContextValue::String(text) => ContextValue::String(brief(text).into_owned()),
        ContextValue::Strings(texts) => {
            ContextValue::Strings(texts.iter().map(|text| brief(text).into_owned()).collect())
        }
        // Tips, one line each.
        ContextValue::StyledStrs(texts) => {
            ContextValue::StyledStrs(texts.iter().map(|text| brief(&text.to_string()).into_owned().into()).collect())
        }
        other => other.clone(),
    }
}

/// Says panics as messages of the program, except those that `expected` names, of which nothing is said.
pub fn say_panics(expected: fn() -> bool) {
    std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        if expected() {
            return;
        }
        let thread = std::thread::current();
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        let reason = panic.payload_as_str().unwrap_or("no reason given");
        say(format_args!("thread {:?} panicked{place}: {reason}", thread.name().unwrap_or("without a name")));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            let mut page = Page::default();
            trace.to_string().lines().for_each(|line| _ = writeln!(page, "{line}"));
            say_page(&page);
        }
    }));
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
