//! Twins of URLs: what a mirror rule makes of a URL, on the text that the other rules compose.
//!
//! The rule names where a URL starts, its *front*, and the directory that takes the front's place. A
//! front is
//! - a directory, `http://a.example/old`: what follows, from the next `/` on, is kept; the URL of the front
//!   itself is not below it, since a directory has a page of its own, whatever it shares with others; or
//! - a parameter that holds the rest of a path, `http://a.example/wiki.php?title=`: the value becomes
//!   the rest of the path, whatever its depth. Between `?` and the value the front has the name with its
//!   `=`, or nothing (`wiki.php?`) for parameters that have no `=`, and then a `/` where the values start
//!   with one; or
//! - such a parameter with others behind it, of these names, `http://a.example/?q=&page=&sort=`: they become
//!   the query of the path. The first kind moves a parameter alone, this one never, and with no other name:
//!   with another parameter beside it the script may show what no path does.
//!
//! A parameter stays where a path would not say the same: where it is empty, has an empty segment, `.` or
//! `..`, or `~` at the start, which would make it a tenant's; holds `;`, `+`, `?`, a `%` without two digits
//! behind it, or the escape of a delimiter or of a control character; or where `;` or `?` is in the others,
//! which some sites take for more of them.

/// Escapes that a path and a query do not read alike, as far as servers are known.
const DELIMITERS: [&[u8; 2]; 12] = [b"00", b"0A", b"0D", b"23", b"25", b"26", b"2B", b"2E", b"2F", b"3B", b"3F", b"5C"];

/// A URL below a front: the rest of its path, and what follows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below<'u> {
    /// Begins with a `/`; as the value of a parameter it has no `/` before it.
    rest: &'u [u8],
    is_value: bool,
    /// Parameters behind that of the front.
    query: &'u [u8],
    fragment: &'u [u8],
}

/// True for a front that is a parameter of a script.
pub fn is_parameter(front: &[u8]) -> bool {
    memchr::memchr(b'?', front).is_some()
}

/// The parts of a URL below a front; `None` where the front is not that of the URL.
pub fn below<'u>(url: &'u [u8], front: &[u8]) -> Option<Below<'u>> {
    if !is_parameter(front) {
        let rest = url.strip_prefix(front)?;
        let is_below = rest.starts_with(b"/");
        return is_below.then_some(Below { rest, is_value: false, query: b"", fragment: b"" });
    }
    let (start, names) = at_first_ampersand(front);
    let rest = url.strip_prefix(start)?;
    let (rest, fragment) = rest.split_at(memchr::memchr(b'#', rest).unwrap_or(rest.len()));
    let (rest, query) = if names.is_some() { at_first_ampersand(rest) } else { (rest, None) };
    let is_named = !start.ends_with(b"?") || memchr::memchr(b'=', rest).is_none();
    let are_others = match (names, query) {
        (None, None) => true,
        (Some(names), Some(query)) => {
            others(query).all(|of| of.is_some_and(|of| at_ampersands(names).any(|name| name == of)))
        }
        _ => false,
    };
    let query = query.unwrap_or_default();
    (is_named && is_path(rest) && are_others).then_some(Below { rest, is_value: true, query, fragment })
}

/// The front of a URL with other parameters behind that which a front starts with: with their names, in the order of
/// bytes. `None` where nothing is behind it, or what no front may name.
pub fn with_others(url: &[u8], start: &[u8]) -> Option<Vec<u8>> {
    let rest = url.strip_prefix(start)?;
    let (_, query) = at_first_ampersand(&rest[..memchr::memchr(b'#', rest).unwrap_or(rest.len())]);
    let mut names = others(query?).collect::<Option<Vec<&[u8]>>>()?;
    names.sort_unstable();
    names.dedup();
    Some([start, &names.join(&b'&')].join(&b'&'))
}

/// The names that a front lists.
pub fn names(front: &[u8]) -> impl Iterator<Item = &[u8]> {
    at_first_ampersand(front).1.into_iter().flat_map(at_ampersands)
}

/// What stands before the first `&`, and behind it.
fn at_first_ampersand(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    memchr::memchr(b'&', text).map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])))
}

/// What stands between each `&` and the next one.
fn at_ampersands(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'&')
}

/// The name of each parameter, with its `=`; `None` for one that may be several, or has neither name nor value.
fn others(query: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let is_one = |of: &&[u8]| !of.is_empty() && memchr::memchr2(b';', b'?', of).is_none();
    let name = |of| &of[..memchr::memchr(b'=', of).map_or(of.len(), |at| at + 1)];
    at_ampersands(query).map(move |of| Some(of).filter(is_one).map(name))
}

/// Path, query and fragment of a URL. Rules that change the origin alone hold for the twin of a value as for any path.
pub fn behind_origin(url: &[u8]) -> &[u8] {
    let start = memchr::memmem::find(url, b"://").map_or(0, |at| at + 3);
    memchr::memchr(b'/', &url[start..]).map_or(&[], |at| &url[start + at..])
}

impl<'u> Below<'u> {
    /// The first name of the rest, of a file or directory; without one all of it, `?id=3` of `/index.php/?id=3`.
    pub fn name(&self) -> &'u [u8] {
        let rest = self.rest.strip_prefix(b"/").unwrap_or(self.rest);
        match rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len()) {
            0 => rest,
            end => &rest[..end],
        }
    }

    /// Writes the URL of this rest in a directory.
    pub fn write(&self, directory: &[u8], out: &mut Vec<u8>) {
        let Below { rest, is_value, query, fragment } = *self;
        out.clear();
        out.extend_from_slice(directory);
        out.extend_from_slice(if is_value { b"/" } else { b"" });
        out.extend_from_slice(rest);
        out.extend_from_slice(if query.is_empty() { b"" } else { b"?" });
        out.extend_from_slice(query);
        out.extend_from_slice(fragment);
    }
}

/// True for a value that is as well the rest of a path.
pub fn is_path(value: &[u8]) -> bool {
    let is_segment = |segment: &[u8]| !matches!(segment, b"" | b"." | b"..");
    let is_escape = |at: usize| {
        let digits = value.get(at + 1..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        digits.is_some_and(|digits| !DELIMITERS.iter().any(|of| digits.eq_ignore_ascii_case(*of)))
    };
    value.split(|&byte| byte == b'/').all(is_segment)
        && !value.starts_with(b"~")
        && !value.iter().any(|byte| b"&;+?".contains(byte))
        && memchr::memchr_iter(b'%', value).all(is_escape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twin(url: &str, front: &str) -> Option<String> {
        let mut out = Vec::new();
        below(url.as_bytes(), front.as_bytes())?.write(b"http://a/w", &mut out);
        Some(String::from_utf8(out).expect("ASCII"))
    }

    /// Fronts and URLs of a script, both without it and its `?`, and their twins.
    fn assert_twins(script: &str, cases: &[(&str, &str, Option<&str>)]) {
        for (front, query, to) in cases {
            let (url, front) = (format!("{script}?{query}"), format!("{script}?{front}"));
            assert_eq!(twin(&url, &front).as_deref(), *to, "{front} {query}");
        }
    }

    #[test]
    fn a_directory_takes_what_follows_it_along() {
        for (rest, to) in [
            ("", None),
            ("/", Some("http://a/w/")),
            ("/x/y?a=b&c#d", Some("http://a/w/x/y?a=b&c#d")),
            ("x", None),
            ("?a=b", None),
        ] {
            assert_eq!(twin(&format!("http://a/v{rest}"), "http://a/v").as_deref(), to, "{rest}");
        }
    }

    #[test]
    fn a_parameter_becomes_the_rest_of_the_path() {
        let front = "http://a/i.php?t=";
        for (query, to) in [
            ("t=x", Some("http://a/w/x")),
            ("t=x/y/z", Some("http://a/w/x/y/z")),
            ("t=x%20y=z:%C3%A4", Some("http://a/w/x%20y=z:%C3%A4")),
            ("t=x#f", Some("http://a/w/x#f")),
            ("a=b&t=x/y", None),
            ("t=x/y&a=b", None),
            ("&t=x", None),
            ("t=x&", None),
            ("t=x&t=y", None),
            ("t=", None),
            ("t", None),
            ("T=x", None),
            ("at=x", None),
            ("t=/x", None),
            ("t=x/", None),
            ("t=x//y", None),
            ("t=x/../y", None),
            ("t=./x", None),
            ("t=~x/y", None),
            ("t=x+y", None),
            ("t=x;y", None),
            ("t=x?y", None),
            ("t=x%2Fy", None),
            ("t=x%2fy", None),
            ("t=x%2E%2E", None),
            ("t=100%", None),
            ("t=x%2", None),
            ("t=x%zzy", None),
            ("t=x%u00e4", None),
            ("t=x%00", None),
            ("", None),
        ] {
            assert_eq!(twin(&format!("http://a/i.php?{query}"), front).as_deref(), to, "{query}");
        }
        for url in ["http://a/i.php", "http://a/i.php/x?t=x", "http://a/j.php?t=x", "http://a/i.php#?t=x"] {
            assert_eq!(twin(url, front), None, "{url}");
        }
    }

    #[test]
    fn other_parameters_become_the_query_of_the_path() {
        assert_twins(
            "http://a/i.php",
            &[
                ("t=&a=", "t=x/y&a=b", Some("http://a/w/x/y?a=b")),
                ("t=&a&b=", "t=x/y&b=b&a#d", Some("http://a/w/x/y?b=b&a#d")),
                ("t=/&a=", "t=/x&a=b", Some("http://a/w/x?a=b")),
                ("&a=", "x/y&a=b", Some("http://a/w/x/y?a=b")),
                // Other names stay, that of the front among them.
                ("t=&a=", "t=x/y&c=b", None),
                ("t=&a=", "t=x/y&a", None),
                ("t=&a=", "t=x/y&a=b&c=d", None),
                ("t=&a=", "t=x&a=b&t=y", None),
                ("t=&a=", "t=x&a=b&t[]=y", None),
                ("t=&", "t=x/y&a=b", None),
                ("t=&", "t=x/y&", None),
                ("t=&a=", "t=x/y", None),
                ("t=&a=", "t=x/y&", None),
                ("t=&a=", "t=x/y&&a=b", None),
                ("t=&a=", "t=x/y#a&a=b", None),
                ("t=&a=", "t=&a=b", None),
                ("t=&a=", "a=b&t=x", None),
                ("t=&a=", "t=x//y&a=b", None),
                ("t=&a=", "t=x&a=b;t=y", None),
                ("t=&a=", "t=x&a=b?t=y", None),
                ("&a=", "x=y&a=b", None),
            ],
        );
        for (query, front) in [
            ("t=x&b=1&a=2&b=3#c&d", Some("t=&a=&b=")),
            ("t=x&b", Some("t=&b")),
            ("t=x", None),
            ("t=x&", None),
            ("t=x&a=1;b=2", None),
            ("s=x&a=1", None),
        ] {
            let found = with_others(format!("http://a/?{query}").as_bytes(), b"http://a/?t=");
            assert_eq!(found, front.map(|front| format!("http://a/?{front}").into_bytes()), "{query}");
        }
        assert_eq!(names(b"http://a/?t=&a=&b").collect::<Vec<_>>(), [&b"a="[..], b"b"]);
    }

    #[test]
    fn values_that_start_with_a_slash_have_a_front_of_their_own() {
        assert_twins(
            "http://a/",
            &[
                ("q=/", "q=/x/y", Some("http://a/w/x/y")),
                ("q=/", "q=x/y", None),
                ("q=/", "q=//x", None),
                ("/", "/x/y=z", Some("http://a/w/x/y=z")),
                ("/", "/x&/y", None),
                ("", "x/y", Some("http://a/w/x/y")),
                ("", "x/y&a", None),
                ("", "id=x", None),
            ],
        );
    }
}
