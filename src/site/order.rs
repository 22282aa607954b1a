//! The usual order of the query keys of a site.
//!
//! Of two names the one that more URLs have first comes first, wherever they stand: a tracker at the
//! end of long queries and alone in front of one other name does not move to the middle. So URLs that
//! agree with each other have the usual order, and none of them holds its names under the key `order`.

use super::Training;
use crate::url::{Cells, Cut, KeyRef};
use foldhash::fast::FixedState;
use std::collections::{BTreeSet, HashMap};

/// URLs from which the usual order is taken, a bound of work: rows are sorted by hash, so the first ones
/// are a random sample.
pub const ORDER_SAMPLE: usize = 4_000;
/// Names of a URL that are compared with each other, the first ones: a bound of work and of memory, a
/// million pairs of names or some 20 MB for the worst site.
const NAMES: usize = 16;

/// A name: where it stands in the URLs that have at least two, and the URLs that have it before and
/// behind each other name.
#[derive(Debug, Default)]
struct Name {
    text: String,
    places: u64,
    urls: u64,
    others: HashMap<u64, [u32; 2], FixedState>,
}

/// The usual order of query keys: none stands before one that most URLs have first. Of those that may
/// come next the first by mean place, ties by name; in a circle the one that the fewest others come
/// before.
pub fn learn(training: &Training, cut: Cut, cells: &mut Cells) -> Vec<String> {
    let mut names: HashMap<u64, Name, FixedState> = HashMap::default();
    for row in 0..training.len().min(ORDER_SAMPLE) {
        let Some(url) = training.normal(row) else { continue };
        url.cut(cut, cells);
        let queries = &cells.list[cells.query_from.min(cells.list.len())..];
        if queries.len() < 2 {
            continue;
        }
        for (place, cell) in queries.iter().enumerate() {
            let KeyRef::Query(a, b) = cell.key else { continue };
            let own = names.entry(cells.seed(cell.key)).or_default();
            if own.urls == 0 {
                own.text = String::from_utf8_lossy(cells.bytes(a, b)).into_owned();
            }
            own.places += place as u64;
            own.urls += 1;
            for (at, other) in queries.iter().enumerate().take(NAMES).filter(|&(at, _)| at != place && place < NAMES) {
                own.others.entry(cells.seed(other.key)).or_default()[usize::from(at < place)] += 1;
            }
        }
    }
    names.retain(|_, name| name.urls >= 2);
    sorted(names)
}

fn sorted(names: HashMap<u64, Name, FixedState>) -> Vec<String> {
    let mut names: Vec<(u64, Name)> = names.into_iter().collect();
    let mean = |a: &Name, b: &Name| (a.places * b.urls).cmp(&(b.places * a.urls)).then_with(|| a.text.cmp(&b.text));
    names.sort_unstable_by(|a, b| mean(&a.1, &b.1));
    let at: HashMap<u64, usize, FixedState> = names.iter().enumerate().map(|(at, name)| (name.0, at)).collect();
    // The names that each comes before, and the number of those that come before it.
    let behind = |(_, name): &(u64, Name)| -> Vec<usize> {
        let before = name.others.iter().filter(|(_, [before, behind])| before > behind);
        before.filter_map(|(other, _)| at.get(other).copied()).collect()
    };
    let behind: Vec<Vec<usize>> = names.iter().map(behind).collect();
    let mut in_front = vec![0usize; names.len()];
    behind.iter().flatten().for_each(|&other| in_front[other] += 1);
    let mut waiting: BTreeSet<(usize, usize)> = in_front.iter().copied().zip(0..).collect();
    let mut order = Vec::with_capacity(names.len());
    while let Some((_, next)) = waiting.pop_first() {
        order.push(std::mem::take(&mut names[next].1.text));
        for &other in &behind[next] {
            if waiting.remove(&(in_front[other], other)) {
                in_front[other] -= 1;
                waiting.insert((in_front[other], other));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(urls: &[String]) -> Vec<String> {
        let training = Training::new("s", urls.iter().map(|url| (url.as_bytes(), None, false)));
        learn(&training, Cut::default(), &mut Cells::default())
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
    fn the_order_of_most_urls_counts_and_circles_are_cut() {
        let mut all = urls(&["b=1&a=1"], 3);
        all.extend(urls(&["a=1&b=1"], 2));
        assert_eq!(order(&all), ["b=", "a="]);
        let circle = order(&urls(&["a=1&b=1", "b=1&c=1", "c=1&a=1"], 2));
        assert_eq!(circle, ["a=", "b=", "c="]);
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
