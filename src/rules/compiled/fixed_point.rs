//! Fixed-point check: whether a URL that rules changed surely canonicalizes to itself, without tokenizing
//! it again.

use super::{Buffers, NO_SLOT, State, Step, Template, bits, part, touch};
use crate::rules::functions;
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Fixed, KeyRef, KeyValues, LETTERS, Part, letters};

impl Template {
    /// True where the pairs of `buffers`, composed to `buffers.out` and tokenized again, are the same pairs, and
    /// no rule acts on them. False is no answer: the URL is then tokenized again, at the cost of a second URL.
    ///
    /// The pairs that rules kept are tokenized differently only where a removed delimiter decided the
    /// tokenization of the pairs beside it. These places are checked one by one.
    pub(super) fn is_fixed_point(&self, buffers: &mut Buffers) -> bool {
        let Buffers { kv, state, out, .. } = &*buffers;
        // A path that is as it was is tokenized as it was.
        let (touched, path) = (state.touched, state.touched & (touch::PATH | touch::SLASH) != 0);
        if touched & touch::SHAPE != 0 || !self.tokenizer.is_usual(path) {
            return false;
        }
        // The query without some of its parameters is tokenized into the others.
        if touched & touch::QUERY != 0 && (state.ordered || state.unnamed) {
            return false;
        }
        // A port may be the default port of another scheme.
        if touched & touch::SCHEME != 0 && memchr::memchr(b':', kv.value(&kv.list[1])).is_some() {
            return false;
        }
        if touched & touch::SLASH != 0 && !is_bare_path(kv) {
            return false;
        }
        // Other programs may act in the section of the result, where the path is another.
        let (section, mut ran) = (self.fixed_slot(Fixed::SECTION.0), state.ran);
        if section != NO_SLOT && path {
            let path = kv.value(&kv.list[0]).len() + 3 + kv.value(&kv.list[1]).len();
            let path = &out[path..];
            let path = &path[..memchr::memchr2(b'?', b'#', path).unwrap_or(path.len())];
            let Some(found) = self.section(path) else { return false };
            ran |= found.code != state.slot(section).code;
            buffers.state.slots[usize::from(section)] = found;
        }
        // Where no program but inlined ones ran, every program was checked on these pairs, and inlined ones
        // act once.
        !ran || self.is_idle(buffers)
    }

    /// True where no program acts on the pairs of `buffers`, which are composed to `buffers.out`.
    pub(super) fn is_idle(&self, Buffers { kv, state, out, .. }: &mut Buffers) -> bool {
        // Properties that functions may find in the URL now: a value with capitals may have been removed.
        let holds = letters(out) | state.holds & !LETTERS;
        (0..self.words()).all(|word| {
            bits(self.candidates(word, state)).map(|at| &self.programs[word * 64 + at]).all(|program| {
                program.needs & holds == 0
                    || !self.passes(program, state)
                    || !program.is_form() && !self.changes(program.steps, kv, state)
            })
        })
    }

    /// True where one of these steps would change the URL.
    pub(super) fn changes(&self, steps: (u32, u32), kv: &KeyValues, state: &mut State) -> bool {
        part(&self.steps, steps).iter().any(|step| match *step {
            // Slots have lost their pairs, pairs have their slots.
            Step::Apply(slot, function) => {
                let at = state.pairs.iter().position(|pair| pair.slot == slot);
                at.is_some_and(|at| functions::apply(function, kv.value(&kv.list[at]), &mut state.value))
            }
            _ => self.may_change(step, state.slot(step.slot()).code),
        })
    }
}

/// True where the path, without its trailing slash, index or doubled slashes, is tokenized into the same
/// parts.
fn is_bare_path(kv: &KeyValues) -> bool {
    let (depth, mut needs_slash, mut slash, mut extension) = (depth(kv), false, false, false);
    for key_value in &kv.list {
        match key_value.key {
            KeyRef::Fixed(Fixed::INDEX | Fixed::DOUBLE_SLASH) => needs_slash = true,
            KeyRef::Fixed(Fixed::TRAILING_SLASH) => slash = true,
            KeyRef::Fixed(Fixed::EXTENSION) => extension = true,
            _ => {}
        }
    }
    if depth + 1 >= MAX_SEGMENTS {
        return false;
    }
    if slash {
        // A slash that a rule added is written neither behind an empty path nor behind an extension.
        return depth > 0 && !extension;
    }
    if depth == 0 {
        return true;
    }
    // The last segment ends the path now: its extension, or a parameter in it, would get other keys. An
    // index needs its slash, and doubled slashes behind the segment are gone with it.
    !needs_slash
        && kv.list.iter().all(|key_value| match key_value.key {
            KeyRef::Fixed(fixed) => fixed.as_path().is_none_or(|(segment, part)| {
                segment + 1 != depth || part != Part::Extension && memchr::memchr(b';', kv.value(key_value)).is_none()
            }),
            _ => true,
        })
}

/// Number of path segments. No rule changed it: that would change the shape.
fn depth(kv: &KeyValues) -> usize {
    let key_value = kv.list.iter().find(|key_value| key_value.key == KeyRef::Fixed(Fixed::DEPTH));
    let digits = key_value.map_or(&b""[..], |key_value| kv.value(key_value));
    digits.iter().fold(0, |depth, digit| depth * 10 + usize::from(digit - b'0'))
}
