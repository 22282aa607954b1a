//! Lines `url<TAB>cluster[<TAB>site]`: pure.

use super::reason::{Reason, check_url};
use crate::model::{Record, RecordBatch};

/// Adds the record of one line (without its line end) to `batch`. A missing or empty cluster is no
/// label, a missing or empty site none either; columns after the third are ignored. No allocation
/// beyond the batch's own.
///
/// # Errors
/// The reason why the line is no record; `batch` is then as it was.
pub fn parse(line: &[u8], batch: &mut RecordBatch) -> Result<(), Reason> {
    if line.is_empty() {
        return Err(Reason::EmptyLine);
    }
    // Nearly all lines are ASCII, which is tested faster.
    if !line.is_ascii() && std::str::from_utf8(line).is_err() {
        return Err(Reason::InvalidUtf8);
    }
    let (url, rest) = field(line);
    let (cluster, rest) = field(rest);
    let (site, _) = field(rest);
    check_url(url)?;
    // For example a line end of another system: the rest of the file would be one label.
    if cluster.iter().chain(site).any(u8::is_ascii_control) {
        return Err(Reason::ControlCharacter);
    }
    let some = |column: &'_ [u8]| !column.is_empty();
    batch.push(Record {
        url,
        cluster: Some(cluster).filter(|c| some(c)),
        site: Some(site).filter(|s| some(s)),
        elsewhere: false,
    });
    Ok(())
}

/// True where `line`, the first of a file, is a header: its first column is `url`, in any case.
pub fn is_header(line: &[u8]) -> bool {
    field(line).0.eq_ignore_ascii_case(b"url")
}

/// The bytes before the first tab and those after it.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\t', line) {
        Some(tab) => (&line[..tab], &line[tab + 1..]),
        None => (line, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &[u8]) -> Result<RecordBatch, Reason> {
        let mut batch = RecordBatch::default();
        parse(line, &mut batch).map(|()| batch)
    }

    #[test]
    fn columns_become_a_record() {
        let record = |url, cluster, site| Record { url, cluster, site, elsewhere: false };
        let cases: [(&[u8], Record<'_>); 7] = [
            (b"http://a/", record(b"http://a/", None, None)),
            (b"http://a/\t", record(b"http://a/", None, None)),
            (b"http://a/\t7", record(b"http://a/", Some(b"7"), None)),
            (b"http://a/\t7\t", record(b"http://a/", Some(b"7"), None)),
            (b"http://a/\t\ts", record(b"http://a/", None, Some(b"s"))),
            (b"http://a/\t7\ts\tmore\t", record(b"http://a/", Some(b"7"), Some(b"s"))),
            (b"http://a/ b\t 7 ", record(b"http://a/ b", Some(b" 7 "), None)),
        ];
        for (line, expected) in cases {
            assert_eq!(one(line).unwrap().get(0), expected);
        }
    }

    #[test]
    fn bad_lines_name_their_reason() {
        let cases: [(&[u8], Reason); 8] = [
            (b"", Reason::EmptyLine),
            (b"http://a/\xff\t7", Reason::InvalidUtf8),
            (b"http://a/\t\xff", Reason::InvalidUtf8),
            (b"\t7", Reason::MissingUrl),
            (b"7\thttp://a/", Reason::NotHttp),
            (b"http://a/\r\t7", Reason::ControlCharacter),
            (b"http://a/\t7\rhttp://b/", Reason::ControlCharacter),
            (b"http://a/\t7\ts\r", Reason::ControlCharacter),
        ];
        for (line, expected) in cases {
            assert_eq!(one(line), Err(expected), "{line:?}");
        }
    }

    #[test]
    fn headers_are_known() {
        assert!(is_header(b"url") && is_header(b"URL\tcluster\tsite"));
        assert!(!is_header(b"urls\t1") && !is_header(b"http://url/\turl"));
    }
}
