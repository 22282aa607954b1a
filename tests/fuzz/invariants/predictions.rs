//! The invariants of files of predictions on any bytes, for the fuzz target and the replay of its corpus.
use std::path::Path;

use super::memory::bounded;
use undust::baselines::outside::{Conflict, Predictions, Reading};
use undust::io::{IoError, Rejects, predictions};

/// Longest line here.
const LIMIT: usize = 4 << 10;
/// What a reader of lines may hold beside the longest line, and for a line of at most 64 MiB that
/// comes out of few compressed bytes.
const FIXED: usize = 4 << 20;
const COMPRESSED: usize = 192 << 20;
/// Most predictions of a compressed file that are looked at.
const MOST: usize = 10_000;

/// A prediction and the number of its line.
type Line = (Vec<u8>, Vec<u8>, u64);

/// Writes `data` to `path` and reads it as predictions. Only what cannot be unpacked, or is UTF-16,
/// is an error; each line is a prediction or a reject with its number and reason; predictions are
/// texts, written and read again unchanged, and found by their URL, except where two lines
/// contradict each other. Gives the numbers of predictions and of rejects.
pub fn check(path: &Path, data: &[u8]) -> Result<(u64, u64), String> {
    std::fs::write(path, data).map_err(|error| error.to_string())?;
    let Some((lines, rejects)) = read(path, data)? else { return Ok((0, 0)) };
    if lines.len() as u64 + rejects.total() != rejects.lines() {
        return Err(format!("{} predictions, {} rejects, {} lines", lines.len(), rejects.total(), rejects.lines()));
    }
    // A first line that heads the columns is neither, so the last line may have a number more.
    let all = 1..=rejects.lines() + 1;
    if rejects.sample().any(|(_, bad)| bad.line.is_none_or(|line| !all.contains(&line))) {
        return Err("a reject has its line".to_owned());
    }
    if !lines.is_sorted_by(|one, next| one.2 < next.2) || lines.iter().any(|(.., line)| !all.contains(line)) {
        return Err("a prediction has its line".to_owned());
    }
    for (url, canonical, line) in &lines {
        let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok() && !bytes.iter().any(u8::is_ascii_control);
        let is_http = url.len() > 7 && url[..4].eq_ignore_ascii_case(b"http");
        if !is_http || canonical.is_empty() || !is_text(url) || !is_text(canonical) {
            return Err(format!("line {line} is a URL and a text: {}", url.escape_ascii()));
        }
    }
    let written: Vec<u8> =
        lines.iter().flat_map(|(url, canonical, _)| [&url[..], b"\t", canonical, b"\n"].concat()).collect();
    std::fs::write(path, &written).map_err(|error| error.to_string())?;
    match read(path, &written)? {
        Some((again, none)) if none.total() == 0 && pairs(&again).eq(pairs(&lines)) => {}
        _ => return Err("what is read is written again".to_owned()),
    }
    found(&lines, rejects.total())?;
    Ok((lines.len() as u64, rejects.total()))
}

fn pairs(lines: &[Line]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines.iter().map(|(url, canonical, _)| (&url[..], &canonical[..]))
}

/// Why reading ends early.
enum End {
    /// So many predictions that keeping them would be what is measured: few bytes unpack to many.
    Enough,
    /// An error of the reader.
    Read(IoError),
}

impl From<IoError> for End {
    fn from(error: IoError) -> End {
        End::Read(error)
    }
}

/// Reads the file; nothing where its compression is damaged or not read, or it is UTF-16.
fn read(path: &Path, data: &[u8]) -> Result<Option<(Vec<Line>, Rejects)>, String> {
    let is_compressed = [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd"].iter().any(|magic| data.starts_with(magic));
    let fixed = if is_compressed { COMPRESSED } else { FIXED };
    let (mut lines, mut rejects) = (Vec::new(), Rejects::default());
    // What is kept here is a part of what is measured.
    let done = bounded(data.len(), fixed, 64, || {
        predictions::read(path, LIMIT, &mut rejects, |url, canonical, line| {
            lines.push((url.to_vec(), canonical.to_vec(), line));
            if is_compressed && lines.len() > MOST { Err(End::Enough) } else { Ok(()) }
        })
    })?;
    match done {
        Ok(()) => Ok(Some((lines, rejects))),
        Err(End::Enough | End::Read(IoError::UnreadCompression { .. } | IoError::Utf16 { .. })) => Ok(None),
        Err(End::Read(IoError::Corrupt { .. } | IoError::Read { .. })) if is_compressed => Ok(None),
        Err(End::Read(error)) => Err(format!("a file is read or its lines are rejected: {error}")),
    }
}

/// Every prediction is found by its URL, or two lines of one URL differ.
fn found(lines: &[Line], rejected: u64) -> Result<(), String> {
    let mut reading = Reading::default();
    lines.iter().for_each(|(url, canonical, line)| reading.add(url, canonical, *line));
    let at = |line: u64| lines.iter().find(|(.., number)| *number == line);
    let all: Predictions = match reading.finish(rejected) {
        Ok(all) => all,
        Err(Conflict { first, second }) => {
            return match (at(first), at(second)) {
                (Some(one), Some(other)) if first < second && one.0 == other.0 && one.1 != other.1 => Ok(()),
                _ => Err(format!("lines {first} and {second} do not contradict each other")),
            };
        }
    };
    if (all.lines(), all.rejected()) != (lines.len() as u64, rejected) || all.duplicated() > all.lines() {
        return Err(format!("{} lines, {} rejected, {} twice", all.lines(), all.rejected(), all.duplicated()));
    }
    match lines.iter().find(|(url, canonical, _)| all.get(url) != Some(canonical)) {
        None => Ok(()),
        Some((.., line)) => Err(format!("line {line} is not found by its URL")),
    }
}
