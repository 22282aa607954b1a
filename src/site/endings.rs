//! Last segments behind which a page is the same as without them, at any depth: `view` of `/a/b/view`, `amp` of
//! `/news/title/amp/`.

use super::{Thresholds, Training};
use crate::model::hash64;
use crate::url::{Endings, segment};
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Clusters of a word: those that it shares with the page above it, and those in which it is another page.
#[derive(Default)]
struct Word {
    same: BTreeSet<u32>,
    different: BTreeSet<u32>,
}

/// False for a directory index, which is a key everywhere.
fn is_word(segment: &[u8]) -> bool {
    !segment.is_empty() && !segment::is_index(segment, segment::last_dot(segment))
}

/// The last segments that enough clusters show with and without them, and no more without than with; those of most
/// clusters first, ties by bytes, then sorted. O(bytes of the sample).
pub fn find(training: &Training, sample: impl Fn(usize) -> bool, thresholds: &Thresholds) -> Vec<String> {
    // Path without the slash at its end, and what stands behind it.
    let cut = |row: usize| {
        let (text, path) = (training.normal(row)?.as_bytes(), training.normal(row)?.split().path);
        let (path, rest) = (&text[path.0 as usize..path.1 as usize], &text[path.1 as usize..]);
        Some((path.strip_suffix(b"/").unwrap_or(path), rest))
    };
    let rows = || (0..training.len()).filter(|&row| sample(row)).filter_map(|row| Some((row, cut(row)?)));
    let hash = |path: &[u8], rest: &[u8]| hash64(&[path, rest].concat());
    let mut pages: HashMap<u64, Vec<u32>, FixedState> = HashMap::default();
    for (row, (path, rest)) in rows() {
        let clusters = pages.entry(hash(path, rest)).or_default();
        if !clusters.contains(&training.clusters[row]) {
            clusters.push(training.clusters[row]);
        }
    }
    let mut words: BTreeMap<&[u8], Word> = BTreeMap::new();
    for (row, (path, rest)) in rows() {
        let Some(slash) = memchr::memrchr(b'/', path).filter(|&slash| slash > 0) else { continue };
        let (above, word) = (&path[..slash], &path[slash + 1..]);
        let Some(clusters) = pages.get(&hash(above, rest)).filter(|_| is_word(word)) else { continue };
        let (word, cluster) = (words.entry(word).or_default(), training.clusters[row]);
        match clusters.contains(&cluster) {
            true => word.same.insert(cluster),
            false => word.different.insert(cluster),
        };
    }
    let enough = |word: &Word| word.same.len() >= thresholds.cut_ending_clusters.max(word.different.len());
    let mut found: Vec<(&[u8], Word)> = words.into_iter().filter(|(_, word)| enough(word)).collect();
    found.sort_by_key(|(word, of)| (Reverse(of.same.len()), *word));
    found.truncate(Endings::MOST);
    let mut words: Vec<String> = found.iter().filter_map(|(word, _)| String::from_utf8(word.to_vec()).ok()).collect();
    words.sort_unstable();
    words
}
