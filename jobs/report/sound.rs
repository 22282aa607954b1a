//! Whether a comparison that can be read is one: its page counts and subtracts without asking again.

use std::collections::BTreeSet;

use undust::baselines::Name;
use undust::baselines::results::{Comparison, Detection, Run, Site, Times, Tried};
use undust::evaluate::Counts;
use undust::model::shown::within;

use crate::compare::MOST_SECONDS;

/// Most methods, rates and seeds.
const MOST: usize = 10_000;
/// Most likely rules that a DustBuster tries; the curve has a point for each.
const MOST_TRIED: u64 = 100_000;

/// Checks a comparison.
///
/// # Errors
/// The first fault, in words.
pub fn check(comparison: &Comparison) -> Result<(), String> {
    let Comparison { methods, fpr_max, headline, seeds, sites, .. } = comparison;
    for (name, length) in [("methods", methods.len()), ("fpr_max", fpr_max.len()), ("seeds", seeds.len())] {
        holds(length > 0 && length <= MOST, || format!("{length} {name}, expected are 1 to {MOST}"))?;
    }
    holds(unique(methods), || "a method is there twice".to_owned())?;
    let rising = fpr_max.windows(2).all(|pair| pair[0] < pair[1]);
    holds(rising && fpr_max.iter().all(|rate| (0.0..=1.0).contains(rate)), || {
        "fpr_max are no rising rates from 0 to 1".to_owned()
    })?;
    holds(*headline < fpr_max.len(), || format!("headline {headline} of {} rates", fpr_max.len()))?;
    let names: BTreeSet<&str> = sites.iter().map(|site| site.site.as_str()).collect();
    holds(names.len() == sites.len(), || "a site is there twice".to_owned())?;
    let mut sum = 0u64;
    for site in sites {
        let largest =
            largest(site, comparison).map_err(|fault| format!("site {:?}: {fault}", within(&site.site, 60)))?;
        // Of all sites together no count overflows.
        sum = sum.checked_add(largest).ok_or("counts are too large")?;
    }
    let coverage = comparison.predictions.iter().all(|of| methods.contains(&of.method));
    holds(coverage, || "predictions are of a method that is not compared".to_owned())
}

/// Checks the times of a comparison.
///
/// # Errors
/// The first fault, in words.
pub fn check_times(times: &Times, comparison: &Comparison) -> Result<(), String> {
    let sites: BTreeSet<&str> = comparison.sites.iter().map(|site| site.site.as_str()).collect();
    let all: Vec<_> = times.times.iter().map(|time| (time.site.as_str(), time.method, time.seed)).collect();
    holds(unique(&all), || "two times of one site, method and seed".to_owned())?;
    times.times.iter().try_for_each(|time| {
        let at = || format!("{} on site {:?}, seed {}", time.method, within(&time.site, 60), time.seed);
        let seconds = [time.learn, time.select, time.apply];
        let finite = seconds.iter().all(|seconds| (0.0..=MOST_SECONDS).contains(seconds));
        holds(finite, || format!("{}: seconds are not from 0 to {MOST_SECONDS}", at()))?;
        let known = sites.contains(time.site.as_str()) && comparison.methods.contains(&time.method);
        holds(known && time.seed < comparison.seeds.len(), || format!("{} is not compared", at()))
    })
}

/// Checks a site, and gives the largest number that a page adds up over the sites.
fn largest(site: &Site, comparison: &Comparison) -> Result<u64, String> {
    let Site { urls, clusters, trained, runs, .. } = site;
    holds(clusters <= urls, || format!("{clusters} clusters of {urls} URLs"))?;
    holds(trained.len() <= comparison.seeds.len(), || format!("{} training samples", trained.len()))?;
    holds(!runs.is_empty(), || "no runs".to_owned())?;
    let keys: Vec<(Name, usize)> = runs.iter().map(|run| (run.method, run.seed)).collect();
    holds(unique(&keys), || "two runs of one method and seed".to_owned())?;
    let mut largest = trained.iter().copied().max().unwrap_or(0).max(*urls);
    for run in runs {
        let fault = |fault| format!("{}, seed {}: {fault}", run.method, run.seed);
        check_run(run, site, comparison).map_err(fault)?;
        let counts = run.fits.iter().flat_map(|fit| {
            let Counts { urls, support_pairs, duplicate_pairs, rewritten, .. } = fit.counts;
            [urls, support_pairs, duplicate_pairs, rewritten, fit.qualified, fit.deployed]
        });
        let figures = [run.figures.raw, run.figures.nodes, run.figures.height];
        largest = largest.max(counts.chain(figures).max().unwrap_or(0));
    }
    let shown = site.shown.iter().all(|shown| shown.more_rules <= u64::from(u32::MAX));
    holds(shown, || "more rules than can be".to_owned())?;
    Ok(largest)
}

fn check_run(run: &Run, site: &Site, comparison: &Comparison) -> Result<(), String> {
    holds(comparison.methods.contains(&run.method), || "the method is not compared".to_owned())?;
    holds(run.seed < site.trained.len(), || format!("{} training samples", site.trained.len()))?;
    let rates = comparison.fpr_max.len();
    holds(run.fits.len() == rates, || format!("{} fits at {rates} rates", run.fits.len()))?;
    holds(run.missing.is_none_or(|missing| missing <= site.urls), || {
        "more URLs are missing than there are".to_owned()
    })?;
    let sound = run.fits.iter().all(|fit| {
        let Counts { urls, canonical, clusters, covered, support_pairs, false_positive_pairs, .. } = fit.counts;
        let Counts { merged, wrong, rewritten, fetch_ok, fetch_bad, star, .. } = fit.counts;
        let pages = covered <= clusters && clusters <= urls && canonical <= urls && merged <= urls && star <= urls;
        let rewritten = rewritten <= urls && fetch_ok <= rewritten && fetch_bad <= rewritten;
        pages && rewritten && false_positive_pairs <= support_pairs && wrong <= merged
    });
    holds(sound, || "counts of parts are larger than those of the whole".to_owned())?;
    run.detection.as_ref().map_or(Ok(()), check_detection)
}

fn check_detection(detection: &Detection) -> Result<(), String> {
    let Detection { urls, forms, with_cue, without_cue, .. } = detection;
    let places = |places: &[u32], tried: u64| {
        places.windows(2).all(|pair| pair[0] < pair[1]) && places.last().is_none_or(|last| u64::from(*last) < tried)
    };
    let sound = |tried: &Tried| {
        let places = places(&tried.valid, tried.tried) && places(&tried.unknown, tried.tried);
        places && tried.tried <= tried.likely.min(MOST_TRIED)
    };
    let sound = forms <= urls && sound(with_cue) && sound(without_cue);
    holds(sound, || "the rules before validation do not add up".to_owned())
}

fn unique<T: Ord>(all: &[T]) -> bool {
    all.iter().collect::<BTreeSet<_>>().len() == all.len()
}

fn holds(sound: bool, fault: impl FnOnce() -> String) -> Result<(), String> {
    if sound { Ok(()) } else { Err(fault()) }
}
