//! Everything from the first `?` on goes: the rule of thumb that crawlers of static sites once used,
//! and the upper end of what blind rules save. It loses every page that only a parameter names.
//!
//! Departure: the rest of the URL is in the normal form of RFC 3986, as with all methods that rewrite.

use super::{Constant, Learned, Method, Sample, normalize_into};

/// The method.
#[derive(Clone, Copy, Debug)]
pub struct DropQuery;

impl Method for DropQuery {
    fn learn(&self, _: &Sample<'_>) -> Box<dyn Learned> {
        let function = |url: &[u8], out: &mut Vec<u8>| {
            if let Some(split) = normalize_into(url, out) {
                out.truncate(split.path.1 as usize);
            }
        };
        Box::new(Constant { function, rules: vec!["leave out query and fragment".to_owned()] })
    }
}
