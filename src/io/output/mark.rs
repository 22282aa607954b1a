//! `_SUCCESS`: the mark of a complete result, with the stamps of its files.
//!
//! A line for each file, sorted by name: the [`hash128`](crate::model::hash128) of its bytes as 32 hex
//! digits, their number, its name, with one space in between. An empty mark, as releases up to 0.1.0
//! wrote it, has no stamps: no file is checked.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::stamp::Stamp;
use crate::io::error::IoError;
use crate::model::Hasher128;

/// Name of the mark.
pub const SUCCESS: &str = "_SUCCESS";
/// Bytes read at a time for hashing.
const PIECE: usize = 256 << 10;

/// The content of a mark; empty where no file is to be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    files: BTreeMap<String, Stamp>,
}

impl Mark {
    /// Reads the mark in `folder`; `None` where there is none.
    ///
    /// # Errors
    /// [`IoError::BadMark`], or the error of the system.
    pub fn read(folder: &Path) -> Result<Option<Mark>, IoError> {
        let path = folder.join(SUCCESS);
        // A device, a pipe or a folder is no mark; opening a pipe would block.
        if fs::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            return Err(IoError::BadMark { path, line: 1 });
        }
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(IoError::read(&path)(error)),
        };
        Mark::parse(&text).map(Some).map_err(|line| IoError::BadMark { path, line })
    }

    /// Parses a mark; fails with the number of the first faulty line.
    fn parse(text: &[u8]) -> Result<Mark, u64> {
        let mut files = BTreeMap::<String, Stamp>::new();
        let mut lines = text.split_inclusive(|&b| b == b'\n');
        for (number, line) in (1..).zip(&mut lines) {
            let (name, stamp) = parse_line(line).ok_or(number)?;
            if files.last_key_value().is_some_and(|(last, _)| *last >= name) {
                return Err(number);
            }
            files.insert(name, stamp);
        }
        Ok(Mark { files })
    }

    /// The content of the file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, Stamp { hash, bytes }) in &self.files {
            let _ = writeln!(text, "{hash:032x} {bytes} {name}");
        }
        text
    }

    /// True where no file is to be checked.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds a file, or replaces its stamp.
    pub fn put(&mut self, name: &str, stamp: Stamp) {
        self.files.insert(name.to_owned(), stamp);
    }

    /// The stamp of a file.
    pub fn get(&self, name: &str) -> Option<Stamp> {
        self.files.get(name).copied()
    }

    /// All files, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Stamp)> {
        self.files.iter().map(|(name, stamp)| (name.as_str(), *stamp))
    }
}

fn parse_line(line: &[u8]) -> Option<(String, Stamp)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (hash, rest) = line.split_once(' ')?;
    let (bytes, name) = rest.split_once(' ')?;
    let hex = hash.len() == 32 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let decimal = bytes.bytes().all(|b| b.is_ascii_digit());
    let plain = !name.is_empty() && !name.contains(['/', '\\', '\0']) && name != SUCCESS && !name.starts_with('.');
    // For example line ends that another system wrote.
    let plain = plain && !name.contains(char::is_control);
    if !(hex && decimal && plain) {
        return None;
    }
    let stamp = Stamp { hash: u128::from_str_radix(hash, 16).ok()?, bytes: bytes.parse().ok()? };
    Some((name.to_owned(), stamp))
}

/// A result folder for reading: each of its files is checked against the mark.
#[derive(Clone, Debug)]
pub struct ResultFolder {
    path: PathBuf,
    mark: Mark,
}

impl ResultFolder {
    /// Opens a folder, which must hold the mark; with `allow_partial` it need not, and no file is checked.
    ///
    /// # Errors
    /// [`IoError::NotFound`], [`IoError::NotAFolder`], [`IoError::Incomplete`], [`IoError::BadMark`], or
    /// the error of the system.
    pub fn open(path: &Path, allow_partial: bool) -> Result<ResultFolder, IoError> {
        if !fs::metadata(path).map_err(IoError::read(path))?.is_dir() {
            return Err(IoError::NotAFolder { path: path.to_owned() });
        }
        let mark = match allow_partial {
            true => Mark::default(),
            false => Mark::read(path)?.ok_or_else(|| IoError::Incomplete { path: path.to_owned() })?,
        };
        Ok(ResultFolder { path: path.to_owned(), mark })
    }

    /// Opens a file of the result; `None` where it is neither present nor named in the mark.
    ///
    /// # Errors
    /// [`IoError::Altered`] where its length differs, [`IoError::Missing`], [`IoError::Unnamed`], or the
    /// error of the system.
    pub fn file(&self, name: &str) -> Result<Option<CheckedFile>, IoError> {
        let (path, expected) = (self.path.join(name), self.mark.get(name));
        match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match expected {
                Some(_) => Err(IoError::Missing { path }),
                None => Ok(None),
            },
            Err(error) => Err(IoError::read(&path)(error)),
            Ok(_) if expected.is_none() && !self.mark.is_empty() => Err(IoError::Unnamed { path }),
            Ok(file) => CheckedFile::new(file, path, expected).map(Some),
        }
    }
}

/// A file whose bytes are hashed while they are read and compared with the mark.
#[derive(Debug)]
pub struct CheckedFile {
    file: File,
    path: PathBuf,
    expected: Option<Stamp>,
    hasher: Hasher128,
    bytes: u64,
}

impl CheckedFile {
    /// Opens a file outside a result folder: it is compared with nothing.
    ///
    /// # Errors
    /// [`IoError::NotFound`], [`IoError::Read`].
    pub fn unmarked(path: &Path) -> Result<CheckedFile, IoError> {
        CheckedFile::new(File::open(path).map_err(IoError::read(path))?, path.to_owned(), None)
    }

    fn new(file: File, path: PathBuf, expected: Option<Stamp>) -> Result<CheckedFile, IoError> {
        let length = file.metadata().map_err(IoError::read(&path))?.len();
        let mut file = CheckedFile { file, path, expected, hasher: Hasher128::default(), bytes: 0 };
        if expected.is_some_and(|expected| expected.bytes != length) {
            // Another length is reported before the contents are used.
            file.verify()?;
        }
        Ok(file)
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the rest, and compares.
    ///
    /// # Errors
    /// [`IoError::Altered`], [`IoError::Read`].
    pub fn verify(&mut self) -> Result<(), IoError> {
        let Some(expected) = self.expected else { return Ok(()) };
        let found = self.stamp()?;
        if found == expected {
            return Ok(());
        }
        Err(IoError::Altered { path: self.path.clone(), expected, found })
    }

    /// Reads the rest into memory, and compares.
    ///
    /// # Errors
    /// Errors of [`verify`](Self::verify).
    pub fn read_all(mut self) -> Result<Vec<u8>, IoError> {
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes).map_err(IoError::read(&self.path))?;
        self.verify()?;
        Ok(bytes)
    }

    fn stamp(&mut self) -> Result<Stamp, IoError> {
        let mut piece = vec![0; PIECE];
        while self.read(&mut piece).map_err(IoError::read(&self.path))? > 0 {}
        Ok(Stamp { hash: self.hasher.hash(), bytes: self.bytes })
    }
}

impl Read for CheckedFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(out)?;
        if self.expected.is_some() {
            self.hasher.update(&out[..read]);
            self.bytes += read as u64;
        }
        Ok(read)
    }
}

/// Current stamp of a file; `None` where it is missing.
///
/// # Errors
/// [`IoError::Read`].
pub fn stamp_of(path: &Path) -> Result<Option<Stamp>, IoError> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(IoError::read(path)(error)),
        Ok(file) => {
            // Hashing requires some stamp to compare with.
            let expected = Some(Stamp { hash: 0, bytes: 0 });
            let path = path.to_owned();
            CheckedFile { file, path, expected, hasher: Hasher128::default(), bytes: 0 }.stamp().map(Some)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "00000000000000000000000000000001 7 rules.jsonl\n";

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let mut mark = Mark::default();
        mark.put("summary.json", Stamp { hash: u128::MAX, bytes: 0 });
        mark.put("rules.jsonl", Stamp { hash: 1, bytes: 7 });
        mark.put("a name.csv", Stamp { hash: 2, bytes: u64::MAX });
        let text = mark.text();
        assert!(text.contains(ONE) && text.lines().is_sorted_by_key(|line| line.rsplit(' ').next()), "{text}");
        assert_eq!(Mark::parse(text.as_bytes()), Ok(mark));
        assert_eq!(Mark::parse(b""), Ok(Mark::default()));
    }

    #[test]
    fn faulty_lines_are_told_by_number() {
        let two = ONE.replace("rules", "z");
        for (text, line) in [
            ("\n".to_owned(), 1),
            (ONE.trim_end().to_owned(), 1),
            (ONE.replace(" 7 ", " +7 "), 1),
            (ONE.replace(" 7 ", " 99999999999999999999 "), 1),
            (ONE.replace("000001 ", "00000A "), 1),
            (ONE.replace("0000", "000"), 1),
            (ONE.replace("rules.jsonl", "../rules.jsonl"), 1),
            (ONE.replace("rules.jsonl", ""), 1),
            (ONE.replace('\n', "\r\n"), 1),
            (ONE.replace("rules.jsonl", ".lock"), 1),
            (ONE.to_owned() + ONE, 2),
            (two + ONE, 2),
            (ONE.to_owned() + "\u{0}", 2),
        ] {
            assert_eq!(Mark::parse(text.as_bytes()), Err(line), "{text:?}");
        }
        assert_eq!(Mark::parse(&[ONE.as_bytes(), b"\xff\n"].concat()), Err(2));
    }

    #[cfg(unix)]
    #[test]
    fn a_mark_that_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(SUCCESS);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(matches!(Mark::read(folder.path()), Err(IoError::BadMark { .. })), "a pipe without a writer");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert!(matches!(Mark::read(folder.path()), Err(IoError::BadMark { .. })));
    }

    #[test]
    fn every_changed_byte_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.jsonl");
        fs::write(&path, "the rules").unwrap();
        let mut mark = Mark::default();
        mark.put("rules.jsonl", stamp_of(&path).unwrap().unwrap());
        fs::write(folder.path().join(SUCCESS), mark.text()).unwrap();
        let read = || {
            let folder = ResultFolder::open(folder.path(), false)?;
            folder.file("rules.jsonl")?.expect("named").read_all()
        };
        assert_eq!(read().unwrap(), b"the rules");
        for at in 0..9 {
            let mut bytes = b"the rules".to_vec();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            assert!(matches!(read(), Err(IoError::Altered { .. })), "byte {at}");
        }
        fs::write(&path, "the rules and more").unwrap();
        let error = ResultFolder::open(folder.path(), false).unwrap().file("rules.jsonl").unwrap_err().to_string();
        let found = stamp_of(&path).unwrap().unwrap();
        let expected = mark.get("rules.jsonl").unwrap();
        assert!(error.contains(&found.to_string()) && error.contains(&expected.to_string()), "{error}");
        assert!(error.contains("undust rules seal"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(matches!(read(), Err(IoError::Missing { .. })));
        fs::write(folder.path().join("seen.bin"), "planted").unwrap();
        let opened = ResultFolder::open(folder.path(), false).unwrap();
        assert!(matches!(opened.file("seen.bin"), Err(IoError::Unnamed { .. })));
        assert!(opened.file("times.json").unwrap().is_none());
        assert!(ResultFolder::open(folder.path(), true).unwrap().file("seen.bin").unwrap().is_some());
        // A mark of an earlier release has no stamps.
        fs::write(folder.path().join(SUCCESS), "").unwrap();
        assert!(ResultFolder::open(folder.path(), false).unwrap().file("seen.bin").unwrap().is_some());
    }
}
