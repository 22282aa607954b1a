//! Sorted URLs that many share.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A list of URLs; clones share it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Urls(Arc<[Box<str>]>);

impl Urls {
    /// Number of URLs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without any URL.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The URL at `index`, where there is one.
    pub fn get(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(AsRef::as_ref)
    }

    /// The URLs in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Bytes of memory behind all clones together.
    pub fn memory(&self) -> usize {
        self.iter().map(|url| url.len() + size_of::<Box<str>>()).sum()
    }
}

impl<S: Into<Box<str>>> FromIterator<S> for Urls {
    fn from_iter<I: IntoIterator<Item = S>>(urls: I) -> Urls {
        Urls(urls.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<Box<str>>> From<Vec<S>> for Urls {
    fn from(urls: Vec<S>) -> Urls {
        urls.into_iter().collect()
    }
}
