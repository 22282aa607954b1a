//! Sites and seeds joined: what a method reaches at a highest false-positive rate.

use crate::baselines::Name;
use crate::baselines::results::{Comparison, Run};
use crate::evaluate::{Counts, Rates, Summary};

/// Mean over the seeds, and how far they are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    /// Mean; NaN where the figure is undefined for every seed.
    pub mean: f64,
    /// Standard deviation over the seeds; 0 for one seed.
    pub spread: f64,
}

impl Mean {
    /// Mean and spread of the defined values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Mean {
        let values: Vec<f64> = values.into_iter().filter(|v| !v.is_nan()).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let spread = match values.len() {
            0 | 1 => 0.0,
            _ => (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt(),
        };
        Mean { mean, spread }
    }
}

/// Runs of a method with a seed, by site.
fn runs(comparison: &Comparison, method: Name, seed: usize) -> impl Iterator<Item = &Run> {
    let of = move |run: &&Run| run.method == method && run.seed == seed;
    comparison.sites.iter().flat_map(move |site| site.runs.iter().filter(of))
}

/// Seeds that were run.
pub fn seeds(comparison: &Comparison) -> usize {
    comparison.sites.iter().map(|site| site.trained.len()).max().unwrap_or(0)
}

/// Figures of a method at `fpr_max[at]`, a summary a seed.
pub fn summaries(comparison: &Comparison, method: Name, at: usize) -> Vec<Summary> {
    let of = |seed| {
        let counts: Vec<Counts> =
            runs(comparison, method, seed).filter_map(|run| Some(run.fits.get(at)?.counts)).collect();
        Summary::of(&counts)
    };
    (0..seeds(comparison)).map(of).collect()
}

/// A figure of all URLs together (micro).
pub fn micro(summaries: &[Summary], figure: impl Fn(&Rates) -> f64) -> Mean {
    Mean::of(summaries.iter().map(|s| figure(&s.micro)))
}

/// A figure's mean over the sites (macro).
pub fn macro_mean(summaries: &[Summary], figure: impl Fn(&Rates) -> f64) -> Mean {
    Mean::of(summaries.iter().map(|s| figure(&s.macro_mean)))
}

/// A number of a method at `fpr_max[at]`, summed over the sites, mean of the seeds.
pub fn total(comparison: &Comparison, method: Name, number: impl Fn(&Run) -> u64) -> Mean {
    let of = |seed| runs(comparison, method, seed).map(&number).sum::<u64>() as f64;
    Mean::of((0..seeds(comparison)).map(of))
}

/// Recall below which a method is not ranked.
pub const RECALL: f64 = 0.995;

/// The method of most saved share (micro, mean of the seeds) among those of recall at least [`RECALL`]
/// whose rules know no label of the test ([`Name::is_blind`]). On ties undust, else the first of the
/// list. `None` without such a method, and without duplicates, of which no share can be saved.
pub fn first(comparison: &Comparison, at: usize) -> Option<(Name, f64)> {
    let mut best: Option<(Name, f64)> = None;
    for &method in comparison.methods.iter().filter(|method| method.is_blind()) {
        let all = summaries(comparison, method, at);
        let saved = micro(&all, |r| r.saved_share).mean;
        if !saved.is_nan()
            && micro(&all, |r| r.rec).mean >= RECALL
            && best.is_none_or(|(_, most)| saved > most || saved == most && method == Name::Undust)
        {
            best = Some((method, saved));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_leaves_out_what_is_undefined() {
        let mean = Mean::of([1.0, f64::NAN, 3.0]);
        assert_eq!(mean.mean, 2.0);
        assert!((mean.spread - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(Mean::of([2.0]).spread, 0.0);
        assert!(Mean::of([]).mean.is_nan());
    }
}
