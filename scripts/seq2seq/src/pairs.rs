//! Pairs of source and target (section 2.3 of the paper).

use crate::records::Labelled;
use crate::tokens::tokenize;
use crate::vocabulary::{Frequencies, Numbering, Source, Vocabulary};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Training data of a network.
pub struct TrainingSet {
    /// Numbers of all tokens.
    pub vocabulary: Vocabulary,
    /// Source and target of each pair, the target without its end.
    pub pairs: Vec<(Vec<u32>, Vec<u32>)>,
    /// Clusters of two URLs and more.
    pub duplicated: usize,
}

/// How pairs are made.
#[derive(Clone, Copy)]
pub struct PairOptions {
    /// Clusters of one URL give a pair of it and itself.
    pub identity: bool,
    /// How targets name arguments.
    pub numbering: Numbering,
    /// Least share of the URLs that hold a function token.
    pub function_share: f64,
}

impl TrainingSet {
    /// All pairs of a URL and the canonical form of its cluster, that form itself included.
    ///
    /// URLs without any token, `///` for one, give no pair.
    pub fn of(records: &[Labelled], options: PairOptions) -> Self {
        let urls: Vec<Vec<&str>> = records.iter().map(|record| tokenize(&record.url)).collect();
        let frequencies = Frequencies::of(&urls);
        let mut clusters: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, record) in records.iter().enumerate() {
            clusters.entry(&record.cluster).or_default().push(i);
        }
        let duplicated = clusters.values().filter(|members| members.len() > 1).count();
        let mut texts = Vec::new();
        for members in clusters.values().filter(|members| options.identity || members.len() > 1) {
            let members: Vec<usize> = members.iter().copied().filter(|i| !urls[*i].is_empty()).collect();
            let order = |i: &usize| {
                let sum: usize = urls[*i].iter().map(|token| frequencies.count(token)).sum();
                (urls[*i].len(), Reverse(sum), records[*i].url.as_str())
            };
            if let Some(target) = members.iter().copied().min_by(|a, b| order(a).cmp(&order(b))) {
                texts.extend(members.iter().map(|i| (urls[*i].clone(), urls[target].clone())));
            }
        }
        let vocabulary = Vocabulary::of(&frequencies, &texts, options.numbering, options.function_share);
        let number = |(source, target): &(Vec<&str>, Vec<&str>)| {
            let source: Source = vocabulary.source(source);
            let target = vocabulary.target(target, &source, options.numbering);
            (source.ids, target)
        };
        let pairs = texts.iter().map(number).collect();
        Self { vocabulary, pairs, duplicated }
    }

    /// Number of distinct pairs, and the least mean loss of a translator that has learned them all.
    ///
    /// The loss is over 0 where equal sources have different targets: the entropy of the targets of a
    /// source, a token.
    pub fn distinct_and_least_loss(&self) -> (usize, f64) {
        let (mut pairs, mut sources) = (BTreeMap::new(), BTreeMap::new());
        for pair in &self.pairs {
            *pairs.entry(pair).or_insert(0usize) += 1;
            *sources.entry(&pair.0).or_insert(0usize) += 1;
        }
        let loss = |((source, target), count): (&&(Vec<u32>, Vec<u32>), &usize)| {
            let probability = *count as f64 / sources[source] as f64;
            *count as f64 * -probability.ln() / (target.len() + 1) as f64
        };
        let sum: f64 = pairs.iter().map(loss).sum();
        (pairs.len(), sum / self.pairs.len().max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(records: &[(&str, &str)], identity: bool) -> Vec<(String, String)> {
        let records: Vec<_> = records
            .iter()
            .map(|(cluster, url)| Labelled { url: (*url).into(), cluster: (*cluster).into(), site: None })
            .collect();
        let options = PairOptions { identity, numbering: Numbering::Source, function_share: 0.01 };
        let set = TrainingSet::of(&records, options);
        set.pairs.iter().map(|(source, target)| (set.vocabulary.show(source), set.vocabulary.show(target))).collect()
    }

    #[test]
    fn the_target_has_the_fewest_tokens_then_the_most_frequent_ones() {
        let records = [("1", "http://a/x?s=1"), ("1", "http://a/y"), ("1", "http://a/x"), ("2", "http://a/x/z")];
        let pairs = set(&records, false);
        assert_eq!(pairs.len(), 3);
        assert!(pairs.iter().all(|(_, target)| target == "http: a x"), "{pairs:?}");
        assert_eq!(pairs[2].0, "http: a x", "the target is a source, too");
    }

    #[test]
    fn a_source_with_two_targets_has_a_least_loss() {
        let vocabulary = Vocabulary::of(&Frequencies::of(&[]), &[], Numbering::Source, 0.01);
        let pairs = vec![(vec![3], vec![4]), (vec![3], vec![5]), (vec![4], vec![4]), (vec![4], vec![4])];
        let set = TrainingSet { vocabulary, pairs, duplicated: 2 };
        let (distinct, loss) = set.distinct_and_least_loss();
        assert_eq!(distinct, 3);
        assert!((loss - 2.0 * 2f64.ln() / 2.0 / 4.0).abs() < 1e-12, "{loss}");
    }

    #[test]
    fn singletons_are_pairs_by_option_only() {
        let records = [("1", "http://a/x"), ("2", "http://a/y"), ("3", "///"), ("3", "//")];
        assert!(set(&records, false).is_empty());
        let pairs = set(&records, true);
        assert_eq!(pairs.len(), 2);
        assert!(pairs.iter().all(|(source, target)| source == target));
    }
}
