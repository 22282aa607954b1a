//! Rules into programs: keys get slots, values get codes.

use super::index::{Index, PARAM_SEED, QUERY_SEED, fixed_seed, hash};
use super::{
    ABSENT, Check, Class, Column, CompiledSite, Constant, EVER, Fill, Gate, NO_FIXED, NO_RULE, NO_SLOT, Program, Slot,
    Step, bit, part,
};
use crate::rules::types::Function;
use crate::rules::types::{Constraint, Operation, Representative, Rule, SiteRules, Test};
use crate::url::keys::{HOST_SUB, MAX_SEGMENTS};
use crate::url::{Cell, Cells, Cut, Fixed, Key, Part, normalize};
use foldhash::fast::FixedState;
use std::collections::{BTreeSet, HashMap};

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
}

impl CompiledSite {
    /// Compiles. Total: a rule with a key that is none, or beyond the 65,534 rules and 65,535 keys that a site may have,
    /// never fires.
    pub fn new(site: &SiteRules) -> CompiledSite {
        let mut builder = Builder::default();
        builder.site.cut = site.tokens.cut();
        builder.site.identified = !site.exceptions.is_empty() || !site.seen.is_empty();
        builder.site.values = vec![Constant::default(); 2];
        builder.slots = vec![NO_SLOT; 2];
        let rules = || site.rules.iter().take(usize::from(NO_RULE));
        let mut keys: BTreeSet<Key> = rules().flat_map(keys).collect();
        keys.extend(site.local.iter().filter_map(|local| Key::parse(&local.key)));
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
        site.columns.push(Column { seed, start, end, rank: u32::MAX, class, row: 0, coded: false });
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
        let slots = &mut self.slots;
        *self.codes.entry(hash).or_insert_with(|| {
            let name = String::from_utf8_lossy(part(pool, (column.start, column.end))).into_owned();
            let key = match column.class {
                Class::Fixed(number) => Key::Fixed(Fixed(number)),
                Class::Param => Key::Param(name),
                Class::Query => Key::Query(name),
            };
            let start = pool.len() as u32;
            pool.extend_from_slice(value.as_bytes());
            values.push(Constant { hash, start, end: pool.len() as u32, row: 0, plain: plain(&key, value, cut) });
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
        let mut program = Program::default();
        if rule.closed {
            let mut fills = self.fills(rule)?;
            // Columns stand in the order of their keys.
            fills.sort_by_key(|fill| fill.0);
            program.target = Some(append(&mut self.site.fills, fills));
        } else {
            let steps: Option<Vec<Step>> = rule.operations.iter().map(|(key, o)| self.step(key, o)).collect();
            program.steps = append(&mut self.site.steps, steps?);
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
                let woken = self.site.woken(at);
                self.site.programs[at].again = self.words(woken);
            }
        }
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
        let writes = |slot: Slot| program.target.is_some() || steps.iter().any(|s| s.slot() == slot);
        // A rule between forms counts the keys: it looks at all of them.
        let looks = |other: &Program| {
            let checked = part(&self.checks, other.checks).iter().map(|c| c.0);
            other.target.is_some() || checked.chain(part(&self.steps, other.steps).iter().map(Step::slot)).any(writes)
        };
        let before = (0..at).filter(|&i| looks(&self.programs[i]));
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

    fn gate(&self, program: &Program) -> Gate {
        let mut gate = Gate { any: EVER, ..Gate::default() };
        for (slot, check) in part(&self.checks, program.checks) {
            gate.asked |= bit(*slot);
            if *check != Check::Absent {
                gate.present |= bit(*slot);
            }
        }
        let steps = part(&self.steps, program.steps);
        let adds = |step: &Step| match *step {
            Step::Set(_, _, everywhere) => everywhere,
            Step::Map(_, from, to) => part(&self.words, (from, to)).first() == Some(&ABSENT),
            Step::Drop(_) | Step::Apply(..) => false,
        };
        if program.target.is_none() && !steps.iter().any(|s| adds(s) || bit(s.slot()) == 0) {
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
