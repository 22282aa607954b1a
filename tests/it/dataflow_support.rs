//! Records in memory as a source of the dataflow, and what the sequential learner makes of them.
use std::sync::Arc;
use undust::dataflow::sample::SampleParams;
use undust::dataflow::{Batches, Learned, Plan, Source, SourceError};
use undust::model::{Record, RecordBatch, SiteBy, hash64};
use undust::runtime::progress::Progress;
use undust::site::Params;

/// A record that owns its strings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owned {
    pub url: String,
    pub cluster: Option<String>,
    pub site: Option<String>,
    pub elsewhere: bool,
}

impl Owned {
    pub fn new(url: impl Into<String>, cluster: impl Into<String>) -> Owned {
        Owned { url: url.into(), cluster: Some(cluster.into()), site: None, elsewhere: false }
    }

    pub fn record(&self) -> Record<'_> {
        Record {
            url: self.url.as_bytes(),
            cluster: self.cluster.as_deref().map(str::as_bytes),
            site: self.site.as_deref().map(str::as_bytes),
            elsewhere: self.elsewhere,
        }
    }
}

/// Records in memory, dealt to workers in stripes of one batch.
pub struct Memory {
    pub records: Arc<Vec<Owned>>,
    pub batch: usize,
}

struct Part {
    records: Arc<Vec<Owned>>,
    batch: usize,
    next: usize,
    peers: usize,
}

impl Source for Memory {
    fn open(&self, index: usize, peers: usize, _pass: usize) -> Result<Box<dyn Batches>, SourceError> {
        Ok(Box::new(Part { records: self.records.clone(), batch: self.batch, next: index, peers }))
    }
}

impl Batches for Part {
    fn next_batch(&mut self, batch: &mut RecordBatch) -> Result<bool, SourceError> {
        batch.clear();
        let start = self.next * self.batch;
        self.next += self.peers;
        if start >= self.records.len() {
            return Ok(false);
        }
        let end = (start + self.batch).min(self.records.len());
        self.records[start..end].iter().for_each(|record| batch.push(record.record()));
        Ok(true)
    }
}

pub fn plan(workers: usize, memory: usize) -> Plan {
    Plan {
        params: Params::default(),
        sample: SampleParams::default(),
        held_out: None,
        site_by: SiteBy::Domain,
        previous: Default::default(),
        workers,
        memory,
        scratch: std::env::temp_dir(),
    }
}

pub fn run(plan: &Plan, records: Vec<Owned>, batch: usize) -> Learned {
    let source = Memory { records: Arc::new(records), batch };
    undust::dataflow::run(plan, Arc::new(source), Arc::new(Progress::default())).expect("the run succeeds")
}

/// The records in another order, the same for the same seed.
pub fn shuffled(mut records: Vec<Owned>, seed: u64) -> Vec<Owned> {
    let rank = |i: usize| hash64(&[seed.to_le_bytes(), (i as u64).to_le_bytes()].concat());
    let mut order: Vec<(u64, Owned)> = records.drain(..).enumerate().map(|(i, r)| (rank(i), r)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, record)| record).collect()
}

/// Sites with session ids, tracking parameters, mirrors, repeats, unlabelled records, two labels for
/// one URL, and parameters that matter.
pub fn crawl(sites: usize, pages: usize) -> Vec<Owned> {
    let mut out = Vec::new();
    for s in 0..sites {
        for p in 0..pages {
            let label = format!("{p}");
            let host = format!("site{s}.example.org").replace("example", &format!("example{s}"));
            let page = format!("http://{host}/item/{p}.html?view={}", p % 3);
            out.push(Owned::new(page.clone(), label.clone()));
            for k in 0..(p % 4) {
                out.push(Owned::new(format!("{page}&sid={:x}", hash64(&[k as u8, p as u8, s as u8])), label.clone()));
            }
            if p % 5 == 0 {
                out.push(Owned::new(page.replace("http://", "HTTP://www."), label.clone()));
                out.push(Owned::new(page.clone(), label.clone()));
            }
            if p % 11 == 0 {
                out.push(Owned::new(format!("{page}&sid=0"), "other"));
                out.push(Owned { cluster: None, ..Owned::new(format!("{page}&x={p}"), "") });
            }
            if p % 17 == 0 {
                out.push(Owned::new(format!("mailto:{p}@{host}"), label.clone()));
                out.push(Owned {
                    site: Some("a label".to_owned()),
                    ..Owned::new(format!("http://other.org/{p}"), label)
                });
            }
        }
    }
    out
}
