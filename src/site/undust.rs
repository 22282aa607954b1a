//! The undust method, for URLs whose cuts are given: before the energy walk and after it.

use super::columns::Columns;
use super::covering::Covering;
use super::outcome::{MOVES, Outcome};
use super::training::Training;
use super::{
    chance, energy, extend, forms, fronts, lines, lookups, lower, mirrors, moves, profile, reduced, select,
    small_operations, small_samples, tree,
};
use crate::rules::types::SiteRules;
use crate::rules::{Params, Stage, Tokens};
use std::collections::BTreeMap;

/// The state of the undust method before the energy walk.
#[derive(Debug)]
pub struct Candidates {
    pub(super) training: Training,
    pub(super) covering: Covering,
    /// Frequency of each key before the loop of the covering.
    pub(super) met: Vec<profile::keys::Met>,
    pub(super) tree: tree::Tree,
    pub(super) forms: forms::Forms,
    pub(super) rules: SiteRules,
    pub(super) counts: BTreeMap<String, u64>,
    pub(super) params: Params,
}

/// Runs the undust method up to the energy walk with the given cuts and lines of the catalogue of platforms.
pub fn prepare(
    training: Training,
    tokens: Tokens,
    platforms: lines::Lines,
    params: Params,
) -> (energy::Graph, Candidates) {
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
        true => [thresholds.min_clusters_form_small, small_operations::least_numbered(without, thresholds)],
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
    (graph, state)
}

/// Runs everything of the method after the energy walk, from its energies (one a vertex of the graph).
pub fn finish(state: Candidates, energy: &[u128]) -> Outcome {
    let Candidates { training, covering, tree, mut forms, mut rules, mut counts, params, .. } = state;
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
    let mut found = reduced::identities(&rules, &training);
    let mut mirrors = mirrors::learn(&rules, reduced::reduced(&found, &training), setting);
    if without.has(Stage::Mirrors) {
        mirrors.clear();
    }
    counts.insert("mirrors".to_owned(), mirrors.len() as u64);
    if !mirrors.is_empty() {
        rules.rules.extend(mirrors);
        set_ids(&mut rules);
        found = reduced::identities(&rules, &training);
    }
    if covering.is_small && !without.has(Stage::SmallSamples) {
        let withdrawn = small_samples::withdraw(&mut rules, &training, &covering);
        if withdrawn > 0 {
            counts.insert("rules with too little to show".to_owned(), withdrawn);
            found = reduced::identities(&rules, &training);
        }
    }
    if training.len() < thresholds.chance_most_rows && !without.has(Stage::Chance) {
        let changed = chance::withdraw(&mut rules, &training, &covering);
        if changed > 0 {
            set_ids(&mut rules);
            counts.insert("rules that chance explains".to_owned(), changed);
            found = reduced::identities(&rules, &training);
        }
    }
    let withdrawn = moves::withdraw(&mut rules, &training, thresholds);
    if withdrawn > 0 {
        counts.insert(MOVES.to_owned(), withdrawn);
        found = reduced::identities(&rules, &training);
    }
    let exceptions = match without.has(Stage::Exceptions) {
        true => 0,
        false => lookups::learn_exceptions(&mut rules, &training, &found, thresholds),
    };
    if exceptions > 0 {
        found = reduced::identities(&rules, &training);
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
pub fn learn_cut(training: Training, tokens: Tokens, params: &Params) -> Outcome {
    // Chance would take out the same scopes with each cut.
    let without = params.without.and(Stage::Chance);
    let params = Params { extend_to_domain: false, without, ..params.clone() };
    let (graph, state) = prepare(training, tokens, lines::Lines::default(), params);
    let energy = energy::walk(&graph);
    finish(state, &energy)
}
