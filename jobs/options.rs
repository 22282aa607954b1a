//! Options that several jobs share: each has one name, one default and one text.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use undust::io::reader::LINE_LIMIT;
use undust::io::{Format, IoError, Shard, shards};
use undust::model::SiteBy;
use undust::runtime::hosts::Cluster;
use undust::runtime::memory::parse_size;

use crate::quiet::Quiet;

/// Options of reading records.
#[derive(Args, Clone, Copy, Debug)]
pub struct Reading {
    /// Longest line of the input in bytes; longer ones are rejected.
    #[arg(long, value_name = "BYTES", default_value_t = LINE_LIMIT)]
    pub line_limit: usize,
    #[command(flatten)]
    pub quiet: Quiet,
}

/// Records with labels.
#[derive(Args, Debug)]
pub struct LabelledInputs {
    /// Files, folders (their shards, by extension) or globs.
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Format of the inputs, where the extension does not show it.
    #[arg(long, value_enum)]
    format: Option<LabelledFormat>,
}

impl LabelledInputs {
    /// Their shards.
    ///
    /// # Errors
    /// Errors of [`shards::find`].
    pub fn find(&self) -> Result<Vec<Shard>, IoError> {
        self.find_with(None)
    }

    /// Finds the shards as [`find`](Self::find) does, with access logs of this scheme and host among them.
    ///
    /// # Errors
    /// Errors of [`shards::find`].
    pub fn find_with(&self, log_base: Option<&str>) -> Result<Vec<Shard>, IoError> {
        let (format, log_base) = (self.forced(), log_base.map(str::to_owned));
        shards::find(&self.inputs, &shards::Options { format, log_base, ..shards::Options::default() })
    }

    /// True where standard input is among them.
    pub fn reads_stdin(&self) -> bool {
        self.inputs.iter().any(|input| input == Path::new("-"))
    }

    /// The format of the option.
    pub fn forced(&self) -> Option<Format> {
        self.format.map(|format| match format {
            LabelledFormat::Tsv => Format::Tsv,
            LabelledFormat::Jsonl => Format::Jsonl,
            LabelledFormat::Csv => Format::Csv,
        })
    }
}

/// Formats of labelled records.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LabelledFormat {
    /// url, tab, cluster, and perhaps tab, site.
    Tsv,
    /// One JSON object a line.
    Jsonl,
    /// A header line that names the columns, url and cluster among them.
    Csv,
}

/// All formats, by their names.
pub fn any_format() -> impl TypedValueParser<Value = Format> {
    let named = |name: String| Format::ALL.into_iter().find(|format| format.name() == name);
    PossibleValuesParser::new(Format::ALL.map(Format::name)).map(move |name| named(name).expect("one of the names"))
}

/// Option for the site of records without a label.
#[derive(Args, Clone, Copy, Debug)]
pub struct SiteChoice {
    /// The site of a record without a label.
    #[arg(long, value_enum, default_value_t)]
    site_by: By,
}

/// The site of a record without a label.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum By {
    /// The registrable domain of its host.
    #[default]
    Domain,
    /// Its host.
    Host,
}

impl SiteChoice {
    /// The choice.
    pub fn by(self) -> SiteBy {
        match self.site_by {
            By::Domain => SiteBy::Domain,
            By::Host => SiteBy::Host,
        }
    }
}

/// Option for the number of threads of a job that may run on several processes.
#[derive(Args, Clone, Copy, Debug)]
pub struct Workers {
    /// Worker threads of each process (default: 1).
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,
}

impl Workers {
    /// The number by this option, else by the list of hosts, else one.
    pub fn count(self, cluster: Option<&Cluster>) -> usize {
        self.workers.or(cluster.and_then(|c| c.workers)).unwrap_or(1).into()
    }
}

/// Options for memory and scratch of a job.
#[derive(Args, Debug)]
pub struct Room {
    /// Memory of all workers of a process together; what does not fit is kept in scratch (default: 1GiB).
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,
    /// Folder for scratch files (default: that of the system, TMPDIR).
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

impl Room {
    /// Bytes: by this option, else by the list of hosts, else 1 GiB.
    pub fn memory(&self, cluster: Option<&Cluster>) -> usize {
        self.memory.or(cluster.and_then(|c| c.memory)).unwrap_or(1 << 30)
    }

    /// The folder: by this option, else by the list of hosts, else that of the system.
    pub fn scratch(&self, cluster: Option<&Cluster>) -> PathBuf {
        self.scratch.clone().or(cluster.and_then(|c| c.scratch.clone())).unwrap_or_else(std::env::temp_dir)
    }
}
