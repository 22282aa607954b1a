//! From shards to shards whose records have labels: the flags that all jobs over records share, the
//! survey behind `--cluster-by auto`, and the clustering run before the learner's.

use super::cluster_by::ClusterBy;
use super::inputs::Tally;
use super::labelled::{Parts, Relabelled, write_failed};
use super::messages::say;
use super::options::{Reading, any_format};
use super::survey::Survey;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use undust::dataflow::clusters::{ClusterPlan, Clustering, Figures, cluster};
use undust::dataflow::{Plan, RunError, Source, SourceError};
use undust::io::shards::{self, Options};
use undust::io::{self as edge, IoError, Rejects, Shard};
use undust::model::SiteBy;
use undust::runtime::mesh::{Mesh, MeshError};
use undust::runtime::progress::Progress;
use undust::runtime::workers::WorkersError;
use undust::temporary::{TemporaryFile, TemporaryFolder};

/// Format of the records, and the evidence for equal pages.
#[derive(Args, Debug, Clone)]
pub struct RecordArgs {
    /// Format of the input, where neither name nor content shows it.
    #[arg(long, value_parser = any_format())]
    pub format: Option<edge::Format>,
    /// Scheme and host of the site that access logs are of, where their lines do not name it.
    #[arg(long, value_name = "URL", value_parser = parse_base)]
    pub log_base: Option<String>,
    /// Evidence for equal pages: labels of the input, equal digests, near-equal main texts, declared
    /// canonical URLs, redirects, or the best of these that the input holds.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ClusterBy::Auto)]
    pub cluster_by: ClusterBy,
}

/// Scheme and host before the paths of a log.
pub fn parse_base(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or(text.strip_prefix("http://")).unwrap_or_default().trim_end_matches('/');
    if host.is_empty() || host.contains(['/', '?', '#', ' ']) {
        return Err("give scheme and host, as https://example.org".to_owned());
    }
    Ok(text.to_owned())
}

/// Resources of a clustering run.
pub struct Means<'a> {
    pub site_by: SiteBy,
    pub workers: usize,
    pub memory: usize,
    pub scratch: &'a Path,
    pub reading: Reading,
    pub progress: Arc<Progress>,
    /// The other processes, if any.
    pub mesh: Option<&'a Arc<Mesh>>,
    /// True if the shards are this process's own.
    pub local: bool,
}

impl<'a> Means<'a> {
    /// Writes a message once, at the first process.
    fn tell(&self, text: impl FnOnce() -> String) {
        if !self.reading.quiet.is_set() && self.mesh.is_none_or(|mesh| mesh.process() == 0) {
            say(text());
        }
    }

    /// Resources of a learning run.
    pub fn of(plan: &'a Plan, reading: Reading, progress: Arc<Progress>) -> Means<'a> {
        let Plan { site_by, workers, memory, scratch, .. } = plan;
        let (site_by, workers, memory) = (*site_by, *workers, *memory);
        Means { site_by, workers, memory, scratch, reading, progress, mesh: None, local: false }
    }
}

/// The shards of a job, with their spool file.
pub struct FoundShards {
    pub shards: Vec<Shard>,
    /// Spool file of standard input, kept until it is dropped.
    _spooled: Option<TemporaryFile>,
}

/// Shards whose records have labels.
pub struct Labelled {
    /// Shards of the input, or of the folder, in the order of the input; on several processes those of this
    /// one.
    pub shards: Vec<Shard>,
    /// Rejects of the clustering run; `None` without one.
    pub rejects: Option<Rejects>,
    /// Counts of reading the labelled records after that.
    pub tally: Tally,
    /// Keeps the shards until it is dropped.
    _folder: Option<TemporaryFolder>,
}

impl Labelled {
    /// The shards of the input unchanged, with or without labels.
    pub fn of_input(shards: Vec<Shard>) -> Labelled {
        Labelled { shards, rejects: None, tally: Tally::default(), _folder: None }
    }
}

impl RecordArgs {
    /// The shards that `inputs` name; standard input is spooled to `scratch`.
    ///
    /// # Errors
    /// Errors of [`shards::find`].
    pub fn find(&self, inputs: &[PathBuf], scratch: &Path) -> Result<FoundShards, IoError> {
        let spooled = match inputs.iter().any(|input| input.as_os_str() == "-") {
            true => Some(shards::spool_stdin(scratch)?),
            false => None,
        };
        let options = Options {
            format: self.format,
            log_base: self.log_base.clone(),
            stdin: spooled.as_ref().map(|file| file.path().to_owned()),
            ..Options::default()
        };
        Ok(FoundShards { shards: shards::find(inputs, &options)?, _spooled: spooled })
    }

    /// The files that `inputs` name; standard input stays `-`.
    ///
    /// # Errors
    /// Errors of [`shards::expand`].
    pub fn files(&self, inputs: &[PathBuf]) -> Result<Vec<PathBuf>, IoError> {
        let options = Options { format: self.format, ..Options::default() };
        let mut files = Vec::new();
        for input in inputs {
            match input.as_os_str() == "-" {
                true => files.push(input.clone()),
                false => files.extend(shards::expand(input, &options)?),
            }
        }
        Ok(files)
    }

    /// The evidence by which these records are clustered, and the survey if that decided. All processes of
    /// a mesh make one choice.
    ///
    /// # Errors
    /// Error where they cannot be read.
    pub fn choose(&self, shards: &[Shard], means: &Means<'_>) -> Result<(ClusterBy, Option<Survey>), RunError> {
        let tables = shards.iter().all(|shard| shard.format == edge::Format::Tsv);
        match self.cluster_by {
            ClusterBy::Auto if tables && !means.local => Ok((ClusterBy::Label, None)),
            ClusterBy::Auto => {
                let mut survey = Survey::of(shards, means.reading.line_limit).map_err(source)?;
                if let Some(mesh) = means.mesh {
                    let note = |survey: &Survey| serde_json::to_vec(survey).expect("counts are JSON");
                    for other in mesh.gather(note(&survey)).map_err(peer)?.iter().flatten().skip(1) {
                        if means.local {
                            survey.merge(&serde_json::from_slice(other).map_err(source)?);
                        }
                    }
                    let agreed = mesh.broadcast(note(&survey)).map_err(peer)?;
                    survey = serde_json::from_slice(&agreed).map_err(source)?;
                }
                Ok((survey.choice(), Some(survey)))
            }
            choice => Ok((choice, None)),
        }
    }

    /// Clusters the records of `shards`, unless they have labels.
    ///
    /// # Errors
    /// Error where they cannot be read, scratch cannot be used, or a worker or process is lost.
    pub fn label(&self, shards: Vec<Shard>, means: &Means<'_>) -> Result<Labelled, RunError> {
        let Some(unlabelled) = self.unlabelled(&shards, means)? else { return Ok(Labelled::of_input(shards)) };
        cluster(&unlabelled.run, means.mesh)?;
        unlabelled.finish(means)
    }

    /// The clustering run that the records of `shards` need, unless they have labels.
    ///
    /// # Errors
    /// Error where they cannot be read or scratch cannot be used.
    pub fn unlabelled(&self, shards: &[Shard], means: &Means<'_>) -> Result<Option<Unlabelled>, RunError> {
        let (choice, survey) = self.choose(shards, means)?;
        if let Some(survey) = survey.filter(|survey| choice != ClusterBy::Label || survey.labels == 0) {
            means.tell(|| survey.text(choice));
        }
        let Some(by) = choice.by() else { return Ok(None) };
        let folder = TemporaryFolder::within(means.scratch, "undust-clusters-");
        let folder = folder.map_err(write_failed(means.scratch)).map_err(source)?;
        let local = means.mesh.filter(|_| means.local).map(|mesh| mesh.process() * means.workers);
        let parts = Parts::new(
            shards.to_vec(),
            means.reading.line_limit,
            folder.path(),
            local,
            means.workers,
            means.progress.clone(),
        );
        let plan = ClusterPlan {
            by,
            site_by: means.site_by,
            workers: means.workers,
            memory: means.memory,
            scratch: means.scratch.to_owned(),
        };
        let (records, labels) = (Arc::new(parts.clone()), Arc::new(parts.clone()));
        let run = Arc::new(Clustering::new(&plan, records, labels, means.progress.clone(), means.mesh)?);
        Ok(Some(Unlabelled { choice, parts, run, folder }))
    }
}

/// Records before and after clustering.
pub struct Unlabelled {
    choice: ClusterBy,
    parts: Parts,
    /// The run.
    pub run: Arc<Clustering>,
    folder: TemporaryFolder,
}

impl Unlabelled {
    /// The records with their labels, as a source for the same workers after the run.
    pub fn relabelled(&self) -> Arc<dyn Source> {
        Arc::new(Relabelled(self.parts.clone()))
    }

    /// Reports on the run, and returns its result.
    ///
    /// # Errors
    /// Error where it failed, or its result cannot be read.
    pub fn finish(self, means: &Means<'_>) -> Result<Labelled, RunError> {
        let mut figures = self.run.figures()?;
        if let Some(mesh) = means.mesh {
            figures = whole(mesh, figures)?;
        }
        means.tell(|| text(self.choice, &figures));
        for soft_404 in figures.soft_404s.iter().take(5) {
            // At the process that read it: on several processes that is one of them.
            if let Some(example) =
                self.parts.example(soft_404.example).map_err(source)?.filter(|_| !means.reading.quiet.is_set())
            {
                say(format!(
                    "one page under {} URLs of {} forms (soft 404, login?): {example}",
                    soft_404.urls, soft_404.forms
                ));
            }
        }
        let shards = self.parts.labelled().map_err(source)?;
        let (rejects, tally) = (Some(self.parts.take_rejects()), self.parts.take_tally());
        Ok(Labelled { shards, rejects, tally, _folder: Some(self.folder) })
    }
}

/// The figures of all processes, at each of them.
fn whole(mesh: &Mesh, mine: Figures) -> Result<Figures, RunError> {
    let note = |figures: &Figures| serde_json::to_vec(figures).expect("counts are JSON");
    let parts = mesh.gather(note(&mine)).map_err(peer)?;
    let mut figures = mine;
    for part in parts.iter().flatten().skip(1) {
        figures.add(serde_json::from_slice(part).map_err(source)?);
    }
    serde_json::from_slice(&mesh.broadcast(note(&figures)).map_err(peer)?).map_err(source)
}

fn source(error: impl Into<SourceError>) -> RunError {
    RunError::Source(error.into())
}

fn peer(error: MeshError) -> RunError {
    RunError::Workers(WorkersError::Peer(error))
}

/// Summary of a clustering run, on one line.
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
    more(f.soft_404s.len() as u64, "pages under very many URLs");
    more(f.unlabelled, "records of such a page left without a label");
    text
}
