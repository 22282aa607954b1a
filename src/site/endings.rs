//! Words at the end of a path behind which a page is the same as without them, at any depth: `view` of `/a/b/view`,
//! `amp` of `/news/title/amp/`, `-print` of `/news/title-print.html`. And formats of feeds there (`/tag/x/feed/`),
//! behind which it is another page: one key at any depth, too.

use super::profile::names::is_format;
use super::{Thresholds, Training};
use crate::model::hash64;
use crate::url::Endings;
use crate::url::segment::{self, Tail};
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Clusters of a word: those that it shares with the page above it, and those in which it is another page, or the two
/// URLs differ in their slashes, too.
#[derive(Default)]
struct Word {
    same: BTreeSet<u32>,
    different: BTreeSet<u32>,
    /// URLs with the word, and those of them whose page without it is known.
    rows: [usize; 2],
}

/// The last segments, and words joined to one, that enough clusters hold with and without them, and that few clusters
/// hold where the page without them is another; of more than [`Endings::MOST`] those of most clusters, ties by bytes.
/// Sorted. O(bytes of the sample), and the clusters of each path.
pub fn find<'t>(training: &'t Training, sample: impl Fn(usize) -> bool, thresholds: &Thresholds) -> Vec<String> {
    // Path without the slash at its end, whether there is one, and what stands behind.
    let cut = |row: usize| {
        let (text, path) = (training.normal(row)?.as_bytes(), training.normal(row)?.split().path);
        let (path, rest) = (&text[path.0 as usize..path.1 as usize], &text[path.1 as usize..]);
        Some(path.strip_suffix(b"/").map_or((path, false, rest), |path| (path, true, rest)))
    };
    let rows = || (0..training.len()).filter(|&row| sample(row)).filter_map(|row| Some((row, cut(row)?)));
    let hash = |path: &[u8], rest: &[u8]| hash64(&[path, rest].concat());
    let mut pages: HashMap<u64, Vec<(u32, bool)>, FixedState> = HashMap::default();
    for (row, (path, slash, rest)) in rows() {
        let clusters = pages.entry(hash(path, rest)).or_default();
        if !clusters.contains(&(training.clusters[row], slash)) {
            clusters.push((training.clusters[row], slash));
        }
    }
    let mut words: BTreeMap<(bool, &[u8]), Word> = BTreeMap::new();
    let mut add = |row: usize, word: (bool, &'t [u8]), page: u64, slash: bool| {
        let (of, cluster) = (words.entry(word).or_default(), training.clusters[row]);
        of.rows[0] += 1;
        let Some(clusters) = pages.get(&page) else { return };
        of.rows[1] += 1;
        let is_same = clusters.contains(&(cluster, slash));
        if is_same {
            of.same.insert(cluster)
        } else {
            of.different.insert(cluster)
        };
    };
    for (row, (path, slash, rest)) in rows() {
        let Some(at) = memchr::memrchr(b'/', path) else { continue };
        let (above, last) = (&path[..at], &path[at + 1..]);
        if at > 0 && is_word(last, slash) {
            // A file stands for its directory; the rules know no other slash that comes or goes.
            add(row, (false, last), hash(above, rest), slash || last.contains(&b'.'));
        }
        if let Some(Tail { joint, end, .. }) = segment::tail(last).filter(|_| !slash && !last.contains(&b';')) {
            let page = [&path[..=at], &last[..joint], &last[end..]].concat();
            add(row, (true, &last[joint..end]), hash(&page, rest), false);
        }
    }
    let enough = |is_joined: bool, word: &Word| {
        let (shown, [all, known]) = (word.same.len(), word.rows);
        let is_known = !is_joined || known * 100 >= all * thresholds.cut_ending_known_percent;
        let is_refuted = word.different.len() * 100 > shown * thresholds.cut_ending_percent;
        shown >= thresholds.cut_ending_clusters && is_known && !is_refuted
    };
    let mut found: Vec<((bool, &[u8]), Word)> = words.into_iter().filter(|(of, word)| enough(of.0, word)).collect();
    found.sort_by_key(|(word, of)| (Reverse(of.same.len()), *word));
    found.truncate(Endings::MOST);
    let written = |(is_joined, word): (bool, &[u8])| {
        let word = std::str::from_utf8(word).ok()?;
        Some(if is_joined { format!("{}{word}", Endings::MARK) } else { word.to_owned() })
    };
    let mut words: Vec<String> = found.iter().filter_map(|(word, _)| written(*word)).collect();
    words.sort_unstable();
    words
}

/// True where the last segment of some URL is this ending, or has it. O(bytes of the sample).
pub fn occurs(ending: &str, training: &Training, sample: impl Fn(usize) -> bool) -> bool {
    let ending = Endings::new(&[ending.to_owned()]);
    (0..training.len()).filter(|&row| sample(row)).filter_map(|row| training.normal(row)).any(|url| {
        let (text, path) = (url.as_bytes(), url.split().path);
        let path = &text[path.0 as usize..path.1 as usize];
        let last = path.strip_suffix(b"/").unwrap_or(path).rsplit(|&b| b == b'/').next().unwrap_or_default();
        ending.contains(last) || ending.tail(last).is_some()
    })
}

/// The last segments that say that a page is a feed (`feed` of `/tag/x/feed/` and `/a/b/c/feed/`), another one than
/// without them: as they are one key at any depth, a rule on the origin excludes them at once. Those that as many
/// clusters hold as another ending needs, at two depths or more; sorted. O(bytes of the sample).
pub fn of_feeds(training: &Training, sample: impl Fn(usize) -> bool, thresholds: &Thresholds) -> Vec<String> {
    let mut words: BTreeMap<&[u8], (BTreeSet<u32>, BTreeSet<usize>)> = BTreeMap::new();
    for row in (0..training.len()).filter(|&row| sample(row)) {
        let Some(url) = training.normal(row) else { continue };
        let (text, path) = (url.as_bytes(), url.split().path);
        let path = &text[path.0 as usize..path.1 as usize];
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let Some(at) = memchr::memrchr(b'/', path) else { continue };
        let last = &path[at + 1..];
        if at > 0 && !last.contains(&b'.') && is_format(last) {
            let (clusters, depths) = words.entry(last).or_default();
            clusters.insert(training.clusters[row]);
            depths.insert(memchr::memchr_iter(b'/', path).count());
        }
    }
    let enough = |of: &(BTreeSet<u32>, BTreeSet<usize>)| of.0.len() >= thresholds.cut_ending_clusters && of.1.len() > 1;
    let found = words.into_iter().filter(|(_, of)| enough(of));
    found.filter_map(|(word, _)| String::from_utf8(word.to_vec()).ok()).collect()
}

/// True for a last segment that can be an ending ([`Endings`]): no directory index, which is a key everywhere, no path
/// parameters, no file before a slash, and nothing that stands for a joined word.
fn is_word(segment: &[u8], slash: bool) -> bool {
    let is_index = segment::is_index(segment, segment::last_dot(segment));
    let has = |byte: u8| segment.contains(&byte);
    let is_mark = segment.first() == Some(&(Endings::MARK as u8));
    !(segment.is_empty() || is_index || is_mark || has(b';') || slash && has(b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Endings of pages of which some are shown by a word behind them: (word, pages, of these other pages).
    fn found(words: &[(&str, usize, usize)], above: &str, percent: usize) -> Vec<String> {
        let page = |word: &str, at: usize| format!("http://a.example/{word}{at}/p");
        let urls: Vec<(String, String)> = words
            .iter()
            .flat_map(|&(word, pages, other)| (0..pages).map(move |at| (word, at, at < other)))
            .flat_map(|(word, at, is_other)| {
                let label = if is_other { "another" } else { "" };
                let shown = (page(word, at) + "/" + word, format!("{word}{at}{label}"));
                [(page(word, at) + above, format!("{word}{at}")), shown]
            })
            .collect();
        let rows = urls.iter().map(|(url, label)| (url.as_bytes(), Some(label.as_bytes()), false));
        let training = Training::new("a.example", rows);
        find(&training, |_| true, &Thresholds { cut_ending_percent: percent, ..Thresholds::default() })
    }

    #[test]
    fn words_are_shown_by_several_pages_and_refuted_by_few() {
        let words = [("view", 30, 1), ("print", 3, 0), ("edit", 2, 0), ("notes", 30, 3)];
        assert_eq!(found(&words, "", 5), ["print", "view"]);
        assert_eq!(found(&words, "", 0), ["print"]);
        assert_eq!(found(&words, "", 50), ["notes", "print", "view"]);
    }

    #[test]
    fn formats_of_feeds_are_tried_where_they_end_paths_of_several_depths() {
        let found = |paths: &[&str]| {
            let of = |path: &str, at: usize| format!("http://a.example/{}", path.replace('N', &at.to_string()));
            let urls: Vec<String> = paths.iter().flat_map(|path| (0..3).map(move |at| of(path, at))).collect();
            let rows = urls.iter().map(|url| (url.as_bytes(), Some(url.as_bytes()), false));
            of_feeds(&Training::new("a.example", rows), |_| true, &Thresholds::default())
        };
        assert_eq!(found(&["tag/N/feed/", "a/b/N/feed", "tag/N/rss", "a/b/N/rss2/"]), ["feed"]);
        assert_eq!(found(&["N/view", "a/N/view", "N/a.xml", "a/N/a.xml", "N/pet-feed", "a/N/pet-feed"]), [""; 0]);
    }

    #[test]
    fn words_that_are_joined_to_a_name_are_shown_as_well() {
        let page = |label: &str, name: &str| (format!("http://a.example/{name}"), label.to_owned());
        let both = |at: usize, other: &str, name: &str| {
            [
                page(&format!("{at}"), &format!("p{at}.html")),
                page(&format!("{at}{other}"), &name.replace('N', &at.to_string())),
            ]
        };
        let same = ["pN-print.html", "pN.html.en", "pN.en.html", "pN_b2.html", "pN-print.html/"].map(|name| (name, ""));
        let rows: Vec<(String, String)> = same
            .into_iter()
            .chain([("pN-notes.html", "n")])
            .zip([100, 200, 300, 400, 500, 600])
            .flat_map(|((name, other), from)| (from..from + 3).flat_map(move |at| both(at, other, name)))
            .chain((700..703).map(|at| page("lone", &format!("p{at}-print.html"))))
            .collect();
        let rows = rows.iter().map(|(url, label)| (url.as_bytes(), Some(label.as_bytes()), false));
        let training = Training::new("a.example", rows);
        assert_eq!(find(&training, |_| true, &Thresholds::default()), ["*-print", "*.en"]);
        // Of six URLs with -print three have a page without it, of six with .en all.
        let thresholds = Thresholds { cut_ending_known_percent: 60, ..Thresholds::default() };
        assert_eq!(find(&training, |_| true, &thresholds), ["*.en"]);
    }

    #[test]
    fn a_file_stands_for_its_directory_and_a_word_for_no_slash() {
        let words = [("all.html", 5, 0), ("view", 5, 0), ("index.html", 5, 0), ("view;a=1", 5, 0), ("amp/", 5, 0)];
        assert_eq!(found(&words, "", 5), ["view"]);
        assert_eq!(found(&words, "/", 5), ["all.html", "amp"]);
    }
}
