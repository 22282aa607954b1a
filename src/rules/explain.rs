//! Rules in readable form, and what happened to one URL step by step.
//!
//! Text for people ([`crate::model::shown`]), for `explain` and for the report of `learn`. Keys are
//! shown in the notation of the rule file, values in quotes; an absent key is a value of its own and is
//! called absent.

use super::interpreter::Interpreter;
use super::platforms::Recognised;
use super::stops::{bad_until_withdrawn, stops};
pub use super::trace::{Change, RuleOutcome, TraceStep};
pub use super::wording::constraint_text;
use super::wording::{SHOWN_VALUES, value_text};
use super::{Evidence, Function, Kind, Operation, Representative, Rule, RuleSet, Scratch, SiteRules};
use crate::model::shown::Page;
use crate::url::NormalUrl;
use serde::Serialize;
use std::collections::BTreeMap;

/// Interpreters that a [`Tracer`] keeps, a bound of memory.
const MAX_INTERPRETERS: usize = 64;

/// A rule on one line: its scope, its operations, its evidence. For example `where query do= is
/// "login": ignore query sid= (left out)  [good 120, bad 0, <= 0.9 %, 43 clusters]`.
pub fn rule_text(rule: &Rule) -> String {
    format!("{}  {}", pattern_text(rule), evidence_text(&rule.evidence))
}

/// Scope and operations of a rule, without its evidence.
pub fn pattern_text(rule: &Rule) -> String {
    let mut scope: Vec<String> = rule.scope.iter().map(constraint_text).collect();
    if rule.closed {
        scope.push("no other key is there".into());
    }
    let mut operations: Vec<String> = rule.operations.iter().map(|(key, op)| operation_text(key, op)).collect();
    if rule.closed {
        operations.push("drop the other keys".into());
    }
    let extended = if rule.extended { "; also on unseen hosts of the domain" } else { "" };
    let line = match (&rule.line, rule.provisional) {
        (Some(line), true) => format!("; provisional, line {line} of the catalogue"),
        (Some(line), false) => format!("; line {line} of the catalogue"),
        (None, true) => "; provisional".to_owned(),
        (None, false) => String::new(),
    };
    match scope.is_empty() {
        true => format!("everywhere: {}{extended}{line}", operations.join(", ")),
        false => format!("where {}: {}{extended}{line}", scope.join(" and "), operations.join(", ")),
    }
}

/// The evidence of a rule in brackets. The upper bound is rounded up.
pub fn evidence_text(evidence: &Evidence) -> String {
    let Evidence { good, bad, prior, upper_bound_ppm, clusters, .. } = evidence;
    let tenths = upper_bound_ppm.div_ceil(1000);
    let prior = if *prior == 0 { String::new() } else { format!(", prior {prior}") };
    let noun = if *clusters == 1 { "cluster" } else { "clusters" };
    format!("[good {good}, bad {bad}{prior}, <= {}.{} %, {clusters} {noun}]", tenths / 10, tenths % 10)
}

/// The operation of a rule on one key, for example `ignore query sid= (left out)`.
pub fn operation_text(key: &str, operation: &Operation) -> String {
    match operation {
        Operation::Keep(value) => format!("keep {key} {value:?}"),
        Operation::Replace(source) => format!("replace {key} by {source}"),
        Operation::Ignore(Representative::LeftOut) => format!("ignore {key} (left out)"),
        Operation::Ignore(Representative::WherePresent(value)) => format!("ignore {key} (becomes {value:?})"),
        Operation::Ignore(Representative::Everywhere(value)) => {
            format!("ignore {key} (becomes {value:?}, also where absent)")
        }
        Operation::Classes(pairs) => {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(from, to)| format!("{} take {}", value_text(from.as_deref()), value_text(to.as_deref())))
                .collect();
            let more = pairs.len().saturating_sub(SHOWN_VALUES);
            let mut text = format!("for {key} {}", pairs[..pairs.len() - more].join(", for "));
            if more > 0 {
                text.push_str(&format!(" and {more} more"));
            }
            text
        }
        Operation::Apply(Function::DropWww) => format!("drop \"www.\" from {key}"),
        Operation::Apply(Function::DecodeSubDelimiters) => format!("decode sub-delimiters in {key}"),
        Operation::Apply(Function::DecodeSlash) => format!("decode slashes in {key}"),
        Operation::Apply(Function::PlusIsSpace) => format!("write + as %20 in {key}"),
        Operation::Apply(Function::DropEmpty) => format!("leave out {key} where empty"),
        Operation::Apply(Function::LowerCase) => format!("lower-case {key}"),
        Operation::Apply(Function::DropLeadingZeros) => format!("drop zeros before numbers in {key}"),
        Operation::Apply(Function::DropTitle) => format!("drop the title behind the number in {key}"),
        Operation::Apply(
            function @ (Function::HashTo7 | Function::HashTo8 | Function::HashTo10 | Function::HashTo12),
        ) => format!("cut hashes in {key} to {} digits", function.hash_digits().unwrap_or_default()),
        Operation::Apply(Function::FirstRepeat) => format!("of repeats of {key} keep the first"),
        Operation::Apply(Function::LastRepeat) => format!("of repeats of {key} keep the last"),
        Operation::Apply(Function::SortRepeats) => format!("sort repeats of {key}, each value once"),
        Operation::Apply(Function::SortFamily) => format!("sort the values of {key}"),
    }
}

fn platforms_of(site: Option<&SiteRules>) -> &[Recognised] {
    site.map_or(&[], |site| &site.platforms)
}

/// A program of a site, for example `runs phpbb-2 in /forum/ (41 of 60 URLs looked at)`.
pub fn platform_text(Recognised { program, directory, hosts, met, urls }: &Recognised) -> String {
    let hosts = if hosts.is_empty() { String::new() } else { format!(" on {}", hosts.join(", ")) };
    match urls {
        0 => format!("runs {program} in {directory}, as the parameters say"),
        _ => format!("runs {program} in {directory}{hosts} ({met} of {urls} URLs looked at)"),
    }
}

/// Steps from one URL to its canonical URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trace<'r> {
    /// The URL as given.
    pub url: String,
    /// The steps, in order; the last is [`TraceStep::Invalid`] or [`TraceStep::Canonical`].
    pub steps: Vec<TraceStep<'r>>,
}

/// Traces many URLs: an interpreter takes longer to make than to ask where a site has many look-ups.
#[derive(Debug)]
pub struct Tracer<'r> {
    rules: &'r RuleSet,
    /// By site; at most [`MAX_INTERPRETERS`].
    interpreters: BTreeMap<u32, Interpreter<'r>>,
    scratch: Scratch,
}

impl RuleSet {
    /// Steps from `url` to its canonical URL, by the [reference interpreter](super::interpreter). A set
    /// that did not keep its rules ([`Loader`](super::set::Loader)) has no steps for them.
    ///
    /// O(look-ups and exceptions of the site); of many URLs a [`tracer`](Self::tracer) pays that once a site.
    pub fn trace(&self, url: &str) -> Trace<'_> {
        self.tracer().trace(url)
    }

    /// Traces of many URLs. Memory: that of the rules of the sites asked for, of at most 64 sites.
    pub fn tracer(&self) -> Tracer<'_> {
        Tracer { rules: self, interpreters: BTreeMap::new(), scratch: Scratch::default() }
    }
}

impl<'r> Tracer<'r> {
    /// Steps from `url` to its canonical URL, as [`RuleSet::trace`] gives them.
    pub fn trace(&mut self, url: &str) -> Trace<'r> {
        let mut trace = Trace { url: url.into(), steps: Vec::new() };
        let normal = match NormalUrl::new(url.as_bytes()) {
            Ok(normal) => normal,
            Err(reason) => {
                trace.steps.push(TraceStep::Invalid { reason: reason.to_string() });
                return trace;
            }
        };
        trace.steps.push(TraceStep::Normal { url: normal.as_str().to_owned() });
        let set = self.rules;
        let applied = set.apply(url.as_bytes(), None, &mut self.scratch);
        let origin = normal.as_str()[..normal.split().path.0 as usize].to_owned();
        let rules = applied.site.and_then(|site| set.sites().get(site as usize));
        let unseen = rules.is_some_and(|site| site.extends_to(&origin));
        let (site, platforms) = (applied.site.map(|site| set.site_name(site).to_owned()), platforms_of(rules));
        trace.steps.push(TraceStep::Site { origin, site, unseen, platforms });
        let mut canonical = applied.url.to_vec();
        if let (Some(index), Some(site)) = (applied.site, rules) {
            if site.tokens.published {
                let rule = |index| (index, &site.rules[index], RuleOutcome::Fired { changes: Vec::new() });
                let fired = applied.fired.iter().map(|index| rule(usize::from(index)));
                trace.steps.extend(fired.map(|(index, rule, outcome)| TraceStep::Rule { index, rule, outcome }));
            } else {
                if self.interpreters.len() >= MAX_INTERPRETERS && !self.interpreters.contains_key(&index) {
                    self.interpreters.clear();
                }
                let interpreter = self.interpreters.entry(index).or_insert_with(|| Interpreter::new(site));
                let made = interpreter.canonicalize(&normal);
                trace.steps.extend(made.steps);
                canonical = made.url;
            }
        }
        trace.steps.push(TraceStep::Canonical { url: String::from_utf8_lossy(&canonical).into_owned() });
        trace
    }
}

impl Trace<'_> {
    /// The trace as text, a few lines a step. With `only_fired`, rules that did not fire are left out.
    pub fn text(&self, only_fired: bool) -> Page {
        let mut text = Page::default();
        let _ = writeln!(text, "{}", self.url);
        for step in &self.steps {
            if only_fired
                && let TraceStep::Rule { outcome, .. } = step
                && !matches!(outcome, RuleOutcome::Fired { .. })
            {
                continue;
            }
            render(step, &mut text);
        }
        text
    }
}

/// Column at which the text of a step starts.
const INDENT: usize = 15;

/// Adds `what` after its label, or under the last one where the label is empty.
fn put(text: &mut Page, label: &str, what: &str) {
    let _ = writeln!(text, "  {label:<width$}{what}", width = INDENT - 2);
}

fn render(step: &TraceStep<'_>, text: &mut Page) {
    match step {
        TraceStep::Invalid { reason } => put(text, "invalid", &format!("{reason}: comes out unchanged")),
        TraceStep::Normal { url } => put(text, "normal form", url),
        TraceStep::Site { origin, site: Some(site), unseen, platforms } => {
            put(text, "site", &format!("{site} (origin {origin})"));
            if *unseen {
                put(text, "", "no record has the origin: only rules that extend to the domain act");
            }
            platforms.iter().for_each(|found| put(text, "", &platform_text(found)));
        }
        TraceStep::Site { origin, site: None, .. } => {
            put(text, "site", &format!("none, or more than one, has rules for {origin}: normal form only"));
        }
        TraceStep::Fragment { url } => put(text, "no fragment", url),
        TraceStep::Keys { keys } => {
            for (place, (key, value)) in keys.iter().enumerate() {
                put(text, if place == 0 { "keys" } else { "" }, &format!("{key} {value:?}"));
            }
        }
        TraceStep::Rule { index, rule, outcome } => {
            put(text, &format!("rule {}", index + 1), &format!("{} {}", rule.id, rule_text(rule)));
            outcome_lines(outcome).iter().for_each(|line| put(text, "", line));
            if matches!(outcome, RuleOutcome::Fired { .. }) {
                let stops = stops(rule);
                if !stops.is_empty() {
                    put(text, "", &format!("would be stopped by: {}", stops.join("; ")));
                }
                let or = if stops.is_empty() { "would be stopped by:" } else { "or by" };
                let more = bad_until_withdrawn(&rule.evidence, matches!(rule.kind, Kind::Form | Kind::Mirror)).max(1);
                let noun = if more == 1 { "URL" } else { "URLs" };
                put(
                    text,
                    "",
                    &format!(
                        "{or} {more} more {noun} of other clusters in the data, or `undust rules disable {}`",
                        rule.id
                    ),
                );
                for [one, other] in &rule.evidence.examples {
                    put(text, "", &format!("seen as one page: {one}"));
                    put(text, "", &format!("             and: {other}"));
                }
            }
        }
        TraceStep::Exception { page, rule } => {
            let rule = if rule == "*" { "any rule" } else { rule };
            put(text, "exception", &format!("{rule} does not hold for {page}: passed over below"));
        }
        TraceStep::Alias { from, to } => {
            put(text, "look-up", &format!("{from} is the same page as"));
            put(text, "", &format!("-> {to}"));
        }
        TraceStep::Again { url } => put(text, "again", &format!("{url} is not its own canonical URL: once more")),
        TraceStep::Refused { url, invariant } => {
            put(text, "refused", &format!("{url} breaks an invariant ({invariant}): normal form only"));
        }
        TraceStep::Canonical { url } => put(text, "canonical", url),
    }
}

fn outcome_lines(outcome: &RuleOutcome) -> Vec<String> {
    match outcome {
        RuleOutcome::Fired { changes } if changes.is_empty() => vec!["fired".into()],
        RuleOutcome::Fired { changes } => changes
            .iter()
            .map(|Change { key, before, after }| {
                format!("fired: {key} {} -> {}", value_text(before.as_deref()), value_text(after.as_deref()))
            })
            .collect(),
        RuleOutcome::Stopped { constraint, found } => vec![format!(
            "stopped: {} is {}, the rule asks that {}",
            constraint.key,
            value_text(found.as_deref()),
            constraint_text(constraint)
        )],
        RuleOutcome::OtherKey { key } => {
            vec![format!("stopped: {key} is there, which the source of the rule does not have")]
        }
        RuleOutcome::NoChange => vec!["holds, and changes nothing here".into()],
        RuleOutcome::Unfit { reason } => vec![format!("stopped: {reason}")],
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
