//! One rule in place of several forms: where rules between forms do at each depth what a mirror rule
//! does at any (`/index.php/x` and `/x`, `/index.php/x/y` and `/x/y`), the mirror rule is learned
//! instead. It acts at depths never met, and moves all URLs one way, while each form has its own.

use super::mirrors::{self, Fronts, Setting};
use super::{Thresholds, Training, reduced};
use crate::rules::{Kind, Rule, RuleSet, SiteRules};
use std::collections::{BTreeMap, BTreeSet};

/// The rules without those between forms that a mirror rule replaces; `None` where none does.
///
/// A form is replaced where all its examples are URLs and twins of one pair of fronts with a direction,
/// `front_min_forms` forms have that pair, and it passes as a rule on the URLs that those forms no longer
/// join. Names of two sections are too few here: the forms say at which depths these have twins, the
/// mirror rule would say it of all. Forms of the earlier result stay. Cost: two passes of the rules over
/// all URLs where forms have such a pair.
pub fn in_place_of_forms(rules: &SiteRules, training: &Training, setting: Setting<'_>) -> Option<SiteRules> {
    let thresholds = Thresholds { mirror_min_names: usize::MAX, ..setting.thresholds.clone() };
    let was = |rule: &Rule| {
        let mut earlier = setting.previous.iter().flat_map(|of| &of.rules);
        earlier.any(|of| of.scope == rule.scope && of.operations == rule.operations)
    };
    let all = rules.rules.iter().enumerate();
    let new: Vec<(usize, &Rule)> = all.filter(|(_, rule)| rule.kind == Kind::Form && !was(rule)).collect();
    // Most sites have no form: nothing is compiled for them.
    if new.len() < thresholds.front_min_forms {
        return None;
    }
    let set = RuleSet::new(vec![without(rules, |_, rule| rule.closed)]);
    let mut forms: BTreeMap<(String, String), BTreeSet<usize>> = BTreeMap::new();
    for (index, rule) in new {
        for fronts in of_all(&set, &rule.evidence.examples) {
            forms.entry(fronts).or_default().insert(index);
        }
    }
    forms.retain(|_, forms| forms.len() >= thresholds.front_min_forms);
    if forms.is_empty() {
        return None;
    }
    let is_in = |index: usize| forms.values().any(|forms| forms.contains(&index));
    let trial = without(rules, |index, _| is_in(index));
    let reduced = reduced::reduced(&reduced::identities(&trial, training), training);
    let learned = mirrors::learn(&trial, reduced, Setting { thresholds: &thresholds, ..setting });
    // The learned front of a parameter with others behind it lists their names.
    let is_of = |from: &str, a: &str| from == a || a.contains('?') && a.ends_with('&') && from.starts_with(a);
    let passed =
        |(a, b): &(String, String)| learned.iter().filter_map(Rule::mirror).any(|(from, to)| to == b && is_of(from, a));
    forms.retain(|fronts, _| passed(fronts));
    let is_replaced = |index: usize| forms.values().any(|forms| forms.contains(&index));
    (!forms.is_empty()).then(|| without(rules, |index, _| is_replaced(index)))
}

/// The pairs of fronts with a direction that all these pairs of URLs have, once the rules of `set` acted.
fn of_all(set: &RuleSet, examples: &[[String; 2]]) -> BTreeSet<(String, String)> {
    let of_one = |[x, y]: &[String; 2]| -> BTreeSet<(String, String)> {
        let [x, y] = [x, y].map(|url| set.canonicalize(url).url.into_owned());
        let directed = mirrors::fronts_of(&x, &y).filter(|fronts| fronts.is_directed);
        directed.map(|Fronts { a, b, .. }| (a.into_owned(), b.into_owned())).collect()
    };
    examples.iter().map(of_one).reduce(|all, one| all.intersection(&one).cloned().collect()).unwrap_or_default()
}

/// The rules but for some.
fn without(rules: &SiteRules, is_out: impl Fn(usize, &Rule) -> bool) -> SiteRules {
    let kept = rules.rules.iter().enumerate().filter(|(index, rule)| !is_out(*index, rule));
    SiteRules { rules: kept.map(|(_, rule)| rule.clone()).collect(), ..rules.clone() }
}
