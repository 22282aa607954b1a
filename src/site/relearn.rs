//! An earlier result (`learn --previous`) and what was learned now, as one set of rules.
//!
//! Whoever passes an earlier result has stored its canonical URLs. The records of two runs show the same pages to be
//! equal, and other rules can say so: which is found first depends on counts. And a rule that is new may be right and
//! still move far more URLs than it merges: that `%3A` may be written `:` merges the few pages that were met both
//! ways, and gives each of the others another address.
//!
//! So the rules of the earlier result come first, without those that merge wrongly what the new ones do not. The new
//! ones come beside them: those that merge and move nothing, then, until as much is merged as the new ones merge alone,
//! those that move few for each that they merge. A rule of the earlier result without which nothing gets worse goes: no
//! record shows it now, or a new one says the same. Where the new rules alone merge so much more that it is worth what
//! they move, they stand alone.
//!
//! A URL moves if its group of duplicates is the same set as under the earlier rules, and its canonical URL is another
//! ([`effects`](super::effects)). Where records redirect or declare another origin, rules on the origin are those of
//! this run.

use super::effects::{Effect, Effects};
use super::{Thresholds, Training};
use crate::rules::{Kind, Rule, SiteRules, Test};

/// Rules of the earlier result that are looked at, the first ones: a bound of work. Where more rules are new, these
/// stand alone. No site of the public corpora has half of it.
const MOST: usize = 256;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relearned {
    /// Rules of the earlier result that this run did not find.
    pub kept: u64,
    /// New rules that merge, and move too many URLs for that.
    pub refused: u64,
}

/// Joins the rules of the earlier result with those that were learned; `None` where the latter stay as they are.
///
/// O([`MOST`] x rows x rules).
pub fn join(rules: &mut SiteRules, training: &Training, thresholds: &Thresholds) -> Option<Relearned> {
    let previous = training.hints.previous.as_deref()?;
    let effects = Effects::new(previous, training);
    let runs = Runs { effects, training, thresholds, previous, new: rules };
    let alone = runs.judged(rules.rules.clone());
    let earlier = runs.earlier(&alone);
    let new: Vec<&Rule> = rules.rules.iter().filter(|rule| !contains(&earlier.rules, rule)).collect();
    if new.len() > MOST {
        return None;
    }
    let (both, refused) = runs.with_new(earlier, &new, &alone);
    let (more, less) = (&alone.effect, &both.effect);
    let merges_more = more.merges() > less.merges() && more.is_mostly_right_beside(less);
    if merges_more && runs.is_worth(more, less, true) {
        return None;
    }
    rules.rules = runs.without_needless(both).rules;
    let kept = rules.rules.iter().filter(|rule| !contains(&alone.rules, rule)).count() as u64;
    Some(Relearned { kept, refused })
}

/// The rules with another one: among those of its kind, behind the rules before it in `order` that are here.
fn with(rules: &[Rule], rule: &Rule, order: &[Rule]) -> Vec<Rule> {
    let first = |is_there: fn(u8, u8) -> bool| {
        let place = rules.iter().position(|of| is_there(turn(of.kind), turn(rule.kind)));
        place.unwrap_or(rules.len())
    };
    let (start, end) = (first(|of, own| of >= own), first(|of, own| of > own));
    let before = order.iter().take_while(|of| !is_same(of, rule));
    let known = before.filter_map(|of| rules.iter().position(|here| is_same(here, of))).max();
    let mut out = rules.to_vec();
    out.insert(known.map_or(start, |known| (known + 1).clamp(start, end)), rule.clone());
    out
}

/// Rules of a site are applied in this order of their kinds.
fn turn(kind: Kind) -> u8 {
    match kind {
        Kind::Ignore | Kind::Classes | Kind::Function => 0,
        Kind::Form | Kind::ConstantPage => 1,
        Kind::Mirror => 2,
    }
}

fn contains(rules: &[Rule], rule: &Rule) -> bool {
    rules.iter().any(|of| is_same(of, rule))
}

/// True for rules that do the same to the same URLs, whatever their evidence.
fn is_same(one: &Rule, other: &Rule) -> bool {
    one.scope == other.scope && one.operations == other.operations
}

/// The rules of two runs, and what they are judged by.
struct Runs<'t> {
    effects: Effects<'t>,
    training: &'t Training,
    thresholds: &'t Thresholds,
    previous: &'t SiteRules,
    new: &'t SiteRules,
}

/// Rules with what they do.
struct Judged {
    rules: Vec<Rule>,
    effect: Effect,
}

impl Runs<'_> {
    fn judged(&self, rules: Vec<Rule>) -> Judged {
        let rules = SiteRules { rules, ..self.new.clone() };
        let effect = self.effects.of(&rules);
        Judged { rules: rules.rules, effect }
    }

    /// The rules of the earlier result that hold here, in their order.
    fn earlier(&self, alone: &Judged) -> Judged {
        let is_led = self.training.hints.targets.iter().next().is_some();
        let is_of_origin = |rule: &Rule| rule.operations.iter().all(|(key, _)| key == "host" || key == "scheme");
        // The catalogue and the records decide on these in each run.
        let is_decided_anew = |rule: &Rule| rule.line.is_some() || rule.provisional || is_led && is_of_origin(rule);
        let is_new = |rule: &Rule| contains(&alone.rules, rule);
        let mut rules: Vec<Rule> = self.previous.rules.iter().take(MOST).cloned().collect();
        // So do they on whether a rule acts on hosts that no record has.
        rules.iter_mut().for_each(|rule| rule.extended = false);
        rules.retain(|rule| !is_decided_anew(rule) || is_new(rule));
        for rule in alone.rules.iter().filter(|rule| is_decided_anew(rule)) {
            if !contains(&rules, rule) {
                rules = with(&rules, rule, &alone.rules);
            }
        }
        let all = self.judged(rules);
        let are_general = all.rules.iter().all(|rule| is_new(rule) || !excepts(rule));
        if are_general && all.effect.is_as_right_as(&alone.effect, &alone.effect) {
            return all;
        }
        let (known, unknown): (Vec<Rule>, Vec<Rule>) = all.rules.iter().cloned().partition(is_new);
        let mut kept = self.judged(known);
        for rule in unknown {
            let with = self.judged(with(&kept.rules, &rule, &all.rules));
            if with.effect.is_as_right_as(&kept.effect, &alone.effect) && self.is_general(&rule, &kept, &all.rules) {
                kept = with;
            }
        }
        kept
    }

    /// True for a rule that merges as much rightly as wrongly where it excepts no values: with enough of them named,
    /// any rule would hold on the others.
    fn is_general(&self, rule: &Rule, others: &Judged, order: &[Rule]) -> bool {
        if !excepts(rule) {
            return true;
        }
        let mut general = rule.clone();
        general.scope.retain(|constraint| !matches!(constraint.test, Test::Not(_)));
        for constraint in general.scope.iter_mut().filter(|constraint| names_exceptions(&constraint.test)) {
            constraint.test = Test::Present;
        }
        let mut rules = with(&others.rules, rule, order);
        let place = rules.iter_mut().find(|of| is_same(of, rule));
        *place.expect("the rule was put there") = general;
        self.judged(rules).effect.is_mostly_right_beside(&others.effect)
    }

    /// Rules of the earlier result with new ones, and how many of these move too many URLs: first those that move none,
    /// then others until as much is merged as by all new rules `alone`.
    fn with_new(&self, earlier: Judged, new: &[&Rule], alone: &Judged) -> (Judged, u64) {
        let (mut both, mut refused) = (earlier, 0);
        for may_move in [false, true] {
            refused = 0;
            for rule in new {
                let is_enough = may_move && both.effect.merges() >= alone.effect.merges();
                if is_enough || contains(&both.rules, rule) {
                    continue;
                }
                let with = self.judged(with(&both.rules, rule, &alone.rules));
                // What the new rules merge wrongly, the proof narrows.
                let is_right = with.effect.is_as_right_as(&both.effect, &alone.effect)
                    && with.effect.is_mostly_right_beside(&both.effect);
                if is_right && with.effect.merges() > both.effect.merges() {
                    match self.is_worth(&with.effect, &both.effect, may_move) {
                        true => both = with,
                        false => refused += 1,
                    }
                }
            }
        }
        (both, refused)
    }

    /// The rules without those of the earlier result alone that nothing gets worse without, the last ones first.
    fn without_needless(&self, mut rules: Judged) -> Judged {
        for at in (0..rules.rules.len()).rev() {
            if !contains(&self.new.rules, &rules.rules[at]) {
                let mut fewer = rules.rules.clone();
                fewer.remove(at);
                let fewer = self.judged(fewer);
                if fewer.effect.is_no_worse_than(&rules.effect) {
                    rules = fewer;
                }
            }
        }
        rules
    }

    /// Whether what rules merge beyond others is worth what they move beyond them.
    fn is_worth(&self, with: &Effect, without: &Effect, may_move: bool) -> bool {
        let free = self.thresholds.moved_free_permille * self.training.len() as u64;
        let moves = with.moves_beyond(without) as u64;
        let merges = (with.merges() - without.merges()).max(0) as u64;
        let is_enough = || may_move && moves * 100 <= merges * self.thresholds.moved_percent;
        with.moved() as u64 * 1_000 <= free || moves == 0 || is_enough()
    }
}

/// True for a test that holds but for the values that it names. The empty value is none of these: that a parameter is
/// filled is a condition that any rule may have.
fn names_exceptions(test: &Test) -> bool {
    match test {
        Test::NoneOf(values) => *values != [""],
        test => matches!(test, Test::Not(_)),
    }
}

fn excepts(rule: &Rule) -> bool {
    rule.scope.iter().any(|constraint| names_exceptions(&constraint.test))
}
