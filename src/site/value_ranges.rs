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
//! must hold on the other fifth, too. A number may end a value, behind text:
//! `10.msg17`.
//!
//! The posts of a topic are a group, and few of its predictions count, so that no topic decides for the site. Where no
//! other key names the topic (`viewtopic.php?pid=17`), all posts of a forum are one group: [there](is_of_many) each
//! page counts by itself, and more must be shown.
//!
//! The page of a range is one of its own URLs, or the page that represents their cluster. Where that
//! has a number that they lack (`page=2` in place of `post=17`), it is taken only if such numbers are
//! shown to ascend with those of the ranges ([`Leads`]): one label does not prove it.

use super::Thresholds;
use super::evidence::Bound;
use super::leads::Leads;
use super::points::{Point, Reader, Subject, Value, numbers};
use super::reduced::Identity;
use super::trials::{ONE, Trials};
use crate::model::hash64_seeded;
use crate::rules::value_ranges::{RangedKey, ValueRange};
use std::collections::BTreeSet;

/// Numbers of known values from which others are predicted: tried in turn, and chosen by hold-out. A bound of work.
const LEAST_VALUES: [usize; 5] = [2, 3, 5, 8, 12];

/// Proven statements about the values of one key.
struct Belief {
    /// Number of values of one cluster from which on all others of their group are taken to be of it.
    values: Option<usize>,
    /// A URL of the group without the key is one of them.
    absent: bool,
    /// In groups of few clusters: between two numbers of one cluster lie numbers of it, and this far beyond.
    between: Option<u64>,
    /// In groups of [many](is_of_many): between two numbers of one cluster lie numbers of it, and this far beyond.
    between_of_many: Option<u64>,
    /// This far below the smallest number of a group lie numbers of its cluster, where the URL without the
    /// key is of that, too: those of a first page.
    below: u64,
    evidence: (u64, u64, u64),
}

/// Finds the keys whose values are evidence on single pages. `best` is the identity that represents the
/// cluster of each identity; `page` is the URL that look-ups lead an identity to, and is called for the
/// identities that value ranges lead to.
pub fn learn(
    identities: &[Identity],
    reader: &mut Reader,
    best: &[usize],
    page: impl Fn(usize) -> Option<String>,
    thresholds: &Thresholds,
) -> Vec<RangedKey> {
    let subjects = reader.repeating(identities, thresholds.min_constant);
    if subjects.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (subject, points) in subjects.iter().zip(reader.points(identities, &subjects)) {
        let groups: Vec<&[Point]> = points.chunk_by(|a, b| a.group == b.group).filter(|g| g.len() > 1).collect();
        let Some(belief) = believe(&groups, thresholds) else { continue };
        let leads = Leads::new(&groups, |at| reader.lead(identities, subject, at, best[at]), thresholds);
        let mut pages = Vec::new();
        for group in groups {
            value_ranges(group, &belief, &leads, thresholds, |like, range| {
                let target = if leads.hold(like) { best[like as usize] } else { like as usize };
                if let Some(page) = page(target) {
                    let like = identities[like as usize].source.as_str().to_owned();
                    pages.push(ValueRange { like, range, page });
                }
            });
        }
        pages.sort();
        let (good, bad, clusters) = belief.evidence;
        let Subject { key, inner } = subject;
        out.push(RangedKey { key: key.to_string(), absent: belief.absent, inner: *inner, good, bad, clusters, pages });
    }
    out.retain(|local| !local.pages.is_empty());
    // Best proven first; ties by key.
    out.sort_by(|a, b| b.good.cmp(&a.good).then_with(|| (&a.key, a.inner).cmp(&(&b.key, b.inner))));
    out
}

fn is_fifth(group: u64) -> bool {
    hash64_seeded(&group.to_le_bytes(), 5).is_multiple_of(5)
}

fn believe(groups: &[&[Point]], thresholds: &Thresholds) -> Option<Belief> {
    let (bound, most) = (Bound::value_range(thresholds), thresholds.span_max_trials);
    let mut belief =
        Belief { values: None, absent: false, between: None, between_of_many: None, below: 0, evidence: (0, 0, 0) };
    let counted: Vec<Census> = groups.iter().map(|group| Census::new(group)).collect();
    for least in LEAST_VALUES {
        let mut sides = [Trials::default(), Trials::default()];
        let mut absent = Trials::default();
        for group in &counted {
            let side = &mut sides[usize::from(group.is_fifth)];
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
    let (many, few): (Vec<&[Point]>, Vec<&[Point]>) =
        groups.iter().copied().partition(|group| is_of_many(group, thresholds));
    for (groups, is_many) in [(few, false), (many, true)] {
        let bound = if is_many { Bound::value_range_of_many(thresholds) } else { bound };
        let mut between = Trials::default();
        groups.iter().for_each(|group| in_between(group, is_many, most, &mut between));
        if let Some(evidence) = between.holds(bound) {
            let reach = Some(distance(&groups, is_many, bound, thresholds));
            *(if is_many { &mut belief.between_of_many } else { &mut belief.between }) = reach;
            let of = belief.evidence;
            belief.evidence = (of.0 + evidence.0, of.1 + evidence.1, of.2.max(evidence.2));
        }
    }
    belief.below = below(groups, thresholds);
    let is_some = belief.values.is_some() || belief.between.is_some() || belief.between_of_many.is_some();
    is_some.then_some(belief)
}

/// The values of one group, counted by cluster.
struct Census {
    is_fifth: bool,
    values: usize,
    /// Values of the most frequent cluster.
    most: usize,
    /// The cluster of the first value, and its values.
    first: (Option<u32>, usize),
    has_absent: bool,
}

impl Census {
    fn new(group: &[Point]) -> Census {
        let mut labels: Vec<u32> = group.iter().filter_map(|p| p.label).collect();
        labels.sort_unstable();
        let runs = || labels.chunk_by(|a, b| a == b);
        let of_first = runs().find(|run| Some(run[0]) == group[0].label);
        Census {
            is_fifth: is_fifth(group[0].group),
            values: group.len(),
            most: runs().map(<[u32]>::len).max().unwrap_or(0),
            first: (group[0].label, of_first.map_or(0, <[u32]>::len)),
            has_absent: group[0].value == Value::Absent,
        }
    }
}

/// Each value predicted from the others, where at least `least` of these are of one cluster. In a group
/// of several clusters the values outside of the most frequent one are predicted wrongly: a sample of
/// the group may hold none of them. At most `most_trials` count.
fn all_alike(group: &Census, least: usize, most_trials: u64, trials: &mut Trials, absent: &mut Trials) {
    let &Census { values, most, first: (first, of_first), has_absent, .. } = group;
    if values <= least {
        return;
    }
    let weight = ONE * (values as u64).min(most_trials) / values as u64;
    if most == values {
        trials.add(first, weight * values as u64, 0);
        absent.add(first, if has_absent { ONE } else { 0 }, 0);
    } else if most >= least {
        trials.add(None, 0, weight * (values - most) as u64);
        absent.add(None, 0, if has_absent && of_first < most { ONE } else { 0 });
    }
}

/// Each number between two of one cluster; at most `most` of a group count, or of each of its clusters where it is of
/// [many](is_of_many).
fn in_between(group: &[Point], is_many: bool, most: u64, trials: &mut Trials) {
    let numbers = numbers(group);
    let tried = numbers.windows(3).filter(|w| w[0].1.is_some() && w[0].1 == w[2].1);
    let mut tried: Vec<(u32, bool, Option<u32>)> =
        tried.map(|w| (unit(w[0].1, is_many), w[1].1 == w[0].1, w[0].1)).collect();
    tried.sort_unstable();
    for of_unit in tried.chunk_by(|a, b| a.0 == b.0) {
        let weight = weight(of_unit.len(), most);
        for &(_, is_right, cluster) in of_unit {
            trials.add(cluster, if is_right { weight } else { 0 }, if is_right { 0 } else { weight });
        }
    }
}

/// Weight of each of so many predictions, of which at most `most` count.
fn weight(predictions: usize, most: u64) -> u64 {
    let count = predictions as u64;
    ONE * count.min(most) / count.max(1)
}

/// True for a group of so many clusters that each counts by itself: the posts of a whole forum, not of a topic. Posts
/// of other topics may lie between those of a page, so that more must show that none does.
fn is_of_many(group: &[Point], thresholds: &Thresholds) -> bool {
    let clusters: BTreeSet<u32> = group.iter().filter_map(|point| point.label).collect();
    clusters.len() >= thresholds.span_many_clusters
}

/// What a prediction of this cluster counts for: its group, or its cluster in a group of many.
fn unit(cluster: Option<u32>, is_many: bool) -> u32 {
    if is_many { cluster.unwrap_or(u32::MAX) } else { 0 }
}

/// How far below the smallest known number of a group its cluster reaches, where the URL without the key
/// is of that, too: judged by the smallest numbers, each predicted from the one above it.
fn below(groups: &[&[Point]], thresholds: &Thresholds) -> u64 {
    let mut trials = Vec::new();
    for group in groups {
        let numbers = numbers(group);
        let [smallest, above, ..] = numbers[..] else { continue };
        // The URL without the key may be the last page: that of the largest numbers.
        let of_first = |number: &(u64, Option<u32>, u32)| is_first(group, number.1);
        if !of_first(&smallest) && !of_first(&above) && numbers.iter().any(of_first) {
            trials.push((0, is_fifth(group[0].group), false, ONE, None));
        }
        if is_first(group, above.1) {
            trials.push((above.0 - smallest.0, is_fifth(group[0].group), smallest.1 == above.1, ONE, above.1));
        }
    }
    proven_distance(trials, Bound::value_range(thresholds), thresholds)
}

/// True where the URL of the group without the key is of this cluster.
fn is_first(group: &[Point], label: Option<u32>) -> bool {
    label.is_some() && group[0].value == Value::Absent && group[0].label == label
}

/// How far beyond a known number its cluster reaches, judged by the numbers that no two neighbours
/// agree on.
fn distance(groups: &[&[Point]], is_many: bool, bound: Bound, thresholds: &Thresholds) -> u64 {
    let mut trials = Vec::new();
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
        let tried = (0..numbers.len()).filter(|&i| apart(i)).filter_map(|i| Some((i, near(i)?)));
        let mut tried: Vec<(u32, u64, bool, Option<u32>)> = tried
            .map(|(i, (distance, label))| {
                (unit(label, is_many), distance, label.is_some() && label == numbers[i].1, label)
            })
            .collect();
        tried.sort_unstable();
        for of_unit in tried.chunk_by(|a, b| a.0 == b.0) {
            let weight = weight(of_unit.len(), thresholds.span_max_trials);
            let is_fifth = is_fifth(group[0].group ^ u64::from(of_unit[0].0));
            trials
                .extend(of_unit.iter().map(|&(_, distance, right, label)| (distance, is_fifth, right, weight, label)));
        }
    }
    proven_distance(trials, bound, thresholds)
}

/// A prediction: distance of the number that it is made from, whether it is of the fifth, whether it is
/// right, its weight, and its cluster.
type Trial = (u64, bool, bool, u64, Option<u32>);

/// The largest distance up to which predictions hold.
fn proven_distance(mut trials: Vec<Trial>, bound: Bound, thresholds: &Thresholds) -> u64 {
    trials.sort_unstable();
    let mut sides = [Trials::default(), Trials::default()];
    let mut best = 0;
    // Near ones say little of far ones.
    let is_right_far = |distance: u64| {
        let far = trials.iter().filter(|trial| trial.0 <= distance && trial.0 >= distance.div_ceil(2));
        let (all, right) = far.fold((0, 0), |sum, trial| (sum.0 + 1, sum.1 + u64::from(trial.2)));
        right * 100 >= all * thresholds.span_far_percent
    };
    for same in trials.chunk_by(|a, b| a.0 == b.0) {
        if same[0].0 > thresholds.span_max_distance {
            break;
        }
        for &(_, fifth, right, weight, label) in same {
            sides[usize::from(fifth)].add(label, if right { weight } else { 0 }, if right { 0 } else { weight });
        }
        if sides[0].holds(bound).is_some() && sides[1].confirmed(bound) && is_right_far(same[0].0) {
            best = same[0].0;
        }
    }
    best
}

/// The value ranges of a group: an identity of the page, and the numbers (`None`: any value).
fn value_ranges(
    group: &[Point],
    belief: &Belief,
    leads: &Leads,
    thresholds: &Thresholds,
    mut out: impl FnMut(u32, Option<[u64; 2]>),
) {
    let Some(like) = group.iter().find(|p| p.value != Value::Absent) else { return };
    let label = group[0].label;
    let below = |label| if is_first(group, label) { belief.below } else { 0 };
    if belief.values.is_some_and(|least| group.len() >= least)
        && label.is_some()
        && group.iter().all(|p| p.label == label)
    {
        // Numbers say nothing of words, nor of numbers far from them: those of pages that are not yet written.
        let range = |numbers: &[(u64, Option<u32>, u32)]| {
            let ([first, ..], [.., last]) = (numbers, numbers) else { return None };
            let distance = belief.between.unwrap_or(0);
            Some([first.0.saturating_sub(distance.max(below(label))), last.0.saturating_add(distance)])
        };
        return out(like.identity, range(&numbers(group)));
    }
    let between = if is_of_many(group, thresholds) { belief.between_of_many } else { belief.between };
    let Some(distance) = between else { return };
    let numbers = numbers(group);
    let runs: Vec<&[(u64, Option<u32>, u32)]> = numbers.chunk_by(|a, b| a.1 == b.1 && a.1.is_some()).collect();
    let ends = |run: &[(u64, Option<u32>, u32)]| (run[0].0, run[run.len() - 1].0);
    for (i, run) in runs.iter().enumerate().filter(|(_, run)| run[0].1.is_some()) {
        let (low, high) = ends(run);
        // A number in the middle between two pages is of neither.
        let half = |gap: u64| distance.min((gap - 1) / 2);
        let before = i.checked_sub(1).map_or_else(|| distance.max(below(run[0].1)), |j| half(low - ends(runs[j]).1));
        let behind = runs.get(i + 1).map_or(distance, |next| half(ends(next).0 - high));
        let range = [low.saturating_sub(before), high.saturating_add(behind)];
        // A number by itself says something of another page alone.
        if range[0] < range[1] || leads.hold(run[0].2) {
            out(run[0].2, Some(range));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group whose URL without the key is of cluster 2, and whose numbers are of these clusters.
    fn group(group: u64, numbers: &[(u64, u32)]) -> Vec<Point> {
        let point = |value, label| Point { group, value, label: Some(100 * group as u32 + label), identity: 0 };
        let numbers = numbers.iter().map(|&(number, label)| point(Value::Number(number), label));
        std::iter::once(point(Value::Absent, 2)).chain(numbers).collect()
    }

    fn distance_below(groups: &[Vec<Point>]) -> u64 {
        let groups: Vec<&[Point]> = groups.iter().map(Vec::as_slice).collect();
        below(&groups, &Thresholds::default())
    }

    #[test]
    fn numbers_below_are_of_a_first_page_and_not_of_a_last_one() {
        let first = |n: u64| group(n, &[(100, 2), (106, 2), (130, 3)]);
        let last = |n: u64| group(n, &[(10, 1), (12, 1), (20, 2), (25, 2)]);
        let mut groups: Vec<Vec<Point>> = (0..60).map(first).collect();
        assert_eq!(distance_below(&groups), 6);
        groups.extend((60..80).map(last));
        assert_eq!(distance_below(&groups), 0);
    }

    #[test]
    fn clusters_of_a_group_of_many_speak_each_for_themselves() {
        // The third of four numbers of the first clusters is of another.
        let evidence = |clusters: u32, strays: u32| {
            let of = |at: u32, n: u64| if n == 5 && at < strays { 1_000 + at } else { at };
            let of_cluster = |at: u32| [1, 3, 5, 7].map(|n| (u64::from(10 * at) + n, of(at, n)));
            let points = group(1, &(0..clusters).flat_map(of_cluster).collect::<Vec<(u64, u32)>>());
            believe(&[&points], &Thresholds::default()).map(|belief| belief.evidence)
        };
        // Two right predictions of each, for a bound of twice as many deviations; of 15 clusters four in all.
        assert_eq!([evidence(15, 0), evidence(64, 0), evidence(65, 0)], [None, None, Some((130, 0, 65))]);
        assert_eq!([evidence(160, 1), evidence(160, 2)], [Some((318, 1, 159)), None]);
    }

    #[test]
    fn near_numbers_say_nothing_of_far_ones() {
        let near = (0..60).map(|n| group(n, &[(100, 2), (103, 2)]));
        let far = (60..70).map(|n| group(n, &[(1, 1), (90, 2)]));
        assert_eq!(distance_below(&near.chain(far).collect::<Vec<_>>()), 3);
    }
}
