//! What a rule set keeps of a site beside its program: its name, and the ids of its rules.

use super::types::SiteRules;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

/// Name and ids of a site in one piece of memory.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Names {
    /// The name; then the ids: of numbers eight bytes each, else their text, each behind a line feed.
    bytes: Box<[u8]>,
    /// Where the name ends.
    site: u32,
    /// All ids are numbers of 16 hex digits, as learning writes them.
    numbers: bool,
}

/// Id of a rule, as it stands in the rule file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RuleId<'r>(Id<'r>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id<'r> {
    Number(u64),
    Text(&'r str),
}

impl fmt::Display for RuleId<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Id::Number(number) => write!(out, "{number:016x}"),
            Id::Text(text) => out.write_str(text),
        }
    }
}

impl fmt::Debug for RuleId<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// A string.
impl Serialize for RuleId<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl Names {
    pub(super) fn of(site: &SiteRules) -> Names {
        let ids = || site.rules.iter().map(|rule| rule.id.as_str());
        let name = site.site.as_bytes();
        let numbers: Option<Vec<[u8; 8]>> = ids().map(|id| Some(number(id)?.to_le_bytes())).collect();
        let bytes = match &numbers {
            Some(numbers) => [name, numbers.as_flattened()].concat(),
            None => name.iter().copied().chain(ids().flat_map(|id| ["\n", id]).flat_map(str::bytes)).collect(),
        };
        Names { bytes: bytes.into(), site: name.len() as u32, numbers: numbers.is_some() }
    }

    pub(super) fn site(&self) -> &str {
        text(&self.bytes[..self.site as usize])
    }

    /// The id of a rule; an empty one where there is no such rule.
    pub(super) fn id(&self, rule: u16) -> RuleId<'_> {
        let (rule, ids) = (usize::from(rule), &self.bytes[self.site as usize..]);
        RuleId(match self.numbers {
            true => ids.as_chunks().0.get(rule).map_or(Id::Text(""), |id| Id::Number(u64::from_le_bytes(*id))),
            false => Id::Text(text(ids).split('\n').nth(rule + 1).unwrap_or_default()),
        })
    }
}

/// A piece of what was a string; compiled rules that were made up may hold others.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The number of an id of 16 lower-case hex digits.
fn number(id: &str) -> Option<u64> {
    let digits = id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    u64::from_str_radix(id, 16).ok().filter(|_| digits && id.len() == 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::types::Rule;

    #[test]
    fn ids_come_back_as_they_were() {
        let rule = |id: &str| Rule::of(id, Vec::new(), Vec::new());
        let learned = ["59ffc32d160110b6", "0000000000000000", "ffffffffffffffff"];
        for ids in [&learned[..], &["59ffc32d160110b6", "59FFC32D160110B6"], &["mine", "", "+9ffc32d160110b6"], &[]] {
            let rules = ids.iter().map(|id| rule(id)).collect();
            let names = Names::of(&SiteRules { site: "a.example".into(), rules, ..SiteRules::default() });
            assert_eq!(names.site(), "a.example");
            for (id, at) in ids.iter().chain([&""]).zip(0..) {
                assert_eq!(names.id(at).to_string(), *id);
            }
            assert_eq!(names.numbers, ids.iter().all(|id| learned.contains(id)));
        }
    }
}
