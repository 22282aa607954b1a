//! Rules into programs: keys get slots, values get codes.

use super::hosts::Hosts;
use super::index::{Index, PARAM_SEED, QUERY_SEED, fixed_seed};
use super::{
    ABSENT, Check, Class, Column, CompiledSite, Constant, Fill, Gate, NO_FIXED, NO_RANK, NO_RULE, NO_SLOT, OTHER, Own,
    Program, Slot, Step, Template, bit, part, stays,
};
use crate::rules::functions::{ANY, holds, needs};
use crate::rules::types::Function;
use crate::rules::types::{Constraint, Operation, Representative, Rule, SiteRules, Test};
use crate::url::hash::hash;
use crate::url::keys::{HOST_SUB, MAX_SEGMENTS};
use crate::url::{Cell, Cells, Cut, Fixed, Key, KeyRef, Part, normalize};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::Arc;

/// Rules of a site up to which it is worked out which of them wake which, at the cost of their square; the URLs of a
/// site with more are all cut again.
const MAX_WOKEN: usize = 512;

/// Code of the first host.
pub(super) const FIRST_HOST: usize = OTHER as usize + 1;

/// A site while its rules are read.
#[derive(Default)]
struct Builder {
    /// What stands in no list.
    site: Template,
    /// Hosts, in the order of their codes.
    hosts: Vec<Vec<u8>>,
    columns: Vec<Column>,
    values: Vec<Constant>,
    pool: Vec<u8>,
    programs: Vec<Program>,
    checks: Vec<(Slot, Check)>,
    steps: Vec<Step>,
    fills: Vec<(Slot, Fill)>,
    words: Vec<u32>,
    /// Column of each key.
    keys: HashMap<Key, Slot, FixedState>,
    /// Code of each value, by its hash.
    codes: HashMap<u64, u32, FixedState>,
    /// Slot of each value.
    slots: Vec<Slot>,
    probe: Probe,
}

/// URLs that try a value out.
#[derive(Default)]
struct Probe {
    url: Vec<u8>,
    cells: Cells,
}

impl CompiledSite {
    /// Compiles. Total: a rule with a key that is none, with a name of over 65,535 bytes, or beyond the 65,534 rules and
    /// 65,535 keys that a site may have, never fires.
    pub fn compile(site: &SiteRules) -> CompiledSite {
        let mut builder = Builder::default();
        builder.site.cut = site.cut();
        builder.site.identified = !site.exceptions.is_empty() || !site.seen.is_empty();
        builder.site.stays = stays::stays(site);
        builder.values = vec![Constant::default(); 2];
        builder.slots = vec![NO_SLOT; 2];
        let rules = || site.rules.iter().take(usize::from(NO_RULE));
        let local = site.local.iter().filter_map(|local| Key::parse(&local.key));
        let mut keys: Vec<Key> = rules().flat_map(keys).chain(local).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().for_each(|key| builder.column(key));
        builder.site.slots = builder.columns.len() as Slot;
        for (name, rank) in site.tokens.query_order.iter().zip(0..NO_RANK) {
            builder.rank(name, rank);
        }
        rules().for_each(|rule| builder.hosts(rule));
        builder.programs = rules().map(|rule| builder.program(rule).unwrap_or_default()).collect();
        let hosts: Vec<&[u8]> = builder.hosts.iter().map(Vec::as_slice).collect();
        let hosts = Hosts::new(&hosts);
        CompiledSite::new(Arc::new(builder.finish()), Own { hosts, pages: None })
    }
}

/// Values of this key are hosts.
pub(super) fn is_host(key: &str) -> bool {
    key == "host" || key == HOST_SUB
}

/// The keys that a rule mentions; a rule between forms may ask for the host.
fn keys(rule: &Rule) -> impl Iterator<Item = Key> {
    let scope = rule.scope.iter().map(|c| c.key.as_str());
    let sources = rule.operations.iter().filter_map(|(_, operation)| match operation {
        Operation::Replace(from) => Some(from.as_str()),
        _ => None,
    });
    let touched = rule.operations.iter().map(|o| o.0.as_str());
    let host = rule.closed.then_some(Key::Fixed(Fixed::HOST));
    scope.chain(sources).chain(touched).filter_map(Key::parse).chain(host)
}

impl Builder {
    /// Adds a column; keys come in their order, fixed ones first.
    fn column(&mut self, key: Key) {
        let at = self.columns.len();
        if at >= usize::from(NO_SLOT) {
            return;
        }
        let start = self.pool.len() as u32;
        let name = match &key {
            Key::Fixed(_) => 0,
            Key::Param(name) | Key::Query(name) => name.len(),
        };
        // No rule learned has a longer name.
        let Ok(length) = u16::try_from(name) else { return };
        let (class, seed) = match &key {
            Key::Fixed(Fixed(number)) => {
                let number = usize::from(*number);
                // They come first: nothing else stands in the pool yet.
                self.pool.resize(number + 1, NO_FIXED);
                self.pool[number] = at as u8;
                self.site.fixed = number as u16 + 1;
                (Class::Fixed(number as u8), fixed_seed(number as u8))
            }
            Key::Param(name) => {
                self.pool.extend_from_slice(name.as_bytes());
                (Class::Param, hash(name.as_bytes(), PARAM_SEED))
            }
            Key::Query(name) => {
                self.pool.extend_from_slice(name.as_bytes());
                (Class::Query, hash(name.as_bytes(), QUERY_SEED))
            }
        };
        self.columns.push(Column::new(seed, start, length, class));
        self.keys.insert(key, at as Slot);
    }

    /// Gives a query key its place in the usual order; of a name that comes twice the last place holds.
    fn rank(&mut self, name: &str, rank: u16) {
        let key = Key::Query(name.to_owned());
        if !self.keys.contains_key(&key) {
            self.column(key.clone());
        }
        if let Some(&at) = self.keys.get(&key) {
            self.columns[usize::from(at)].rank = rank;
        }
    }

    /// The slot of a key; `None` where a file names more keys than there are slots.
    fn slot(&self, key: &Key) -> Option<Slot> {
        self.keys.get(key).copied().filter(|&slot| slot < self.site.slots)
    }

    /// Codes the hosts that a rule names, before all other values.
    fn hosts(&mut self, rule: &Rule) {
        let Some(slot) = self.slot(&Key::Fixed(Fixed::HOST)) else { return };
        for Constraint { test, .. } in rule.scope.iter().filter(|c| is_host(&c.key)) {
            match test {
                Test::Equals(value) => self.host(slot, value),
                Test::OneOf(values) | Test::NoneOf(values) => values.iter().for_each(|value| self.host(slot, value)),
                Test::Present | Test::Absent => {}
            }
        }
        for (_, operation) in rule.operations.iter().filter(|o| is_host(&o.0)) {
            match operation {
                Operation::Ignore(Representative::WherePresent(value) | Representative::Everywhere(value))
                | Operation::Keep(value) => self.host(slot, value),
                Operation::Classes(pairs) => {
                    let values = pairs.iter().flat_map(|(from, to)| [from, to]).flatten();
                    values.for_each(|value| self.host(slot, value));
                }
                Operation::Ignore(Representative::LeftOut) | Operation::Apply(_) | Operation::Replace(_) => {}
            }
        }
    }

    fn host(&mut self, slot: Slot, host: &str) {
        let code = self.code(slot, host);
        if code as usize == FIRST_HOST + self.hosts.len() {
            self.hosts.push(host.as_bytes().to_vec());
            // What it is stands in the site; its code tells it apart.
            let value = &mut self.values[code as usize];
            self.pool.truncate(value.start as usize);
            value.hash = hash(&code.to_le_bytes(), fixed_seed(Fixed::HOST.0));
            (value.start, value.end) = (0, 0);
        }
    }

    fn code(&mut self, slot: Slot, value: &str) -> u32 {
        let column = &mut self.columns[usize::from(slot)];
        column.coded = true;
        let hash = hash(value.as_bytes(), column.seed);
        let (pool, values, cut, column) = (&mut self.pool, &mut self.values, self.site.cut, *column);
        let (slots, probe) = (&mut self.slots, &mut self.probe);
        *self.codes.entry(hash).or_insert_with(|| {
            let (class, name, start) = (column.class, column.name(), pool.len() as u32);
            pool.extend_from_slice(value.as_bytes());
            let name = part(pool, name);
            let (end, plain, holds) =
                (pool.len() as u32, probe.plain(class, name, value, cut), holds(value.as_bytes()));
            values.push(Constant { hash, start, end, row: 0, plain, holds });
            slots.push(slot);
            values.len() as u32 - 1
        })
    }

    fn words(&mut self, words: impl IntoIterator<Item = u32>) -> (u32, u32) {
        let from = self.words.len() as u32;
        self.words.extend(words);
        (from, self.words.len() as u32)
    }

    fn codes(&mut self, slot: Slot, values: &[String]) -> (u32, u32) {
        let codes: Vec<u32> = values.iter().map(|value| self.code(slot, value)).collect();
        self.words(codes)
    }

    fn program(&mut self, rule: &Rule) -> Option<Program> {
        let mut checks = Vec::new();
        for Constraint { key, test } in &rule.scope {
            let slot = self.slot(&Key::parse(key)?)?;
            let check = match test {
                Test::Equals(value) => Check::Is(self.code(slot, value)),
                Test::OneOf(values) => {
                    let (from, to) = self.codes(slot, values);
                    Check::OneOf(from, to)
                }
                Test::NoneOf(values) => {
                    let (from, to) = self.codes(slot, values);
                    Check::NoneOf(from, to)
                }
                Test::Present => Check::Present,
                Test::Absent => Check::Absent,
            };
            checks.push((slot, check));
        }
        let mut program = Program { needs: ANY, wakes: u64::MAX, ..Program::default() };
        if rule.closed {
            let mut fills = self.fills(rule)?;
            // Columns stand in the order of their keys.
            fills.sort_by_key(|fill| fill.0);
            // A rule file made by hand: which of two values a key is to get, nobody knows.
            if fills.windows(2).any(|two| two[0].0 == two[1].0) {
                return None;
            }
            program.target = append(&mut self.fills, fills);
            let mut named: Vec<Slot> =
                checks.iter().filter(|(_, check)| *check != Check::Absent).map(|check| check.0).collect();
            named.sort_unstable();
            named.dedup();
            program.named = named.len().try_into().unwrap_or(u16::MAX);
        } else {
            let steps: Option<Vec<Step>> = rule.operations.iter().map(|(key, o)| self.step(key, o)).collect();
            let steps = steps?;
            let need = |step: &Step| match *step {
                Step::Apply(_, function) => needs(function),
                Step::Drop(_) | Step::Set(..) | Step::Map(..) => ANY,
            };
            program.needs = steps.iter().fold(0, |all, step| all | need(step));
            program.steps = append(&mut self.steps, steps);
        }
        program.checks = append(&mut self.checks, checks);
        Some(program)
    }

    fn step(&mut self, key: &str, operation: &Operation) -> Option<Step> {
        let slot = self.slot(&Key::parse(key)?)?;
        Some(match operation {
            Operation::Ignore(Representative::LeftOut) => Step::Drop(slot),
            Operation::Ignore(Representative::WherePresent(v)) => Step::Set(slot, self.code(slot, v), false),
            Operation::Ignore(Representative::Everywhere(v)) | Operation::Keep(v) => {
                Step::Set(slot, self.code(slot, v), true)
            }
            Operation::Classes(pairs) => {
                let mut code = |v: &Option<String>| v.as_ref().map_or(ABSENT, |v| self.code(slot, v));
                let mut map: Vec<[u32; 2]> = pairs.iter().map(|(a, b)| [code(a), code(b)]).collect();
                // Of two entries for one value the first counts.
                map.sort_by_key(|m| m[0]);
                map.dedup_by_key(|m| m[0]);
                let (from, to) = self.words(map.into_iter().flatten());
                Step::Map(slot, from, to)
            }
            Operation::Apply(function) => Step::Apply(slot, *function),
            Operation::Replace(_) => return None,
        })
    }

    fn fills(&mut self, rule: &Rule) -> Option<Vec<(Slot, Fill)>> {
        let host = self.slot(&Key::Fixed(Fixed::HOST))?;
        let mut fills = Vec::new();
        for (key, operation) in &rule.operations {
            let to_sub = key == HOST_SUB;
            let slot = if to_sub { host } else { self.slot(&Key::parse(key)?)? };
            let fill = match operation {
                Operation::Keep(value) if !to_sub => Fill::Constant(self.code(slot, value)),
                Operation::Replace(from) if from == HOST_SUB && !to_sub => Fill::FromSub(host),
                Operation::Replace(from) => {
                    let value = self.slot(&Key::parse(from)?)?;
                    if to_sub { Fill::ToSub { value, host } } else { Fill::From(value) }
                }
                _ => return None,
            };
            fills.push((slot, fill));
        }
        Some(fills)
    }

    fn finish(self) -> Template {
        let mut site = Template {
            hosts: self.hosts.len() as u32,
            columns: self.columns.into(),
            values: self.values.into(),
            pool: self.pool.into(),
            programs: self.programs.into(),
            checks: self.checks.into(),
            steps: self.steps.into(),
            fills: self.fills.into(),
            words: self.words.into(),
            ..self.site
        };
        for at in 0..site.programs.len() {
            site.programs[at].gate = site.gate(&site.programs[at]);
        }
        site.woken = site.programs.len() <= MAX_WOKEN;
        if site.woken {
            let mut words = site.words.to_vec();
            for at in 0..site.programs.len() {
                site.programs[at].wakes = site.wakes(at);
                site.programs[at].again = append(&mut words, site.woken(at));
            }
            site.words = words.into();
        }
        site.fill_at_once();
        site.ordered = site.identified
            || site.fixed().get(usize::from(Fixed::ORDER.0)).is_some_and(|&slot| slot != NO_FIXED)
            || site.programs.iter().any(Program::is_form)
            || site.steps.iter().any(|step| site.adds(step));
        site.fill_adders();
        site.fill_rows(&self.slots);
        site.fill_indices();
        site
    }
}

fn append<T>(list: &mut Vec<T>, items: Vec<T>) -> (u32, u32) {
    let from = list.len() as u32;
    list.extend(items);
    (from, list.len() as u32)
}

impl Probe {
    /// True when a URL with this value of this key, composed and cut again, has it back and nothing else: no separator, no
    /// escape that stage 1 would write otherwise. For a head: where it is the whole segment. False for keys not asked for.
    fn plain(&mut self, class: Class, name: &[u8], value: &str, cut: Cut) -> bool {
        let head = |fixed: Fixed| fixed.as_path().filter(|&(at, part)| part == Part::Head && at + 2 < MAX_SEGMENTS);
        match class {
            Class::Fixed(number) => match Fixed(number) {
                Fixed::SCHEME => value == "http" || value == "https",
                Fixed::TRAILING_SLASH => value == "/",
                Fixed::HOST => ["http://", "https://"].iter().all(|scheme| {
                    let parts = [scheme.as_bytes(), value.as_bytes(), b"/"];
                    self.has(parts, 3, cut, |cells, cell| {
                        cell.key == KeyRef::Fixed(Fixed::HOST) && is(cells, cell, value)
                    })
                }),
                fixed if head(fixed).is_some() => [(&b""[..], 4), (b"/b", 5)].into_iter().all(|(behind, keys)| {
                    let first = KeyRef::Fixed(Fixed::path(0, Part::Head));
                    let parts = [b"http://a/", value.as_bytes(), behind];
                    self.has(parts, keys, cut, |cells, cell| cell.key == first && is(cells, cell, value))
                }),
                _ => false,
            },
            Class::Query if !name.is_empty() => [(&b"http://a/?"[..], &b""[..], 4), (b"http://a/?b&", b"&c", 6)]
                .into_iter()
                .all(|(before, behind, keys)| {
                    let own = |cells: &Cells, cell: &Cell| {
                        matches!(cell.key, KeyRef::Query(a, b) if cells.bytes(a, b) == name) && is(cells, cell, value)
                    };
                    self.has([before, name, value.as_bytes(), behind], keys, cut, own)
                }),
            Class::Query | Class::Param => false,
        }
    }

    /// True when the URL of the parts is stage-1 normal and is cut into so many keys, one of which is `own`.
    fn has<const N: usize>(
        &mut self,
        parts: [&[u8]; N],
        keys: usize,
        cut: Cut,
        own: impl Fn(&Cells, &Cell) -> bool,
    ) -> bool {
        self.url.clear();
        parts.iter().for_each(|part| self.url.extend_from_slice(part));
        let cells = &mut self.cells;
        let Ok(split) = normalize(&self.url, &mut cells.text) else { return false };
        if cells.text != self.url {
            return false;
        }
        cells.cut(&split, cut);
        cells.list.len() == keys && cells.list.iter().filter(|cell| own(cells, cell)).count() == 1
    }
}

fn is(cells: &Cells, cell: &Cell, value: &str) -> bool {
    cells.value(cell) == value.as_bytes()
}

impl Template {
    /// Finds named keys and values by hash.
    pub(super) fn fill_indices(&mut self) {
        let fixed = self.columns.iter().take_while(|c| matches!(c.class, Class::Fixed(_))).count();
        self.named = Index::new(self.columns[fixed..].iter().map(|c| c.seed), fixed as u32);
        let from = FIRST_HOST + self.hosts as usize;
        self.codes = Index::new(self.values[from..].iter().map(|v| v.hash), from as u32);
        let slot = self.fixed().get(usize::from(Fixed::DEPTH.0)).filter(|&&slot| slot != NO_FIXED);
        if let Some(column) = slot.map(|&slot| self.columns[usize::from(slot)]).filter(|column| column.coded) {
            let code = |digit: u8| self.codes.find(hash(&[digit], column.seed), |code| self.values[code as usize].hash);
            let known = |digit: u8| code(digit).and_then(|code| u16::try_from(code).ok()).unwrap_or(ABSENT as u16);
            self.depths = std::array::from_fn(|depth| known(b'0' + depth as u8));
        }
    }

    /// Slots that have a bit.
    pub(super) fn first_slots(&self) -> Slot {
        self.slots.min(63)
    }

    /// Programs that may fire anew after the program at `at` fired: those before it that look at what it writes, and
    /// itself where it may change what it wrote. Programs behind it come after it anyhow.
    fn woken(&self, at: usize) -> Vec<u32> {
        let program = &self.programs[at];
        let steps = part(&self.steps, program.steps);
        let before = (0..at).filter(|&i| self.looks(i, program));
        let anew = |step: &Step| match *step {
            Step::Drop(_) | Step::Set(..) => false,
            Step::Map(_, from, to) => {
                let (map, _) = part(&self.words, (from, to)).as_chunks::<2>();
                map.iter().any(|[_, to]| map.binary_search_by_key(to, |m| m[0]).is_ok_and(|i| map[i][1] != *to))
            }
            Step::Apply(_, function) => function == Function::DropWww,
        };
        // A key that it writes twice is not what the first of the two looked at.
        let mut slots: Vec<Slot> = steps.iter().map(Step::slot).collect();
        slots.sort_unstable();
        let twice = slots.windows(2).any(|two| two[0] == two[1]);
        let itself = program.is_form() || twice || steps.iter().any(anew);
        before.chain(itself.then_some(at)).map(|i| i as u32).collect()
    }

    /// The program at `at` looks at what `program` writes.
    pub(super) fn looks(&self, at: usize, program: &Program) -> bool {
        let steps = part(&self.steps, program.steps);
        let writes = |slot: Slot| program.is_form() || steps.iter().any(|s| s.slot() == slot);
        let other = &self.programs[at];
        let checked = part(&self.checks, other.checks).iter().map(|c| c.0);
        // A rule between forms counts the keys: it looks at all of them.
        other.is_form() || checked.chain(part(&self.steps, other.steps).iter().map(Step::slot)).any(writes)
    }

    /// Bits of the programs behind the one at `at`, of the same 64, that look at what it writes.
    fn wakes(&self, at: usize) -> u64 {
        let last = self.programs.len().min((at / 64 + 1) * 64);
        let behind = (at + 1..last).filter(|&i| self.looks(i, &self.programs[at]));
        behind.fold(0, |bits, i| bits | 1 << (i % 64))
    }

    /// The program may act on any URL: it moves it to another form, or writes a key that has no bit.
    pub(super) fn acts_anyhow(&self, program: &Program) -> bool {
        program.is_form() || part(&self.steps, program.steps).iter().any(|step| bit(step.slot()) == 0)
    }

    /// A step that may add a key.
    pub(super) fn adds(&self, step: &Step) -> bool {
        match *step {
            Step::Set(_, _, everywhere) => everywhere,
            Step::Map(_, from, to) => part(&self.words, (from, to)).first() == Some(&ABSENT),
            Step::Drop(_) | Step::Apply(..) => false,
        }
    }

    fn gate(&self, program: &Program) -> Gate {
        let mut gate = Gate::default();
        for (slot, check) in part(&self.checks, program.checks) {
            gate.asked |= bit(*slot);
            if *check != Check::Absent {
                gate.present |= bit(*slot);
            }
        }
        gate
    }
}

impl Step {
    pub(super) fn slot(&self) -> Slot {
        let (Step::Drop(slot) | Step::Set(slot, ..) | Step::Map(slot, ..) | Step::Apply(slot, _)) = self;
        *slot
    }
}
