//! Digests to compare the executable and the shards of two processes, or two runs.
//!
//! A digest is XXH3 with 128 bits as 32 hexadecimal digits. It guards against mistakes, not against an
//! attacker.

use super::error::IoError;
use super::shards::Shard;
use crate::model::hash128;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;
use xxhash_rust::xxh3::Xxh3;

/// Bytes at the beginning and at the end of a shard that its digest covers.
const SAMPLE: u64 = 64 << 10;

/// Digest of the executable of this process. Reads it once: some 50 ms for 100 MB.
///
/// # Errors
/// Error of the system where the executable cannot be read.
pub fn executable() -> io::Result<String> {
    // On Linux the running file, also where its name is that of a newer one by now.
    let running = Path::new("/proc/self/exe");
    let path = if running.exists() { running.to_owned() } else { std::env::current_exe()? };
    let mut file = File::open(path)?;
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(format!("{:032x}", hash.digest128())),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// Digest of the contents of shards: names without folders (which may differ between hosts), formats,
/// byte ranges, sizes, and the first and last 64 KiB of each file. Reads at most 128 KiB a file.
///
/// # Errors
/// [`IoError::Read`].
pub fn contents(shards: &[Shard]) -> Result<String, IoError> {
    let mut text = String::new();
    let mut last: Option<(&Path, u128)> = None;
    for shard in shards {
        // The ranges of a file are neighbours: it is sampled once.
        let sampled = match last {
            Some((path, hash)) if path == shard.path => hash,
            _ => sample(&shard.path).map_err(IoError::read(&shard.path))?,
        };
        last = Some((&shard.path, sampled));
        let name = shard.path.file_name().unwrap_or_default();
        let Shard { format, range, size, .. } = shard;
        let _ = writeln!(text, "{name:?} {format:?} {range:?} {size} {sampled:032x}");
    }
    Ok(digest(text.as_bytes()))
}

/// Digest of the modification times and sizes of the files.
pub fn times(shards: &[Shard]) -> String {
    let mut text = String::new();
    for shard in shards {
        let meta = shard.path.metadata().ok();
        let changed = meta.as_ref().and_then(|meta| meta.modified().ok());
        let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_nanos());
        let _ = writeln!(text, "{changed:?} {:?}", meta.map(|meta| meta.len()));
    }
    digest(text.as_bytes())
}

fn digest(bytes: &[u8]) -> String {
    format!("{:032x}", hash128(bytes))
}

/// Hash of a file's length, first and last 64 KiB.
fn sample(path: &Path) -> io::Result<u128> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = length.to_le_bytes().to_vec();
    (&mut file).take(SAMPLE).read_to_end(&mut bytes)?;
    if length > SAMPLE {
        file.seek(SeekFrom::Start(SAMPLE.max(length - SAMPLE)))?;
        file.take(SAMPLE).read_to_end(&mut bytes)?;
    }
    Ok(hash128(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::shards::{self, Options};

    #[test]
    fn contents_are_told_apart_at_both_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tsv");
        let digest_of = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let shards = shards::find(&[&path], &Options { range_bytes: 100_000, ..Options::default() }).unwrap();
            contents(&shards).unwrap()
        };
        for length in [10, 65_536, 65_537, 131_072, 300_000] {
            let bytes = vec![b'x'; length];
            let whole = digest_of(&bytes);
            assert_eq!(digest_of(&bytes), whole);
            for at in [0, length - 1] {
                let mut other = bytes.clone();
                other[at] = b'y';
                assert_ne!(digest_of(&other), whole, "byte {at} of {length}");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn the_executable_has_a_digest() {
        let digest = executable().unwrap();
        assert_eq!(digest.len(), 32);
        assert_eq!(digest, executable().unwrap());
    }
}
