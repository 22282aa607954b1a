//! Files of a synthetic corpus: temporary names, compression, fsync, rename.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use undust::io::IoError;
use undust::io::output::{FolderLock, LOCK, make_folder};
use undust::temporary::{TemporaryFile, is_partial_name};

/// Compression of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Compress {
    /// Plain text
    None,
    /// gzip, level 3
    Gzip,
    /// zstd, level 3
    Zstd,
}

impl Compress {
    /// Extension of names.
    pub fn extension(self) -> &'static str {
        match self {
            Compress::None => "",
            Compress::Gzip => ".gz",
            Compress::Zstd => ".zst",
        }
    }
}

/// Error of a folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is not empty.
    #[error("{} is not empty (it holds {found:?}): choose another folder, or --overwrite", folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
        /// One of the names in it.
        found: String,
    },
    /// With `--overwrite`: a file that no run of this job wrote.
    #[error("{} holds {found:?}, which is not from undust synth: remove it, or choose another folder", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// The name.
        found: String,
    },
    /// The folder cannot be made or locked.
    #[error(transparent)]
    Folder(#[from] IoError),
    /// A file or folder that cannot be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// Create, write, ...
        what: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

fn because<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { what, path: path.to_owned(), source }
}

/// Makes an empty folder of `folder` and locks it. With `overwrite`, removes the files of an earlier
/// run, manifest first; other files stop it before anything is removed.
pub fn prepare(folder: &Path, overwrite: bool) -> Result<FolderLock, Error> {
    make_folder(folder)?;
    let lock = FolderLock::take(folder)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(because("read", folder))? {
        names.push(entry.map_err(because("read", folder))?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| name != LOCK);
    names.sort();
    let folder_of = || folder.to_owned();
    match names.iter().find(|name| !is_ours(name)) {
        Some(found) if overwrite => return Err(Error::Foreign { folder: folder_of(), found: found.clone() }),
        _ => {}
    }
    if let Some(found) = names.first().filter(|_| !overwrite) {
        return Err(Error::NotEmpty { folder: folder_of(), found: found.clone() });
    }
    names.sort_by_key(|name| name != "_manifest.json");
    for name in names {
        let path = folder.join(name);
        fs::remove_file(&path).map_err(because("remove", &path))?;
    }
    Ok(lock)
}

/// True for a name that this job writes.
fn is_ours(name: &str) -> bool {
    let partial = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial")).and_then(|name| {
        let of = name.rsplit_once('.')?.0;
        is_partial_name(&format!(".{name}.partial"), of).then_some(of)
    });
    // Releases up to 0.1.0 wrote under the name with `.partial` behind it.
    let name = partial.or(name.strip_suffix(".partial")).unwrap_or(name);
    let fixed = ["_manifest.json", "_truth_rules.json", "_truth.tsv.gz"];
    let numbered = |prefix: &str| {
        let tail = name.strip_prefix(prefix)?;
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let endings = ["", ".tsv", ".jsonl", ".tsv.gz", ".jsonl.gz", ".tsv.zst", ".jsonl.zst"];
        (digits >= 4 && endings.contains(&&tail[digits..])).then_some(())
    };
    fixed.contains(&name) || ["shard-", "site_", "_truth.tsv.gz-"].iter().any(|p| numbered(p).is_some())
}

/// Name of the `n`-th part of a file that several workers write.
pub fn part(name: &str, n: usize) -> String {
    format!("{name}-{n:04}")
}

enum Out {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

/// A file under a temporary name until it is complete.
pub struct PartFile {
    out: Out,
    path: PathBuf,
    partial: TemporaryFile,
}

impl PartFile {
    /// Begins a file.
    pub fn create(folder: &Path, name: &str, compress: Compress) -> Result<PartFile, Error> {
        let path = folder.join(name);
        let (file, partial) = TemporaryFile::beside(&path).map_err(because("create", &path))?;
        let file = BufWriter::with_capacity(1 << 18, file);
        let out = match compress {
            Compress::None => Out::Plain(file),
            Compress::Gzip => Out::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::new(3))),
            Compress::Zstd => Out::Zstd(zstd::Encoder::new(file, 3).map_err(because("compress", partial.path()))?),
        };
        Ok(PartFile { out, path, partial })
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let result = match &mut self.out {
            Out::Plain(out) => out.write_all(bytes),
            Out::Gzip(out) => out.write_all(bytes),
            Out::Zstd(out) => out.write_all(bytes),
        };
        result.map_err(because("write", self.partial.path()))
    }

    /// Completes the file under its name; its bytes on disk.
    pub fn finish(self) -> Result<u64, Error> {
        let PartFile { out, path, partial } = self;
        let buffered = match out {
            Out::Plain(out) => Ok(out),
            Out::Gzip(out) => out.finish(),
            Out::Zstd(out) => out.finish(),
        };
        let file = buffered.and_then(|b| b.into_inner().map_err(io::IntoInnerError::into_error));
        let file = file.map_err(because("write", partial.path()))?;
        file.sync_all().map_err(because("sync", partial.path()))?;
        let bytes = file.metadata().map_err(because("read", partial.path()))?.len();
        partial.persist(&path).map_err(because("rename", &path))?;
        Ok(bytes)
    }
}

/// Joins the parts of a gzip file end to end (members of one file) and removes them.
pub fn join(folder: &Path, parts: usize, name: &str) -> Result<(), Error> {
    let mut whole = PartFile::create(folder, name, Compress::None)?;
    for n in 0..parts {
        let path = folder.join(part(name, n));
        let mut file = File::open(&path).map_err(because("open", &path))?;
        let Out::Plain(out) = &mut whole.out else { unreachable!("created without compression") };
        io::copy(&mut file, out).map_err(because("copy", &path))?;
    }
    whole.finish()?;
    for n in 0..parts {
        let path = folder.join(part(name, n));
        fs::remove_file(&path).map_err(because("remove", &path))?;
    }
    Ok(())
}

/// Writes a JSON file, indented, with a final newline.
pub fn write_json(folder: &Path, name: &str, value: &serde_json::Value) -> Result<(), Error> {
    let mut file = PartFile::create(folder, name, Compress::None)?;
    let text = serde_json::to_vec_pretty(value).map_err(io::Error::from);
    let mut text = text.map_err(because("write", file.partial.path()))?;
    text.push(b'\n');
    file.write(&text)?;
    file.finish().map(drop)
}
