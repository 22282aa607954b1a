//! The page that represents an identity, among the URLs that were met: what the rules compose may be the address of
//! another page, or of none.

use super::Training;
use super::operations::plainness;
use super::reduced::Identity;
use crate::rules::origins::of as origin;
use crate::rules::{RuleSet, Scratch};
use crate::url::{NormalUrl, Tokenizer};
use foldhash::fast::FixedState;
use std::collections::HashSet;

/// A URL of an identity.
struct Member<'a> {
    /// Path and query, without a fragment that is no key: both URLs are one request. `None` where the URL was not met
    /// in normal form.
    tail: Option<&'a [u8]>,
    /// Of the majority.
    is_of_majority: bool,
    /// Of the majority, and neither redirects nor declares another canonical URL.
    is_own: bool,
}

/// Chooses page and source of each identity; `set` applies the rules that reduce them.
pub(super) fn choose(identities: &mut [Identity], training: &Training, tokenizer: Tokenizer, set: &RuleSet) {
    let mut scratch = Scratch::default();
    for identity in identities {
        let member = |&row: &u32| {
            let row = row as usize;
            let normal = training.normal(row).filter(|normal| normal.as_bytes() == training.url(row));
            let is_of_majority = training.clusters[row] == identity.majority;
            Member {
                tail: normal.map(|url| &url.without_fragment(tokenizer)[url.split().path.0 as usize..]),
                is_of_majority,
                is_own: is_of_majority && !training.elsewhere[row],
            }
        };
        let members: Vec<Member> = identity.rows.iter().map(member).collect();
        choose_page(identity, &members);
        let source = source(identity, &members);
        let mut reduced = |url: &NormalUrl| set.apply_normal(url.by_ref(), Some(0), &mut scratch).url.to_vec();
        let is_reduced = source == identity.page || reduced(&source) == identity.composed.as_bytes();
        identity.source = if is_reduced { source } else { identity.page.clone() };
    }
}

/// The URL that the rules compose, or a member where that is another page's address.
fn choose_page(identity: &mut Identity, members: &[Member]) {
    let composed = behind_origin(identity.composed.as_bytes());
    let own = || members.iter().filter(|member| member.is_own);
    let tails = || own().filter_map(|member| member.tail);
    let page = if tails().any(|tail| tail == composed) {
        Some(composed)
    } else {
        // A page has no parameter that rules leave out.
        let names = names(composed);
        let keeps = |tail: &&[u8]| self::names(tail).iter().all(|name| names.binary_search(name).is_ok());
        tails().filter(keeps).min_by_key(|&tail| plainness(tail))
    };
    let leads_away = members.iter().any(|member| !member.is_own && member.tail == Some(composed));
    identity.listed = page.is_some();
    identity.fetchable = identity.listed || own().next().is_some() && !leads_away;
    let page = page.filter(|_| leads_away);
    identity.is_requested = page.is_some() || tails().any(|tail| holds_request(tail, composed));
    identity.page = on_origin_of(&identity.composed, page.unwrap_or(composed));
}

/// The page where it was met, else the plainest URL of the majority on the origin of the identity, if there is one.
fn source(identity: &Identity, members: &[Member]) -> NormalUrl {
    let of_majority = members.iter().filter(|member| member.is_of_majority);
    let tails = of_majority.filter_map(|member| member.tail);
    let page = behind_origin(identity.page.as_bytes());
    match tails.min_by_key(|&tail| (tail != page, plainness(tail))) {
        Some(tail) if tail != page => on_origin_of(&identity.composed, tail),
        _ => identity.page.clone(),
    }
}

/// Names of the parameters of a path and query, sorted.
fn names(tail: &[u8]) -> Vec<&[u8]> {
    let name = |pair: &'_ [u8]| memchr::memchr(b'=', pair).map_or(pair.len(), |at| at + 1);
    let mut names: Vec<&[u8]> = split(tail).1.map(|pair| &pair[..name(pair)]).collect();
    names.sort_unstable();
    names
}

/// True where a path and query has the path of another one, and its parameters among others.
fn holds_request(tail: &[u8], other: &[u8]) -> bool {
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
fn behind_origin(url: &[u8]) -> &[u8] {
    &url[origin(url).len()..]
}

/// A URL with the path and query of another one.
fn on_origin_of(url: &NormalUrl, tail: &[u8]) -> NormalUrl {
    let url = [origin(url.as_bytes()), tail].concat();
    NormalUrl::new(&url).expect("path and query of a normal form behind an origin of one")
}
