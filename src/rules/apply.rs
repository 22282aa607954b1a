//! The compiled applier (design, section 5): one pass over the URL's bytes into keys, the rules of its site in their
//! order, each at most once, the output written once into a reused buffer. No regular expressions; nothing is
//! allocated a URL once the buffers of a [`Scratch`] have grown.
//!
//! Laws, held for any URL: canonicalizing is total; canonicalizing twice is once (a URL for which it is not gets its
//! stage-1 form); the output is stage-1 normal and stays on a host of the site.

use super::compiled::{CompiledSite, State};
use super::explain::Step;
use super::published::PublishedSite;
use super::types::SiteRules;
use crate::model::hash64;
use crate::url::site::registrable_domain;
use crate::url::{self, Cells};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// Rules of many sites, compiled for applying. `Send + Sync`; share it behind an `Arc`.
#[derive(Debug, Default)]
pub struct RuleSet {
    sites: Vec<SiteRules>,
    compiled: Vec<Compiled>,
    /// Site of a host by [`hash64`] of the host; `AMBIGUOUS` where two site labels claim it.
    hosts: HashMap<u64, u32, FixedState>,
    /// The same for registrable domains of those hosts.
    domains: HashMap<u64, u32, FixedState>,
    /// Hosts under two site labels.
    refused_hosts: u64,
}

/// The program of one site, by the method that learned it.
#[derive(Debug)]
pub(crate) enum Compiled {
    Undust(Box<CompiledSite>),
    Published(Box<PublishedSite>),
}

impl Compiled {
    /// Compiles the rules of one site.
    pub(crate) fn new(site: &SiteRules, scratch: &mut Scratch) -> Compiled {
        if site.tokens.published {
            return Compiled::Published(Box::new(PublishedSite::new(site)));
        }
        let mut compiled = CompiledSite::new(site);
        compiled.compile_mirrors(site);
        compiled.fill_lookups(site, scratch);
        Compiled::Undust(Box::new(compiled))
    }
}

const AMBIGUOUS: u32 = u32::MAX;

/// What became of one URL, borrowed from the scratch it was made in.
#[derive(Clone, Copy, Debug)]
pub struct Applied<'s> {
    /// The canonical URL; the input itself where it is not valid.
    pub url: &'s [u8],
    /// Index of the site in [`RuleSet::sites`], where one claims the host.
    pub site: Option<u32>,
    /// Indices into the site's `rules` of those that fired, ascending.
    pub fired: &'s [u16],
    /// A seen member or a look-up decided the canonical URL.
    pub looked_up: bool,
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
    pub(super) cells: Cells,
    pub(super) state: State,
    pub(super) out: Vec<u8>,
    pub(super) again: Vec<u8>,
    pub(super) fired: Vec<u16>,
    /// Rules that fire when an output is canonicalized once more.
    pub(super) fired_again: Vec<u16>,
}

impl Scratch {
    /// Stage 1 of a URL, for [`RuleSet::apply_normal`].
    ///
    /// # Errors
    /// As [`url::normalize`].
    pub fn normalize(&mut self, url: &[u8]) -> Result<url::Split, url::Invalid> {
        url::normalize(url, &mut self.cells.text)
    }

    /// The URL in stage-1 normal form, behind [`normalize`](Self::normalize).
    pub fn normal(&self) -> &[u8] {
        &self.cells.text
    }
}

impl RuleSet {
    /// Compiles the rules of `sites`; they are sorted by site here.
    pub fn new(mut sites: Vec<SiteRules>) -> RuleSet {
        sites.sort_by(|a, b| a.site.cmp(&b.site));
        // Seen members and look-ups are keyed by what the rules reduce them to: reduced here, once.
        let mut scratch = Scratch::default();
        let compiled = sites.iter().map(|site| Compiled::new(site, &mut scratch)).collect();
        RuleSet::of(sites, compiled)
    }

    /// Of sites sorted by name, each compiled.
    pub(crate) fn of(sites: Vec<SiteRules>, compiled: Vec<Compiled>) -> RuleSet {
        let mut hosts: HashMap<u64, u32, FixedState> = HashMap::default();
        let mut domains: HashMap<u64, u32, FixedState> = HashMap::default();
        let mut refused_hosts = 0;
        for (index, site) in sites.iter().enumerate() {
            let index = index as u32;
            for host in &site.hosts {
                let claim = hosts.entry(hash64(host.as_bytes())).or_insert(index);
                if *claim != index {
                    refused_hosts += u64::from(*claim != AMBIGUOUS);
                    *claim = AMBIGUOUS;
                }
                let domain = registrable_domain(host.as_bytes());
                let claim = domains.entry(hash64(domain)).or_insert(index);
                if *claim != index {
                    *claim = AMBIGUOUS;
                }
            }
        }
        RuleSet { sites, compiled, hosts, domains, refused_hosts }
    }

    /// The rules it was made of, sorted by site.
    pub fn sites(&self) -> &[SiteRules] {
        &self.sites
    }

    /// Hosts that two site labels claim; their URLs get stage 1 only.
    pub fn refused_hosts(&self) -> u64 {
        self.refused_hosts
    }

    /// The canonical URL of `url`. Total: never fails, never panics.
    pub fn canonicalize(&self, url: &str) -> Canonical {
        let mut scratch = Scratch::default();
        let applied = self.apply(url.as_bytes(), None, &mut scratch);
        let site = applied.site.map(|s| &self.sites[s as usize]);
        Canonical {
            url: String::from_utf8_lossy(applied.url).into_owned(),
            site: site.map(|s| s.site.clone()),
            rules: applied.fired.iter().filter_map(|&r| Some(site?.rules[usize::from(r)].id.clone())).collect(),
            invalid: applied.invalid,
        }
    }

    /// As [`canonicalize`](Self::canonicalize) into reused buffers. `site` forces the site by its index (a record's own
    /// label); `None` lets the host decide: the exact host, else its registrable domain where one site claims it.
    pub fn apply<'s>(&self, url: &[u8], site: Option<u32>, scratch: &'s mut Scratch) -> Applied<'s> {
        let Ok(split) = scratch.normalize(url) else {
            scratch.out.clear();
            scratch.out.extend_from_slice(url);
            return Applied { url: &scratch.out, site: None, fired: &[], looked_up: false, invalid: true };
        };
        let host = &scratch.cells.text[split.host.0 as usize..split.host.1 as usize];
        let site = site.or_else(|| self.site_of_host(host));
        self.apply_normal(&split, site, scratch)
    }

    /// As [`apply`](Self::apply), for the URL that [`Scratch::normalize`] left with these parts.
    pub fn apply_normal<'s>(&self, split: &url::Split, site: Option<u32>, scratch: &'s mut Scratch) -> Applied<'s> {
        scratch.fired.clear();
        let looked_up = match site.map(|s| &self.compiled[s as usize]) {
            Some(Compiled::Undust(compiled)) if !compiled.is_trivial() => {
                let length = scratch.cells.text.len();
                let looked_up = compiled.apply(split, scratch);
                if (looked_up || !scratch.fired.is_empty()) && !self.keeps_site(site, split, scratch) {
                    scratch.fired.clear();
                    scratch.cells.text.truncate(length);
                    std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
                    return Applied { url: &scratch.out, site, fired: &[], looked_up: false, invalid: false };
                }
                looked_up
            }
            Some(Compiled::Published(compiled)) => {
                compiled.canonicalize(&scratch.cells.text, &mut scratch.out, &mut scratch.fired);
                false
            }
            _ => {
                std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
                false
            }
        };
        Applied { url: &scratch.out, site, fired: &scratch.fired, looked_up, invalid: false }
    }

    /// The steps of the rules of `site` on a URL, and what they make of it before the laws are asked; `None` for a site
    /// without rules of this method.
    pub(super) fn trace_site(&self, site: Option<u32>, url: &str, steps: &mut Vec<Step>) -> Option<String> {
        let site = site? as usize;
        let Compiled::Undust(compiled) = &self.compiled[site] else { return None };
        let mut scratch = Scratch::default();
        let split = url::normalize(url.as_bytes(), &mut scratch.cells.text).ok()?;
        Some(compiled.trace(&split, &self.sites[site], &mut scratch, steps))
    }

    /// Law: the output stays on a host of the site. `scratch.cells.text` still starts with the stage-1 form of the input.
    fn keeps_site(&self, site: Option<u32>, split: &url::Split, scratch: &Scratch) -> bool {
        let (text, out) = (&scratch.cells.text, &scratch.out);
        let same = split.path.0 as usize;
        if out.len() > same && text[..=same] == out[..=same] {
            return true;
        }
        let host = host_of(out);
        if host == &text[split.host.0 as usize..split.host.1 as usize] {
            return true;
        }
        let claim = self.hosts.get(&hash64(host)).or_else(|| self.domains.get(&hash64(registrable_domain(host))));
        // What two labels claim is left as it is when it comes in without a label.
        claim.is_some_and(|&claim| Some(claim) == site || claim == AMBIGUOUS)
    }

    fn site_of_host(&self, host: &[u8]) -> Option<u32> {
        let claim = match self.hosts.get(&hash64(host)) {
            Some(&site) => site,
            None => *self.domains.get(&hash64(registrable_domain(host)))?,
        };
        (claim != AMBIGUOUS).then_some(claim)
    }

    /// Index of the site of this label.
    pub fn site_index(&self, label: &str) -> Option<u32> {
        self.sites.binary_search_by(|s| s.site.as_str().cmp(label)).ok().map(|i| i as u32)
    }
}

/// The host of a stage-1 normal URL.
fn host_of(url: &[u8]) -> &[u8] {
    let start = memchr::memmem::find(url, b"://").map_or(0, |at| at + 3);
    let rest = &url[start..];
    let authority = &rest[..memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len())];
    let host = &authority[memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)..];
    match host.first() {
        Some(b'[') => &host[..memchr::memchr(b']', host).map_or(host.len(), |at| at + 1)],
        _ => &host[..memchr::memchr(b':', host).unwrap_or(host.len())],
    }
}
