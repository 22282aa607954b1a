//! Survey of the first records of an input, for `--cluster-by auto`.

use super::cluster_by::ClusterBy;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use undust::io::{IoError, Rejects, Shard, ShardReader};
use undust::model::{DocumentKind, Facts, RecordBatch};

/// Shards that are read.
const SURVEYED: usize = 8;

/// Counts of the first batches of some shards.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Survey {
    shards: usize,
    records: u64,
    pages: u64,
    pub(super) labels: u64,
    texts: u64,
    digests: u64,
    canonicals: u64,
    redirects: u64,
}

impl Survey {
    /// Reads the first batch of up to [`SURVEYED`] shards, spread over all of them: the same whatever the
    /// workers.
    pub(super) fn of(shards: &[Shard], line_limit: usize) -> Result<Survey, IoError> {
        let mut survey = Survey::default();
        let (mut batch, mut rejects) = (RecordBatch::default(), Rejects::default());
        for shard in shards.iter().step_by(shards.len().div_ceil(SURVEYED).max(1)) {
            survey.shards += 1;
            let mut reader = ShardReader::open_with_facts(shard, line_limit, Arc::new(AtomicU64::new(0)))?;
            while reader.next_batch(&mut batch, &mut rejects)? && batch.is_empty() {}
            for (at, record) in batch.iter().enumerate() {
                survey.add(record.cluster.is_some(), batch.facts(at));
            }
        }
        Ok(survey)
    }

    /// Adds the survey of another process on other shards.
    pub(super) fn merge(&mut self, other: &Survey) {
        self.shards += other.shards;
        self.records += other.records;
        self.pages += other.pages;
        self.labels += other.labels;
        self.texts += other.texts;
        self.digests += other.digests;
        self.canonicals += other.canonicals;
        self.redirects += other.redirects;
    }

    fn add(&mut self, label: bool, facts: Facts<'_>) {
        self.records += 1;
        self.labels += u64::from(label);
        self.redirects += u64::from(facts.redirect.is_some());
        if facts.kind != DocumentKind::Other && matches!(facts.status, 0 | 200..=299) {
            self.pages += 1;
            self.texts += u64::from(facts.text.is_some());
            self.digests += u64::from(facts.digest.is_some());
            self.canonicals += u64::from(facts.canonical.is_some());
        }
    }

    /// Chooses labels first: someone made them on purpose. Then the surest evidence that a good part of the
    /// pages have. Texts may exist for fewer than all pages, since revisits name a digest only.
    pub(super) fn choice(&self) -> ClusterBy {
        match self {
            _ if self.labels > 0 => ClusterBy::Label,
            _ if self.texts * 4 >= self.pages && self.texts > 0 => ClusterBy::Simhash,
            _ if self.digests * 2 >= self.pages && self.digests > 0 => ClusterBy::Digest,
            _ if self.canonicals * 10 >= self.pages && self.canonicals > 0 => ClusterBy::Canonical,
            _ if self.redirects > 0 => ClusterBy::Redirect,
            _ => ClusterBy::Label,
        }
    }

    pub(super) fn text(&self, choice: ClusterBy) -> String {
        let Survey { shards, records, pages, labels, texts, digests, canonicals, redirects } = self;
        let held = format!(
            "of the first {records} records in {shards} shards: {labels} labels, {redirects} redirects; of {pages} pages \
             {texts} with a text, {digests} with a digest, {canonicals} that declare a canonical URL"
        );
        match choice {
            ClusterBy::Label => format!("nothing tells which pages are alike, so nothing can be learned ({held})"),
            _ => format!("--cluster-by {} ({held})", choice.name()),
        }
    }
}
