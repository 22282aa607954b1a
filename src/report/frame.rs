//! Common parts of all pages: head, stylesheet, policy, and pairs of URLs. A page needs no network and
//! runs no script; its policy allows neither. It follows the light or dark mode of the reader's system.

use super::escape::html as escaped;
use super::text::brief;
use std::fmt::Write as _;

/// A page with this title up to its body.
pub(super) fn begin(title: &str) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\
         <meta name=viewport content=\"width=device-width,initial-scale=1\"><meta name=color-scheme content=\"light dark\">\
         <meta name=referrer content=no-referrer><title>",
    );
    let _ = write!(out, "{}</title><style>{}</style></head><body>", escaped(title), include_str!("style.css"));
    out
}

/// The end of a page that `command` makes.
pub(super) fn end(out: &mut String, command: &str) {
    let _ = writeln!(
        out,
        "</main><footer>Made by <code>{}</code>. URLs are shown as text of the records, never as links.</footer></body></html>",
        escaped(command)
    );
}

/// A list of pairs of URLs, or of single ones where the second is empty, with a word between; as
/// [`brief`] shows them.
pub(super) fn pairs<'a>(out: &mut String, pairs: impl Iterator<Item = (&'a str, &'a str)>, between: &str) {
    out.push_str("<ul class=pairs>");
    for (a, b) in pairs {
        let _ = write!(out, "<li><span class=url>{}</span>", escaped(&brief(a)));
        if a == b && !b.is_empty() {
            out.push_str(" <span class=to>(as it is)</span>");
        } else if !b.is_empty() {
            let _ = write!(out, " <span class=to>{between}</span> <span class=url>{}</span>", escaped(&brief(b)));
        }
        out.push_str("</li>");
    }
    out.push_str("</ul>");
}
