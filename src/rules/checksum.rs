//! Checksum of a line of a rule file, to detect changed bytes.
//!
//! The last field of a line is `check`: the XXH3-64 hash of the line up to it, as 16 hex digits. The
//! last line of the file has the field `last` before it. A line without `check` is not verified: remove
//! the field when a rule is edited by hand. Both are read from the text, before the line is parsed as
//! JSON.

use crate::model::hash64;

const CHECK: &[u8] = b",\"check\":\"";
const LAST: &[u8] = b",\"last\":true";
/// Bytes from the comma to the end of the line: the field with its 16 digits and the closing marks.
const LENGTH: usize = CHECK.len() + 16 + 2;

/// Result of the check of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    /// The line has no checksum.
    Absent,
    /// The checksum matches.
    Right {
        /// True for the last line of a file.
        last: bool,
    },
    /// The checksum does not match.
    Wrong,
}

/// Closes a line: a JSON object with a field or more, without its line feed.
pub(super) fn close(line: &mut Vec<u8>, last: bool) {
    line.pop();
    if last {
        line.extend_from_slice(LAST);
    }
    let check = hash64(line);
    line.extend_from_slice(CHECK);
    line.extend_from_slice(format!("{check:016x}\"}}").as_bytes());
}

/// Checks a line without its line feed.
pub(super) fn read(line: &[u8]) -> Checksum {
    let Some((body, checksum)) = line.split_last_chunk::<LENGTH>() else { return Checksum::Absent };
    let digits = checksum.strip_prefix(CHECK).and_then(|rest| rest.strip_suffix(b"\"}"));
    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
    match digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        None => Checksum::Absent,
        Some(check) if check == hash64(body) => Checksum::Right { last: body.ends_with(LAST) },
        Some(_) => Checksum::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_is_detected() {
        for last in [false, true] {
            let mut line = br#"{"site":"a","rules":[]}"#.to_vec();
            close(&mut line, last);
            assert_eq!(read(&line), Checksum::Right { last });
            for at in 0..line.len() - LENGTH {
                let mut other = line.clone();
                other[at] ^= 1;
                assert_eq!(read(&other), Checksum::Wrong);
            }
        }
        for open in ["", "{}", r#"{"site":"a","check":"zzzzzzzzzzzzzzzz"}"#] {
            assert_eq!(read(open.as_bytes()), Checksum::Absent);
        }
    }
}
