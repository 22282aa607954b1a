//! The query keys and path parameters of a site: how often a change of the value alone leaves the page
//! as it is.
//!
//! Rows that differ in the value of one key, and in nothing else that matters, are counted as in
//! [`evidence`](crate::site::evidence): of m such rows, those of the largest cluster but one are
//! `same`, those outside it `other`; no value is a value, too. "Nothing else that matters" are the
//! differences left by the operations adopted before: rows joined by an operation on the key count when
//! it was adopted, rows joined by none count at the end, each once. Rules between forms, look-ups and
//! the proof come later and are no part of it.

use super::names::{self, Meaning};
use crate::site::covering::Covering;
use crate::site::evidence::{Bound, Sorter};
use crate::site::operations::is_number;
use crate::site::proposal::Action;
use crate::url::Key;
use serde::{Deserialize, Serialize};

/// Values of a key that are read to classify its values.
const LOOKED_AT: u32 = 1_000;
/// Characters from which a value without a word in it passes for a session.
const SESSION_LENGTH: usize = 16;

/// Effect of a key on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The page is the same whatever the value.
    Irrelevant,
    /// The page is the same whatever the value, and the name is that of a campaign parameter.
    Tracking,
    /// The page is the same whatever the value, and name or values are those of a session.
    Session,
    /// The name is that of an order of a list, whether the page is the same or another.
    Order,
    /// Another page of a list.
    Page,
    /// Another page.
    Identity,
    /// Too few URLs differ in the value alone, or some of them show the same page and some do not.
    Unknown,
}

impl Effect {
    /// The word in `profiles.jsonl` and in tables.
    pub fn word(self) -> &'static str {
        match self {
            Effect::Irrelevant => "irrelevant",
            Effect::Tracking => "tracking",
            Effect::Session => "session",
            Effect::Order => "order",
            Effect::Page => "page",
            Effect::Identity => "identity",
            Effect::Unknown => "unknown",
        }
    }
}

/// One key of a site. Counts are of distinct training URLs in normal form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyProfile {
    /// The key, in the notation of rules, for example `query sid=`.
    pub key: String,
    /// Its effect.
    pub does: Effect,
    /// URLs that have it.
    pub urls: u64,
    /// Distinct values.
    pub values: u64,
    /// Changes of its value alone that left the page the same.
    pub same: u64,
    /// Changes of its value alone that led to another page.
    pub other: u64,
    /// Changes of its value together with those of other keys that one operation ignores, which left the
    /// page the same.
    pub same_together: u64,
    /// Changes of its value together with those of other keys that one operation ignores, which led to
    /// another page.
    pub other_together: u64,
}

impl KeyProfile {
    /// Share of the changes that left the page the same, in millionths, rounded down: of those of the value
    /// alone, or, without any, of those together with other keys. `None` without a change.
    pub fn same_ppm(&self) -> Option<u64> {
        let (same, other) = self.changes();
        (u128::from(same) * 1_000_000).checked_div(u128::from(same) + u128::from(other)).map(|ppm| ppm as u64)
    }

    /// Changes that left the page the same, and others: alone, or, without any, together.
    fn changes(&self) -> (u64, u64) {
        match (self.same, self.other) {
            (0, 0) => (self.same_together, self.other_together),
            alone => alone,
        }
    }
}

/// Frequency of a key before any operation has changed the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::site) struct Frequency {
    urls: u64,
    values: u64,
}

/// [`Frequency`] of each key, from the rows before the covering.
pub(in crate::site) fn frequencies(covering: &Covering) -> Vec<Frequency> {
    let of = |counts: &Vec<u32>| {
        let present = || counts.iter().skip(1).filter(|&&count| count > 0);
        Frequency { urls: present().map(|&count| u64::from(count)).sum(), values: present().count() as u64 }
    };
    covering.counts.iter().map(of).collect()
}

/// The keys of a site, by falling number of URLs, ties by name. `frequencies` is from the initial state,
/// `covering` the final one.
pub(in crate::site) fn profile(covering: &Covering, frequencies: &[Frequency]) -> Vec<KeyProfile> {
    let columns = &covering.columns;
    let mut sorter = Sorter::default();
    let mut keys: Vec<KeyProfile> = Vec::new();
    for (at, key) in columns.keys.iter().enumerate().filter(|(_, key)| key.optional()) {
        let (mut alone, mut together) = (left(covering, at, &mut sorter), (0, 0));
        for rule in covering.rules.iter().filter(|rule| !matches!(rule.action, Action::Function(_))) {
            if rule.maps.iter().any(|(of, _)| *of == at) {
                let counts = if rule.maps.len() == 1 { &mut alone } else { &mut together };
                *counts = (counts.0 + rule.good, counts.1 + rule.bad);
            }
        }
        let Frequency { urls, values } = frequencies[at];
        let mut profile = KeyProfile {
            key: key.to_string(),
            does: Effect::Unknown,
            urls,
            values,
            same: alone.0,
            other: alone.1,
            same_together: together.0,
            other_together: together.1,
        };
        profile.does = effect(&profile, covering, at);
        keys.push(profile);
    }
    keys.sort_by(|a, b| b.urls.cmp(&a.urls).then_with(|| a.key.cmp(&b.key)));
    keys
}

/// Counts of same and other among the remaining rows that differ in this key alone.
fn left(covering: &Covering, key: usize, sorter: &mut Sorter) -> (u64, u64) {
    if covering.counts[key].iter().filter(|&&count| count > 0).nth(1).is_none() {
        return (0, 0);
    }
    let columns = &covering.columns;
    let (codes, values) = (&columns.codes[key], &columns.values[key].hash);
    let without = |&row: &u32| columns.hash[row as usize].wrapping_sub(values[codes[row as usize] as usize]);
    let identities = covering.alive.iter().map(|row| (without(row), *row));
    sorter.group(identities, &columns.label).totals()
}

/// Effect of a key by its counts, name and values.
fn effect(profile: &KeyProfile, covering: &Covering, key: usize) -> Effect {
    let columns = &covering.columns;
    let (Key::Query(name) | Key::Param(name)) = &columns.keys[key] else { return Effect::Unknown };
    let (same, other) = profile.changes();
    let meaning = names::meaning(name);
    let bound = Bound::operation(&covering.thresholds).allowing(covering.noise);
    if same >= bound.min_good && bound.allows(same, other, 0) {
        return match meaning {
            Some(Meaning::Session) => Effect::Session,
            Some(Meaning::Tracking) => Effect::Tracking,
            Some(Meaning::Order) => Effect::Order,
            _ if share_of_values(covering, key, |value, _| is_token(value)) >= 90 => Effect::Session,
            _ => Effect::Irrelevant,
        };
    }
    if other < bound.min_good || same > other {
        return Effect::Unknown;
    }
    let are_numbers = || share_of_values(covering, key, |_, code| is_number(columns, key, code)) >= 90;
    match meaning {
        Some(Meaning::Order) => Effect::Order,
        Some(Meaning::Page) if are_numbers() => Effect::Page,
        _ => Effect::Identity,
    }
}

/// Share, in percent, of the first values of a key for which `holds`; 0 without any.
fn share_of_values(covering: &Covering, key: usize, holds: impl Fn(&[u8], u32) -> bool) -> u32 {
    let columns = &covering.columns;
    let codes = 1..(columns.codes_len(key) as u32).min(LOOKED_AT + 1);
    let all = codes.clone().count() as u32;
    let held = codes.filter(|&code| holds(columns.value(key, code), code)).count() as u32;
    (held * 100).checked_div(all).unwrap_or(0)
}

/// True for a long value of digits and letters with several digits in it: nobody writes such a value by
/// hand.
fn is_token(value: &[u8]) -> bool {
    value.len() >= SESSION_LENGTH
        && value.iter().all(|byte| byte.is_ascii_alphanumeric())
        && value.iter().filter(|byte| byte.is_ascii_digit()).count() >= 4
        && !value.iter().all(u8::is_ascii_digit)
}
