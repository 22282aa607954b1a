//! Format of standard error: lines for people, or one JSON object a line (`--log-format json`).

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use serde::Serialize;
use undust::rules::age::Day;
use undust::runtime::memory::resident;
use undust::runtime::progress::{Report, Snapshot};

/// Form of the messages on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line: time, level, event, message, and fields by event (docs/operations.md).
    Json,
}

/// True for JSON. One setting for the process: threads and panics write messages, too.
static JSON: AtomicBool = AtomicBool::new(false);

/// Name of the option, which is read before the command line is parsed.
const OPTION: &str = "--log-format";

/// Sets the format for the process.
pub fn set(format: LogFormat) {
    JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

/// True where messages are JSON.
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// The format by the arguments, so that an error in the others is already written in it.
pub fn asked(arguments: impl IntoIterator<Item = OsString>) -> LogFormat {
    let mut arguments = arguments.into_iter().take_while(|argument| argument != "--");
    let mut format = LogFormat::Text;
    while let Some(argument) = arguments.next() {
        let value = match argument.to_str().and_then(|text| text.strip_prefix(OPTION)) {
            Some("") => arguments.next(),
            Some(rest) => rest.strip_prefix('=').map(OsString::from),
            None => None,
        };
        if let Some(value) = value {
            format = if value == "json" { LogFormat::Json } else { LogFormat::Text };
        }
    }
    format
}

/// Severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The run fails.
    Error,
    /// The run goes on; its result may not be what was expected.
    Warn,
    /// Progress and figures.
    Info,
}

/// One event. Fields that do not belong to it are `None` and left out.
#[derive(Clone, Debug, Serialize)]
pub struct Event<'a> {
    /// Severity.
    pub level: Level,
    /// Its name, one of those in docs/operations.md.
    pub event: &'static str,
    /// Text for people, hidden characters escaped.
    pub message: &'a str,
    /// Version of undust, at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'static str>,
    /// Name of the job, at the start and at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<&'a str>,
    /// Exit code of the process, in its last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The counters.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Counters>,
}

impl<'a> Event<'a> {
    /// An event without further fields.
    pub fn new(level: Level, event: &'static str, message: &'a str) -> Event<'a> {
        Event { level, event, message, version: None, command: None, exit_code: None, progress: None }
    }
}

/// The counters of a progress event.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counters {
    stage: &'static str,
    records: u64,
    bytes: u64,
    rejects: u64,
    sites: u64,
    records_per_second: u64,
    bytes_per_second: u64,
    /// Resident bytes; left out where the system does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
}

impl Counters {
    /// Counters of a report, with the present memory of the process.
    pub fn of(report: &Report) -> Counters {
        let Report { now, records_per_second, bytes_per_second } = *report;
        let Snapshot { phase, records, bytes, rejects, sites } = now;
        Counters {
            stage: phase.text(),
            records,
            bytes,
            rejects,
            sites,
            records_per_second: records_per_second.round() as u64,
            bytes_per_second: bytes_per_second.round() as u64,
            memory_bytes: resident().map(|memory| memory.now),
        }
    }
}

/// The line of an event, with its end. The time is that of the call.
pub fn line(event: &Event<'_>) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        time: String,
        #[serde(flatten)]
        event: &'a Event<'a>,
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let line = Line { time: timestamp(since.as_secs(), since.subsec_millis()), event };
    // Strings and numbers, under keys that are strings: JSON can represent all of them.
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}

/// A time in seconds and milliseconds since 1970-01-01 UTC as RFC 3339 writes it.
fn timestamp(seconds: u64, millis: u32) -> String {
    let (day, of_day) = (Day::from_unix(seconds), seconds % 86_400);
    format!("{day}T{:02}:{:02}:{:02}.{millis:03}Z", of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_object_whatever_the_message() {
        for message in ["plain", "\"quoted\" \\ and\nbroken\r\n", "\u{2028}\u{1b}[2J", "{\"level\":\"info\"}"] {
            let text = line(&Event::new(Level::Warn, "warning", message));
            assert_eq!(text.matches('\n').count(), 1, "{text:?}");
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(
                (&value["level"], &value["event"], &value["message"]),
                (&"warn".into(), &"warning".into(), &message.into())
            );
            assert_eq!(value.as_object().unwrap().len(), 4, "{value}");
        }
    }

    #[test]
    fn times_are_of_rfc_3339() {
        assert_eq!(timestamp(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(951_782_399, 7), "2000-02-28T23:59:59.007Z");
    }

    #[test]
    fn the_format_is_found_among_arguments_of_any_kind() {
        let of = |arguments: &[&str]| asked(arguments.iter().map(OsString::from));
        assert_eq!(of(&["learn", "--log-format", "json"]), LogFormat::Json);
        assert_eq!(of(&["--log-format=json", "learn", "--bad"]), LogFormat::Json);
        assert_eq!(of(&["learn", "--log-format", "text"]), LogFormat::Text);
        assert_eq!(of(&["learn", "--log-format"]), LogFormat::Text);
        assert_eq!(of(&["explain", "--", "--log-format=json"]), LogFormat::Text);
    }
}
