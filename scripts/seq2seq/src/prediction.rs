//! Canonical URLs of a trained network.

use crate::Result;
use crate::network::Network;
use crate::tokens::{join, tokenize};
use crate::vocabulary::{Source, Vocabulary};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Sources that are translated together.
const BATCH: usize = 64;

/// How many URLs came out how.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Outcomes {
    /// All URLs.
    pub urls: usize,
    /// Different sequences of tokens, each translated once.
    pub sequences: usize,
    /// URLs whose tokens came out as they went in.
    pub same: usize,
    /// URLs that were translated to other tokens.
    pub changed: usize,
    /// Translations with an unknown token or an argument that the URL lacks.
    pub unrestorable: usize,
    /// Translations without an end.
    pub endless: usize,
}

/// The canonical URL of each of `urls`, in their order.
///
/// A URL whose translation cannot be restored or does not end keeps its tokens, and so does one without tokens.
pub fn predict(
    network: &Network,
    vocabulary: &Vocabulary,
    longest: usize,
    urls: &[String],
) -> Result<(Vec<String>, Outcomes)> {
    let tokens: Vec<Vec<&str>> = urls.iter().map(|url| tokenize(url)).collect();
    let sources: Vec<Source> = tokens.iter().map(|tokens| vocabulary.source(tokens)).collect();
    let translations = translations(network, longest, &sources)?;
    let mut outcomes = Outcomes { urls: urls.len(), sequences: translations.len(), ..Outcomes::default() };
    let mut canonical = Vec::with_capacity(urls.len());
    for (tokens, source) in tokens.iter().zip(&sources) {
        let written = translations.get(source.ids.as_slice()).and_then(Option::as_ref);
        let restored = written.and_then(|ids| vocabulary.restore(ids, source));
        let count = match (&written, &restored) {
            (None, _) => &mut outcomes.endless,
            (Some(_), None) => &mut outcomes.unrestorable,
            (_, Some(restored)) if restored == tokens => &mut outcomes.same,
            (_, Some(_)) => &mut outcomes.changed,
        };
        *count += 1;
        canonical.push(join(restored.as_ref().unwrap_or(tokens)));
    }
    Ok((canonical, outcomes))
}

/// Translations of all different sequences.
fn translations<'a>(
    network: &Network,
    longest: usize,
    sources: &'a [Source],
) -> Result<BTreeMap<&'a [u32], Option<Vec<u32>>>> {
    let by_length: BTreeSet<(usize, &[u32])> =
        sources.iter().map(|source| (source.ids.len(), source.ids.as_slice())).collect();
    let distinct: Vec<&[u32]> = by_length.into_iter().map(|(_, ids)| ids).collect();
    let mut translations = BTreeMap::new();
    for same_length in distinct.chunk_by(|a, b| a.len() == b.len()) {
        for batch in same_length.chunks(BATCH) {
            translations.extend(batch.iter().copied().zip(network.translate(batch, longest)?));
        }
    }
    Ok(translations)
}
