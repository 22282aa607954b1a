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
    let (count, near, rarer) = (forms.list.len(), forms.thresholds.form_near, forms.thresholds.form_rarer);
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (i, candidate) in forms.candidates.iter().enumerate() {
        into[candidate.target].push(i);
    }
    for list in &mut into {
        list.sort_by(|&a, &b| {
            let (a, b) = (&forms.candidates[a], &forms.candidates[b]);
            b.weight.total_cmp(&a.weight).then_with(|| a.source.cmp(&b.source))
        });
    }
    let mut order: Vec<usize> = (0..count).filter(|&f| !into[f].is_empty()).collect();
    order.sort_by(|&a, &b| {
        let rank = |f: usize| (forms.list[f].slots.len(), Reverse(forms.list[f].volume), f);
        energy[b].cmp(&energy[a]).then_with(|| rank(a).cmp(&rank(b)))
    });
    let usual = Usual::new(forms, columns);
    let mut order = order.into_iter();
    let mut again = None;
    let tenants: Vec<_> = forms.list.iter().map(|form| columns.sections.tenants(&form.rows)).collect();
    let mut done = vec![false; count];
    let mut moves = Vec::new();
    while let Some(first) = again.take().or_else(|| order.next()) {
        // Where a part of its rows has moved, URLs that another form would write may be of that part.
        let is_free = |f: usize| !done[f] && forms.list[f].moved.is_empty();
        if !is_free(first) {
            continue;
        }
        let volume = |f: usize| forms.list[f].volume;
        let is_alike = |f: &usize| volume(*f) * near >= volume(first) && volume(first) * near >= volume(*f);
        let is_mutual = |f: &usize| into[*f].iter().any(|&i| forms.candidates[i].source == first);
        let others = into[first].iter().map(|&i| forms.candidates[i].source).filter(|&f| is_free(f));
        let mutual: Vec<usize> = others.filter(is_mutual).collect();
        let earlier = mutual.iter().copied().filter(|&f| is_earlier(forms, columns, f, first)).min();
        let keeps_first = || mutual.iter().any(|&f| is_earlier(forms, columns, first, f));
        let destination = earlier.unwrap_or_else(|| {
            let usual_first = |a: &usize, b: &usize| usual.rank(*a).cmp(&usual.rank(*b));
            // Beside it, the URLs of `first` are mostly written by rules.
            let is_met = |f: &usize| !keeps_first() && is_invented(&forms.list[*f], &forms.list[first], columns, rarer);
            let alike = mutual.iter().copied().filter(|f| is_alike(f) && !keeps_first()).chain([first]);
            let met = mutual.iter().copied().filter(is_met).min_by(usual_first);
            let chosen = met.or_else(|| alike.min_by(usual_first)).unwrap_or(first);
            if keeps_first() { chosen } else { hub(forms, columns, &into, &done, chosen).unwrap_or(chosen) }
        });
        // It moves to the other one, or is tried again.
        again = (destination != first).then_some(first);
        done[destination] = true;
        let own: Mapping = forms.list[destination].slots.iter().map(|&k| (k, k)).collect();
        let mut members: Vec<(usize, Mapping)> = vec![(destination, own)];
        let mut at = 0;
        while at < members.len() {
            let (through, chain) = members[at].clone();
            at += 1;
            for &i in into.get(through).into_iter().flatten() {
                let candidate = &forms.candidates[i];
                let source = candidate.source;
                let step = |key: usize| candidate.mapping.iter().find(|m| m.0 == key).map(|m| m.1);
                let composed: Option<Mapping> = chain.iter().map(|&(kd, kz)| Some((kd, step(kz)?))).collect();
                let Some(composed) = composed.filter(|_| !done[source]) else { continue };
                let (from, to) = (&forms.list[source], &forms.list[destination]);
                // A tenant's copies of other pages do not move those.
                let is_apart = tenants[source] != tenants[destination] && !keeps_tenant(from, to, &composed, columns);
                // The ends of a chain; a direct candidate was tested when it was found.
                let is_far = || {
                    let links = members[1..].iter().flat_map(|(form, _)| &forms.list[*form].rows).copied();
                    !composed.is_empty() && are_far(columns, [from, to], &links.collect::<Vec<_>>(), &forms.thresholds)
                };
                if is_invented(from, to, columns, rarer) || is_apart || through != destination && is_far() {
                    continue;
                }
                let mut all: Vec<(usize, &Mapping)> = members.iter().map(|(f, m)| (*f, m)).collect();
                all.push((source, &composed));
                let groups = forms.test(columns, &all);
                if !holds(&groups, composed.is_empty(), forms) {
                    continue;
                }
                let held = shown::held(
                    columns,
                    [source, destination].map(|form| &forms.list[form]),
                    &composed,
                    (&groups, forms.least_clusters),
                    &forms.thresholds,
                );
                if held.iter().any(|(_, values)| values.is_empty()) {
                    continue;
                }
                let source = match &*held {
                    [(key, values)] if forms.list[source].has_others(columns, *key, values) => {
                        let part = forms.split(columns, source, *key, values);
                        forms.list[source].moved.push((*key, values.clone()));
                        part
                    }
                    _ => {
                        done[source] = true;
                        source
                    }
                };
                moves.push(Move {
                    held,
                    source,
                    target: destination,
                    mapping: composed.clone(),
                    evidence: groups.totals(),
                    clusters: groups.clusters(),
                });
                members.push((source, composed));
            }
        }
    }
    moves
}

/// A form to which `destination` may move, and so may another that may not move to `destination`: its pages
/// are in both, and the two have few in common. All three keep one URL a page where it is the destination. Not
/// where more pages of `destination` are not known in it than the other form has: they may not be there.
fn hub(forms: &Forms, columns: &Columns, into: &[Vec<usize>], done: &[bool], destination: usize) -> Option<usize> {
    let rarer = forms.thresholds.form_rarer;
    let source = |i: &usize| forms.candidates[*i].source;
    let moves = |from: usize, to: usize| {
        let is_candidate = into[to].iter().any(|i| source(i) == from);
        is_candidate && !is_invented(&forms.list[from], &forms.list[to], columns, rarer)
    };
    let pages = |form: usize| forms.list[form].rows.iter().map(|&row| columns.label[row as usize]);
    let is_hub = |&hub: &usize| {
        if done[hub] || !forms.list[hub].moved.is_empty() || !moves(destination, hub) {
            return false;
        }
        let known: BTreeSet<u32> = pages(hub).collect();
        let unknown = pages(destination).filter(|page| !known.contains(page)).count();
        let mut others = into[hub].iter().map(source).filter(|&from| from != destination && !done[from]);
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
    into[destination].iter().map(source).find(is_hub)
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
