//! URLs one a line in, canonical URLs one a line out: the block function of `normalize`.
//!
//! A block is whole lines end to end, so that any split of the input at line ends gives the same
//! output. A line ends with LF or CR LF (the CR is removed); the last may end with the block. A line
//! that is not a URL undust works on is copied: other schemes, no host, invalid UTF-8, longer than the
//! limit. An empty line has an empty canonical URL.

use super::filter::SeenFilter;
use super::fired::Fired;
use super::{Applied, Batch, RuleSet};
use crate::url;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::ops::AddAssign;

/// Output format of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineFormat {
    /// The canonical URL.
    #[default]
    Url,
    /// URL, tab, canonical URL.
    Tsv,
    /// An object with `url`, `canonical`, `site` (or null), `rules` (ids of those that fired; none
    /// where none did), `changed`, `invalid`, `seen` (false for a URL that rules composed
    /// and that is not known to have been met), and `provisional` where it changed and a provisional rule
    /// fired.
    /// Invalid UTF-8 shows as U+FFFD.
    Jsonl,
}

/// Counts of a block; counts of several blocks add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines, which are as many in the output.
    pub lines: u64,
    /// Lines without a byte.
    pub empty: u64,
    /// Lines that are no absolute http or https URL with a host, invalid UTF-8 or too long; empty ones not
    /// included.
    pub invalid: u64,
    /// Lines whose canonical URL differs.
    pub changed: u64,
    /// Lines on whose host a site of the rule set has rules.
    pub with_site: u64,
    /// Lines for which the rules composed a URL that is not known to have been seen.
    pub unseen: u64,
    /// Lines that changed and on which a provisional rule fired.
    pub provisional: u64,
}

impl AddAssign for LineCounts {
    fn add_assign(&mut self, other: LineCounts) {
        self.lines += other.lines;
        self.empty += other.empty;
        self.invalid += other.invalid;
        self.changed += other.changed;
        self.with_site += other.with_site;
        self.unseen += other.unseen;
        self.provisional += other.provisional;
    }
}

/// Longest line that is read as a URL, in bytes.
pub const MAX_LINE: usize = 64 << 10;

/// Options of the conversion.
#[derive(Clone, Copy, Debug)]
pub struct LineOptions<'a> {
    /// Output format.
    pub format: LineFormat,
    /// Longest line that is read as a URL, in bytes.
    pub max_line: usize,
    /// Canonical URLs that a crawl met.
    pub seen: Option<&'a SeenFilter>,
    /// A canonical URL that rules composed and that is not known to have been seen is replaced by the URL
    /// itself, in normal form.
    pub only_seen: bool,
}

impl LineOptions<'_> {
    /// Options with this format, lines of any usual length, generated URLs allowed.
    pub fn new(format: LineFormat) -> Self {
        LineOptions { format, max_line: MAX_LINE, seen: None, only_seen: false }
    }
}

/// Writes the canonical URL of every line of `input` into `output` (cleared first), in order, each
/// ended by LF.
///
/// A canonical URL counts as seen where no rule had to change the URL, or where the filter holds it.
///
/// No allocation in the steady state: `batch` and `output` grow to the largest line and block seen
/// (jsonl output of invalid UTF-8 apart, and with `only_seen` a line a block).
pub fn canonicalize_lines(
    rules: &RuleSet,
    options: &LineOptions<'_>,
    input: &[u8],
    batch: &mut Batch,
    output: &mut Vec<u8>,
) -> LineCounts {
    output.clear();
    if input.is_empty() {
        return LineCounts::default();
    }
    // One check a block: input that is not UTF-8 throughout is rare, and then each line is checked.
    let all_utf8 = std::str::from_utf8(input).is_ok();
    let body = input.strip_suffix(b"\n").unwrap_or(input);
    let lines = Lines { rest: Some(body), max_line: options.max_line, all_utf8 };
    let mut writer = Writer { rules, options, output, counts: LineCounts::default(), kept_as_is: Vec::new() };
    batch.apply(rules, lines, |line, applied| writer.put(line, &applied));
    writer.counts
}

/// Writes and counts the lines of a block.
struct Writer<'a> {
    rules: &'a RuleSet,
    options: &'a LineOptions<'a>,
    output: &'a mut Vec<u8>,
    counts: LineCounts,
    /// A URL that is kept, in normal form.
    kept_as_is: Vec<u8>,
}

impl Writer<'_> {
    #[inline]
    fn put(&mut self, line: Line<'_>, applied: &Applied<'_>) {
        let Line { bytes: line, sound } = line;
        let &Applied { url: mut canonical, site, mut fired, invalid, .. } = applied;
        self.counts.lines += 1;
        if !sound {
            self.counts.empty += u64::from(line.is_empty());
            canonical = line;
        }
        let LineOptions { seen: filter, only_seen, .. } = *self.options;
        let mut changed = canonical != line;
        let mut seen = fired.is_empty() || !changed || filter.is_some_and(|filter| filter.contains(canonical));
        self.counts.invalid += u64::from(invalid && !line.is_empty());
        self.counts.with_site += u64::from(site.is_some());
        self.counts.unseen += u64::from(!seen);
        if only_seen && !seen {
            canonical = if url::normalize(line, &mut self.kept_as_is).is_ok() { &self.kept_as_is } else { line };
            (changed, seen, fired) = (canonical != line, true, Fired::NONE);
        }
        self.counts.changed += u64::from(changed);
        let is_provisional = |site| fired.iter().any(|rule| self.rules.is_provisional(site, rule));
        let provisional = changed && self.rules.has_provisional() && site.is_some_and(is_provisional);
        self.counts.provisional += u64::from(provisional);
        let rules = self.rules;
        let out = JsonLine { line, canonical, rules, site, fired, changed, invalid, seen, provisional };
        write_line(self.options.format, &out, self.output);
    }
}

/// The lines of a block, in order.
struct Lines<'b> {
    rest: Option<&'b [u8]>,
    max_line: usize,
    /// The whole block is UTF-8.
    all_utf8: bool,
}

/// A line without its end.
struct Line<'b> {
    bytes: &'b [u8],
    /// It may be a URL: not empty, not too long, UTF-8.
    sound: bool,
}

/// The bytes that rules are applied to; empty for a line that is no URL.
impl AsRef<[u8]> for Line<'_> {
    fn as_ref(&self) -> &[u8] {
        if self.sound { self.bytes } else { b"" }
    }
}

impl<'b> Iterator for Lines<'b> {
    type Item = Line<'b>;

    fn next(&mut self) -> Option<Line<'b>> {
        let rest = self.rest?;
        let end = memchr::memchr(b'\n', rest);
        self.rest = end.map(|end| &rest[end + 1..]);
        let line = &rest[..end.unwrap_or(rest.len())];
        let bytes = line.strip_suffix(b"\r").unwrap_or(line);
        let utf8 = self.all_utf8 || std::str::from_utf8(bytes).is_ok();
        Some(Line { bytes, sound: !bytes.is_empty() && bytes.len() <= self.max_line && utf8 })
    }
}

fn write_line(format: LineFormat, out: &JsonLine<'_>, output: &mut Vec<u8>) {
    let JsonLine { line, canonical, .. } = out;
    match format {
        LineFormat::Url => output.extend_from_slice(canonical),
        LineFormat::Tsv => {
            output.extend_from_slice(line);
            output.push(b'\t');
            output.extend_from_slice(canonical);
        }
        LineFormat::Jsonl => {
            serde_json::to_writer(&mut *output, out).expect("writing strings and numbers into memory cannot fail");
        }
    }
    output.push(b'\n');
}

/// A line of jsonl output, borrowed.
struct JsonLine<'a> {
    line: &'a [u8],
    canonical: &'a [u8],
    rules: &'a RuleSet,
    site: Option<u32>,
    fired: &'a Fired,
    changed: bool,
    invalid: bool,
    seen: bool,
    /// Written only where it is true.
    provisional: bool,
}

impl Serialize for JsonLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("line", 7)?;
        object.serialize_field("url", &String::from_utf8_lossy(self.line))?;
        object.serialize_field("canonical", &String::from_utf8_lossy(self.canonical))?;
        object.serialize_field("site", &self.site.map(|site| self.rules.site_name(site)))?;
        object.serialize_field("rules", &FiredIds(self.rules, self.site, self.fired))?;
        object.serialize_field("changed", &self.changed)?;
        object.serialize_field("invalid", &self.invalid)?;
        object.serialize_field("seen", &self.seen)?;
        if self.provisional {
            object.serialize_field("provisional", &true)?;
        }
        object.end()
    }
}

/// Ids of the rules of a site that fired.
struct FiredIds<'a>(&'a RuleSet, Option<u32>, &'a Fired);

impl Serialize for FiredIds<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FiredIds(rules, site, fired) = *self;
        serializer.collect_seq(site.iter().flat_map(|&site| fired.iter().map(move |rule| rules.rule_id(site, rule))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(format: LineFormat, input: &[u8]) -> (LineCounts, String) {
        let mut output = b"left over".to_vec();
        let options = LineOptions { max_line: 50, ..LineOptions::new(format) };
        let counts = canonicalize_lines(&RuleSet::default(), &options, input, &mut Batch::default(), &mut output);
        (counts, String::from_utf8_lossy(&output).into_owned())
    }

    #[test]
    fn lines_come_out_in_order_and_as_many() {
        let (counts, out) = run(LineFormat::Url, b"mailto:b\r\n\nmailto:a");
        assert_eq!(out, "mailto:b\n\nmailto:a\n");
        assert_eq!((counts.lines, counts.empty, counts.changed), (3, 1, 0));
        assert_eq!(run(LineFormat::Url, b"").1, "");
        assert_eq!(run(LineFormat::Url, b"\n").1, "\n");
        assert_eq!(run(LineFormat::Url, b"x\n\n").1, "x\n\n");
        assert_eq!(run(LineFormat::Tsv, b"x\n\n").1, "x\tx\n\t\n");
    }

    #[test]
    fn a_split_at_line_ends_changes_nothing() {
        let input = b"http://a.example/1\n\nhttp://a.example/2\r\nx\xff\nhttp://b.example/";
        let (whole, out) = run(LineFormat::Jsonl, input);
        for cut in memchr::memchr_iter(b'\n', input) {
            let (mut counts, mut parts) = run(LineFormat::Jsonl, &input[..=cut]);
            let (rest, tail) = run(LineFormat::Jsonl, &input[cut + 1..]);
            counts += rest;
            parts.push_str(&tail);
            assert_eq!((counts, &parts), (whole, &out));
        }
    }

    #[test]
    fn what_is_no_url_comes_out_as_it_came_in_and_is_counted() {
        let long = format!("http://a.example/{}", "x".repeat(50));
        let (counts, out) = run(LineFormat::Url, long.as_bytes());
        assert_eq!((counts.invalid, out), (1, long + "\n"));
        let mut output = Vec::new();
        let counts = canonicalize_lines(
            &RuleSet::default(),
            &LineOptions::new(LineFormat::Url),
            b"http://a.example/\xff\xfe\n",
            &mut Batch::default(),
            &mut output,
        );
        assert_eq!((counts.invalid, output.as_slice()), (1, &b"http://a.example/\xff\xfe\n"[..]));
    }

    #[test]
    fn a_json_line_tells_all() {
        let (_, out) = run(LineFormat::Jsonl, b"a\"b\xff\n");
        let line: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            line,
            serde_json::json!({
                "url": "a\"b\u{fffd}", "canonical": "a\"b\u{fffd}", "site": null, "rules": [], "changed": false, "invalid": true, "seen": true
            })
        );
    }
}
