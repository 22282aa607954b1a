//! Coding: the pairs of a URL get slots, codes and hashes.

use super::index::{PARAM_SEED, QUERY_SEED, fixed_seed};
use super::{
    ABSENT, CompiledSite, EVER, NO_PROGRAM, NO_RANK, NO_SLOT, OTHER, PairState, REMOVED, Slot, SlotState, State,
    Template, bit, bits, part, touch,
};
use crate::rules::functions::{ANY, EMPTY, REPEATED};
use crate::url::hash::{hash, hash_in};
use crate::url::section::{self, Section};
use crate::url::{self, Fixed, KeyRef, KeyValue, KeyValues, Split};

/// Pairs of a URL that inlined programs may remove, the first ones.
const MOST_REMOVED: u16 = 63;

/// Longest origin, as inlined programs write it, that is kept, in bytes.
const ORIGIN: usize = 56;

/// Place for the coding of an origin: `None` within the place until it is computed.
pub type KeptOrigin<'o> = Option<&'o mut Option<CodedOrigin>>;

/// The first two pairs of a URL, scheme and host, coded: equal for all URLs of the origin.
#[derive(Clone, Copy, Debug)]
pub struct CodedOrigin {
    pairs: [PairState; 2],
    slots: [SlotState; 2],
    /// Scheme and host as inlined programs wrote them, with `://` between and zeros behind; their lengths,
    /// 0 where none did.
    text: [u8; ORIGIN],
    lengths: [u8; 2],
    fired: u64,
    present: u64,
    identity: u64,
    /// Sums over the rows of both.
    rows: [u64; 2],
    touched: u8,
    /// Inlined programs that ran on them: in other sections other programs run.
    programs: u64,
}

impl CompiledSite {
    /// Tokenizes the URL at `split` and codes its pairs; adds the key for an unusual order of parameters.
    /// `origin` receives the coding of scheme and host, or provides it. With `inline`, runs the inlined
    /// programs. Returns those that fired, and the candidates among the first 64.
    pub(super) fn code(
        &self,
        split: &Split,
        kv: &mut KeyValues,
        state: &mut State,
        inline: bool,
        origin: KeptOrigin<'_>,
    ) -> [u64; 2] {
        let template = &*self.template;
        kv.tokenize(split, template.tokenizer);
        state.clear(usize::from(template.slots));
        state.holds = split.letters | ANY;
        let section = template.section(&kv.text[split.path.0 as usize..split.path.1 as usize]);
        let allowed = section.map_or(u64::MAX, |state| template.allowed(state.row));
        let programs = if inline { template.origin & allowed } else { 0 };
        let made;
        let known: &CodedOrigin = match origin {
            Some(Some(known)) if known.programs == programs => {
                resume(known, kv, state);
                known
            }
            origin => {
                made = self.code_origin(kv, state, programs);
                let kept = origin.filter(|_| made.lengths != [0, 0] || made.fired == 0);
                kept.map_or(&made, |place| place.insert(made))
            }
        };
        let State { slots, pairs, .. } = state;
        let CodedOrigin { present, identity, fired, touched, rows, .. } = *known;
        let mut coding = Coding {
            template,
            slots,
            present,
            identity,
            rows,
            words: template.words(),
            inlined: if inline { allowed } else { 0 },
            removed: 0,
            fired,
            empty: false,
        };
        if let Some(section) = section {
            coding.put(template.fixed_slot(Fixed::SECTION.0), section);
        }
        let (mut unnamed, mut fell, mut last) = (false, false, (0, (0, 0)));
        for (found, at) in kv.list[2..].iter().zip(2u16..) {
            let key = match found.key {
                KeyRef::Fixed(fixed) => coding.fixed(fixed),
                KeyRef::Param(start, end) => coding.named(hash_in(&kv.text, start, end, PARAM_SEED)),
                KeyRef::Query(start, end) => {
                    let key = coding.named(hash_in(&kv.text, start, end, QUERY_SEED));
                    unnamed |= start == end;
                    // Ranks count from 1 here: nothing precedes the first parameter.
                    let rank = u32::from(key.rank) + 1;
                    let (before, (from, to)) = last;
                    fell |= before > rank || before == rank && kv.bytes(from, to) >= kv.bytes(start, end);
                    last = (rank, (start, end));
                    key
                }
            };
            pairs.push(coding.pair(key, at, found, &kv.text));
        }
        let repeats = kv.list.len() - kv.query_from != kv.names.len();
        let unusual = match repeats {
            true => !url::is_usual_order(kv, |_, at| u32::from(pairs[at].rank)),
            false => fell && template.ordered,
        };
        let order = template.columns.get(usize::from(template.fixed_slot(Fixed::ORDER.0)));
        let order = order.map_or(NO_PROGRAM, |column| column.inlined);
        let disordered = unusual && coding.inlines(order);
        if disordered {
            coding.fired |= 1 << order;
        } else if unusual {
            url::write_order(kv);
            // The new pair precedes those of the query.
            let at = kv.query_from - 1;
            if at < usize::from(MOST_REMOVED) {
                coding.removed += coding.removed >> at << at;
            }
            for pair in pairs[at..].iter().filter(|pair| pair.slot != NO_SLOT) {
                coding.slots[usize::from(pair.slot)].pair += 1;
            }
            let pair = coding.pair(coding.fixed(Fixed::ORDER), at as u16, &kv.list[at], &kv.text);
            pairs.insert(at, pair);
        }
        let Coding { present, identity, rows: [pass, act], empty, removed, fired, .. } = coding;
        (state.present, state.identity) = (present, identity);
        (state.ordered, state.unnamed, state.disordered) = (unusual && !disordered, unnamed, disordered);
        (state.ran, state.touched) = (false, touched | if disordered { touch::QUERY } else { 0 });
        state.removed = removed.count_ones() as usize;
        state.holds |= if empty { EMPTY } else { 0 } | if repeats { REPEATED } else { 0 };
        for at in bits(removed) {
            state.touched |= touch::removed(std::mem::replace(&mut kv.list[at].key, REMOVED).kind());
        }
        let asleep = |&(needs, programs): &(u8, u64)| if needs & state.holds == 0 { programs } else { 0 };
        let asleep = template.sleepers.iter().map(asleep).fold(0, |all, programs| all | programs);
        // Those of the origin have already run.
        let had = if inline { template.origin } else { 0 };
        [fired, pass & act & !asleep & !had]
    }

    /// Codes scheme and host. Not inlined: most URLs have the origin of the URL before.
    #[inline(never)]
    fn code_origin(&self, kv: &mut KeyValues, state: &mut State, programs: u64) -> CodedOrigin {
        let template = &*self.template;
        (state.present, state.identity, state.removed, state.touched) = (EVER, 0, 0, 0);
        for (at, fixed) in [(0, Fixed::SCHEME), (1, Fixed::HOST)] {
            let (slot, value) = (template.fixed_slot(fixed.0), kv.value(&kv.list[at]));
            let (code, hash) = match slot {
                NO_SLOT => (OTHER, hash(value, fixed_seed(fixed.0))),
                slot => self.code_of(slot, value),
            };
            if slot != NO_SLOT {
                let row = template.row(slot, code);
                state.slots[usize::from(slot)] = SlotState { code, row, pair: at as u16 };
                state.present |= bit(slot);
            }
            state.identity = state.identity.wrapping_add(hash);
            state.pairs.push(PairState { hash, rank: NO_RANK, slot });
        }
        let mut fired = 0;
        for at in bits(programs) {
            fired |= u64::from(self.run(&template.programs[at], kv, state)) << at;
        }
        // Several programs may set the origin: where one of them would act again, the URL is tokenized again.
        let acts = |at: usize| {
            let steps = template.programs[at].steps;
            template.changes(steps, kv, state) && self.leads_to_own_origin(part(&template.steps, steps), kv)
        };
        if fired != 0 && bits(programs).any(acts) {
            state.touched |= touch::SHAPE;
        }
        let pairs = [state.pairs[0], state.pairs[1]];
        let slot = |pair: PairState| state.slots.get(usize::from(pair.slot)).copied().unwrap_or(SlotState::default());
        let slots = pairs.map(slot);
        let (mut text, mut lengths) = ([0; ORIGIN], [0, 0]);
        let [scheme, host] = [0, 1].map(|at| kv.value(&kv.list[at]));
        let length = scheme.len() + 3 + host.len();
        if fired != 0 && length <= ORIGIN {
            let parts = scheme.iter().chain(b"://").chain(host);
            text.iter_mut().zip(parts).for_each(|(byte, part)| *byte = *part);
            lengths = [scheme.len() as u8, length as u8];
        }
        let State { present, identity, touched, .. } = *state;
        let row = |rows: [u64; 2], slot: SlotState| template.add_row(rows, slot.row, template.words());
        let every = template.rows.first().copied().unwrap_or_default();
        let rows = slots.into_iter().filter(|slot| slot.code != ABSENT).fold(every, row);
        CodedOrigin { pairs, slots, text, lengths, fired, present, identity, rows, touched, programs }
    }
}

impl Template {
    /// The section of a path as the value of a slot, where rules name some. Sections are no pairs.
    #[inline(always)]
    pub(super) fn section(&self, path: &[u8]) -> Option<SlotState> {
        let slot = self.fixed_slot(Fixed::SECTION.0);
        if slot == NO_SLOT {
            return None;
        }
        let (number, other) = (self.number, self.number + 1);
        let find = |name: &[u8]| {
            let hash = hash(name, fixed_seed(Fixed::SECTION.0));
            self.codes.find(hash, |code| self.values[code as usize].hash == hash)
        };
        let listed = |name: &[u8]| find(name).filter(|&code| code < number);
        let code = match section::of(path) {
            Section::Tenant(name) => find(name).unwrap_or(OTHER),
            Section::Member(directory, name) if listed(directory).is_some() => find(name).unwrap_or(OTHER),
            Section::Member(directory, _) => listed(&directory[..directory.len() - 1]).unwrap_or(other),
            Section::Word(name) => listed(name).unwrap_or(other),
            Section::Number => number,
            Section::Other => other,
        };
        Some(SlotState { code, row: self.row(slot, code), pair: u16::MAX })
    }

    /// Programs of the first 64 that a row lets pass, as bits.
    #[inline(always)]
    fn allowed(&self, row: u32) -> u64 {
        self.add_row([u64::MAX, 0], row, self.words())[0]
    }
}

/// Continues behind scheme and host.
#[inline(always)]
fn resume(known: &CodedOrigin, kv: &mut KeyValues, state: &mut State) {
    state.pairs.extend_from_slice(&known.pairs);
    for (pair, slot) in known.pairs.iter().zip(known.slots) {
        if let Some(state) = state.slots.get_mut(usize::from(pair.slot)) {
            *state = slot;
        }
    }
    if known.lengths != [0, 0] {
        let (start, [scheme, end]) = (kv.text.len() as u32, known.lengths.map(u32::from));
        kv.text.extend_from_slice(&known.text);
        (kv.list[0].start, kv.list[0].end) = (start, start + scheme);
        (kv.list[1].start, kv.list[1].end) = (start + scheme + 3, start + end);
    }
}

/// A key as rules name it.
struct CodedKey {
    /// [`NO_SLOT`] where no rule names it.
    slot: Slot,
    /// Rank as in [`PairState::rank`].
    rank: u16,
    /// Seed of its values.
    seed: u64,
}

/// The pairs of one URL while they are coded.
struct Coding<'s> {
    template: &'s Template,
    slots: &'s mut [SlotState],
    present: u64,
    identity: u64,
    /// Sums over the rows of the values.
    rows: [u64; 2],
    /// Words a row.
    words: usize,
    /// Inlined programs that run, as bits.
    inlined: u64,
    /// Pairs that they removed, and those that did, as bits.
    removed: u64,
    fired: u64,
    /// A value is empty.
    empty: bool,
}

impl Coding<'_> {
    #[inline(always)]
    fn fixed(&self, Fixed(number): Fixed) -> CodedKey {
        CodedKey { slot: self.template.fixed_slot(number), rank: NO_RANK, seed: fixed_seed(number) }
    }

    /// A key with a name, by the hash of the name.
    #[inline(always)]
    fn named(&self, seed: u64) -> CodedKey {
        let columns = &*self.template.columns;
        match self.template.named.find(seed, |at| columns[at as usize].seed == seed) {
            Some(at) => {
                let slot = if (at as usize) < self.slots.len() { at as Slot } else { NO_SLOT };
                CodedKey { slot, rank: columns[at as usize].rank, seed }
            }
            None => CodedKey { slot: NO_SLOT, rank: NO_RANK, seed },
        }
    }

    /// True for an inlined program that runs.
    #[inline(always)]
    fn inlines(&self, program: u8) -> bool {
        program != NO_PROGRAM && self.inlined >> program & 1 != 0
    }

    /// Records the value of a slot.
    #[inline(always)]
    fn put(&mut self, slot: Slot, state: SlotState) {
        self.slots[usize::from(slot)] = state;
        self.present |= bit(slot);
        self.rows = self.template.add_row(self.rows, state.row, self.words);
    }

    /// The pair at `at`, with this key.
    #[inline(always)]
    fn pair(&mut self, CodedKey { slot, rank, seed }: CodedKey, at: u16, found: &KeyValue, text: &[u8]) -> PairState {
        let template = self.template;
        let column = template.columns[..self.slots.len()].get(usize::from(slot));
        if let Some(column) = column
            && self.inlines(column.inlined)
            && at < MOST_REMOVED
        {
            self.removed |= 1 << at;
            self.fired |= 1 << column.inlined;
            return PairState { hash: 0, rank, slot: NO_SLOT };
        }
        self.empty |= found.start == found.end;
        let coded = column.is_some_and(|column| column.coded);
        let hash = if coded | template.identified { hash_in(text, found.start, found.end, seed) } else { 0 };
        self.identity = self.identity.wrapping_add(hash);
        if let Some(column) = column {
            let values = &*template.values;
            let (mut code, mut row) = (OTHER, column.row);
            if coded && let Some(found) = template.codes.find(hash, |code| values[code as usize].hash == hash) {
                (code, row) = (found, values[found as usize].row);
            }
            self.put(slot, SlotState { code, row, pair: at });
        }
        PairState { hash, rank, slot }
    }
}
