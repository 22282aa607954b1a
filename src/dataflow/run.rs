//! The whole of `undust learn` except reading and writing: learn, then prove until the rules hold.
//!
//! Every process reaches the same verdicts from the same counts, so only counts and rules travel.
//! Within a process the first worker decides and publishes its table for the others.

use super::aside::{self, Laid};
use super::board::Board;
use super::clusters::Clustering;
use super::counts::SiteCounts;
use super::driver::run_workers;
use super::journal::Journal;
use super::learn::{Harvest, learn};
use super::proof::{Counts, prove};
use super::table::{Ask, Table, has_memory, without_memory};
use super::types::{Batches, Epoch, LearnedSite, Plan, RunError, Shared, Source, SourceError};
use super::verdict::{Change, Pending, Reason, Verdict, judge, overwrite};
use crate::model::hash128;
use crate::rules::file::rule_id;
use crate::rules::types::{Evidence, Rule, SECTION, SiteRules};
use crate::rules::{RuleSet, Scratch as Buffers};
use crate::runtime::mesh::Mesh;
use crate::runtime::progress::Progress;
use crate::runtime::workers::Alarm;
use crate::site::evidence::Bound;
use crate::site::{Params, Thresholds};
use crate::spill::Scratch;
use crate::url::NormalUrl;
use std::collections::BTreeSet;
use std::sync::Arc;
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

/// One site at the end of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProvenSite {
    /// The rules that hold on all records, with whole-corpus evidence.
    pub rules: SiteRules,
    /// Result of learning, but its rules, which are [`rules`](Self::rules) now.
    pub learned: LearnedSite,
    /// Counts of all records under the rules that hold.
    pub counts: SiteCounts,
    /// Rules that the proof withdrew, in the order of withdrawal.
    pub withdrawn: Vec<Withdrawn>,
    /// Rules that the proof narrowed, in the order of narrowing.
    pub narrowed: Vec<Narrowed>,
    /// Look-ups, value ranges and exceptions that led URLs to the page of another cluster and were
    /// withdrawn one by one.
    pub forgotten: u64,
    /// Wrong merges that are drift of the labels.
    pub drift: u64,
    /// The proof withdrew the look-ups and value ranges.
    pub without_lookups: bool,
    /// The site fell back to safe syntax.
    pub fell_back: bool,
}

/// A rule that the proof withdrew.
#[derive(Clone, Debug, PartialEq)]
pub struct Withdrawn {
    /// The rule, with the whole-corpus evidence against it.
    pub rule: Rule,
    /// Reason.
    pub reason: Reason,
    /// Good and bad among the records that did not train.
    pub apart: (u64, u64),
}

/// A rule that the proof narrowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Narrowed {
    /// The rule as it was, with the evidence against it.
    pub before: Rule,
    /// The rule that it became.
    pub after: Rule,
    /// Reason.
    pub reason: Reason,
}

impl ProvenSite {
    /// Writes the counts of the last pass into the evidence of the rules, and makes the `changes` (by
    /// index, ascending). Returns the new index of each rule that is kept.
    fn change(&mut self, changes: Vec<(usize, Change)>, pending: &mut Pending) -> Vec<Option<u16>> {
        let mut changes = changes.into_iter().peekable();
        let mut places = Vec::new();
        for (at, mut rule) in std::mem::take(&mut self.rules.rules).into_iter().enumerate() {
            let counts = self.counts.rules.get(at).cloned().unwrap_or_default();
            // Rules without records keep their evidence.
            if self.counts.records > 0 {
                overwrite(&mut rule.evidence, &counts);
            }
            let change = changes.next_if(|(of, _)| *of == at);
            places.push(Some(self.rules.rules.len() as u16));
            match change {
                None => self.rules.rules.push(rule),
                Some((_, Change::Withdraw(reason))) => {
                    let of = counts.marginal.as_deref();
                    let apart = of.map_or((0, 0), |of| (of.apart_good, of.apart_bad));
                    self.withdrawn.push(Withdrawn { rule, reason, apart });
                    places[at] = None;
                }
                Some((_, Change::Narrow(reason, after))) => {
                    let mut after = *after;
                    after.evidence = rule.evidence.clone();
                    after.id = rule_id(&self.rules.site, &after);
                    if reason == Reason::Test {
                        pending.tried.insert(after.id.clone());
                    }
                    for [_, of] in self.rules.exceptions.iter_mut().filter(|[_, of]| *of == rule.id) {
                        of.clone_from(&after.id);
                    }
                    self.narrowed.push(Narrowed { before: rule, after: after.clone(), reason });
                    self.rules.rules.push(after);
                }
            }
        }
        let ids: BTreeSet<&str> = self.rules.rules.iter().map(|rule| rule.id.as_str()).collect();
        self.rules.exceptions.retain(|[_, of]| of == "*" || ids.contains(of.as_str()));
        places
    }

    /// Removes the look-ups, value ranges and exceptions that lead these URLs to their pages; all memory if
    /// no single one does.
    fn forget(&mut self, urls: &[NormalUrl]) {
        let count = |rules: &SiteRules| {
            rules.aliases.len() + rules.exceptions.len() + rules.local.iter().map(|of| of.pages.len()).sum::<usize>()
        };
        let before = count(&self.rules);
        let (plain, whole) = (RuleSet::new(vec![without_memory(&self.rules)]), RuleSet::new(vec![self.rules.clone()]));
        let mut buffers = Buffers::default();
        let mut page =
            |rules: &RuleSet, url: &NormalUrl| hash128(rules.apply_normal(url.by_ref(), Some(0), &mut buffers).url);
        let sources: BTreeSet<u128> = urls.iter().map(|url| page(&plain, url)).collect();
        let targets: BTreeSet<u128> = urls.iter().map(|url| page(&whole, url)).collect();
        let mut leads =
            |url: &str| NormalUrl::new(url.as_bytes()).is_ok_and(|url| sources.contains(&page(&plain, &url)));
        self.rules.aliases.retain(|[from, _]| !leads(from));
        self.rules.exceptions.retain(|[of, _]| !leads(of));
        for local in &mut self.rules.local {
            local.pages.retain(|span| !(targets.contains(&hash128(span.page.as_bytes()))));
        }
        self.rules.local.retain(|local| !local.pages.is_empty());
        match before - count(&self.rules) {
            0 => self.withdraw_lookups(),
            forgotten => self.forgotten += forgotten as u64,
        }
    }

    fn withdraw_lookups(&mut self) {
        self.without_lookups |= has_memory(&self.rules);
        self.rules.aliases.clear();
        self.rules.local.clear();
        self.rules.exceptions.clear();
    }
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learned {
    /// All sites, sorted by name.
    pub sites: Vec<ProvenSite>,
    /// Records that are not absolute http or https URLs with a host.
    pub invalid: u64,
    /// Passes over the records after the first.
    pub proof_passes: u64,
}

/// Learns from `records` by `plan`.
///
/// # Errors
/// [`RunError`] when records cannot be read, scratch cannot be used, or a worker is lost.
pub fn run(plan: &Plan, records: Arc<dyn Source>, progress: Arc<Progress>) -> Result<Learned, RunError> {
    run_on(plan, records, progress, None, None, None)
}

/// Runs together with the processes of `mesh`, each with as many workers as `plan` has; sites in
/// `journal` are not learned again, the others are stored in it. Where the records have no labels,
/// `first` makes them, as a dataflow of the same workers, before any part of `records` is opened. Every
/// process ends with the same sites; counts of records that were dropped before ([`Learned::invalid`])
/// are each process's own.
///
/// # Errors
/// [`RunError`] when records cannot be read, scratch cannot be used, or a worker or process is lost or
/// fails.
pub fn run_on(
    plan: &Plan,
    records: Arc<dyn Source>,
    progress: Arc<Progress>,
    mesh: Option<&Arc<Mesh>>,
    journal: Option<Arc<dyn Journal>>,
    first: Option<Arc<Clustering>>,
) -> Result<Learned, RunError> {
    run_from(plan, records, progress, mesh, journal, first, None)
}

/// Runs the proof alone, on the rules of `sites`, as [`run_on`] does after learning. Records of other
/// sites are skipped.
///
/// # Errors
/// Errors of [`run_on`].
pub fn prove_on(
    plan: &Plan,
    records: Arc<dyn Source>,
    progress: Arc<Progress>,
    mesh: Option<&Arc<Mesh>>,
    sites: Vec<SiteRules>,
    first: Option<Arc<Clustering>>,
) -> Result<Learned, RunError> {
    run_from(plan, records, progress, mesh, None, first, Some(sites))
}

fn run_from(
    plan: &Plan,
    records: Arc<dyn Source>,
    progress: Arc<Progress>,
    mesh: Option<&Arc<Mesh>>,
    journal: Option<Arc<dyn Journal>>,
    first: Option<Arc<Clustering>>,
    given: Option<Vec<SiteRules>>,
) -> Result<Learned, RunError> {
    let mut shared = Shared::new(Scratch::new(&plan.scratch)?, progress, mesh);
    shared.journal = journal;
    let shared = Arc::new(shared);
    let board: Arc<Board<Case>> = Arc::default();
    let plan = Plan { workers: plan.workers.max(1), ..plan.clone() };
    let (ours, theirs) = (shared.clone(), board.clone());
    let before = first.clone();
    let mut scratch = vec![shared.scratch.as_ref()];
    scratch.extend(first.iter().map(|first| first.scratch().as_ref()));
    let worked = run_workers(plan.workers, mesh, &scratch, move |worker, alarm| {
        if before.as_ref().is_some_and(|first| !first.work(worker, alarm)) {
            return 0;
        }
        work(worker, alarm, &plan, (records.as_ref(), given.as_deref()), &ours, &theirs)
    });
    if let Some(first) = first {
        first.figures()?;
    }
    shared.check()?;
    let invalid = worked?;
    let case = board.take().expect("the first worker leaves the result");
    Ok(Learned { sites: case.sites, invalid: invalid.into_iter().sum(), proof_passes: case.passes as u64 })
}

/// Clears the provisional mark of a rule with as much evidence as a candidate line needs.
fn bear_out(rule: &mut Rule, thresholds: &Thresholds) {
    let Evidence { good, bad, clusters, .. } = rule.evidence;
    let holds = Bound::operation(thresholds).holds(good, bad, thresholds.prior);
    let holds = holds && clusters >= thresholds.min_clusters as u64;
    rule.provisional &= !holds;
}

/// Proof state after some passes.
#[derive(Clone, Debug)]
pub(super) struct Case {
    passes: usize,
    /// Threads that compile rules.
    threads: usize,
    pub(super) table: Arc<Table>,
    pub(super) sites: Vec<ProvenSite>,
    /// State of each site from pass to pass.
    known: Vec<Pending>,
    /// Nothing is left to count.
    pub(super) closed: bool,
}

/// Runs one worker's part; returns its number of invalid records.
fn work(
    worker: &mut Worker,
    alarm: &Alarm,
    plan: &Plan,
    (records, given): (&dyn Source, Option<&[SiteRules]>),
    shared: &Arc<Shared>,
    board: &Board<Case>,
) -> u64 {
    let leads = worker.index().is_multiple_of(plan.workers);
    shared.progress.stage("reading");
    let harvest = match given {
        Some(_) => Harvest::default(),
        None => {
            let end: Handle<Epoch> = Handle::new();
            let harvest = worker.dataflow_named("learn", |scope| learn(scope, plan, records, shared, &end));
            alarm.work_while(worker, || !end.done());
            harvest
        }
    };
    let invalid = *harvest.invalid.borrow();

    // All workers see a failure at one point, or some would block in a dataflow that others never build:
    // the leader checks once all workers are through, and closes the case.
    if leads {
        let room = aside::room(plan.memory, plan.sample.share);
        let case = match given {
            Some(sites) => Case::given(sites, plan.workers, room),
            None => Case::open(harvest.sites.take(), plan.workers, room),
        };
        board.post(Case { closed: case.closed || shared.has_failed(), ..case });
    }
    // Spilled records of small sites, for a pass that counts no others.
    let mut laid = Laid::default();
    for pass in 0.. {
        let here = |case: &Case| (case.passes >= pass).then(|| (case.table.clone(), case.closed));
        let (table, closed) = board.wait(worker, alarm, here);
        if closed {
            break;
        }
        shared.progress.stage("proving");
        let end: Handle<Epoch> = Handle::new();
        let part = match (table.laid, std::mem::take(&mut laid)) {
            (true, laid) => laid.open().map(|part| Box::new(part) as Box<dyn Batches>).map_err(SourceError::from),
            (false, _) => records.open(worker.index(), worker.peers(), pass + usize::from(given.is_none())),
        };
        let evidence = worker.dataflow_named("prove", |scope| prove(scope, plan, part, &table, shared, &end));
        alarm.work_while(worker, || !end.done());
        drop(table);
        laid = evidence.laid.take();
        if leads {
            let counts = evidence.counts.take();
            board.update(|case| {
                case.weigh(counts, &plan.params);
                case.closed |= shared.has_failed();
            });
        }
    }
    invalid
}

impl Case {
    /// The case before the first pass.
    pub(super) fn open(learned: Vec<LearnedSite>, threads: usize, room: u64) -> Case {
        let (table, learned) = Table::new(learned, threads, room);
        let sites: Vec<ProvenSite> = learned
            .into_iter()
            .map(|mut learned| ProvenSite {
                rules: std::mem::take(&mut learned.rules),
                learned,
                ..ProvenSite::default()
            })
            .collect();
        let known = vec![Pending::default(); sites.len()];
        Case { passes: 0, threads, closed: sites.is_empty(), table: Arc::new(table), sites, known }
    }

    /// The case before the first pass of a proof of given rules.
    fn given(sites: &[SiteRules], threads: usize, room: u64) -> Case {
        let learned = |rules: &SiteRules| LearnedSite { rules: rules.clone(), ..LearnedSite::default() };
        let case = Case::open(sites.iter().map(learned).collect(), threads, room);
        let mut table = Arc::into_inner(case.table).expect("nobody shares it yet");
        table.passes_over = true;
        Case { table: Arc::new(table), ..case }
    }

    /// Adds the counts of a pass, withdraws rules that do not hold, and selects the sites that are counted
    /// again.
    pub(super) fn weigh(&mut self, parts: Vec<Counts>, params: &Params) {
        let mut again = vec![false; self.sites.len()];
        for (site, &counted) in self.sites.iter_mut().zip(&self.table.counted) {
            if counted {
                // Distinct clusters are those of the labels, whatever the rules.
                site.counts = SiteCounts::default();
            }
        }
        for (index, counts) in parts.iter().flatten() {
            self.sites[*index as usize].counts.add(counts);
        }
        let laid: Vec<bool> = self.sites.iter().map(|site| site.counts.laid == site.counts.records).collect();
        self.sites.iter_mut().for_each(|site| site.counts.laid = 0);
        for (index, site) in self.sites.iter_mut().enumerate() {
            if !self.table.counted[index] {
                continue;
            }
            again[index] = true;
            let pending = &mut self.known[index];
            match judge(&site.rules, &site.counts, params, self.passes, pending) {
                Verdict::Holds => {
                    again[index] = false;
                    site.drift = pending.drift;
                    site.change(Vec::new(), pending);
                    site.rules.rules.iter_mut().for_each(|rule| bear_out(rule, &params.thresholds));
                    site.counts.forget_samples();
                    if !site.rules.rules.iter().any(|rule| rule.scope.iter().any(|of| of.key == SECTION)) {
                        site.rules.tokens.sections.clear();
                    }
                    *pending = Pending::default();
                }
                Verdict::Ask => {}
                Verdict::Change(changes) => {
                    let wrong: Vec<NormalUrl> = site
                        .counts
                        .misremembered
                        .0
                        .iter()
                        .filter_map(|hash| NormalUrl::new(site.counts.texts.get(hash)?.as_bytes()).ok())
                        .collect();
                    if !site.counts.misremembered.0.is_empty() {
                        site.forget(&wrong);
                    }
                    let places = site.change(changes, pending);
                    pending.suspects = pending.suspects.iter().filter_map(|&rule| places[usize::from(rule)]).collect();
                    pending.wanted.clear();
                }
                Verdict::WithdrawMemory => site.withdraw_lookups(),
                Verdict::FallBack => {
                    site.fell_back = true;
                    let all = (0..site.rules.rules.len()).map(|at| (at, Change::Withdraw(Reason::FellBack))).collect();
                    site.change(all, pending);
                    site.withdraw_lookups();
                    *pending = Pending::default();
                }
            }
        }
        self.closed = !again.contains(&true);
        if !self.closed {
            let rules: Vec<&SiteRules> = self.sites.iter().map(|site| &site.rules).collect();
            let laid = laid.iter().zip(&again).all(|(&laid, &again)| laid || !again);
            let ask = Ask {
                suspects: self.known.iter().map(|pending| pending.suspects.clone()).collect(),
                wanted: self.known.iter().map(|pending| pending.wanted.clone()).collect(),
            };
            self.table = Arc::new(self.table.again(&rules, again, laid, ask, self.threads));
        }
        self.passes += 1;
    }
}
