//! The plan of a comparison, from its arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use undust::baselines::catalogue::Switches;
use undust::baselines::protocol::Plan;
use undust::baselines::results::Protocol;
use undust::baselines::{Name, Setup};

use super::args::CompareArgs;
use super::predictions::Named;
use super::values::{Departure, How};
use crate::failure::Failure;

/// Rates of WWW10, section 6.2.2.
fn rates_of_the_paper() -> Vec<f64> {
    let fine = (0..=10).map(|i| f64::from(i) / 100.0);
    fine.chain((2..=9).map(|i| f64::from(i) / 10.0)).collect()
}

/// What is compared; the predictions are read later.
///
/// # Errors
/// A usage error.
pub fn plan(args: &CompareArgs) -> Result<Plan, Failure> {
    let mut fpr_max = if args.fpr_max.is_empty() { rates_of_the_paper() } else { args.fpr_max.clone() };
    fpr_max.sort_by(f64::total_cmp);
    fpr_max.dedup();
    if let Some(bad) = fpr_max.iter().find(|rate| !(0.0..=1.0).contains(*rate)) {
        return Err(Failure::usage(format!("--fpr-max {bad}: a rate from 0 to 1")));
    }
    if !(args.train_share > 0.0 && args.train_share <= 1.0) {
        return Err(Failure::usage(format!("--train-share {}: a share above 0, at most 1", args.train_share)));
    }
    let Some(headline) = fpr_max.iter().position(|rate| *rate == args.headline) else {
        return Err(Failure::usage(format!("--headline {} is none of --fpr-max", args.headline)));
    };
    let catalogue = match args.catalogue.is_empty() {
        true => Switches::default(),
        false => args.catalogue.iter().fold(Switches::NONE, |switches, row| switches.with(row.0)),
    };
    // Two runs of one method, or of one sample, would be summed as if they were of two sites.
    if let Some(twice) = repeated(&args.methods) {
        return Err(Failure::usage(format!("--methods: {twice} is there twice; name it once")));
    }
    if let Some(twice) = repeated(&args.seeds) {
        return Err(Failure::usage(format!("--seeds: {twice} is there twice; give each sample a seed of its own")));
    }
    let mut methods = if args.methods.is_empty() { Name::ALL.to_vec() } else { args.methods.clone() };
    for outside in args.predictions.iter().map(Named::method) {
        if !methods.contains(&outside) {
            methods.push(outside);
        }
    }
    let hosts = args.hosts.as_deref().map(read_hosts).transpose()?.unwrap_or_default();
    Ok(Plan {
        protocol: match args.protocol {
            How::Www10 => Protocol::Www10,
            How::Sigir2017 => Protocol::Sigir2017,
        },
        methods,
        setup: Setup {
            catalogue,
            hosts,
            published: published(&args.published),
            without: args.without.iter().copied().collect(),
            sizes: args.sizes,
            outside: BTreeMap::new(),
            server: None,
        },
        fpr_max,
        headline,
        seeds: args.seeds.clone(),
        train_share: args.train_share,
        train_max: args.train_max,
        crawl: (15_000, 5_000),
    })
}

/// The first value that an earlier one equals.
fn repeated<T: Ord>(all: &[T]) -> Option<&T> {
    let mut met = BTreeSet::new();
    all.iter().find(|one| !met.insert(*one))
}

fn published(departures: &[Departure]) -> undust::site::published::Switches {
    use undust::site::published::{Fpr, Overlap, Salient, Sigma, Switches};
    let mut out = Switches::default();
    for departure in departures {
        match departure {
            Departure::SalientByFrequency => out.salient = Salient::Frequency,
            Departure::AbsenceNoValue => out.presence = false,
            Departure::NoNestedPairs => out.nested = false,
            Departure::OverlapOfDuplicated => out.overlap = Overlap::Duplicated,
            Departure::MappingByAgreement => out.sigma = Sigma::Agreement,
            Departure::FprPerUrl => out.fpr = Fpr::Url,
            Departure::FprWilson => out.fpr = Fpr::Wilson,
            Departure::SelfRulesKept => out.self_rules = true,
            Departure::ChainsProvenAgain => out.revalidate = true,
        }
    }
    out
}

fn read_hosts(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("--hosts {}: {error}", path.display())))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| match line.split_once('\t') {
            Some((ip, host)) => Ok((ip.trim().to_owned(), host.trim().to_owned())),
            None => Err(Failure::usage(format!("--hosts {}:{}: address, tab, host expected", path.display(), at + 1))),
        })
        .collect()
}
