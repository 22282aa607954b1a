//! Lines of the catalogue of platforms in the ordered loop.
//!
//! A line is a rule that precedes the records of the site ([`crate::platforms`]). It is tested as it
//! will act: on all rows, those in its scope with the new values, the others as they are. By default it
//! needs evidence as an operation of the normalization catalogue does: with its prior, three good
//! observations of three clusters and none against them are enough. Sections have no vote: its scope is
//! a script.
//!
//! Lines that act provisionally need no evidence: they come behind all that was learned, and act unless
//! rows of two clusters fall together.

use super::Training;
use super::covering::Covering;
use super::evidence::{Bound, Groups};
use super::operations::Map;
use super::proposal::{Action, Adopted, AdoptedLine};
use super::section_set::SectionSet;
use crate::platforms::{Catalogue, Placed, place, recognise};
use crate::rules::platforms::{Platforms, Recognised};
use crate::rules::{Constraint, Operation, Rule, Tokens};
use crate::url::Key;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The programs of a site, and their lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// Programs that the site runs.
    pub found: Vec<Recognised>,
    /// Their lines, in their directories.
    pub placed: Vec<Placed>,
    /// Lines act before any evidence.
    pub provisional: bool,
}

/// Rows, and the maps of their values.
type Change = (Vec<u32>, Vec<(usize, Map)>);

/// The programs that a site runs, and whether the links of one of them separate parameters by `;`.
pub fn programs(training: &Training, params: &Platforms) -> (Vec<Recognised>, bool) {
    static BUILT_IN: LazyLock<recognise::Signatures> =
        LazyLock::new(|| recognise::Signatures::new(Catalogue::built_in()));
    let own;
    let signatures = match params.own.is_empty() {
        true => &*BUILT_IN,
        false => {
            own = recognise::Signatures::new(&Catalogue::named(&params.own));
            &own
        }
    };
    let urls = (0..training.len()).filter_map(|row| training.normal(row)).filter(|url| !url.has_user());
    let mut found = recognise::recognise(urls, signatures, params);
    found.extend(params.named.iter().map(|program| Recognised {
        program: program.clone(),
        directory: "/".to_owned(),
        hosts: Vec::new(),
        met: 0,
        urls: 0,
    }));
    found.sort();
    found.dedup_by(|b, a| (&a.program, &a.directory) == (&b.program, &b.directory));
    if found.is_empty() {
        return (found, false);
    }
    let catalogue = Catalogue::named(&params.own);
    let semicolons =
        found.iter().filter_map(|found| catalogue.program(&found.program)).any(|program| program.semicolons);
    (found, semicolons)
}

/// The lines of programs, for URLs that are tokenized with these tokens; lines that are not tested only where
/// lines act provisionally.
pub fn place_all(found: Vec<Recognised>, params: &Platforms, tokens: &Tokens) -> Lines {
    if found.is_empty() {
        return Lines::default();
    }
    let catalogue = Catalogue::named(&params.own);
    let mut placed: Vec<Placed> = Vec::new();
    for program in &found {
        let lines = catalogue.lines_of(&program.program).filter_map(|line| place(line, program, tokens.tokenizer()));
        placed.extend(lines.filter(|line| line.tested || params.provisional));
    }
    Lines { found, placed, provisional: params.provisional }
}

impl Covering {
    /// Adopts the lines that the rows support, or, `provisional`, those that no rows contradict; true where
    /// rows were joined.
    pub(super) fn adopt_lines(&mut self, provisional: bool) -> bool {
        let before = self.alive.len();
        for placed in std::mem::take(&mut self.lines) {
            if !self.adopt_line(&placed, provisional, None) {
                self.lines.push(placed);
            }
        }
        if !provisional && self.alive.len() == before {
            self.adopt_together();
        }
        self.alive.len() < before
    }

    /// Adopts lines that the rows support together: software that writes its defaults out writes them all,
    /// so that hardly two URLs differ in one line alone. Each line gets the evidence of all, and the proof
    /// counts it by itself.
    fn adopt_together(&mut self) {
        let is_candidate = |line: &&Placed| line.tested && !self.is_written_out(line);
        let lines: Vec<Placed> = self.lines.iter().filter(is_candidate).cloned().collect();
        let mut changes: Vec<Change> = Vec::new();
        for placed in &lines {
            let maps = self.line_maps(&placed.operations);
            changes.push((self.changed(&placed.scope, &maps), maps));
        }
        let groups = self.line_groups(&changes);
        if !groups.accepted(Bound::operation(&self.thresholds).allowing(self.noise), self.thresholds.prior) {
            return;
        }
        let is_right = |(&row, &group): (&u32, &u32)| (groups.good[group as usize] > 0).then_some(row);
        let right: BTreeSet<u32> = groups.rows.iter().zip(&groups.group).filter_map(is_right).collect();
        for (placed, (rows, _)) in lines.iter().zip(&changes) {
            if rows.iter().any(|row| right.contains(row)) && self.adopt_line(placed, false, Some(&groups)) {
                self.lines.retain(|line| line != placed);
            }
        }
    }

    /// True for a line that leaves out a default which nearly all URLs write out: `main_page=index` of a
    /// shop whose links all have it. The few URLs without would decide the canonical URL of all, and make
    /// it one that was hardly met; another sample may have none of them (crawl-store: 15 % of the canonical
    /// URLs moved for eight URLs of 3,338).
    fn is_written_out(&self, placed: &Placed) -> bool {
        placed.operations.iter().any(|(key, operation)| {
            let Operation::Classes(pairs) = operation else { return false };
            let [(Some(value), None)] = &pairs[..] else { return false };
            let Some(column) = Key::parse(key).and_then(|key| self.columns.column(&key)) else { return false };
            let Some(written) = self.columns.find(column, value.as_bytes()) else { return false };
            if placed.scope.iter().any(|constraint| constraint.key == *key) {
                return false;
            }
            let mut urls = [0u64; 2];
            for row in self.in_scope(&placed.scope) {
                let code = self.columns.code(column, row);
                if code == 0 || code == written {
                    urls[usize::from(code == written)] += u64::from(self.columns.weight[row as usize]);
                }
            }
            urls[1] > urls[0] * self.thresholds.line_written
        })
    }

    /// Tests a line and adopts it where it holds; with `together`, the evidence is that of the lines
    /// adopted with it.
    pub(super) fn adopt_line(&mut self, placed: &Placed, provisional: bool, together: Option<&Groups>) -> bool {
        if !provisional && !placed.tested || self.is_written_out(placed) {
            return false;
        }
        let maps = self.line_maps(&placed.operations);
        let change = [(self.changed(&placed.scope, &maps), maps)];
        let groups = self.line_groups(&change);
        let [(rows, maps)] = change;
        let bound = Bound::operation(&self.thresholds).allowing(self.noise);
        let holds = match (provisional, together) {
            (true, _) => groups.totals().1 == 0,
            (false, Some(_)) => bound.allows(groups.totals().0, groups.totals().1, self.thresholds.prior),
            (false, None) => groups.accepted(bound, self.thresholds.prior),
        };
        if !holds {
            return false;
        }
        self.adopted_lines += 1;
        let shown = together.unwrap_or(&groups);
        let ((good, bad), clusters) = (shown.totals(), shown.clusters());
        let (examples, pairs) = (self.examples(shown), self.pairs(shown));
        self.rewrite(&rows, &maps);
        self.join(&groups);
        let line = AdoptedLine { placed: placed.clone(), provisional };
        self.rules.push(Adopted {
            listed: Vec::new(),
            scope: Vec::new(),
            sections: SectionSet::ALL,
            action: Action::Ignore,
            maps,
            good,
            bad,
            prior: if provisional { 0 } else { self.thresholds.prior },
            clusters,
            pairs,
            examples,
            line: Some(line),
        });
        true
    }

    /// The rows in which all constraints hold. A key without a column is absent from all rows but one.
    fn in_scope(&self, scope: &[Constraint]) -> Vec<u32> {
        let mut rows = self.alive.clone();
        for Constraint { key, test } in scope {
            let Some(key) = Key::parse(key).and_then(|key| self.columns.column(&key)) else {
                if !test.holds(None) {
                    return Vec::new();
                }
                continue;
            };
            let codes = 0..self.columns.codes_len(key) as u32;
            let holds: Vec<bool> =
                codes.map(|code| test.holds((code != 0).then(|| self.columns.value(key, code)))).collect();
            rows.retain(|&row| holds[self.columns.code(key, row) as usize]);
        }
        rows
    }

    /// The rows in which all constraints hold and that the maps change.
    fn changed(&self, scope: &[Constraint], maps: &[(usize, Map)]) -> Vec<u32> {
        let mut rows = self.in_scope(scope);
        let changes = |row: u32| {
            maps.iter().any(|(key, map)| {
                let code = self.columns.code(*key, row);
                map.get(code) != code
            })
        };
        rows.retain(|&row| changes(row));
        rows
    }

    /// The operations as maps over codes; keys without a column are passed over.
    fn line_maps(&mut self, operations: &[(String, Operation)]) -> Vec<(usize, Map)> {
        let mut maps = Vec::new();
        for (key, operation) in operations {
            let Some(key) = Key::parse(key).and_then(|key| self.columns.column(&key)) else { continue };
            let mut table = Vec::new();
            for code in 0..self.columns.codes_len(key) as u32 {
                let new = operation.value((code != 0).then(|| self.columns.value(key, code)));
                table.push(new.map_or(0, |value| self.columns.intern(key, &value)));
            }
            maps.push((key, Map::Table(table)));
        }
        maps
    }

    /// Groups of all rows, those of each change with new values. No row and key is in two changes.
    fn line_groups(&mut self, changes: &[Change]) -> Groups {
        if changes.iter().all(|(rows, _)| rows.is_empty()) {
            return Groups::default();
        }
        self.tests += 1;
        let mut identities: Vec<u64> = self.columns.hash.clone();
        for (rows, (key, map)) in changes.iter().flat_map(|(rows, maps)| maps.iter().map(move |map| (rows, map))) {
            let (codes, values) = (&self.columns.codes[*key], &self.columns.values[*key].hash);
            for &row in rows {
                let code = codes[row as usize];
                let identity = &mut identities[row as usize];
                *identity = identity.wrapping_add(values[map.get(code) as usize]).wrapping_sub(values[code as usize]);
            }
        }
        let pairs = self.alive.iter().map(|&row| (identities[row as usize], row));
        self.sorter.group(pairs, &self.columns.label)
    }
}

/// Removes provisional rules that do no more than an earlier rule does everywhere or under some of
/// their constraints.
pub fn without_copies(rules: &mut Vec<Rule>) {
    let covers = |one: &Rule, rule: &Rule| {
        !one.closed
            && one.scope.iter().all(|constraint| rule.scope.contains(constraint))
            && rule.operations.iter().all(|operation| one.operations.contains(operation))
    };
    let mut at = 0;
    while at < rules.len() {
        let is_copy = rules[at].provisional && rules[..at].iter().any(|one| covers(one, &rules[at]));
        if is_copy {
            rules.remove(at);
        } else {
            at += 1;
        }
    }
}
