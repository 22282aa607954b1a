//! Rule sets: the compiled rules of many sites, and the index that finds the site of an origin.

use super::applied::{Applied, UrlOutcome};
use super::compiled::{Buffers, CompiledSite, Known, Table, Templates};
use super::lane::Lane;
use super::names::Names;
use super::published::PublishedSite;
use super::types::SiteRules;
use crate::model::hash64;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sites, or templates, up to which their memory is taken to be in the cache.
pub(super) const CACHED: usize = 256;
/// Pages of the look-ups of all sites up to which their tables are: some 3 MB with the URLs.
pub(super) const CACHED_PAGES: usize = 1 << 15;

/// Rules of many sites, compiled for applying. `Send + Sync`; share it behind an `Arc`.
///
/// One made by [`new`](RuleSet::new) keeps the rules as well, which `explain` needs; one that is opened for applying
/// ([`Loader`]) keeps their ids: evidence and examples, most of a rule file, stay on disk.
#[derive(Debug, Default)]
pub struct RuleSet {
    names: Vec<Names>,
    /// All sites, or none.
    sites: Vec<SiteRules>,
    compiled: Vec<CacheLine>,
    /// Site of an origin by its [`hash64`]; `None` where two sites have it.
    origins: Table<Option<u32>>,
    /// Templates of the sites, while sites are added.
    sharing: Templates,
    /// Number of templates, when all are added.
    pub(super) templates: usize,
    /// Pages that the look-ups of all sites lead to.
    pages: usize,
    /// No other finished set of the process has it.
    pub(super) number: u64,
}

/// Number of sets that were finished.
static FINISHED: AtomicU64 = AtomicU64::new(0);

/// A rule set in the making, for applying alone: sites come sorted by name, and what applying does not need is dropped.
#[derive(Debug, Default)]
pub struct Loader(RuleSet);

/// Compiles sites one after the other: buffers, and what was compiled before.
#[derive(Debug, Default)]
pub struct Compiler {
    buffers: Buffers,
    known: Known,
}

/// A site compiled for a [`Loader`], on any thread; also a site of a compiled file ([`packed`](super::packed)).
#[derive(Debug)]
pub struct LoadedSite {
    names: Names,
    origins: Vec<String>,
    compiled: Compiled,
}

impl LoadedSite {
    /// Compiles a site.
    pub fn new(site: SiteRules, compiler: &mut Compiler) -> LoadedSite {
        let site = site.into_ascii();
        LoadedSite { names: Names::of(&site), compiled: Compiled::new(&site, compiler), origins: site.origins }
    }

    /// Of a site that is compiled already.
    pub(super) fn of(names: Names, origins: Vec<String>, compiled: CompiledSite) -> LoadedSite {
        LoadedSite { names, origins, compiled: Compiled::Undust(compiled) }
    }

    /// Names, origins and program; `None` for a site that was learned with `--method published`.
    pub(super) fn parts(&self) -> Option<(&Names, &[String], &CompiledSite)> {
        match &self.compiled {
            Compiled::Undust(compiled) => Some((&self.names, &self.origins, compiled)),
            Compiled::Published(_) => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.names.site()
    }
}

impl Loader {
    /// Adds a site.
    pub fn push(&mut self, site: LoadedSite) {
        self.0.add(site.names, &site.origins, site.compiled);
    }

    /// The set.
    pub fn finish(mut self) -> RuleSet {
        self.0.finish();
        self.0
    }
}

/// The program of one site in one cache line.
#[derive(Debug)]
#[repr(align(64))]
struct CacheLine(Compiled);

/// The program of one site, by the method that learned it.
#[derive(Debug)]
pub(crate) enum Compiled {
    Undust(CompiledSite),
    Published(Box<PublishedSite>),
}

impl Compiled {
    /// Compiles the rules of one site.
    pub(crate) fn new(site: &SiteRules, Compiler { buffers, known }: &mut Compiler) -> Compiled {
        if site.tokens.published {
            return Compiled::Published(Box::new(PublishedSite::new(site)));
        }
        let mut compiled = known.compile(site);
        compiled.compile_mirrors(site);
        compiled.fill_lookups(site, buffers);
        Compiled::Undust(compiled)
    }
}

impl RuleSet {
    /// Compiles the rules of `sites`, sorted by site. Exceptions and look-ups are reduced by the rules, once.
    pub fn new(sites: Vec<SiteRules>) -> RuleSet {
        let mut sites: Vec<SiteRules> = sites.into_iter().map(SiteRules::into_ascii).collect();
        sites.sort_by(|a, b| a.site.cmp(&b.site));
        let mut compiler = Compiler::default();
        let compiled = sites.iter().map(|site| Compiled::new(site, &mut compiler)).collect();
        let rules = RuleSet::of(sites.iter(), compiled);
        RuleSet { sites, ..rules }
    }

    /// Of sites sorted by name, each compiled; the rules are not kept.
    pub(crate) fn of<'a>(sites: impl Iterator<Item = &'a SiteRules>, compiled: Vec<Compiled>) -> RuleSet {
        let mut rules = RuleSet::default();
        sites.zip(compiled).for_each(|(site, compiled)| rules.add(Names::of(site), &site.origins, compiled));
        rules.finish();
        rules
    }

    fn finish(&mut self) {
        self.names.shrink_to_fit();
        self.compiled.shrink_to_fit();
        self.templates = std::mem::take(&mut self.sharing).len();
        self.number = FINISHED.fetch_add(1, Ordering::Relaxed) + 1;
    }

    fn add(&mut self, names: Names, origins: &[String], mut compiled: Compiled) {
        let index = self.names.len() as u32;
        for origin in origins {
            let claim = self.origins.entry(hash64(origin.as_bytes())).or_insert(Some(index));
            let refused = claim.is_some_and(|site| site != index);
            *claim = claim.filter(|_| !refused);
        }
        if let Compiled::Undust(compiled) = &mut compiled {
            compiled.share(&mut self.sharing);
            self.pages += compiled.members();
        }
        self.names.push(names);
        self.compiled.push(CacheLine(compiled));
    }

    /// The rules it was made of, sorted by site; none where they were not kept.
    pub fn sites(&self) -> &[SiteRules] {
        &self.sites
    }

    /// Number of sites.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True without any site.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Name and ids of the site of this index.
    pub(super) fn names(&self, site: u32) -> &Names {
        &self.names[site as usize]
    }

    /// Name of the site of this index ([`Applied::site`]).
    pub fn site_name(&self, site: u32) -> &str {
        self.names[site as usize].site()
    }

    /// Id of a rule of a site ([`Applied::fired`]).
    pub fn rule_id(&self, site: u32, rule: u16) -> &str {
        self.names[site as usize].id(rule)
    }

    /// Index of the site of this label.
    pub fn site_index(&self, label: &str) -> Option<u32> {
        self.names.binary_search_by(|names| names.site().cmp(label)).ok().map(|i| i as u32)
    }

    /// True where all that the rules are made of is taken to be in the cache.
    pub(super) fn is_cached(&self) -> bool {
        self.len() <= CACHED && self.pages <= CACHED_PAGES
    }

    /// The program of a site.
    #[inline]
    pub(super) fn compiled(&self, site: u32) -> &Compiled {
        &self.compiled[site as usize].0
    }

    /// The site that alone has an origin.
    pub(super) fn site_of_origin(&self, origin: &[u8]) -> Option<u32> {
        self.origins.get(&hash64(origin)).copied().flatten()
    }

    /// True where a site has an origin, alone or with others.
    pub(super) fn has_origin(&self, site: u32, origin: &[u8]) -> bool {
        match (self.origins.get(&hash64(origin)), self.compiled(site)) {
            (None, _) => false,
            (Some(Some(alone)), _) => *alone == site,
            (Some(None), Compiled::Undust(site)) => site.has_origin(origin),
            (Some(None), Compiled::Published(_)) => true,
        }
    }

    /// What became of the URL in `lane`.
    #[inline]
    pub(super) fn applied<'s>(&'s self, lane: &'s Lane) -> Applied<'s> {
        let url = self.member(lane).map_or(&lane.buffers.out[..], |(site, member)| site.member_bytes(Some(member)));
        let looked_up = matches!(lane.outcome, UrlOutcome::Member(_));
        Applied {
            url,
            site: lane.site,
            fired: &lane.buffers.fired,
            looked_up,
            invalid: lane.outcome == UrlOutcome::Invalid,
        }
    }

    /// The page that a look-up found for the URL in `lane`.
    #[inline]
    pub(super) fn seen<'s>(&'s self, lane: &Lane) -> Option<&'s str> {
        let (site, member) = self.member(lane)?;
        site.seen_member(Some(member))
    }

    #[inline]
    fn member(&self, lane: &Lane) -> Option<(&CompiledSite, u32)> {
        match (lane.outcome, &self.compiled[lane.site? as usize].0) {
            (UrlOutcome::Member(member), Compiled::Undust(site)) => Some((site, member)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_one_cache_line() {
        assert_eq!((size_of::<CacheLine>(), align_of::<CacheLine>()), (64, 64));
    }

    #[test]
    fn a_set_without_sites_is_empty() {
        assert!(RuleSet::default().is_empty());
        assert!(!RuleSet::new(vec![SiteRules::default()]).is_empty());
    }
}
