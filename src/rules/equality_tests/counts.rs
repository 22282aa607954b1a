//! Counts kinds of rules, sites and URLs on the pairs for which they matter.
//!
//! An operation counts where it changed a value, a test where it decided, a kind of URL where rules or
//! look-ups changed or decided its canonical URL. A token setting or a list of pages counts where the
//! interpreter gives another result without it (on every second rule set). Steps count one by one, so
//! that a pair may count several times for a rule kind; also where an invariant refuses the result.

use super::SiteRules;
use super::compare::{Forms, Owner, Pair, Reference};
use super::rules::mirror_source;
use super::settings::others;
use crate::rules::explain::{Change, RuleOutcome, TraceStep};
use crate::rules::interpreter::Interpreter;
use crate::rules::twins::below;
use crate::rules::value_ranges::number;
use crate::rules::{Function, Operation, Representative, Rule, SECTION, Test};
use crate::url::keys::{HOST_SUB, Key};
use crate::url::{NormalUrl, Pairs, is_route};
use std::collections::{BTreeMap, BTreeSet};

/// Kinds, and the least number of pairs of each in a run of 100,000 pairs or more.
const KINDS: &[(&str, u64)] = &[
    ("again: rules act on what rules wrote", 800),
    ("URL: %2F", 3_000),
    ("URL: +", 2_000),
    ("URL: 24 segments", 40),
    ("URL: 64 KiB", 20),
    ("URL: ; in the query", 1_000),
    ("URL: IPv6 address", 100),
    ("URL: byte above 0x7F", 400),
    ("URL: capital", 10_000),
    ("URL: doubled slash", 500),
    ("URL: empty value", 1_000),
    ("URL: escape", 8_000),
    ("URL: escape in lower case", 700),
    ("URL: extension", 700),
    ("URL: fragment", 1_000),
    ("URL: group of a segment", 2_000),
    ("URL: index file", 7_000),
    ("URL: invalid", 2_000),
    ("URL: key without =", 4_000),
    ("URL: lone ?", 500),
    ("URL: malformed escape", 400),
    ("URL: more than 64 parameters in one", 30),
    ("URL: not in normal form", 2_000),
    ("URL: number in a segment", 6_000),
    ("URL: path parameter", 2_000),
    ("URL: port", 1_000),
    ("URL: query", 10_000),
    ("URL: repeated key", 4_000),
    ("URL: route", 700),
    ("URL: space", 800),
    ("URL: trailing slash", 10_000),
    ("URL: unusual order", 6_000),
    ("acted: rules of more than 63 keys", 600),
    ("acted: rules or look-ups", 20_000),
    ("alias: hits", 700),
    ("closed: a value moves to the host", 60),
    ("closed: another key", 3_000),
    ("closed: fires", 600),
    ("closed: host.sub does not fit", 100),
    ("closed: labels of the host move to a key", 200),
    ("closed: value does not fit", 200),
    ("exception: all rules", 100),
    ("exception: before and behind a mirror", 5),
    ("exception: one rule", 400),
    ("exception: two for a page", 40),
    ("extended: another rule would act", 600),
    ("extended: changed", 1_000),
    ("form: batch of a large rule set", 1_000),
    ("form: read from JSON lines and from a compiled file", 2_000),
    ("fragment: left out", 2_000),
    ("function: cut a hash", 100),
    ("function: decode slash", 200),
    ("function: decode sub-delimiters", 100),
    ("function: drop empty", 400),
    ("function: drop leading zeros", 20),
    ("function: drop title", 20),
    ("function: drop www", 500),
    ("function: lower case", 800),
    ("function: of repeats", 60),
    ("function: plus is space", 200),
    ("function: sort a family", 2),
    ("look-up: a page that is its own canonical URL", 1_000),
    ("look-up: a page that is not its own canonical URL", 50),
    ("look-up: by what the rules make of a URL", 1_000),
    ("look-up: hits", 500),
    ("look-up: to itself", 500),
    ("mirror: moves", 3_000),
    ("mirror: a parameter", 30),
    ("mirror: a parameter with others", 3),
    ("mirror: nested directories", 300),
    ("mirror: twin below a mirrored directory", 1_000),
    ("operation: adds a key", 20_000),
    ("operation: classes", 2_000),
    ("operation: classes, absent after", 800),
    ("operation: classes, absent before", 5_000),
    ("operation: ignore, everywhere", 4_000),
    ("operation: ignore, everywhere, absent before", 10_000),
    ("operation: ignore, left out", 10_000),
    ("operation: ignore, where present", 8_000),
    ("operation: keep", 10_000),
    ("operation: keep, closed", 2_000),
    ("operation: replace by another key", 400),
    ("operation: replace by the same key", 1_000),
    ("pairs", 100_000),
    ("range: a number outside", 100),
    ("range: an absent key hits", 10),
    ("range: an inner number hits", 20),
    ("range: any value hits", 200),
    ("range: hits", 100),
    ("range: misses", 400),
    ("range: no number", 200),
    ("range: no value", 10),
    ("refused: twice is not once", 5_000),
    ("rule: no change", 200_000),
    ("rule: no record has the origin", 3_000),
    ("rule: one behind the first 64 fires", 10_000),
    ("rule: without meaning", 10_000),
    ("section: does not hold", 1_000),
    ("section: holds", 400),
    ("site: by origin", 40_000),
    ("site: extended to the origin", 4_000),
    ("site: given", 4_000),
    ("site: none", 4_000),
    ("site: none, origin of two sites", 3_000),
    ("site: none, user information", 600),
    ("test: absent, does not hold", 10_000),
    ("test: absent, holds", 3_000),
    ("test: equals, does not hold", 70_000),
    ("test: equals, holds", 3_000),
    ("test: none of, does not hold", 40_000),
    ("test: none of, holds", 2_000),
    ("test: not, does not hold", 1_000),
    ("test: not, holds", 1_000),
    ("test: one of, does not hold", 40_000),
    ("test: one of, holds", 3_000),
    ("test: present, does not hold", 70_000),
    ("test: present, holds", 10_000),
    ("tokens: delimiter !", 70),
    ("tokens: delimiter ,", 90),
    ("tokens: delimiter :", 100),
    ("tokens: delimiter =", 60),
    ("tokens: ends of values", 5),
    ("tokens: families of names", 20),
    ("tokens: fragments, keys", 300),
    ("tokens: fragments, left out", 300),
    ("tokens: fragments, none", 1_000),
    ("tokens: inner numbers", 5),
    ("tokens: joined by semicolons", 20),
    ("tokens: numbered ends", 20),
    ("tokens: endings", 20),
    ("tokens: endings that are joined", 10),
    ("tokens: order of the query", 100),
    ("tokens: paths in queries", 20),
    ("tokens: nested queries", 5),
    ("tokens: lists in queries", 5),
    ("tokens: semicolons", 100),
];

/// Pairs of each kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts(BTreeMap<&'static str, u64>);

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts(counts) = self;
        let least = |kind: &str| KINDS.iter().find(|of| of.0 == kind).map_or(0, |of| of.1);
        counts.iter().try_for_each(|(kind, count)| writeln!(f, "{count:>12}  (at least {:>6})  {kind}", least(kind)))
    }
}

impl Counts {
    pub(super) fn pairs(&self) -> u64 {
        self.0.get("pairs").copied().unwrap_or_default()
    }

    pub(super) fn merge(&mut self, other: &Counts) {
        other.0.iter().for_each(|(kind, count)| *self.0.entry(kind).or_default() += count);
    }

    /// Kinds with fewer pairs than they should have, with their number.
    pub(super) fn too_few(&self) -> Vec<(&'static str, u64)> {
        let counted = |&(kind, least): &(&'static str, u64)| {
            let count = self.0.get(kind).copied().unwrap_or_default();
            (count < least).then_some((kind, count))
        };
        KINDS.iter().filter_map(counted).collect()
    }

    fn add(&mut self, kind: &'static str) {
        *self.0.entry(kind).or_default() += 1;
    }

    fn add_if(&mut self, kind: &'static str, is: bool) {
        if is {
            self.add(kind);
        }
    }

    /// Counts the pairs of a rule set; `variants`: also those that need another interpreter.
    pub(super) fn add_all(&mut self, reference: &Reference<'_>, pairs: &[Pair<'_>], variants: bool, forms: Forms) {
        let large = reference.sites.len() > 256;
        let many: Vec<bool> = reference.sites.iter().map(|site| keys(site) > 63).collect();
        for pair in pairs {
            self.add("pairs");
            self.add_if("form: batch of a large rule set", large && pair.input.site.is_none());
            self.add_if("form: read from JSON lines and from a compiled file", forms == Forms::Files);
            self.add_site(reference, pair);
            let site = pair.outcome.site.map(|site| &reference.sites[site as usize]);
            if let (Some(site), Some(normal)) = (site, &pair.normal) {
                self.add_steps(site, pair);
                self.add_pages(site, normal, pair);
                if !pair.outcome.fired.is_empty() || pair.outcome.looked_up {
                    self.add("acted: rules or look-ups");
                    self.add_if(
                        "acted: rules of more than 63 keys",
                        pair.outcome.site.is_some_and(|at| many[at as usize]),
                    );
                    self.add_url(&pair.input.url, normal, site);
                }
            }
        }
        if variants {
            let counted =
                (0u32..).zip(reference.sites).filter(|(_, site)| !site.rules.is_empty() || !site.aliases.is_empty());
            for (index, site) in counted.take(3) {
                let pairs = || pairs.iter().filter(|pair| pair.outcome.site == Some(index));
                for (kind, other) in others(site) {
                    self.add_other(kind, &other, pairs());
                }
            }
        }
    }

    fn add_site(&mut self, reference: &Reference<'_>, pair: &Pair<'_>) {
        let Some(normal) = &pair.normal else { return self.add("URL: invalid") };
        if pair.input.site.is_some() {
            return self.add("site: given");
        }
        let owner = reference.owner(normal.by_ref().origin());
        if owner == Owner::None && pair.outcome.site.is_some() {
            self.add_if("extended: changed", pair.outcome.url != normal.as_bytes());
            self.add_if("extended: another rule would act", would_act(reference, pair, normal));
        }
        self.add(match owner {
            Owner::Site(_) => "site: by origin",
            Owner::Sites => "site: none, origin of two sites",
            Owner::None if pair.outcome.site.is_some() => "site: extended to the origin",
            Owner::None if normal.by_ref().has_user() => "site: none, user information",
            Owner::None => "site: none",
        });
    }

    fn add_steps(&mut self, site: &SiteRules, pair: &Pair<'_>) {
        let mut exceptions = 0;
        for step in &pair.steps {
            match step {
                TraceStep::Fragment { .. } => self.add("fragment: left out"),
                TraceStep::Rule { rule, outcome: RuleOutcome::Fired { changes }, index } => {
                    self.add_if("rule: one behind the first 64 fires", *index >= 64);
                    match &changes[..] {
                        [Change { key, before, after }] if key == "url" => {
                            self.add_mirror(site, rule, before.as_deref(), after.as_deref());
                        }
                        _ => self.add_fired(rule, changes),
                    }
                }
                TraceStep::Rule { outcome: RuleOutcome::Stopped { constraint, .. }, .. }
                    if constraint.key == SECTION =>
                {
                    self.add("section: does not hold");
                }
                TraceStep::Rule { outcome: RuleOutcome::Stopped { constraint, .. }, .. } => {
                    self.add(match constraint.test {
                        Test::Equals(_) => "test: equals, does not hold",
                        Test::OneOf(_) => "test: one of, does not hold",
                        Test::NoneOf(_) => "test: none of, does not hold",
                        Test::Not(_) => "test: not, does not hold",
                        Test::Present => "test: present, does not hold",
                        Test::Absent => "test: absent, does not hold",
                    })
                }
                TraceStep::Rule { outcome: RuleOutcome::OtherKey { .. }, .. } => self.add("closed: another key"),
                TraceStep::Rule { outcome: RuleOutcome::NoChange, .. } => self.add("rule: no change"),
                TraceStep::Rule { rule, outcome: RuleOutcome::Unfit { reason }, .. } => {
                    let value = reason.starts_with("a value");
                    self.add(match () {
                        () if value => "closed: value does not fit",
                        () if reason.starts_with("no record") => "rule: no record has the origin",
                        () => "rule: without meaning",
                    });
                    let moves = |(key, of): &(String, Operation)| {
                        key == HOST_SUB || *of == Operation::Replace(HOST_SUB.to_owned())
                    };
                    self.add_if("closed: host.sub does not fit", value && rule.operations.iter().any(moves));
                }
                TraceStep::Exception { page, rule } => {
                    exceptions += 1;
                    self.add(if rule == "*" { "exception: all rules" } else { "exception: one rule" });
                    let same = site.exceptions.iter().filter(|[of, _]| of == page).count();
                    self.add_if("exception: two for a page", same > 1);
                }
                TraceStep::Again { .. } => self.add("again: rules act on what rules wrote"),
                TraceStep::Refused { .. } => self.add("refused: twice is not once"),
                TraceStep::Alias { from, to } => {
                    self.add(if from == to { "look-up: to itself" } else { "look-up: hits" })
                }
                TraceStep::Invalid { .. }
                | TraceStep::Normal { .. }
                | TraceStep::Site { .. }
                | TraceStep::Keys { .. }
                | TraceStep::Canonical { .. } => {}
            }
        }
        self.add_if("exception: before and behind a mirror", exceptions > 1);
    }

    fn add_mirror(&mut self, site: &SiteRules, rule: &Rule, before: Option<&str>, after: Option<&str>) {
        let below =
            |url: Option<&str>, source: &str| url.is_some_and(|url| below(url.as_bytes(), source.as_bytes()).is_some());
        let sources = |url| site.rules.iter().filter_map(mirror_source).filter(|source| below(url, source)).count();
        self.add("mirror: moves");
        let is_parameter = |source: &&str| source.contains('?');
        let source = mirror_source(rule).filter(is_parameter);
        self.add_if("mirror: a parameter", source.is_some());
        self.add_if("mirror: a parameter with others", source.is_some_and(|source| source.contains('&')));
        self.add_if("mirror: nested directories", sources(before) > 1);
        self.add_if("mirror: twin below a mirrored directory", sources(after) > 0);
    }

    fn add_fired(&mut self, rule: &Rule, changes: &[Change]) {
        self.add_if("section: holds", rule.scope.iter().any(|of| of.key == SECTION));
        for constraint in &rule.scope {
            self.add(match constraint.test {
                Test::Equals(_) => "test: equals, holds",
                Test::OneOf(_) => "test: one of, holds",
                Test::NoneOf(_) => "test: none of, holds",
                Test::Not(_) => "test: not, holds",
                Test::Present => "test: present, holds",
                Test::Absent => "test: absent, holds",
            });
        }
        if rule.closed {
            self.add("closed: fires");
            for (key, operation) in &rule.operations {
                match operation {
                    Operation::Replace(from) if from == HOST_SUB => {
                        self.add("closed: labels of the host move to a key")
                    }
                    Operation::Replace(_) if key == HOST_SUB => self.add("closed: a value moves to the host"),
                    Operation::Replace(from) if from != key => self.add("operation: replace by another key"),
                    Operation::Replace(_) => self.add("operation: replace by the same key"),
                    _ => self.add("operation: keep, closed"),
                }
            }
            return;
        }
        for (key, operation) in &rule.operations {
            let Some(Change { before, after, .. }) = changes.iter().find(|change| change.key == *key) else { continue };
            self.add_if("operation: adds a key", before.is_none());
            self.add(match operation {
                Operation::Keep(_) => "operation: keep",
                Operation::Ignore(Representative::LeftOut) => "operation: ignore, left out",
                Operation::Ignore(Representative::WherePresent(_)) => "operation: ignore, where present",
                Operation::Ignore(Representative::Everywhere(_)) if before.is_none() => {
                    "operation: ignore, everywhere, absent before"
                }
                Operation::Ignore(Representative::Everywhere(_)) => "operation: ignore, everywhere",
                Operation::Classes(_) if before.is_none() => "operation: classes, absent before",
                Operation::Classes(_) if after.is_none() => "operation: classes, absent after",
                Operation::Classes(_) => "operation: classes",
                Operation::Apply(Function::DropWww) => "function: drop www",
                Operation::Apply(Function::DecodeSubDelimiters) => "function: decode sub-delimiters",
                Operation::Apply(Function::DecodeSlash) => "function: decode slash",
                Operation::Apply(Function::PlusIsSpace) => "function: plus is space",
                Operation::Apply(Function::DropEmpty) => "function: drop empty",
                Operation::Apply(Function::LowerCase) => "function: lower case",
                Operation::Apply(Function::DropLeadingZeros) => "function: drop leading zeros",
                Operation::Apply(Function::DropTitle) => "function: drop title",
                Operation::Apply(Function::HashTo7 | Function::HashTo8 | Function::HashTo10 | Function::HashTo12) => {
                    "function: cut a hash"
                }
                Operation::Apply(Function::FirstRepeat | Function::LastRepeat | Function::SortRepeats) => {
                    "function: of repeats"
                }
                Operation::Apply(Function::SortFamily) => "function: sort a family",
                Operation::Replace(_) => "operation: replace, not closed",
            });
        }
    }

    fn add_pages(&mut self, site: &SiteRules, normal: &NormalUrl, pair: &Pair<'_>) {
        let is_page = site.aliases.iter().any(|[_, to]| to == normal.as_str());
        let own = pair.outcome.url == normal.as_bytes();
        self.add_if("look-up: a page that is its own canonical URL", is_page && own);
        self.add_if("look-up: a page that is not its own canonical URL", is_page && !own);
        self.add_if("look-up: by what the rules make of a URL", !is_page && pair.outcome.looked_up);
    }

    fn add_url(&mut self, url: &[u8], normal: &NormalUrl, site: &SiteRules) {
        let (text, pairs) = (normal.as_str(), Pairs::tokenize(normal, site.tokenizer(), &site.tokens.query_order));
        let has = |key: &str| Key::parse(key).is_some_and(|key| pairs.get(&key).is_some());
        let raw = |bytes: &[u8]| memchr::memmem::find(url, bytes).is_some();
        let split = normal.split();
        let query = split.query.map(|(start, end)| &text[start as usize..end as usize]);
        let parameters = query.map_or(0, |query| query.split('&').count());
        for (kind, is) in [
            ("URL: query", query.is_some_and(|query| !query.is_empty())),
            ("URL: lone ?", has("empty query")),
            ("URL: ; in the query", query.is_some_and(|query| query.contains(';'))),
            ("URL: key without =", query.is_some_and(|query| query.split('&').any(|p| !p.contains('=')))),
            ("URL: empty value", query.is_some_and(|query| query.split('&').any(|p| p.ends_with('=')))),
            ("URL: path parameter", pairs.keys().any(|key| matches!(key, Key::Param(_)))),
            ("URL: repeated key", pairs.keys().filter(|key| matches!(key, Key::Query(_))).count() < parameters),
            ("URL: unusual order", has("order")),
            ("URL: doubled slash", has("double slash")),
            ("URL: trailing slash", has("trailing slash")),
            ("URL: index file", has("index")),
            ("URL: extension", has("ext")),
            ("URL: more than 64 parameters in one", has("whole query")),
            ("URL: 24 segments", has("path23")),
            ("URL: number in a segment", pairs.keys().any(|key| key.to_string().ends_with(".number"))),
            ("URL: group of a segment", pairs.keys().any(|key| key.to_string().ends_with(".group"))),
            ("URL: escape", text.contains('%')),
            ("URL: %2F", text.contains("%2F")),
            ("URL: escape in lower case", raw(b"%2f") || raw(b"%7e")),
            ("URL: malformed escape", raw(b"%zz") || raw(b"%4%") || url.ends_with(b"%")),
            ("URL: capital", text.bytes().any(|b| b.is_ascii_uppercase())),
            ("URL: +", text.contains('+')),
            ("URL: space", raw(b" ")),
            ("URL: byte above 0x7F", !url.is_ascii()),
            ("URL: port", text[split.host.1 as usize..split.authority.1 as usize].starts_with(':')),
            ("URL: IPv6 address", normal.host().starts_with(b"[")),
            ("URL: 64 KiB", url.len() >= 1 << 16),
            ("URL: not in normal form", url != normal.as_bytes()),
        ] {
            self.add_if(kind, is);
        }
        let fragment = split.fragment.map(|(start, end)| &text.as_bytes()[start as usize..end as usize]);
        self.add_if("URL: route", fragment.is_some_and(is_route));
        self.add_if("URL: fragment", fragment.is_some_and(|fragment| !is_route(fragment)));
    }

    /// Counts the pairs of which the interpreter makes something else with other rules.
    fn add_other<'p, 'r: 'p>(
        &mut self,
        kind: &'static str,
        other: &SiteRules,
        pairs: impl Iterator<Item = &'p Pair<'r>>,
    ) {
        let interpreter = Interpreter::new(other);
        for pair in pairs {
            let Some(normal) = &pair.normal else { continue };
            let made = interpreter.canonicalize(normal);
            let fired = made.fired.iter().copied().eq(pair.outcome.fired.iter().copied().map(usize::from));
            if made.url == pair.outcome.url && fired && made.looked_up == pair.outcome.looked_up {
                continue;
            }
            self.add(kind);
            if kind == "range: misses" {
                // The values of the keys of ranges: what missed them.
                let pairs = Pairs::tokenize(normal, other.tokenizer(), &[]);
                let values = other.local.iter().map(|local| Key::parse(&local.key).and_then(|key| pairs.get(&key)));
                self.add(match values.flatten().last() {
                    Some(value) if number(value).is_some() => "range: a number outside",
                    Some(_) => "range: no number",
                    None => "range: no value",
                });
            }
        }
    }
}

/// True where rules and look-ups of the site would make something else of a URL if they all acted on
/// its origin.
fn would_act(reference: &Reference<'_>, pair: &Pair<'_>, normal: &NormalUrl) -> bool {
    pair.outcome.site.is_some_and(|site| {
        let mut site = reference.sites[site as usize].clone();
        site.origins.push(normal.by_ref().origin().to_owned());
        Interpreter::new(&site).canonicalize(normal).url != pair.outcome.url
    })
}

/// Number of keys that the rules of a site name.
fn keys(site: &SiteRules) -> usize {
    let named = |rule: &Rule| {
        let scope = rule.scope.iter().map(|constraint| constraint.key.clone());
        scope.chain(rule.operations.iter().map(|(key, _)| key.clone())).collect::<Vec<_>>()
    };
    site.rules.iter().flat_map(named).collect::<BTreeSet<_>>().len()
}
