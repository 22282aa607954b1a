//! Scripts: what a site of one program tells apart by a parameter, or by a segment of the path.
//!
//! The scripts of many programs lie in one directory, which is one section, or are one file, and a parameter names
//! what it does (`index.php?route=product/search`). What is seen of product pages says nothing of searches: the order
//! of a product page is irrelevant, and so is that of a search of one hit. So an operation that is wrong too often in
//! some scripts holds in those that show it right ([`failing`]), whatever it is over the whole site; and in a small
//! sample it leaves out those in which it acts and shows nothing ([`keep_to_shown`]).

use super::Thresholds;
use super::binomial::at_most;
use super::columns::Columns;
use super::evidence::{Bound, Groups};
use super::operations::is_number;
use super::profile::names::{has_meaning, is_place};
use super::proposal::Condition;
use crate::rules::{Constraint, Rule, Test};
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Fixed, Part};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A script: the value of the key that names it.
pub(super) type Script = Option<Vec<u8>>;

/// Clusters of a small sample in which a rule acts, and which it shows to be right, or not.
pub(super) type Shown = (usize, usize);

/// Parameters that are taken to name scripts, at most, those of most rows.
const MOST_PARAMETERS: usize = 2;

/// The keys that name the scripts of a site, from how often each code of each key comes: the first segment of the path
/// whose values are [names](names_scripts), where most URLs have it and an extension, since directories are sections;
/// without extensions, the first behind a directory whose values are, if they [recur](recurs); and the parameters of
/// most rows whose values are. O(rows x keys).
pub(super) fn keys(columns: &Columns, counts: &[Vec<u32>], thresholds: &Thresholds) -> Vec<usize> {
    let rows = |key: usize| counts[key][1..].iter().map(|&rows| u64::from(rows)).sum::<u64>();
    // A segment below an index file, where most URLs have none, names no scripts.
    let is_common = |key: &usize| rows(*key) * 2 > columns.len() as u64;
    let are_files = columns.fixed(Fixed::EXTENSION).is_some_and(|key| is_common(&key));
    let segments = (0..MAX_SEGMENTS).filter_map(|at| columns.fixed(Fixed::path(at, Part::Head)));
    let segments: Vec<usize> = segments.take_while(is_common).collect();
    let may_be = |at: usize| are_files || at > 0 && recurs(columns, segments[at - 1], segments[at]);
    let names = |at: usize| names_scripts(columns, segments[at], &counts[segments[at]], thresholds);
    let path = (0..segments.len()).find(|&at| may_be(at) && names(at)).map(|at| segments[at]);
    let is_parameter = |key: &usize| {
        let name = &columns.keys[*key];
        name.optional()
            && (!has_meaning(name) || is_place(name))
            && names_scripts(columns, *key, &counts[*key], thresholds)
    };
    let mut parameters: Vec<usize> = (0..columns.keys.len()).filter(is_parameter).collect();
    parameters.sort_by_key(|&key| (Reverse(rows(key)), key));
    path.into_iter().chain(parameters.into_iter().take(MOST_PARAMETERS)).collect()
}

/// True where most words of a segment were met behind several words in the segment before it, as in `/repository/log`
/// and `/other/log`; titles are not. O(rows).
fn recurs(columns: &Columns, before: usize, key: usize) -> bool {
    let mut pairs: Vec<(u32, u32)> =
        columns.codes[key].iter().copied().zip(columns.codes[before].iter().copied()).collect();
    pairs.retain(|&(code, _)| code != 0 && !is_number(columns, key, code));
    pairs.sort_unstable();
    pairs.dedup();
    let (mut words, mut several) = (0, 0);
    for of_word in pairs.chunk_by(|a, b| a.0 == b.0) {
        let directories = of_word.iter().filter(|&&(_, directory)| directory != 0).count();
        (words, several) = (words + 1, several + usize::from(directories > 1));
    }
    several * 2 > words
}

/// True where the values of a key may be the names of scripts: most rows with one have a word that has pages of its own
/// (`min_clusters`); there are several of these, few enough to be listed (`breadth_most_listed`), and none is that of
/// nearly all rows (`condition_max_percent`).
fn names_scripts(columns: &Columns, key: usize, counts: &[u32], thresholds: &Thresholds) -> bool {
    let mut clusters: Vec<Vec<u32>> = vec![Vec::new(); counts.len()];
    for (&code, &label) in columns.codes[key].iter().zip(&columns.label) {
        let met = &mut clusters[code as usize];
        if met.len() < thresholds.min_clusters && !met.contains(&label) {
            met.push(label);
        }
    }
    let has_pages = |code: u32| clusters[code as usize].len() >= thresholds.min_clusters;
    let is_name = |&code: &u32| has_pages(code) && !is_number(columns, key, code);
    let all: u64 = counts[1..].iter().map(|&rows| u64::from(rows)).sum();
    let names: Vec<u64> = (1..counts.len() as u32).filter(is_name).map(|code| counts[code as usize].into()).collect();
    let most = names.iter().copied().max().unwrap_or_default();
    (2..=thresholds.breadth_most_listed).contains(&names.len())
        && most * 100 < all * thresholds.condition_max_percent
        && names.iter().sum::<u64>() * 2 > all
}

/// The scripts that show an operation right, as a condition, where it is wrong too often in others: with two wrong
/// merges or more that what is wrong elsewhere does not explain. Of scripts that were not met nothing is known then:
/// they are left out, unless URLs without the key show it, or more scripts than can be listed.
/// `None` where it fails in none, or holds in none. O(rows of the groups).
pub(super) fn failing(
    columns: &Columns,
    key: usize,
    groups: &Groups,
    prior: u64,
    bound: Bound,
    thresholds: &Thresholds,
) -> Option<(usize, Condition)> {
    let mut sums = vec![[0, 0]; columns.codes_len(key)];
    for group in 0..groups.len() {
        let sum = &mut sums[columns.code(key, groups.first(group)) as usize];
        *sum = [sum[0] + u64::from(groups.good[group]), sum[1] + u64::from(groups.bad[group])];
    }
    let tried = sums.iter().filter(|of| of[0] + of[1] > 0).count();
    let whole = groups.totals();
    let fails = |of: &[u64; 2]| {
        of[1] >= thresholds.exclusion_min_bad
            && !bound.allows(of[0], of[1], prior)
            && is_worse(*of, [whole.0 - of[0], whole.1 - of[1]], tried, thresholds.condition_chance_permille)
    };
    if !sums.iter().any(fails) {
        return None;
    }
    let allows = |code: u32| bound.allows(sums[code as usize][0], sums[code as usize][1], prior);
    let (shown, others): (Vec<u32>, Vec<u32>) =
        (0..sums.len() as u32).partition(|&code| sums[code as usize][0] > 0 && allows(code));
    let most = thresholds.breadth_most_listed;
    // Beside names there may be thousands of numbers.
    let others = match others.len() > most {
        true => others.into_iter().filter(|&code| !allows(code)).collect(),
        false => others,
    };
    match (&shown[..], &others[..]) {
        ([], _) => None,
        ([0], _) => Some((key, Condition::Absent)),
        ([first, ..], _) if *first != 0 && shown.len() <= most => Some((key, Condition::OneOf(shown))),
        (_, [0]) => Some((key, Condition::Present)),
        (_, [0, ..]) => Some((key, Condition::None(others[1..].to_vec()))),
        _ => Some((key, Condition::Not(others))),
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

/// The rule without the scripts in which it acts and shows nothing, or too little (`small_shown`), from the clusters of
/// each that show it right and those that do not. One by one, the worst first, each only where the others are not as
/// silent by chance. `None` where that changes nothing, or where the rule has a condition on the key.
pub(super) fn keep_to_shown(
    rule: &Rule,
    key: &str,
    counts: &BTreeMap<Script, Shown>,
    thresholds: &Thresholds,
) -> Option<Rule> {
    if rule.scope.iter().any(|of| of.key == key) || rule.operations.iter().any(|of| of.0 == key) {
        return None;
    }
    let mut left: Vec<(&Script, Shown)> = counts.iter().map(|(script, of)| (script, *of)).collect();
    loop {
        let (shown, silent) = left.iter().fold((0, 0), |sum, of| (sum.0 + of.1.0, sum.1 + of.1.1));
        let fails = |&&(_, (s, t)): &&(&Script, Shown)| {
            let elsewhere = [shown - s, silent - t].map(|of| of as u64);
            s < thresholds.small_sure
                && t * thresholds.small_shown > s
                && is_worse([s as u64, t as u64], elsewhere, left.len(), thresholds.small_chance_permille)
        };
        let worst = left
            .iter()
            .filter(fails)
            .max_by(|(a, (s, t)), (b, (u, v))| (t * (u + v)).cmp(&(v * (s + t))).then(b.cmp(a)));
        let Some(&(worst, _)) = worst else { break };
        left.retain(|of| of.0 != worst);
    }
    if left.len() == counts.len() || left.is_empty() {
        return None;
    }
    left.retain(|of| of.1.0 > 0);
    let text = |script: &Script| script.as_ref().map(|of| String::from_utf8_lossy(of).into_owned());
    let is_left = |script: &Script| left.iter().any(|of| of.0 == script);
    let part =
        |is: bool| -> Vec<String> { counts.keys().filter(|script| is_left(script) == is).filter_map(text).collect() };
    let is_listed = !is_left(&None) && (1..=thresholds.breadth_most_listed).contains(&left.len());
    let test = match part(is_listed) {
        values if values.is_empty() => return None,
        values if is_listed => Test::OneOf(values),
        values => Test::Not(values),
    };
    let mut scope = rule.scope.clone();
    scope.push(Constraint { key: key.to_owned(), test });
    scope.sort();
    Some(Rule { scope, ..rule.clone() })
}

#[cfg(test)]
mod tests {
    use super::super::Training;
    use super::super::operations::frequencies;
    use super::*;
    use crate::rules::Tokens;

    #[test]
    fn a_script_is_worse_than_the_others_where_chance_does_not_say_so() {
        let is_worse = |inside, elsewhere| is_worse(inside, elsewhere, 5, 50);
        // A third is wrong, and of hundreds elsewhere none; with four of twelve elsewhere it is as the others.
        assert!(is_worse([10, 5], [340, 0]) && !is_worse([10, 5], [8, 4]));
        // Of labels of which one in fifty is wrong, two of twenty may be.
        assert!(!is_worse([18, 2], [490, 10]) && is_worse([14, 6], [490, 10]));
        assert!(!is_worse([0, 2], [0, 0]) && !is_worse([500, 0], [0, 9]));
    }

    /// The keys that name scripts on a site of these URLs, each a page of its own.
    fn scripts(urls: impl Iterator<Item = String>) -> Vec<String> {
        let urls: Vec<String> = urls.collect();
        let records = urls.iter().map(|url| (url.as_bytes(), Some(url.as_bytes()), false));
        let (training, thresholds) = (Training::new("e.com", records), Thresholds::default());
        let columns = Columns::new(&training, Tokens::default(), &thresholds);
        let rows = || 0..columns.len() as u32;
        let counts: Vec<Vec<u32>> = (0..columns.keys.len()).map(|key| frequencies(&columns, key, rows())).collect();
        keys(&columns, &counts, &thresholds).into_iter().map(|key| columns.keys[key].to_string()).collect()
    }

    #[test]
    fn words_that_recur_behind_directories_name_scripts() {
        let of = |directories: &[&str], words: &[&str]| {
            let places =
                directories.iter().flat_map(|directory| words.iter().map(move |word| format!("{directory}/{word}")));
            places
                .flat_map(|place| (1..6).map(move |page| format!("http://e.com/{place}/{page}")))
                .collect::<Vec<String>>()
        };
        let commands = of(&["alpha", "beta"], &["log", "view", "file"]);
        assert_eq!(scripts(commands.iter().cloned()), ["path1"]);
        let titles = [of(&["alpha"], &["rose", "lily"]), of(&["beta"], &["moss", "fern"])].concat();
        assert_eq!(scripts(titles.into_iter()), Vec::<String>::new());
        // Titles behind years, beside pages of lists.
        let of_years =
            [of(&["2021"], &["rose", "lily"]), of(&["2022"], &["moss", "fern"]), of(&["tag", "list"], &["page"])];
        assert_eq!(scripts(of_years.concat().into_iter()), Vec::<String>::new());
        // Most words recur, and most URLs have another.
        let rare = [of(&["alpha", "beta"], &["log", "view"]), (0..90).map(|i| format!("http://e.com/{i}")).collect()];
        assert_eq!(scripts(rare.concat().into_iter()), Vec::<String>::new());
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
        // Where every script is silent, the whole rule is for another test.
        assert_eq!(kept(&[(Some("list"), (20, 30)), (Some("show"), (25, 99))]), None);
        // Enough clusters show it, whatever others are silent.
        assert_eq!(kept(&[(Some("list"), (40, 99)), (Some("show"), (9, 2))]), None);
    }
}
