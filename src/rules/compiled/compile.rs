//! Rules into programs: keys get slots, values get codes.

use super::{ABSENT, Check, CompiledSite, Fill, NO_SLOT, Program, Slot, Step};
use crate::model::hash64_seeded;
use crate::rules::types::{Constraint, Operation, Representative, Rule, SiteRules, Test};
use crate::url::keys::HOST_SUB;
use crate::url::{Fixed, Key};
use std::collections::HashMap;

impl CompiledSite {
    /// Compiles; operations on keys that are not keys are left out (a rule file of a later minor version).
    pub fn new(site: &SiteRules) -> CompiledSite {
        let rank = |(i, name): (usize, &String)| (Key::Query(name.clone()).seed(), i as u32);
        let mut out = CompiledSite {
            cut: site.tokens.cut(),
            fixed: [NO_SLOT; 256],
            named: HashMap::default(),
            keys: Vec::new(),
            seeds: Vec::new(),
            coded: Vec::new(),
            ranks: site.tokens.query_order.iter().enumerate().map(rank).collect(),
            codes: HashMap::default(),
            values: vec![(0, 0); 2],
            pool: Vec::new(),
            programs: Vec::new(),
            mirrors: Vec::new(),
            exceptions: HashMap::default(),
            lookups: HashMap::default(),
        };
        out.programs = site.rules.iter().map(|rule| out.program(rule).unwrap_or_else(Program::never)).collect();
        out
    }

    pub(super) fn slot(&mut self, key: &Key) -> Slot {
        let seed = key.seed();
        let known = match key {
            Key::Fixed(fixed) => Some(self.fixed[usize::from(fixed.0)]).filter(|&s| s != NO_SLOT),
            _ => self.named.get(&seed).copied(),
        };
        known.unwrap_or_else(|| {
            let slot = self.keys.len() as Slot;
            self.keys.push(key.clone());
            self.seeds.push(seed);
            self.coded.push(false);
            match key {
                Key::Fixed(fixed) => self.fixed[usize::from(fixed.0)] = slot,
                _ => {
                    self.named.insert(seed, slot);
                }
            }
            slot
        })
    }

    pub(super) fn code(&mut self, slot: Slot, value: &str) -> u32 {
        self.coded[usize::from(slot)] = true;
        let hash = hash64_seeded(value.as_bytes(), self.seeds[usize::from(slot)]);
        let (pool, values) = (&mut self.pool, &mut self.values);
        *self.codes.entry(hash).or_insert_with(|| {
            let start = pool.len() as u32;
            pool.extend_from_slice(value.as_bytes());
            values.push((start, pool.len() as u32));
            values.len() as u32 - 1
        })
    }

    pub(super) fn program(&mut self, rule: &Rule) -> Option<Program> {
        let mut checks = Vec::new();
        for Constraint { key, test } in &rule.scope {
            let slot = self.slot(&Key::parse(key)?);
            let check = match test {
                Test::Equals(value) => Check::Is(self.code(slot, value)),
                Test::OneOf(values) => Check::OneOf(values.iter().map(|v| self.code(slot, v)).collect()),
                Test::NoneOf(values) => Check::NoneOf(values.iter().map(|v| self.code(slot, v)).collect()),
                Test::Present => Check::Present,
                Test::Absent => Check::Absent,
            };
            checks.push((slot, check));
        }
        if rule.closed {
            return self.form_program(rule, checks);
        }
        let mut steps = Vec::new();
        for (key, operation) in &rule.operations {
            let slot = self.slot(&Key::parse(key)?);
            steps.push(match operation {
                Operation::Ignore(Representative::LeftOut) => Step::Drop(slot),
                Operation::Ignore(Representative::WherePresent(v)) => Step::Set(slot, self.code(slot, v), false),
                Operation::Ignore(Representative::Everywhere(v)) | Operation::Keep(v) => {
                    Step::Set(slot, self.code(slot, v), true)
                }
                Operation::Classes(pairs) => {
                    let mut code = |v: &Option<String>| v.as_ref().map_or(ABSENT, |v| self.code(slot, v));
                    let mut map: Vec<(u32, u32)> = pairs.iter().map(|(a, b)| (code(a), code(b))).collect();
                    map.sort_unstable();
                    Step::Map(slot, map)
                }
                Operation::Apply(function) => Step::Apply(slot, *function),
                Operation::Replace(_) => return None,
            });
        }
        Some(Program { checks, steps, target: None })
    }

    pub(super) fn form_program(&mut self, rule: &Rule, checks: Vec<(Slot, Check)>) -> Option<Program> {
        let host = self.slot(&Key::Fixed(Fixed::HOST));
        let mut target = Vec::new();
        for (key, operation) in &rule.operations {
            let (key, to_sub) =
                if key == HOST_SUB { (Key::Fixed(Fixed::HOST), true) } else { (Key::parse(key)?, false) };
            let slot = self.slot(&key);
            let fill = match operation {
                Operation::Keep(value) => Fill::Constant(self.code(slot, value)),
                Operation::Replace(from) if from == HOST_SUB => Fill::FromSub(host),
                Operation::Replace(from) => {
                    let value = self.slot(&Key::parse(from)?);
                    if to_sub { Fill::ToSub { value, host } } else { Fill::From(value) }
                }
                _ => return None,
            };
            target.push((key.clone(), key.seed(), fill));
        }
        target.sort_by(|a, b| a.0.cmp(&b.0));
        Some(Program { checks, steps: Vec::new(), target: Some(target) })
    }
}

impl Program {
    /// Of a rule this version cannot read.
    pub(super) fn never() -> Program {
        Program { checks: Vec::new(), steps: Vec::new(), target: None }
    }
}
