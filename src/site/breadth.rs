//! Whether the evidence for ignoring a key is about the key, and not about a few of its values (design, section 4.1,
//! stage 4; REPORT.md, D13).
//!
//! A functional key whose values happen not to collide (`/git/x`, `/python/x`) passes any bound on wrong merges: nothing
//! falls together, right or wrong. So a key may be ignored only if
//! - each of its frequent values has merge evidence of its own; and
//! - so have the others, as far as values that are alike would. On a site of forty sections, two of which are mirrors,
//!   there are as many right merges as one likes, and thirty-eight sections that say nothing (a departure: the design
//!   asks for frequent values alone, and none of forty is one).
//!
//! Evidence about a key are rows of one cluster that differ in it: what another key of a joint ignore brings together says
//! nothing about this one.

use super::columns::Columns;
use super::evidence::Groups;
use super::operations::{self, Map};
use crate::url::{Fixed, Part};

/// Links between values, each an observation that they mean the same, that are proof by themselves: the good without a
/// bad one that an operation needs (design, section 4.3).
const LINKS: usize = 9;
/// What the share of rows whose values have evidence may lack of its expectation.
const SLACK: f64 = 0.2;

/// True where ignoring `key` is proven for its values at large. `groups` are what the operation joins of `rows`.
///
/// O(rows of the groups x log of a group).
pub fn is_broad(columns: &Columns, groups: &Groups, key: usize, rows: &[u32]) -> bool {
    let name = &columns.keys[key];
    let counted = name.as_path().is_some() || name.is(Fixed::HOST) || name.is(Fixed::EXTENSION) || name.optional();
    if !counted {
        return true;
    }
    let seen = operations::frequencies(columns, key, rows.iter().copied());
    let values = Values::of(columns, groups, key, seen.len());
    let total: u32 = seen[usize::from(name.optional())..].iter().sum();
    let frequent = (1..seen.len()).filter(|&code| u64::from(seen[code]) * 20 >= u64::from(total));
    frequent.into_iter().all(|code| values.are_proven(code)) && (values.links >= LINKS || values.are_alike(&seen))
}

/// Fewest rows of a context that are expected to meet their cluster before it counts that hardly any does.
const EXPECTED: f64 = 8.0;

/// True where the rows that an operation changes meet others of their cluster wherever they come from: under a first path
/// segment, or on a host, that is as much as [`EXPECTED`] behind what the rows at large lead to expect, the operation is
/// another matter. Wiki titles in any case say nothing of `/s/AbCdEf` beside them. A departure: the design asks for no
/// such thing.
///
/// O(rows).
pub fn is_everywhere(columns: &Columns, groups: &Groups, maps: &[(usize, Map)], rows: &[u32]) -> bool {
    let code = |key: usize, row: u32| columns.codes[key][row as usize];
    let changed = |row: u32| maps.iter().any(|(key, map)| map.get(code(*key, row)) != code(*key, row));
    let mut meets = vec![false; columns.len()];
    for group in 0..groups.len() {
        for &row in groups.members(group) {
            let label = |row: u32| columns.label[row as usize];
            let mut others = groups.members(group).iter().filter(|&&other| other != row);
            meets[row as usize] = others.any(|&other| label(other) == label(row));
        }
    }
    let rows: Vec<u32> = rows.iter().copied().filter(|&row| changed(row)).collect();
    let met = rows.iter().filter(|&&row| meets[row as usize]).count();
    let contexts = [Fixed::path(0, Part::Head), Fixed::HOST].into_iter().filter_map(|key| columns.fixed(key));
    contexts.into_iter().all(|key| {
        let map = maps.iter().find(|(k, _)| *k == key);
        let mut seen = vec![(0u32, 0u32); columns.codes_len(key)];
        for &row in &rows {
            let code = code(key, row);
            let context = &mut seen[map.map_or(code, |(_, map)| map.get(code)) as usize];
            *context = (context.0 + 1, context.1 + u32::from(meets[row as usize]));
        }
        seen.into_iter().all(|(all, some)| {
            let expected = f64::from(all) * met as f64 / rows.len() as f64;
            expected < EXPECTED || f64::from(some) * EXPECTED >= expected
        })
    })
}

/// What the groups say of the values of a key.
struct Values {
    /// Rows of a value that would fall together with rows of another.
    met: Vec<f64>,
    /// Of those, how many of the others are of their cluster: a share a row.
    same: Vec<f64>,
    /// Rows of a value that meet one of their cluster.
    agree: Vec<u32>,
    /// Values that are known to mean the same, less one a set of them.
    links: usize,
}

impl Values {
    fn of(columns: &Columns, groups: &Groups, key: usize, codes: usize) -> Values {
        let (label, code) = (&columns.label, &columns.codes[key]);
        let mut out = Values { met: vec![0.0; codes], same: vec![0.0; codes], agree: vec![0; codes], links: 0 };
        let mut sets = Sets((0..codes as u32).collect());
        // Label and code of each member, sorted; their codes, sorted.
        let (mut pairs, mut values) = (Vec::new(), Vec::new());
        for group in 0..groups.len() {
            pairs.clear();
            pairs.extend(groups.members(group).iter().map(|&r| (label[r as usize], code[r as usize])));
            pairs.sort_unstable();
            values.clear();
            values.extend(pairs.iter().map(|pair| pair.1));
            values.sort_unstable();
            for &(label, code) in &pairs {
                let pair = |from: (u32, u32), to: (u32, u32)| {
                    pairs.partition_point(|&pair| pair <= to) - pairs.partition_point(|&pair| pair < from)
                };
                let others = pairs.len()
                    - (values.partition_point(|&value| value <= code) - values.partition_point(|&value| value < code));
                if others == 0 {
                    continue;
                }
                let agree = pair((label, 0), (label, u32::MAX)) - pair((label, code), (label, code));
                let at = code as usize;
                out.met[at] += 1.0;
                out.same[at] += agree as f64 / others as f64;
                out.agree[at] += u32::from(agree > 0);
            }
            let joined = pairs.windows(2).filter(|pair| pair[0].0 == pair[1].0);
            out.links += joined.filter(|pair| sets.join(pair[0].1, pair[1].1)).count();
        }
        out
    }

    /// A frequent value has evidence of its own, and hardly any against it.
    fn are_proven(&self, code: usize) -> bool {
        self.same[code] >= 1.0 && self.met[code] - self.same[code] <= 0.2 * self.met[code]
    }

    /// The rows whose values have evidence are as many, of those that have the key, as they would be if each row had it
    /// by the same chance, whatever its value; less [`SLACK`].
    fn are_alike(&self, seen: &[u32]) -> bool {
        let present = || (1..seen.len()).map(|code| (f64::from(seen[code]), self.agree[code]));
        let (mut total, mut agree, mut covered) = (0.0, 0.0, 0.0);
        for (rows, agrees) in present() {
            total += rows;
            agree += f64::from(agrees);
            covered += if agrees > 0 { rows } else { 0.0 };
        }
        let chance = agree / f64::max(total, 1.0);
        // Whole powers: the same on every machine.
        let expected: f64 = present().map(|(rows, _)| rows * (1.0 - power(1.0 - chance, rows as u32))).sum();
        covered >= expected - SLACK * total
    }
}

/// `base` to the power of `exponent`, by squaring.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut out = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            out *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    out
}

/// Disjoint sets of codes.
struct Sets(Vec<u32>);

impl Sets {
    fn root(&mut self, mut code: u32) -> u32 {
        while self.0[code as usize] != code {
            self.0[code as usize] = self.0[self.0[code as usize] as usize];
            code = self.0[code as usize];
        }
        code
    }

    /// True where the two were apart.
    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
        a != b
    }
}
