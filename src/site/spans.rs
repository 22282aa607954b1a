//! Value ranges of one key on one page: `post=17` and `post=29` of a topic are its second page, so
//! `post=21` is, too.
//!
//! A rule holds for all pages of a site; where only the training data show which values of a key mean
//! one page, the pages are listed. The URLs that the rules make are grouped by all their keys but one;
//! a group whose values are of one cluster is evidence that its other values are, too, and that numbers
//! between two numbers of one cluster are of it. This extends the look-ups of [`super::lookups`] beyond
//! the URLs seen, so it is proven on URLs not seen: each value is hidden in turn and predicted from the
//! others of its group (leave one out), and a key is believed only where that goes right. Parameters
//! (how many values make a group, how far a number reaches) are chosen on four fifths of the groups and
//! must hold on the other fifth, too. A number may stand at the end of a value, behind text:
//! `10.msg17`.

use super::Thresholds;
use super::columns::Ranks;
use super::evidence::Bound;
use super::lookups::Identity;
use crate::model::hash64_seeded;
use crate::rules::Tokens;
use crate::rules::spans::{Local, Span, inner_number, number, span_group};
use crate::url::{Cells, Cut, Fixed, Key, KeyRef, normalize, set_order};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Numbers of known values from which others are predicted: tried in turn, and chosen by hold-out.
const LEAST_VALUES: [usize; 5] = [2, 3, 5, 8, 12];
/// Weight of one prediction; parts of it are counted.
const ONE: u64 = 1000;

/// The value of the key under trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Absent,
    Number(u64),
    Text(u64),
}

/// One reduced URL in one group: all of it but one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    group: u64,
    value: Value,
    /// Its cluster; `None` for a page of several.
    label: Option<u32>,
    identity: u32,
}

/// Predictions of one kind.
#[derive(Clone, Debug, Default)]
struct Trials {
    bad: u64,
    /// Right ones by cluster.
    good: Vec<(u32, u64)>,
}

impl Trials {
    fn add(&mut self, label: Option<u32>, good: u64, bad: u64) {
        self.bad += bad;
        if let Some(label) = label.filter(|_| good > 0) {
            self.good.push((label, good));
        }
    }

    /// Right and wrong predictions and clusters; `None` where they do not hold.
    fn holds(&mut self, bound: Bound) -> Option<(u64, u64, u64)> {
        self.good.sort_unstable();
        let by_cluster: Vec<u64> =
            self.good.chunk_by(|a, b| a.0 == b.0).map(|run| run.iter().map(|g| g.1).sum()).collect();
        let sum: u64 = by_cluster.iter().sum();
        let capped: u64 = by_cluster.iter().map(|&c| c.min(sum.div_ceil(3))).sum();
        let bad = self.bad.div_ceil(ONE);
        let good = capped / ONE;
        let enough = good >= bound.min_constant && by_cluster.len() >= bound.min_clusters;
        (enough && bound.holds(good, bad, 0)).then_some((sum / ONE, bad, by_cluster.len() as u64))
    }

    /// True if the predictions also hold on the fifth that took no part in a choice.
    fn confirmed(&mut self, bound: Bound) -> bool {
        let good: u64 = self.good.iter().map(|g| g.1).sum::<u64>() / ONE;
        let few = self.bad.div_ceil(ONE) * 1000 <= bound.raw_permille.max(1) * (good + self.bad / ONE);
        good >= bound.min_constant && (few || self.bad == 0)
    }
}

/// Proven statements about the values of one key.
struct Belief {
    /// Number of values of one cluster from which on all others of their group are taken to be of it.
    values: Option<usize>,
    /// A URL of the group without the key is one of them.
    absent: bool,
    /// Between two numbers of one cluster lie numbers of it, and this far beyond.
    between: Option<u64>,
    evidence: (u64, u64, u64),
}

/// Finds the keys whose values are evidence on single pages. `page` is the identity whose canonical URL
/// represents the cluster of an identity; it is called for the identities that spans lead to.
pub fn learn(
    identities: &[Identity],
    reader: &mut Reader,
    page: impl Fn(usize) -> Option<String>,
    thresholds: &Thresholds,
) -> Vec<Local> {
    let subjects = reader.repeating(identities, thresholds.min_constant);
    if subjects.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (Subject { key, inner }, points) in subjects.iter().zip(reader.points(identities, &subjects)) {
        let groups: Vec<&[Point]> = points.chunk_by(|a, b| a.group == b.group).filter(|g| g.len() > 1).collect();
        let Some(belief) = believe(&groups, thresholds) else { continue };
        let mut pages = Vec::new();
        for group in groups {
            spans(group, &belief, |like, range, target| {
                if let Some(page) = page(target as usize) {
                    let like = String::from_utf8_lossy(&identities[like as usize].composed).into_owned();
                    pages.push(Span { like, range, page });
                }
            });
        }
        pages.sort();
        let (good, bad, clusters) = belief.evidence;
        out.push(Local { key: key.to_string(), absent: belief.absent, inner: *inner, good, bad, clusters, pages });
    }
    out.retain(|local| !local.pages.is_empty());
    // Best proven first; ties by key.
    out.sort_by(|a, b| b.good.cmp(&a.good).then_with(|| (&a.key, a.inner).cmp(&(&b.key, b.inner))));
    out
}

/// The part that tells URLs of one group apart: the value of a key, or the number at the end of the
/// value, behind text that is common to the group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    key: Key,
    inner: bool,
}

impl Subject {
    /// The group of a URL of this identity, the sum of the hashes of its pairs, and the value of the
    /// subject in it. `pair` is the hash and the value of the key.
    fn group(&self, identity: u64, pair: Option<(u64, &[u8])>) -> Option<(u64, Value)> {
        let seed = self.key.seed();
        match pair {
            Some((hash, value)) if self.inner => inner_point(identity, hash, value, seed),
            Some((hash, value)) => {
                let value = number(value).map_or(Value::Text(hash), Value::Number);
                Some((span_group(identity, hash, seed), value))
            }
            None if self.key.optional() && !self.inner => Some((span_group(identity, 0, seed), Value::Absent)),
            None => None,
        }
    }
}

/// The group of a value with an inner number, and the number.
fn inner_point(identity: u64, hash: u64, value: &[u8], seed: u64) -> Option<(u64, Value)> {
    let (text, number) = inner_number(value)?;
    // Another seed than that of whole values: the text may be one.
    let group = span_group(identity, hash, seed).wrapping_add(hash64_seeded(text, seed.rotate_left(7)));
    Some((group, Value::Number(number)))
}

/// Cuts reduced URLs.
pub struct Reader {
    cut: Cut,
    ranks: Ranks,
    cells: Cells,
}

impl Reader {
    /// A reader for URLs of a site that is cut with these tokens.
    pub fn new(tokens: &Tokens) -> Reader {
        Reader { cut: tokens.cut(), ranks: Ranks::new(tokens), cells: Cells::default() }
    }

    /// The values of parameters, and those of parts of the path, that are numbers; sorted.
    pub fn numbers(&mut self, url: &[u8]) -> Vec<Vec<u8>> {
        let mut cells = std::mem::take(&mut self.cells);
        let mut out = Vec::new();
        if self.read(url, &mut cells) {
            let counts = |key: KeyRef| !matches!(key, KeyRef::Fixed(fixed) if fixed.as_path().is_none());
            let values = cells.list.iter().filter(|cell| counts(cell.key)).map(|cell| cells.value(cell));
            out.extend(
                values.filter(|value| !value.is_empty() && value.iter().all(u8::is_ascii_digit)).map(<[u8]>::to_vec),
            );
            out.sort_unstable();
        }
        self.cells = cells;
        out
    }

    /// The values of a URL, by key; of a key that comes again the last. Empty for what is no URL.
    pub fn values(&mut self, url: &[u8]) -> HashMap<String, Vec<u8>, FixedState> {
        let mut cells = std::mem::take(&mut self.cells);
        let mut out = HashMap::default();
        if self.read(url, &mut cells) {
            out.extend(cells.list.iter().map(|cell| (cells.key(cell).to_string(), cells.value(cell).to_vec())));
        }
        self.cells = cells;
        out
    }

    fn read(&self, url: &[u8], cells: &mut Cells) -> bool {
        let Ok(split) = normalize(url, &mut cells.text) else { return false };
        cells.cut(&split, self.cut);
        set_order(cells, |cells, at| self.ranks.of(cells.seed(cells.list[at].key)));
        true
    }

    /// Subjects in which at least `least` identities of one cluster differ alone; sorted.
    fn repeating(&self, identities: &[Identity], least: u64) -> Vec<Subject> {
        let mut by_cluster: Vec<(u32, u32)> =
            (0..).zip(identities).filter(|(_, i)| i.pure).map(|(at, i)| (i.majority, at)).collect();
        by_cluster.sort_unstable();
        let mut cells = Cells::default();
        let mut found: Vec<((u64, bool), u64)> = Vec::new();
        let mut repeats: HashMap<(u64, bool), (Key, u64), FixedState> = HashMap::default();
        let mut names: HashMap<u64, Key, FixedState> = HashMap::default();
        for cluster in by_cluster.chunk_by(|a, b| a.0 == b.0).filter(|c| c.len() > 1) {
            found.clear();
            for &(_, at) in cluster {
                if !self.read(&identities[at as usize].composed, &mut cells) {
                    continue;
                }
                let hashes: Vec<(u64, u64)> = hashes(&cells);
                let identity = hashes.iter().fold(0u64, |sum, h| sum.wrapping_add(h.1));
                for (cell, &(seed, hash)) in cells.list.iter().zip(&hashes) {
                    found.push(((seed, false), span_group(identity, hash, seed)));
                    let inner = inner_point(identity, hash, cells.value(cell), seed);
                    found.extend(inner.map(|(group, _)| ((seed, true), group)));
                    names.entry(seed).or_insert_with(|| cells.key(cell));
                }
            }
            found.sort_unstable();
            for same in found.chunk_by(|a, b| a == b).filter(|s| s.len() > 1) {
                let subject = same[0].0;
                repeats.entry(subject).or_insert_with(|| (names[&subject.0].clone(), 0)).1 += same.len() as u64 - 1;
            }
        }
        let mut subjects: Vec<Subject> = repeats
            .into_iter()
            .filter(|(_, (key, n))| eligible(key) && *n >= least)
            .map(|((_, inner), (key, _))| Subject { key, inner })
            .collect();
        subjects.sort_unstable();
        subjects
    }

    /// The points of each subject, sorted; groups that only URLs without the key are in have one.
    fn points(&self, identities: &[Identity], subjects: &[Subject]) -> Vec<Vec<Point>> {
        let seeds: Vec<u64> = subjects.iter().map(|subject| subject.key.seed()).collect();
        let mut out: Vec<Vec<Point>> = vec![Vec::new(); subjects.len()];
        let mut cells = Cells::default();
        for (at, identity) in (0..).zip(identities) {
            if !self.read(&identity.composed, &mut cells) {
                continue;
            }
            let hashes = hashes(&cells);
            let sum = hashes.iter().fold(0u64, |sum, h| sum.wrapping_add(h.1));
            let label = identity.pure.then_some(identity.majority);
            for (k, &seed) in seeds.iter().enumerate() {
                let at_key = hashes.iter().position(|h| h.0 == seed);
                let pair = at_key.map(|i| (hashes[i].1, cells.value(&cells.list[i])));
                let point = subjects[k].group(sum, pair);
                out[k].extend(point.map(|(group, value)| Point { group, value, label, identity: at }));
            }
        }
        out.iter_mut().for_each(|points| points.sort_unstable());
        out
    }
}

fn hashes(cells: &Cells) -> Vec<(u64, u64)> {
    let pair = |cell: &crate::url::Cell| {
        let seed = cells.seed(cell.key);
        (seed, hash64_seeded(cells.value(cell), seed))
    };
    cells.list.iter().map(pair).collect()
}

/// Keys whose values may mean one page here and several there.
fn eligible(key: &Key) -> bool {
    key.optional() || key.as_path().is_some() || key.is(Fixed::EXTENSION) || key.is(Fixed::FRAGMENT)
}

fn is_fifth(group: u64) -> bool {
    hash64_seeded(&group.to_le_bytes(), 5).is_multiple_of(5)
}

fn believe(groups: &[&[Point]], thresholds: &Thresholds) -> Option<Belief> {
    let (bound, most) = (Bound::span(thresholds), thresholds.span_max_trials);
    let mut belief = Belief { values: None, absent: false, between: None, evidence: (0, 0, 0) };
    for least in LEAST_VALUES {
        let mut sides = [Trials::default(), Trials::default()];
        let mut absent = Trials::default();
        for group in groups {
            let side = &mut sides[usize::from(is_fifth(group[0].group))];
            all_alike(group, least, most, side, &mut absent);
        }
        let [mut chosen, mut fifth] = sides;
        if let Some(evidence) = chosen.holds(bound).filter(|_| fifth.confirmed(bound)) {
            belief.values = Some(least);
            belief.absent = absent.holds(bound).is_some();
            belief.evidence = evidence;
            break;
        }
    }
    let mut between = Trials::default();
    groups.iter().for_each(|group| in_between(group, most, &mut between));
    if let Some(evidence) = between.holds(bound) {
        belief.between = Some(distance(groups, thresholds));
        let of = belief.evidence;
        belief.evidence = (of.0 + evidence.0, of.1 + evidence.1, of.2.max(evidence.2));
    }
    (belief.values.is_some() || belief.between.is_some()).then_some(belief)
}

/// Each value predicted from the others, where at least `least` of these are of one cluster. In a group
/// of several clusters the values outside of the most frequent one are predicted wrongly: a sample of
/// the group may hold none of them. At most `most_trials` count.
fn all_alike(group: &[Point], least: usize, most_trials: u64, trials: &mut Trials, absent: &mut Trials) {
    if group.len() <= least {
        return;
    }
    let of = |label: Option<u32>| group.iter().filter(|p| label.is_some() && p.label == label).count();
    let most = group.iter().map(|p| of(p.label)).max().unwrap_or(0);
    let weight = ONE * (group.len() as u64).min(most_trials) / group.len() as u64;
    let (first, has_absent) = (group[0].label, group[0].value == Value::Absent);
    if most == group.len() {
        trials.add(first, weight * group.len() as u64, 0);
        absent.add(first, if has_absent { ONE } else { 0 }, 0);
    } else if most >= least {
        trials.add(None, 0, weight * (group.len() - most) as u64);
        absent.add(None, 0, if has_absent && of(first) < most { ONE } else { 0 });
    }
}

/// The points of a group that are numbers.
fn numbers(group: &[Point]) -> Vec<(u64, Option<u32>, u32)> {
    let number = |p: &Point| match p.value {
        Value::Number(n) => Some((n, p.label, p.identity)),
        _ => None,
    };
    group.iter().filter_map(number).collect()
}

/// Each number between two of one cluster; at most `most` count.
fn in_between(group: &[Point], most: u64, trials: &mut Trials) {
    let numbers = numbers(group);
    let tried = || numbers.windows(3).filter(|w| w[0].1.is_some() && w[0].1 == w[2].1);
    let count = tried().count() as u64;
    if count == 0 {
        return;
    }
    let weight = ONE * count.min(most) / count;
    for window in tried() {
        let right = window[1].1 == window[0].1;
        trials.add(window[0].1, if right { weight } else { 0 }, if right { 0 } else { weight });
    }
}

/// How far beyond a known number its cluster reaches, judged by the numbers that no two neighbours
/// agree on.
fn distance(groups: &[&[Point]], thresholds: &Thresholds) -> u64 {
    let (bound, most) = (Bound::span(thresholds), thresholds.span_max_trials);
    // Distance, in the fifth, right, weight, cluster.
    let mut trials: Vec<(u64, bool, bool, u64, Option<u32>)> = Vec::new();
    for group in groups {
        let numbers = numbers(group);
        let apart = |i: usize| i == 0 || i + 1 == numbers.len() || numbers[i - 1].1 != numbers[i + 1].1;
        let near = |i: usize| {
            let before = i.checked_sub(1).map(|j| (numbers[i].0 - numbers[j].0, numbers[j].1));
            let after = numbers.get(i + 1).map(|n| (n.0 - numbers[i].0, n.1));
            match (before, after) {
                (Some(a), Some(b)) if a.0 == b.0 && a.1 != b.1 => None,
                (Some(a), Some(b)) => Some(if a.0 <= b.0 { a } else { b }),
                (a, b) => a.or(b),
            }
        };
        let tried: Vec<(u64, bool, Option<u32>)> = (0..numbers.len())
            .filter(|&i| apart(i))
            .filter_map(|i| {
                near(i).map(|(distance, label)| (distance, label.is_some() && label == numbers[i].1, label))
            })
            .collect();
        let weight = ONE * (tried.len() as u64).min(most) / (tried.len() as u64).max(1);
        let fifth = is_fifth(group[0].group);
        trials.extend(tried.into_iter().map(|(distance, right, label)| (distance, fifth, right, weight, label)));
    }
    trials.sort_unstable();
    let mut sides = [Trials::default(), Trials::default()];
    let mut best = 0;
    for same in trials.chunk_by(|a, b| a.0 == b.0) {
        if same[0].0 > thresholds.span_max_distance {
            break;
        }
        for &(_, fifth, right, weight, label) in same {
            sides[usize::from(fifth)].add(label, if right { weight } else { 0 }, if right { 0 } else { weight });
        }
        if sides[0].holds(bound).is_some() && sides[1].confirmed(bound) {
            best = same[0].0;
        }
    }
    best
}

/// The spans of a group: a URL of the group, the numbers (`None`: any value), an identity of the page.
fn spans(group: &[Point], belief: &Belief, mut out: impl FnMut(u32, Option<[u64; 2]>, u32)) {
    let Some(like) = group.iter().find(|p| p.value != Value::Absent) else { return };
    let label = group[0].label;
    if belief.values.is_some_and(|least| group.len() >= least)
        && label.is_some()
        && group.iter().all(|p| p.label == label)
    {
        // Numbers say nothing of words, nor of numbers far from them: those of pages that are not yet written.
        let range = |numbers: &[(u64, Option<u32>, u32)]| {
            let ([first, ..], [.., last]) = (numbers, numbers) else { return None };
            let reach = belief.between.unwrap_or(0);
            Some([first.0.saturating_sub(reach), last.0.saturating_add(reach)])
        };
        return out(like.identity, range(&numbers(group)), like.identity);
    }
    let Some(reach) = belief.between else { return };
    let numbers = numbers(group);
    let runs: Vec<&[(u64, Option<u32>, u32)]> = numbers.chunk_by(|a, b| a.1 == b.1 && a.1.is_some()).collect();
    let ends = |run: &[(u64, Option<u32>, u32)]| (run[0].0, run[run.len() - 1].0);
    for (i, run) in runs.iter().enumerate().filter(|(_, run)| run[0].1.is_some()) {
        let (low, high) = ends(run);
        // A number in the middle between two pages is of neither.
        let half = |gap: u64| reach.min((gap - 1) / 2);
        let below = i.checked_sub(1).map_or(reach, |j| half(low - ends(runs[j]).1));
        let above = runs.get(i + 1).map_or(reach, |next| half(ends(next).0 - high));
        let range = [low.saturating_sub(below), high.saturating_add(above)];
        if range[0] < range[1] {
            out(run[0].2, Some(range), run[0].2);
        }
    }
}
