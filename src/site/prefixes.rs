//! Path prefixes that alone name the page: `/photo/17/tags/6` and `/photo/17/best` are `/photo/17`,
//! whatever follows.
//!
//! Rules between forms would need one rule for each continuation of a path, and evidence for each. This
//! operation cuts the path behind a number of segments, under one condition (mostly on the first of
//! them). It has no prior, so it must be pure.

use super::carried::carriers;
use super::columns::Columns;
use super::evidence::Groups;
use super::operations::Map;
use super::{Thresholds, generalization};
use crate::url::{Fixed, Key, Part};

/// The keys behind the first `kept` segments, and the depth; none where no path goes on.
pub fn keys(columns: &Columns, kept: u8) -> Vec<usize> {
    let is_behind = |key: usize| columns.keys[key].as_path().is_some_and(|(segment, _)| segment >= usize::from(kept));
    let behind: Vec<usize> = (0..columns.keys.len()).filter(|&key| is_behind(key)).collect();
    match columns.fixed(Fixed::DEPTH).filter(|_| !behind.is_empty()) {
        Some(depth) => behind.into_iter().chain([depth]).collect(),
        None => Vec::new(),
    }
}

/// Maps that leave out everything behind the first `kept` segments.
pub fn maps(columns: &mut Columns, keys: &[usize], kept: u8) -> Vec<(usize, Map)> {
    let map = |&key: &usize| match columns.keys[key].is(Fixed::DEPTH) {
        false => (key, Map::To { code: 0, everywhere: false }),
        true => {
            let to = columns.intern(key, kept.to_string().as_bytes());
            let depth = |code| std::str::from_utf8(columns.value(key, code)).ok().and_then(|depth| depth.parse().ok());
            let is_deeper = |code| depth(code).is_some_and(|depth: u8| depth > kept);
            let codes = 0..columns.codes_len(key) as u32;
            (key, Map::Table(codes.map(|code| if is_deeper(code) { to } else { code }).collect()))
        }
    };
    keys.iter().map(map).collect()
}

/// The first key behind the first `kept` segments, and those of its values (sorted) that at least `least` clusters
/// show: what follows may be left out behind these. `None` for one alone, which rules between forms lead to either
/// side.
pub fn shown(columns: &Columns, groups: &Groups, kept: u8, least: usize) -> Option<(usize, Vec<u32>)> {
    let first = columns.fixed(Fixed::path(usize::from(kept), Part::Head))?;
    let carriers = carriers(columns, groups, first, least);
    // As an ending a word is in a key of its own, and its pages would not speak against the rule.
    let endings = columns.keys.iter().position(|key| *key == Key::Param("/".to_owned()));
    let is_ending = |&code: &u32| endings.is_some_and(|key| columns.find(key, columns.value(first, code)).is_some());
    let is_shown = |&code: &u32| carriers[code as usize] >= least && !is_ending(&code);
    let shown: Vec<u32> = (1..carriers.len() as u32).filter(is_shown).collect();
    (shown.len() > 1).then_some((first, shown))
}

/// True for a row whose path ends with the first `kept` segments.
fn is_front(columns: &Columns, kept: u8, row: u32) -> bool {
    let depth = columns.fixed(Fixed::DEPTH);
    depth.is_some_and(|key| Some(columns.code(key, row)) == columns.find(key, kept.to_string().as_bytes()))
}

/// Keeps the rows with one of these values behind the first `kept` segments, and those that end there.
pub fn retain(columns: &Columns, rows: &mut Vec<u32>, kept: u8, (first, shown): &(usize, Vec<u32>)) {
    rows.retain(|&row| shown.binary_search(&columns.code(*first, row)).is_ok() || is_front(columns, kept, row));
}

/// True where the first segment behind the front has so many values that values never met may be left
/// out, too: two pages under a product that show the product are no evidence about a third.
pub fn are_of_any_value(columns: &Columns, groups: &Groups, kept: u8, thresholds: &Thresholds) -> bool {
    let first = columns.fixed(Fixed::path(usize::from(kept), Part::Head));
    first.is_some_and(|key| generalization::is_of_any_value(columns, groups, key, thresholds))
}

/// True where the short form was met; otherwise the canonical URLs would be ones that no record has.
/// At least `least` groups with some good must hold a URL that ends at the cut, or as many as there are
/// supporting clusters where these are fewer.
pub fn are_seen(columns: &Columns, groups: &Groups, kept: u8, least: usize) -> bool {
    let is_met = |&row: &u32| columns.fetchable[row as usize] && is_front(columns, kept, row);
    let met = (0..groups.len()).filter(|&group| groups.good[group] > 0 && groups.members(group).iter().any(is_met));
    met.count() as u64 >= groups.clusters().min(least as u64)
}

#[cfg(test)]
mod tests {
    use crate::rules::{Tokens, explain::pattern_text};
    use crate::site::undust::learn_tokenized;
    use crate::site::{Params, Training};

    /// Rules of a site whose photos are reached by tags, albums and a list of the best, cut with these endings.
    fn learned(endings: &[&str]) -> Vec<String> {
        let mut rows: Vec<(String, String)> = Vec::new();
        for i in 1..=60 {
            let photo = format!("http://a.example/photo/{i}");
            let best = [format!("/best/{}", i % 7), format!("/best/{}/{}", i % 5, i % 3)];
            let tags = [format!("/tags/t{i}x"), format!("/tags/t{i}x/red")];
            let albums = [format!("/album/{}", i % 9), format!("/album/{}/{}/by-date", i % 4, i % 3)];
            for path in [String::new()].into_iter().chain(best).chain(tags).chain(albums) {
                rows.push((photo.clone() + &path, format!("p{i}")));
            }
            for page in ["1", "2", "best"] {
                rows.push((format!("http://a.example/news/{i}/{page}"), format!("n{i}-{page}")));
            }
        }
        let rows = rows.iter().map(|(url, cluster)| (url.as_bytes(), Some(cluster.as_bytes()), false));
        let endings = endings.iter().map(|&word| word.to_owned()).collect();
        let tokens = Tokens { endings, ..Tokens::default() };
        let outcome = learn_tokenized(Training::new("a.example", rows), tokens, &Params::default());
        outcome.rules.rules.iter().map(pattern_text).collect()
    }

    #[test]
    fn words_that_are_endings_are_not_listed() {
        let is_listed = |rules: &[String], words: &str| rules.iter().any(|rule| rule.contains(words));
        let rules = learned(&[]);
        assert!(is_listed(&rules, r#"path2 is "album", "best" or "tags""#), "{rules:?}");
        let rules = learned(&["best"]);
        assert!(is_listed(&rules, r#"path2 is "album" or "tags""#), "{rules:?}");
    }
}
