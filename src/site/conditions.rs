//! Operations under one condition, from the tables of the operations themselves.
//!
//! The groups of an operation are pure in every key that the operation does not touch, so adding up
//! good and bad of the groups by the value of each other key gives the evidence for that operation
//! under every pattern (k' = v, k' present, k' absent) without another sort.
//!
//! Many conditions are tried, and some hold right merges alone by chance: see [`is_by_chance`].

use super::binomial::at_most;
use super::choices::{Choices, SLOTS, VALUES, by_value, totals};
use super::columns::Columns;
use super::covering::Covering;
use super::evidence::Bound;
use super::operations::is_number;
use super::proposal::{Action, Condition, EvidenceTable, Proposal, Scope};
use crate::url::Fixed;
use std::collections::{BTreeMap, BTreeSet};

/// Patterns of one operation that are proposed in one pass, a bound of work: the next pass tests the
/// others again.
const TOP: usize = 4;

/// The rows among `rows` in which `scope` holds.
pub fn matching(columns: &Columns, rows: &[u32], scope: &Scope) -> Vec<u32> {
    let mut out = rows.to_vec();
    for (k, condition) in scope {
        let codes = &columns.codes[*k];
        match condition {
            Condition::Is(value) => keep(&mut out, |r| codes[r] == *value),
            Condition::Present => keep(&mut out, |r| codes[r] != 0),
            Condition::Absent => keep(&mut out, |r| codes[r] == 0),
            Condition::OneOf(values) => keep(&mut out, |r| values.contains(&codes[r])),
            Condition::Not(values) => keep(&mut out, |r| !values.contains(&codes[r])),
            Condition::None(values) => keep(&mut out, |r| codes[r] != 0 && !values.contains(&codes[r])),
        }
    }
    out
}

/// `retain` without a branch.
fn keep(rows: &mut Vec<u32>, holds: impl Fn(usize) -> bool) {
    let mut kept = 0;
    for at in 0..rows.len() {
        rows[kept] = rows[at];
        kept += usize::from(holds(rows[at] as usize));
    }
    rows.truncate(kept);
}

/// Conditions worth trying, key by key: frequent values that are not bare numbers; presence, absence, and
/// presence with a value that is not empty. `total` is the number of rows.
pub fn conditions(covering: &Covering, total: u32) -> Vec<Choices> {
    let (columns, thresholds) = (&covering.columns, &covering.thresholds);
    let (least, most) = (thresholds.condition_min_rows, thresholds.condition_max_percent);
    let mut out = Vec::new();
    for (k, name) in columns.keys.iter().enumerate() {
        let depth = name.is(Fixed::DEPTH);
        let eligible =
            name.optional() || name.as_path().is_some() || depth || name.is(Fixed::HOST) || name.is(Fixed::EXTENSION);
        if !eligible {
            continue;
        }
        let counts = &covering.counts[k];
        let mut codes: Vec<u32> = (1..counts.len() as u32).filter(|&c| counts[c as usize] >= least).collect();
        codes.sort_by(|&a, &b| {
            counts[b as usize].cmp(&counts[a as usize]).then_with(|| columns.value(k, a).cmp(columns.value(k, b)))
        });
        codes.truncate(VALUES);
        let mut list: Vec<Condition> = codes
            .into_iter()
            .filter(|&c| u64::from(counts[c as usize]) * 100 < most * u64::from(total))
            .filter(|&c| depth || !is_number(columns, k, c))
            .map(Condition::Is)
            .collect();
        if name.optional() && counts[0] > 0 && total - counts[0] >= least {
            list.extend([Condition::Present, Condition::Absent]);
        }
        // Many programs take an empty parameter for an absent one, or for the value of the page.
        let empty = (1..counts.len() as u32).find(|&c| counts[c as usize] > 0 && columns.value(k, c).is_empty());
        let empty = empty.filter(|_| name.optional());
        let filled = |code: u32| total - counts[0] - counts[code as usize];
        list.extend(empty.filter(|&code| filled(code) >= least).map(|code| Condition::None(vec![code])));
        if !list.is_empty() {
            let mut slot = vec![1; columns.codes_len(k)];
            slot[0] = 0;
            empty.into_iter().for_each(|code| slot[code as usize] = SLOTS as u8 - 1);
            for (i, condition) in list.iter().enumerate() {
                if let Condition::Is(code) = condition {
                    slot[*code as usize] = i as u8 + 2;
                }
            }
            out.push(Choices { key: k, list, slot });
        }
    }
    out
}

/// True where an operation that is wrong at random would look as right under some condition: one of
/// `tried` conditions, under which `inside[1]` of the merges are wrong and `inside[0]` right, where
/// `outside` are elsewhere, with a chance of more than `permille`. Of thirty words five have pages that are
/// all equal by chance, where every third page differs. False where the operation is not wrong elsewhere
/// (`bound`) and was refused for another reason.
///
/// The chance of one condition is that of the binomial distribution, times `tried` (Bonferroni). O(merges
/// inside).
pub fn is_by_chance(inside: [u64; 2], outside: [u64; 2], tried: usize, bound: Bound, permille: u64) -> bool {
    let ([good, bad], [good_outside, bad_outside]) = (inside, outside);
    if permille >= 1_000 || good == 0 || bound.allows(good_outside, bad_outside, 0) {
        return false;
    }
    if u128::from(bad) * u128::from(good_outside) >= u128::from(bad_outside) * u128::from(good) {
        return true;
    }
    let share = bad_outside as f64 / (good_outside + bad_outside) as f64;
    !is_beyond_chance(inside, share, tried, permille)
}

/// True where so few of these right and wrong pages are wrong that with at most `permille` thousandths one of
/// `tried` conditions would look like this where each page is wrong with the chance `share`.
pub fn is_beyond_chance([good, bad]: [u64; 2], share: f64, tried: usize, permille: u64) -> bool {
    let is_fewer = (bad as f64) < share * (good + bad) as f64;
    permille >= 1_000 || is_fewer && at_most(bad, good + bad, share) * tried as f64 * 1_000.0 <= permille as f64
}

/// Number of conditions on other keys than those of a table.
pub fn tried(conditions: &[Choices], table: &EvidenceTable) -> usize {
    conditions.iter().filter(|choices| !table.keys.contains(&choices.key)).map(|choices| choices.list.len()).sum()
}

/// Patterns of one constraint under which the operation of a table holds: the best few. A pattern needs
/// less evidence where everything that it joins is one constant page that is a soft 404:
/// see [`Soft404s`](super::soft_404::Soft404s). `noise` is the label noise that is tolerated, in thousandths.
pub fn refine(covering: &Covering, table: &EvidenceTable, conditions: &[Choices], noise: u64) -> Vec<Proposal> {
    let Covering { columns, soft_404s, thresholds, .. } = covering;
    let bound = Bound::operation(thresholds).allowing(noise);
    let mut out = Vec::new();
    let few = |good: u64| !soft_404s.is_empty() && table.action == Action::Ignore && good >= thresholds.sink_min_good;
    let enough = |good: u64| few(good) || good >= thresholds.min_good && bound.holds(good, 0, table.prior);
    if !enough(table.groups.totals().0) {
        return out;
    }
    let sunk = |choices: &Choices, condition: &Condition| {
        let codes = &columns.codes[choices.key];
        let groups = &table.groups;
        let of = |&&group: &&u32| condition.holds(codes[groups.first(group as usize) as usize]);
        let mut pages = table.with_good.iter().filter(of).map(|&group| groups.majority[group as usize]);
        pages.next().is_some_and(|page| soft_404s.holds(page, 0) && pages.all(|other| other == page))
    };
    // Patterns without enough clusters would be refused in the next test, and block narrower patterns
    // until then.
    let supported = |choices: &Choices, condition: &Condition, bad: u64| {
        let codes = &columns.codes[choices.key];
        let holds = |group: &u32| condition.holds(codes[table.groups.first(*group as usize) as usize]);
        let part = || table.with_good.iter().copied().filter(holds);
        if !table.groups.part_accepted(part(), bad, bound, table.prior) {
            return false;
        }
        let alone = table.action == Action::Ignore && table.prior == 0;
        match table.groups.pages(part(), thresholds.min_clusters).filter(|_| alone) {
            Some(pages) => {
                let rows = covering.alive.iter().filter(|&&row| condition.holds(codes[row as usize]));
                columns.is_about(&pages, &table.keys, rows, thresholds.constant_page_others_permille)
            }
            None => true,
        }
    };
    let tries = tried(conditions, table);
    let whole = table.groups.totals();
    let is_chosen_by_chance = |good: u64, bad: u64| {
        let outside = [whole.0 - good, whole.1 - bad];
        is_by_chance([good, bad], outside, tries, bound, thresholds.condition_chance_permille)
    };
    for choices in conditions.iter().filter(|c| !table.keys.contains(&c.key)) {
        for (condition, good, bad) in totals(columns, table, choices, enough) {
            let holds = bound.holds(good, bad, table.prior)
                && supported(choices, condition, bad)
                && !is_chosen_by_chance(good, bad);
            if holds || few(good) && bad == 0 && sunk(choices, condition) {
                out.push(Proposal {
                    scope: vec![(choices.key, condition.clone())],
                    action: table.action,
                    keys: table.keys.clone(),
                    classes: None,
                    prior: table.prior,
                    score: good as i64 - thresholds.bad_cost * bad as i64,
                });
            }
        }
    }
    out.sort_by_key(|p| std::cmp::Reverse(p.score));
    out.truncate(TOP);
    out
}

/// Proposals to ignore the values of a parameter where it is present, from the table of ignoring it
/// altogether: `slideshow=3` shows what `slideshow=5` does, and the URL without the parameter is
/// another page. Tried before [`classes`](super::classes) of values, which would join the frequent
/// values and leave too little evidence for the others.
pub fn where_present(covering: &Covering, table: &EvidenceTable) -> Option<Proposal> {
    let Covering { columns, thresholds, .. } = covering;
    let &[key] = &table.keys[..] else { return None };
    if table.action != Action::Ignore || !columns.keys[key].optional() {
        return None;
    }
    let (mut good, mut bad, mut labels) = (0, 0, Vec::new());
    for group in 0..table.groups.len() {
        let present = table.groups.members(group).iter().filter(|&&row| columns.code(key, row) != 0);
        labels.clear();
        labels.extend(present.map(|&row| columns.label[row as usize]));
        labels.sort_unstable();
        let most = labels.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or(1) as u64;
        (good, bad) = (good + most - 1, bad + (labels.len() as u64).saturating_sub(most));
    }
    let bound = Bound::operation(thresholds).allowing(covering.noise);
    bound.holds(good, bad, table.prior).then(|| Proposal {
        scope: vec![(key, Condition::Present)],
        action: table.action,
        keys: table.keys.clone(),
        classes: None,
        prior: table.prior,
        score: good as i64 - thresholds.bad_cost * bad as i64,
    })
}

/// Values of one other key under which most merges of an operation are wrong: the key that removes the
/// most bad with the least good, with its values. Only keys that every row has can exclude (`None`
/// requires presence).
pub fn exclusion(covering: &Covering, table: &EvidenceTable, rows: &[u32]) -> Option<(usize, Condition)> {
    let (columns, least) = (&covering.columns, covering.thresholds.exclusion_min_bad);
    let mut best: Option<(i64, usize, Vec<u32>)> = None;
    for (k, name) in columns.keys.iter().enumerate() {
        let eligible = name.is(Fixed::HOST) || name.is(Fixed::DEPTH) || name.as_path().is_some();
        if !eligible || table.keys.contains(&k) || rows.iter().any(|&r| columns.codes[k][r as usize] == 0) {
            continue;
        }
        let sums = by_value(columns, table, k);
        let wrong: Vec<u32> = (1..sums.len() as u32)
            .filter(|&c| u64::from(sums[c as usize].1) >= least && sums[c as usize].1 > sums[c as usize].0)
            .collect();
        let gain: i64 = wrong.iter().map(|&c| i64::from(sums[c as usize].1) - i64::from(sums[c as usize].0)).sum();
        if gain > 0 && best.as_ref().is_none_or(|b| gain > b.0) {
            best = Some((gain, k, wrong));
        }
    }
    best.map(|(_, k, wrong)| (k, Condition::None(wrong)))
}

/// A proposal to ignore a parameter but for the one value that [matters](wrong_values), where the pages that show it
/// right have more than `min_constant` values, absence counted. Of fewer, which were all met, classes of values say it
/// ([`classes`](super::classes)).
pub fn but_one_value(covering: &Covering, table: &EvidenceTable) -> Option<Proposal> {
    let (key, condition) = wrong_values(covering, table)?;
    let is_one = matches!(&condition, Condition::Not(values) if values.len() == 1);
    let rows = table.with_good.iter().flat_map(|&group| table.groups.members(group as usize));
    let values: BTreeSet<u32> = rows.map(|&row| covering.columns.code(key, row)).collect();
    let least = covering.thresholds.min_constant as usize;
    (is_one && values.len() > least).then(|| Proposal {
        scope: vec![(key, condition)],
        action: table.action,
        keys: table.keys.clone(),
        classes: None,
        prior: table.prior,
        score: table.groups.totals().0 as i64,
    })
}

/// Values of a parameter that matter, although the parameter is ignored: on more pages they are another page than they
/// are the page of other values, and there are two such pages or more. An empty session may lead to the home page.
pub fn wrong_values(covering: &Covering, table: &EvidenceTable) -> Option<(usize, Condition)> {
    let Covering { columns, thresholds, .. } = covering;
    let &[key] = &table.keys[..] else { return None };
    if table.action != Action::Ignore || !columns.keys[key].optional() {
        return None;
    }
    let groups = &table.groups;
    // The values of the rows of a group that are in its largest cluster, or of those that are not.
    let values = |group: u32, is_largest: bool| -> BTreeSet<u32> {
        let (group, label) = (group as usize, |row: u32| columns.label[row as usize]);
        let rows = groups.members(group).iter().filter(|&&row| (label(row) == groups.majority[group]) == is_largest);
        rows.map(|&row| columns.code(key, row)).collect()
    };
    let mut against: BTreeMap<u32, u64> = BTreeMap::new();
    for code in table.with_bad.iter().flat_map(|&group| values(group, false)).filter(|&code| code != 0) {
        *against.entry(code).or_default() += 1;
    }
    against.retain(|_, pages| *pages >= thresholds.exclusion_min_bad);
    if against.is_empty() {
        return None;
    }
    let shown = table.with_good.iter().map(|&group| values(group, true)).filter(|values| values.len() > 1);
    for code in shown.flatten() {
        against.entry(code).and_modify(|pages| *pages = pages.saturating_sub(1));
    }
    against.retain(|_, pages| *pages > 0);
    (!against.is_empty()).then(|| (key, Condition::Not(against.into_keys().collect())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Thresholds;

    #[test]
    fn few_right_merges_of_one_condition_among_many_are_chance() {
        let bound = Bound::operation(&Thresholds::default());
        let is_by_chance = |inside, outside, tried| is_by_chance(inside, outside, tried, bound, 50);
        // A third is wrong elsewhere. Twelve right ones are one in 130: of twenty conditions one in six.
        assert!(is_by_chance([12, 0], [200, 100], 20));
        assert!(!is_by_chance([12, 0], [200, 100], 1) && !is_by_chance([20, 0], [200, 100], 20));
        // One wrong of twenty is as likely as none of fifteen.
        assert!(is_by_chance([19, 1], [200, 100], 20) && !is_by_chance([29, 1], [200, 100], 20));
        // All are wrong elsewhere: no right one is chance.
        assert!(!is_by_chance([1, 0], [0, 7], 1_000));
        // Hardly any is wrong elsewhere: something else was wrong with the operation.
        assert!(!is_by_chance([12, 0], [200, 1], 20) && !is_by_chance([12, 0], [0, 0], 20));
        // As wrong as elsewhere, or hardly less: of many merges, too, where no chance of none is a float.
        assert!(is_by_chance([6, 3], [200, 100], 1));
        assert!(is_by_chance([99_000, 4_900], [99_000, 5_000], 2));
        assert!(!is_by_chance([99_000, 4_000], [99_000, 5_000], 20));
    }
}
