//! Rules into programs: keys get slots, values get codes.

use super::index::{Index, PARAM_SEED, QUERY_SEED, fixed_seed, hash};
use super::{
    ABSENT, Check, Class, Column, CompiledSite, Constant, EVER, Fill, Gate, NO_FIXED, NO_RULE, NO_SLOT, Program, Slot,
    Step, bit, part, stays,
};
use crate::rules::functions::{ANY, holds, needs};
use crate::rules::types::Function;
use crate::rules::types::{Constraint, Operation, Representative, Rule, SiteRules, Test};
use crate::url::keys::{HOST_SUB, MAX_SEGMENTS};
use crate::url::{Cell, Cells, Cut, Fixed, Key, KeyRef, Part, normalize};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Rules of a site up to which it is worked out which of them wake which, at the cost of their square; the URLs of a
/// site with more are all cut again.
const MAX_WOKEN: usize = 512;

/// A site while its rules are read.
#[derive(Default)]
struct Builder {
    site: CompiledSite,
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
    /// Compiles. Total: a rule with a key that is none, or beyond the 65,534 rules and 65,535 keys that a site may have,
    /// never fires.
    pub fn new(site: &SiteRules) -> CompiledSite {
        let mut builder = Builder::default();
        builder.site.cut = site.tokens.cut();
        builder.site.identified = !site.exceptions.is_empty() || !site.seen.is_empty();
        builder.site.stays = stays::stays(site);
        builder.site.values = vec![Constant::default(); 2];
        builder.slots = vec![NO_SLOT; 2];
        let rules = || site.rules.iter().take(usize::from(NO_RULE));
        let local = site.local.iter().filter_map(|local| Key::parse(&local.key));
        let mut keys: Vec<Key> = rules().flat_map(keys).chain(local).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().for_each(|key| builder.column(key));
        builder.site.slots = builder.site.columns.len() as Slot;
        for (name, rank) in site.tokens.query_order.iter().zip(0..) {
            builder.rank(name, rank);
        }
        builder.site.programs = rules().map(|rule| builder.program(rule).unwrap_or_default()).collect();
        builder.finish()
    }
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
        let site = &mut self.site;
        let at = site.columns.len();
        if at >= usize::from(NO_SLOT) {
            return;
        }
        let start = site.pool.len() as u32;
        let (class, seed) = match &key {
            Key::Fixed(Fixed(number)) => {
                let number = usize::from(*number);
                site.fixed.resize(number + 1, NO_FIXED);
                site.fixed[number] = at as u8;
                (Class::Fixed(number as u8), fixed_seed(number as u8))
            }
            Key::Param(name) => {
                site.pool.extend_from_slice(name.as_bytes());
                (Class::Param, hash(name.as_bytes(), PARAM_SEED))
            }
            Key::Query(name) => {
                site.pool.extend_from_slice(name.as_bytes());
                (Class::Query, hash(name.as_bytes(), QUERY_SEED))
            }
        };
        let end = site.pool.len() as u32;
        site.columns.push(Column { seed, start, end, class, ..Column::NEW });
        self.keys.insert(key, at as Slot);
    }

    /// Gives a query key its place in the usual order; of a name that comes twice the last place holds.
    fn rank(&mut self, name: &str, rank: u32) {
        let key = Key::Query(name.to_owned());
        if !self.keys.contains_key(&key) {
            self.column(key.clone());
        }
        if let Some(&at) = self.keys.get(&key) {
            self.site.columns[usize::from(at)].rank = rank;
        }
    }

    /// The slot of a key; `None` where a file names more keys than there are slots.
    fn slot(&self, key: &Key) -> Option<Slot> {
        self.keys.get(key).copied().filter(|&slot| slot < self.site.slots)
    }

    fn code(&mut self, slot: Slot, value: &str) -> u32 {
        let site = &mut self.site;
        let column = &mut site.columns[usize::from(slot)];
        column.coded = true;
        let hash = hash(value.as_bytes(), column.seed);
        let (pool, values, cut, column) = (&mut site.pool, &mut site.values, site.cut, *column);
        let (slots, probe) = (&mut self.slots, &mut self.probe);
        *self.codes.entry(hash).or_insert_with(|| {
            let (class, name, start) = (column.class, (column.start, column.end), pool.len() as u32);
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
        let from = self.site.words.len() as u32;
        self.site.words.extend(words);
        (from, self.site.words.len() as u32)
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
            program.target = Some(append(&mut self.site.fills, fills));
            let named = checks.iter().filter(|(_, check)| *check != Check::Absent).count();
            program.named = named.try_into().unwrap_or(u16::MAX);
        } else {
            let steps: Option<Vec<Step>> = rule.operations.iter().map(|(key, o)| self.step(key, o)).collect();
            let steps = steps?;
            let need = |step: &Step| match *step {
                Step::Apply(_, function) => needs(function),
                Step::Drop(_) | Step::Set(..) | Step::Map(..) => ANY,
            };
            program.needs = steps.iter().fold(0, |all, step| all | need(step));
            program.steps = append(&mut self.site.steps, steps);
        }
        program.checks = append(&mut self.site.checks, checks);
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
                map.sort_unstable();
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
                Operation::Keep(value) => Fill::Constant(self.code(slot, value)),
                Operation::Replace(from) if from == HOST_SUB => Fill::FromSub(host),
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

    fn finish(mut self) -> CompiledSite {
        for at in 0..self.site.programs.len() {
            self.site.programs[at].gate = self.site.gate(&self.site.programs[at]);
        }
        self.site.woken = self.site.programs.len() <= MAX_WOKEN;
        if self.site.woken {
            for at in 0..self.site.programs.len() {
                self.site.programs[at].wakes = self.site.wakes(at);
                let woken = self.site.woken(at);
                self.site.programs[at].again = self.words(woken);
            }
        }
        self.site.fill_at_once();
        let adds = |step: &Step| self.site.adds(step);
        self.site.ordered = self.site.identified
            || self.site.fixed.get(usize::from(Fixed::ORDER.0)).is_some_and(|&slot| slot != NO_FIXED)
            || self.site.programs.iter().any(|program| program.target.is_some())
            || self.site.steps.iter().any(adds);
        self.site.fill_rows(&self.slots);
        self.site.fill_indices();
        self.site.shrink();
        self.site
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

impl CompiledSite {
    /// Finds named keys and values by hash.
    pub(super) fn fill_indices(&mut self) {
        let fixed = self.columns.iter().take_while(|c| matches!(c.class, Class::Fixed(_))).count();
        self.named = Index::new(self.columns[fixed..].iter().map(|c| c.seed), fixed as u32);
        self.codes = Index::new(self.values[2..].iter().map(|v| v.hash), 2);
    }

    /// Slots that have a bit.
    pub(super) fn first_slots(&self) -> Slot {
        self.slots.min(63)
    }

    /// Gives back what the lists do not fill.
    fn shrink(&mut self) {
        self.fixed.shrink_to_fit();
        self.columns.shrink_to_fit();
        self.values.shrink_to_fit();
        self.pool.shrink_to_fit();
        self.programs.shrink_to_fit();
        self.checks.shrink_to_fit();
        self.steps.shrink_to_fit();
        self.fills.shrink_to_fit();
        self.words.shrink_to_fit();
        self.rows.shrink_to_fit();
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
        let itself = program.target.is_some() || steps.iter().any(anew);
        before.chain(itself.then_some(at)).map(|i| i as u32).collect()
    }

    /// The program at `at` looks at what `program` writes.
    pub(super) fn looks(&self, at: usize, program: &Program) -> bool {
        let steps = part(&self.steps, program.steps);
        let writes = |slot: Slot| program.target.is_some() || steps.iter().any(|s| s.slot() == slot);
        let other = &self.programs[at];
        let checked = part(&self.checks, other.checks).iter().map(|c| c.0);
        // A rule between forms counts the keys: it looks at all of them.
        other.target.is_some() || checked.chain(part(&self.steps, other.steps).iter().map(Step::slot)).any(writes)
    }

    /// Bits of the programs behind the one at `at`, of the same 64, that look at what it writes.
    fn wakes(&self, at: usize) -> u64 {
        let last = self.programs.len().min((at / 64 + 1) * 64);
        let behind = (at + 1..last).filter(|&i| self.looks(i, &self.programs[at]));
        behind.fold(0, |bits, i| bits | 1 << (i % 64))
    }

    /// A step that may add a key.
    fn adds(&self, step: &Step) -> bool {
        match *step {
            Step::Set(_, _, everywhere) => everywhere,
            Step::Map(_, from, to) => part(&self.words, (from, to)).first() == Some(&ABSENT),
            Step::Drop(_) | Step::Apply(..) => false,
        }
    }

    fn gate(&self, program: &Program) -> Gate {
        let mut gate = Gate { any: EVER, ..Gate::default() };
        for (slot, check) in part(&self.checks, program.checks) {
            gate.asked |= bit(*slot);
            if *check != Check::Absent {
                gate.present |= bit(*slot);
            }
        }
        let steps = part(&self.steps, program.steps);
        if program.target.is_none() && !steps.iter().any(|s| self.adds(s) || bit(s.slot()) == 0) {
            gate.any = steps.iter().fold(0, |any, step| any | bit(step.slot()));
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
