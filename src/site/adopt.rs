//! Adoption of proposals: each is tested again in the present state; if it holds, its rows are
//! rewritten and joined.

use super::carried::{is_carried, keep_carried};
use super::conditions;
use super::covering::Covering;
use super::evidence::Groups;
use super::family_sets::is_set;
use super::operations::{self, Map, On};
use super::proposal::{self, Action, Adopted, Condition, EvidenceTable, Proposal, Scope};
use super::{defaults, generalization, prefixes, scripts, unshown};
use crate::rules::Function;
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Fixed, Key, Part};
use std::collections::BTreeSet;

/// Parameters that one rule on the extension asks to be absent, the first in the order of keys: a bound of the size of
/// rules. Beside more than these the rule acts.
const MAX_UNMET: usize = 64;
/// Keys of which one rule leaves out the values beside which it was hardly shown, a bound of the same kind.
const MAX_UNSHOWN: usize = 3;

impl Covering {
    /// Adopts proposals, best first; true when at least one held.
    pub(super) fn adopt_all(&mut self, mut found: Vec<Proposal>) -> bool {
        let size = |p: &Proposal| if p.action == Action::Ignore { p.keys.len() } else { 1 };
        // Ties keep the order in which they were found, which follows the order of keys.
        found.sort_by_key(|p| (size(p), std::cmp::Reverse(p.score)));
        let before = self.rules.len();
        found.into_iter().for_each(|p| self.adopt(p));
        self.rules.len() > before
    }

    /// Tests a proposal in the present state; if it holds, rewrites the rows.
    pub(super) fn adopt(&mut self, proposal: Proposal) {
        let is_nested = proposal.keys.iter().any(|&key| self.is_nested_query(key));
        let nested: Vec<usize> = proposal.keys.iter().copied().filter(|&key| !self.is_nested_query(key)).collect();
        if is_nested && (nested.is_empty() || proposal.action == Action::Ignore && nested.len() > 1) {
            return;
        }
        // It writes `?`, and what follows would be another parameter.
        let decodes = matches!(proposal.action, Action::Function(family) if family.function == Function::DecodeSlash);
        if decodes && self.columns.fixed(Fixed::SEPARATOR).is_some_and(|key| self.is_nested_query(key)) {
            return;
        }
        let defaults = proposal.action == Action::Classes && proposal.keys.len() > 1;
        let mut rows = match defaults {
            true => defaults::rows(&self.columns, &self.alive, &proposal.scope, &proposal.keys),
            false => conditions::matching(&self.columns, &self.alive, &proposal.scope),
        };
        // As many rows as the fewest good observations need.
        if rows.len() as u64 <= self.thresholds.min_good.min(self.thresholds.sink_min_good) {
            return;
        }
        let Proposal { mut scope, action, keys, classes, prior, .. } = proposal;
        let mut maps: Vec<(usize, Map)> = match classes {
            Some(tables) => keys.iter().copied().zip(tables.into_iter().map(Map::Table)).collect(),
            None => self.maps(action, &keys, &rows),
        };
        if maps.is_empty() {
            return;
        }
        for (key, map) in &mut maps {
            if defaults && proposal::is_arrangement(&self.columns.keys[*key]) {
                *map = Map::To { code: 0, everywhere: false };
            }
        }
        if let Some(part) = self.without_feeds(&maps, &rows) {
            rows = part;
            if action != Action::Classes {
                maps = self.maps(action, &keys, &rows);
            }
        }
        let mut groups = self.table(&rows, &maps);
        // Of few values behind a front those that pages show: another one may be a page.
        let mut heads = None;
        if let Action::Prefix(kept) = action
            && !prefixes::are_of_any_value(&self.columns, &groups, kept, &self.thresholds)
        {
            heads = prefixes::shown(&self.columns, &groups, kept, self.thresholds.breadth_links);
            let Some(heads) = heads.as_ref().filter(|of| scope.iter().all(|known| known.0 != of.0)) else { return };
            prefixes::retain(&self.columns, &mut rows, kept, heads);
            groups = self.table(&rows, &maps);
        }
        let prior = match scope.is_empty() && operations::is_whole(&groups, &maps) {
            true => prior,
            false => operations::prior_of_part(prior, &self.thresholds),
        };
        let (sections, against) = self.sections(&groups, action, &maps, prior, &rows);
        if !sections.is_some(self.thresholds.section_most_listed) {
            return;
        }
        let within = self.within(&sections, &rows);
        // Where sections leave out all that is wrong, scripts have nothing to say, unless they show more that is right.
        let inside = within.as_ref().map_or(groups.totals(), |rows| self.table(rows, &maps).totals());
        if !defaults
            && groups.totals().1 > 0
            && !self.without.has(super::Stage::Conditions)
            && let Some(condition) = self.failing_scripts(&groups, action, (&keys, &scope), prior)
            && (inside.1 > 0 || self.right_under(&groups, &condition) > inside.0)
        {
            let classes = match maps.into_iter().next() {
                Some((_, Map::Table(table))) if action == Action::Classes => Some(vec![table]),
                _ => None,
            };
            scope.push(condition);
            return self.adopt(Proposal { scope, action, keys, classes, prior, score: 0 });
        }
        // Tested on all rows outside the sections against it, then on the rows it is to act on.
        let parts = [self.without(&against, &keys, &rows), within];
        for (at, part) in parts.into_iter().enumerate() {
            if let Some(part) = part {
                rows = part;
                if action != Action::Classes {
                    maps = self.maps(action, &keys, &rows);
                }
                groups = self.table(&rows, &maps);
            } else if at > 0 {
                break;
            }
            let is_prefix = |kept| {
                groups.totals().1 == 0
                    && prefixes::are_seen(&self.columns, &groups, kept, self.thresholds.min_clusters)
                    && (heads.is_some() || prefixes::are_of_any_value(&self.columns, &groups, kept, &self.thresholds))
            };
            if matches!(action, Action::Prefix(kept) if !is_prefix(kept))
                || !self.accepts(&groups, action, &maps, prior, &rows)
            {
                return;
            }
        }
        // Constant pages are exempt: they have a bound of their own.
        let are_constant = groups.are_constant_pages(self.thresholds.min_constant);
        let few = groups.clusters() < self.thresholds.min_clusters_chosen && !are_constant;
        if !scope.is_empty() && keys.len() > 1 && prior == 0 && few {
            return;
        }
        let bad = groups.totals().1;
        let table = EvidenceTable::new(groups, action, keys, prior);
        let is_new = |of: &(usize, Condition)| scope.iter().all(|known| known.0 != of.0);
        if bad >= self.thresholds.exclusion_min_bad
            && !defaults
            && !self.without.has(super::Stage::Conditions)
            && let Some(exclusion) = conditions::wrong_values(self, &table)
                .filter(is_new)
                .or_else(|| conditions::exclusion(self, &table, &rows))
        {
            // The rule holds, but not for these values: tested again without them.
            let EvidenceTable { action, keys, prior, .. } = table;
            let classes = match maps.into_iter().next() {
                Some((_, Map::Table(table))) if action == Action::Classes => Some(vec![table]),
                _ => None,
            };
            scope.push(exclusion);
            return self.adopt(Proposal { scope, action, keys, classes, prior, score: 0 });
        }
        let EvidenceTable { action, prior, mut groups, .. } = table;
        if action == Action::Ignore {
            for map in &mut maps {
                if let Some(listed) = generalization::listed(&self.columns, &groups, map, &rows, &self.thresholds) {
                    map.1 = listed;
                }
            }
            // Values that have nothing to do with each other no longer fall together.
            groups = self.table(&rows, &maps);
        }
        let mut listed = Vec::new();
        // Of several keys each value may be right only with those of the others.
        if let ([map], Action::Function(_)) = (&mut *maps, action)
            && let Some(table) =
                generalization::written_out(&self.columns, &groups, map, &rows, self.thresholds.breadth_slack_ppm)
        {
            listed.push(map.0);
            map.1 = table;
        }
        // Functions are no tables of values; constant pages and defaults that are written out together are of
        // one cluster by nature.
        let may_be_short = matches!(action, Action::Function(_) | Action::Prefix(_)) || defaults || are_constant;
        let least = self.thresholds.min_carriers;
        let keep = |map: &mut (usize, Map)| keep_carried(&self.columns, &groups, map, least);
        let mut short = !may_be_short && maps.iter_mut().fold(false, |any, map| keep(map) | any);
        if matches!(action, Action::Function(family) if family.is_shown_by_key()) {
            let before = maps.len();
            maps.retain(|(key, _)| is_carried(&self.columns, &groups, *key, least, self.bound(action), prior));
            if matches!(action, Action::Function(family) if family.on == On::Families) {
                maps.retain(|(key, _)| is_set(&self.columns, &groups, *key, &rows, &self.thresholds));
            }
            short |= maps.len() < before;
        }
        short |= !listed.is_empty();
        if short {
            groups = self.table(&rows, &maps);
            if !self.accepts(&groups, action, &maps, prior, &rows) {
                return;
            }
        }
        let mut places = self.places(&groups, action, &maps, prior);
        places.extend(self.unmet_parameters(&groups, &maps, &rows));
        places.retain(|place| scope.iter().all(|of| of.0 != place.0));
        if !places.is_empty() {
            rows = conditions::matching(&self.columns, &rows, &places);
            scope.extend(places);
            groups = self.table(&rows, &maps);
        }
        // What one key leaves out may have been what another one hid.
        for _ in 0..MAX_UNSHOWN {
            let unshown = self.unshown(&groups, action, (&maps, &scope), prior, &rows);
            if unshown.is_empty() {
                break;
            }
            rows = conditions::matching(&self.columns, &rows, &unshown);
            scope.extend(unshown);
            groups = self.table(&rows, &maps);
        }
        if let Some((first, shown)) = heads {
            rows.retain(|&row| shown.binary_search(&self.columns.code(first, row)).is_ok());
            scope.push((first, Condition::OneOf(shown)));
        }
        // The `?` before a parameter is left out with it, and nowhere else.
        if let Some(&key) = nested.first().filter(|_| is_nested && action == Action::Ignore) {
            rows.retain(|&row| self.columns.code(key, row) != 0);
            scope.push((key, Condition::Present));
        }
        let (good, bad) = groups.totals();
        let examples = self.examples(&groups);
        let clusters = groups.clusters();
        if clusters == 1 && good >= self.thresholds.min_constant && !self.without.has(super::Stage::Soft404s) {
            self.soft_404s.prove(groups.majority[0]);
        }
        let pairs = self.pairs(&groups);
        self.rewrite(&rows, &maps);
        self.join(&groups);
        let line = None;
        self.rules.push(Adopted {
            scope,
            sections,
            action,
            maps,
            good,
            bad,
            prior,
            clusters,
            pairs,
            examples,
            line,
            listed,
        });
    }

    /// The [scripts] that show an operation right, as a condition, where it fails in others.
    pub(super) fn failing_scripts(
        &self,
        groups: &Groups,
        action: Action,
        (keys, scope): (&[usize], &Scope),
        prior: u64,
    ) -> Option<(usize, Condition)> {
        let is_free = |key: &&usize| !keys.contains(key) && scope.iter().all(|of| of.0 != **key);
        let mut free = self.scripts.iter().filter(is_free);
        let bound = self.bound(action);
        free.find_map(|&key| scripts::failing(&self.columns, key, groups, prior, bound, &self.thresholds))
    }

    /// Right merges of the groups under a condition on a key that the operation does not change.
    fn right_under(&self, groups: &Groups, (key, condition): &(usize, Condition)) -> u64 {
        let holds = |&group: &usize| condition.holds(self.columns.code(*key, groups.first(group)));
        (0..groups.len()).filter(holds).map(|group| u64::from(groups.good[group])).sum()
    }

    /// True for the separators of parameters where `?` is one of them. Once what follows it is left out, it separates
    /// nothing, and says nothing of `?` between others: it is left out together with them alone.
    fn is_nested_query(&self, key: usize) -> bool {
        let columns = &self.columns;
        let values = || (0..columns.codes_len(key) as u32).map(|code| columns.value(key, code));
        columns.keys[key].is(Fixed::SEPARATOR) && values().any(|value| value.contains(&b'?'))
    }

    /// The parts of the path that all evidence about parameters shares, where pages with others were met: that `page`
    /// says nothing at `product.php` says nothing of `list.php`. A part is shared where it has one value that is no
    /// number. So is the first that others do not share where it has few values (under `breadth_links`), each as
    /// frequent as a section, or none. Sections say the same of a first directory.
    fn places(&self, groups: &Groups, action: Action, maps: &[(usize, Map)], prior: u64) -> Scope {
        let (columns, thresholds, mut places) = (&self.columns, &self.thresholds, Vec::new());
        let is_parameter = |key: &Key| key.optional() || action == Action::Classes && proposal::is_arrangement(key);
        let are_parameters = maps.iter().all(|(key, _)| is_parameter(&columns.keys[*key]));
        let is_vouched_for = prior > 0 && !proposal::is_substitution(columns, action, maps);
        if !matches!(action, Action::Ignore | Action::Classes) || is_vouched_for || !are_parameters {
            return places;
        }
        let met = || (0..groups.len()).filter(|&group| groups.members(group).len() > 1);
        let values = |key: usize| {
            let codes = met().map(|group| columns.code(key, groups.first(group)));
            codes.collect::<BTreeSet<u32>>().into_iter().collect::<Vec<u32>>()
        };
        let have_others = |key: usize, values: &[u32]| {
            let is_other = |&&row: &&u32| values.binary_search(&columns.code(key, row)).is_err();
            self.alive.iter().filter(is_other).nth(thresholds.min_clusters - 1).is_some()
        };
        let share = self.alive.len() * thresholds.section_salient_permille / 1_000;
        let least = thresholds.section_min_salient.max(share);
        // A part before says where the evidence lies.
        let mut is_narrowed = false;
        for at in 0..MAX_SEGMENTS {
            let Some(key) = columns.fixed(Fixed::path(at, Part::Head)) else { continue };
            let numbers = columns.fixed(Fixed::path(at, Part::Number)).map(values).unwrap_or_default();
            let values = values(key);
            let is_salient = |&code: &u32| self.counts[key][code as usize] as usize >= least;
            let condition = match values[..] {
                [0] if is_narrowed || numbers.iter().any(|&number| number != 0) => continue,
                [0] => Condition::Absent,
                [code] if !operations::is_number(columns, key, code) => Condition::Is(code),
                [first, _, ..] if first > 0 && !is_narrowed && values.len() < thresholds.breadth_links => {
                    match values.iter().all(is_salient) {
                        true => Condition::OneOf(values.clone()),
                        false => break,
                    }
                }
                _ => break,
            };
            if !have_others(key, &values) {
                continue;
            }
            is_narrowed = true;
            let value = |&code: &u32| columns.value(key, code);
            let is_section = |value: &[u8]| columns.sections.words.iter().any(|word| word.as_bytes() == value);
            if at > 0 || !values.iter().map(value).all(is_section) {
                places.push((key, condition));
            }
        }
        places
    }

    /// The values beside which leaving out parameters was hardly ever shown: see [`unshown`]. None for those of the
    /// catalogue, whose names say it.
    fn unshown(
        &self,
        groups: &Groups,
        action: Action,
        (maps, scope): (&[(usize, Map)], &Scope),
        prior: u64,
        rows: &[u32],
    ) -> Scope {
        let keys = &self.columns.keys;
        let are_parameters = maps.iter().all(|(key, _)| keys[*key].optional());
        if action != Action::Ignore || prior > 0 || !are_parameters || self.without.has(super::Stage::Conditions) {
            return Vec::new();
        }
        let is_head = |key: usize| matches!(keys[key].as_path(), Some((_, Part::Head)));
        let is_named = |key: usize| scope.iter().any(|of| of.0 == key) || maps.iter().any(|of| of.0 == key);
        let others = (0..keys.len()).filter(|&key| (keys[key].optional() || is_head(key)) && !is_named(key));
        unshown::find((&self.columns, &self.thresholds), groups, maps, (rows, &self.alive), others)
            .into_iter()
            .collect()
    }

    /// The parameters beside which a rule on the extension was never shown and would act: an extension names the
    /// format of a page, and so may a parameter, which would then write `/x.html?format=json` for `/x?format=json`.
    /// Parameters that other rules left out before are no part of the rows any more.
    ///
    /// O(rows x parameters), for such rules alone.
    fn unmet_parameters(&self, groups: &Groups, maps: &[(usize, Map)], rows: &[u32]) -> Scope {
        let columns = &self.columns;
        if !maps.iter().all(|(key, _)| columns.keys[*key].is(Fixed::EXTENSION)) {
            return Vec::new();
        }
        let is_changed =
            |row: &&u32| maps.iter().any(|(key, map)| map.get(columns.code(*key, **row)) != columns.code(*key, **row));
        let changed: Vec<u32> = rows.iter().filter(is_changed).copied().collect();
        let met = (0..groups.len()).map(|group| groups.members(group)).filter(|members| members.len() > 1);
        let met: Vec<u32> = met.flatten().copied().collect();
        let has = |key: usize| move |row: &&u32| columns.code(key, **row) != 0;
        let is_unmet = |&key: &usize| {
            let mut rows = changed.iter().filter(has(key));
            columns.keys[key].optional()
                && rows.nth(self.thresholds.min_clusters - 1).is_some()
                && !met.iter().any(|row| has(key)(&row))
        };
        let unmet = (0..columns.keys.len()).filter(is_unmet).take(MAX_UNMET);
        unmet.map(|key| (key, Condition::Absent)).collect()
    }
}
