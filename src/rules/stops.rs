//! Conditions that would stop a rule, in words: on this URL, and in the evidence.

use super::types::{Evidence, Operation, Rule, Test};
use super::wording::constraint_text;

/// Changes of a URL for which the rule would not fire: one line each.
pub fn stops(rule: &Rule) -> Vec<String> {
    let mut out: Vec<String> = rule
        .scope
        .iter()
        .map(|constraint| match &constraint.test {
            Test::Present => format!("{} absent", constraint.key),
            Test::Absent => format!("{} there", constraint.key),
            Test::Equals(value) => format!("{} other than {value:?}", constraint.key),
            _ => format!("not so that {}", constraint_text(constraint)),
        })
        .collect();
    if rule.closed {
        out.push("any key that its source does not name".to_owned());
    }
    let optional = |(key, operation): &&(String, Operation)| {
        matches!(operation, Operation::Ignore(_)) && (key.starts_with("query ") || key.starts_with("param "))
    };
    if !rule.closed {
        out.extend(rule.operations.iter().filter(optional).map(|(key, _)| format!("no {key}")));
    }
    out
}

/// Number of further URLs on a page of another cluster that would withdraw the rule: the least number
/// for which the Wilson upper bound of the share of bad ones (z = 1; 0.5 for rules between forms and
/// mirrors) passes 0.10. 0 where it holds by its prior or by one constant page alone, so that a single
/// one is too many. Where labels are noisy the rule bears more.
pub fn bad_until_withdrawn(evidence: &Evidence, between_forms: bool) -> u64 {
    let four_z_squared: u128 = if between_forms { 1 } else { 4 };
    let holds = |bad: u64| {
        let n = u128::from(evidence.good) + u128::from(bad);
        let ten_bad = 10 * u128::from(bad);
        ten_bad <= n && 4 * (n - ten_bad).pow(2) >= four_z_squared * 9 * n
    };
    // Bad ones only ever raise the bound: the least number that fails is found by halving.
    let (mut low, mut high) = (evidence.bad, evidence.bad + evidence.good / 9 + 1);
    if !holds(low) {
        return 0;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    high - evidence.bad
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_that_withdraws() {
        let evidence = |good, bad| Evidence { good, bad, ..Evidence::default() };
        // By hand, p = 0.10 and z = 1: 24 good bear one bad, 37 bear two.
        assert_eq!(bad_until_withdrawn(&evidence(9, 0), false), 1);
        assert_eq!(bad_until_withdrawn(&evidence(24, 0), false), 2);
        assert_eq!(bad_until_withdrawn(&evidence(37, 1), false), 2);
        assert_eq!(bad_until_withdrawn(&evidence(3, 0), false), 0);
        for good in 9..3_000 {
            let more = bad_until_withdrawn(&evidence(good, 0), false);
            let n = (good + more) as f64;
            let over = |bad: f64, n: f64| bad > n * 0.1 || (bad - n * 0.1).powi(2) < n * 0.09 - 1e-6;
            assert!(over(more as f64, n) && !over(more as f64 - 1.0, n - 1.0), "{good}");
        }
    }
}
