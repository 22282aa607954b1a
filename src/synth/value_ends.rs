//! Page types with more behind a mark within a value: `tiki.php?page=17/view`, `wiki.php?n=17?skin=print`.

use super::shapes::{Shape, half, is_at, joined, view};

/// The end says how the page is shown.
pub(super) const VALUE_ENDS: Shape = Shape {
    name: "value-ends",
    forms: 3,
    write: |page, url| {
        url.seg("tiki.php");
        joined(url, "page", page.entity, [&b""[..], b"/view", b"/print"][page.form as usize]);
    },
    key: |url| url.get("page")?.split('/').next()?.parse().ok().filter(|_| is_at(url, "tiki.php")),
    rule: "view and print behind a page do not matter",
};

/// The end is another page.
pub(super) const VALUE_ENDS_MATTER: Shape = Shape {
    name: "value-ends-matter",
    forms: 2,
    write: |page, url| {
        url.seg("entry.php");
        view(page, url);
        joined(url, "page", page.entity / 2, if page.entity.is_multiple_of(2) { b"" } else { b"/talk" });
    },
    key: |url| half(url.get("page").filter(|_| is_at(url, "entry.php"))?, '/'),
    rule: "talk behind a page is another page, view does not matter",
};

/// Another query behind the value.
pub(super) const NESTED_QUERIES: Shape = Shape {
    name: "nested-queries",
    forms: 3,
    write: |page, url| {
        url.seg("wiki.php");
        joined(url, "n", page.entity, [&b""[..], b"?skin=print", b"?action=browse"][page.form as usize]);
    },
    key: |url| url.get("n")?.split('?').next()?.parse().ok().filter(|_| is_at(url, "wiki.php")),
    rule: "skin and action behind a second ? do not matter",
};

/// A `?` that is part of the value.
pub(super) const NESTED_QUERIES_MATTER: Shape = Shape {
    name: "nested-queries-matter",
    forms: 2,
    write: |page, url| {
        url.seg("search.php");
        view(page, url);
        joined(url, "q", page.entity / 2, if page.entity.is_multiple_of(2) { b"" } else { b"?exact=1" });
    },
    key: |url| half(url.get("q").filter(|_| is_at(url, "search.php"))?, '?'),
    rule: "? is part of a value, view does not matter",
};
