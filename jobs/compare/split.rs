//! `--split`: the records of a protocol as files.

use std::io::{self, Write};

use serde::Serialize;
use undust::baselines::protocol::{Plan, Records};
use undust::baselines::results::Protocol;
use undust::dataflow::compare::split::{SiteSplit, Split};
use undust::io::{OutputDir, Rejects, table};
use undust::model::{Facts, Record};

use crate::failure::Failure;

/// Status of a record that leads elsewhere: the target is not kept.
const ELSEWHERE: u16 = 302;

/// Contents of split.json.
#[derive(Serialize)]
struct Summary<'a> {
    version: u32,
    protocol: Protocol,
    train_share: f64,
    train_max: usize,
    /// Of the training files, in order.
    seeds: &'a [u64],
    /// Records that are no absolute http or https URLs with a host.
    invalid: u64,
    /// Records without a cluster.
    unlabelled: u64,
    /// Lines that are no records.
    rejected: u64,
    sites: Vec<Site<'a>>,
}

#[derive(Serialize)]
struct Site<'a> {
    site: &'a str,
    /// Records of each training file.
    train: Vec<usize>,
    test: usize,
}

/// Writes all files.
///
/// # Errors
/// Errors of the writer.
pub fn write(mut out: OutputDir, plan: &Plan, split: &Split, rejects: &Rejects) -> Result<(), Failure> {
    for (at, seed) in plan.samples().iter().enumerate() {
        out.write(&format!("train-{seed}.jsonl"), |file| lines(file, &split.sites, |site| &site.train[at]))?;
    }
    out.write("test.jsonl", |file| lines(file, &split.sites, |site| &site.test))?;
    out.write("rejects.jsonl", |file| rejects.write_jsonl(file))?;
    let site = |of: &'_ SiteSplit| (of.train.iter().map(Vec::len).collect(), of.test.len());
    let summary = Summary {
        version: 1,
        protocol: plan.protocol,
        train_share: plan.train_share,
        train_max: plan.train_max,
        seeds: plan.samples(),
        invalid: split.invalid,
        unlabelled: split.unlabelled,
        rejected: rejects.total(),
        sites: (split.sites.iter().map(|of| (of, site(of))))
            .map(|(of, (train, test))| Site { site: &of.records.site, train, test })
            .collect(),
    };
    let text = serde_json::to_string(&summary)? + "\n";
    out.write("split.json", |file| file.write_all(text.as_bytes()))?;
    Ok(out.finish()?)
}

/// The records of these rows, site by site, as JSON lines.
fn lines<'a>(
    file: &mut dyn Write,
    sites: &'a [SiteSplit],
    rows: impl Fn(&'a SiteSplit) -> &'a [usize],
) -> io::Result<()> {
    let (mut rest, mut line) = (Vec::new(), Vec::new());
    for site in sites {
        for &row in rows(site) {
            let (record, cluster) = record(&site.records, row);
            let facts = Facts { status: if record.elsewhere { ELSEWHERE } else { 0 }, ..Facts::default() };
            table::line(record, facts, &mut rest);
            line.clear();
            table::labelled(&rest, Some(cluster), &mut line);
            file.write_all(&line)?;
        }
    }
    Ok(())
}

/// The record of a row, and its label.
fn record(records: &Records, row: usize) -> (Record<'_>, &[u8]) {
    let ((url, cluster), site) = (records.get(row), Some(records.site.as_bytes()));
    (Record { url, cluster: Some(cluster), site, elsewhere: records.elsewhere(row) }, cluster)
}
