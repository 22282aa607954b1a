//! Values that belong to one page: parts of the path and parameters whose values no rule may replace by one value.

use super::Thresholds;
use super::columns::Columns;
use super::evidence::Groups;
use super::operations::Map;
use crate::url::Key;
use foldhash::fast::FixedState;
use std::collections::{BTreeSet, HashMap};

/// True where a part of the path names the page: nearly every page shows one value of it, and hardly
/// any the representative (`names_pages`). Replacing it would make nearly all URLs ones that no record has
/// (crawl-forum: `/topic/on-invite-692/`, of 531 titles 517 are written in one way). `groups` are the
/// groups that the maps make of `rows`.
///
/// O(rows + members of groups).
pub fn names_pages(
    columns: &Columns,
    groups: &Groups,
    (key, map): &(usize, Map),
    rows: &[u32],
    thresholds: &Thresholds,
) -> bool {
    let Map::To { code: representative, everywhere: false } = *map else { return false };
    if columns.keys[*key].as_path().is_none() || representative == 0 {
        return false;
    }
    let of = |row: &u32| columns.code(*key, *row);
    let met = rows.iter().filter(|row| of(row) == representative).count();
    let mut pages = rows.iter().filter(|row| of(row) != 0).count();
    let mut several = 0;
    for group in 0..groups.len() {
        let mut values = groups.members(group).iter().map(of).filter(|&code| code != 0);
        let Some(first) = values.next() else { continue };
        let (others, differ) = values.fold((0, false), |(n, differ), code| (n + 1, differ || code != first));
        pages -= others;
        several += usize::from(differ);
    }
    met.max(several) * thresholds.names_pages < pages
}

/// True where the pages of `rows` that are shown under several values of a part of the path or a parameter are shown
/// under spellings of one, which differ in case and punctuation alone, but for `spelling_percent` of them: that
/// spelling says nothing there is no evidence that the value does not. To write one value into all URLs would make
/// URLs that no server has (`/docs/Blue-Whale7.aspx` with the title of another page, a link without its token).
///
/// O(rows).
pub fn is_of_spelling(
    columns: &Columns,
    &(key, ref map): &(usize, Map),
    rows: &[u32],
    thresholds: &Thresholds,
) -> bool {
    let name = &columns.keys[key];
    let writes_a_value = matches!(*map, Map::To { code, .. } if code != 0);
    if !writes_a_value || matches!(name, Key::Fixed(_)) && name.as_path().is_none() {
        return false;
    }
    let mut pages: HashMap<u32, BTreeSet<u32>, FixedState> = HashMap::default();
    for &row in rows.iter().filter(|&&row| columns.code(key, row) != 0) {
        pages.entry(columns.label[row as usize]).or_default().insert(columns.code(key, row));
    }
    let spelled = |&code: &u32| {
        let bytes = columns.value(key, code).iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
        bytes.map(u8::to_ascii_lowercase).collect::<Vec<u8>>()
    };
    let several: Vec<&BTreeSet<u32>> = pages.values().filter(|values| values.len() > 1).collect();
    let differ = several.iter().filter(|values| {
        let mut spelled = values.iter().map(spelled);
        spelled.next().is_some_and(|first| spelled.any(|other| other != first))
    });
    differ.count() as u64 * 100 < thresholds.spelling_percent * several.len() as u64
}
