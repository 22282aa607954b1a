//! The compiled applier (design, section 5): one pass over the URL's bytes into keys, the rules of its site in their
//! order, each at most once, the output written once into a reused buffer. No regular expressions; nothing is
//! allocated a URL once the buffers of a [`Scratch`] have grown.
//!
//! Laws, held for any URL: canonicalizing is total; canonicalizing twice is once (a URL for which it is not gets its
//! stage-1 form); the output is stage-1 normal and stays on a host of the site.

use super::applied::{Applied, Outcome};
use super::claims::{AMBIGUOUS, Claims};
use super::compiled::{CompiledSite, KeptOrigin, Known, State, Templates};
use super::fired::Fired;
use super::flight::{CACHED, CACHED_PAGES};
use super::names::{Names, RuleId};
use super::origins::{Met, Origins};
use super::published::PublishedSite;
use super::types::SiteRules;
use crate::model::hash64;
use crate::url::site::registrable_domain;
use crate::url::{self, Cells};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rules of many sites, compiled for applying. `Send + Sync`; share it behind an `Arc`.
///
/// One made by [`new`](RuleSet::new) keeps the rules too, which explaining needs; one that is opened for applying
/// ([`Lean`]) keeps their ids: evidence and examples, most of a rule file, stay on disk.
#[derive(Debug, Default)]
pub struct RuleSet {
    names: Vec<Names>,
    /// All sites, or none.
    sites: Vec<SiteRules>,
    compiled: Vec<Line>,
    /// Site of a host by [`hash64`] of the host.
    pub(super) hosts: Claims,
    /// The same for registrable domains of those hosts.
    domains: Claims,
    /// Hosts under two site labels.
    refused_hosts: u64,
    /// Templates of the sites, while sites are added.
    sharing: Templates,
    /// Their number, when all are.
    pub(super) templates: usize,
    /// Seen members of all sites.
    pages: usize,
    /// No other finished set of the process has it.
    number: u64,
}

/// Sets that were finished.
static FINISHED: AtomicU64 = AtomicU64::new(0);

/// A rule set in the making, for applying: sites come sorted by name, and what applying does not need of them goes at
/// once.
#[derive(Debug, Default)]
pub struct Lean(RuleSet);

/// Compiles sites one after the other: buffers, and what was compiled before.
#[derive(Debug, Default)]
pub struct Compiler {
    scratch: Scratch,
    known: Known,
}

/// A site compiled for a [`Lean`] set, on whichever thread. Written it is a site of compiled rules
/// ([`packed`](super::packed)).
#[derive(Debug)]
pub struct LeanSite {
    names: Names,
    hosts: Vec<String>,
    compiled: Compiled,
}

impl LeanSite {
    /// Compiles a site.
    pub fn new(site: SiteRules, compiler: &mut Compiler) -> LeanSite {
        let site = site.into_ascii();
        LeanSite { names: Names::of(&site), compiled: Compiled::new(&site, compiler), hosts: site.hosts }
    }

    /// Of a site that is compiled already.
    pub(super) fn of(names: Names, hosts: Vec<String>, compiled: CompiledSite) -> LeanSite {
        LeanSite { names, hosts, compiled: Compiled::Undust(compiled) }
    }

    /// Names, hosts and program; `None` where it was learned with `--method published`.
    pub(super) fn parts(&self) -> Option<(&Names, &[String], &CompiledSite)> {
        match &self.compiled {
            Compiled::Undust(compiled) => Some((&self.names, &self.hosts, compiled)),
            Compiled::Published(_) => None,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.names.site()
    }
}

impl Lean {
    /// Adds a site.
    pub fn push(&mut self, site: LeanSite) {
        self.0.add(site.names, &site.hosts, site.compiled);
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
pub(super) struct Line(Compiled);

/// The program of one site, by the method that learned it.
#[derive(Debug)]
pub(crate) enum Compiled {
    Undust(CompiledSite),
    Published(Box<PublishedSite>),
}

impl Compiled {
    /// Compiles the rules of one site.
    pub(crate) fn new(site: &SiteRules, Compiler { scratch, known }: &mut Compiler) -> Compiled {
        if site.tokens.published {
            return Compiled::Published(Box::new(PublishedSite::new(site)));
        }
        let mut compiled = known.compile(site);
        compiled.compile_mirrors(site);
        compiled.fill_lookups(site, scratch);
        Compiled::Undust(compiled)
    }
}

/// Buffers of one thread, reused from URL to URL: no allocation in the steady state.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(super) cells: Cells,
    pub(super) state: State,
    pub(super) out: Vec<u8>,
    pub(super) again: Vec<u8>,
    pub(super) fired: Fired,
    /// Rules that fire when an output is canonicalized once more.
    pub(super) fired_again: Fired,
    /// Site of the last URL: what it needs is in the cache.
    near: Option<u32>,
    /// The last origins.
    pub(super) origins: Option<Box<Origins>>,
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

    /// The host of the URL that [`normalize`](Self::normalize) left with these parts.
    pub(super) fn host(&self, split: &url::Split) -> &[u8] {
        &self.cells.text[split.host.0 as usize..split.host.1 as usize]
    }
}

impl RuleSet {
    /// Compiles the rules of `sites`; they are sorted by site here.
    pub fn new(sites: Vec<SiteRules>) -> RuleSet {
        let mut sites: Vec<SiteRules> = sites.into_iter().map(SiteRules::into_ascii).collect();
        sites.sort_by(|a, b| a.site.cmp(&b.site));
        // Seen members and look-ups are keyed by what the rules reduce them to: reduced here, once.
        let mut compiler = Compiler::default();
        let compiled = sites.iter().map(|site| Compiled::new(site, &mut compiler)).collect();
        let rules = RuleSet::of(sites.iter(), compiled);
        RuleSet { sites, ..rules }
    }

    /// Of sites sorted by name, each compiled; the rules are not kept.
    pub(crate) fn of<'a>(sites: impl Iterator<Item = &'a SiteRules>, compiled: Vec<Compiled>) -> RuleSet {
        let mut rules = RuleSet::default();
        sites.zip(compiled).for_each(|(site, compiled)| rules.add(Names::of(site), &site.hosts, compiled));
        rules.finish();
        rules
    }

    fn finish(&mut self) {
        self.names.shrink_to_fit();
        self.compiled.shrink_to_fit();
        self.templates = std::mem::take(&mut self.sharing).len();
        self.number = FINISHED.fetch_add(1, Ordering::Relaxed) + 1;
    }

    fn add(&mut self, names: Names, hosts: &[String], mut compiled: Compiled) {
        let index = self.names.len() as u32;
        for host in hosts {
            let refused = self.hosts.claim(hash64(host.as_bytes()), index);
            self.refused_hosts += u64::from(refused);
            self.domains.claim(hash64(registrable_domain(host.as_bytes())), index);
        }
        if let Compiled::Undust(compiled) = &mut compiled {
            compiled.share(&mut self.sharing);
            self.pages += compiled.members();
        }
        self.names.push(names);
        self.compiled.push(Line(compiled));
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

    /// True where what the rules are made of is taken to be in the cache.
    pub(super) fn is_cached(&self) -> bool {
        self.len() <= CACHED && self.pages <= CACHED_PAGES
    }

    /// What tells it from every other set of the process.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        self.number
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
    pub fn rule_id(&self, site: u32, rule: u16) -> RuleId<'_> {
        self.names[site as usize].id(rule)
    }

    /// Hosts that two site labels claim; their URLs get stage 1 only.
    pub fn refused_hosts(&self) -> u64 {
        self.refused_hosts
    }

    /// As [`canonicalize`](Self::canonicalize) into reused buffers. `site` forces the site by its index (a record's own
    /// label); `None` lets the host decide: the exact host, else its registrable domain where one site claims it.
    #[inline]
    pub fn apply<'s>(&'s self, url: &[u8], site: Option<u32>, scratch: &'s mut Scratch) -> Applied<'s> {
        let (site, outcome) = self.outcome(url, site, scratch);
        self.applied(site, outcome, scratch)
    }

    /// What became of the URL that was applied last in `scratch`.
    #[inline]
    pub(super) fn applied<'s>(&'s self, site: Option<u32>, outcome: Outcome, scratch: &'s Scratch) -> Applied<'s> {
        let seen = self.site_of_member(site, outcome).and_then(|(compiled, member)| compiled.member_bytes(member));
        let url = seen.unwrap_or(&scratch.out);
        let (looked_up, invalid) = (outcome.is_looked_up(), outcome == Outcome::Invalid);
        Applied { url, site, fired: &scratch.fired, looked_up, invalid }
    }

    /// The seen member that stands for a URL of this site.
    #[inline]
    pub(super) fn member(&self, site: Option<u32>, outcome: Outcome) -> Option<&str> {
        let (compiled, member) = self.site_of_member(site, outcome)?;
        compiled.seen_member(Some(member))
    }

    /// The member that stands for the URL, by its number, and the site that knows it.
    #[inline]
    fn site_of_member(&self, site: Option<u32>, outcome: Outcome) -> Option<(&CompiledSite, u32)> {
        match (outcome, &self.compiled[site? as usize].0) {
            (Outcome::Member(member), Compiled::Undust(compiled)) => Some((compiled, member)),
            _ => None,
        }
    }

    /// As [`apply`](Self::apply): the site, and where the canonical URL is.
    pub(super) fn outcome(&self, url: &[u8], site: Option<u32>, scratch: &mut Scratch) -> (Option<u32>, Outcome) {
        self.outcome_here(url, site, scratch)
    }

    /// The same without a call, for who has little else to do.
    #[inline(always)]
    pub(super) fn outcome_here(&self, url: &[u8], site: Option<u32>, scratch: &mut Scratch) -> (Option<u32>, Outcome) {
        let mut origins = std::mem::take(&mut scratch.origins);
        let outcome = self.apply_behind(url, site, scratch, origins.get_or_insert_default()).unwrap_or_else(|| {
            scratch.out.clear();
            scratch.out.extend_from_slice(url);
            (None, Outcome::Invalid)
        });
        scratch.origins = origins;
        outcome
    }

    /// The same, with the last origins; `None` for what is no URL.
    #[inline(always)]
    fn apply_behind(
        &self,
        url: &[u8],
        site: Option<u32>,
        scratch: &mut Scratch,
        origins: &mut Origins,
    ) -> Option<(Option<u32>, Outcome)> {
        scratch.fired.clear();
        let met = origins.find(url, self.number);
        // Where it stands, it is read next: a copy of what was just written in pieces waits for them.
        let mut split = url::Split::default();
        url::normalize_behind(met.origin(), url, &mut scratch.cells.text, &mut split).ok()?;
        let (site, place) = match (site, met) {
            (None, Met::Known(place)) => (place.site, Some(place)),
            (Some(forced), Met::Known(place)) => (site, Some(place).filter(|place| place.site == Some(forced))),
            (Some(_), _) => (site, None),
            (None, met) => {
                let site = self.site_of_host(scratch.host(&split));
                self.keep_origin(met.unless_odd(url, &scratch.cells.text, &split), site, &split, scratch, origins);
                (site, None)
            }
        };
        if let Some(index) = site
            && let Compiled::Undust(compiled) = &self.compiled[index as usize].0
        {
            if self.templates > CACHED && scratch.near.replace(index) != Some(index) {
                std::hint::black_box(compiled.template().fetch());
            }
            compiled.leave_out_fragment(&mut split, &mut scratch.cells.text);
            if compiled.stands(split.hash) {
                std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
                return Some((site, Outcome::Itself));
            }
        }
        let coded = place.and_then(|place| origins.coded(place));
        Some((site, self.apply_split(&split, site, scratch, coded)))
    }

    /// Keeps the origin of a URL in stage-1 form that came again.
    #[inline(always)]
    pub(super) fn keep_origin(
        &self,
        met: Met,
        site: Option<u32>,
        split: &url::Split,
        scratch: &Scratch,
        origins: &mut Origins,
    ) {
        if let Met::Again(hash) = met {
            origins.keep(hash, self.number, site, &scratch.cells.text[..split.path.0 as usize]);
        }
    }

    /// As [`apply`](Self::apply), for the URL that [`Scratch::normalize`] left with these parts. Rules fire on a seen
    /// member that is its own canonical URL, too, before it is looked up.
    pub fn apply_normal<'s>(&'s self, split: &url::Split, site: Option<u32>, scratch: &'s mut Scratch) -> Applied<'s> {
        scratch.fired.clear();
        let mut split = *split;
        if let Some(Compiled::Undust(compiled)) = site.map(|site| &self.compiled[site as usize].0) {
            compiled.leave_out_fragment(&mut split, &mut scratch.cells.text);
        }
        let outcome = self.apply_split(&split, site, scratch, None);
        self.applied(site, outcome, scratch)
    }

    /// The same: where the canonical URL is.
    #[inline]
    fn apply_split(
        &self,
        split: &url::Split,
        site: Option<u32>,
        scratch: &mut Scratch,
        origin: KeptOrigin<'_>,
    ) -> Outcome {
        match site.map(|site| &self.compiled[site as usize].0) {
            Some(Compiled::Undust(compiled)) if !compiled.is_trivial() => {
                let length = scratch.cells.text.len();
                compiled.reduce(split, scratch, origin);
                let member = compiled.member(scratch);
                self.conclude(compiled, member, split, length, site, scratch)
            }
            Some(Compiled::Published(compiled)) => {
                let rule = compiled.canonicalize(&scratch.cells.text, &mut scratch.out);
                rule.into_iter().for_each(|rule| scratch.fired.add(rule));
                Outcome::Made
            }
            _ => {
                std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
                Outcome::Made
            }
        }
    }

    /// Puts together what the rules of the site reduced a URL to, `length` bytes in stage-1 form, and asks the laws.
    #[inline(always)]
    pub(super) fn conclude(
        &self,
        compiled: &CompiledSite,
        member: Option<u32>,
        split: &url::Split,
        length: usize,
        site: Option<u32>,
        scratch: &mut Scratch,
    ) -> Outcome {
        let outcome = compiled.conclude(member, split, length, scratch).map_or(Outcome::Made, Outcome::Member);
        let acted = outcome.is_looked_up() || !scratch.fired.is_empty();
        let keeps_site = |scratch: &Scratch| {
            let out = self.member(site, outcome).map_or(&scratch.out[..], str::as_bytes);
            self.keeps_site(site, split, &scratch.cells.text, out)
        };
        debug_assert!(!acted || !compiled.stays() || keeps_site(scratch));
        if acted && !compiled.stays() && !keeps_site(scratch) {
            scratch.fired.clear();
            scratch.cells.text.truncate(length);
            std::mem::swap(&mut scratch.cells.text, &mut scratch.out);
            return Outcome::Made;
        }
        outcome
    }

    /// Law: the output stays on a host of the site. The text still starts with the stage-1 form of the input.
    fn keeps_site(&self, site: Option<u32>, split: &url::Split, text: &[u8], out: &[u8]) -> bool {
        let same = split.path.0 as usize;
        if out.len() > same && text[..=same] == out[..=same] {
            return true;
        }
        let host = host_of(out);
        if host == &text[split.host.0 as usize..split.host.1 as usize] {
            return true;
        }
        site.is_some_and(|site| self.owns(site, host))
    }

    /// True for a host that the site claims, alone or beside another one.
    pub(super) fn owns(&self, site: u32, host: &[u8]) -> bool {
        self.claim(hash64(host), host).is_some_and(|claim| claim == site || claim == AMBIGUOUS)
    }

    /// The program of a site.
    #[inline]
    pub(super) fn compiled(&self, site: u32) -> &Compiled {
        &self.compiled[site as usize].0
    }

    fn site_of_host(&self, host: &[u8]) -> Option<u32> {
        self.site_of(hash64(host), host)
    }

    /// The site of a host with this hash.
    pub(super) fn site_of(&self, hash: u64, host: &[u8]) -> Option<u32> {
        self.claim(hash, host).filter(|&claim| claim != AMBIGUOUS)
    }

    /// The site of a host, or else of its registrable domain.
    fn claim(&self, hash: u64, host: &[u8]) -> Option<u32> {
        self.hosts.find(hash).or_else(|| self.domains.find(hash64(registrable_domain(host))))
    }

    /// Index of the site of this label.
    pub fn site_index(&self, label: &str) -> Option<u32> {
        self.names.binary_search_by(|names| names.site().cmp(label)).ok().map(|i| i as u32)
    }
}

/// The host of a stage-1 normal URL.
pub(super) fn host_of(url: &[u8]) -> &[u8] {
    let rest = url.get(if url.get(4) == Some(&b's') { 8 } else { 7 }..).unwrap_or_default();
    let authority = &rest[..memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len())];
    let host = &authority[memchr::memrchr(b'@', authority).map_or(0, |at| at + 1)..];
    match host.first() {
        Some(b'[') => &host[..memchr::memchr(b']', host).map_or(host.len(), |at| at + 1)],
        _ => &host[..memchr::memchr(b':', host).unwrap_or(host.len())],
    }
}
