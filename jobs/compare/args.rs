//! The arguments of `compare`.

use super::predictions::{self, Named};
use super::values::{Departure, How, NamedRow, method, row, stage, without_help};
use crate::cluster::{ClusterArgs, ShardArgs};
use crate::fetch::FetchArgs;
use crate::labels::parse_base;
use crate::options::{LabelledInputs, Reading, SiteChoice, Workers};
use clap::Args;
use std::path::PathBuf;
use undust::baselines::Name;
use undust::runtime::memory::parse_size;
use undust::site::Stage;

/// Compares methods that learn canonical URLs, undust among them, under the protocol of a paper.
///
/// Reads labelled records (TSV or JSON lines), lets every method learn on a training sample of each
/// site and scores it on all records. Writes comparison.json, a CSV a table, tables.txt, report.html
/// and times.json; all but times.json and what of it is in the report are the same bytes for any number
/// of workers and processes. On several processes process 0 writes; with --local-shards the crawl order
/// of a site is that of the processes, then that of their shards.
///
/// Methods outside of this program take part by files: --split writes the records that they may learn
/// from and must predict, --predictions reads their predictions (docs/method.md).
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Folder for the results; must be empty or absent.
    #[arg(long, value_name = "DIR", required_unless_present = "split")]
    pub(super) out: Option<PathBuf>,
    /// Compares nothing, but writes the training and test records of the protocol to a folder, which must
    /// be empty or absent: train-SEED.jsonl for each seed, test.jsonl, split.json, rejects.jsonl.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "methods", "predictions", "times", "sizes", "fetch"])]
    pub(super) split: Option<PathBuf>,
    /// Canonical URLs that another program predicted: lines of URL, tab, canonical URL; plain, gzip or
    /// zstd; `-` is standard input. A URL without a line is kept as it is. NAME@SEED=FILE: for one of
    /// --seeds. Once for each file.
    #[arg(long, value_name = "NAME=FILE", value_parser = predictions::parse)]
    pub(super) predictions: Vec<Named>,
    /// What the methods of --predictions took, in the format of times.json: for each site and seed (counted
    /// from 0) the seconds to learn and to predict. Shown beside the times of the other methods.
    #[arg(long, value_name = "FILE", requires = "predictions")]
    pub(super) times: Vec<PathBuf>,
    /// Methods, by comma, in the order of the tables (default: all).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method)]
    pub(super) methods: Vec<Name>,
    /// The protocol: www10 trains on a random share and tests on everything; sigir2017 trains on the first
    /// 15,000 URLs of a site and tests on the next 5,000.
    #[arg(long, value_enum, default_value_t)]
    pub(super) protocol: How,
    /// Highest false-positive rates, by comma (default: those of WWW10, 0 to 0.1 by 0.01 and to 0.9 by
    /// 0.1).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) fpr_max: Vec<f64>,
    /// The rate of tables without such an axis: one of the list.
    #[arg(long, value_name = "F", default_value_t = 0.01)]
    pub(super) headline: f64,
    /// Seeds of the training samples, by comma.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = [1])]
    pub(super) seeds: Vec<u64>,
    /// Share of the URLs of a site that train (www10).
    #[arg(long, value_name = "F", default_value_t = 0.2)]
    pub(super) train_share: f64,
    /// Most URLs of a site that train (www10).
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(super) train_max: usize,
    /// Rows of the normalization catalogue that are on, by comma (default: all).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = row)]
    pub(super) catalogue: Vec<NamedRow>,
    /// IP addresses and their hosts, for the catalogue: a line each, by tab.
    #[arg(long, value_name = "FILE")]
    pub(super) hosts: Option<PathBuf>,
    /// Departures from WWW10 that the published methods take, by comma.
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',')]
    pub(super) published: Vec<Departure>,
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = stage, help = without_help())]
    pub(super) without: Vec<Stage>,
    /// DustBuster learns from the sizes of answers instead of from clusters, and from records without a
    /// cluster, too: access logs, lists of URLs and sizes. Name it with --methods; without clusters it is
    /// --fetch that validates its rules.
    #[arg(long)]
    pub(super) sizes: bool,
    #[command(flatten)]
    pub(super) live: FetchArgs,
    /// Scheme and host of the site that access logs are of, where their lines do not name it.
    #[arg(long, value_name = "URL", value_parser = parse_base)]
    pub(super) log_base: Option<String>,
    #[command(flatten)]
    pub(super) sites: SiteChoice,
    #[command(flatten)]
    pub(super) workers: Workers,
    /// Most memory for the records and the predictions, a process (default: 4GiB).
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) memory: Option<usize>,
    #[command(flatten)]
    pub(super) records: LabelledInputs,
    #[command(flatten)]
    pub(super) reading: Reading,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    #[command(flatten)]
    pub(super) place: ShardArgs,
}
