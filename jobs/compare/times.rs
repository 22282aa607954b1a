//! Times of a comparison: the clock of its methods, and `--times`, what methods outside of this program
//! took.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use undust::baselines::results::{Time, Times};
use undust::dataflow::compare::Clock;
use undust::model::shown::within;

use super::predictions::Named;
use crate::failure::Failure;

/// Most seconds of a step: 31 years.
pub const MOST_SECONDS: f64 = 1e9;
/// Most URLs of a site.
const MOST_URLS: u64 = 1_000_000_000_000;
/// Characters that messages show of the name of a site.
pub const LONGEST_NAME: usize = 60;

/// Seconds of processor time of the calling thread; where the system counts none, seconds by the clock.
pub fn clock() -> Clock {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::time::{ClockId, clock_gettime};
        std::sync::Arc::new(|| {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
        })
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    {
        let began = std::time::Instant::now();
        std::sync::Arc::new(move || began.elapsed().as_secs_f64())
    }
}

/// A time of an outside method, with its file.
#[derive(Debug)]
pub struct Given {
    pub time: Time,
    pub file: PathBuf,
}

/// Times of outside methods, in the format of times.json.
///
/// # Errors
/// A usage error: a file that cannot be read or is no such file, a method without predictions, a seed
/// that is none, a number that is no time or count, or two times of one method, site and seed.
pub fn read(paths: &[PathBuf], named: &[Named], seeds: usize) -> Result<Vec<Given>, Failure> {
    let mut all = Vec::new();
    let mut met = BTreeSet::new();
    for path in paths {
        for mut time in one(path)?.times {
            let site = within(&time.site, LONGEST_NAME);
            let what = format!("--times {}: {} on site {site:?}, seed {}", path.display(), time.method, time.seed);
            let wrong = |why: String| Err(Failure::usage(format!("{what}: {why}")));
            if !named.iter().any(|of| of.method() == time.method) {
                return wrong("no --predictions are of this method; others are timed here".to_owned());
            }
            if time.seed >= seeds {
                return wrong(format!("seeds are counted from 0, and there are {seeds}"));
            }
            for seconds in [&mut time.learn, &mut time.select, &mut time.apply] {
                if !(0.0..=MOST_SECONDS).contains(seconds) {
                    return wrong(format!("seconds are 0 or more, at most {MOST_SECONDS}"));
                }
                // Of -0, which some programs write for no time.
                *seconds = seconds.abs();
            }
            if time.urls.max(time.trained) > MOST_URLS {
                return wrong(format!("numbers of URLs are at most {MOST_URLS}"));
            }
            if !met.insert((time.method, time.site.clone(), time.seed)) {
                return wrong("there are two times; leave one of them out".to_owned());
            }
            all.push(Given { time, file: path.clone() });
        }
    }
    Ok(all)
}

fn one(path: &Path) -> Result<Times, Failure> {
    let wrong = |error: String| Failure::usage(format!("--times {}: {error}", path.display()));
    let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
    serde_json::from_slice(text).map_err(|error| wrong(format!("not in the format of times.json: {error}")))
}

/// Puts times of outside methods among those of a comparison, in its order.
pub fn join(times: &mut Times, outside: Vec<Given>) {
    times.times.extend(outside.into_iter().map(|given| given.time));
    times.times.sort_by(|a, b| (&a.site, a.method, a.seed).cmp(&(&b.site, b.method, b.seed)));
}
