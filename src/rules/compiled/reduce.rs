//! Reduction: from a URL to the pairs left by the rules, and from those to the canonical URL.

use super::compile::FIRST_HOST;
use super::{
    ALL, Buffers, CompiledSite, Constant, KeptOrigin, KeySlot, NO_RULE, OTHER, Program, REMOVED, Slot, State, Template,
    part, touch,
};
use crate::rules::origin_cache::OriginCache;
use crate::url::hash::hash;
use crate::url::{self, Fixed, KeyKind, KeyRef, KeyValues, Origin, Split};

impl CompiledSite {
    /// Tokenizes the URL at `split` in `buffers` and runs the rules on its pairs; where the result lies in a
    /// mirrored directory, once more on its twin. On a site with mirrors, `buffers.out` then holds the URL
    /// of the pairs, where rules fired. `origin` is that of [`code`](Self::code).
    pub fn reduce(&self, split: &Split, buffers: &mut Buffers, origin: KeptOrigin<'_>) {
        self.run_with_exceptions(split, buffers, origin);
        if !self.mirrors().is_empty() {
            self.move_to_twin(split, buffers);
        }
    }

    /// Runs the rules; again without the excepted rule where the result is the page of an exception.
    pub(super) fn run_with_exceptions(&self, split: &Split, buffers: &mut Buffers, origin: KeptOrigin<'_>) {
        let length = buffers.kv.text.len();
        self.run_without(NO_RULE, split, buffers, origin);
        if !buffers.fired.is_empty()
            && let Some(rule) = self.exception(buffers.state.identity)
        {
            buffers.kv.text.truncate(length);
            self.run_without(rule, split, buffers, None);
            buffers.state.touched |= touch::SHAPE;
        }
    }

    /// One pass of the rules but for one. Removed pairs remain in the list until [`tidy`].
    pub(super) fn run_without(&self, without: u16, split: &Split, buffers: &mut Buffers, origin: KeptOrigin<'_>) {
        let (Buffers { kv, state, fired, .. }, template) = (buffers, &*self.template);
        fired.clear();
        let [mut done, first] = self.code(split, kv, state, without == NO_RULE, origin);
        if without == ALL {
            return;
        }
        let mut inlined = if without == NO_RULE { template.origin } else { 0 };
        for (word, programs) in template.programs.chunks(64).enumerate() {
            let mut candidates = if word == 0 { first & !inlined } else { template.candidates(word, state) };
            while candidates != 0 {
                let at = candidates.trailing_zeros();
                candidates &= candidates - 1;
                let (program, rule) = (&programs[at as usize], word as u16 * 64 + at as u16);
                if program.needs & state.holds != 0
                    && template.passes(program, state)
                    && rule != without
                    && self.run(program, kv, state)
                {
                    done |= 1 << at;
                    state.ran = true;
                    if program.watched {
                        // Later programs read its output.
                        candidates = template.candidates(word, state) & !inlined & (u64::MAX << at << 1);
                    }
                }
            }
            fired.add(word, std::mem::take(&mut done));
            inlined = 0;
        }
    }

    /// Code and hash of a value of a slot; hosts are the site's own.
    pub(super) fn code_of(&self, slot: Slot, value: &[u8]) -> (u32, u64) {
        let (values, KeySlot { seed, kind, .. }) = (&*self.template.values, self.template.columns[usize::from(slot)]);
        let hash = hash(value, seed);
        let code = match kind {
            KeyKind::Fixed(Fixed::HOST) => {
                let index = self.own.hosts.find(value).filter(|&index| index < self.template.hosts as usize);
                index.map(|index| (FIRST_HOST + index) as u32)
            }
            _ => self.template.codes.find(hash, |code| values[code as usize].hash == hash),
        };
        code.map_or((OTHER, hash), |code| (code, values[code as usize].hash))
    }

    /// The bytes of the value of a code.
    #[inline]
    pub(super) fn text(&self, code: u32) -> &[u8] {
        let Constant { start, end, .. } = self.template.values[code as usize];
        let host = (code as usize).checked_sub(FIRST_HOST).filter(|&index| index < self.template.hosts as usize);
        host.and_then(|index| self.own.hosts.get(index)).unwrap_or_else(|| part(&self.template.pool, (start, end)))
    }

    /// Writes the canonical URL of the URL in `buffers`, which no look-up names; or returns the page that one
    /// names once the rules have acted on what they wrote. `program` is the number of this program in the rule
    /// set of this number, whose origins are in the cache.
    #[inline]
    pub(in crate::rules) fn conclude(
        &self,
        buffers: &mut Buffers,
        origins: &mut OriginCache,
        (rules, program): (u64, Option<u32>),
    ) -> Option<u32> {
        if !buffers.fired.is_empty() {
            if self.mirrors().is_empty() {
                compose(buffers);
            }
            if self.template.is_fixed_point(buffers) || buffers.out == buffers.kv.text[..buffers.length] {
                return None;
            }
            let hit = origins.find(&buffers.out, rules).filter(|hit| hit.program == program);
            let coded = hit.as_ref().and_then(|hit| origins.coded(hit));
            if self.is_fixed_point(buffers, hit.map(|hit| hit.origin), coded) {
                return None;
            }
            let again = buffers.again.as_mut().expect("the URL was cut again");
            std::mem::swap(&mut buffers.out, &mut again.out);
            buffers.fired.extend(again.fired.iter());
            let member = if buffers.out.is_empty() { None } else { self.member(again) };
            if member.is_some() || self.is_fixed_point(buffers, None, None) {
                return member;
            }
        }
        buffers.keep_normal();
        None
    }

    /// True where the URL in `buffers.out` is in normal form, on the origin of the normal form in `buffers`
    /// or one of the site, and canonicalizes to itself; computed by canonicalizing it. `origin` and `coded`
    /// are cached data of its origin, for [`normalize_behind`](url::normalize_behind) and
    /// [`code`](Self::code). `buffers.again` then holds what the rules make of it, without a URL where they do
    /// not act on it.
    pub(super) fn is_fixed_point(&self, buffers: &mut Buffers, origin: Option<Origin>, coded: KeptOrigin<'_>) -> bool {
        let (mut again, mut split) = (buffers.again.take().unwrap_or_default(), Split::default());
        again.out.clear();
        let is_normal = url::normalize_behind(origin, &buffers.out, &mut again.kv.text, &mut split).is_ok()
            && again.kv.text == buffers.out
            && !self.leaves_out_fragment(&split, &buffers.out)
            && (buffers.kv.text.starts_with(&buffers.out[..=split.path.0 as usize])
                || self.has_origin(&buffers.out[..split.path.0 as usize]));
        if is_normal {
            self.reduce(&split, &mut again, coded);
            match self.member(&again).and_then(|member| self.page(member)) {
                Some(url) => url.as_bytes().clone_into(&mut again.out),
                // Unchanged pairs compose to the bytes that they were tokenized from.
                None if again.fired.is_empty() => again.out.clone_from(&buffers.out),
                None => compose(&mut again),
            }
        }
        let is_fixed_point = is_normal && again.out == buffers.out;
        buffers.again = Some(again);
        is_fixed_point
    }
}

impl Template {
    /// True where all checks of a program hold; for a rule between forms, where the URL has no key that
    /// they do not name.
    #[inline(always)]
    pub(super) fn passes(&self, program: &Program, state: &State) -> bool {
        state.present & program.required == program.required
            && (!program.is_form() || state.pairs.len() - state.removed == usize::from(program.named))
            && part(&self.checks, program.checks).iter().all(|&(slot, check)| self.holds(check, state.slot(slot).code))
    }
}

/// Writes the URL of the pairs to `buffers.out`.
pub(super) fn compose(buffers: &mut Buffers) {
    tidy(&mut buffers.kv, &mut buffers.state);
    url::compose(&buffers.kv, &mut buffers.out);
}

/// Takes out the pairs that rules removed, and sorts the others where their order was disturbed. Slots
/// lose their pairs.
fn tidy(kv: &mut KeyValues, state: &mut State) {
    if state.removed > 0 {
        let mut kept = 0;
        for at in 0..kv.list.len() {
            if kv.list[at].key != REMOVED {
                (kv.list[kept], state.pairs[kept]) = (kv.list[at], state.pairs[at]);
                kept += 1;
            }
        }
        kv.list.truncate(kept);
        state.pairs.truncate(kept);
        state.removed = 0;
    }
    if std::mem::take(&mut state.disordered) {
        // Few pairs: an insertion sort in place.
        for end in 1..kv.list.len() {
            let mut at = end;
            while at > 0 && precedes(kv, state, at) {
                kv.list.swap(at, at - 1);
                state.pairs.swap(at, at - 1);
                at -= 1;
            }
        }
    }
}

/// True where the pair at `at` belongs before the one before it. Path parameters keep their order.
fn precedes(kv: &KeyValues, state: &State, at: usize) -> bool {
    match (kv.list[at].key, kv.list[at - 1].key) {
        (KeyRef::Query(start, end), KeyRef::Query(from, to)) => {
            (state.pairs[at].rank, kv.bytes(start, end)) < (state.pairs[at - 1].rank, kv.bytes(from, to))
        }
        (key, before) => key.kind() < before.kind(),
    }
}
