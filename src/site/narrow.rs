//! Narrowing of what was shown right to where its evidence lies: that `page` says nothing at `product.php` says nothing
//! of `list.php`.

use super::attempt::Attempt;
use super::covering::Covering;
use super::evidence::Groups;
use super::operations::{self, Map};
use super::proposal::{self, Action, Condition, Scope};
use super::{conditions, unshown};
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Fixed, Key, Part};
use std::collections::BTreeSet;

/// Parameters that one rule on the extension asks to be absent, the first in the order of keys: a bound of the size of
/// rules. Beside more than these the rule acts.
const MAX_UNMET: usize = 64;
/// Keys of which one rule leaves out the values beside which it was hardly shown, a bound of the same kind.
const MAX_UNSHOWN: usize = 3;

impl Covering {
    /// Narrows the attempt to where its evidence lies: the same part of the path, the extension without parameters it
    /// was never shown with, values that other keys hid.
    pub(super) fn narrow(&mut self, attempt: &mut Attempt) {
        let mut places = self.places(&attempt.groups, attempt.action, &attempt.maps, attempt.prior);
        places.extend(self.unmet_parameters(&attempt.groups, &attempt.maps, &attempt.rows));
        places.retain(|place| attempt.scope.iter().all(|of| of.0 != place.0));
        if !places.is_empty() {
            self.narrow_to(attempt, places);
        }
        // What one key leaves out may have been what another one hid.
        for _ in 0..MAX_UNSHOWN {
            let Attempt { scope, action, maps, rows, groups, prior, .. } = &*attempt;
            let unshown = self.unshown(groups, *action, (maps, scope), *prior, rows);
            if unshown.is_empty() {
                break;
            }
            self.narrow_to(attempt, unshown);
        }
        let columns = &self.columns;
        if let Some((first, shown)) = attempt.heads.take() {
            attempt.rows.retain(|&row| shown.binary_search(&columns.code(first, row)).is_ok());
            attempt.scope.push((first, Condition::OneOf(shown)));
        }
        // The `?` before a parameter is left out with it, and nowhere else.
        if let Some(key) = attempt.nested {
            attempt.rows.retain(|&row| columns.code(key, row) != 0);
            attempt.scope.push((key, Condition::Present));
        }
    }

    fn narrow_to(&mut self, attempt: &mut Attempt, conditions: Scope) {
        attempt.rows = conditions::matching(&self.columns, &attempt.rows, &conditions);
        attempt.scope.extend(conditions);
        attempt.groups = self.table(&attempt.rows, &attempt.maps);
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
