//! Many URLs of one site in one piece of memory.
use serde::de::{self, DeserializeSeed, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// URLs end to end with their ends: four bytes each beside the text, and a clone shares both. In a rule file it is a
/// list of strings.
///
/// A list holds less than 4 GiB of text: [`FromIterator`] leaves out what comes after, a rule file with more is refused.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Urls(Arc<Pool>);

#[derive(Default, PartialEq, Eq)]
struct Pool {
    text: String,
    ends: Vec<u32>,
}

impl Pool {
    /// Adds a URL; false where there is no room for it.
    fn push(&mut self, url: &str) -> bool {
        let Ok(end) = u32::try_from(self.text.len() + url.len()) else { return false };
        self.text.push_str(url);
        self.ends.push(end);
        true
    }

    fn close(mut self) -> Urls {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
        Urls(Arc::new(self))
    }
}

impl Urls {
    /// Number of URLs.
    pub fn len(&self) -> usize {
        self.0.ends.len()
    }

    /// True without any URL.
    pub fn is_empty(&self) -> bool {
        self.0.ends.is_empty()
    }

    /// The URL at `index`, where there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&str> {
        let (start, end) = self.range(index)?;
        Some(&self.0.text[start..end])
    }

    /// The bytes of the same: whether they are whole characters is not looked at, which would be a look at both ends.
    #[inline]
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = self.range(index)?;
        Some(&self.0.text.as_bytes()[start..end])
    }

    fn range(&self, index: usize) -> Option<(usize, usize)> {
        let end = *self.0.ends.get(index)? as usize;
        Some((index.checked_sub(1).map_or(0, |before| self.0.ends[before] as usize), end))
    }

    /// The URLs in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|index| self.get(index).expect("below the length"))
    }

    /// Bytes of memory behind all clones together.
    pub fn memory(&self) -> usize {
        self.0.text.len() + self.0.ends.len() * size_of::<u32>()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Urls {
    fn from_iter<I: IntoIterator<Item = S>>(urls: I) -> Urls {
        let mut pool = Pool::default();
        urls.into_iter().all(|url| pool.push(url.as_ref()));
        pool.close()
    }
}

impl<S: AsRef<str>> From<Vec<S>> for Urls {
    fn from(urls: Vec<S>) -> Urls {
        urls.into_iter().collect()
    }
}

impl fmt::Debug for Urls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Urls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        for url in self.iter() {
            list.serialize_element(url)?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Urls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Urls, D::Error> {
        deserializer.deserialize_seq(List)
    }
}

/// Reads a list.
struct List;

impl<'de> Visitor<'de> for List {
    type Value = Urls;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of URLs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Urls, A::Error> {
        let mut pool = Pool::default();
        while list.next_element_seed(Next(&mut pool))?.is_some() {}
        Ok(pool.close())
    }
}

/// Reads a string into the pool, without one of its own.
struct Next<'p>(&'p mut Pool);

impl<'de> DeserializeSeed<'de> for Next<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Next<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, url: &str) -> Result<(), E> {
        if self.0.push(url) { Ok(()) } else { Err(E::custom("more than 4 GiB of URLs in one list")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_strings_in_json_and_back() {
        for list in [vec![], vec!["http://a/"], vec!["", "http://a/\u{2028}\"", "", "b"]] {
            let urls: Urls = list.clone().into();
            assert_eq!(urls.iter().collect::<Vec<_>>(), list);
            assert_eq!((urls.len(), urls.is_empty()), (list.len(), list.is_empty()));
            assert_eq!(urls.get(list.len()), None);
            let json = serde_json::to_string(&urls).expect("text");
            assert_eq!(json, serde_json::to_string(&list).expect("text"));
            assert_eq!(serde_json::from_str::<Urls>(&json).expect("read"), urls);
        }
        for wrong in ["{}", "[1]", "\"a\"", "[\"a\""] {
            assert!(serde_json::from_str::<Urls>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_clone_shares_the_text() {
        let urls: Urls = vec!["http://a/"].into();
        assert!(Arc::ptr_eq(&urls.0, &urls.clone().0));
    }
}
