//! Small indexes for the tests of CIFF, and what merging their duplicates must give: the obvious way.

use super::fuzz_replay::Random;
use std::collections::{BTreeMap, BTreeSet};
use undust::index::{DocRecord, Header, Posting, postings};
use undust::io::ciff::CiffReader;
use undust::rules::RuleSet;

/// An index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toy {
    /// Names and lengths; the place is the id.
    pub docs: Vec<(String, u32)>,
    /// Terms, with `(docid, tf)`.
    pub lists: Vec<(String, Vec<(u32, u32)>)>,
}

impl Toy {
    /// Documents of the sites that `jobs_run::sites` has rules for and of others, some without a URL.
    pub fn random(seed: u64, docs: usize, terms: usize) -> Toy {
        let mut random = Random(seed);
        let mut lists: BTreeMap<String, BTreeMap<u32, u32>> = BTreeMap::new();
        let mut toy = Toy::default();
        for doc in 0..docs {
            let page = random.below(docs / 3 + 1);
            let name = match random.below(8) {
                0 | 1 => format!("http://www.forum.example/topic/{page}?t={page}"),
                2 | 3 => format!("http://www.forum.example/topic/{page}?sid={doc:x}&highlight=x&t={page}"),
                4 => format!("http://a.mirror.example/file/{page}"),
                5 => format!("http://b.mirror.example/file/{page}"),
                6 => format!("HTTP://Other.example:80/%7euser/{page}"),
                _ => format!("no url {doc}"),
            };
            let mut length = 0;
            for _ in 0..random.below(30) {
                // Few terms are frequent, many are rare.
                let below = 1 + random.below(terms);
                let most = if random.below(9) == 0 { 300 } else { 3 };
                let (term, tf) = (random.below(below), 1 + random.below(most));
                *lists.entry(format!("term{term:05}")).or_default().entry(doc as u32).or_default() += tf as u32;
                length += tf as u32;
            }
            toy.docs.push((name, length));
        }
        toy.lists = lists.into_iter().map(|(term, list)| (term, list.into_iter().collect())).collect();
        toy
    }

    pub fn header(&self) -> Header {
        let (lists, docs) = (self.lists.len() as u32, self.docs.len() as u32);
        let terms: u64 = self.docs.iter().map(|doc| u64::from(doc.1)).sum();
        Header {
            num_postings_lists: lists,
            num_docs: docs,
            total_postings_lists: lists,
            total_docs: docs,
            total_terms_in_collection: terms,
            average_doclength: if docs == 0 { 0.0 } else { terms as f64 / f64::from(docs) },
            description: "toy".into(),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let (mut out, mut body) = (Vec::new(), Vec::new());
        let header = self.header();
        header.encode(&header, &mut out);
        for (term, list) in &self.lists {
            let list: Vec<_> = list.iter().map(|&(docid, tf)| Posting::new(docid, tf)).collect();
            postings::encode(term.as_bytes(), &list, &mut body, &mut out);
        }
        for (docid, (name, length)) in (0..).zip(&self.docs) {
            DocRecord { docid, collection_docid: name.as_bytes(), length: *length }.encode(&mut out);
        }
        out
    }

    /// Reads an index, with its header.
    pub fn read(mut reader: CiffReader) -> (Header, Toy) {
        let header = reader.header().clone();
        let (mut toy, mut block, mut list) = (Toy::default(), Vec::new(), Vec::new());
        while reader.next_lists(&mut block).unwrap().is_some() {
            let mut rest = &block[..];
            while !rest.is_empty() {
                let undust::index::wire::Varint::Is(length, prefix) = undust::index::wire::varint(rest) else {
                    panic!()
                };
                let message = &rest[prefix..prefix + length as usize];
                let head = postings::decode(message, 0, header.num_docs, &mut list).unwrap();
                assert_eq!(head.cf, list.iter().map(|p| u64::from(p.tf())).sum::<u64>());
                let pairs = list.iter().map(|p| (p.docid(), p.tf())).collect();
                toy.lists.push((String::from_utf8(head.term.to_vec()).unwrap(), pairs));
                rest = &rest[prefix + length as usize..];
            }
        }
        let docs = &mut toy.docs;
        while reader
            .next_records(&mut |record| {
                assert_eq!(record.docid as usize, docs.len(), "records come in the order of ids");
                docs.push((String::from_utf8(record.collection_docid.to_vec()).unwrap(), record.length));
            })
            .unwrap()
        {}
        (header, toy)
    }
}

/// Options of the job.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub policy: &'static str,
    pub order: &'static str,
    pub merge_tf: bool,
}

/// Entry of a document in the map: old id, new id, survivor, canonical URL.
pub type DocumentEntry = (u32, u32, u32, String);

/// The index without its duplicates, and the map: written down as the issue says it, with no regard to
/// cost.
pub fn merged(toy: &Toy, urls: &[Option<String>], rules: &RuleSet, asked: Asked) -> (Toy, Vec<DocumentEntry>) {
    let canonical: Vec<Option<String>> = urls
        .iter()
        .map(|url| url.as_deref().map(|url| rules.canonicalize(url)).filter(|c| !c.invalid).map(|c| c.url.into_owned()))
        .collect();
    let mut groups: BTreeMap<(Option<&str>, usize), Vec<u32>> = BTreeMap::new();
    for (doc, canonical) in canonical.iter().enumerate() {
        let apart = if canonical.is_none() { doc } else { 0 };
        groups.entry((canonical.as_deref(), apart)).or_default().push(doc as u32);
    }
    let better = |doc: &u32| {
        let own = urls[*doc as usize].as_deref() != canonical[*doc as usize].as_deref();
        let bytes = urls[*doc as usize].as_ref().map_or(0, String::len);
        let length = u32::MAX - toy.docs[*doc as usize].1;
        match asked.policy {
            "canonical" => (u32::from(own), bytes, 0, *doc),
            "shortest" => (0, bytes, usize::from(own), *doc),
            "longest-doc" => (length, usize::from(own), bytes, *doc),
            other => panic!("{other}"),
        }
    };
    let mut survivor_of = vec![0; toy.docs.len()];
    for members in groups.values() {
        let survivor = members.iter().copied().min_by_key(better).unwrap();
        members.iter().for_each(|&doc| survivor_of[doc as usize] = survivor);
    }
    let mut survivors: Vec<u32> = survivor_of.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    if asked.order == "url" {
        survivors.sort_by_key(|&doc| {
            let url = &canonical[doc as usize];
            (url.is_none(), url.clone(), doc)
        });
    }
    let new_of = |doc: u32| survivors.iter().position(|&s| s == survivor_of[doc as usize]).unwrap() as u32;
    let mut result = Toy::default();
    for &survivor in &survivors {
        let (name, length) = &toy.docs[survivor as usize];
        let all = toy.docs.iter().zip(&survivor_of).filter(|(_, s)| **s == survivor).map(|(doc, _)| doc.1).sum();
        result.docs.push((name.clone(), if asked.merge_tf { all } else { *length }));
    }
    let new: Vec<u32> = (0..toy.docs.len() as u32).map(new_of).collect();
    for (term, list) in &toy.lists {
        let mut merged: BTreeMap<u32, u32> = BTreeMap::new();
        for &(doc, tf) in list {
            if asked.merge_tf || survivor_of[doc as usize] == doc {
                *merged.entry(new[doc as usize]).or_default() += tf;
            }
        }
        if !merged.is_empty() {
            result.lists.push((term.clone(), merged.into_iter().collect()));
        }
    }
    let entries = (0..toy.docs.len() as u32).map(|doc| {
        (doc, new[doc as usize], survivor_of[doc as usize], canonical[doc as usize].clone().unwrap_or_default())
    });
    (result, entries.collect())
}
