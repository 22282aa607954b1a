//! Preferences among equals: which origin, value, form or page represents others that are proven to be
//! the same. The tests that a rule must pass are the same with them.
//!
//! - The origins that records of the site redirect to or declare, counted over all records
//!   ([`Targets`]).
//! - The rules of the site in an earlier result (`learn --previous`): where they moved URLs to one of
//!   several values, that value stays, as long as it is one of them.

use super::Training;
use super::columns::{Columns, Ranks};
use crate::model::hash64;
use crate::rules::origins::of as origin;
use crate::rules::{Rule, RuleSet, Scratch, SiteRules};
use crate::url::{Cells, Fixed, normalize, set_order};
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The hints of one site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// Origins that records redirect to or declare.
    pub targets: Targets,
    /// Rules of the site in an earlier result.
    pub previous: Option<Arc<SiteRules>>,
}

/// Records that redirect to an origin other than their own, or declare it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Votes {
    /// Votes for an origin of another scheme.
    pub scheme: u64,
    /// Votes for an origin of another host or port.
    pub host: u64,
}

/// Votes by origin (`https://www.example.org:8443`), of at most [`Targets::MAX`] origins of a site:
/// those of smallest hash. The counts of these are exact, and the same for any order and any division
/// of the records. Memory: 80 bytes and its text an origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets(BTreeMap<(u64, Box<[u8]>), Votes>);

impl Targets {
    /// Origins of a site that are counted: a bound of memory.
    pub const MAX: usize = 256;

    /// Adds votes for an origin.
    pub fn add(&mut self, origin: &[u8], votes: Votes) {
        let sum = self.0.entry((hash64(origin), origin.into())).or_default();
        (sum.scheme, sum.host) = (sum.scheme + votes.scheme, sum.host + votes.host);
        if self.0.len() > Targets::MAX {
            // An origin that was dropped has as many smaller ones ahead of it in the whole: it returns only to be
            // dropped again.
            self.0.pop_last();
        }
    }

    /// Counts a record with this URL, in normal form, that redirects to `target` or declares it. Its own
    /// origin, and a target that is no http or https URL, are not counted.
    pub fn count(&mut self, url: &[u8], target: &[u8], scratch: &mut Vec<u8>) {
        let (from, to) = (origin(url), normalize(target, scratch).is_ok().then(|| origin(scratch)));
        let Some(to) = to.filter(|to| *to != from) else { return };
        let (scheme, host) = (scheme(from) != scheme(to), from[scheme(from).len()..] != to[scheme(to).len()..]);
        self.add(to, Votes { scheme: scheme.into(), host: host.into() });
    }

    /// Origins and their votes, by hash.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Votes)> {
        self.0.iter().map(|((_, origin), votes)| (&**origin, *votes))
    }
}

fn scheme(origin: &[u8]) -> &[u8] {
    &origin[..memchr::memchr(b':', origin).unwrap_or(0)]
}

/// What a rule of the earlier result makes of one key that it ignores.
#[derive(Clone, Debug)]
pub struct Again {
    /// The key.
    pub key: usize,
    /// The value that every other one becomes.
    pub code: u32,
    /// Also where the key is absent.
    pub everywhere: bool,
    /// A row for which the rule is proposed has the value.
    pub is_met: bool,
}

/// The hints in terms of the columns of a site.
#[derive(Clone, Debug, Default)]
pub struct Preferred {
    /// Rules of the earlier result that were not proposed yet.
    pub earlier: Vec<Rule>,
    /// What the rule of the earlier result that is proposed at present makes of its keys.
    pub again: Vec<Again>,
    /// Codes of the canonical URL of each row under the earlier rules, `[key][row]`; empty without them.
    before: Vec<Vec<u32>>,
    /// Schemes and hosts of the rows, by code.
    origins: HashSet<(u32, u32), FixedState>,
    /// Votes for hosts, in origins of the rows.
    hosts: HashMap<u32, u64, FixedState>,
    /// The scheme with most votes in origins of the rows, if any has one.
    scheme: Option<u32>,
}

impl Preferred {
    /// The hints for a training set that was cut into `columns`.
    pub fn new(training: &Training, columns: &mut Columns) -> Preferred {
        let mut out = Preferred::default();
        if let (Some(scheme), Some(host)) = (columns.fixed(Fixed::SCHEME), columns.fixed(Fixed::HOST)) {
            let rows = columns.codes[scheme].iter().zip(&columns.codes[host]);
            out.origins = rows.map(|(&scheme, &host)| (scheme, host)).collect();
            out.votes(&training.hints.targets, columns, scheme, host);
        }
        if let Some(rules) = &training.hints.previous {
            out.before = before(rules, training, columns);
            out.earlier.clone_from(&rules.rules);
        }
        out
    }

    fn votes(&mut self, targets: &Targets, columns: &Columns, scheme_key: usize, host_key: usize) {
        let mut schemes: BTreeMap<u32, u64> = BTreeMap::new();
        for (origin, votes) in targets.iter() {
            let scheme = scheme(origin);
            let host = &origin[(scheme.len() + 3).min(origin.len())..];
            let codes = (columns.find(scheme_key, scheme), columns.find(host_key, host));
            let (Some(scheme), Some(host)) = codes else { continue };
            if self.origins.contains(&(scheme, host)) {
                *schemes.entry(scheme).or_default() += votes.scheme;
                *self.hosts.entry(host).or_default() += votes.host;
            }
        }
        let most = schemes.into_iter().max_by_key(|&(code, votes)| (votes, columns.value(scheme_key, code).len()));
        self.scheme = most.filter(|&(_, votes)| votes > 0).map(|(code, _)| code);
    }

    /// Keeps the given rows.
    pub fn retain(&mut self, rows: &[u32]) {
        for column in &mut self.before {
            *column = rows.iter().map(|&r| column[r as usize]).collect();
        }
    }

    /// The scheme that records redirect to or declare.
    pub fn scheme(&self) -> Option<u32> {
        self.scheme
    }

    /// Records that redirect to a host, or declare it, from another one.
    pub fn host_votes(&self, host: u32) -> u64 {
        self.hosts.get(&host).copied().unwrap_or(0)
    }

    /// True where some row has this scheme and this host.
    pub fn is_origin(&self, scheme: u32, host: u32) -> bool {
        self.origins.contains(&(scheme, host))
    }

    /// True with an earlier result.
    pub fn has_earlier(&self) -> bool {
        !self.before.is_empty()
    }

    /// Code of the canonical URL of a row under the earlier rules; `None` without them.
    pub fn before(&self, key: usize, row: u32) -> Option<u32> {
        Some(self.before.get(key)?[row as usize])
    }

    /// The value that the rule proposed at present gave a key, where it may give it again to `rows`: the earlier
    /// rules gave it to one of them, and a row that has it can be fetched, or no row that the rule asks for has
    /// it. A rule that holds in fewer places than before would else send pages to where it does not hold.
    pub fn again(&self, columns: &Columns, key: usize, rows: &[u32]) -> Option<(u32, bool)> {
        let Again { code, everywhere, is_met, .. } = *self.again.iter().find(|again| again.key == key)?;
        let before = self.before.get(key)?;
        let is_fetched = |&row: &u32| columns.code(key, row) == code && columns.fetchable[row as usize];
        let may = rows.iter().any(|&row| before[row as usize] == code) && (!is_met || rows.iter().any(is_fetched));
        may.then_some((code, everywhere))
    }

    /// The code, among those that `may` names, that most of the `rows` had under the earlier rules, where
    /// these changed a row to such a code; ties by bytes.
    pub fn moved(
        &self,
        columns: &Columns,
        key: usize,
        rows: impl Iterator<Item = u32>,
        may: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let before = self.before.get(key)?;
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        let mut is_changed = false;
        for row in rows {
            let to = before[row as usize];
            if may(to) {
                is_changed |= to != columns.code(key, row);
                *counts.entry(to).or_default() += 1;
            }
        }
        let value = |code: u32| columns.value(key, code);
        let most = counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| value(b.0).cmp(value(a.0))));
        most.filter(|_| is_changed).map(|(code, _)| code)
    }

    /// True where the earlier rules kept most of `rows` unchanged in all of `keys`; `None` without earlier
    /// rules.
    pub fn kept(&self, columns: &Columns, keys: &[usize], rows: &[u32]) -> Option<bool> {
        if self.before.is_empty() {
            return None;
        }
        let is_kept = |&&row: &&u32| keys.iter().all(|&k| self.before[k][row as usize] == columns.code(k, row));
        Some(2 * rows.iter().filter(is_kept).count() >= rows.len())
    }
}

/// Codes of the URL that `rules` make of each row; new values get codes. Without look-ups, which say
/// nothing of other pages: with them, canonical URLs alternated when a site was learned again from the
/// same records.
fn before(rules: &Arc<SiteRules>, training: &Training, columns: &mut Columns) -> Vec<Vec<u32>> {
    let rules = SiteRules { aliases: Vec::new(), local: Vec::new(), ..SiteRules::clone(rules) };
    let set = RuleSet::new(vec![rules]);
    let (cut, ranks) = (columns.tokens.cut(), Ranks::new(&columns.tokens));
    let (mut scratch, mut cells) = (Scratch::default(), Cells::default());
    let mut out = vec![vec![0; columns.len()]; columns.keys.len()];
    for (row, origin) in columns.origin.clone().into_iter().enumerate() {
        let Some(url) = training.normal(origin as usize) else { continue };
        let canonical = set.apply_normal(url, Some(0), &mut scratch).url;
        let Ok(split) = normalize(canonical, &mut cells.text) else { continue };
        cells.cut(&split, cut);
        set_order(&mut cells, |cells, at| ranks.of(cells.seed(cells.list[at].key)));
        for cell in &cells.list {
            if let Some(column) = columns.column(&cells.key(cell)) {
                out[column][row] = columns.intern(column, cells.value(cell));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_vote_for_other_origins_alone() {
        let mut targets = Targets::default();
        let mut scratch = Vec::new();
        let records = [
            ("http://a.org/x", "https://a.org/x"),
            ("http://a.org/x", "HTTPS://www.A.org:443/y?z"),
            ("http://a.org/x", "http://a.org:80/y"),
            ("http://a.org/x", "/y"),
            ("http://a.org/x", "mailto:b@a.org"),
            ("https://a.org:8443/x", "https://www.a.org"),
        ];
        records.iter().for_each(|(url, to)| targets.count(url.as_bytes(), to.as_bytes(), &mut scratch));
        let mut found: Vec<(String, Votes)> =
            targets.iter().map(|(origin, votes)| (String::from_utf8_lossy(origin).into_owned(), votes)).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let votes = |scheme, host| Votes { scheme, host };
        assert_eq!(found, [("https://a.org".to_owned(), votes(1, 0)), ("https://www.a.org".to_owned(), votes(1, 2))]);
    }

    #[test]
    fn the_counts_do_not_depend_on_order_or_division() {
        let all: Vec<String> = (0..3 * Targets::MAX).map(|n| format!("https://h{}.org", n % 700)).collect();
        let sum = |origins: &mut dyn Iterator<Item = &String>| {
            let mut targets = Targets::default();
            origins.for_each(|origin| targets.add(origin.as_bytes(), Votes { scheme: 1, host: 2 }));
            targets
        };
        let whole = sum(&mut all.iter());
        assert_eq!(whole.iter().count(), Targets::MAX);
        assert_eq!(sum(&mut all.iter().rev()), whole);
        let mut merged = sum(&mut all[..100].iter());
        for part in [&all[100..500], &all[500..]] {
            sum(&mut part.iter()).iter().for_each(|(origin, votes)| merged.add(origin, votes));
        }
        assert_eq!(merged, whole);
    }
}
