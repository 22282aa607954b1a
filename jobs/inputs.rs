//! Counts of each input file, and the message of a job that found no usable record.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use undust::dataflow::summary::{Figures, Summary};
use undust::io::rejects::Limit;
use undust::io::{Format, Rejects, Shard, detect};
use undust::model::{Count, RecordBatch};
use undust::rules::file::DataId;
use undust::runtime::mesh::Mesh;

use crate::cluster::{ClusterError, merged};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::messages::say;

/// Records and labels of each input file, and the identity of the records; merges the same over any
/// split of the input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    files: BTreeMap<String, Counts>,
    data: DataId,
}

/// Counts of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    records: u64,
    labelled: u64,
}

impl Tally {
    /// Counts the records of a batch that was read from `file`.
    pub fn add(&mut self, file: &str, batch: &RecordBatch) {
        let labelled = batch.iter().filter(|record| record.cluster.is_some()).count() as u64;
        let counts = Counts { records: batch.len() as u64, labelled };
        match self.files.get_mut(file) {
            Some(sum) => sum.add(counts),
            None => drop(self.files.insert(file.to_owned(), counts)),
        }
        batch.iter().for_each(|record| self.data.add(record));
    }

    /// Adds the counts of another worker or process.
    pub fn merge(&mut self, other: Tally) {
        other.files.into_iter().for_each(|(file, counts)| self.files.entry(file).or_default().add(counts));
        self.data.merge(&other.data);
    }

    /// Identity of the records.
    pub fn data(&self) -> DataId {
        self.data
    }

    /// Records of all files.
    pub fn records(&self) -> u64 {
        self.files.values().map(|counts| counts.records).sum()
    }

    /// Records with a label, of all files.
    pub fn labelled(&self) -> u64 {
        self.files.values().map(|counts| counts.labelled).sum()
    }
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.records += other.records;
        self.labelled += other.labelled;
    }
}

/// The counts of all processes, at each of them. Every process must call it.
///
/// # Errors
/// [`ClusterError::Mesh`].
pub fn all_tallies(mesh: &Mesh, mine: &Tally) -> Result<Tally, ClusterError> {
    merged(mesh, mine, Tally::merge)
}

/// Inputs of a job, for the message of one that found no usable record.
pub struct Inputs<'a> {
    pub shards: &'a [Shard],
    /// `--format`.
    pub forced: Option<Format>,
    pub tally: &'a Tally,
    pub rejects: &'a Rejects,
}

/// Files that are shown.
const SHOWN_FILES: usize = 5;
/// Reasons of which the first line is shown.
const SHOWN_REASONS: usize = 3;
/// Characters of a line that are shown.
const SHOWN_TEXT: usize = 100;
/// Lines of a file that a hint reads.
const HINT_LINES: usize = 8;

impl Inputs<'_> {
    /// Reports on standard error the files read and the first rejected lines; returns the failure with the
    /// expected input. `so`: why the job needs labels.
    pub fn no_labels(&self, so: &str) -> Failure {
        self.say();
        Failure::new(Exit::Failed, self.expected(so))
    }

    /// Reports as [`no_labels`](Self::no_labels) does, for a job that accepts records without labels.
    pub fn no_records(&self) -> Failure {
        self.say();
        Failure::new(Exit::Failed, "no record in the input; check --format, and that the files are the right ones")
    }

    /// The line about the expected input.
    pub fn expected(&self, so: &str) -> String {
        format!(
            "none of {} records has a label, so {so}; expected are lines url<TAB>cluster, JSON lines with url and cluster, \
             or CSV with a header url,cluster; for crawls without labels see --cluster-by of learn and clusters, and \
             docs/formats.md",
            self.tally.records()
        )
    }

    /// Reports the files read.
    pub fn say(&self) {
        self.lines().iter().for_each(say);
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut names: Vec<&Shard> = Vec::new();
        for shard in self.shards {
            // The shards of a file are neighbours.
            if names.last().is_none_or(|last| last.name != shard.name) {
                names.push(shard);
            }
        }
        for shard in names.iter().take(SHOWN_FILES) {
            let Counts { records, labelled } = self.tally.files.get(&shard.name).copied().unwrap_or_default();
            let (format, why) = (shard.format.name(), self.why(shard));
            let hint = hint(shard, records).map_or_else(String::new, |hint| format!("; {hint}"));
            lines.push(format!(
                "{}: read as {format} ({why}): {records} records, {labelled} with a label{hint}",
                shard.name
            ));
        }
        if names.len() > SHOWN_FILES {
            lines.push(format!("and {} files more", names.len() - SHOWN_FILES));
        }
        lines.extend(rejected_lines(self.rejects));
        lines
    }

    /// Evidence for the format of a file.
    fn why(&self, shard: &Shard) -> &'static str {
        let seen = || detect::of_content(&shard.path, Path::new(&shard.name)).ok().flatten();
        match self.forced {
            Some(_) => "by --format",
            None if seen() == Some(shard.format) => "by its first bytes",
            None => "by its name",
        }
    }
}

/// Fails where more lines were rejected than `limit` allows, for a job that wrote its output before.
///
/// # Errors
/// [`Exit::TooManyRejects`], with the counts.
pub fn refuse_rejects(rejects: &Rejects, limit: Limit) -> Result<(), Failure> {
    if !rejects.exceeds(limit) {
        return Ok(());
    }
    let (rejected, lines) = (rejects.total(), rejects.lines());
    let text = format!("{rejected} of {lines} records were rejected, more than --max-rejects allows");
    Err(Failure::new(Exit::TooManyRejects, text))
}

/// A line for each reason of rejects, with the first line.
pub fn rejected_lines(rejects: &Rejects) -> Vec<String> {
    let mut lines = Vec::new();
    for (reason, count) in rejects.counts().take(SHOWN_REASONS) {
        let first = rejects.sample().find(|(of, _)| *of == reason).map_or_else(String::new, |(_, sampled)| {
            let place = sampled.line.map_or_else(|| format!("byte {}", sampled.offset), |line| format!("line {line}"));
            let text: String = sampled.excerpt.chars().take(SHOWN_TEXT).collect();
            let text = if text.is_empty() { text } else { format!(": {text}") };
            format!("; the first in {}, {place}{text}", sampled.file)
        });
        lines.push(format!("rejected: {count} {reason}{first}"));
    }
    lines
}

/// Possible fault of a file.
fn hint(shard: &Shard, records: u64) -> Option<&'static str> {
    let lines = detect::first_lines(&shard.path, Path::new(&shard.name), HINT_LINES).unwrap_or_default();
    let all = |test: fn(&[u8]) -> bool| !lines.is_empty() && lines.iter().all(|line| test(line));
    match shard.format {
        _ if lines.is_empty() => Some("the file is empty"),
        Format::Tsv if all(|line| !line.contains(&b'\t') && line.contains(&b',')) => {
            Some("its lines hold commas and no tab: give it a header line, as url,cluster, and --format csv")
        }
        Format::Tsv if records > 0 && all(|line| !line.contains(&b'\t')) => {
            Some("its lines hold no tab: URLs without labels")
        }
        Format::AccessLog if records > 0 => Some("an access log says nothing about content"),
        Format::Cdx | Format::Cdxj | Format::Warc | Format::CrawlLog if records > 0 => {
            Some("this format has no labels: --cluster-by makes them, of learn and of clusters")
        }
        _ => None,
    }
}

/// Least labelled URLs and clusters that a rule is learned from.
const LEAST: (u64, u64) = (9, 3);

/// Reason why there is no rule, or none but provisional ones where nothing has a label.
pub fn no_rules(summary: &Summary) -> String {
    let Figures { labelled, clusters, withdrawn, provisional, urls, canonical, .. } = &summary.total;
    if *labelled == 0 {
        let rules = provisional.as_ref().map_or(0, |of| of.rules);
        return format!(
            "no record has a label: {rules} provisional rules act on the word of the catalogue of platforms alone \
             (docs/platforms.md), and no figure says whether they are right"
        );
    }
    let why = if clusters >= labelled {
        "each is alone in its cluster, so nothing shows which URLs are duplicates".to_owned()
    } else if *withdrawn > 0 {
        format!(
            "{withdrawn} were learned and withdrawn, since all records taken together speak against them: see summary.json"
        )
    } else if *labelled < LEAST.0 || *clusters < LEAST.1 {
        "too few agree: about nine URLs of three clusters are the least that a rule is learned from".to_owned()
    } else {
        let dropped = |count: Count| summary.stages.get(&count.in_summary()).copied().unwrap_or(0);
        match (dropped(Count::TooLittleToShow), dropped(Count::ExplainedByChance)) {
            (0, 0) => "not enough agree on one change that joins URLs of one cluster and few others; about nine URLs of three \
                       clusters are the least, and more where others speak against it or the sample is small"
                .to_owned(),
            (few, chance) => format!(
                "not enough agree: {few} rules were dropped that too few clusters of a sample under 1,000 URLs show to be \
                 right, {chance} that chance explains; more records may bear them out"
            ),
        }
    };
    let merged = match urls - canonical {
        0 => String::new(),
        _ => format!("; normal forms and look-ups of single URLs make {canonical} canonical URLs of {urls}"),
    };
    format!("no rule: of {labelled} labelled URLs in {clusters} clusters {why}{merged}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use undust::dataflow::sample::SampleParams;
    use undust::dataflow::{Learned, Plan, ProvenSite};
    use undust::model::SiteBy;
    use undust::site::Params;

    #[test]
    fn dropped_rules_are_the_reason_where_there_are_some() {
        let plan = Plan {
            params: Params::default(),
            held_out: None,
            sample: SampleParams::default(),
            site_by: SiteBy::Domain,
            previous: Arc::default(),
            workers: 1,
            memory: 0,
            scratch: std::path::PathBuf::new(),
        };
        let mut site = ProvenSite::default();
        (site.counts.urls, site.counts.canonical, site.counts.labelled, site.counts.clusters) = (90, 90, 90, 30);
        let reason = |site: &ProvenSite| {
            let learned = Learned { sites: vec![site.clone()], ..Learned::default() };
            no_rules(&Summary::new(&plan, &learned, BTreeMap::new()))
        };
        let plain = "no rule: of 90 labelled URLs in 30 clusters not enough agree on one change";
        assert!(reason(&site).starts_with(plain) && !reason(&site).contains("canonical"), "{}", reason(&site));
        site.learned.counts.extend([(Count::TooLittleToShow, 2), (Count::ExplainedByChance, 1)]);
        let dropped = "not enough agree: 2 rules were dropped that too few clusters of a sample under 1,000 URLs show to be \
                       right, 1 that chance explains";
        assert!(reason(&site).contains(dropped), "{}", reason(&site));
    }
}
