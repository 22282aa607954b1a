//! The usual order of the query keys of a site.
//!
//! Of two names the one that clearly more URLs have first comes first, wherever they stand: a tracker at
//! the end of long queries and alone in front of one other name does not move to the middle. So URLs that
//! agree with each other have the usual order, and none of them holds its names under the key `order`.
//! Where about as many URLs have the one first as the other, the names decide: another sample of the site
//! would have a majority for the other (crawl-store: `page=` before `sort=` in 317 URLs of 628), and all
//! canonical URLs with both would move.

use super::{Thresholds, Training};
use crate::url::{KeyRef, KeyValues, Tokenizer};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// URLs from which the usual order is taken, a bound of work: rows are sorted by hash, so the first ones
/// are a random sample.
pub const ORDER_SAMPLE: usize = 4_000;
/// Names of a URL that are compared with each other, the first ones: a bound of work and of memory, a
/// million pairs of names or some 20 MB for the worst site.
const NAMES: usize = 16;
/// Names that are given a place, those of most URLs: a bound of work.
const MOST: usize = 512;

/// A name, the URLs that have it and another one, and those that have it before and behind each.
#[derive(Debug, Default)]
struct Name {
    text: String,
    urls: u64,
    others: HashMap<u64, [u32; 2], FixedState>,
}

/// The usual order of query keys: of two names the one that clearly more URLs (`order_often_permille`) have
/// first, else the one that is less. In a circle a pair that names decide yields, else the one that the fewest
/// URLs have, ties by name. Names that no others come before follow each other by name.
pub fn learn(training: &Training, tokenizer: Tokenizer, pairs: &mut KeyValues, thresholds: &Thresholds) -> Vec<String> {
    let mut names: HashMap<u64, Name, FixedState> = HashMap::default();
    for row in 0..training.len().min(ORDER_SAMPLE) {
        let Some(url) = training.normal(row) else { continue };
        url.tokenize(tokenizer, pairs);
        let queries = &pairs.list[pairs.query_from.min(pairs.list.len())..];
        if queries.len() < 2 {
            continue;
        }
        for (place, pair) in queries.iter().enumerate() {
            let KeyRef::Query(a, b) = pair.key else { continue };
            let own = names.entry(pairs.seed(pair.key)).or_default();
            if own.urls == 0 {
                own.text = String::from_utf8_lossy(pairs.bytes(a, b)).into_owned();
            }
            own.urls += 1;
            for (at, other) in queries.iter().enumerate().take(NAMES).filter(|&(at, _)| at != place && place < NAMES) {
                own.others.entry(pairs.seed(other.key)).or_default()[usize::from(at < place)] += 1;
            }
        }
    }
    let mut names: Vec<(u64, Name)> = names.into_iter().filter(|(_, name)| name.urls >= 2).collect();
    names.sort_unstable_by(|(_, a), (_, b)| b.urls.cmp(&a.urls).then_with(|| a.text.cmp(&b.text)));
    names.truncate(MOST);
    names.sort_unstable_by(|(_, a), (_, b)| a.text.cmp(&b.text));
    let mut precedence = Precedence::new(names.len());
    for [before, behind] in name_pairs(&names, thresholds.order_often_permille) {
        precedence.add(before, behind);
    }
    precedence.order().into_iter().map(|at| std::mem::take(&mut names[at].1.text)).collect()
}

/// The pairs of names that some URL has both, each with the one first that comes first; those that URLs decide, not
/// names, come first, and of these that most URLs have, ties by place in `names`, which are sorted.
fn name_pairs(names: &[(u64, Name)], often: u64) -> Vec<[usize; 2]> {
    let at: HashMap<u64, usize, FixedState> = names.iter().enumerate().map(|(at, name)| (name.0, at)).collect();
    let of_name = |(own, (_, name)): (usize, &(u64, Name))| -> Vec<(bool, u32, [usize; 2])> {
        let others = name.others.iter().filter_map(|(other, counts)| Some((*at.get(other)?, *counts)));
        let pair = |(other, [before, behind]): (usize, [u32; 2])| {
            let (more, less) = (u64::from(before.max(behind)), u64::from(before.min(behind)));
            let is_clear = more > less && more * 1_000 >= less * often;
            (!is_clear, before + behind, if is_clear && behind > before { [other, own] } else { [own, other] })
        };
        others.filter(|&(other, _)| other > own).map(pair).collect()
    };
    let mut pairs: Vec<(bool, u32, [usize; 2])> = names.iter().enumerate().flat_map(of_name).collect();
    pairs.sort_unstable_by_key(|&(is_tie, urls, pair)| (is_tie, std::cmp::Reverse(urls), pair));
    pairs.into_iter().map(|(.., pair)| pair).collect()
}

/// Which names come before which others, directly or by way of others.
struct Precedence {
    /// Names behind each, as bits.
    behind: Vec<[u64; MOST / 64]>,
}

impl Precedence {
    fn new(names: usize) -> Precedence {
        Precedence { behind: vec![[0; MOST / 64]; names] }
    }

    fn precedes(&self, a: usize, b: usize) -> bool {
        self.behind[a][b / 64] >> (b % 64) & 1 == 1
    }

    /// Puts `a` before `b`, unless it is behind it already. O(names).
    fn add(&mut self, a: usize, b: usize) {
        if self.precedes(b, a) || self.precedes(a, b) {
            return;
        }
        let mut more = self.behind[b];
        more[b / 64] |= 1 << (b % 64);
        for name in 0..self.behind.len() {
            if name == a || self.precedes(name, a) {
                self.behind[name].iter_mut().zip(more).for_each(|(own, more)| *own |= more);
            }
        }
    }

    /// All names, each behind those that come before it, the rest in their order. O(names^3), 0.1 s for the most names.
    fn order(&self) -> Vec<usize> {
        let mut left: Vec<usize> = (0..self.behind.len()).collect();
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let is_next = |&at: &usize| left.iter().all(|&other| !self.precedes(other, left[at]));
            let next = (0..left.len()).find(is_next).expect("no name is before itself");
            order.push(left.remove(next));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(urls: &[String]) -> Vec<String> {
        let training = Training::new("s", urls.iter().map(|url| (url.as_bytes(), None, false)));
        learn(&training, Tokenizer::default(), &mut KeyValues::default(), &Thresholds::default())
    }

    /// URLs of as many pages with each of the queries.
    fn urls(queries: &[&str], pages: usize) -> Vec<String> {
        let on = |page: usize| queries.iter().map(move |query| format!("http://h.example/{page}?{query}"));
        (0..pages).flat_map(on).collect()
    }

    #[test]
    fn a_name_alone_in_front_of_one_other_does_not_move_to_the_middle() {
        let urls = urls(&["C=D&O=A&utm=x", "C=D&O=A", "C=D&O=A", "utm=x&medium=y", "utm=x&medium=y"], 3);
        assert_eq!(order(&urls), ["C=", "O=", "utm=", "medium="]);
    }

    #[test]
    fn the_order_of_clearly_more_urls_counts_else_names_and_circles_are_cut() {
        let with = |more: usize| {
            let mut all = urls(&["b=1&a=1"], more);
            all.extend(urls(&["a=1&b=1"], 20));
            order(&all)
        };
        assert_eq!([with(60), with(59), with(19)], [["b=", "a="], ["a=", "b="], ["a=", "b="]]);
        let circle = order(&urls(&["a=1&b=1", "b=1&c=1", "c=1&a=1"], 2));
        assert_eq!(circle, ["a=", "b=", "c="]);
        // The pair that the fewest URLs have yields.
        let mut uneven = urls(&["b=1&c=1", "c=1&a=1"], 3);
        uneven.extend(urls(&["a=1&b=1"], 2));
        assert_eq!(order(&uneven), ["b=", "c=", "a="]);
    }

    proptest! {
        /// URLs with the same order of names all have the usual one.
        #[test]
        fn urls_that_agree_have_the_usual_order(sets in prop::collection::vec(prop::collection::btree_set(0u8..12, 2..6), 1..40)) {
            // Another order than that of the names.
            let place = |name: u8| u32::from(name) * 7 % 13;
            let queries: Vec<Vec<u8>> = sets.into_iter().map(|set| {
                let mut names: Vec<u8> = set.into_iter().collect();
                names.sort_unstable_by_key(|&name| place(name));
                names
            }).collect();
            let text = |names: &Vec<u8>| names.iter().map(|name| format!("k{name}=1")).collect::<Vec<_>>().join("&");
            let all: Vec<String> = queries.iter().map(text).collect();
            let order = order(&urls(&all.iter().map(String::as_str).collect::<Vec<_>>(), 2));
            for names in queries {
                let at = names.iter().map(|name| order.iter().position(|of| *of == format!("k{name}=")));
                prop_assert!(at.is_sorted());
            }
        }
    }
}
