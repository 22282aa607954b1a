//! Values into codes: what a URL pays for each of its pairs.

use super::index::{PARAM_SEED, QUERY_SEED, fixed_seed};
use super::{
    ABSENT, Class, Column, CompiledSite, Constant, EVER, GONE, LISTED, Mark, NO_FIXED, NO_PROGRAM, NO_RANK, NO_SLOT,
    OTHER, Reach, Slot, SlotState, State, Template, bit, touch,
};
use crate::rules::functions::EMPTY;
use crate::url::hash::hash_in;
use crate::url::{self, Cell, Cells, Fixed, KeyRef};

/// Cells up to which a rule may leave them out at once.
const MOST_GONE: usize = 63;

impl CompiledSite {
    /// Hashes, slots and codes of the cells, and the key for an unusual order of parameters; gives the programs of the
    /// first word that may act, and those whose work was done here, [at once](super::at_once).
    ///
    /// `origin` is for the scheme and the host, where others had the same.
    pub(super) fn code_cells(
        &self,
        cells: &mut Cells,
        state: &mut State,
        at_once: bool,
        origin: KeptOrigin<'_>,
    ) -> (u64, u64) {
        let template = &*self.template;
        state.clear(usize::from(template.slots));
        let State { slots, marks, .. } = state;
        let mut coding = Coding::new(template, slots, at_once);
        if let Some(Some(known)) = &origin {
            marks.extend_from_slice(&known.marks);
            coding.resume(known);
        } else {
            let scheme = coding.fixed(Fixed::SCHEME.0, 0, Value::of(&cells.list[0], cells));
            let host = coding.host(self, 1, Value::of(&cells.list[1], cells));
            if let Some(origin) = origin {
                *origin = Some(coding.origin([scheme, host]));
            }
            marks.extend_from_slice(&[scheme, host]);
        }
        // One loop for all kinds of keys: what it does is 9 kB of code less than a loop for each.
        for (cell, at) in cells.list[2..].iter().zip(2u16..) {
            let value = Value::of(cell, cells);
            let (key, depth) = match cell.key {
                KeyRef::Fixed(Fixed(number)) => (coding.fixed_key(number), number == Fixed::DEPTH.0),
                KeyRef::Param(a, b) => (coding.named(hash_in(&cells.text, a, b, PARAM_SEED)), false),
                KeyRef::Query(a, b) => {
                    let key = coding.named(hash_in(&cells.text, a, b, QUERY_SEED));
                    coding.follow(key.rank, (a, b), cells);
                    (key, false)
                }
            };
            let code = if depth { coding.code_of_depth(&key, value) } else { None };
            marks.push(match code {
                Some(code) => coding.pair_of_depth(&key, at, code),
                None => coding.pair(key, at, value),
            });
        }
        let repeats = cells.list.len() - cells.query_from != cells.names.len();
        let unusual = match repeats {
            true => !url::is_usual_order(cells, |_, at| u32::from(marks[at].rank)),
            false => template.ordered && coding.fell,
        };
        let disordered = unusual && coding.leaves_order_out();
        if unusual && !disordered {
            url::write_order(cells);
            // The new cell stands before those of the query.
            let at = cells.query_from - 1;
            if at < MOST_GONE {
                let behind = coding.gone >> at << at;
                coding.gone += behind;
            }
            for mark in &marks[at..] {
                if mark.slot != NO_SLOT {
                    coding.slots[usize::from(mark.slot)].cell += 1;
                }
            }
            let mark = coding.fixed(Fixed::ORDER.0, at as u16, Value::of(&cells.list[at], cells));
            marks.insert(at, mark);
        }
        state.holds |= if coding.empty { EMPTY } else { 0 };
        state.present = coding.present;
        state.identity = coding.identity;
        state.touched = coding.touched;
        state.disordered = disordered;
        state.ordered = unusual & !disordered;
        state.unnamed = coding.unnamed;
        state.gone = 0;
        let mut gone = coding.gone;
        while gone != 0 {
            cells.list[gone.trailing_zeros() as usize].key = GONE;
            state.gone += 1;
            gone &= gone - 1;
        }
        state.words = coding.row_words;
        state.reach = coding.reach;
        let [scheme, host] = coding.wrote;
        state.owed_origin = [scheme, host];
        state.owed.clear();
        if let Some(host) = self.template.values.get(host as usize) {
            state.holds |= host.holds;
        }
        let may_act = coding.reach.pass & (coding.reach.act | template.adders(0, coding.present));
        (template.awake(may_act, state.holds), coding.done)
    }
}

/// A value in its text.
#[derive(Clone, Copy)]
struct Value<'c> {
    text: &'c [u8],
    start: u32,
    end: u32,
}

impl<'c> Value<'c> {
    #[inline(always)]
    fn of(cell: &Cell, cells: &'c Cells) -> Value<'c> {
        Value { text: &cells.text, start: cell.start, end: cell.end }
    }

    #[inline(always)]
    fn bytes(self) -> &'c [u8] {
        &self.text[self.start as usize..self.end as usize]
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.start == self.end
    }

    #[inline(always)]
    fn hash(self, seed: u64) -> u64 {
        hash_in(self.text, self.start, self.end, seed)
    }
}

/// Where it is kept what became of an origin, and where that is to be kept that nobody knows yet.
pub type KeptOrigin<'o> = Option<&'o mut Option<CodedOrigin>>;

/// What became of the first two cells of a URL, scheme and host.
#[derive(Clone, Copy, Debug)]
pub struct CodedOrigin {
    marks: [Mark; 2],
    slots: [SlotState; 2],
    present: u64,
    identity: u64,
    reach: Reach,
    done: u64,
    wrote: [u32; 2],
    touched: u8,
}

/// The key of a cell, as rules know it.
struct CodedKey {
    /// [`NO_SLOT`] where none mentions it.
    slot: Slot,
    /// As [`Mark::rank`].
    rank: u16,
    /// Of its values.
    seed: u64,
}

/// The cells of one URL while they are coded.
struct Coding<'s> {
    template: &'s Template,
    row_words: usize,
    slots: &'s mut [SlotState],
    present: u64,
    identity: u64,
    /// A value is empty.
    empty: bool,
    /// The last query key, by its place in the usual order, below 0 without one, and its name.
    last: (i32, (u32, u32)),
    /// A query key does not stand behind the one before it in that order.
    fell: bool,
    /// A query key has no name.
    unnamed: bool,
    reach: Reach,
    /// Rules may act while the URL is read.
    at_once: bool,
    /// The programs that did.
    done: u64,
    /// Cells that they left out, one bit each.
    gone: u64,
    /// Codes that they gave scheme and host.
    wrote: [u32; 2],
    /// As [`State::touched`].
    touched: u8,
}

impl<'s> Coding<'s> {
    fn new(template: &'s Template, slots: &'s mut [SlotState], at_once: bool) -> Coding<'s> {
        // The first row is that of every URL.
        let reach = Reach::new(template.rows.first().copied().unwrap_or_default());
        Coding {
            template,
            row_words: template.row_words(),
            slots,
            present: EVER,
            identity: 0,
            empty: false,
            last: (-1, (0, 0)),
            fell: false,
            unnamed: false,
            reach,
            at_once,
            done: 0,
            gone: 0,
            wrote: [ABSENT; 2],
            touched: 0,
        }
    }

    /// What became of scheme and host, when they are coded and nothing else.
    #[inline(always)]
    fn origin(&self, marks: [Mark; 2]) -> CodedOrigin {
        let &Coding { present, identity, reach, done, wrote, touched, .. } = self;
        let slot = |mark: Mark| self.slots.get(usize::from(mark.slot)).copied().unwrap_or(SlotState::EMPTY);
        let slots = marks.map(slot);
        CodedOrigin { marks, slots, present, identity, reach, done, wrote, touched }
    }

    /// Goes on behind scheme and host.
    #[inline(always)]
    fn resume(&mut self, known: &CodedOrigin) {
        for (mark, state) in known.marks.iter().zip(known.slots) {
            if let Some(slot) = self.slots.get_mut(usize::from(mark.slot)) {
                *slot = state;
            }
        }
        self.present = known.present;
        self.identity = known.identity;
        self.reach = known.reach;
        self.done = known.done;
        self.wrote = known.wrote;
        self.touched = known.touched;
    }

    /// The next query key, by its place in the usual order and its name.
    #[inline(always)]
    fn follow(&mut self, rank: u16, name: (u32, u32), cells: &Cells) {
        let rank = i32::from(rank);
        self.fell |= self.last.0 > rank;
        if self.last.0 == rank {
            let text = |(start, end)| cells.bytes(start, end);
            self.fell |= text(self.last.1) >= text(name);
        }
        self.unnamed |= name.0 == name.1;
        self.last = (rank, name);
    }

    /// Leaves out the unusual order of parameters, which has no cell yet; false where no rule does at once.
    fn leaves_order_out(&mut self) -> bool {
        let slot = self.template.fixed().get(usize::from(Fixed::ORDER.0)).copied().unwrap_or(NO_FIXED);
        let Some(column) = self.template.columns[..self.slots.len()].get(usize::from(slot)) else { return false };
        if column.at_once == NO_PROGRAM || !self.at_once {
            return false;
        }
        self.done |= 1 << column.at_once;
        self.touched |= touch::QUERY;
        true
    }

    /// Leaves out the cell at `at`.
    #[inline(always)]
    fn drop(&mut self, column: &Column, at: u16) -> Mark {
        self.done |= 1 << column.at_once;
        self.gone |= 1 << at;
        self.touched |=
            if let Class::Fixed(number) = column.class { touch::without(Fixed(number)) } else { touch::QUERY };
        Mark { hash: 0, rank: column.rank, slot: NO_SLOT }
    }

    /// Gives the cell at `at`, scheme or host, the value that it has in the end; `same` where it has it already.
    #[inline(always)]
    fn set(&mut self, column: &Column, slot: usize, at: u16, hash: u64, same: bool) -> Mark {
        let row = self.template.values[usize::from(column.becomes)].row;
        if !same {
            self.done |= 1 << (column.at_once % LISTED);
            self.wrote[usize::from(at)] = column.becomes();
            self.touched |= if at == 0 { touch::SCHEME } else { touch::HARMLESS };
        }
        self.note(slot, SlotState { code: column.becomes(), cell: at, row });
        self.identity = self.identity.wrapping_add(hash);
        Mark { hash, rank: column.rank, slot: slot as Slot }
    }

    /// A cell with a fixed key. A call of its own: scheme and order of parameters are seldom coded.
    #[inline(never)]
    fn fixed(&mut self, number: u8, at: u16, value: Value<'_>) -> Mark {
        let key = self.fixed_key(number);
        self.pair(key, at, value)
    }

    /// A fixed key.
    #[inline(always)]
    fn fixed_key(&self, number: u8) -> CodedKey {
        let slot = self.template.fixed().get(usize::from(number)).copied().unwrap_or(NO_FIXED);
        let slot = if slot == NO_FIXED { NO_SLOT } else { Slot::from(slot) };
        CodedKey { slot, rank: NO_RANK, seed: fixed_seed(number) }
    }

    /// A key with a name, by the hash of the name.
    #[inline(always)]
    fn named(&self, seed: u64) -> CodedKey {
        let columns = &*self.template.columns;
        match self.template.named.find(seed, |at| columns[at as usize].seed) {
            Some(at) => {
                let slot = if (at as usize) < self.slots.len() { at as Slot } else { NO_SLOT };
                CodedKey { slot, rank: columns[at as usize].rank, seed }
            }
            None => CodedKey { slot: NO_SLOT, rank: NO_RANK, seed },
        }
    }

    /// The code of a depth that rules mention.
    #[inline(always)]
    fn code_of_depth(&self, key: &CodedKey, value: Value<'_>) -> Option<u16> {
        let &[digit] = value.bytes() else { return None };
        let code = *self.template.depths.get(usize::from(digit.wrapping_sub(b'0')))?;
        (key.slot != NO_SLOT && u32::from(code) != ABSENT).then_some(code)
    }

    /// Notes a depth that rules mention; none sets it while the URL is read.
    #[inline(always)]
    fn pair_of_depth(&mut self, &CodedKey { slot, rank, .. }: &CodedKey, at: u16, code: u16) -> Mark {
        debug_assert!(self.template.columns[usize::from(slot)].at_once == NO_PROGRAM, "a rule that sets the depth");
        let Constant { hash, row, .. } = self.template.values[usize::from(code)];
        self.identity = self.identity.wrapping_add(hash);
        self.note(usize::from(slot), SlotState { code: u32::from(code), cell: at, row });
        Mark { hash, rank, slot }
    }

    /// A value of a key that no rule mentions.
    #[inline(always)]
    fn other(&mut self, rank: u16, value: Value<'_>, seed: u64) -> Mark {
        self.empty |= value.is_empty();
        let hash = if self.template.identified { value.hash(seed) } else { 0 };
        self.identity = self.identity.wrapping_add(hash);
        Mark { hash, rank, slot: NO_SLOT }
    }

    /// Notes the cell at `at` with this key, and its value.
    #[inline(always)]
    fn pair(&mut self, CodedKey { slot: number, rank, seed }: CodedKey, at: u16, value: Value<'_>) -> Mark {
        if number == NO_SLOT {
            return self.other(rank, value, seed);
        }
        let slot = usize::from(number);
        let column = &self.template.columns[slot];
        if column.at_once != NO_PROGRAM && self.at_once {
            if column.becomes() != ABSENT {
                let Constant { start, end, hash, .. } = self.template.values[usize::from(column.becomes)];
                let same = self.template.pool[start as usize..end as usize] == *value.bytes();
                return self.set(column, slot, at, hash, same);
            }
            if usize::from(at) < MOST_GONE {
                return self.drop(column, at);
            }
        }
        self.empty |= value.is_empty();
        let hash = if column.coded | self.template.identified { value.hash(seed) } else { 0 };
        self.identity = self.identity.wrapping_add(hash);
        let (mut code, mut row) = (OTHER, column.row);
        let values = &*self.template.values;
        if column.coded
            && let Some(found) = self.template.codes.find(hash, |code| values[code as usize].hash)
        {
            (code, row) = (found, values[found as usize].row);
        }
        self.note(slot, SlotState { code, cell: at, row });
        Mark { hash, rank: column.rank, slot: slot as Slot }
    }

    /// The host; those that rules mention are the site's own. A call of its own: most are known from the URL before.
    #[inline(never)]
    fn host(&mut self, site: &CompiledSite, at: u16, value: Value<'_>) -> Mark {
        let slot = self.template.fixed().get(usize::from(Fixed::HOST.0)).copied().unwrap_or(NO_FIXED);
        if slot == NO_FIXED {
            return self.other(NO_RANK, value, fixed_seed(Fixed::HOST.0));
        }
        let slot = usize::from(slot);
        let column = &self.template.columns[slot];
        let code = if column.coded { site.code_of_host(value.bytes()) } else { OTHER };
        if self.at_once && (column.at_once < LISTED || column.at_once != NO_PROGRAM && code != OTHER) {
            let hash = self.template.values[usize::from(column.becomes)].hash;
            return self.set(column, slot, at, hash, code == column.becomes());
        }
        self.empty |= value.is_empty();
        let (row, hash) = match code {
            OTHER if self.template.identified => (column.row, value.hash(column.seed)),
            OTHER => (column.row, 0),
            code => (self.template.values[code as usize].row, self.template.values[code as usize].hash),
        };
        self.identity = self.identity.wrapping_add(hash);
        self.note(slot, SlotState { code, cell: at, row });
        Mark { hash, rank: column.rank, slot: slot as Slot }
    }

    /// Notes what is in a slot, and which programs that lets pass and sets to work.
    #[inline(always)]
    fn note(&mut self, slot: usize, state: SlotState) {
        self.slots[slot] = state;
        self.present |= bit(slot as Slot);
        // A site without programs has no rows.
        if let Some(bits) = self.template.rows.get(usize::from(state.row) * self.row_words) {
            self.reach.enter(*bits);
        }
    }
}
