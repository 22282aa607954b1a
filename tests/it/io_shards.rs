//! Inputs as the user names them: files, folders, globs, standard input, and what is wrong with them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use undust::io::compression::{Compression, Encoder};
use undust::io::shards::{Options, find, spool};
use undust::io::{Format, IoError, Shard};

/// A folder with these files, each holding one record.
fn folder(names: &[&str]) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    for name in names {
        let path = scratch.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut encoder = Encoder::new(Compression::of_name(&path), Vec::new()).unwrap();
        encoder.write_all(b"http://a/\t1\n").unwrap();
        fs::write(path, encoder.finish().unwrap()).unwrap();
    }
    scratch
}

fn names(shards: &[Shard], below: &Path) -> Vec<String> {
    shards.iter().map(|s| Path::new(&s.name).strip_prefix(below).unwrap().to_str().unwrap().to_owned()).collect()
}

fn found(input: impl AsRef<Path>, options: &Options) -> Result<Vec<Shard>, IoError> {
    find(&[input], options)
}

#[test]
fn a_folder_gives_its_shards_by_name() {
    let all = [
        "b.tsv",
        "a.jsonl.gz",
        "c.NDJSON.ZST",
        "d.json",
        "e.txt",
        "part-0",
        "_SUCCESS",
        "_x.tsv",
        ".h.tsv",
        "README.md",
    ];
    let scratch = folder(&[&all[..], &["sub.tsv/x.tsv", "deep/y.tsv"]].concat());
    let shards = found(scratch.path(), &Options::default()).unwrap();
    assert_eq!(names(&shards, scratch.path()), ["a.jsonl.gz", "b.tsv", "c.NDJSON.ZST", "d.json", "e.txt"]);
    use {Compression::*, Format::*};
    let kinds: Vec<_> = shards.iter().map(|s| (s.format, s.compression)).collect();
    assert_eq!(kinds, [(Jsonl, Gzip), (Tsv, Plain), (Jsonl, Zstd), (Jsonl, Plain), (Tsv, Plain)]);
    let forced = Options { format: Some(Tsv), ..Options::default() };
    let shards = found(scratch.path(), &forced).unwrap();
    let expected = ["README.md", "a.jsonl.gz", "b.tsv", "c.NDJSON.ZST", "d.json", "e.txt", "part-0"];
    assert_eq!(names(&shards, scratch.path()), expected);
    assert!(shards.iter().all(|s| s.format == Tsv));
}

#[test]
fn globs_match_as_in_a_shell() {
    let scratch =
        folder(&["b.tsv", "a.tsv.gz", ".h.tsv", "_m.tsv", "x[1].tsv", "day1/a.tsv", "day2/a.tsv", "day2/README.md"]);
    let glob = |pattern: &str| {
        let shards = found(scratch.path().join(pattern), &Options::default())?;
        Ok::<_, IoError>(names(&shards, scratch.path()))
    };
    assert_eq!(glob("*.tsv*").unwrap(), ["a.tsv.gz", "b.tsv", "x[1].tsv"]);
    assert_eq!(glob("x[1].tsv").unwrap(), ["x[1].tsv"], "a path that exists is no glob");
    assert_eq!(glob("day?").unwrap(), ["day1/a.tsv", "day2/a.tsv"], "folders give their shards");
    assert!(matches!(glob("*.jsonl").unwrap_err(), IoError::NoMatch { .. }));
    assert!(matches!(glob("day2/*").unwrap_err(), IoError::UnknownFormat { path } if path.ends_with("README.md")));
    assert!(matches!(glob("***").unwrap_err(), IoError::BadGlob { .. }));
}

#[test]
fn a_file_named_twice_is_read_once_and_the_order_is_the_users() {
    let scratch = folder(&["a.tsv", "b.tsv"]);
    let at = |name: &str| scratch.path().join(name);
    let inputs: [PathBuf; 4] = [at("b.tsv"), at("*.tsv"), at("./a.tsv"), scratch.path().to_owned()];
    let shards = find(&inputs, &Options::default()).unwrap();
    assert_eq!(names(&shards, scratch.path()), ["b.tsv", "a.tsv"]);
}

#[test]
fn plain_files_are_cut_and_compressed_ones_are_not() {
    let scratch = folder(&["a.tsv", "b.tsv.gz"]);
    let options = Options { range_bytes: 5, ..Options::default() };
    let shards = found(scratch.path(), &options).unwrap();
    let cut: Vec<_> = shards.iter().map(|s| (s.range, s.size)).collect();
    let gz = fs::metadata(scratch.path().join("b.tsv.gz")).unwrap().len();
    assert_eq!(cut, [(Some((0, 5)), 5), (Some((5, 10)), 5), (Some((10, 12)), 2), (None, gz)]);
}

#[test]
fn what_is_wrong_is_told_with_a_way_out() {
    let scratch = folder(&["empty/_SUCCESS", "a.dat"]);
    let error = |input: &Path| found(input, &Options::default()).unwrap_err();
    let at = |name: &str| scratch.path().join(name);
    let cases = [
        (error(&at("no.tsv")), "no such file or folder"),
        (error(&at("empty")), "no shard in this folder"),
        (error(&at("a.dat")), "give --format tsv, or jsonl, cdx"),
        (error(Path::new("-")), "standard input cannot be read here"),
    ];
    for (error, way_out) in cases {
        assert!(error.to_string().contains(way_out), "{error}");
    }
    assert_eq!(found(at("a.dat"), &Options { format: Some(Format::Tsv), ..Options::default() }).unwrap().len(), 1);
}

#[cfg(unix)]
#[test]
fn pipes_links_to_nowhere_and_unreadable_files_are_told() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = folder(&["a.tsv"]);
    let at = |name: &str| scratch.path().join(name);
    let made =
        std::process::Command::new("mkfifo").arg(at("pipe.tsv")).status().expect("mkfifo is in every POSIX system");
    assert!(made.success());
    let error = found(at("pipe.tsv"), &Options::default()).unwrap_err();
    assert!(matches!(error, IoError::NotAFile { .. }), "{error}");
    fs::remove_file(at("pipe.tsv")).unwrap();

    symlink("gone", at("link.tsv")).unwrap();
    let error = found(scratch.path(), &Options::default()).unwrap_err();
    assert!(matches!(&error, IoError::NotFound { path } if path.ends_with("link.tsv")), "{error}");
    fs::remove_file(at("link.tsv")).unwrap();

    fs::set_permissions(at("a.tsv"), fs::Permissions::from_mode(0o000)).unwrap();
    // The super-user reads it all the same: nothing to see then.
    if fs::File::open(at("a.tsv")).is_err() {
        let error = found(at("a.tsv"), &Options::default()).unwrap_err();
        assert!(matches!(&error, IoError::Read { .. }), "{error}");
        assert!(error.to_string().contains("check that it is there and that you may read it"));
    }
}

#[test]
fn standard_input_is_spooled_as_it_comes() {
    let scratch = tempfile::tempdir().unwrap();
    let mut encoder = Encoder::new(Compression::Zstd, Vec::new()).unwrap();
    encoder.write_all(&b"http://a/\n".repeat(500_000)).unwrap();
    let bytes = encoder.finish().unwrap();
    let spooled = spool(&bytes[..], scratch.path()).unwrap();
    let mut options = Options { stdin: Some(spooled.path().to_owned()), ..Options::default() };
    // A URL at the beginning tells; what is no URL tells nothing.
    assert_eq!(found("-", &options).unwrap()[0].format, Format::Tsv);
    let other = spool(&b"hello\n"[..], scratch.path()).unwrap();
    options.stdin = Some(other.path().to_owned());
    assert!(matches!(found("-", &options).unwrap_err(), IoError::UnknownFormat { path } if path == Path::new("-")));
    drop(other);
    options = Options { stdin: Some(spooled.path().to_owned()), format: Some(Format::Tsv), ..Options::default() };
    let shards = find(&["-", "-"], &options).unwrap();
    assert_eq!(shards.len(), 1);
    assert_eq!(
        (shards[0].name.as_str(), shards[0].compression, shards[0].size),
        ("-", Compression::Zstd, bytes.len() as u64)
    );
    assert_eq!(fs::read(&shards[0].path).unwrap(), bytes);
    drop(spooled);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "the spool file goes with its value");
    assert!(matches!(spool(&bytes[..], &scratch.path().join("no")).unwrap_err(), IoError::Write { .. }));
}
