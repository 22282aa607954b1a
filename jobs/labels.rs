//! From shards to shards whose records have labels: the flags that all jobs over records share, the survey behind
//! `--cluster-by auto`, and the clustering run before the learner's.

use super::report::say;
use clap::{Args, ValueEnum};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use undust::dataflow::clusters::{By, ClusterPlan, Figures, LabelSink, Labels, cluster};
use undust::dataflow::{Batches, Plan, Source, SourceError};
use undust::io::{self as edge, IoError, Rejects, Shard, ShardReader, table};
use undust::model::{Facts, Kind, RecordBatch, SiteBy};
use undust::runtime::progress::Progress;

/// What the records are and what tells which pages are alike.
#[derive(Args, Debug, Clone)]
pub struct RecordArgs {
    /// Format of the input, where neither name nor content tells.
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Scheme and host of the site that access logs are of, where their lines do not name it.
    #[arg(long, value_name = "URL", value_parser = parse_base)]
    pub log_base: Option<String>,
    /// What tells which pages are alike: labels of the input, equal digests, near-equal main texts, declared canonical
    /// URLs, redirects, or the best of these that the input holds.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ClusterBy::Auto)]
    pub cluster_by: ClusterBy,
}

/// Formats of records.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    Tsv,
    Jsonl,
    Cdx,
    Cdxj,
    Warc,
    Parquet,
    AccessLog,
}

impl From<Format> for edge::Format {
    fn from(format: Format) -> edge::Format {
        match format {
            Format::Tsv => edge::Format::Tsv,
            Format::Jsonl => edge::Format::Jsonl,
            Format::Cdx => edge::Format::Cdx,
            Format::Cdxj => edge::Format::Cdxj,
            Format::Warc => edge::Format::Warc,
            Format::Parquet => edge::Format::Parquet,
            Format::AccessLog => edge::Format::AccessLog,
        }
    }
}

/// What makes a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClusterBy {
    Auto,
    Label,
    Digest,
    Simhash,
    Canonical,
    Redirect,
}

impl ClusterBy {
    /// How the records are clustered; `None` where their own labels count.
    pub fn by(self) -> Option<By> {
        match self {
            ClusterBy::Auto | ClusterBy::Label => None,
            ClusterBy::Digest => Some(By::Digest),
            ClusterBy::Simhash => Some(By::Simhash),
            ClusterBy::Canonical => Some(By::Canonical),
            ClusterBy::Redirect => Some(By::Redirect),
        }
    }

    fn name(self) -> &'static str {
        match self {
            ClusterBy::Auto => "auto",
            ClusterBy::Label => "label",
            ClusterBy::Digest => "digest",
            ClusterBy::Simhash => "simhash",
            ClusterBy::Canonical => "canonical",
            ClusterBy::Redirect => "redirect",
        }
    }
}

fn parse_base(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or(text.strip_prefix("http://")).unwrap_or_default().trim_end_matches('/');
    if host.is_empty() || host.contains(['/', '?', '#', ' ']) {
        return Err("give scheme and host, as https://example.org".to_owned());
    }
    Ok(text.to_owned())
}

/// What a clustering run may use.
pub struct Means<'a> {
    pub site_by: SiteBy,
    pub workers: usize,
    pub memory: usize,
    pub scratch: &'a Path,
    pub line_limit: usize,
    pub quiet: bool,
    pub progress: Arc<Progress>,
}

impl<'a> Means<'a> {
    /// Those of a learning run.
    pub fn of(plan: &'a Plan, line_limit: usize, quiet: bool, progress: Arc<Progress>) -> Means<'a> {
        let Plan { site_by, workers, memory, scratch, .. } = plan;
        Means { site_by: *site_by, workers: *workers, memory: *memory, scratch, line_limit, quiet, progress }
    }
}

/// Shards whose records have labels.
pub struct Labelled {
    /// Those of the input, or those of the folder, in the order of the input.
    pub shards: Vec<Shard>,
    /// What was rejected when the input was clustered; `None` where it was not.
    pub rejects: Option<Rejects>,
    /// Holds the shards until it is dropped.
    _folder: Option<tempfile::TempDir>,
}

impl Labelled {
    /// The shards of the input, which have labels or stay without.
    pub fn of_input(shards: Vec<Shard>) -> Labelled {
        Labelled { shards, rejects: None, _folder: None }
    }
}

impl RecordArgs {
    /// What makes a cluster of these records, and what was seen where that was left to them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn choose(&self, shards: &[Shard], line_limit: usize) -> Result<(ClusterBy, Option<Survey>), IoError> {
        match self.cluster_by {
            ClusterBy::Auto if shards.iter().all(|shard| shard.format == edge::Format::Tsv) => {
                Ok((ClusterBy::Label, None))
            }
            ClusterBy::Auto => {
                let survey = Survey::of(shards, line_limit)?;
                Ok((survey.choice(), Some(survey)))
            }
            choice => Ok((choice, None)),
        }
    }

    /// Clusters the records of `shards`, unless they have labels.
    ///
    /// # Errors
    /// When they cannot be read or scratch cannot be used.
    pub fn label(&self, shards: Vec<Shard>, means: &Means<'_>) -> Result<Labelled, SourceError> {
        let told = |text: String| {
            if !means.quiet {
                say(text)
            }
        };
        let (choice, survey) = self.choose(&shards, means.line_limit)?;
        if let Some(survey) = survey.filter(|survey| choice != ClusterBy::Label || survey.labels == 0) {
            told(survey.text(choice));
        }
        let Some(by) = choice.by() else { return Ok(Labelled::of_input(shards)) };
        let folder = tempfile::Builder::new().prefix("undust-clusters-").tempdir_in(means.scratch);
        let folder = folder.map_err(write_failed(means.scratch))?;
        let parts = Parts(Arc::new(Inner {
            shards,
            line_limit: means.line_limit,
            folder: folder.path().to_owned(),
            rejects: Mutex::default(),
            read: Mutex::default(),
        }));
        let plan = ClusterPlan {
            by,
            site_by: means.site_by,
            workers: means.workers,
            memory: means.memory,
            scratch: means.scratch.to_owned(),
        };
        let figures = cluster(&plan, Arc::new(parts.clone()), Arc::new(parts.clone()), means.progress.clone())
            .map_err(|error| match error {
                undust::dataflow::RunError::Source(error) => error,
                error => Box::new(error),
            })?;
        told(text(choice, &figures));
        for sink in figures.sinks.iter().take(5) {
            let example = parts.0.example(sink.example)?;
            told(format!("one page under {} URLs of {} forms (soft 404, login?): {example}", sink.urls, sink.forms));
        }
        let parts = parts.0;
        let shards = (0..parts.shards.len()).map(|at| parts.labelled(at)).collect::<Result<_, IoError>>()?;
        let rejects = std::mem::take(&mut *parts.rejects.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Labelled { shards, rejects: Some(rejects), _folder: Some(folder) })
    }
}

/// What a clustering run did, on one line.
fn text(choice: ClusterBy, f: &Figures) -> String {
    let mut text = format!(
        "clustered by {}: {} records ({} pages, {} redirects, {} errors, {} no pages), {} in {} clusters, {} of them of two or more",
        choice.name(),
        f.records,
        f.pages,
        f.moved,
        f.failed,
        f.other,
        f.labelled,
        f.clusters,
        f.duplicates
    );
    let mut more = |count: u64, what: &str| {
        if count > 0 {
            text.push_str(&format!("; {count} {what}"));
        }
    };
    more(f.redirects, "redirects joined to their target");
    more(f.dead_redirects, "redirects to errors left out");
    more(f.canonicals, "declared canonical URLs followed");
    more(f.foreign, "refused: on another site");
    more(f.to_errors, "refused: the target is an error");
    more(f.strangers, "refused: one target for pages of different content");
    more(f.unread, "pages whose text is not in the input left without a label");
    more(f.sinks.len() as u64, "pages under very many URLs");
    more(f.unlabelled, "records of such a page left without a label");
    text
}

/// Shards that are looked into.
const SURVEYED: usize = 8;

/// What the first batches of some shards hold.
#[derive(Default)]
pub struct Survey {
    shards: usize,
    records: u64,
    pages: u64,
    labels: u64,
    texts: u64,
    digests: u64,
    canonicals: u64,
    redirects: u64,
}

impl Survey {
    /// Looks at the first batch of up to [`SURVEYED`] shards, spread over all of them: the same whatever the workers.
    fn of(shards: &[Shard], line_limit: usize) -> Result<Survey, IoError> {
        let mut survey = Survey::default();
        let (mut batch, mut rejects) = (RecordBatch::default(), Rejects::default());
        for shard in shards.iter().step_by(shards.len().div_ceil(SURVEYED).max(1)) {
            survey.shards += 1;
            let mut reader = ShardReader::open_with_facts(shard, line_limit, Arc::new(AtomicU64::new(0)))?;
            while reader.next_batch(&mut batch, &mut rejects)? && batch.is_empty() {}
            for (at, record) in batch.iter().enumerate() {
                survey.add(record.cluster.is_some(), batch.facts(at));
            }
        }
        Ok(survey)
    }

    fn add(&mut self, label: bool, facts: Facts<'_>) {
        self.records += 1;
        self.labels += u64::from(label);
        self.redirects += u64::from(facts.redirect.is_some());
        if facts.kind != Kind::Other && matches!(facts.status, 0 | 200..=299) {
            self.pages += 1;
            self.texts += u64::from(facts.text.is_some());
            self.digests += u64::from(facts.digest.is_some());
            self.canonicals += u64::from(facts.canonical.is_some());
        }
    }

    /// Labels first: someone made them on purpose. Then what is surest where it is there for a good part of the pages.
    /// Texts may be there for fewer than all pages, since revisits name a digest only.
    fn choice(&self) -> ClusterBy {
        match self {
            _ if self.labels > 0 => ClusterBy::Label,
            _ if self.texts * 4 >= self.pages && self.texts > 0 => ClusterBy::Simhash,
            _ if self.digests * 2 >= self.pages && self.digests > 0 => ClusterBy::Digest,
            _ if self.canonicals * 10 >= self.pages && self.canonicals > 0 => ClusterBy::Canonical,
            _ if self.redirects > 0 => ClusterBy::Redirect,
            _ => ClusterBy::Label,
        }
    }

    fn text(&self, choice: ClusterBy) -> String {
        let Survey { shards, records, pages, labels, texts, digests, canonicals, redirects } = self;
        let held = format!(
            "of the first {records} records in {shards} shards: {labels} labels, {redirects} redirects; of {pages} pages \
             {texts} with a text, {digests} with a digest, {canonicals} that declare a canonical URL"
        );
        match choice {
            ClusterBy::Label => format!("nothing tells which pages are alike, so nothing can be learned ({held})"),
            _ => format!("--cluster-by {} ({held})", choice.name()),
        }
    }
}

/// The shards as the source of the clustering run, their records kept beside, and the labels put to them.
#[derive(Clone)]
struct Parts(Arc<Inner>);

struct Inner {
    shards: Vec<Shard>,
    line_limit: usize,
    folder: PathBuf,
    rejects: Mutex<Rejects>,
    /// Shards that each worker read, in order.
    read: Mutex<Vec<Vec<usize>>>,
}

impl Inner {
    /// Where the records of a shard are kept, before and after they have labels.
    fn path(&self, shard: usize, labelled: bool) -> PathBuf {
        self.folder.join(format!("{shard:08}.{}", if labelled { "jsonl" } else { "kept" }))
    }

    /// A labelled shard. Its name is that of the shard it was made of.
    fn labelled(&self, at: usize) -> Result<Shard, IoError> {
        let path = self.path(at, true);
        let size = std::fs::metadata(&path).map_err(|source| IoError::Read { path: path.clone(), source })?.len();
        Ok(Shard {
            path,
            name: self.shards[at].name.clone(),
            format: edge::Format::Jsonl,
            compression: edge::compression::Compression::Plain,
            range: None,
            base: None,
            size,
        })
    }

    /// The URL of the record with this number at this worker.
    fn example(&self, (worker, number): (usize, u64)) -> Result<String, IoError> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = number;
        for &shard in read.get(worker).into_iter().flatten() {
            let path = self.path(shard, true);
            let failed = |source| IoError::Read { path: path.clone(), source };
            for line in BufReader::new(File::open(&path).map_err(failed)?).lines() {
                let line = line.map_err(failed)?;
                if left == 0 {
                    let value: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
                    return Ok(value["url"].as_str().unwrap_or_default().to_owned());
                }
                left -= 1;
            }
        }
        Ok(String::new())
    }
}

/// A failure to write at `path`, for `map_err`.
fn write_failed(path: &Path) -> impl FnOnce(io::Error) -> IoError {
    let path = path.to_owned();
    move |source| IoError::Write { path, source }
}

impl Source for Parts {
    fn open(&self, index: usize, peers: usize, _: usize) -> Result<Box<dyn Batches>, SourceError> {
        let mine: Vec<usize> = (0..self.0.shards.len()).skip(index).step_by(peers).collect();
        let mut read = self.0.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() < peers {
            read.resize(peers, Vec::new());
        }
        read[index] = mine.clone();
        let keeping = Keeping {
            parts: self.0.clone(),
            mine: mine.into_iter(),
            open: None,
            line: Vec::new(),
            rejects: Rejects::default(),
        };
        Ok(Box::new(keeping))
    }
}

/// One worker's shards, whose records are kept as they are read.
struct Keeping {
    parts: Arc<Inner>,
    mine: std::vec::IntoIter<usize>,
    open: Option<(ShardReader, BufWriter<File>, PathBuf)>,
    line: Vec<u8>,
    rejects: Rejects,
}

impl Batches for Keeping {
    fn next_batch(&mut self, batch: &mut RecordBatch) -> Result<bool, SourceError> {
        loop {
            if let Some((reader, kept, path)) = &mut self.open {
                if reader.next_batch(batch, &mut self.rejects)? {
                    for (at, record) in batch.iter().enumerate() {
                        table::line(record, batch.facts(at), &mut self.line);
                        kept.write_all(&self.line).map_err(write_failed(path))?;
                    }
                    return Ok(true);
                }
                kept.flush().map_err(write_failed(path))?;
                self.open = None;
            }
            let Some(at) = self.mine.next() else {
                let rejects = std::mem::take(&mut self.rejects);
                self.parts.rejects.lock().unwrap_or_else(PoisonError::into_inner).merge(rejects);
                return Ok(false);
            };
            let shard = &self.parts.shards[at];
            let reader = ShardReader::open_with_facts(shard, self.parts.line_limit, Arc::new(AtomicU64::new(0)))?;
            let path = self.parts.path(at, false);
            let file = File::create(&path).map_err(write_failed(&path))?;
            self.open = Some((reader, BufWriter::with_capacity(1 << 18, file), path));
        }
    }
}

impl Labels for Parts {
    fn open(&self, worker: usize) -> Result<Box<dyn LabelSink>, SourceError> {
        let read = self.0.read.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = read.get(worker).cloned().unwrap_or_default();
        let putting = Putting {
            parts: self.0.clone(),
            mine: mine.into_iter(),
            open: None,
            next: 0,
            line: Vec::new(),
            out: Vec::new(),
        };
        Ok(Box::new(putting))
    }
}

/// Puts labels to the records that one worker kept.
struct Putting {
    parts: Arc<Inner>,
    mine: std::vec::IntoIter<usize>,
    open: Option<(BufReader<File>, BufWriter<File>, PathBuf)>,
    /// Number of the next record.
    next: u64,
    line: Vec<u8>,
    out: Vec<u8>,
}

impl Putting {
    /// Passes the next record on; `false` when there is none left.
    fn pass(&mut self, cluster: Option<u64>) -> Result<bool, SourceError> {
        loop {
            if let Some((kept, out, path)) = &mut self.open {
                self.line.clear();
                let read = kept.read_until(b'\n', &mut self.line);
                if read.map_err(|source| IoError::Read { path: path.clone(), source })? > 0 {
                    let label = cluster.map(|cluster| format!("{cluster:016x}"));
                    self.out.clear();
                    table::labelled(&self.line, label.as_deref().map(str::as_bytes), &mut self.out);
                    out.write_all(&self.out).map_err(write_failed(path))?;
                    self.next += 1;
                    return Ok(true);
                }
                out.flush().map_err(write_failed(path))?;
                std::fs::remove_file(&path).map_err(write_failed(path))?;
                self.open = None;
            }
            let Some(at) = self.mine.next() else { return Ok(false) };
            let (from, to) = (self.parts.path(at, false), self.parts.path(at, true));
            let kept = File::open(&from).map_err(|source| IoError::Read { path: from.clone(), source })?;
            let out = File::create(&to).map_err(write_failed(&to))?;
            self.open = Some((BufReader::with_capacity(1 << 18, kept), BufWriter::with_capacity(1 << 18, out), from));
        }
    }
}

impl LabelSink for Putting {
    fn label(&mut self, number: u64, cluster: u64) -> Result<(), SourceError> {
        while self.next < number && self.pass(None)? {}
        self.pass(Some(cluster)).map(drop)
    }

    fn finish(&mut self) -> Result<(), SourceError> {
        while self.pass(None)? {}
        Ok(())
    }
}
