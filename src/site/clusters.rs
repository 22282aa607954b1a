//! The rows of the clusters that have at least two: only these can be evidence for an operation.

use super::columns::Columns;

/// Rows that are processed in one block.
const BLOCK: usize = 4096;

/// Rows by cluster, singletons left out; O(rows) to make but for the sort within clusters.
#[derive(Clone, Debug, Default)]
pub struct Clusters {
    /// Rows, cluster by cluster by rising label, by identity within a cluster.
    rows: Vec<u32>,
    /// Label and end of each cluster in `rows`.
    ends: Vec<(u32, u32)>,
}

impl Clusters {
    /// The clusters among `rows`.
    pub fn new(columns: &Columns, rows: &[u32]) -> Clusters {
        let labels = rows.iter().map(|&r| columns.label[r as usize] as usize + 1).max().unwrap_or(0);
        let mut size = vec![0u32; labels];
        rows.iter().for_each(|&r| size[columns.label[r as usize] as usize] += 1);
        let mut out = Clusters::default();
        let mut end = 0;
        // From here on, the next free place of each cluster.
        let mut next = size;
        for (label, place) in (0..).zip(&mut next) {
            let size = std::mem::replace(place, u32::MAX);
            if size > 1 {
                *place = end;
                end += size;
                out.ends.push((label, end));
            }
        }
        out.rows.resize(end as usize, 0);
        for &row in rows {
            let place = &mut next[columns.label[row as usize] as usize];
            if *place != u32::MAX {
                out.rows[*place as usize] = row;
                *place += 1;
            }
        }
        let mut start = 0;
        for &(_, end) in &out.ends {
            out.rows[start..end as usize].sort_unstable_by_key(|&r| columns.hash[r as usize]);
            start = end as usize;
        }
        out
    }

    /// Label and rows of each cluster.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let mut start = 0;
        self.ends.iter().map(move |&(label, end)| {
            let cluster = &self.rows[start..end as usize];
            start = end as usize;
            (label, cluster)
        })
    }

    /// True when at least `enough` rows have the identity of an earlier row of their cluster. `fill` writes
    /// the identities of the given rows.
    pub fn repeat(&self, enough: u64, scratch: &mut Vec<u64>, fill: impl Fn(&[u32], &mut Vec<u64>)) -> bool {
        let mut found = 0;
        let mut clusters = self.ends.as_slice();
        let mut start = 0;
        while let Some((_, first_end)) = clusters.first() {
            let block = clusters.partition_point(|&(_, end)| (end as usize) < start + BLOCK).max(1);
            let end = clusters[..block].last().map_or(*first_end, |c| c.1) as usize;
            fill(&self.rows[start..end], scratch);
            let mut at = 0;
            for &(_, end) in &clusters[..block] {
                let cluster = end as usize - start;
                found += repeats(&mut scratch[at..cluster]);
                at = cluster;
            }
            if found >= enough {
                return true;
            }
            start = end;
            clusters = &clusters[block..];
        }
        false
    }
}

/// Number of values that an earlier one equals; reorders `values`.
fn repeats(values: &mut [u64]) -> u64 {
    if let [a, b] = values {
        return u64::from(a == b);
    }
    if let [a, b, c] = values {
        return u64::from(a == b) + u64::from(c == a || c == b);
    }
    values.sort_unstable();
    values.windows(2).filter(|w| w[0] == w[1]).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(label: &[u32]) -> Columns {
        let hash = (0..label.len() as u64).rev().collect();
        let mut out = Columns::default();
        (out.label, out.hash) = (label.to_vec(), hash);
        out
    }

    #[test]
    fn clusters_of_two_or_more_by_label_and_identity() {
        let columns = columns(&[3, 1, 3, 0, 1, 3, 2]);
        let clusters = Clusters::new(&columns, &[0, 1, 2, 3, 4, 6]);
        let found: Vec<(u32, Vec<u32>)> = clusters.iter().map(|(label, rows)| (label, rows.to_vec())).collect();
        assert_eq!(found, [(1, vec![4, 1]), (3, vec![2, 0])]);
    }

    #[test]
    fn repeats_are_counted_within_clusters_only_and_over_blocks() {
        let labels: Vec<u32> = (0..3 * BLOCK as u32).map(|r| r / 2).collect();
        let columns = columns(&labels);
        let rows: Vec<u32> = (0..labels.len() as u32).collect();
        let clusters = Clusters::new(&columns, &rows);
        // Rows 0 and 1 of a cluster differ; all clusters hold the same two values.
        let differ = |rows: &[u32], out: &mut Vec<u64>| {
            out.clear();
            out.extend(rows.iter().map(|&r| u64::from(r % 2)));
        };
        assert!(!clusters.repeat(1, &mut Vec::new(), differ));
        let last = labels.len() as u32 - 2;
        let three = |rows: &[u32], out: &mut Vec<u64>| {
            out.clear();
            out.extend(rows.iter().map(|&r| if r < 4 || r >= last { 7 } else { u64::from(r) }));
        };
        assert!(clusters.repeat(3, &mut Vec::new(), three));
        assert!(!clusters.repeat(4, &mut Vec::new(), three));
        assert_eq!(repeats(&mut [5, 6, 5, 5]), 2);
        assert_eq!([repeats(&mut [1, 2, 1]), repeats(&mut [1, 1, 1]), repeats(&mut [1, 2, 3])], [1, 2, 0]);
    }
}
