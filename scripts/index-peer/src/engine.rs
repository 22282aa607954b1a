//! tantivy: one field, one segment, document ids in the order of pages.

use crate::ciff::{Bag, DocRecord, Header, Posting, PostingsList, put};
use crate::{Answer, Result};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use tantivy::collector::TopDocs;
use tantivy::postings::Postings;
use tantivy::query::{BooleanQuery, Bm25StatisticsProvider, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token, TokenStream};
use tantivy::{DocSet, Index, Searcher, SegmentReader, TERMINATED, TantivyDocument, Term};

/// Memory of the writer: enough that all is one segment.
const BUDGET: usize = 3 << 30;

/// Statistics of a collection for BM25.
pub struct Statistics {
    pub tokens: u64,
    pub docs: u64,
    pub df: HashMap<String, u64>,
}

impl Bm25StatisticsProvider for Statistics {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(self.tokens)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.docs)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let term = String::from_utf8_lossy(term.serialized_value_bytes()).into_owned();
        Ok(self.df.get(&term).copied().unwrap_or(0))
    }
}

/// An index in memory.
pub struct Engine {
    index: Index,
    body: Field,
    searcher: Searcher,
}

impl Engine {
    /// Indexes texts.
    pub fn of_texts<'t>(texts: impl Iterator<Item = &'t str>) -> Result<Engine> {
        Engine::new(texts, |body, text, document| document.add_text(body, text))
    }

    /// Indexes bags of terms, as a CIFF file holds them.
    pub fn of_tokens(terms: &[&str], docs: &[Bag]) -> Result<Engine> {
        Engine::new(docs.iter(), |body, bag, document| {
            let mut tokens = Vec::new();
            for &(term, tf) in bag {
                for _ in 0..tf {
                    let (position, text) = (tokens.len(), terms[term as usize].to_owned());
                    tokens.push(Token { offset_from: 0, offset_to: 0, position, text, position_length: 1 });
                }
            }
            document.add_pre_tokenized_text(body, PreTokenizedString { text: String::new(), tokens });
        })
    }

    fn new<T>(docs: impl Iterator<Item = T>, add: impl Fn(Field, T, &mut TantivyDocument)) -> Result<Engine> {
        let mut schema = Schema::builder();
        let indexing =
            TextFieldIndexing::default().set_tokenizer("default").set_index_option(IndexRecordOption::WithFreqs);
        let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(indexing));
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, BUDGET)?;
        let mut count = 0;
        for doc in docs {
            let mut document = TantivyDocument::default();
            add(body, doc, &mut document);
            writer.add_document(document)?;
            count += 1;
        }
        writer.commit()?;
        let searcher = index.reader()?.searcher();
        let engine = Engine { index, body, searcher };
        match engine.searcher.segment_readers() {
            [only] if only.max_doc() == count => Ok(engine),
            segments => Err(format!("{} segments of {count} documents; ids need one", segments.len()).into()),
        }
    }

    /// The tokens of a text, as they are indexed.
    pub fn tokens(&self, text: &str) -> Vec<String> {
        let mut analyzer = self.index.tokenizers().get("default").expect("tantivy has it");
        let (mut stream, mut tokens) = (analyzer.token_stream(text), Vec::new());
        while stream.advance() {
            tokens.push(stream.token().text.clone());
        }
        tokens
    }

    /// Writes the index as CIFF: gives its lists and postings.
    pub fn export(&self, urls: &[&str], path: &str) -> Result<(usize, usize)> {
        let (mut lists, mut lengths) = (Vec::new(), vec![0i32; urls.len()]);
        let segment: &SegmentReader = self.searcher.segment_reader(0);
        let inverted = segment.inverted_index(self.body)?;
        let mut terms = inverted.terms().stream()?;
        while terms.advance() {
            let mut list = PostingsList { term: String::from_utf8(terms.key().to_vec())?, ..PostingsList::default() };
            let mut postings = inverted.read_postings_from_terminfo(terms.value(), IndexRecordOption::WithFreqs)?;
            let mut last = 0;
            while postings.doc() != TERMINATED {
                let (doc, tf) = (postings.doc() as i32, postings.term_freq() as i32);
                list.postings.push(Posting { docid: doc - last, tf });
                list.cf += i64::from(tf);
                lengths[doc as usize] += tf;
                last = doc;
                postings.advance();
            }
            list.df = list.postings.len() as i64;
            lists.push(list);
        }
        let tokens: i64 = lengths.iter().map(|&length| i64::from(length)).sum();
        let header = Header {
            version: 1,
            num_postings_lists: lists.len() as i32,
            num_docs: urls.len() as i32,
            total_postings_lists: lists.len() as i32,
            total_docs: urls.len() as i32,
            total_terms_in_collection: tokens,
            average_doclength: tokens as f64 / urls.len() as f64,
            description: "built with tantivy".to_owned(),
        };
        let mut out = BufWriter::new(File::create(path)?);
        put(&header, &mut out)?;
        for list in &lists {
            put(list, &mut out)?;
        }
        for (docid, (url, &doclength)) in (0..).zip(urls.iter().zip(&lengths)) {
            put(&DocRecord { docid, collection_docid: (*url).to_owned(), doclength }, &mut out)?;
        }
        out.flush()?;
        Ok((lists.len(), lists.iter().map(|list| list.postings.len()).sum()))
    }

    /// All documents with all of the words, or with any, and their scores.
    pub fn answer(&self, words: &[&str], all: bool, statistics: Option<&Statistics>) -> Result<Answer> {
        let occur = if all { Occur::Must } else { Occur::Should };
        let clause = |word: &&str| -> (Occur, Box<dyn Query>) {
            let term = Term::from_field_text(self.body, word);
            (occur, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)))
        };
        let query = BooleanQuery::new(words.iter().map(clause).collect());
        let every = TopDocs::with_limit(self.searcher.num_docs().max(1) as usize).order_by_score();
        let hits = match statistics {
            Some(statistics) => self.searcher.search_with_statistics_provider(&query, &every, statistics)?,
            None => self.searcher.search(&query, &every)?,
        };
        Ok(hits.into_iter().map(|(score, address)| (address.doc_id, score)).collect())
    }
}
