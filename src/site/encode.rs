//! The columns of a training set: its URLs are tokenized, and what they hold becomes codes.

use super::Thresholds;
use super::columns::{Columns, Dictionary, MAX_COLUMNS, Ranks};
use super::hints::{self, Targets};
use super::operations::frequencies;
use super::order::{self, ORDER_SAMPLE};
use super::preferred::Preferred;
use super::sections::Sections;
use super::training::Training;
use crate::model::hash64_seeded;
use crate::rules::{RuleSet, SECTION, Scratch, SiteRules, Test, Tokens};
use crate::url::{Fixed, Key, KeyValues, NormalRef, NormalUrl, set_order};
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

impl Columns {
    /// Tokenizes the labelled URLs of `training`; unlabelled ones are neither evidence nor negatives.
    pub fn new(training: &Training, tokens: Tokens, thresholds: &Thresholds) -> Columns {
        let mut out = Columns { tokens, ..Columns::default() };
        if out.tokens.semicolons {
            let previous = training.hints.previous.as_ref().filter(|previous| previous.tokens.semicolons);
            let known = previous.map(|previous| previous.tokens.joined_by_semicolons);
            out.tokens.joined_by_semicolons = known.unwrap_or_else(|| joins_by_semicolons(training));
        }
        let tokenizer = out.tokens.tokenizer();
        let mut pairs = KeyValues::default();
        out.tokens.query_order = order::learn(training, tokenizer, &mut pairs, thresholds);
        if let Some(previous) = &training.hints.previous {
            // The order of an earlier result is kept; new names follow.
            let mut order = previous.tokens.query_order.clone();
            order.extend(out.tokens.query_order.drain(..).filter(|name| !previous.tokens.query_order.contains(name)));
            out.tokens.query_order = order;
        }
        let ranks = Ranks::new(&out.tokens);
        let mut builder = Builder::default();
        for row in 0..training.len() {
            let label = training.clusters[row];
            if label == u32::MAX {
                continue;
            }
            // Rules never act on URLs with user information.
            let Some(url) = training.normal(row).filter(|url| !url.has_user()) else { continue };
            url.tokenize(tokenizer, &mut pairs);
            set_order(&mut pairs, |pairs, at| ranks.of(pairs.seed(pairs.list[at].key)));
            builder.row(&pairs, label, row as u32);
        }
        builder.into_columns(&mut out);
        out.fetchable = out.origin.iter().map(|&row| !training.elsewhere[row as usize]).collect();
        out.redirects = out.fetchable.contains(&false);
        out.unchanged = vec![true; out.origin.len()];
        let is_met = |row: &u32| out.fetchable[*row as usize];
        let rows: Vec<u32> = (0..out.len() as u32).filter(is_met).collect();
        out.frequency = (0..out.keys.len()).map(|key| frequencies(&out, key, rows.iter().copied())).collect();
        let path = |row: u32| training.normal(row as usize).map_or(&[][..], NormalRef::path);
        let rows = out.origin.iter().zip(&out.label).map(|(&row, &label)| (path(row), label));
        let named = training.hints.previous.iter().flat_map(|previous| named_sections(previous));
        out.sections = Sections::new(rows, named, thresholds);
        out.tokens.sections.clone_from(&out.sections.words);
        out.preferred = Preferred::new(training, &mut out);
        out
    }
}

/// True where more of the queries that use one separator alone use `;` than `&`.
fn joins_by_semicolons(training: &Training) -> bool {
    let uses = |row: usize| {
        let url = training.normal(row)?;
        let (start, end) = url.split().query?;
        let query = &url.as_bytes()[start as usize..end as usize];
        match [b';', b'&'].map(|separator| memchr::memchr(separator, query).is_some()) {
            [true, false] => Some(true),
            [false, true] => Some(false),
            _ => None,
        }
    };
    let (semicolons, others): (Vec<bool>, Vec<bool>) =
        (0..training.len().min(ORDER_SAMPLE)).filter_map(uses).partition(|&is_semicolon| is_semicolon);
    semicolons.len() > others.len()
}

/// Rows as they are tokenized, before the keys with a column are chosen.
#[derive(Default)]
struct Builder {
    keys: Vec<Key>,
    rows_of: Vec<u32>,
    values: Vec<Dictionary>,
    pool: Vec<u8>,
    key_of: HashMap<u64, u32, FixedState>,
    codes_of: HashMap<u64, u32, FixedState>,
    flat: Vec<(u32, u32)>,
    ends: Vec<u32>,
    labels: Vec<u32>,
    hashes: Vec<u64>,
    origins: Vec<u32>,
}

impl Builder {
    fn row(&mut self, pairs: &KeyValues, label: u32, origin: u32) {
        let mut identity = 0u64;
        for pair in &pairs.list {
            let seed = pairs.seed(pair.key);
            let key = match self.key_of.get(&seed) {
                Some(&key) => key,
                None => {
                    let key = self.keys.len() as u32;
                    self.keys.push(pairs.key(pair));
                    self.rows_of.push(0);
                    self.values.push(Dictionary { hash: vec![0], ranges: vec![(0, 0)] });
                    self.key_of.insert(seed, key);
                    key
                }
            };
            self.rows_of[key as usize] += 1;
            let value = pairs.value(pair);
            let hash = hash64_seeded(value, seed);
            identity = identity.wrapping_add(hash);
            let dictionary = &mut self.values[key as usize];
            let code = *self.codes_of.entry(hash).or_insert_with(|| {
                let start = self.pool.len() as u32;
                self.pool.extend_from_slice(value);
                dictionary.hash.push(hash);
                dictionary.ranges.push((start, self.pool.len() as u32));
                dictionary.hash.len() as u32 - 1
            });
            self.flat.push((key, code));
        }
        self.ends.push(self.flat.len() as u32);
        self.labels.push(label);
        self.hashes.push(identity);
        self.origins.push(origin);
    }

    fn into_columns(mut self, out: &mut Columns) {
        let mut chosen: Vec<u32> = (0..self.keys.len() as u32).collect();
        chosen.retain(|&k| self.rows_of[k as usize] >= 2 || !self.keys[k as usize].optional());
        let key = |k: u32| &self.keys[k as usize];
        chosen.sort_unstable_by(|&a, &b| {
            let rank = |k: u32| (key(k).optional(), std::cmp::Reverse(self.rows_of[k as usize]));
            rank(a).cmp(&rank(b)).then_with(|| key(a).cmp(key(b)))
        });
        chosen.truncate(MAX_COLUMNS);
        chosen.sort_unstable_by(|&a, &b| key(a).cmp(key(b)));
        let rows = self.labels.len();
        let mut column_of = vec![u32::MAX; self.keys.len()];
        for (column, &k) in chosen.iter().enumerate() {
            column_of[k as usize] = column as u32;
        }
        out.codes = vec![vec![0; rows]; chosen.len()];
        out.odd = vec![false; rows];
        let mut start = 0;
        for (row, &end) in self.ends.iter().enumerate() {
            for &(k, code) in &self.flat[start..end as usize] {
                match column_of[k as usize] {
                    u32::MAX => out.odd[row] = true,
                    column => out.codes[column as usize][row] = code,
                }
            }
            start = end as usize;
        }
        out.keys = chosen.iter().map(|&k| self.keys[k as usize].clone()).collect();
        out.values = chosen.iter().map(|&k| std::mem::take(&mut self.values[k as usize])).collect();
        out.hash = self.hashes;
        out.origin = self.origins;
        out.label = self.labels;
        out.weight = vec![1; rows];
        out.pool = self.pool;
        out.codes_of = self.codes_of;
    }
}

/// The sections that scopes of the rules name, as the tokens of the site list them: words, and directories of tenants.
fn named_sections(rules: &SiteRules) -> impl Iterator<Item = String> {
    let scopes = rules.rules.iter().flat_map(|rule| &rule.scope).filter(|of| of.key == SECTION);
    let values = scopes.flat_map(|of| match &of.test {
        Test::Equals(value) => std::slice::from_ref(value),
        Test::OneOf(values) | Test::NoneOf(values) | Test::Not(values) => values,
        Test::Present | Test::Absent => &[],
    });
    let named: BTreeSet<&str> = values.map(String::as_str).collect();
    let is_named = move |section: &&String| match section.strip_suffix('/') {
        Some(_) => named.iter().any(|name| name.starts_with(section.as_str())),
        None => named.contains(section.as_str()),
    };
    rules.tokens.sections.iter().filter(is_named).cloned()
}

impl Preferred {
    /// The hints for a training set that was tokenized into `columns`.
    fn new(training: &Training, columns: &mut Columns) -> Preferred {
        let mut out = Preferred::default();
        if let (Some(scheme), Some(host)) = (columns.fixed(Fixed::SCHEME), columns.fixed(Fixed::HOST)) {
            let rows = columns.codes[scheme].iter().zip(&columns.codes[host]);
            out.origins = rows.map(|(&scheme, &host)| (scheme, host)).collect();
            out.votes(&training.hints.targets, columns, scheme, host);
        }
        if let Some(rules) = &training.hints.previous {
            out.before = before(rules, training, columns);
        }
        out
    }

    fn votes(&mut self, targets: &Targets, columns: &Columns, scheme_key: usize, host_key: usize) {
        let mut schemes: BTreeMap<u32, u64> = BTreeMap::new();
        for (origin, votes) in targets.iter() {
            let scheme = hints::scheme(origin);
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
}

/// Codes of the URL that `rules` make of each row; new values get codes. Without look-ups, which say
/// nothing of other pages: with them, canonical URLs alternated when a site was learned again from the
/// same records.
fn before(rules: &Arc<SiteRules>, training: &Training, columns: &mut Columns) -> Vec<Vec<u32>> {
    let rules = SiteRules { aliases: Vec::new(), local: Vec::new(), ..SiteRules::clone(rules) };
    let set = RuleSet::new(vec![rules]);
    let (tokenizer, ranks) = (columns.tokens.tokenizer(), Ranks::new(&columns.tokens));
    let (mut scratch, mut pairs) = (Scratch::default(), KeyValues::default());
    let mut out = vec![vec![0; columns.len()]; columns.keys.len()];
    for (row, origin) in columns.origin.clone().into_iter().enumerate() {
        let Some(url) = training.normal(origin as usize) else { continue };
        let canonical = set.apply_normal(url, Some(0), &mut scratch).url;
        let Ok(canonical) = NormalUrl::new(canonical) else { continue };
        canonical.by_ref().tokenize(tokenizer, &mut pairs);
        set_order(&mut pairs, |pairs, at| ranks.of(pairs.seed(pairs.list[at].key)));
        for pair in &pairs.list {
            if let Some(column) = columns.column(&pairs.key(pair)) {
                out[column][row] = columns.intern(column, pairs.value(pair));
            }
        }
    }
    out
}
