//! Adoption of proposals: each is tested again in the present state; if it holds, its rows are
//! rewritten and joined.

use super::attempt::Attempt;
use super::carried::{is_carried, keep_carried};
use super::covering::Covering;
use super::evidence::Groups;
use super::family_sets::is_set;
use super::operations::{self, Map, On};
use super::proposal::{self, Action, Adopted, Condition, EvidenceTable, Proposal, Scope};
use super::section_set::SectionSet;
use super::{conditions, defaults, generalization, prefixes, scripts};
use crate::rules::Function;
use crate::url::Fixed;

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

    /// Tests a proposal in the present state; if it holds, rewrites the rows. What fails somewhere alone is tested
    /// again under a condition.
    pub(super) fn adopt(&mut self, proposal: Proposal) {
        let Some(mut attempt) = self.open(proposal) else { return };
        if !self.keep_shown_heads(&mut attempt) {
            return;
        }
        if !attempt.scope.is_empty() || !operations::is_whole(&attempt.groups, &attempt.maps) {
            attempt.prior = operations::prior_of_part(attempt.prior, &self.thresholds);
        }
        let (sections, against) =
            self.sections(&attempt.groups, attempt.action, &attempt.maps, attempt.prior, &attempt.rows);
        if !sections.is_some(self.thresholds.section_most_listed) {
            return;
        }
        let within = self.within(&sections, &attempt.rows);
        if let Some(condition) = self.right_scripts(&attempt, within.as_deref()) {
            return self.adopt(attempt.under(condition));
        }
        let outside = self.without(&against, &attempt.keys, &attempt.rows);
        if !self.holds_on(&mut attempt, outside, within) || self.is_shown_by_few(&attempt) {
            return;
        }
        if let Some(exclusion) = self.exclusion(&mut attempt) {
            return self.adopt(attempt.under(exclusion));
        }
        if !self.list_values(&mut attempt) {
            return;
        }
        self.narrow(&mut attempt);
        self.conclude(attempt, sections);
    }

    /// The maps, rows and groups of a proposal; `None` where it cannot hold: it changes nothing, or has fewer rows than
    /// the fewest good observations need, or would take what separates parameters for one of them.
    fn open(&mut self, proposal: Proposal) -> Option<Attempt> {
        let is_nested = proposal.keys.iter().any(|&key| self.is_nested_query(key));
        let beside: Vec<usize> = proposal.keys.iter().copied().filter(|&key| !self.is_nested_query(key)).collect();
        if is_nested && (beside.is_empty() || proposal.action == Action::Ignore && beside.len() > 1) {
            return None;
        }
        // It writes `?`, and what follows would be another parameter.
        let decodes = matches!(proposal.action, Action::Function(family) if family.function == Function::DecodeSlash);
        if decodes && self.columns.fixed(Fixed::SEPARATOR).is_some_and(|key| self.is_nested_query(key)) {
            return None;
        }
        let Proposal { scope, action, keys, classes, prior, .. } = proposal;
        let are_defaults = action == Action::Classes && keys.len() > 1;
        let rows = match are_defaults {
            true => defaults::rows(&self.columns, &self.alive, &scope, &keys),
            false => conditions::matching(&self.columns, &self.alive, &scope),
        };
        if rows.len() as u64 <= self.thresholds.min_good.min(self.thresholds.sink_min_good) {
            return None;
        }
        let mut maps: Vec<(usize, Map)> = match classes {
            Some(tables) => keys.iter().copied().zip(tables.into_iter().map(Map::Table)).collect(),
            None => self.maps(action, &keys, &rows),
        };
        if maps.is_empty() {
            return None;
        }
        for (key, map) in &mut maps {
            if are_defaults && proposal::is_arrangement(&self.columns.keys[*key]) {
                *map = Map::To { code: 0, everywhere: false };
            }
        }
        let nested = beside.first().copied().filter(|_| is_nested && action == Action::Ignore);
        let (groups, heads, listed) = (Groups::default(), None, Vec::new());
        let mut attempt =
            Attempt { scope, action, keys, prior, maps, rows, groups, are_defaults, nested, heads, listed };
        match self.without_feeds(&attempt.maps, &attempt.rows) {
            Some(rows) => self.restrict(&mut attempt, rows),
            None => attempt.groups = self.table(&attempt.rows, &attempt.maps),
        }
        Some(attempt)
    }

    /// The attempt on these of its rows.
    fn restrict(&mut self, attempt: &mut Attempt, rows: Vec<u32>) {
        attempt.rows = rows;
        if attempt.action != Action::Classes {
            attempt.maps = self.maps(attempt.action, &attempt.keys, &attempt.rows);
        }
        attempt.groups = self.table(&attempt.rows, &attempt.maps);
    }

    /// Of few values behind a front, keeps those that pages show: another one may be a page. False where none may be
    /// kept.
    fn keep_shown_heads(&mut self, attempt: &mut Attempt) -> bool {
        let (columns, thresholds) = (&self.columns, &self.thresholds);
        let Action::Prefix(kept) = attempt.action else { return true };
        if prefixes::are_of_any_value(columns, &attempt.groups, kept, thresholds) {
            return true;
        }
        attempt.heads = prefixes::shown(columns, &attempt.groups, kept, thresholds.breadth_links);
        let is_free = |key: usize| attempt.scope.iter().all(|known| known.0 != key);
        let Some(heads) = attempt.heads.as_ref().filter(|of| is_free(of.0)) else { return false };
        prefixes::retain(columns, &mut attempt.rows, kept, heads);
        attempt.groups = self.table(&attempt.rows, &attempt.maps);
        true
    }

    /// The scripts that show the operation right, where it fails in others. Where sections leave out all that is
    /// wrong, scripts have nothing to say, unless they show more that is right.
    fn right_scripts(&mut self, attempt: &Attempt, within: Option<&[u32]>) -> Option<(usize, Condition)> {
        let inside = within.map_or(attempt.groups.totals(), |rows| self.table(rows, &attempt.maps).totals());
        if attempt.are_defaults || attempt.groups.totals().1 == 0 || self.without.has(super::Stage::Conditions) {
            return None;
        }
        let condition =
            self.failing_scripts(&attempt.groups, attempt.action, (&attempt.keys, &attempt.scope), attempt.prior)?;
        (inside.1 > 0 || self.right_under(&attempt.groups, &condition) > inside.0).then_some(condition)
    }

    /// Tests the attempt on the rows outside the sections against it (`None`: on all), then on those it is to act on
    /// (`None`: they are the same).
    fn holds_on(&mut self, attempt: &mut Attempt, outside: Option<Vec<u32>>, within: Option<Vec<u32>>) -> bool {
        if let Some(rows) = outside {
            self.restrict(attempt, rows);
        }
        if !self.holds(attempt) {
            return false;
        }
        let Some(rows) = within else { return true };
        self.restrict(attempt, rows);
        self.holds(attempt)
    }

    /// True where the evidence accepts the attempt on its rows.
    fn holds(&self, attempt: &Attempt) -> bool {
        let (columns, thresholds, groups) = (&self.columns, &self.thresholds, &attempt.groups);
        let is_prefix = |kept| {
            groups.totals().1 == 0
                && prefixes::are_seen(columns, groups, kept, thresholds.min_clusters)
                && (attempt.heads.is_some() || prefixes::are_of_any_value(columns, groups, kept, thresholds))
        };
        !matches!(attempt.action, Action::Prefix(kept) if !is_prefix(kept))
            && self.accepts(groups, attempt.action, &attempt.maps, attempt.prior, &attempt.rows)
    }

    /// True for several keys chosen together under a condition that too few clusters show. Constant pages are exempt:
    /// they have a bound of their own.
    fn is_shown_by_few(&self, attempt: &Attempt) -> bool {
        let is_chosen = !attempt.scope.is_empty() && attempt.keys.len() > 1 && attempt.prior == 0;
        is_chosen && attempt.groups.clusters() < self.thresholds.min_clusters_chosen && !self.are_constant(attempt)
    }

    fn are_constant(&self, attempt: &Attempt) -> bool {
        attempt.groups.are_constant_pages(self.thresholds.min_constant)
    }

    /// The values for which an operation that holds is wrong, to be left out of it.
    fn exclusion(&self, attempt: &mut Attempt) -> Option<(usize, Condition)> {
        let is_possible = !attempt.are_defaults && !self.without.has(super::Stage::Conditions);
        if !is_possible || attempt.groups.totals().1 < self.thresholds.exclusion_min_bad {
            return None;
        }
        let (groups, keys) = (std::mem::take(&mut attempt.groups), std::mem::take(&mut attempt.keys));
        let table = EvidenceTable::new(groups, attempt.action, keys, attempt.prior);
        let is_new = |of: &(usize, Condition)| attempt.scope.iter().all(|known| known.0 != of.0);
        let exclusion = conditions::wrong_values(self, &table)
            .filter(is_new)
            .or_else(|| conditions::exclusion(self, &table, &attempt.rows));
        (attempt.groups, attempt.keys) = (table.groups, table.keys);
        exclusion
    }

    /// Lists the values that are shown, where one value says little of another one, and leaves out keys that too few
    /// pages carry; false where what remains does not hold.
    fn list_values(&mut self, attempt: &mut Attempt) -> bool {
        let (action, are_constant) = (attempt.action, self.are_constant(attempt));
        if action == Action::Ignore {
            for map in &mut attempt.maps {
                let (groups, rows) = (&attempt.groups, &attempt.rows);
                if let Some(listed) = generalization::listed(&self.columns, groups, map, rows, &self.thresholds) {
                    map.1 = listed;
                }
            }
            // Values that have nothing to do with each other no longer fall together.
            attempt.groups = self.table(&attempt.rows, &attempt.maps);
        }
        let (columns, thresholds, bound) = (&self.columns, &self.thresholds, self.bound(action));
        let Attempt { groups, maps, rows, listed, prior, are_defaults, .. } = &mut *attempt;
        // Of several keys each value may be right only with those of the others.
        if let ([map], Action::Function(_)) = (&mut maps[..], action)
            && let Some(table) = generalization::written_out(columns, groups, map, rows, thresholds.breadth_slack_ppm)
        {
            listed.push(map.0);
            map.1 = table;
        }
        // Functions are no tables of values; constant pages and defaults that are written out together are of
        // one cluster by nature.
        let are_tables = !matches!(action, Action::Function(_) | Action::Prefix(_));
        let least = thresholds.min_carriers;
        let mut is_less = !listed.is_empty();
        if are_tables && !*are_defaults && !are_constant {
            for map in &mut *maps {
                is_less |= keep_carried(columns, groups, map, least);
            }
        }
        if let Action::Function(family) = action
            && family.is_shown_by_key()
        {
            let before = maps.len();
            maps.retain(|(key, _)| {
                is_carried(columns, groups, *key, least, bound, *prior)
                    && (family.on != On::Families || is_set(columns, groups, *key, rows, thresholds))
            });
            is_less |= maps.len() < before;
        }
        if is_less {
            attempt.groups = self.table(&attempt.rows, &attempt.maps);
        }
        !is_less || self.accepts(&attempt.groups, action, &attempt.maps, attempt.prior, &attempt.rows)
    }

    /// Makes a rule of what held, and rewrites the rows by it.
    fn conclude(&mut self, attempt: Attempt, sections: SectionSet) {
        let Attempt { scope, action, prior, maps, rows, groups, listed, .. } = attempt;
        let (good, bad) = groups.totals();
        let (examples, clusters) = (self.examples(&groups), groups.clusters());
        if clusters == 1 && good >= self.thresholds.min_constant && !self.without.has(super::Stage::Soft404s) {
            self.soft_404s.prove(groups.majority[0]);
        }
        let (pairs, line) = (self.pairs(&groups), None);
        self.rewrite(&rows, &maps);
        self.join(&groups);
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
}
