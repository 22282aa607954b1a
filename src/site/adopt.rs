//! Adoption of proposals: each is tested again in the present state; if it holds, its rows are
//! rewritten and joined.

use super::breadth;
use super::carried::{is_carried, keep_carried};
use super::classes;
use super::conditions::{self, Condition, Scope};
use super::covering::{Action, Covering, Proposal, Table};
use super::defaults;
use super::evidence::Groups;
use super::lines::Line;
use super::operations::{self, Map};
use super::prefixes;
use super::sections::Reach;
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Fixed, Part};

/// A rule that was adopted.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// Where it holds.
    pub scope: Scope,
    /// The sections in which it holds.
    pub reach: Reach,
    /// What it does.
    pub action: Action,
    /// Map of each touched key.
    pub maps: Vec<(usize, Map)>,
    /// Those of them for which a function is written out, value by value.
    pub listed: Vec<usize>,
    /// Evidence when it was adopted.
    pub good: u64,
    /// Evidence against it when it was adopted.
    pub bad: u64,
    /// Its prior.
    pub prior: u64,
    /// Clusters that support it.
    pub clusters: u64,
    /// Pairs it joins, and pairs of different clusters among them.
    pub pairs: (u64, u64),
    /// Up to three pairs of training rows of one cluster that it joins.
    pub examples: Vec<[u32; 2]>,
    /// The adopted line of the catalogue of platforms; scope and operations are those of the line.
    pub line: Option<Line>,
}

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
        let defaults = proposal.action == Action::Classes && proposal.keys.len() > 1;
        let mut rows = match defaults {
            true => defaults::rows(&self.columns, &self.alive, &proposal.scope),
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
        let mut groups = self.table(&rows, &maps);
        let (reach, against) = self.reach(&groups, action, &maps, prior, &rows);
        if !reach.is_some(self.thresholds.section_most_listed) {
            return;
        }
        // Tested on all rows outside the sections against it, then on the rows it is to act on.
        let parts = [self.without(&against, &keys, &rows), self.within(&reach, &rows)];
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
                    && prefixes::are_met(&self.columns, &groups, kept, self.thresholds.min_clusters)
                    && prefixes::are_of_any_value(&self.columns, &groups, kept, &self.thresholds)
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
        let table = Table::new(groups, action, keys, prior);
        if bad >= self.thresholds.exclusion_min_bad
            && !defaults
            && !self.without.has(super::Stage::Conditions)
            && let Some(exclusion) = conditions::exclusion(self, &table, &rows)
        {
            // The rule holds, but not for these values: tested again without them.
            let Table { action, keys, prior, .. } = table;
            let classes = match maps.into_iter().next() {
                Some((_, Map::Table(table))) if action == Action::Classes => Some(vec![table]),
                _ => None,
            };
            scope.push(exclusion);
            return self.adopt(Proposal { scope, action, keys, classes, prior, score: 0 });
        }
        let Table { action, prior, mut groups, .. } = table;
        if action == Action::Ignore {
            for map in &mut maps {
                if let Some(listed) = breadth::listed(&self.columns, &groups, map, &rows, &self.thresholds) {
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
                breadth::written_out(&self.columns, &groups, map, &rows, self.thresholds.breadth_slack_ppm)
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
            short |= maps.len() < before;
        }
        short |= !listed.is_empty();
        if short {
            groups = self.table(&rows, &maps);
            if !self.accepts(&groups, action, &maps, prior, &rows) {
                return;
            }
        }
        if let Some(place) = self.only_place(&groups, action, &maps, prior)
            && scope.iter().all(|of| of.0 != place.0)
        {
            rows = conditions::matching(&self.columns, &rows, &vec![place.clone()]);
            scope.push(place);
            groups = self.table(&rows, &maps);
        }
        let (good, bad) = groups.totals();
        let examples = self.examples(&groups);
        let clusters = groups.clusters();
        if clusters == 1 && good >= self.thresholds.min_constant && !self.without.has(super::Stage::Sinks) {
            self.sinks.prove(groups.majority[0]);
        }
        let pairs = self.pairs(&groups);
        self.rewrite(&rows, &maps);
        self.join(&groups);
        let line = None;
        self.rules.push(Adopted {
            scope,
            reach,
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

    /// The part of the path that all evidence about parameters shares, where pages with others were met: that
    /// `page` says nothing at `product.php` says nothing of `list.php`. The deepest segment counts.
    fn only_place(
        &self,
        groups: &Groups,
        action: Action,
        maps: &[(usize, Map)],
        prior: u64,
    ) -> Option<(usize, Condition)> {
        let are_parameters = maps.iter().all(|(key, _)| self.columns.keys[*key].optional());
        let is_vouched_for = prior > 0 && !classes::is_substitution(&self.columns, action, maps);
        if !matches!(action, Action::Ignore | Action::Classes) || is_vouched_for || !are_parameters {
            return None;
        }
        let shared = |key: usize| {
            let codes = &self.columns.codes[key];
            let mut met = (0..groups.len()).filter(|&group| groups.members(group).len() > 1);
            let code = codes[groups.first(met.next()?) as usize];
            let others = self.alive.iter().filter(|&&row| codes[row as usize] != code && codes[row as usize] != 0);
            let is_only = met.all(|group| codes[groups.first(group) as usize] == code);
            (code != 0
                && is_only
                && !operations::is_number(&self.columns, key, code)
                && others.count() >= self.thresholds.min_clusters)
                .then_some((key, Condition::Is(code)))
        };
        (0..MAX_SEGMENTS).rev().filter_map(|at| self.columns.fixed(Fixed::path(at, Part::Head))).find_map(shared)
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
