//! `undust rules seen`: the set of canonical URLs that a crawl met, beside the rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::Args;
use undust::io::output::Amendment;
use undust::io::rules::{SEEN_FILE, seen_file};
use undust::io::{Rejects, ShardReader, shards};
use undust::model::{RecordBatch, hash64};
use undust::rules::filter::SeenFilter;
use undust::rules::{RuleSet, Scratch};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::messages::say;
use crate::options::Reading;
use crate::pace::Pace;
use crate::rules_dir::RulesDir;
use crate::watched::{Watched, next_batch};

/// Writes the set of canonical URLs that were seen into seen.bin beside the rules.
///
/// A canonical URL was seen where a labelled record has it for its own URL and does not redirect or
/// declare another canonical (an error has no label). With the set, `normalize` says of each canonical
/// URL whether it was seen (`--output jsonl`), and `--only-seen` refuses the others. About 1.2 bytes a
/// URL; a URL that was not seen passes for seen with a chance of 0.4 %. Memory: 50 bytes a canonical
/// URL.
#[derive(Args, Debug)]
pub struct SeenArgs {
    #[command(flatten)]
    rules: RulesDir,
    /// Records that were crawled: files, folders or globs, as for `learn`.
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    watched: Watched,
}

/// Runs the job.
pub fn run(args: SeenArgs) -> Result<(), Failure> {
    let progress = args.watched.begin("rules seen", None).map_err(Failure::usage)?;
    let path = seen_file(args.rules.path())?;
    // Locked from here on, so that the set belongs to these rules.
    let mut amendment = Amendment::begin(path.parent().unwrap_or(Path::new("")))?;
    let rules = args.rules.open()?;
    let shards = shards::find(&args.inputs, &shards::Options::default())?;
    progress.sites(rules.len());
    progress.stage(undust::model::Stage::Reading);
    let mut pace = Pace::new("rules seen", "records", args.reading.quiet, progress.clone());
    let mut hashes = Vec::new();
    let (mut records, mut labelled, mut rejects) = (0, 0, Rejects::default());
    let (mut batch, mut scratch) = (RecordBatch::default(), Scratch::default());
    for shard in &shards {
        let mut reader = ShardReader::open(shard, args.reading.line_limit, Arc::new(AtomicU64::new(0)))?;
        while next_batch(&mut reader, &mut batch, &mut rejects, &progress)? {
            records += batch.len() as u64;
            labelled += batch.iter().filter(|record| record.cluster.is_some()).count();
            gather(&rules, &batch, &mut scratch, &mut hashes);
            pace.at(records);
        }
    }
    if labelled == 0 {
        let text = format!(
            "none of {records} records has a label, so nothing is written; name the crawl that the rules were learned from, \
             as labelled records (`undust clusters` makes them)"
        );
        return Err(Failure::new(Exit::Failed, text));
    }
    let filter = SeenFilter::build(hashes)?;
    let bytes = filter.to_bytes();
    amendment.write(SEEN_FILE, |file| file.write_all(&bytes))?;
    if !args.reading.quiet.is_set() {
        let each = bytes.len() as f64 / filter.len().max(1) as f64;
        say(format!(
            "{} seen canonical URLs of {records} records, {each:.2} bytes each: {}",
            filter.len(),
            path.display()
        ));
    }
    Ok(())
}

/// Adds the URLs that are their own canonical URL. The reader takes the label from the pages of errors.
fn gather(rules: &RuleSet, batch: &RecordBatch, scratch: &mut Scratch, hashes: &mut Vec<u64>) {
    for record in batch.iter().filter(|record| !record.elsewhere && record.cluster.is_some()) {
        // A label is that of the site that the host decides where a canonical URL is asked for later.
        let applied = rules.apply(record.url, None, scratch);
        if !applied.invalid && applied.url == record.url {
            hashes.push(hash64(record.url));
        }
    }
}
