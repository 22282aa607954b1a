//! Generalized rules on URLs.

use super::pairs::{Change, Transformation};
use super::tokens::Tokens;
use super::tree::Leaf;
use crate::baselines::{Canonicalizer, RuleReport, normalize_into};
use crate::rules::published::keys::{KeyTable, Numbers, PublishedKey, compose};
use crate::rules::types::Evidence;
use crate::site::published::keys::{ABSENT, PublishedColumns};

/// The rules of a site.
pub struct Rules {
    keys: Vec<PublishedKey>,
    table: KeyTable,
    tokens: Tokens,
    rules: Vec<Rule>,
    report: Vec<RuleReport>,
    numbers: Numbers,
    normal: Vec<u8>,
}

struct Rule {
    /// `None`: the key is absent.
    context: Vec<(usize, Option<Vec<u8>>)>,
    changes: Vec<(usize, bool, What)>,
}

enum What {
    Drop,
    Set(Vec<u8>),
    Copy(usize),
}

impl Rules {
    /// Compiles them: those of more positive examples first, ties in the order given.
    pub fn new(columns: &PublishedColumns, tokens: &Tokens, of: &[Transformation], mut leaves: Vec<Leaf>) -> Rules {
        leaves.sort_by_key(|leaf| std::cmp::Reverse(leaf.positive));
        let value = |id: u32| (id != ABSENT).then(|| tokens.value(id).to_vec());
        let rule = |leaf: &Leaf| Rule {
            context: leaf.context.iter().map(|&(key, id)| (key, value(id))).collect(),
            changes: of[leaf.transformation]
                .0
                .iter()
                .map(|&(key, present, change)| {
                    let what = match change {
                        Change::Drop => What::Drop,
                        Change::Set(id) => What::Set(tokens.value(id).to_vec()),
                        Change::Copy(from) => What::Copy(from.into()),
                    };
                    (key.into(), present, what)
                })
                .collect(),
        };
        Rules {
            keys: columns.keys.clone(),
            table: KeyTable::new(&columns.keys),
            rules: leaves.iter().map(rule).collect(),
            report: leaves.iter().map(|leaf| report(columns, tokens, &of[leaf.transformation], leaf)).collect(),
            tokens: tokens.shape(),
            numbers: Numbers::default(),
            normal: Vec::new(),
        }
    }
}

fn report(columns: &PublishedColumns, tokens: &Tokens, of: &Transformation, leaf: &Leaf) -> RuleReport {
    let name = |key: usize| tokens.name(&columns.keys, key);
    let text = |id: u32| String::from_utf8_lossy(tokens.value(id)).into_owned();
    let change = |&(key, _, change): &(u16, bool, Change)| match change {
        Change::Drop => format!("leave out {}", name(key.into())),
        Change::Set(id) => format!("set {} to {:?}", name(key.into()), text(id)),
        Change::Copy(from) => format!("set {} to {}", name(key.into()), name(from.into())),
    };
    let condition = |&(key, id): &(usize, u32)| match id {
        ABSENT => format!("{} is absent", name(key)),
        id => format!("{} is {:?}", name(key), text(id)),
    };
    let changes: Vec<String> = of.0.iter().map(change).collect();
    let context: Vec<String> = leaf.context.iter().map(condition).collect();
    let context = if context.is_empty() { "anything".to_owned() } else { context.join(", ") };
    let counts = &leaf.counts;
    let evidence = Evidence {
        good: counts.good,
        bad: counts.bad,
        support_pairs: counts.support_pairs,
        false_positive_pairs: counts.false_positive_pairs,
        upper_bound_ppm: (counts.upper_bound() * 1e6).ceil() as u32,
        clusters: counts.clusters,
        examples: leaf.examples.iter().map(|pair| pair.map(|row| columns.url(row))).collect(),
        ..Evidence::default()
    };
    RuleReport { text: format!("{} where {context}", changes.join(", ")), evidence: Some(evidence) }
}

impl Canonicalizer for Rules {
    fn canonicalize(&mut self, url: &[u8], out: &mut Vec<u8>) {
        if normalize_into(url, out).is_none() {
            return;
        }
        self.normal.clone_from(out);
        let Some(values) = self.table.values(&self.normal, self.keys.len(), &mut self.numbers) else { return };
        let mut deep: Vec<Option<&[u8]>> = vec![None; self.tokens.keys.len()];
        for (at, &(key, place)) in self.tokens.keys.iter().enumerate().filter(|(_, key)| key.1 == 0) {
            let Some(value) = values[usize::from(key)] else { continue };
            for (token, i) in self.tokens.delimiters[usize::from(key)].split(value).into_iter().zip(place..) {
                match self.tokens.keys.get(at + usize::from(i)) {
                    Some(&(same, _)) if same == key => deep[at + usize::from(i)] = Some(token),
                    // More tokens than any training URL has.
                    _ => return,
                }
            }
        }
        let mut fired = false;
        for rule in &self.rules {
            let holds = rule.context.iter().all(|(key, wanted)| deep[*key] == wanted.as_deref())
                && rule.changes.iter().all(|(key, present, what)| {
                    deep[*key].is_some() == *present && !matches!(what, What::Copy(from) if deep[*from].is_none())
                });
            if !holds {
                continue;
            }
            let mut next = deep.clone();
            for (key, _, what) in &rule.changes {
                next[*key] = match what {
                    What::Drop => None,
                    What::Set(value) => Some(value),
                    What::Copy(from) => deep[*from],
                };
            }
            if next != deep && self.tokens.is_whole(|key| next[key].is_some()) {
                deep = next;
                fired = true;
            }
        }
        if !fired {
            return;
        }
        let mut written: Vec<Option<Vec<u8>>> = vec![None; self.keys.len()];
        for (&(key, _), token) in self.tokens.keys.iter().zip(&deep) {
            if let Some(token) = token {
                written[usize::from(key)].get_or_insert_default().extend_from_slice(token);
            }
        }
        out.clear();
        if !compose(&self.keys, |key| written[key].as_deref(), out) {
            out.clone_from(&self.normal);
        }
    }

    fn report(&self) -> Vec<RuleReport> {
        self.report.clone()
    }
}
