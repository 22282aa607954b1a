//! Redirects and declared canonical URLs: from pairs of URLs to edges, with counts of refused ones.

use super::figures::Counters;
use super::mark::{
    ANSWERED, DECLARES, FAILED, FLAGS, FOREIGN, ITSELF, LABEL, LONG, MOVED, MarkRow, OTHER, SIMHASH, TARGET, TEXT, URL,
};
use crate::content::simhash::distance;
use crate::dataflow::grouped::Grouped;
use crate::dataflow::near::Edge;
use crate::dataflow::types::{Flow, Shared};
use std::sync::Arc;
use timely::dataflow::operators::vec::Map;

/// Bits in which the texts of pages that declare one canonical URL may differ: variants of one page
/// (another order, another part of a list) differ in far fewer bits than unrelated texts (32, a few
/// more or less).
const ALIKE: u32 = 12;
/// Pages from which a target's declarations are judged together.
const GATHERS: usize = 3;

/// A row at the worker of a URL: that of the URL itself (0), or of one that points to it.
/// `[URL, kind, vertex, flags, simhash, text]`
type Pointer = [u64; 6];

const ITS_OWN: u64 = 0;
const REDIRECT: u64 = 1;
const CANONICAL: u64 = 2;

/// Edges between the vertices of sources and targets.
pub(super) fn edges<'scope>(
    rows: Flow<'scope, MarkRow>,
    budget: usize,
    shared: &Arc<Shared>,
    counters: &Arc<Counters>,
) -> Flow<'scope, Edge> {
    let counters = counters.clone();
    rows.flat_map(|row: MarkRow| {
        let flags = row[FLAGS];
        let kind = if flags & DECLARES != 0 { CANONICAL } else { REDIRECT };
        let own =
            [row[URL], ITS_OWN, if row[LABEL] != 0 { row[LABEL] } else { row[URL] }, flags, row[SIMHASH], row[TEXT]];
        let points = row[TARGET] != 0 && flags & ITSELF == 0 && flags & (FAILED | OTHER) == 0;
        let to = points.then_some([row[TARGET], kind, row[URL], flags, row[SIMHASH], row[TEXT]]);
        [Some(own), to].into_iter().flatten()
    })
    .grouped("Pointers", budget, shared, move |group: &[Pointer], edges| {
        let (own, pointers) = group.split_at(group.partition_point(|row| row[1] == ITS_OWN));
        if pointers.is_empty() {
            return;
        }
        let flags = |row: &Pointer| row[3];
        let answered = own.iter().find(|row| flags(row) & (ANSWERED | OTHER) == ANSWERED);
        let target = match (answered, own.iter().find(|row| flags(row) & MOVED != 0)) {
            (Some(page), _) => Some(page[2]),
            // A chain: the target goes on from its own URL.
            (None, Some(moved)) => Some(moved[0]),
            // Not fetched: the pages that point to it are still joined.
            (None, None) if own.is_empty() => Some(group[0][0]),
            // An error, or no page.
            (None, None) => None,
        };
        let (redirects, declared) = pointers.split_at(pointers.partition_point(|row| row[1] == REDIRECT));
        match target {
            Some(target) => edges.extend(redirects.iter().map(|row| (row[2], target))),
            None => counters.dead_redirects(redirects.len()),
        }
        counters.redirects(if target.is_some() { redirects.len() } else { 0 });
        let (foreign, declared): (Vec<&Pointer>, Vec<&Pointer>) =
            declared.iter().partition(|row| flags(row) & FOREIGN != 0);
        counters.foreign(foreign.len());
        let Some(target) = target else { return counters.to_errors(declared.len()) };
        if gathers_strangers(&declared, answered) {
            return counters.strangers(declared.len());
        }
        counters.canonicals(declared.len());
        edges.extend(declared.iter().map(|row| (row[2], target)));
    })
}

/// True where most pages that declare one target differ in their text from it, or from the most common
/// of them where it was not read: a template that writes the home page into every page.
fn gathers_strangers(declared: &[&Pointer], target: Option<&Pointer>) -> bool {
    let read = |row: &Pointer| row[5] != 0 && row[3] & LONG != 0;
    let pages: Vec<&Pointer> = declared.iter().copied().filter(|row| read(row)).collect();
    if pages.len() < GATHERS {
        return false;
    }
    let like = |model: &Pointer| pages.iter().filter(|row| distance(row[4], model[4]) <= ALIKE).count();
    let most = match target.filter(|row| read(row)) {
        Some(target) => like(target),
        // A sample, so that a target of very many is judged in bounded time; rows are in order of their
        // hashes.
        None => pages.iter().step_by(pages.len().div_ceil(64)).map(|row| like(row)).max().unwrap_or(0),
    };
    most * 2 < pages.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_target_for_different_pages_is_refused() {
        let page = |simhash: u64| [7, CANONICAL, 1, LONG | ANSWERED, simhash, 1];
        let judge = |simhashes: &[u64], target: Option<u64>| {
            let rows: Vec<Pointer> = simhashes.iter().map(|&s| page(s)).collect();
            gathers_strangers(&rows.iter().collect::<Vec<_>>(), target.map(page).as_ref())
        };
        let different: Vec<u64> = (1..9).map(|i| crate::model::hash64(&[i])).collect();
        assert!(judge(&different, None) && judge(&different, Some(different[0])));
        assert!(!judge(&[5, 5 ^ 0xf, 5 ^ 0xf0, different[0]], None));
        assert!(!judge(&different[..2], None), "two are too few to tell");
        assert!(judge(&[5; 8], Some(!5)), "alike, but not like their target");
    }
}
