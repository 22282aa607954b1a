//! A URL as key-value pairs (WWW10 section 2, Figure 2), in the published notation.
//!
//! | key | value |
//! |---|---|
//! | `scheme` | `http` or `https` |
//! | `auth_0`, `auth_1`, ... | labels of the authority, cut at `.`, counted from the left as the figure does; user information and port stay in the label they touch |
//! | `path_0`, `path_1`, ... | segments of the path; the path `/` is one empty segment |
//! | `q:name=` | value of a query key; `q:name` is the key without `=`, its value is empty |
//! | `q:name=#2`, `#3`, ... | value of the second, third, ... occurrence of a query key |
//! | `?` | there is a query and it is empty |
//! | `fragment` | what follows `#` |
//!
//! The order of query keys is not in this view: [`compose`] writes them by name, repeats in their
//! order. Everything else goes back to the same bytes.

use memchr::memchr;
use std::collections::HashMap;
use std::fmt;

/// Indices and numbers of keys read from text are below this, so that no rule file causes tables larger
/// than a URL can fill.
const MAX_INDEX: u32 = 1 << 16;

/// Position of a key in a URL. The order is that of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyPosition {
    /// The scheme.
    Scheme,
    /// A label of the authority, from the left.
    Auth(u32),
    /// A segment of the path.
    Path(u32),
    /// A query that is there and empty.
    EmptyQuery,
    /// A query key.
    Query,
    /// The fragment.
    Fragment,
}

/// A key of the published view. Keys sort in the order in which a URL is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublishedKey {
    /// Its position.
    pub place: KeyPosition,
    /// Name of a query key with its `=` where it has one; empty for all others.
    pub name: String,
    /// Which occurrence of a query key, from 1; 1 for all others.
    pub number: u32,
}

impl fmt::Display for PublishedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            KeyPosition::Scheme => f.write_str("scheme"),
            KeyPosition::Auth(i) => write!(f, "auth_{i}"),
            KeyPosition::Path(i) => write!(f, "path_{i}"),
            KeyPosition::EmptyQuery => f.write_str("?"),
            KeyPosition::Query if self.number == 1 => write!(f, "q:{}", self.name),
            KeyPosition::Query => write!(f, "q:{}#{}", self.name, self.number),
            KeyPosition::Fragment => f.write_str("fragment"),
        }
    }
}

impl PublishedKey {
    fn fixed(place: KeyPosition) -> PublishedKey {
        PublishedKey { place, name: String::new(), number: 1 }
    }

    /// Reads the notation; `None` where it is not a key of this view.
    pub fn parse(text: &str) -> Option<PublishedKey> {
        if let Some(query) = text.strip_prefix("q:") {
            // `#` ends a query, so it cannot be part of a name.
            let (name, number) = match query.split_once('#') {
                Some((name, number)) => (name, number.parse().ok().filter(|&n| n > 1 && n < MAX_INDEX)?),
                None => (query, 1),
            };
            return Some(PublishedKey { place: KeyPosition::Query, name: name.to_owned(), number });
        }
        let index = |prefix| text.strip_prefix(prefix)?.parse().ok().filter(|&i| i < MAX_INDEX);
        let place = match text {
            "scheme" => KeyPosition::Scheme,
            "?" => KeyPosition::EmptyQuery,
            "fragment" => KeyPosition::Fragment,
            _ => index("auth_").map(KeyPosition::Auth).or_else(|| index("path_").map(KeyPosition::Path))?,
        };
        Some(PublishedKey::fixed(place))
    }
}

/// Calls `each` with the place, the query name (empty elsewhere) and the value of every part of a
/// normal URL, in the order of the URL. False, and no call, where `url` has no `://`.
pub fn parts<'u>(url: &'u [u8], mut each: impl FnMut(KeyPosition, &'u [u8], &'u [u8])) -> bool {
    let Some(colon) = memchr(b':', url).filter(|&i| url[i..].starts_with(b"://")) else { return false };
    each(KeyPosition::Scheme, b"", &url[..colon]);
    let cut = |text: &'u [u8], at: u8| match memchr(at, text) {
        Some(i) => (&text[..i], Some(&text[i + 1..])),
        None => (text, None),
    };
    let (rest, fragment) = cut(&url[colon + 3..], b'#');
    let (rest, query) = cut(rest, b'?');
    let (authority, path) = cut(rest, b'/');
    for (i, label) in authority.split(|&b| b == b'.').enumerate() {
        each(KeyPosition::Auth(i as u32), b"", label);
    }
    for (i, segment) in path.into_iter().flat_map(|p| p.split(|&b| b == b'/')).enumerate() {
        each(KeyPosition::Path(i as u32), b"", segment);
    }
    match query {
        Some(b"") => each(KeyPosition::EmptyQuery, b"", b""),
        Some(query) => {
            for item in query.split(|&b| b == b'&') {
                let name = memchr(b'=', item).map_or(item.len(), |i| i + 1);
                each(KeyPosition::Query, &item[..name], &item[name..]);
            }
        }
        None => {}
    }
    if let Some(fragment) = fragment {
        each(KeyPosition::Fragment, b"", fragment);
    }
    true
}

/// Writes a URL from the values of `keys` (sorted) into `out`, appended. False where the values make no
/// URL, which leaves `out` with a part of it: no scheme or host, or a label or segment missing below
/// another.
pub fn compose<'v>(keys: &[PublishedKey], value: impl Fn(usize) -> Option<&'v [u8]>, out: &mut Vec<u8>) -> bool {
    let (mut scheme, mut labels, mut segments) = (false, 0, 0);
    let mut separator = b"?".as_slice();
    for (index, key) in keys.iter().enumerate() {
        let Some(value) = value(index) else { continue };
        match key.place {
            KeyPosition::Scheme => {
                scheme = true;
                out.extend_from_slice(value);
                out.extend_from_slice(b"://");
                continue;
            }
            KeyPosition::Auth(i) if !scheme || i != labels => return false,
            KeyPosition::Auth(i) => {
                labels += 1;
                if i > 0 {
                    out.push(b'.');
                }
            }
            KeyPosition::Path(i) if i != segments => return false,
            KeyPosition::Path(_) => {
                segments += 1;
                out.push(b'/');
            }
            KeyPosition::EmptyQuery => {
                out.push(b'?');
                separator = b"";
            }
            KeyPosition::Query => {
                out.extend_from_slice(separator);
                separator = b"&";
                out.extend_from_slice(key.name.as_bytes());
            }
            KeyPosition::Fragment => out.push(b'#'),
        }
        out.extend_from_slice(value);
    }
    labels > 0
}

/// No key.
const NONE: u32 = u32::MAX;

/// Keys by their place and name. Query keys are numbered within a URL, so a look-up takes the URL's
/// [`Numbers`].
#[derive(Clone, Debug, Default)]
pub struct KeyTable {
    scheme: Option<u32>,
    empty_query: Option<u32>,
    fragment: Option<u32>,
    auth: Vec<u32>,
    path: Vec<u32>,
    names: HashMap<Vec<u8>, u32, foldhash::fast::FixedState>,
    /// Keys of a query name by their number, from 1.
    numbered: Vec<Vec<u32>>,
}

/// How often each query name of a [`KeyTable`] was met in the URL at hand.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    url: u32,
    /// `(url, count)` a name.
    seen: Vec<(u32, u32)>,
}

impl Numbers {
    /// Starts another URL.
    pub fn start(&mut self) {
        self.url = self.url.checked_add(1).unwrap_or_else(|| {
            self.seen.clear();
            1
        });
    }

    fn count(&mut self, name: u32) -> u32 {
        if self.seen.len() <= name as usize {
            self.seen.resize(name as usize + 1, (0, 0));
        }
        let seen = &mut self.seen[name as usize];
        *seen = if seen.0 == self.url { (self.url, seen.1 + 1) } else { (self.url, 1) };
        seen.1
    }
}

fn at(list: &[u32], index: u32) -> Option<u32> {
    list.get(index as usize).copied().filter(|&key| key != NONE)
}

fn put(list: &mut Vec<u32>, index: u32, key: u32) {
    if list.len() <= index as usize {
        list.resize(index as usize + 1, NONE);
    }
    list[index as usize] = key;
}

impl KeyTable {
    /// The table of `keys`: the key at an index has that index.
    pub fn new(keys: &[PublishedKey]) -> KeyTable {
        let mut table = KeyTable::default();
        for (index, key) in keys.iter().enumerate() {
            table.insert(key, index as u32);
        }
        table
    }

    fn insert(&mut self, key: &PublishedKey, index: u32) {
        match key.place {
            KeyPosition::Scheme => self.scheme = Some(index),
            KeyPosition::EmptyQuery => self.empty_query = Some(index),
            KeyPosition::Fragment => self.fragment = Some(index),
            KeyPosition::Auth(i) => put(&mut self.auth, i, index),
            KeyPosition::Path(i) => put(&mut self.path, i, index),
            KeyPosition::Query => {
                let name = self.name(key.name.as_bytes());
                put(&mut self.numbered[name as usize], key.number - 1, index);
            }
        }
    }

    fn name(&mut self, name: &[u8]) -> u32 {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = self.numbered.len() as u32;
        self.names.insert(name.to_vec(), id);
        self.numbered.push(Vec::new());
        id
    }

    /// Index of the key of a part of the URL that `numbers` was started for.
    pub fn find(&self, place: KeyPosition, name: &[u8], numbers: &mut Numbers) -> Option<u32> {
        self.find_by(place, name, |id| numbers.count(id))
    }

    /// The value of each of `keys` keys in a normal URL; `None` where it has a key that is not in the table
    /// (no rule names it) or cannot be tokenized.
    pub fn values<'a>(&self, normal: &'a [u8], keys: usize, numbers: &mut Numbers) -> Option<Vec<Option<&'a [u8]>>> {
        let (mut values, mut known) = (vec![None; keys], true);
        numbers.start();
        let whole = parts(normal, |place, name, value| match self.find(place, name, numbers) {
            Some(key) => values[key as usize] = Some(value),
            None => known = false,
        });
        (whole && known).then_some(values)
    }

    /// Finds a key as [`find`](Self::find) does, with the counts of a URL in `seen`, all zero at its start,
    /// for tables of at most as many keys.
    pub fn find_in(&self, place: KeyPosition, name: &[u8], seen: &mut [u32]) -> Option<u32> {
        self.find_by(place, name, |id| {
            seen[id as usize] += 1;
            seen[id as usize]
        })
    }

    fn find_by(&self, place: KeyPosition, name: &[u8], count: impl FnOnce(u32) -> u32) -> Option<u32> {
        match place {
            KeyPosition::Scheme => self.scheme,
            KeyPosition::EmptyQuery => self.empty_query,
            KeyPosition::Fragment => self.fragment,
            KeyPosition::Auth(i) => at(&self.auth, i),
            KeyPosition::Path(i) => at(&self.path, i),
            KeyPosition::Query => {
                let id = *self.names.get(name)?;
                at(&self.numbered[id as usize], count(id) - 1)
            }
        }
    }

    /// Finds a key as [`find`](Self::find) does; an unknown key is added to `keys` and to the table.
    pub fn find_or_add(
        &mut self,
        place: KeyPosition,
        name: &[u8],
        numbers: &mut Numbers,
        keys: &mut Vec<PublishedKey>,
    ) -> u32 {
        let mut number = 1;
        let found = if place == KeyPosition::Query {
            let id = self.name(name);
            number = numbers.count(id);
            at(&self.numbered[id as usize], number - 1)
        } else {
            self.find(place, name, numbers)
        };
        found.unwrap_or_else(|| {
            // Names are cut at ASCII from a URL that is UTF-8; a broken one still gets a key of its own kind.
            let name = String::from_utf8_lossy(name).into_owned();
            let key = PublishedKey { place, name, number };
            let index = keys.len() as u32;
            self.insert(&key, index);
            keys.push(key);
            index
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(url: &str) -> Vec<(String, String)> {
        let (mut table, mut numbers, mut keys) = (KeyTable::default(), Numbers::default(), Vec::new());
        numbers.start();
        let mut out = Vec::new();
        assert!(parts(url.as_bytes(), |place, name, value| {
            let index = table.find_or_add(place, name, &mut numbers, &mut keys);
            out.push((keys[index as usize].to_string(), String::from_utf8(value.to_vec()).unwrap()));
        }));
        out
    }

    /// The example of Figure 2 names the pairs `path_0-images` and `q-hp`.
    #[test]
    fn a_url_is_a_set_of_key_value_pairs() {
        let pairs = view("http://www.example.com/images/a.html?q=hp&sid=1&q=2&flag#top");
        let expected = [
            ("scheme", "http"),
            ("auth_0", "www"),
            ("auth_1", "example"),
            ("auth_2", "com"),
            ("path_0", "images"),
            ("path_1", "a.html"),
            ("q:q=", "hp"),
            ("q:sid=", "1"),
            ("q:q=#2", "2"),
            ("q:flag", ""),
            ("fragment", "top"),
        ];
        assert_eq!(pairs, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }

    #[test]
    fn pairs_compose_to_the_same_url_with_sorted_query_keys() {
        for (url, composed) in [
            ("http://a.b/", "http://a.b/"),
            ("https://u@a.b:8080/x//y?#", "https://u@a.b:8080/x//y?#"),
            ("http://a/?b=2&a=1&b=1&&=v", "http://a/?&=v&a=1&b=2&b=1"),
            ("http://a/x?z&y", "http://a/x?y&z"),
        ] {
            let mut pairs: Vec<(PublishedKey, String)> =
                view(url).into_iter().map(|(k, v)| (PublishedKey::parse(&k).expect("own notation"), v)).collect();
            pairs.sort();
            let keys: Vec<PublishedKey> = pairs.iter().map(|p| p.0.clone()).collect();
            let mut out = Vec::new();
            assert!(compose(&keys, |i| Some(pairs[i].1.as_bytes()), &mut out));
            assert_eq!(String::from_utf8(out).unwrap(), composed, "of {url}");
        }
    }

    #[test]
    fn a_hole_in_the_path_makes_no_url() {
        let keys = ["scheme", "auth_0", "path_1"].map(|k| PublishedKey::parse(k).expect("a key"));
        assert!(!compose(&keys, |_| Some(b"x".as_slice()), &mut Vec::new()));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "auth_", "path_x", "query", "q:a=#1", "q:a=#x", "path_4000000000", "q:a=#4000000000"] {
            assert_eq!(PublishedKey::parse(text), None, "{text}");
        }
    }
}
