//! URLs without their origin: path and query.

use crate::rules::origins::of as origin;
use crate::url::NormalUrl;
use foldhash::fast::FixedState;
use std::collections::HashSet;

/// Names of the parameters of a path and query, sorted.
fn names(tail: &[u8]) -> Vec<&[u8]> {
    let name = |pair: &'_ [u8]| memchr::memchr(b'=', pair).map_or(pair.len(), |at| at + 1);
    let mut names: Vec<&[u8]> = split(tail).1.map(|pair| &pair[..name(pair)]).collect();
    names.sort_unstable();
    names
}

/// True where each parameter of a path and query has the name of one of another one.
pub fn has_no_other_names(tail: &[u8], other: &[u8]) -> bool {
    let others = names(other);
    names(tail).iter().all(|name| others.binary_search(name).is_ok())
}

/// True where a path and query has the path of another one, and its parameters among others.
pub fn holds_request(tail: &[u8], other: &[u8]) -> bool {
    let ((path, parameters), (other, mut others)) = (split(tail), split(other));
    let parameters: HashSet<&[u8], FixedState> = parameters.collect();
    path == other && others.all(|pair| parameters.contains(pair))
}

/// The path, and the parameters, of a path and query; no fragment.
fn split(tail: &[u8]) -> (&[u8], impl Iterator<Item = &[u8]>) {
    let tail = &tail[..memchr::memchr(b'#', tail).unwrap_or(tail.len())];
    let path = memchr::memchr(b'?', tail).unwrap_or(tail.len());
    let query = tail.get(path + 1..).unwrap_or_default();
    (&tail[..path], query.split(|&b| b == b'&' || b == b';').filter(|pair| !pair.is_empty()))
}

/// Path, query and fragment of a URL in normal form.
pub fn behind_origin(url: &[u8]) -> &[u8] {
    &url[origin(url).len()..]
}

/// A URL with the path and query of another one.
pub fn on_origin_of(url: &NormalUrl, tail: &[u8]) -> NormalUrl {
    let url = [origin(url.as_bytes()), tail].concat();
    NormalUrl::new(&url).expect("path and query of a normal form behind an origin of one")
}
