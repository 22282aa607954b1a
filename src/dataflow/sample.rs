//! The training sample: a function of the records alone, never of their arrival.
//!
//! Two steps, both by hashes of cluster label and URL in normal form:
//!
//! 1. **Share.** A record is a candidate when `hash(label) < share * w` (its cluster trains as a whole:
//!    evidence for rules) or when `hash(url) < (share - share * w) / (1 - share * w)` (it trains as a
//!    single URL: counter-evidence); hashes are read as fractions of 2^64 and w is
//!    [`SampleParams::whole_weight`]. The two are independent, so the chance of a record is `1 - (1 -
//!    share w) (1 - share') = share`. A record without a label is a candidate when `hash(url) < share`.
//! 2. **Budget.** Of the candidates of a site, a cluster keeps, by hash of the URL, the 32 smallest of
//!    each of 16 groups of forms ([`form`](super::form)) and of the others the 1,000 smallest: with the
//!    second alone, rare URL shapes would be missing from the sample of a login page behind ten
//!    thousand URLs of one form and forty of another. Of those, half of the budget goes to whole
//!    clusters (smallest by hash of the cluster, then of the URL), the rest to the smallest by hash of
//!    the URL among the others: [`select`].
//!
//! **Invariant**: `select` over a union of selections of parts is `select` over the union of the parts,
//! however the records are distributed. (The first half and the cap are prefixes of a fixed order. A record
//! that is left out of its part's second half has as many smaller ones ahead of it in the whole, since
//! up to any URL a part never keeps more of a cluster, nor holds more of the first half, than the whole
//! does. For that the groups of forms come first: taken beside the 1,000 smallest of all, one record
//! more could displace two.) So each worker selects before it ships, ships at most the budget of a site
//! a flush, and the owner of the site selects again.
//!
//! In a sample a cluster is its 64-bit hash; two labels of one hash are capped together. Records that
//! differ only in [`elsewhere`](crate::model::Record::elsewhere) are two until
//! [`Training`](crate::site::Training) makes them one.
//!
//! Besides, each origin (scheme, host and port) of a labelled record is shipped, whether the record
//! trains or not: rules act on the origins that were read. It travels as a record that is the origin,
//! without a path, and takes no part in share and budget; a site has at most [`ORIGINS`] of them, the
//! first by their bytes.
//!
//! **Memory**: [`Sampler`] holds candidates up to its share of the budget, then selects and ships all
//! it holds; beside them it keeps 48 bytes and the name of every site it has seen, the hashes of the
//! last origins (4 MiB), and at most 256 origins that records of a site lead to.

use super::form::form;
use super::rows::ORIGIN;
use super::rows::{Names, Rows, UNLABELLED};
use crate::model::{hash64, hash64_seeded};
use crate::rules::origins;
use crate::site::held_out::site_key;
use crate::site::hints::Targets;
use foldhash::fast::FixedState;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

/// Seed of the hash of cluster labels.
const CLUSTER_SEED: u64 = 0x636c_7573_7465_7273;
/// Seed of the hash of URLs.
const URL_SEED: u64 = 0x7369_6e67_6c65_7572;
/// Seed of the hash that holds URLs back.
const HELD_BACK_SEED: u64 = 0x6865_6c64_6261_636b;

/// Parameters of the sample; written into the rule file.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SampleParams {
    /// Expected share of the records that train, in (0, 1].
    pub share: f64,
    /// Most URLs of a site that train.
    pub max: u32,
    /// Part of share and budget that goes to whole clusters, in [0, 1].
    pub whole_weight: f64,
    /// Most URLs of a cluster that train, beside a 32nd part of it for each of [`FORMS`] groups of forms.
    pub cluster_max: u32,
    /// Share of the URLs that never train, in [0, 1): the proof counts them separately.
    pub held_back: f64,
}

impl Default for SampleParams {
    fn default() -> SampleParams {
        SampleParams { share: 1.0, max: 100_000, whole_weight: 0.5, cluster_max: 1_000, held_back: 0.0 }
    }
}

/// A share in [0, 1] as a bound on 64-bit hashes.
fn bound(share: f64) -> u128 {
    (share.clamp(0.0, 1.0) * 2f64.powi(64)) as u128
}

/// Bounds on hashes by which [`SampleParams`] select records.
#[derive(Clone, Copy, Debug)]
pub struct HashBounds {
    cluster: u128,
    single: u128,
    unlabelled: u128,
    held_back: u128,
}

/// Hashes of a record, and whether they make it a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// Hash of the URL.
    pub url: u64,
    /// Hash of the cluster label; [`UNLABELLED`] without one.
    pub cluster: u64,
    /// True if the share lets it train (the budget of its site may not).
    pub candidate: bool,
}

impl HashBounds {
    /// Bounds for `params`.
    pub fn new(params: &SampleParams) -> HashBounds {
        let whole = params.share * params.whole_weight;
        let single = if whole < 1.0 { (params.share - whole) / (1.0 - whole) } else { 0.0 };
        HashBounds {
            cluster: bound(whole),
            single: bound(single),
            unlabelled: bound(params.share),
            held_back: bound(params.held_back),
        }
    }

    /// Draws for one record.
    pub fn draw(&self, url: &[u8], label: Option<&[u8]>) -> Draw {
        let url_hash = hash64_seeded(url, URL_SEED);
        let cluster = label.map_or(UNLABELLED, |l| hash64_seeded(l, CLUSTER_SEED).min(UNLABELLED - 1));
        let by_url = if label.is_some() { self.single } else { self.unlabelled };
        let drawn = u128::from(url_hash) < by_url || (label.is_some() && u128::from(cluster) < self.cluster);
        let held_back = self.held_back > 0 && u128::from(hash64_seeded(url, HELD_BACK_SEED)) < self.held_back;
        Draw { url: url_hash, cluster, candidate: drawn && !held_back }
    }
}

/// A candidate in [`select`]: its hashes and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleKey {
    /// Hash of the cluster label; [`UNLABELLED`] without one.
    pub cluster: u64,
    /// Hash of the URL.
    pub url: u64,
    /// Position, for the caller.
    pub at: u64,
}

/// Bounds of a full budget: a record beyond both is in no sample that these records are part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BudgetBounds {
    cluster: u64,
    url: u64,
}

impl BudgetBounds {
    /// True if a record with these hashes may still enter.
    #[inline]
    pub fn admits(&self, draw: &Draw) -> bool {
        draw.url <= self.url || (draw.cluster <= self.cluster && draw.cluster != UNLABELLED)
    }
}

/// Limits the candidates of one site to its budget, repeats counting once; `None` where the budget is not
/// used up. `tie` orders two positions by their records where the hashes are equal; `url` is the URL at
/// a position.
pub fn select<'a>(
    keys: &mut Vec<SampleKey>,
    params: &SampleParams,
    tie: impl Fn(u64, u64) -> Ordering,
    url: impl Fn(u64) -> &'a [u8],
) -> Option<BudgetBounds> {
    keys.sort_unstable_by(|a, b| (a.cluster, a.url).cmp(&(b.cluster, b.url)).then_with(|| tie(a.at, b.at)));
    keys.dedup_by(|b, a| (a.cluster, a.url) == (b.cluster, b.url) && tie(a.at, b.at) == Ordering::Equal);
    let from = keys.partition_point(|key| key.cluster != UNLABELLED);
    let to = from + keys[from..].partition_point(|key| key.url == ORIGIN);
    let origins: Vec<SampleKey> = keys.drain(from..to).take(ORIGINS).collect();
    let bounds = within_budget(keys, params, tie, url);
    keys.extend(origins);
    bounds
}

/// Runs [`select`] on sorted keys that are all of URLs.
fn within_budget<'a>(
    keys: &mut Vec<SampleKey>,
    params: &SampleParams,
    tie: impl Fn(u64, u64) -> Ordering,
    url: impl Fn(u64) -> &'a [u8],
) -> Option<BudgetBounds> {
    let max = params.max.max(1) as usize;
    cap(keys, params, url);
    if keys.len() < max {
        return None;
    }
    let labelled = keys.partition_point(|key| key.cluster != UNLABELLED);
    let budget = ((f64::from(params.max) * params.whole_weight) as usize).min(max);
    let whole = budget.min(labelled);
    keys[whole..].sort_unstable_by(|a, b| (a.url, a.cluster).cmp(&(b.url, b.cluster)).then_with(|| tie(a.at, b.at)));
    keys.truncate(max);
    let cluster = match whole {
        _ if whole < budget => UNLABELLED - 1,
        0 => 0,
        _ => keys[whole - 1].cluster,
    };
    // With the whole budget in clusters, none is left for single URLs.
    let url = if whole < max { keys[max - 1].url } else { 0 };
    Some(BudgetBounds { cluster, url })
}

/// Groups of forms in a cluster that each keep some URLs.
pub const FORMS: u64 = 16;

/// Limits clusters to [`SampleParams::cluster_max`] and the URLs that their groups of forms keep. `keys`
/// are sorted by cluster, then by URL.
fn cap<'a>(keys: &mut Vec<SampleKey>, params: &SampleParams, url: impl Fn(u64) -> &'a [u8]) {
    let (most, of_form) = (params.cluster_max as usize, params.cluster_max.div_ceil(32));
    let large = |cluster: &[SampleKey]| cluster.len() > most && cluster[0].cluster != UNLABELLED;
    if !keys.chunk_by(|a, b| a.cluster == b.cluster).any(large) {
        return;
    }
    let (mut keep, mut text) = (Vec::with_capacity(keys.len()), Vec::new());
    for cluster in keys.chunk_by(|a, b| a.cluster == b.cluster) {
        if !large(cluster) {
            keep.resize(keep.len() + cluster.len(), true);
            continue;
        }
        let (mut seen, mut others) = ([0; FORMS as usize], 0);
        keep.extend(cluster.iter().map(|key| {
            text.clear();
            form(url(key.at), &mut text);
            let seen = &mut seen[(hash64(&text) % FORMS) as usize];
            *seen += 1;
            others += usize::from(*seen > of_form);
            *seen <= of_form || others <= most
        }));
    }
    let mut keep = keep.into_iter();
    keys.retain(|_| keep.next().unwrap_or(false));
}

/// Most origins of a site; URLs of others get their normal form.
pub const ORIGINS: usize = 1 << 16;
/// Shipped origins that a worker remembers; beyond, all are forgotten and shipped again.
const SHIPPED: usize = 1 << 18;

/// The worker that owns a site.
pub fn owner(site: &[u8], peers: usize) -> usize {
    (hash64(site) % peers as u64) as usize
}

/// Rows a shipment holds at most.
const BATCH_ROWS: usize = 1 << 16;
/// Bytes of strings a shipment holds at most (one record more).
const BATCH_BYTES: usize = 4 << 20;

/// State of a site at a worker.
#[derive(Clone, Copy, Debug)]
struct SiteState {
    owner: u32,
    /// Candidates held.
    held: u32,
    /// Candidates so far, repeats included.
    candidates: u64,
    /// Stamp of the batch whose names include the site.
    batch: u64,
    index: u32,
    bounds: Option<BudgetBounds>,
}

/// Sampler of one worker: takes its records in any order, ships candidates to the owners of their
/// sites.
#[derive(Debug)]
pub struct Sampler {
    params: SampleParams,
    hash_bounds: HashBounds,
    names: Names,
    states: Vec<SiteState>,
    /// Batches for each worker; the last is being filled.
    batches: Vec<Vec<Rows>>,
    /// Stamp of the batch being filled for each worker.
    stamps: Vec<u64>,
    next_stamp: u64,
    held_bytes: usize,
    budget: usize,
    /// A site holds more candidates than its budget.
    over: bool,
    last: Option<u32>,
    /// Hashes of origins that were shipped, with their site.
    shipped: HashSet<u64, FixedState>,
    /// Origins that records lead to, by site.
    targets: BTreeMap<u32, Targets>,
    /// Buffer for normal forms of targets.
    target: Vec<u8>,
}

impl Sampler {
    /// A sampler among `peers` workers that holds about `budget` bytes.
    pub fn new(params: SampleParams, peers: usize, budget: usize) -> Sampler {
        Sampler {
            params,
            hash_bounds: HashBounds::new(&params),
            names: Names::default(),
            states: Vec::new(),
            batches: (0..peers).map(|_| vec![Rows::default()]).collect(),
            stamps: (1..=peers as u64).collect(),
            next_stamp: peers as u64 + 1,
            held_bytes: 0,
            budget,
            over: false,
            last: None,
            shipped: HashSet::default(),
            targets: BTreeMap::new(),
            target: Vec::new(),
        }
    }

    /// The id of a site, new or not.
    fn id(&mut self, site: &[u8]) -> u32 {
        let id = match self.last {
            Some(id) if self.names.get(id) == site => id,
            _ => self.names.intern(site),
        };
        self.last = Some(id);
        if id as usize == self.states.len() {
            let owner = owner(site, self.batches.len()) as u32;
            self.states.push(SiteState { owner, held: 0, candidates: 0, batch: 0, index: 0, bounds: None });
            self.enter(id);
        }
        id
    }

    /// Takes a record that redirects to the origin `target`, or declares it, besides
    /// [`offer`](Self::offer): all of them count, whether they train or not.
    pub fn count_target(&mut self, site: &[u8], url: &[u8], target: &[u8]) {
        let id = self.id(site);
        self.targets.entry(id).or_default().count(url, target, &mut self.target);
    }

    /// Takes a record (its URL in normal form).
    pub fn offer(&mut self, site: &[u8], url: &[u8], label: Option<&[u8]>, elsewhere: bool) {
        let id = self.id(site);
        if label.is_some() {
            self.offer_origin(id, origins::of(url));
        }
        let draw = self.hash_bounds.draw(url, label);
        if !draw.candidate {
            return;
        }
        self.states[id as usize].candidates += 1;
        if self.states[id as usize].bounds.is_some_and(|bounds| !bounds.admits(&draw)) {
            return;
        }
        self.enter(id);
        let state = &mut self.states[id as usize];
        state.held += 1;
        self.over |= state.held > self.params.max;
        let (owner, index) = (state.owner as usize, state.index);
        let rows = self.batches[owner].last_mut().expect("one batch is always open");
        let before = rows.memory();
        rows.push(index, draw.url, draw.cluster, url, label, elsewhere);
        self.held_bytes += rows.memory() - before;
        if rows.len() >= BATCH_ROWS || rows.byte_len() >= BATCH_BYTES {
            self.batches[owner].push(Rows::default());
            self.stamps[owner] = self.next_stamp;
            self.next_stamp += 1;
        }
    }

    /// Ships an origin of a site, unless it was shipped before or has user information.
    fn offer_origin(&mut self, id: u32, origin: &[u8]) {
        if self.shipped.len() >= SHIPPED {
            self.shipped.clear();
        }
        let is_new = self.shipped.insert(hash64_seeded(origin, u64::from(id)));
        if is_new && memchr::memchr(b'@', origin).is_none() {
            self.enter(id);
            let SiteState { owner, index, .. } = self.states[id as usize];
            let rows = self.batches[owner as usize].last_mut().expect("one batch is always open");
            rows.push(index, ORIGIN, UNLABELLED, origin, None, false);
            self.held_bytes += origin.len();
        }
    }

    /// True when the sampler holds more than its budget and should be flushed.
    pub fn is_full(&self) -> bool {
        self.held_bytes > self.budget
    }

    /// Selects, and returns all rows held: `(worker, rows)`.
    pub fn flush(&mut self) -> Vec<(u64, Rows)> {
        let mut out = Vec::new();
        for (id, targets) in std::mem::take(&mut self.targets) {
            self.enter(id);
            let SiteState { owner, index, .. } = self.states[id as usize];
            let rows = self.batches[owner as usize].last_mut().expect("one batch is always open");
            rows.targets.push((index, targets.iter().map(|(origin, votes)| (origin.to_vec(), votes)).collect()));
        }
        for owner in 0..self.batches.len() {
            let mut batches = std::mem::replace(&mut self.batches[owner], vec![Rows::default()]);
            self.stamps[owner] = self.next_stamp;
            self.next_stamp += 1;
            if self.over {
                self.select_within_budget(&mut batches);
            }
            out.extend(batches.into_iter().filter(|rows| rows.sites() > 0).map(|rows| (owner as u64, rows)));
        }
        for state in &mut self.states {
            state.held = 0;
        }
        (self.held_bytes, self.over) = (0, false);
        out
    }

    /// The candidates of each site, by its key, for every worker: sent once, when all records were offered.
    pub fn candidates(&self) -> Vec<(u64, Rows)> {
        let key = |id| site_key(&String::from_utf8_lossy(self.names.get(id)));
        let candidates: Vec<(u64, u64)> = (0..).map(key).zip(self.states.iter().map(|site| site.candidates)).collect();
        let to_all = |to| (to as u64, Rows::of_candidates(candidates.clone()));
        (0..self.batches.len()).map(to_all).collect()
    }

    /// Makes sure the open batch of the site's owner names the site.
    fn enter(&mut self, id: u32) {
        let state = &mut self.states[id as usize];
        let stamp = self.stamps[state.owner as usize];
        if state.batch != stamp {
            state.batch = stamp;
            let rows = self.batches[state.owner as usize].last_mut().expect("one batch is always open");
            state.index = rows.push_site(self.names.get(id));
        }
    }

    /// Selects within each site that holds more than its budget.
    fn select_within_budget(&mut self, batches: &mut [Rows]) {
        let mut keys: Vec<(u32, SampleKey)> = Vec::new();
        for (b, rows) in batches.iter().enumerate() {
            let ids: Vec<u32> = (0..rows.sites()).map(|s| self.names.intern(rows.site_name(s as u32))).collect();
            for row in 0..rows.len() {
                let id = ids[rows.site[row] as usize];
                if self.states[id as usize].held > self.params.max {
                    let at = (b as u64) << 32 | row as u64;
                    keys.push((id, SampleKey { cluster: rows.cluster_hash[row], url: rows.url_hash[row], at }));
                }
            }
        }
        keys.sort_unstable_by_key(|&(id, key)| (id, key.at));
        let mut keep: Vec<Vec<bool>> = batches.iter().map(|rows| vec![true; rows.len()]).collect();
        let place = |at: u64| ((at >> 32) as usize, (at & 0xffff_ffff) as usize);
        for group in keys.chunk_by(|a, b| a.0 == b.0) {
            let mut site: Vec<SampleKey> = group.iter().map(|&(_, key)| key).collect();
            site.iter().for_each(|key| keep[place(key.at).0][place(key.at).1] = false);
            let tie = |a, b| {
                let ((a, i), (b, j)) = (place(a), place(b));
                batches[a].tie(i, &batches[b], j)
            };
            let bounds = select(&mut site, &self.params, tie, |at| batches[place(at).0].record(place(at).1).0);
            site.iter().for_each(|key| keep[place(key.at).0][place(key.at).1] = true);
            let state = &mut self.states[group[0].0 as usize];
            state.bounds = bounds.or(state.bounds);
        }
        for (rows, keep) in batches.iter_mut().zip(&keep) {
            if keep.contains(&false) {
                *rows = rows.gather((0..rows.len()).filter(|&row| keep[row]));
            }
        }
    }
}

#[cfg(test)]
mod tests;
