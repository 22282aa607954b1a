//! One site: its host, page types, decorations and clusters, and each of its records by position.
//!
//! Nothing is kept of the records. A position in the crawl goes through a permutation to a row, a row
//! through a list of runs of equally large clusters to `(cluster, member)`, and these two to a URL. A
//! plan takes 30 KiB at most, whatever the number of URLs, and any worker makes any range of records.

use super::decor::Decor;
use super::kind::{self, Page, PageType, TYPES};
use super::options::Options;
use super::parts::Parts;
use super::place::{PlannedType, assign};
use super::rng::{Permutation, Rng, mix2, unit};
use super::sizes::{self, Share};
use super::view::View;
use super::words;

/// Largest cluster of WWW10, table 1: no constant page grows beyond it.
pub const LARGEST_CLUSTER: u64 = 314_465;

/// Suffixes of invented domains, and whether `www` is unusual below them. Some have several labels;
/// `github.io` is a suffix of the private section of the public suffix list.
const SUFFIXES: [(&str, bool); 8] = [
    (".com", false),
    (".com", false),
    (".org", false),
    (".net", false),
    (".de", false),
    (".co.uk", false),
    (".com.au", false),
    (".github.io", true),
];

/// A run of clusters of one page type and size.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// First row.
    row: u64,
    /// First cluster.
    cluster: u64,
    /// URLs a cluster.
    size: u64,
    /// Index into the page types.
    kind: u32,
}

/// True facts of one page type of a site.
#[derive(Clone, Debug, serde::Serialize)]
pub struct TypeFacts {
    /// Name on the command line.
    pub name: &'static str,
    /// Its URLs, before rows are dropped.
    pub urls: u64,
    /// Its clusters.
    pub clusters: u64,
    /// What is to be learned.
    pub rules: Vec<String>,
}

/// One record: what its URL belongs to. The URL itself is added to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRecord {
    /// The true cluster: a number below [`SitePlan::clusters`].
    pub cluster: u64,
    /// The cluster that the label names: another one where clusters are fused.
    pub label: u64,
    /// The label names the second half of a split cluster.
    pub half: bool,
    /// Which of its page's renderings the label names; 0 for the first and for pages with one.
    pub rendering: u64,
    /// The record is left out.
    pub dropped: bool,
}

/// One site with known truth.
pub struct SitePlan {
    index: u64,
    domain: String,
    seed: u64,
    decor: Decor,
    kinds: Vec<PlannedType>,
    runs: Vec<Run>,
    rows: u64,
    clusters: u64,
    order: Permutation,
    noise: f64,
    split: f64,
    drop: f64,
}

const SALT_ROWS: u64 = 1;
const SALT_FUSE: u64 = 2;
const SALT_FUSE_TO: u64 = 3;
const SALT_SPLIT: u64 = 4;
const SALT_HALF: u64 = 5;
const SALT_DROP: u64 = 6;
const SALT_RENDERING: u64 = 7;

impl SitePlan {
    /// Plans site `index` with `rows` URLs. `options` must have been [checked](Options::check).
    pub fn new(options: &Options, index: u64, rows: u64) -> SitePlan {
        let seed = mix2(options.seed, index);
        let mut rng = Rng::new(seed);
        let (suffix, bare) = rng.pick(&SUFFIXES);
        let domain = format!("{}{}{index}{suffix}", rng.pick(&words::WORDS), rng.pick(&words::WORDS));
        let types = choose_types(&mut rng, options.types.as_deref());
        let mut decor = Decor::draw(&mut rng, bare, options.decorations.as_deref());
        let mut kinds: Vec<PlannedType> = types.into_iter().map(|make| PlannedType::new(make, &mut rng)).collect();
        let weights: Vec<f64> = kinds.iter().map(|_| 0.3 + 1.2 * rng.unit()).collect();

        // Constant pages first: they take a share of the URLs, not of the clusters.
        let constants = kinds.iter().filter(|k| k.is_constant()).count() as u64;
        let all_constant = constants == kinds.len() as u64;
        let mut constant_urls = Vec::new();
        for i in 0..constants {
            let share = if all_constant { 1.0 / constants as f64 } else { 0.01 + 0.095 * rng.unit() };
            let left = rows - constant_urls.iter().sum::<u64>();
            let last = all_constant && i + 1 == constants;
            let urls = (share * rows as f64) as u64;
            constant_urls.push(if last { left } else { urls.clamp(1, LARGEST_CLUSTER).min(left) });
        }
        let constant: u64 = constant_urls.iter().sum();

        // Then blocks, which have sizes of their own: they take a share of the URLs, too.
        let ordinary = kinds.iter().filter(|k| !k.is_constant() && !k.is_block()).count();
        let whole: f64 = kinds.iter().zip(&weights).filter(|(k, _)| !k.is_constant()).map(|(_, w)| w).sum();
        let mut left = rows - constant;
        let mut block_urls = Vec::new();
        for (_, weight) in kinds.iter().zip(&weights).filter(|(k, _)| k.is_block()) {
            let urls = ((weight / whole * (rows - constant) as f64) as u64).min(left);
            left -= urls;
            block_urls.push(urls);
        }
        if let Some(last) = block_urls.last_mut().filter(|_| ordinary == 0) {
            *last += left;
            left = 0;
        }

        // The mean is that of all clusters of two or more: what constant pages take is missing from the
        // others.
        let part = constant as f64 / rows as f64;
        let singles_each = options.single / (1.0 - options.single).max(0.01);
        let mean = (options.mean_cluster - part * (options.mean_cluster + singles_each)).max(2.1);
        let caps = |kinds: &[PlannedType], decor: &Decor| -> Vec<u64> {
            kinds.iter().filter(|k| !k.is_block()).map(|k| k.cap(decor)).collect()
        };
        let reach = |caps: &[u64]| caps.is_empty() || caps.iter().any(|&cap| cap as f64 > 4.0 * mean);
        if options.decorations.is_none() && !reach(&caps(&kinds, &decor)) {
            decor.session = Some("PHPSESSID");
        }
        let shares: Vec<Share> = (kinds.iter().zip(&weights))
            .filter(|(kind, _)| !kind.is_constant() && !kind.is_block())
            .map(|(kind, &weight)| Share { weight, cap: kind.cap(&decor) })
            .collect();
        let mut ordinary = sizes::clusters(&shares, left, options.single, mean).into_iter();
        let (mut constant_urls, mut block_urls) = (constant_urls.into_iter(), block_urls.into_iter());

        let mut runs = Vec::new();
        let (mut row, mut cluster) = (0, 0);
        for (i, kind) in kinds.iter_mut().enumerate() {
            let groups = if kind.is_constant() {
                vec![constant_urls.next().filter(|&urls| urls > 0).map(|urls| (urls, 1)).into_iter().collect()]
            } else if kind.is_block() {
                assign(&kind.block, block_urls.next().unwrap_or_default())
            } else {
                vec![ordinary.next().unwrap_or_default()]
            };
            let (first_row, first_cluster) = (row, cluster);
            let mut first_clusters = Vec::new();
            for counts in groups {
                first_clusters.push(cluster);
                for (size, number) in counts {
                    runs.push(Run { row, cluster, size, kind: i as u32 });
                    row += size * number;
                    cluster += number;
                }
            }
            let seed = mix2(seed, 100 + i as u64);
            kind.place(&first_clusters, cluster - first_cluster, row - first_row, &decor, seed);
        }
        SitePlan {
            index,
            domain,
            seed,
            decor,
            kinds,
            runs,
            rows,
            clusters: cluster,
            order: Permutation::new(rows, mix2(seed, SALT_ROWS)),
            noise: options.noise,
            split: options.split,
            drop: options.drop,
        }
    }

    /// The site's number.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Registrable domain of all hosts of the site; no two sites share it.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Records, dropped ones included.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// True clusters.
    pub fn clusters(&self) -> u64 {
        self.clusters
    }

    /// True when some page of the site is recorded under several labels even without noise.
    pub fn has_renderings(&self) -> bool {
        let several = |kind: &PlannedType| (0..kind.block.len() as u64).any(|entity| kind.make.renderings(entity) > 1);
        self.kinds.iter().any(several)
    }

    /// The site's decorations.
    pub fn decor(&self) -> &Decor {
        &self.decor
    }

    /// `(size, clusters of that size)`, in no order; sizes may repeat.
    pub fn sizes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let ends = self.runs.iter().skip(1).map(|run| run.cluster).chain([self.clusters]);
        self.runs.iter().zip(ends).map(|(run, end)| (run.size, end - run.cluster))
    }

    /// True facts of each page type.
    pub fn facts(&self) -> Vec<TypeFacts> {
        let facts = |k: &PlannedType| TypeFacts {
            name: k.make.name(),
            urls: k.urls,
            clusters: k.clusters,
            rules: k.make.rules(),
        };
        self.kinds.iter().map(facts).collect()
    }

    /// Adds the URL of the record at `position` of the crawl (below [`rows`](Self::rows)) to `out` and
    /// returns what it belongs to. `scratch` is reused memory.
    pub fn record(&self, position: u64, scratch: &mut Parts, out: &mut Vec<u8>) -> PlannedRecord {
        let row = self.order.at(position);
        let run = &self.runs[self.runs.partition_point(|run| run.row <= row) - 1];
        let within = row - run.row;
        let (nth, member) = (within / run.size, within % run.size);
        let cluster = run.cluster + nth;
        let kind = &self.kinds[run.kind as usize];
        let entity = kind.entity(cluster);
        self.url(kind, cluster, entity, member, scratch, out);

        let about_cluster = mix2(self.seed, cluster);
        let about_row = mix2(self.seed ^ SALT_DROP, row);
        let chance = |salt: u64, p: f64| p > 0.0 && unit(mix2(about_cluster, salt)) < p;
        let label = if chance(SALT_FUSE, self.noise) {
            Rng::new(mix2(about_cluster, SALT_FUSE_TO)).below(self.clusters)
        } else {
            cluster
        };
        let renderings = kind.make.renderings(entity);
        let split = run.size > 1 && chance(SALT_SPLIT, self.split);
        PlannedRecord {
            cluster,
            label,
            half: split && mix2(about_row, SALT_HALF) & 1 == 1,
            rendering: if renderings > 1 { mix2(about_row, SALT_RENDERING) % renderings } else { 0 },
            dropped: self.drop > 0.0 && unit(about_row) < self.drop,
        }
    }

    fn url(&self, kind: &PlannedType, cluster: u64, entity: u64, member: u64, parts: &mut Parts, out: &mut Vec<u8>) {
        let decor = &self.decor;
        let about = mix2(self.seed ^ 0x0ddb_a115, cluster);
        let mut coin = Rng::new(about ^ member.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let address = kind.address(cluster, member, about, decor);
        let own_free = kind.make.has_free_value();
        let page = Page {
            entity,
            form: address.form,
            serial: (about >> 1).wrapping_add(member),
            free: address.free && own_free,
        };
        parts.clear();
        kind.make.write(page, parts, &mut coin);

        // Session and click id. Where the page has run out of other differences, one of them must be there.
        let must = address.free && !own_free;
        let session = decor.session.filter(|_| coin.percent(35) || must && (!decor.utm || coin.percent(60)));
        let click = decor.utm && must && session.is_none();
        let id = super::rng::mix(page.serial);
        let session_in_path = session == Some("jsessionid");
        if let Some(name) = session.filter(|_| !session_in_path) {
            parts.pair_with(name, |out| words::hex(id, 16, out));
        }
        if click {
            let name = coin.pick(&["gclid", "fbclid", "utm_campaign"]);
            parts.pair_with(name, |out| words::hex(id, 16, out));
        } else if decor.utm && coin.percent(25) {
            parts.pair("utm_source", coin.pick(&["tw", "fb", "rss"]));
            if coin.percent(70) {
                parts.pair("utm_medium", coin.pick(&["social", "feed"]));
            }
        }

        out.extend_from_slice(if address.https { b"https://" } else { b"http://" });
        let label = parts.host().unwrap_or(address.mirror);
        out.extend_from_slice(label.as_bytes());
        if !label.is_empty() {
            out.push(b'.');
        }
        out.extend_from_slice(self.domain.as_bytes());
        if decor.port && !address.https && coin.percent(10) {
            out.extend_from_slice(b":80");
        }
        let start = out.len();
        parts.put_path(out);
        if decor.case && !kind.make.keeps_case() && coin.percent(10) {
            if coin.percent(30) { out[start..].make_ascii_uppercase() } else { capitalize(&mut out[start..]) }
        }
        if decor.dslash && coin.percent(10) {
            let second = out[start + 1..].iter().position(|&b| b == b'/');
            if let Some(second) = second {
                out.insert(start + 1 + second, b'/');
            }
        }
        if session.is_some() && session_in_path {
            out.extend_from_slice(b";jsessionid=");
            words::hex(id, 16, out);
        }
        parts.put_query(out);
        if parts.no_query() && decor.empty_query && coin.percent(10) {
            out.push(b'?');
        }
        if decor.fragment && coin.percent(10) {
            out.extend_from_slice(coin.pick(&["#top", "#comments", "#main"]).as_bytes());
        }
    }

    /// The true cluster of a URL of this site, told from the URL and the truth of its page types alone: the
    /// oracle. None for a URL that the site does not serve, or that more than one of its page types claims.
    pub fn truth(&self, url: &str) -> Option<(&'static str, u64)> {
        let view = View::read(url, &self.domain, &self.decor)?;
        let mut claims = self.kinds.iter().filter_map(|kind| {
            let of_host = view.host.is_none() || kind.make.own_host_forms() > 0;
            if !of_host || !view.bare.is_empty() && !kind.make.has_bare_keys() {
                return None;
            }
            kind.make.key(&view).map(|entity| (kind.make.name(), entity))
        });
        claims.next().filter(|_| claims.next().is_none())
    }
}

/// First letter of each segment to upper case.
fn capitalize(path: &mut [u8]) {
    for i in 1..path.len() {
        if path[i - 1] == b'/' {
            path[i].make_ascii_uppercase();
        }
    }
}

/// The named types, or 3 to 7 of all; at least one of those drawn has duplicates of its own.
fn choose_types(rng: &mut Rng, names: Option<&[String]>) -> Vec<Box<dyn PageType>> {
    let makes: Vec<kind::Make> = match names {
        Some(names) => kind::named(names),
        None => {
            let mut all: Vec<usize> = (0..TYPES.len()).collect();
            rng.shuffle(&mut all);
            let count = 3 + rng.below(5) as usize;
            all.truncate(count);
            if all.iter().all(|&i| ["look", "lecture", "login", "soft404"].contains(&TYPES[i].0)) {
                all[0] = TYPES.iter().position(|t| t.0 == "story").unwrap_or(0);
            }
            all.into_iter().map(|i| TYPES[i].2).collect()
        }
    };
    makes.into_iter().map(|make| make(rng)).collect()
}
