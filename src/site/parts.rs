//! Parts of a form that show the pages of another one, while the rest does not.
//!
//! The first page of a topic has two URLs, `/topic/7` and `/topic/7/page-1`, and its second page one. As a whole
//! the form of the pages cannot move to that of the topics, so the rows with the value `1` become a form of
//! their own before candidates are tested, by the same bounds as all others. The pattern tree has split where
//! the value is a word that many pages have; numbers are what it does not split by.

use super::columns::Columns;
use super::conditions::is_by_chance;
use super::evidence::{Bound, Groups};
use super::forms::{Form, Forms, Parts};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Parts of one form, those of most rows: a bound of work.
const MAX_PARTS: usize = 16;

/// Values of a key of a form under which its rows show pages of another form.
pub struct PartValues {
    form: usize,
    key: usize,
    values: BTreeSet<u32>,
    /// The part may move to the other form; else only the other form to the part.
    moves: bool,
}

impl Forms {
    /// The values under which the form `from` shows pages of `to`, of each key that `to` has not. Key pairs are
    /// `(key of from, key of to)`. Not of a parameter where the path is the same: defaults of parameters, and
    /// values that mean the same, are found among the operations.
    pub(super) fn parts_of(
        &self,
        columns: &Columns,
        ends: [usize; 2],
        pairs: &[(usize, usize)],
        groups: &Groups,
    ) -> Vec<PartValues> {
        let [from, to] = ends.map(|form| &self.list[form]);
        let is_whole = |form: &Form, mapped: usize| form.slots.len() == mapped;
        let moves = is_whole(to, pairs.len());
        if !moves && !is_whole(from, pairs.len() + 1) {
            return Vec::new();
        }
        let is_moved = path(from, columns) != path(to, columns);
        let least = |key: usize| match columns.keys[key].as_path() {
            Some(_) => Some(self.thresholds.form_min_clusters as u64),
            None => is_moved.then_some(self.thresholds.min_clusters_chosen),
        };
        let is_lost =
            |key: &usize| pairs.iter().all(|pair| pair.0 != *key) && to.constants.iter().all(|of| of.0 != *key);
        let lost = from.slots.iter().copied().filter(is_lost);
        let lost: Vec<(usize, u64)> =
            lost.filter_map(|key| Some((key, least(key)?.max(self.least_clusters)))).collect();
        let bound = Bound::form(&self.thresholds).allowing(self.noise);
        let permille = self.thresholds.condition_chance_permille;
        let found = values(columns, [from, to], &lost, groups, (bound, permille)).into_iter();
        found.map(|(key, values)| PartValues { form: ends[0], key, values, moves }).collect()
    }

    /// The parts to make: where a form may move as a whole without the key, no part that is only moved to.
    pub(super) fn parts_to_make(&self, found: Vec<PartValues>) -> Parts {
        let loses = |form: usize, key: usize| {
            let mut of_form = self.candidates.iter().filter(|candidate| candidate.source == form);
            of_form.any(|candidate| candidate.mapping.iter().all(|pair| pair.1 != key))
        };
        let mut parts = Parts::new();
        for PartValues { form, key, values, .. } in found.into_iter().filter(|of| of.moves || !loses(of.form, of.key)) {
            parts.entry(form).or_default().entry(key).or_default().extend(values);
        }
        parts
    }

    /// Divides forms: each value that shows another form becomes one, of the key that does so in most rows.
    pub(super) fn divide(&mut self, columns: &Columns, parts: Parts) {
        let least = self.thresholds.form_min_constant_urls;
        for (form, keys) in parts {
            let of_key = |(key, values): (usize, BTreeSet<u32>)| {
                let mut rows = vec![0u32; columns.codes_len(key)];
                self.list[form].rows.iter().for_each(|&row| rows[columns.code(key, row) as usize] += 1);
                let mut values: Vec<(Reverse<u32>, u32)> =
                    values.into_iter().map(|value| (Reverse(rows[value as usize]), value)).collect();
                values.sort_unstable();
                values.truncate(MAX_PARTS);
                (values.iter().map(|of| of.0.0).sum::<u32>(), Reverse(key), values)
            };
            let Some((_, Reverse(key), values)) = keys.into_iter().map(of_key).max() else { continue };
            let mut values: Vec<u32> = values.into_iter().map(|of| of.1).collect();
            values.sort_unstable();
            for &value in &values {
                let part = self.split(columns, form, key, &[value]);
                self.list[part].find_slots(columns, least);
            }
            self.list[form].parts.push((key, values));
            self.list[form].find_slots(columns, least);
        }
    }
}

/// The keys of a form that are parts of the path, in the order of the columns, with the value of those that have
/// one only.
fn path(form: &Form, columns: &Columns) -> Vec<(usize, u32)> {
    let slots = form.slots.iter().map(|&key| (key, 0));
    let mut keys: Vec<(usize, u32)> = form.constants.iter().copied().chain(slots).collect();
    keys.retain(|of| columns.keys[of.0].as_path().is_some());
    keys.sort_unstable();
    keys
}

/// The values of the keys `lost`, of the form `from`, under which its rows show pages of the form `to`: those
/// that `bound` allows each by itself, one observation a page, that as many pages show as stand beside the
/// key, and that are not as right by chance as one of so many values is (`permille`). `groups` are those
/// of the test of a move that loses these keys.
///
/// O(keys x rows of the groups x log).
fn values(
    columns: &Columns,
    [from, to]: [&Form; 2],
    lost: &[(usize, u64)],
    groups: &Groups,
    (bound, permille): (Bound, u64),
) -> Vec<(usize, BTreeSet<u32>)> {
    let mut is_from = vec![None; columns.len()];
    from.rows.iter().for_each(|&row| is_from[row as usize] = Some(true));
    to.rows.iter().for_each(|&row| is_from[row as usize] = Some(false));
    let of_key = |&(key, least): &(usize, u64)| {
        let mut seen: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
        for members in (0..groups.len()).map(|group| groups.members(group)) {
            let (mut pages, mut met): (BTreeSet<u32>, BTreeSet<(u32, u32)>) = Default::default();
            for &row in members {
                let label = columns.label[row as usize];
                match is_from[row as usize] {
                    Some(true) => drop(met.insert((columns.code(key, row), label))),
                    Some(false) => drop(pages.insert(label)),
                    None => {}
                }
            }
            if pages.is_empty() {
                continue;
            }
            for (code, label) in met {
                seen.entry(code).or_default()[usize::from(!pages.contains(&label))] += 1;
            }
        }
        let tried = seen.values().filter(|[good, bad]| good + bad >= least).count();
        let sums = seen.values().fold([0; 2], |sums, seen| [sums[0] + seen[0], sums[1] + seen[1]]);
        let is_chance =
            |[good, bad]: [u64; 2]| is_by_chance([good, bad], [sums[0] - good, sums[1] - bad], tried, bound, permille);
        let holds =
            |&(_, [good, bad]): &(u32, [u64; 2])| good >= least && bound.holds(good, bad, 0) && !is_chance([good, bad]);
        let values: BTreeSet<u32> = seen.into_iter().filter(holds).map(|of| of.0).collect();
        (!values.is_empty()).then_some((key, values))
    };
    lost.iter().filter_map(of_key).collect()
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Sorter;
    use super::super::{Thresholds, Training};
    use super::*;
    use crate::rules::Tokens;
    use crate::url::{Fixed, Part};

    /// The values of `/arch/N/I` that show `/rep/I`, of records (N, I, the page is that of `/rep/I`).
    fn found(records: &[(u32, u32, bool)], permille: u64) -> Vec<String> {
        let arch = records.iter().map(|&(n, i, is_newest)| {
            let label = if is_newest { format!("r{i}") } else { format!("o{i}") };
            (format!("http://x.example/arch/{n}/{i}"), label)
        });
        let rep = records.iter().map(|&(_, i, _)| (format!("http://x.example/rep/{i}"), format!("r{i}")));
        let urls: Vec<(String, String)> = arch.chain(rep).collect();
        let training =
            Training::new("x.example", urls.iter().map(|of| (of.0.as_bytes(), Some(of.1.as_bytes()), false)));
        let thresholds = Thresholds::default();
        let columns = Columns::new(&training, Tokens::default(), &thresholds);
        let number = |segment| columns.fixed(Fixed::path(segment, Part::Number)).unwrap();
        let is_arch = |row: u32| columns.code(number(2), row) != 0;
        let form = |is: bool| {
            let rows = (0..columns.len() as u32).filter(|&row| is_arch(row) == is).collect();
            let (constants, slots, moved, parts) = Default::default();
            Form { leaf: 0, rows, volume: 0, constants, slots, moved, parts }
        };
        // Both forms by the last number, whose codes differ between the columns.
        let last = |row: u32| {
            let key = if is_arch(row) { number(2) } else { number(1) };
            crate::model::hash64(columns.value(key, columns.code(key, row)))
        };
        let groups = Sorter::default().group((0..columns.len() as u32).map(|row| (last(row), row)), &columns.label);
        let key = number(1);
        let bound = (Bound::form(&thresholds), permille);
        let of_key = values(&columns, [&form(true), &form(false)], &[(key, 3)], &groups, bound);
        of_key.into_iter().flat_map(|of| of.1).filter_map(|code| columns.text(key, code)).collect()
    }

    #[test]
    fn one_value_of_a_few_is_a_part() {
        let records: Vec<(u32, u32, bool)> = (0..60).map(|i| (i % 3 + 1, i, i % 3 == 0)).collect();
        assert_eq!(found(&records, 50), ["1"]);
        // Two pages are too few, and so is a value that is wrong on a page.
        assert!(found(&records[..6], 50).is_empty());
        let wrong: Vec<(u32, u32, bool)> = records.iter().map(|&(n, i, is)| (n, i, is && i > 0)).collect();
        assert!(found(&wrong, 50).is_empty());
    }

    #[test]
    fn a_few_of_many_values_are_right_by_chance() {
        // Of sixty numbers half have a wrong page among six, and half none.
        let records: Vec<(u32, u32, bool)> = (0..360).map(|i| (i % 60 + 1, i, i >= 60 || i % 2 == 0)).collect();
        assert_eq!(found(&records, 1_000).len(), 30);
        assert!(found(&records, 50).is_empty());
    }
}
