//! `undust compare` on workers: records sent to the owners of their sites, then one site after the
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

use super::source::Source;
use crate::baselines::name::Label;
use crate::baselines::outside::Predictions;
use crate::baselines::protocol::{Plan, compare};
use crate::baselines::results::{Comparison, Coverage, Site, Time, Times, VERSION};
use crate::baselines::{Method, Name, Setup};
use crate::runtime::mesh::Mesh;
use sites::each_site;
use std::sync::Arc;

mod held;
mod job;
mod pieces;
mod platforms_method;
mod sites;
pub mod split;
mod state;
mod undust_method;

use job::predictions;
pub use job::{Clock, CompareError, Job};
pub use platforms_method::Platforms;
pub use undust_method::Undust;

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

/// Coverage of the files of predictions, once all sites are compared. Every process must call it;
/// process 0 has the whole result.
fn coverage(plan: &Plan, mesh: Option<&Arc<Mesh>>) -> Result<Vec<Coverage>, CompareError> {
    let all = || predictions(&plan.setup);
    if let Some(mesh) = mesh.filter(|_| all().next().is_some()) {
        let mine: Vec<Vec<u64>> = all().map(|(.., of)| of.hits()).collect();
        for theirs in mesh.gather(serde_json::to_vec(&mine)?)?.iter().flatten().skip(1) {
            let theirs: Vec<Vec<u64>> = serde_json::from_slice(theirs)?;
            all().zip(&theirs).for_each(|((.., of), hits)| of.join(hits));
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
