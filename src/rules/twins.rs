//! Twins of URLs: what a mirror rule makes of a URL, on the text that the other rules compose.
//!
//! The rule names where a URL starts, its *front*, and the directory that takes the front's place. A
//! front is
//! - a directory, `http://a.example/old`: what follows, from the next `/` on, is kept; or
//! - a parameter that holds the rest of a path, `http://a.example/wiki.php?title=`: the value becomes
//!   the rest of the path, whatever its depth, and the other parameters stay. Between `?` and the value
//!   the front has the name with its `=`, or nothing (`wiki.php?`), and then a `/` where the values start
//!   with one.
//!
//! A value stays a parameter where a path would not say the same: where it is empty, has an empty
//! segment but the last, `.` or `..`, one of `;`, `+` and `?`, or the escape of a delimiter.

/// Escapes that a path and a query do not read alike, as far as servers are known.
const DELIMITERS: [&[u8; 2]; 8] = [b"23", b"25", b"26", b"2B", b"2E", b"2F", b"3B", b"3F"];

/// A URL below a front: the rest of its path, and what follows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below<'u> {
    /// Begins with a `/`, or is empty; as the value of a parameter it has no `/` before it.
    rest: &'u [u8],
    is_value: bool,
    /// The parameters before and behind that one.
    others: [Option<&'u [u8]>; 2],
    fragment: &'u [u8],
}

/// True for a front that is a parameter of a script.
pub fn is_parameter(front: &[u8]) -> bool {
    memchr::memchr(b'?', front).is_some()
}

/// The parts of a URL below a front; `None` where the front is not that of the URL.
pub fn below<'u>(url: &'u [u8], front: &[u8]) -> Option<Below<'u>> {
    let Some(script) = memchr::memchr(b'?', front) else {
        let rest = url.strip_prefix(front)?;
        let is_below = rest.is_empty() || rest.starts_with(b"/");
        return is_below.then_some(Below { rest, is_value: false, others: [None; 2], fragment: b"" });
    };
    let query = url.strip_prefix(&front[..=script])?;
    let (query, fragment) = query.split_at(memchr::memchr(b'#', query).unwrap_or(query.len()));
    let prefix = &front[script + 1..];
    let mut found = parameters(query).filter(|&(from, to)| query[from..to].starts_with(prefix));
    let (from, to) = found.next().filter(|_| found.next().is_none())?;
    let rest = &query[from + prefix.len()..to];
    let others = [from.checked_sub(1).map(|end| &query[..end]), query.get(to + 1..)];
    is_path(rest).then_some(Below { rest, is_value: true, others, fragment })
}

impl<'u> Below<'u> {
    /// The first name of the rest: of a file or directory; empty without one.
    pub fn name(&self) -> &'u [u8] {
        let rest = self.rest.strip_prefix(b"/").unwrap_or(self.rest);
        &rest[..rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len())]
    }

    /// Writes the URL of this rest in a directory.
    pub fn write(&self, directory: &[u8], out: &mut Vec<u8>) {
        let Below { rest, is_value, others, fragment } = *self;
        out.clear();
        out.extend_from_slice(directory);
        out.extend_from_slice(if is_value { b"/" } else { b"" });
        out.extend_from_slice(rest);
        for (at, parameters) in others.into_iter().flatten().enumerate() {
            out.push(if at == 0 { b'?' } else { b'&' });
            out.extend_from_slice(parameters);
        }
        out.extend_from_slice(fragment);
    }
}

/// Start and end of each parameter of a query.
fn parameters(query: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut from = 0;
    query.split(|&byte| byte == b'&').map(move |parameter| {
        let range = (from, from + parameter.len());
        from = range.1 + 1;
        range
    })
}

/// True for a value that is as well the rest of a path.
pub fn is_path(value: &[u8]) -> bool {
    let segments = value.split(|&byte| byte == b'/').count();
    let is_segment = |(at, segment): (usize, &[u8])| match segment {
        b"" => at > 0 && at + 1 == segments,
        b"." | b".." => false,
        _ => true,
    };
    let escapes = |at: usize| value.get(at + 1..at + 3).is_some_and(|of| DELIMITERS.iter().any(|d| of == *d));
    value.split(|&byte| byte == b'/').enumerate().all(is_segment)
        && !value.iter().any(|byte| b";+?".contains(byte))
        && !memchr::memchr_iter(b'%', value).any(escapes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twin(url: &str, front: &str) -> Option<String> {
        let mut out = Vec::new();
        below(url.as_bytes(), front.as_bytes())?.write(b"http://a/w", &mut out);
        Some(String::from_utf8(out).expect("ASCII"))
    }

    #[test]
    fn a_directory_takes_what_follows_it_along() {
        for (rest, to) in [
            ("", Some("http://a/w")),
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
            ("t=x/", Some("http://a/w/x/")),
            ("t=x%20y=z:%C3%A4", Some("http://a/w/x%20y=z:%C3%A4")),
            ("a=b&t=x/y", Some("http://a/w/x/y?a=b")),
            ("t=x/y&a=b&c", Some("http://a/w/x/y?a=b&c")),
            ("a=b&t=x/y&c=d#f", Some("http://a/w/x/y?a=b&c=d#f")),
            ("t=x#f", Some("http://a/w/x#f")),
            ("&t=x&", Some("http://a/w/x?&")),
            ("t=", None),
            ("t", None),
            ("T=x", None),
            ("at=x", None),
            ("t=x&t=y", None),
            ("t=/x", None),
            ("t=x//y", None),
            ("t=x/../y", None),
            ("t=./x", None),
            ("t=x+y", None),
            ("t=x;y", None),
            ("t=x?y", None),
            ("t=x%2Fy", None),
            ("t=x%2E%2E", None),
            ("", None),
        ] {
            assert_eq!(twin(&format!("http://a/i.php?{query}"), front).as_deref(), to, "{query}");
        }
        for url in ["http://a/i.php", "http://a/i.php/x?t=x", "http://a/j.php?t=x", "http://a/i.php#?t=x"] {
            assert_eq!(twin(url, front), None, "{url}");
        }
    }

    #[test]
    fn values_that_start_with_a_slash_have_a_front_of_their_own() {
        for (front, query, to) in [
            ("http://a/?q=/", "q=/x/y", Some("http://a/w/x/y")),
            ("http://a/?q=/", "q=x/y", None),
            ("http://a/?q=/", "q=//x", None),
            ("http://a/?/", "/x/y=z&a=b", Some("http://a/w/x/y=z?a=b")),
            ("http://a/?/", "/x&/y", None),
            ("http://a/?", "x/y", Some("http://a/w/x/y")),
            ("http://a/?", "x/y&a=b", None),
        ] {
            assert_eq!(twin(&format!("http://a/?{query}"), front).as_deref(), to, "{query}");
        }
    }
}
