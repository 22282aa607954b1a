//! Ends of the values of parameters: `/edit` of `?page=Home/edit`, `:law` of `?id=wiki:law`. On some sites a value
//! names a page and how it is shown, or a group of pages and one of them.

use crate::model::hash64;
use serde::{Deserialize, Serialize};

/// The parameters whose values have ends on a site, by the hash of the name and the delimiter: a few, so that they are
/// compared in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueEnds([(u64, u8); ValueEnds::MOST]);

impl ValueEnds {
    /// No ends.
    pub const NONE: ValueEnds = ValueEnds([(0, 0); ValueEnds::MOST]);
    /// Parameters of a site whose values have ends: those beyond have none. A bound of work.
    pub const MOST: usize = 4;
    /// What an end may begin with.
    pub const DELIMITERS: [u8; 3] = *b"/:.";

    /// The ends of these parameters, each with its `=` and a delimiter: `page=/`. Others have none.
    pub fn new(ends: &[String]) -> ValueEnds {
        let mut of = ValueEnds::NONE;
        let valid = ValueEnds::valid(ends).into_iter().filter_map(parts);
        of.0.iter_mut().zip(valid).for_each(|(place, (name, delimiter))| *place = (hash64(name), delimiter));
        of
    }

    /// Of these the ones that are ends of the values of a parameter: the first of each, at most [`MOST`](Self::MOST).
    pub fn valid(ends: &[String]) -> Vec<&str> {
        let mut valid: Vec<&str> = Vec::new();
        for end in ends {
            let Some((name, _)) = parts(end) else { continue };
            let is_new = valid.iter().all(|of| parts(of).is_none_or(|of| of.0 != name));
            if is_new && valid.len() < ValueEnds::MOST {
                valid.push(end);
            }
        }
        valid
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.0[0].1 == 0
    }

    /// True for the name of such a parameter.
    pub fn has(&self, name: &[u8]) -> bool {
        let name = hash64(name);
        self.0.iter().any(|of| of.0 == name && of.1 != 0)
    }

    /// Where the end of the value of a parameter starts.
    pub(super) fn start(&self, name: &[u8], value: &[u8]) -> Option<usize> {
        let name = hash64(name);
        let &(_, delimiter) = self.0.iter().find(|of| of.0 == name && of.1 != 0)?;
        start_of_end(value, delimiter)
    }
}

/// Name and delimiter, where this is the end of the values of a parameter.
fn parts(end: &str) -> Option<(&[u8], u8)> {
    let (&delimiter, name) = end.as_bytes().split_last()?;
    (ValueEnds::DELIMITERS.contains(&delimiter) && name.ends_with(b"=")).then_some((name, delimiter))
}

/// Where the end of a value starts: at the delimiter, or its escape, where there is one alone, with something before
/// and behind it. A value of more parts is whole: without its end it would have another one. `None` also for the joined
/// values of a name that comes more than once.
pub fn start_of_end(value: &[u8], delimiter: u8) -> Option<usize> {
    let escape: &[u8] = match delimiter {
        b'/' => b"%2F",
        b':' => b"%3A",
        _ => &[],
    };
    let plain = memchr::memchr_iter(delimiter, value).map(|at| (at, 1));
    let escaped = memchr::memmem::find_iter(value, escape).filter(|_| !escape.is_empty()).map(|at| (at, 3));
    let mut places = plain.chain(escaped);
    let (at, length) = places.next()?;
    let is_end = at > 0 && at + length < value.len() && memchr::memchr(b'&', value).is_none();
    (is_end && places.next().is_none()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_behind_the_only_delimiter() {
        for (value, delimiter, end) in [
            ("Home/edit", b'/', Some("/edit")),
            ("a/b/c", b'/', None),
            ("a/b%2Fc", b'/', None),
            ("a%2Fb/c", b'/', None),
            ("a%2Fb", b'/', Some("%2Fb")),
            ("Home", b'/', None),
            ("/edit", b'/', None),
            ("Home/", b'/', None),
            ("a/b/", b'/', None),
            ("a%2F", b'/', None),
            ("//b", b'/', None),
            ("wiki:law", b':', Some(":law")),
            ("wiki%3Alaw", b':', Some("%3Alaw")),
            ("12.msg4", b'.', Some(".msg4")),
            ("a/b&page=c/d", b'/', None),
            ("", b'/', None),
        ] {
            let found = start_of_end(value.as_bytes(), delimiter).map(|at| &value[at..]);
            assert_eq!(found, end, "{value}");
        }
    }

    #[test]
    fn parameters_without_a_name_or_a_delimiter_have_no_ends() {
        let ends = |of: &[&str]| ValueEnds::new(&of.iter().map(|&end| end.to_owned()).collect::<Vec<_>>());
        assert!(ends(&[]).is_empty() && ends(&["page", "page/", "page=", "page=-", ""]).is_empty());
        assert_eq!(ends(&["page=/"]).start(b"page=", b"a/b"), Some(1));
        assert_eq!(ends(&["page=/"]).start(b"pages=", b"a/b"), None);
        assert_eq!(ends(&["page=.", "page=/"]).start(b"page=", b"a/b"), None);
        assert_eq!(ends(&["a=/", "b=/", "c=/", "d=/", "page=/"]).start(b"page=", b"a/b"), None);
    }
}
