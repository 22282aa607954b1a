//! A page type on its site: which entity a cluster is, and where each of its URLs is served.

use super::decor::Decor;
use super::kind::{PageType, Urls};
use super::rng::{Permutation, Rng, mix2};

/// A page type on its site.
pub(super) struct PlannedType {
    pub(super) make: Box<dyn PageType>,
    pub(super) clusters: u64,
    pub(super) urls: u64,
    /// The pages of a block; empty where sizes follow the distribution of the site.
    pub(super) block: Vec<Urls>,
    /// One for each page of a block, or one.
    spaces: Vec<Space>,
    /// Entities are handed out in an order independent of cluster sizes.
    entities: Permutation,
    step: u64,
    offset: u64,
}

/// Clusters whose pages have equally many URLs.
struct Space {
    first_cluster: u64,
    /// Distinct URLs of a page without free values.
    finite: u64,
    /// Factors that have no divisor in common with `finite`.
    strides: Vec<u64>,
}

/// Where a URL of a page is served.
pub(super) struct Address {
    pub(super) form: u64,
    pub(super) mirror: &'static str,
    pub(super) https: bool,
    pub(super) free: bool,
}

impl PlannedType {
    pub(super) fn new(make: Box<dyn PageType>, rng: &mut Rng) -> PlannedType {
        let step = if make.sparse_ids() { rng.pick(&[1, 1, 3, 17]) } else { 1 };
        let offset = if make.sparse_ids() { 1 + rng.below(100) } else { 0 };
        let block = make.block();
        PlannedType {
            make,
            clusters: 0,
            urls: 0,
            block,
            spaces: Vec::new(),
            entities: Permutation::new(1, 0),
            step,
            offset,
        }
    }

    pub(super) fn is_constant(&self) -> bool {
        self.make.forms() == u64::MAX
    }

    pub(super) fn is_block(&self) -> bool {
        !self.block.is_empty()
    }

    /// Distinct URLs of a page without free values.
    fn finite(&self, decor: &Decor) -> u64 {
        if self.is_constant() {
            return u64::MAX;
        }
        self.make.forms() * decor.addresses() + self.make.own_host_forms() * decor.schemes()
    }

    /// URLs a page can have at most.
    pub(super) fn cap(&self, decor: &Decor) -> u64 {
        if self.make.has_free_value() || decor.endless() { u64::MAX } else { self.finite(decor) }
    }

    /// Gives the type its clusters: `first_clusters` has the first of each page of a block, or one.
    pub(super) fn place(&mut self, first_clusters: &[u64], clusters: u64, urls: u64, decor: &Decor, seed: u64) {
        let finite = |i: usize| match self.block.get(i) {
            None => self.finite(decor),
            Some(Urls::Each(forms)) => forms * decor.addresses(),
            Some(Urls::Shared(_)) => u64::MAX,
        };
        let space = |(i, &first_cluster)| {
            let finite = finite(i);
            Space { first_cluster, finite, strides: (1..64).filter(|a| gcd(*a, finite) == 1).take(16).collect() }
        };
        self.spaces = first_clusters.iter().enumerate().map(space).collect();
        (self.clusters, self.urls) = (clusters, urls);
        self.entities = Permutation::new(clusters.max(1), seed);
    }

    /// Index of the space of a cluster, which must be one of the type's.
    fn space(&self, cluster: u64) -> usize {
        self.spaces.partition_point(|space| space.first_cluster <= cluster) - 1
    }

    pub(super) fn entity(&self, cluster: u64) -> u64 {
        if self.is_constant() {
            return 0;
        }
        let space = self.space(cluster);
        let nth = cluster - self.spaces[space].first_cluster;
        if self.is_block() {
            return nth * self.block.len() as u64 + space as u64;
        }
        self.offset + self.step * self.entities.at(nth)
    }

    /// Deals the members of the page `cluster` to its distinct addresses, each once before any twice;
    /// `about` is the page's hash. A third of the pages begin with their canonical URL.
    pub(super) fn address(&self, cluster: u64, member: u64, about: u64, decor: &Decor) -> Address {
        let index = self.space(cluster);
        let space = &self.spaces[index];
        if space.finite == u64::MAX {
            let pick = mix2(about, member);
            return Address {
                form: member,
                mirror: decor.mirrors[(pick % decor.mirrors.len() as u64) as usize],
                https: decor.https && pick >> 63 == 1,
                free: false,
            };
        }
        let forms = match self.block.get(index) {
            Some(Urls::Each(forms) | Urls::Shared(forms)) => *forms,
            None => self.make.forms(),
        };
        let stride = space.strides[(about % space.strides.len() as u64) as usize];
        let start = if (about >> 8).is_multiple_of(3) { 0 } else { (about >> 16) % space.finite };
        let n = (start + member % space.finite * stride) % space.finite;
        let free = member >= space.finite;
        let mirrored = forms * decor.addresses();
        let (https, mirror, form) = if n < mirrored {
            let rest = n / decor.schemes();
            let mirrors = decor.mirrors.len() as u64;
            (n % decor.schemes() == 1, decor.mirrors[(rest % mirrors) as usize], rest / mirrors)
        } else {
            let rest = n - mirrored;
            (rest % decor.schemes() == 1, decor.mirrors[0], forms + rest / decor.schemes())
        };
        Address { form, mirror, https, free }
    }
}

/// `(size, clusters of that size)` for each page of `block`, of `rows` URLs in all. Only the last
/// block can lack pages and URLs.
pub(super) fn assign(block: &[Urls], rows: u64) -> Vec<Vec<(u64, u64)>> {
    let number = |urls: &Urls| match urls {
        Urls::Each(n) | Urls::Shared(n) => *n,
    };
    let whole: u64 = block.iter().map(number).sum();
    let (blocks, mut left) = (rows / whole, rows % whole);
    let counts = |urls: &Urls| {
        let last = left.min(number(urls));
        left -= last;
        let mut counts = match urls {
            Urls::Each(n) if last == *n => vec![(*n, blocks + 1)],
            Urls::Each(n) => vec![(*n, blocks), (last, 1)],
            Urls::Shared(n) => vec![(n * blocks + last, 1)],
        };
        counts.retain(|c| c.0 > 0 && c.1 > 0);
        counts
    };
    block.iter().map(counts).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_exactly_the_rows_asked_for() {
        let block = [Urls::Each(3), Urls::Shared(5), Urls::Each(1)];
        assert_eq!(assign(&block, 18), [vec![(3, 2)], vec![(10, 1)], vec![(1, 2)]]);
        assert_eq!(assign(&block, 20), [vec![(3, 2), (2, 1)], vec![(10, 1)], vec![(1, 2)]]);
        assert_eq!(assign(&block, 2), [vec![(2, 1)], vec![], vec![]]);
        for rows in 0..60 {
            let sum = assign(&block, rows).iter().flatten().map(|c| c.0 * c.1).sum::<u64>();
            assert_eq!(sum, rows);
        }
    }
}
