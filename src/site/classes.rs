//! Value classes: values of one key that mean the same (python ~ python-3.11, absent ~ a default value,
//! mirrors).

use super::choices;
use super::choices::Choices;
use super::conditions;
use super::covering::Covering;
use super::evidence::Bound;
use super::operations;
use super::proposal::{Action, Condition, EvidenceTable, Proposal, Scope};
use super::section_pairs::{self, BySection};
use crate::url::Fixed;
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Most frequent values of a key that are compared: a bound of work.
const VALUES: usize = 16;
/// Most frequent hosts that are compared, a bound of work: more than of other keys, since sites have many
/// mirrors.
const HOSTS: usize = 40;
/// Members of a group that are compared with each other, by distance in the group: a bound of work.
const NEAR: usize = 15;
/// Most conditions under which classes of one key are searched: a bound of work.
const TOP_CONDITIONS: usize = 8;
/// Most conditional classes proposed for one key in one pass, a bound of work: the next pass searches again.
const TOP: usize = 4;

/// Classes of the key that `table` ignores, over all rows.
pub fn everywhere(covering: &Covering, table: &EvidenceTable) -> Option<Proposal> {
    find(covering, &frequent(covering, table.keys[0]), table, |_| true, Vec::new(), 0)
}

/// Classes of the key that `table` ignores, under one condition each.
pub fn conditional(covering: &Covering, table: &EvidenceTable, conditions: &[Choices]) -> Vec<Proposal> {
    let (columns, least) = (&covering.columns, covering.thresholds.classes_min_near);
    let mut near: Vec<(u64, usize, Condition)> = Vec::new();
    for choices in conditions.iter().filter(|c| !table.keys.contains(&c.key)) {
        for (condition, good, bad) in choices::totals(columns, table, choices, |good| good >= least) {
            if good > bad {
                near.push((good - bad, choices.key, condition.clone()));
            }
        }
    }
    near.sort_by_key(|n| Reverse(n.0));
    near.truncate(TOP_CONDITIONS);
    if near.is_empty() {
        return Vec::new();
    }
    let (top, tried) = (frequent(covering, table.keys[0]), conditions::tried(conditions, table));
    let mut out: Vec<Proposal> = near
        .into_iter()
        .filter_map(|(_, k, condition)| {
            let codes = &columns.codes[k];
            let holds = condition.clone();
            find(covering, &top, table, |row| holds.holds(codes[row as usize]), vec![(k, condition)], tried)
        })
        .collect();
    out.sort_by_key(|p| Reverse(p.score));
    out.truncate(TOP);
    out
}

/// The most frequent values of a key, by falling count, ties by value; the absent key last.
fn frequent(covering: &Covering, key: usize) -> Vec<u32> {
    let columns = &covering.columns;
    let (name, counts) = (&columns.keys[key], &covering.counts[key]);
    let rank = |a: &u32, b: &u32| {
        counts[*b as usize].cmp(&counts[*a as usize]).then_with(|| columns.value(key, *a).cmp(columns.value(key, *b)))
    };
    let most = if name.is(Fixed::HOST) { HOSTS } else { VALUES };
    let mut top: Vec<u32> = (0..counts.len() as u32).filter(|&code| counts[code as usize] > 0).collect();
    if top.len() > most {
        top.select_nth_unstable_by(most, rank);
        top.truncate(most);
    }
    top.sort_by(rank);
    // An absent part of a path is another shape of URL, not another value; elsewhere absence is always
    // compared.
    top.retain(|&code| code != 0);
    if name.as_path().is_none() && counts[0] > 0 {
        top.push(0);
    }
    top
}

/// Classes from the pairs of frequent values that meet in groups, of one cluster or of two. `top` are the values as
/// [`frequent`] gives them; `tried` the number of scopes that this one was chosen from.
fn find(
    covering: &Covering,
    top: &[u32],
    table: &EvidenceTable,
    in_scope: impl Fn(u32) -> bool,
    scope: Scope,
    tried: usize,
) -> Option<Proposal> {
    let key = table.keys[0];
    let is_host = covering.columns.keys[key].is(Fixed::HOST);
    let prior = if is_host { covering.thresholds.host_prior } else { 0 };
    let search = Search { covering, top, table, key, in_scope, is_everywhere: scope.is_empty(), tried, prior };
    let classes = search.unite(search.pairs());
    (classes.gain > 0).then(|| Proposal {
        scope,
        action: Action::Classes,
        keys: vec![key],
        classes: Some(vec![search.map(&classes.of)]),
        prior: classes.prior,
        score: classes.gain as i64,
    })
}

/// Two values, the smaller code first.
type Pair = (u32, u32);
/// Of each pair the groups in which it is of two clusters, and of one.
type Counts = HashMap<Pair, [u64; 2], FixedState>;

/// What the groups show of pairs of values.
#[derive(Default)]
struct Pairs {
    in_scope: Counts,
    outside: Counts,
    /// Those of each section; the scope of a condition is not divided.
    by_section: HashMap<Pair, BySection, FixedState>,
    /// Clusters that show a pair, as many as its prior needs.
    shown: HashMap<Pair, Vec<u32>, FixedState>,
}

/// Values that mean the same.
struct Classes {
    /// Class of each value in `top`, named by one of its values.
    of: Vec<u32>,
    /// Groups of one cluster that the united pairs make.
    gain: u64,
    prior: u64,
}

/// A search for classes of one key.
struct Search<'a, F> {
    covering: &'a Covering,
    top: &'a [u32],
    table: &'a EvidenceTable,
    key: usize,
    in_scope: F,
    /// The scope is empty.
    is_everywhere: bool,
    tried: usize,
    prior: u64,
}

impl<F: Fn(u32) -> bool> Search<'_, F> {
    /// Counts the pairs that meet.
    fn pairs(&self) -> Pairs {
        let (columns, groups) = (&self.covering.columns, &self.table.groups);
        let most_shown = self.covering.thresholds.substitution_min_clusters;
        let codes = &columns.codes[self.key];
        let mut frequent = vec![false; columns.codes_len(self.key)];
        self.top.iter().for_each(|&code| frequent[code as usize] = true);
        let mut out = Pairs::default();
        let mut members = Vec::new();
        for group in 0..groups.len() {
            let in_scope = (self.in_scope)(groups.first(group));
            let of_group = if in_scope { &mut out.in_scope } else { &mut out.outside };
            let is_frequent = |row: &u32| frequent[codes[*row as usize] as usize];
            members.clear();
            members.extend(groups.members(group).iter().copied().filter(is_frequent));
            for (i, &a) in members.iter().enumerate() {
                for &b in members[i + 1..].iter().take(NEAR) {
                    let (x, y) = (codes[a as usize], codes[b as usize]);
                    let same = columns.label[a as usize] == columns.label[b as usize];
                    let pair = (x.min(y), x.max(y));
                    of_group.entry(pair).or_default()[usize::from(same)] += 1;
                    let [section, other] = [a, b].map(|row| columns.sections.of[row as usize]);
                    if self.is_everywhere && x != y && section == other {
                        let of_pair = out.by_section.entry(pair).or_default();
                        of_pair.entry(section).or_default()[usize::from(same)] += 1;
                    }
                    if same && x != y && self.may_have_prior(pair) {
                        let (label, clusters) = (columns.label[a as usize], out.shown.entry(pair).or_default());
                        if clusters.len() < most_shown && !clusters.contains(&label) {
                            clusters.push(label);
                        }
                    }
                }
            }
        }
        out
    }

    /// True for values of parameters with few of them, such as other programs have; two numbers are two pages.
    fn may_have_prior(&self, (a, b): Pair) -> bool {
        let columns = &self.covering.columns;
        let is_number = |code: u32| code != 0 && operations::is_number(columns, self.key, code);
        columns.keys[self.key].optional()
            && self.is_everywhere
            && self.top.len() <= self.covering.thresholds.substitution_most_values
            && !(is_number(a) && is_number(b))
    }

    /// Unites values, best supported pairs first.
    fn unite(&self, pairs: Pairs) -> Classes {
        let Pairs { in_scope, outside, by_section, shown } = pairs;
        let (top, thresholds) = (self.top, &self.covering.thresholds);
        let bound = Bound::classes(thresholds).allowing(self.covering.noise);
        let mut pairs: Vec<(Pair, [u64; 2])> = in_scope.into_iter().filter(|(pair, _)| pair.0 != pair.1).collect();
        let narrowed = self.narrow(&mut pairs, &by_section, bound);
        pairs.sort_unstable_by_key(|&(pair, [_, same])| (narrowed.contains(&pair), Reverse(same), pair));
        let by_pair: Counts = pairs.iter().copied().collect();
        // Values that no cluster has together are of different pages: they do not say how often pages change.
        let [all_wrong, all_right] =
            pairs.iter().filter(|(_, of)| of[1] > 0).fold([0, 0], |sum, (_, of)| [sum[0] + of[0], sum[1] + of[1]]);
        let tried_pairs = self.tried.max(1) * pairs.len();
        let mut out = Classes { of: top.to_vec(), gain: 0, prior: self.prior };
        let mut are_narrowed = false;
        for (pair, [different, same]) in pairs {
            // The sections against a narrowed pair would take the others along.
            if narrowed.contains(&pair) && out.gain > 0 && !are_narrowed {
                break;
            }
            let [wrong, right] = outside.get(&pair).copied().unwrap_or_default();
            let is_chosen =
                |outside, tried, permille| conditions::is_by_chance([same, different], outside, tried, bound, permille);
            // Of many scopes, and of many pairs that are wrong now and then, some are right by chance.
            let others = [all_right - same, all_wrong.saturating_sub(different)];
            let is_by_chance = is_chosen([right, wrong], self.tried, thresholds.condition_chance_permille)
                || is_chosen(others, tried_pairs, thresholds.classes_chance_permille);
            let at = |code: u32| top.iter().position(|&t| t == code).expect("only frequent values are compared");
            let (a, b) = (out.of[at(pair.0)], out.of[at(pair.1)]);
            if a == b || is_by_chance {
                continue;
            }
            // What other programs do is no evidence where this one shows otherwise.
            let is_backed = different == 0
                && !narrowed.contains(&pair)
                && shown.get(&pair).map_or(0, Vec::len) >= thresholds.substitution_min_clusters;
            let prior = if is_backed { self.prior.max(thresholds.substitution_prior) } else { self.prior };
            // Two classes become one, so all their values are joined, not these two alone.
            let members = |of: u32| top.iter().zip(&out.of).filter(move |(_, of_top)| **of_top == of).map(|(&c, _)| c);
            let between = members(a).flat_map(|x| members(b).map(move |y| (x.min(y), x.max(y))));
            let wrong: u64 = between.filter_map(|pair| by_pair.get(&pair)).map(|[different, _]| different).sum();
            if bound.holds(same, different, prior) && (!is_backed || wrong == 0) {
                out.prior = out.prior.max(prior);
                out.of.iter_mut().filter(|of| **of == b).for_each(|of| *of = a);
                out.gain += same;
                are_narrowed = narrowed.contains(&pair);
            }
        }
        out
    }

    /// Leaves of pairs that do not hold what sections show that are not against them; those pairs.
    fn narrow(
        &self,
        pairs: &mut [(Pair, [u64; 2])],
        by_section: &HashMap<Pair, BySection, FixedState>,
        bound: Bound,
    ) -> Vec<Pair> {
        let thresholds = &self.covering.thresholds;
        let mut narrowed = Vec::new();
        if self.covering.without.has(super::Stage::Conditions) {
            return narrowed;
        }
        for (pair, of) in pairs.iter_mut().filter(|(_, [wrong, right])| !bound.allows(*right, *wrong, self.prior)) {
            let elsewhere = by_section.get(pair).and_then(|of| section_pairs::elsewhere(of, bound, thresholds));
            if let Some(elsewhere) = elsewhere {
                *of = elsewhere;
                narrowed.push(*pair);
            }
        }
        narrowed
    }

    /// The value that stands for each value of the key, where `classes` are those of the frequent ones.
    fn map(&self, classes: &[u32]) -> Vec<u32> {
        let (columns, key, top) = (&self.covering.columns, self.key, self.top);
        let (name, codes) = (&columns.keys[key], &columns.codes[key]);
        // A value seen only in URLs that redirect, or declare another canonical, is no representative where
        // another is.
        let mut live = vec![false; columns.codes_len(key)];
        let fetchable = codes.iter().zip(&columns.fetchable).filter(|(_, fetchable)| **fetchable);
        fetchable.for_each(|(&code, _)| live[code as usize] = true);
        let mut map: Vec<u32> = (0..columns.codes_len(key) as u32).collect();
        for root in top {
            let all: Vec<u32> = top.iter().zip(classes).filter(|(_, of)| *of == root).map(|(&code, _)| code).collect();
            if all.len() < 2 {
                continue;
            }
            if name.is(Fixed::EXTENSION) && all.contains(&0) {
                // The extension of a page written without one is known only where there is exactly one.
                if let [code, 0] = all[..] {
                    map[0] = code;
                }
                continue;
            }
            let in_scope = |row: &u32| (self.in_scope)(*row) && all.contains(&codes[*row as usize]);
            let rows = (0..columns.len() as u32).filter(in_scope);
            let members = operations::of_origins(columns, key, all.clone());
            let to = operations::chosen(columns, key, rows, members.iter().copied())
                .unwrap_or_else(|| self.representative(&members, &live));
            all.iter().for_each(|&code| map[code as usize] = to);
        }
        map
    }

    /// Absent where it is among the values, else one that fetched pages have.
    fn representative(&self, members: &[u32], live: &[bool]) -> u32 {
        let (columns, key) = (&self.covering.columns, self.key);
        let is_slash = columns.keys[key].is(Fixed::TRAILING_SLASH);
        let any_live = members.iter().any(|&code| live[code as usize]);
        if members.contains(&0) && !is_slash && (live[0] || !any_live) {
            return 0;
        }
        let named = members.iter().copied().filter(|&code| code != 0 || is_slash);
        let named = named.filter(|&code| live[code as usize] || !any_live);
        operations::representative(columns, key, named, self.covering.thresholds.value_near)
    }
}
