//! The compressions of files, and how they are recognised.

use std::fmt;
use std::path::Path;

/// Compression of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    Plain,
    /// One or more gzip members (RFC 1952).
    Gzip,
    /// One or more zstd frames (RFC 8878), skippable ones among them. Windows up to 128 MiB, the decoder's
    /// default.
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

impl Compression {
    /// Compression by the last extension of a name: `.gz` or `.zst`, in any case.
    pub fn of_name(path: &Path) -> Self {
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("gz") {
            Self::Gzip
        } else if extension.eq_ignore_ascii_case("zst") {
            Self::Zstd
        } else {
            Self::Plain
        }
    }

    /// Compression by the first bytes of a file; four are enough.
    pub fn of_magic(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// Compression of a file by its first bytes and its name. The bytes have precedence, except for a file
    /// too short to hold them: one named `.gz` or `.zst` is then compressed data cut short, not an empty
    /// text.
    pub fn detect(path: &Path, head: &[u8]) -> Self {
        if head.len() < 4 && Self::of_magic(head) == Self::Plain { Self::of_name(path) } else { Self::of_magic(head) }
    }
}
