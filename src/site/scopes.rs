//! Canonical URLs that only one constraint keeps out of the scope of a rule.
//!
//! Applying a rule without each of its constraints to all URLs costs more than all learning before it. The
//! values of the keys that scopes name are read once, as columns of codes, and a constraint is a table of
//! its codes: only URLs for which all other constraints hold are left to try.

use super::Training;
use super::points::Reader;
use super::reduced::Identity;
use crate::model::hash64;
use crate::rules::{Constraint, RuleSet, SECTION, Scratch, SiteRules};
use crate::url::{Key, NormalRef, NormalUrl};
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// The canonical URLs of a site, with their values for the keys that its rules name in scopes.
pub struct CanonicalUrls<'f> {
    /// The URLs.
    found: &'f [Identity],
    by_hash: HashMap<u64, usize, FixedState>,
    columns: BTreeMap<String, KeyCodes>,
}

/// The values of one key.
#[derive(Default)]
struct KeyCodes {
    /// Index of the value, a URL.
    codes: Vec<u32>,
    /// Distinct values; `None` is the absent key.
    values: Vec<Option<Vec<u8>>>,
    index: HashMap<Option<Vec<u8>>, u32, FixedState>,
}

impl KeyCodes {
    fn push(&mut self, value: Option<Vec<u8>>) {
        let code = self.code(value);
        self.codes.push(code);
    }

    fn code(&mut self, value: Option<Vec<u8>>) -> u32 {
        let next = self.values.len() as u32;
        let code = *self.index.entry(value.clone()).or_insert(next);
        if code == next {
            self.values.push(value);
        }
        code
    }
}

impl<'f> CanonicalUrls<'f> {
    /// Reads the values of the keys that the scopes of `rules` name, and of `others`. O(URLs x pairs).
    pub fn new(found: &'f [Identity], rules: &SiteRules, others: impl Iterator<Item = String>) -> CanonicalUrls<'f> {
        let by_hash = found.iter().enumerate().map(|(at, of)| (hash64(of.composed.as_bytes()), at)).collect();
        let mut urls = CanonicalUrls { found, by_hash, columns: BTreeMap::new() };
        let keys = rules.rules.iter().flat_map(|rule| &rule.scope).map(|constraint| constraint.key.clone());
        urls.columns = keys.chain(others).map(|key| (key, KeyCodes::default())).collect();
        let mut by_seed: HashMap<u64, (&mut KeyCodes, Option<Vec<u8>>), FixedState> = HashMap::default();
        let mut sections = None;
        for (key, column) in &mut urls.columns {
            let unread = match Key::parse(key) {
                _ if key == SECTION => sections.replace(column),
                Some(key) => by_seed.insert(key.seed(), (column, None)).map(|of| of.0),
                None => Some(column),
            };
            // No URL has a key that is none, or one in another spelling.
            if let Some(column) = unread {
                column.codes = vec![column.code(None); found.len()];
            }
        }
        let mut reader = Reader::new(&rules.tokens);
        for identity in found {
            reader.each(identity.composed.by_ref(), |seed, value| {
                if let Some((_, last)) = by_seed.get_mut(&seed) {
                    *last = Some(value.to_vec());
                }
            });
            by_seed.values_mut().for_each(|(column, value)| column.push(value.take()));
            if let Some(column) = &mut sections {
                column.push(Some(rules.tokens.section(identity.composed.as_bytes()).to_vec()));
            }
        }
        urls
    }

    /// Groups of URLs that `rules` join where they change one of `urls`.
    pub fn joined_by(&self, rules: &SiteRules, urls: Vec<usize>) -> Vec<Group<'_>> {
        if urls.is_empty() {
            return Vec::new();
        }
        let set = RuleSet::new(vec![rules.clone()]);
        let mut scratch = Scratch::default();
        let mut groups: HashMap<u64, Vec<usize>, FixedState> = HashMap::default();
        for at in urls {
            let to = set.apply_normal(self.found[at].composed.by_ref(), Some(0), &mut scratch).url;
            if to != self.found[at].composed.as_bytes() {
                groups.entry(hash64(to)).or_default().push(at);
            }
        }
        groups.iter_mut().for_each(|(to, group)| group.extend(self.by_hash.get(to)));
        let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
        groups.sort_unstable();
        let labels = |group: &[usize]| group.iter().map(|&at| self.found[at].majority).collect();
        let group = |group: Vec<usize>| Group { first: self.found[group[0]].composed.by_ref(), labels: labels(&group) };
        groups.into_iter().map(group).collect()
    }

    /// URLs for which all constraints hold but those that `is_lifted` names, of which some does not.
    pub fn outside(&self, scope: &[Constraint], is_lifted: impl Fn(&Constraint) -> bool) -> Vec<usize> {
        let table = |constraint: &Constraint| -> Option<(&[u32], Vec<bool>)> {
            let column = self.columns.get(&*constraint.key)?;
            Some((&column.codes, column.values.iter().map(|value| constraint.test.holds(value.as_deref())).collect()))
        };
        let (lifted, kept): (Vec<&Constraint>, Vec<&Constraint>) = scope.iter().partition(|of| is_lifted(of));
        let [lifted, kept] = [lifted, kept].map(|of| of.into_iter().filter_map(table).collect::<Vec<_>>());
        let holds = |of: &[(&[u32], Vec<bool>)], at: usize| of.iter().all(|(codes, holds)| holds[codes[at] as usize]);
        (0..self.found.len()).filter(|&at| holds(&kept, at) && !holds(&lifted, at)).collect()
    }
}

/// The rules that fire on the labelled rows of a site.
pub struct Fired {
    /// Rows on which each rule fires.
    by_rule: Vec<Vec<u32>>,
    /// Hash of the canonical URL of each row.
    canonical: Vec<u64>,
    /// Rows with each canonical URL, by cluster.
    rows: HashMap<u64, BTreeMap<u32, u32>, FixedState>,
}

/// URLs that a rule joins.
pub struct Group<'u> {
    /// One that the rule changes.
    pub first: NormalRef<'u>,
    /// The cluster of each; that of `first` is the first.
    pub labels: Vec<u32>,
}

/// What the other rules make of the rows of one canonical URL on which a rule fires: those with one URL.
pub struct Piece {
    canonical: u64,
    /// The URL; `None` for the rows on which the rule does not fire.
    url: Option<NormalUrl>,
    /// The largest cluster of its rows; ties go to the smaller id.
    label: u32,
}

impl Fired {
    /// Applies all rules to all labelled rows.
    pub fn new(rules: &SiteRules, training: &Training) -> Fired {
        let set = RuleSet::new(vec![rules.clone()]);
        let mut scratch = Scratch::default();
        let (mut by_rule, mut canonical) = (vec![Vec::new(); rules.rules.len()], vec![0; training.len()]);
        let mut rows: HashMap<u64, BTreeMap<u32, u32>, FixedState> = HashMap::default();
        for row in (0..training.len()).filter(|&row| training.clusters[row] != u32::MAX) {
            let Some(url) = training.normal(row) else { continue };
            let applied = set.apply_normal(url, Some(0), &mut scratch);
            applied.fired.iter().for_each(|rule| by_rule[usize::from(rule)].push(row as u32));
            canonical[row] = hash64(applied.url);
            *rows.entry(canonical[row]).or_default().entry(training.clusters[row]).or_default() += 1;
        }
        Fired { by_rule, canonical, rows }
    }

    /// Rows on which the rule at `at` fires, rising.
    pub fn rows_of(&self, at: usize) -> &[u32] {
        &self.by_rule[at]
    }

    /// Hash of the canonical URL of a labelled row.
    pub fn canonical(&self, row: u32) -> u64 {
        self.canonical[row as usize]
    }

    /// The pieces into which canonical URLs fall without the rule at `at`, sorted; those that it changes first.
    pub fn pieces(&self, rules: &SiteRules, at: usize, training: &Training) -> Vec<Piece> {
        let mut others = SiteRules { aliases: Vec::new(), local: Vec::new(), ..rules.clone() };
        others.rules.remove(at);
        let set = RuleSet::new(vec![others]);
        let mut scratch = Scratch::default();
        let mut pieces: BTreeMap<(u64, Vec<u8>), BTreeMap<u32, u32>> = BTreeMap::new();
        let mut rest: BTreeMap<u64, BTreeMap<u32, u32>> = BTreeMap::new();
        for &row in &self.by_rule[at] {
            let Some(url) = training.normal(row as usize) else { continue };
            let (canonical, cluster) = (self.canonical[row as usize], training.clusters[row as usize]);
            let url = set.apply_normal(url, Some(0), &mut scratch).url.to_vec();
            *pieces.entry((canonical, url)).or_default().entry(cluster).or_default() += 1;
            let rest = rest.entry(canonical).or_insert_with(|| self.rows[&canonical].clone());
            rest.entry(cluster).and_modify(|rows| *rows -= 1);
        }
        let largest = |of: &BTreeMap<u32, u32>| {
            of.iter().filter(|of| *of.1 > 0).max_by_key(|of| (*of.1, Reverse(*of.0))).map(|of| *of.0)
        };
        let piece = |((canonical, url), of): (&(u64, Vec<u8>), &BTreeMap<u32, u32>)| {
            Some(Piece { canonical: *canonical, url: NormalUrl::new(url).ok(), label: largest(of)? })
        };
        let mut out: Vec<Piece> = pieces.iter().filter_map(piece).collect();
        out.extend(
            rest.iter().filter_map(|(&canonical, of)| Some(Piece { canonical, url: None, label: largest(of)? })),
        );
        let url = |of: &Piece| of.url.as_ref().map(|url| url.as_bytes().to_vec());
        out.sort_by_cached_key(|piece| (piece.canonical, piece.url.is_none(), url(piece)));
        out
    }
}

/// Withdraws the rules that join no rows: what they joined was right together with a rule that is gone, or under
/// values that they do not allow any more, and where they act now, nothing shows them. Returns how many. Exempt are
/// lines of the catalogue of platforms, which others have proven.
///
/// The rules are applied once more to all rows.
pub fn withdraw_idle(rules: &mut SiteRules, training: &Training) -> u64 {
    let fired = Fired::new(rules, training);
    let rows = |canonical: &u64| fired.rows[canonical].values().sum::<u32>();
    let mut joins = fired.by_rule.iter().map(|of| of.iter().any(|&row| rows(&fired.canonical[row as usize]) > 1));
    let before = rules.rules.len();
    rules.rules.retain(|rule| joins.next().unwrap_or(true) || rule.line.is_some());
    (before - rules.rules.len()) as u64
}

/// Groups of two or more pieces of one canonical URL.
pub fn groups(pieces: &[Piece]) -> Vec<Group<'_>> {
    let groups = pieces.chunk_by(|a, b| a.canonical == b.canonical).filter(|group| group.len() > 1);
    let labels = |group: &[Piece]| group.iter().map(|piece| piece.label).collect();
    groups.filter_map(|group| Some(Group { first: group[0].url.as_ref()?.by_ref(), labels: labels(group) })).collect()
}
