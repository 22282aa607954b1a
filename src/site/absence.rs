//! Parameters without which no page was met.
//!
//! That two values of a parameter show one page says nothing of URLs without it: `slideshow=1` and `slideshow=2` are
//! one page, and the picture is another. Of whole clusters a small sample holds the pairs of the first kind, and hardly
//! one of the second. So where URLs with a parameter and URLs without it were met, and none of them is one page, a rule
//! gives the parameter one value where it is, in place of leaving it out.

use super::covering::Covering;
use super::operations::{plainness, prior_of};
use super::points::{Reader, Values};
use super::random_tokens::are_random;
use super::scopes::Fired;
use super::{Thresholds, Training};
use crate::rules::{Operation, Representative, Rule, SECTION, SiteRules};
use crate::url::Key;
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Keeps such parameters in their URLs; returns how many rules it changed. Exempt are the catalogues, rules between
/// forms, random tokens, which links have where a visitor came without a cookie, and parameters that nearly every URL
/// of the scope has.
///
/// The rules are applied once more to all rows, which are tokenized.
pub fn keep(rules: &mut SiteRules, training: &Training, covering: &Covering) -> u64 {
    let thresholds = &covering.thresholds;
    let is_asked = |of: &(String, Operation)| is_left_out(of, covering);
    let asked: Vec<usize> = (0..rules.rules.len())
        .filter(|&at| is_learned(&rules.rules[at], thresholds) && rules.rules[at].operations.iter().any(is_asked))
        .collect();
    if asked.is_empty() {
        return 0;
    }
    let fired = Fired::new(rules, training);
    let mut reader = Reader::new(&rules.tokens);
    // The section and the values of each row; none of those without a label.
    let mut read = |row: usize| {
        let url = training.normal(row).filter(|_| training.clusters[row] != u32::MAX)?;
        Some((rules.tokens.section(url.as_bytes()).to_vec(), reader.values(url)))
    };
    let rows: Vec<Option<(Vec<u8>, Values)>> = (0..training.len()).map(&mut read).collect();
    let page = |row: u32| (fired.canonical(row), training.clusters[row as usize]);
    let mut pages: HashMap<(u64, u32), Vec<u32>, FixedState> = HashMap::default();
    for row in (0..rows.len() as u32).filter(|&row| rows[row as usize].is_some()) {
        pages.entry(page(row)).or_default().push(row);
    }
    let mut changed = BTreeSet::new();
    for at in asked {
        let scope = rules.rules[at].scope.clone();
        for (key, operation) in rules.rules[at].operations.iter_mut().filter(|of| is_asked(of)) {
            let value = |row: u32| rows[row as usize].as_ref().and_then(|of| of.1.get(&*key));
            let has = |row: &u32| value(*row).is_some();
            let is_shown = |row: &u32| {
                let page = &pages[&page(*row)];
                page.iter().any(has) && !page.iter().all(has)
            };
            if fired.rows_of(at).iter().any(is_shown) {
                continue;
            }
            // Sections and keys as the rows have them at the start: earlier rules may have changed them.
            let holds = |(section, values): &(Vec<u8>, Values)| {
                scope.iter().filter(|of| of.key != *key).all(|of| match &*of.key {
                    SECTION => of.test.holds(Some(section)),
                    name => of.test.holds(values.get(name).map(Vec::as_slice)),
                })
            };
            let is_without = |of: &(Vec<u8>, Values)| !of.1.contains_key(&*key) && holds(of);
            let without = rows.iter().zip(&training.clusters).filter(|of| of.0.as_ref().is_some_and(is_without));
            if without.map(|of| of.1).collect::<BTreeSet<_>>().len() < thresholds.min_clusters {
                continue;
            }
            let mut times: BTreeMap<&[u8], u32> = BTreeMap::new();
            let met = fired.rows_of(at).iter().filter_map(|&row| value(row));
            met.for_each(|value| *times.entry(value).or_default() += 1);
            let most = times.values().copied().max().unwrap_or_default();
            let near = times.iter().filter(|of| of.1.saturating_mul(thresholds.value_near) >= most);
            let plainest = near.map(|of| *of.0).min_by_key(|value| plainness(value));
            if let Some(value) = plainest.and_then(|value| String::from_utf8(value.to_vec()).ok()) {
                *operation = Operation::Ignore(Representative::WherePresent(value));
                changed.insert(at);
            }
        }
    }
    changed.len() as u64
}

/// True for a rule that is of no catalogue, and not between forms.
fn is_learned(rule: &Rule, thresholds: &Thresholds) -> bool {
    !rule.closed && rule.line.is_none() && prior_of(rule, thresholds) == 0
}

/// True where a parameter is left out that holds no random tokens.
fn is_left_out((key, operation): &(String, Operation), Covering { columns, thresholds, .. }: &Covering) -> bool {
    let is_token = |key: &Key| columns.column(key).is_some_and(|column| are_random(columns, column, thresholds));
    matches!(operation, Operation::Ignore(Representative::LeftOut))
        && Key::parse(key).is_some_and(|key| matches!(key, Key::Query(_) | Key::Param(_)) && !is_token(&key))
}
