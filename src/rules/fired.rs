//! Which rules of a site fired on a URL.

use std::fmt;

/// Rules that fired on one URL, as indices into the rules of its site: each once, ascending. The first 64, which is all that
/// most sites have, are bits of a word: nobody has to put them in order, nor to ask for memory for them.
#[derive(Default, PartialEq, Eq)]
pub struct Fired {
    first: u64,
    /// Ascending.
    others: Vec<u16>,
}

/// Without a call where all of them are bits.
impl Clone for Fired {
    #[inline]
    fn clone(&self) -> Fired {
        Fired { first: self.first, others: if self.others.is_empty() { Vec::new() } else { self.others.clone() } }
    }
}

/// Rules that are bits.
const FIRST: u16 = u64::BITS as u16;

impl Fired {
    /// No rule.
    pub const NONE: &Fired = &Fired { first: 0, others: Vec::new() };

    /// True where no rule fired.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.others.is_empty()
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.first.count_ones() as usize + self.others.len()
    }

    /// The rules, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        bits(self.first).chain(self.others.iter().copied())
    }

    /// Takes all out.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.first = 0;
        self.others.clear();
    }

    /// Adds a rule.
    pub(super) fn add(&mut self, rule: u16) {
        if rule < FIRST {
            self.first |= 1 << rule;
        } else if let Err(at) = self.others.binary_search(&rule) {
            self.others.insert(at, rule);
        }
    }

    /// Adds rules that are bits of a word of 64.
    #[inline(always)]
    pub(super) fn add_word(&mut self, word: usize, rules: u64) {
        match word {
            0 => self.first |= rules,
            _ => bits(rules).for_each(|at| self.add(word as u16 * FIRST + at)),
        }
    }

    /// Adds those of another one.
    pub(super) fn add_all(&mut self, others: &Fired) {
        self.first |= others.first;
        others.others.iter().for_each(|&rule| self.add(rule));
    }
}

impl fmt::Debug for Fired {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

/// The places of the bits of a word.
fn bits(mut word: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let at = word.trailing_zeros() as u16;
        word &= word.wrapping_sub(1);
        (at < FIRST).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_stand_once_and_ascend_however_they_come() {
        let (mut fired, mut other) = (Fired::default(), Fired::default());
        assert!(fired.is_empty() && Fired::NONE == &fired);
        for rule in [200, 63, 64, 0, 65_000, 64, 63] {
            fired.add(rule);
        }
        other.add_word(0, 1 << 63 | 2);
        other.add_word(1, 3);
        other.add_word(3, 1 << 8);
        assert_eq!(format!("{other:?}"), "[1, 63, 64, 65, 200]");
        assert_eq!((fired.iter().collect::<Vec<_>>(), fired.len()), (vec![0, 63, 64, 200, 65_000], 5));
        fired.add_all(&other);
        assert_eq!(format!("{fired:?}"), "[0, 1, 63, 64, 65, 200, 65000]");
        fired.clear();
        assert!(fired.is_empty() && fired.iter().next().is_none());
    }
}
