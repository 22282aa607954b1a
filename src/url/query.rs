//! The query of a URL as key-value pairs: parameters, repeats, separators, and names in families.
//!
//! Each parameter is a pair; repeats of a name are joined to one value, and where the site groups names into
//! families ([`family`](super::keys::family)) the value is the whole parameter. The [end](super::value_ends) of a
//! value is a pair of its own where the site has such values.

use super::key_values::{KeyValue, KeyValues, Range, Tokenizer};
use super::keys::{self, Fixed, KeyRef, MAX_PARAMETERS, VALUE_END};
use super::positions::Positions;
use super::scan;
use super::value_ends::ValueEnds;
use super::window::{below, lowest};

/// Name of the start of a list. No path parameter begins so: in a URL in normal form, `<` is escaped.
pub(super) const LIST: &[u8] = b"<list>";

/// True where a query begins with a list of which some part has a name: `6,123,page=2`.
pub fn begins_with_list(query: &[u8]) -> bool {
    let first = query.split(|&byte| byte == b'&').next().unwrap_or_default();
    let at = part_start(first, 0);
    at < first.len() && memchr::memchr(b'=', &first[..at]).is_none()
}

/// Place of the first comma from `from` on that a name and a `=` follow; the length where there is none.
fn part_start(list: &[u8], from: usize) -> usize {
    let is_start = |&at: &usize| {
        let mut name = list[at + 1..].iter().skip_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
        list.get(at + 1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') && name.next() == Some(&b'=')
    };
    memchr::memchr_iter(b',', &list[from..]).map(|at| at + from).find(is_start).unwrap_or(list.len())
}

impl KeyValues {
    /// Tokenizes a query whose positions are known.
    #[inline(always)]
    pub(super) fn tokenize_short_query(&mut self, start: u32, end: u32, Positions { mut ands, equals, .. }: Positions) {
        let (from, length) = (self.list.len(), (end - start) as usize);
        let KeyValues { text, list, names, .. } = self;
        // Names that were seen, by two hashes of their last eight bytes and their length.
        let (mut seen, mut again) = ([0u64; 2], false);
        let mut at = 0;
        loop {
            let stop = lowest(ands, length);
            let equal = equals & below(stop) & !below(at);
            let name = if equal == 0 { stop } else { lowest(equal, stop) + 1 };
            let (a, b) = (start + at as u32, start + name as u32);
            let word = text[..b as usize].last_chunk().map_or(0, |last| u64::from_le_bytes(*last));
            let others = 4 * 8usize.saturating_sub(name - at) as u32;
            let hash = ((word >> others >> others) ^ ((name - at) as u64) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let bits = [1 << (hash >> 58), 1 << (hash >> 52 & 63)];
            again |= (seen[0] & bits[0] != 0) & (seen[1] & bits[1] != 0);
            seen = [seen[0] | bits[0], seen[1] | bits[1]];
            names.push((a, b));
            list.push(KeyValue { key: KeyRef::Query(a, b), start: b, end: start + stop as u32 });
            if ands == 0 {
                break;
            }
            ands &= ands - 1;
            at = stop + 1;
        }
        if again && self.repeats(from) {
            self.join_repeats(from);
        }
    }

    /// Tokenizes the list that a query begins with, `6,123,page=2`: what stands before the first named part is the
    /// path parameter [`LIST`], each named part one of that and its name, `<list>,page=`. Returns what follows the
    /// list, and all of the query where it begins with none, has no comma, ends in the `&` behind it, or where the list
    /// has a name twice, more than [`MAX_PARAMETERS`] parts, or a value with a comma or `?`: what follows a named part
    /// without a name would go with it.
    pub(super) fn tokenize_list(&mut self, start: u32, end: u32) -> Option<Range> {
        let (from, query) = (self.list.len(), self.bytes(start, end));
        let first = start + memchr::memchr(b'&', query).unwrap_or(query.len()) as u32;
        let mut at = start + part_start(self.bytes(start, first), 0) as u32;
        let is_no_list = first + 1 == end || memchr::memchr(b',', self.bytes(start, first)).is_none();
        if is_no_list || memchr::memchr(b'=', self.bytes(start, at)).is_some() {
            return Some((start, end));
        }
        if at > start {
            self.list_part((start, start), at);
        }
        while at < first {
            let part = self.bytes(at, first);
            let next = at + part_start(part, 1) as u32;
            let name = at + 1 + memchr::memchr(b'=', part).unwrap_or_default() as u32;
            let is_same = |pair: &KeyValue| match pair.key {
                KeyRef::Param(a, b) => self.bytes(a + LIST.len() as u32, b) == self.bytes(at, name),
                _ => false,
            };
            let is_more = memchr::memchr2(b',', b'?', self.bytes(name, next)).is_some();
            if is_more || self.list.len() - from == MAX_PARAMETERS || self.list[from..].iter().any(is_same) {
                self.list.truncate(from);
                return Some((start, end));
            }
            self.list_part((at, name), next);
            at = next;
        }
        (first < end).then_some((first + 1, end))
    }

    /// Adds a part of a list with its name; its value ends at `end`.
    fn list_part(&mut self, name: Range, end: u32) {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(LIST);
        self.text.extend_from_within(name.0 as usize..name.1 as usize);
        self.list.push(KeyValue { key: KeyRef::Param(start, self.text.len() as u32), start: name.1, end });
    }

    /// True where a query key is in the list twice.
    fn repeats(&self, from: usize) -> bool {
        let name = |pair: &KeyValue| match pair.key {
            KeyRef::Query(a, b) => self.bytes(a, b),
            _ => b"",
        };
        let pairs = &self.list[from..];
        pairs.iter().enumerate().any(|(i, pair)| pairs[..i].iter().any(|other| name(other) == name(pair)))
    }

    /// Adds the key for separators, `&` and `other`, where they are not the usual ones: one where all are the same,
    /// else all of them.
    pub(super) fn tokenize_separators(&mut self, start: u32, end: u32, other: u8) {
        let (usual, unusual) = if self.joined_by_semicolons { (other, b'&') } else { (b'&', other) };
        let query = start as usize..end as usize;
        let Some(first) = memchr::memchr(unusual, &self.text[query.clone()]) else { return };
        if memchr::memchr(usual, &self.text[query.clone()]).is_none() {
            let at = start + first as u32;
            return self.fixed(Fixed::SEPARATOR, at, at + 1);
        }
        self.fixed_text(Fixed::SEPARATOR, |text| {
            for at in query {
                if text[at] == b'&' || text[at] == other {
                    text.push(text[at]);
                }
            }
        });
    }

    /// Tokenizes a query of any length.
    pub(super) fn tokenize_query(&mut self, start: u32, end: u32, tokenizer: Tokenizer) {
        let from = self.list.len();
        let (mut at, mut name) = (start, start);
        let KeyValues { text, list, names, .. } = self;
        // Values that are joined are appended behind the URL, which stays as it is.
        let query = &text[start as usize..end as usize];
        let mut repeats = false;
        let mut close = |at: u32, name: u32, stop: u32| {
            let name = if name == at { stop } else { name };
            if names.len() <= MAX_PARAMETERS {
                names.push((at, name));
            }
            if names.len() > MAX_PARAMETERS {
                return;
            }
            let own = &query[(at - start) as usize..(name - start) as usize];
            let same = |pair: &KeyValue| match pair.key {
                KeyRef::Query(a, b) => b - a == name - at && query[(a - start) as usize..(b - start) as usize] == *own,
                _ => false,
            };
            repeats |= list[from..].iter().any(same);
            list.push(KeyValue { key: KeyRef::Query(at, name), start: name, end: stop });
        };
        let split = tokenizer.separator().unwrap_or(b'&');
        scan::each(query, [b'=', b'&', split], |place, mark| {
            let here = start + place as u32;
            if mark != b'=' {
                close(at, name, here);
                (at, name) = (here + 1, here + 1);
            } else if name == at {
                name = here + 1;
            }
        });
        close(at, name, end);
        if self.names.len() > MAX_PARAMETERS {
            self.names.clear();
            self.list.truncate(from);
            // The whole query holds its separators.
            self.list.pop_if(|pair| pair.key == KeyRef::Fixed(Fixed::SEPARATOR));
            self.fixed(Fixed::WHOLE_QUERY, start, end);
            self.query_from = self.list.len();
        } else if tokenizer.name_families && self.name_families(from) || repeats {
            self.join_repeats(from);
        }
    }

    /// Gives the parameters whose names are of a family the key of the family, with the whole parameter as
    /// value; true where there are some. Each parameter still has a pair of its own.
    fn name_families(&mut self, from: usize) -> bool {
        let mut some = false;
        for at in from..self.list.len() {
            let KeyValue { key: KeyRef::Query(a, b), end, .. } = self.list[at] else { continue };
            let start = self.text.len() as u32;
            if keys::family(&mut self.text, a as usize..b as usize) {
                let name = (start, self.text.len() as u32);
                self.list[at] = KeyValue { key: KeyRef::Query(name.0, name.1), start: a, end };
                self.names[at - from] = name;
                some = true;
            }
        }
        some
    }

    /// Joins the values of repeated names to the first of them.
    fn join_repeats(&mut self, from: usize) {
        let pairs = self.list.split_off(from);
        for pair in pairs {
            let KeyRef::Query(a, b) = pair.key else { continue };
            let name = |pair: &KeyValue| match pair.key {
                KeyRef::Query(a, b) => self.bytes(a, b),
                _ => b"",
            };
            let Some(at) = self.list[from..].iter().position(|of| name(of) == self.bytes(a, b)) else {
                self.list.push(pair);
                continue;
            };
            let (joined, old, is_family) =
                (self.text.len() as u32, self.list[at + from], keys::is_family(self.bytes(a, b)));
            self.text.extend_from_within(old.start as usize..old.end as usize);
            self.text.push(b'&');
            // The value of a family holds the name.
            if !is_family {
                self.text.extend_from_within(a as usize..b as usize);
            }
            self.text.extend_from_within(pair.start as usize..pair.end as usize);
            (self.list[at + from].start, self.list[at + from].end) = (joined, self.text.len() as u32);
        }
    }
}

impl KeyValues {
    /// Makes the ends of values path parameters, before the first parameter of the query: of the name of their
    /// parameter behind [`VALUE_END`], with the delimiter in their value.
    pub(super) fn tokenize_value_ends(&mut self, ends: ValueEnds) {
        let mut at = self.query_from;
        while let Some(&KeyValue { key, start, end }) = self.list.get(at) {
            at += 1;
            let KeyRef::Query(a, b) = key else { continue };
            let Some(place) = ends.start(self.bytes(a, b), self.bytes(start, end)) else { continue };
            let middle = start + place as u32;
            self.list[at - 1].end = middle;
            let name = self.text.len() as u32;
            self.text.extend_from_slice(VALUE_END.as_bytes());
            self.text.extend_from_within(a as usize..b as usize);
            let key = KeyRef::Param(name, self.text.len() as u32);
            self.list.insert(self.query_from, KeyValue { key, start: middle, end });
            self.query_from += 1;
            at += 1;
        }
    }

    /// The pairs with each end behind its value again; `None` without ends. An end whose parameter a rule left out is a
    /// parameter of that name, before the others.
    pub(super) fn with_whole_values(&self) -> Option<KeyValues> {
        let name = |pair: &KeyValue| match pair.key {
            KeyRef::Param(a, b) if self.bytes(a, b).starts_with(VALUE_END.as_bytes()) => {
                Some((a + VALUE_END.len() as u32, b))
            }
            _ => None,
        };
        self.list.iter().find_map(name)?;
        let mut whole = self.clone();
        whole.list.retain(|pair| name(pair).is_none());
        let is_query = |pair: &KeyValue| matches!(pair.key, KeyRef::Query(..));
        let mut queries = whole.list.iter().position(is_query).unwrap_or(whole.list.len());
        for pair in &self.list {
            let Some((a, b)) = name(pair) else { continue };
            let is_own =
                |of: &&mut KeyValue| matches!(of.key, KeyRef::Query(c, d) if self.bytes(a, b) == self.bytes(c, d));
            match whole.list.iter_mut().find(is_own) {
                Some(of) => {
                    let start = whole.text.len() as u32;
                    whole.text.extend_from_within(of.start as usize..of.end as usize);
                    whole.text.extend_from_within(pair.start as usize..pair.end as usize);
                    (of.start, of.end) = (start, whole.text.len() as u32);
                }
                None => {
                    whole.list.insert(queries, KeyValue { key: KeyRef::Query(a, b), ..*pair });
                    queries += 1;
                }
            }
        }
        Some(whole)
    }
}
