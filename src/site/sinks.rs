//! Constant pages that gather many forms of URL: login pages, soft 404s, "no such topic".
//!
//! One cluster is not evidence for an operation; nine good observations of it make a constant page.
//! Where that page already holds a good part of the site, fewer observations prove that one more form
//! of URL ends there, too: the form must lie in it as a whole.

use super::Thresholds;

/// Known constant pages of a site, with the size of each cluster.
#[derive(Clone, Debug, Default)]
pub struct Sinks {
    /// URLs of each cluster.
    size: Vec<u64>,
    /// URLs of the site.
    total: u64,
    /// Clusters that an operation proved to be one page, sorted.
    proven: Vec<u32>,
    /// URLs of other forms that a sink holds.
    min_others: u64,
    /// Share of the URLs of the site that a sink has, in thousandths.
    min_permille: u64,
}

impl Sinks {
    /// Initial state from the labels of the rows, without a known constant page.
    pub fn new(labels: &[u32], thresholds: &Thresholds) -> Sinks {
        let mut size = vec![0; labels.iter().map(|&l| l as usize + 1).max().unwrap_or(0)];
        labels.iter().for_each(|&l| size[l as usize] += 1);
        Sinks {
            size,
            total: labels.len() as u64,
            proven: Vec::new(),
            min_others: thresholds.sink_min_others,
            min_permille: thresholds.sink_min_permille,
        }
    }

    /// Records that an operation that joins URLs of this cluster alone has passed the test of a constant
    /// page.
    pub fn prove(&mut self, label: u32) {
        if let Err(at) = self.proven.binary_search(&label) {
            self.proven.insert(at, label);
        }
    }

    /// True while no constant page is known.
    pub fn is_empty(&self) -> bool {
        self.proven.is_empty()
    }

    /// True where a constant page holds so many URLs besides the `own` of the form in question.
    pub fn holds(&self, label: u32, own: u64) -> bool {
        let size = self.size.get(label as usize).copied().unwrap_or(0);
        self.proven.binary_search(&label).is_ok()
            && size.saturating_sub(own) >= self.min_others
            && size * 1000 >= self.min_permille * self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_is_proven_large_and_holds_other_forms() {
        let mut labels = vec![0; 60];
        labels.extend(1..1_000);
        let mut sinks = Sinks::new(&labels, &Thresholds::default());
        assert!(!sinks.holds(0, 6));
        sinks.prove(0);
        sinks.prove(7);
        assert!(sinks.holds(0, 6) && !sinks.holds(0, 11) && !sinks.holds(7, 0) && !sinks.holds(2_000, 0));
        let mut labels = vec![0; 60];
        labels.extend(1..9_000);
        let mut sinks = Sinks::new(&labels, &Thresholds::default());
        sinks.prove(0);
        assert!(!sinks.holds(0, 6));
    }
}
