//! The same run, written down step by step.

use super::{ALL, Check, CompiledSite, GONE, NO_RULE, Program, part};
use crate::rules::apply::Scratch;
use crate::rules::explain::{Change, Outcome, Step};
use crate::rules::types::{PREFIX, Rule, SiteRules};
use crate::url::{self, Split};

/// Keys and values in the order of the list.
type Pairs = Vec<(String, String)>;

impl CompiledSite {
    /// Writes down what becomes of the URL in `scratch.cells.text`: its keys, each rule, exceptions and look-ups. Gives
    /// the URL that comes of it, before the laws are asked.
    pub fn trace(&self, split: &Split, site: &SiteRules, scratch: &mut Scratch, steps: &mut Vec<Step>) -> String {
        let length = scratch.cells.text.len();
        let normal = self.is_trivial().then(|| String::from_utf8_lossy(&scratch.cells.text).into_owned());
        scratch.fired.clear();
        let (keys, mut rules) = self.trace_rules(split, site, scratch, NO_RULE);
        steps.push(Step::Keys { keys });
        let without = match scratch.fired.is_empty() {
            true => None,
            false => self.exception(scratch),
        };
        if let Some(rule) = without {
            let id = site.rules.get(usize::from(rule)).filter(|_| rule != ALL).map_or("*", |r| r.id.as_str());
            steps.push(Step::Exception { page: composed(scratch), rule: id.to_owned() });
            scratch.cells.text.truncate(length);
            scratch.fired.clear();
            rules = self.trace_rules(split, site, scratch, rule).1;
        }
        steps.append(&mut rules);
        if !self.mirrors().is_empty() {
            let before = composed(scratch);
            scratch.fired.clear();
            self.reduce_twin(scratch);
            self.tidy(&mut scratch.cells, &mut scratch.state);
            let is_mirror = |&r: &usize| site.rules.get(r).is_some_and(mirrors);
            if let Some(index) = scratch.fired.iter().map(usize::from).find(is_mirror) {
                let changes = vec![Change { key: "url".into(), before: Some(before), after: Some(composed(scratch)) }];
                let rule = Box::new(site.rules[index].clone());
                steps.push(Step::Rule { index, rule, outcome: Outcome::Fired { changes } });
            }
        }
        let from = composed(scratch);
        let Some(to) = self.seen_member(self.member(scratch)).map(str::to_owned) else {
            // Without rules a URL keeps a fragment that is no key.
            return normal.unwrap_or(from);
        };
        // A member whose own look-up was claimed by its own pairs stands for them; another one is an alias.
        let identity = scratch.state.identity;
        let mut other = Scratch::default();
        let own = url::normalize(to.as_bytes(), &mut other.cells.text).is_ok_and(|split| {
            self.reduce(&split, &mut other, None);
            other.state.identity == identity
        });
        steps.push(match own {
            true => Step::Seen { from, to: to.clone() },
            false => Step::Alias { from, to: to.clone() },
        });
        to
    }

    fn trace_rules(&self, split: &Split, site: &SiteRules, scratch: &mut Scratch, without: u16) -> (Pairs, Vec<Step>) {
        scratch.cells.cut(split, self.template.cut);
        self.code_cells(&mut scratch.cells, &mut scratch.state, false, None);
        let keys = pairs(scratch);
        let mut steps = Vec::new();
        for (index, (program, rule)) in self.template.programs.iter().zip(&site.rules).enumerate() {
            if index == usize::from(without) || without == ALL || mirrors(rule) {
                continue;
            }
            let before = pairs(scratch);
            let outcome = if let Some(at) = self.template.stopped(program, &scratch.state) {
                let constraint = rule.scope[at].clone();
                let found = value(&before, &constraint.key);
                Outcome::Stopped { constraint, found }
            } else if self.run(program, &mut scratch.cells, &mut scratch.state) {
                scratch.fired.add(index as u16);
                self.pay(&mut scratch.cells, &mut scratch.state);
                Outcome::Fired { changes: changes(rule, &before, &pairs(scratch)) }
            } else {
                self.idle(program, rule, &before)
            };
            steps.push(Step::Rule { index, rule: Box::new(rule.clone()), outcome });
        }
        self.tidy(&mut scratch.cells, &mut scratch.state);
        (keys, steps)
    }

    /// Why a rule whose constraints hold changed nothing.
    fn idle(&self, program: &Program, rule: &Rule, before: &Pairs) -> Outcome {
        if !program.is_form() {
            return Outcome::NoChange;
        }
        let checked = || rule.scope.iter().zip(part(&self.template.checks, program.checks));
        let is_named = |key: &str| checked().any(|(c, (_, check))| c.key == key && *check != Check::Absent);
        match before.iter().find(|(key, _)| !is_named(key)) {
            Some((key, _)) => Outcome::OtherKey { key: key.clone() },
            None => Outcome::Unfit { reason: "a value cannot stand where the rule would put it".into() },
        }
    }
}

/// A rule on whole directories; those run behind the others.
fn mirrors(rule: &Rule) -> bool {
    rule.scope.iter().any(|c| c.key == PREFIX)
}

/// The keys whose value changed: those that the rule names in its order, then the others.
fn changes(rule: &Rule, before: &Pairs, after: &Pairs) -> Vec<Change> {
    let named = rule.operations.iter().map(|o| &o.0);
    let mut out: Vec<Change> = Vec::new();
    for key in named.chain(before.iter().chain(after).map(|pair| &pair.0)) {
        let (before, after) = (value(before, key), value(after, key));
        if before != after && out.iter().all(|c| c.key != *key) {
            out.push(Change { key: key.clone(), before, after });
        }
    }
    out
}

fn value(pairs: &Pairs, key: &str) -> Option<String> {
    pairs.iter().find(|pair| pair.0 == key).map(|pair| pair.1.clone())
}

fn pairs(scratch: &Scratch) -> Pairs {
    let cells = &scratch.cells;
    let text = |cell| String::from_utf8_lossy(cells.value(cell)).into_owned();
    cells.list.iter().filter(|c| c.key != GONE).map(|c| (cells.key(c).to_string(), text(c))).collect()
}

fn composed(scratch: &Scratch) -> String {
    let mut out = Vec::new();
    url::compose(&scratch.cells, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
