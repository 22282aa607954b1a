//! The undust method, for URLs whose cuts are given: a function for each stage, from one state to the next.

use super::columns::Columns;
use super::covering::Covering;
use super::outcome::Outcome;
use super::reduced::Identity;
use super::relearn::Relearned;
use super::training::Training;
use super::{
    absence, chance, emit, energy, extend, feeds, forms, fronts, lines, lookups, mirrors, profile, reduced, relearn,
    scopes, select, small_operations, small_samples, tree,
};
use crate::model::{Count, Stage};
use crate::rules::types::SiteRules;
use crate::rules::{Params, Tokens};
use std::collections::BTreeMap;

/// A site whose URLs are columns, a key each.
#[derive(Debug)]
pub struct Tokenized {
    training: Training,
    columns: Columns,
    platforms: lines::Lines,
    params: Params,
}

/// A site after sequential covering: the rows that are left, and the rules that reduced them.
#[derive(Debug)]
pub struct Covered {
    training: Training,
    covering: Covering,
    /// Frequency of each key before the loop of the covering.
    frequencies: Vec<profile::keys::Frequency>,
    rules: SiteRules,
    counts: BTreeMap<Count, u64>,
    params: Params,
}

/// A site with the pattern tree over the rows that are left.
#[derive(Debug)]
pub struct WithTree {
    covered: Covered,
    tree: tree::Tree,
}

/// A site with its forms and the candidate rules between them: its state before the energy walk.
#[derive(Debug)]
pub struct Candidates {
    of: WithTree,
    forms: forms::Forms,
}

impl Tokenized {
    /// Cuts the URLs of a site by `tokens`. Lines of the catalogue of `platforms` will be tried first.
    pub fn new(training: Training, tokens: Tokens, platforms: lines::Lines, params: Params) -> Tokenized {
        let columns = Columns::new(&training, tokens, &params.thresholds);
        Tokenized { training, columns, platforms, params }
    }

    /// Runs sequential covering: operations on keys, adopted one by one.
    pub fn cover(self) -> Covered {
        let Tokenized { training, columns, platforms, params } = self;
        let mut counts = BTreeMap::new();
        counts.insert(Count::Urls, columns.len() as u64);
        let mut covering = Covering::new(columns, &params.thresholds);
        covering.without = params.without;
        if !params.without.has(Stage::Feeds) {
            covering.feeds = feeds::rows(&training, &covering.columns.tokens);
        }
        let frequencies = profile::keys::frequencies(&covering);
        (covering.lines, covering.provisional) = (platforms.placed, platforms.provisional);
        covering.run();
        counts.insert(Count::EvidenceTables, covering.tests);
        let mut rules = SiteRules {
            site: training.site.clone(),
            origins: training.origins.iter().cloned().collect(),
            tokens: covering.columns.tokens.clone(),
            label_noise_permille: covering.noise as u32,
            platforms: platforms.found,
            rules: emit::rules(&covering, &training),
            ..SiteRules::default()
        };
        lines::without_copies(&mut rules.rules);
        if !rules.platforms.is_empty() {
            counts.insert(Count::LinesOfPlatforms, covering.adopted_lines);
        }
        Covered { training, covering, frequencies, rules, counts, params }
    }
}

impl Covered {
    /// Grows the pattern tree over the rows that are left.
    pub fn grow_tree(mut self) -> WithTree {
        let tree = forms::tree(&self.covering);
        self.counts.insert(Count::TreeNodes, tree.nodes.len() as u64);
        WithTree { covered: self, tree }
    }
}

impl WithTree {
    /// Finds forms and the candidate rules between them; returns their graph, too.
    pub fn find_candidates(mut self) -> (energy::Graph, Candidates) {
        let Covered { covering, params, counts, .. } = &mut self.covered;
        let (without, thresholds) = (params.without, &params.thresholds);
        let least = match covering.is_small {
            true => [thresholds.min_clusters_form_small, small_operations::least_numbered(without, thresholds)],
            false => [0, thresholds.form_min_numbered],
        };
        let mut forms = forms::Forms::new(covering, &self.tree, least);
        if without.has(Stage::Forms) {
            forms.candidates.clear();
        }
        counts.extend([
            (Count::FormsFound, forms.list.len() as u64),
            (Count::PairsOfForms, forms.pairs),
            (Count::Candidates, forms.candidates.len() as u64),
        ]);
        (forms.graph(), Candidates { of: self, forms })
    }
}

impl Candidates {
    /// Profile of the training URLs, beside the rules.
    pub fn profile(&self) -> profile::Profile {
        let WithTree { covered: Covered { training, covering, frequencies, .. }, tree } = &self.of;
        profile::Profile {
            keys: profile::keys::profile(covering, frequencies),
            tree: profile::tree::profile(&covering.columns, tree),
            tree_nodes: tree.nodes.len() as u64,
            traps: profile::traps::find(training),
        }
    }

    /// Selects the rules between forms by the energies after the walk, one a vertex of the graph.
    pub fn select_rules(self, energy: &[u128]) -> Selected {
        let Candidates { of: WithTree { covered, tree }, mut forms } = self;
        let Covered { training, covering, mut rules, mut counts, params, .. } = covered;
        let columns = &covering.columns;
        let even = vec![1; if params.without.has(Stage::EnergyWalk) { energy.len() } else { 0 }];
        let moves = select::select(&mut forms, columns, if even.is_empty() { energy } else { &even });
        rules.rules.extend(moves.iter().map(|m| select::rule(&forms, columns, &tree, &training, m)));
        counts.insert(Count::Moves, moves.len() as u64);
        set_ids(&mut rules);
        Selected { training, covering, rules, counts, params }
    }
}

/// A site with the rules on keys and those between forms.
#[derive(Debug)]
pub struct Selected {
    training: Training,
    covering: Covering,
    rules: SiteRules,
    counts: BTreeMap<Count, u64>,
    params: Params,
}

impl Selected {
    /// Adds mirror rules, withdraws rules that hold by chance or show too little, joins the rest with an earlier
    /// result, and adds exceptions, look-ups and value ranges. All need the URLs as the rules reduce them, which take
    /// more memory than the rest of a site: so this is one stage, and no state between two stages holds them.
    pub fn refine_rules(mut self) -> Outcome {
        let found = self.find_mirrors();
        let found = self.withdraw_rules(found);
        let found = self.join_earlier(found);
        self.memorize(found);
        let Selected { training, mut rules, mut counts, params, .. } = self;
        if params.extend_to_domain {
            counts.insert(Count::ExtendedRules, extend::extend(&mut rules, &training, &params.thresholds));
        }
        Outcome { rules, counts }
    }

    /// Adds mirror rules; returns the URLs as the rules reduce them. Applying all rules to all URLs is the costliest
    /// step after the energy walk, so it is repeated only after a change of the rules.
    fn find_mirrors(&mut self) -> Vec<Identity> {
        let Selected { training, rules, params, .. } = self;
        let (without, thresholds) = (params.without, &params.thresholds);
        let without_fronts = without.has(Stage::Fronts) || without.has(Stage::Mirrors);
        let previous = training.hints.previous.as_deref();
        let setting = mirrors::Setting { noise: self.covering.noise, previous, without_fronts, thresholds };
        let fewer = if without_fronts { None } else { fronts::in_place_of_forms(rules, training, setting) };
        if let Some(fewer) = fewer {
            *rules = fewer;
        }
        let found = reduced::identities(rules, training);
        let mut mirrors = mirrors::learn(rules, reduced::reduced(&found, training), setting);
        if without.has(Stage::Mirrors) {
            mirrors.clear();
        }
        self.counts.insert(Count::MirrorRules, mirrors.len() as u64);
        if mirrors.is_empty() {
            return found;
        }
        rules.rules.extend(mirrors);
        set_ids(rules);
        reduced::identities(rules, training)
    }

    /// Withdraws or narrows rules that a small sample does not show, that chance explains, or that then join nothing;
    /// returns the URLs as the rules that are left reduce them.
    fn withdraw_rules(&mut self, mut found: Vec<Identity>) -> Vec<Identity> {
        let Selected { training, covering, rules, counts, params } = self;
        let (without, thresholds) = (params.without, &params.thresholds);
        if covering.is_small && !without.has(Stage::SmallSamples) {
            let changed = small_samples::withdraw(rules, training, covering) + absence::keep(rules, training, covering);
            if changed > 0 {
                set_ids(rules);
                counts.insert(Count::TooLittleToShow, changed);
                found = reduced::identities(rules, training);
            }
        }
        let narrowed = if without.has(Stage::Feeds) { 0 } else { feeds::narrow(rules, training, covering) };
        if narrowed > 0 {
            set_ids(rules);
            counts.insert(Count::KeptFromFeeds, narrowed);
            found = reduced::identities(rules, training);
        }
        if training.len() < thresholds.chance_most_rows && !without.has(Stage::Chance) {
            let changed = chance::withdraw(rules, training, covering);
            if changed > 0 {
                set_ids(rules);
                counts.insert(Count::ExplainedByChance, changed);
                found = reduced::identities(rules, training);
            }
        }
        let withdrawn_or_narrowed = [Count::TooLittleToShow, Count::KeptFromFeeds, Count::ExplainedByChance];
        let is_changed = withdrawn_or_narrowed.iter().any(|of| counts.contains_key(of));
        let idle = if is_changed { scopes::withdraw_idle(rules, training) } else { 0 };
        if idle > 0 {
            set_ids(rules);
            counts.insert(Count::JoinNothing, idle);
            found = reduced::identities(rules, training);
        }
        found
    }

    /// Joins the rules with those of an earlier result, if there is one; returns the URLs as the rules reduce them.
    fn join_earlier(&mut self, found: Vec<Identity>) -> Vec<Identity> {
        let Selected { training, rules, counts, params, .. } = self;
        let Some(relearned) = relearn::join(rules, training, &params.thresholds) else { return found };
        let Relearned { kept, refused, unmerged, unmoved } = relearned;
        let of_refused =
            [(Count::MoveTooManyUrls, refused), (Count::WouldMerge, unmerged), (Count::WouldMove, unmoved)];
        counts.extend((kept > 0).then_some((Count::Kept, kept)));
        counts.extend(of_refused.into_iter().filter(|of| refused > 0 && of.1 > 0));
        set_ids(rules);
        reduced::identities(rules, training)
    }

    /// Adds what is learned page by page: exceptions of rules, look-ups and value ranges.
    fn memorize(&mut self, mut found: Vec<Identity>) {
        let Selected { training, rules, counts, params, .. } = self;
        let (without, thresholds) = (params.without, &params.thresholds);
        let exceptions = match without.has(Stage::Exceptions) {
            true => 0,
            false => lookups::learn_exceptions(rules, training, &found, thresholds),
        };
        if exceptions > 0 {
            found = reduced::identities(rules, training);
        }
        lookups::learn(rules, training, found, thresholds);
        if without.has(Stage::LookUps) {
            rules.aliases.clear();
        }
        if without.has(Stage::ValueRanges) {
            rules.local.clear();
        }
        counts.extend([(Count::ExceptionPages, exceptions), (Count::Aliases, rules.aliases.len() as u64)]);
    }
}

/// Sets the ids of all rules.
fn set_ids(rules: &mut SiteRules) {
    for rule in &mut rules.rules {
        rule.id = crate::rules::file::rule_id(&rules.site, rule);
    }
}

/// Learns one site with the given tokenization.
pub fn learn_tokenized(training: Training, tokens: Tokens, params: &Params) -> Outcome {
    // Chance would take out the same scopes with each tokenization, and feeds are the same pages.
    let without = params.without.and(Stage::Chance).and(Stage::Feeds);
    let params = Params { extend_to_domain: false, without, ..params.clone() };
    let tokenized = Tokenized::new(training, tokens, lines::Lines::default(), params);
    let (graph, candidates) = tokenized.cover().grow_tree().find_candidates();
    candidates.select_rules(&energy::walk(&graph)).refine_rules()
}
