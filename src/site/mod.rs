//! Learning one site: a pure function of the site's training records and parameters.
//!
//! The stages are listed in docs/method.md, "What undust does".
pub mod adopt;
mod breadth;
mod carried;
mod chance;
pub mod classes;
mod clusters;
pub mod columns;
pub mod conditions;
pub mod covering;
mod defaults;
mod earlier;
pub mod energy;
pub mod evidence;
mod extend;
pub mod forms;
mod fragments;
mod fronts;
pub mod held_out;
pub mod hints;
mod joint;
mod leads;
mod lines;
pub mod lookups;
mod lower;
pub mod mirrors;
mod moves;
pub mod noise;
pub mod operations;
mod order;
mod overlap;
mod pages;
mod parts;
mod points;
mod prefixes;
pub mod profile;
pub mod published;
mod scopes;
mod sections;
pub mod select;
mod shown;
mod siblings;
mod sinks;
pub mod small_samples;
mod spans;
pub mod tokens;
pub mod tree;

use crate::rules::Tokens;
use crate::rules::types::SiteRules;
pub use crate::rules::{Method, Params, Stage, Thresholds, Without};
use crate::url::{NormalRef, NormalUrls};
use columns::Columns;
use covering::Covering;
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, BTreeSet};

/// The training records of one site: distinct URLs, sorted by (hash64 of the URL, URL), labels as dense
/// ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    /// Label or registrable domain of the site.
    pub site: String,
    /// URLs end to end.
    pub bytes: Vec<u8>,
    /// End of each URL in `bytes`.
    pub ends: Vec<u32>,
    /// Cluster of each URL: ids dense from 0 in order of first row; `u32::MAX` for a record without a
    /// label.
    pub clusters: Vec<u32>,
    /// The record redirects to, or declares as canonical, another URL.
    pub elsewhere: Vec<bool>,
    /// URLs that came with two labels: the larger cluster won, ties by label bytes.
    pub conflicts: u64,
    /// Origins of the labelled records of the site, whether they train or not; those of all rows once
    /// lines of the catalogue act provisionally on a site without a label.
    pub origins: BTreeSet<String>,
    /// Preferences among equals.
    pub hints: hints::Hints,
    normal: NormalUrls,
}

impl Training {
    /// Builds the training set of `site` from records in any order: `(url, cluster label, elsewhere)`.
    /// Repeats of a URL with one label count once; of two labels the one with more distinct URLs here wins,
    /// ties by label bytes (the smaller), and the conflict is counted.
    pub fn new<'a>(site: &str, records: impl IntoIterator<Item = (&'a [u8], Option<&'a [u8]>, bool)>) -> Training {
        // URL, label, id of the label, elsewhere.
        type Row<'a> = (&'a [u8], Option<&'a [u8]>, u32, bool);
        let mut ids: std::collections::HashMap<&[u8], u32, foldhash::fast::FixedState> = Default::default();
        let mut rows: Vec<Row> = Vec::new();
        let mut order: Vec<(u64, u32)> = Vec::new();
        for (url, label, elsewhere) in records {
            let next = ids.len() as u32;
            let id = label.map_or(u32::MAX, |l| *ids.entry(l).or_insert(next));
            order.push((crate::model::hash64(url), rows.len() as u32));
            rows.push((url, label, id, elsewhere));
        }
        order.sort_unstable();
        // Of each URL and label the first is kept; `elsewhere` is joined over all records of a URL. Equal
        // hashes are adjacent, so only these are compared as bytes.
        let mut sizes = vec![0u32; ids.len()];
        let mut kept: Vec<u32> = Vec::with_capacity(rows.len());
        for same_hash in order.chunk_by_mut(|a, b| a.0 == b.0) {
            if same_hash.len() > 1 {
                same_hash.sort_unstable_by_key(|&(_, at)| (rows[at as usize].0, rows[at as usize].1));
            }
            for &(_, at) in &*same_hash {
                let (url, _, id, elsewhere) = rows[at as usize];
                match kept.last().map(|&last| &mut rows[last as usize]) {
                    Some(last) if last.2 == id && last.0 == url => last.3 |= elsewhere,
                    _ => {
                        kept.push(at);
                        if let Some(size) = sizes.get_mut(id as usize) {
                            *size += 1;
                        }
                    }
                }
            }
        }
        let mut out = Training { site: site.to_owned(), ..Training::default() };
        out.bytes.reserve(kept.iter().map(|&at| rows[at as usize].0.len()).sum());
        // Ids in order of first row, from those in order of arrival.
        let mut dense = vec![u32::MAX; ids.len()];
        let mut next = 0;
        for group in kept.chunk_by(|&a, &b| rows[a as usize].0 == rows[b as usize].0) {
            let records = group.iter().map(|&at| &rows[at as usize]);
            let labelled = records.clone().filter(|r| r.1.is_some());
            out.conflicts += u64::from(labelled.clone().count() > 1);
            let size = |r: &Row| sizes[r.2 as usize];
            let label = labelled.max_by(|a, b| size(a).cmp(&size(b)).then_with(|| b.1.cmp(&a.1)));
            out.bytes.extend_from_slice(rows[group[0] as usize].0);
            out.normal.push(rows[group[0] as usize].0);
            out.ends.push(out.bytes.len() as u32);
            if let Some(normal) = out.normal.get(out.ends.len() - 1).filter(|_| label.is_some()) {
                let origin = normal.origin();
                if !normal.has_user() && !out.origins.contains(origin) {
                    out.origins.insert(origin.to_owned());
                }
            }
            out.clusters.push(label.map_or(u32::MAX, |r| {
                let id = &mut dense[r.2 as usize];
                if *id == u32::MAX {
                    *id = next;
                    next += 1;
                }
                *id
            }));
            out.elsewhere.push(records.clone().any(|r| r.3));
        }
        out
    }

    /// The rows that `keeps` names, with their clusters numbered anew, to be judged on the other rows. So
    /// without the earlier result: its rules, which come first, may have been learned from these.
    fn subset(&self, keeps: impl Fn(usize) -> bool) -> Training {
        let hints = hints::Hints { targets: self.hints.targets.clone(), previous: None };
        let origins = self.origins.clone();
        let mut out = Training { site: self.site.clone(), origins, hints, ..Training::default() };
        let mut dense: std::collections::HashMap<u32, u32, FixedState> = Default::default();
        for row in (0..self.len()).filter(|&row| keeps(row)) {
            out.bytes.extend_from_slice(self.url(row));
            out.normal.push_from(&self.normal, row);
            out.ends.push(out.bytes.len() as u32);
            let next = dense.len() as u32;
            out.clusters.push(match self.clusters[row] {
                u32::MAX => u32::MAX,
                id => *dense.entry(id).or_insert(next),
            });
            out.elsewhere.push(self.elsewhere[row]);
        }
        out
    }

    /// Makes the origins of all rows those of the site where no record of it has a label.
    fn act_without_labels(&mut self) {
        if self.origins.is_empty() {
            let urls = (0..self.len()).filter_map(|row| self.normal.get(row)).filter(|url| !url.has_user());
            self.origins = urls.map(|url| url.origin().to_owned()).collect();
        }
    }

    /// Number of distinct URLs.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without any URL.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// URL of a row.
    pub fn url(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[start..self.ends[row] as usize]
    }

    /// Normal form of the URL of a row; `None` where it is invalid.
    pub fn normal(&self, row: usize) -> Option<NormalRef<'_>> {
        self.normal.get(row)
    }

    /// Bytes of memory in use, without spare capacity.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.len() * 9 + self.normal.memory()
    }
}

/// A site whose candidates are found and whose energy walk has not run.
#[derive(Debug)]
pub struct Prepared {
    graph: energy::Graph,
    stage: State,
}

/// State of the method that the walk does not use.
#[derive(Debug)]
enum State {
    Undust(Box<Candidates>),
    Published(Box<published::State>),
}

/// The state of the undust method before the energy walk.
#[derive(Debug)]
struct Candidates {
    training: Training,
    covering: Covering,
    /// Frequency of each key before the loop of the covering.
    met: Vec<profile::keys::Met>,
    tree: tree::Tree,
    forms: forms::Forms,
    rules: SiteRules,
    counts: BTreeMap<String, u64>,
    params: Params,
}

impl Prepared {
    /// The graph of forms and candidate rules, for the walk.
    pub fn graph(&self) -> &energy::Graph {
        &self.graph
    }

    /// Profile of the training URLs, beside the rules; empty for the published method.
    pub fn profile(&self) -> profile::Profile {
        let State::Undust(state) = &self.stage else { return profile::Profile::default() };
        let Candidates { training, covering, met, tree, .. } = &**state;
        profile::Profile {
            keys: profile::keys::profile(covering, met),
            tree: profile::tree::profile(&covering.columns, tree),
            tree_nodes: tree.nodes.len() as u64,
            traps: profile::traps::find(training),
        }
    }
}

/// Result of learning one site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The rules that hold.
    pub rules: SiteRules,
    /// Figures of the learning itself (stage, count), for the summary.
    pub counts: BTreeMap<String, u64>,
}

/// Stage under which rules are counted that were not taken for the canonical URLs of an earlier result.
pub const MOVES: &str = "rules that move too many URLs";

/// Runs everything before the energy walk.
pub fn prepare(mut training: Training, params: &Params) -> Prepared {
    if params.method != Method::Undust {
        let (graph, state) = published::prepare(&training, params, &published::Switches::default());
        return Prepared { graph, stage: State::Published(Box::new(state)) };
    }
    let fragments = fragments::decide(&training, params.fragment_clusters);
    let mut tokens = Tokens { fragments, ..Tokens::default() };
    if !params.without.has(Stage::Tokens) {
        tokens = tokens::choose(&training, tokens, params);
    }
    let platforms = match params.without.has(Stage::Platforms) {
        true => lines::Lines::default(),
        false => {
            if params.platforms.provisional {
                training.act_without_labels();
            }
            let (found, semicolons) = lines::programs(&training, &params.platforms);
            tokens.semicolons |= semicolons;
            lines::place_all(found, &params.platforms, &tokens)
        }
    };
    prepare_cut(training, tokens, platforms, params.clone())
}

/// Runs the undust method up to the energy walk with the given cuts and lines of the catalogue of platforms.
fn prepare_cut(training: Training, tokens: Tokens, platforms: lines::Lines, params: Params) -> Prepared {
    let (without, thresholds) = (params.without, &params.thresholds);
    let columns = Columns::new(&training, tokens, thresholds);
    let mut counts = BTreeMap::new();
    counts.insert("urls".to_owned(), columns.len() as u64);
    let mut covering = Covering::new(columns, thresholds);
    covering.without = without;
    let met = profile::keys::met(&covering);
    (covering.lines, covering.provisional) = (platforms.placed, platforms.provisional);
    covering.run();
    counts.insert("evidence tables".to_owned(), covering.tests);
    let mut rules = SiteRules {
        site: training.site.clone(),
        origins: training.origins.iter().cloned().collect(),
        tokens: covering.columns.tokens.clone(),
        label_noise_permille: covering.noise as u32,
        platforms: platforms.found,
        rules: lower::rules(&covering, &training),
        ..SiteRules::default()
    };
    lines::without_copies(&mut rules.rules);
    if !rules.platforms.is_empty() {
        counts.insert("lines of platforms".to_owned(), covering.adopted_lines);
    }
    let tree = forms::tree(&covering);
    let least = match covering.is_small {
        true => [thresholds.min_clusters_form_small, small_samples::least_numbered(without, thresholds)],
        false => [0, thresholds.form_min_numbered],
    };
    let mut forms = forms::Forms::new(&covering, &tree, least);
    if without.has(Stage::Forms) {
        forms.candidates.clear();
    }
    let count = |n: usize| n as u64;
    counts.extend([
        ("tree nodes".to_owned(), count(tree.nodes.len())),
        ("forms".to_owned(), count(forms.list.len())),
        ("pairs of forms".to_owned(), forms.pairs),
        ("candidates".to_owned(), count(forms.candidates.len())),
    ]);
    let graph = forms.graph();
    let state = Candidates { training, covering, met, tree, forms, rules, counts, params };
    Prepared { graph, stage: State::Undust(Box::new(state)) }
}

/// Runs everything after the energy walk, from its energies (one a vertex of the graph).
pub fn finish(prepared: Prepared, energy: &[u64]) -> Outcome {
    let state = match prepared.stage {
        State::Undust(state) => state,
        State::Published(state) => return published::finish(*state, energy),
    };
    let Candidates { training, covering, tree, mut forms, mut rules, mut counts, params, .. } = *state;
    let (columns, without, thresholds) = (&covering.columns, params.without, &params.thresholds);
    let even = vec![1; if without.has(Stage::EnergyWalk) { energy.len() } else { 0 }];
    let moves = select::select(&mut forms, columns, if even.is_empty() { energy } else { &even });
    rules.rules.extend(moves.iter().map(|m| select::rule(&forms, columns, &tree, &training, m)));
    counts.insert("moves".to_owned(), moves.len() as u64);
    let set_ids = |rules: &mut SiteRules| {
        for rule in &mut rules.rules {
            rule.id = crate::rules::file::rule_id(&rules.site, rule);
        }
    };
    set_ids(&mut rules);
    let without_fronts = without.has(Stage::Fronts) || without.has(Stage::Mirrors);
    let previous = training.hints.previous.as_deref();
    let noise = covering.noise;
    let setting = mirrors::Setting { noise, previous, without_fronts, thresholds };
    let fewer = if without_fronts { None } else { fronts::in_place_of_forms(&rules, &training, setting) };
    rules = fewer.unwrap_or(rules);
    // Applying all rules to all URLs is the costliest step here, so it is repeated only after a change of
    // the rules.
    let mut found = lookups::identities(&rules, &training);
    let mut mirrors = mirrors::learn(&rules, lookups::reduced(&found, &training), setting);
    if without.has(Stage::Mirrors) {
        mirrors.clear();
    }
    counts.insert("mirrors".to_owned(), mirrors.len() as u64);
    if !mirrors.is_empty() {
        rules.rules.extend(mirrors);
        set_ids(&mut rules);
        found = lookups::identities(&rules, &training);
    }
    if covering.is_small && !without.has(Stage::SmallSamples) {
        let withdrawn = small_samples::withdraw(&mut rules, &training, &covering);
        if withdrawn > 0 {
            counts.insert("rules with too little to show".to_owned(), withdrawn);
            found = lookups::identities(&rules, &training);
        }
    }
    if training.len() < thresholds.chance_most_rows && !without.has(Stage::Chance) {
        let changed = chance::withdraw(&mut rules, &training, &covering);
        if changed > 0 {
            set_ids(&mut rules);
            counts.insert("rules that chance explains".to_owned(), changed);
            found = lookups::identities(&rules, &training);
        }
    }
    let withdrawn = moves::withdraw(&mut rules, &training, thresholds);
    if withdrawn > 0 {
        counts.insert(MOVES.to_owned(), withdrawn);
        found = lookups::identities(&rules, &training);
    }
    let exceptions = match without.has(Stage::Exceptions) {
        true => 0,
        false => lookups::learn_exceptions(&mut rules, &training, &found, thresholds),
    };
    if exceptions > 0 {
        found = lookups::identities(&rules, &training);
    }
    let mut aliases = lookups::learn(&mut rules, &training, found, thresholds);
    if without.has(Stage::LookUps) {
        rules.aliases.clear();
        aliases = 0;
    }
    if without.has(Stage::Spans) {
        rules.local.clear();
    }
    counts.extend([("exceptions".to_owned(), exceptions), ("look-ups".to_owned(), aliases)]);
    if params.extend_to_domain {
        counts.insert("extended rules".to_owned(), extend::extend(&mut rules, &training, thresholds));
    }
    Outcome { rules, counts }
}

/// Learns one site with the given cuts.
fn learn_cut(training: Training, tokens: Tokens, params: &Params) -> Outcome {
    // Chance would take out the same scopes with each cut.
    let without = params.without.and(Stage::Chance);
    let params = Params { extend_to_domain: false, without, ..params.clone() };
    let prepared = prepare_cut(training, tokens, lines::Lines::default(), params);
    let energy = energy::walk(prepared.graph());
    finish(prepared, &energy)
}

/// Learns one site in plain code: the oracle of the dataflow.
pub fn learn(training: Training, params: &Params) -> Outcome {
    let prepared = prepare(training, params);
    let energy = energy::walk(prepared.graph());
    finish(prepared, &energy)
}
