//! Counts of predictions about value ranges that hold or fail.

use super::evidence::Bound;

/// Weight of one prediction; parts of it are counted.
pub(super) const ONE: u64 = 1000;

/// Predictions of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Trials {
    bad: u64,
    /// Right ones by cluster.
    good: Vec<(u32, u64)>,
}

impl Trials {
    pub(super) fn add(&mut self, label: Option<u32>, good: u64, bad: u64) {
        self.bad += bad;
        if let Some(label) = label.filter(|_| good > 0) {
            self.good.push((label, good));
        }
    }

    /// Right and wrong predictions and clusters; `None` where they do not hold.
    pub(super) fn holds(&mut self, bound: Bound) -> Option<(u64, u64, u64)> {
        self.good.sort_unstable();
        let by_cluster: Vec<u64> =
            self.good.chunk_by(|a, b| a.0 == b.0).map(|run| run.iter().map(|g| g.1).sum()).collect();
        let sum: u64 = by_cluster.iter().sum();
        let bad = self.bad.div_ceil(ONE);
        let good = bound.capped(&by_cluster) / ONE;
        let enough = good >= bound.min_constant && by_cluster.len() >= bound.min_clusters;
        (enough && bound.holds(good, bad, 0)).then_some((sum / ONE, bad, by_cluster.len() as u64))
    }

    /// True if the predictions also hold on the fifth that took no part in a choice.
    pub(super) fn confirmed(&mut self, bound: Bound) -> bool {
        let good: u64 = self.good.iter().map(|g| g.1).sum::<u64>() / ONE;
        let few = self.bad.div_ceil(ONE) * 1000 <= bound.raw_permille.max(1) * (good + self.bad / ONE);
        good >= bound.min_constant && (few || self.bad == 0)
    }
}
