//! URLs that are known to be in normal form.

use super::Cut;
use super::safe::{Invalid, Split, is_route, normalize};

/// An http or https URL in normal form: the result of [`normalize`], with the places of its parts. Memory: its bytes.
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
        let mut bytes = Vec::with_capacity(url.len());
        normalize(url, &mut bytes).map(|split| NormalUrl { bytes, split })
    }

    /// Its bytes, all ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("normal forms are ASCII")
    }

    /// Where its parts stand.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The host, without user information and port.
    pub fn host(&self) -> &[u8] {
        &self.bytes[self.split.host.0 as usize..self.split.host.1 as usize]
    }

    /// Without its fragment, where that is no key: [`Cut::fragments`] is off and it is no [route](is_route).
    pub fn without_fragment(mut self, cut: Cut) -> NormalUrl {
        if let Some((start, end)) = self.split.fragment
            && !cut.fragments
            && !is_route(&self.bytes[start as usize..end as usize])
        {
            self.split.leave_out_fragment(&mut self.bytes);
        }
        self
    }
}
