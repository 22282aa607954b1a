//! `undust compare` on workers: records dealt to the owners of their sites, then one site after the
//! other through [`crate::baselines::protocol`].
//!
//! A site is compared by one worker, from records in the order of the shards and of the rows in them (a
//! crawl has an order, and the crawl simulation follows it), so the result does not depend on the
//! number of workers.
//!
//! Memory: all labelled records of the run are held at once, URL and label and 42 bytes each; with
//! [`Setup::sizes`] those without a label too. Predictions of outside methods
//! ([`crate::baselines::outside`]) are held by each process. More than [`Job::memory`] of both ends the
//! run with a typed error.

use super::types::{Source, SourceError};
use crate::baselines::name::Label;
use crate::baselines::outside::Predictions;
use crate::baselines::protocol::{Plan, compare};
use crate::baselines::results::{Comparison, Coverage, Site, Time, Times, VERSION};
use crate::baselines::{Method, Name, Setup};
use crate::model::SiteBy;
use crate::model::shown::within;
use crate::runtime::mesh::{Mesh, MeshError};
use crate::runtime::workers::WorkersError;
use sites::each_site;
use std::sync::Arc;

mod held;
mod pieces;
mod platforms_method;
mod sites;
pub mod split;
mod undust_method;

pub use platforms_method::Platforms;
pub use undust_method::Undust;

/// Seconds since any moment; `dataflow` has no clock of its own.
pub type Clock = Arc<dyn Fn() -> f64 + Send + Sync>;

/// A comparison to run.
#[derive(Clone)]
pub struct Job {
    /// Methods and protocol.
    pub plan: Plan,
    /// How records are dealt to sites.
    pub site_by: SiteBy,
    /// Shards of the source; where each process has its own (`local`), of this one.
    pub shards: usize,
    /// The shards are this process's own: it reads all of them, and they come after those of the processes
    /// before it.
    pub local: bool,
    /// Worker threads.
    pub workers: usize,
    /// Most bytes of records and predictions.
    pub memory: usize,
    /// For the times.
    pub clock: Clock,
    /// Sites of which times are given: each must be among those of the records.
    pub timed: Vec<String>,
}

/// Error of a comparison.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The records could not be read.
    #[error("{0}")]
    Source(SourceError),
    /// Too many records.
    #[error(
        "the records and predictions take more than {limit} bytes of memory: compare fewer sites at a time, or raise --memory"
    )]
    Memory {
        /// Allowed bytes.
        limit: usize,
    },
    /// Predictions of other records, which would score as a method that keeps all URLs.
    #[error(
        "predictions of {method}: none of its {urls} URLs is that of a labelled record; they must be those of the records, \
         byte for byte (--split writes them); the sites of the records: {sites}"
    )]
    Foreign {
        /// The outside method.
        method: Name,
        /// The seed that its file is for; `None`: all.
        seed: Option<u64>,
        /// Its URLs.
        urls: u64,
        /// Some sites of the records.
        sites: String,
    },
    /// A time of a site without records.
    #[error("a time on site {:?}, which no labelled record is of; the sites of the records: {sites}", within(site, 60))]
    NoSite {
        /// The site of the time.
        site: String,
        /// Some sites of the records.
        sites: String,
    },
    /// The workers could not be started, or one of them panicked.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// The results of the processes could not be gathered.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The result of another process cannot be read (different builds of one version?).
    #[error("what another process found cannot be read: {0}")]
    Note(#[from] serde_json::Error),
}

/// Result of a comparison, beside its counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// The counts.
    pub comparison: Comparison,
    /// The times.
    pub times: Times,
    /// Records that are not absolute http or https URLs with a host.
    pub invalid: u64,
    /// Records without a cluster, which are not counted.
    pub unlabelled: u64,
}

/// Runs `job` over `records`; with `mesh` together with the other processes, each with as many workers
/// as `job` has. Process 0 has the whole result; the others have that of their own workers.
///
/// # Errors
/// [`CompareError`] when records cannot be read or held, predictions or times are of other records (before
/// any method starts), or a worker or process is lost.
pub fn run(job: &Job, records: Arc<dyn Source>, mesh: Option<&Arc<Mesh>>) -> Result<Compared, CompareError> {
    let (plan, clock) = (job.plan.clone(), job.clock.clone());
    let found = each_site(job, records, mesh, move |records| {
        compare(&records, &plan, &|name| method(name, &plan.setup), &*clock)
    })?;
    let plan = &job.plan;
    let mut comparison = Comparison {
        version: VERSION,
        protocol: plan.protocol,
        methods: plan.methods.clone(),
        fpr_max: plan.fpr_max.clone(),
        headline: plan.headline,
        seeds: plan.seeds.clone(),
        train_share: plan.train_share,
        train_max: plan.train_max as u64,
        without: plan.setup.without,
        predictions: coverage(plan, mesh)?,
        sites: Vec::new(),
    };
    let mut times = Times::default();
    for (site, of) in found.sites {
        comparison.sites.push(site);
        times.times.extend(of);
    }
    comparison.sites.sort_by(|a: &Site, b: &Site| a.site.cmp(&b.site));
    times.times.sort_by(|a: &Time, b: &Time| (&a.site, a.method, a.seed).cmp(&(&b.site, b.method, b.seed)));
    let (invalid, unlabelled) = (found.totals.invalid, found.totals.unlabelled);
    Ok(Compared { comparison, times, invalid, unlabelled })
}

/// A method by its name.
fn method(name: Name, setup: &Setup) -> Box<dyn Method> {
    name.method(setup).unwrap_or_else(|| match name {
        Name::Platforms => Box::new(Platforms),
        _ => Box::new(Undust { whole: name == Name::UndustWhole, without: setup.without }),
    })
}

/// Predictions of a plan, by method and seed.
fn predictions(setup: &Setup) -> impl Iterator<Item = (Label, Option<u64>, &Arc<Predictions>)> {
    setup.outside.iter().flat_map(|(label, outside)| outside.0.iter().map(|(seed, of)| (*label, *seed, of)))
}

/// Coverage of the files of predictions, once all sites are compared. Every process must call it;
/// process 0 has the whole result.
fn coverage(plan: &Plan, mesh: Option<&Arc<Mesh>>) -> Result<Vec<Coverage>, CompareError> {
    let all = || predictions(&plan.setup);
    if let Some(mesh) = mesh.filter(|_| all().next().is_some()) {
        let mine: Vec<Vec<u64>> = all().map(|(.., of)| of.met()).collect();
        for theirs in mesh.gather(serde_json::to_vec(&mine)?)?.iter().flatten().skip(1) {
            let theirs: Vec<Vec<u64>> = serde_json::from_slice(theirs)?;
            all().zip(&theirs).for_each(|((.., of), met)| of.join(met));
        }
    }
    let row = |(label, seed, of): (Label, Option<u64>, &Arc<Predictions>)| Coverage {
        method: Name::Outside(label),
        seed,
        lines: of.lines(),
        rejected: of.rejected(),
        duplicated: of.duplicated(),
        unknown: of.unknown(),
    };
    Ok(all().map(row).collect())
}
