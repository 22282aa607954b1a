//! Parameters whose values name two things: `?page=Home/edit` a page and how it is shown, `?id=wiki:law` a group of
//! pages and one of them. Candidates for [`Tokens::value_ends`](crate::rules::Tokens::value_ends).

use super::tracking::is_tracking;
use super::{Thresholds, Training};
use crate::model::{hash64, hash64_seeded};
use crate::url::{ValueEnds, value_ends};
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Parameters that are looked at more closely, those of most URLs: a bound of work.
const LOOKED_AT: usize = 16;

/// What a cluster shows of one URL without a part of it: a hash of the first such part.
type Parts = HashMap<(u32, u64), u64, FixedState>;

/// The parameters, each with its `=` and a delimiter, of whose values so many URLs have an end that `often` says yes,
/// and of which at least `cut_ending_clusters` clusters hold URLs that differ in the end alone, or in what stands
/// before it. One delimiter a parameter; of more than [`ValueEnds::MOST`] those of most clusters, ties by bytes.
/// Sorted.
/// O(bytes of the sample), and the URLs for each of 16 parameters.
pub fn find(
    training: &Training,
    sample: impl Fn(usize) -> bool,
    often: impl Fn(usize) -> bool,
    thresholds: &Thresholds,
) -> Vec<String> {
    let rows = || (0..training.len()).filter(|&row| sample(row));
    let mut urls: BTreeMap<(&[u8], u8), usize> = BTreeMap::new();
    for (name, value) in rows().flat_map(|row| parameters(training, row)).map(|(_, name, value)| (name, value)) {
        for delimiter in ValueEnds::DELIMITERS {
            if value_ends::start_of_end(value, delimiter).is_some() {
                *urls.entry((name, delimiter)).or_default() += 1;
            }
        }
    }
    let is_tracker = |name: &[u8]| std::str::from_utf8(name).is_ok_and(|name| is_tracking(name.trim_end_matches('=')));
    let mut tried: Vec<(&[u8], u8)> = Vec::new();
    let mut most: Vec<_> = urls.into_iter().filter(|(of, urls)| often(*urls) && !is_tracker(of.0)).collect();
    most.sort_by_key(|&(of, urls)| (Reverse(urls), of));
    tried.extend(most.into_iter().map(|(of, _)| of).take(LOOKED_AT));
    let mut found: Vec<(usize, &[u8], u8)> = Vec::new();
    for (name, delimiter) in tried {
        let (mut ends, mut heads, mut clusters) = (Parts::default(), Parts::default(), BTreeSet::new());
        for row in rows() {
            let cluster = training.clusters[row];
            for (others, _, value) in parameters(training, row).filter(|of| of.1 == name) {
                let at = value_ends::start_of_end(value, delimiter);
                let (head, end) = value.split_at(at.unwrap_or(value.len()));
                let mut show = |of: &mut Parts, same: &[u8], part: &[u8]| {
                    let first = *of.entry((cluster, hash64_seeded(same, others))).or_insert_with(|| hash64(part));
                    if first != hash64(part) {
                        clusters.insert(cluster);
                    }
                };
                show(&mut ends, head, end);
                if at.is_some() {
                    show(&mut heads, end, head);
                }
            }
        }
        if clusters.len() >= thresholds.cut_ending_clusters {
            found.push((clusters.len(), name, delimiter));
        }
    }
    found.sort_by_key(|&(clusters, name, delimiter)| (Reverse(clusters), name, delimiter));
    let mut names = BTreeSet::new();
    found.retain(|of| names.insert(of.1));
    found.truncate(ValueEnds::MOST);
    let written = |(_, name, delimiter): (usize, &[u8], u8)| {
        Some(format!("{}{}", std::str::from_utf8(name).ok()?, char::from(delimiter)))
    };
    let mut found: Vec<String> = found.into_iter().filter_map(written).collect();
    found.sort_unstable();
    found
}

/// True where enough URLs, as `often` says, have this end.
pub fn occurs(end: &str, training: &Training, sample: impl Fn(usize) -> bool, often: impl Fn(usize) -> bool) -> bool {
    let Some((&delimiter, own)) = end.as_bytes().split_last() else { return false };
    let rows = (0..training.len()).filter(|&row| sample(row));
    let urls = rows.filter(|&row| {
        parameters(training, row)
            .any(|(_, name, value)| name == own && value_ends::start_of_end(value, delimiter).is_some())
    });
    often(urls.count())
}

/// The parameters of a URL that have a `=`: a hash of the path and of the other parameters, in the order found; the
/// name with its `=`; and the value.
fn parameters(training: &Training, row: usize) -> impl Iterator<Item = (u64, &[u8], &[u8])> {
    let normal = training.normal(row);
    let text = normal.map_or(&[][..], |url| url.as_bytes());
    let (path, query) = normal.map_or((&[][..], &[][..]), |url| {
        let of = |(a, b): (u32, u32)| &text[a as usize..b as usize];
        (of(url.split().path), url.split().query.map_or(&[][..], of))
    });
    let separates = |byte: &u8| matches!(byte, b'&' | b';');
    query.split(separates).filter_map(move |parameter| {
        let name = memchr::memchr(b'=', parameter)? + 1;
        let others = query.split(separates).filter(|other| !std::ptr::eq(*other, parameter));
        let others = others.fold(hash64(path), |seed, other| hash64_seeded(other, seed));
        Some((others, &parameter[..name], &parameter[name..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(urls: impl IntoIterator<Item = (String, u32)>) -> Vec<String> {
        let records: Vec<(String, String)> = urls.into_iter().map(|(url, page)| (url, page.to_string())).collect();
        let records = records.iter().map(|(url, page)| (url.as_bytes(), Some(page.as_bytes()), false));
        find(&Training::new("a.org", records), |_| true, |urls| urls >= 20, &Thresholds::default())
    }

    #[test]
    fn clusters_show_ends_and_what_stands_before_them() {
        let page = |n: u32, value: String| (format!("http://a.org/w?page={value}&b=1"), n);
        let views = (0..30).flat_map(|n| [page(n, format!("P{n}")), page(n, format!("P{n}/view"))]);
        assert_eq!(found(views), ["page=/"]);
        let lists = (0..30).flat_map(|n| ["a", "b"].map(|page| (format!("http://a.org/w?do=list&id={page}:n{n}"), n)));
        assert_eq!(found(lists), ["id=:"]);
        let pages = (0..60).map(|n| page(n, format!("a/P{n}")));
        assert_eq!(found(pages), [""; 0]);
        let one = (0..30).flat_map(|n| [page(0, format!("P{n}")), page(0, format!("P{n}/view"))]);
        assert_eq!(found(one), [""; 0]);
    }
}
