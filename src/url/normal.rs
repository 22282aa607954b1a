//! URLs that are known to be in normal form.

use super::syntax::{Invalid, Split, is_route, normalize};
use super::{KeyValues, Tokenizer};

/// An http or https URL in normal form: the result of [`normalize`], with the places of its parts.
/// Memory: its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NormalUrl {
    bytes: Vec<u8>,
    split: Split,
}

impl NormalUrl {
    /// The normal form of `url`.
    ///
    /// # Errors
    /// [`Invalid`] where `url` is not an absolute http or https URL with a host.
    pub fn new(url: &[u8]) -> Result<NormalUrl, Invalid> {
        let mut normal = NormalUrl { bytes: Vec::with_capacity(url.len()), ..NormalUrl::default() };
        normal.read(url).map(|()| normal)
    }

    /// Replaces the URL by the normal form of `url`, in the same memory. After an error it is empty.
    ///
    /// # Errors
    /// As [`NormalUrl::new`].
    pub fn read(&mut self, url: &[u8]) -> Result<(), Invalid> {
        self.split = normalize(url, &mut self.bytes).inspect_err(|_| self.bytes.clear())?;
        Ok(())
    }

    /// The URL, borrowed.
    pub fn by_ref(&self) -> NormalRef<'_> {
        NormalRef { bytes: &self.bytes, split: &self.split }
    }

    /// Its bytes, all ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("normal forms are ASCII")
    }

    /// Positions of its parts.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The host, without user information and port.
    pub fn host(&self) -> &[u8] {
        part(&self.bytes, self.split.host)
    }

    /// Without its fragment, where that is no key: [`Tokenizer::fragments`] is off and it is no
    /// [route](is_route).
    pub fn without_fragment(mut self, tokenizer: Tokenizer) -> NormalUrl {
        if self.by_ref().without_fragment(tokenizer).len() < self.bytes.len() {
            self.split.leave_out_fragment(&mut self.bytes);
        }
        self
    }
}

/// A borrowed URL in normal form: a [`NormalUrl`], or one of [`NormalUrls`].
#[derive(Clone, Copy, Debug)]
pub struct NormalRef<'u> {
    bytes: &'u [u8],
    split: &'u Split,
}

impl<'u> NormalRef<'u> {
    /// Its bytes, all ASCII.
    pub fn as_bytes(self) -> &'u [u8] {
        self.bytes
    }

    /// Positions of its parts.
    pub fn split(self) -> &'u Split {
        self.split
    }

    /// The host, without user information and port.
    pub fn host(self) -> &'u [u8] {
        part(self.bytes, self.split.host)
    }

    /// All before the path: scheme, host and port, with user information where there is some.
    pub fn origin(self) -> &'u str {
        std::str::from_utf8(part(self.bytes, (0, self.split.path.0))).expect("normal forms are ASCII")
    }

    /// The path; starts with `/`.
    pub fn path(self) -> &'u [u8] {
        part(self.bytes, self.split.path)
    }

    /// True with user information.
    pub fn has_user(self) -> bool {
        self.split.authority.0 != self.split.host.0
    }

    /// Tokenizes the URL into `pairs`, whose former content goes.
    pub fn tokenize(self, tokenizer: Tokenizer, pairs: &mut KeyValues) {
        pairs.text.clear();
        pairs.text.extend_from_slice(self.bytes);
        pairs.tokenize(self.split, tokenizer);
    }

    /// Its bytes without a fragment that is no key: [`Tokenizer::fragments`] is off and it is no
    /// [route](is_route).
    pub fn without_fragment(self, tokenizer: Tokenizer) -> &'u [u8] {
        match self.split.fragment {
            Some(at) if !tokenizer.fragments && !is_route(part(self.bytes, at)) => &self.bytes[..at.0 as usize - 1],
            _ => self.bytes,
        }
    }
}

/// Normal forms of a list of URLs, end to end, in its order. Memory: their bytes and some 150 bytes
/// each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NormalUrls {
    bytes: Vec<u8>,
    /// End in `bytes` and parts of each URL; `None` for invalid ones, which have no bytes.
    places: Vec<(u32, Option<Split>)>,
    /// The normal form of the URL that is added.
    scratch: Vec<u8>,
}

impl NormalUrls {
    /// Adds the normal form of `url`, or a place without one where it is [`Invalid`].
    pub fn push(&mut self, url: &[u8]) {
        let split = normalize(url, &mut self.scratch).ok();
        if split.is_some() {
            self.bytes.extend_from_slice(&self.scratch);
        }
        self.places.push((self.bytes.len() as u32, split));
    }

    /// Adds what another list has at `at`.
    pub fn push_from(&mut self, other: &NormalUrls, at: usize) {
        let split = other.get(at).map(|url| {
            self.bytes.extend_from_slice(url.bytes);
            *url.split
        });
        self.places.push((self.bytes.len() as u32, split));
    }

    /// The normal form of the URL at `at`, `None` where it is invalid.
    pub fn get(&self, at: usize) -> Option<NormalRef<'_>> {
        let start = at.checked_sub(1).map_or(0, |before| self.places[before].0);
        let (end, split) = &self.places[at];
        Some(NormalRef { split: split.as_ref()?, bytes: part(&self.bytes, (start, *end)) })
    }

    /// Bytes of memory that it takes, without spare room.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<(u32, Option<Split>)>()
    }
}

fn part(bytes: &[u8], (start, end): (u32, u32)) -> &[u8] {
    &bytes[start as usize..end as usize]
}
