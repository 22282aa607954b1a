//! `undust prove`: the proof of `learn` alone, on any rules and any records.

use super::cluster::{ClusterArgs, ShardArgs, all_rejects, digest_of};
use super::failure::chain;
use super::inputs::{Inputs, all_tallies};
use super::labels::{Means, RecordArgs};
use super::learn::{check_unchanged, report, told};
use super::learn_error::LearnError;
use super::options::{Reading, Room, SiteChoice, Workers};
use super::source::{Counted, Shards};
use super::watched::{self, Watched};
use clap::Args;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use undust::dataflow::sample::SampleParams;
use undust::dataflow::summary::Summary;
use undust::dataflow::{Learned, Plan, Source, prove_on};
use undust::io::output::Existing;
use undust::io::rejects::Limit;
use undust::io::rules::RuleFile;
use undust::io::{OutputDir, Shard, fingerprint};
use undust::model::shown::Page;
use undust::rules::file::{self, Header, InputCounts};
use undust::rules::types::SiteRules;
use undust::runtime::hosts::Cluster;
use undust::runtime::mesh::Mesh;
use undust::runtime::progress::Progress;
use undust::site::Params;

/// Proves rules on records labelled with duplicate clusters: the proof of `learn` alone.
///
/// For rules that were made by hand, changed, or learned from other data. A rule that merges pages of
/// different clusters loses the sections and values that do, gets a condition that its wrong merges do
/// not meet, or is withdrawn; nothing is added. Exceptions, look-ups and value ranges that lead URLs to
/// the page of another cluster are taken out one by one. Rules that the records say nothing of stay as
/// they are, and standard error says how many sites have no record; records none of which is of a site
/// of the rules are an error. Rules that overrides disable are left out.
///
/// Writes rules.jsonl, summary.json, rejects.jsonl, and _SUCCESS last. The same rules and records give
/// the same bytes, whatever the number of workers, the memory, or the order of the records. The exit
/// code is 0 when the proof is done, whatever it withdrew: see `withdrawn` and `narrowed` in
/// summary.json.
#[derive(Args, Debug)]
pub struct ProveArgs {
    /// Files, folders (their shards, by extension), globs, or - for standard input (spooled to scratch).
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Folder that `undust learn` wrote, or a rule file.
    #[arg(long, value_name = "DIR")]
    rules: PathBuf,
    /// Takes the folder of a run that failed or is still going (it holds no _SUCCESS).
    #[arg(long)]
    allow_partial: bool,
    /// Folder for the results; must be empty or absent.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Highest pair false-positive rate of a site's rules over all records.
    #[arg(long, value_name = "F", default_value_t = 0.01)]
    fpr_max: f64,
    #[command(flatten)]
    workers: Workers,
    #[command(flatten)]
    sites: SiteChoice,
    #[command(flatten)]
    room: Room,
    /// Replaces an earlier result in --out, when the new one is whole.
    #[arg(long)]
    overwrite: bool,
    /// More rejected lines than this end the run with code 4: outputs are written, _SUCCESS is not.
    #[arg(long, value_name = "COUNT|PERCENT%", default_value = "5%")]
    max_rejects: Limit,
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    watched: Watched,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    place: ShardArgs,
}

/// Runs the job.
///
/// # Errors
/// [`LearnError`], with its exit code.
pub fn run(args: ProveArgs) -> Result<(), LearnError> {
    let cluster = args.cluster.read()?;
    let several = cluster.as_ref().map(|_| &args.cluster);
    let progress = args.watched.begin_on(several, "prove", Some(&args.out))?;
    if !(0.0..=1.0).contains(&args.fpr_max) {
        return Err(LearnError::Usage(format!("--fpr-max {}: a rate from 0 to 1", args.fpr_max)));
    }
    if cluster.is_some() && args.inputs.iter().any(|input| input.as_os_str() == "-") {
        return Err(LearnError::Usage("standard input goes with one process only".to_owned()));
    }
    let mut rules =
        RuleFile::open(&args.rules, args.allow_partial).map_err(|error| LearnError::Failed(Box::new(error)))?;
    rules.overrides.apply(&mut rules.sites);
    // What a rule has beforehand is for the proof to say.
    rules.sites.iter_mut().flat_map(|site| &mut site.rules).for_each(|rule| rule.evidence.prior = 0);
    let plan = plan(&args, cluster.as_ref(), &rules.header);
    // Kept to the end: it holds the spool file of standard input.
    let found = args.records.find(&args.inputs, &plan.scratch)?;
    let shards = found.shards.clone();
    let reading = (args.reading.line_limit, format!("{:?} {:?}", args.records, args.sites));
    let parameters = digest_of(&(&rules.sites, &plan.params, reading));
    let agreed = args.place.agreed(cluster.as_ref(), &shards)?;
    let mesh = args.cluster.meet(cluster.as_ref(), plan.workers, &parameters, &agreed)?;
    let done = prove(&args, &plan, rules, (shards, progress), mesh.as_ref());
    if let Some(mesh) = &mesh {
        match &done {
            Ok(()) | Err(LearnError::Rejects { .. } | LearnError::NoEvidence(_)) => mesh.farewell(),
            Err(error) => mesh.give_up(&chain(error)),
        }
    }
    done
}

/// Checked options. All records count as trained on: nothing is held back from a proof.
fn plan(args: &ProveArgs, cluster: Option<&Cluster>, header: &Header) -> Plan {
    let fpr_max_ppm = (args.fpr_max * 1e6).round() as u32;
    Plan {
        params: Params { fpr_max_ppm, ..header.params.clone() },
        held_out: None,
        sample: SampleParams { share: 1.0, held_back: 0.0, ..SampleParams::default() },
        site_by: args.sites.by(),
        previous: Arc::default(),
        workers: args.workers.count(cluster),
        memory: args.room.memory(cluster),
        scratch: args.room.scratch(cluster),
    }
}

/// Proves together with the processes of the mesh, if any.
fn prove(
    args: &ProveArgs,
    plan: &Plan,
    rules: RuleFile,
    (shards, progress): (Vec<Shard>, Arc<Progress>),
    mesh: Option<&Arc<Mesh>>,
) -> Result<(), LearnError> {
    let is_local = mesh.is_some() && args.place.local_shards;
    let means = Means { mesh, local: is_local, ..Means::of(plan, args.reading, progress.clone()) };
    let existing = if args.overwrite { Existing::Overwrite } else { Existing::Refuse };
    let writes = mesh.is_none_or(|mesh| mesh.process() == 0);
    let out = if writes { Some(OutputDir::create(&args.out, existing)?) } else { None };
    let reporter = watched::report(&progress, args.reading.quiet);
    let unlabelled = args.records.unlabelled(&shards, &means)?;
    let source = Arc::new(Shards {
        shards,
        line_limit: args.reading.line_limit,
        counts: true,
        counted: Counted::shown_in(progress.clone()),
        local: mesh.filter(|_| args.place.local_shards).map(|mesh| mesh.process() * plan.workers),
        workers: plan.workers,
        facts: false,
    });
    let (records, first) = match &unlabelled {
        Some(unlabelled) => (unlabelled.relabelled(), Some(unlabelled.run.clone())),
        None => (source.clone() as Arc<dyn Source>, None),
    };
    let RuleFile { header, sites, .. } = rules;
    progress.sites(sites.len());
    let before = fingerprint::times(&source.shards);
    let proven = prove_on(plan, records, progress, mesh, sites, first);
    drop(reporter);
    let proven = proven?;
    check_unchanged(&source.shards, &before)?;
    let (mut rejects, mut tally) = match unlabelled {
        Some(unlabelled) => {
            let found = unlabelled.finish(&means)?;
            (found.rejects.unwrap_or_default(), found.tally)
        }
        None => source.counted.take(),
    };
    if let Some(mesh) = mesh {
        (rejects, tally) = (all_rejects(mesh, &rejects)?, all_tallies(mesh, &tally)?);
    }
    if tally.labelled() == 0 {
        let inputs = Inputs { shards: &source.shards, forced: args.records.format, tally: &tally, rejects: &rejects };
        if writes {
            inputs.say();
        }
        let error = LearnError::NoEvidence(inputs.expected("there is nothing to prove on"));
        out.into_iter().for_each(OutputDir::abandon);
        return Err(error);
    }
    // All processes end with the same sites, and so with the same error.
    let without_records = proven.sites.iter().filter(|site| site.counts.records == 0).count();
    if without_records > 0 && without_records == proven.sites.len() {
        out.into_iter().for_each(OutputDir::abandon);
        return Err(LearnError::NoEvidence(no_site(args, tally.records(), &proven)));
    }
    let mut refused = rejects.exceeds(args.max_rejects).then(|| (rejects.total(), rejects.lines()));
    if let Some(mut out) = out {
        let counts = rejects.counts().map(|(reason, count)| (reason.name().to_owned(), count)).collect();
        let summary = Summary::new(plan, &proven, counts);
        let passed_over = tally.records().saturating_sub(summary.total.records + proven.invalid);
        write(&mut out, header, &proven, &summary)?;
        out.write("rejects.jsonl", |file| rejects.write_jsonl(file))?;
        report(Page::default(), &proven, &summary, &args.out)?;
        if passed_over > 0 {
            args.reading.quiet.say(format_args!(
                "{passed_over} records are of sites without rules in {} (see --site-by), or no http or https URLs",
                args.rules.display()
            ));
        }
        if without_records > 0 {
            args.reading.quiet.say(format_args!(
                "{without_records} of {} sites of the rules have no record here: their rules are not proven, and keep the \
                 evidence that they came with",
                proven.sites.len()
            ));
        }
        if refused.is_none() { out.finish()? } else { out.leave_unmarked()? }
    }
    if let Some(mesh) = mesh {
        refused = told(mesh, &refused)?;
    }
    match refused {
        Some((rejected, lines)) => Err(LearnError::Rejects { rejected, lines, out: args.out.clone() }),
        None => Ok(()),
    }
}

/// Error text for records none of which is of a site of the rules.
fn no_site(args: &ProveArgs, records: u64, proven: &Learned) -> String {
    let first = proven.sites.first().map_or("", |site| site.rules.site.as_str());
    format!(
        "none of {records} records is of one of the {} sites of the rules in {} (the first is {first}), so nothing is proven; \
         the site of a record is its label, else its domain or host as --site-by says: check both, and that the rules are \
         those of this crawl",
        proven.sites.len(),
        args.rules.display()
    )
}

/// Writes the files of the result except the rejects; `_SUCCESS` follows later.
fn write(out: &mut OutputDir, header: Header, proven: &Learned, summary: &Summary) -> Result<(), LearnError> {
    let input =
        InputCounts { records: summary.total.records, urls: summary.total.urls, sites: proven.sites.len() as u64 };
    let header = Header { learned: header.learned.clone(), ..Header::new(header.params, input) };
    let sites: Vec<&SiteRules> = proven.sites.iter().map(|site| &site.rules).collect();
    out.write("rules.jsonl", |mut file| {
        file::write(&header, sites.iter().copied(), &mut file).map_err(io::Error::other)
    })?;
    Ok(out.write("summary.json", |mut file| {
        serde_json::to_writer_pretty(&mut file, summary)?;
        file.write_all(b"\n")
    })?)
}
