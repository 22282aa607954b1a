//! Rules of an earlier result (`learn --previous`) as the first proposals of the ordered loop.
//!
//! Two samples of a crawl show the same pages to be equal, but the loop may write that down as other
//! rules, since which proposal comes first depends on counts; a page then moves to another canonical
//! URL although nothing was learned about it. So the rules of an earlier result are proposed before all
//! others, in their order. Each must pass, on the records of this run, the tests that any proposal of
//! its kind must pass; sections and values are those of this run, and so is what they become, but for the
//! value that represents all others of an ignored key: it is that of the earlier result where this run does
//! not show that it is another page. Rules between forms and mirrors are found later, where the earlier result
//! decides their direction ([`hints`](super::hints)).

use super::conditions::{self};
use super::covering::Covering;
use super::operations::{self, FAMILIES, Family};
use super::preferred::Again;
use super::prefixes;
use super::proposal::{Action, Condition, Proposal, Scope};
use crate::platforms::Placed;
use crate::rules::{Constraint, Kind, Operation, Representative, Rule, SECTION, Test};
use crate::url::{Fixed, Key, section};

/// Rules of an earlier result that are proposed, the first ones: a bound of work. No site of the public
/// corpora has a tenth of it.
const MOST: usize = 1_000;

impl Covering {
    /// Adopts the rules of the earlier result that hold; true where one did.
    ///
    /// O(rules x rows).
    pub(super) fn adopt_earlier(&mut self) -> bool {
        let before = self.rules.len();
        for rule in std::mem::take(&mut self.columns.preferred.earlier).into_iter().take(MOST) {
            if rule.line.is_some() {
                self.adopt_line_again(&rule);
                continue;
            }
            for proposal in self.proposals_of(&rule) {
                let adopted = self.rules.len();
                self.columns.preferred.again = self.again(&rule, &proposal.scope);
                self.adopt(proposal);
                if self.rules.len() > adopted {
                    break;
                }
            }
        }
        self.columns.preferred.again = Vec::new();
        self.rules.len() > before
    }

    /// Values that a rule which ignores keys writes. That the value may represent all others is what this run
    /// tests. Hosts and schemes are those of this run, and so are the names of sections: a rule holds in those
    /// where it was shown.
    fn again(&mut self, rule: &Rule, scope: &Scope) -> Vec<Again> {
        if rule.kind != Kind::Ignore || rule.operations.iter().any(|of| shortened_to(of).is_some()) {
            return Vec::new();
        }
        let rows = conditions::matching(&self.columns, &self.alive, scope);
        let mut out = Vec::new();
        for (key, operation) in &rule.operations {
            let Some(column) = self.column_of(key) else { continue };
            let (value, everywhere) = match operation {
                Operation::Ignore(Representative::WherePresent(value)) => (Some(value), false),
                Operation::Ignore(Representative::Everywhere(value)) => (Some(value), true),
                Operation::Ignore(Representative::LeftOut) => (None, true),
                // The values that were shown to say nothing.
                Operation::Classes(pairs) => {
                    let Some((_, to)) = pairs.first().filter(|(_, to)| pairs.iter().all(|of| of.1 == *to)) else {
                        continue;
                    };
                    (to.as_ref(), pairs.iter().any(|(from, _)| from.is_none()))
                }
                _ => continue,
            };
            let code = value.map_or(0, |value| self.columns.intern(column, value.as_bytes()));
            let is_seen = rows.iter().any(|&row| self.columns.code(column, row) == code);
            let (name, tokens) = (&self.columns.keys[column], &self.columns.tokens);
            let names_section = match (name.as_path(), value) {
                (Some((0, _)), Some(value)) => {
                    tokens.section_of_path(format!("/{value}/x").as_bytes()) != section::OTHER.as_bytes()
                }
                (Some((1, _)), Some(_)) => tokens.sections.iter().any(|section| section.contains('/')),
                _ => false,
            };
            if !name.is(Fixed::HOST) && !name.is(Fixed::SCHEME) && (is_seen || !names_section) {
                out.push(Again { key: column, code, everywhere, is_seen });
            }
        }
        out
    }

    /// The line of the catalogue that a rule of the earlier result is an instance of, if it is one of this
    /// run, with the operations that it has now.
    fn adopt_line_again(&mut self, rule: &Rule) {
        let is_same = |placed: &Placed| {
            Some(&placed.line) == rule.line.as_ref()
                && placed.scope == rule.scope
                && placed.operations == rule.operations
        };
        let Some(at) = self.lines.iter().position(is_same) else { return };
        let placed = self.lines.remove(at);
        if !self.adopt_line(&placed, false, None) {
            self.lines.insert(at, placed);
        }
    }

    /// The proposals that would make a rule: several where a function is tried on more than one family of
    /// keys. None for rules that are no operations of the loop, and for those that ask for a value that no
    /// record of this run has.
    fn proposals_of(&self, rule: &Rule) -> Vec<Proposal> {
        let keys: Vec<usize> = rule.operations.iter().filter_map(|(key, _)| self.column_of(key)).collect();
        let cut = rule.operations.iter().find_map(shortened_to);
        let scope = match self.scope_of(rule, cut.is_some()) {
            Some(scope) if !rule.closed && !keys.is_empty() => scope,
            _ => return Vec::new(),
        };
        let proposal = |action, keys: Vec<usize>, classes, prior| Proposal {
            scope: scope.clone(),
            action,
            keys,
            classes,
            prior,
            score: 0,
        };
        match (rule.kind, cut) {
            (Kind::Ignore, Some(kept)) => {
                vec![proposal(Action::Prefix(kept), prefixes::keys(&self.columns, kept), None, 0)]
            }
            (Kind::Ignore, None) => {
                let prior = operations::ignore_prior(&self.columns, &keys, &self.thresholds);
                vec![proposal(Action::Ignore, keys, None, prior)]
            }
            (Kind::Classes, _) => {
                let has_host = keys.iter().any(|&key| self.columns.keys[key].is(Fixed::HOST));
                let prior = if has_host { self.thresholds.host_prior } else { 0 };
                let tables = rule.operations.iter().map(|(key, operation)| self.table_of(key, operation));
                let tables: Option<Vec<Vec<u32>>> = tables.collect();
                tables.into_iter().map(|tables| proposal(Action::Classes, keys.clone(), Some(tables), prior)).collect()
            }
            (Kind::Function, _) => {
                let is_of = |family: &Family| {
                    let is_own = |of: &Operation| match of {
                        Operation::Apply(function) => *function == family.function,
                        // Values that were shown, which are those of this run.
                        of => matches!(of, Operation::Classes(_)),
                    };
                    rule.operations.iter().all(|of| is_own(&of.1))
                        && keys.iter().all(|&key| family.contains(&self.columns.keys[key]))
                };
                let all = |family: &Family| -> Vec<usize> {
                    (0..self.columns.keys.len()).filter(|&key| family.contains(&self.columns.keys[key])).collect()
                };
                let families = FAMILIES.into_iter().filter(is_of);
                let prior = |family: &Family| family.prior(&self.thresholds);
                families.map(|of| proposal(Action::Function(of), all(&of), None, prior(&of))).collect()
            }
            (Kind::Form | Kind::ConstantPage | Kind::Mirror, _) => Vec::new(),
        }
    }

    fn column_of(&self, key: &str) -> Option<usize> {
        Key::parse(key).and_then(|key| self.columns.column(&key))
    }

    /// The conditions of a rule on keys other than its sections, which are those of this run; the depths of
    /// a rule that cuts the path follow from where it cuts. Values that it excepts are left to this run,
    /// too: with enough of them named, any rule would hold on the others. The empty value is none of these:
    /// that a parameter is filled is a condition that any rule may have. `None` where a value is unknown.
    fn scope_of(&self, rule: &Rule, is_cut: bool) -> Option<Scope> {
        let depth = Key::Fixed(Fixed::DEPTH).to_string();
        let excepts = |test: &Test| match test {
            Test::NoneOf(values) => *values != [""],
            test => matches!(test, Test::Not(_)),
        };
        let is_own = |of: &&Constraint| of.key != SECTION && !(is_cut && of.key == depth) && !excepts(&of.test);
        let own = rule.scope.iter().filter(is_own);
        own.map(|Constraint { key, test }| {
            let column = self.column_of(key)?;
            let code = |value: &String| self.columns.find(column, value.as_bytes());
            let condition = match test {
                Test::Equals(value) => Condition::Is(code(value)?),
                Test::Present => Condition::Present,
                Test::Absent => Condition::Absent,
                Test::Not(values) => Condition::Not(values.iter().filter_map(code).collect()),
                Test::NoneOf(values) => Condition::None(values.iter().filter_map(code).collect()),
                Test::OneOf(values) => Condition::OneOf(values.iter().map(code).collect::<Option<_>>()?),
            };
            Some((column, condition))
        })
        .collect()
    }

    /// The map of the values of a key that mean the same, as far as they are values of this run.
    fn table_of(&self, key: &str, operation: &Operation) -> Option<Vec<u32>> {
        let (column, Operation::Classes(pairs)) = (self.column_of(key)?, operation) else { return None };
        let code = |value: &Option<String>| match value {
            Some(value) => self.columns.find(column, value.as_bytes()),
            None => Some(0),
        };
        let mut table: Vec<u32> = (0..self.columns.codes_len(column) as u32).collect();
        for (from, to) in pairs.iter().filter_map(|(from, to)| Some((code(from)?, code(to)?))) {
            table[from as usize] = to;
        }
        Some(table)
    }
}

/// The segments that a rule keeps of the path, where the operation shortens it.
fn shortened_to((key, operation): &(String, Operation)) -> Option<u8> {
    let Operation::Classes(pairs) = operation else { return None };
    let (_, to) = pairs.first().filter(|_| *key == Key::Fixed(Fixed::DEPTH).to_string())?;
    to.as_ref()?.parse().ok()
}
