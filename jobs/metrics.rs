//! `--metrics FILE`: the counters of a run as Prometheus text, for the textfile collector of
//! node_exporter and similar ones.
//!
//! The file is replaced by a rename, so that no reader sees half of it, every ten seconds and once at
//! the end. It holds counts and the names of the job and of the file, nothing of the records.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use undust::model::Stage;
use undust::runtime::memory::{Resident, resident};
use undust::runtime::progress::{Progress, Snapshot};
use undust::runtime::ticker::Ticker;
use undust::temporary::TemporaryFile;

use crate::messages::warn;

/// Time between two writes.
const EVERY: Duration = Duration::from_secs(10);
/// First bytes of every file of this module: such a file is replaced, any other is not.
const FIRST: &str = "# HELP undust_build_info ";

/// Error of the metrics file, found before the run begins.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The folder is missing or cannot be written to, or the like.
    #[error("--metrics {}: {source}; name a file in a folder that is there and may be written to", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A file of another kind has this name.
    #[error(
        "--metrics {}: there already, and not a file that --metrics wrote; name another file, or remove it", .0.display()
    )]
    Foreign(PathBuf),
    /// In the folder of the results, which holds results only.
    #[error("--metrics {}: in the folder of the results ({}); name a file elsewhere", .0.display(), .1.display())]
    AmongResults(PathBuf, PathBuf),
}

/// Contents and path of the metrics.
struct Metrics {
    path: PathBuf,
    command: &'static str,
    progress: Arc<Progress>,
    /// Seconds since 1970.
    began: f64,
    /// True once a failed write was reported.
    told: bool,
}

/// The metrics of this process, until they are finished; one run, one file.
static CURRENT: Mutex<Option<(Metrics, Option<Ticker>)>> = Mutex::new(None);

/// Writes `path` for the first time, and then every ten seconds.
///
/// # Errors
/// [`MetricsError`].
pub fn start(path: &Path, command: &'static str, progress: Arc<Progress>) -> Result<(), MetricsError> {
    let failed = |source| MetricsError::Write { path: path.to_owned(), source };
    // The target of a symbolic link is replaced, not the link.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&real) {
        Ok(found) if !found.is_file() => return Err(MetricsError::Foreign(path.to_owned())),
        Ok(found) if found.len() > 0 && !is_ours(&real).map_err(failed)? => {
            return Err(MetricsError::Foreign(path.to_owned()));
        }
        _ => {}
    }
    let mut metrics = Metrics { path: real, command, progress, began: now(), told: false };
    metrics.write(None).map_err(failed)?;
    let ticker = Ticker::start("metrics", EVERY, || {
        if let Some((metrics, _)) = &mut *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) {
            metrics.write_or_tell(None);
        }
    });
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some((metrics, Some(ticker)));
    Ok(())
}

/// Writes the last state of the run, with its exit code; nothing is written after it.
pub fn finish(exit_code: u8) {
    let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some((mut metrics, ticker)) = current else { return };
    // Not under the lock, which the ticker takes.
    drop(ticker);
    metrics.write_or_tell(Some(exit_code));
}

/// True for a file that begins as those of this module do.
fn is_ours(path: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    fs::File::open(path)?.take(FIRST.len() as u64).read_to_end(&mut head)?;
    Ok(head == FIRST.as_bytes())
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as f64 / 1e3
}

impl Metrics {
    fn write(&mut self, exit_code: Option<u8>) -> io::Result<()> {
        let run = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let labels = Labels { command: self.command, run: &run };
        let text = text(&labels, self.progress.snapshot(), resident(), [self.began, now()], exit_code);
        replace(&self.path, &text)
    }

    /// Writes the file; a failure does not end the run and is reported once.
    fn write_or_tell(&mut self, exit_code: Option<u8>) {
        if let Err(error) = self.write(exit_code)
            && !std::mem::replace(&mut self.told, true)
        {
            warn(format_args!(
                "--metrics {}: {error}; it holds an earlier state, and the run goes on",
                self.path.display()
            ));
        }
    }
}

/// Replaces `path` by a file with this text.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let (mut file, temporary) = TemporaryFile::beside(path)?;
    file.write_all(text.as_bytes())?;
    temporary.persist(path)
}

/// Common labels of the series of one run.
struct Labels<'a> {
    command: &'a str,
    /// Name of the file without its extension, so that the files of several runs in one folder hold
    /// different series.
    run: &'a str,
}

/// The text of one state. `times`: start and now, in seconds since 1970.
fn text(
    labels: &Labels<'_>,
    now: Snapshot,
    memory: Option<Resident>,
    times: [f64; 2],
    exit_code: Option<u8>,
) -> String {
    let labels = format!("command=\"{}\",run=\"{}\"", escaped(labels.command), escaped(labels.run));
    let mut out = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
        let _ = writeln!(out, "# HELP undust_{name} {help}\n# TYPE undust_{name} {kind}");
        for (more, value) in values {
            let _ = writeln!(out, "undust_{name}{{{labels}{more}}} {value}");
        }
    };
    let one = |value: f64| [(String::new(), value)];
    let version = format!(",version=\"{}\"", escaped(env!("CARGO_PKG_VERSION")));
    metric("build_info", "gauge", "Version of undust; always 1.", &[(version, 1.0)]);
    metric("running", "gauge", "1 while the run goes on, 0 once it has ended.", &one(f64::from(exit_code.is_none())));
    if let Some(code) = exit_code {
        metric("exit_code", "gauge", "Exit code of the run, once it has ended.", &one(f64::from(code)));
    }
    metric("records_total", "counter", "Records read, over all passes.", &one(now.records as f64));
    metric("bytes_total", "counter", "Bytes of the records read, over all passes.", &one(now.bytes as f64));
    metric("rejects_total", "counter", "Records rejected.", &one(now.rejects as f64));
    metric(
        "sites",
        "gauge",
        "Sites learned so far; of jobs that take rules, sites of the rules.",
        &one(now.sites as f64),
    );
    let is_now = |phase: Stage| f64::from(u8::from(phase == now.phase));
    let stages: Vec<_> = Stage::phases().map(|phase| (format!(",stage=\"{}\"", phase.text()), is_now(phase))).collect();
    metric("stage", "gauge", "1 for the stage that the run is in, 0 for the others.", &stages);
    if let Some(Resident { now, peak }) = memory {
        metric("memory_resident_bytes", "gauge", "Resident memory of the process.", &one(now as f64));
        metric("memory_resident_peak_bytes", "gauge", "The most resident memory so far.", &one(peak as f64));
    }
    let [began, written] = times;
    metric("start_time_seconds", "gauge", "Start of the run, in seconds since 1970.", &one(began));
    metric("update_time_seconds", "gauge", "Time of this state, in seconds since 1970.", &one(written));
    out
}

/// A label value as the exposition format writes it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn no_reader_meets_half_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.prom");
        let (long, short) = ("long\n".repeat(20_000), "short\n".to_owned());
        replace(&path, &short).unwrap();
        let ended = AtomicBool::new(false);
        let reads = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut reads = 0;
                while !ended.load(Ordering::Relaxed) {
                    let found = fs::read_to_string(&path).expect("always there");
                    assert!(found == long || found == short, "{} bytes", found.len());
                    reads += 1;
                }
                reads
            });
            for text in [&long, &short].into_iter().cycle().take(400) {
                replace(&path, text).unwrap();
            }
            ended.store(true, Ordering::Relaxed);
            reader.join().unwrap()
        });
        assert!(reads > 10, "{reads} reads");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn what_is_not_a_metrics_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let begin = |path: &Path| start(path, "learn", Arc::default());
        let other = folder.path().join("rules.jsonl");
        fs::write(&other, "{}\n").unwrap();
        assert!(matches!(begin(&other), Err(MetricsError::Foreign(_))));
        assert!(matches!(begin(folder.path()), Err(MetricsError::Foreign(_))));
        assert!(matches!(begin(&folder.path().join("missing/m.prom")), Err(MetricsError::Write { .. })));
        assert_eq!(fs::read_to_string(&other).unwrap(), "{}\n");
    }
}
