//! Crawler traps of a site: families of URLs that keep a crawler fetching and bring few new pages.
//!
//! A family is a path shape with key names: digits are folded, and what fewer than [`MIN_URLS`]
//! URLs, or one in [`MAX_BRANCHES`], have in common is folded to `*`. Scheme and host are no part
//! of it: the same path under another host is one URL here, so mirrors are no trap.
//!
//! A URL is new if it is the first of its cluster: records that redirect or declare another URL
//! come last, then the shorter path and query comes first, ties by bytes. Each cluster is so
//! counted in one family. This order replaces that of a crawl, which the records do not have.
//!
//! What makes a family a trap is that a change of one thing alone (the depth, the date, the number)
//! leaves the page as it is. Copies of pages under a second form of URL are none: all their pages
//! differ, and rules join them.
//!
//! The result is a function of the set of labelled training URLs. Memory: 16 bytes for each of at
//! most [`MAX_PIECES`] pieces of a URL, and 40 bytes a URL; of one family at a time 48 bytes a
//! piece. Work: one hash table a depth, and for families with enough repeats one sort a piece. The
//! result has at most [`MAX_TRAPS`] families.

mod families;
mod pieces;
mod url;

use crate::model::hash64_seeded;
use crate::model::shown::within;
use crate::site::Training;
use families::{TrapFamily, found, joined, text};
use foldhash::fast::FixedState;
use pieces::{Axis, MAX_PIECES, Piece, Pieces, collapsed};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::HashMap;
pub use url::TrapKind;
use url::Url;

/// Families of a site that are kept: a page of a crawl engineer, not a list of all.
pub const MAX_TRAPS: usize = 20;
/// Distinct URLs that a family has at least, and a piece that is no `*`. Fewer cost a crawl little,
/// and a share of them says little.
const MIN_URLS: usize = 20;
/// Children of a node that are told apart at most: one in twenty of the URLs, so that the tags of a
/// site are one family and its few sections are not.
const MAX_BRANCHES: usize = 20;
/// Distinct values (numbers, dates) that something without end has. Parameters of a list (orders,
/// sizes, views) have fewer: the crawls at hand show 3 to 14.
const MIN_VALUES: usize = 20;
/// URLs of a family that show a page again although one thing alone has changed. Half of the least
/// family: fewer may be labels that are wrong.
const MIN_REPEATS: usize = 10;
/// Largest share of new pages of a trap, in percent. A family with a new page for every fourth
/// fetch is worth its fetches.
const MAX_NEW: usize = 25;
/// Least share, in percent, of the compared URLs that repeat a page: most of them.
const MIN_REPEATED: usize = 50;
/// Least share, in percent, of all URLs of a family that repeat a page: else the few that could be
/// compared would speak for many that could not.
const MIN_HEARD: usize = 25;
/// Least share, in percent, of the URLs of a family on its largest page that make it one page.
/// Below, each fifth URL or more is something else.
const MIN_ONE_PAGE: usize = 80;
/// Least share, in percent, of the repeats that lie behind the last page of a list: numbers that
/// show one page because the list is over, rather than here and there.
const MIN_BEHIND: usize = 90;
/// Characters of a family and of an example that are kept.
const MAX_TEXT: usize = 1_000;

/// A family of URLs that brings few new pages. Counts are of distinct labelled training URLs
/// without their scheme and host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trap {
    /// Its kind.
    pub kind: TrapKind,
    /// Path shape and key names: `#` for digits, `*` for anything, `<date>`, `<repeated>`.
    pub family: String,
    /// The piece that varies and leaves the page as it is; empty for [`TrapKind::OnePage`].
    pub varies: String,
    /// The shortest URL that shows a page seen before, ties by bytes.
    pub example: String,
    /// URLs.
    pub urls: u64,
    /// Pages (clusters) whose first URL is in the family.
    pub new: u64,
}

impl Trap {
    /// Fetches that brought a page seen before.
    pub fn wasted(&self) -> u64 {
        self.urls.saturating_sub(self.new)
    }

    /// Share of the URLs that brought a new page, in millionths, rounded down.
    pub fn new_ppm(&self) -> u64 {
        (u128::from(self.new) * 1_000_000).checked_div(u128::from(self.urls)).unwrap_or(0) as u64
    }
}

/// The traps of a site: those with most wasted fetches first, ties by the bytes of the family.
pub(in crate::site) fn find(training: &Training) -> Vec<Trap> {
    let mut urls = distinct(training);
    mark_new(&mut urls);
    if urls.iter().filter(|url| !url.is_new).count() < MIN_REPEATS {
        return Vec::new();
    }
    fold(&mut urls);
    // Texts with two labels are neighbours; the order within a family changes nothing.
    urls.sort_by_key(|url| url.family);
    let mut found: Vec<TrapFamily> =
        urls.chunk_by(|a, b| a.family == b.family).filter_map(|family| trap(family, training)).collect();
    found.extend(repeating(&urls, training));
    let mut traps: Vec<Trap> = joined(found, training)
        .into_iter()
        .map(|of| Trap {
            kind: of.kind,
            family: within(&text(&of.pieces), MAX_TEXT),
            varies: within(&of.varies, MAX_TEXT),
            example: within(&String::from_utf8_lossy(training.url(of.example as usize)), MAX_TEXT),
            urls: of.urls,
            new: of.new,
        })
        .collect();
    traps.sort_by(|a, b| (Reverse(a.wasted()), &a.family, a.kind).cmp(&(Reverse(b.wasted()), &b.family, b.kind)));
    traps.truncate(MAX_TRAPS);
    traps
}

/// Path and query of a row, without its fragment.
fn path_and_query(training: &Training, row: usize) -> Option<&str> {
    let normal = training.normal(row)?;
    let (bytes, split) = (normal.as_bytes(), normal.split());
    let end = split.fragment.map_or(bytes.len(), |(start, _)| start as usize - 1);
    std::str::from_utf8(&bytes[split.path.0 as usize..end]).ok()
}

/// The labelled URLs, each text and cluster once, in the order of a hash of the text.
fn distinct(training: &Training) -> Vec<Url<'_>> {
    let url = |row: usize| {
        let cluster = Some(training.clusters[row]).filter(|&cluster| cluster != u32::MAX)?;
        let (text, elsewhere) = (path_and_query(training, row)?, training.elsewhere[row]);
        let url =
            Url { text, cluster, row: row as u32, elsewhere, is_new: false, family: 0, kept: 0, is_repeating: false };
        Some((hash64_seeded(text.as_bytes(), 0), url))
    };
    let mut urls: Vec<(u64, Url<'_>)> = (0..training.len()).filter_map(url).collect();
    let address = |url: &Url<'_>| training.url(url.row as usize);
    urls.sort_unstable_by(|(a_hash, a), (b_hash, b)| {
        let texts = || (a.text, a.cluster, address(a)).cmp(&(b.text, b.cluster, address(b)));
        a_hash.cmp(b_hash).then_with(texts)
    });
    urls.dedup_by(|(_, next), (_, first)| {
        let is_same = next.text == first.text && next.cluster == first.cluster;
        first.elsewhere &= !is_same || next.elsewhere;
        is_same
    });
    urls.into_iter().map(|(_, url)| url).collect()
}

/// Marks the first URL of each cluster.
fn mark_new(urls: &mut [Url<'_>]) {
    let mut first: HashMap<u32, usize, FixedState> = HashMap::default();
    let order = |url: &Url<'_>| (url.elsewhere, url.text.len());
    for at in 0..urls.len() {
        let place = first.entry(urls[at].cluster).or_insert(at);
        let [url, before] = [at, *place].map(|at| &urls[at]);
        if order(url).cmp(&order(before)).then_with(|| url.text.cmp(before.text)).is_lt() {
            *place = at;
        }
    }
    for (at, url) in urls.iter_mut().enumerate() {
        url.is_new = first.get(&url.cluster) == Some(&at);
    }
}

/// Gives each URL its family, depth by depth: a piece is kept where enough URLs of the same beginning
/// have its shape.
fn fold(urls: &mut [Url<'_>]) {
    let mut ends: Vec<usize> = Vec::with_capacity(urls.len());
    let mut hashes: Vec<[u64; 2]> = Vec::new();
    let mut pieces = Pieces::default();
    for url in urls.iter_mut() {
        let seeded = |piece: &Piece, text: &str| hash64_seeded(text.as_bytes(), piece.part as u64);
        url.is_repeating = pieces.take(url.text);
        hashes.extend(pieces.iter().map(|of| [pieces.shape(of), pieces.general(of)].map(|text| seeded(of, text))));
        ends.push(hashes.len());
    }
    let piece = |at: usize, depth: usize| {
        let start = at.checked_sub(1).map_or(0, |before| ends[before]);
        hashes[start..ends[at]].get(depth).copied()
    };
    for depth in 0..MAX_PIECES {
        // URLs by beginning, and by beginning and shape.
        let mut counts: HashMap<u64, u32, FixedState> = HashMap::default();
        let node = |of: u64, shape: u64| mixed(of, shape, 1);
        for (at, url) in urls.iter().enumerate() {
            let Some([shape, _]) = piece(at, depth) else { continue };
            *counts.entry(url.family).or_default() += 1;
            *counts.entry(node(url.family, shape)).or_default() += 1;
        }
        if counts.is_empty() {
            return;
        }
        for (at, url) in urls.iter_mut().enumerate() {
            let Some([shape, general]) = piece(at, depth) else { continue };
            let count = |of: u64| counts.get(&of).map_or(0, |&count| count as usize);
            let is_kept = count(node(url.family, shape)) >= MIN_URLS.max(count(url.family) / MAX_BRANCHES);
            url.kept |= u32::from(is_kept) << depth;
            url.family = mixed(url.family, if is_kept { shape } else { general }, 2);
        }
    }
}

fn mixed(of: u64, next: u64, salt: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&of.to_le_bytes());
    bytes[8..].copy_from_slice(&next.to_le_bytes());
    hash64_seeded(&bytes, salt)
}

fn percent(part: usize, of: usize, least: usize) -> bool {
    part * 100 >= of * least
}

/// Repeats of a family by a change of one piece alone.
#[derive(Clone, Copy, Debug, Default)]
struct Repeats {
    /// URLs with another one that differs in this piece alone.
    compared: usize,
    /// Those of them that show the page of another one.
    repeated: usize,
    /// Those of them that show the page of the largest value, without a gap.
    behind: usize,
}

impl Repeats {
    fn suffice(self, urls: usize) -> bool {
        self.repeated >= MIN_REPEATS
            && percent(self.repeated, self.compared, MIN_REPEATED)
            && percent(self.repeated, urls, MIN_HEARD)
    }
}

/// The trap that a family is, if it is one. Paths that repeat a segment are not looked at here.
fn trap(family: &[Url<'_>], training: &Training) -> Option<TrapFamily> {
    let new = Url::new_of(family);
    if family.len() < MIN_URLS || new * 100 > family.len() * MAX_NEW || family[0].is_repeating {
        return None;
    }
    let mut clusters: Vec<u32> = family.iter().map(|url| url.cluster).collect();
    clusters.sort_unstable();
    let pages = clusters.chunk_by(|a, b| a == b);
    let (count, largest) = pages.fold((0, 0), |(count, largest), page| (count + 1, largest.max(page.len())));
    if family.len() - count < MIN_REPEATS {
        return None;
    }
    let mut pieces = Pieces::default();
    let cut = family.iter().map(|url| {
        pieces.take(url.text);
        pieces.to_vec()
    });
    let cut: Vec<Vec<Piece>> = cut.collect();
    let along = |wanted: &[Axis]| {
        let sufficient = (0..cut[0].len())
            .filter_map(|at| Some((at, repeats(family, &cut, at, wanted)?)))
            .filter(|(_, repeats)| repeats.suffice(family.len()));
        sufficient.max_by_key(|&(at, repeats)| (repeats.repeated, Reverse(at)))
    };
    let is_one_page = percent(largest, family.len(), MIN_ONE_PAGE);
    // A list that is over shows one page, too, but some others before it.
    let is_over = |repeats: &Repeats| count > 2 && percent(repeats.behind, repeats.repeated, MIN_BEHIND);
    let (kind, at) = if let Some((at, _)) = along(&[Axis::Date]) {
        (TrapKind::Calendar, Some(at))
    } else {
        let wanted = if is_one_page { &[Axis::Number][..] } else { &[Axis::Number, Axis::Value] };
        match along(wanted).filter(|(_, repeats)| !is_one_page || is_over(repeats)) {
            Some((at, _)) => (TrapKind::Endless, Some(at)),
            None if is_one_page => (TrapKind::OnePage, None),
            None => return None,
        }
    };
    Some(found(kind, at, family, training))
}

/// Counts of the URLs that differ in the piece at `at` alone; `None` where its values are few, or
/// vary in another way than `wanted`.
fn repeats(family: &[Url<'_>], cut: &[Vec<Piece>], at: usize, wanted: &[Axis]) -> Option<Repeats> {
    let mut rows: Vec<(u64, u64, u32)> = Vec::new();
    for (url, pieces) in family.iter().zip(cut) {
        if wanted.contains(&pieces[at].axis) {
            let hash = |depth: usize, of: &Piece| if depth == at { of.masked } else { of.exact };
            let rest = pieces.iter().enumerate().fold(0, |rest, (depth, of)| mixed(rest, hash(depth, of), 3));
            rows.push((rest, pieces[at].value, url.cluster));
        }
    }
    let mut values: Vec<u64> = rows.iter().map(|row| row.1).collect();
    values.sort_unstable();
    values.dedup();
    if values.len() < MIN_VALUES {
        return None;
    }
    // The same pairs in another order are one URL here.
    rows.sort_unstable();
    rows.dedup();
    let (mut out, mut clusters) = (Repeats::default(), Vec::new());
    for same in rows.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        clusters.clear();
        clusters.extend(same.iter().map(|row| row.2));
        let last = clusters[clusters.len() - 1];
        out.behind += clusters.iter().rev().take_while(|&&cluster| cluster == last).count() - 1;
        clusters.sort_unstable();
        clusters.dedup();
        out.compared += same.len();
        out.repeated += same.len() - clusters.len();
    }
    Some(out)
}

/// Families of paths that repeat a segment: those whose URLs show what the path with fewer repeats
/// does.
fn repeating(urls: &[Url<'_>], training: &Training) -> Vec<TrapFamily> {
    let flags: Vec<bool> = urls.iter().map(|url| url.is_repeating).collect();
    if flags.iter().filter(|&&is_repeating| is_repeating).count() < MIN_URLS {
        return Vec::new();
    }
    // By the path without repeats and the page: the shortest is no repeat.
    let mut rows: Vec<(u64, u32, usize, &str, usize)> = urls
        .iter()
        .enumerate()
        .map(|(at, url)| (collapsed(url.text), url.cluster, url.text.len(), url.text, at))
        .collect();
    rows.sort_unstable();
    let mut repeated = vec![false; urls.len()];
    for same in rows.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        same.iter().skip(1).for_each(|row| repeated[row.4] = true);
    }
    let mut out = Vec::new();
    let mut start = 0;
    for family in urls.chunk_by(|a, b| a.family == b.family) {
        let range = start..start + family.len();
        start = range.end;
        if !flags[range.start] || family.len() < MIN_URLS {
            continue;
        }
        let repeats = Repeats {
            compared: family.len(),
            repeated: repeated[range].iter().filter(|&&is_repeated| is_repeated).count(),
            behind: 0,
        };
        let new = Url::new_of(family);
        if repeats.suffice(family.len()) && new * 100 <= family.len() * MAX_NEW {
            out.push(found(TrapKind::RepeatedSegments, Some(1), family, training));
        }
    }
    out
}

#[cfg(test)]
mod tests;
