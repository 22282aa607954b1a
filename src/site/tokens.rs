//! Whether a site cuts path segments at `:`, `,`, `=` or `!`, and its query at `;`: decided by hold-out.
//!
//! `words:verbs:repel` is a page in a namespace on one site and a title on the next. More cuts make more keys, and more
//! keys a larger space of rules: in the prototype cuts chosen on the records that the rules were learned from merged 72 %
//! of the wrong pairs on a site of another kind (design, section 6.2). So the choice is made apart: rules are learned on
//! half of the clusters with and without a cut, and the cut is taken only if on the other half, of which no rule has seen
//! a record, it joins clearly more and nothing that is wrong.

use super::{Outcome, Training, Without, learn_cut};
use crate::model::{hash64, hash64_seeded};
use crate::rules::{RuleSet, Scratch, Tokens};
use crate::url::DELIMITERS;

/// Rows of the clusters that the choice is made on, about.
const SAMPLE: usize = 5_000;
/// URLs of the sample that have the character where it would cut: this many, and this share in thousandths.
const MIN_URLS: usize = 20;
const MIN_PERMILLE: usize = 20;
/// The same for semicolons in queries, which are rarer and surer.
const MIN_SEMICOLONS: usize = 8;
const MIN_SEMICOLONS_PERMILLE: usize = 2;
/// Parts of the clusters, each judged by what was learned on the others. With two, what is learned from is half the size
/// of the real thing, and keys that a cut adds look too poor: of four samples of 1,500 URLs of a wiki the cut at `:` was
/// taken for none, with four parts for two (mean saved share 0.913 -> 0.926), with eight for all (0.936), at twice the
/// cost again.
const FOLDS: u64 = 4;
/// More good that a cut must bring on the rows that were held out, and its share of them, in thousandths.
const MIN_GAIN: u64 = 9;
const MIN_GAIN_PERMILLE: u64 = 2;
/// What one bad costs in good.
const COST: u64 = 10;

/// `tokens` with the cuts of a site.
pub fn choose(training: &Training, mut tokens: Tokens, without: Without) -> Tokens {
    let every = training.len().div_ceil(SAMPLE).max(1) as u64;
    let hash = |row: usize| hash64(&training.clusters[row].to_le_bytes());
    let sample = |row: usize| training.clusters[row] != u32::MAX && hash(row).is_multiple_of(every);
    let candidates = candidates(training, sample);
    if candidates.is_empty() {
        return tokens;
    }
    // Another hash than the one that chose the sample.
    let fold = |row: usize| hash64_seeded(&training.clusters[row].to_le_bytes(), 2) % FOLDS;
    let apart = |at: u64| {
        let learned_from = training.subset(|row| sample(row) && fold(row) != at);
        (learned_from, training.subset(|row| sample(row) && fold(row) == at))
    };
    let folds: Vec<(Training, Training)> = (0..FOLDS).map(apart).collect();
    let trial = |tokens: &Tokens| {
        let judged =
            folds.iter().map(|(rows, others)| judge(&learn_cut(rows.clone(), tokens.clone(), without), others));
        judged.fold((0, 0), |sum, found| (sum.0 + found.0, sum.1 + found.1))
    };
    let rows: usize = folds.iter().map(|fold| fold.1.len()).sum();
    let mut best = trial(&tokens);
    let least = MIN_GAIN.max(rows as u64 * MIN_GAIN_PERMILLE / 1000);
    for candidate in candidates {
        let mut with = tokens.clone();
        match candidate {
            ';' => with.semicolons = true,
            delimiter => with.delimiters.push(delimiter),
        }
        let found = trial(&with);
        let more_bad = found.1.saturating_sub(best.1);
        if found.0 >= best.0 + least + COST * more_bad {
            (best, tokens) = (found, with);
        }
    }
    tokens
}

/// Characters that enough URLs have where they would cut.
fn candidates(training: &Training, sample: impl Fn(usize) -> bool) -> Vec<char> {
    let mut semicolons = 0;
    let mut seen = [0usize; DELIMITERS.len()];
    let mut total = 0;
    for row in (0..training.len()).filter(|&row| sample(row)) {
        total += 1;
        let url = training.url(row);
        if memchr::memchr3(b':', b',', b'=', &url[8.min(url.len())..]).is_none()
            && memchr::memchr2(b'!', b';', url).is_none()
        {
            continue;
        }
        let Some(normal) = training.normal(row) else { continue };
        let (text, split) = (normal.as_bytes(), normal.split());
        let path = &text[split.path.0 as usize..split.path.1 as usize];
        for (count, delimiter) in seen.iter_mut().zip(DELIMITERS) {
            let cuts = |w: &[u8]| w[1] == delimiter && w[0].is_ascii_alphanumeric() && w[2].is_ascii_alphanumeric();
            *count += usize::from(path.windows(3).any(cuts));
        }
        let query = split.query.map_or(&[][..], |(a, b)| &text[a as usize..b as usize]);
        semicolons += usize::from(memchr::memchr(b';', query).is_some());
    }
    let mut out = Vec::new();
    if semicolons >= MIN_SEMICOLONS.max(total * MIN_SEMICOLONS_PERMILLE / 1000) {
        out.push(';');
    }
    let often = |count: usize| count >= MIN_URLS.max(total * MIN_PERMILLE / 1000);
    out.extend(seen.iter().zip(DELIMITERS).filter(|(n, _)| often(**n)).map(|(_, d)| char::from(d)));
    out
}

/// Good and bad of what the rules make of records that they were not learned from.
fn judge(outcome: &Outcome, records: &Training) -> (u64, u64) {
    let set = RuleSet::new(vec![outcome.rules.clone()]);
    let mut scratch = Scratch::default();
    let mut pages: Vec<(u64, u32)> = (0..records.len())
        .filter_map(|row| Some((records.normal(row)?, records.clusters[row])))
        .map(|(url, cluster)| (hash64(set.apply_normal(url, Some(0), &mut scratch).url), cluster))
        .collect();
    pages.sort_unstable();
    let (mut good, mut bad) = (0, 0);
    for page in pages.chunk_by(|a, b| a.0 == b.0) {
        let most = page.chunk_by(|a, b| a.1 == b.1).map(|run| run.len() as u64).max().unwrap_or(0);
        good += most - 1;
        bad += page.len() as u64 - most;
    }
    (good, bad)
}
