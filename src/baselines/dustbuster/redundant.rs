//! Phase two: pairs that others refine go (section 5.2, Figure 2).

use super::{Likely, Parameters};

/// True where `a -> b` refines `c -> d` (Lemma 5.3): there is an envelope that makes both strings of
/// the former from those of the latter.
pub fn refines(a: &[u8], b: &[u8], c: &[u8], d: &[u8]) -> bool {
    // The envelope is as long on both sides.
    if a.len() < c.len() || b.len() < d.len() || a.len() - c.len() != b.len() - d.len() {
        return false;
    }
    (0..=a.len() - c.len()).any(|at| {
        let rest = at + c.len();
        a[at..rest] == *c && b[..at] == a[..at] && b[at..at + d.len()] == *d && b[at + d.len()..] == a[rest..]
    })
}

/// True if a pair [`refines`] another, in either direction.
pub fn pair_refines(a: &Likely, b: &Likely) -> bool {
    refines(&a.long, &a.short, &b.long, &b.short) || refines(&a.long, &a.short, &b.short, &b.long)
}

/// Removes rules that others refine; returns the rest by falling support of the lower bucket size.
pub fn eliminate(mut rules: Vec<Likely>, parameters: &Parameters) -> Vec<Likely> {
    rules.sort_by(|a, b| {
        b.support_high.cmp(&a.support_high).then_with(|| (&a.long, &a.short).cmp(&(&b.long, &b.short)))
    });
    let mut gone = vec![false; rules.len()];
    for i in 0..rules.len() {
        if gone[i] {
            continue;
        }
        let size = f64::from(rules[i].support_high);
        let deficiency = (parameters.relative_deficiency * size).max(parameters.absolute_deficiency);
        for j in i + 1..rules.len().min(i + 1 + parameters.window) {
            if size - f64::from(rules[j].support_high) > deficiency {
                break;
            }
            if gone[j] {
                continue;
            }
            if pair_refines(&rules[i], &rules[j]) {
                gone[j] = true;
            } else if pair_refines(&rules[j], &rules[i]) {
                gone[i] = true;
                break;
            }
        }
    }
    let mut at = 0;
    rules.retain(|_| {
        at += 1;
        !gone[at - 1]
    });
    rules.sort_by(|a, b| b.support.cmp(&a.support).then_with(|| (&a.long, &a.short).cmp(&(&b.long, &b.short))));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refinement_is_the_same_substitution_in_a_context() {
        assert!(refines(b".il/story?id=", b".il/story_", b"story?id=", b"story_"));
        assert!(refines(b"story?id=", b"story_", b"?id=", b"_"));
        assert!(!refines(b"?id=", b"_", b"story?id=", b"story_"));
        assert!(!refines(b"a?id=", b"b_", b"?id=", b"_"));
        assert!(refines(b"/index.html", b"/", b"index.html", b""));
        assert!(refines(b"xx", b"xxx", b"", b"x"));
    }

    #[test]
    fn of_equal_support_the_refinement_stays() {
        let rule = |long: &str, short: &str, support| Likely {
            long: long.into(),
            short: short.into(),
            support,
            support_high: support,
        };
        let rules =
            vec![rule("?id=", "_", 10), rule("story?id=", "story_", 10), rule("x", "y", 3), rule("ax", "ay", 1)];
        let left = eliminate(rules, &Parameters::default());
        let names: Vec<&[u8]> = left.iter().map(|r| &r.long[..]).collect();
        assert_eq!(names, [&b"story?id="[..], b"x", b"ax"], "a support of 1 against 3 is too deficient");
    }
}
