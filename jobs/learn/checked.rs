//! The arguments of `learn` as they are checked: what the run takes.

use super::args::{How, LearnArgs, Selection};
use super::data_date::DataDate;
use crate::cluster::{ClusterArgs, ShardArgs};
use crate::labels::RecordArgs;
use crate::learn_error::LearnError;
use crate::options::Reading;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use undust::dataflow::Plan;
use undust::dataflow::sample::SampleParams;
use undust::io::IoError;
use undust::io::output::Existing;
use undust::io::rejects::Limit;
use undust::io::rules::{OpenError, RuleFile};
use undust::model::SiteBy;
use undust::rules::types::SiteRules;
use undust::runtime::hosts::Cluster;
use undust::site::held_out::Limits;
use undust::site::{Method, Params};

/// A run of `learn` whose arguments go together.
pub struct Checked {
    /// What is learned, and with which resources.
    pub plan: Plan,
    /// Files, folders and globs of the input, or `-`.
    pub inputs: Vec<PathBuf>,
    /// Format of the records, and the evidence for equal pages.
    pub records: RecordArgs,
    /// How the input is read, and whether messages are written.
    pub reading: Reading,
    /// Folder for the results.
    pub out: PathBuf,
    /// What becomes of an earlier result in that folder.
    pub existing: Existing,
    /// Sites that an earlier run learned are not learned again.
    pub resume: bool,
    /// Pages of the result for people are written.
    pub report: bool,
    /// First and last day of the data.
    pub data_date: Option<DataDate>,
    /// File of rules that stay disabled.
    pub overrides: Option<PathBuf>,
    /// Rejected lines with which the result is still whole.
    pub max_rejects: Limit,
    /// The processes of the run, if several.
    pub cluster: Option<Cluster>,
    /// How this process joins them.
    pub member: ClusterArgs,
    /// Where the shards are on several processes.
    pub place: ShardArgs,
}

impl Checked {
    /// Checks arguments, and reads the rules of an earlier result.
    ///
    /// # Errors
    /// [`LearnError`] where arguments do not go together or the earlier result cannot be read.
    pub fn new(args: LearnArgs, cluster: Option<Cluster>) -> Result<Checked, LearnError> {
        let mut plan = plan(&args, cluster.as_ref())?;
        plan.previous = previous(args.previous.as_deref())?;
        if (cluster.is_some() || args.resume) && args.inputs.iter().any(|input| input.as_os_str() == "-") {
            return Err(LearnError::Usage("standard input goes with one process and without --resume only".to_owned()));
        }
        let existing = match (args.overwrite, args.resume) {
            (true, _) => Existing::Overwrite,
            (_, true) => Existing::Resume,
            _ => Existing::Refuse,
        };
        Ok(Checked {
            plan,
            inputs: args.inputs,
            records: args.records,
            reading: args.reading,
            out: args.out,
            existing,
            resume: args.resume,
            report: !args.no_report,
            data_date: args.data_date,
            overrides: args.overrides,
            max_rejects: args.max_rejects,
            cluster,
            member: args.cluster,
            place: args.place,
        })
    }
}

/// The rules of the earlier result by site, without disabled ones.
fn previous(path: Option<&Path>) -> Result<Arc<BTreeMap<String, Arc<SiteRules>>>, LearnError> {
    let Some(path) = path else { return Ok(Arc::default()) };
    let mut file = RuleFile::open(path, false).map_err(|error| {
        LearnError::Failed(match error {
            OpenError::Io(IoError::Incomplete { path }) => format!(
                "--previous {}: no _SUCCESS in it: the run that wrote it failed, was stopped or is still going; name a \
                 whole result, or leave --previous out",
                path.display()
            )
            .into(),
            error => Box::new(error),
        })
    })?;
    file.overrides.apply(&mut file.sites);
    Ok(Arc::new(file.sites.into_iter().map(|site| (site.site.clone(), Arc::new(site))).collect()))
}

/// The plan of the run; the rules of an earlier result are read later.
fn plan(args: &LearnArgs, cluster: Option<&Cluster>) -> Result<Plan, LearnError> {
    let usage = |text: String| Err(LearnError::Usage(text));
    if !(0.0..1.0).contains(&args.held_back) {
        return usage(format!("--held-back {}: a share of at least 0, under 1", args.held_back));
    }
    if !(args.train_share > 0.0 && args.train_share <= 1.0) {
        return usage(format!("--train-share {}: a share above 0, at most 1", args.train_share));
    }
    if !(0.0..=1.0).contains(&args.fpr_max) {
        return usage(format!("--fpr-max {}: a rate from 0 to 1", args.fpr_max));
    }
    if args.selection.is_some() && args.method == How::Undust {
        return usage("--selection goes with --method published only".to_owned());
    }
    if args.extend_to_domain && (args.sites.by() != SiteBy::Domain || args.method != How::Undust) {
        return usage("--extend-to-domain goes with neither --site-by host nor --method published".to_owned());
    }
    for (option, is_given) in [("--set", args.set.is_given()), ("--platforms", args.platforms.is_given())] {
        if is_given && args.method != How::Undust {
            return usage(format!("{option} does not go with --method published, which asks for no such thing"));
        }
    }
    let method = match (args.method, args.selection) {
        (How::Undust, _) => Method::Undust,
        (How::Published, Some(Selection::Naive)) => Method::PublishedNaive,
        (How::Published, _) => Method::PublishedGraph,
    };
    let fpr_max_ppm = (args.fpr_max * 1e6).round() as u32;
    let mut params = Params { method, fpr_max_ppm, extend_to_domain: args.extend_to_domain, ..Params::default() };
    args.platforms.fill(&mut params).map_err(LearnError::Usage)?;
    args.set.fill(&mut params).map_err(LearnError::Usage)?;
    Ok(Plan {
        params,
        sample: SampleParams {
            share: args.train_share,
            max: args.train_max,
            held_back: args.held_back,
            ..SampleParams::default()
        },
        // The published method exists for comparisons: its own folds take 80 s for 1,300 noisy URLs.
        held_out: (!args.no_held_out && method == Method::Undust).then(Limits::default),
        site_by: args.sites.by(),
        previous: Arc::default(),
        workers: args.workers.count(cluster),
        memory: args.room.memory(cluster),
        scratch: args.room.scratch(cluster),
    })
}
