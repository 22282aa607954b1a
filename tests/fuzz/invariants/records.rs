//! The invariants of the line parsers on one input, for the fuzz targets and the replay of their corpora.
use undust::io::Reason;
use undust::model::{Record, RecordBatch};

/// A parser of lines.
pub type Parse = fn(&[u8], &mut RecordBatch) -> Result<(), Reason>;

/// Parses every line of `data` into one batch and checks what came of it; gives the number of records.
pub fn check(data: &[u8], parse: Parse) -> Result<usize, String> {
    let mut batch = RecordBatch::default();
    for line in data.split(|&b| b == b'\n') {
        let before = (batch.len(), batch.byte_len());
        let told = |invariant: &str| format!("{invariant}: {}", line.escape_ascii());
        match parse(line, &mut batch) {
            Ok(()) => {
                if batch.len() != before.0 + 1 {
                    return Err(told("one record a line"));
                }
                let record = batch.get(before.0);
                check_record(record).map_err(told)?;
                if batch.byte_len() - before.1 > line.len() {
                    return Err(told("a record is no longer than its line"));
                }
                let mut normal = Vec::new();
                if undust::url::normalize(record.url, &mut normal).is_err() {
                    return Err(told("what the check of the reader passes, normalization passes too"));
                }
            }
            Err(_) if (batch.len(), batch.byte_len()) != before => {
                return Err(told("a bad line leaves the batch alone"));
            }
            // The bytes of the line are the URL where there is no tab and no brace.
            Err(Reason::NotHttp | Reason::NoHost | Reason::ControlCharacter | Reason::InvalidUrl)
                if !line.contains(&b'\t') && undust::url::normalize(line, &mut Vec::new()).is_ok() =>
            {
                return Err(told("what the check of the reader refuses, normalization refuses too"));
            }
            Err(_) => {}
        }
    }
    Ok(batch.len())
}

/// An accepted record: UTF-8 throughout, no empty label, an absolute http or https URL without control
/// characters.
fn check_record(record: Record<'_>) -> Result<(), &'static str> {
    let url = std::str::from_utf8(record.url).map_err(|_| "the URL is UTF-8")?;
    if url.bytes().any(|b| b.is_ascii_control()) {
        return Err("no control character");
    }
    let (scheme, rest) = url.split_once("://").ok_or("an absolute URL")?;
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return Err("http or https");
    }
    if rest.is_empty() || rest.starts_with(['/', '?', '#']) {
        return Err("a host");
    }
    for label in [record.cluster, record.site].into_iter().flatten() {
        if label.is_empty() || std::str::from_utf8(label).is_err() {
            return Err("labels are UTF-8 and not empty");
        }
    }
    Ok(())
}
