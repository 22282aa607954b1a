//! Rule sets that differ in one token setting or one list of pages, to count the pairs that it decides.

use super::SiteRules;
use crate::rules::Fragments;
use crate::url::Endings;

/// Rules that differ from those of a site in one setting or one list, by the kind that they count.
pub(super) fn others(site: &SiteRules) -> Vec<(&'static str, SiteRules)> {
    let mut all = Vec::new();
    let mut other = |kind, is: bool, change: &dyn Fn(&mut SiteRules)| {
        if is {
            let mut rules = site.clone();
            change(&mut rules);
            all.push((kind, rules));
        }
    };
    for (kind, delimiter) in [
        ("tokens: delimiter :", ':'),
        ("tokens: delimiter ,", ','),
        ("tokens: delimiter =", '='),
        ("tokens: delimiter !", '!'),
    ] {
        other(kind, site.tokens.delimiters.contains(delimiter), &|rules| {
            rules.tokens.delimiters.retain(|of| of != delimiter);
        });
    }
    other("tokens: semicolons", site.tokens.semicolons, &|rules| rules.tokens.semicolons = false);
    other("tokens: joined by semicolons", site.tokenizer().joined_by_semicolons, &|rules| {
        rules.tokens.joined_by_semicolons = false;
    });
    other("tokens: lists in queries", site.tokenizer().commas, &|rules| rules.tokens.commas = false);
    other("tokens: nested queries", site.tokenizer().nested_queries, &|rules| rules.tokens.nested_queries = false);
    other("tokens: paths in queries", site.tokens.query_path, &|rules| rules.tokens.query_path = false);
    other("tokens: numbered ends", site.tokens.numbered_end, &|rules| rules.tokens.numbered_end = false);
    other("tokens: endings", !site.tokens.endings.is_empty(), &|rules| rules.tokens.endings.clear());
    let is_joined = |word: &String| word.starts_with(Endings::MARK);
    other("tokens: endings that are joined", site.tokens.endings.iter().any(is_joined), &|rules| {
        rules.tokens.endings.retain(|word| !is_joined(word));
    });
    other("tokens: inner numbers", site.tokens.inner_numbers, &|rules| rules.tokens.inner_numbers = false);
    other("tokens: families of names", site.tokens.name_families, &|rules| rules.tokens.name_families = false);
    other("tokens: ends of values", !site.tokenizer().value_ends.is_empty(), &|rules| rules.tokens.value_ends.clear());
    other("tokens: order of the query", !site.tokens.query_order.is_empty(), &|rules| rules.tokens.query_order.clear());
    let fragments = |rules: &mut SiteRules| {
        rules.tokens.fragments = match rules.tokens.fragments {
            Some(Fragments::Keys { .. }) => Some(Fragments::LeftOut),
            _ => Some(Fragments::Keys { clusters: 3 }),
        };
    };
    let kind = match site.tokens.fragments {
        None => "tokens: fragments, none",
        Some(Fragments::LeftOut) => "tokens: fragments, left out",
        Some(Fragments::Keys { .. }) => "tokens: fragments, keys",
    };
    other(kind, true, &fragments);
    other("alias: hits", !site.aliases.is_empty(), &|rules| rules.aliases.clear());
    let local = !site.local.is_empty();
    let ranges = |rules: &mut SiteRules, to: Option<[u64; 2]>, is: &dyn Fn(Option<[u64; 2]>) -> bool| {
        let value_ranges = rules.local.iter_mut().flat_map(|local| &mut local.pages);
        value_ranges.filter(|value_range| is(value_range.range)).for_each(|value_range| value_range.range = to);
    };
    other("range: hits", local, &|rules| ranges(rules, Some([1, 0]), &|range| range.is_some()));
    other("range: any value hits", local, &|rules| ranges(rules, Some([1, 0]), &|range| range.is_none()));
    other("range: misses", local, &|rules| ranges(rules, None, &|range| range.is_some()));
    let inner = site.local.iter().any(|local| local.inner);
    other("range: an inner number hits", inner, &|rules| rules.local.retain(|local| !local.inner));
    other("range: an absent key hits", local, &|rules| rules.local.iter_mut().for_each(|local| local.absent = false));
    all
}
