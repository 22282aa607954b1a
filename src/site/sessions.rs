//! Parameters that hold the session of a visitor.

use super::Thresholds;
use super::columns::Columns;
use super::random_tokens::are_random;
use super::tracking::{self, name_of};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// True for a parameter in every URL that holds the session of a visitor: by a name that carries one and nothing else,
/// or since its values are random tokens, each in `session_urls` URLs on average, and most pages that were met several
/// times have several. One of them would name a visit that is over, and another one after each learning; a token of a
/// single page, or of a part of the site, may be what the page is shown for.
pub(super) fn is_of_session(
    columns: &Columns,
    key: usize,
    rows: &[u32],
    counts: &[u32],
    thresholds: &Thresholds,
) -> bool {
    let named = |is: fn(&str) -> bool| name_of(&columns.keys[key]).is_some_and(is);
    if named(tracking::is_session) && !named(tracking::is_common) {
        return true;
    }
    let urls: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let values = counts.iter().filter(|&&count| count > 0).count() as u64;
    if urls < thresholds.session_urls.saturating_mul(values) || !are_random(columns, key, thresholds) {
        return false;
    }
    // Of each page the value of its first URL, its URLs, and whether they differ.
    let mut pages: HashMap<u32, (u32, u32, bool), FixedState> = HashMap::default();
    for &row in rows {
        let code = columns.code(key, row);
        let page = pages.entry(columns.label[row as usize]).or_insert((code, 0, false));
        *page = (page.0, page.1 + 1, page.2 || code != page.0);
    }
    let several = pages.values().filter(|page| page.1 > 1).count();
    pages.values().filter(|page| page.2).count() * 2 > several
}
