//! Scripts: what a site of one program tells apart by a parameter, or by the first segment of the path.
//!
//! The scripts of many programs lie in one directory, which is one section, or are one file, and a parameter names
//! what it does (`index.php?route=product/search`). What is seen of product pages says nothing of searches: the order
//! of a product page is irrelevant, and so is that of a search of one hit. So an operation leaves out the scripts in
//! which too much of it is wrong, however right it is elsewhere ([`failing`]); and in a small sample those in which it
//! acts and shows nothing ([`keep_to_shown`]).

use super::Thresholds;
use super::binomial::at_most;
use super::choices::by_value;
use super::columns::Columns;
use super::evidence::Bound;
use super::operations::is_number;
use super::profile::names::has_meaning;
use super::proposal::{Condition, EvidenceTable};
use crate::rules::{Constraint, Rule, Test};
use crate::url::{Fixed, Part};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A script: the value of the key that names it.
pub(super) type Script = Option<Vec<u8>>;

/// Clusters of a small sample in which a rule acts, and which it shows to be right, or not.
pub(super) type Shown = (usize, usize);

/// The key that names the scripts of a site, from how often each code of each key comes: the first segment of the path,
/// where its values are [words](names_scripts), else the parameter of most rows whose values are. `None` without one.
pub(super) fn key(columns: &Columns, counts: &[Vec<u32>], thresholds: &Thresholds) -> Option<usize> {
    let rows = |key: usize| counts[key][1..].iter().map(|&rows| u64::from(rows)).sum::<u64>();
    let is_script = |key: &usize| names_scripts(columns, *key, &counts[*key], thresholds);
    // A segment below an index file, where most URLs have none, names no scripts.
    let is_common = |key: &usize| rows(*key) * 2 > columns.len() as u64;
    if let Some(path) = columns.fixed(Fixed::path(0, Part::Head)).filter(is_common).filter(is_script) {
        return Some(path);
    }
    let is_parameter = |key: &usize| columns.keys[*key].optional() && !has_meaning(&columns.keys[*key]);
    let parameters = (0..columns.keys.len()).filter(is_parameter).filter(is_script);
    parameters.max_by_key(|&key| (rows(key), Reverse(key)))
}

/// True where the values of a key may be the names of scripts: few enough to be listed (`breadth_most_listed`), none of
/// which is that of nearly all rows with one (`condition_max_percent`), while nearly all have a word that comes again.
fn names_scripts(columns: &Columns, key: usize, counts: &[u32], thresholds: &Thresholds) -> bool {
    let met = || (1..counts.len()).filter(|&code| counts[code] > 0);
    let sum =
        |is: &dyn Fn(usize) -> bool| met().filter(|&code| is(code)).map(|code| u64::from(counts[code])).sum::<u64>();
    let all = sum(&|_| true);
    let nearly_all = |rows: u64| rows * 100 >= all * thresholds.condition_max_percent;
    let again = sum(&|code| counts[code] > 1 && !is_number(columns, key, code as u32));
    let most = met().map(|code| u64::from(counts[code])).max().unwrap_or_default();
    (2..=thresholds.breadth_most_listed).contains(&met().count()) && !nearly_all(most) && nearly_all(again)
}

/// The scripts in which an operation that holds elsewhere is wrong too often, with two wrong merges or more that what
/// is wrong elsewhere does not explain, as a condition that leaves them out. O(groups).
pub(super) fn failing(
    columns: &Columns,
    key: usize,
    table: &EvidenceTable,
    bound: Bound,
    thresholds: &Thresholds,
) -> Option<(usize, Condition)> {
    let sums = by_value(columns, table, key);
    let tried = sums.iter().filter(|of| of.0 + of.1 > 0).count();
    let whole = table.groups.totals();
    let fails = |&code: &usize| {
        let (good, bad) = (u64::from(sums[code].0), u64::from(sums[code].1));
        let elsewhere = [whole.0 - good, whole.1 - bad];
        bad >= thresholds.exclusion_min_bad
            && !bound.allows(good, bad, table.prior)
            && is_worse([good, bad], elsewhere, tried, thresholds.condition_chance_permille)
    };
    let failing: Vec<u32> = (0..sums.len()).filter(fails).map(|code| code as u32).collect();
    match failing[..] {
        [] => None,
        [0] => Some((key, Condition::Present)),
        [0, ..] => Some((key, Condition::None(failing[1..].to_vec()))),
        _ => Some((key, Condition::Not(failing))),
    }
}

/// True where so many of these merges are wrong that with at most `permille` thousandths one of `tried` scripts would
/// look like this, were it as the others: wrong labels are everywhere. One more of the others is taken to be wrong, and
/// one more to be right, since few of them show no share.
fn is_worse([good, bad]: [u64; 2], elsewhere: [u64; 2], tried: usize, permille: u64) -> bool {
    let share = (elsewhere[1] + 1) as f64 / (elsewhere[0] + elsewhere[1] + 2) as f64;
    let is_more = bad as f64 > share * (good + bad) as f64;
    is_more && at_most(good, good + bad, 1.0 - share) * tried as f64 * 1_000.0 <= permille as f64
}

/// The rule kept to the scripts that show it, from the clusters of each that do and those that do not: in the others it
/// acts in clusters and joins nothing, or too little (`small_shown`). `None` where that changes nothing, or where the
/// rule has a condition on the key.
pub(super) fn keep_to_shown(
    rule: &Rule,
    key: &str,
    counts: &BTreeMap<Script, Shown>,
    thresholds: &Thresholds,
) -> Option<Rule> {
    if rule.scope.iter().any(|of| of.key == key) || rule.operations.iter().any(|of| of.0 == key) {
        return None;
    }
    let fails = |&(shown, silent): &Shown| shown < thresholds.small_sure && silent * thresholds.small_shown > shown;
    if !counts.values().any(fails) {
        return None;
    }
    let is_shown = |of: &Shown| of.0 > 0 && !fails(of);
    let text = |script: &Script| script.as_ref().map(|of| String::from_utf8_lossy(of).into_owned());
    let part = |shown: bool| -> Vec<String> {
        counts.iter().filter(|(_, of)| is_shown(of) == shown).filter_map(|(script, _)| text(script)).collect()
    };
    let test = match counts.get(&None).is_some_and(is_shown) {
        true => Test::Not(part(false)),
        false => Test::OneOf(part(true)),
    };
    let mut scope = rule.scope.clone();
    scope.push(Constraint { key: key.to_owned(), test });
    scope.sort();
    Some(Rule { scope, ..rule.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_worse_than_the_others_where_chance_does_not_say_so() {
        let is_worse = |inside, elsewhere| is_worse(inside, elsewhere, 5, 50);
        // A third is wrong, and of hundreds elsewhere none; with four of twelve elsewhere it is as the others.
        assert!(is_worse([10, 5], [340, 0]) && !is_worse([10, 5], [8, 4]));
        // Of labels of which one in fifty is wrong, two of twenty may be.
        assert!(!is_worse([18, 2], [490, 10]) && is_worse([14, 6], [490, 10]));
        assert!(!is_worse([0, 2], [0, 0]) && !is_worse([500, 0], [0, 9]));
    }

    fn kept(counts: &[(Option<&str>, Shown)]) -> Option<Test> {
        let counts = counts.iter().map(|(script, of)| (script.map(|of| of.as_bytes().to_vec()), *of)).collect();
        let rule = Rule::of("", Vec::new(), Vec::new());
        let rule = keep_to_shown(&rule, "query do=", &counts, &Thresholds::default())?;
        Some(rule.scope.into_iter().next().expect("a condition").test)
    }

    #[test]
    fn a_rule_is_kept_to_the_scripts_that_show_it() {
        let values = |values: &[&str]| values.iter().map(|&of| of.to_owned()).collect();
        assert_eq!(kept(&[(Some("list"), (1, 0)), (Some("show"), (9, 2))]), None);
        let list = kept(&[(Some("list"), (0, 3)), (Some("new"), (0, 0)), (Some("show"), (9, 2))]);
        assert_eq!(list, Some(Test::OneOf(values(&["show"]))));
        // URLs without the parameter are a script, too.
        assert_eq!(kept(&[(None, (9, 2)), (Some("list"), (0, 3))]), Some(Test::Not(values(&["list"]))));
        // Enough clusters show it, whatever others are silent.
        assert_eq!(kept(&[(Some("list"), (40, 99)), (Some("show"), (9, 2))]), None);
    }
}
