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
    /// Translations with an unknown token or an argument that the URL lacks, and empty ones.
    pub unrestorable: usize,
    /// Translations without an end.
    pub endless: usize,
}

/// The canonical URL of each of `urls`, in their order.
///
/// A URL whose translation cannot be restored or does not end keeps its tokens; one without tokens is
/// kept as it is.
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
    for ((url, tokens), source) in urls.iter().zip(&tokens).zip(&sources) {
        if tokens.is_empty() {
            outcomes.same += 1;
            canonical.push(url.clone());
            continue;
        }
        let written = translations.get(source.ids.as_slice()).and_then(Option::as_ref);
        let restored = written.and_then(|ids| vocabulary.restore(ids, source)).filter(|tokens| !tokens.is_empty());
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

/// Translations of all different sequences that have tokens.
fn translations<'a>(
    network: &Network,
    longest: usize,
    sources: &'a [Source],
) -> Result<BTreeMap<&'a [u32], Option<Vec<u32>>>> {
    let by_length: BTreeSet<(usize, &[u32])> =
        sources.iter().map(|source| (source.ids.len(), source.ids.as_slice())).collect();
    let distinct: Vec<&[u32]> = by_length.into_iter().map(|(_, ids)| ids).collect();
    let mut translations = BTreeMap::new();
    for same_length in distinct.chunk_by(|a, b| a.len() == b.len()).filter(|sources| !sources[0].is_empty()) {
        for batch in same_length.chunks(BATCH) {
            translations.extend(batch.iter().copied().zip(network.translate(batch, longest)?));
        }
    }
    Ok(translations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Sizes;
    use crate::vocabulary::{EOS, Frequencies, Numbering, UNKNOWN};
    use candle_core::{DType, Tensor, Var};
    use rand::SeedableRng;

    /// A network that writes the token `id` for ever, whatever it reads.
    fn stubborn(vocabulary: &Vocabulary, id: u32) -> Network {
        let sizes = Sizes { vocabulary: vocabulary.len(), embedding: 2, units: 2, reversed: false };
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let network = Network::random(sizes, DType::F32, &mut random).expect("a network");
        let mut bias = vec![0f32; sizes.vocabulary];
        bias[id as usize] = 1e6;
        let bias = Tensor::from_vec(bias, (1, sizes.vocabulary), &candle_core::Device::Cpu).expect("a bias");
        let mut parameters = network.parameters().clone();
        parameters.insert("output.bias".into(), Var::from_tensor(&bias).expect("a parameter"));
        Network::new(sizes, parameters).expect("a network")
    }

    fn vocabulary() -> Vocabulary {
        let tokens = [tokenize("http://a.com/x/1"), tokenize("http://a.com/x")];
        let pairs = [(tokens[0].clone(), tokens[1].clone())];
        Vocabulary::of(&Frequencies::of(&tokens), &pairs, Numbering::Source, 0.9)
    }

    #[test]
    fn urls_without_a_translation_keep_their_tokens() {
        let urls = ["http://a.com//x/1/", "///", "http://a.com/x/1"].map(String::from);
        for (id, unrestorable, endless) in [(UNKNOWN, 0, 2), (EOS, 2, 0)] {
            let (canonical, outcomes) = predict(&stubborn(&vocabulary(), id), &vocabulary(), 5, &urls).expect("URLs");
            let expected = Outcomes { urls: 3, sequences: 1, same: 1, changed: 0, unrestorable, endless };
            assert_eq!(outcomes, expected);
            assert_eq!(canonical, ["http://a.com/x/1", "///", "http://a.com/x/1"]);
        }
    }
}
