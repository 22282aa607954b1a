//! Whether a site cuts path segments at `:`, `,`, `=` or `!`, its query at `;` or `?`, a path in its query, a
//! number or a word at the end of a path, a number inside a segment, the value of a parameter at its last part, and
//! names of query keys into families: decided by hold-out.
//!
//! `words:verbs:repel` is a page in a namespace on one site and a title on the next. More cuts make
//! more keys, and more keys a larger space of rules: in the prototype cuts chosen on the records that
//! the rules were learned from merged 72 % of the wrong pairs on a site of another kind. So the choice
//! is made apart: rules are learned on half of the clusters with and without a cut, and the cut is
//! taken only if on the other half, of which no rule has seen a record, it joins clearly more and
//! nothing that is wrong.

use super::undust::learn_tokenized;
use super::{Outcome, Params, Thresholds, Training, endings, value_ends};
use crate::model::{hash64, hash64_seeded};
use crate::rules::{RuleSet, Scratch, Tokens};
use crate::url::keys::family;
use crate::url::{DELIMITERS, Endings, KeyValues, Tokenizer, ValueEnds, begins_with_list, segment};
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Rows of the clusters that the choice is made on, about: a bound of work.
const SAMPLE: usize = 5_000;

/// `tokens` with the cuts of a site: those of the earlier result that enough URLs show, but for one without
/// which clearly more is joined on the other half, or less that is wrong. URLs that are cut otherwise get other
/// rules and other canonical URLs.
pub fn choose(training: &Training, mut tokens: Tokens, params: &Params) -> Tokens {
    let thresholds = &params.thresholds;
    let every = training.len().div_ceil(SAMPLE).max(1) as u64;
    let hash = |row: usize| hash64(&training.clusters[row].to_le_bytes());
    let sample = |row: usize| training.clusters[row] != u32::MAX && hash(row).is_multiple_of(every);
    let previous = training.hints.previous.as_deref().map(|rules| &rules.tokens).filter(|of| !of.published);
    let candidates = candidates(training, sample, previous, thresholds);
    let is_kept = |candidate: &&TokenChoice| previous.is_some_and(|previous| candidate.is_in(previous));
    candidates.iter().filter(is_kept).for_each(|candidate| candidate.turn(&mut tokens));
    let has_semicolons = candidates.iter().any(|of| matches!(of, TokenChoice::Semicolons));
    let pairs = has_semicolons && are_pairs(training, sample, thresholds);
    tokens.semicolons |= pairs;
    if candidates.is_empty() {
        return tokens;
    }
    let rows = training.subset(sample);
    // Another hash than the one that chose the sample.
    let fold = |cluster: u32| hash64_seeded(&cluster.to_le_bytes(), 2) % thresholds.cut_folds;
    let others = |at: u64| rows.subset(|row| fold(rows.clusters[row]) != at);
    let folds: Vec<(u64, Training)> = (0..thresholds.cut_folds).map(|at| (at, others(at))).collect();
    let trial = |tokens: &Tokens| {
        let judged = folds.iter().map(|(at, others)| {
            let outcome = learn_tokenized(others.clone(), tokens.clone(), params);
            judge(&outcome, &rows, |cluster| fold(cluster) == *at)
        });
        judged.fold((0, 0), |sum, found| (sum.0 + found.0, sum.1 + found.1))
    };
    let mut best = trial(&tokens);
    let least = thresholds.cut_min_gain.max(rows.len() as u64 * thresholds.cut_min_gain_permille / 1000);
    for candidate in candidates {
        let (mut other, is_on) = (tokens.clone(), candidate.is_in(&tokens));
        candidate.turn(&mut other);
        let found = trial(&other);
        let (more_bad, less_bad) = (found.1.saturating_sub(best.1), best.1.saturating_sub(found.1));
        let cost = thresholds.cut_bad_cost;
        let gained = found.0 + cost * saved_from_wrong(best, found, thresholds.noise_deviations);
        // What would have to bring more to be put on, for what it merges wrongly, is not kept, either.
        let is_harmful = is_on && less_bad > 0 && found.0 + cost * less_bad >= best.0;
        let is_sure = is_on && pairs && matches!(candidate, TokenChoice::Semicolons);
        if is_harmful || !is_sure && gained >= best.0 + least + cost * more_bad {
            (best, tokens) = (found, other);
        }
    }
    tokens
}

/// Wrong merges that other cuts (`found`, right and wrong) avoid, beyond what fewer merges and chance explain: of wrong
/// labels, those that join less have fewer, too.
fn saved_from_wrong(best: (u64, u64), found: (u64, u64), deviations: u64) -> u64 {
    let expected = (u128::from(best.1) * u128::from(found.0.min(best.0)) / u128::from(best.0.max(1))) as u64;
    expected.saturating_sub(found.1).saturating_sub(deviations * expected.isqrt())
}

/// True where half of the queries or more have `;`, and nearly all of these (`cut_pairs_percent`) are pairs of name and
/// value between them: taken for one value, leaving out the first parameter would leave out all. The cut is then taken
/// unless the hold-out shows that it merges wrongly.
fn are_pairs(training: &Training, sample: impl Fn(usize) -> bool, thresholds: &Thresholds) -> bool {
    let is_name =
        |name: &[u8]| !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(b));
    let is_pair = |part: &[u8]| memchr::memchr(b'=', part).is_some_and(|at| is_name(&part[..at]));
    let (mut pairs, mut all, mut queries) = (0, 0, 0);
    for url in (0..training.len()).filter(|&row| sample(row)).filter_map(|row| training.normal(row)) {
        let (text, query) = (url.as_bytes(), url.split().query);
        let query = query.map_or(&[][..], |(a, b)| &text[a as usize..b as usize]);
        let query = query.strip_prefix(b"?").unwrap_or(query);
        queries += usize::from(!query.is_empty());
        if memchr::memchr(b';', query).is_some() {
            all += 1;
            pairs += usize::from(query.split(|b| matches!(b, b';' | b'&')).all(is_pair));
        }
    }
    pairs > 0 && all * 2 >= queries && pairs * 100 >= all * thresholds.cut_pairs_percent
}

/// A way to cut the URLs of a site.
#[derive(Clone, Debug)]
enum TokenChoice {
    /// [`Tokens::semicolons`].
    Semicolons,
    /// [`Tokens::nested_queries`].
    NestedQueries,
    /// [`Tokens::commas`].
    Commas,
    /// [`Tokens::query_path`].
    QueryPath,
    /// [`Tokens::numbered_end`].
    NumberedEnd,
    /// [`Tokens::endings`]: these.
    Endings(Vec<String>),
    /// One of [`Tokens::value_ends`].
    ValueEnd(String),
    /// [`Tokens::inner_numbers`].
    InnerNumbers,
    /// [`Tokens::name_families`].
    NameFamilies,
    /// One of [`Tokens::delimiters`].
    Delimiter(char),
}

impl TokenChoice {
    fn is_in(&self, tokens: &Tokens) -> bool {
        match self {
            TokenChoice::Semicolons => tokens.semicolons,
            TokenChoice::NestedQueries => tokens.nested_queries,
            TokenChoice::Commas => tokens.commas,
            TokenChoice::QueryPath => tokens.query_path,
            TokenChoice::NumberedEnd => tokens.numbered_end,
            TokenChoice::Endings(words) => tokens.endings == *words,
            TokenChoice::ValueEnd(end) => tokens.value_ends.contains(end),
            TokenChoice::InnerNumbers => tokens.inner_numbers,
            TokenChoice::NameFamilies => tokens.name_families,
            TokenChoice::Delimiter(delimiter) => tokens.delimiters.contains(*delimiter),
        }
    }

    /// Puts the cut on where it is off, and takes it off where it is on.
    fn turn(&self, tokens: &mut Tokens) {
        match self {
            TokenChoice::Semicolons => tokens.semicolons ^= true,
            TokenChoice::NestedQueries => tokens.nested_queries ^= true,
            TokenChoice::Commas => tokens.commas ^= true,
            TokenChoice::QueryPath => tokens.query_path ^= true,
            TokenChoice::NumberedEnd => tokens.numbered_end ^= true,
            TokenChoice::Endings(_) if self.is_in(tokens) => tokens.endings.clear(),
            TokenChoice::Endings(words) => tokens.endings.clone_from(words),
            TokenChoice::ValueEnd(end) if self.is_in(tokens) => tokens.value_ends.retain(|of| of != end),
            TokenChoice::ValueEnd(end) => {
                tokens.value_ends.push(end.clone());
                tokens.value_ends.sort_unstable();
            }
            TokenChoice::InnerNumbers => tokens.inner_numbers ^= true,
            TokenChoice::NameFamilies => tokens.name_families ^= true,
            TokenChoice::Delimiter(delimiter) if self.is_in(tokens) => tokens.delimiters.retain(|of| of != *delimiter),
            TokenChoice::Delimiter(delimiter) => tokens.delimiters.push(*delimiter),
        }
    }
}

/// The cuts that would change how enough URLs are cut.
fn candidates(
    training: &Training,
    sample: impl Fn(usize) -> bool,
    previous: Option<&Tokens>,
    thresholds: &Thresholds,
) -> Vec<TokenChoice> {
    let (mut semicolons, mut nested_queries, mut query_paths, mut numbered, mut inner) = (0, 0, 0, 0, 0);
    let mut lists = 0;
    let mut seen = [0usize; DELIMITERS.len()];
    let (mut families, mut total) = (Families::new(thresholds.cut_family_names), 0);
    let mut pairs = KeyValues::default();
    for row in (0..training.len()).filter(|&row| sample(row)) {
        total += 1;
        let Some(normal) = training.normal(row) else { continue };
        let (text, split) = (normal.as_bytes(), normal.split());
        pairs.text.clear();
        pairs.text.extend_from_slice(text);
        let (path, _) = pairs.path_of(split, Tokenizer { query_path: true, ..Tokenizer::default() });
        query_paths += usize::from(path != split.path);
        let last = text[path.0 as usize..path.1 as usize].rsplit(|&b| b == b'/').next().unwrap_or_default();
        numbered += usize::from(segment::numbered(last).is_some());
        let path = &text[split.path.0 as usize..split.path.1 as usize];
        inner += usize::from(path.split(|&b| b == b'/').any(|segment| segment::inner_number(segment).0 > 0));
        for (count, delimiter) in seen.iter_mut().zip(DELIMITERS) {
            let cuts = |w: &[u8]| w[1] == delimiter && w[0].is_ascii_alphanumeric() && w[2].is_ascii_alphanumeric();
            *count += usize::from(path.windows(3).any(cuts));
        }
        let query = split.query.map_or(&[][..], |(a, b)| &text[a as usize..b as usize]);
        semicolons += usize::from(memchr::memchr(b';', query).is_some());
        nested_queries += usize::from(memchr::memchr(b'?', query).is_some());
        lists += usize::from(begins_with_list(query));
        families.add(query);
    }
    let often = |count: usize| count >= thresholds.cut_min_urls.max(total * thresholds.cut_min_permille / 1000);
    let few = total * thresholds.cut_min_semicolons_permille / 1000;
    let delimiter = |(&count, of): (&usize, u8)| (TokenChoice::Delimiter(char::from(of)), often(count));
    // The endings of the earlier result, and these with new ones.
    let mut kept = previous.map(|of| of.endings.clone()).unwrap_or_default();
    kept.retain(|word| endings::occurs(word, training, &sample));
    let mut words = kept.clone();
    words.extend(endings::find(training, &sample, thresholds).into_iter().filter(|word| !kept.contains(word)));
    words.truncate(Endings::MOST);
    words.sort_unstable();
    let is_more = words.len() > kept.len();
    let mut with_feeds = words.clone();
    with_feeds
        .extend(endings::of_feeds(training, &sample, thresholds).into_iter().filter(|word| !words.contains(word)));
    with_feeds.truncate(Endings::MOST);
    with_feeds.sort_unstable();
    let has_feeds = with_feeds.len() > words.len();
    // A path in a query comes before its last segment.
    let others = [
        (TokenChoice::Semicolons, semicolons >= thresholds.cut_min_semicolons.max(few)),
        (TokenChoice::NestedQueries, nested_queries >= thresholds.cut_min_semicolons.max(few)),
        (TokenChoice::Commas, often(lists)),
        (TokenChoice::QueryPath, often(query_paths)),
        (TokenChoice::NumberedEnd, often(numbered)),
        (TokenChoice::Endings(kept.clone()), !kept.is_empty()),
        (TokenChoice::Endings(words), is_more),
        (TokenChoice::Endings(with_feeds), has_feeds),
        (TokenChoice::InnerNumbers, often(inner)),
        (TokenChoice::NameFamilies, often(families.urls())),
    ];
    let mut ends = previous.map(|of| of.value_ends.clone()).unwrap_or_default();
    ends.retain(|end| value_ends::occurs(end, training, &sample, often));
    let new = value_ends::find(training, &sample, often, thresholds);
    ends.extend(new.into_iter().filter(|end| !ends.contains(end)).collect::<Vec<_>>());
    ends.truncate(ValueEnds::MOST);
    let ends = ends.into_iter().map(|end| (TokenChoice::ValueEnd(end), true));
    let all = others.into_iter().chain(ends).chain(seen.iter().zip(DELIMITERS).map(delimiter));
    all.filter(|(_, is_candidate)| *is_candidate).map(|(candidate, _)| candidate).collect()
}

/// Families of query names.
#[derive(Debug)]
struct Families {
    /// The names of each family, at most `least`, and the URLs that have one.
    of: HashMap<Vec<u8>, (Vec<u64>, usize), FixedState>,
    /// Names below which a family is none.
    least: usize,
}

impl Families {
    fn new(least: usize) -> Families {
        Families { of: HashMap::default(), least }
    }

    /// Counts the names of one query.
    fn add(&mut self, query: &[u8]) {
        for parameter in query.split(|b| matches!(b, b'&' | b';')) {
            let length = memchr::memchr(b'=', parameter).map_or(parameter.len(), |at| at + 1);
            let mut name = parameter[..length].to_vec();
            if !family(&mut name, 0..length) {
                continue;
            }
            let (names, urls) = self.of.entry(name.split_off(length)).or_default();
            let name = hash64(&name);
            if names.len() < self.least && !names.contains(&name) {
                names.push(name);
            }
            *urls += 1;
        }
    }

    /// Parameters of the most frequent family of enough names.
    fn urls(&self) -> usize {
        self.of.values().filter(|family| family.0.len() >= self.least).map(|family| family.1).max().unwrap_or(0)
    }
}

/// Good and bad of what the rules make of the records of `sample` that `is_held_out` names, which they
/// were not learned from, in their groups among all of the sample: a page and the page that it is
/// merged with wrongly are mostly held out at different times.
fn judge(outcome: &Outcome, sample: &Training, is_held_out: impl Fn(u32) -> bool) -> (u64, u64) {
    let set = RuleSet::new(vec![outcome.rules.clone()]);
    let mut scratch = Scratch::default();
    let mut pages: Vec<(u64, u32)> = (0..sample.len())
        .filter_map(|row| Some((sample.normal(row)?, sample.clusters[row])))
        .map(|(url, cluster)| (hash64(set.apply_normal(url, Some(0), &mut scratch).url), cluster))
        .collect();
    pages.sort_unstable();
    let (mut good, mut bad) = (0, 0);
    for page in pages.chunk_by(|a, b| a.0 == b.0) {
        let runs = || page.chunk_by(|a, b| a.1 == b.1);
        let Some(most) = runs().max_by_key(|run| (run.len(), Reverse(run[0].1))) else { continue };
        let held_out = runs().filter(|run| is_held_out(run[0].1)).map(|run| run.len() as u64).sum::<u64>();
        match is_held_out(most[0].1) {
            true => (good, bad) = (good + most.len() as u64 - 1, bad + (page.len() - most.len()) as u64),
            false => bad += held_out,
        }
    }
    (good, bad)
}

#[cfg(test)]
mod tests {
    use super::saved_from_wrong;

    #[test]
    fn less_is_wrong_only_beyond_fewer_merges_and_chance() {
        let saved = |best, found| saved_from_wrong(best, found, 1);
        assert_eq!(saved((944, 42), (913, 13)), 40 - 13 - 6);
        // Of wrong labels those that join less have fewer, those that join nothing none.
        assert_eq!([saved((1_000, 50), (900, 45)), saved((1_000, 50), (0, 0))], [0, 0]);
        // Joining more excuses nothing, and no merges at all divide nothing.
        assert_eq!([saved((900, 9), (1_000, 10)), saved((0, 4), (0, 0)), saved((0, 0), (9, 0))], [0, 0, 0]);
        assert_eq!(saved((900, 40), (1_000, 10)), 40 - 10 - 6);
    }
}
