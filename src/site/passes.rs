//! Sequential covering: the ordered loop that finds ignores, classes and string functions.
//!
//! One evidence table serves all: the rows sorted by their identity after an operation. Levels: single
//! keys and string functions; lines of the catalogue of platforms ([`lines`](super::lines)); keys that
//! differ together inside clusters; these under one condition; parameters whose values do not matter
//! where present, or but for one; value classes; defaults written out together ([`defaults`]); classes under one
//! condition. Proposals that pass are adopted best first (fewest keys, then good less the cost of bad),
//! each tested again in the present state; any adoption restarts at the first level. Sorts: passes times
//! operations. A general operation tried late is refuted by rows that a special one has joined: in
//! another order false merges on one corpus rose from 0 to 7 %.

use super::choices::Choices;
use super::clusters::Clusters;
use super::columns::Columns;
use super::conditions::{self};
use super::covering::Covering;
use super::evidence::Bound;
use super::noise::{self, Witness};
use super::operations::{self, FAMILIES, Map};
use super::proposal::{Action, EvidenceTable, Proposal};
use super::{Stage, classes, defaults, joint, prefixes, www};
use crate::rules::Function;
use crate::url::Fixed;

/// Most passes over all levels: a bound of work. Each adopts something, so it only guards against a defect.
const MAX_PASSES: usize = 40;
/// Most segments that are kept: a bound of work.
const KEPT: u8 = 4;

impl Covering {
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
        if self.adopt_all(found) || self.adopt_lines(false) {
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
        let found = tables.iter().filter_map(|table| self.in_scripts(table)).collect();
        if self.adopt_all(found) {
            return true;
        }
        let found = if self.without.has(Stage::Prefixes) { Vec::new() } else { self.prefixes(&conditions) };
        if self.adopt_all(found) {
            return true;
        }
        let refined = |_: &&EvidenceTable| !self.without.has(Stage::Conditions);
        let present = |table| conditions::where_present(self, table);
        let but_one = |table| conditions::but_one_value(self, table);
        let refined = || tables.iter().filter(refined);
        let found = refined().filter_map(present).chain(refined().filter_map(but_one)).collect();
        if self.adopt_all(found) {
            return true;
        }
        let classes = !self.without.has(Stage::Classes);
        let single = |t: &&EvidenceTable| classes && t.action == Action::Ignore && t.keys.len() == 1;
        let found: Vec<Proposal> = tables.iter().filter(single).filter_map(|t| classes::everywhere(self, t)).collect();
        if self.adopt_all(found) {
            return true;
        }
        let defaults = |_: &&EvidenceTable| !self.without.has(Stage::Defaults);
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
        let ignore = |k: usize| {
            let is_www = www::is_alone(&self.columns, k);
            let prior = operations::ignore_prior(&self.columns, &[k], &self.thresholds);
            (Action::Ignore, vec![k], if is_www { self.thresholds.prior } else { prior })
        };
        let varying = self.varying().into_iter().filter(|&k| !self.columns.keys[k].is(Fixed::DEPTH));
        let mut out: Vec<_> = varying.map(ignore).collect();
        for family in FAMILIES.into_iter().filter(|_| !self.without.has(Stage::Functions)) {
            let keys: Vec<usize> =
                (0..self.columns.keys.len()).filter(|&k| family.contains(&self.columns.keys[k])).collect();
            let is_wanted = || {
                family.function != Function::DropWww
                    || www::may_drop(&self.columns, &self.alive, self.thresholds.value_near)
            };
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

    /// Makes the table of each operation with some good, and proposals of those that pass. Most have no good, which
    /// clusters of two rows or more show without the table.
    fn try_all(
        &mut self,
        operations: Vec<(Action, Vec<usize>, u64)>,
        clusters: &Clusters,
        tables: &mut Vec<EvidenceTable>,
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
            let at_least = bound.least_good(prior);
            let least = (at_least..).find(|&good| classes || bound.holds(good, 0, prior));
            if !self.some_good(clusters, &maps, least.unwrap_or(at_least)) {
                self.tests += 1;
                continue;
            }
            let heard = self.without_feeds(&maps, &alive);
            let (rows, maps) = match &heard {
                Some(rows) => (rows, self.maps(action, &keys, rows)),
                None => (&alive, maps),
            };
            let groups = self.table(rows, &maps);
            if groups.totals().0 < at_least {
                continue;
            }
            let keys: Vec<usize> = maps.iter().map(|m| m.0).collect();
            let part = operations::prior_of_part(prior, &self.thresholds);
            let table = EvidenceTable::new(groups, action, keys.clone(), part);
            let groups = &table.groups;
            let prior = if operations::is_whole(groups, &maps) { prior } else { part };
            if self.rules.is_empty()
                && !noise::is_of_variants(groups, &self.columns.label, self.thresholds.noise_variants_rows)
            {
                let located = located.get_or_insert_with(|| self.conditions(alive.len()));
                let (good, bad) = noise::unlocated(&self.columns, &table, located, &self.thresholds);
                let witness = Witness { good, bad, prior };
                self.seen.push(witness);
                if witness.may_be_noise(&self.thresholds) {
                    let codes: Vec<&[u32]> = keys.iter().map(|&key| &*self.columns.codes[key]).collect();
                    let Columns { label, sections, .. } = &self.columns;
                    self.wrong.add(groups, &codes, label, |row| sections.is_of_tenant(row));
                }
            }
            let (sections, against) = self.sections(groups, action, &maps, prior, rows);
            let accepted = match self.without(&against, &keys, rows) {
                _ if !sections.is_some(self.thresholds.section_most_listed) => None,
                None => self.accepts(groups, action, &maps, prior, rows).then(|| groups.totals()),
                Some(outside) => {
                    let maps = self.maps(action, &keys, &outside);
                    let groups = self.table(&outside, &maps);
                    self.accepts(&groups, action, &maps, prior, &outside).then(|| groups.totals())
                }
            };
            if let Some((good, bad)) = accepted {
                let score = good as i64 - self.thresholds.bad_cost * bad as i64;
                found.push(Proposal { scope: Vec::new(), action, keys, classes: None, prior, score });
            }
            // Of those that are accepted, too: adoption may refuse them, and conditions and classes are read then.
            tables.push(table);
        }
        self.alive = alive;
        found
    }

    /// An operation that does not hold over the whole site, at the [scripts](super::scripts) that show it right, where
    /// it fails at others.
    fn in_scripts(&mut self, table: &EvidenceTable) -> Option<Proposal> {
        let &EvidenceTable { action, ref keys, prior, .. } = table;
        if self.without.has(Stage::Conditions) {
            return None;
        }
        let scope = vec![self.failing_scripts(&table.groups, action, (keys, &Vec::new()), prior)?];
        let rows = conditions::matching(&self.columns, &self.alive, &scope);
        let maps = self.maps(action, keys, &rows);
        let groups = self.table(&rows, &maps);
        let (good, bad) = groups.totals();
        let score = good as i64 - self.thresholds.bad_cost * bad as i64;
        self.accepts(&groups, action, &maps, prior, &rows).then(|| Proposal {
            scope,
            action,
            keys: keys.clone(),
            classes: None,
            prior,
            score,
        })
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

    /// Prefixes under one condition, the pure ones.
    pub(super) fn prefixes(&mut self, conditions: &[Choices]) -> Vec<Proposal> {
        let alive = self.alive.clone();
        let mut found = Vec::new();
        for kept in 1..=KEPT {
            let keys = prefixes::keys(&self.columns, kept);
            let action = Action::Prefix(kept);
            let maps = self.maps(action, &keys, &alive);
            if maps.is_empty() {
                break;
            }
            let groups = self.table(&alive, &maps);
            if groups.totals().0 >= self.thresholds.min_good {
                let table = EvidenceTable::new(groups, action, keys, 0);
                found.extend(conditions::refine(self, &table, conditions, 0));
            }
        }
        found
    }
}
