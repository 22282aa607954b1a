//! Counts and a sample of rejected lines.
//!
//! The sample keeps, for each reason, the [`SAMPLE`] lines that come first by file name and byte
//! offset. That choice depends on the lines alone: merging the rejects of any number of workers in any
//! order gives the same bytes, as long as the input is cut into the same shards. Memory: at most 100
//! lines of 200 bytes a reason.

use std::io::{self, Write};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::reason::Reason;

/// Lines kept for each reason.
pub const SAMPLE: usize = 100;
/// Bytes of a line that are kept.
pub const EXCERPT: usize = 200;

/// Counts by reason and the sample; mergeable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejects {
    lines: u64,
    counts: [u64; Reason::ALL.len()],
    /// One sorted list a reason.
    samples: [Vec<Sampled>; Reason::ALL.len()],
}

/// A rejected line in the sample.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sampled {
    /// The file as the user gave it (or the folder, as given, and the name in it); `-` for standard input.
    pub file: String,
    /// Start of the line, in decompressed bytes.
    pub offset: u64,
    /// Its number, from 1, where the shard was read from the start of the file.
    pub line: Option<u64>,
    /// Its first bytes; invalid UTF-8 shows as U+FFFD.
    pub excerpt: String,
}

/// Location of a line.
#[derive(Clone, Copy, Debug)]
pub struct LineLocation<'a> {
    /// File: see [`Sampled::file`].
    pub file: &'a str,
    /// Offset: see [`Sampled::offset`].
    pub offset: u64,
    /// Line: see [`Sampled::line`].
    pub line: Option<u64>,
}

impl Rejects {
    /// Counts lines seen, rejected ones included. Header lines are not counted.
    pub fn saw(&mut self, lines: u64) {
        self.lines += lines;
    }

    /// Counts a rejected line and keeps its first bytes if it belongs to the sample.
    pub fn add(&mut self, reason: Reason, place: LineLocation<'_>, line: &[u8]) {
        self.counts[reason as usize] += 1;
        let sample = &mut self.samples[reason as usize];
        let key = (place.file, place.offset);
        if sample.len() == SAMPLE && sample.last().is_some_and(|last| (last.file.as_str(), last.offset) <= key) {
            return;
        }
        let at = sample.partition_point(|other| (other.file.as_str(), other.offset) < key);
        sample.insert(
            at,
            Sampled { file: place.file.to_owned(), offset: place.offset, line: place.line, excerpt: excerpt(line) },
        );
        sample.truncate(SAMPLE);
    }

    /// Adds the rejects of another worker; the order of merging does not matter.
    pub fn merge(&mut self, other: Self) {
        self.lines += other.lines;
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        for (sample, more) in self.samples.iter_mut().zip(other.samples) {
            sample.extend(more);
            sample.sort_unstable();
            sample.truncate(SAMPLE);
        }
    }

    /// Lines seen.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Lines rejected.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Counts of the reasons that occurred, in the order of [`Reason::ALL`].
    pub fn counts(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().zip(self.counts).filter(|&(_, count)| count > 0)
    }

    /// The sample, by reason, then file and offset.
    pub fn sample(&self) -> impl Iterator<Item = (Reason, &Sampled)> {
        Reason::ALL.into_iter().zip(&self.samples).flat_map(|(reason, sample)| sample.iter().map(move |s| (reason, s)))
    }

    /// True when more lines were rejected than `limit` allows.
    pub fn exceeds(&self, limit: Limit) -> bool {
        match limit {
            Limit::Count(most) => self.total() > most,
            Limit::Share(ppm) => u128::from(self.total()) * 1_000_000 > u128::from(ppm) * u128::from(self.lines),
        }
    }

    /// Writes the sample as JSON lines: `{"reason":...,"file":...,"offset":...,"line":...,"excerpt":...}`,
    /// without `line` where it is not known.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write_jsonl(&self, mut out: impl Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct RejectLine<'a> {
            reason: Reason,
            file: &'a str,
            offset: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            line: Option<u64>,
            excerpt: &'a str,
        }
        for (reason, s) in self.sample() {
            let row = RejectLine { reason, file: &s.file, offset: s.offset, line: s.line, excerpt: &s.excerpt };
            serde_json::to_writer(&mut out, &row)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// The first bytes of a line, cut between characters.
fn excerpt(line: &[u8]) -> String {
    let mut end = line.len().min(EXCERPT);
    // At most three continuation bytes follow the first of a character.
    while end < line.len() && end + 3 > EXCERPT && line[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    String::from_utf8_lossy(&line[..end]).into_owned()
}

/// Most rejected lines that a run tolerates: `COUNT` or `PERCENT%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most so many lines.
    Count(u64),
    /// At most this share of the lines seen, in millionths.
    Share(u32),
}

impl Default for Limit {
    /// 5 %.
    fn default() -> Self {
        Self::Share(50_000)
    }
}

/// A value that is neither a count nor a percentage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither a count (1000) nor a percentage from 0% to 100% with at most four decimals (0.5%)")]
pub struct LimitError(String);

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let wrong = || LimitError(text.to_owned());
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        let Some(percent) = text.strip_suffix('%') else {
            // `u64` would also take a sign.
            return if digits(text) { text.parse().map(Self::Count).map_err(|_| wrong()) } else { Err(wrong()) };
        };
        let (whole, decimals) = percent.split_once('.').unwrap_or((percent, "0"));
        if whole.is_empty() || decimals.is_empty() || decimals.len() > 4 || !digits(whole) || !digits(decimals) {
            return Err(wrong());
        }
        let whole: u32 = whole.parse().map_err(|_| wrong())?;
        let decimals: u32 = format!("{decimals:0<4}").parse().map_err(|_| wrong())?;
        let ppm = whole.checked_mul(10_000).and_then(|ppm| ppm.checked_add(decimals)).filter(|&ppm| ppm <= 1_000_000);
        ppm.map(Self::Share).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rejects(rows: &[(u8, u8, u64)]) -> Rejects {
        let mut rejects = Rejects::default();
        for &(reason, file, offset) in rows {
            let place = LineLocation { file: &format!("f{file}"), offset, line: offset.checked_mul(2) };
            rejects.add(Reason::ALL[reason as usize], place, offset.to_string().as_bytes());
        }
        rejects.saw(rows.len() as u64 * 2);
        rejects
    }

    proptest! {
        #[test]
        fn merging_does_not_depend_on_split_or_order(
            rows in prop::collection::btree_set((0u8..3, 0u8..3, 0u64..400), 0..900)
                .prop_map(|set| set.into_iter().collect::<Vec<_>>()).prop_shuffle(),
            workers in 1usize..9,
        ) {
            let whole = rejects(&rows);
            let mut merged = Rejects::default();
            for chunk in rows.chunks(rows.len() / workers + 1).rev() {
                merged.merge(rejects(chunk));
            }
            prop_assert_eq!(&merged, &whole);
            // The sample is what sorting everything gives.
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            let expected: Vec<_> = (0..3).flat_map(|r| sorted.iter().filter(move |row| row.0 == r).take(SAMPLE)).collect();
            let got: Vec<_> = whole.sample().collect();
            prop_assert_eq!(got.len(), expected.len());
            for ((reason, s), &&(r, file, offset)) in got.iter().zip(&expected) {
                prop_assert_eq!((*reason as usize, &s.file, s.offset), (usize::from(r), &format!("f{file}"), offset));
            }
        }
    }

    #[test]
    fn limits_are_parsed_and_compared_exactly() {
        let limit = |s: &str| s.parse::<Limit>();
        assert_eq!(limit("0"), Ok(Limit::Count(0)));
        assert_eq!(limit("5%"), Ok(Limit::default()));
        assert_eq!(limit("0.0001%"), Ok(Limit::Share(1)));
        assert_eq!(limit("12.5%"), Ok(Limit::Share(125_000)));
        assert_eq!(limit("100%"), Ok(Limit::Share(1_000_000)));
        for wrong in ["", "%", "-1", "+1", "1.5", ".5%", "5.%", "1e3", "100.1%", "0.00001%", "99999999999%", "5 %"] {
            assert_eq!(limit(wrong), Err(LimitError(wrong.to_owned())));
        }
        let one_in_twenty = {
            let mut rejects = rejects(&[(0, 0, 0)]);
            rejects.saw(18);
            rejects
        };
        assert!(!one_in_twenty.exceeds(Limit::Share(50_000)));
        assert!(one_in_twenty.exceeds(Limit::Share(49_999)));
        assert!(one_in_twenty.exceeds(Limit::Count(0)) && !one_in_twenty.exceeds(Limit::Count(1)));
        assert!(!Rejects::default().exceeds(Limit::Share(0)));
    }

    #[test]
    fn the_sample_is_written_as_json_lines() {
        let mut rejects = Rejects::default();
        let place = |line| LineLocation { file: "in/a.tsv", offset: 9, line };
        rejects.add(Reason::NotHttp, place(Some(2)), b"\"q\"");
        rejects.add(Reason::InvalidUtf8, place(None), &[0xff; 300]);
        let mut out = Vec::new();
        rejects.write_jsonl(&mut out).unwrap();
        let excerpt = "\u{fffd}".repeat(EXCERPT);
        let expected = format!(
            "{{\"reason\":\"invalid-utf8\",\"file\":\"in/a.tsv\",\"offset\":9,\"excerpt\":\"{excerpt}\"}}\n\
             {{\"reason\":\"not-http\",\"file\":\"in/a.tsv\",\"offset\":9,\"line\":2,\"excerpt\":\"\\\"q\\\"\"}}\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
