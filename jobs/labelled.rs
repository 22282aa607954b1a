//! Records on their way through a clustering run: stored as they are read, then passed on with their
//! labels.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use undust::dataflow::clusters::{LabelReceiver, Labels};
use undust::dataflow::{Batches, Source, SourceError};
use undust::io::{self as edge, IoError, Rejects, Shard, ShardReader, table};
use undust::model::RecordBatch;
use undust::runtime::progress::Progress;

use super::inputs::Tally;
use super::source::{Counted, Part};

/// The shards as the source of the clustering run, with their records stored and their labels added.
#[derive(Clone)]
pub struct Parts(Arc<Inner>);

struct Inner {
    shards: Vec<Shard>,
    line_limit: usize,
    folder: PathBuf,
    /// First worker of this process, where the shards are its own.
    local: Option<usize>,
    /// Workers of this process.
    workers: usize,
    /// What was rejected of the input.
    rejects: Mutex<Rejects>,
    /// Counts of the first reading of the labelled records.
    counted: Counted,
    /// Shards that each worker read, in order.
    read: Mutex<Vec<Vec<usize>>>,
    /// Receives the number of rejects while they are counted.
    progress: Arc<Progress>,
}

/// Longest line of a labelled record: escapes and facts may make it longer than the input line.
pub fn labelled_limit(line_limit: usize) -> usize {
    line_limit.saturating_mul(8).saturating_add(16 << 10)
}

impl Parts {
    /// A source of these shards; records are stored in `folder`. `local`: they are this process's own, and
    /// this its first worker.
    pub fn new(
        shards: Vec<Shard>,
        line_limit: usize,
        folder: &Path,
        local: Option<usize>,
        workers: usize,
        progress: Arc<Progress>,
    ) -> Parts {
        let folder = folder.to_owned();
        let (rejects, counted, read) = (Mutex::default(), Counted::default(), Mutex::default());
        Parts(Arc::new(Inner { shards, line_limit, folder, local, workers, rejects, counted, read, progress }))
    }

    /// The labelled shards of this process, in the order of the input, once all was clustered.
    pub fn labelled(&self) -> Result<Vec<Shard>, IoError> {
        self.0.own().into_iter().map(|at| self.0.labelled(at)).collect()
    }

    /// Takes out the rejects.
    pub fn take_rejects(&self) -> Rejects {
        std::mem::take(&mut *self.0.rejects.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes out the counts of labelled records with a label, where they were read once.
    pub fn take_tally(&self) -> Tally {
        self.0.counted.take().1
    }

    /// The URL of the record with this number at this worker, where it is one of this process.
    pub fn example(&self, of: (usize, u64)) -> Result<Option<String>, IoError> {
        self.0.example(of)
    }
}

/// The labelled records as a source: each worker reads what it clustered.
pub struct Relabelled(pub Parts);

impl Source for Relabelled {
    fn open(&self, index: usize, _: usize, pass: usize) -> Result<Box<dyn Batches>, SourceError> {
        let parts = &self.0.0;
        let counted = (pass == 0).then(|| parts.counted.clone());
        let mine = parts.read.lock().unwrap_or_else(PoisonError::into_inner).get(index).cloned().unwrap_or_default();
        let shards = mine.into_iter().map(|at| parts.labelled(at)).collect::<Result<_, IoError>>()?;
        Ok(Box::new(Part::new(shards, labelled_limit(parts.line_limit), counted)))
    }
}

impl Inner {
    /// Path of the records of a shard, before and after they have labels.
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

    /// The shards that the workers of this process read, in order.
    fn own(&self) -> Vec<usize> {
        let mut own = self.read.lock().unwrap_or_else(PoisonError::into_inner).concat();
        own.sort_unstable();
        own
    }

    /// The URL of the record with this number at this worker, where it is one of this process.
    fn example(&self, (worker, number): (usize, u64)) -> Result<Option<String>, IoError> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = number;
        for &shard in read.get(worker).into_iter().flatten() {
            let path = self.path(shard, true);
            let failed = |source| IoError::Read { path: path.clone(), source };
            for line in BufReader::new(File::open(&path).map_err(failed)?).lines() {
                let line = line.map_err(failed)?;
                if left == 0 {
                    let value: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
                    return Ok(value["url"].as_str().map(str::to_owned));
                }
                left -= 1;
            }
        }
        Ok(None)
    }
}

/// A failure to write at `path`, for `map_err`.
pub fn write_failed(path: &Path) -> impl FnOnce(io::Error) -> IoError {
    let path = path.to_owned();
    move |source| IoError::Write { path, source }
}

impl Source for Parts {
    fn open(&self, index: usize, peers: usize, _: usize) -> Result<Box<dyn Batches>, SourceError> {
        let (first, step) = self.0.local.map_or((index, peers), |first| (index - first, self.0.workers));
        let mine: Vec<usize> = (0..self.0.shards.len()).skip(first).step_by(step).collect();
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

/// One worker's shards, whose records are stored as they are read.
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
                let before = self.rejects.total();
                let more = reader.next_batch(batch, &mut self.rejects)?;
                self.parts.progress.reject(self.rejects.total() - before);
                if more {
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
    fn open(&self, worker: usize) -> Result<Box<dyn LabelReceiver>, SourceError> {
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

/// Adds labels to the records that one worker stored.
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

impl LabelReceiver for Putting {
    fn label(&mut self, number: u64, cluster: u64) -> Result<(), SourceError> {
        while self.next < number && self.pass(None)? {}
        self.pass(Some(cluster)).map(drop)
    }

    fn finish(&mut self) -> Result<(), SourceError> {
        while self.pass(None)? {}
        Ok(())
    }
}
