//! Rules into programs: keys get slots, values get codes.

use super::{ABSENT, Check, CompiledSite, Constant, Fill, Gate, NO_RULE, NO_SLOT, Program, Slot, Step, bit};
use crate::model::hash64_seeded;
use crate::rules::types::Function;
use crate::rules::types::{Constraint, Operation, Representative, Rule, SiteRules, Test};
use crate::url::keys::{HOST_SUB, MAX_SEGMENTS};
use crate::url::{Cell, Cells, Cut, Fixed, Key, Part, normalize};
use std::collections::HashMap;

/// Rules of a site up to which it is worked out which of them wake which, at the cost of their square; the URLs of a
/// site with more are all cut again.
const MAX_WOKEN: usize = 512;

impl CompiledSite {
    /// Compiles. Total: a rule with a key that is none, or beyond the 65,534 rules and 65,535 keys that a site may have,
    /// never fires.
    pub fn new(site: &SiteRules) -> CompiledSite {
        let rank = |(i, name): (usize, &String)| (Key::Query(name.clone()).seed(), (NO_SLOT, i as u32));
        let mut out = CompiledSite {
            cut: site.tokens.cut(),
            fixed: [NO_SLOT; 256],
            named: site.tokens.query_order.iter().enumerate().map(rank).collect(),
            keys: Vec::new(),
            seeds: Vec::new(),
            coded: Vec::new(),
            codes: HashMap::default(),
            values: vec![Constant::default(); 2],
            pool: Vec::new(),
            identified: !site.exceptions.is_empty() || !site.seen.is_empty(),
            programs: Vec::new(),
            mirrors: Vec::new(),
            gates: Vec::new(),
            again: Vec::new(),
            exceptions: HashMap::default(),
            lookups: HashMap::default(),
            seen: site.seen.clone(),
            spans: Default::default(),
        };
        let rules = site.rules.iter().take(usize::from(NO_RULE));
        out.programs = rules.map(|rule| out.program(rule).unwrap_or_else(Program::never)).collect();
        out.gates = out.programs.iter().map(Program::gate).collect();
        if out.programs.len() <= MAX_WOKEN {
            out.again = (0..out.programs.len()).map(|at| out.woken(at)).collect();
        }
        out
    }

    /// The slot of a key; `None` where a file names more keys than there are slots.
    pub(super) fn slot(&mut self, key: &Key) -> Option<Slot> {
        let seed = key.seed();
        let known = match key {
            Key::Fixed(fixed) => Some(self.fixed[usize::from(fixed.0)]).filter(|&s| s != NO_SLOT),
            _ => self.named.get(&seed).map(|n| n.0).filter(|&s| s != NO_SLOT),
        };
        if known.is_some() || self.keys.len() >= usize::from(NO_SLOT) {
            return known;
        }
        let slot = self.keys.len() as Slot;
        self.keys.push(key.clone());
        self.seeds.push(seed);
        self.coded.push(false);
        match key {
            Key::Fixed(fixed) => self.fixed[usize::from(fixed.0)] = slot,
            _ => self.named.entry(seed).or_insert((NO_SLOT, u32::MAX)).0 = slot,
        }
        Some(slot)
    }

    pub(super) fn code(&mut self, slot: Slot, value: &str) -> u32 {
        self.coded[usize::from(slot)] = true;
        let hash = hash64_seeded(value.as_bytes(), self.seeds[usize::from(slot)]);
        let cut = self.cut;
        let (pool, values, key) = (&mut self.pool, &mut self.values, &self.keys[usize::from(slot)]);
        *self.codes.entry(hash).or_insert_with(|| {
            let start = pool.len() as u32;
            pool.extend_from_slice(value.as_bytes());
            values.push(Constant { start, end: pool.len() as u32, hash, plain: plain(key, value, cut) });
            values.len() as u32 - 1
        })
    }

    pub(super) fn program(&mut self, rule: &Rule) -> Option<Program> {
        let mut checks = Vec::new();
        for Constraint { key, test } in &rule.scope {
            let slot = self.slot(&Key::parse(key)?)?;
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
            let slot = self.slot(&Key::parse(key)?)?;
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
        let host = self.slot(&Key::Fixed(Fixed::HOST))?;
        let mut target = Vec::new();
        for (key, operation) in &rule.operations {
            let (key, to_sub) =
                if key == HOST_SUB { (Key::Fixed(Fixed::HOST), true) } else { (Key::parse(key)?, false) };
            let slot = self.slot(&key)?;
            let fill = match operation {
                Operation::Keep(value) => Fill::Constant(self.code(slot, value)),
                Operation::Replace(from) if from == HOST_SUB => Fill::FromSub(host),
                Operation::Replace(from) => {
                    let value = self.slot(&Key::parse(from)?)?;
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

/// True when a URL with this value of this key, composed and cut again, has it back and nothing else: no separator, no
/// escape that stage 1 would write otherwise. For a head: where it is the whole segment. False for keys not asked for.
fn plain(key: &Key, value: &str, cut: Cut) -> bool {
    // Each probe with the number of its keys.
    let (key, probes) = match key {
        Key::Fixed(Fixed::SCHEME) => return value == "http" || value == "https",
        Key::Fixed(Fixed::TRAILING_SLASH) => return value == "/",
        Key::Fixed(Fixed::HOST) => (key.clone(), [(format!("http://{value}/"), 3), (format!("https://{value}/"), 3)]),
        Key::Fixed(fixed) if fixed.as_path().is_some_and(|(at, part)| part == Part::Head && at + 2 < MAX_SEGMENTS) => {
            let first = Key::Fixed(Fixed::path(0, Part::Head));
            (first, [(format!("http://a/{value}"), 4), (format!("http://a/{value}/b"), 5)])
        }
        Key::Query(name) if !name.is_empty() => {
            (key.clone(), [(format!("http://a/?{name}{value}"), 4), (format!("http://a/?b&{name}{value}&c"), 6)])
        }
        _ => return false,
    };
    let mut cells = Cells::default();
    probes.iter().all(|(probe, keys)| {
        let Ok(split) = normalize(probe.as_bytes(), &mut cells.text) else { return false };
        if cells.text != probe.as_bytes() {
            return false;
        }
        cells.cut(&split, cut);
        let own = |cell: &&Cell| cells.key(cell) == key && cells.value(cell) == value.as_bytes();
        cells.list.len() == *keys && cells.list.iter().filter(own).count() == 1
    })
}

impl CompiledSite {
    /// Programs that may fire anew after the program at `at` fired: those before it that look at what it writes, and
    /// itself where it may change what it wrote. Programs behind it come after it anyhow.
    fn woken(&self, at: usize) -> Vec<u16> {
        let program = &self.programs[at];
        let writes = |slot: Slot| program.target.is_some() || program.steps.iter().any(|s| s.slot() == slot);
        // A rule between forms counts the keys: it looks at all of them.
        let looks = |other: &Program| {
            other.target.is_some()
                || other.checks.iter().map(|c| c.0).chain(other.steps.iter().map(Step::slot)).any(writes)
        };
        let before = (0..at).filter(|&i| looks(&self.programs[i]));
        let anew = |step: &Step| match step {
            Step::Drop(_) | Step::Set(..) => false,
            Step::Map(_, map) => {
                map.iter().any(|(_, to)| map.binary_search_by_key(to, |m| m.0).is_ok_and(|i| map[i].1 != *to))
            }
            Step::Apply(_, function) => *function == Function::DropWww,
        };
        let itself = program.target.is_some() || program.steps.iter().any(anew);
        before.chain(itself.then_some(at)).map(|i| i as u16).collect()
    }
}

impl Step {
    pub(super) fn slot(&self) -> Slot {
        let (Step::Drop(slot) | Step::Set(slot, ..) | Step::Map(slot, _) | Step::Apply(slot, _)) = self;
        *slot
    }

    /// The step may act on an absent key.
    fn adds(&self) -> bool {
        match self {
            Step::Set(_, _, everywhere) => *everywhere,
            Step::Map(_, map) => map.first().is_some_and(|m| m.0 == ABSENT),
            Step::Drop(_) | Step::Apply(..) => false,
        }
    }
}

impl Program {
    fn gate(&self) -> Gate {
        let mut gate = Gate::default();
        for (slot, check) in &self.checks {
            match check {
                Check::Absent => gate.absent |= bit(*slot),
                _ => gate.present |= bit(*slot),
            }
        }
        if self.target.is_none() && !self.steps.iter().any(|s| s.adds() || bit(s.slot()) == 0) {
            gate.any = self.steps.iter().fold(0, |any, step| any | bit(step.slot()));
        }
        gate
    }

    /// Of a rule this version cannot read.
    pub(super) fn never() -> Program {
        Program { checks: Vec::new(), steps: Vec::new(), target: None }
    }
}
