//! Counts of a clustering run.

use super::mark::{ANSWERED, DECLARES, FAILED, FLAGS, MOVED, MarkRow, NUMBER_BITS, OTHER};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counts of a run, equal for any number of workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Records read.
    pub records: u64,
    /// Records that are no absolute http or https URL with a host.
    pub invalid: u64,
    /// Records answered with a page, unless known otherwise.
    pub pages: u64,
    /// Records answered with something that is no page.
    pub other: u64,
    /// Redirects.
    pub moved: u64,
    /// Errors.
    pub failed: u64,
    /// Records with a cluster, soft 404s included.
    pub labelled: u64,
    /// Clusters.
    pub clusters: u64,
    /// Clusters of two records or more.
    pub duplicates: u64,
    /// Redirects that were joined to their target.
    pub redirects: u64,
    /// Redirects to an error: no evidence.
    pub dead_redirects: u64,
    /// Declarations of another URL that were followed.
    pub canonicals: u64,
    /// Declarations that were refused: the target is on another site.
    pub foreign: u64,
    /// Declarations that were refused: the target answered with an error.
    pub to_errors: u64,
    /// Declarations that were refused: pages with different texts declare the target.
    pub strangers: u64,
    /// Records that lost their label because they share a soft 404 with other forms.
    pub unlabelled: u64,
    /// Pages whose text is not in the input: left without a label by simhash.
    pub unread: u64,
    /// Soft 404s, the largest first.
    pub soft_404s: Vec<Soft404>,
}

/// One text under very many URLs of different forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Soft404 {
    /// Its label.
    pub cluster: u64,
    /// URLs in it.
    pub urls: u64,
    /// Number of their forms.
    pub forms: u64,
    /// Worker that read one of them, and its number there.
    pub example: (usize, u64),
}

/// Soft 404s that are listed.
const TOLD: usize = 100;

impl Figures {
    /// Adds the counts of another process of the same run.
    pub fn add(&mut self, other: Figures) {
        self.soft_404s.extend(other.soft_404s);
        keep_largest(&mut self.soft_404s);
        self.records += other.records;
        self.invalid += other.invalid;
        self.pages += other.pages;
        self.other += other.other;
        self.moved += other.moved;
        self.failed += other.failed;
        self.labelled += other.labelled;
        self.clusters += other.clusters;
        self.duplicates += other.duplicates;
        self.redirects += other.redirects;
        self.dead_redirects += other.dead_redirects;
        self.canonicals += other.canonicals;
        self.foreign += other.foreign;
        self.to_errors += other.to_errors;
        self.strangers += other.strangers;
        self.unlabelled += other.unlabelled;
        self.unread += other.unread;
    }
}

/// Keeps the largest soft 404s, ties by label.
fn keep_largest(soft_404s: &mut Vec<Soft404>) {
    soft_404s.sort_by_key(|soft_404| (std::cmp::Reverse(soft_404.urls), soft_404.cluster));
    soft_404s.truncate(TOLD);
}

/// [`Figures`] while the workers count.
#[derive(Debug, Default)]
pub(super) struct Counters {
    counts: [AtomicU64; 15],
    unlabelled: AtomicU64,
    unread: AtomicU64,
    soft_404s: Mutex<Vec<Soft404>>,
}

impl Counters {
    fn add(&self, at: usize, count: usize) {
        // Statistics: no other memory depends on them.
        self.counts[at].fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn saw(&self, row: Option<&MarkRow>) {
        self.add(0, 1);
        let Some(row) = row else { return self.add(1, 1) };
        let flags = row[FLAGS];
        self.add(
            match () {
                _ if flags & FAILED != 0 => 5,
                _ if flags & MOVED != 0 => 4,
                _ if flags & OTHER != 0 => 3,
                _ => 2,
            },
            1,
        );
        assert!(flags & DECLARES == 0 || flags & ANSWERED != 0);
    }

    pub(super) fn cluster(&self, records: usize) {
        self.add(6, records);
        self.add(7, 1);
        self.add(8, usize::from(records > 1));
    }

    pub(super) fn redirects(&self, count: usize) {
        self.add(9, count);
    }

    pub(super) fn dead_redirects(&self, count: usize) {
        self.add(10, count);
    }

    pub(super) fn canonicals(&self, count: usize) {
        self.add(11, count);
    }

    pub(super) fn foreign(&self, count: usize) {
        self.add(12, count);
    }

    pub(super) fn to_errors(&self, count: usize) {
        self.add(13, count);
    }

    pub(super) fn strangers(&self, count: usize) {
        self.add(14, count);
    }

    pub(super) fn soft_404(&self, cluster: u64, urls: usize, forms: usize, id: u64) {
        let example = ((id >> NUMBER_BITS) as usize, id & ((1 << NUMBER_BITS) - 1));
        let mut soft_404s = self.soft_404s.lock().unwrap_or_else(PoisonError::into_inner);
        soft_404s.push(Soft404 { cluster, urls: urls as u64, forms: forms as u64, example });
    }

    pub(super) fn unlabelled(&self, records: usize) {
        self.unlabelled.fetch_add(records as u64, Ordering::Relaxed);
    }

    pub(super) fn unread(&self, page: bool) {
        self.unread.fetch_add(u64::from(page), Ordering::Relaxed);
    }

    pub(super) fn figures(&self) -> Figures {
        let at = |at: usize| self.counts[at].load(Ordering::Relaxed);
        let mut soft_404s = self.soft_404s.lock().unwrap_or_else(PoisonError::into_inner).clone();
        keep_largest(&mut soft_404s);
        Figures {
            records: at(0),
            invalid: at(1),
            pages: at(2),
            other: at(3),
            moved: at(4),
            failed: at(5),
            labelled: at(6),
            clusters: at(7),
            duplicates: at(8),
            redirects: at(9),
            dead_redirects: at(10),
            canonicals: at(11),
            foreign: at(12),
            to_errors: at(13),
            strangers: at(14),
            unlabelled: self.unlabelled.load(Ordering::Relaxed),
            unread: self.unread.load(Ordering::Relaxed),
            soft_404s,
        }
    }
}
