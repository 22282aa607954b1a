//! Formats that are recognized and not read: other compressions, and archives without answers. Each is
//! refused by its name with a way out: read as text, its bytes would be a count of bad lines and
//! nothing learned.
//!
//! bzip2 and xz are not decoded on purpose. A job reads its input twice or more, and both take several
//! times as long as gzip: standard input, decompressed once into a spool file, is the faster way. No
//! decoder of bzip2 without C code has a licence that `deny.toml` allows.

use std::path::Path;

use super::codec::Compression;
use super::error::IoError;

/// A compression that is refused: name, first bytes, extensions, the command that undoes it.
struct Packing {
    name: &'static str,
    magic: &'static [&'static [u8]],
    extensions: &'static [&'static str],
    command: &'static str,
}

const fn packing(
    name: &'static str,
    magic: &'static [&'static [u8]],
    extensions: &'static [&'static str],
    command: &'static str,
) -> Packing {
    Packing { name, magic, extensions, command }
}

/// Four bytes are compared: more are not read from a pipe before its first line is answered.
const PACKINGS: [Packing; 12] = [
    packing("xz", &[b"\xfd7zX"], &["xz", "txz"], "xz -dc"),
    packing(
        "bzip2",
        &[b"BZh1", b"BZh2", b"BZh3", b"BZh4", b"BZh5", b"BZh6", b"BZh7", b"BZh8", b"BZh9"],
        &["bz2", "bz", "tbz2"],
        "bzip2 -dc",
    ),
    packing("lzma", &[b"\x5d\0\0\x80", b"\x5d\0\0\0", b"\x5d\0\0\x10"], &["lzma"], "xz -dc"),
    packing("lzip", &[b"LZIP"], &["lz"], "lzip -dc"),
    packing("lz4", &[b"\x04\x22\x4d\x18", b"\x02\x21\x4c\x18"], &["lz4"], "lz4 -dc"),
    packing("lzop", &[b"\x89LZO"], &["lzo"], "lzop -dc"),
    packing("Snappy", &[b"\xff\x06\0\0"], &["sz", "snappy"], "snzip -dc"),
    packing("compress (.Z)", &[b"\x1f\x9d"], &["z"], "gzip -dc"),
    packing("Brotli", &[], &["br"], "brotli -dc"),
    packing("ZIP", &[b"PK\x03\x04", b"PK\x05\x06"], &["zip"], "unzip -p"),
    packing("7z", &[b"7z\xbc\xaf"], &["7z"], "7z x -so"),
    packing("RAR", &[b"Rar!"], &["rar"], "unrar p -inul"),
];

/// Refuses a compression that undust does not read, by the first four bytes of a file, else by its
/// name, unless the bytes are those of gzip or zstd; and text that begins as UTF-16.
///
/// # Errors
/// [`IoError::UnreadCompression`], [`IoError::Utf16`].
pub(super) fn refuse_compression(name: &Path, head: &[u8]) -> Result<(), IoError> {
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(IoError::Utf16 { path: name.to_owned() });
    }
    let by_bytes = PACKINGS.iter().find(|p| p.magic.iter().any(|magic| head.starts_with(magic)));
    let named = |p: &&Packing| name.extension().is_some_and(|e| p.extensions.iter().any(|x| e.eq_ignore_ascii_case(x)));
    let by_name = || PACKINGS.iter().find(named).filter(|_| Compression::of_magic(head) == Compression::Plain);
    match by_bytes.or_else(by_name) {
        None => Ok(()),
        Some(Packing { name: compression, command, .. }) => {
            let file = if name == Path::new("-") { "FILE".into() } else { name.to_string_lossy() };
            let command = format!("{command} {file}");
            Err(IoError::UnreadCompression { path: name.to_owned(), compression, command })
        }
    }
}

/// Refuses an archive that holds no answers: ARC, the format before WARC, and the WET and WAT files
/// that are derived from WARC. `head`: the first kilobytes, decompressed.
///
/// # Errors
/// [`IoError::UnreadArchive`].
pub(super) fn refuse_archive(name: &Path, head: &[u8]) -> Result<(), IoError> {
    let refuse = |what: &'static str, way_out: &'static str| {
        Err(IoError::UnreadArchive { path: name.to_owned(), what, way_out })
    };
    let bare = match Compression::of_name(name) {
        Compression::Plain => name.to_owned(),
        _ => name.with_extension(""),
    };
    let named = |extension: &str| bare.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension));
    let archive = head.starts_with(b"WARC/");
    let kind = archive.then(|| first_kind(head)).flatten().unwrap_or_default();
    if head.starts_with(b"filedesc://") || named("arc") && !archive {
        return refuse("an ARC file, the format before WARC", "convert it: `warcio recompress OLD.arc.gz NEW.warc.gz`");
    }
    if kind.eq_ignore_ascii_case(b"conversion") || named("wet") {
        let what = "a WET file: extracted text without the responses it was taken from, so without status, redirects, \
                    digests and markup";
        return refuse(what, "read the WARC file of the same name, or the columnar index of the crawl");
    }
    let described = [&b"\"WARC-Header-Metadata\""[..], b"{\"Container\":", b"{\"Envelope\":"];
    let describes = described.iter().any(|text| memchr::memmem::find(head, text).is_some());
    if kind.eq_ignore_ascii_case(b"metadata") && describes || named("wat") {
        let what = "a WAT file: metadata about responses, not the responses";
        return refuse(what, "read the WARC file of the same name, or the columnar index of the crawl");
    }
    Ok(())
}

/// `WARC-Type` of the first record that is more than a description of the file.
fn first_kind(head: &[u8]) -> Option<&[u8]> {
    const FIELD: &[u8] = b"\nWARC-Type:";
    let kinds = memchr::memmem::find_iter(head, FIELD).map(|at| {
        let value = &head[at + FIELD.len()..];
        value[..memchr::memchr(b'\n', value).unwrap_or(value.len())].trim_ascii()
    });
    kinds.into_iter().find(|kind| !kind.eq_ignore_ascii_case(b"warcinfo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_names_are_refused_and_readable_ones_pass() {
        let refused = |name: &str, head: &[u8]| refuse_compression(Path::new(name), head).err().map(|e| e.to_string());
        for (name, head, says) in [
            ("a.tsv", &b"\xfd7zXZ\0"[..], "a.tsv: compressed with xz"),
            ("a.tsv.XZ", b"", "a.tsv.XZ: compressed with xz"),
            ("a.tsv.bz2", b"BZh9", "bzip2 -dc a.tsv.bz2"),
            ("a", b"PK\x03\x04", "unzip -p a"),
            ("a.br", b"\x8b\x01\x80a", "Brotli"),
            ("a.Z", b"\x1f\x9d\x90", "gzip -dc a.Z"),
            ("-", b"BZh9", "bzip2 -dc FILE"),
            ("a.csv", b"\xff\xfeu\0", "a.csv: text in UTF-16"),
            ("a.txt", b"\xfe\xff\0u", "iconv -f UTF-16"),
        ] {
            let told = refused(name, head).unwrap_or_else(|| panic!("{name} passes"));
            assert!(told.contains(says), "{told}");
        }
        let read = [("a.gz", &b"\x1f\x8b\x08"[..]), ("a.xz", b"\x1f\x8b\x08"), ("a.zst", b"\x28\xb5\x2f\xfd")];
        let text = [("a.tsv", &b"http"[..]), ("BZh", b"BZh"), ("a.tsv", b"")];
        read.iter().chain(&text).for_each(|&(name, head)| assert_eq!(refused(name, head), None, "{name}"));
    }

    #[test]
    fn archives_without_answers_are_told_from_those_with() {
        let refused = |name: &str, head: &[u8]| refuse_archive(Path::new(name), head).is_err();
        let warc = |kinds: &[&str], block: &str| {
            let record =
                |kind: &&str| format!("WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Length: 9\r\n\r\n{block}\r\n\r\n");
            kinds.iter().map(record).collect::<String>().into_bytes()
        };
        assert!(refused("a.warc.gz", &warc(&["warcinfo", "conversion"], "text")));
        assert!(refused("a.warc.gz", &warc(&["warcinfo", "metadata"], "{\"Container\":{}}")));
        assert!(refused("a.wet.gz", b"") && refused("a.arc", b"") && refused("a", b"filedesc://a.arc 0.0.0.0"));
        assert!(!refused("a.warc.gz", &warc(&["warcinfo", "response", "conversion"], "text")));
        assert!(!refused("a.warc.gz", &warc(&["warcinfo", "metadata", "response"], "fetchTimeMs: 5")));
        assert!(!refused("a.arc.gz", &warc(&["response"], "")) && !refused("a.tsv", b"http://a/\t1"));
    }
}
