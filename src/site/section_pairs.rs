//! Pairs of values that mean the same page in most sections of a site, and not in others: `mode=grid` is the default
//! of a shop, but for one of its departments.

use super::Thresholds;
use super::evidence::Bound;
use super::hypergeometric::at_most;
use std::collections::BTreeMap;

/// Pairs of rows with different and with equal clusters in which a pair of values meets, by section.
pub type BySection = BTreeMap<u32, [u64; 2]>;

/// The row pairs outside the sections that are against a pair of values, where the pair holds there; `None` where no
/// section is against it, or where it is wrong at random: wrong row pairs would then lie in as few sections by chance.
///
/// Given how many row pairs are wrong and how many lie in these sections, the chance of no more wrong ones outside is
/// that of the hypergeometric distribution, times the choices of so many sections (Bonferroni). O(wrong row pairs +
/// sections).
pub fn elsewhere(sections: &BySection, bound: Bound, thresholds: &Thresholds) -> Option<[u64; 2]> {
    let least = thresholds.section_min_clusters as u64;
    let is_against = |&&[different, same]: &&[u64; 2]| different >= least && !bound.allows(same, different, 0);
    let sum = |of: [u64; 2], next: &[u64; 2]| [of[0] + next[0], of[1] + next[1]];
    let against = sections.values().filter(is_against).fold([0, 0], sum);
    let chosen = sections.values().filter(is_against).count();
    let [different, same] = sections.values().filter(|of| !is_against(of)).fold([0, 0], sum);
    if chosen == 0 || chosen > thresholds.section_most_listed || !bound.holds(same, different, 0) {
        return None;
    }
    let choices = (0..chosen).map(|at| (sections.len() - at) as f64 / (at + 1) as f64).product::<f64>();
    let chance = at_most(different, different + same, against[0] + different, against[1] + same);
    (chance * choices * 1_000.0 <= thresholds.condition_chance_permille as f64).then_some([different, same])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_holds_outside_the_sections_where_it_is_wrong() {
        let thresholds = Thresholds::default();
        let bound = Bound::classes(&thresholds);
        let of = |sections: &[[u64; 2]]| elsewhere(&(0..).zip(sections.iter().copied()).collect(), bound, &thresholds);
        let mut sections = vec![[0, 6]; 11];
        assert_eq!(of(&sections), None, "none is against it");
        sections.push([6, 0]);
        assert_eq!(of(&sections), Some([0, 66]));
        // As many wrong groups, of which chance left two sections without any.
        assert_eq!(of(&[[2, 4], [3, 3], [2, 4], [0, 6], [0, 6], [2, 4], [2, 4], [2, 4]]), None);
    }
}
