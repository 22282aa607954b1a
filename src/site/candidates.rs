//! The forms of a site, and the candidate rules between them (WWW10 5.2).
//!
//! A form is a leaf of the pattern tree and a set of present keys. The inverted index cluster -> forms
//! (Algorithm 2) gives the pairs of forms with common clusters; keys are mapped by agreement inside
//! clusters (`Hits`) instead of by value sets (Algorithm 3): unrelated small integers share all their values.
//! There is no overlap threshold: eq. 6 shrinks with the sampling rate (a perfect two-mirror site shows
//! 0.20 at a 20 % sample). A candidate s -> t keeps the constants of t and replaces each other key of t
//! from a key of s; it exists only where every such key is mapped.

use super::columns::Columns;
use super::covering::Covering;
use super::evidence::{Bound, Groups};
use super::forms::{Candidate, Form, Forms, Mapping, Parts};
use super::overlap::Overlap;
use super::tree::Tree;
use super::{Stage, Thresholds, small_operations};
use crate::model::hash64;
use crate::url::Fixed;
use crate::url::keys::host_sub;
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Forms of one cluster that the inverted index keeps, the biggest: a bound of work.
const MAX_FORMS: usize = 40;

/// Common clusters in which agreement is counted, at most: a bound of work.
const MAX_COMMON: usize = 400;

/// Rows of a form looked at in one cluster: a bound of work.
const MAX_ROWS: usize = 6;

/// Clusters in which a key of one form and one of another hold one value.
#[derive(Clone, Debug, Default)]
struct Hits {
    count: u32,
    /// The clusters of each value.
    values: HashMap<u64, u32, FixedState>,
    /// Clusters, of all common ones, that have several values of one of the keys.
    several: u32,
}

impl Hits {
    /// Adds a cluster: the value that both hold there, and whether one holds several.
    fn add(&mut self, met: Option<u64>, several: bool) {
        self.several += u32::from(several);
        if let Some(value) = met {
            self.count += 1;
            *self.values.entry(value).or_default() += 1;
        }
    }

    /// True where the keys hold one value in most of the common clusters; or in few, where a cluster has many
    /// values of one of them, of which a crawl meets some, and it is not one value that agrees (post 1 is on
    /// page 1).
    fn agree(&self, common: u32, thresholds: &Thresholds) -> bool {
        let are_many = self.several * 100 >= thresholds.agreement_several_percent * common;
        let is_one = || self.values.values().any(|&clusters| clusters * 2 > self.count);
        self.count * 100 >= thresholds.agreement_percent * common
            || are_many && self.count * 100 >= thresholds.agreement_some_percent * common && !is_one()
    }
}

impl Forms {
    /// Finds forms and candidates among the rows alive (odd rows, which have keys without a column, take no
    /// part).
    pub fn new(covering: &Covering, tree: &Tree, [least_clusters, least_numbered]: [u64; 2]) -> Forms {
        let Covering { columns, alive: rows, noise, thresholds, .. } = covering;
        let host = columns.fixed(Fixed::HOST);
        let (noise, thresholds) = (*noise, thresholds.clone());
        let mut out = Forms { host, noise, thresholds, least_clusters, least_numbered, ..Forms::default() };
        out.words = (0..columns.keys.len())
            .map(|k| {
                let word = |code: u32| {
                    let value = columns.value(k, code);
                    hash64(if Some(k) == out.host { &value[..host_sub(value)] } else { value })
                };
                (0..columns.codes_len(k) as u32).map(word).collect()
            })
            .collect();
        out.find(columns, rows, tree);
        let parts = out.candidates(columns);
        if !parts.is_empty() && !covering.without.has(Stage::Parts) {
            out.divide(columns, parts);
            out.candidates(columns);
        }
        out
    }

    fn find(&mut self, columns: &Columns, rows: &[u32], tree: &Tree) {
        let least = self.thresholds.form_min_constant_urls;
        let mut by_tag: HashMap<u64, usize, FixedState> = HashMap::default();
        // That a family of names is there says nothing of each name: forms without it alone.
        let families: Vec<usize> = (0..columns.keys.len()).filter(|&k| columns.keys[k].is_family()).collect();
        let is_of_form = |row: u32| !columns.odd[row as usize] && families.iter().all(|&k| columns.code(k, row) == 0);
        let leaves = tree.leaves(columns.len());
        for &row in rows.iter().filter(|&&row| is_of_form(row)) {
            let leaf = leaves[row as usize];
            let tag = columns.codes.iter().enumerate().fold(u64::from(leaf), |tag, (k, codes)| {
                if codes[row as usize] == 0 { tag } else { crate::model::hash64_seeded(&(k as u64).to_le_bytes(), tag) }
            });
            let form = *by_tag.entry(tag).or_insert_with(|| {
                self.list.push(Form {
                    leaf,
                    rows: Vec::new(),
                    volume: 0,
                    constants: Vec::new(),
                    slots: Vec::new(),
                    moved: Vec::new(),
                    parts: Vec::new(),
                });
                self.list.len() - 1
            });
            self.list[form].rows.push(row);
            self.list[form].volume += u64::from(columns.weight[row as usize]);
        }
        for form in &mut self.list {
            form.rows.sort_unstable_by_key(|&r| (columns.label[r as usize], r));
            form.find_slots(columns, least);
        }
    }

    /// Finds the candidates; returns the parts of forms that may be candidates without the rest.
    fn candidates(&mut self, columns: &Columns) -> Parts {
        let bound = Bound::form(&self.thresholds).allowing(self.noise);
        let (least_common, least_urls) = (self.thresholds.form_min_clusters, self.thresholds.form_min_constant_urls);
        let mut postings: Vec<(u32, usize)> = Vec::new();
        for (f, form) in self.list.iter().enumerate() {
            let labels = form.rows.chunk_by(|&a, &b| columns.label[a as usize] == columns.label[b as usize]);
            postings.extend(labels.map(|run| (columns.label[run[0] as usize], f)));
        }
        postings.sort_unstable();
        let mut common: HashMap<(usize, usize), u32, FixedState> = HashMap::default();
        let mut forms = Vec::new();
        for cluster in postings.chunk_by(|a, b| a.0 == b.0).filter(|c| c.len() > 1) {
            forms.clear();
            forms.extend(cluster.iter().map(|p| p.1));
            forms.sort_by_key(|&f| (Reverse(self.list[f].volume), f));
            forms.truncate(MAX_FORMS);
            forms.sort_unstable();
            for (i, &a) in forms.iter().enumerate() {
                forms[i + 1..].iter().for_each(|&b| *common.entry((a, b)).or_default() += 1);
            }
        }
        self.pairs = common.len() as u64;
        let mut pairs: Vec<((usize, usize), u32)> = common.into_iter().collect();
        pairs.sort_unstable();
        let (mut found, mut parts) = (Vec::new(), Vec::new());
        for ((a, b), clusters) in pairs {
            let (f, g) = (&self.list[a], &self.list[b]);
            if f.slots.is_empty() && g.slots.is_empty() {
                if f.volume.min(g.volume) >= least_urls {
                    found.push(Candidate { source: a, target: b, mapping: Vec::new(), weight: 1.0 });
                    found.push(Candidate { source: b, target: a, mapping: Vec::new(), weight: 1.0 });
                }
                continue;
            }
            if (clusters as usize) < least_common {
                continue;
            }
            let pairs = self.agree(columns, f, g);
            if pairs.is_empty() {
                continue;
            }
            // In terms of b: key of b -> key of a.
            let mut to_b: Mapping = pairs.iter().map(|&(ka, kb)| (kb, ka)).collect();
            to_b.sort_unstable();
            let own: Mapping = to_b.iter().map(|&(kb, _)| (kb, kb)).collect();
            let groups = self.test(columns, &[(a, &to_b), (b, &own)]);
            let (good, bad) = groups.totals();
            let holds = bound.holds(good, bad, 0) && groups.clusters() >= self.least_clusters;
            if !bound.allows(good, bad, 0) {
                let of_b: Vec<(usize, usize)> = pairs.iter().map(|&(ka, kb)| (kb, ka)).collect();
                for (from, to, pairs) in [(a, b, &pairs), (b, a, &of_b)] {
                    parts.extend(self.parts_of(columns, [from, to], pairs, &groups));
                }
            }
            if !holds || self.groups_with_both(a, &groups) < least_common {
                continue;
            }
            if !Overlap::between(columns, &self.list[a].rows, &self.list[b].rows).holds(&self.thresholds) {
                continue;
            }
            if groups.clusters() < self.least_numbered {
                let (f, g) = (&self.list[a], &self.list[b]);
                let loses = |form: &Form, mapped: &dyn Fn(usize) -> bool| {
                    let mut lost = form.slots.iter().filter(|&&key| !mapped(key));
                    lost.any(|&key| small_operations::names_clusters(columns, key, &form.rows, &self.thresholds))
                };
                if loses(f, &|key| pairs.iter().any(|p| p.0 == key))
                    || loses(g, &|key| pairs.iter().any(|p| p.1 == key))
                {
                    continue;
                }
            }
            let weight = good as f64 / (good + bad) as f64;
            let mut to_a: Mapping = pairs;
            to_a.sort_unstable();
            for (source, target, mapping) in [(a, b, to_b), (b, a, to_a)] {
                if self.list[target].slots.iter().all(|k| mapping.iter().any(|m| m.0 == *k)) {
                    found.push(Candidate { source, target, mapping, weight });
                }
            }
        }
        // Never towards a form whose URLs all redirect, or declare another canonical, from one that can be
        // fetched.
        let live = |form: usize| self.list[form].rows.iter().any(|&r| columns.fetchable[r as usize]);
        found.retain(|c| !columns.redirects || live(c.target) || !live(c.source));
        found.sort_by_key(|c| (c.source, c.target));
        self.candidates = found;
        self.parts_to_make(parts)
    }

    /// One-to-one key mapping `(key of f, key of g)` by the share of common clusters in which two keys hold
    /// one value.
    fn agree(&self, columns: &Columns, f: &Form, g: &Form) -> Vec<(usize, usize)> {
        let label = |r: &u32| columns.label[*r as usize];
        let mut hits = vec![Hits::default(); f.slots.len() * g.slots.len()];
        let (mut i, mut j, mut common) = (0, 0, 0u32);
        while i < f.rows.len() && j < g.rows.len() && common < MAX_COMMON as u32 {
            let (a, b) = (label(&f.rows[i]), label(&g.rows[j]));
            let end = |rows: &[u32], at: usize, l: u32| at + rows[at..].partition_point(|r| label(r) <= l);
            match a.cmp(&b) {
                std::cmp::Ordering::Less => i = end(&f.rows, i, a),
                std::cmp::Ordering::Greater => j = end(&g.rows, j, b),
                std::cmp::Ordering::Equal => {
                    let (ie, je) = (end(&f.rows, i, a), end(&g.rows, j, b));
                    let (mine, other) = (&f.rows[i..ie.min(i + MAX_ROWS)], &g.rows[j..je.min(j + MAX_ROWS)]);
                    for (x, &ka) in f.slots.iter().enumerate() {
                        for (z, &kb) in g.slots.iter().enumerate() {
                            let word = |k: usize, r: u32| self.words[k][columns.codes[k][r as usize] as usize];
                            let met = mine.iter().find(|&&p| other.iter().any(|&q| word(ka, p) == word(kb, q)));
                            let has_several =
                                |k: usize, rows: &[u32]| rows.iter().any(|&row| word(k, row) != word(k, rows[0]));
                            let several = has_several(ka, mine) || has_several(kb, other);
                            hits[x * g.slots.len() + z].add(met.map(|&row| word(ka, row)), several);
                        }
                    }
                    common += 1;
                    (i, j) = (ie, je);
                }
            }
        }
        let mut ranked: Vec<(u32, bool, usize, usize)> = Vec::new();
        for (x, &ka) in f.slots.iter().enumerate() {
            for (z, &kb) in g.slots.iter().enumerate() {
                let hits = &hits[x * g.slots.len() + z];
                if hits.agree(common, &self.thresholds) {
                    ranked.push((hits.count, ka == kb, ka, kb));
                }
            }
        }
        ranked.sort_unstable_by_key(|&(count, same, ka, kb)| (Reverse((count, same)), ka, kb));
        let mut out: Vec<(usize, usize)> = Vec::new();
        for (_, _, ka, kb) in ranked {
            if out.iter().all(|&(x, z)| x != ka && z != kb) {
                out.push((ka, kb));
            }
        }
        out
    }

    /// Groups that hold rows of form `a` and of another form.
    fn groups_with_both(&self, a: usize, groups: &Groups) -> usize {
        let mut of_a: Vec<u32> = self.list[a].rows.clone();
        of_a.sort_unstable();
        (0..groups.len())
            .filter(|&g| {
                let members = groups.members(g);
                let count = members.iter().filter(|r| of_a.binary_search(r).is_ok()).count();
                count > 0 && count < members.len()
            })
            .count()
    }
}
