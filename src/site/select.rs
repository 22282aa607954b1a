//! Deployable rules from candidates between forms (WWW10 5.3).
//!
//! Destinations are taken by falling energy; ties by fewer unmapped keys, larger volume, order of the
//! forms. Of two forms that may move to each other and of which one comes nearly as often as the other,
//! the one whose keys and values are more usual on the site is the destination: which of the two comes
//! more often is another matter in each sample. A form that the crawl met comes before one that rules
//! made of others. Towards a destination the best candidate of each source is followed backwards, breadth
//! first; chains are concatenated into one direct rule a source (Figure 8 d, e), and each composed rule
//! is proven again on the rows of all forms that already move to the destination, and by the pages that
//! its two ends share ([`super::overlap`]): each may share its pages with the form between, and few with
//! the other. Then the form between is the destination of both. Where a destination has no place for a key,
//! the rows with the values that were shown move alone ([`super::shown`]), and the others may move elsewhere;
//! such a form is no destination any more. A form that is a destination or has moved takes no further part,
//! so the three conflicts of Figure 7 cannot arise: one rule a URL, no ancestors among forms, no circle.

use super::columns::Columns;
use super::evidence::{Bound, Groups};
use super::forms::{Form, Forms, Mapping};
use super::overlap::Overlap;
use super::proposal::Condition;
use super::shown::{self, Held};
use super::tree::Tree;
use super::{Thresholds, Training, emit};
use crate::rules::{Constraint, Kind, Operation, Rule, Test};
use crate::url::Fixed;
use crate::url::keys::HOST_SUB;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A form that moves to a destination.
#[derive(Clone, Debug)]
pub struct Move {
    /// Source form.
    pub source: usize,
    /// Destination.
    pub target: usize,
    /// Where each varying key of the destination gets its value.
    pub mapping: Mapping,
    /// Keys of the source that the destination has no slot for, held to the values that were shown.
    pub held: Held,
    /// Evidence of the whole set of forms that move to the destination so far, this one included.
    pub evidence: (u64, u64),
    /// Clusters that support it.
    pub clusters: u64,
}

/// Chooses destinations and the moves to them.
pub fn select(forms: &mut Forms, columns: &Columns, energy: &[u128]) -> Vec<Move> {
    let into = candidates_into(forms);
    let mut order = by_energy(forms, &into, energy).into_iter();
    let tenants = forms.list.iter().map(|form| columns.sections.tenants(&form.rows)).collect();
    let (usual, done) = (Usual::new(forms, columns), vec![false; forms.list.len()]);
    let mut selection = Selection { forms, columns, into, usual, tenants, done, moves: Vec::new() };
    let mut again = None;
    while let Some(first) = again.take().or_else(|| order.next()) {
        if !selection.is_free(first) {
            continue;
        }
        let destination = selection.destination(first);
        // It moves to the other one, or is tried again.
        again = (destination != first).then_some(first);
        selection.move_to(destination);
    }
    selection.moves
}

/// The candidates that move to each form, best first.
fn candidates_into(forms: &Forms) -> Vec<Vec<usize>> {
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); forms.list.len()];
    for (i, candidate) in forms.candidates.iter().enumerate() {
        into[candidate.target].push(i);
    }
    for list in &mut into {
        list.sort_by(|&a, &b| {
            let (a, b) = (&forms.candidates[a], &forms.candidates[b]);
            b.weight.total_cmp(&a.weight).then_with(|| a.source.cmp(&b.source))
        });
    }
    into
}

/// The forms to which others may move, by falling energy.
fn by_energy(forms: &Forms, into: &[Vec<usize>], energy: &[u128]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..forms.list.len()).filter(|&form| !into[form].is_empty()).collect();
    order.sort_by(|&a, &b| {
        let rank = |f: usize| (forms.list[f].slots.len(), Reverse(forms.list[f].volume), f);
        energy[b].cmp(&energy[a]).then_with(|| rank(a).cmp(&rank(b)))
    });
    order
}

/// Destinations and moves as far as they are chosen.
struct Selection<'a> {
    forms: &'a mut Forms,
    columns: &'a Columns,
    /// Candidates that move to each form, best first.
    into: Vec<Vec<usize>>,
    usual: Usual,
    /// Tenants of each form.
    tenants: Vec<BTreeSet<u32>>,
    /// Forms that are a destination, or have moved.
    done: Vec<bool>,
    moves: Vec<Move>,
}

impl Selection<'_> {
    /// Where a part of its rows has moved, URLs that another form would write may be of that part.
    fn is_free(&self, form: usize) -> bool {
        !self.done[form] && self.forms.list[form].moved.is_empty()
    }

    fn sources(&self, form: usize) -> impl Iterator<Item = usize> {
        self.into.get(form).into_iter().flatten().map(|&i| self.forms.candidates[i].source)
    }

    /// The destination of those that `first` and another one may be for each other.
    fn destination(&self, first: usize) -> usize {
        let (forms, columns) = (&*self.forms, self.columns);
        let (near, rarer) = (forms.thresholds.form_near, forms.thresholds.form_rarer);
        let is_mutual = |form: &usize| self.is_free(*form) && self.sources(*form).any(|of| of == first);
        let mutual: Vec<usize> = self.sources(first).filter(is_mutual).collect();
        if let Some(earlier) = mutual.iter().copied().filter(|&form| is_earlier(forms, columns, form, first)).min() {
            return earlier;
        }
        let volume = |form: usize| forms.list[form].volume;
        let is_alike = |form: &usize| volume(*form) * near >= volume(first) && volume(first) * near >= volume(*form);
        let by_use = |a: &usize, b: &usize| self.usual.rank(*a).cmp(&self.usual.rank(*b));
        if mutual.iter().any(|&form| is_earlier(forms, columns, first, form)) {
            return first;
        }
        // Beside it, the URLs of `first` are mostly written by rules.
        let is_met = |form: &usize| is_invented(&forms.list[*form], &forms.list[first], columns, rarer);
        let met = mutual.iter().copied().filter(is_met).min_by(by_use);
        let alike = mutual.iter().copied().filter(is_alike).chain([first]);
        let chosen = met.or_else(|| alike.min_by(by_use)).unwrap_or(first);
        self.hub(chosen).unwrap_or(chosen)
    }

    /// A form to which `destination` may move, and so may another that may not move to `destination`: its pages
    /// are in both, and the two have few in common. All three keep one URL a page where it is the destination. Not
    /// where more pages of `destination` are not known in it than the other form has: they may not be there.
    fn hub(&self, destination: usize) -> Option<usize> {
        let (forms, columns) = (&*self.forms, self.columns);
        let rarer = forms.thresholds.form_rarer;
        let moves = |from: usize, to: usize| {
            let is_candidate = self.sources(to).any(|source| source == from);
            is_candidate && !is_invented(&forms.list[from], &forms.list[to], columns, rarer)
        };
        let pages = |form: usize| forms.list[form].rows.iter().map(|&row| columns.label[row as usize]);
        let is_hub = |&hub: &usize| {
            if !self.is_free(hub) || !moves(destination, hub) {
                return false;
            }
            let known: BTreeSet<u32> = pages(hub).collect();
            let unknown = pages(destination).filter(|page| !known.contains(page)).count();
            let mut others = self.sources(hub).filter(|&from| from != destination && !self.done[from]);
            let is_lost = |from: usize| {
                let ends = [from, destination].map(|form| &forms.list[form]);
                let is_whole = !forms.list[from].slots.is_empty() && !forms.list[destination].slots.is_empty();
                is_whole
                    && unknown <= forms.list[from].rows.len()
                    && moves(from, hub)
                    && !moves(from, destination)
                    && are_far(columns, ends, &forms.list[hub].rows, &forms.thresholds)
            };
            others.any(is_lost)
        };
        self.sources(destination).find(is_hub)
    }

    /// Moves to a destination what may move to it, straight or over others that do.
    fn move_to(&mut self, destination: usize) {
        self.done[destination] = true;
        let own: Mapping = self.forms.list[destination].slots.iter().map(|&key| (key, key)).collect();
        let mut members: Vec<(usize, Mapping)> = vec![(destination, own)];
        let mut at = 0;
        while at < members.len() {
            let (through, chain) = members[at].clone();
            at += 1;
            for i in self.into.get(through).cloned().unwrap_or_default() {
                let candidate = &self.forms.candidates[i];
                let source = candidate.source;
                let step = |key: usize| candidate.mapping.iter().find(|m| m.0 == key).map(|m| m.1);
                let mapping: Option<Mapping> = chain.iter().map(|&(to, from)| Some((to, step(from)?))).collect();
                if let Some(mapping) = mapping.filter(|_| !self.done[source])
                    && self.may_move(source, &mapping, &members, through)
                    && let Some(source) = self.try_move(source, &mapping, &members)
                {
                    members.push((source, mapping));
                }
            }
        }
    }

    /// True where nothing forbids a move to the first of `members` by way of the form `through`.
    fn may_move(&self, source: usize, mapping: &Mapping, members: &[(usize, Mapping)], through: usize) -> bool {
        let (forms, columns, destination) = (&*self.forms, self.columns, members[0].0);
        let (from, to) = (&forms.list[source], &forms.list[destination]);
        // A tenant's copies of other pages do not move those.
        let is_apart = self.tenants[source] != self.tenants[destination] && !keeps_tenant(from, to, mapping, columns);
        // The ends of a chain; a direct candidate was tested when it was found.
        let is_far = || {
            let links = members[1..].iter().flat_map(|(form, _)| &forms.list[*form].rows).copied();
            !mapping.is_empty() && are_far(columns, [from, to], &links.collect::<Vec<_>>(), &forms.thresholds)
        };
        !is_invented(from, to, columns, forms.thresholds.form_rarer)
            && !is_apart
            && (through == destination || !is_far())
    }

    /// Tests a move to the first of `members` on the rows of all of them; the form that moves, which is the part of
    /// `source` with the values that were shown.
    fn try_move(&mut self, source: usize, mapping: &Mapping, members: &[(usize, Mapping)]) -> Option<usize> {
        let (columns, destination) = (self.columns, members[0].0);
        let forms = &mut *self.forms;
        let mut all: Vec<(usize, &Mapping)> = members.iter().map(|(form, mapping)| (*form, mapping)).collect();
        all.push((source, mapping));
        let groups = forms.test(columns, &all);
        if !holds(&groups, mapping.is_empty(), forms) {
            return None;
        }
        let ends = [source, destination].map(|form| &forms.list[form]);
        let held = shown::held(columns, ends, mapping, (&groups, forms.least_clusters), &forms.thresholds);
        if held.iter().any(|(_, values)| values.is_empty()) {
            return None;
        }
        let source = match &*held {
            [(key, values)] if forms.list[source].has_others(columns, *key, values) => {
                let part = forms.split(columns, source, *key, values);
                forms.list[source].moved.push((*key, values.clone()));
                part
            }
            _ => {
                self.done[source] = true;
                source
            }
        };
        let (evidence, clusters) = (groups.totals(), groups.clusters());
        let mapping = mapping.clone();
        self.moves.push(Move { held, source, target: destination, mapping, evidence, clusters });
        Some(source)
    }
}

/// True where few pages of one end of a chain of forms are known in the other, so that the ends may not move
/// to each other; `between` are the rows of the forms that link them.
fn are_far(columns: &Columns, [from, to]: [&Form; 2], between: &[u32], thresholds: &Thresholds) -> bool {
    !Overlap::between(columns, &from.rows, &to.rows).holds(thresholds)
        || !Overlap::holds_through(columns, [&from.rows, between, &to.rows], thresholds)
}

/// Rows of a form that are read to see where an earlier result moved them: a bound of work.
const LOOKED_AT: usize = 64;

/// True where an earlier result moved most URLs of form `b` to form `a`.
fn is_earlier(forms: &Forms, columns: &Columns, a: usize, b: usize) -> bool {
    let (to, from) = (&forms.list[a], &forms.list[b]);
    let rows = &from.rows[..from.rows.len().min(LOOKED_AT)];
    let code = |key: usize, row: u32| columns.preferred.before(key, row);
    let has = |form: &Form, key: usize| form.slots.contains(&key) || form.constants.iter().any(|of| of.0 == key);
    let others: Vec<usize> = (0..columns.keys.len()).filter(|&key| has(from, key) && !has(to, key)).collect();
    let is_moved = |&&row: &&u32| {
        to.constants.iter().all(|&(key, value)| code(key, row) == Some(value))
            && to.slots.iter().all(|&key| code(key, row).is_some_and(|value| value != 0))
            && others.iter().all(|&key| code(key, row) == Some(0))
    };
    2 * rows.iter().filter(is_moved).count() > rows.len()
}

/// Frequency of the keys and values of forms on the site.
struct Usual {
    /// Of each form: URLs of the site that have its rarest key or constant; its keys and constants.
    of: Vec<(Reverse<u64>, Vec<String>)>,
}

impl Usual {
    /// O(rows x keys).
    fn new(forms: &Forms, columns: &Columns) -> Usual {
        let mut urls: Vec<Vec<u64>> = (0..columns.keys.len()).map(|k| vec![0; columns.codes_len(k)]).collect();
        for &row in forms.list.iter().flat_map(|form| &form.rows) {
            for (urls, codes) in urls.iter_mut().zip(&columns.codes) {
                urls[codes[row as usize] as usize] += u64::from(columns.weight[row as usize]);
            }
        }
        let present: Vec<u64> = urls.iter().map(|urls| urls[1..].iter().sum()).collect();
        let of = |form: &Form| {
            let key = |k: usize| columns.keys[k].to_string();
            let constant = |&(k, code): &(usize, u32)| key(k) + &columns.text(k, code).unwrap_or_default();
            let mut names: Vec<String> = form.slots.iter().map(|&k| key(k)).collect();
            names.extend(form.constants.iter().map(constant));
            names.sort_unstable();
            let constants = form.constants.iter().map(|&(k, code)| urls[k][code as usize]);
            let rarest = form.slots.iter().map(|&k| present[k]).chain(constants).min().unwrap_or(0);
            (Reverse(rarest), names)
        };
        Usual { of: forms.list.iter().map(of).collect() }
    }

    fn rank(&self, form: usize) -> (&(Reverse<u64>, Vec<String>), usize) {
        (&self.of[form], form)
    }
}

/// True where a move keeps each URL in the directory of its tenant: it keeps the first two segments.
fn keeps_tenant(source: &Form, destination: &Form, mapping: &Mapping, columns: &Columns) -> bool {
    let is_front = |key: usize| columns.keys[key].as_path().is_some_and(|(segment, _)| segment < 2);
    let constants = |form: &Form| form.constants.iter().copied().filter(|of| is_front(of.0)).collect::<Vec<_>>();
    constants(source) == constants(destination) && mapping.iter().all(|&(to, from)| to == from || !is_front(to))
}

/// True where the destination is more than `times` rarer than the URLs that would move to it. Counted
/// are URLs that the crawl met: those that can be fetched, and that no rule wrote. Else nearly all URLs
/// that the rule writes would be of a kind that a crawl hardly meets, for the few pages that it joins
/// (crawl-blog: 1,300 dated URLs to `/?name=` that was seen seven times, a fifth of its canonical URLs;
/// crawl-bugs: 43 searches to three that end in `&@action=search`, in one half of the crawl and not in
/// the other).
fn is_invented(source: &Form, destination: &Form, columns: &Columns, times: usize) -> bool {
    let is_met = |&&row: &&u32| columns.fetchable[row as usize] && columns.unchanged[row as usize];
    let met = |form: &Form| form.rows.iter().filter(is_met).count();
    met(destination) * times < met(source)
}

/// Rules between forms pass by their bound; constant pages pass when nothing contradicts them.
fn holds(groups: &Groups, constant: bool, forms: &Forms) -> bool {
    let (good, bad) = groups.totals();
    let bound = Bound::form(&forms.thresholds).allowing(forms.noise);
    let passes = bound.holds(good, bad, 0) && groups.clusters() >= forms.least_clusters;
    passes || constant && good > 0 && bad == 0
}

/// The rule of a move; its id is still empty.
pub fn rule(forms: &Forms, columns: &Columns, tree: &Tree, training: &Training, chosen: &Move) -> Rule {
    let (source, target) = (&forms.list[chosen.source], &forms.list[chosen.target]);
    let key = |k: usize| columns.keys[k].to_string();
    let text = |k: usize, code: u32| columns.text(k, code).unwrap_or_default();
    let (is, none) = forms.scope(source, tree);
    let mut scope: Vec<Constraint> = Vec::new();
    for (k, condition) in is {
        let of = |lists: &[(usize, Vec<u32>)]| {
            let codes = lists.iter().filter(|of| of.0 == k).flat_map(|of| &of.1);
            let values: BTreeSet<String> = codes.map(|&code| text(k, code)).collect();
            (!values.is_empty()).then(|| values.into_iter().collect::<Vec<String>>())
        };
        let test = match (condition, of(&chosen.held), of(&none)) {
            (Condition::Is(code), ..) => Test::Equals(text(k, code)),
            (_, Some(values), _) => Test::OneOf(values),
            (.., Some(values)) => Test::NoneOf(values),
            _ => Test::Present,
        };
        scope.push(Constraint { key: key(k), test });
    }
    scope.sort();
    let mut operations: Vec<(String, Operation)> = operations(target, chosen, columns);
    operations.sort();
    let (good, bad) = chosen.evidence;
    let examples = examples(forms, columns, chosen);
    Rule {
        kind: if chosen.mapping.is_empty() { Kind::ConstantPage } else { Kind::Form },
        closed: true,
        evidence: emit::evidence(training, (good, bad, 0), (good + bad, bad), chosen.clusters, &examples),
        ..Rule::of("", scope, operations)
    }
}

fn operations(target: &Form, chosen: &Move, columns: &Columns) -> Vec<(String, Operation)> {
    let host = columns.fixed(Fixed::HOST);
    let key = |k: usize| columns.keys[k].to_string();
    let mut out: Vec<(String, Operation)> = target
        .constants
        .iter()
        .map(|&(k, code)| (key(k), Operation::Keep(columns.text(k, code).unwrap_or_default())))
        .collect();
    for &(to, from) in &chosen.mapping {
        // A host and another key share the labels below the registrable domain, not the whole host.
        let sub = |k: usize| if Some(k) == host && to != from { HOST_SUB.to_owned() } else { key(k) };
        out.push((sub(to), Operation::Replace(sub(from))));
    }
    out
}

fn examples(forms: &Forms, columns: &Columns, chosen: &Move) -> Vec<[u32; 2]> {
    let (source, target) = (&forms.list[chosen.source], &forms.list[chosen.target]);
    let label = |r: &u32| columns.label[*r as usize];
    let pair = |r: &u32| {
        let at = target.rows.partition_point(|o| label(o) < label(r));
        let other = target.rows.get(at).filter(|o| label(o) == label(r))?;
        Some([columns.origin[*r as usize], columns.origin[*other as usize]])
    };
    source.rows.iter().filter_map(pair).take(3).collect()
}
