//! The rewrites that cannot change what a URL means (RFC 3986, sections 6.2.2 and 6.2.3): syntax-based normalization of
//! undust alone.
//!
//! No departure; [`crate::url::syntax`] says what is not done, and why.

use super::{Constant, Learned, Method, Sample, normalize_into};

/// The method.
#[derive(Clone, Copy, Debug)]
pub struct Rfc3986;

impl Method for Rfc3986 {
    fn learn(&self, _: &Sample<'_>) -> Box<dyn Learned> {
        let function = |url: &[u8], out: &mut Vec<u8>| _ = normalize_into(url, out);
        Box::new(Constant { function, rules: vec!["normal form of RFC 3986".to_owned()] })
    }
}
