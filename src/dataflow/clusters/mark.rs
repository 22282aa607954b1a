//! A record as a row of the clustering: ten words.

use super::super::form::form;
use super::by::By;
use crate::dataflow::locate::Locator;
use crate::model::{DocumentKind, Facts, Record, SiteBy, hash64, hash64_seeded};
use crate::url::site::site_of;

/// Words of a row: see the constants.
pub(super) type MarkRow = [u64; 10];

/// Word by which the next step exchanges rows.
pub(super) const KEY: usize = 0;
/// Worker that read the record (upper 24 bits) and its number there.
pub(super) const ID: usize = 1;
/// Vertex of the URL: hash of site and URL.
pub(super) const URL: usize = 2;
/// Vertex of the evidence by which the record is labelled; 0 without.
pub(super) const LABEL: usize = 3;
/// Flags.
pub(super) const FLAGS: usize = 4;
/// Simhash of the main text.
pub(super) const SIMHASH: usize = 5;
/// Hash of what near-duplicates must share: site, title, whether there is a form to write into.
pub(super) const AGREE: usize = 6;
/// Vertex of the URL that the record redirects to or declares; 0 without.
pub(super) const TARGET: usize = 7;
/// Hash of site and form of the URL.
pub(super) const FORM: usize = 8;
/// Vertex of the main text; 0 without.
pub(super) const TEXT: usize = 9;

/// Flag: answered with a page, unless known otherwise.
pub(super) const ANSWERED: u64 = 1;
/// Flag: a redirect.
pub(super) const MOVED: u64 = 2;
/// Flag: an error.
pub(super) const FAILED: u64 = 4;
/// Flag: no page.
pub(super) const OTHER: u64 = 8;
/// Flag: declared to be a page.
pub(super) const PAGE: u64 = 16;
/// Flag: the text is long enough for a meaningful simhash.
pub(super) const LONG: u64 = 32;
/// The target is one that the page declares.
pub(super) const DECLARES: u64 = 64;
/// The page declares itself.
pub(super) const ITSELF: u64 = 128;
/// The declared target is on another site: refused.
pub(super) const FOREIGN: u64 = 256;
/// The text was read, empty or not.
pub(super) const READ: u64 = 512;

/// Fewest tokens of texts that are compared by simhash: shorter pages that share a skeleton and differ
/// in a few words (a profile, an empty list) would be joined.
const LONG_TEXT: u32 = 60;
/// Tokens under which equal texts make one page only under one title.
const SHORT_TEXT: u32 = 16;

/// Bits of the number of a record at its worker.
pub(super) const NUMBER_BITS: u32 = 40;

/// Turns records into rows.
pub(super) struct Marker {
    by: By,
    locator: Locator,
    target: Locator,
    /// Added to the number of each record.
    worker: u64,
    next: u64,
    form: Vec<u8>,
}

impl Marker {
    pub(super) fn new(by: By, site_by: SiteBy, worker: usize) -> Marker {
        let (locator, target) = (Locator::new(site_by), Locator::new(site_by));
        Marker { by, locator, target, worker: (worker as u64) << NUMBER_BITS, next: 0, form: Vec::new() }
    }

    /// The row of the next record; `None` for one that is no URL.
    pub(super) fn mark(&mut self, record: Record<'_>, facts: Facts<'_>) -> Option<MarkRow> {
        let id = self.worker | self.next;
        self.next += 1;
        let (site, url) = self.locator.locate(record)?;
        let seed = hash64(site);
        let vertex = |kind: u64, bytes: &[u8]| hash64_seeded(bytes, seed ^ kind).max(1);
        let mut row = [0; 10];
        row[ID] = id;
        row[URL] = vertex(URL_VERTEX, url);
        row[KEY] = row[URL];
        let mut flags = match facts.status {
            301 | 302 | 303 | 307 | 308 => MOVED,
            0 if facts.redirect.is_some() => MOVED,
            0 | 200..=299 => ANSWERED,
            // Not modified since the last visit: the answer is the page.
            304 => ANSWERED,
            _ => FAILED,
        };
        flags |= match facts.kind {
            DocumentKind::Unknown => 0,
            DocumentKind::Html => PAGE,
            DocumentKind::Other => OTHER,
        };
        self.form.clear();
        form(url, &mut self.form);
        row[FORM] = vertex(FORM_VERTEX, &self.form);
        if flags & ANSWERED != 0 {
            content(self.by, &mut row, &mut flags, seed, facts);
        }
        let declared = facts.canonical.filter(|_| self.by == By::Canonical && flags & (ANSWERED | OTHER) == ANSWERED);
        let to = if flags & MOVED != 0 { facts.redirect } else { declared };
        if let Some(to) = to {
            // The site of a target is that of its own record; where sites are labelled, that of its source.
            let place = Record { url: to, cluster: None, site: record.site, elsewhere: false };
            if let Some((target_site, target)) = self.target.locate(place) {
                let foreign = match record.site {
                    None => target_site != site,
                    Some(_) => domain(target) != domain(url),
                };
                row[TARGET] = hash64_seeded(target, hash64(target_site) ^ URL_VERTEX).max(1);
                if flags & MOVED == 0 {
                    flags |= DECLARES;
                    flags |= if row[TARGET] == row[URL] { ITSELF } else { 0 };
                    flags |= if foreign { FOREIGN } else { 0 };
                }
            }
        }
        row[FLAGS] = flags;
        Some(row)
    }
}

/// Digest, text and simhash.
fn content(by: By, row: &mut MarkRow, flags: &mut u64, seed: u64, facts: Facts<'_>) {
    let vertex = |kind: u64, bytes: &[u8]| hash64_seeded(bytes, seed ^ kind).max(1);
    let title = hash64(facts.title.unwrap_or_default());
    if let Some(print) = facts.text {
        // A title distinguishes short pages with the same few words; without any words a text is no evidence.
        let title = if print.tokens < SHORT_TEXT { title } else { 0 };
        let bytes = match print.text {
            // The whole text is unknown: the simhash and the title replace it.
            0 => [print.simhash, hash64(facts.title.unwrap_or_default()), 1],
            text => [text, title, u64::from(print.tokens)],
        };
        row[TEXT] = vertex(TEXT_VERTEX, &bytes.map(u64::to_le_bytes).concat());
        row[SIMHASH] = print.simhash;
        *flags |= READ | if print.tokens >= LONG_TEXT { LONG } else { 0 };
        if print.tokens == 0 {
            row[TEXT] = 0;
        }
        let agree = [hash64(facts.title.unwrap_or_default()), u64::from(print.edits)];
        row[AGREE] = vertex(AGREE_VERTEX, &agree.map(u64::to_le_bytes).concat());
    }
    let by_content = matches!(by, By::Digest | By::Simhash);
    if let Some(digest) = facts.digest.filter(|_| by_content) {
        row[KEY] = vertex(DIGEST_VERTEX, digest);
        row[LABEL] = row[KEY];
    } else if by_content && row[TEXT] != 0 {
        row[KEY] = row[TEXT];
    }
}

// Seeds: equal bytes are different vertices as a URL, a digest, a text.
const URL_VERTEX: u64 = 0x75;
const DIGEST_VERTEX: u64 = 0x64;
const TEXT_VERTEX: u64 = 0x74;
const AGREE_VERTEX: u64 = 0x61;
const FORM_VERTEX: u64 = 0x66;

/// Registrable domain of the host of a normal URL.
fn domain(url: &[u8]) -> &[u8] {
    let host = memchr::memmem::find(url, b"://").map_or(url, |at| &url[at + 3..]);
    let host = &host[..host.iter().position(|b| matches!(b, b'/' | b'?' | b':')).unwrap_or(host.len())];
    site_of(None, host, SiteBy::Domain)
}
