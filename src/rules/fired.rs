//! The rules of a site that fired on a URL.

/// Rules that fired on one URL, as indices into the rules of its site: each once, ascending. The first
/// 64, all that most sites have, are bits of a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fired {
    first: u64,
    /// Ascending, each once.
    others: Vec<u16>,
}

impl Fired {
    /// No rule.
    pub const NONE: &Fired = &Fired { first: 0, others: Vec::new() };

    /// True where no rule fired.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.others.is_empty()
    }

    /// The rules, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        bits(self.first).map(|at| at as u16).chain(self.others.iter().copied())
    }

    /// Removes all.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.first = 0;
        self.others.clear();
    }

    /// Adds rules, as bits of a word of 64.
    #[inline(always)]
    pub(super) fn add(&mut self, word: usize, rules: u64) {
        if word == 0 {
            self.first |= rules;
        } else if rules != 0 {
            self.others.extend(bits(rules).map(|at| (word * 64 + at) as u16));
            self.others.sort_unstable();
            self.others.dedup();
        }
    }

    /// Adds rules by their indices.
    pub(super) fn extend(&mut self, rules: impl IntoIterator<Item = u16>) {
        rules.into_iter().for_each(|rule| self.add(usize::from(rule / 64), 1 << (rule % 64)));
    }
}

/// The places of the bits of a word, ascending.
pub(super) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (at < 64).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_stand_once_and_ascend_however_they_come() {
        let (mut fired, mut other) = (Fired::default(), Fired::default());
        assert!(fired.is_empty() && Fired::NONE == &fired);
        fired.extend([200, 63, 64, 0, 65_000, 64, 63]);
        for (word, rules) in [(0, 1 << 63 | 2), (1, 3), (3, 1 << 8)] {
            other.add(word, rules);
        }
        assert_eq!(other.iter().collect::<Vec<_>>(), [1, 63, 64, 65, 200]);
        assert_eq!(fired.iter().collect::<Vec<_>>(), [0, 63, 64, 200, 65_000]);
        fired.extend(other.iter());
        assert_eq!(fired.iter().collect::<Vec<_>>(), [0, 1, 63, 64, 65, 200, 65_000]);
        fired.clear();
        assert!(fired.is_empty() && fired.iter().next().is_none());
    }
}
