//! What a set of rules does to the URLs of a site beside an earlier one: what it merges, rightly and wrongly, and which
//! canonical URLs move.
//!
//! What is merged is counted without look-ups: a rule that says what single URLs said before is worth as much. What
//! moves is counted with those of the earlier result: a page in nine languages, which one of these represents, is one
//! group, and a rule that changes the URL of this one moves all. A look-up to a page that was not met, or has another
//! label than what it names, will not be there again, whatever the rules are.

use super::evidence::Bound;
use super::{Thresholds, Training};
use crate::model::hash64;
use crate::rules::{RuleSet, Scratch, SiteRules};
use crate::url::NormalUrl;
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};

/// Where the canonical URL of a row is, beside where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Its group of duplicates is another set.
    Regrouped,
    /// Its group is the same set, and so is its canonical URL.
    Same,
    /// Its group is the same set, its canonical URL another.
    Moved,
}

/// What rules do.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Labelled rows that have the canonical URL of another row of their cluster.
    right: usize,
    /// Labelled rows of other clusters than most of those with their canonical URL.
    wrong: usize,
    /// Rows whose canonical URL is one that redirects, or declares another.
    away: usize,
    places: Vec<Place>,
}

impl Effect {
    /// True where no more is merged wrongly than by one of two others, but for as much as so many wrong labels of 1,000
    /// explain.
    pub fn is_as_right_as(&self, one: &Effect, other: &Effect, noise_permille: u32) -> bool {
        let noise = (self.right + self.wrong) * noise_permille as usize / 1_000;
        self.wrong <= one.wrong.max(other.wrong) + noise
    }

    /// Rows that lead elsewhere beyond those that do by each of two others.
    pub fn away_beyond(&self, one: &Effect, other: &Effect) -> usize {
        self.away.saturating_sub(one.away.max(other.away))
    }

    /// Right merges beyond those of others.
    pub fn right_beyond(&self, others: &Effect) -> usize {
        self.right.saturating_sub(others.right)
    }

    /// True where the merges that others do not make have few enough wrong ones for an operation.
    pub fn is_borne_beside(&self, others: &Effect, thresholds: &Thresholds) -> bool {
        let (right, wrong) = (self.right_beyond(others), self.wrong.saturating_sub(others.wrong));
        wrong == 0 || Bound::operation(thresholds).allows(right as u64, wrong as u64, 0)
    }

    /// True where of the merges that others do not make no more are wrong than right.
    pub fn is_mostly_right_beside(&self, others: &Effect) -> bool {
        self.wrong.saturating_sub(others.wrong) <= self.right_beyond(others)
    }

    /// Right merges, less URLs that lead elsewhere.
    pub fn merges(&self) -> i64 {
        self.right as i64 - self.away as i64
    }

    /// Rows that move, and stay where they were by other rules, less those for which it is the other way round. Rows
    /// that would leave their group by the others count as neither.
    pub fn moves_beyond(&self, others: &Effect) -> usize {
        let count = |here: Place, there: Place| {
            self.places.iter().zip(&others.places).filter(|&(&own, &other)| own == here && other == there).count()
        };
        count(Place::Moved, Place::Same).saturating_sub(count(Place::Same, Place::Moved))
    }
}

/// The training rows of a site, and what the earlier rules make of them.
pub struct Effects<'t> {
    training: &'t Training,
    /// Hashes of the canonical URLs under the earlier rules and look-ups.
    before: Vec<u64>,
    /// Rows that an earlier look-up leads to another page, with the index of this page.
    named: Vec<(u32, u32)>,
    /// URLs that such look-ups name and no row has, with this index.
    unmet: Vec<(NormalUrl, u32)>,
    /// Pages that such look-ups lead to, and whether some row leads there without.
    pages: Vec<(NormalUrl, bool)>,
    /// Hashes of the canonical URLs under the earlier rules alone, with the labels of their rows.
    shown: HashSet<(u64, u32), FixedState>,
    /// Hashes of URLs that lead elsewhere.
    away: HashSet<u64, FixedState>,
}

impl<'t> Effects<'t> {
    /// O((rows + look-ups) x rules).
    pub fn new(previous: &SiteRules, training: &'t Training) -> Effects<'t> {
        let leads_away = (0..training.len()).filter(|&row| training.elsewhere[row]);
        let away = leads_away.filter_map(|row| training.normal(row)).map(|url| hash64(url.as_bytes())).collect();
        let (before, shown) = (Vec::new(), HashSet::default());
        let mut effects =
            Effects { training, before, named: Vec::new(), unmet: Vec::new(), pages: Vec::new(), shown, away };
        (_, effects.before) = effects.canonical(previous);
        let labelled = effects.before.iter().copied().zip(training.clusters.iter().copied());
        effects.shown = labelled.filter(|of| of.1 != u32::MAX).collect();
        effects.find_named(look_ups(previous));
        effects
    }

    /// Leads the rows that look-ups name to their pages.
    fn find_named(&mut self, look_ups: Vec<LookUp>) {
        let all: HashSet<u64, FixedState> = self.before.iter().copied().collect();
        let mut places: HashMap<u64, u32, FixedState> = HashMap::default();
        let mut by_reduced: HashMap<u64, (u64, u32), FixedState> = HashMap::default();
        for LookUp { reduced, page, .. } in &look_ups {
            let hash = hash64(page.as_bytes());
            let place = *places.entry(hash).or_insert_with(|| {
                self.pages.push((page.clone(), all.contains(&hash)));
                self.pages.len() as u32 - 1
            });
            by_reduced.entry(*reduced).or_insert((hash, place));
        }
        let mut met: HashSet<u64, FixedState> = HashSet::default();
        for (row, url) in (0..).zip(&mut self.before) {
            let Some(&(page, place)) = by_reduced.get(url) else { continue };
            met.insert(*url);
            *url = page;
            let has_its_label = || self.shown.contains(&(page, self.training.clusters[row as usize]));
            if !self.pages[place as usize].1 || has_its_label() {
                self.named.push((row, place));
            }
        }
        let unmet = look_ups.into_iter().filter(|of| !met.contains(&of.reduced));
        self.unmet = unmet.map(|of| (of.url, by_reduced[&of.reduced].1)).collect();
    }

    /// What these rules do, without look-ups and value ranges. Where URLs are: beside the look-ups of the earlier
    /// result, whose pages new rules may change. O((rows + look-ups) x rules).
    pub fn of(&self, rules: &SiteRules) -> Effect {
        let (rules, canonical) = self.canonical(rules);
        let clusters = self.training.clusters.iter().copied();
        let mut labelled: Vec<(u64, u32)> = canonical.iter().copied().zip(clusters).collect();
        labelled.retain(|&(_, cluster)| cluster != u32::MAX);
        labelled.sort_unstable();
        let (mut right, mut wrong) = (0, 0);
        for group in labelled.chunk_by(|a, b| a.0 == b.0) {
            let clusters = || group.chunk_by(|a, b| a.1 == b.1).map(<[(u64, u32)]>::len);
            right += clusters().map(|rows| rows - 1).sum::<usize>();
            wrong += group.len() - clusters().max().unwrap_or(0);
        }
        let away = canonical.iter().filter(|url| self.away.contains(url)).count();
        Effect { right, wrong, away, places: places(&self.before, &self.led(&rules, &canonical)) }
    }

    /// These rules without look-ups and value ranges, and hashes of the canonical URLs of the rows.
    fn canonical(&self, rules: &SiteRules) -> (RuleSet, Vec<u64>) {
        let set = RuleSet::new(vec![without_memory(rules)]);
        let mut scratch = Scratch::default();
        let hash = |row: usize| match self.training.normal(row) {
            Some(url) => hash64(set.apply_normal(url, Some(0), &mut scratch).url),
            None => hash64(self.training.url(row)),
        };
        let canonical = (0..self.training.len()).map(hash).collect();
        (set, canonical)
    }

    /// The canonical URLs, those that earlier look-ups name led to what the rules make of their pages, or where they
    /// were if no row shows the page: whatever the rules make of a URL that is named, it is named still; and so is a
    /// row of the label of the page whose URL the rules make one that is named and was not met. Where rules lead URLs
    /// of two pages to one, the page with the smaller hash has it.
    fn led(&self, rules: &RuleSet, canonical: &[u64]) -> Vec<u64> {
        let mut scratch = Scratch::default();
        let mut reduced = |url: &NormalUrl| hash64(rules.apply_normal(url.by_ref(), Some(0), &mut scratch).url);
        let mut lead = |(page, is_met): &(NormalUrl, bool)| match (*is_met, hash64(page.as_bytes())) {
            (true, hash) => [reduced(page), hash],
            (false, hash) => [hash, hash],
        };
        let pages: Vec<[u64; 2]> = self.pages.iter().map(&mut lead).collect();
        let unmet: Vec<(u64, u32)> = self.unmet.iter().map(|(url, at)| (reduced(url), *at)).collect();
        let mut by_name: HashMap<u64, u64, FixedState> = HashMap::default();
        for &(row, at) in &self.named {
            let page = pages[at as usize][0];
            by_name.entry(canonical[row as usize]).and_modify(|of| *of = page.min(*of)).or_insert(page);
        }
        let mut by_unmet: HashMap<u64, [u64; 2], FixedState> = HashMap::default();
        for (name, at) in unmet {
            let page = pages[at as usize];
            by_unmet.entry(name).and_modify(|of| *of = page.min(*of)).or_insert(page);
        }
        let lead = |(url, &label): (&u64, &u32)| match (by_name.get(url), by_unmet.get(url)) {
            (Some(page), _) => *page,
            (None, Some([page, before])) if self.shown.contains(&(*before, label)) => *page,
            _ => *url,
        };
        canonical.iter().zip(&self.training.clusters).map(lead).collect()
    }
}

/// A look-up of the earlier result.
struct LookUp {
    url: NormalUrl,
    /// Hash of the URL that the earlier rules alone make of it.
    reduced: u64,
    page: NormalUrl,
}

fn without_memory(rules: &SiteRules) -> SiteRules {
    SiteRules { aliases: Vec::new(), local: Vec::new(), ..rules.clone() }
}

/// The look-ups of an earlier result. Those that lead nowhere else, as those to what is no URL, are none.
fn look_ups(rules: &SiteRules) -> Vec<LookUp> {
    let [all, reducing] = [rules.clone(), without_memory(rules)].map(|rules| RuleSet::new(vec![rules]));
    let mut scratch = Scratch::default();
    let mut out = Vec::new();
    for [url, _] in &rules.aliases {
        let Ok(url) = NormalUrl::new(url.as_bytes()) else { continue };
        let reduced = hash64(reducing.apply_normal(url.by_ref(), Some(0), &mut scratch).url);
        let page = all.apply_normal(url.by_ref(), Some(0), &mut scratch).url;
        if hash64(page) != reduced {
            let page = NormalUrl::new(page).expect("canonical URLs are in normal form");
            out.push(LookUp { url, reduced, page });
        }
    }
    out
}

/// Where each row is now.
fn places(before: &[u64], now: &[u64]) -> Vec<Place> {
    let sizes = |of: &[u64]| {
        let mut sizes: HashMap<u64, u32, FixedState> = HashMap::default();
        of.iter().for_each(|&to| *sizes.entry(to).or_default() += 1);
        sizes
    };
    let (sizes_before, sizes_now) = (sizes(before), sizes(now));
    // The canonical URL of all rows of a group of before; `None` where they have several.
    let mut all: HashMap<u64, Option<u64>, FixedState> = HashMap::default();
    for (from, &to) in before.iter().zip(now) {
        all.entry(*from).and_modify(|of| *of = of.filter(|&of| of == to)).or_insert(Some(to));
    }
    let place = |(&from, &to): (&u64, &u64)| match all[&from] == Some(to) && sizes_now[&to] == sizes_before[&from] {
        false => Place::Regrouped,
        true if from == to => Place::Same,
        true => Place::Moved,
    };
    before.iter().zip(now).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of before are 1: three rows, 2: one, 3: two, 4: one.
    #[test]
    fn a_row_moves_where_its_group_stays_together_and_alone() {
        use Place::{Moved, Regrouped, Same};
        let before = [1, 1, 1, 2, 3, 3, 4];
        assert_eq!(places(&before, &before), [Same; 7]);
        assert_eq!(places(&before, &[9, 9, 9, 2, 3, 3, 4])[..4], [Moved, Moved, Moved, Same]);
        // One leaves a group, or comes to it.
        assert_eq!(places(&before, &[1, 1, 9, 2, 3, 3, 4])[..4], [Regrouped, Regrouped, Regrouped, Same]);
        assert_eq!(places(&before, &[1, 1, 1, 2, 3, 3, 3])[3..], [Same, Regrouped, Regrouped, Regrouped]);
    }

    #[test]
    fn moves_count_beside_other_rules() {
        let effect = |now: &[u64]| Effect { right: 0, wrong: 0, away: 0, places: places(&[1, 1, 2, 3], now) };
        let (same, torn) = (effect(&[1, 1, 2, 3]), effect(&[1, 9, 2, 3]));
        let moved = effect(&[8, 8, 2, 7]);
        assert_eq!([moved.moves_beyond(&same), moved.moves_beyond(&torn)], [3, 1]);
        assert_eq!([same.moves_beyond(&moved), effect(&[8, 8, 6, 3]).moves_beyond(&moved)], [0, 0]);
    }
}
