//! Blocks of names whose URLs fall into groups: the URLs of a group are one page.

use super::super::kind::Urls;
use super::super::rng::mix;
use super::super::{parts::Parts, words};

/// One slot for each name of a block, with the sizes of the groups of its URLs.
#[derive(Clone, Copy)]
pub(super) struct Groups(pub(super) &'static [&'static [u64]]);

/// A group of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Block of the name.
    pub(super) block: u64,
    /// Slot of the name, which sets its groups.
    pub(super) slot: usize,
    /// URLs of the name before those of the group.
    pub(super) first: u64,
}

impl Groups {
    /// The pages of a block, slot by slot.
    pub(super) fn pages(self) -> Vec<Urls> {
        self.0.iter().flat_map(|groups| groups.iter().map(|&urls| Urls::Each(urls))).collect()
    }

    /// The group that is page `entity`.
    pub(super) fn group(self, entity: u64) -> Group {
        let pages: u64 = self.0.iter().map(|groups| groups.len() as u64).sum();
        let mut page = (entity % pages) as usize;
        let mut slot = 0;
        while page >= self.0[slot].len() {
            page -= self.0[slot].len();
            slot += 1;
        }
        Group { block: entity / pages, slot, first: self.0[slot][..page].iter().sum() }
    }

    /// The page of URL number `nth` of the name in `slot` of `block`; None where the name has fewer
    /// URLs.
    pub(super) fn entity(self, block: u64, slot: usize, nth: u64) -> Option<u64> {
        let pages: u64 = self.0.iter().map(|groups| groups.len() as u64).sum();
        let before: u64 = self.0[..slot].iter().map(|groups| groups.len() as u64).sum();
        let mut end = 0;
        let page = self.0[slot].iter().position(|urls| {
            end += urls;
            nth < end
        })?;
        Some(block * pages + before + page as u64)
    }

    /// Number of the name of a group: names in equal slots of two blocks have nothing in common.
    pub(super) fn name(self, group: Group) -> u64 {
        let slots = self.0.len() as u64;
        group.block * slots + (group.slot as u64 + mix(group.block) % slots) % slots
    }

    /// Block and slot of the name with a number: the inverse of [`name`](Self::name).
    pub(super) fn place(self, name: u64) -> (u64, usize) {
        let slots = self.0.len() as u64;
        let block = name / slots;
        (block, ((name % slots + slots - mix(block) % slots) % slots) as usize)
    }
}

/// Adds a word that stands for `name` to the last path segment: `amber` for 0, `amber7` for 448.
pub(super) fn put_word(name: u64, url: &mut Parts) {
    word_to(name, url.path());
}

/// Adds a word that stands for `name` to `out`: `amber` for 0, `amber7` for 448.
pub(super) fn word_to(name: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(words::word(name).as_bytes());
    if name >= words::COUNT {
        words::number(name / words::COUNT, out);
    }
}

/// The name that a word stands for.
pub(super) fn word_name(text: &str) -> Option<u64> {
    let (word, number) = words::numbered(text)?;
    Some(number * words::COUNT + word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_names_are_found_again() {
        let groups = Groups(&[&[3], &[1, 2], &[2]]);
        assert_eq!(groups.pages(), [3, 1, 2, 2].map(Urls::Each));
        for entity in 0..400 {
            let group = groups.group(entity);
            assert_eq!(groups.entity(group.block, group.slot, group.first), Some(entity));
            assert_eq!(groups.place(groups.name(group)), (group.block, group.slot));
        }
        assert_eq!(groups.entity(5, 1, 2), Some(22));
        assert_eq!(groups.entity(5, 1, 3), None);
        assert_eq!(word_name("amber7"), Some(448));
    }
}
