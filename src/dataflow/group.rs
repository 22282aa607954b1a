//! Group by site, at the owner of the site: in memory up to a budget, then sorted runs, merged site by
//! site.
//!
//! Memory: the shipped batches are kept as received until they exceed the budget; then their rows are
//! ordered by site (counting sort over dense ids) and written as one run. After the last input, if
//! something was spilled, the rest is spilled too and the runs are merged: one block a run, and at most
//! twice `--train-max` rows of the site in hand (plus a block), since the sample is selected again as it
//! grows. Names of sites stay in memory, and so do the origins that records lead to: at most 256 of a
//! site.
//!
//! The output is the same with and without spilling: [`Training::new`] orders the rows of a site.

use super::rows::{Names, Rows, RowsCursor};
use super::sample::{BudgetBounds, SampleKey, SampleParams, select};
use crate::site::Training;
use crate::site::hints::Targets;
use crate::spill::{Run, RunReader, Scratch, SpillColumns, SpillError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a row's place in the order by site.
const INDEX_BYTES: usize = 8;
/// Rows of a spill batch.
const BLOCK_ROWS: usize = 1 << 12;
/// Bytes of strings of a spill batch (one row more).
const BLOCK_BYTES: usize = 1 << 18;

/// Rows of many sites on their way to [`Sites`].
#[derive(Debug)]
pub struct Grouper {
    params: SampleParams,
    names: Names,
    batches: Vec<Rows>,
    /// Rows of each site in `batches`.
    counts: Vec<u32>,
    held_bytes: usize,
    budget: usize,
    runs: Vec<Run>,
    scratch: Arc<Scratch>,
    /// Origins that records lead to, by site.
    targets: BTreeMap<u32, Targets>,
}

impl Grouper {
    /// A grouper that holds about `budget` bytes.
    pub fn new(params: SampleParams, budget: usize, scratch: Arc<Scratch>) -> Grouper {
        Grouper {
            params,
            names: Names::default(),
            batches: Vec::new(),
            counts: Vec::new(),
            held_bytes: 0,
            budget,
            runs: Vec::new(),
            scratch,
            targets: BTreeMap::new(),
        }
    }

    /// Takes a batch.
    ///
    /// # Errors
    /// [`SpillError`] when a run cannot be written.
    pub fn push(&mut self, mut rows: Rows) -> Result<(), SpillError> {
        let ids: Vec<u32> = (0..rows.sites() as u32).map(|s| self.names.intern(rows.site_name(s))).collect();
        self.counts.resize(self.names.len(), 0);
        for (site, origins) in std::mem::take(&mut rows.targets) {
            let targets = self.targets.entry(ids[site as usize]).or_default();
            origins.iter().for_each(|(origin, votes)| targets.add(origin, *votes));
        }
        for site in &mut rows.site {
            *site = ids[*site as usize];
            self.counts[*site as usize] += 1;
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.held_bytes += rows.memory() + rows.len() * INDEX_BYTES;
        self.batches.push(rows);
        if self.held_bytes > self.budget { self.spill() } else { Ok(()) }
    }

    /// Number of runs written.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Returns the sites, one by one, after the last input.
    ///
    /// # Errors
    /// [`SpillError`] when the last run cannot be written or the runs cannot be read.
    pub fn finish(mut self) -> Result<Sites, SpillError> {
        let rows = if self.runs.is_empty() {
            Held::Memory { order: self.order(), batches: Arc::new(self.batches), counts: self.counts, taken: 0 }
        } else {
            self.spill()?;
            let mut cursors = Vec::new();
            for run in self.runs {
                let mut reader = run.reader(BLOCK_BYTES)?;
                reader.advance()?;
                cursors.push((reader, RowsCursor::default()));
            }
            Held::Runs { cursors, _scratch: self.scratch }
        };
        Ok(Sites { params: self.params, names: self.names, next: 0, rows, targets: self.targets })
    }

    /// Rows of all batches by site: `(batch, row)`.
    fn order(&self) -> Vec<(u32, u32)> {
        let mut next: Vec<usize> = Vec::with_capacity(self.counts.len());
        let mut total = 0;
        for &count in &self.counts {
            next.push(total);
            total += count as usize;
        }
        let mut order = vec![(0, 0); total];
        for (b, rows) in self.batches.iter().enumerate() {
            for (row, &site) in rows.site.iter().enumerate() {
                order[next[site as usize]] = (b as u32, row as u32);
                next[site as usize] += 1;
            }
        }
        order
    }

    fn spill(&mut self) -> Result<(), SpillError> {
        let mut run = self.scratch.run()?;
        let (mut block, mut columns) = (Rows::default(), SpillColumns::default());
        for (b, row) in self.order() {
            let rows = &self.batches[b as usize];
            block.push_from(rows, row as usize, rows.site[row as usize]);
            if block.len() >= BLOCK_ROWS || block.byte_len() >= BLOCK_BYTES {
                block.to_columns(&mut columns);
                run.write(&columns)?;
                block.clear();
            }
        }
        if !block.is_empty() {
            block.to_columns(&mut columns);
            run.write(&columns)?;
        }
        self.runs.push(run.finish()?);
        self.batches.clear();
        self.counts.fill(0);
        self.held_bytes = 0;
        Ok(())
    }
}

/// Location of the rows.
#[derive(Debug)]
enum Held {
    Memory { order: Vec<(u32, u32)>, batches: Arc<Vec<Rows>>, counts: Vec<u32>, taken: usize },
    Runs { cursors: Vec<(RunReader, RowsCursor)>, _scratch: Arc<Scratch> },
}

/// The sites of a worker, one by one, in order of first sight.
#[derive(Debug)]
pub struct Sites {
    params: SampleParams,
    names: Names,
    next: u32,
    rows: Held,
    targets: BTreeMap<u32, Targets>,
}

/// The rows of one site, not in order, from which a training set is made without holding [`Sites`].
#[derive(Debug)]
pub struct Site {
    params: SampleParams,
    name: String,
    rows: SiteRows,
    targets: Targets,
}

#[derive(Debug)]
enum SiteRows {
    /// `(batch, row)` of all batches.
    Memory(Arc<Vec<Rows>>, Vec<(u32, u32)>),
    Run(Box<Rows>),
}

impl Sites {
    /// The rows of the next site (none for a site with only a name).
    ///
    /// # Errors
    /// [`SpillError`] when a run cannot be read.
    pub fn next_site(&mut self) -> Result<Option<Site>, SpillError> {
        let id = self.next;
        if id as usize == self.names.len() {
            return Ok(None);
        }
        self.next += 1;
        let name = String::from_utf8_lossy(self.names.get(id)).into_owned();
        let rows = match &mut self.rows {
            Held::Memory { order, batches, counts, taken } => {
                let end = *taken + counts[id as usize] as usize;
                let rows = order[*taken..end].to_vec();
                *taken = end;
                SiteRows::Memory(batches.clone(), rows)
            }
            Held::Runs { cursors, .. } => {
                let mut rows = Rows::default();
                for (reader, place) in cursors {
                    loop {
                        let view = reader.view();
                        match place.site(view) {
                            Some(site) if site == id => place.copy(view, &mut rows),
                            Some(_) => break,
                            None => {
                                *place = RowsCursor::default();
                                if !reader.advance()? {
                                    break;
                                }
                            }
                        }
                        if rows.len() >= 2 * self.params.max.max(1) as usize + BLOCK_ROWS {
                            rows = sample(&rows, &self.params).0;
                        }
                    }
                }
                SiteRows::Run(Box::new(rows))
            }
        };
        let targets = self.targets.remove(&id).unwrap_or_default();
        Ok(Some(Site { params: self.params, name, rows, targets }))
    }
}

impl Site {
    /// The training records, and the bounds of the sample where the budget did not suffice for all candidates.
    pub fn training(mut self) -> (Training, Option<BudgetBounds>) {
        let targets = std::mem::take(&mut self.targets);
        let (mut training, bounds) = self.sampled();
        training.hints.targets = targets;
        (training, bounds)
    }

    fn sampled(self) -> (Training, Option<BudgetBounds>) {
        match self.rows {
            SiteRows::Memory(batches, rows) => {
                let mut keys: Vec<SampleKey> = Vec::with_capacity(rows.len());
                keys.extend(rows.iter().map(|&(b, row)| {
                    let rows = &batches[b as usize];
                    let (cluster, url) = (rows.cluster_hash[row as usize], rows.url_hash[row as usize]);
                    SampleKey { cluster, url, at: u64::from(b) << 32 | u64::from(row) }
                }));
                drop(rows);
                let place = |at: u64| (&batches[(at >> 32) as usize], (at & 0xffff_ffff) as usize);
                let tie = |a, b| {
                    let ((a, i), (b, j)) = (place(a), place(b));
                    a.tie(i, b, j)
                };
                let bounds = select(&mut keys, &self.params, tie, |at| place(at).0.record(place(at).1).0);
                (training(&self.name, keys.iter().map(|key| place(key.at))), bounds)
            }
            SiteRows::Run(rows) => {
                let (rows, bounds) = sample(&rows, &self.params);
                (training(&self.name, (0..rows.len()).map(|row| (&rows, row))), bounds)
            }
        }
    }
}

/// The training set of a site from its rows, the origins among them.
fn training<'r>(site: &str, rows: impl Iterator<Item = (&'r Rows, usize)> + Clone) -> Training {
    let records = rows.clone().filter(|(rows, row)| !rows.is_origin(*row)).map(|(rows, row)| rows.record(row));
    let mut training = Training::new(site, records);
    let origins = rows.filter(|(rows, row)| rows.is_origin(*row)).map(|(rows, row)| rows.record(row).0);
    training.origins.extend(origins.map(|origin| String::from_utf8_lossy(origin).into_owned()));
    training
}

/// The sample of the rows of one site within its budget, with its bounds.
fn sample(rows: &Rows, params: &SampleParams) -> (Rows, Option<BudgetBounds>) {
    let mut keys: Vec<SampleKey> = (0..rows.len())
        .map(|row| SampleKey { cluster: rows.cluster_hash[row], url: rows.url_hash[row], at: row as u64 })
        .collect();
    let tie = |a, b| rows.tie(a as usize, rows, b as usize);
    let bounds = select(&mut keys, params, tie, |at| rows.record(at as usize).0);
    (rows.gather(keys.iter().map(|key| key.at as usize)), bounds)
}
