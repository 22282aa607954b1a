//! All output of jobs. Text for people, on either stream, passes through [`undust::model::shown`]; data
//! do not. No other file names the streams.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::error::Error as _;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;

use clap::error::{ContextKind, ContextValue};
use serde::Serialize;
use undust::model::shown::{Page, brief};
use undust::runtime::progress::Report;

use crate::exit::Exit;
use crate::log::{self, Counters, Event, Level};

/// One message on standard error, on one line, after the program's name. A closed standard error is
/// ignored.
pub fn say(message: impl Display) {
    tell(Level::Info, "message", message);
}

/// A message about something that may not be as expected, while the run goes on.
pub fn warn(message: impl Display) {
    tell(Level::Warn, "warning", message);
}

/// Writes why the process ends, with this exit code.
pub fn fail(event: &'static str, exit_code: u8, message: impl Display) {
    let text = message.to_string();
    write(&Event { exit_code: Some(exit_code), ..Event::new(Level::Error, event, &brief(&text)) });
}

/// The first event of a job, in JSON only.
pub fn started(command: &str) {
    let version = Some(env!("CARGO_PKG_VERSION"));
    structured(&Event { version, command: Some(command), ..Event::new(Level::Info, "start", "started") });
}

/// The last event of a job that is done, in JSON only.
pub fn done(command: &str) {
    let command = Some(command);
    structured(&Event { command, exit_code: Some(0), ..Event::new(Level::Info, "end", "done") });
}

/// Writes a report of progress.
pub fn report(report: &Report) {
    let text = report.to_string();
    match log::is_json() {
        true => progress(report, &text),
        false => to_stderr(&(brief(&text).into_owned() + "\n")),
    }
}

/// True where progress may be drawn as a bar.
pub fn draws() -> bool {
    !log::is_json()
}

pub fn progress(report: &Report, text: &str) {
    let progress = Some(Counters::of(report));
    write(&Event { progress, ..Event::new(Level::Info, "progress", &brief(text)) });
}

fn tell(level: Level, event: &'static str, message: impl Display) {
    write(&Event::new(level, event, &brief(&message.to_string())));
}

/// Writes one event, in the chosen format.
fn write(event: &Event<'_>) {
    match log::is_json() {
        true => structured(event),
        false => to_stderr(&format!("undust: {}\n", event.message)),
    }
}

fn structured(event: &Event<'_>) {
    if log::is_json() {
        to_stderr(&log::line(event));
    }
}

/// Lines of one event whose text is a page.
fn say_page(page: &Page, event: &Event<'_>) {
    match log::is_json() {
        true => structured(&Event { message: page.as_str().trim_end(), ..event.clone() }),
        false => to_stderr(page.as_str()),
    }
}

/// Whole lines in one call, so that those of several threads do not mix.
fn to_stderr(lines: &str) {
    let _ = io::stderr().lock().write_all(lines.as_bytes());
}

/// Text for people on standard output.
///
/// # Errors
/// Errors of standard output.
pub fn show(page: &Page) -> io::Result<()> {
    data(page.as_str().as_bytes())
}

/// Writes data to standard output unchanged: a whole block at a time, so that a reader in a dialogue is
/// not blocked.
///
/// # Errors
/// Errors of standard output.
pub fn data(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

/// Values on standard output as JSON, one a line.
///
/// # Errors
/// Errors of standard output, and of values that JSON cannot represent.
pub fn json_lines(values: &[impl Serialize]) -> io::Result<()> {
    let mut lines = Vec::new();
    for value in values {
        serde_json::to_writer(&mut lines, value)?;
        lines.push(b'\n');
    }
    data(&lines)
}

/// Output of clap: help and version, which are results, to standard output; a usage error, which
/// repeats arguments, to standard error, in plain text. A closed stream is ignored. Returns true for a
/// usage error.
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
    let exit_code = Some(Exit::Usage as u8);
    say_page(&page, &Event { exit_code, ..Event::new(Level::Error, "error", "") });
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

/// Writes panics as messages of the program, except those for which `expected` is true.
pub fn say_panics(expected: fn() -> bool) {
    std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        if expected() {
            return;
        }
        let thread = std::thread::current();
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        let reason = panic.payload_as_str().unwrap_or("no reason given");
        tell(
            Level::Error,
            "panic",
            format_args!("thread {:?} panicked{place}: {reason}", thread.name().unwrap_or("without a name")),
        );
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            let mut page = Page::default();
            trace.to_string().lines().for_each(|line| _ = writeln!(page, "{line}"));
            say_page(&page, &Event::new(Level::Error, "backtrace", ""));
        }
    }));
}
