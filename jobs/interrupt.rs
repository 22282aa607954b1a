//! Ctrl-C and other signals: temporary files are removed, one line reports it, and the exit code names
//! the signal.
//!
//! A thread blocks until the first signal. A second Ctrl-C or SIGTERM ends the process at once, without
//! removing anything.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use undust::runtime::progress;
use undust::temporary;

use crate::messages::fail;
use crate::metrics;

/// Useful results that an interrupted run leaves.
static LEFT: Mutex<String> = Mutex::new(String::new());

/// Most time for the message.
#[cfg_attr(not(unix), allow(dead_code, reason = "only signals call it"))]
const PATIENCE: Duration = Duration::from_secs(1);

/// Paths that the message names.
const NAMED: usize = 4;

/// Sets the useful results that the run leaves if it is interrupted from now on.
pub fn leaves(what: String) {
    *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = what;
}

/// To be called before the end of a process whose job has ended. After a signal this call never
/// returns: the signal decides the exit code.
pub fn settle() {
    temporary::close();
}

/// Starts to watch for signals. Ignored ones, as under nohup, stay ignored.
pub fn watch() {
    // Without the thread a signal ends the process at once, which is no reason not to run.
    #[cfg(unix)]
    let _ = unix::watch();
}

/// The message about an interrupt.
#[cfg_attr(not(unix), allow(dead_code, reason = "only signals call it"))]
fn text(how: &str, removed: &[PathBuf], left: &str) -> String {
    let mut text = how.to_owned();
    if !removed.is_empty() {
        let names: Vec<String> = removed.iter().take(NAMED).map(|path| path.display().to_string()).collect();
        text.push_str(&format!("; removed {}", names.join(", ")));
    }
    if removed.len() > NAMED {
        text.push_str(&format!(" and {} more", removed.len() - NAMED));
    }
    if !left.is_empty() {
        text.push_str(&format!("; {left}"));
    }
    text
}

#[cfg(unix)]
mod unix {
    use super::{LEFT, PATIENCE, PoisonError, fail, metrics, progress, temporary, text};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::exit;
    use std::ffi::c_int;
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;

    pub(super) fn watch() -> io::Result<()> {
        let ignored = ignored();
        let mut watched = vec![SIGINT, SIGTERM, SIGHUP];
        watched.retain(|signal| ignored >> (signal - 1) & 1 == 0);
        let mut signals = Signals::new(&watched)?;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if let Some(signal) = signals.forever().next() {
                end(signal);
            }
        })?;
        let first = Arc::new(AtomicBool::new(false));
        for signal in watched {
            // A terminal that closes may send SIGHUP twice, so that one is no sign of impatience.
            if signal != SIGHUP {
                flag::register_conditional_shutdown(signal, 128 + signal, first.clone())?;
            }
            flag::register(signal, first.clone())?;
        }
        // A file at the limit of its size: caught, the write fails and its error names the file; uncaught, the
        // process ends without a word.
        flag::register(SIGXFSZ, Arc::default())?;
        Ok(())
    }

    fn end(signal: c_int) -> ! {
        let code = (128 + signal) as u8;
        // Bounded in time: a disk that accepts no data must not block the process.
        let (written_in, written) = channel();
        std::thread::spawn(move || {
            metrics::finish(code);
            let _ = written_in.send(());
        });
        let _ = written.recv_timeout(PATIENCE);
        let removed = temporary::remove_all();
        let how = match signal {
            SIGINT => "interrupted",
            SIGTERM => "terminated",
            _ => "ended by a hang-up",
        };
        // On a thread of its own: a blocked reader of standard error must not block the process.
        let (told_in, told) = channel();
        std::thread::spawn(move || {
            progress::clear();
            fail("interrupt", code, text(how, &removed, &LEFT.lock().unwrap_or_else(PoisonError::into_inner)));
            let _ = told_in.send(());
        });
        let _ = told.recv_timeout(PATIENCE);
        // Other threads are still at work: no destructor and no exit handler may run beside them.
        exit(128 + signal)
    }

    /// The signals that were ignored when the process began, as bits from SIGHUP on. No safe call returns
    /// them; Linux also shows them in a file, and elsewhere all three signals are watched.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_what_is_gone_and_what_is_left() {
        assert_eq!(text("interrupted", &[], ""), "interrupted");
        let paths = |n: usize| (0..n).map(|n| PathBuf::from(format!("/tmp/{n}"))).collect::<Vec<_>>();
        let line = text("terminated", &paths(6), "run again");
        assert_eq!(line, "terminated; removed /tmp/0, /tmp/1, /tmp/2, /tmp/3 and 2 more; run again");
    }
}
