//! Execution: the effect of a program on the pairs of one URL.

use super::{
    ABSENT, CompiledSite, Constant, EVER, Fill, Filled, KeySlot, PairState, Program, REMOVED, Slot, SlotState, State,
    Step, append, bit, part, touch,
};
use crate::rules::functions::{self, fits};
use crate::rules::types::Function;
use crate::url::keys::host_sub;
use crate::url::{Fixed, KeyKind, KeyRef, KeyValue, KeyValues, Part, segment};

impl CompiledSite {
    /// Runs a program; true when it changed something. Not inlined: most URLs run none.
    #[inline(never)]
    pub(super) fn run(&self, program: &Program, kv: &mut KeyValues, state: &mut State) -> bool {
        if program.is_form() {
            return self.move_to(part(&self.template.fills, program.target), kv, state);
        }
        if program.moves && !self.leads_to_own_origin(part(&self.template.steps, program.steps), kv) {
            return false;
        }
        let mut changed = false;
        for step in part(&self.template.steps, program.steps) {
            let code = state.slot(step.slot()).code;
            changed |= match *step {
                Step::Apply(slot, function) => code != ABSENT && self.function(slot, function, kv, state),
                _ => match self.template.after(step, code) {
                    same if same == code => false,
                    ABSENT => drop(step.slot(), kv, state),
                    to => self.set(step.slot(), to, kv, state),
                },
            };
        }
        changed
    }

    /// True where the steps keep scheme and host, or lead to an origin of the site.
    pub(super) fn leads_to_own_origin(&self, steps: &[Step], kv: &KeyValues) -> bool {
        let before = [0, 1].map(|at| Some(kv.value(&kv.list[at])));
        let mut after = before;
        for step in steps {
            let at = match self.template.columns[usize::from(step.slot())].kind {
                KeyKind::Fixed(Fixed::SCHEME) => 0,
                KeyKind::Fixed(Fixed::HOST) => 1,
                _ => continue,
            };
            let code = after[at].map_or(ABSENT, |value| self.code_of(step.slot(), value).0);
            after[at] = match self.template.after(step, code) {
                _ if matches!(step, Step::Apply(..)) => {
                    after[at].map(|host| functions::without_www(host).unwrap_or(host))
                }
                same if same == code => after[at],
                ABSENT => None,
                to => Some(self.text(to)),
            };
        }
        let [scheme, host] = after.map(Option::unwrap_or_default);
        // No URL has an origin without a scheme or a host, whatever a rule file made by hand says.
        after == before || !scheme.is_empty() && !host.is_empty() && self.own.hosts.has_origin(scheme, host)
    }

    /// Gives a key a constant.
    fn set(&self, slot: Slot, code: u32, kv: &mut KeyValues, state: &mut State) -> bool {
        let Constant { hash, plain, holds, .. } = self.template.values[code as usize];
        let SlotState { code: now, pair, .. } = state.slot(slot);
        state.holds |= holds;
        if now == ABSENT && !self.template.is_origin(slot) {
            let column = &self.template.columns[usize::from(slot)];
            let key = self.key_ref(column, kv);
            state.slots[usize::from(slot)].pair = kv.list.len() as u16;
            state.pairs.push(PairState { hash: 0, rank: column.rank, slot });
            state.present |= bit(slot);
            // Only parts of the path and parameters are composed in the order of the list.
            state.disordered |= !matches!(key, KeyRef::Fixed(fixed) if fixed.as_path().is_none());
            let is_slash = plain && key == KeyRef::Fixed(Fixed::TRAILING_SLASH);
            state.touched |= if is_slash { touch::SLASH } else { touch::SHAPE };
            kv.list.push(KeyValue { key, start: 0, end: 0 });
        } else {
            let at = usize::from(pair);
            state.touched |= match kv.list[at].key {
                KeyRef::Fixed(Fixed::SCHEME) if plain => touch::SCHEME,
                KeyRef::Fixed(Fixed::HOST) if plain => 0,
                KeyRef::Query(..) if plain => touch::QUERY,
                KeyRef::Fixed(_) if plain && is_split_alike(&kv.list, at, self.text(code)) => touch::PATH,
                _ => touch::SHAPE,
            };
        }
        let value = append(&mut kv.text, self.text(code));
        self.put(slot, (code, hash), value, kv, state);
        true
    }

    fn function(&self, slot: Slot, function: Function, kv: &mut KeyValues, state: &mut State) -> bool {
        let pair = state.slot(slot).pair;
        let found = kv.list[usize::from(pair)];
        if !functions::apply(function, kv.value(&found), &mut state.value) {
            return false;
        }
        state.holds |= functions::brings(function);
        if function == Function::DropEmpty {
            return drop(slot, kv, state);
        }
        let value = append(&mut kv.text, &state.value);
        let coded = self.code_of(slot, &state.value);
        state.touched |= match (function, found.key) {
            // Cuts do not depend on the case of letters, and what a function writes is no delimiter.
            (Function::LowerCase, KeyRef::Fixed(of)) if of == Fixed::EXTENSION || of.as_path().is_some() => touch::PATH,
            (Function::DropWww, KeyRef::Fixed(Fixed::HOST)) if state.value[0].is_ascii_alphanumeric() => 0,
            // The value of a repeated key holds the key again.
            (_, KeyRef::Query(..)) if memchr::memchr(b'&', &state.value).is_none() => touch::QUERY,
            _ => touch::SHAPE,
        };
        self.put(slot, coded, value, kv, state);
        true
    }

    /// Records the new value of the pair of a slot, a range of the text, with its code and its hash.
    fn put(&self, slot: Slot, (code, hash): (u32, u64), value: (u32, u32), kv: &mut KeyValues, state: &mut State) {
        let pair = state.slots[usize::from(slot)].pair;
        let at = usize::from(pair);
        (kv.list[at].start, kv.list[at].end) = value;
        // Parameters that a new order does not name follow in the usual one.
        state.disordered |= kv.list[at].key == KeyRef::Fixed(Fixed::ORDER);
        let old = std::mem::replace(&mut state.pairs[at].hash, hash);
        state.identity = state.identity.wrapping_sub(old).wrapping_add(hash);
        state.slots[usize::from(slot)] = SlotState { code, row: self.template.row(slot, code), pair };
    }

    /// Rewrites the pairs to those of the target form; false, and nothing changed, where a value cannot
    /// stand in its new place or the site does not have the origin.
    fn move_to(&self, target: &[(Slot, Fill)], kv: &mut KeyValues, state: &mut State) -> bool {
        let mut filled = std::mem::take(&mut state.target);
        filled.clear();
        filled.extend(target.iter().map_while(|&(to, fill)| self.fill(to, fill, kv, state)));
        let value = |of: Fixed| {
            filled.iter().find(|(found, ..)| found.key == KeyRef::Fixed(of)).map(|(found, ..)| kv.value(found))
        };
        let [scheme, host] = [Fixed::SCHEME, Fixed::HOST].map(|of| value(of).unwrap_or_default());
        let same = |at: usize, value: &[u8]| kv.value(&kv.list[at]) == value;
        let moves = filled.len() == target.len()
            && (same(0, scheme) && same(1, host) || self.own.hosts.has_origin(scheme, host));
        if moves {
            let section = state.present & bit(self.template.fixed_slot(Fixed::SECTION.0));
            state.clear(state.slots.len());
            kv.list.clear();
            (state.removed, state.identity, state.present) = (0, 0, EVER | section);
            for (&(slot, _), &(found, (code, hash))) in target.iter().zip(&filled) {
                let (column, pair) = (&self.template.columns[usize::from(slot)], kv.list.len() as u16);
                kv.list.push(found);
                state.pairs.push(PairState { hash, rank: column.rank, slot });
                state.slots[usize::from(slot)] = SlotState { code, row: self.template.row(slot, code), pair };
                state.present |= bit(slot);
                state.identity = state.identity.wrapping_add(hash);
            }
            state.touched |= touch::SHAPE;
            state.disordered = true;
        }
        state.target = filled;
        moves
    }

    /// The pair that a rule between forms gives to a key, with code and hash of the value. `None` where the
    /// value cannot stand there.
    fn fill(&self, to: Slot, fill: Fill, kv: &mut KeyValues, state: &mut State) -> Option<Filled> {
        let column = &self.template.columns[usize::from(to)];
        // A key that the scope does not name is absent: a rule file made by hand.
        let of = |slot: Slot, kv: &KeyValues| {
            let SlotState { code, pair, .. } = state.slot(slot);
            (code != ABSENT).then(|| kv.list[usize::from(pair)])
        };
        let (start, end) = match fill {
            Fill::Constant(code) => {
                let Constant { hash, holds, .. } = self.template.values[code as usize];
                let key = self.key_ref(column, kv);
                let (start, end) = append(&mut kv.text, self.text(code));
                state.holds |= holds;
                return Some((KeyValue { key, start, end }, (code, hash)));
            }
            Fill::From(slot) => {
                let found = of(slot, kv)?;
                if slot == to {
                    // It keeps its name, which may be a range of the URL, and its code.
                    let SlotState { code, pair, .. } = state.slot(slot);
                    let hash = state.pairs[usize::from(pair)].hash;
                    return Some((found, (code, hash)));
                }
                fits(kv.value(&found), column.kind).then_some((found.start, found.end))?
            }
            Fill::FromSub(slot) => {
                let found = of(slot, kv)?;
                let labels = host_sub(kv.value(&found));
                let fits = labels > 0 && fits(&kv.value(&found)[..labels], column.kind);
                fits.then_some((found.start, found.start + labels as u32))?
            }
            Fill::ToSub { value, host } => {
                let (value, host) = (of(value, kv)?, of(host, kv)?);
                if !fits(kv.value(&value), column.kind) || kv.value(&host).contains(&b'@') {
                    return None;
                }
                let labels = host_sub(kv.value(&host));
                let domain = host.start as usize + labels + usize::from(labels > 0);
                let start = kv.text.len() as u32;
                kv.text.extend_from_within(value.start as usize..value.end as usize);
                kv.text.push(b'.');
                kv.text.extend_from_within(domain..host.end as usize);
                (start, kv.text.len() as u32)
            }
        };
        let coded = self.code_of(to, kv.bytes(start, end));
        Some((KeyValue { key: self.key_ref(column, kv), start, end }, coded))
    }

    /// The key of a column; the name of one that has one is appended to the text.
    fn key_ref(&self, column: &KeySlot, kv: &mut KeyValues) -> KeyRef {
        let (start, end) = append(&mut kv.text, part(&self.template.pool, column.name));
        match column.kind {
            KeyKind::Fixed(fixed) => KeyRef::Fixed(fixed),
            KeyKind::Param => KeyRef::Param(start, end),
            KeyKind::Query => KeyRef::Query(start, end),
        }
    }
}

/// Removes a key that is present. Scheme and host stay in their places, where programs read them: a later step of the
/// program gives them a value, since it leads to an origin of the site.
fn drop(slot: Slot, kv: &mut KeyValues, state: &mut State) -> bool {
    let at = usize::from(state.slot(slot).pair);
    if at < 2 {
        state.slots[usize::from(slot)].code = ABSENT;
        return true;
    }
    let key = std::mem::replace(&mut kv.list[at].key, REMOVED);
    state.disordered |= key == KeyRef::Fixed(Fixed::ORDER);
    state.ordered &= key != KeyRef::Fixed(Fixed::ORDER);
    state.touched |= touch::removed(key.kind());
    state.removed += 1;
    state.identity = state.identity.wrapping_sub(state.pairs[at].hash);
    state.present &= !bit(slot);
    state.slots[usize::from(slot)] = SlotState::default();
    true
}

/// True where a plain value in place of the pair at `at`, a part of a path segment, is cut off from the
/// rest of the segment as the one before was. A group ends in its delimiter, whatever follows. A head
/// may have groups before it, and after it nothing, or a number that is cut off whatever its digits
/// are.
fn is_split_alike(list: &[KeyValue], at: usize, value: &[u8]) -> bool {
    let place = |at: usize| match list.get(at)?.key {
        KeyRef::Fixed(fixed) => fixed.as_path(),
        _ => None,
    };
    let Some((own, part)) = place(at) else { return false };
    let part_at = |at: usize| place(at).filter(|(segment, _)| *segment == own).map(|(_, part)| part);
    // The known extension of the last segment is a key of its own behind it.
    let is_extension = |at: usize| list.get(at).is_some_and(|found| found.key == KeyRef::Fixed(Fixed::EXTENSION));
    let is_end = |at: usize| !is_extension(at) && part_at(at).is_none();
    if part == Part::Group {
        return part_at(at + 1).is_some();
    }
    let is_number = part_at(at + 1) == Some(Part::Number);
    at.checked_sub(1).is_none_or(|at| is_end(at) || matches!(part_at(at), Some(Part::Groups | Part::Group)))
        && (is_end(at + 1) || is_number && is_end(at + 2) && segment::precedes_numbers(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::compiled::{Buffers, TemplateCache};
    use crate::rules::interpreter::Interpreter;
    use crate::rules::origin_cache::OriginCache;
    use crate::rules::types::{Operation, Representative, Rule, SiteRules, Tokens};
    use crate::url::NormalUrl;

    /// A site that splits segments at colons, with a rule for each operation.
    fn site(operations: &[(&str, Operation)]) -> SiteRules {
        let rule = |(key, operation): &(&str, Operation)| {
            Rule::of(key, Vec::new(), vec![((*key).to_owned(), operation.clone())])
        };
        let hosts = ["a.example", "www.a.example", "www.www.a.example", "b.example"];
        let origins = crate::rules::origins::of_hosts(hosts);
        let tokens = Tokens { delimiters: ":".to_owned(), ..Tokens::default() };
        let rules = operations.iter().map(rule).collect();
        SiteRules { site: "a.example".into(), origins, tokens, rules, ..SiteRules::default() }
    }

    /// Whether the rules leave a URL to be tokenized again, after the canonical URL was compared with that of the
    /// interpreter.
    fn is_tokenized_again(site: &SiteRules, url: &str) -> bool {
        let compiled = TemplateCache::default().compile(site);
        let (normal, mut buffers) = (NormalUrl::new(url.as_bytes()).expect("a URL"), Buffers::default());
        buffers.kv.text.extend_from_slice(normal.as_bytes());
        buffers.length = normal.as_bytes().len();
        compiled.reduce(normal.by_ref().split(), &mut buffers, None);
        let again = buffers.state.touched & touch::SHAPE != 0;
        compiled.conclude(&mut buffers, &mut OriginCache::default(), (1, None));
        let expected = Interpreter::new(site).canonicalize(&normal);
        assert_eq!(String::from_utf8_lossy(&buffers.out), String::from_utf8_lossy(&expected.url), "{url}");
        again
    }

    #[test]
    fn plain_values_in_place_of_parts_of_a_segment_are_cut_alike() {
        let becomes = |to: &str| Operation::Ignore(Representative::WherePresent(to.into()));
        let again = |key: &str, to: &str, path: &str| {
            is_tokenized_again(&site(&[(key, becomes(to))]), &format!("http://a.example/{path}"))
        };
        for (key, to, path) in [
            ("path0", "x-", "b-7"),
            ("path0", "x-", "b-7/"),
            ("path0", "x-", "n:b-7/c"),
            ("path0", "start", "n:m:b"),
            ("path0.group", "g:", "n:b"),
            ("path0.group", "g:", "m:n:b-7.php"),
            ("path0.group", "g:", "n:.php"),
            ("path1.group", "a.mp:", "x/n:3/c"),
        ] {
            assert!(!again(key, to, path), "{key} {to} {path}");
        }
        for (key, to, path) in [
            ("path0", "1x", "b-7"),
            ("path0", "a.mp", "b3"),
            ("path0", "%", "b-41"),
            ("path0", "x-", "b-7.php"),
            ("path0", "x", "b.php"),
            ("path0.group", "g", "n:b"),
            ("path0.group", "g:h:", "n:b"),
            ("path0.group", "g/:", "n:b"),
            ("path0.group", "%7E:", "n:b"),
        ] {
            assert!(again(key, to, path), "{key} {to} {path}");
        }
    }

    #[test]
    fn rules_that_set_the_host_one_after_the_other_act_once() {
        let (www, map) = (Operation::Apply(Function::DropWww), |from: &str, to: &str| {
            Operation::Classes(vec![(Some(from.into()), Some(to.into()))])
        });
        let host = |operation: &Operation| ("host", operation.clone());
        let sites = [
            (site(&[host(&www)]), [false, false, true]),
            (site(&[host(&www), host(&map("a.example", "www.a.example"))]), [true, true, true]),
            (site(&[host(&map("a.example", "www.a.example")), host(&www)]), [true, true, true]),
            (site(&[host(&map("www.a.example", "b.example")), host(&www)]), [false, false, true]),
        ];
        for (site, again) in sites {
            let hosts = ["a.example", "www.a.example", "www.www.a.example"];
            assert_eq!(hosts.map(|host| is_tokenized_again(&site, &format!("http://{host}/x"))), again);
        }
    }
}
