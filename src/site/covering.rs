//! The state of sequential covering: the rows as the adopted rules have reduced them, and the tests of an
//! operation on them. The loop over it is in [`passes`](super::passes).

use super::columns::Columns;
use super::evidence::{Bound, Groups, Sorter};
use super::noise::{Witness, WrongLabels};
use super::operations::{self, FunctionMaps, Map};
use super::proposal::{Action, Adopted, is_substitution};
use super::section_set::SectionSet;
use super::soft_404::Soft404s;
use super::{
    Thresholds, Without, generalization, joint, overlap, page_values, prefixes, random_tokens, scripts, section_set,
    small_operations,
};
use crate::platforms::Placed;
use crate::url::Fixed;
use std::collections::BTreeSet;

/// The state of the loop: the distinct rows as the adopted rules have reduced them.
#[derive(Debug)]
pub struct Covering {
    /// The rows; those not in `alive` have been joined to others.
    pub columns: Columns,
    /// Rows that no rule has merged into another one, rising.
    pub alive: Vec<u32>,
    /// Rules in the order of their adoption.
    pub rules: Vec<Adopted>,
    /// Operations tested, for the counts.
    pub tests: u64,
    /// Label noise that even the best operations show, in thousandths; see [`floor`](super::noise::floor).
    pub noise: u64,
    /// Evidence of the operations tested in the first pass.
    pub(super) seen: Vec<Witness>,
    /// Rows of these operations whose labels may be wrong.
    pub(super) wrong: WrongLabels,
    /// Constant pages.
    pub(super) soft_404s: Soft404s,
    /// Thresholds of the run.
    pub thresholds: Thresholds,
    /// Levels that are left out, to measure their worth.
    pub without: Without,
    /// Lines of the programs of the site that are not adopted yet.
    pub lines: Vec<Placed>,
    /// Lines act before any evidence.
    pub provisional: bool,
    /// Lines that were adopted, for the counts.
    pub adopted_lines: u64,
    /// The keys that name the [scripts] of the site.
    pub(super) scripts: Vec<usize>,
    /// Whether each row is a feed; empty where none is.
    pub(super) feeds: Vec<bool>,
    /// The sample is small: see [`Thresholds::small_sample`].
    pub(super) is_small: bool,
    pub(super) sorter: Sorter,
    /// How often each code of each key comes in the rows alive: follows every change.
    pub(super) counts: Vec<Vec<u32>>,
    /// Map of "ignore this key" in the present state, where it was computed.
    pub(super) ignores: Vec<Option<Map>>,
    functions: FunctionMaps,
    pub(super) identities: Vec<u64>,
}

impl Covering {
    /// Initial state from the rows as they are.
    pub fn new(columns: Columns, thresholds: &Thresholds) -> Covering {
        let alive = (0..columns.len() as u32).collect();
        let (keys, is_small) = (columns.keys.len(), columns.len() < thresholds.small_sample);
        let soft_404s = Soft404s::new(&columns.label, thresholds);
        let mut out = Covering {
            columns,
            alive,
            rules: Vec::new(),
            tests: 0,
            noise: 0,
            seen: Vec::new(),
            wrong: WrongLabels::default(),
            soft_404s,
            thresholds: thresholds.clone(),
            without: Without::default(),
            lines: Vec::new(),
            provisional: false,
            adopted_lines: 0,
            scripts: Vec::new(),
            feeds: Vec::new(),
            is_small,
            sorter: Sorter::default(),
            counts: Vec::new(),
            ignores: vec![None; keys],
            functions: FunctionMaps::default(),
            identities: Vec::new(),
        };
        out.counts = (0..keys).map(|k| operations::frequencies(&out.columns, k, out.alive.iter().copied())).collect();
        out.scripts = scripts::keys(&out.columns, &out.counts, thresholds);
        // Rows that syntax-based normalization has already made the same.
        let groups = out.table(&out.alive.clone(), &[]);
        out.join(&groups);
        out
    }

    /// The rows on which an operation is tested: those outside the sections against it; `None` for all. A
    /// change of a part of the path is tested on all rows: a directory means something else in each section
    /// (crawl-docs: recall .9996 -> .9978 without).
    pub(super) fn without(&self, against: &[u32], keys: &[usize], rows: &[u32]) -> Option<Vec<u32>> {
        let is_path = |&key: &usize| self.columns.keys[key].as_path().is_some();
        let outside = SectionSet::Except(against.to_vec());
        (!against.is_empty() && !keys.iter().any(is_path)).then(|| self.within(&outside, rows)).flatten()
    }

    /// The rows on which an operation on scheme or host is tested: without the feeds that would be merged with others,
    /// since a feed names its own origin, and says nothing of the pages of its section; `None` for all. What the rule
    /// does to feeds is decided when all rules are known ([`feeds::narrow`](super::feeds::narrow)).
    pub(super) fn without_feeds(&mut self, maps: &[(usize, Map)], rows: &[u32]) -> Option<Vec<u32>> {
        let is_of_origin =
            |key: usize| [Fixed::SCHEME, Fixed::HOST].iter().any(|&fixed| self.columns.keys[key].is(fixed));
        if self.feeds.is_empty() || !maps.iter().any(|of| is_of_origin(of.0)) {
            return None;
        }
        let groups = self.table(rows, maps);
        let differ = |&group: &usize| groups.bad[group] > 0 && self.feeds[groups.first(group) as usize];
        let differing = (0..groups.len()).filter(differ).flat_map(|group| groups.members(group).iter().copied());
        let differing: BTreeSet<u32> = differing.collect();
        (!differing.is_empty()).then(|| rows.iter().copied().filter(|row| !differing.contains(row)).collect())
    }

    /// The rows of the sections in which an operation holds; `None` where these are all.
    pub(super) fn within(&self, sections: &SectionSet, rows: &[u32]) -> Option<Vec<u32>> {
        let holds = |row: &u32| sections.holds(self.columns.sections.of[*row as usize]);
        (!rows.iter().all(holds)).then(|| rows.iter().copied().filter(holds).collect())
    }

    /// The maps of an operation in the rows it is to be tested on; keys it does not change are left out.
    pub(super) fn maps(&mut self, action: Action, keys: &[usize], rows: &[u32]) -> Vec<(usize, Map)> {
        let whole = rows.len() == self.counts.first().map_or(0, |counts| counts.iter().sum::<u32>() as usize);
        match action {
            Action::Ignore => {
                let of_key = |&k: &usize| {
                    if whole {
                        let ignore = || operations::ignore(&self.columns, k, rows, &self.counts[k], &self.thresholds);
                        return (k, self.ignores[k].get_or_insert_with(ignore).clone());
                    }
                    let counts = operations::frequencies(&self.columns, k, rows.iter().copied());
                    (k, operations::ignore(&self.columns, k, rows, &counts, &self.thresholds))
                };
                let mut maps: Vec<(usize, Map)> = keys.iter().map(of_key).collect();
                joint::choose_together(&self.columns, &mut maps, rows, self.thresholds.value_near);
                maps
            }
            Action::Function(family) => keys
                .iter()
                .filter_map(|&k| Some((k, self.functions.get(&mut self.columns, k, family.function)?)))
                .collect(),
            Action::Prefix(kept) => prefixes::maps(&mut self.columns, keys, kept),
            Action::Classes => Vec::new(),
        }
    }

    /// The evidence table of an operation over `rows`.
    pub(super) fn table(&mut self, rows: &[u32], maps: &[(usize, Map)]) -> Groups {
        self.tests += 1;
        let maps: Vec<&(usize, Map)> = maps.iter().filter(|(k, map)| self.acts(*k, map)).collect();
        let mut identities = std::mem::take(&mut self.identities);
        operations::identities(&self.columns, rows, &maps, &mut identities);
        let pairs = identities.iter().copied().zip(rows.iter().copied());
        let groups = self.sorter.group(pairs, &self.columns.label);
        self.identities = identities;
        groups
    }

    /// True when a map changes some row.
    pub(super) fn acts(&self, key: usize, map: &Map) -> bool {
        let Map::Table(table) = map else { return true };
        (0..).zip(&self.counts[key]).zip(table).any(|((code, &n), &to)| n > 0 && to != code)
    }

    /// The bound of an operation, as far as the labels are noisy.
    pub(super) fn bound(&self, action: Action) -> Bound {
        match action {
            Action::Classes => Bound::classes(&self.thresholds),
            _ => Bound::operation(&self.thresholds),
        }
        .allowing(self.noise)
    }

    /// The exact test of an operation, its [generalization check](generalization) without a prior,
    /// and whether one page is about others.
    pub(super) fn accepts(
        &self,
        groups: &Groups,
        action: Action,
        maps: &[(usize, Map)],
        prior: u64,
        rows: &[u32],
    ) -> bool {
        let (columns, thresholds, bound) = (&self.columns, &self.thresholds, self.bound(action));
        let alive = if self.alive.is_empty() { rows } else { &self.alive }; // The caller may hold all rows.
        let is_substitution = prior > 0 && is_substitution(columns, action, maps);
        let is_broad = || {
            let keys: Vec<usize> = maps.iter().map(|map| map.0).collect();
            let of_key = !matches!(action, Action::Ignore | Action::Prefix(_))
                || !maps.iter().any(|map| {
                    page_values::is_of_spelling(columns, map, rows, thresholds)
                        || page_values::names_pages(columns, groups, map, rows, thresholds)
                }) && keys.iter().all(|&key| generalization::is_broad(columns, groups, key, rows, thresholds))
                    && groups.pages(0..groups.len() as u32, thresholds.min_clusters).is_none_or(|pages| {
                        columns.is_about(&pages, &keys, rows, thresholds.constant_page_others_permille)
                    });
            // One that holds without its prior is judged as any other.
            let needs_prior = is_substitution && !groups.accepted(bound, 0);
            of_key && generalization::is_on_all_hosts(columns, groups, maps, (rows, alive), needs_prior, thresholds)
        };
        let is_vouched_for = prior > 0 && !is_substitution;
        if self.is_small
            && !is_vouched_for
            && small_operations::says_too_little((columns, thresholds, self.without), groups, action, maps, rows)
        {
            return false;
        }
        self.ends_in_soft_404(groups, action, rows)
            || groups.accepted(bound, prior)
                && (is_vouched_for || is_broad())
                && overlap::allows(columns, groups, action, maps, rows, thresholds)
    }

    /// The sections in which an operation holds, and those against it: all and none where it removes nothing.
    pub(super) fn sections(
        &self,
        groups: &Groups,
        action: Action,
        maps: &[(usize, Map)],
        prior: u64,
        rows: &[u32],
    ) -> (SectionSet, Vec<u32>) {
        let keys: Vec<usize> = maps.iter().map(|map| map.0).collect();
        let keeps_all = matches!(action, Action::Function(family) if family.keeps_all());
        let vendors = action == Action::Ignore && keys.iter().all(|&key| self.is_of_vendors(groups, key, rows));
        if keeps_all {
            (SectionSet::ALL, Vec::new())
        } else if self.ends_in_soft_404(groups, action, rows) {
            (SectionSet::of_rows(&self.columns, &groups.rows), Vec::new())
        } else {
            let prior = if is_substitution(&self.columns, action, maps) { 0 } else { prior };
            section_set::decide(&self.columns, groups, self.bound(action), prior, vendors, &self.thresholds)
        }
    }

    /// True for a parameter of the tracking catalogue: its vendor documents it, so sections have no vote. One by a name
    /// that [programs give to other things](operations::is_common_tracker) is it only where its values say so: random
    /// tokens, or each value that was met is shown to say nothing somewhere.
    fn is_of_vendors(&self, groups: &Groups, key: usize, rows: &[u32]) -> bool {
        let (columns, name) = (&self.columns, &self.columns.keys[key]);
        let are_shown = || {
            let mut shown = vec![false; columns.codes_len(key)];
            for group in 0..groups.len() {
                let is_largest = |row: &&u32| columns.label[**row as usize] == groups.majority[group];
                let codes = groups.members(group).iter().filter(is_largest).map(|&row| columns.code(key, row));
                let codes: BTreeSet<u32> = codes.collect();
                if codes.len() > 1 {
                    codes.iter().for_each(|&code| shown[code as usize] = true);
                }
            }
            rows.iter().map(|&row| columns.code(key, row)).all(|code| code == 0 || shown[code as usize])
        };
        operations::is_tracker(name)
            && (!operations::is_common_tracker(name)
                || random_tokens::are_random(columns, key, &self.thresholds)
                || are_shown())
    }

    /// True where all of `rows` lie in one constant page that is a soft 404: see [`Soft404s`].
    fn ends_in_soft_404(&self, groups: &Groups, action: Action, rows: &[u32]) -> bool {
        let Some(&label) = groups.majority.first().filter(|_| action == Action::Ignore && !self.soft_404s.is_empty())
        else {
            return false;
        };
        let own = || rows.iter().map(|&r| u64::from(self.columns.weight[r as usize])).sum();
        groups.totals().0 >= self.thresholds.sink_min_good
            && rows.iter().all(|&r| self.columns.label[r as usize] == label)
            && self.soft_404s.holds(label, own())
    }

    /// Gives the rows their new values.
    pub(super) fn rewrite(&mut self, rows: &[u32], maps: &[(usize, Map)]) {
        // Keys in which a change makes another URL, and those in which leaving out does not.
        let kinds: Vec<(bool, bool)> =
            maps.iter().map(|(k, _)| (self.columns.is_part(*k), self.columns.keys[*k].as_path().is_none())).collect();
        for &row in rows {
            let r = row as usize;
            for ((k, map), (is_part, may_go)) in maps.iter().zip(&kinds) {
                let code = self.columns.codes[*k][r];
                let to = map.get(code);
                self.columns.unchanged[r] &= to == code || !is_part || to == 0 && *may_go;
                let values = &self.columns.values[*k].hash;
                self.columns.hash[r] =
                    self.columns.hash[r].wrapping_add(values[to as usize]).wrapping_sub(values[code as usize]);
                self.columns.codes[*k][r] = to;
                let counts = &mut self.counts[*k];
                counts.resize(counts.len().max(values.len()), 0);
                counts[code as usize] -= 1;
                counts[to as usize] += 1;
            }
        }
    }

    /// Pairs that fall together, and those of different clusters among them.
    pub(super) fn pairs(&self, groups: &Groups) -> (u64, u64) {
        let mut labels = Vec::new();
        (0..groups.len()).fold((0, 0), |(support, wrong), group| {
            let members = groups.members(group);
            labels.clear();
            labels.extend(members.iter().map(|&r| self.columns.label[r as usize]));
            labels.sort_unstable();
            let choose = |n: usize| (n * (n - 1) / 2) as u64;
            let same: u64 = labels.chunk_by(|a, b| a == b).map(|run| choose(run.len())).sum();
            (support + choose(members.len()), wrong + choose(members.len()) - same)
        })
    }

    pub(super) fn examples(&self, groups: &Groups) -> Vec<[u32; 2]> {
        let origin = |r: u32| self.columns.origin[r as usize];
        let pair = |group: usize| {
            let mut of =
                groups.members(group).iter().filter(|&&r| self.columns.label[r as usize] == groups.majority[group]);
            Some([origin(*of.next()?), origin(*of.next()?)])
        };
        let mut out: Vec<[u32; 2]> = (0..groups.len()).filter_map(pair).take(64).collect();
        out.sort_unstable();
        out.truncate(3);
        out
    }

    /// Joins the members of each group into its first row: the label with most URLs wins, ties by the
    /// smaller label.
    pub(super) fn join(&mut self, groups: &Groups) {
        let mut dead = vec![false; self.columns.len()];
        let mut gone = Vec::new();
        let mut votes: Vec<(u32, u64)> = Vec::new();
        for group in 0..groups.len() {
            let members = groups.members(group);
            votes.clear();
            votes.extend(
                members.iter().map(|&r| (self.columns.label[r as usize], u64::from(self.columns.weight[r as usize]))),
            );
            votes.sort_unstable();
            let mut best = (0, 0);
            let mut total = 0;
            for vote in votes.chunk_by(|a, b| a.0 == b.0) {
                let sum: u64 = vote.iter().map(|v| v.1).sum();
                total += sum;
                if sum > best.0 {
                    best = (sum, vote[0].0);
                }
            }
            let first = members[0] as usize;
            self.columns.label[first] = best.1;
            self.columns.weight[first] = total.min(u64::from(u32::MAX)) as u32;
            self.columns.unchanged[first] = members.iter().any(|&r| self.columns.unchanged[r as usize]);
            self.columns.fetchable[first] = members.iter().any(|&r| self.columns.fetchable[r as usize]);
            members[1..].iter().for_each(|&r| dead[r as usize] = true);
            gone.extend_from_slice(&members[1..]);
        }
        for (counts, codes) in self.counts.iter_mut().zip(&self.columns.codes) {
            gone.iter().for_each(|&r| counts[codes[r as usize] as usize] -= 1);
        }
        self.alive.retain(|&r| !dead[r as usize]);
        self.ignores.iter_mut().for_each(|map| *map = None);
    }
}
