//! The compiled applier. STUB: signatures agreed, body being written.
use super::types::SiteRules;

/// Rules of many sites, compiled for applying. `Send + Sync`; share it behind an `Arc`.
#[derive(Debug, Default)]
pub struct RuleSet {
    sites: Vec<SiteRules>,
}

/// What became of one URL, borrowed from the scratch it was made in.
#[derive(Clone, Copy, Debug)]
pub struct Applied<'s> {
    /// The canonical URL; the input itself where it is not valid.
    pub url: &'s [u8],
    /// Index of the site in [`RuleSet::sites`], where one claims the host.
    pub site: Option<u32>,
    /// Indices into the site's `rules` of those that fired, ascending.
    pub fired: &'s [u16],
    /// Not an absolute http or https URL: it came out unchanged.
    pub invalid: bool,
}

/// What became of one URL, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// The canonical URL; the input itself where it is not valid.
    pub url: String,
    /// The site that claims the host.
    pub site: Option<String>,
    /// Ids of the rules that fired, in firing order.
    pub rules: Vec<String>,
    /// Not an absolute http or https URL: it came out unchanged.
    pub invalid: bool,
}

/// Buffers of one thread, reused from URL to URL: no allocation in the steady state.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    out: Vec<u8>,
    fired: Vec<u16>,
}

impl RuleSet {
    /// Compiles the rules of `sites` (sorted by site).
    pub fn new(sites: Vec<SiteRules>) -> RuleSet {
        RuleSet { sites }
    }

    /// The rules it was made of, sorted by site.
    pub fn sites(&self) -> &[SiteRules] {
        &self.sites
    }

    /// The canonical URL of `url`. Total: never fails, never panics.
    pub fn canonicalize(&self, url: &str) -> Canonical {
        let mut scratch = Scratch::default();
        let applied = self.apply(url.as_bytes(), None, &mut scratch);
        Canonical {
            url: String::from_utf8_lossy(applied.url).into_owned(),
            site: applied.site.map(|s| self.sites[s as usize].site.clone()),
            rules: Vec::new(),
            invalid: applied.invalid,
        }
    }

    /// As [`canonicalize`](Self::canonicalize) into reused buffers. `site` forces the site by its index (a record's own
    /// label); `None` lets the host decide.
    pub fn apply<'s>(&self, url: &[u8], _site: Option<u32>, scratch: &'s mut Scratch) -> Applied<'s> {
        scratch.out.clear();
        scratch.out.extend_from_slice(url);
        Applied { url: &scratch.out, site: None, fired: &scratch.fired, invalid: false }
    }

    /// Index of the site of this label.
    pub fn site_index(&self, label: &str) -> Option<u32> {
        self.sites.binary_search_by(|s| s.site.as_str().cmp(label)).ok().map(|i| i as u32)
    }
}
