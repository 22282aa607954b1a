//! Values of a key that together prove where a rule is right.
//!
//! Each section of a site may have too few pages to show by itself that a rule is right there by more than
//! chance. But where the pages on which the rule is wrong keep to few of many sections, the section tells where
//! it is right, and those without a wrong page are of that kind.
//!
//! The first test is a hypergeometric one: that all wrong pages lie in the values that have one would be chance
//! with a probability of at most `C(values, values against) C(pages there, wrong) / C(pages, wrong)`, for each key
//! that could have been chosen. The second is one for each value: how much likelier than not it is of those that
//! the rule is wrong on, by the share of these, and by how likely each of them would have as many right pages and no
//! wrong one.

use super::Thresholds;
use super::binomial::power;
use super::hypergeometric::at_most;

/// For each value of a key whether it is one where the rule is right, by the right and wrong pages of each; `keys`
/// could have been chosen. All `false` where wrong pages may be where they are by chance.
pub fn proven_values(values: &[[u64; 2]], keys: usize, thresholds: &Thresholds) -> Vec<bool> {
    let permille = thresholds.condition_chance_permille as f64;
    let [right, wrong] = [0, 1].map(|of| values.iter().map(|pages| pages[of]).sum::<u64>());
    let against = || values.iter().filter(|pages| pages[1] > 0);
    let (count, there) = (against().count(), against().map(|pages| pages[0] + pages[1]).sum::<u64>());
    let kept = values.len() - count;
    let choices: f64 = (0..count).map(|at| (values.len() - at) as f64 / (at + 1) as f64).product();
    let chance = choices * at_most(0, right + wrong - there, wrong, right) * keys as f64;
    // Values of several kinds are against it, some by half: a share of all of them would be that of the worst.
    let alike = |right: u64| {
        let right = right.min(u64::from(u32::MAX)) as u32;
        let all_right = |of: &[u64; 2]| power((of[0] + 1) as f64 / (of[0] + of[1] + 1) as f64, right);
        against().map(all_right).sum::<f64>() / count.max(1) as f64
    };
    let is_proven = |&[right, wrong]: &[u64; 2]| {
        let odds = (count + 1) as f64 / (kept + 1) as f64 * alike(right);
        wrong == 0 && right >= thresholds.min_clusters as u64 && odds * 1_000.0 <= permille
    };
    // Of too many values the choices are no number.
    let is_beyond_chance = wrong > 0 && chance * 1_000.0 <= permille;
    values.iter().map(|pages| is_beyond_chance && is_proven(pages)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(values: &[[u64; 2]]) -> usize {
        proven_values(values, 20, &Thresholds::default()).into_iter().filter(|is_proven| *is_proven).count()
    }

    #[test]
    fn many_values_of_few_pages_are_right_together() {
        let sections = |pages: u64| [vec![[pages, 0]; 11], vec![[0, 4], [0, 3]]].concat();
        assert_eq!([1, 2, 3].map(|pages| count(&sections(pages))), [0, 0, 11]);
        // Three of three are too few to tell what the key says.
        assert_eq!(count(&[[3, 0], [3, 0], [3, 0], [0, 3]]), 0);
    }

    #[test]
    fn values_that_mix_right_and_wrong_say_little_of_few_pages() {
        // Of lists of which every second is wrong some sections have by chance only right ones.
        let mixed = [vec![[3, 0]; 5], vec![[1, 2]; 15], vec![[2, 1]; 15], vec![[0, 3]; 5]].concat();
        assert_eq!(count(&mixed), 0);
        // Where a third of the sections are wrong on half of the lists, three right ones of another say nothing.
        let sections = |pages: u64| [vec![[20, 0]; 6], vec![[pages, 0]], vec![[10, 10]; 3]].concat();
        assert_eq!([3, 4, 5].map(|pages| count(&sections(pages))), [6, 7, 7]);
        assert_eq!(count(&[[5, 0], [4, 0]]), 0);
        // Nor where some sections are wrong throughout, and as many by half.
        assert_eq!(count(&[vec![[3, 0]; 6], vec![[0, 5]; 4], vec![[2, 2]; 4]].concat()), 0);
    }
}
