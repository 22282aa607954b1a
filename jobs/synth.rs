//! `undust synth`: arguments and files of synthetic corpora; their contents are made in the library.

#[path = "synth/files.rs"]
mod files;

use super::failure::Failure;
use files::{Compress, PartFile};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use undust::synth::{self, Counts, Layout, Options, SitePlan, Writer};

/// Write synthetic sites with known truth, for trials and benchmarks
///
/// Every kind of DUST that the papers name, in the proportions of table 1 of WWW10: sites of 24,147 to
/// 3,000,000 URLs, scaled to 200,000 URLs in all unless sizes are given, 3.8 URLs a duplicate cluster
/// in the mean. The same seed and parameters give the same bytes with any number of workers; the same
/// records with any number of shards. _manifest.json is written last: a folder without it is not
/// complete.
#[derive(Debug, Clone, clap::Args)]
pub struct SynthArgs {
    /// Folder to write: absent or empty, or else --overwrite
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Number of sites
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub sites: u64,
    /// Fewest URLs a site (published: 24147)
    #[arg(long, value_name = "N")]
    pub urls_min: Option<u64>,
    /// Most URLs a site (published: 3000000)
    #[arg(long, value_name = "N")]
    pub urls_max: Option<u64>,
    /// Mean URLs a site (published: 352106); without it sizes are even on a log scale between the limits
    #[arg(long, value_name = "N")]
    pub urls_mean: Option<u64>,
    /// URLs of the whole corpus: sites are scaled to reach it, beyond the limits if need be (default:
    /// 200000, or what the sites come to where --urls-min, --urls-max or --urls-mean is given)
    #[arg(long, value_name = "N")]
    pub total_urls: Option<u64>,
    /// Seed of everything
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Share of the clusters that hold one URL
    #[arg(long, value_name = "SHARE", default_value_t = 0.35)]
    pub single: f64,
    /// Mean URLs a cluster of two or more
    #[arg(long, value_name = "MEAN", default_value_t = 3.8)]
    pub mean_cluster: f64,
    /// Chance that a cluster takes the label of another one of its site (fake duplicates)
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    pub noise: f64,
    /// Chance that a cluster of two or more is split into two labels
    #[arg(long, value_name = "Q", default_value_t = 0.0)]
    pub split: f64,
    /// Share of the records that are left out
    #[arg(long, value_name = "R", default_value_t = 0.0)]
    pub drop: f64,
    /// Page types of every site, by comma, or traps (--help lists them); without it 3 to 7 are drawn for
    /// each site
    #[arg(long, value_name = "A,B", value_delimiter = ',', long_help = types_help())]
    pub types: Option<Vec<String>>,
    /// Decorations of every site, by comma, or none: mirrors, https, session, utm, case, dslash,
    /// empty-query, port, fragment; without it they are drawn for each site
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub decorations: Option<Vec<String>>,
    /// Number of shards; sites are spread over all of them
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub shards: u64,
    /// One file a site (url, label, and with label noise the true cluster) instead of shards
    #[arg(long, conflicts_with = "shards")]
    pub per_site: bool,
    /// Format of the records
    #[arg(long, value_enum, default_value_t = Format::Tsv)]
    pub format: Format,
    /// Compression of the records
    #[arg(long, value_enum, default_value_t = Compress::None)]
    pub compress: Compress,
    /// Tell each record's site
    #[arg(long)]
    pub site_label: bool,
    /// Write _truth.tsv.gz: every record's URL and true cluster, in the order of the shards
    #[arg(long)]
    pub truth: bool,
    /// Worker threads
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: u16,
    /// Replace what an earlier run wrote into the folder
    #[arg(long)]
    pub overwrite: bool,
}

/// Format of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// url, cluster and, where asked for, site and true cluster, by tabs
    Tsv,
    /// JSON lines: url, cluster, site, truth
    Jsonl,
}

/// Number of turns of each site in a shard.
const TURNS: u64 = 16;
/// Records made between two writes.
const BLOCK: u64 = 8192;
/// Version of the layout of the folder.
const FORMAT_VERSION: u32 = 1;

/// Default number of URLs of a corpus: large enough for rules of every kind, small enough to be made in
/// seconds (13 MB).
const TOTAL_URLS: u64 = 200_000;

/// Runs the job.
///
/// # Errors
/// A usage error for parameters that make no corpus; else a folder that is not empty, a file that cannot be written.
pub fn run(args: SynthArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let options = options(&args);
    let sites = synth::plan(&options).map_err(Failure::usage)?;
    let _lock = files::prepare(&args.out, args.overwrite)?;
    let job = Job { args: &args, sites: &sites };
    let units = if args.per_site { sites.len() } else { args.shards as usize };
    super::messages::say(format_args!(
        "synth: about {} URLs of {} sites to {}, about {}{}",
        sites.iter().map(SitePlan::rows).sum::<u64>(),
        sites.len(),
        args.out.display(),
        megabytes(job.estimate()),
        if args.compress == Compress::None { "" } else { " before compression" }
    ));
    let done = job.all(units)?;
    if args.truth {
        files::join(&args.out, units, "_truth.tsv.gz")?;
    }
    files::write_json(&args.out, "_truth_rules.json", &job.truth_rules(&done))?;
    let mut total = Counts::default();
    done.iter().for_each(|unit| total.add(unit.counts));
    files::write_json(&args.out, "_manifest.json", &job.manifest(&options, &done, total))?;
    let seconds = started.elapsed().as_secs_f64();
    super::messages::say(format_args!(
        "synth: {} records of {} sites in {} files, {}, {seconds:.1} s, {:.0} records/s: {}",
        total.urls,
        sites.len(),
        units,
        megabytes(done.iter().map(|unit| unit.bytes).sum()),
        total.urls as f64 / seconds,
        args.out.display()
    ));
    Ok(())
}

fn options(args: &SynthArgs) -> Options {
    let decorations = args.decorations.as_ref().map(|names| match names.as_slice() {
        [none] if none == "none" => Vec::new(),
        names => names.to_vec(),
    });
    let defaults = Options::default();
    let sized = args.urls_min.or(args.urls_max).or(args.urls_mean).is_some();
    Options {
        seed: args.seed,
        sites: args.sites,
        urls_min: args.urls_min.unwrap_or(defaults.urls_min),
        urls_max: args.urls_max.unwrap_or(defaults.urls_max),
        urls_mean: args.urls_mean,
        // Explicit sizes are not scaled to a default total.
        total_urls: args.total_urls.or((!sized).then_some(TOTAL_URLS)),
        single: args.single,
        mean_cluster: args.mean_cluster,
        noise: args.noise,
        split: args.split,
        drop: args.drop,
        types: args.types.clone(),
        decorations,
    }
}

/// Help of `--types`: each with its meaning and its source.
fn types_help() -> String {
    use synth::kind::{ALL_SHAPES, ALL_TRAPS, Make, SHAPES, TRAPS, TYPES};
    let line = |t: &(&str, &str, Make)| format!("\n  {:<9} {}", t.0, t.1);
    let types: String = TYPES.iter().map(line).collect();
    let line = |t: &(&str, &str, Make)| format!("\n  {:<16} {}", t.0, t.1);
    let [traps, shapes] = [&TRAPS[..], &SHAPES[..]].map(|types| types.iter().map(line).collect::<String>());
    format!(
        "Page types of every site, by comma; without it 3 to 7 are drawn for each site:{types}\n\
         Types that mislead a learner of rules, never drawn; {ALL_TRAPS} stands for all of them:{traps}\n\
         Types that need or tempt single kinds of rules, never drawn; {ALL_SHAPES} stands for all of them:{shapes}"
    )
}

/// A number of bytes, for people.
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// One file of records.
struct Unit {
    name: String,
    bytes: u64,
    counts: Counts,
    /// The site's index where the file holds one site.
    site: Option<usize>,
}

struct Job<'a> {
    args: &'a SynthArgs,
    sites: &'a [SitePlan],
}

impl Job<'_> {
    /// Makes all files, each by one worker.
    fn all(&self, units: usize) -> Result<Vec<Unit>, files::Error> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        let work = || {
            let mut writer = Writer::default();
            loop {
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= units {
                    return;
                }
                writer.counts = Counts::default();
                let result = self.unit(unit, &mut writer);
                if result.is_err() {
                    // The rest would be of no use.
                    next.store(units, Ordering::Relaxed);
                }
                done.lock().expect("no worker panics while it holds the list").push((unit, result));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.args.workers {
                scope.spawn(work);
            }
            work();
        });
        let mut done = done.into_inner().expect("all workers have ended");
        done.sort_by_key(|d| d.0);
        done.into_iter().map(|d| d.1).collect()
    }

    fn layout(&self) -> Layout {
        let args = self.args;
        let drifts = self.sites.iter().any(SitePlan::has_renderings);
        let noisy = args.noise > 0.0 || args.split > 0.0 || args.drop > 0.0 || drifts;
        Layout { json: args.format == Format::Jsonl, site: args.site_label, truth: args.per_site && noisy }
    }

    /// Estimate of the bytes of all records before compression, by the first records of the first sites.
    fn estimate(&self) -> u64 {
        const SITES: usize = 32;
        const RECORDS: u64 = 256;
        let (mut writer, mut lines, mut records) = (Writer::default(), Vec::new(), 0);
        for site in self.sites.iter().take(SITES) {
            let positions = 0..site.rows().min(RECORDS);
            records += positions.end;
            writer.write(site, positions, self.layout(), &mut lines, None);
        }
        let all: u64 = self.sites.iter().map(SitePlan::rows).sum();
        (lines.len() as f64 * all as f64 / records.max(1) as f64) as u64
    }

    /// Makes one file: a site, or a shard, in which sites take turns.
    fn unit(&self, unit: usize, writer: &mut Writer) -> Result<Unit, files::Error> {
        let (args, layout) = (self.args, self.layout());
        let extension = if layout.json { "jsonl" } else { "tsv" };
        let kind = if args.per_site { "site_" } else { "shard-" };
        let name = format!("{kind}{unit:04}.{extension}{}", args.compress.extension());
        let mut file = PartFile::create(&args.out, &name, args.compress)?;
        let part = files::part("_truth.tsv.gz", unit);
        let mut truth = match args.truth {
            true => Some(PartFile::create(&args.out, &part, Compress::Gzip)?),
            false => None,
        };
        let (mut lines, mut true_lines) = (Vec::new(), Vec::new());
        let mut range = |site: &SitePlan, from: u64, to: u64| -> Result<(), files::Error> {
            for start in (from..to).step_by(BLOCK as usize) {
                lines.clear();
                true_lines.clear();
                let positions = start..to.min(start + BLOCK);
                writer.write(site, positions, layout, &mut lines, truth.is_some().then_some(&mut true_lines));
                file.write(&lines)?;
                if let Some(truth) = &mut truth {
                    truth.write(&true_lines)?;
                }
            }
            Ok(())
        };
        if args.per_site {
            range(&self.sites[unit], 0, self.sites[unit].rows())?;
        } else {
            let slices = args.shards * TURNS;
            for turn in 0..TURNS {
                let slice = unit as u64 * TURNS + turn;
                for site in self.sites {
                    let at = |slice: u64| (u128::from(site.rows()) * u128::from(slice) / u128::from(slices)) as u64;
                    range(site, at(slice), at(slice + 1))?;
                }
            }
        }
        let bytes = file.finish()?;
        if let Some(truth) = truth {
            truth.finish()?;
        }
        Ok(Unit { name, bytes, counts: writer.counts, site: args.per_site.then_some(unit) })
    }

    /// The truth about each site.
    fn truth_rules(&self, done: &[Unit]) -> serde_json::Value {
        let site = |site: &SitePlan| {
            let d = site.decor();
            let mut facts = json!({
                "site": site.domain(),
                "index": site.index(),
                "urls": site.rows(),
                "clusters": Sizes::of([site]),
                "types": site.facts(),
                "decorations": {
                    "mirrors": d.mirrors, "https": d.https, "session": d.session, "utm": d.utm, "case": d.case,
                    "dslash": d.dslash, "empty-query": d.empty_query, "port": d.port, "fragment": d.fragment,
                },
            });
            if let Some(unit) = done.iter().find(|u| u.site == Some(site.index() as usize)) {
                facts["file"] = json!(unit.name);
            }
            facts
        };
        self.sites.iter().map(site).collect()
    }

    /// Options and results; nothing that changes with workers, time or machine.
    fn manifest(&self, options: &Options, done: &[Unit], total: Counts) -> serde_json::Value {
        let args = self.args;
        let file = |u: &Unit| json!({"name": u.name, "bytes": u.bytes, "urls": u.counts.urls});
        json!({
            "format_version": FORMAT_VERSION,
            "program": concat!("undust ", env!("CARGO_PKG_VERSION")),
            "seed": options.seed,
            "parameters": {
                "sites": options.sites, "urls_min": options.urls_min, "urls_max": options.urls_max,
                "urls_mean": options.urls_mean, "total_urls": options.total_urls, "single": options.single,
                "mean_cluster": options.mean_cluster, "noise": options.noise, "split": options.split,
                "drop": options.drop, "types": options.types, "decorations": options.decorations,
                "shards": (!args.per_site).then_some(args.shards), "per_site": args.per_site,
                "format": format!("{:?}", args.format).to_lowercase(),
                "compress": format!("{:?}", args.compress).to_lowercase(),
                "site_label": args.site_label, "truth": args.truth,
            },
            "counts": total,
            "clusters": Sizes::of(self.sites),
            "files": done.iter().map(file).collect::<Vec<_>>(),
        })
    }
}

/// Table 1 of WWW10 over true clusters, before records are dropped.
#[derive(serde::Serialize)]
struct Sizes {
    clusters: u64,
    singletons: u64,
    duplicate_clusters: u64,
    /// URLs a duplicate cluster.
    mean: f64,
    largest: u64,
    /// 1 - clusters / URLs.
    duplicate_ratio: f64,
}

impl Sizes {
    fn of<'a>(sites: impl IntoIterator<Item = &'a SitePlan>) -> Sizes {
        let (mut urls, mut clusters, mut singletons, mut largest) = (0, 0, 0, 0);
        for (size, number) in sites.into_iter().flat_map(SitePlan::sizes) {
            urls += size * number;
            clusters += number;
            singletons += if size == 1 { number } else { 0 };
            largest = largest.max(size);
        }
        let duplicate_clusters = clusters - singletons;
        let ratio = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
        Sizes {
            clusters,
            singletons,
            duplicate_clusters,
            mean: ratio(urls - singletons, duplicate_clusters),
            largest,
            duplicate_ratio: ratio(urls - clusters, urls),
        }
    }
}
