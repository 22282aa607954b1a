//! Sequential covering: the ordered loop that finds ignores, classes and string functions.
//!
//! One evidence table serves all: the rows sorted by their identity after an operation. Levels: single
//! keys and string functions; lines of the catalogue of platforms ([`lines`](super::lines)); keys that
//! differ together inside clusters; these under one condition; parameters whose values do not matter
//! where present; value classes; defaults written out together ([`defaults`]); classes under one
//! condition. Proposals that pass are adopted best first (fewest keys, then good less the cost of bad),
//! each tested again in the present state; any adoption restarts at the first level. Sorts: passes times
//! operations. A general operation tried late is refuted by rows that a special one has joined: in
//! another order false merges on one corpus rose from 0 to 7 %.

use super::adopt::Adopted;
use super::breadth;
use super::classes;
use super::clusters::Clusters;
use super::columns::Columns;
use super::conditions::{self, Choices, Scope};
use super::defaults;
use super::evidence::{Bound, Groups, Sorter};
use super::joint;
use super::noise::{self, Witness, WrongLabels};
use super::operations::{self, FAMILIES, Family, FunctionMaps, Map};
use super::overlap;
use super::prefixes;
use super::sections::{self, Reach};
use super::sinks::Sinks;
use super::{Stage, Thresholds, Without, small_samples};
use crate::platforms::Placed;
use crate::rules::Function;
use crate::url::Fixed;

/// Most passes over all levels: a bound of work. Each adopts something, so it only guards against a defect.
const MAX_PASSES: usize = 40;

/// Kind of operation that a rule makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The values of these keys do not matter.
    Ignore,
    /// Values of one key that mean the same, or values of several that mean the same as none of them.
    Classes,
    /// A string function.
    Function(Family),
    /// The path is cut behind this many segments.
    Prefix(u8),
}

/// An operation with its scope and evidence when it was found.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Where it holds.
    pub scope: Scope,
    /// What it does.
    pub action: Action,
    /// The keys it touches.
    pub keys: Vec<usize>,
    /// The maps of classes, one a key; other maps are made anew in the state in which the proposal is
    /// tested.
    pub classes: Option<Vec<Vec<u32>>>,
    /// Prior of the kind of operation.
    pub prior: u64,
    /// Good less the cost of bad when it was found.
    pub score: i64,
}

/// An operation that did not pass everywhere, with its groups: conditions and classes are read from it.
pub struct Table {
    /// The groups.
    pub groups: Groups,
    /// The operation.
    pub action: Action,
    /// Keys it touches.
    pub keys: Vec<usize>,
    /// Its prior.
    pub prior: u64,
    /// Groups with some good.
    pub with_good: Vec<u32>,
    /// Groups with some bad.
    pub with_bad: Vec<u32>,
}

impl Table {
    pub(super) fn new(groups: Groups, action: Action, keys: Vec<usize>, prior: u64) -> Table {
        let some = |counts: &[u32]| (0..).zip(counts).filter(|(_, n)| **n > 0).map(|(group, _)| group).collect();
        let (with_good, with_bad) = (some(&groups.good), some(&groups.bad));
        Table { groups, action, keys, prior, with_good, with_bad }
    }
}

/// The state of the loop: the distinct rows as the adopted rules have reduced them.
#[derive(Debug)]
pub struct Covering {
    /// The rows; those not in `alive` have been joined to others.
    pub columns: Columns,
    /// Rows that stand for themselves, rising.
    pub alive: Vec<u32>,
    /// Rules in the order of their adoption.
    pub rules: Vec<Adopted>,
    /// Operations tested, for the counts.
    pub tests: u64,
    /// Label noise that even the best operations show, in thousandths; see [`noise::floor`].
    pub noise: u64,
    /// Evidence of the operations tested in the first pass.
    seen: Vec<Witness>,
    /// Rows of these operations whose labels may be wrong.
    wrong: WrongLabels,
    /// Constant pages.
    pub(super) sinks: Sinks,
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
    /// The sample is small: see [`Thresholds::small_sample`].
    pub(super) is_small: bool,
    pub(super) sorter: Sorter,
    /// How often each code of each key comes in the rows alive: follows every change.
    pub(super) counts: Vec<Vec<u32>>,
    /// Map of "ignore this key" in the present state, where it was computed.
    pub(super) ignores: Vec<Option<Map>>,
    functions: FunctionMaps,
    identities: Vec<u64>,
}

impl Covering {
    /// Initial state from the rows as they are.
    pub fn new(columns: Columns, thresholds: &Thresholds) -> Covering {
        let alive = (0..columns.len() as u32).collect();
        let (keys, is_small) = (columns.keys.len(), columns.len() < thresholds.small_sample);
        let sinks = Sinks::new(&columns.label, thresholds);
        let mut out = Covering {
            columns,
            alive,
            rules: Vec::new(),
            tests: 0,
            noise: 0,
            seen: Vec::new(),
            wrong: WrongLabels::default(),
            sinks,
            thresholds: thresholds.clone(),
            without: Without::default(),
            lines: Vec::new(),
            provisional: false,
            adopted_lines: 0,
            is_small,
            sorter: Sorter::default(),
            counts: Vec::new(),
            ignores: vec![None; keys],
            functions: FunctionMaps::default(),
            identities: Vec::new(),
        };
        out.counts = (0..keys).map(|k| operations::frequencies(&out.columns, k, out.alive.iter().copied())).collect();
        // Rows that safe syntax has already made the same.
        let groups = out.table(&out.alive.clone(), &[]);
        out.join(&groups);
        out
    }

    /// Runs the loop until nothing is found.
    pub fn run(&mut self) {
        for _ in 0..MAX_PASSES {
            if self.alive.len() < self.columns.len() {
                let alive = std::mem::take(&mut self.alive);
                self.columns.retain(&alive);
                self.alive = (0..self.columns.len() as u32).collect();
            }
            let joined = self.pass() || self.provisional && self.adopt_lines(true);
            if !joined {
                return;
            }
        }
    }

    /// One pass over the levels; true when something was adopted.
    fn pass(&mut self) -> bool {
        let mut tables = Vec::new();
        let clusters = Clusters::new(&self.columns, &self.alive);
        let singles = self.singles();
        let first = self.rules.is_empty();
        let mut found = self.try_all(singles.clone(), &clusters, &mut tables);
        if first && !self.without.has(Stage::Noise) {
            self.noise = noise::floor(self.seen.drain(..), &std::mem::take(&mut self.wrong), &self.thresholds);
            if self.noise > 0 {
                // The caps are higher now.
                tables.clear();
                found = self.try_all(singles, &clusters, &mut tables);
            }
        }
        if self.adopt_earlier() || self.adopt_all(found) || self.adopt_lines(false) {
            return true;
        }
        let joint = if self.without.has(Stage::Joint) { Vec::new() } else { self.joint(&clusters) };
        let found = self.try_all(joint, &clusters, &mut tables);
        if self.adopt_all(found) {
            return true;
        }
        let conditions = self.conditions(self.alive.len());
        let found = tables.iter().flat_map(|t| conditions::refine(self, t, &conditions, self.noise)).collect();
        if self.adopt_all(found) {
            return true;
        }
        let found = if self.without.has(Stage::Prefixes) { Vec::new() } else { self.prefixes(&conditions) };
        if self.adopt_all(found) {
            return true;
        }
        let refined = |_: &&Table| !self.without.has(Stage::Conditions);
        let present = |table| conditions::where_present(self, table);
        let found = tables.iter().filter(refined).filter_map(present).collect();
        if self.adopt_all(found) {
            return true;
        }
        let classes = !self.without.has(Stage::Classes);
        let single = |t: &&Table| classes && t.action == Action::Ignore && t.keys.len() == 1;
        let found: Vec<Proposal> = tables.iter().filter(single).filter_map(|t| classes::everywhere(self, t)).collect();
        if self.adopt_all(found) {
            return true;
        }
        let defaults = |_: &&Table| !self.without.has(Stage::Defaults);
        let found = tables.iter().filter(defaults).flat_map(|t| defaults::find(self, t)).collect();
        if self.adopt_all(found) {
            return true;
        }
        let found = tables.iter().filter(single).flat_map(|t| classes::conditional(self, t, &conditions)).collect();
        self.adopt_all(found)
    }

    /// The conditions worth trying on `rows` rows.
    fn conditions(&self, rows: usize) -> Vec<Choices> {
        match self.without.has(Stage::Conditions) {
            true => Vec::new(),
            false => conditions::conditions(self, rows as u32),
        }
    }

    /// Keys whose values differ among the rows.
    fn varying(&self) -> Vec<usize> {
        let varies = |counts: &[u32]| counts.iter().filter(|&&n| n > 0).nth(1).is_some();
        (0..self.columns.keys.len()).filter(|&k| varies(&self.counts[k])).collect()
    }

    /// Level 0: each key ignored, each string function.
    fn singles(&self) -> Vec<(Action, Vec<usize>, u64)> {
        let ignore =
            |k: usize| (Action::Ignore, vec![k], operations::ignore_prior(&self.columns, &[k], &self.thresholds));
        let varying = self.varying().into_iter().filter(|&k| !self.columns.keys[k].is(Fixed::DEPTH));
        let mut out: Vec<_> = varying.map(ignore).collect();
        for family in FAMILIES.into_iter().filter(|_| !self.without.has(Stage::Functions)) {
            let keys: Vec<usize> =
                (0..self.columns.keys.len()).filter(|&k| family.contains(&self.columns.keys[k])).collect();
            let is_wanted =
                || family.function != Function::DropWww || operations::may_drop_www(&self.columns, &self.alive);
            if !keys.is_empty() && is_wanted() {
                out.push((Action::Function(family), keys, family.prior(&self.thresholds)));
            }
        }
        out
    }

    /// Level 1: keys that tell apart URLs of one cluster together.
    fn joint(&self, clusters: &Clusters) -> Vec<(Action, Vec<usize>, u64)> {
        let with_prior = |keys: Vec<usize>| {
            let prior = operations::ignore_prior(&self.columns, &keys, &self.thresholds);
            (Action::Ignore, keys, prior)
        };
        joint::sets(&self.columns, &self.varying(), clusters, &self.thresholds).into_iter().map(with_prior).collect()
    }

    /// Makes the table of each operation: those that pass become proposals, those with some good are kept
    /// for conditions. Most have none, which clusters of two rows or more show without the table.
    fn try_all(
        &mut self,
        operations: Vec<(Action, Vec<usize>, u64)>,
        clusters: &Clusters,
        tables: &mut Vec<Table>,
    ) -> Vec<Proposal> {
        let (mut found, mut located) = (Vec::new(), None);
        let alive = std::mem::take(&mut self.alive);
        for (action, keys, prior) in operations {
            let maps = self.maps(action, &keys, &alive);
            if maps.is_empty() {
                continue;
            }
            // Value classes are read from ignores of one key, whatever their good; the rest must reach the bound.
            let classes = action == Action::Ignore && maps.len() == 1;
            let bound = Bound::operation(&self.thresholds);
            let least = (bound.min_good..).find(|&good| classes || bound.holds(good, 0, prior));
            if !self.some_good(clusters, &maps, least.unwrap_or(bound.min_good)) {
                self.tests += 1;
                continue;
            }
            let groups = self.table(&alive, &maps);
            if groups.totals().0 < bound.min_good {
                continue;
            }
            let keys: Vec<usize> = maps.iter().map(|m| m.0).collect();
            let table = Table::new(groups, action, keys.clone(), prior);
            let groups = &table.groups;
            if self.rules.is_empty()
                && !noise::is_of_variants(groups, &self.columns.label, self.thresholds.noise_variants_rows)
            {
                let located = located.get_or_insert_with(|| self.conditions(alive.len()));
                let (good, bad) = noise::unlocated(self, &table, located);
                let witness = Witness { good, bad, prior };
                self.seen.push(witness);
                if witness.may_be_noise(&self.thresholds) {
                    let codes: Vec<&[u32]> = keys.iter().map(|&key| &*self.columns.codes[key]).collect();
                    let Columns { label, sections, .. } = &self.columns;
                    self.wrong.add(groups, &codes, label, |row| sections.is_of_tenant(row));
                }
            }
            let (reach, against) = self.reach(groups, action, &maps, prior, &alive);
            let accepted = match self.without(&against, &keys, &alive) {
                _ if !reach.is_some(self.thresholds.section_most_listed) => None,
                None => self.accepts(groups, action, &maps, prior, &alive).then(|| groups.totals()),
                Some(rows) => {
                    let maps = self.maps(action, &keys, &rows);
                    let groups = self.table(&rows, &maps);
                    self.accepts(&groups, action, &maps, prior, &rows).then(|| groups.totals())
                }
            };
            if let Some((good, bad)) = accepted {
                let score = good as i64 - self.thresholds.bad_cost * bad as i64;
                found.push(Proposal { scope: Vec::new(), action, keys, classes: None, prior, score });
            } else {
                tables.push(table);
            }
        }
        self.alive = alive;
        found
    }

    /// The rows on which an operation is tested: those outside the sections against it; `None` for all. A
    /// change of a part of the path is tested on all rows: a directory means something else in each section
    /// (crawl-docs: recall .9996 -> .9978 without).
    pub(super) fn without(&self, against: &[u32], keys: &[usize], rows: &[u32]) -> Option<Vec<u32>> {
        let is_path = |&key: &usize| self.columns.keys[key].as_path().is_some();
        let outside = Reach::Except(against.to_vec());
        (!against.is_empty() && !keys.iter().any(is_path)).then(|| self.within(&outside, rows)).flatten()
    }

    /// The rows of the sections that an operation reaches; `None` where these are all.
    pub(super) fn within(&self, reach: &Reach, rows: &[u32]) -> Option<Vec<u32>> {
        let holds = |row: &u32| reach.holds(self.columns.sections.of[*row as usize]);
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
                for (key, map) in &mut maps {
                    if let Some((code, everywhere)) = self.columns.preferred.again(&self.columns, *key, rows) {
                        *map = Map::To { code, everywhere };
                    }
                }
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
    fn acts(&self, key: usize, map: &Map) -> bool {
        let Map::Table(table) = map else { return true };
        (0..).zip(&self.counts[key]).zip(table).any(|((code, &n), &to)| n > 0 && to != code)
    }

    /// False when an operation joins so few rows of one cluster that its good is under `least`.
    fn some_good(&mut self, clusters: &Clusters, maps: &[(usize, Map)], least: u64) -> bool {
        let maps: Vec<&(usize, Map)> = maps.iter().filter(|(k, map)| self.acts(*k, map)).collect();
        let mut identities = std::mem::take(&mut self.identities);
        let columns = &self.columns;
        let fill = |rows: &[u32], out: &mut Vec<u64>| operations::identities(columns, rows, &maps, out);
        let found = clusters.repeat(least, &mut identities, fill);
        self.identities = identities;
        found
    }

    /// The bound of an operation, as far as the labels are noisy.
    pub(super) fn bound(&self, action: Action) -> Bound {
        match action {
            Action::Classes => Bound::classes(&self.thresholds),
            _ => Bound::operation(&self.thresholds),
        }
        .allowing(self.noise)
    }

    /// The exact test of an operation, its [breadth] where none vouches for it, and whether one page is about others.
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
        let is_substitution = prior > 0 && classes::is_substitution(columns, action, maps);
        let is_broad = || {
            let keys: Vec<usize> = maps.iter().map(|map| map.0).collect();
            let of_key = !matches!(action, Action::Ignore | Action::Prefix(_))
                || !maps.iter().any(|map| operations::names_pages(columns, groups, map, rows, thresholds))
                    && keys.iter().all(|&key| breadth::is_broad(columns, groups, key, rows, thresholds))
                    && groups.pages(0..groups.len() as u32, thresholds.min_clusters).is_none_or(|pages| {
                        columns.is_about(&pages, &keys, rows, thresholds.constant_page_others_permille)
                    });
            of_key && breadth::is_on_all_hosts(columns, groups, maps, (rows, alive), is_substitution, thresholds)
        };
        let is_vouched_for = prior > 0 && !is_substitution;
        if self.is_small && !is_vouched_for && small_samples::says_too_little(self, groups, action, maps, rows) {
            return false;
        }
        self.ends_in_sink(groups, action, rows)
            || groups.accepted(bound, prior)
                && (is_vouched_for || is_broad())
                && overlap::allows(columns, groups, action, maps, rows, thresholds)
    }

    /// The sections in which an operation holds, and those against it: all and none where it removes nothing.
    pub(super) fn reach(
        &self,
        groups: &Groups,
        action: Action,
        maps: &[(usize, Map)],
        prior: u64,
        rows: &[u32],
    ) -> (Reach, Vec<u32>) {
        let keys: Vec<usize> = maps.iter().map(|map| map.0).collect();
        let keeps_all = matches!(action, Action::Function(family) if family.keeps_all());
        let vendors = action == Action::Ignore && operations::are_vendors(&self.columns, &keys);
        if keeps_all {
            (Reach::ALL, Vec::new())
        } else if self.ends_in_sink(groups, action, rows) {
            (Reach::of_rows(&self.columns, &groups.rows), Vec::new())
        } else {
            let prior = if classes::is_substitution(&self.columns, action, maps) { 0 } else { prior };
            sections::reach(&self.columns, groups, self.bound(action), prior, vendors, &self.thresholds)
        }
    }

    /// True where all of `rows` lie in one constant page that is a sink: see [`Sinks`].
    fn ends_in_sink(&self, groups: &Groups, action: Action, rows: &[u32]) -> bool {
        let Some(&label) = groups.majority.first().filter(|_| action == Action::Ignore && !self.sinks.is_empty())
        else {
            return false;
        };
        let own = || rows.iter().map(|&r| u64::from(self.columns.weight[r as usize])).sum();
        groups.totals().0 >= self.thresholds.sink_min_good
            && rows.iter().all(|&r| self.columns.label[r as usize] == label)
            && self.sinks.holds(label, own())
    }
}
