//! Forms: a leaf of the pattern tree and a set of present keys, and candidate rules between them. They are
//! found in [`candidates`](super::candidates).

use super::Thresholds;
use super::columns::Columns;
use super::covering::Covering;
use super::energy::Graph;
use super::evidence::{Groups, Sorter};
use super::operations::is_number;
use super::proposal::{Condition, Scope};
use super::tree::{Branch, Reading, Salient, Tree, TreeTable};
use crate::url::Fixed;
use std::collections::{BTreeMap, BTreeSet};

/// One form.
#[derive(Clone, Debug)]
pub struct Form {
    /// Leaf of the pattern tree.
    pub leaf: u32,
    /// Reduced rows, sorted by label then row.
    pub rows: Vec<u32>,
    /// URLs.
    pub volume: u64,
    /// Present keys with one value only.
    pub constants: Vec<(usize, u32)>,
    /// Present keys that vary.
    pub slots: Vec<usize>,
    /// Values of slots whose rows have moved without the others, sorted.
    pub moved: Vec<(usize, Vec<u32>)>,
    /// Values of slots whose rows are forms of their own, sorted.
    pub parts: Vec<(usize, Vec<u32>)>,
}

impl Form {
    /// Finds constants and slots anew; `least` are the URLs from which on one row tells constants.
    pub(super) fn find_slots(&mut self, columns: &Columns, least: u64) {
        (self.constants, self.slots) = Default::default();
        let Some(&first) = self.rows.first() else { return };
        // One row says little about what varies, unless many URLs were reduced to it.
        let sure = self.rows.len() > 1 || self.volume >= least;
        let present = columns.codes.iter().enumerate().filter(|(_, codes)| codes[first as usize] != 0);
        for (k, codes) in present {
            let (name, code) = (&columns.keys[k], codes[first as usize]);
            let shape = name.is(Fixed::SCHEME) || name.is(Fixed::HOST) || name.is(Fixed::DEPTH);
            if (sure || shape) && self.rows.iter().all(|&row| codes[row as usize] == code) {
                self.constants.push((k, code));
            } else {
                self.slots.push(k);
            }
        }
    }

    /// True where rows have other values of a key than these, which are sorted.
    pub fn has_others(&self, columns: &Columns, key: usize, values: &[u32]) -> bool {
        self.rows.iter().any(|&row| values.binary_search(&columns.code(key, row)).is_err())
    }
}

/// For each key of the target that varies, the key of the source with its value; sorted by target key.
pub type Mapping = Vec<(usize, usize)>;

/// A candidate rule from form to form.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Source form.
    pub source: usize,
    /// Target form.
    pub target: usize,
    /// Where the varying keys of the target get their values.
    pub mapping: Mapping,
    /// 1 - fpr.
    pub weight: f64,
}

/// Forms of a site and the candidates between them.
#[derive(Debug, Default)]
pub struct Forms {
    /// The forms.
    pub list: Vec<Form>,
    /// Candidates, sorted by (source, target).
    pub candidates: Vec<Candidate>,
    /// Pairs of forms that share a cluster.
    pub pairs: u64,
    pub(super) words: Vec<Vec<u64>>,
    pub(super) host: Option<usize>,
    /// Label noise of the site, in thousandths.
    pub noise: u64,
    /// Thresholds of the run.
    pub thresholds: Thresholds,
    /// Clusters that must support a rule, beside the bound.
    pub least_clusters: u64,
    /// Clusters that must support a rule that drops a key whose numbers lead to one cluster each.
    pub(super) least_numbered: u64,
    pub(super) sorter: Sorter,
}

/// The pattern tree over the rows alive. Departures from WWW10, each measured (docs/method.md, "Departures
/// from WWW10"): rows are clusters' rows after the operations of the covering loop, and salience counts
/// clusters, not URLs: a value is salient when it is in at least max(8, 1 %) of the clusters of the node and
/// is not a bare number (eq. 5 makes a node of every popular id). Query keys and path parameters do not
/// split: their presence is part of the form of a URL. Where the key of least entropy has no salient value,
/// the next one splits, and a node under 40 rows is a leaf.
pub fn tree(covering: &Covering) -> Tree {
    let Covering { columns, alive: rows, thresholds, .. } = covering;
    let splits = |key: &usize| {
        let name = &columns.keys[*key];
        !(name.optional() || [Fixed::FRAGMENT, Fixed::ORDER, Fixed::SEPARATOR].iter().any(|&fixed| name.is(fixed)))
    };
    let table = TreeTable {
        columns: columns.codes.iter().map(Vec::as_slice).collect(),
        clusters: &columns.label,
        codes: (0..columns.keys.len()).map(|k| columns.codes_len(k)).max().unwrap_or(0),
    };
    let reading = Reading {
        min_rows: thresholds.tree_min_rows,
        max_nodes: usize::MAX,
        tries_others: true,
        presence: true,
        salient: Salient::Clusters { least: thresholds.tree_min_salient, permille: thresholds.tree_salient_permille },
        is_trivial: &|key, code| !columns.keys[key].is(Fixed::DEPTH) && is_number(columns, key, code),
    };
    let keys = (0..columns.keys.len()).filter(splits).collect();
    Tree::grow(&table, rows.clone(), keys, &reading)
}

impl Forms {
    /// Evidence of moving forms to one target: each member with its mapping in terms of the target's keys.
    pub fn test(&mut self, columns: &Columns, members: &[(usize, &Mapping)]) -> Groups {
        let words = &self.words;
        let identity = |row: u32, mapping: &Mapping| {
            mapping.iter().fold(0u64, |sum, &(target, source)| {
                let word = words[source][columns.codes[source][row as usize] as usize];
                sum.wrapping_add(crate::model::hash64_seeded(&word.to_le_bytes(), target as u64))
            })
        };
        let rows: Vec<(u64, u32)> = members
            .iter()
            .flat_map(|(f, mapping)| self.list[*f].rows.iter().map(|&r| (identity(r, mapping), r)))
            .collect();
        self.sorter.group(rows.into_iter(), &columns.label)
    }

    /// Takes the rows with these values of a key, sorted, out of a form; returns the form that they become.
    pub fn split(&mut self, columns: &Columns, form: usize, key: usize, values: &[u32]) -> usize {
        let mut part = self.list[form].clone();
        let from = &mut self.list[form];
        let is_moved = |row: &u32| values.binary_search(&columns.code(key, *row)).is_ok();
        from.rows.retain(|row| !is_moved(row));
        part.rows.retain(is_moved);
        for form in [&mut *from, &mut part] {
            form.volume = form.rows.iter().map(|&row| u64::from(columns.weight[row as usize])).sum();
        }
        self.list.push(part);
        self.list.len() - 1
    }

    /// The graph of the energy walk: forms with their volumes, candidates with their weights.
    pub fn graph(&self) -> Graph {
        Graph {
            volume: self.list.iter().map(|form| form.volume).collect(),
            edges: self.candidates.iter().map(|c| (c.source as u32, c.target as u32, c.weight)).collect(),
            damping: self.thresholds.energy_damping,
            ..Graph::default()
        }
    }

    /// Conditions on the keys of a form that tell it from forms with the same keys: its constants and its
    /// leaf.
    pub fn scope(&self, form: &Form, tree: &Tree) -> (Scope, Vec<(usize, Vec<u32>)>) {
        let mut is: Vec<(usize, Condition)> = form.constants.iter().map(|&(k, c)| (k, Condition::Is(c))).collect();
        is.extend(form.slots.iter().map(|&k| (k, Condition::Present)));
        let mut none = Vec::new();
        for node in tree.path(form.leaf) {
            let k = node.key as usize;
            match &node.branch {
                Branch::Is(code) if form.slots.contains(&k) => {
                    is.retain(|(key, _)| *key != k);
                    is.push((k, Condition::Is(*code)));
                }
                Branch::NoneOf(codes) if form.slots.contains(&k) => {
                    let codes: Vec<u32> = codes.iter().copied().filter(|&c| c != 0).collect();
                    if !codes.is_empty() {
                        none.push((k, codes));
                    }
                }
                _ => {}
            }
        }
        none.extend(form.moved.iter().chain(&form.parts).cloned());
        is.sort_by_key(|s| s.0);
        none.sort();
        (is, none)
    }

    /// The column of the host.
    pub fn host(&self) -> Option<usize> {
        self.host
    }
}

/// For each form, for each of its keys, the values whose rows become forms.
pub type Parts = BTreeMap<usize, BTreeMap<usize, BTreeSet<u32>>>;
