//! `undust evaluate`: quality of rules on labelled records.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::Args;
use serde::Serialize;
use undust::evaluate::{Counts, Evaluation, Grouping, Rates, SiteFigures, Summary};
use undust::io::output::atomic_write;
use undust::io::rejects::Limit;
use undust::io::rules::OpenedRules;
use undust::io::{Rejects, ShardReader};
use undust::model::RecordBatch;
use undust::model::shown::{Page, visible};
use undust::rules::file::DataId;

use crate::failure::{EXIT_CODES, Failure};
use crate::inputs::{Inputs, Tally, refuse_rejects, rejected_lines};
use crate::messages::{say, show};
use crate::options::{LabelledInputs, Reading, SiteChoice};
use crate::outputs::check_outputs;
use crate::pace::Pace;
use crate::rules_dir::RulesDir;
use crate::watched::{Watched, next_batch};

/// Figures for rules on labelled records.
///
/// Reads records (URL and duplicate cluster; TSV, CSV or JSON lines, plain, gzip or zstd) in input
/// order, canonicalizes each URL and prints a row a site, the mean over the sites (MACRO) and the
/// figures of all counts together (MICRO). A URL that is repeated in a site counts once, its first
/// record wins; records without a cluster are left out, and an input of nothing else is an error.
/// Memory: 48 bytes a labelled record. The last line shows whether the rules were learned from these
/// data, by the number of records and a sum of their hashes; of other data it is unknown whether they
/// overlap. Where no rule applies to any record, standard error says so.
#[derive(Args, Debug)]
#[command(after_long_help = format!("{FIGURES}\n\n{EXIT_CODES}"))]
pub struct EvaluateArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// Takes each file as one site, whatever the labels; the host of a URL alone decides which rules apply.
    #[arg(long, conflicts_with = "site_by")]
    one_site: bool,
    #[command(flatten)]
    sites: SiteChoice,
    #[command(flatten)]
    records: LabelledInputs,
    /// Writes the figures of all sites to this file, as one JSON object.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Replaces the file of --json if it exists.
    #[arg(long, requires = "json")]
    overwrite: bool,
    /// Shows all sites, not only the twenty with the most URLs.
    #[arg(long)]
    all: bool,
    /// More rejected lines than this end the run with code 4; the figures are printed and written.
    #[arg(long, value_name = "COUNT|PERCENT%", default_value = "5%")]
    max_rejects: Limit,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    watched: Watched,
}

/// Meaning of the columns.
const FIGURES: &str = "\
Figures:
  n, clusters      distinct labelled URLs, their duplicate clusters
  comp, oracle     compression rate: 1 - canonical URLs / URLs; that of perfect rules
  dupred           dup-reduction rate, each canonical URL taken as one page
  naive            dup-reduction rate, no cluster taken as lost (exceeds 1 when clusters are mixed)
  fpr              false-positive rate: pairs with one canonical URL that are of different clusters
  urlfpr           merged URLs that are not of the largest cluster of their canonical URL
  prec, rec, f1    crawl simulation in input order: clusters covered per page fetched, and per cluster
  saved            fetches rightly saved, as a share of those that perfect rules save (nothing without rec)
  f_ok, f_bad      of the rewritten URLs: those whose canonical URL is a listed URL of the same, of another cluster
  star             URLs whose canonical URL holds `*`
  -                not defined (no duplicates, or no rewritten URL)";

/// Sites shown without `--all`.
const SHOWN: usize = 20;

/// Runs the job.
pub fn run(args: EvaluateArgs) -> Result<(), Failure> {
    let progress = args.watched.begin("evaluate", None).map_err(Failure::usage)?;
    let shards = args.records.find()?;
    if let Some(path) = &args.json {
        let inputs: Vec<&Path> = shards.iter().map(|shard| shard.path.as_path()).collect();
        check_outputs(&[path], args.overwrite, &inputs, Some(&args.rules))?;
    }
    let opened = args.rules.opened()?;
    let learned_from = opened.as_ref().and_then(|file| file.header.data);
    let rules = opened.map(OpenedRules::compile).transpose()?.unwrap_or_default();
    let mut evaluation = Evaluation::new(&rules, Grouping::Site(args.sites.by()));
    let mut rejects = Rejects::default();
    let mut batch = RecordBatch::default();
    let mut tally = Tally::default();
    let mut records = 0;
    progress.sites(rules.len());
    progress.stage(undust::model::Stage::Evaluating);
    let mut pace = Pace::new("evaluate", "records", args.reading.quiet, progress.clone());
    for shard in &shards {
        if args.one_site {
            evaluation.set_grouping(Grouping::One(shard.name.clone()));
        }
        let mut reader = ShardReader::open(shard, args.reading.line_limit, Arc::new(AtomicU64::new(0)))?;
        while next_batch(&mut reader, &mut batch, &mut rejects, &progress)? {
            evaluation.add(&batch);
            tally.add(&shard.name, &batch);
            records += batch.len() as u64;
            pace.at(records);
        }
    }
    if tally.labelled() == 0 {
        let inputs = Inputs { shards: &shards, forced: args.records.forced(), tally: &tally, rejects: &rejects };
        return Err(inputs.no_labels("there is nothing to measure"));
    }
    let idle = idle(&evaluation, rules.len(), tally.labelled());
    let (unlabelled, invalid, provisional) = (evaluation.unlabelled(), evaluation.invalid(), evaluation.provisional());
    let sites = evaluation.finish();
    let counts: Vec<Counts> = sites.iter().map(|site| site.counts).collect();
    let summary = Summary::of(&counts);
    let data = Data::of(learned_from, tally.data());
    if let Some(path) = &args.json {
        let rejected = rejects.total();
        let sites = Sites(&sites);
        let all = All { data, sites, summary, records, unlabelled, invalid, rejected, provisional };
        let text = serde_json::to_string_pretty(&all)? + "\n";
        atomic_write(path, |file| file.write_all(text.as_bytes()))?;
    }
    let rejected = rejects.total();
    args.reading
        .quiet
        .say(format_args!("{records} records, {unlabelled} without a cluster, {rejected} lines rejected"));
    if let Some(text) = idle {
        args.reading.quiet.say(text);
    }
    let mut page = table(&sites, &summary, args.all);
    if provisional > 0 {
        let _ = writeln!(page, "{provisional} records changed with the help of provisional rules (--no-provisional)");
    }
    let _ = writeln!(page, "{}", data.words());
    show(&page).map_err(Failure::stdout)?;
    if rejects.exceeds(args.max_rejects) {
        rejected_lines(&rejects).iter().for_each(say);
    }
    refuse_rejects(&rejects, args.max_rejects)
}

/// What to say where no rule applied to any of the `labelled` records.
fn idle(evaluation: &Evaluation<'_>, sites: usize, labelled: u64) -> Option<String> {
    let text = match (evaluation.with_site(), evaluation.ruled()) {
        (_, 1..) => return None,
        (0, _) => format!(
            "no rule applied: none of {labelled} labelled records is of an origin (scheme, host, port) of the {sites} sites with \
             rules; the figures are those of normal forms: check that the rules are those of this crawl"
        ),
        (of_sites, _) => format!(
            "no rule applied: {of_sites} of {labelled} labelled records are of origins of sites with rules, and no rule fired on \
             them; the figures are those of normal forms (`undust explain` says why no rule fires on a URL)"
        ),
    };
    Some(text)
}

/// Relation of the records to the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Data {
    /// The rules were learned from them.
    LearnedFrom,
    /// Other records, or rules without an identity of their records.
    Unknown,
}

impl Data {
    fn of(learned_from: Option<DataId>, read: DataId) -> Data {
        if learned_from == Some(read) { Data::LearnedFrom } else { Data::Unknown }
    }

    fn words(self) -> &'static str {
        match self {
            Data::LearnedFrom => {
                "data: these are the data the rules were learned from; see held_out in summary.json for URLs that took no part"
            }
            Data::Unknown => "data: not those the rules were learned from as a whole; unknown whether they overlap",
        }
    }
}

/// All figures, as in the JSON file; an undefined figure is null.
#[derive(Serialize)]
struct All<'a> {
    data: Data,
    sites: Sites<'a>,
    #[serde(flatten)]
    summary: Summary,
    records: u64,
    unlabelled: u64,
    invalid: u64,
    rejected: u64,
    /// Records that changed with the help of provisional rules; absent without any.
    #[serde(skip_serializing_if = "is_zero")]
    provisional: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The sites as an object, in the order of the input.
struct Sites<'a>(&'a [SiteFigures]);

impl Serialize for Sites<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Figures {
            #[serde(flatten)]
            rates: Rates,
            counts: Counts,
        }
        serializer
            .collect_map(self.0.iter().map(|site| (&site.site, Figures { rates: site.rates, counts: site.counts })))
    }
}

/// A column of the table: heading, figure.
type Column = (&'static str, fn(&Rates) -> f64);

/// The columns after the counts.
const COLUMNS: [Column; 13] = [
    ("comp", |r| r.comp),
    ("oracle", |r| r.oracle),
    ("dupred", |r| r.dupred),
    ("naive", |r| r.dupred_naive),
    ("fpr", |r| r.fpr),
    ("urlfpr", |r| r.urlfpr),
    ("prec", |r| r.prec),
    ("rec", |r| r.rec),
    ("f1", |r| r.f1),
    ("saved", |r| r.saved_share),
    ("f_ok", |r| r.fetch_ok),
    ("f_bad", |r| r.fetch_bad),
    ("star", |r| r.star),
];

/// Characters of a name that are shown.
const NAME: usize = 28;

/// The table: sites, MACRO, MICRO.
fn table(sites: &[SiteFigures], summary: &Summary, all: bool) -> Page {
    let mut table = Page::default();
    let mut head = format!("{:<NAME$}{:>10}{:>10}", "site", "n", "clusters");
    COLUMNS.iter().for_each(|(heading, _)| write!(head, " {heading:>7}").expect("strings take all"));
    let _ = writeln!(table, "{head}");
    let mut shown: Vec<&SiteFigures> = sites.iter().collect();
    if !all && sites.len() > SHOWN {
        shown.sort_by(|a, b| b.counts.urls.cmp(&a.counts.urls).then_with(|| a.site.cmp(&b.site)));
        shown.truncate(SHOWN);
    }
    shown.iter().for_each(|site| row(&mut table, &site.site, &site.rates));
    if shown.len() < sites.len() {
        let _ = writeln!(table, "({} smaller sites: --all shows them)", sites.len() - shown.len());
    }
    row(&mut table, "MACRO", &summary.macro_mean);
    row(&mut table, "MICRO", &summary.micro);
    table
}

fn row(table: &mut Page, name: &str, rates: &Rates) {
    // The end of a long name is shown: paths differ there.
    let name = visible(name);
    let skip = name.chars().count().saturating_sub(NAME - 1);
    let name: String = name.chars().skip(skip).collect();
    let mut line = format!("{name:<NAME$}{:>10.0}{:>10.0}", rates.n, rates.clusters);
    for (_, figure) in COLUMNS {
        let value = figure(rates);
        let cell = if value.is_nan() { "-".into() } else { format!("{value:.4}") };
        write!(line, " {cell:>7}").expect("strings take all");
    }
    let _ = writeln!(table, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_the_largest_sites_and_both_means() {
        let site = |n: u64| {
            let counts = Counts { urls: n, canonical: n, clusters: n, covered: n, ..Counts::default() };
            SiteFigures { site: format!("s{n}"), counts, rates: Rates::of(&counts) }
        };
        let sites: Vec<SiteFigures> = (1..=25).map(site).collect();
        let counts: Vec<Counts> = sites.iter().map(|s| s.counts).collect();
        let summary = Summary::of(&counts);
        let short = table(&sites, &summary, false);
        let lines: Vec<&str> = short.as_str().lines().collect();
        assert_eq!(lines.len(), 1 + 20 + 1 + 2);
        assert!(lines[1].starts_with("s25 ") && lines[20].starts_with("s6 "));
        assert_eq!(lines[21], "(5 smaller sites: --all shows them)");
        assert!(lines[22].starts_with("MACRO                               13        13  0.0000  0.0000       -"));
        assert!(lines[23].starts_with("MICRO                              325       325"));
        assert_eq!(table(&sites, &summary, true).as_str().lines().count(), 1 + 25 + 2);
    }
}
