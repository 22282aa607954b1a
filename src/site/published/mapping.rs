//! Algorithm 3, Find-Key-Key-Mappings (WWW10 section 5.2.2).
//!
//! For every key of the target that is not one concrete value: the key of the source with the greatest
//! rate of common values, where that rate is above `sigma_min`. Readings: the rate is the share of
//! shared values among all distinct values of the two keys (Jaccard), over the URLs that are duplicates
//! in both nodes ("only duplicate samples from the two duplicate nodes are taken into account", 5.2.3);
//! absence is no value here; of equal rates the same key wins, then the first key of the URL.
//!
//! The switch [`Sigma::Agreement`] is the departure of undust: the share of common clusters in which
//! the two keys share a value, at least [`AGREEMENT_MIN`], one source key to one target key.

use super::keys::{ABSENT, PublishedColumns};
use super::{Sigma, Switches};

/// Least agreement of a mapping under [`Sigma::Agreement`].
pub const AGREEMENT_MIN: f64 = 0.8;

/// Finds mappings; reused from pair to pair. All memory is linear in the distinct values.
#[derive(Debug)]
pub struct Mapper {
    /// Source keys that have a value, a bit a key; all zero between uses.
    sources: Vec<u128>,
    touched: Vec<u32>,
    values: Vec<u32>,
}

/// Rows of the two nodes that are duplicates, sorted by cluster.
#[derive(Clone, Copy, Debug)]
pub struct Duplicates<'a> {
    /// Rows of the source.
    pub source: &'a [u32],
    /// Rows of the target; the same where source and target are one node.
    pub target: &'a [u32],
    /// Number of their common clusters.
    pub clusters: u32,
}

impl Mapper {
    /// For the columns at hand.
    pub fn new(columns: &PublishedColumns) -> Mapper {
        Mapper { sources: vec![0; columns.value_count()], touched: Vec::new(), values: Vec::new() }
    }

    /// The source key of each of the `open` target keys (ascending), in their order.
    ///
    /// Costs rows x keys, and the shared values times the keys that share them.
    pub fn find(
        &mut self,
        columns: &PublishedColumns,
        rows: Duplicates<'_>,
        open: &[usize],
        switches: &Switches,
    ) -> Vec<Option<usize>> {
        match switches.sigma {
            Sigma::ValueSets => self.by_values(columns, rows, open, switches.sigma_min),
            Sigma::Agreement => self.by_agreement(columns, rows, open),
        }
    }

    fn by_values(
        &mut self,
        columns: &PublishedColumns,
        rows: Duplicates<'_>,
        open: &[usize],
        sigma_min: f64,
    ) -> Vec<Option<usize>> {
        let keys = columns.keys.len();
        let mut source_size = vec![0u32; keys];
        for (key, size) in source_size.iter_mut().enumerate() {
            *size = self.mark(&columns.values[key], rows.source, key);
        }
        let mut shared = vec![0u32; keys];
        let found = open
            .iter()
            .map(|&target| {
                shared.fill(0);
                let column = &columns.values[target];
                self.values.clear();
                self.values.extend(rows.target.iter().map(|&r| column[r as usize]).filter(|&v| v != ABSENT));
                self.values.sort_unstable();
                self.values.dedup();
                self.values.iter().for_each(|&v| bits(self.sources[v as usize], |key| shared[key] += 1));
                let target_size = self.values.len() as u32;
                let rate = |key: usize| rate(shared[key], source_size[key] + target_size - shared[key]);
                best(keys, target, rate).filter(|&key| rate(key) > sigma_min)
            })
            .collect();
        self.clear();
        found
    }

    fn by_agreement(&mut self, columns: &PublishedColumns, rows: Duplicates<'_>, open: &[usize]) -> Vec<Option<usize>> {
        let keys = columns.keys.len();
        let mut agree = vec![0u32; keys * open.len()];
        let cluster = |&row: &u32| columns.clusters[row as usize];
        let mut targets = rows.target.chunk_by(|a, b| cluster(a) == cluster(b));
        for source in rows.source.chunk_by(|a, b| cluster(a) == cluster(b)) {
            // Both sides hold exactly the common clusters, in the same order.
            let Some(target) = targets.next() else { break };
            for key in 0..keys {
                self.mark(&columns.values[key], source, key);
            }
            for (i, &key) in open.iter().enumerate() {
                let values = target.iter().map(|&r| columns.values[key][r as usize]).filter(|&v| v != ABSENT);
                let shared = values.fold(0, |set, v| set | self.sources[v as usize]);
                bits(shared, |source| agree[i * keys + source] += 1);
            }
            self.clear();
        }
        let mut pairs: Vec<(u32, bool, usize, usize)> = (0..agree.len())
            .map(|at| (agree[at], at % keys == open[at / keys], at / keys, at % keys))
            .filter(|p| rate(p.0, rows.clusters) >= AGREEMENT_MIN)
            .collect();
        pairs.sort_unstable_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
        let (mut found, mut used) = (vec![None; open.len()], 0u128);
        for (_, _, i, source) in pairs {
            if found[i].is_none() && used >> source & 1 == 0 {
                found[i] = Some(source);
                used |= 1 << source;
            }
        }
        found
    }

    /// Notes that `key` has the values of `rows`; returns how many they are.
    fn mark(&mut self, column: &[u32], rows: &[u32], key: usize) -> u32 {
        let mut distinct = 0;
        for &row in rows {
            let value = column[row as usize];
            let set = &mut self.sources[value as usize];
            if value == ABSENT || *set >> key & 1 == 1 {
                continue;
            }
            if *set == 0 {
                self.touched.push(value);
            }
            *set |= 1 << key;
            distinct += 1;
        }
        distinct
    }

    fn clear(&mut self) {
        self.touched.drain(..).for_each(|value| self.sources[value as usize] = 0);
    }
}

fn rate(part: u32, whole: u32) -> f64 {
    if whole == 0 { 0.0 } else { f64::from(part) / f64::from(whole) }
}

/// The key of greatest rate; of equal ones `same`, then the first.
fn best(keys: usize, same: usize, rate: impl Fn(usize) -> f64) -> Option<usize> {
    let first = (0..keys).max_by(|&a, &b| rate(a).total_cmp(&rate(b)).then(b.cmp(&a)))?;
    Some(if rate(same) >= rate(first) { same } else { first })
}

fn bits(mut set: u128, mut each: impl FnMut(usize)) {
    while set != 0 {
        each(set.trailing_zeros() as usize);
        set &= set - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Training;

    /// By hand: `a` and `b` share all of 1, 2, 3, so their rate is 3 / 3, above a threshold of 0.5 and not
    /// above one of 1. Yet no cluster has one value under both, so they agree in none of the three.
    #[test]
    fn value_sets_map_what_agreement_does_not() {
        let records = [("s?a=1", "x"), ("s?a=2", "y"), ("s?a=3", "z"), ("t?b=1", "z"), ("t?b=2", "x"), ("t?b=3", "y")]
            .map(|(tail, label)| (format!("http://h/{tail}"), label.as_bytes()));
        let columns = PublishedColumns::new(&Training::new(
            "h",
            records.iter().map(|(url, label)| (url.as_bytes(), Some(*label), false)),
        ));
        let key = |name: &str| columns.keys.iter().position(|k| k.to_string() == name).expect("a key of the site");
        // Rows are sorted by URL, clusters x, y, z in their order.
        let rows = Duplicates { source: &[0, 1, 2], target: &[4, 5, 3], clusters: 3 };
        let find = |switches| Mapper::new(&columns).find(&columns, rows, &[key("q:b=")], &switches);
        let literal = Switches::default();
        assert_eq!(find(literal), [Some(key("q:a="))]);
        assert_eq!(find(Switches { sigma_min: 1.0, ..literal }), [None]);
        assert_eq!(find(Switches { sigma: Sigma::Agreement, ..literal }), [None]);
    }
}
