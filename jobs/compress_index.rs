//! `undust compress-index`: an inverted index in which documents of one canonical URL become one
//! document.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, iter, thread};

use clap::{Args, ValueEnum};
use undust::dataflow::SourceError;
use undust::dataflow::compress::{
    self, CompressError, Compressed, Documents, Input, ListBlock, Output, Pack, Pull, Task, UrlsBy, records,
};
use undust::index::{Header, Policy};
use undust::io::IoError;
use undust::io::blocks::LineBlocks;
use undust::io::ciff::{CiffReader, CiffWriter, FinishedFile, IndexError, pack, verify};
use undust::io::compression::Compression;
use undust::io::docmap::{DocMapWriter, DocumentEntry};
use undust::io::output::PendingFile;
use undust::model::shown::Page;
use undust::runtime::hosts::Cluster;
use undust::runtime::mesh::Mesh;
use undust::runtime::progress::Progress;
use undust::spill::Scratch;

use crate::cluster::{ClusterArgs, ClusterError, digest_of, lost, together};
use crate::failure::Failure;
use crate::messages::show;
use crate::options::Room;
use crate::outputs::check_outputs;
use crate::pace::Pace;
use crate::quiet::Quiet;
use crate::rules_dir::RulesDir;
use crate::watched::Watched;

/// Merges the documents of an inverted index whose URLs have one canonical URL.
///
/// Reads and writes the Common Index File Format (CIFF) as Anserini, PISA, JASS and Terrier do: plain,
/// gzip or zstd, by the first bytes when read, by the extension when written (.gz, .zst). Of each group
/// of duplicates one document survives, with its own postings and length; ids, gaps, df, cf and the
/// counts of the header are made anew, and empty lists are dropped. Documents without a URL are kept
/// and counted.
///
/// The index is read twice. The same input gives the same bytes for any number of workers and any
/// memory. Memory: 8 bytes a document (12 with --order url), --memory, and at most 4 blocks a worker of
/// 512 KiB in and out, or the longest list.
///
/// On several processes the index, the list of URLs and the output are needed at process 0 only, the
/// rules at each; the bytes are those of one process.
#[derive(Args, Debug)]
#[command(after_long_help = crate::failure::EXIT_CODES)]
pub struct CompressIndexArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// The index.
    #[arg(long, value_name = "IN.ciff")]
    index: PathBuf,
    /// The URLs of the documents: lines of name, tab, URL (plain, .gz or .zst). Without it the names in the
    /// document records are the URLs.
    #[arg(long, value_name = "FILE")]
    urls: Option<PathBuf>,
    /// Text before the tab: the document's name in the collection, or its id in the index.
    #[arg(long, value_enum, default_value_t, requires = "urls")]
    urls_by: By,
    /// The new index; it has this name only once it is whole, and proved with --verify.
    #[arg(long, value_name = "OUT.ciff")]
    out: PathBuf,
    /// Writes the fate of each document: old id, new id, survivor (an old id), canonical URL; one line a
    /// document (.gz and .zst are compressed), or Parquet where the name ends in .parquet.
    #[arg(long, value_name = "MAP.tsv|MAP.parquet")]
    docmap: Option<PathBuf>,
    /// Order of the new ids: that of the old ones, or that of the canonical URLs, which makes gaps smaller.
    #[arg(long, value_enum, default_value_t)]
    order: Order,
    /// Which document of a group stays; ties go to the lower id.
    #[arg(long, value_enum, default_value_t)]
    policy: SurvivorPolicy,
    /// Adds the postings and lengths of duplicates to those of their survivor.
    #[arg(long)]
    merge_tf: bool,
    /// Reads both indexes again and proves that every list, record and sum is as it should be.
    #[arg(long)]
    verify: bool,
    /// Replaces OUT.ciff and MAP.tsv if they exist.
    #[arg(long)]
    overwrite: bool,
    /// Worker threads of each process; by default as many as there are processors.
    #[arg(short = 'w', long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    #[command(flatten)]
    room: Room,
    #[command(flatten)]
    quiet: Quiet,
    #[command(flatten)]
    watched: Watched,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Key of the list of URLs: name or id of a document.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum By {
    /// The name in the collection.
    #[default]
    Name,
    /// The id in the index.
    Docid,
}

/// Order of the new ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Order of the old ids.
    #[default]
    Keep,
    /// Order of the canonical URLs, documents without one last.
    Url,
}

/// Choice of the surviving document of a group.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum SurvivorPolicy {
    /// The one whose own URL is the canonical one, else the one with the shortest URL.
    #[default]
    Canonical,
    /// The one with the shortest URL.
    Shortest,
    /// The longest document.
    LongestDoc,
}

/// Runs the job.
pub fn run(args: CompressIndexArgs) -> Result<(), Failure> {
    let cluster = args.cluster.read().map_err(ClusterError::into_failure)?;
    let several = cluster.as_ref().map(|_| &args.cluster);
    let progress = args.watched.begin_on(several, "compress-index", None).map_err(Failure::usage)?;
    progress.stage(undust::model::Stage::Compressing);
    let task = task(&args, cluster.as_ref());
    let digest = match cluster {
        None => String::new(),
        Some(_) => {
            let Task { policy, by_url, merge_tf, urls_by, keep_urls, .. } = &task;
            let compression = Compression::of_name(&args.out);
            let decides = format!("{policy:?} {by_url} {merge_tf} {urls_by:?} {keep_urls} {compression:?}");
            digest_of(&("compress-index", args.rules.digest()?, decides))
        }
    };
    if args.cluster.process() == 0 {
        let outputs: Vec<&Path> = iter::once(&args.out).chain(&args.docmap).map(PathBuf::as_path).collect();
        let inputs: Vec<&Path> = iter::once(&args.index).chain(&args.urls).map(PathBuf::as_path).collect();
        check_outputs(&outputs, args.overwrite, &inputs, Some(&args.rules))?;
    }
    let mesh = args.cluster.meet(cluster.as_ref(), task.workers, &digest, "at process 0");
    let mesh = mesh.map_err(ClusterError::into_failure)?;
    together(mesh.as_deref(), || match &mesh {
        Some(mesh) if mesh.process() > 0 => help(&args, &task, mesh),
        _ => compress(&args, &task, &progress, mesh.as_ref()),
    })
}

/// Runs a process that is not the first: works for it.
fn help(args: &CompressIndexArgs, task: &Task, mesh: &Arc<Mesh>) -> Result<(), Failure> {
    let rules = Arc::new(args.rules.open()?);
    let peer = |error| ClusterError::Mesh(error).into_failure();
    let docs = serde_json::from_slice(&mesh.broadcast(Vec::new()).map_err(peer)?)?;
    // Blocks are compressed at the worker that has them, so the output of the first process decides here too.
    let pack: Pack = {
        let compression = Compression::of_name(&args.out);
        Arc::new(move |block| Ok(pack(compression, block)?))
    };
    let nowhere: Output = Box::new(|_| Err("only process 0 writes".into()));
    compress::run(task, rules, Arc::new(Elsewhere(docs)), pack, nowhere, Some(mesh)).map_err(failure)?;
    // Process 0 seals the result.
    mesh.broadcast(Vec::new()).map(drop).map_err(peer)
}

/// An index that another process reads, with its number of documents.
struct Elsewhere(u32);

impl Input for Elsewhere {
    fn docs(&self) -> u32 {
        self.0
    }

    fn documents(&self) -> Result<Pull<Documents>, SourceError> {
        Err("only process 0 reads".into())
    }

    fn url_lines(&self) -> Result<Option<Pull<Vec<u8>>>, SourceError> {
        Err("only process 0 reads".into())
    }

    fn lists(&self, _: bool) -> Result<Pull<ListBlock>, SourceError> {
        Err("only process 0 reads".into())
    }
}

/// Runs the first process, or the only one.
fn compress(
    args: &CompressIndexArgs,
    task: &Task,
    progress: &Arc<Progress>,
    mesh: Option<&Arc<Mesh>>,
) -> Result<(), Failure> {
    let peer = |error| ClusterError::Mesh(error).into_failure();
    let rules = Arc::new(args.rules.open()?);
    let header = CiffReader::open(&args.index)?.header().clone();
    let writer = CiffWriter::create(&args.out, header.clone())?;
    let compression = writer.compression();
    let writer = Arc::new(Mutex::new(Some(writer)));
    let docmap = args.docmap.as_deref().map(PendingFile::create).transpose()?;

    if let Some(mesh) = mesh {
        mesh.broadcast(serde_json::to_vec(&header.num_docs)?).map_err(peer)?;
    }
    let input = Arc::new(Index::new(args, header.clone()));
    let block_pack: Pack = Arc::new(move |block| Ok(pack(compression, block)?));
    progress.sites(rules.len());
    let mut pace = Pace::new("compress-index", "bytes of posting lists", args.quiet, progress.clone());
    let counters = progress.clone();
    let (lists, mut written) = (writer.clone(), 0);
    let output: Output = Box::new(move |block| {
        written += block.len() as u64;
        counters.add(0, block.len());
        pace.at(written);
        Ok(open(&lists).as_mut().expect("open until it is finished").append(block)?)
    });
    let done = compress::run(task, rules, input.clone(), block_pack, output, mesh).map_err(failure)?;

    let removed = if done.with_records {
        done.lists.removed
    } else {
        let lists = writer.clone();
        let mut output: Output =
            Box::new(move |record| Ok(open(&lists).as_mut().expect("open until it is finished").write(record)?));
        let scratch = Arc::new(Scratch::new(&task.scratch)?);
        let records = input.second_records()?;
        records::write(&done.map, records, &mut output, task.memory / 2, scratch).map_err(failure)?
    };
    let new = header.without(done.map.docs(), removed).with_lists((done.lists.lists - done.lists.emptied) as u32);
    let finished = open(&writer).take().expect("not finished before").finish(&new)?;
    let checked = args.verify.then(|| verify(&args.index, &finished, &done.map)).transpose()?;
    let text = report(&args.index, &header, &new, &done, &finished, checked.is_some())?;
    if let (Some(file), Some(path)) = (docmap, &args.docmap) {
        write_map(done, file, path)?;
    }
    finished.commit()?;
    if let Some(mesh) = mesh {
        mesh.broadcast(Vec::new()).map_err(peer)?;
    }
    show(&text).map_err(Failure::stdout)
}

fn open<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Text of a failure: those of files are complete by themselves.
fn failure(error: CompressError) -> Failure {
    match error {
        CompressError::Edge(error) => Failure::new(crate::exit::Exit::Failed, error),
        CompressError::Workers(error) => lost(error),
        error => error.into(),
    }
}

fn task(args: &CompressIndexArgs, cluster: Option<&Cluster>) -> Task {
    let asked = args.workers.or(cluster.and_then(|c| NonZeroUsize::new(c.workers?.into())));
    let workers = asked.unwrap_or_else(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    Task {
        policy: match args.policy {
            SurvivorPolicy::Canonical => Policy::Canonical,
            SurvivorPolicy::Shortest => Policy::Shortest,
            SurvivorPolicy::LongestDoc => Policy::LongestDoc,
        },
        by_url: args.order == Order::Url,
        merge_tf: args.merge_tf,
        urls_by: match (&args.urls, args.urls_by) {
            (None, _) => UrlsBy::Records,
            (Some(_), By::Name) => UrlsBy::Names,
            (Some(_), By::Docid) => UrlsBy::Ids,
        },
        keep_urls: args.docmap.is_some(),
        workers: workers.get(),
        memory: args.room.memory(cluster),
        scratch: args.room.scratch(cluster),
    }
}

/// The files of a run.
struct Index {
    path: PathBuf,
    urls: Option<PathBuf>,
    header: Header,
    /// The second reading: first the lists, then the records.
    second: Arc<Mutex<Option<CiffReader>>>,
}

impl Index {
    fn new(args: &CompressIndexArgs, header: Header) -> Index {
        Index { path: args.index.clone(), urls: args.urls.clone(), header, second: Arc::default() }
    }

    /// The records, once the lists were read.
    fn second_records(&self) -> Result<Pull<Documents>, Failure> {
        let reader = open(&self.second).take();
        Ok(pull_records(reader.expect("the lists were read")))
    }

    fn reader(&self) -> Result<CiffReader, SourceError> {
        let reader = CiffReader::open(&self.path)?;
        if reader.header() != &self.header {
            return Err(format!("{}: changed while it was read; run again", self.path.display()).into());
        }
        Ok(reader)
    }
}

fn pull_records(mut reader: CiffReader) -> Pull<Documents> {
    Box::new(move |documents| {
        documents.docs.clear();
        documents.names.clear();
        Ok(reader.next_records(&mut |record| {
            documents.docs.push((record.docid, record.length));
            documents.names.push(&[record.collection_docid]);
        })?)
    })
}

impl Input for Index {
    fn docs(&self) -> u32 {
        self.header.num_docs
    }

    fn documents(&self) -> Result<Pull<Documents>, SourceError> {
        Ok(pull_records(self.reader()?))
    }

    fn url_lines(&self) -> Result<Option<Pull<Vec<u8>>>, SourceError> {
        let Some(path) = &self.urls else { return Ok(None) };
        let mut lines = if path == Path::new("-") { LineBlocks::stdin() } else { LineBlocks::open(path) }?;
        Ok(Some(Box::new(move |block| Ok(lines.next_block(block)?))))
    }

    fn lists(&self, records: bool) -> Result<Pull<ListBlock>, SourceError> {
        *open(&self.second) = Some(self.reader()?);
        let reader = self.second.clone();
        Ok(Box::new(move |block| {
            let mut reader = open(&reader);
            let reader = reader.as_mut().expect("taken when the lists are read");
            if let Some(at) = reader.next_lists(&mut block.bytes)? {
                (block.at, block.records) = (at, None);
                return Ok(true);
            }
            let next = if records { reader.next_record_block(&mut block.bytes)? } else { None };
            let Some((at, before)) = next else { return Ok(false) };
            (block.at, block.records) = (at, Some(before));
            Ok(true)
        }))
    }
}

/// Writes the new id of each document, in the order of old ids.
fn write_map(done: Compressed, file: PendingFile, path: &Path) -> Result<(), Failure> {
    let failed = |source| IoError::Write { path: path.to_owned(), source };
    let mut file = DocMapWriter::new(path, file).map_err(failed)?;
    let mut urls = done.urls.expect("asked for");
    while let Some(row) = urls.next_row()? {
        let (id, canonical) = row.split_first_chunk::<4>().expect("an id and a URL");
        let old = u32::from_be_bytes(*id);
        let survivor = done.map.survivor_of(old);
        file.push(DocumentEntry { old, new: done.map.new_of(survivor), survivor, canonical }).map_err(failed)?;
    }
    file.finish().map_err(failed)?.commit()?;
    Ok(())
}

/// Summary of the run, for people.
fn report(
    index: &Path,
    old: &Header,
    new: &Header,
    done: &Compressed,
    finished: &FinishedFile,
    verified: bool,
) -> Result<Page, Failure> {
    let size = |path: &Path| -> Result<u64, IndexError> {
        let meta = fs::metadata(path).map_err(|source| IoError::Read { path: path.to_owned(), source })?;
        Ok(meta.len())
    };
    let Compressed { counts, lists, .. } = done;
    let mut lines = vec![
        format!(
            "documents: {} -> {}; {} merged into {} others, {} without a URL",
            old.num_docs, new.num_docs, counts.merged, counts.groups, counts.without_url
        ),
        format!("posting lists: {} -> {}; {} with nothing left", lists.lists, new.num_postings_lists, lists.emptied),
        format!("postings: {} -> {}", lists.postings, lists.postings_left),
        format!("terms: {} -> {}", old.total_terms_in_collection, new.total_terms_in_collection),
        format!("bytes: {} -> {}", size(index)?, size(finished.temporary())?),
    ];
    if counts.lines > 0 {
        let idle = counts.idle_lines;
        lines.push(format!(
            "lines of URLs: {}; {} without a good name or URL, {idle} of no document",
            counts.lines, counts.bad_lines
        ));
    }
    if lists.other_cf > 0 {
        lines.push(format!("cf was not the sum of tf in {} lists; it is now", lists.other_cf));
    }
    if verified {
        lines.push("verified: every list, record and sum".to_owned());
    }
    let mut page = Page::default();
    lines.iter().for_each(|line| _ = writeln!(page, "{line}"));
    Ok(page)
}
