//! Training and test records of a protocol, for methods outside of this program: exactly the rows that
//! the methods of a comparison learn from and are scored on.
//!
//! Memory: that of a comparison, and 8 bytes for each row of a training sample and of the test.

use super::sites::each_site;
use super::{CompareError, Job};
use crate::baselines::protocol::Records;
use crate::dataflow::source::Source;
use crate::runtime::mesh::Mesh;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One site, split.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SiteSplit {
    /// All labelled records of the site, in crawl order.
    pub records: Records,
    /// Rows of each training sample, rising; a sample a seed.
    pub train: Vec<Vec<usize>>,
    /// Rows of the test, rising: equal for all seeds.
    pub test: Vec<usize>,
}

/// All sites, split.
#[derive(Clone, Debug, Default)]
pub struct Split {
    /// The sites by name.
    pub sites: Vec<SiteSplit>,
    /// Records that are not absolute http or https URLs with a host.
    pub invalid: u64,
    /// Records without a cluster, which are in no sample.
    pub unlabelled: u64,
}

/// Splits the records of each site by the plan of `job`; with `mesh` together with the other processes.
/// Process 0 has the whole result; the others have that of their own workers.
///
/// # Errors
/// [`CompareError`] when records cannot be read or held, or a worker or process is lost.
pub fn run(job: &Job, records: Arc<dyn Source>, mesh: Option<&Arc<Mesh>>) -> Result<Split, CompareError> {
    let plan = job.plan.clone();
    let found = each_site(job, records, mesh, move |records| {
        let mut split = SiteSplit::default();
        for &seed in plan.samples() {
            let (mut train, mut test) = plan.split(&records, seed);
            train.sort_unstable();
            test.sort_unstable();
            split.train.push(train);
            split.test = test;
        }
        SiteSplit { records, ..split }
    })?;
    let (invalid, unlabelled) = (found.totals.invalid, found.totals.unlabelled);
    let mut sites = found.sites;
    sites.sort_by(|a, b| a.records.site.cmp(&b.records.site));
    Ok(Split { sites, invalid, unlabelled })
}
