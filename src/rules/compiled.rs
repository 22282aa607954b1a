//! The rules of one site as slots, codes and a short program.
//!
//! Keys that rules mention get a *slot*, values they mention a *code*; a URL becomes one code a slot, and each rule is a
//! few integer comparisons. Values stay ranges of the text of [`Cells`]; a constant is appended to it.

use super::apply::Scratch;
use super::functions;
use super::types::{Constraint, Function, Operation, Representative, Rule, SiteRules, Test};
use crate::model::hash64_seeded;
use crate::url::keys::{HOST_SUB, host_sub};
use crate::url::{self, Cell, Cells, Cut, Fixed, Key, KeyRef, Split};
use foldhash::fast::FixedState;
use std::collections::HashMap;

type Slot = u16;
const NO_SLOT: Slot = Slot::MAX;
const NO_CELL: u16 = u16::MAX;
/// Exception to every rule.
const ALL: u16 = u16::MAX;
/// No rule is passed over.
const NO_RULE: u16 = u16::MAX - 1;
/// Code of an absent key.
const ABSENT: u32 = 0;
/// Code of a value that no rule mentions.
const OTHER: u32 = 1;
/// Key of a cell that a rule left out.
const GONE: KeyRef = KeyRef::Fixed(Fixed(u8::MAX));

/// What the rules see of one URL.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Code of each slot.
    codes: Vec<u32>,
    /// Cell of each slot.
    cells: Vec<u16>,
    /// Seed of the key of each cell.
    seeds: Vec<u64>,
    /// Source cells of a rule between forms.
    source: Vec<Cell>,
    value: Vec<u8>,
    /// Cells were added or the order of parameters was given up.
    disordered: bool,
}

#[derive(Debug)]
enum Check {
    Is(u32),
    OneOf(Vec<u32>),
    NoneOf(Vec<u32>),
    Present,
    Absent,
}

#[derive(Debug)]
enum Step {
    /// The key is left out.
    Drop(Slot),
    /// The key gets a constant; where it was absent only if `.2`.
    Set(Slot, u32, bool),
    /// Codes that become other codes, sorted.
    Map(Slot, Vec<(u32, u32)>),
    Apply(Slot, Function),
}

/// Where a key of a target form gets its value.
#[derive(Debug)]
enum Fill {
    Constant(u32),
    From(Slot),
    /// Labels of the source host below its registrable domain.
    FromSub(Slot),
    /// The value becomes labels below the registrable domain of the source host.
    ToSub {
        value: Slot,
        host: Slot,
    },
}

#[derive(Debug)]
struct Program {
    checks: Vec<(Slot, Check)>,
    steps: Vec<Step>,
    /// For a rule between forms: its keys and their values, path keys rising.
    target: Option<Vec<(Key, u64, Fill)>>,
}

/// The rules of one site, compiled.
#[derive(Debug)]
pub struct CompiledSite {
    cut: Cut,
    fixed: [Slot; 256],
    named: HashMap<u64, Slot, FixedState>,
    keys: Vec<Key>,
    seeds: Vec<u64>,
    /// The slot has values that rules mention.
    coded: Vec<bool>,
    ranks: HashMap<u64, u32, FixedState>,
    codes: HashMap<u64, u32, FixedState>,
    /// Value of each code, as a range of the pool.
    values: Vec<(u32, u32)>,
    pool: Vec<u8>,
    programs: Vec<Program>,
    /// Rule that is passed over, by the identity of the reduced URL; [`ALL`] passes over every rule.
    exceptions: HashMap<u64, u16, FixedState>,
    /// Canonical URL (range of the pool) by the identity of the reduced URL.
    lookups: HashMap<u64, (u32, u32), FixedState>,
}

impl CompiledSite {
    /// Compiles; operations on keys that are not keys are left out (a rule file of a later minor version).
    pub fn new(site: &SiteRules) -> CompiledSite {
        let rank = |(i, name): (usize, &String)| (Key::Query(name.clone()).seed(), i as u32);
        let mut out = CompiledSite {
            cut: crate::site::columns::cut_of(&site.tokens),
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
            exceptions: HashMap::default(),
            lookups: HashMap::default(),
        };
        out.programs = site.rules.iter().map(|rule| out.program(rule).unwrap_or_else(Program::never)).collect();
        out
    }

    /// Nothing to do beyond stage 1.
    pub fn is_trivial(&self) -> bool {
        self.programs.is_empty() && self.lookups.is_empty()
    }

    fn slot(&mut self, key: &Key) -> Slot {
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

    fn code(&mut self, slot: Slot, value: &str) -> u32 {
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

    fn program(&mut self, rule: &Rule) -> Option<Program> {
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

    fn form_program(&mut self, rule: &Rule, checks: Vec<(Slot, Check)>) -> Option<Program> {
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

    /// Reduces and composes the URL in `scratch.cells.text` into `scratch.out`; true where a look-up decided.
    pub fn apply(&self, split: &Split, scratch: &mut Scratch) -> bool {
        let length = scratch.cells.text.len();
        self.reduce(split, scratch);
        if let Some(url) = self.look_up(scratch) {
            scratch.out.clear();
            scratch.out.extend_from_slice(url);
            return true;
        }
        if scratch.fired.is_empty() {
            scratch.cells.text.truncate(length);
            std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
            return false;
        }
        let mut out = std::mem::take(&mut scratch.out);
        url::compose(&scratch.cells, &mut out);
        scratch.out = out;
        if scratch.out != scratch.cells.text[..length] && !self.stable(scratch) {
            // Law: canonicalizing twice is once. Where it is not, the URL keeps its stage-1 form.
            scratch.fired.clear();
            scratch.cells.text.truncate(length);
            std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
        }
        false
    }

    /// True when the URL in `out` is stage-1 normal and canonicalizes to itself. Keeps `cells.text` and `fired`.
    fn stable(&self, scratch: &mut Scratch) -> bool {
        let mut first = std::mem::take(&mut scratch.again);
        std::mem::swap(&mut first, &mut scratch.cells.text);
        let fired = scratch.fired.len();
        let same = match url::normalize(&scratch.out, &mut scratch.cells.text) {
            Ok(split) if scratch.cells.text == scratch.out => {
                self.reduce(&split, scratch);
                let mut again = std::mem::take(&mut scratch.state.value);
                match self.look_up(scratch) {
                    Some(url) => again.splice(.., url.iter().copied()).for_each(drop),
                    None => url::compose(&scratch.cells, &mut again),
                }
                scratch.state.value = again;
                scratch.state.value == scratch.out
            }
            _ => false,
        };
        scratch.fired.truncate(fired);
        std::mem::swap(&mut first, &mut scratch.cells.text);
        scratch.again = first;
        same
    }

    /// Identity of the reduced URL: as [`Columns::hash`](crate::site::columns::Columns).
    fn identity(&self, scratch: &Scratch) -> u64 {
        let cells = &scratch.cells;
        cells
            .list
            .iter()
            .zip(&scratch.state.seeds)
            .fold(0u64, |sum, (cell, &seed)| sum.wrapping_add(hash64_seeded(cells.value(cell), seed)))
    }

    fn look_up(&self, scratch: &Scratch) -> Option<&[u8]> {
        if self.lookups.is_empty() {
            return None;
        }
        let &(a, b) = self.lookups.get(&self.identity(scratch))?;
        Some(&self.pool[a as usize..b as usize])
    }

    /// Keys exceptions and look-ups by what the rules make of them; exceptions first, since they change that.
    pub fn fill_lookups(&mut self, site: &SiteRules, scratch: &mut Scratch) {
        let index: HashMap<&str, u16, FixedState> =
            site.rules.iter().enumerate().map(|(i, rule)| (rule.id.as_str(), i as u16)).collect();
        for [url, rule] in &site.exceptions {
            let rule = if rule == "*" { Some(ALL) } else { index.get(rule.as_str()).copied() };
            let split = url::normalize(url.as_bytes(), &mut scratch.cells.text);
            if let (Some(rule), Ok(split)) = (rule, split) {
                scratch.fired.clear();
                self.reduce_without(&split, scratch, NO_RULE);
                let identity = self.identity(scratch);
                self.exceptions.insert(identity, rule);
            }
        }
        let mut place = |out: &mut CompiledSite, from: &str, to: (u32, u32)| {
            scratch.fired.clear();
            let Ok(split) = url::normalize(from.as_bytes(), &mut scratch.cells.text) else { return false };
            let normal = scratch.cells.text == from.as_bytes();
            out.reduce(&split, scratch);
            let identity = out.identity(scratch);
            normal && *out.lookups.entry(identity).or_insert(to) == to
        };
        let mut range_of: HashMap<&str, (u32, u32), FixedState> = HashMap::default();
        for url in &site.seen {
            let start = self.pool.len() as u32;
            self.pool.extend_from_slice(url.as_bytes());
            let range = (start, self.pool.len() as u32);
            // Law: the output is stage-1 normal and its own canonical URL, whatever a rule file says.
            if place(self, url, range) {
                range_of.insert(url, range);
            }
        }
        for [from, to] in &site.aliases {
            // Only members that are their own canonical URL may be the target of a look-up.
            if let Some(&range) = range_of.get(to.as_str()) {
                place(self, from, range);
            }
        }
    }

    /// Cuts the URL in `scratch.cells.text` and runs the rules on its pairs; again without the rule that does not hold
    /// for what they reduce it to.
    fn reduce(&self, split: &Split, scratch: &mut Scratch) {
        let (length, fired) = (scratch.cells.text.len(), scratch.fired.len());
        self.reduce_without(split, scratch, NO_RULE);
        if self.exceptions.is_empty() || scratch.fired.len() == fired {
            return;
        }
        if let Some(&rule) = self.exceptions.get(&self.identity(scratch)) {
            scratch.cells.text.truncate(length);
            scratch.fired.truncate(fired);
            self.reduce_without(split, scratch, rule);
        }
    }

    fn reduce_without(&self, split: &Split, scratch: &mut Scratch, without: u16) {
        let Scratch { cells, state, fired, .. } = scratch;
        cells.cut(split, self.cut);
        url::set_order(cells, |cells, cell| self.rank(cells.seed(cell.key)));
        state.codes.clear();
        state.codes.resize(self.keys.len(), ABSENT);
        state.cells.clear();
        state.cells.resize(self.keys.len(), NO_CELL);
        state.seeds.clear();
        state.disordered = false;
        for (i, cell) in cells.list.iter().enumerate() {
            let seed = cells.seed(cell.key);
            state.seeds.push(seed);
            let slot = self.slot_of(cell.key, seed);
            if slot != NO_SLOT {
                state.cells[usize::from(slot)] = i as u16;
                state.codes[usize::from(slot)] = self.code_of(slot, cells.value(cell));
            }
        }
        let programs = if without == ALL { &[] } else { self.programs.as_slice() };
        for (i, program) in programs.iter().enumerate() {
            if i != usize::from(without)
                && program.checks.iter().all(|(slot, check)| check.holds(state.codes[usize::from(*slot)]))
                && self.run(program, cells, state)
            {
                fired.push(i as u16);
            }
        }
        self.tidy(cells, state);
    }

    fn rank(&self, seed: u64) -> u32 {
        self.ranks.get(&seed).copied().unwrap_or(u32::MAX)
    }

    fn slot_of(&self, key: KeyRef, seed: u64) -> Slot {
        match key {
            KeyRef::Fixed(fixed) => self.fixed[usize::from(fixed.0)],
            _ => self.named.get(&seed).copied().unwrap_or(NO_SLOT),
        }
    }

    fn code_of(&self, slot: Slot, value: &[u8]) -> u32 {
        if !self.coded[usize::from(slot)] {
            return OTHER;
        }
        let hash = hash64_seeded(value, self.seeds[usize::from(slot)]);
        self.codes.get(&hash).copied().unwrap_or(OTHER)
    }

    /// Runs the steps of a program; true when it changed something.
    fn run(&self, program: &Program, cells: &mut Cells, state: &mut State) -> bool {
        if let Some(target) = &program.target {
            return self.move_to(program, target, cells, state);
        }
        let mut changed = false;
        for step in &program.steps {
            changed |= match *step {
                Step::Drop(slot) => self.drop(slot, cells, state),
                Step::Set(slot, code, everywhere) => {
                    let now = state.codes[usize::from(slot)];
                    now != code && (now != ABSENT || everywhere) && self.set(slot, code, cells, state)
                }
                Step::Map(slot, ref map) => {
                    let now = state.codes[usize::from(slot)];
                    match map.binary_search_by_key(&now, |m| m.0) {
                        Ok(at) if map[at].1 == ABSENT => self.drop(slot, cells, state),
                        Ok(at) => map[at].1 != now && self.set(slot, map[at].1, cells, state),
                        Err(_) => false,
                    }
                }
                Step::Apply(slot, function) => self.function(slot, function, cells, state),
            };
        }
        changed
    }

    fn drop(&self, slot: Slot, cells: &mut Cells, state: &mut State) -> bool {
        let at = state.cells[usize::from(slot)];
        if at == NO_CELL {
            return false;
        }
        let cell = &mut cells.list[usize::from(at)];
        state.disordered |= cell.key == KeyRef::Fixed(Fixed::ORDER);
        cell.key = GONE;
        state.cells[usize::from(slot)] = NO_CELL;
        state.codes[usize::from(slot)] = ABSENT;
        true
    }

    fn set(&self, slot: Slot, code: u32, cells: &mut Cells, state: &mut State) -> bool {
        let (start, end) = self.constant(code, cells);
        let at = usize::from(slot);
        if state.cells[at] == NO_CELL {
            let key = key_ref(&self.keys[at], cells);
            state.cells[at] = cells.list.len() as u16;
            state.seeds.push(self.seeds[at]);
            state.disordered = true;
            cells.list.push(Cell { key, start, end });
        } else {
            let cell = &mut cells.list[usize::from(state.cells[at])];
            (cell.start, cell.end) = (start, end);
        }
        state.codes[at] = code;
        true
    }

    /// Appends the value of a code to the text.
    fn constant(&self, code: u32, cells: &mut Cells) -> (u32, u32) {
        let (a, b) = self.values[code as usize];
        let start = cells.text.len() as u32;
        cells.text.extend_from_slice(&self.pool[a as usize..b as usize]);
        (start, cells.text.len() as u32)
    }

    fn function(&self, slot: Slot, function: Function, cells: &mut Cells, state: &mut State) -> bool {
        let at = state.cells[usize::from(slot)];
        if at == NO_CELL {
            return false;
        }
        let cell = cells.list[usize::from(at)];
        if !functions::apply(function, cells.value(&cell), &mut state.value) {
            return false;
        }
        if function == Function::DropEmpty {
            return self.drop(slot, cells, state);
        }
        let start = cells.text.len() as u32;
        cells.text.extend_from_slice(&state.value);
        let cell = &mut cells.list[usize::from(at)];
        (cell.start, cell.end) = (start, cells.text.len() as u32);
        state.codes[usize::from(slot)] = self.code_of(slot, &state.value);
        true
    }

    /// Rewrites the pairs to those of the target form; false (and nothing changed) where the source has other keys than
    /// the rule names, or a value cannot stand in its new place.
    fn move_to(&self, program: &Program, target: &[(Key, u64, Fill)], cells: &mut Cells, state: &mut State) -> bool {
        let live = cells.list.iter().filter(|c| c.key != GONE).count();
        if live != program.checks.iter().filter(|(_, check)| !matches!(check, Check::Absent)).count() {
            return false;
        }
        state.source.clear();
        for (key, _, fill) in target {
            // A key that the scope does not name is not there: a rule file made by hand.
            let of = |slot: Slot, state: &State| cells.list.get(usize::from(state.cells[usize::from(slot)])).copied();
            let (start, end) = match *fill {
                Fill::Constant(code) => self.constant(code, cells),
                Fill::From(slot) => {
                    let Some(cell) = of(slot, state) else { return false };
                    let moved = self.keys[usize::from(slot)] != *key;
                    if moved && !fits(cells.value(&cell), key) {
                        return false;
                    }
                    (cell.start, cell.end)
                }
                Fill::FromSub(slot) => {
                    let Some(cell) = of(slot, state) else { return false };
                    let sub = host_sub(cells.value(&cell));
                    if sub == 0 || !fits(&cells.value(&cell)[..sub], key) {
                        return false;
                    }
                    (cell.start, cell.start + sub as u32)
                }
                Fill::ToSub { value, host } => {
                    let (Some(value), Some(host)) = (of(value, state), of(host, state)) else { return false };
                    if !fits(cells.value(&value), key) || cells.value(&host).contains(&b'@') {
                        return false;
                    }
                    let sub = host_sub(cells.value(&host));
                    let start = cells.text.len() as u32;
                    cells.text.extend_from_within(value.start as usize..value.end as usize);
                    cells.text.push(b'.');
                    let domain = host.start as usize + sub + usize::from(sub > 0);
                    cells.text.extend_from_within(domain..host.end as usize);
                    (start, cells.text.len() as u32)
                }
            };
            state.source.push(Cell { key: GONE, start, end });
        }
        for ((key, _, _), cell) in target.iter().zip(&mut state.source) {
            cell.key = key_ref(key, cells);
        }
        std::mem::swap(&mut cells.list, &mut state.source);
        state.seeds.clear();
        state.seeds.extend(target.iter().map(|t| t.1));
        state.disordered = true;
        state.codes.fill(ABSENT);
        state.cells.fill(NO_CELL);
        for (i, (key, seed, _)) in target.iter().enumerate() {
            let key = match key {
                Key::Fixed(fixed) => KeyRef::Fixed(*fixed),
                _ => KeyRef::Query(0, 0),
            };
            let slot = self.slot_of(key, *seed);
            state.cells[usize::from(slot)] = i as u16;
            state.codes[usize::from(slot)] = self.code_of(slot, cells.value(&cells.list[i]));
        }
        true
    }

    /// Takes out what rules left out, and puts parameters in their order where that was disturbed.
    fn tidy(&self, cells: &mut Cells, state: &mut State) {
        let mut kept = 0;
        for i in 0..cells.list.len() {
            if cells.list[i].key != GONE {
                cells.list.swap(i, kept);
                state.seeds.swap(i, kept);
                kept += 1;
            }
        }
        cells.list.truncate(kept);
        state.seeds.truncate(kept);
        if !state.disordered {
            return;
        }
        // Few cells: an insertion sort that carries the seeds along.
        for i in 1..kept {
            let mut j = i;
            while j > 0 && self.before(cells, state, j, j - 1) {
                cells.list.swap(j, j - 1);
                state.seeds.swap(j, j - 1);
                j -= 1;
            }
        }
    }

    fn before(&self, cells: &Cells, state: &State, a: usize, b: usize) -> bool {
        let class = |key: KeyRef| match key {
            KeyRef::Fixed(fixed) => (0, u32::from(fixed.0)),
            KeyRef::Param(..) => (1, 0),
            KeyRef::Query(..) => (2, 0),
        };
        match (cells.list[a].key, cells.list[b].key) {
            (KeyRef::Query(a0, a1), KeyRef::Query(b0, b1)) => {
                (self.rank(state.seeds[a]), cells.bytes(a0, a1)) < (self.rank(state.seeds[b]), cells.bytes(b0, b1))
            }
            (a, b) => class(a) < class(b),
        }
    }
}

impl Program {
    /// Of a rule this version cannot read.
    fn never() -> Program {
        Program { checks: Vec::new(), steps: Vec::new(), target: None }
    }
}

impl Check {
    fn holds(&self, code: u32) -> bool {
        match self {
            Check::Is(value) => code == *value,
            Check::OneOf(values) => values.contains(&code),
            Check::NoneOf(values) => code != ABSENT && !values.contains(&code),
            Check::Present => code != ABSENT,
            Check::Absent => code == ABSENT,
        }
    }
}

/// A key of a cell; the name is appended to the text.
fn key_ref(key: &Key, cells: &mut Cells) -> KeyRef {
    let name = |name: &str, cells: &mut Cells| {
        let start = cells.text.len() as u32;
        cells.text.extend_from_slice(name.as_bytes());
        (start, cells.text.len() as u32)
    };
    match key {
        Key::Fixed(fixed) => KeyRef::Fixed(*fixed),
        Key::Param(text) => {
            let (a, b) = name(text, cells);
            KeyRef::Param(a, b)
        }
        Key::Query(text) => {
            let (a, b) = name(text, cells);
            KeyRef::Query(a, b)
        }
    }
}

/// True when a value can be copied to `key` as it is: nothing that has a meaning of its own there is smuggled in.
fn fits(value: &[u8], key: &Key) -> bool {
    let free_of = |bytes: &[u8]| !value.iter().any(|b| bytes.contains(b));
    match key {
        Key::Query(_) => free_of(b"&#+"),
        Key::Param(_) => !value.is_empty() && free_of(b"/?#;"),
        Key::Fixed(Fixed::HOST) => {
            let label = |l: &[u8]| {
                !l.is_empty()
                    && l.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
                    && l[0] != b'-'
            };
            value.split(|&b| b == b'.').all(label)
        }
        Key::Fixed(_) => !value.is_empty() && value != b"." && value != b".." && free_of(b"/?#;&+"),
    }
}
