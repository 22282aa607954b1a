//! Constant pages that gather many forms of URL: login pages, soft 404s, "no such topic".
//!
//! One cluster is not evidence for an operation; nine good observations of it make a constant page.
//! Where that page already holds a good part of the site, fewer observations prove that one more form
//! of URL ends there, too: the form must lie in it as a whole.

use super::Thresholds;

/// Known constant pages of a site, with the size of each cluster.
#[derive(Clone, Debug, Default)]
pub struct Soft404s {
    /// URLs of each cluster.
    size: Vec<u64>,
    /// URLs of the site.
    total: u64,
    /// Clusters that an operation proved to be one page, sorted.
    proven: Vec<u32>,
    /// URLs of other forms that a soft 404 holds.
    min_others: u64,
    /// Share of the URLs of the site that a soft 404 has, in thousandths.
    min_permille: u64,
}

impl Soft404s {
    /// Initial state from the labels of the rows, without a known constant page.
    pub fn new(labels: &[u32], thresholds: &Thresholds) -> Soft404s {
        let mut size = vec![0; labels.iter().map(|&l| l as usize + 1).max().unwrap_or(0)];
        labels.iter().for_each(|&l| size[l as usize] += 1);
        Soft404s {
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
        let mut soft_404s = Soft404s::new(&labels, &Thresholds::default());
        assert!(!soft_404s.holds(0, 6));
        soft_404s.prove(0);
        soft_404s.prove(7);
        assert!(
            soft_404s.holds(0, 6) && !soft_404s.holds(0, 11) && !soft_404s.holds(7, 0) && !soft_404s.holds(2_000, 0)
        );
        let mut labels = vec![0; 60];
        labels.extend(1..9_000);
        let mut soft_404s = Soft404s::new(&labels, &Thresholds::default());
        soft_404s.prove(0);
        assert!(!soft_404s.holds(0, 6));
    }
}
