//! Phase three: parameters whose value does not matter (named in section 1; defined in the full draft,
//! see the module).

use super::{END, Parameters, Rule, UrlList};
use crate::model::hash64;
use std::collections::BTreeMap;

/// Positions of the values of parameters, for every `name=value` of the query.
fn values(url: &[u8]) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let Some(mut at) = memchr::memchr(b'?', url).map(|i| i + 1) else { return Vec::new() };
    let end = memchr::memchr2(b'#', END, url).unwrap_or(url.len());
    let mut out = Vec::new();
    while at < end {
        let stop = memchr::memchr(b'&', &url[at..end]).map_or(end, |i| at + i);
        if let Some(equals) = memchr::memchr(b'=', &url[at..stop]) {
            out.push((at..at + equals, at + equals + 1..stop));
        }
        at = stop + 1;
    }
    out
}

/// By name and context: the URLs, with the position of the value.
type Contexts<'a> = BTreeMap<(&'a [u8], u64), Vec<(usize, std::ops::Range<usize>)>>;
/// By name: contexts that support, and the frequency of each value in them.
type Supports<'a> = BTreeMap<&'a [u8], (u32, BTreeMap<&'a [u8], u32>)>;

/// Parameter substitutions with a support of at least MS contexts, by falling support, ties by name.
pub fn find(list: &UrlList, parameters: &Parameters) -> Vec<Rule> {
    let mut contexts = Contexts::new();
    for (at, url) in list.urls.iter().enumerate() {
        for (name, value) in values(url) {
            let mut rest = url[..value.start].to_vec();
            rest.push(0);
            rest.extend_from_slice(&url[value.end..]);
            contexts.entry((&url[name], hash64(&rest))).or_default().push((at, value));
        }
    }
    let mut found = Supports::new();
    for ((name, _), group) in &contexts {
        let alike = |a: usize, b: usize| list.cues[group[a].0].likely_similar(list.cues[group[b].0]);
        if group.len() < 2 || !(1..group.len()).any(|b| alike(0, b) || alike(b - 1, b)) {
            continue;
        }
        let (support, seen) = found.entry(name).or_default();
        *support += 1;
        group.iter().for_each(|(url, value)| *seen.entry(&list.urls[*url][value.clone()]).or_default() += 1);
    }
    let mut out: Vec<(u32, Rule)> = Vec::new();
    for (name, (support, seen)) in found {
        let default = seen.iter().max_by_key(|(value, count)| (**count, std::cmp::Reverse(**value)));
        if let Some((value, _)) = default.filter(|_| support >= parameters.support) {
            out.push((support, Rule::Parameter { name: name.to_vec(), value: value.to_vec() }));
        }
    }
    out.sort_by_key(|(support, _)| std::cmp::Reverse(*support));
    out.into_iter().map(|(_, rule)| rule).collect()
}

/// The value of a parameter in a marked URL, the first one of that name.
pub fn value_of(url: &[u8], name: &[u8]) -> Option<std::ops::Range<usize>> {
    values(url).into_iter().find(|(found, _)| url[found.clone()] == *name).map(|(_, value)| value)
}
