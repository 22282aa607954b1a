//! Times of a comparison: the clock of its methods, and `--times`, what methods outside of this program
//! took.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use undust::baselines::results::{Comparison, Time, Times};
use undust::dataflow::compare::Clock;

use super::predictions::Named;
use crate::failure::{Exit, Failure};

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

/// Times of outside methods, in the format of times.json.
///
/// # Errors
/// A usage error: a file that cannot be read or is no such file, a method without predictions, a seed
/// that is none, a number that is no time, or two times of one method, site and seed.
pub fn read(paths: &[PathBuf], named: &[Named], seeds: usize) -> Result<Vec<Time>, Failure> {
    let mut all = Vec::new();
    let mut met = BTreeSet::new();
    for path in paths {
        for time in one(path)?.times {
            let what =
                format!("--times {}: {} on site {:?}, seed {}", path.display(), time.method, time.site, time.seed);
            let wrong = |why: String| Err(Failure::usage(format!("{what}: {why}")));
            if !named.iter().any(|of| of.method() == time.method) {
                return wrong("no --predictions are of this method; others are timed here".to_owned());
            }
            if time.seed >= seeds {
                return wrong(format!("seeds are counted from 0, and there are {seeds}"));
            }
            if [time.learn, time.select, time.apply].iter().any(|seconds| !seconds.is_finite() || *seconds < 0.0) {
                return wrong("seconds are 0 or more".to_owned());
            }
            if !met.insert((time.method, time.site.clone(), time.seed)) {
                return wrong("there are two times; leave one of them out".to_owned());
            }
            all.push(time);
        }
    }
    Ok(all)
}

fn one(path: &Path) -> Result<Times, Failure> {
    let wrong = |error: String| Failure::usage(format!("--times {}: {error}", path.display()));
    let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| wrong(format!("not in the format of times.json: {error}")))
}

/// Puts times of outside methods among those of a comparison, in its order.
///
/// # Errors
/// A time of a site that the comparison does not have.
pub fn join(times: &mut Times, outside: Vec<Time>, comparison: &Comparison) -> Result<(), Failure> {
    for time in &outside {
        if !comparison.sites.iter().any(|site| site.site == time.site) {
            let (method, site) = (time.method, &time.site);
            let text = format!("--times: {method} has a time on site {site:?}, which no labelled record is of");
            return Err(Failure::new(Exit::Failed, text));
        }
    }
    times.times.extend(outside);
    times.times.sort_by(|a, b| (&a.site, a.method, a.seed).cmp(&(&b.site, b.method, b.seed)));
    Ok(())
}
