//! The invariants of applying rules on any bytes, for the fuzz target and for millions of mutated URLs.
use std::io::BufRead;
use std::path::Path;

use undust::io::{compression, jsonl};
use undust::model::RecordBatch;
use undust::rules::{Params, RuleSet, Scratch, SiteRules};
use undust::site::{Training, learn};
use undust::url::normalize;

/// The rules that are learned from these records.
pub fn learned(batch: &RecordBatch) -> SiteRules {
    let rows = batch.iter().map(|record| (record.url, record.cluster, record.elsewhere));
    learn(Training::new("kb", rows), &Params::default()).rules
}

/// Records of JSON lines.
pub fn records(path: &Path) -> RecordBatch {
    let mut reader = compression::open(path).expect("the sample");
    let (mut batch, mut line) = (RecordBatch::default(), Vec::new());
    while reader.read_until(b'\n', &mut line).expect("a readable file") > 0 {
        jsonl::parse(line.trim_ascii_end(), &mut batch).expect("a good record");
        line.clear();
    }
    batch
}

/// Result for one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// No URL; left as it is.
    Invalid,
    /// A URL that no rule changed.
    Same,
    /// A URL that rules or look-ups changed.
    Changed,
}

/// What is no URL comes out as it came in. A URL stays a URL of its site, in normal form and so without
/// a byte below 0x21, and it is its own canonical URL.
pub fn check(rules: &RuleSet, input: &[u8], scratch: &mut Scratch) -> Result<Became, String> {
    let applied = rules.apply(input, None, scratch);
    let (site, invalid, acted) = (applied.site, applied.invalid, applied.looked_up || !applied.fired.is_empty());
    let out = applied.url.to_vec();
    let told = |invariant: &str, more: &[u8]| {
        Err(format!("{invariant}: {} -> {} {}", input.escape_ascii(), out.escape_ascii(), more.escape_ascii()))
    };
    let mut normal = Vec::new();
    let stage_1 = normalize(input, &mut normal);
    let Ok(before) = stage_1 else {
        return if invalid && out == input { Ok(Became::Invalid) } else { told("what is no URL is left alone", b"") };
    };
    let host = normal[before.host.0 as usize..before.host.1 as usize].to_vec();
    let mut again = Vec::new();
    let Ok(after) = normalize(&out, &mut again) else { return told("a URL stays a URL", b"") };
    if invalid || again != out {
        return told("the output is in normal form", &again);
    }
    if out.iter().any(|&b| b < 0x21 || b == 0x7f) {
        return told("no space and no control character", b"");
    }
    if site.is_none() && (acted || host != out[after.host.0 as usize..after.host.1 as usize]) {
        return told("without rules the host stays", b"");
    }
    let twice = rules.apply(&out, None, scratch);
    if twice.site != site {
        return told("the output is of the same site", b"");
    }
    if twice.url != out {
        return told("twice is once", twice.url);
    }
    Ok(if acted && out != normal { Became::Changed } else { Became::Same })
}
