//! Rule sets: the compiled rules of many sites, and the index that finds the site of an origin.

use super::applied::{Applied, UrlOutcome};
use super::compiled::{Buffers, CompiledSite, Known, Table, Templates};
use super::lane::Lane;
use super::names::Names;
use super::origins::domain;
use super::published::PublishedSite;
use super::types::SiteRules;
use crate::model::hash64;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most sites, or templates, whose memory is taken to be in the cache.
pub(super) const CACHED: usize = 256;
/// Most pages of the look-ups of all sites whose tables are taken to be in the cache: some 3 MB with
/// the URLs.
pub(super) const CACHED_PAGES: usize = 1 << 15;

/// Rules of many sites, compiled for applying. `Send + Sync`; share it behind an `Arc`.
///
/// A set made by [`new`](RuleSet::new) keeps the rules as well, which `explain` needs; a set opened for
/// applying ([`Loader`]) keeps only their ids: evidence and examples, most of a rule file, stay on
/// disk.
///
/// ```
/// use undust::rules::RuleSet;
///
/// // The folder that `undust learn` wrote, or a rule file.
/// let rules = RuleSet::open("tests/it/fixtures/rules-1.0.jsonl")?;
/// let canonical = rules.canonicalize("http://www.example.com/a?sid=1&id=2");
/// assert_eq!(canonical.url, "http://example.com/a?id=2");
/// assert_eq!((canonical.site(), canonical.rules.iter().count()), (Some("example.com"), 2));
/// # Ok::<(), undust::io::rules::OpenError>(())
/// ```
#[derive(Debug, Default)]
pub struct RuleSet {
    names: Vec<Names>,
    /// All sites, or none.
    sites: Vec<SiteRules>,
    /// Programs of the sites in their order, then those for unseen hosts.
    compiled: Vec<CacheLine>,
    /// Sites with a program for unseen hosts, ascending.
    extended: Vec<u32>,
    /// The programs of those, while sites are added.
    unseen: Vec<CacheLine>,
    /// Site of an origin by its [`hash64`]; `None` where two sites have it.
    origins: Table<Option<u32>>,
    /// Some rule is provisional.
    pub(super) provisional: bool,
    /// Templates of the sites, while sites are added.
    sharing: Templates,
    /// Number of templates, when all are added.
    pub(super) templates: usize,
    /// Pages that the look-ups of all sites lead to.
    pages: usize,
    /// Number of this set; unique among the finished sets of the process.
    pub(super) number: u64,
}

/// Number of sets that were finished.
static FINISHED: AtomicU64 = AtomicU64::new(0);

/// A rule set under construction, for applying alone: sites come sorted by name, and data that applying
/// does not need are dropped.
#[derive(Debug, Default)]
pub struct Loader(RuleSet);

/// Compiles sites one after the other: buffers and the template cache.
#[derive(Debug, Default)]
pub struct Compiler {
    buffers: Buffers,
    known: Known,
}

/// A site compiled for a [`Loader`], on any thread; also a site of a compiled file
/// ([`packed`](super::packed)).
#[derive(Debug)]
pub struct LoadedSite {
    names: Names,
    origins: Vec<String>,
    programs: Programs,
}

impl LoadedSite {
    /// Compiles a site.
    pub fn new(site: SiteRules, compiler: &mut Compiler) -> LoadedSite {
        let site = site.into_ascii();
        LoadedSite { names: Names::of(&site), programs: compiler.compile(&site), origins: site.origins }
    }

    /// Wraps a site that is compiled already.
    #[cfg(feature = "packed")]
    pub(super) fn of(
        names: Names,
        origins: Vec<String>,
        site: CompiledSite,
        unseen: Option<CompiledSite>,
    ) -> LoadedSite {
        LoadedSite { names, origins, programs: Programs { site: Compiled::Undust(site), unseen } }
    }

    /// Names, origins, the program and that for unseen hosts; `None` for a site that was learned with
    /// `--method published`.
    pub(super) fn parts(&self) -> Option<(&Names, &[String], &CompiledSite, Option<&CompiledSite>)> {
        match &self.programs.site {
            Compiled::Undust(site) => Some((&self.names, &self.origins, site, self.programs.unseen.as_ref())),
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
        self.0.add(site.names, &site.origins, site.programs);
    }

    /// Finishes the set.
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

/// The program of one site, and that for unseen hosts where rules are extended.
#[derive(Debug)]
pub(crate) struct Programs {
    site: Compiled,
    unseen: Option<CompiledSite>,
}

impl Compiler {
    /// Compiles the rules of one site.
    pub(crate) fn compile(&mut self, site: &SiteRules) -> Programs {
        if site.tokens.published {
            return Programs { site: Compiled::Published(Box::new(PublishedSite::new(site))), unseen: None };
        }
        let mut compiled = self.known.compile(site);
        compiled.compile_mirrors(site);
        compiled.fill_lookups(site, &mut self.buffers);
        let unseen = site.for_unseen_hosts().map(|site| self.known.compile(&site));
        Programs { site: Compiled::Undust(compiled), unseen }
    }
}

impl RuleSet {
    /// Compiles the rules of `sites`, sorted by site. Exceptions and look-ups are reduced by the rules,
    /// once.
    pub fn new(sites: Vec<SiteRules>) -> RuleSet {
        let mut sites: Vec<SiteRules> = sites.into_iter().map(SiteRules::into_ascii).collect();
        sites.sort_by(|a, b| a.site.cmp(&b.site));
        let mut compiler = Compiler::default();
        let programs = sites.iter().map(|site| compiler.compile(site)).collect();
        let rules = RuleSet::of(sites.iter(), programs);
        RuleSet { sites, ..rules }
    }

    /// Compiles sites sorted by name; the rules are not kept.
    pub(crate) fn of<'a>(sites: impl Iterator<Item = &'a SiteRules>, programs: Vec<Programs>) -> RuleSet {
        let mut rules = RuleSet::default();
        sites.zip(programs).for_each(|(site, programs)| rules.add(Names::of(site), &site.origins, programs));
        rules.finish();
        rules
    }

    fn finish(&mut self) {
        self.names.shrink_to_fit();
        self.compiled.append(&mut self.unseen);
        self.compiled.shrink_to_fit();
        self.templates = std::mem::take(&mut self.sharing).len();
        self.number = FINISHED.fetch_add(1, Ordering::Relaxed) + 1;
    }

    fn add(&mut self, names: Names, origins: &[String], Programs { mut site, unseen }: Programs) {
        let index = self.names.len() as u32;
        for origin in origins {
            let claim = self.origins.entry(hash64(origin.as_bytes())).or_insert(Some(index));
            let refused = claim.is_some_and(|site| site != index);
            *claim = claim.filter(|_| !refused);
        }
        if let Compiled::Undust(site) = &mut site {
            site.share(&mut self.sharing);
            self.pages += site.members();
        }
        if let Some(mut unseen) = unseen {
            unseen.share(&mut self.sharing);
            self.extended.push(index);
            self.unseen.push(CacheLine(Compiled::Undust(unseen)));
        }
        self.provisional |= names.has_provisional();
        self.names.push(names);
        self.compiled.push(CacheLine(site));
    }

    /// The rules that it was made of, sorted by site; empty where they were not kept.
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

    /// True where the data of all rules are taken to be in the cache.
    pub(super) fn is_cached(&self) -> bool {
        self.len() <= CACHED && self.pages <= CACHED_PAGES
    }

    /// The program of this number; that of a site has the index of the site.
    #[inline]
    pub(super) fn compiled(&self, program: u32) -> &Compiled {
        &self.compiled[program as usize].0
    }

    /// The site of a program.
    #[inline]
    pub(super) fn site_of(&self, program: u32) -> u32 {
        (program as usize).checked_sub(self.names.len()).map_or(program, |at| self.extended[at])
    }

    /// The program for an origin: that of the site that alone has it, or one for unseen hosts.
    pub(super) fn program(&self, origin: &[u8]) -> Option<u32> {
        match self.origins.get(&hash64(origin)) {
            Some(site) => *site,
            None if self.extended.is_empty() => None,
            None => self.program_of_unseen(origin),
        }
    }

    /// The program for an origin on a site: none for an origin that is of other sites alone.
    pub(super) fn program_on_site(&self, site: u32, origin: &[u8]) -> Option<u32> {
        match self.has_origin(site, origin) {
            true => Some(site),
            false => self.program(origin).filter(|&program| self.site_of(program) == site),
        }
    }

    /// The program for an origin that no site has.
    #[inline(never)]
    fn program_of_unseen(&self, origin: &[u8]) -> Option<u32> {
        let site = self.site_index(domain(std::str::from_utf8(origin).ok()?)?)?;
        self.extended.binary_search(&site).ok().map(|at| (self.names.len() + at) as u32)
    }

    /// True where a site has an origin, alone or with others.
    fn has_origin(&self, site: u32, origin: &[u8]) -> bool {
        match (self.origins.get(&hash64(origin)), self.compiled(site)) {
            (None, _) => false,
            (Some(Some(alone)), _) => *alone == site,
            (Some(None), Compiled::Undust(site)) => site.has_origin(origin),
            (Some(None), Compiled::Published(_)) => true,
        }
    }

    /// Result for the URL in `lane`.
    #[inline]
    pub(super) fn applied<'s>(&'s self, lane: &'s Lane) -> Applied<'s> {
        let url = self.member(lane).map_or(&lane.buffers.out[..], |(site, member)| site.member_bytes(Some(member)));
        let looked_up = matches!(lane.outcome, UrlOutcome::Member(_));
        Applied {
            url,
            site: lane.program.map(|program| self.site_of(program)),
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
        match (lane.outcome, self.compiled(lane.program?)) {
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
