//! An earlier result (`learn --previous`) and what was learned now, as one set of rules.
//!
//! Whoever passes an earlier result has stored its canonical URLs. The records of two runs show the same pages to be
//! equal, and other rules can say so: which is found first depends on counts. And a rule that is new may be right and
//! still move far more URLs than it merges: that `%3A` may be written `:` merges the few pages that were met both
//! ways, and gives each of the others another address.
//!
//! So the rules of the earlier result come first, without those that merge more wrongly than the new ones do and wrong
//! labels explain. The new ones come beside them: those that merge and move nothing, and sessions, whatever they
//! move; then, until as much is merged as the new ones merge alone, those that merge most for each that they move, as
//! long as no more of the URLs of the site move than [`Thresholds::moved_permille`] says. A rule of the earlier result
//! without which as much is merged goes: no record shows it now, or a new one says the same. Where the new rules alone
//! merge more and move no more than that, they stand alone.
//!
//! A URL moves if its group of duplicates is the same set as under the earlier rules, and its canonical URL is another
//! ([`effects`](super::effects)); so do those that an earlier look-up leads to its page. Where records redirect or
//! declare another origin, rules on the origin are those of this run.

use super::effects::{Effect, Effects};
use super::evidence::Bound;
use super::operations::is_tracker;
use super::{Thresholds, Training};
use crate::rules::{Kind, Operation, Representative, Rule, SiteRules, Test};
use crate::url::Key;
use std::cmp::Reverse;

/// Rules of the earlier result that are looked at, the first ones: a bound of work. Where more rules are new, these
/// stand alone. No site of the public corpora has half of it.
const MOST: usize = 128;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relearned {
    /// Rules of the earlier result that this run did not find.
    pub kept: u64,
    /// New rules that merge, and move too many URLs.
    pub refused: u64,
    /// Right merges that the new rules make alone, beyond those of the rules that were taken.
    pub unmerged: u64,
    /// URLs that the new rules move alone, beyond those that move by the rules that were taken.
    pub unmoved: u64,
}

/// Joins the rules of the earlier result with those that were learned; `None` where the latter stay as they are.
///
/// O([`MOST`] x rows x rules).
pub fn join(rules: &mut SiteRules, training: &Training, thresholds: &Thresholds) -> Option<Relearned> {
    let previous = training.hints.previous.as_deref().filter(|previous| !previous.rules.is_empty())?;
    let effects = Effects::new(previous, training);
    let runs = Runs { effects, training, thresholds, previous, new: rules };
    let alone = runs.judged(rules.rules.clone());
    let earlier = runs.earlier(&alone);
    let new: Vec<&Rule> = rules.rules.iter().filter(|rule| !contains(&earlier.rules, rule)).collect();
    if new.len() > MOST {
        return None;
    }
    let (free, moving) = runs.with_free(earlier, &new, &alone);
    let may_be_alone = runs.may_move(&alone.effect, &free.effect);
    let (both, refused) = runs.with_moving(free, moving, &alone);
    let (more, less) = (&alone.effect, &both.effect);
    if more.merges() > less.merges() && more.is_mostly_right_beside(less) && may_be_alone {
        return None;
    }
    let unmerged = u64::try_from(more.merges() - less.merges()).unwrap_or(0);
    let unmoved = more.moves_beyond(less) as u64;
    rules.rules = runs.without_needless(both).rules;
    let kept = rules.rules.iter().filter(|rule| !contains(&alone.rules, rule)).count() as u64;
    Some(Relearned { kept, refused, unmerged, unmoved })
}

/// The rules with another one: among those of its kind, behind the rules before it in `order` that are here.
fn inserted(rules: &[Rule], rule: &Rule, order: &[Rule]) -> Vec<Rule> {
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
    one.scope == other.scope && one.operations == other.operations && one.closed == other.closed
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
        let is_own = |origin: &[u8]| self.training.origins.iter().any(|of| of.as_bytes() == origin);
        let is_led = self.training.hints.targets.iter().any(|(origin, _)| is_own(origin));
        let is_of_origin = |rule: &Rule| rule.operations.iter().all(|(key, _)| key == "host" || key == "scheme");
        // The catalogue and the records decide on these in each run.
        let is_decided_anew = |rule: &Rule| rule.line.is_some() || rule.provisional || is_led && is_of_origin(rule);
        let is_new = |rule: &Rule| contains(&alone.rules, rule);
        let mut rules: Vec<Rule> = Vec::new();
        for rule in self.previous.rules.iter().take(MOST) {
            if !contains(&rules, rule) && (!is_decided_anew(rule) || is_new(rule)) {
                // So do they on whether a rule acts on hosts that no record has.
                rules.push(Rule { extended: false, ..rule.clone() });
            }
        }
        for rule in alone.rules.iter().filter(|rule| is_decided_anew(rule)) {
            if !contains(&rules, rule) {
                rules = inserted(&rules, rule, &alone.rules);
            }
        }
        let (known, unknown): (Vec<Rule>, Vec<Rule>) = rules.iter().cloned().partition(is_new);
        let mut kept = self.judged(known);
        for rule in unknown {
            let with = self.judged(inserted(&kept.rules, &rule, &rules));
            if with.effect.is_as_right_as(&kept.effect, &alone.effect, self.new.label_noise_permille)
                && with.effect.is_borne_beside(&kept.effect, self.thresholds)
                && self.leads_where_it_did(&rule, &with.effect, &kept.effect, &alone.effect)
                && self.is_general(&rule, &kept, &rules)
            {
                kept = with;
            }
        }
        kept
    }

    /// True for a rule of the earlier result that leads to no more URLs that redirect, or declare another, than the
    /// kept ones or the new ones alone do, but for as many as its merges, then and now, bear: one page of a hundred
    /// that declares another gives the others no other address.
    fn leads_where_it_did(&self, rule: &Rule, with: &Effect, kept: &Effect, alone: &Effect) -> bool {
        let away = with.away_beyond(kept, alone) as u64;
        let merges = rule.evidence.good + with.right_beyond(kept) as u64;
        away == 0 || Bound::operation(self.thresholds).wilson(merges, away, 0)
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
        let mut rules = inserted(&others.rules, rule, order);
        let place = rules.iter_mut().find(|of| is_same(of, rule));
        *place.expect("the rule was put there") = general;
        self.judged(rules).effect.is_mostly_right_beside(&others.effect)
    }

    /// Rules of the earlier result with the new ones that move no URL, and the others that merge more, those first that
    /// merge most for each URL that they move.
    fn with_free<'r>(&self, earlier: Judged, new: &[&'r Rule], alone: &Judged) -> (Judged, Vec<&'r Rule>) {
        let mut free = earlier;
        let mut moving: Vec<(&Rule, i64)> = Vec::new();
        for rule in new {
            let Some(with) = self.with_rule(&free, rule, alone) else { continue };
            let moves = with.effect.moves_beyond(&free.effect) as i64;
            // No URL with a session is a key that lasts.
            if moves == 0 || is_of_session(rule) {
                free = with;
            } else {
                moving.push((rule, (with.effect.merges() - free.effect.merges()) * 1_000_000 / moves));
            }
        }
        // Stable: the order of the rules breaks ties.
        moving.sort_by_key(|&(_, merges)| Reverse(merges));
        (free, moving.into_iter().map(|(rule, _)| rule).collect())
    }

    /// The rules with those that move URLs, until as much is merged as by all new rules `alone`, and how many of these
    /// would move too many.
    fn with_moving(&self, free: Judged, moving: Vec<&Rule>, alone: &Judged) -> (Judged, u64) {
        let in_any_case = free.effect.clone();
        let (mut both, mut refused) = (free, 0);
        for rule in moving {
            if both.effect.merges() >= alone.effect.merges() {
                break;
            }
            match self.with_rule(&both, rule, alone) {
                Some(with) if self.may_move(&with.effect, &in_any_case) => both = with,
                Some(_) => refused += 1,
                None => {}
            }
        }
        (both, refused)
    }

    /// The rules with a new one, if it is not there, merges more than they do, and is right.
    fn with_rule(&self, rules: &Judged, rule: &Rule, alone: &Judged) -> Option<Judged> {
        if contains(&rules.rules, rule) {
            return None;
        }
        let with = self.judged(inserted(&rules.rules, rule, &alone.rules));
        // What the new rules merge wrongly, the proof narrows.
        let is_right = with.effect.is_as_right_as(&rules.effect, &alone.effect, 0)
            && with.effect.away_beyond(&rules.effect, &alone.effect) == 0
            && with.effect.is_mostly_right_beside(&rules.effect);
        (is_right && with.effect.merges() > rules.effect.merges()).then_some(with)
    }

    /// The rules without those of the earlier result alone without which as much is merged, the last ones first.
    fn without_needless(&self, mut rules: Judged) -> Judged {
        for at in (0..rules.rules.len()).rev() {
            if !contains(&self.new.rules, &rules.rules[at]) {
                let mut fewer = rules.rules.clone();
                fewer.remove(at);
                let fewer = self.judged(fewer);
                if fewer.effect.merges() >= rules.effect.merges() {
                    rules = fewer;
                }
            }
        }
        rules
    }

    /// True where no more of the URLs of the site move than may, beside those that move in any case.
    fn may_move(&self, effect: &Effect, in_any_case: &Effect) -> bool {
        let moves = effect.moves_beyond(in_any_case) as u64;
        moves * 1_000 <= self.thresholds.moved_permille * self.training.len() as u64
    }
}

/// True for a rule that leaves out parameters of sessions and tracking alone.
fn is_of_session(rule: &Rule) -> bool {
    let is_left_out = |of: &Operation| matches!(of, Operation::Ignore(Representative::LeftOut));
    rule.operations.iter().all(|(key, of)| is_left_out(of) && Key::parse(key).is_some_and(|key| is_tracker(&key)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Constraint;
    use std::sync::Arc;

    /// A rule that leaves out a parameter on URLs with this path.
    fn left_out(path: &str, name: &str) -> Rule {
        let scope = vec![Constraint { key: "path0".to_owned(), test: Test::Equals(path.to_owned()) }];
        let operations = vec![(format!("query {name}="), Operation::Ignore(Representative::LeftOut))];
        Rule::of(&format!("{path}-{name}"), scope, operations)
    }

    fn site(rules: &[Rule]) -> SiteRules {
        let origins = vec!["http://e.com".to_owned()];
        SiteRules { site: "e.com".to_owned(), origins, rules: rules.to_vec(), ..SiteRules::default() }
    }

    /// Ids of the rules that are left of `old` and `new` on these URLs, the page of each after a blank.
    fn joined(old: &[Rule], new: &[Rule], urls: &[String]) -> (Vec<String>, Option<Relearned>) {
        joined_if(Thresholds::default().moved_permille, old, new, urls)
    }

    /// Ids of the rules that are left of `old` and `new` on these URLs where so many of 1,000 URLs may move.
    fn joined_if(may: u64, old: &[Rule], new: &[Rule], urls: &[String]) -> (Vec<String>, Option<Relearned>) {
        let records = urls.iter().map(|url| url.split_once(' ').expect("a URL and its page"));
        let records = records.map(|(url, page)| (url.as_bytes(), Some(page.as_bytes()), false));
        let mut training = Training::new("e.com", records);
        training.hints.previous = Some(Arc::new(site(old)));
        let mut rules = site(new);
        let relearned = join(&mut rules, &training, &Thresholds { moved_permille: may, ..Thresholds::default() });
        (rules.rules.into_iter().map(|rule| rule.id).collect(), relearned)
    }

    /// URLs of pages of `path` with and without a parameter, and of others with it alone.
    fn urls(path: &str, name: &str, both: u32, alone: u32) -> Vec<String> {
        let with = |i: u32| format!("http://e.com/{path}?id={i}&{name}=1 {path}{i}");
        let without = (0..both).map(|i| format!("http://e.com/{path}?id={i} {path}{i}"));
        without.chain((0..both + alone).map(with)).collect()
    }

    /// The earlier rule merges 20, the new ones 12 and 12; one of these moves 60 of 148 URLs.
    #[test]
    fn a_new_rule_that_moves_comes_only_until_as_much_is_merged_as_without_the_earlier_ones() {
        let all = [urls("a", "v", 20, 0), urls("b", "v", 12, 60), urls("c", "v", 12, 0)].concat();
        let [a, b, c] = ["a", "b", "c"].map(|path| left_out(path, "v"));
        let (a, b) = (std::slice::from_ref(&a), &b);
        let kept = Relearned { kept: 1, refused: 0, unmerged: 0, unmoved: 60 };
        assert_eq!(
            joined_if(1_000, a, &[b.clone(), c.clone()], &all),
            (vec!["c-v".to_owned(), "a-v".to_owned()], Some(kept))
        );
        // Alone they merge more than the earlier one: 24 for 8.
        let more = [urls("a", "v", 8, 0), urls("b", "v", 12, 60), urls("c", "v", 12, 0)].concat();
        let joined_of = |may| joined_if(may, a, &[b.clone(), c.clone()], &more);
        // 60 of 124 are 483.9 of 1,000.
        let refused = Relearned { kept: 1, refused: 1, unmerged: 4, unmoved: 60 };
        assert_eq!(joined_of(483), (vec!["c-v".to_owned(), "a-v".to_owned()], Some(refused)));
        let (ids, relearned) = joined_of(484);
        assert_eq!((ids.len(), relearned.map(|of| (of.kept, of.refused))), (3, Some((1, 0))));
        // An earlier result without rules has no canonical URLs that could move.
        assert_eq!(joined(&[], std::slice::from_ref(b), &all), (vec!["b-v".to_owned()], None));
    }

    /// The earlier rule merges eight, each new one twelve; without one of these less than 24 are merged.
    #[test]
    fn of_new_rules_that_move_those_come_first_that_move_less_for_what_they_merge() {
        let all = [urls("a", "v", 8, 0), urls("b", "v", 12, 60), urls("c", "v", 12, 40)].concat();
        let [a, b, c] = ["a", "b", "c"].map(|path| left_out(path, "v"));
        let of = |may| joined_if(may, std::slice::from_ref(&a), &[b.clone(), c.clone()], &all).0.concat();
        // 40 of 164 are 243.9 of 1,000, 60 are 365.9, and 100 are 609.8.
        assert_eq!([243, 244, 609, 610].map(of), ["a-v", "c-va-v", "c-va-v", "b-vc-va-v"]);
    }

    /// Each page of `b` ends with a slash, which the new rule leaves out, and has two other names, with a slash or
    /// without. The rule merges twelve pages of `c`. Of the pages of `b` this run has all or none, under the label of
    /// their names or others.
    #[test]
    fn the_pages_of_earlier_look_ups_move_as_well() {
        let url = |at: &str, i: u32, end: &str| format!("http://e.com/{at}{i}{end}");
        let of = |names: u32, end: &str, [are_met, is_relabelled]: [bool; 2], may: u64| {
            let label = if is_relabelled { "n" } else { "b" };
            let named = |i| ["one", "two"].map(|at| format!("{} {label}{i}", url(at, i, end)));
            let pages = (0..20).filter(|_| are_met).map(|i| format!("{} b{i}", url("b", i, "/")));
            let merged = (0..12).flat_map(|i| [url("c", i, ""), url("c", i, "/")].map(|at| format!("{at} c{i}")));
            let all: Vec<String> = (0..20).flat_map(named).chain(pages).chain(merged).collect();
            let all = [all, urls("a", "v", 20, 0)].concat();
            let records = all.iter().map(|url| url.split_once(' ').expect("a URL and its page"));
            let records = records.map(|(url, page)| (url.as_bytes(), Some(page.as_bytes()), false));
            let mut training = Training::new("e.com", records);
            let mut old = site(&[left_out("a", "v")]);
            old.aliases =
                (0..names).flat_map(|i| ["one", "two"].map(|at| [url(at, i, end), url("b", i, "/")])).collect();
            training.hints.previous = Some(Arc::new(old));
            let slash = vec![("trailing slash".to_owned(), Operation::Ignore(Representative::LeftOut))];
            let mut rules = site(&[Rule::of("slash", Vec::new(), slash), left_out("a", "v")]);
            join(&mut rules, &training, &Thresholds { moved_permille: may, ..Thresholds::default() });
            rules.rules.len()
        };
        let (again, bounds) = ([true, false], [161, 162, 483, 484]);
        // Without look-ups the 20 pages move, of 124 URLs, with them their names as well, whatever becomes of these.
        assert_eq!(bounds.map(|may| of(0, "", again, may)), [1, 2, 2, 2]);
        assert_eq!(bounds.map(|may| of(20, "", again, may)), [1, 1, 1, 2]);
        assert_eq!(bounds.map(|may| of(20, "/", again, may)), [1, 1, 1, 2]);
        // Names whose page was not met, or has another label, leave it by any rule.
        assert_eq!([[false, false], [true, true]].map(|met| of(20, "", met, 0)), [2, 2]);
    }

    /// Of the pages of `b` more than half are others with the parameter.
    #[test]
    fn a_new_rule_that_is_mostly_wrong_does_not_come_beside_earlier_ones() {
        let [a, b] = ["a", "b"].map(|path| left_out(path, "v"));
        let of = |wrong: u32| {
            let mut all = [urls("a", "v", 20, 0), urls("b", "v", 20, 0)].concat();
            all.iter_mut().rev().take(wrong as usize).for_each(|url| url.push_str("-other"));
            joined(std::slice::from_ref(&a), std::slice::from_ref(&b), &all).0
        };
        assert_eq!([of(9).len(), of(11).len()], [2, 1]);
        assert_eq!(of(11), ["a-v"]);
    }

    /// Each earlier rule once, and with labels that are wrong now and then one wrong merge of 200, not three of 60.
    #[test]
    fn an_earlier_rule_bears_what_noise_explains() {
        let a = left_out("a", "v");
        let of = |pages: u32, wrong: usize, noise: u32| {
            let mut all = urls("a", "v", pages, 0);
            all.iter_mut().rev().take(wrong).for_each(|url| url.push_str("-other"));
            let records = all.iter().map(|url| url.split_once(' ').expect("a URL and its page"));
            let records = records.map(|(url, page)| (url.as_bytes(), Some(page.as_bytes()), false));
            let mut training = Training::new("e.com", records);
            training.hints.previous = Some(Arc::new(site(&[a.clone(), a.clone()])));
            let mut rules = SiteRules { label_noise_permille: noise, ..site(&[]) };
            join(&mut rules, &training, &Thresholds::default());
            rules.rules.len()
        };
        assert_eq!([of(200, 0, 0), of(200, 1, 0), of(200, 1, 5), of(60, 3, 50)], [1, 0, 1, 0]);
    }

    /// One of the URLs that the earlier rule leads to redirects.
    #[test]
    fn an_earlier_rule_may_lead_to_few_urls_that_redirect() {
        let of = |pages: u32, redirecting: usize| {
            let all = urls("a", "v", pages, 0);
            let records = all.iter().map(|url| url.split_once(' ').expect("a URL and its page"));
            let records = records.enumerate();
            let records = records.map(|(at, (url, page))| (url.as_bytes(), Some(page.as_bytes()), at < redirecting));
            let mut training = Training::new("e.com", records);
            training.hints.previous = Some(Arc::new(site(&[left_out("a", "v")])));
            let mut rules = site(&[]);
            join(&mut rules, &training, &Thresholds::default());
            rules.rules.len()
        };
        assert_eq!([of(40, 0), of(40, 1), of(12, 1), of(40, 5)], [1, 1, 0, 0]);
    }

    /// The new rule moves fifty URLs for each that it merges; a session is in no key that lasts.
    #[test]
    fn sessions_are_left_out_whatever_moves() {
        let a = left_out("a", "v");
        let of = |name: &str| {
            let all = [urls("a", "v", 20, 0), urls("b", name, 12, 600)].concat();
            joined(std::slice::from_ref(&a), &[left_out("b", name)], &all).0.len()
        };
        assert_eq!([of("w"), of("PHPSESSID")], [1, 2]);
    }

    #[test]
    fn what_each_run_decides_anew_is_that_of_this_run() {
        let all = urls("a", "v", 20, 0);
        let (mut line, mut provisional, mut extended) = (left_out("a", "v"), left_out("a", "v"), left_out("a", "v"));
        line.line = Some("program/line".to_owned());
        provisional.provisional = true;
        extended.extended = true;
        for rule in [line, provisional] {
            assert_eq!(joined(&[rule], &[], &all).0, Vec::<String>::new());
        }
        let mut training = Training::new("e.com", []);
        training.hints.previous = Some(Arc::new(site(&[extended])));
        let (rules, none, thresholds) = (site(&[]), site(&[]), Thresholds::default());
        let runs = Runs {
            effects: Effects::new(&none, &training),
            training: &training,
            thresholds: &thresholds,
            previous: training.hints.previous.as_deref().expect("it is set"),
            new: &rules,
        };
        let earlier = runs.earlier(&runs.judged(Vec::new()));
        assert_eq!(earlier.rules.iter().map(|rule| rule.extended).collect::<Vec<_>>(), [false]);
    }

    #[test]
    fn a_rule_comes_behind_those_before_it_among_those_of_its_kind() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|path| left_out(path, "v"));
        let form = Rule { kind: Kind::Form, ..left_out("f", "v") };
        let order = [a.clone(), b.clone(), c.clone(), d.clone(), form.clone()];
        let ids = |rules: Vec<Rule>| rules.iter().map(|rule| rule.id[..1].to_owned()).collect::<String>();
        assert_eq!(ids(inserted(&[a.clone(), c.clone(), form.clone()], &b, &order)), "abcf");
        assert_eq!(ids(inserted(&[c.clone(), a.clone(), form.clone()], &b, &order)), "cabf");
        assert_eq!(ids(inserted(&[a.clone(), form.clone()], &d, &[])), "daf", "where no rule is known, first");
        assert_eq!(ids(inserted(&[a, b], &form, &order)), "abf");
    }
}
