//! Rules for which a small sample has too little evidence, withdrawn once all are there;
//! [`small_operations`](super::small_operations) refuses operations before.
//!
//! A sample of whole clusters holds every right merge of its clusters, but a wrong one only where it
//! holds two of the clusters that a rule joins: of a tenth of a site, one pair in a hundred. A rule
//! without counter-evidence is therefore hardly proven there. Such a sample does show where a rule acts
//! and joins nothing. Of a session id nearly every cluster has a URL without it, or with another one;
//! of the language of a manual most clusters hold one, and only the untranslated pages hold several.
//! Four tests follow from that:
//! - of the clusters in which a rule acts, most must show that it is right ([`withdraw`]);
//! - a parameter whose numbers each lead to one cluster (`?post=7127`) needs more clusters than others
//!   to be left out (`names_clusters` of `small_operations.rs`): one of ten posts is on another page of its
//!   topic, and ten topics of one page do not show it. So does one that says what a program does (`action=`), each
//!   value of which may be a page, and the length of a list. Rules between forms ask the same of fewer clusters
//!   in any sample;
//! - so does a parameter whose name is that of the order, place or length of a list ([`shows_too_little`]):
//!   lists of one entry say nothing of the others. Nor do several values that show the same as none
//!   ([`undecided`]): one is the default. One wrong merge of `small_wrong_of_lists` is too many for it. Languages taken
//!   for others ask the same ([`keep_locales`]);
//! - the first test is repeated for each script of a program ([`scripts`](super::scripts)).
//!
//! [`absence`](super::absence) keeps parameters without which no page was met, and [`feeds`](super::feeds) rules on the
//! origin from feeds that are mostly met on one.
//!
//! Measured by `scripts/accept samples`: 132 samples of 50 to 500 URLs in whole clusters, of eleven
//! corpora; on the URLs that took no part, samples in which recall is under .995 or over .005 of the
//! merged URLs are wrong, mean saved share, mean recall at 500 URLs. Without this module: 42, .539, .9888;
//! with it: 23, .500, .9977; earlier, with clusters of two URLs or more 25, .504, .9967, with those of
//! one counted 23, .501, .9979: but in a crawl that lost half of its URLs most clusters of two have one
//! left, which is no evidence. With the third test 21, .488. The figures of the other thresholds (`small_*`) are
//! without it, and with clusters of one URL.

use super::columns::Columns;
use super::covering::Covering;
use super::operations::{is_of_lists_or_versions as is_on_lists_or_versions, is_tracker};
use super::points::{Reader, Values};
use super::profile::names::{is_flag, is_length, is_locale, is_of_lists, is_of_lists_or_versions, is_place};
use super::random_tokens::are_random;
use super::scripts::{Script, Shown, keep_to_shown};
use super::small_operations::are_flags;
use super::{Thresholds, Training};
use crate::rules::twins::below;
use crate::rules::{
    Constraint, Function, Kind, Operation, Representative, Rule, RuleSet, SECTION, Scratch, SiteRules, Test,
};
use crate::url::{Fixed, Key, NormalUrl, Part, section};
use foldhash::fast::FixedState;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Removes rules with too little evidence, parts of others, and what [`withdraw_silent`] does; returns how many rules
/// it removed and narrowed.
///
/// Rules on lists and versions are asked again once scripts that show nothing are left out, however many clusters show
/// them: that hundreds of files did not change says nothing of those that did.
///
/// O(rules x rules taken out x rows of the sample).
pub fn withdraw(rules: &mut SiteRules, training: &Training, covering: &Covering) -> u64 {
    let thresholds = &covering.thresholds;
    let before = rules.rules.len();
    let undecided = undecided(rules);
    let is_switch = |key: &Key| is_switch(&covering.columns, key);
    rules.rules.retain(|rule| !shows_too_little(rule, &undecided, &is_switch, thresholds));
    let mut changed = (before - rules.rules.len()) as u64;
    let keep = |rule: &mut Rule| u64::from(keep_first_pages(rule)) + u64::from(keep_locales(rule, thresholds));
    changed += rules.rules.iter_mut().map(keep).sum::<u64>();
    rules.rules.retain(|rule| !rule.operations.is_empty());
    changed += withdraw_silent(rules, training, covering, (|_| true, thresholds.small_sure));
    changed += keep_to_scripts(rules, training, covering);
    changed + withdraw_silent(rules, training, covering, (is_on_lists_or_versions, usize::MAX))
}

/// Removes the rules that act without evidence in more clusters than `small_shown` allows, worst first, each time with
/// the others as they are then, of those that are asked and that fewer than `most` clusters show. Returns how many it
/// removed.
///
/// Exempt are constant pages; rules with a prior or from the catalogue of platforms; rules on the
/// origin and on parts that servers ignore, since the address of a fetch is chance; and rules on random
/// tokens: where every link has a session, a page met once has one.
fn withdraw_silent(
    rules: &mut SiteRules,
    training: &Training,
    covering: &Covering,
    (is_asked, most): (fn(&Rule) -> bool, usize),
) -> u64 {
    let times = covering.thresholds.small_shown;
    let mut withdrawn = 0;
    loop {
        let mut asked = (0..rules.rules.len())
            .filter(|&at| is_asked(&rules.rules[at]) && !is_exempt(&rules.rules[at], covering))
            .peekable();
        if asked.peek().is_none() {
            return withdrawn;
        }
        let sample = Sample::new(rules, training);
        let worst = asked
            .map(|at| (sample.counts(rules, training, at), at))
            .filter(|&((shown, silent), _)| shown < most && silent * times > shown)
            // The largest share of clusters that show nothing; of equals the one that comes first.
            .min_by(|&((s, t), at), &((u, v), of)| (v * (s + t)).cmp(&(t * (u + v))).then(at.cmp(&of)));
        let Some((_, at)) = worst else { return withdrawn };
        rules.rules.remove(at);
        withdrawn += 1;
    }
}

/// Leaves [scripts](super::scripts) that show nothing out of the scopes of rules, all counted with the others as they
/// are; returns how many rules it changed.
fn keep_to_scripts(rules: &mut SiteRules, training: &Training, covering: &Covering) -> u64 {
    let keys: Vec<String> = covering.scripts.iter().map(|&key| covering.columns.keys[key].to_string()).collect();
    if keys.is_empty() {
        return 0;
    }
    let sample = Sample::new(rules, training);
    let kept = |at: usize| {
        let counts = |key: &String| sample.counts_by_script(rules, training, at, Some(key));
        let keep = |key: &String| keep_to_shown(&rules.rules[at], key, &counts(key), &covering.thresholds);
        (!is_exempt(&rules.rules[at], covering)).then(|| keys.iter().find_map(keep)).flatten()
    };
    let kept: Vec<(usize, Rule)> = (0..rules.rules.len()).filter_map(|at| Some((at, kept(at)?))).collect();
    let changed = kept.len() as u64;
    kept.into_iter().for_each(|(at, rule)| rules.rules[at] = rule);
    changed
}

/// Takes places beyond the first page out of the values that a rule takes for others; true where it has some. A second
/// page that is the first is that of a short list.
fn keep_first_pages(rule: &mut Rule) -> bool {
    let mut found = false;
    for (key, operation) in rule.operations.iter_mut().filter(|_| rule.line.is_none()) {
        let Operation::Classes(pairs) = operation else { continue };
        if Key::parse(key).is_some_and(|key| is_place(&key)) {
            let before = pairs.len();
            pairs.retain(|(from, _)| matches!(from.as_deref(), None | Some("" | "0" | "1")));
            found |= pairs.len() < before;
        }
    }
    rule.operations.retain(|(_, operation)| !matches!(operation, Operation::Classes(pairs) if pairs.is_empty()));
    found
}

/// Takes languages and countries that a rule takes for others out of its values where too few clusters show it; true
/// where it has some. Pages that nobody translated are the same in each language, and say nothing of the others.
fn keep_locales(rule: &mut Rule, thresholds: &Thresholds) -> bool {
    if rule.line.is_some() || rule.evidence.clusters >= thresholds.small_min_of_lists {
        return false;
    }
    let is_locale = |value: &Option<String>| value.as_ref().is_some_and(|value| is_locale(value.as_bytes()));
    let mut found = false;
    for (_, operation) in &mut rule.operations {
        let Operation::Classes(pairs) = operation else { continue };
        let before = pairs.len();
        pairs.retain(|(from, to)| !is_locale(from) || !is_locale(to));
        found |= pairs.len() < before;
    }
    rule.operations.retain(|(_, operation)| !matches!(operation, Operation::Classes(pairs) if pairs.is_empty()));
    found
}

/// Parameters of the order or length [of lists](is_of_lists), of languages or of values that switch something on or
/// off, of which rules take more than one value for another: where a list is short, a page not translated or a switch
/// moves nothing, each shows the same, and the default is one.
fn undecided(rules: &SiteRules) -> BTreeSet<String> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (key, operation) in rules.rules.iter().filter(|rule| rule.line.is_none()).flat_map(|rule| &rule.operations) {
        if let Operation::Classes(pairs) = operation {
            let taken = pairs.iter().filter_map(|(from, _)| from.as_deref()).filter(|value| !value.is_empty());
            values.entry(key).or_default().extend(taken);
        }
    }
    let is_of_lists = |key: &str| Key::parse(key).is_some_and(|key| is_of_lists(&key) && !is_place(&key));
    let are_choices = |values: &BTreeSet<&str>| {
        let all = |is: fn(&[u8]) -> bool| values.iter().all(|value| is(value.as_bytes()));
        all(is_locale) || all(is_flag)
    };
    values.retain(|key, values| values.len() > 1 && (is_of_lists(key) || are_choices(values)));
    values.into_keys().map(str::to_owned).collect()
}

/// True where too few clusters show a rule that takes away a parameter [of lists or versions](is_of_lists_or_versions)
/// or a [switch](is_switch), whatever its value, or one of its repeats, values of an [undecided] one or of the length
/// of a list, a language, or a part of the path that is no number: others were hardly met. Lists longer than all
/// lengths are few, so lengths need as many clusters as numbers that each lead to one cluster, but for one that may be
/// the usual one; and so do switches, most of which move nothing on most pages.
fn shows_too_little(
    rule: &Rule,
    undecided: &BTreeSet<String>,
    is_switch: &dyn Fn(&Key) -> bool,
    thresholds: &Thresholds,
) -> bool {
    let clusters = rule.evidence.clusters;
    if clusters < thresholds.min_clusters as u64 || rule.line.is_some() {
        return false;
    }
    let are_few = |key: &Key| match is_length(key) || is_switch(key) {
        true => clusters < thresholds.small_min_numbered,
        false => clusters < thresholds.small_min_of_lists,
    };
    let is_alone = rule.operations.len() == 1;
    let is_text = |key: &Key| key.as_path().is_some_and(|(_, part)| part != Part::Number);
    let is_taken = |(key, operation): &(String, Operation)| {
        let Some(key) = Key::parse(key) else { return false };
        match operation {
            Operation::Apply(Function::FirstRepeat | Function::LastRepeat) => are_few(&key),
            Operation::Classes(_) if undecided.contains(&key.to_string()) => are_few(&key),
            // Links that write out all defaults have that of the length among them.
            Operation::Classes(_) => is_alone && is_length(&key) && clusters < thresholds.small_min_of_lists,
            Operation::Ignore(Representative::LeftOut) => {
                are_few(&key) && (is_of_lists_or_versions(&key) || is_switch(&key))
            }
            Operation::Ignore(Representative::WherePresent(value) | Representative::Everywhere(value)) => {
                are_few(&key) && (is_locale(value.as_bytes()) || is_text(&key))
            }
            _ => false,
        }
    };
    let is_left = |of: &&Constraint| {
        let is_any = of.test.needs_key() && !matches!(of.test, Test::Equals(_));
        rule.closed && is_any && rule.operations.iter().all(|operation| operation.0 != of.key)
    };
    let mut left = rule.scope.iter().filter(is_left).filter_map(|of| Key::parse(&of.key));
    rule.operations.iter().any(is_taken) || left.any(|key| are_few(&key) && is_of_lists_or_versions(&key))
}

/// True for a parameter of which most values, two at least, switch something on or off, and whose name is none of a
/// tracker. O(values).
fn is_switch(columns: &Columns, key: &Key) -> bool {
    let at = || columns.keys.iter().position(|of| of == key);
    key.optional() && !is_tracker(key) && at().is_some_and(|key| are_flags(columns, key))
}

/// The clusters of the labelled rows, and the canonical URLs that the rules give them.
struct Sample {
    rows: Vec<(u32, NormalUrl)>,
    /// URLs of each cluster.
    urls: HashMap<u32, usize, FixedState>,
    /// Canonical URLs of each cluster.
    pieces: HashMap<u32, usize, FixedState>,
    /// The values of each canonical URL, by key.
    values: Vec<Values>,
}

impl Sample {
    fn new(rules: &SiteRules, training: &Training) -> Sample {
        let (rows, values) = (canonical(rules, training), values(rules, training));
        let mut urls = HashMap::default();
        rows.iter().for_each(|(cluster, _)| *urls.entry(*cluster).or_insert(0) += 1);
        Sample { urls, pieces: pieces(&rows), rows, values }
    }

    /// Clusters that are in more pieces without the rule at `at`, and the others in which it acts, or whose
    /// URLs have the value that it gives or lie in the directory to which it moves another one beside it.
    /// Clusters of one URL are not evidence and do not count.
    fn counts(&self, rules: &SiteRules, training: &Training, at: usize) -> (usize, usize) {
        self.counts_by_script(rules, training, at, None).into_values().next().unwrap_or_default()
    }

    /// [`counts`](Self::counts) by the values of a key when it is the rule's turn; without one of all URLs together.
    fn counts_by_script(
        &self,
        rules: &SiteRules,
        training: &Training,
        at: usize,
        key: Option<&str>,
    ) -> BTreeMap<Script, Shown> {
        let mut others = SiteRules { aliases: Vec::new(), local: Vec::new(), ..rules.clone() };
        let rule = others.rules.remove(at);
        let rows = canonical(&others, training);
        let without = pieces(&rows);
        let targets = targets(&rule);
        let has = |(key, values): &(&str, Vec<&str>), at: usize| {
            self.values[at].get(*key).is_some_and(|value| values.iter().any(|target| target.as_bytes() == value))
        };
        // Of two directories beside each other, pages of one alone are as silent as pages of the other.
        let beside = rule.mirror().filter(|(from, to)| depth(from) == depth(to)).map(|(_, to)| to);
        let is_twin = |at: usize| beside.is_some_and(|to| below(self.rows[at].1.as_bytes(), to.as_bytes()).is_some());
        let acts = |&at: &usize| {
            self.rows[at] != rows[at]
                || is_twin(at)
                || targets.iter().any(|target| has(target, at)) && is_in_scope(&rule, &self.values[at])
        };
        let several = |at: &usize| self.urls[&rows[*at].0] > 1;
        let turn = key.map(|_| values(&SiteRules { rules: rules.rules[..at].to_vec(), ..others.clone() }, training));
        let script = |at: usize| turn.as_ref().zip(key).and_then(|(turn, key)| turn[at].get(key).cloned());
        let clusters: BTreeSet<(Script, u32)> =
            (0..rows.len()).filter(several).filter(acts).map(|at| (script(at), rows[at].0)).collect();
        let mut out: BTreeMap<Script, Shown> = BTreeMap::new();
        for (script, cluster) in clusters {
            let (shown, silent) = out.entry(script).or_default();
            *(if without[&cluster] > self.pieces[&cluster] { shown } else { silent }) += 1;
        }
        out
    }
}

/// Cluster and canonical URL of each labelled row.
fn canonical(rules: &SiteRules, training: &Training) -> Vec<(u32, NormalUrl)> {
    let set = RuleSet::new(vec![rules.clone()]);
    let mut scratch = Scratch::default();
    let labelled = (0..training.len()).filter(|&row| training.clusters[row] != u32::MAX);
    let mut apply =
        |row: usize| NormalUrl::new(set.apply_normal(training.normal(row)?, Some(0), &mut scratch).url).ok();
    labelled.filter_map(|row| Some((training.clusters[row], apply(row)?))).collect()
}

/// The values of the canonical URL of each labelled row, by key.
fn values(rules: &SiteRules, training: &Training) -> Vec<Values> {
    let mut reader = Reader::new(&rules.tokens);
    canonical(rules, training).iter().map(|(_, url)| reader.values(url.by_ref())).collect()
}

fn pieces(rows: &[(u32, NormalUrl)]) -> HashMap<u32, usize, FixedState> {
    let distinct: HashSet<(u32, &[u8]), FixedState> =
        rows.iter().map(|(cluster, url)| (*cluster, url.as_bytes())).collect();
    let mut out = HashMap::default();
    distinct.into_iter().for_each(|(cluster, _)| *out.entry(cluster).or_insert(0) += 1);
    out
}

/// The values that a rule gives in place of others: a cluster with only these is no evidence.
fn targets(rule: &Rule) -> Vec<(&str, Vec<&str>)> {
    rule.operations
        .iter()
        .map(|(key, operation)| {
            let values = match operation {
                Operation::Ignore(Representative::WherePresent(value) | Representative::Everywhere(value)) => {
                    vec![value.as_str()]
                }
                Operation::Classes(pairs) => pairs.iter().filter_map(|pair| pair.1.as_deref()).collect(),
                _ => Vec::new(),
            };
            (key.as_str(), values)
        })
        .collect()
}

/// Slashes of a front.
fn depth(front: &str) -> usize {
    front.matches('/').count()
}

/// True where the scope of a rule may hold for a URL whose values these are after it: by the keys that
/// the rule leaves as they are, sections left aside.
fn is_in_scope(rule: &Rule, values: &Values) -> bool {
    let is_kept = |key: &str| key != SECTION && rule.operations.iter().all(|(changed, _)| changed != key);
    let mut scope = rule.scope.iter().filter(|constraint| is_kept(&constraint.key));
    scope.all(|Constraint { key, test }| test.holds(values.get(key).map(Vec::as_slice)))
}

fn is_exempt(rule: &Rule, Covering { columns, thresholds, .. }: &Covering) -> bool {
    let is_page = rule.evidence.clusters < thresholds.min_clusters as u64;
    // The prior of values that other programs do not have says nothing of the pages that stay silent.
    let has_prior = rule.evidence.prior > 0 && rule.kind != Kind::Classes;
    if is_page || has_prior || rule.line.is_some() {
        return true;
    }
    if let Some((from, to)) = rule.mirror() {
        return section::path(from.as_bytes()) == section::path(to.as_bytes());
    }
    let key = |(text, _): &(String, Operation)| Key::parse(text);
    rule.operations.iter().filter_map(key).all(|key| {
        key.as_path().is_none() && !key.optional() && !key.is(Fixed::DEPTH)
            || columns.column(&key).is_some_and(|column| are_random(columns, column, thresholds))
    })
}
