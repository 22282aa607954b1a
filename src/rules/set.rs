//! Rule sets: the compiled rules of many sites, and the index that finds the site of an origin.

use super::compiled::{Buffers, ByHash, CompiledSite, TemplateCache, Templates};
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
    /// Site of an origin by its [`hash64`]; `None` where two sites have it.
    origins: ByHash<Option<u32>>,
    /// Some rule is provisional.
    pub(super) provisional: bool,
    /// Number of templates.
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
pub struct Loader {
    rules: RuleSet,
    /// Programs for unseen hosts.
    unseen: Vec<CacheLine>,
    templates: Templates,
}

/// Compiles sites one after the other: buffers and the template cache.
#[derive(Debug, Default)]
pub struct Compiler {
    buffers: Buffers,
    cache: TemplateCache,
}

/// A site compiled for a [`Loader`], on any thread; also a site of a compiled file
/// ([`compiled_format`](super::compiled_format)).
#[derive(Debug)]
pub struct LoadedSite {
    pub(super) names: Names,
    pub(super) origins: Vec<String>,
    pub(super) program: Compiled,
    /// The program for unseen hosts, where rules are extended.
    pub(super) unseen: Option<CompiledSite>,
}

impl LoadedSite {
    /// Compiles a site.
    pub fn new(site: SiteRules, compiler: &mut Compiler) -> LoadedSite {
        compiler.compile(&site.into_ascii())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.names.site()
    }
}

impl Loader {
    /// Adds a site.
    pub fn push(&mut self, LoadedSite { names, origins, mut program, unseen }: LoadedSite) {
        let rules = &mut self.rules;
        let index = rules.names.len() as u32;
        for origin in &origins {
            let entry = rules.origins.entry(hash64(origin.as_bytes())).or_insert(Some(index));
            let refused = entry.is_some_and(|site| site != index);
            *entry = entry.filter(|_| !refused);
        }
        if let Compiled::Undust(site) = &mut program {
            site.share(&mut self.templates);
            rules.pages += site.members();
        }
        if let Some(mut unseen) = unseen {
            unseen.share(&mut self.templates);
            rules.extended.push(index);
            self.unseen.push(CacheLine(Compiled::Undust(unseen)));
        }
        rules.provisional |= names.has_provisional();
        rules.names.push(names);
        rules.compiled.push(CacheLine(program));
    }

    /// Finishes the set.
    pub fn finish(self) -> RuleSet {
        let Loader { mut rules, unseen, templates } = self;
        rules.names.shrink_to_fit();
        rules.compiled.extend(unseen);
        rules.compiled.shrink_to_fit();
        rules.templates = templates.len();
        rules.number = FINISHED.fetch_add(1, Ordering::Relaxed) + 1;
        rules
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

impl Compiler {
    /// Compiles the rules of one site.
    pub(crate) fn compile(&mut self, site: &SiteRules) -> LoadedSite {
        let (names, origins) = (Names::of(site), site.origins.clone());
        if site.tokens.published {
            let program = Compiled::Published(Box::new(PublishedSite::new(site)));
            return LoadedSite { names, origins, program, unseen: None };
        }
        let mut compiled = self.cache.compile(site);
        compiled.compile_mirrors(site);
        compiled.fill_lookups(site, &mut self.buffers);
        let unseen = site.for_unseen_hosts().map(|site| self.cache.compile(&site));
        LoadedSite { names, origins, program: Compiled::Undust(compiled), unseen }
    }
}

impl RuleSet {
    /// Compiles the rules of `sites`, sorted by site. Exceptions and look-ups are reduced by the rules,
    /// once.
    pub fn new(sites: Vec<SiteRules>) -> RuleSet {
        let mut sites: Vec<SiteRules> = sites.into_iter().map(SiteRules::into_ascii).collect();
        sites.sort_by(|a, b| a.site.cmp(&b.site));
        let mut compiler = Compiler::default();
        let rules = RuleSet::of(sites.iter().map(|site| compiler.compile(site)));
        RuleSet { sites, ..rules }
    }

    /// The set of these sites, which come sorted by name; their rules are not kept.
    pub(crate) fn of(sites: impl Iterator<Item = LoadedSite>) -> RuleSet {
        let mut loader = Loader::default();
        sites.for_each(|site| loader.push(site));
        loader.finish()
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

    /// Name of the site of this index ([`Applied::site`](super::Applied::site)).
    pub fn site_name(&self, site: u32) -> &str {
        self.names(site).site()
    }

    /// Id of a rule of a site ([`Applied::fired`](super::Applied::fired)).
    pub fn rule_id(&self, site: u32, rule: u16) -> &str {
        self.names(site).id(rule)
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::types::{Constraint, Operation, Rule, Test, Tokens};

    #[test]
    fn a_site_is_one_cache_line() {
        assert_eq!((size_of::<CacheLine>(), align_of::<CacheLine>()), (64, 64));
    }

    #[test]
    fn a_set_without_sites_is_empty() {
        assert!(RuleSet::default().is_empty());
        assert!(!RuleSet::new(vec![SiteRules::default()]).is_empty());
    }

    #[test]
    fn published_rules_act_through_a_rule_set() {
        let keys = ["scheme", "auth_0", "auth_1", "path_0", "q:k="];
        let present = |key: &&str| Constraint { key: (*key).to_owned(), test: Test::Present };
        let kept = |key: &&str| ((*key).to_owned(), Operation::Replace((*key).to_owned()));
        let rule = Rule::of("0", keys.iter().map(present).collect(), keys[..4].iter().map(kept).collect());
        let site = SiteRules {
            site: "a.example".to_owned(),
            origins: crate::rules::origins::of_hosts(["a.example"]),
            tokens: Tokens { published: true, ..Tokens::default() },
            rules: vec![Rule { closed: true, ..rule }],
            ..SiteRules::default()
        };
        let rules = RuleSet::new(vec![site]);
        let urls = ["http://a.example/x?k=1", "http://a.example/y?k=2", "http://a.example/z"];
        let want = ["http://a.example/x", "http://a.example/y", "http://a.example/z"];
        let mut scratch = crate::rules::Scratch::default();
        let found =
            urls.map(|url| String::from_utf8_lossy(rules.apply(url.as_bytes(), None, &mut scratch).url).into_owned());
        assert_eq!(found, want.map(str::to_owned));
    }
}
