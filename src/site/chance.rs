//! Scopes that are right by chance.
//!
//! An operation that is wrong on a good part of a site is right on the rest, and among many words,
//! directories and parameters some have by chance only pages of the rest: of lists of which every second is
//! another one in each order, three that are too short for that may be all that the sample has under
//! `/garden/`. A rule of such a scope is right on all that was seen and wrong on every second list that was
//! not. Conditions, forms, exclusions and sections all choose scopes by their evidence, so the test comes
//! after all of them.
//!
//! For each constraint of a rule, the rule is tried without it ([`relaxed`]). What it joins then and did
//! not join before is the evidence *outside*. Where that is as right as any rule must be, the constraint
//! says nothing. Else each value that the constraint allows needs more right merges than chance explains
//! among all conditions that could have been chosen; values that do not have them are taken out of the
//! scope, and a rule without any value is withdrawn. A constraint that names the values it excludes acts on
//! values that were never met, so it is judged by values: those that were met must speak for it as the
//! sections of a site must, else it lists those that do.
//!
//! Of a list of values each may have too few pages for that, and all together more than enough: prints are
//! the pages themselves in eleven directories, with three pages of each, and none is in two others. So values
//! are tested [together](proven_values) as well.
//!
//! One page gives many merges: a list has as many wrong ones as it has ways to be sorted, each a cluster
//! of its own. What counts are therefore pages ([`Variants`]).

use super::choices::VALUES;
use super::conditions::is_beyond_chance;
use super::covering::Covering;
use super::evidence::Bound;
use super::pages::Variants;
use super::points::Reader;
use super::proven_values::proven_values;
use super::scopes::{self, CanonicalUrls, Fired, Group, Piece};
use super::{Thresholds, Training, reduced};
use crate::rules::{Constraint, Kind, Operation, Rule, SECTION, SiteRules, Test};
use crate::url::section::{self, Section};
use crate::url::{Fixed, Key, Part};
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of tests, at most, a bound of work: a rule that changes leaves other merges to the others.
const ROUNDS: usize = 4;

/// Takes values that are right by chance out of the scopes of rules, and withdraws rules that have no
/// other. Returns how many rules it changed and withdrew.
///
/// Exempt are lines of the catalogue of platforms, which others have proven; rules that change the origin
/// alone; constant pages, which have a bound of their own; and mirror rules, whose scope is their operation.
///
/// O(canonical URLs x pairs + constraints x canonical URLs outside by them + rows on which the rules fire).
pub fn withdraw(rules: &mut SiteRules, training: &Training, covering: &Covering) -> u64 {
    let judge = Judge::new(covering);
    let mut changed = 0;
    let mut asked: Vec<bool> = rules.rules.iter().map(|rule| !is_exempt(rule)).collect();
    for _ in 0..ROUNDS {
        let found = reduced::identities(rules, training);
        let met = CanonicalUrls::new(&found, rules, rules.rules.iter().flat_map(shut_out));
        let fired = Fired::new(rules, training);
        let judged: Vec<Option<Rule>> = (0..rules.rules.len())
            .map(|at| match asked[at] {
                false => Some(rules.rules[at].clone()),
                true => tested(rules, at, &met, (training, &fired), &judge),
            })
            .collect();
        let before = rules.rules.len();
        // A rule without some values may have others that are right by chance.
        let is_new = |(new, old): (&Option<Rule>, &Rule)| new.as_ref().map(|new| new != old);
        asked = judged.iter().zip(&rules.rules).filter_map(is_new).collect();
        let narrowed = asked.iter().filter(|&&asked| asked).count();
        rules.rules = judged.into_iter().flatten().collect();
        let withdrawn = before - rules.rules.len();
        if narrowed + withdrawn == 0 {
            break;
        }
        changed += (narrowed + withdrawn) as u64;
    }
    changed
}

/// Parts of path segments that a rule between forms shuts out, since it names all keys of a URL: a number or
/// more text behind the head of a segment. That `/1.2/cedar.html` may be `/1.1/cedar.html` says something of
/// `/1.2/cedar3.html`, and the other way round.
fn shut_out(rule: &Rule) -> Vec<String> {
    let is_named = |key: &String| rule.scope.iter().any(|of| of.key == *key);
    let heads = rule.scope.iter().filter(|_| rule.closed && rule.kind == Kind::Form);
    let heads = heads.filter_map(|of| match Key::parse(&of.key)?.as_path() {
        Some((segment, Part::Head)) => Some(segment),
        _ => None,
    });
    let parts = heads.flat_map(|segment| [Part::Number, Part::Tail].map(|part| Fixed::path(segment, part)));
    parts.map(|part| Key::Fixed(part).to_string()).filter(|key| !is_named(key)).collect()
}

fn is_exempt(rule: &Rule) -> bool {
    let is_origin =
        |key: &str| Key::parse(key).is_some_and(|key| [Fixed::SCHEME, Fixed::HOST].iter().any(|&fixed| key.is(fixed)));
    rule.scope.is_empty()
        || rule.line.is_some()
        || rule.mirror().is_some()
        || rule.kind == Kind::ConstantPage
        || rule.operations.iter().all(|(key, _)| is_origin(key))
}

/// The rule at `at` with what is left of its scope; `None` where nothing is.
fn tested(
    rules: &SiteRules,
    at: usize,
    met: &CanonicalUrls<'_>,
    rows: (&Training, &Fired),
    judge: &Judge,
) -> Option<Rule> {
    let mut rule = rules.rules[at].clone();
    let changes = Changes::of(&rule, &judge.variants);
    let prior = u64::from(rule.evidence.prior);
    let mut pieces: Option<Vec<Piece>> = None;
    let outside = |relaxed: Rule, urls: Vec<usize>, key: &str| {
        let mut others = rules.clone();
        others.rules[at] = relaxed;
        judge.joined(met.joined_by(&others, urls), key, changes)
    };
    let mut inside = |key: &str| {
        let pieces = pieces.get_or_insert_with(|| rows.1.pieces(rules, at, rows.0));
        judge.joined(scopes::groups(pieces), key, changes)
    };
    for part in shut_out(&rule) {
        let absent = Constraint { key: part.clone(), test: Test::Absent };
        let scope: Vec<Constraint> = rule.scope.iter().chain([&absent]).cloned().collect();
        let joined = outside(with_part(&rule, &part), met.outside(&scope, |of| of.key == part), &part);
        let Some(share) = judge.share_of_wrong(&joined, prior) else { continue };
        let inside = inside(&part);
        if !inside.is_empty() && !judge.allows(inside.iter().chain(&joined), prior) {
            judge.narrowed(&absent, &inside, &joined, (share, prior))?;
        }
    }
    for nth in 0..rule.scope.len() {
        let key = rule.scope[nth].key.clone();
        let Some(relaxed) = relaxed(&rule, nth) else { continue };
        let mut joined = outside(relaxed.clone(), met.outside(&rule.scope, |of| of.key == key), &key);
        if joined.is_empty() {
            // A section holds the words of its directory: one of the two alone is never outside.
            let mut others = relaxed;
            others.scope.retain(|constraint| constraint.key != SECTION);
            joined = outside(others, met.outside(&rule.scope, |of| of.key == key || of.key == SECTION), &key);
        }
        let Some(share) = judge.share_of_wrong(&joined, prior) else { continue };
        let inside = inside(&key);
        // It does nothing that other rules leave: there is nothing that chance could explain. Or with what is
        // outside it would hold everywhere: a few wrong labels in one section.
        if inside.is_empty() || judge.allows(inside.iter().chain(&joined), prior) {
            continue;
        }
        rule.scope[nth].test = judge.narrowed(&rule.scope[nth], &inside, &joined, (share, prior))?;
    }
    Some(rule)
}

/// What a rule changes beside parameters of few values.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    /// Some key that is no such parameter.
    telling: bool,
    /// A part of the path.
    in_path: bool,
}

impl Changes {
    fn of(rule: &Rule, variants: &Variants) -> Changes {
        let is_kept = |operation: &Operation| matches!(operation, Operation::Keep(_) | Operation::Replace(_));
        let has = |of: &&Constraint| rule.operations.iter().any(|(key, _)| *key == of.key);
        let dropped = rule.scope.iter().filter(|of| rule.closed && !has(of)).map(|of| &of.key);
        let changed = rule.operations.iter().filter(|of| !is_kept(&of.1)).map(|of| &of.0);
        let keys: Vec<&String> = changed.chain(dropped).filter(|key| *key != SECTION).collect();
        let is_part = |key: &&String| Key::parse(key).is_some_and(|key| key.as_path().is_some());
        Changes { telling: keys.iter().any(|key| !variants.has(key)), in_path: keys.iter().any(is_part) }
    }
}

/// A rule between forms for URLs that have `part`, too, and keep it.
fn with_part(rule: &Rule, part: &str) -> Rule {
    let mut other = rule.clone();
    other.scope.push(Constraint { key: part.to_owned(), test: Test::Present });
    other.scope.sort();
    other.operations.push((part.to_owned(), Operation::Replace(part.to_owned())));
    other.operations.sort();
    other
}

/// The rule without the constraint at `nth`, or, of a rule between forms, with any value for its key.
/// `None` where the constraint is on a key that the rule changes, or says how a URL is written.
fn relaxed(rule: &Rule, nth: usize) -> Option<Rule> {
    let Constraint { key, test } = &rule.scope[nth];
    let parsed = Key::parse(key);
    let is_of = |fixed: Fixed| parsed.as_ref().is_some_and(|key| key.is(fixed));
    // Pages of another depth are mostly of another kind (crawl-lists: .68 to .65 saved with it, for one wrong page
    // of 67).
    if is_of(Fixed::SCHEME) || is_of(Fixed::DEPTH) {
        return None;
    }
    let mut relaxed = rule.clone();
    let own = relaxed.operations.iter_mut().find(|(changed, _)| changed == key);
    if rule.closed && key != SECTION {
        if matches!(test, Test::Present | Test::Absent | Test::Not(_)) {
            return None;
        }
        match own {
            Some((_, Operation::Replace(from))) if from != key => return None,
            Some((_, operation @ Operation::Keep(_))) => {
                if matches!((&*operation, test), (Operation::Keep(value), Test::Equals(of)) if value == of) {
                    *operation = Operation::Replace(key.clone());
                } else if is_of(Fixed::HOST) {
                    return None;
                }
            }
            _ => {}
        }
        relaxed.scope[nth].test = Test::Present;
        return Some(relaxed);
    }
    if own.is_some() {
        return None;
    }
    relaxed.scope.remove(nth);
    Some(relaxed)
}

/// Canonical URLs that a rule joins.
struct Joined {
    /// Value of the key of the constraint in them; `None` without one.
    value: Option<Vec<u8>>,
    /// Cluster of the first.
    label: u32,
    /// Hash of the page: [`Variants::stem`].
    stem: u64,
    /// All are of one cluster.
    right: bool,
    /// URLs beside the first of the largest cluster, and those of other clusters.
    urls: [u64; 2],
    /// What the rule changes.
    changes: Changes,
    /// First directory of the path, of a URL in no other section; `None` without one.
    directory: Option<Vec<u8>>,
}

/// What the scopes of a site are tested with.
struct Judge<'c> {
    tokens: &'c crate::rules::Tokens,
    thresholds: &'c Thresholds,
    variants: Variants,
    /// Conditions that could have been chosen.
    tried: usize,
    /// Keys among which that of the conditions was chosen.
    keys: usize,
    bound: Bound,
}

impl<'c> Judge<'c> {
    fn new(covering: &'c Covering) -> Judge<'c> {
        let Covering { columns, thresholds, noise, .. } = covering;
        let keys = || columns.keys.iter().enumerate();
        let values = |k: usize| columns.codes_len(k) - 1;
        let conditions = keys().map(|(k, key)| values(k).min(VALUES) + if key.optional() { 2 } else { 0 });
        Judge {
            tokens: &columns.tokens,
            thresholds,
            variants: Variants::of_columns(columns, thresholds),
            tried: conditions.sum::<usize>() + columns.sections.names.len(),
            keys: columns.keys.len() + 1,
            bound: Bound::operation(thresholds).allowing(*noise),
        }
    }

    /// Groups of URLs as evidence for a constraint on `key`.
    fn joined(&self, groups: Vec<Group<'_>>, key: &str, changes: Changes) -> Vec<Joined> {
        let mut reader = Reader::new(self.tokens);
        let mut joined = |Group { first, mut labels }: Group<'_>| {
            let label = labels[0];
            let values = reader.values(first);
            let value = match key {
                SECTION => Some(self.tokens.section(first.as_bytes()).to_vec()),
                _ => values.get(key).cloned(),
            };
            labels.sort_unstable();
            let most = labels.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or_default();
            let (right, urls) = (most == labels.len(), [most as u64 - 1, (labels.len() - most) as u64]);
            let directory = match section::of(section::path(first.as_bytes())) {
                Section::Word(name) | Section::Member(name, _) => Some(name.to_vec()),
                Section::Tenant(_) | Section::Number | Section::Other => None,
            };
            let stem = self.variants.stem(&values);
            Joined { value, label, stem, right, urls, changes, directory }
        };
        groups.into_iter().map(&mut joined).collect()
    }

    /// Right and wrong pages.
    fn counts<'j>(&self, joined: impl Iterator<Item = &'j Joined> + Clone) -> [u64; 2] {
        [true, false].map(|right| self.pages(joined.clone().filter(|of| of.right == right)))
    }

    /// True where these merges are as right as those of any rule must be.
    fn allows<'j>(&self, joined: impl Iterator<Item = &'j Joined> + Clone, prior: u64) -> bool {
        let [right, wrong] = joined.fold([0, 0], |sum, of| [sum[0] + of.urls[0], sum[1] + of.urls[1]]);
        self.bound.allows(right + prior, wrong, prior)
    }

    /// Share of wrong among the merges outside, by merges or by pages, whichever is less; `None` where it is
    /// small enough for any rule. One more right than was seen: all of a few is not all.
    fn share_of_wrong(&self, outside: &[Joined], prior: u64) -> Option<f64> {
        if self.allows(outside.iter(), prior) {
            return None;
        }
        let wrong = outside.iter().filter(|joined| !joined.right).count() as u64;
        let share = |[right, wrong]: [u64; 2]| wrong as f64 / (right + wrong + 1) as f64;
        Some(share([outside.len() as u64 - wrong, wrong]).min(share(self.counts(outside.iter()))))
    }

    /// Number of pages: of a constant page each URL, which leads to it whatever its value, and else each page
    /// once. A constant page is a cluster of many URLs in which a part of the path differs, or a parameter of
    /// many values where hardly another page is joined.
    fn pages<'j>(&self, joined: impl Iterator<Item = &'j Joined> + Clone) -> u64 {
        let mut urls: BTreeMap<u32, u64> = BTreeMap::new();
        joined.clone().for_each(|of| *urls.entry(of.label).or_default() += of.urls[0]);
        let few = urls.len() < self.bound.min_clusters;
        let is_constant = |of: &Joined| {
            let Changes { telling, in_path } = of.changes;
            (in_path || telling && few) && urls[&of.label] >= self.bound.min_constant
        };
        let constant: BTreeMap<u32, u64> =
            joined.clone().filter(|of| is_constant(of)).map(|of| (of.label, urls[&of.label])).collect();
        let others = joined.filter(|of| !is_constant(of)).map(|of| (of.stem, of.label));
        constant.values().sum::<u64>() + self.variants.count(others)
    }

    /// True where a rule may act in directories that are no section of their own, although it is wrong in
    /// some section: the directories that were met there, and the pages in none, must outnumber those against
    /// it as the sections of a site must. Which directories are sections is a matter of their clusters, and
    /// where a rule is wrong a page has many.
    fn speaks_for_the_rest(&self, inside: &[Joined], outside: &[Joined]) -> bool {
        let is_rest = |joined: &&Joined| joined.value.as_deref() == Some(section::OTHER.as_bytes());
        let right = || inside.iter().filter(is_rest).filter(|joined| joined.right);
        let directories: BTreeSet<&Vec<u8>> = right().filter_map(|joined| joined.directory.as_ref()).collect();
        let in_none = self.pages(right().filter(|joined| joined.directory.is_none()));
        let wrong = inside.iter().chain(outside).filter(|joined| !joined.right);
        let against: BTreeSet<&Vec<u8>> =
            wrong.filter_map(|joined| joined.directory.as_ref().or(joined.value.as_ref())).collect();
        let good = in_none + directories.difference(&against).count() as u64;
        self.bound.wilson(good, against.len() as u64, 0)
    }

    /// The values of `key` that are right beyond chance [together](proven_values). Directories that are no section
    /// have nothing in common, so that they take no part.
    fn proven_values<'j>(&self, key: &str, inside: &'j [Joined], outside: &'j [Joined]) -> BTreeSet<&'j [u8]> {
        let is_rest = |of: &&Joined| key == SECTION && of.value.as_deref() == Some(section::OTHER.as_bytes());
        let mut values: BTreeMap<Option<&[u8]>, Vec<&Joined>> = BTreeMap::new();
        let joined = inside.iter().chain(outside).filter(|of| !is_rest(of));
        joined.for_each(|of| values.entry(of.value.as_deref()).or_default().push(of));
        let pages: Vec<[u64; 2]> = values.values().map(|of| self.counts(of.iter().copied())).collect();
        let proven = proven_values(&pages, self.keys, self.thresholds);
        values.into_keys().zip(proven).filter_map(|(value, is_proven)| value.filter(|_| is_proven)).collect()
    }

    /// The test with the values that are right beyond chance; `None` without any.
    fn narrowed(
        &self,
        constraint: &Constraint,
        inside: &[Joined],
        outside: &[Joined],
        (share, prior): (f64, u64),
    ) -> Option<Test> {
        let is_proven = |of: &dyn Fn(&Joined) -> bool| {
            let [right, wrong] = self.counts(inside.iter().filter(|joined| of(joined)));
            is_beyond_chance(
                [right + if right > 0 { prior } else { 0 }, wrong],
                share,
                self.tried,
                self.thresholds.condition_chance_permille,
            )
        };
        let has = |joined: &Joined, value: &str| joined.value.as_deref() == Some(value.as_bytes());
        let together = match constraint.test {
            Test::OneOf(_) | Test::NoneOf(_) => self.proven_values(&constraint.key, inside, outside),
            _ => BTreeSet::new(),
        };
        let proves = |value: &str| {
            let is_rest = constraint.key == SECTION && value == section::OTHER;
            (together.contains(value.as_bytes()) || is_proven(&|joined| has(joined, value)))
                && (!is_rest || self.speaks_for_the_rest(inside, outside))
        };
        let listed = |values: Vec<String>| {
            let most = self.thresholds.section_most_listed;
            (1..=most).contains(&values.len()).then_some(Test::OneOf(values))
        };
        match &constraint.test {
            test @ (Test::Present | Test::Absent | Test::Not(_)) => is_proven(&|_| true).then(|| test.clone()),
            // An empty value is none: what it excludes is told by the key.
            test @ Test::NoneOf(values) if values.iter().all(String::is_empty) => {
                is_proven(&|_| true).then(|| test.clone())
            }
            test @ Test::Equals(value) => proves(value).then(|| test.clone()),
            Test::OneOf(values) => listed(values.iter().filter(|value| proves(value)).cloned().collect()),
            test @ Test::NoneOf(_) => {
                let of = |joined: &[Joined], right: bool| -> BTreeSet<Vec<u8>> {
                    joined.iter().filter(|joined| joined.right == right).filter_map(|j| j.value.clone()).collect()
                };
                let against: BTreeSet<Vec<u8>> = &of(outside, false) | &of(inside, false);
                let in_favour = &of(inside, true) - &against;
                let [good, bad] = [in_favour.len() as u64, against.len() as u64];
                let enough = match constraint.key == SECTION {
                    true => good >= self.bound.min_good && self.bound.wilson(good, bad, 0),
                    false => self.bound.holds(good, bad, 0),
                };
                if enough {
                    return Some(test.clone());
                }
                let text = |value: &Vec<u8>| String::from_utf8(value.clone()).ok();
                listed(in_favour.iter().filter_map(text).filter(|value| proves(value)).collect())
            }
        }
    }
}
