//! Predictions of an outside method, as a file: lines `URL<TAB>canonical URL`.

use std::path::Path;

use super::blocks::LineBlocks;
use super::error::IoError;
use super::reason::{Reason, check_url};
use super::rejects::{LineLocation, Rejects};
use super::tsv;

/// URL and canonical URL of a line without its end; columns after the second are ignored. The canonical
/// URL is any text: methods that drop the scheme give no URL.
///
/// # Errors
/// The reason why the line is no prediction.
pub fn parse(line: &[u8]) -> Result<(&[u8], &[u8]), Reason> {
    if line.is_empty() {
        return Err(Reason::EmptyLine);
    }
    if std::str::from_utf8(line).is_err() {
        return Err(Reason::InvalidUtf8);
    }
    let mut columns = line.split(|&b| b == b'\t');
    let (url, canonical) = (columns.next().unwrap_or_default(), columns.next().unwrap_or_default());
    check_url(url)?;
    if canonical.is_empty() {
        return Err(Reason::MissingField);
    }
    if canonical.iter().any(u8::is_ascii_control) {
        return Err(Reason::ControlCharacter);
    }
    Ok((url, canonical))
}

/// Reads a file of predictions, plain, gzip or zstd by its first bytes; `-` is standard input. `each`
/// gets URL, canonical URL and the number of the line, from 1. Bad lines, and those over `line_limit`
/// bytes, go to `rejects`. A byte order mark, a carriage return before the line end and a header line
/// (`url` in the first column) are left out. Memory: that of [`LineBlocks`].
///
/// # Errors
/// Errors of reading the file, and of `each`, which end the reading.
pub fn read<E: From<IoError>>(
    path: &Path,
    line_limit: usize,
    rejects: &mut Rejects,
    mut each: impl FnMut(&[u8], &[u8], u64) -> Result<(), E>,
) -> Result<(), E> {
    let mut blocks = if path == Path::new("-") { LineBlocks::stdin()? } else { LineBlocks::open(path)? };
    let file = path.to_string_lossy();
    let (mut block, mut number, mut offset) = (Vec::new(), 0, 0);
    while blocks.next_block(&mut block)? {
        for whole in block.split_inclusive(|&b| b == b'\n') {
            let place = LineLocation { file: &file, offset, line: Some(number + 1) };
            number += 1;
            offset += whole.len() as u64;
            let line = whole.strip_suffix(b"\n").unwrap_or(whole);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if number == 1 && tsv::is_header(line) {
                continue;
            }
            rejects.saw(1);
            match if line.len() > line_limit { Err(Reason::OverLongLine) } else { parse(line) } {
                Ok((url, canonical)) => each(url, canonical, number)?,
                Err(reason) => rejects.add(reason, place, line),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_url_and_its_canonical_url() {
        let good = [
            ["http://a/1\thttp://a/", "http://a/1", "http://a/"],
            ["http://a/1\ta/1\tmore\t", "http://a/1", "a/1"],
            ["http://a/ 1\t ", "http://a/ 1", " "],
            ["http://a/ü\tü", "http://a/ü", "ü"],
        ];
        for [line, url, canonical] in good.map(|texts| texts.map(str::as_bytes)) {
            assert_eq!(parse(line), Ok((url, canonical)));
        }
        let bad: [(&[u8], Reason); 7] = [
            (b"", Reason::EmptyLine),
            (b"http://a/", Reason::MissingField),
            (b"http://a/\t", Reason::MissingField),
            (b"\thttp://a/", Reason::MissingUrl),
            (b"a/1\thttp://a/1", Reason::NotHttp),
            (b"http://a/\tx\ry", Reason::ControlCharacter),
            (b"http://a/\t\xff", Reason::InvalidUtf8),
        ];
        for (line, expected) in bad {
            assert_eq!(parse(line), Err(expected), "{line:?}");
        }
    }

    #[test]
    fn lines_are_numbered_as_an_editor_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.tsv");
        std::fs::write(&path, "\u{feff}url\tcanonical\r\nhttp://a/1\tx\r\nbad\n\nhttp://a/22\tyy\nhttp://a/333\tz")
            .unwrap();
        let (mut rejects, mut got) = (Rejects::default(), Vec::new());
        read(&path, 14, &mut rejects, |url, canonical, line| {
            got.push((
                String::from_utf8_lossy(url).into_owned(),
                String::from_utf8_lossy(canonical).into_owned(),
                line,
            ));
            Ok::<(), IoError>(())
        })
        .unwrap();
        let expected = [("http://a/1", "x", 2), ("http://a/22", "yy", 5), ("http://a/333", "z", 6)];
        assert_eq!(got, expected.map(|(url, canonical, line)| (url.to_owned(), canonical.to_owned(), line)));
        assert_eq!((rejects.lines(), rejects.total()), (5, 2));
        let lines: Vec<_> = rejects.sample().map(|(reason, sampled)| (reason, sampled.line)).collect();
        assert_eq!(lines, [(Reason::EmptyLine, Some(4)), (Reason::NotHttp, Some(3))]);
        assert!(matches!(
            read(Path::new("/nowhere/p.tsv"), 9, &mut rejects, |_, _, _| Ok::<(), IoError>(())),
            Err(IoError::NotFound { .. })
        ));
    }
}
