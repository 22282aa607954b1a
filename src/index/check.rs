//! The proof that an index is another one under a map.
//!
//! It goes the other way than [`super::remap`]: the new postings are taken back to old documents and
//! compared with the old postings of the documents that stay. The two share the decoder and the
//! survivors, nothing else.

use super::docmap::DocMap;
use super::error::shown;
use super::postings::{List, Posting};
use crate::model::hash64;

/// Difference between an index and the expected one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// Two old documents claim one new id.
    #[error("documents {one} and {other} both claim to be document {new} of the new index")]
    TwoSurvivors {
        /// The new id.
        new: u32,
        /// An old id.
        one: u32,
        /// Another.
        other: u32,
    },
    /// A document and its survivor do not agree on the new id.
    #[error("document {doc} and its survivor {survivor} have different places in the new index")]
    Apart {
        /// The document.
        doc: u32,
        /// Its survivor.
        survivor: u32,
    },
    /// A list that should be there and is not, or the other way round.
    #[error("the new index has the list of {found:?} where that of {due:?} is due")]
    Term {
        /// The term in the new index; `None` at its end.
        found: Option<String>,
        /// The term that is due; `None` at the end.
        due: Option<String>,
    },
    /// Postings that are not those of the old index under the map.
    #[error(
        "the new list of {term:?} has {found} postings, {due} are due; the first that differ are of old document {doc}"
    )]
    Postings {
        /// The term.
        term: String,
        /// Postings in the new index.
        found: usize,
        /// Postings due.
        due: usize,
        /// Old id of the first document on which the two differ.
        doc: u32,
    },
    /// A number that does not agree with what was counted.
    #[error("{what} is {found}, {due} was counted")]
    Count {
        /// Name of the number.
        what: &'static str,
        /// Stated number.
        found: u64,
        /// Counted number.
        due: u64,
    },
    /// A record that is not the survivor's.
    #[error("document {new} of the new index has not the name and length of old document {old}, which it should be")]
    Record {
        /// New id.
        new: u32,
        /// Old id.
        old: u32,
    },
}

/// Checks lists, then records, then sums. Memory: 4 bytes a survivor beside the map, and 16 more for
/// records.
#[derive(Debug)]
pub struct Checker<'m> {
    map: &'m DocMap,
    /// Old id of each new document.
    old_of: Vec<u32>,
    due: Vec<Posting>,
    found: Vec<Posting>,
    /// Hash of the name and length of each new document, by new id.
    records: Vec<(u64, u64)>,
    /// Counts of the check.
    pub checked: Checked,
}

/// Counts of the check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Lists of the new index.
    pub lists: u64,
    /// Postings of the new index.
    pub postings: u64,
    /// Documents of the new index.
    pub docs: u64,
    /// Lists of the old index of which nothing is left.
    pub emptied: u64,
    /// Sum of the lengths of the old documents.
    pub old_terms: u64,
    /// Sum of the lengths of the new documents.
    pub terms: u64,
}

impl<'m> Checker<'m> {
    /// Checks the map itself first: one old document for each new one, and the other way round.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn new(map: &'m DocMap) -> Result<Checker<'m>, CheckError> {
        let mut old_of = vec![u32::MAX; map.docs() as usize];
        for doc in 0..map.old_docs() {
            let (new, survivor) = (map.new_of(doc), map.survivor_of(doc));
            if doc == survivor {
                match old_of.get_mut(new as usize) {
                    Some(old) if *old == u32::MAX => *old = doc,
                    Some(&mut one) => return Err(CheckError::TwoSurvivors { new, one, other: doc }),
                    None => return Err(CheckError::Apart { doc, survivor }),
                }
            } else if map.merges_tf() && new != map.new_of(survivor) {
                return Err(CheckError::Apart { doc, survivor });
            }
        }
        count("the number of new documents", u64::from(map.docs()), old_of.iter().filter(|&&o| o != u32::MAX).count())?;
        let (due, found) = Default::default();
        Ok(Checker { map, old_of, due, found, records: Vec::new(), checked: Checked::default() })
    }

    /// Computes the expected list for an old list. True when it is not empty: then the next list of the new
    /// index must be [`matches`](Self::matches).
    pub fn due(&mut self, postings: &[Posting]) -> bool {
        let map = self.map;
        let mine = postings.iter().filter(|p| map.merges_tf() || map.survives(p.docid()));
        self.due.clear();
        self.due.extend(mine.map(|p| Posting::new(map.survivor_of(p.docid()), p.tf())));
        self.due.sort_unstable();
        self.due.dedup_by(|next, into| {
            let same = next.docid() == into.docid();
            if same {
                *into = Posting::new(into.docid(), into.tf() + next.tf());
            }
            same
        });
        self.checked.emptied += u64::from(self.due.is_empty());
        !self.due.is_empty()
    }

    /// Checks the new list of the term that is due; `None` where the new index has no list left.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn matches(&mut self, due: &[u8], new: Option<(List<'_>, &[Posting])>) -> Result<(), CheckError> {
        let Some((list, postings)) = new.filter(|(list, _)| list.term == due) else {
            let found = new.map(|(list, _)| shown(list.term));
            return Err(CheckError::Term { found, due: Some(shown(due)) });
        };
        self.found.clear();
        let old_of = |new: u32| self.old_of.get(new as usize).copied().unwrap_or(u32::MAX);
        self.found.extend(postings.iter().map(|p| Posting::new(old_of(p.docid()), p.tf())));
        self.found.sort_unstable();
        if self.found != self.due {
            let same = self.found.iter().zip(&self.due).take_while(|(f, d)| f == d).count();
            let first = self.found.get(same).into_iter().chain(self.due.get(same)).min();
            let doc = first.expect("they differ").docid();
            let (found, due) = (self.found.len(), self.due.len());
            return Err(CheckError::Postings { term: shown(list.term), found, due, doc });
        }
        count("the df of a list", list.df, postings.len())?;
        let cf = self.due.iter().map(|p| u64::from(p.tf())).sum();
        if list.cf != cf {
            return Err(CheckError::Count { what: "the cf of a list", found: list.cf, due: cf });
        }
        self.checked.lists += 1;
        self.checked.postings += postings.len() as u64;
        Ok(())
    }

    /// Checks that the new index has no list more.
    ///
    /// # Errors
    /// [`CheckError::Term`] where it has.
    pub fn no_more(&self, new: Option<List<'_>>) -> Result<(), CheckError> {
        new.map_or(Ok(()), |list| Err(CheckError::Term { found: Some(shown(list.term)), due: None }))
    }

    /// Takes the record of an old document.
    pub fn old_record(&mut self, doc: u32, name: &[u8], length: u32) {
        self.records.resize(self.map.docs() as usize, (0, 0));
        self.checked.old_terms += u64::from(length);
        let survivor = self.map.survivor_of(doc);
        let record = &mut self.records[self.map.new_of(survivor) as usize];
        if doc == survivor {
            record.0 = hash64(name);
        }
        if doc == survivor || self.map.merges_tf() {
            record.1 += u64::from(length);
        }
    }

    /// Checks the record of a new document; all old ones were taken.
    ///
    /// # Errors
    /// [`CheckError::Record`].
    pub fn new_record(&mut self, doc: u32, name: &[u8], length: u32) -> Result<(), CheckError> {
        if self.records.get(doc as usize) != Some(&(hash64(name), u64::from(length))) {
            return Err(CheckError::Record {
                new: doc,
                old: self.old_of.get(doc as usize).copied().unwrap_or(u32::MAX),
            });
        }
        self.checked.docs += 1;
        self.checked.terms += u64::from(length);
        Ok(())
    }

    /// Checks the headers against what was counted.
    ///
    /// # Errors
    /// [`CheckError::Count`].
    pub fn headers(&self, old: &super::Header, new: &super::Header) -> Result<(), CheckError> {
        let Checked { lists, docs, emptied, old_terms, terms, .. } = self.checked;
        let same = |what, found: u64, due: u64| {
            if found == due { Ok(()) } else { Err(CheckError::Count { what, found, due }) }
        };
        same("num_postings_lists", new.num_postings_lists.into(), lists)?;
        same("num_docs", new.num_docs.into(), docs)?;
        same("documents of the map", self.map.docs().into(), docs)?;
        same(
            "total_postings_lists",
            new.total_postings_lists.into(),
            u64::from(old.total_postings_lists).saturating_sub(emptied),
        )?;
        let gone = u64::from(self.map.old_docs() - self.map.docs());
        same("total_docs", new.total_docs.into(), u64::from(old.total_docs).saturating_sub(gone))?;
        let due = old.total_terms_in_collection.saturating_sub(old_terms - terms);
        same("total_terms_in_collection", new.total_terms_in_collection, due)?;
        let mean = new.average_doclength * f64::from(new.total_docs);
        if (mean - new.total_terms_in_collection as f64).abs() > 1e-6 * mean.abs().max(1.0) {
            let what = "average_doclength times total_docs";
            return Err(CheckError::Count { what, found: mean.round() as u64, due: new.total_terms_in_collection });
        }
        Ok(())
    }
}

fn count(what: &'static str, found: u64, due: usize) -> Result<(), CheckError> {
    if found == due as u64 { Ok(()) } else { Err(CheckError::Count { what, found, due: due as u64 }) }
}

#[cfg(test)]
mod tests {
    use super::super::remap::remap;
    use super::*;

    fn list(postings: &[Posting]) -> List<'static> {
        List { term: b"t", df: postings.len() as u64, cf: postings.iter().map(|p| u64::from(p.tf())).sum() }
    }

    fn postings(list: &[(u32, u32)]) -> Vec<Posting> {
        list.iter().map(|&(docid, tf)| Posting::new(docid, tf)).collect()
    }

    #[test]
    fn what_remap_makes_is_what_is_due() {
        let old = postings(&[(0, 5), (1, 2), (2, 3), (3, 9), (4, 1)]);
        for (order, merge) in [(None, false), (None, true), (Some(&[4, 1, 2][..]), false), (Some(&[4, 1, 2]), true)] {
            let map = DocMap::new(vec![2, 1, 2, 1, 4], order, merge).unwrap();
            let mut checker = Checker::new(&map).unwrap();
            let mut new = old.clone();
            remap(&map, &mut new).unwrap();
            assert!(checker.due(&old));
            checker.matches(b"t", Some((list(&new), &new))).unwrap();
            // Every single change is found: a posting lost, added, at another document, another tf, df or cf.
            let mut changed = vec![new[1..].to_vec(), [&new[..], &[Posting::new(0, 1)]].concat()];
            changed.push(new.iter().map(|p| Posting::new((p.docid() + 1) % 3, p.tf())).collect());
            changed.push(new.iter().map(|p| Posting::new(p.docid(), p.tf() + 1)).collect());
            for wrong in changed {
                let found = checker.matches(b"t", Some((list(&wrong), &wrong)));
                assert!(matches!(found, Err(CheckError::Postings { .. })), "{found:?}");
            }
            for wrong in [List { df: 2, ..list(&new) }, List { cf: 2, ..list(&new) }] {
                assert!(matches!(checker.matches(b"t", Some((wrong, &new))), Err(CheckError::Count { .. })));
            }
            let other = List { term: b"u", ..list(&new) };
            assert!(matches!(checker.matches(b"t", Some((other, &new))), Err(CheckError::Term { .. })));
            assert!(matches!(checker.matches(b"t", None), Err(CheckError::Term { found: None, .. })));
            assert!(checker.no_more(Some(list(&new))).is_err() && checker.no_more(None).is_ok());
        }
    }

    #[test]
    fn records_are_the_survivors_own_unless_merged() {
        for (merge, length) in [(false, 30), (true, 50)] {
            let map = DocMap::new(vec![1, 1], None, merge).unwrap();
            let mut checker = Checker::new(&map).unwrap();
            checker.old_record(0, b"a", 20);
            checker.old_record(1, b"b", 30);
            checker.new_record(0, b"b", length).unwrap();
            for (name, length) in [(b"a", length), (b"b", length + 1)] {
                assert_eq!(checker.new_record(0, name, length), Err(CheckError::Record { new: 0, old: 1 }));
            }
            assert!(checker.new_record(1, b"b", length).is_err());
        }
    }

    #[test]
    fn headers_agree_with_the_counts() {
        let map = DocMap::new(vec![1, 1], None, false).unwrap();
        let mut checker = Checker::new(&map).unwrap();
        assert!(!checker.due(&postings(&[(0, 1)])), "a list that is emptied");
        let (old_list, new_list) = (postings(&[(1, 30)]), postings(&[(0, 30)]));
        assert!(checker.due(&old_list));
        checker.matches(b"t", Some((list(&new_list), &new_list))).unwrap();
        checker.old_record(0, b"a", 1);
        checker.old_record(1, b"b", 30);
        checker.new_record(0, b"b", 30).unwrap();
        let old = super::super::Header {
            num_postings_lists: 2,
            num_docs: 2,
            total_postings_lists: 2,
            total_docs: 2,
            total_terms_in_collection: 31,
            average_doclength: 15.5,
            description: String::new(),
        };
        let new = old.without(1, 1).with_lists(1);
        checker.headers(&old, &new).unwrap();
        let changes: [fn(&mut super::super::Header); 6] = [
            |h| h.num_postings_lists += 1,
            |h| h.num_docs += 1,
            |h| h.total_postings_lists += 1,
            |h| h.total_docs += 1,
            |h| h.total_terms_in_collection += 1,
            |h| h.average_doclength += 1.0,
        ];
        for change in changes {
            let mut wrong = new.clone();
            change(&mut wrong);
            assert!(matches!(checker.headers(&old, &wrong), Err(CheckError::Count { .. })), "{wrong:?}");
        }
    }
}
