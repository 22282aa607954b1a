//! The arguments of `learn` as they are given.

use super::data_date::{DataDate, data_date};
use crate::cluster::{ClusterArgs, ShardArgs};
use crate::labels::RecordArgs;
use crate::options::{Reading, Room, SiteChoice, Workers};
use crate::platforms::PlatformArgs;
use crate::settings::SetArgs;
use crate::watched::Watched;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use undust::io::rejects::Limit;

/// Learns rules from records labelled with duplicate clusters, proves them on all records, and writes
/// them.
///
/// Reads the input twice or more (learn, prove). The same input and learning parameters give the same
/// bytes, whatever the number of workers, the memory, or the order of the records. An input without a
/// labelled record is an error, and nothing is written then; with --platforms provisional only where no
/// site shows a program of the catalogue. Writes rules.jsonl, summary.json, profiles.jsonl,
/// rejects.jsonl, report.html (of more than 1,000 sites report-1.html and so on beside it), and _SUCCESS
/// last.
#[derive(Args, Debug)]
pub struct LearnArgs {
    /// Files, folders (their shards, by extension), globs, or - for standard input (spooled to scratch).
    #[arg(value_name = "INPUT", required = true)]
    pub(super) inputs: Vec<PathBuf>,
    /// Folder for the results; must be empty or absent.
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
    #[command(flatten)]
    pub(super) workers: Workers,
    #[command(flatten)]
    pub(super) sites: SiteChoice,
    /// Share of the records that train, chosen by hashes of cluster and URL.
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    pub(super) train_share: f64,
    /// Most URLs of a site that train.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) train_max: u32,
    /// Share of the URLs of each site, by hash, that never trains; rules are weighed on them apart.
    #[arg(long, value_name = "F", default_value_t = 0.0)]
    pub(super) held_back: f64,
    /// Leaves out the figures on URLs that took no part in learning. They are cross-fitted: rules are
    /// learned without each part of the clusters, and of the URLs, and counted on that part, which takes a
    /// few seconds, or in a large run about a sixth of the time more. Always left out with --method
    /// published.
    #[arg(long)]
    pub(super) no_held_out: bool,
    /// Writes no report.html; `undust report` makes it later.
    #[arg(long)]
    pub(super) no_report: bool,
    /// Highest pair false-positive rate of a site's rules over all records (published: 0.05).
    #[arg(long, value_name = "F", default_value_t = 0.01)]
    pub(super) fpr_max: f64,
    /// Rules also act on hosts of the registrable domain that no record has, on default ports: those that
    /// nine hosts or more show and none contradicts. They change neither scheme nor host there, and
    /// look-ups decide nothing. Without effect on sites that are labels of records, unless the label is the
    /// domain of the hosts.
    #[arg(long)]
    pub(super) extend_to_domain: bool,
    #[command(flatten)]
    pub(super) platforms: PlatformArgs,
    #[command(flatten)]
    pub(super) set: SetArgs,
    /// The learner.
    #[arg(long, value_enum, default_value_t = How::Undust)]
    pub(super) method: How,
    /// How the published method selects rules (default: graph).
    #[arg(long, value_enum, value_name = "SELECTION")]
    pub(super) selection: Option<Selection>,
    /// Day of the data, or the first and the last as FROM..TO (2024-05-31): written into the rule file, for
    /// --max-age.
    #[arg(long, value_name = "DATE", value_parser = data_date)]
    pub(super) data_date: Option<DataDate>,
    /// Folder or rule file of an earlier result, so that canonical URLs stay where they can: its rules are
    /// kept unless the records contradict them, and it decides which of several origins, values, forms or
    /// pages that are proven equal represents the others; new rules that move more than ten URLs for each
    /// that they merge are not taken. Redirects and declared canonical URLs decide before it.
    /// Held in memory; with it, too, the same input gives the same bytes.
    #[arg(long, value_name = "DIR")]
    pub(super) previous: Option<PathBuf>,
    /// Rules that stay disabled: copied into the folder as overrides.jsonl. Without it, an overrides file
    /// that the folder holds already (--overwrite) is kept.
    #[arg(long, value_name = "FILE")]
    pub(super) overrides: Option<PathBuf>,
    #[command(flatten)]
    pub(super) room: Room,
    /// Replaces an earlier result in DIR, when the new one is whole.
    #[arg(long)]
    pub(super) overwrite: bool,
    /// More rejected lines than this end the run with code 4: outputs are written, _SUCCESS is not.
    #[arg(long, value_name = "COUNT|PERCENT%", default_value = "5%")]
    pub(super) max_rejects: Limit,
    #[command(flatten)]
    pub(super) records: RecordArgs,
    #[command(flatten)]
    pub(super) reading: Reading,
    #[command(flatten)]
    pub(super) watched: Watched,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    #[command(flatten)]
    pub(super) place: ShardArgs,
    /// Goes on with a run that ended early: sites that it learned are not learned again. They are kept in
    /// DIR/.work until the run is whole, by runs on several processes, and by those on one with this
    /// option: give it from the start.
    #[arg(long, conflicts_with = "overwrite", help_heading = "Several machines")]
    pub(super) resume: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum How {
    /// The method of this program.
    Undust,
    /// The pattern tree as published (WWW 2010).
    Published,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Selection {
    Graph,
    Naive,
}
