//! Old document ids to new ones.
//!
//! Memory: 8 bytes a document of the old index (new id and survivor, 4 each); while new ids are given
//! in an order of their own, 4 more a survivor. Nothing else of a run grows with the number of
//! documents but the longest posting list and what lies sorted in scratch files.

/// New id of a document that is gone.
pub const GONE: u32 = u32::MAX;

/// New id and survivor of each document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocMap {
    new_of: Vec<u32>,
    survivor_of: Vec<u32>,
    docs: u32,
    merge_tf: bool,
}

impl DocMap {
    /// The map of documents whose survivors are `survivor_of` (a survivor is its own). Survivors get new
    /// ids from 0 on in the order of their old ids, or as `order` lists them. With `merge_tf` the postings
    /// of all documents of a group go to its survivor, without it only the survivor's own are kept.
    ///
    /// # Errors
    /// [`MapError`] when the survivors are none, or `order` does not list each of them once.
    pub fn new(survivor_of: Vec<u32>, order: Option<&[u32]>, merge_tf: bool) -> Result<DocMap, MapError> {
        let survives = |doc: u32| survivor_of.get(doc as usize) == Some(&doc);
        for (doc, &survivor) in survivor_of.iter().enumerate() {
            if !survives(survivor) {
                return Err(MapError::NoSurvivor { doc: doc as u32, survivor });
            }
        }
        let mut new_of = vec![GONE; survivor_of.len()];
        let mut docs = 0;
        let mut place = |doc: u32| {
            if !survives(doc) || new_of[doc as usize] != GONE {
                return Err(MapError::NotOnce { doc });
            }
            new_of[doc as usize] = docs;
            docs += 1;
            Ok(())
        };
        match order {
            Some(order) => order.iter().try_for_each(|&doc| place(doc))?,
            None => (0..survivor_of.len() as u32).filter(|&doc| survives(doc)).try_for_each(place)?,
        }
        for (doc, &survivor) in survivor_of.iter().enumerate() {
            let new = new_of[survivor as usize];
            if new == GONE {
                return Err(MapError::NotOnce { doc: survivor });
            }
            if merge_tf {
                new_of[doc] = new;
            }
        }
        Ok(DocMap { new_of, survivor_of, docs, merge_tf })
    }

    /// The new id that gets the postings of an old document; [`GONE`] where they are dropped.
    #[inline]
    pub fn new_of(&self, doc: u32) -> u32 {
        self.new_of[doc as usize]
    }

    /// The document that stays for it; itself, if it stays.
    pub fn survivor_of(&self, doc: u32) -> u32 {
        self.survivor_of[doc as usize]
    }

    /// True if the document stays.
    pub fn survives(&self, doc: u32) -> bool {
        self.survivor_of(doc) == doc
    }

    /// Documents of the old index.
    pub fn old_docs(&self) -> u32 {
        self.new_of.len() as u32
    }

    /// Documents of the new index.
    pub fn docs(&self) -> u32 {
        self.docs
    }

    /// Postings of duplicates are added to those of their survivor.
    pub fn merges_tf(&self) -> bool {
        self.merge_tf
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        (self.new_of.capacity() + self.survivor_of.capacity()) * size_of::<u32>()
    }
}

/// Survivors that are none. They come from the grouping of this very run, so it is at fault, not the
/// input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// The survivor of a document is itself gone.
    #[error(
        "document {doc} is to be merged into {survivor}, which does not stay (a defect of undust; please report it)"
    )]
    NoSurvivor {
        /// The document.
        doc: u32,
        /// Its survivor.
        survivor: u32,
    },
    /// A survivor has no place, or two, or a document that is gone has one.
    #[error("document {doc} has not exactly one place in the new order (a defect of undust; please report it)")]
    NotOnce {
        /// The document.
        doc: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(map: &DocMap) -> Vec<u32> {
        (0..map.old_docs()).map(|doc| map.new_of(doc)).collect()
    }

    #[test]
    fn ids_are_given_in_order() {
        let survivors = vec![0, 3, 0, 3, 4];
        let keep = DocMap::new(survivors.clone(), None, false).unwrap();
        assert_eq!((ids(&keep), keep.docs()), (vec![0, GONE, GONE, 1, 2], 3));
        assert_eq!(ids(&DocMap::new(survivors.clone(), None, true).unwrap()), [0, 1, 0, 1, 2]);
        assert_eq!(ids(&DocMap::new(survivors.clone(), Some(&[4, 0, 3]), false).unwrap()), [1, GONE, GONE, 2, 0]);
        assert_eq!(ids(&DocMap::new(survivors, Some(&[4, 0, 3]), true).unwrap()), [1, 2, 1, 2, 0]);
    }

    #[test]
    fn survivors_that_are_none_are_refused() {
        let error = |survivors: &[u32], order: Option<&[u32]>| DocMap::new(survivors.to_vec(), order, false).err();
        assert_eq!(error(&[0, 0, 1], None), Some(MapError::NoSurvivor { doc: 2, survivor: 1 }));
        assert_eq!(error(&[0, 9], None), Some(MapError::NoSurvivor { doc: 1, survivor: 9 }));
        assert_eq!(error(&[0, 0, 2], Some(&[0])), Some(MapError::NotOnce { doc: 2 }));
        assert_eq!(error(&[0, 0, 2], Some(&[0, 2, 0])), Some(MapError::NotOnce { doc: 0 }));
        assert_eq!(error(&[0, 0, 2], Some(&[0, 1, 2])), Some(MapError::NotOnce { doc: 1 }));
    }

    #[test]
    fn a_document_costs_eight_bytes() {
        let docs = 100_000;
        for order in [None, Some((0..docs).rev().collect::<Vec<u32>>())] {
            let map = DocMap::new((0..docs).collect(), order.as_deref(), true).unwrap();
            assert_eq!(map.memory(), 8 * docs as usize);
        }
    }
}
