//! The rule sets of a pass, shared by all workers of a process.

use super::learned_site::LearnedSite;
use super::sample::BudgetBounds;
use crate::rules::types::{Operation, Rule, SECTION, SiteRules, Test};
use crate::rules::{Compiler, LoadedSite, RuleSet, Tokens};
use crate::url::{self, Key};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sites by index (sorted by name), their compiled rules, and the sites that this pass counts.
#[derive(Debug, Default)]
pub struct SiteTable {
    /// Compiled rules without memory (exceptions, look-ups, value ranges); its sites are all sites, also
    /// those without rules.
    pub rules: RuleSet,
    /// The compiled rules of the sites that have memory, with it.
    pub memory: Memory,
    /// The rules of sites without one suspected rule each.
    pub without: Without,
    /// Records of sites that are not in the table are skipped; else they are a failure of the run.
    pub passes_over: bool,
    /// Hashes of requested URLs, by site: see [`super::pages`].
    pub wanted: Vec<BTreeSet<u64>>,
    bytes: usize,
    /// Bounds of the sample of each site, where the budget did not suffice.
    pub bounds: Vec<Option<BudgetBounds>>,
    /// Sites that are counted in this pass.
    pub counted: Vec<bool>,
    /// Sites whose records this pass spills ([`super::replay`]).
    pub spills: Vec<bool>,
    /// True if the pass before spilled the records of all counted sites.
    pub is_replay: bool,
    /// URLs that trained of each site; the greatest number where the budget left some out.
    trained: Vec<u64>,
    /// Most training URLs of the spilled sites.
    room: u64,
    index: HashMap<Box<[u8]>, u32, foldhash::fast::FixedState>,
}

/// Rules with memory.
#[derive(Debug, Default)]
pub struct Memory {
    /// Compiled rules of the sites that have memory.
    pub rules: RuleSet,
    /// By site of the table.
    pub of: Vec<Option<Remembers>>,
}

/// A site with memory.
#[derive(Clone, Copy, Debug)]
pub struct Remembers {
    /// Its index in [`Memory::rules`].
    pub index: u32,
    /// Some pages are exceptions.
    pub has_exceptions: bool,
}

/// Rule sets that lack a suspected rule each.
#[derive(Debug, Default)]
pub struct Without {
    /// One site for each suspected rule.
    pub rules: RuleSet,
    suspects: Vec<Suspect>,
    by_site: BTreeMap<u32, Range<usize>>,
}

/// A rule that is suspected of wrong merges.
#[derive(Debug)]
pub struct Suspect {
    /// Its index among the rules of its site.
    pub rule: u16,
    /// Index of the rules without it in [`Without::rules`].
    pub index: u32,
    /// The key by which it has a table or a list.
    pub table: Option<Key>,
    /// The keys that it ignores.
    pub ignored: Vec<Key>,
    /// Tokenization of the site's URLs.
    pub tokens: Tokens,
    /// Tokenization of the site's URLs, compiled.
    pub tokenizer: url::Tokenizer,
}

impl Without {
    /// The suspected rules of a site, ascending.
    pub fn of(&self, site: u32) -> &[Suspect] {
        self.by_site.get(&site).map_or(&[], |range| &self.suspects[range.clone()])
    }

    /// Rule sets without each of the `suspects` of each site.
    fn new(sites: &[&SiteRules], suspects: &[Vec<u16>], threads: usize) -> Without {
        let (mut out, mut lacking) = (Without::default(), Vec::new());
        for (site, (rules, suspects)) in (0..).zip(sites.iter().zip(suspects)) {
            let start = out.suspects.len();
            for &rule in suspects {
                let index = lacking.len() as u32;
                let mut lacks = without_memory(rules);
                let removed = lacks.rules[usize::from(rule)].clone();
                lacks.rules.remove(usize::from(rule));
                lacks.rules.retain(|other| !does_the_same(other, &removed));
                lacking.push(lacks);
                out.suspects.push(Suspect {
                    rule,
                    index,
                    table: key_of_table(&removed).and_then(Key::parse),
                    ignored: ignored(&removed),
                    tokens: rules.tokens.clone(),
                    tokenizer: rules.tokenizer(),
                });
            }
            if start < out.suspects.len() {
                out.by_site.insert(site, start..out.suspects.len());
            }
        }
        out.rules = compile(&lacking.iter().collect::<Vec<_>>(), false, threads);
        out
    }
}

/// True for rules that do what a rule does to its keys or to some of them: the merges of one would hide
/// behind the other.
pub(super) fn does_the_same(other: &Rule, rule: &Rule) -> bool {
    let kind = |(key, operation): &(String, Operation)| (key.clone(), std::mem::discriminant(operation));
    let of: Vec<_> = rule.operations.iter().map(kind).collect();
    !rule.closed
        && !other.closed
        && rule.mirror().is_none()
        && other.operations.iter().map(kind).all(|one| of.contains(&one))
}

/// The key by which a rule has a table (classes) or else a list (a condition of several values).
pub fn key_of_table(rule: &Rule) -> Option<&str> {
    let classes = rule.operations.iter().find(|(_, operation)| matches!(operation, Operation::Classes(_)));
    let list = rule.scope.iter().find(|of| of.key != SECTION && matches!(of.test, Test::OneOf(_)));
    classes.map(|(key, _)| key.as_str()).or(list.map(|of| of.key.as_str()))
}

/// The keys whose values a rule removes.
fn ignored(rule: &Rule) -> Vec<Key> {
    let ignores = |(key, operation): &(String, Operation)| match operation {
        Operation::Ignore(_) => Key::parse(key),
        _ => None,
    };
    rule.operations.iter().filter_map(ignores).collect()
}

/// The rules of a site alone.
pub fn without_memory(site: &SiteRules) -> SiteRules {
    let SiteRules { site, origins, tokens, label_noise_permille, rules, .. } = site.clone();
    SiteRules { site, origins, tokens, label_noise_permille, rules, ..SiteRules::default() }
}

/// True where a site has exceptions, look-ups or value ranges.
pub fn has_memory(site: &SiteRules) -> bool {
    !(site.exceptions.is_empty() && site.aliases.is_empty() && site.local.is_empty())
}

/// Requests of a pass beside the figures.
#[derive(Clone, Debug, Default)]
pub struct PassRequest {
    /// Rules that are suspected, of each site.
    pub suspects: Vec<Vec<u16>>,
    /// Requested URLs, of each site.
    pub wanted: Vec<BTreeSet<u64>>,
}

impl SiteTable {
    /// The table of the first pass: all sites, compiled on so many threads. `sites` may come in any order,
    /// each at most once. The smallest sites are spilled, up to `room` URLs that trained.
    pub fn new(mut sites: Vec<LearnedSite>, threads: usize, room: u64) -> (SiteTable, Vec<LearnedSite>) {
        sites.sort_unstable_by(|a, b| a.rules.site.cmp(&b.rules.site));
        let index = sites.iter().zip(0..).map(|(site, i)| (site.rules.site.as_bytes().into(), i)).collect();
        let bounds = sites.iter().map(|site| site.bounds).collect();
        let rules: Vec<&SiteRules> = sites.iter().map(|site| &site.rules).collect();
        let bytes = rules.iter().map(|site| memory(site)).sum();
        let compiled = Sets::new(&rules, &[], threads);
        let trained: Vec<u64> = sites.iter().map(|s| if s.bounds.is_some() { u64::MAX } else { s.trained }).collect();
        let counted = vec![true; sites.len()];
        let spills = smallest(&trained, &counted, room);
        let Sets { rules, memory, without } = compiled;
        let table = SiteTable {
            rules,
            memory,
            without,
            wanted: Vec::new(),
            passes_over: false,
            bytes,
            bounds,
            counted,
            spills,
            is_replay: false,
            trained,
            room,
            index,
        };
        (table, sites)
    }

    /// The table of a later pass: other rules, and only some sites counted, all of them spilled or not.
    pub fn again<'s>(
        &self,
        sites: &[&'s SiteRules],
        counted: Vec<bool>,
        is_replay: bool,
        request: PassRequest,
        threads: usize,
    ) -> SiteTable {
        // Sites that are not counted are not applied either.
        let applied = |(&site, &counted): (&&'s SiteRules, &bool)| match counted {
            true => Cow::Borrowed(site),
            false => {
                Cow::Owned(SiteRules { site: site.site.clone(), origins: site.origins.clone(), ..SiteRules::default() })
            }
        };
        let sites: Vec<Cow<'_, SiteRules>> = sites.iter().zip(&counted).map(applied).collect();
        let sites: Vec<&SiteRules> = sites.iter().map(AsRef::as_ref).collect();
        let bytes = sites.iter().map(|site| memory(site)).sum();
        let (bounds, index, trained) = (self.bounds.clone(), self.index.clone(), self.trained.clone());
        let spills = smallest(&trained, &counted, self.room);
        let PassRequest { suspects, wanted } = request;
        let Sets { rules, memory, without } = Sets::new(&sites, &suspects, threads);
        let (room, passes_over) = (self.room, self.passes_over);
        SiteTable {
            rules,
            memory,
            without,
            wanted,
            passes_over,
            bytes,
            bounds,
            counted,
            spills,
            is_replay,
            trained,
            room,
            index,
        }
    }

    /// Bytes of look-ups and value ranges, nearly all of the memory of rules: an estimate from above.
    pub fn memory(&self) -> usize {
        self.bytes
    }

    /// Index of a site.
    pub fn site(&self, name: &[u8]) -> Option<u32> {
        self.index.get(name).copied()
    }

    /// Number of sites.
    pub fn len(&self) -> usize {
        self.counted.len()
    }

    /// True without any site.
    pub fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }
}

/// The compiled rule sets of a pass.
struct Sets {
    rules: RuleSet,
    memory: Memory,
    without: Without,
}

impl Sets {
    fn new(sites: &[&SiteRules], suspects: &[Vec<u16>], threads: usize) -> Sets {
        let (mut of, mut remembering) = (Vec::with_capacity(sites.len()), Vec::new());
        for site in sites {
            of.push(has_memory(site).then(|| {
                remembering.push(*site);
                Remembers { index: remembering.len() as u32 - 1, has_exceptions: !site.exceptions.is_empty() }
            }));
        }
        Sets {
            rules: compile(sites, false, threads),
            memory: Memory { rules: compile(&remembering, true, threads), of },
            without: Without::new(sites, suspects, threads),
        }
    }
}

/// The counted sites with the fewest URLs that trained, together at most `room`; of equal ones the
/// first by name.
fn smallest(trained: &[u64], counted: &[bool], mut room: u64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..trained.len()).filter(|&site| counted[site]).collect();
    order.sort_by_key(|&site| trained[site]);
    let mut spills = vec![false; trained.len()];
    for site in order {
        let Some(left) = room.checked_sub(trained[site]) else { break };
        (room, spills[site]) = (left, true);
    }
    spills
}

/// Part of a site in [`SiteTable::memory`].
fn memory(site: &SiteRules) -> usize {
    /// Bytes of a look-up in a hash map that has just grown, and of a pair of strings.
    const LOOK_UP: usize = 34;
    const PAIR: usize = 2 * size_of::<String>() + 32;
    let aliases: usize = site.aliases.iter().map(|[a, b]| a.len() + b.len() + PAIR + LOOK_UP).sum();
    let ranges = site.local.iter().flat_map(|local| &local.pages);
    aliases + ranges.map(|value_range| value_range.like.len() + value_range.page.len() + PAIR + LOOK_UP).sum::<usize>()
}

/// Compiles the rules of sites sorted by name, with their memory or without, on several threads: reducing
/// the look-ups by the rules takes time.
fn compile(sites: &[&SiteRules], remembers: bool, threads: usize) -> RuleSet {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut compiler = Compiler::default();
        let mut done: Vec<(usize, LoadedSite)> = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(site) = sites.get(at) else { return done };
            done.push((
                at,
                match remembers {
                    true => compiler.compile(site),
                    false => compiler.compile(&without_memory(site)),
                },
            ));
        }
    };
    let mut compiled: Vec<(usize, LoadedSite)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            // A panic there is repeated here: it ends the run as that of any worker does.
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    compiled.sort_unstable_by_key(|(at, _)| *at);
    RuleSet::of(compiled.into_iter().map(|(_, compiled)| compiled))
}
