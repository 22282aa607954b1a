//! The reference interpreter: what the rules of a site mean, in the words of the rule file.
//!
//! [`Interpreter::canonicalize`] turns a URL in normal form into its canonical URL. A URL whose origin
//! is not among those of the site, or that has user information, is its own. For the others:
//!
//! 1. A fragment goes unless fragments are keys of the site or this one is a route (`#!...`, `#/...`).
//!    On a site without rules and look-ups it stays unless learning found that fragments are no keys.
//! 2. The URL is tokenized into key-value pairs, and the rules act on them in the order of the file, each at
//!    most once. The key `section` of a condition is none of the pairs: it stays that of the URL as it
//!    was tokenized. A rule does nothing where the result would have an origin that is not of the site. If
//!    the result is the page of an exception, the rules act anew on the original pairs, without the
//!    rule of the exception. Exceptions do not hold for mirror rules.
//! 3. If the result lies below the front of a mirror rule ([`twins`](super::twins)), it moves to the
//!    twin, where that has an origin of the site, and step 2 repeats there, once. Where the front is a
//!    parameter and a rule changes more of the twin than its origin, the URL stays: rules for paths were not shown
//!    on values.
//! 4. The result is looked up, by all its pairs and then by value ranges. The page that is found is
//!    canonical, else the URL that the pairs compose, and where no rule fired the normal form. Look-ups
//!    and ranges count only if their page has an origin of the site and is its own canonical URL.
//! 5. The invariant: canonicalizing the canonical URL gives it back. Where that does not hold, since rules
//!    act on what later ones wrote, steps 2 to 4 repeat on the result, once; where it does not hold then,
//!    either, the normal form is canonical.
//!
//! Unseen hosts: a URL on an origin to which the site [extends](SiteRules::extends_to) is canonicalized
//! as on a site that has this origin alone, of the rules only those that are extended and no mirror
//! rules, and no exceptions, look-ups and ranges. So scheme and host stay.
//!
//! Strings and lists, at some microseconds a rule; [`RuleSet`](super::RuleSet) does the same with
//! tables. Tests compare the two on random rules and URLs. A new kind of rule is defined here first.

#[cfg(feature = "program")]
mod tables;

use super::functions::{apply, fits};
use super::trace::{RuleOutcome, TraceStep};
use super::twins::{behind_origin, below, is_parameter};
use super::types::{Constraint, Function, Operation, PREFIX, Representative, Rule, SECTION, SiteRules, Test};
use super::value_ranges::{ValueRange, inner_number, number};
use crate::url::keys::{HOST_SUB, host_sub};
use crate::url::pairs::Identity;
use crate::url::{Fixed, Key, NormalUrl, Pairs, Tokenizer};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// The rules of one site. Memory: as much as the rules.
#[derive(Debug)]
pub struct Interpreter<'r> {
    rules: &'r SiteRules,
    origins: HashSet<String>,
    /// Only extended rules act.
    extended: bool,
    tokenizer: Tokenizer,
    /// Id of the rule that is left out, `*` for all, by the page of the exception.
    exceptions: HashMap<Identity, &'r str>,
    /// Page by the pairs of a URL that is the same page.
    lookups: HashMap<Identity, &'r str>,
    /// Value ranges in the order in which they are tried.
    ranges: Vec<Range<'r>>,
}

/// URLs that differ in the value of one key and are one page.
#[derive(Debug)]
struct Range<'r> {
    key: Key,
    /// A URL without the key is the page, too, where any value is.
    absent: bool,
    /// The text before the number, where that is at the end of the value.
    text: Option<Vec<u8>>,
    /// All other pairs.
    like: Identity,
    value_range: &'r ValueRange,
}

/// Result of the rules for a URL.
#[derive(Clone, Debug)]
pub struct Interpreted<'r> {
    /// The canonical URL.
    pub url: Vec<u8>,
    /// Indices of the rules that fired, ascending.
    pub fired: Vec<usize>,
    /// A look-up or a value range decided.
    pub looked_up: bool,
    /// The steps, in order.
    pub steps: Vec<TraceStep<'r>>,
}

/// The pairs of a URL after the rules, and the rules that fired.
struct Reduced<'r> {
    pairs: Pairs<'r>,
    fired: Vec<usize>,
}

impl<'r> Interpreter<'r> {
    /// Reads the rules of a site. Cost: exceptions and look-ups are reduced by the rules, once.
    pub fn new(rules: &'r SiteRules) -> Interpreter<'r> {
        let (exceptions, lookups, ranges) = Default::default();
        let origins = rules.origins.iter().cloned().collect();
        let mut site =
            Interpreter { rules, origins, extended: false, tokenizer: rules.tokenizer(), exceptions, lookups, ranges };
        for [page, rule] in &rules.exceptions {
            let is_rule = rule == "*" || rules.rules.iter().any(|of| of.id == *rule);
            if let Some(page) = NormalUrl::new(page.as_bytes()).ok().filter(|_| is_rule) {
                let reduced = site.run(&page, None, &mut Vec::new());
                site.exceptions.insert(reduced.pairs.identity(), rule);
            }
        }
        for [from, to] in &rules.aliases {
            if let Some(url) = site.normal(from) {
                let reduced = site.reduce(&url, &mut Vec::new());
                site.lookups.entry(reduced.pairs.identity()).or_insert(to);
            }
        }
        for local in &rules.local {
            let Some(key) = Key::parse(&local.key) else { continue };
            for value_range in local.tried() {
                let Ok(like) = NormalUrl::new(value_range.like.as_bytes()) else { continue };
                let mut like = site.reduce(&like, &mut Vec::new()).pairs.identity();
                let Some(value) = like.remove(&key) else { continue };
                let text = inner_number(&value).map(|(text, _)| text.to_vec()).filter(|_| local.inner);
                if text.is_some() == local.inner {
                    let absent = local.absent && key.optional() && !local.inner;
                    site.ranges.push(Range { key: key.clone(), absent, text, like, value_range });
                }
            }
        }
        let pages =
            site.lookups.values().copied().chain(site.ranges.iter().map(|range| range.value_range.page.as_str()));
        let own: HashSet<&str> = pages.filter(|page| site.is_fixed_point(page.as_bytes())).collect();
        site.lookups.retain(|_, page| own.contains(page));
        site.ranges.retain(|range| own.contains(range.value_range.page.as_str()));
        site
    }

    /// The canonical URL of a URL in normal form, and the steps to it.
    pub fn canonicalize(&self, url: &NormalUrl) -> Interpreted<'r> {
        let mut steps = Vec::new();
        let origin = url.by_ref().origin();
        if !self.is_of_site(url) && self.rules.extends_to(origin) {
            return self.on_unseen_host(origin).canonicalize(url);
        }
        if !self.is_of_site(url) {
            return Interpreted { url: url.as_bytes().to_vec(), fired: Vec::new(), looked_up: false, steps };
        }
        let normal = self.without_fragment(url.clone());
        if normal != *url {
            steps.push(TraceStep::Fragment { url: normal.as_str().to_owned() });
        }
        let made = self.steps(&normal, steps);
        if made.url == normal.as_bytes() || self.is_fixed_point(&made.url) {
            return made;
        }
        let on_site = |url: &NormalUrl| self.is_of_site(url);
        let again = std::str::from_utf8(&made.url).ok().and_then(|url| self.normal(url)).filter(on_site);
        let twice = again.map(|again| self.steps(&again, vec![TraceStep::Again { url: again.as_str().to_owned() }]));
        let mut steps = made.steps;
        if let Some(twice) = twice.filter(|twice| self.is_fixed_point(&twice.url)) {
            steps.extend(twice.steps);
            return Interpreted { fired: union(made.fired, twice.fired), steps, ..twice };
        }
        let invariant = "canonicalizing twice is canonicalizing once".to_owned();
        steps.push(TraceStep::Refused { url: text(&made.url), invariant });
        Interpreted { url: normal.as_bytes().to_vec(), fired: Vec::new(), looked_up: false, steps }
    }

    /// The site as it acts on an unseen host.
    fn on_unseen_host(&self, origin: &str) -> Interpreter<'r> {
        let (exceptions, lookups, ranges) = Default::default();
        let origins = HashSet::from([origin.to_owned()]);
        Interpreter {
            rules: self.rules,
            origins,
            extended: true,
            tokenizer: self.tokenizer,
            exceptions,
            lookups,
            ranges,
        }
    }

    /// Steps 2 to 4.
    fn steps(&self, normal: &NormalUrl, mut steps: Vec<TraceStep<'r>>) -> Interpreted<'r> {
        let keys = Pairs::tokenize(normal, self.tokenizer, &self.rules.tokens.query_order);
        let keys = keys.iter().map(|(key, value)| (key.to_string(), text(value))).collect();
        steps.push(TraceStep::Keys { keys });
        let Reduced { pairs, fired } = self.reduce(normal, &mut steps);
        let (url, to) = (pairs.compose(), self.look_up(&pairs));
        if let Some(to) = to {
            steps.push(TraceStep::Alias { from: text(&url), to: to.to_owned() });
        }
        let url = match to {
            Some(to) => to.into(),
            None if fired.is_empty() => normal.as_bytes().to_vec(),
            None => url,
        };
        Interpreted { url, fired, looked_up: to.is_some(), steps }
    }

    /// Steps 2 and 3.
    fn reduce(&self, url: &NormalUrl, steps: &mut Vec<TraceStep<'r>>) -> Reduced<'r> {
        let here = self.run_with_exceptions(url, steps);
        let Some((index, twin)) = self.twin(&here.pairs.compose()) else { return here };
        let (rule, mut there) = (&self.rules.rules[index], Vec::new());
        let Reduced { pairs, mut fired } = self.run_with_exceptions(&twin, &mut there);
        let is_parameter = rule.mirror().is_some_and(|(front, _)| is_parameter(front.as_bytes()));
        if is_parameter && behind_origin(&pairs.compose()) != behind_origin(twin.as_bytes()) {
            return here;
        }
        steps.push(TraceStep::Rule {
            index,
            rule,
            outcome: RuleOutcome::moved(&here.pairs.compose(), twin.as_bytes()),
        });
        steps.append(&mut there);
        fired.push(index);
        Reduced { pairs, fired: union(fired, here.fired) }
    }

    /// The twin of a URL below the longest front of a mirror rule that it has, and the rule.
    fn twin(&self, url: &[u8]) -> Option<(usize, NormalUrl)> {
        let below = |(index, rule): (usize, &'r Rule)| {
            let ((source, target), mut twin) = (rule.mirror()?, Vec::new());
            below(url, source.as_bytes())?.write(target.as_bytes(), &mut twin);
            Some((index, source, twin))
        };
        let mirrors = self.rules.rules.iter().enumerate().filter(|_| !self.extended).filter_map(below);
        let (index, _, twin) = mirrors.min_by_key(|(_, source, _)| Reverse(source.len()))?;
        Some((index, NormalUrl::new(&twin).ok().filter(|twin| self.is_of_site(twin))?))
    }

    /// True where the origin of a URL is of the site; never with user information.
    fn is_of_site(&self, url: &NormalUrl) -> bool {
        self.origins.contains(&url.as_str()[..url.split().path.0 as usize])
    }

    /// Step 2.
    fn run_with_exceptions(&self, url: &NormalUrl, steps: &mut Vec<TraceStep<'r>>) -> Reduced<'r> {
        let mut tried = Vec::new();
        let reduced = self.run(url, None, &mut tried);
        let exception = self.exceptions.get(&reduced.pairs.identity()).filter(|_| !reduced.fired.is_empty());
        let Some(&rule) = exception else {
            steps.append(&mut tried);
            return reduced;
        };
        steps.push(TraceStep::Exception { page: text(&reduced.pairs.compose()), rule: rule.to_owned() });
        self.run(url, Some(rule), steps)
    }

    /// The rules in their order but for one, or but for all (`*`).
    fn run(&self, url: &NormalUrl, without: Option<&str>, steps: &mut Vec<TraceStep<'r>>) -> Reduced<'r> {
        let mut pairs = Pairs::tokenize(url, self.tokenizer, &self.rules.tokens.query_order);
        let section = self.rules.tokens.section(url.as_bytes());
        let mut fired = Vec::new();
        for (index, rule) in self.rules.rules.iter().enumerate() {
            let is_without = without.is_some_and(|id| id == "*" || id == rule.id);
            if is_without || rule.mirror().is_some() || self.extended && !rule.extended {
                continue;
            }
            let before = pairs.clone();
            let outcome = self.apply(rule, section, &mut pairs).err().unwrap_or_else(|| {
                fired.push(index);
                RuleOutcome::fired(rule, &before, &pairs)
            });
            steps.push(TraceStep::Rule { index, rule, outcome });
        }
        Reduced { pairs, fired }
    }

    /// One rule, on URLs of the site.
    fn apply(&self, rule: &Rule, section: &[u8], pairs: &mut Pairs<'_>) -> Result<(), RuleOutcome> {
        let mut changed = pairs.clone();
        rule.apply(section, &mut changed)?;
        let origin = |pairs: &Pairs<'_>| {
            [Fixed::SCHEME, Fixed::HOST].map(|key| text(pairs.get(&Key::Fixed(key)).unwrap_or_default())).join("://")
        };
        // A rule file made by hand may list `http://`, which no URL has as its origin.
        let is_whole = [Fixed::SCHEME, Fixed::HOST]
            .iter()
            .all(|&key| changed.get(&Key::Fixed(key)).is_some_and(|of| !of.is_empty()));
        if origin(&changed) != origin(pairs) && !(is_whole && self.origins.contains(origin(&changed).as_str())) {
            return Err(RuleOutcome::Unfit { reason: format!("no record has the origin {}", origin(&changed)) });
        }
        *pairs = changed;
        Ok(())
    }

    /// Step 4.
    fn look_up(&self, pairs: &Pairs<'_>) -> Option<&'r str> {
        let within = |range: &Range<'r>| {
            let mut like = pairs.identity();
            let value = like.remove(&range.key);
            let inner = || value.as_deref().and_then(inner_number);
            let number = match &range.text {
                Some(text) => inner().filter(|inner| inner.0 == text).map(|inner| inner.1),
                None => value.as_deref().and_then(number),
            };
            let holds =
                range.value_range.range.is_none_or(|[low, high]| number.is_some_and(|n| (low..=high).contains(&n)));
            let is_there = if range.text.is_some() { number.is_some() } else { value.is_some() || range.absent };
            is_there && like == range.like && holds
        };
        let in_range = || self.ranges.iter().find(|range| within(range)).map(|range| range.value_range.page.as_str());
        self.lookups.get(&pairs.identity()).copied().or_else(in_range)
    }

    /// Step 1.
    fn without_fragment(&self, url: NormalUrl) -> NormalUrl {
        let SiteRules { rules, exceptions, aliases, local, .. } = self.rules;
        let nothing = rules.is_empty() && exceptions.is_empty() && aliases.is_empty() && local.is_empty();
        let acts = self.tokenizer.learned || !nothing;
        if acts { url.without_fragment(self.tokenizer) } else { url }
    }

    /// A URL of the rule file; `None` where it is not in normal form or has a fragment that goes.
    fn normal(&self, url: &str) -> Option<NormalUrl> {
        let normal = self.without_fragment(NormalUrl::new(url.as_bytes()).ok()?);
        (normal.as_str() == url).then_some(normal)
    }

    /// Step 5: true for a URL in normal form that canonicalizes to itself.
    fn is_fixed_point(&self, url: &[u8]) -> bool {
        let Some(normal) = std::str::from_utf8(url).ok().and_then(|url| self.normal(url)) else { return false };
        let pairs = self.reduce(&normal, &mut Vec::new()).pairs;
        self.is_of_site(&normal) && self.look_up(&pairs).map_or(pairs.compose() == url, |to| to.as_bytes() == url)
    }
}

/// Rules that fired, ascending, each once.
fn union(mut some: Vec<usize>, others: Vec<usize>) -> Vec<usize> {
    some.extend(others);
    some.sort_unstable();
    some.dedup();
    some
}

impl Rule {
    /// The front of a mirror rule and its directory; it acts on composed URLs, behind all other rules.
    pub(crate) fn mirror(&self) -> Option<(&str, &str)> {
        match (&self.scope[..], &self.operations[..]) {
            ([Constraint { key: of, test: Test::Equals(source) }], [(key, Operation::Keep(target))])
                if of == PREFIX && key == PREFIX =>
            {
                Some((source, target))
            }
            _ => None,
        }
    }

    /// Changes the pairs, or returns the reason why it does not.
    fn apply(&self, section: &[u8], pairs: &mut Pairs<'_>) -> Result<(), RuleOutcome> {
        let unfit = |reason: &str| RuleOutcome::Unfit { reason: reason.to_owned() };
        if !self.is_valid() {
            return Err(unfit("the rule names a key that is none, or an operation that has no meaning there"));
        }
        for constraint in &self.scope {
            let value = match constraint.key.as_str() {
                SECTION => Some(section),
                key => Key::parse(key).and_then(|key| pairs.get(&key)),
            };
            if !constraint.test.holds(value) {
                return Err(RuleOutcome::Stopped { constraint: constraint.clone(), found: value.map(text) });
            }
        }
        if self.closed {
            let keys: Vec<_> = self.scope.iter().filter(|c| c.test.needs_key()).map(|c| Key::parse(&c.key)).collect();
            if let Some(key) = pairs.keys().find(|key| !keys.contains(&Some((*key).clone()))) {
                return Err(RuleOutcome::OtherKey { key: key.to_string() });
            }
            let mut target = pairs.without_pairs();
            for (key, operation) in &self.operations {
                let value = moved(key, operation, pairs);
                let value = value.ok_or_else(|| unfit("a value cannot stand where the rule would put it"))?;
                target.set(target_key(key).expect("a valid rule"), Some(value));
            }
            *pairs = target;
            return Ok(());
        }
        let mut changed = false;
        for (key, operation) in &self.operations {
            let key = Key::parse(key).expect("a valid rule");
            let (old, new) = (pairs.get(&key), operation.value(pairs.get(&key)));
            changed |= old != new.as_deref();
            pairs.set(key, new);
        }
        if changed { Ok(()) } else { Err(RuleOutcome::NoChange) }
    }

    /// False for a rule that never fires.
    pub(crate) fn is_valid(&self) -> bool {
        let is_key = |key: &str| Key::parse(key).is_some() && key != SECTION;
        let is_valid = |(key, operation): &(String, Operation)| match operation {
            Operation::Keep(_) => is_key(key),
            Operation::Replace(from) if key == HOST_SUB => self.closed && is_key(from),
            Operation::Replace(from) => self.closed && is_key(key) && (is_key(from) || from == HOST_SUB),
            Operation::Apply(function) if key == "scheme" || key == "host" => {
                !self.closed && key == "host" && *function == Function::DropWww
            }
            Operation::Apply(function) if !function.is_for(key) => false,
            Operation::Ignore(_) | Operation::Classes(_) | Operation::Apply(_) => !self.closed && is_key(key),
        };
        let mut targets: Vec<_> = self.operations.iter().map(|(key, _)| target_key(key)).collect();
        targets.sort_unstable();
        self.scope.iter().all(|constraint| is_key(&constraint.key) || constraint.key == SECTION)
            && self.operations.iter().all(is_valid)
            && !(self.closed && (targets.is_empty() || targets.windows(2).any(|two| two[0] == two[1])))
    }
}

impl Test {
    /// True if the test holds only where the key is there.
    pub(crate) fn needs_key(&self) -> bool {
        !matches!(self, Test::Absent | Test::Not(_))
    }

    /// True if the test holds for a value; `None` is the absent key.
    pub(crate) fn holds(&self, value: Option<&[u8]>) -> bool {
        let within = |values: &[String]| values.iter().any(|of| Some(of.as_bytes()) == value);
        match self {
            Test::Equals(of) => value == Some(of.as_bytes()),
            Test::OneOf(values) => within(values),
            Test::NoneOf(values) => value.is_some() && !within(values),
            Test::Not(values) => !within(values),
            Test::Present => value.is_some(),
            Test::Absent => value.is_none(),
        }
    }
}

impl Operation {
    /// The result for a value of a rule that is not closed; `None` is the absent key.
    pub(crate) fn value(&self, value: Option<&[u8]>) -> Option<Vec<u8>> {
        let bytes = |text: &String| text.clone().into_bytes();
        match self {
            Operation::Ignore(Representative::LeftOut) => None,
            Operation::Ignore(Representative::WherePresent(to)) => value.map(|_| bytes(to)),
            Operation::Ignore(Representative::Everywhere(to)) | Operation::Keep(to) => Some(bytes(to)),
            Operation::Classes(pairs) => {
                let class = pairs.iter().find(|(from, _)| from.as_ref().map(String::as_bytes) == value);
                class.map_or(value.map(<[u8]>::to_vec), |(_, to)| to.as_ref().map(bytes))
            }
            Operation::Apply(function) => {
                let (old, mut new) = (value?, Vec::new());
                let changed = apply(*function, old, &mut new);
                match (changed, function) {
                    (true, Function::DropEmpty) => None,
                    (true, _) => Some(new),
                    (false, _) => Some(old.to_vec()),
                }
            }
            Operation::Replace(_) => value.map(<[u8]>::to_vec),
        }
    }
}

/// The key that an operation writes.
fn target_key(key: &str) -> Option<Key> {
    if key == HOST_SUB { Some(Key::Fixed(Fixed::HOST)) } else { Key::parse(key) }
}

/// The value that a closed rule gives to a key; `None` where it would not be valid there.
fn moved(key: &str, operation: &Operation, source: &Pairs<'_>) -> Option<Vec<u8>> {
    let from = match operation {
        Operation::Keep(value) => return Some(value.clone().into_bytes()),
        Operation::Replace(from) => from.as_str(),
        Operation::Ignore(_) | Operation::Classes(_) | Operation::Apply(_) => return None,
    };
    let (to, host) = (target_key(key)?, source.get(&Key::Fixed(Fixed::HOST)));
    if from == HOST_SUB {
        // The labels below the registrable domain.
        let labels = host.map(|host| &host[..host_sub(host)])?;
        return (!labels.is_empty() && fits(labels, to.kind())).then(|| labels.to_vec());
    }
    let value = source.get(&Key::parse(from)?)?;
    if key == HOST_SUB {
        let host = host.filter(|host| !host.contains(&b'@'))?;
        let domain = if host_sub(host) == 0 { host } else { &host[host_sub(host) + 1..] };
        return fits(value, to.kind()).then(|| [value, b".", domain].concat());
    }
    (Key::parse(from).as_ref() == Some(&to) || fits(value, to.kind())).then(|| value.to_vec())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
