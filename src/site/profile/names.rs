//! Names of parameters that indicate their kind, and of formats of feeds. The effect of a parameter is taken from the
//! counts, never from its name; but a small sample must show more of those of lists and of versions.

use crate::site::tracking::{is_session, is_tracking};
use crate::url::Key;

/// Formats of feeds, as URLs name them.
pub const FORMATS: [&str; 8] = ["atom", "feed", "feeds", "rdf", "rss", "sitemap", "syndication", "xml"];
/// Bytes of the version behind a format, at most (`rss2`, `atom1.0`): what is longer is the number of a page.
const VERSION: usize = 4;
/// Names of the order of a list.
const ORDER: [&str; 33] = [
    "asc",
    "by",
    "desc",
    "dir",
    "direction",
    "filter_order",
    "filter_order_dir",
    "o",
    "ord",
    "order",
    "order_by",
    "order_dir",
    "orderby",
    "orderdir",
    "ordering",
    "sd",
    "sk",
    "sort",
    "sort_by",
    "sort_dir",
    "sort_direction",
    "sort_field",
    "sort_key",
    "sort_order",
    "sortby",
    "sortcol",
    "sortcolumn",
    "sortdir",
    "sortdirection",
    "sortfield",
    "sortkey",
    "sortmethod",
    "sortorder",
];
/// Names of the place in a list that is split over pages.
const PAGE: [&str; 28] = [
    "cpage",
    "cursor",
    "first",
    "from",
    "limitstart",
    "offset",
    "ofs",
    "p",
    "page",
    "page_index",
    "page_no",
    "page_num",
    "page_number",
    "paged",
    "pageindex",
    "pageno",
    "pagenr",
    "pagenum",
    "pagenumber",
    "pg",
    "pn",
    "skip",
    "st",
    "start",
    "start_at",
    "start_index",
    "startat",
    "startindex",
];

/// Names of how much of a list is on a page.
const LENGTH: [&str; 25] = [
    "cnt",
    "count",
    "entries",
    "hits",
    "items",
    "items_per_page",
    "length",
    "limit",
    "max_results",
    "maxresults",
    "numresults",
    "page_size",
    "pagelen",
    "pagesize",
    "per_page",
    "perpage",
    "ppp",
    "results",
    "results_per_page",
    "resultsperpage",
    "revcount",
    "rows",
    "rpp",
    "size",
    "tpp",
];

/// Names of the version of a page, of a file or of a repository.
const VERSION_OF_PAGE: [&str; 20] = [
    "branch",
    "changeset",
    "checkin",
    "ci",
    "commit",
    "diff",
    "oldid",
    "oldrev",
    "pathrev",
    "peg",
    "r1",
    "r2",
    "rev",
    "rev1",
    "rev2",
    "revid",
    "revision",
    "sha",
    "sha1",
    "version",
];

/// Names of what the program of a page is to do.
const ACTION: [&str; 12] =
    ["act", "action", "cmd", "command", "do", "func", "function", "method", "mode", "op", "operation", "task"];

/// Kind that a name indicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Session,
    Tracking,
    Order,
    Page,
    Length,
    Version,
}

/// True for a parameter whose name is that of the order, the place or the length of a list: it makes no difference
/// where the list is short, and says nothing of long ones.
pub(in crate::site) fn is_of_lists(key: &Key) -> bool {
    let (Key::Query(name) | Key::Param(name)) = key else { return false };
    matches!(meaning(name), Some(Meaning::Order | Meaning::Page | Meaning::Length))
}

/// True for a parameter [of lists](is_of_lists), or of versions: the page is the same where it did not change, which
/// says nothing of others.
pub(in crate::site) fn is_of_lists_or_versions(key: &Key) -> bool {
    let is_version =
        |key: &Key| matches!(key, Key::Query(name) | Key::Param(name) if meaning(name) == Some(Meaning::Version));
    is_of_lists(key) || is_version(key)
}

/// Values that switch something on or off, in lower case. Numbers are not among them: `0` and `1` may be one page.
const FLAGS: [&str; 10] = ["f", "false", "n", "no", "off", "on", "t", "true", "y", "yes"];

/// True for a value that switches something on or off.
pub(in crate::site) fn is_flag(value: &[u8]) -> bool {
    FLAGS.iter().any(|flag| value.eq_ignore_ascii_case(flag.as_bytes()))
}

/// True for a value that names a language or a country, or one with the other (`en`, `pt-br`, `zh_CN`, `sr-Latn`): two
/// letters, alone or before two or four.
pub(in crate::site) fn is_locale(value: &[u8]) -> bool {
    let (first, second) = value.split_at_checked(2).unwrap_or_default();
    let second = match second {
        [] => true,
        [b'-' | b'_', rest @ ..] => matches!(rest.len(), 2 | 4) && rest.iter().all(u8::is_ascii_alphabetic),
        _ => false,
    };
    !first.is_empty() && first.iter().all(u8::is_ascii_lowercase) && second
}

/// True for a parameter whose name is that of the place in a list.
pub(in crate::site) fn is_place(key: &Key) -> bool {
    matches!(key, Key::Query(name) | Key::Param(name) if meaning(name) == Some(Meaning::Page))
}

/// True for a parameter whose name is that of the length of a list.
pub(in crate::site) fn is_length(key: &Key) -> bool {
    matches!(key, Key::Query(name) | Key::Param(name) if meaning(name) == Some(Meaning::Length))
}

/// True for a parameter whose name is that of what the program does: each value may be a page of its own.
pub(in crate::site) fn is_action(key: &Key) -> bool {
    matches!(key, Key::Query(name) | Key::Param(name) if ACTION.contains(&plain(name).as_str()))
}

/// True for a parameter whose name indicates its kind.
pub(in crate::site) fn has_meaning(key: &Key) -> bool {
    matches!(key, Key::Query(name) | Key::Param(name) if meaning(name).is_some())
}

/// Kind that the name of a query key or path parameter indicates; `None` for most.
pub(super) fn meaning(name: &str) -> Option<Meaning> {
    let name = plain(name);
    match () {
        () if is_session(&name) => Some(Meaning::Session),
        () if is_tracking(&name) => Some(Meaning::Tracking),
        () if ORDER.contains(&name.as_str()) || is_order_of(&name) => Some(Meaning::Order),
        () if PAGE.contains(&name.as_str()) => Some(Meaning::Page),
        () if LENGTH.contains(&name.as_str()) || is_behind(&name, &["per_page", "perpage"]) => Some(Meaning::Length),
        () if VERSION_OF_PAGE.contains(&name.as_str()) => Some(Meaning::Version),
        () => None,
    }
}

/// True for the name of the order of lists of one kind (`image_order`).
fn is_order_of(name: &str) -> bool {
    is_behind(name, &["order", "order_by", "orderby", "sort", "sort_by", "sortby"])
}

/// True for a name of several words of which these are the last.
fn is_behind(name: &str, words: &[&str]) -> bool {
    words.iter().any(|words| name.strip_suffix(words).is_some_and(|front| front.ends_with(['_', '-'])))
}

/// A name without what sets it off from other names and from its value, in small letters.
fn plain(name: &str) -> String {
    let name = name.strip_prefix("<list>,").unwrap_or(name);
    name.trim_start_matches([';', '/']).trim_end_matches(['=', '-', '_']).to_ascii_lowercase()
}

/// True for the name of a format of feeds, with a version or without; also as an extension.
pub fn is_format(value: &[u8]) -> bool {
    let value = value.strip_prefix(b".").unwrap_or(value);
    let is_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let end = value.iter().rposition(|byte| !is_version(byte)).map_or(0, |at| at + 1);
    let is_same = |format: &&str| value[..end].eq_ignore_ascii_case(format.as_bytes());
    value.len() - end <= VERSION && FORMATS.iter().any(is_same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::tracking::SESSIONS;

    #[test]
    fn lists_are_sorted_and_sessions_are_of_the_tracking_catalogue() {
        for list in [&SESSIONS[..], &ORDER, &PAGE, &LENGTH, &VERSION_OF_PAGE] {
            assert!(list.is_sorted_by(|a, b| a < b), "{list:?}");
        }
        assert!(SESSIONS.iter().all(|name| is_tracking(name)));
        let others = || ORDER.iter().chain(&PAGE).chain(&LENGTH).chain(&VERSION_OF_PAGE);
        assert!(others().all(|name| !is_tracking(name)));
    }

    #[test]
    fn names_are_read_without_what_stands_around_them() {
        let of = |name| meaning(name);
        assert_eq!((of("PHPSESSID="), of(";jsessionid=")), (Some(Meaning::Session), Some(Meaning::Session)));
        assert_eq!((of("utm_source="), of("ASPSESSIONIDQQ=")), (Some(Meaning::Tracking), Some(Meaning::Session)));
        assert_eq!((of("sort="), of("/start-"), of("topic=")), (Some(Meaning::Order), Some(Meaning::Page), None));
        assert_eq!((of("rev="), of("ver=")), (Some(Meaning::Version), None));
        let asks_more = |name: &str| is_of_lists_or_versions(&Key::Query(name.to_owned()));
        assert!(["sort=", "rev=", "peg=", "image_order=", "posts_per_page="].into_iter().all(asks_more));
        assert!(!["topic=", "sid=", "border=", "order_id=", "perpage_of="].into_iter().any(asks_more));
        let is_action = |name: &str| is_action(&Key::Query(name.to_owned()));
        assert_eq!(["action=", "Do=", "page="].map(is_action), [true, true, false]);
        let is_length = |name: &str| is_length(&Key::Query(name.to_owned()));
        assert_eq!(["limit=", "posts_per_page=", "sort="].map(is_length), [true, true, false]);
        for locale in ["en", "pt-br", "zh_CN", "sr-Latn"] {
            assert!(is_locale(locale.as_bytes()), "{locale}");
        }
        for other in ["", "e", "eng", "7d", "EN", "en-", "en-gb-x", "en-12", "to be"] {
            assert!(!is_locale(other.as_bytes()), "{other}");
        }
        assert_eq!(
            ["y", "No", "TRUE", "0", "", "only"].map(|value| is_flag(value.as_bytes())),
            [true, true, true, false, false, false]
        );
    }
}
