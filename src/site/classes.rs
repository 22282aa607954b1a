//! Value classes: values of one key that mean the same (python ~ python-3.11, absent ~ a default value,
//! mirrors).

use super::choices;
use super::choices::Choices;
use super::conditions::{self};
use super::covering::Covering;
use super::evidence::Bound;
use super::operations::{self};
use super::proposal::{Action, Condition, EvidenceTable, Proposal, Scope};
use super::section_pairs::{self, BySection};
use crate::url::Fixed;
use foldhash::fast::FixedState;
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
    near.sort_by_key(|n| std::cmp::Reverse(n.0));
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
    out.sort_by_key(|p| std::cmp::Reverse(p.score));
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

/// Classes from the pairs of frequent values that meet in groups, of one cluster or of two; values are
/// united best supported pairs first. `top` are the values as [`frequent`] gives them; `tried` the
/// number of scopes that this one was chosen from.
fn find(
    covering: &Covering,
    top: &[u32],
    table: &EvidenceTable,
    in_scope: impl Fn(u32) -> bool,
    scope: Scope,
    tried: usize,
) -> Option<Proposal> {
    let (columns, thresholds, key) = (&covering.columns, &covering.thresholds, table.keys[0]);
    let name = &columns.keys[key];
    let prior = if name.is(Fixed::HOST) { thresholds.host_prior } else { 0 };
    let may_have_prior = |a: u32, b: u32| {
        let is_number = |code: u32| code != 0 && operations::is_number(columns, key, code);
        name.optional()
            && scope.is_empty()
            && top.len() <= thresholds.substitution_most_values
            && !(is_number(a) && is_number(b))
    };
    let mut frequent = vec![false; columns.codes_len(key)];
    top.iter().for_each(|&code| frequent[code as usize] = true);
    let codes = &columns.codes[key];
    // Of each pair the groups of one cluster and of two, and those outside the scope.
    let mut pairs: HashMap<(u32, u32), [u64; 2], FixedState> = HashMap::default();
    let mut outside: HashMap<(u32, u32), [u64; 2], FixedState> = HashMap::default();
    // Those of each section; the scope of a condition is not divided.
    let mut by_section: HashMap<(u32, u32), BySection, FixedState> = HashMap::default();
    // Clusters that show a pair, as many as its prior needs.
    let mut shown: HashMap<(u32, u32), Vec<u32>, FixedState> = HashMap::default();
    let mut members = Vec::new();
    for group in 0..table.groups.len() {
        let of_group = if in_scope(table.groups.first(group)) { &mut pairs } else { &mut outside };
        members.clear();
        members.extend(table.groups.members(group).iter().copied().filter(|&r| frequent[codes[r as usize] as usize]));
        for (i, &a) in members.iter().enumerate() {
            for &b in members[i + 1..].iter().take(NEAR) {
                let (x, y) = (codes[a as usize], codes[b as usize]);
                let same = columns.label[a as usize] == columns.label[b as usize];
                let pair = (x.min(y), x.max(y));
                of_group.entry(pair).or_default()[usize::from(same)] += 1;
                let [section, other] = [a, b].map(|row| columns.sections.of[row as usize]);
                if scope.is_empty() && x != y && section == other {
                    by_section.entry(pair).or_default().entry(section).or_default()[usize::from(same)] += 1;
                }
                if same && x != y && may_have_prior(x, y) {
                    let (label, clusters) = (columns.label[a as usize], shown.entry(pair).or_default());
                    if clusters.len() < thresholds.substitution_min_clusters && !clusters.contains(&label) {
                        clusters.push(label);
                    }
                }
            }
        }
    }
    let mut pairs: Vec<((u32, u32), [u64; 2])> = pairs.into_iter().filter(|(pair, _)| pair.0 != pair.1).collect();
    let bound = Bound::classes(thresholds).allowing(covering.noise);
    let mut narrowed: Vec<(u32, u32)> = Vec::new();
    for (pair, of) in pairs.iter_mut().filter(|(_, [different, same])| !bound.allows(*same, *different, prior)) {
        let sections = by_section.get(pair).filter(|_| !covering.without.has(super::Stage::Conditions));
        if let Some(elsewhere) = sections.and_then(|of| section_pairs::elsewhere(of, bound, thresholds)) {
            *of = elsewhere;
            narrowed.push(*pair);
        }
    }
    pairs.sort_unstable_by_key(|&(pair, [_, same])| (narrowed.contains(&pair), std::cmp::Reverse(same), pair));
    // Class of each value in `top`, named by one of its values.
    let mut class: Vec<u32> = top.to_vec();
    let by_pair: HashMap<(u32, u32), [u64; 2], FixedState> = pairs.iter().copied().collect();
    // Values that no cluster has together are of different pages: they do not say how often pages change.
    let [all_wrong, all_right] =
        pairs.iter().filter(|(_, of)| of[1] > 0).fold([0, 0], |sum, (_, of)| [sum[0] + of[0], sum[1] + of[1]]);
    let tried_pairs = tried.max(1) * pairs.len();
    let (mut gain, mut given) = (0, prior);
    let mut are_narrowed = false;
    for (pair, [different, same]) in pairs {
        // The sections against a narrowed pair would take the others along.
        if narrowed.contains(&pair) && gain > 0 && !are_narrowed {
            break;
        }
        let [wrong, right] = outside.get(&pair).copied().unwrap_or_default();
        let is_chosen =
            |outside, tried, permille| conditions::is_by_chance([same, different], outside, tried, bound, permille);
        // Of many scopes, and of many pairs that are wrong now and then, some are right by chance.
        let others = [all_right - same, all_wrong.saturating_sub(different)];
        let is_by_chance = is_chosen([right, wrong], tried, thresholds.condition_chance_permille)
            || is_chosen(others, tried_pairs, thresholds.classes_chance_permille);
        let of = |code: u32| class[top.iter().position(|&t| t == code).expect("only frequent values are compared")];
        let (a, b) = (of(pair.0), of(pair.1));
        if a == b || is_by_chance {
            continue;
        }
        // What other programs do is no evidence where this one shows otherwise.
        let is_backed = different == 0
            && !narrowed.contains(&pair)
            && shown.get(&pair).map_or(0, Vec::len) >= thresholds.substitution_min_clusters;
        let prior = if is_backed { prior.max(thresholds.substitution_prior) } else { prior };
        // Two classes become one, so all their values are joined, not these two alone.
        let members = |of: u32| top.iter().zip(&class).filter(move |(_, class)| **class == of).map(|(&code, _)| code);
        let between = members(a).flat_map(|x| members(b).map(move |y| (x.min(y), x.max(y))));
        let sum = between.filter_map(|pair| by_pair.get(&pair)).fold([0, 0], |[d, s], of| [d + of[0], s + of[1]]);
        if bound.holds(same, different, prior) && (!is_backed || sum[0] == 0) {
            given = given.max(prior);
            class.iter_mut().filter(|c| **c == b).for_each(|c| *c = a);
            gain += same;
            are_narrowed = narrowed.contains(&pair);
        }
    }
    if gain == 0 {
        return None;
    }
    // A value seen only in URLs that redirect, or declare another canonical, is no representative where
    // another is.
    let mut live = vec![false; columns.codes_len(key)];
    let fetchable = codes.iter().zip(&columns.fetchable).filter(|(_, fetchable)| **fetchable);
    fetchable.for_each(|(&code, _)| live[code as usize] = true);
    let mut table_of: Vec<u32> = (0..columns.codes_len(key) as u32).collect();
    for root in top {
        let all: Vec<u32> = top.iter().zip(&class).filter(|(_, c)| *c == root).map(|(&code, _)| code).collect();
        if all.len() < 2 {
            continue;
        }
        if name.is(Fixed::EXTENSION) && all.contains(&0) {
            // The extension of a page written without one is known only where there is exactly one.
            if let [code, 0] = all[..] {
                table_of[0] = code;
            }
            continue;
        }
        let rows = (0..columns.len() as u32).filter(|&row| in_scope(row) && all.contains(&codes[row as usize]));
        let members = operations::of_origins(columns, key, all.clone());
        let to = operations::chosen(columns, key, rows, members.iter().copied()).unwrap_or_else(|| {
            // Absent where it is among them, else the representative.
            let named = members.iter().copied().filter(|&code| code != 0 || name.is(Fixed::TRAILING_SLASH));
            let absent = members.contains(&0) && !name.is(Fixed::TRAILING_SLASH);
            let any_live = members.iter().any(|&code| live[code as usize]);
            if absent && (live[0] || !any_live) {
                return 0;
            }
            let named = named.filter(|&code| live[code as usize] || !any_live);
            operations::representative(columns, key, named, thresholds.value_near)
        });
        all.iter().for_each(|&c| table_of[c as usize] = to);
    }
    let score = gain as i64;
    Some(Proposal {
        scope,
        action: Action::Classes,
        keys: vec![key],
        classes: Some(vec![table_of]),
        prior: given,
        score,
    })
}
