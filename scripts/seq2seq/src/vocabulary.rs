//! Function tokens, arguments and constants (section 2.1 of the paper).
//!
//! A token in at least 1 % of the training URLs is a *function*, every other one an *argument*. The nth
//! argument of a URL from the left becomes the placeholder `arg_n`. A target is written in the
//! arguments of its source, so that copying them back is right: a token of the target that is an
//! argument of the source takes the placeholder of its first occurrence there. A token of the target
//! that its source lacks is a *constant*, in the vocabulary as itself, if at least 1 % of the targets
//! hold it (Table 3, case 4 of the paper translates to such a one), and `<unk>` otherwise.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// First input of the decoder.
pub const GO: u32 = 0;
/// End of a target.
pub const EOS: u32 = 1;
/// A token without a number of its own.
pub const UNKNOWN: u32 = 2;
/// Number of `arg_1`.
const FIRST_ARGUMENT: u32 = 3;

/// URLs that hold a token, for each token.
pub struct Frequencies<'a> {
    urls: usize,
    counts: BTreeMap<&'a str, usize>,
}

impl<'a> Frequencies<'a> {
    /// Counts each token once a URL.
    pub fn of(urls: &[Vec<&'a str>]) -> Self {
        let mut counts = BTreeMap::new();
        for tokens in urls {
            for token in tokens.iter().collect::<BTreeSet<_>>() {
                *counts.entry(*token).or_default() += 1;
            }
        }
        Self { urls: urls.len(), counts }
    }

    /// Number of URLs that hold `token`.
    pub fn count(&self, token: &str) -> usize {
        self.counts.get(token).copied().unwrap_or(0)
    }

    /// Tokens in at least `share` of the URLs, sorted.
    fn at_least(&self, share: f64) -> impl Iterator<Item = &'a str> {
        let least = share * self.urls as f64;
        self.counts.iter().filter(move |(_, count)| **count as f64 >= least).map(|(token, _)| *token)
    }
}

/// How a target names its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// By the position of the same token among the arguments of the source.
    #[default]
    Source,
    /// By the position among the arguments of the target, as the text of the paper can also be read.
    Target,
}

/// Tokens and placeholders by number.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Vocabulary {
    /// Placeholders: the most arguments of a source in training.
    arguments: u32,
    functions: Vec<String>,
    constants: Vec<String>,
}

/// A URL as the encoder reads it.
#[derive(Debug, PartialEq)]
pub struct Source {
    /// Numbers of its tokens.
    pub ids: Vec<u32>,
    /// The token behind each placeholder; the nth is `arg_n`.
    pub arguments: Vec<String>,
}

impl Vocabulary {
    /// Functions by `share` of the training URLs, placeholders and constants by the pairs.
    pub fn of(frequencies: &Frequencies, pairs: &[(Vec<&str>, Vec<&str>)], numbering: Numbering, share: f64) -> Self {
        let functions: Vec<String> = frequencies.at_least(share).map(String::from).collect();
        let mut vocabulary = Self { arguments: 0, functions, constants: Vec::new() };
        let arguments = pairs.iter().map(|(source, _)| vocabulary.arguments_of(source).count()).max().unwrap_or(0);
        if numbering == Numbering::Source {
            let foreign: Vec<Vec<&str>> =
                pairs.iter().map(|(source, target)| vocabulary.foreign(source, target)).collect();
            vocabulary.constants = Frequencies::of(&foreign).at_least(share).map(String::from).collect();
        }
        vocabulary.arguments = u32::try_from(arguments).unwrap_or(u32::MAX);
        vocabulary
    }

    /// Size of the vocabulary, with the three special tokens.
    pub fn len(&self) -> usize {
        self.first_constant() as usize + self.constants.len()
    }

    fn first_function(&self) -> u32 {
        FIRST_ARGUMENT + self.arguments
    }

    fn first_constant(&self) -> u32 {
        self.first_function() + self.functions.len() as u32
    }

    fn function(&self, token: &str) -> Option<u32> {
        self.functions
            .binary_search_by(|known| known.as_str().cmp(token))
            .ok()
            .map(|i| self.first_function() + i as u32)
    }

    fn constant(&self, token: &str) -> Option<u32> {
        self.constants
            .binary_search_by(|known| known.as_str().cmp(token))
            .ok()
            .map(|i| self.first_constant() + i as u32)
    }

    fn arguments_of<'t>(&self, tokens: &[&'t str]) -> impl Iterator<Item = &'t str> {
        tokens.iter().copied().filter(|token| self.function(token).is_none())
    }

    /// Tokens of a target that are no function and no argument of its source.
    fn foreign<'t>(&self, source: &[&str], target: &[&'t str]) -> Vec<&'t str> {
        self.arguments_of(target).filter(|token| !source.contains(token)).collect()
    }

    /// Number of the placeholder `arg_n`, `n` from 1, or `<unk>` beyond those of the training.
    fn placeholder(&self, n: usize) -> u32 {
        u32::try_from(n).ok().filter(|n| *n <= self.arguments).map_or(UNKNOWN, |n| FIRST_ARGUMENT + n - 1)
    }

    /// A URL for the encoder. A token that no training URL holds is an argument.
    pub fn source(&self, tokens: &[&str]) -> Source {
        let (mut ids, mut arguments) = (Vec::new(), Vec::new());
        for token in tokens {
            ids.push(self.function(token).unwrap_or_else(|| {
                arguments.push((*token).to_owned());
                self.placeholder(arguments.len())
            }));
        }
        Source { ids, arguments }
    }

    /// A target for the decoder, without its end, in terms of the arguments of its source.
    pub fn target(&self, tokens: &[&str], source: &Source, numbering: Numbering) -> Vec<u32> {
        if numbering == Numbering::Target {
            return self.source(tokens).ids;
        }
        let number = |token: &&str| {
            let argument = || source.arguments.iter().position(|known| known == token);
            let placeholder = || argument().map(|i| self.placeholder(i + 1));
            self.function(token).or_else(placeholder).or_else(|| self.constant(token)).unwrap_or(UNKNOWN)
        };
        tokens.iter().map(number).collect()
    }

    /// Tokens of what the decoder wrote, arguments copied back.
    ///
    /// `None` where a token is unknown, special, or a placeholder that the source has no argument for.
    pub fn restore<'t>(&'t self, ids: &[u32], source: &'t Source) -> Option<Vec<&'t str>> {
        let token = |id: u32| {
            if id >= self.first_constant() {
                self.constants.get((id - self.first_constant()) as usize)
            } else if id >= self.first_function() {
                self.functions.get((id - self.first_function()) as usize)
            } else {
                id.checked_sub(FIRST_ARGUMENT).and_then(|n| source.arguments.get(n as usize))
            }
        };
        ids.iter().map(|id| token(*id).map(String::as_str)).collect()
    }

    /// Text of a sequence for the assertions of tests: placeholders as `arg_n`.
    #[cfg(test)]
    pub fn show(&self, ids: &[u32]) -> String {
        let names: Vec<String> = (1..=self.arguments).map(|n| format!("arg_{n}")).collect();
        let placeholders = Source { ids: Vec::new(), arguments: names };
        let token = |id: &u32| match *id {
            GO => "<go>".to_owned(),
            EOS => "<eos>".to_owned(),
            id => self.restore(&[id], &placeholders).map_or("<unk>".to_owned(), |tokens| tokens.concat()),
        };
        ids.iter().map(token).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tokenize;

    /// 200 users with a superfluous name each; a third of the sources go to one page of an error.
    fn site() -> (Vec<String>, Vec<(String, String)>) {
        let pairs: Vec<_> = (0..200)
            .map(|i| {
                let source = format!("http://a.com/user/{i}/name{i}");
                let target =
                    if i % 3 == 0 { "http://a.com/error/gone".into() } else { format!("http://a.com/user/{i}") };
                (source, target)
            })
            .collect();
        (pairs.iter().map(|(source, _)| source.clone()).collect(), pairs)
    }

    fn vocabulary(numbering: Numbering) -> Vocabulary {
        let (urls, pairs) = site();
        let urls: Vec<Vec<&str>> = urls.iter().map(|url| tokenize(url)).collect();
        let pairs: Vec<_> = pairs.iter().map(|(source, target)| (tokenize(source), tokenize(target))).collect();
        Vocabulary::of(&Frequencies::of(&urls), &pairs, numbering, 0.01)
    }

    #[test]
    fn rare_tokens_are_arguments_and_frequent_foreign_ones_constants() {
        let vocabulary = vocabulary(Numbering::Source);
        assert_eq!(vocabulary.functions, ["a.com", "http:", "user"]);
        assert_eq!(vocabulary.constants, ["error", "gone"]);
        assert_eq!((vocabulary.arguments, vocabulary.len()), (2, 10));
        let source = vocabulary.source(&tokenize("http://a.com/user/7/bob"));
        assert_eq!(vocabulary.show(&source.ids), "http: a.com user arg_1 arg_2");
        assert_eq!(source.arguments, ["7", "bob"]);
        let target = |url| vocabulary.show(&vocabulary.target(&tokenize(url), &source, Numbering::Source));
        assert_eq!(target("http://a.com/user/bob/7"), "http: a.com user arg_2 arg_1");
        assert_eq!(target("http://a.com/error/other"), "http: a.com error <unk>");
    }

    #[test]
    fn arguments_are_copied_back() {
        let vocabulary = vocabulary(Numbering::Source);
        let source = vocabulary.source(&tokenize("http://a.com/user/7/bob"));
        for url in ["http://a.com/user/7", "http://a.com/bob/7/7", "http://a.com/error/gone"] {
            let ids = vocabulary.target(&tokenize(url), &source, Numbering::Source);
            assert_eq!(vocabulary.restore(&ids, &source), Some(tokenize(url)));
        }
        let one = vocabulary.source(&tokenize("http://a.com/user/7"));
        let two = vocabulary.placeholder(2);
        assert_eq!(vocabulary.restore(&[two], &one), None, "an argument that the URL lacks");
        for special in [GO, EOS, UNKNOWN, 10, u32::MAX] {
            assert_eq!(vocabulary.restore(&[special], &source), None);
        }
    }

    #[test]
    fn arguments_beyond_those_of_the_training_are_unknown() {
        let vocabulary = vocabulary(Numbering::Source);
        let source = vocabulary.source(&tokenize("http://a.com/user/7/bob/8"));
        assert_eq!(vocabulary.show(&source.ids), "http: a.com user arg_1 arg_2 <unk>");
    }

    #[test]
    fn a_target_may_count_its_own_arguments() {
        let vocabulary = vocabulary(Numbering::Target);
        assert!(vocabulary.constants.is_empty());
        let source = vocabulary.source(&tokenize("http://a.com/user/7/bob"));
        let target = vocabulary.target(&tokenize("http://a.com/user/bob"), &source, Numbering::Target);
        assert_eq!(vocabulary.show(&target), "http: a.com user arg_1");
    }
}
