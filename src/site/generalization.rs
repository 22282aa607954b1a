//! The generalization check: whether the evidence for ignoring a key covers the key, and not only a few
//! of its values.
//!
//! A functional key whose values happen not to collide (`/git/x`, `/python/x`) passes any bound on
//! wrong merges: nothing falls together, right or wrong. So a key may be ignored only if
//! - each of its frequent values has merge evidence of its own; and
//! - so do the others, as far as a share of equally good values would. With frequent values alone, two
//!   mirrored sections of a site of forty would prove the key: none of forty is frequent, the right
//!   merges are many, and thirty-eight sections have no evidence (docs/method.md, "How wide a rule may
//!   be").
//!
//! Evidence about a key are rows of one cluster that differ in it: merges caused by another key of a
//! joint ignore are not counted for this one.

use super::Thresholds;
use super::binomial::power;
use super::columns::Columns;
use super::evidence::Groups;
use super::operations::{self, Map};
use crate::url::{Fixed, Key, Part};
use std::collections::BTreeMap;

/// True where the evidence for ignoring `key` covers its values at large. `groups` are the groups that
/// the operation makes of `rows`.
///
/// O(rows of the groups x log of a group).
pub fn is_broad(columns: &Columns, groups: &Groups, key: usize, rows: &[u32], thresholds: &Thresholds) -> bool {
    let name = &columns.keys[key];
    let counted = name.as_path().is_some() || name.is(Fixed::HOST) || name.is(Fixed::EXTENSION) || name.optional();
    if !counted {
        return true;
    }
    let seen = operations::frequencies(columns, key, rows.iter().copied());
    let values = Values::of(columns, groups, key, seen.len());
    let total: u32 = seen[usize::from(name.optional())..].iter().sum();
    if name.is_family() && !speaks_for_names(columns, key, &values, &seen, thresholds) {
        return false;
    }
    let is_frequent =
        |&code: &usize| u64::from(seen[code]) * 1_000 >= thresholds.breadth_frequent_permille * u64::from(total);
    let mut frequent = (1..seen.len()).filter(is_frequent);
    frequent.all(|code| values.are_proven(code, thresholds.breadth_max_against))
        && values.none_is_alone(&seen, thresholds.breadth_alone)
        && (!name.optional() || values.are_several(&seen))
        && (values.are_any(thresholds) || values.are_alike(&seen, thresholds.breadth_slack_ppm))
}

/// True where the evidence for the values of a family of names covers its names: enough of them
/// (`breadth_names`) have merge evidence, and so has each frequent one (`breadth_frequent_permille`), and
/// each that meets other pages. Repeats of a family count for their first name.
fn speaks_for_names(columns: &Columns, key: usize, values: &Values, seen: &[u32], thresholds: &Thresholds) -> bool {
    // Rows, those with evidence, and whether some meet rows of other values.
    let mut names: BTreeMap<&[u8], (u64, u64, bool)> = BTreeMap::new();
    for code in (1..seen.len()).filter(|&code| seen[code] > 0) {
        let parameter = columns.value(key, code as u32);
        let end = memchr::memchr2(b'=', b'&', parameter).unwrap_or(parameter.len());
        let counts = names.entry(&parameter[..end]).or_default();
        counts.0 += u64::from(seen[code]);
        counts.1 += u64::from(values.agree[code]);
        counts.2 |= values.collisions[code] > 0.0;
    }
    let total: u64 = names.values().map(|counts| counts.0).sum();
    let is_rare = |rows: u64| rows * 1_000 < thresholds.breadth_frequent_permille * total;
    names.values().filter(|counts| counts.1 > 0).count() >= thresholds.breadth_names
        && names.values().all(|counts| counts.1 > 0 || is_rare(counts.0) && !counts.2)
}

/// Replacement for ignoring a key on the evidence of values that have little to do with each other: each
/// set of values that are known to mean the same gets one of them, and the others are kept. Two spellings
/// of one directory and two of another are no evidence that the directories are one, two scripts with one
/// page are none about a third, two numbers of each page none that a page has any number, and `view=full`
/// alone none about another view.
///
/// `None` where links between values prove that no value matters ([`Values::are_any`]); for a parameter that
/// can be left out, or whose values are one set, where these are `breadth_any_values` or more or it is a
/// tracker; and for a key whose values hardly come twice (`breadth_repeated_permille`): they are random, and
/// random values are not linked. In a path they must be more than `breadth_most_listed`, and not all numbers:
/// these name pages more often than visits. So it is with the ends of values, which are left out where a page was met
/// with one and without, and kept else.
pub fn listed(
    columns: &Columns,
    groups: &Groups,
    (key, map): &(usize, Map),
    rows: &[u32],
    thresholds: &Thresholds,
) -> Option<Map> {
    let name = &columns.keys[*key];
    let Map::To { code, everywhere } = *map else { return None };
    let is_bare_family = *name == Key::Query("#".to_owned());
    let of_page = [Fixed::EXTENSION, Fixed::HOST, Fixed::INDEX].iter().any(|&fixed| name.is(fixed));
    // The end of a value may be a page, as a part of the path is.
    let is_part = name.as_path().is_some() || of_page || is_bare_family || name.is_value_end();
    if !is_part && !name.optional() {
        return None;
    }
    let codes = columns.codes_len(*key);
    let mut values = Values::of(columns, groups, *key, codes);
    // No page was met with the end of a value and without it: neither what stands before nor an end of another value
    // need be a page.
    if name.is_value_end() && values.sets.size(0) < 2 {
        return Some(Map::Table((0..codes as u32).collect()));
    }
    if values.are_any(thresholds) {
        return None;
    }
    let seen = operations::frequencies(columns, *key, rows.iter().copied());
    let can_be_left_out = code == 0 && values.sets.size(0) > 1;
    values.join_on_pages(columns, groups, *key);
    let mut sets: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for value in (0..codes as u32).filter(|&value| seen[value as usize] > 0) {
        sets.entry(values.sets.root(value)).or_default().push(value);
    }
    sets.retain(|_, set| set.len() > 1 && (!name.is_value_end() || set.contains(&0)));
    let sum = |least: u32| seen[1..].iter().filter(|&&rows| rows >= least).map(|&rows| u64::from(rows)).sum::<u64>();
    let are_random = sum(2) * 1_000 <= thresholds.breadth_repeated_permille * sum(1);
    let met = || (1..codes as u32).filter(|&value| seen[value as usize] > 0);
    let may_be_any = match is_part {
        true => {
            are_random
                && met().count() > thresholds.breadth_most_listed
                && !met().all(|value| operations::is_number(columns, *key, value))
        }
        // The name of a tracker is evidence for all its values; where no row has the key now, there is nothing to list.
        false if (1..thresholds.breadth_any_values).contains(&met().count()) => operations::is_tracker(name),
        false => are_random || can_be_left_out || sets.len() == 1,
    };
    if may_be_any {
        return None;
    }
    let mut table: Vec<u32> = (0..codes as u32).collect();
    for set in sets.into_values() {
        let to = if set.contains(&code) { code } else { represent(columns, *key, rows, &set, thresholds) };
        set.into_iter().filter(|&value| value != 0 || everywhere).for_each(|value| table[value as usize] = to);
    }
    Some(Map::Table(table))
}

/// Replacement for a function of a key on the evidence of few of the values that it changes: the others
/// are kept. That `OCEAN` is `ocean` says nothing of `Pearl`, of which the site has many pages and no
/// `pearl`. `None` where the values with evidence are as many as an equal chance for each row predicts.
pub fn written_out(
    columns: &Columns,
    groups: &Groups,
    (key, map): &(usize, Map),
    rows: &[u32],
    slack: u64,
) -> Option<Map> {
    let codes = columns.codes_len(*key);
    let seen = operations::frequencies(columns, *key, rows.iter().copied());
    let values = Values::of(columns, groups, *key, codes);
    let changed = (1..codes).filter(|&code| map.get(code as u32) != code as u32);
    let is_shown = |code: u32| values.agree[code as usize] > 0;
    let table = || (0..codes as u32).map(|code| if is_shown(code) { map.get(code) } else { code }).collect();
    (!are_alike(changed.map(|code| [seen[code], values.agree[code]]), slack)).then(|| Map::Table(table()))
}

/// The value that represents those of a set.
fn represent(columns: &Columns, key: usize, rows: &[u32], set: &[u32], thresholds: &Thresholds) -> u32 {
    let present = set.iter().copied().filter(|&value| value != 0).collect();
    let present = operations::of_origins(columns, key, present);
    let values = || present.iter().copied();
    operations::chosen(columns, key, rows.iter().copied(), values())
        .unwrap_or_else(|| operations::representative(columns, key, values(), thresholds.value_near))
}

/// True where links between values of a key prove that no value matters, values never met included.
pub fn is_of_any_value(columns: &Columns, groups: &Groups, key: usize, thresholds: &Thresholds) -> bool {
    Values::of(columns, groups, key, columns.codes_len(key)).are_any(thresholds)
}

/// True where the rows that an operation changes meet others of their cluster on every host alike;
/// false where a host has hardly any of the merges that the rate of all rows predicts (`breadth_host_rows`),
/// since the operation then means something else there. Parts of one host are judged by
/// [`sections`](super::sections), but for a substitution, which a few clusters show: it is judged in each
/// first and second directory, too, and by fewer predicted merges (`substitution_expected`).
///
/// Rows of a page that is also found on another host are not counted: they meet the others only once
/// several differences are removed. `rows` are those of the scope, `alive` all.
///
/// O(rows).
pub fn is_on_all_hosts(
    columns: &Columns,
    groups: &Groups,
    maps: &[(usize, Map)],
    (rows, alive): (&[u32], &[u32]),
    is_substitution: bool,
    thresholds: &Thresholds,
) -> bool {
    let places = [Fixed::HOST, Fixed::path(0, Part::Head), Fixed::path(1, Part::Head)];
    let (places, least) = match is_substitution {
        true => (&places[..], thresholds.substitution_expected),
        false => (&places[..1], thresholds.breadth_host_rows),
    };
    places.iter().all(|&place| is_even(columns, groups, maps, (rows, alive), (place, least)))
}

/// [`is_on_all_hosts`] for the values of any fixed key, each of which has `least` expected merges or more.
fn is_even(
    columns: &Columns,
    groups: &Groups,
    maps: &[(usize, Map)],
    (rows, alive): (&[u32], &[u32]),
    (place, least): (Fixed, f64),
) -> bool {
    let Some(key) = columns.fixed(place) else { return true };
    let changed =
        |&row: &u32| maps.iter().any(|(key, map)| map.get(columns.code(*key, row)) != columns.code(*key, row));
    let meets = meets(columns, groups);
    let map = maps.iter().find(|(k, _)| *k == key);
    let host = |row: u32| map.map_or(columns.code(key, row), |(_, map)| map.get(columns.code(key, row)));
    let elsewhere = in_several(columns, alive, host);
    let mut seen = vec![(0u32, 0u32); columns.codes_len(key)];
    let mut all = (0u32, 0u32);
    for &row in rows.iter().filter(|row| changed(row)) {
        let meets = meets[row as usize];
        if meets || !elsewhere[columns.label[row as usize] as usize] {
            for sum in [&mut all, &mut seen[host(row) as usize]] {
                *sum = (sum.0 + 1, sum.1 + u32::from(meets));
            }
        }
    }
    seen.into_iter().all(|(rows, some)| {
        let expected = f64::from(rows) * f64::from(all.1) / f64::from(all.0.max(1));
        expected < least || f64::from(some) * least >= expected
    })
}

/// The rows that fall together with another of their cluster.
pub(super) fn meets(columns: &Columns, groups: &Groups) -> Vec<bool> {
    let label = |row: u32| columns.label[row as usize];
    let mut meets = vec![false; columns.len()];
    let mut members = Vec::new();
    for group in 0..groups.len() {
        let rows = groups.members(group);
        if rows.iter().all(|&row| label(row) == groups.majority[group]) {
            rows.iter().for_each(|&row| meets[row as usize] = rows.len() > 1);
            continue;
        }
        members.clear();
        members.extend_from_slice(rows);
        members.sort_unstable_by_key(|&row| label(row));
        for run in members.chunk_by(|&a, &b| label(a) == label(b)).filter(|run| run.len() > 1) {
            run.iter().for_each(|&row| meets[row as usize] = true);
        }
    }
    meets
}

/// The labels whose rows are of several contexts.
fn in_several(columns: &Columns, alive: &[u32], context: impl Fn(u32) -> u32) -> Vec<bool> {
    let labels = columns.label.iter().max().map_or(0, |&most| most as usize + 1);
    let (mut first, mut several) = (vec![u32::MAX; labels], vec![false; labels]);
    for &row in alive {
        let (label, context) = (columns.label[row as usize] as usize, context(row));
        if first[label] == u32::MAX {
            first[label] = context;
        }
        several[label] |= first[label] != context;
    }
    several
}

/// Evidence of the groups about each value of a key.
struct Values {
    /// Rows of a value that would fall together with rows of another.
    collisions: Vec<f64>,
    /// Of those, how many of the others are of their cluster: a share a row.
    same: Vec<f64>,
    /// Rows of a value that meet one of their cluster.
    agree: Vec<u32>,
    /// Values that are known to mean the same.
    sets: Sets,
    /// Values of the largest set, less one.
    links: usize,
    /// Groups with a value that an earlier one had, and those of them that link it with another set.
    again: [usize; 2],
}

impl Values {
    fn of(columns: &Columns, groups: &Groups, key: usize, codes: usize) -> Values {
        let (label, code) = (&columns.label, &columns.codes[key]);
        let (collisions, same, agree, sets) = (vec![0.0; codes], vec![0.0; codes], vec![0; codes], Sets::new(codes));
        let mut out = Values { collisions, same, agree, sets, links: 0, again: [0; 2] };
        // Label and code of each member, sorted; their codes, sorted.
        let (mut pairs, mut values) = (Vec::new(), Vec::new());
        for group in 0..groups.len() {
            pairs.clear();
            pairs.extend(groups.members(group).iter().map(|&r| (label[r as usize], code[r as usize])));
            pairs.sort_unstable();
            values.clear();
            values.extend(pairs.iter().map(|pair| pair.1));
            values.sort_unstable();
            for label in pairs.chunk_by(|a, b| a.0 == b.0) {
                for run in label.chunk_by(|a, b| a == b) {
                    let code = run[0].1;
                    let of_code =
                        values.partition_point(|&value| value <= code) - values.partition_point(|&value| value < code);
                    let (others, agree, at) = (pairs.len() - of_code, label.len() - run.len(), code as usize);
                    if others == 0 {
                        continue;
                    }
                    for _ in run {
                        out.collisions[at] += 1.0;
                        out.same[at] += agree as f64 / others as f64;
                        out.agree[at] += u32::from(agree > 0);
                    }
                }
            }
            for label in pairs.chunk_by(|a, b| a.0 == b.0) {
                let known = label.iter().any(|of| out.sets.size(of.1) > 1);
                let root = out.sets.root(label[0].1);
                let unites = label.iter().any(|of| out.sets.root(of.1) != root);
                let linked = label[0].1 != label[label.len() - 1].1;
                out.again[0] += usize::from(linked && known);
                out.again[1] += usize::from(linked && known && unites);
                for pair in label.windows(2) {
                    out.links = out.links.max(out.sets.join(pair[0].1, pair[1].1) as usize - 1);
                }
            }
        }
        out
    }

    /// True where links between values prove that none matters: as many in one set as `breadth_links`, or as
    /// many groups as `breadth_recurring` with a value that comes again, nine of ten of them with other values
    /// than before. Two spellings of a directory come again with each other, any title with any other.
    fn are_any(&self, thresholds: &Thresholds) -> bool {
        let [again, other] = self.again;
        self.links >= thresholds.breadth_links
            || again >= thresholds.breadth_recurring && other * 100 >= again * thresholds.breadth_recurring_percent
    }

    /// Joins the values that one page has in several groups: of a page that is shown for all values of two
    /// keys, each group shows those of one of them.
    fn join_on_pages(&mut self, columns: &Columns, groups: &Groups, key: usize) {
        let mut first: BTreeMap<u32, u32> = BTreeMap::new();
        for &row in (0..groups.len()).flat_map(|group| groups.members(group)) {
            let code = columns.code(key, row);
            let of_page = *first.entry(columns.label[row as usize]).or_insert(code);
            self.sets.join(of_page, code);
        }
    }

    /// False where a value has no evidence although more than `most` of its rows would, were they as
    /// the others.
    fn none_is_alone(&self, seen: &[u32], most: f64) -> bool {
        let present = || (1..seen.len()).map(|code| (u64::from(seen[code]), u64::from(self.agree[code])));
        let (rows, agree) = present().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        present().all(|(own, evidence)| evidence > 0 || (own * agree) as f64 <= most * rows as f64)
    }

    /// False where one value has all evidence, and others were met: these have another meaning, or it was
    /// not shown that they have none.
    fn are_several(&self, seen: &[u32]) -> bool {
        let with = (1..seen.len()).filter(|&code| self.agree[code] > 0).count();
        with != 1 || (1..seen.len()).filter(|&code| seen[code] > 0).count() == 1
    }

    /// True for a frequent value with evidence of its own and at most the share `most` against it.
    fn are_proven(&self, code: usize, most: f64) -> bool {
        self.same[code] >= 1.0 && self.collisions[code] - self.same[code] <= most * self.collisions[code]
    }

    /// [`are_alike`] for the values that are there.
    fn are_alike(&self, seen: &[u32], slack: u64) -> bool {
        are_alike((1..seen.len()).map(|code| [seen[code], self.agree[code]]), slack)
    }
}

/// True where the rows whose values have evidence are as many, among those that have the key, as an equal
/// chance for each row predicts; less `slack` millionths of all. Each value has its rows and those of them
/// with evidence.
pub(super) fn are_alike(values: impl Iterator<Item = [u32; 2]> + Clone, slack: u64) -> bool {
    let (mut total, mut agree, mut covered) = (0, 0, 0);
    for [rows, agrees] in values.clone() {
        total += u64::from(rows);
        agree += u64::from(agrees);
        covered += if agrees > 0 { u64::from(rows) } else { 0 };
    }
    let chance = agree as f64 / total.max(1) as f64;
    // In millionths of a row: integer sums do not depend on the order of values.
    let due = |rows: u32| (1e6 * f64::from(rows) * (1.0 - power(1.0 - chance, rows))) as u64;
    let expected: u64 = values.map(|[rows, _]| due(rows)).sum();
    covered * 1_000_000 + total * slack >= expected
}

/// Disjoint sets of codes: the parent of each, and the size of the set below it.
struct Sets(Vec<(u32, u32)>);

impl Sets {
    fn new(codes: usize) -> Sets {
        Sets((0..codes as u32).map(|code| (code, 1)).collect())
    }

    fn root(&mut self, mut code: u32) -> u32 {
        while self.0[code as usize].0 != code {
            self.0[code as usize].0 = self.0[self.0[code as usize].0 as usize].0;
            code = self.0[code as usize].0;
        }
        code
    }

    /// Codes in the set of this one.
    fn size(&mut self, code: u32) -> u32 {
        let root = self.root(code);
        self.0[root as usize].1
    }

    /// Joins the sets of two codes; returns the size of the set of both.
    fn join(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.root(a), self.root(b));
        let (a, b) = (a.min(b), a.max(b));
        if a != b {
            self.0[b as usize].0 = a;
            self.0[a as usize].1 += self.0[b as usize].1;
        }
        self.0[a as usize].1
    }
}
