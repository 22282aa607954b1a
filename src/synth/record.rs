//! Records as lines of TSV or JSON, into a buffer of the caller.

use super::parts::Parts;
use super::plan::{PlannedRecord, SitePlan};
use super::words;
use std::ops::Range;

/// Contents of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// JSON lines (`url`, `cluster`, then `site` and `truth`) instead of TSV in the same order.
    pub json: bool,
    /// The site's domain is told.
    pub site: bool,
    /// The true cluster is told beside the label.
    pub truth: bool,
}

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Records written.
    pub urls: u64,
    /// Records left out.
    pub dropped: u64,
    /// Records whose label is not their true cluster.
    pub mislabelled: u64,
}

impl Counts {
    /// Adds what another writer wrote.
    pub fn add(&mut self, other: Counts) {
        self.urls += other.urls;
        self.dropped += other.dropped;
        self.mislabelled += other.mislabelled;
    }
}

/// Writes ranges of records. No allocation a record in the steady state.
#[derive(Debug, Default)]
pub struct Writer {
    scratch: Parts,
    /// Counts of what was written so far.
    pub counts: Counts,
}

impl Writer {
    /// Adds the records at `positions` of a site's crawl to `out`, and `url<TAB>true cluster` to `truth`.
    ///
    /// Labels are `s<site>.<cluster>`, with `#2` for the second half of a split cluster and `#r2` for
    /// the second rendering of a page. URLs hold printable ASCII without quotes and backslashes, so
    /// JSON needs no escapes.
    pub fn write(
        &mut self,
        site: &SitePlan,
        positions: Range<u64>,
        layout: Layout,
        out: &mut Vec<u8>,
        mut truth: Option<&mut Vec<u8>>,
    ) {
        for position in positions {
            let line = out.len();
            if layout.json {
                out.extend_from_slice(b"{\"url\":\"");
            }
            let url = out.len();
            let row = site.record(position, &mut self.scratch, out);
            if row.dropped {
                out.truncate(line);
                self.counts.dropped += 1;
                continue;
            }
            self.counts.urls += 1;
            self.counts.mislabelled += u64::from(row.label != row.cluster || row.half || row.rendering > 0);
            if let Some(truth) = truth.as_deref_mut() {
                truth.extend_from_slice(&out[url..]);
                truth.push(b'\t');
                label(site, row.cluster, false, 0, truth);
                truth.push(b'\n');
            }
            finish(site, row, layout, out);
        }
    }
}

/// Everything of a line behind its URL.
fn finish(site: &SitePlan, row: PlannedRecord, layout: Layout, out: &mut Vec<u8>) {
    let between = |name: &str, out: &mut Vec<u8>| {
        if layout.json {
            out.extend_from_slice(b"\",\"");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":\"");
        } else {
            out.push(b'\t');
        }
    };
    between("cluster", out);
    label(site, row.label, row.half, row.rendering, out);
    if layout.site {
        between("site", out);
        out.extend_from_slice(site.domain().as_bytes());
    }
    if layout.truth {
        between("truth", out);
        label(site, row.cluster, false, 0, out);
    }
    out.extend_from_slice(if layout.json { b"\"}\n" } else { b"\n" });
}

fn label(site: &SitePlan, cluster: u64, half: bool, rendering: u64, out: &mut Vec<u8>) {
    out.push(b's');
    words::number(site.index(), out);
    out.push(b'.');
    words::number(cluster, out);
    if half {
        out.extend_from_slice(b"#2");
    }
    if rendering > 0 {
        out.extend_from_slice(b"#r");
        words::number(rendering + 1, out);
    }
}
