//! Operations on keys: ignore, value classes, string functions; as maps from code to code.
//!
//! Each part that a catalogue operation removes is a key of its own ([`crate::url::keys`]), so most
//! rows of the normalization catalogue are "ignore this key". String functions run on the dictionary of
//! a key, never on rows.

use super::Thresholds;
use super::columns::Columns;
use super::evidence::Groups;
use super::profile::names;
use super::sessions::is_of_session;
use super::tracking::{self, is_tracking, name_of};
use crate::rules::{Function, Kind, Operation, Representative, Rule, functions};
use crate::url::{Fixed, Key, Part};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Effect of an operation on the codes of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Map {
    /// Every value becomes this code; the absent key too where `everywhere`.
    To {
        /// The representative; 0 leaves the key out.
        code: u32,
        /// An absent key gets it, too.
        everywhere: bool,
    },
    /// Code by code; codes beyond the table are kept.
    Table(Vec<u32>),
}

impl Map {
    /// The code that `code` becomes.
    pub fn get(&self, code: u32) -> u32 {
        match self {
            Map::To { code: to, everywhere } => {
                if code != 0 || *everywhere {
                    *to
                } else {
                    0
                }
            }
            Map::Table(table) => table.get(code as usize).copied().unwrap_or(code),
        }
    }

    /// The representative in the words of a rule.
    pub fn representative(&self, columns: &Columns, key: usize) -> Representative {
        match *self {
            Map::To { code, everywhere } => match columns.text(key, code) {
                None => Representative::LeftOut,
                Some(value) if everywhere => Representative::Everywhere(value),
                Some(value) => Representative::WherePresent(value),
            },
            Map::Table(_) => Representative::LeftOut,
        }
    }
}

/// How often each code of a key comes in `rows`.
pub fn frequencies(columns: &Columns, key: usize, rows: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut counts = vec![0; columns.codes_len(key)];
    let codes = &columns.codes[key];
    rows.for_each(|r| counts[codes[r as usize] as usize] += 1);
    counts
}

/// The value that represents the given codes, all proven to mean the same, in `rows`: of hosts one that
/// comes with the site's scheme, where there is one, and of these the one that records redirect to or
/// declare; else the one that an earlier result moved most URLs to, unless all rows that have it redirect or
/// declare another URL now. `None` where neither decides.
pub fn chosen(
    columns: &Columns,
    key: usize,
    rows: impl Iterator<Item = u32> + Clone,
    codes: impl Iterator<Item = u32> + Clone,
) -> Option<u32> {
    let name = &columns.keys[key];
    let preferred = &columns.preferred;
    let declared = match name {
        name if name.is(Fixed::SCHEME) => preferred.scheme().filter(|&scheme| codes.clone().any(|code| code == scheme)),
        name if name.is(Fixed::HOST) => {
            let rank = |code: &u32| (preferred.host_votes(*code), std::cmp::Reverse(columns.value(key, *code)));
            codes.clone().max_by(|a, b| rank(a).cmp(&rank(b))).filter(|&host| preferred.host_votes(host) > 0)
        }
        _ => None,
    };
    declared.or_else(|| {
        // Whether a row that has the value can be fetched.
        let mut live: HashMap<u32, bool, FixedState> = HashMap::default();
        for row in rows.clone().filter(|_| columns.redirects && preferred.has_earlier()) {
            *live.entry(columns.code(key, row)).or_default() |= columns.fetchable[row as usize];
        }
        let leads_away = |code: u32| live.get(&code) == Some(&false);
        columns.moved(key, rows, |code| !leads_away(code) && codes.clone().any(|of| of == code))
    })
}

/// The codes that make an origin that was met, where the key is the host and there are some: with the
/// scheme that records redirect to or declare, else `https`, which all URLs get that are one page under
/// both schemes.
pub fn of_origins(columns: &Columns, key: usize, codes: Vec<u32>) -> Vec<u32> {
    let Some(scheme_key) = columns.fixed(Fixed::SCHEME).filter(|_| columns.keys[key].is(Fixed::HOST)) else {
        return codes;
    };
    let Some(scheme) = columns.preferred.scheme().or_else(|| columns.find(scheme_key, b"https")) else { return codes };
    let met: Vec<u32> = codes.iter().copied().filter(|&host| columns.preferred.is_origin(scheme, host)).collect();
    if met.is_empty() { codes } else { met }
}

/// The value that represents the given codes where [`chosen`] decides nothing: of those met as often as
/// the one met most often, or up to `times` less often, the plainest ([`plainness`]). Counted over the rows as
/// they were at the start, since the counts of reduced rows depend on the rules before. 0 where there is
/// no code.
pub fn representative(columns: &Columns, key: usize, codes: impl Iterator<Item = u32> + Clone, times: u32) -> u32 {
    let Some(most) = codes.clone().map(|code| columns.times_seen(key, code)).max() else { return 0 };
    let near = codes.filter(|&code| columns.times_seen(key, code).saturating_mul(times) >= most);
    near.min_by_key(|&code| plainness(columns.value(key, code))).unwrap_or(0)
}

/// Order of texts that may represent others: the shortest first, then those with the fewest capitals, ties by
/// bytes.
pub fn plainness(text: &[u8]) -> (usize, usize, &[u8]) {
    (text.len(), text.iter().filter(|byte| byte.is_ascii_uppercase()).count(), text)
}

/// Frequency of each code of a key in the `rows` that can be fetched; `counts`, those of all rows,
/// where none can. A URL that redirects, or declares another canonical, is no evidence of the canonical
/// form: a representative taken from it would lead back to its source.
fn fetchable<'a>(columns: &Columns, key: usize, rows: &[u32], counts: &'a [u32]) -> std::borrow::Cow<'a, [u32]> {
    if !columns.redirects {
        return counts.into();
    }
    let fetchable = rows.iter().copied().filter(|&r| columns.fetchable[r as usize]);
    let live = frequencies(columns, key, fetchable);
    let any = live.iter().any(|&count| count > 0);
    if any { live.into() } else { counts.into() }
}

/// Map of "ignore this key" for `rows`, with these frequencies, and those of all rows: every value
/// becomes the [`representative`]. A key seen absent in a URL that can be fetched is left out, else it
/// gets the representative of the values among them; a part of the path is changed where it is present.
/// The choice of an earlier result is kept where it can be.
pub fn ignore(columns: &Columns, key: usize, rows: &[u32], counts: &[u32], thresholds: &Thresholds) -> Map {
    let (name, near) = (&columns.keys[key], thresholds.value_near);
    let somewhere_absent = counts[0] > 0;
    let is_required = name.as_path().is_some() || name.is(Fixed::SCHEME) || name.is(Fixed::HOST);
    let present = (1..counts.len() as u32).filter(|&code| counts[code as usize] > 0).collect();
    let present = of_origins(columns, key, present);
    // Left out before is left out again, also where all URLs met this time have the key.
    let absent = if is_required { None } else { Some(0) };
    if let Some(code) = chosen(columns, key, rows.iter().copied(), absent.into_iter().chain(present.iter().copied())) {
        return Map::To { code, everywhere: !is_required && (code == 0 || somewhere_absent) };
    }
    let counts = &*fetchable(columns, key, rows, counts);
    let total: u32 = counts.iter().sum();
    if name.is(Fixed::TRAILING_SLASH) {
        let met = (0..counts.len() as u32).filter(|&code| counts[code as usize] > 0);
        let code = representative(columns, key, met, near);
        return Map::To { code, everywhere: true };
    }
    let https = |code: &u32| counts[*code as usize] > 0 && columns.value(key, *code) == b"https";
    if name.is(Fixed::SCHEME)
        && let Some(code) = (1..counts.len() as u32).find(https)
    {
        return Map::To { code, everywhere: false };
    }
    let live = |&code: &u32| counts[code as usize] > 0;
    let present = match present.iter().any(live) {
        true => present.into_iter().filter(live).collect(),
        false => (1..counts.len() as u32).filter(live).collect::<Vec<u32>>(),
    };
    let value = representative(columns, key, present.iter().copied(), near);
    if name.is(Fixed::EXTENSION) {
        // Directories have no extension, and are no evidence about files.
        let of_directories = [Fixed::TRAILING_SLASH, Fixed::INDEX].map(|key| columns.fixed(key));
        let is_file = |row: u32| of_directories.iter().flatten().all(|&key| columns.code(key, row) == 0);
        let bare: Vec<u32> = rows.iter().copied().filter(|&r| columns.code(key, r) == 0 && is_file(r)).collect();
        let live = bare.iter().filter(|&&r| !columns.redirects || columns.fetchable[r as usize]).count();
        let named = total - counts[0];
        if u64::from(live as u32) * u64::from(thresholds.extension_often) < u64::from(named) {
            // With several extensions, that of a page written without one is unknown.
            let others = u64::from(named - counts[value as usize]);
            let one = others * u64::from(thresholds.extension_rare) < u64::from(named);
            return if one { Map::To { code: value, everywhere: !bare.is_empty() } } else { Map::Table(Vec::new()) };
        }
    }
    if is_required {
        return Map::To { code: value, everywhere: false };
    }
    if !somewhere_absent && is_of_session(columns, key, rows, counts, thresholds) {
        return Map::To { code: 0, everywhere: true };
    }
    if counts[0] == 0 && name.is_value_end() {
        // The end of one value behind another names a page that the site may not have.
        return Map::Table(Vec::new());
    }
    if counts[0] == 0 {
        // Where the key is absent the server sends visitors to a URL that has it, or no URL without it was met.
        return Map::To { code: value, everywhere: somewhere_absent };
    }
    Map::To { code: 0, everywhere: true }
}

/// Prior of ignoring these keys together: the least of those of each.
pub fn ignore_prior(columns: &Columns, keys: &[usize], thresholds: &Thresholds) -> u64 {
    keys.iter().map(|&k| prior_of_key(&columns.keys[k], thresholds)).min().unwrap_or(0)
}

/// Prior of ignoring a key: of catalogue keys and well-known tracking names, more of names that mean tracking
/// everywhere, else none.
fn prior_of_key(key: &Key, thresholds: &Thresholds) -> u64 {
    match () {
        () if name_of(key).is_some_and(tracking::is_of_campaigns) => thresholds.prior.max(thresholds.prior_tracker),
        () if in_catalogue(key) => thresholds.prior,
        () => 0,
    }
}

/// True for a parameter of the tracking catalogue.
pub fn is_tracker(key: &Key) -> bool {
    name_of(key).is_some_and(is_tracking)
}

/// What is left of a prior where an operation holds in a part of a site, or writes a value, or some rows are against
/// it: that of the catalogue. Names that mean tracking everywhere do so on all pages, or these say something else.
pub fn prior_of_part(prior: u64, thresholds: &Thresholds) -> u64 {
    prior.min(thresholds.prior)
}

/// True where an operation leaves keys out and nothing is against it.
pub fn is_whole(groups: &Groups, maps: &[(usize, Map)]) -> bool {
    groups.totals().1 == 0 && maps.iter().all(|(_, map)| matches!(map, Map::To { code: 0, .. }))
}

/// True for a rule that leaves out a parameter, or takes values of it for one, whose name is that of the order, place
/// or length of a list or of a version.
pub fn is_of_lists_or_versions(rule: &Rule) -> bool {
    let is_asked = |(key, operation): &(String, Operation)| {
        matches!(operation, Operation::Ignore(_) | Operation::Classes(_))
            && Key::parse(key).is_some_and(|key| names::is_of_lists_or_versions(&key))
    };
    !matches!(rule.kind, Kind::Form | Kind::Mirror | Kind::ConstantPage) && rule.operations.iter().any(is_asked)
}

/// True for a parameter of the tracking catalogue whose name programs give to other things, too.
pub fn is_common_tracker(key: &Key) -> bool {
    name_of(key).is_some_and(tracking::is_common)
}

/// Prior of a rule in the proof: that of its operations, the least where these are several; 0 of forms, mirrors and
/// value classes but for those of a host with and without `www.`. That of the catalogue for a line of a platform,
/// unless it is provisional.
pub fn prior_of(rule: &Rule, thresholds: &Thresholds) -> u64 {
    if rule.line.is_some() {
        return if rule.provisional { 0 } else { thresholds.prior };
    }
    let of = |(key, operation): &(String, Operation)| match operation {
        Operation::Ignore(_) => Key::parse(key).map_or(0, |key| prior_of_key(&key, thresholds)),
        Operation::Apply(function) => Family { function: *function, on: On::Query }.prior(thresholds),
        Operation::Classes(hosts) if Key::parse(key).is_some_and(|key| key.is(Fixed::HOST)) => {
            let is_pair = |(from, to): &(Option<String>, Option<String>)| match (from, to) {
                (Some(from), Some(to)) => functions::are_www_pair(from.as_bytes(), to.as_bytes()),
                _ => false,
            };
            if hosts.iter().all(is_pair) { thresholds.prior } else { 0 }
        }
        _ => 0,
    };
    let prior = match rule.kind {
        Kind::Form | Kind::Mirror => 0,
        _ => rule.operations.iter().map(of).min().unwrap_or(0),
    };
    if rule.scope.is_empty() { prior } else { prior_of_part(prior, thresholds) }
}

/// Prior of a rule that the proof would narrow: that of [`prior_of`], or the one that it was learned with, if that is
/// more.
pub fn prior_to_narrow(rule: &Rule, thresholds: &Thresholds) -> u64 {
    prior_of(rule, thresholds).max(rule.evidence.prior.into())
}

fn in_catalogue(key: &Key) -> bool {
    match key {
        Key::Fixed(fixed) => [
            Fixed::SCHEME,
            Fixed::DOUBLE_SLASH,
            Fixed::INDEX,
            Fixed::TRAILING_SLASH,
            Fixed::EMPTY_QUERY,
            Fixed::FRAGMENT,
            Fixed::ORDER,
            Fixed::SEPARATOR,
        ]
        .contains(fixed),
        Key::Param(_) | Key::Query(_) => is_tracker(key),
    }
}

/// A string function on a family of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// The function.
    pub function: Function,
    /// The keys it is tried on together.
    pub on: On,
}

/// A family of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The host.
    Host,
    /// All parts of the path.
    Path,
    /// All parts of the path below the first segment, so that the first segment can be a condition.
    PathBelow,
    /// Query keys but for families of names, whose values hold names.
    Query,
    /// Families of query names.
    Families,
}

/// The string functions of the catalogue, in the order in which they are tried.
pub const FAMILIES: [Family; 25] = [
    Family { function: Function::DropWww, on: On::Host },
    Family { function: Function::DecodeSubDelimiters, on: On::Path },
    Family { function: Function::DecodeSubDelimiters, on: On::Query },
    Family { function: Function::DecodeSlash, on: On::Query },
    Family { function: Function::PlusIsSpace, on: On::Query },
    Family { function: Function::DropEmpty, on: On::Query },
    Family { function: Function::LowerCase, on: On::Path },
    Family { function: Function::LowerCase, on: On::PathBelow },
    Family { function: Function::LowerCase, on: On::Query },
    Family { function: Function::DecodeSubDelimiters, on: On::PathBelow },
    Family { function: Function::DropLeadingZeros, on: On::Path },
    Family { function: Function::DropLeadingZeros, on: On::Query },
    Family { function: Function::DropTitle, on: On::Query },
    Family { function: Function::HashTo7, on: On::Path },
    Family { function: Function::HashTo8, on: On::Path },
    Family { function: Function::HashTo10, on: On::Path },
    Family { function: Function::HashTo12, on: On::Path },
    Family { function: Function::HashTo7, on: On::Query },
    Family { function: Function::HashTo8, on: On::Query },
    Family { function: Function::HashTo10, on: On::Query },
    Family { function: Function::HashTo12, on: On::Query },
    Family { function: Function::LastRepeat, on: On::Query },
    Family { function: Function::FirstRepeat, on: On::Query },
    Family { function: Function::SortRepeats, on: On::Query },
    Family { function: Function::SortFamily, on: On::Families },
];

impl Family {
    /// True for functions that only rewrite a value; the others remove something.
    pub fn keeps_all(&self) -> bool {
        matches!(self.function, Function::DecodeSubDelimiters | Function::DecodeSlash | Function::PlusIsSpace)
    }

    /// True where each key must show by itself that the function holds: a program reads one empty parameter
    /// as an absent one, and another as a value, and takes abbreviations of some hashes.
    pub fn is_shown_by_key(&self) -> bool {
        matches!(self.on, On::Query | On::Families) && !self.keeps_all() || self.function.hash_digits().is_some()
    }

    /// Prior of the function: changes of case, of numbers and of hashes have none, nor has the choice among repeated
    /// keys.
    pub fn prior(&self, thresholds: &Thresholds) -> u64 {
        let has_none = matches!(self.function, Function::LowerCase | Function::DropLeadingZeros | Function::DropTitle);
        let is_choice = self.function.is_on_repeats() || self.function == Function::SortFamily;
        if has_none || is_choice || self.function.hash_digits().is_some() { 0 } else { thresholds.prior }
    }

    /// True for a key of the family.
    pub fn contains(&self, key: &Key) -> bool {
        let path = key.as_path();
        match self.on {
            On::Host => key.is(Fixed::HOST),
            On::Path => path.is_some() || key.is(Fixed::EXTENSION),
            On::PathBelow => path.is_some_and(|(segment, _)| segment > 0) || key.is(Fixed::EXTENSION),
            // A name without `=` has no value that a function could change: it is there or not.
            On::Query => matches!(key, Key::Query(name) if name.is_empty() || name.ends_with('=')) && !key.is_family(),
            On::Families => matches!(key, Key::Query(name) if name.ends_with('=')) && key.is_family(),
        }
    }
}

/// Maps of string functions, kept from pass to pass: each value is computed once, since dictionaries
/// only grow.
#[derive(Clone, Debug, Default)]
pub struct FunctionMaps(Vec<(usize, Function, Vec<u32>, bool)>);

impl FunctionMaps {
    /// The function as a map over the codes of a key; `None` where it changes no value. New values get
    /// codes.
    pub fn get(&mut self, columns: &mut Columns, key: usize, function: Function) -> Option<Map> {
        let at = self.0.iter().position(|m| (m.0, m.1) == (key, function)).unwrap_or_else(|| {
            self.0.push((key, function, vec![0], false));
            self.0.len() - 1
        });
        let (_, _, table, changed) = &mut self.0[at];
        let (mut out, known) = (Vec::new(), columns.codes_len(key) as u32);
        for code in table.len() as u32..known {
            let mut to = code;
            if crate::rules::functions::apply(function, columns.value(key, code), &mut out) {
                to = if out.is_empty() && function == Function::DropEmpty { 0 } else { columns.intern(key, &out) };
                // Whether a program takes the number alone shows where it was met.
                *changed |= function != Function::DropTitle || to < known;
            }
            table.push(to);
        }
        changed.then(|| Map::Table(table.clone()))
    }
}

/// The identities of `rows` after the maps: key by key, so that each run touches one column and one
/// dictionary.
pub fn identities(columns: &Columns, rows: &[u32], maps: &[&(usize, Map)], out: &mut Vec<u64>) {
    out.clear();
    out.extend(rows.iter().map(|&r| columns.hash[r as usize]));
    for (k, map) in maps {
        let (codes, values) = (&columns.codes[*k], &columns.values[*k].hash);
        let rows = out.iter_mut().zip(rows.iter().map(|&r| codes[r as usize]));
        match map {
            Map::To { code: to, everywhere } => {
                let to = values[*to as usize];
                let absent = if *everywhere { to } else { 0 };
                rows.for_each(|(hash, code)| {
                    let new = if code == 0 { absent } else { to };
                    *hash = hash.wrapping_add(new).wrapping_sub(values[code as usize]);
                });
            }
            Map::Table(_) => rows.for_each(|(hash, code)| {
                *hash = hash.wrapping_add(values[map.get(code) as usize]).wrapping_sub(values[code as usize]);
            }),
        }
    }
}

/// A number part of a path segment or a bare number: values that are never a condition.
pub fn is_number(columns: &Columns, key: usize, code: u32) -> bool {
    let value = columns.value(key, code);
    matches!(columns.keys[key].as_path(), Some((_, Part::Number)))
        || !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_of_a_rule_is_the_least_of_its_operations() {
        let left_out = || Operation::Ignore(Representative::LeftOut);
        let of = |operations: &[(&str, Operation)]| {
            let operations = operations.iter().map(|(key, operation)| ((*key).to_owned(), operation.clone()));
            Rule::of("r", Vec::new(), operations.collect())
        };
        let prior = |rule: &Rule| prior_of(rule, &Thresholds::default());
        assert_eq!(prior(&of(&[("query sid=", left_out())])), 8);
        assert_eq!(prior(&of(&[("query sid=", left_out()), ("query a=", left_out())])), 0);
        assert_eq!(prior(&of(&[("scheme", Operation::Classes(Vec::new()))])), 0);
        assert_eq!(prior(&of(&[("host", Operation::Apply(Function::DropWww))])), 8);
        assert_eq!(prior(&of(&[("path0", Operation::Apply(Function::LowerCase))])), 0);
        let form = Rule { kind: Kind::Form, ..of(&[("query sid=", left_out())]) };
        assert_eq!([prior(&form), prior(&of(&[]))], [0, 0]);
        let line = Rule { line: Some("of a platform".to_owned()), ..of(&[("query a=", left_out())]) };
        assert_eq!([prior(&line), prior(&Rule { provisional: true, ..line })], [8, 0]);
    }
}
