//! Comparison of the interpreter with the applier on the same URLs.

use super::forms;
use super::{RuleSet, SiteRules};
use crate::rules::explain::TraceStep;
use crate::rules::interpreter::Interpreter;
use crate::rules::{Applied, Batch, Scratch};
use crate::url::NormalUrl;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// A URL, and the index of the site that it is given to; without one the origin decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) url: Vec<u8>,
    pub(super) site: Option<u32>,
}

/// Which forms of a rule set are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forms {
    /// The rule set as it was made.
    Memory,
    /// Also the rule set read from JSON lines and from a compiled file.
    Files,
}

/// The public fields of [`Applied`], owned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AppliedUrl {
    pub(super) url: Vec<u8>,
    pub(super) site: Option<u32>,
    pub(super) fired: Vec<u16>,
    pub(super) looked_up: bool,
    pub(super) invalid: bool,
}

impl AppliedUrl {
    pub(super) fn of(applied: &Applied<'_>) -> AppliedUrl {
        let Applied { url, site, fired, looked_up, invalid } = *applied;
        AppliedUrl { url: url.to_vec(), site, fired: fired.iter().collect(), looked_up, invalid }
    }
}

impl std::fmt::Display for AppliedUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let AppliedUrl { url, site, fired, looked_up, invalid } = self;
        write!(f, "{} site {site:?} fired {fired:?}", url.escape_ascii())?;
        f.write_str(if *looked_up { " looked up" } else { "" })?;
        f.write_str(if *invalid { " invalid" } else { "" })
    }
}

/// A URL with what the interpreter makes of it.
#[derive(Debug)]
pub(super) struct Pair<'r> {
    pub(super) input: Input,
    /// Its normal form; `None` for an invalid URL.
    pub(super) normal: Option<NormalUrl>,
    pub(super) outcome: AppliedUrl,
    pub(super) steps: Vec<TraceStep<'r>>,
}

/// The interpreters of a rule set, and a plain search for the site of an origin.
#[derive(Debug)]
pub(super) struct Reference<'r> {
    pub(super) sites: &'r [SiteRules],
    interpreters: Vec<Interpreter<'r>>,
}

/// Which sites have an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// One site.
    Site(u32),
    /// Several sites.
    Sites,
    /// No site.
    None,
}

impl<'r> Reference<'r> {
    pub(super) fn new(sites: &'r [SiteRules]) -> Reference<'r> {
        Reference { sites, interpreters: sites.iter().map(Interpreter::new).collect() }
    }

    pub(super) fn owner(&self, origin: &str) -> Owner {
        let has = |site: &SiteRules| site.origins.iter().any(|of| of == origin);
        let sites: Vec<u32> = (0..).zip(self.sites).filter(|(_, site)| has(site)).map(|(index, _)| index).collect();
        match sites[..] {
            [] => Owner::None,
            [site] => Owner::Site(site),
            _ => Owner::Sites,
        }
    }

    /// The site that extends to an origin that none has.
    pub(super) fn extended(&self, origin: &str) -> Option<u32> {
        let extends = |index: &u32| self.sites[*index as usize].extends_to(origin);
        (0..self.sites.len() as u32).find(extends).filter(|_| self.owner(origin) == Owner::None)
    }

    /// Result of the interpreter for a URL.
    pub(super) fn pair(&self, input: &Input) -> Pair<'r> {
        let mut outcome = AppliedUrl { url: input.url.clone(), ..AppliedUrl::default() };
        let mut pair = Pair { input: input.clone(), normal: None, outcome: AppliedUrl::default(), steps: Vec::new() };
        match NormalUrl::new(&input.url) {
            Err(_) => outcome.invalid = true,
            Ok(normal) => {
                outcome.url = normal.as_bytes().to_vec();
                let origin = normal.by_ref().origin();
                let has = |site: &u32| self.sites[*site as usize].origins.iter().any(|of| of == origin);
                let unseen = self.extended(origin);
                outcome.site = match (input.site, self.owner(origin)) {
                    (Some(site), _) => Some(site).filter(|site| has(site) || unseen == Some(*site)),
                    (None, Owner::Site(site)) => Some(site),
                    (None, Owner::Sites) => None,
                    (None, Owner::None) => unseen,
                };
                if let Some(site) = outcome.site {
                    let interpreter = &self.interpreters[site as usize];
                    let made = interpreter.canonicalize(&normal);
                    outcome.fired = made.fired.into_iter().map(|rule| rule as u16).collect();
                    (outcome.url, outcome.looked_up, pair.steps) = (made.url, made.looked_up, made.steps);
                }
                pair.normal = Some(normal);
            }
        }
        Pair { outcome, ..pair }
    }
}

/// Buffers that are reused from URL to URL and from rule set to rule set.
#[derive(Debug, Default)]
pub(super) struct Applier {
    scratch: Scratch,
    batch: Batch,
}

/// A URL with which the applier differs from the interpreter.
#[derive(Debug)]
pub(super) struct Difference {
    /// How the applier was called.
    pub(super) how: String,
    pub(super) input: Input,
    pub(super) expected: AppliedUrl,
    /// Result of the applier, or the text of its panic.
    pub(super) given: String,
}

/// Compiles `sites` and compares every input; `see` gets the pairs where all of them are equal.
pub(super) fn check(
    sites: Vec<SiteRules>,
    inputs: &[Input],
    forms: Forms,
    applier: &mut Applier,
    see: impl FnOnce(&Reference<'_>, &[Pair<'_>]),
) -> Result<(), Box<Difference>> {
    let panicked = |what: &str, panic| {
        let given = format!("panic: {}", panic_text(panic));
        let input = inputs.first().cloned().unwrap_or(Input { url: Vec::new(), site: None });
        Box::new(Difference { how: what.to_owned(), input, expected: AppliedUrl::default(), given })
    };
    let set = caught(|| RuleSet::new(sites)).map_err(|panic| panicked("compiling", panic))?;
    let reference = Reference::new(set.sites());
    let pairs: Vec<Pair<'_>> = inputs.iter().map(|input| reference.pair(input)).collect();
    fresh(&set, &pairs)?;
    compare(&set, "the rule set", &pairs, applier)?;
    if forms == Forms::Files {
        for (name, set) in forms::read_again(set.sites()) {
            compare(&set, name, &pairs, applier)?;
        }
    }
    see(&reference, &pairs);
    Ok(())
}

/// Compares what `how` gives for the URL of a pair.
fn equal<'p>(
    how: &str,
    pair: &'p Pair<'_>,
    given: impl FnOnce(&'p Input) -> AppliedUrl,
) -> Result<(), Box<Difference>> {
    let given = match caught(|| given(&pair.input)) {
        Ok(given) if given == pair.outcome => return Ok(()),
        Ok(given) => given.to_string(),
        Err(panic) => format!("panic: {}", panic_text(panic)),
    };
    let Pair { input, outcome, .. } = pair;
    Err(Box::new(Difference { how: how.to_owned(), input: input.clone(), expected: outcome.clone(), given }))
}

/// One URL at a time, each with a new scratch; and the convenience form.
fn fresh(set: &RuleSet, pairs: &[Pair<'_>]) -> Result<(), Box<Difference>> {
    for pair in pairs {
        equal("new scratch", pair, |input| {
            AppliedUrl::of(&set.apply(&input.url, input.site, &mut Scratch::default()))
        })?;
        if pair.input.site.is_none()
            && let Ok(text) = std::str::from_utf8(&pair.input.url)
        {
            equal("canonicalize", pair, |_| {
                let canonical = set.canonicalize(text);
                let site = canonical.site().and_then(|site| set.site_index(site));
                let id = |id: String| set.sites()[site.expect("fired") as usize].rules.iter().position(|r| r.id == id);
                let fired =
                    canonical.rules.iter().filter_map(|rule| id(rule.to_string())).map(|at| at as u16).collect();
                let (url, invalid) = (canonical.url.as_bytes().to_vec(), canonical.invalid);
                // `Canonical` has no such field.
                AppliedUrl { url, site, fired, invalid, looked_up: pair.outcome.looked_up }
            })?;
        }
    }
    Ok(())
}

/// One URL at a time with a reused scratch, then all in one batch.
pub(super) fn compare(
    set: &RuleSet,
    name: &str,
    pairs: &[Pair<'_>],
    applier: &mut Applier,
) -> Result<(), Box<Difference>> {
    let Applier { scratch, batch } = applier;
    for pair in pairs {
        equal(&format!("{name}, reused scratch"), pair, |input| {
            AppliedUrl::of(&set.apply(&input.url, input.site, scratch))
        })?;
    }
    let alone: Vec<&Pair<'_>> = pairs.iter().filter(|pair| pair.input.site.is_none()).collect();
    let mut outcomes = Vec::new();
    let urls = alone.iter().map(|pair| &pair.input.url);
    let applied = caught(|| batch.apply(set, urls, |_, applied| outcomes.push(AppliedUrl::of(&applied))));
    let how = format!("{name}, batch");
    for (pair, outcome) in alone.iter().zip(&outcomes) {
        equal(&how, pair, |_| outcome.clone())?;
    }
    match alone.get(outcomes.len()) {
        Some(pair) => equal(&how, pair, |_| match applied {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => AppliedUrl::default(),
        }),
        None => Ok(()),
    }
}

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Catches a panic and keeps its message out of the output; the report of the difference has it.
pub(super) fn caught<T>(run: impl FnOnce() -> T) -> std::thread::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !CAUGHT.get() {
                others(panic);
            }
        }));
    });
    CAUGHT.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    CAUGHT.set(false);
    result
}

fn panic_text(panic: Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
