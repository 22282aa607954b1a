//! The sequence-to-sequence network of SIGIR 2017 (Xu, Liu, Callan: De-duping URLs with
//! Sequence-to-Sequence Neural Networks), which `docs/method.md` compares with undust.
//!
//! `seq2seq train TRAIN.jsonl --model DIR` learns from what `undust compare --protocol sigir2017
//! --split` writes; `seq2seq predict --model DIR TEST.jsonl --out FILE` writes what `undust compare
//! --predictions` reads. Both print a JSON object of figures. Defaults are the numbers of the paper
//! and, where it names none, those of the translation example of TensorFlow, which its implementation
//! is based on, but for the first weights of the update gate ([`Network::random`]). With
//! `RAYON_NUM_THREADS=1` the same input and seed give the same bytes on the same machine.

mod model;
mod network;
mod pairs;
mod prediction;
mod records;
mod tokens;
mod training;
mod vocabulary;

use candle_core::DType;
use clap::{Args, Parser, Subcommand};
use model::Description;
use network::{Network, Sizes};
use pairs::{PairOptions, TrainingSet};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::error::Error;
use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use training::{Method, Schedule};
use vocabulary::Numbering;

/// Errors are texts with facts: the file, the line, the numbers.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// An error of a file.
pub fn failed(path: &Path, error: &dyn Display) -> Box<dyn Error> {
    format!("{}: {error}", path.display()).into()
}

/// Writes a file under another name beside it, and gives it its own when it is whole. Devices are written
/// to directly.
pub fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return write(&path);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let renamed = |()| std::fs::rename(&part, &path).map_err(|error| failed(&path, &error));
    let done = write(&part).and_then(renamed);
    if done.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    done
}

/// Canonical URLs by a sequence-to-sequence network.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Trains a network on the labelled URLs of one site
    Train(Train),
    /// Writes the canonical URLs of a trained network
    Predict(Predict),
}

#[derive(Args)]
struct Train {
    /// Training file of `undust compare --split`
    records: PathBuf,
    /// Folder for the network
    #[arg(long)]
    model: PathBuf,
    /// Units of the GRU of the encoder and of the decoder
    #[arg(long, default_value_t = 512, value_parser = positive)]
    units: usize,
    /// Numbers of a token embedding
    #[arg(long, default_value_t = 512, value_parser = positive)]
    embedding: usize,
    /// Pairs of a batch
    #[arg(long, default_value_t = 20, value_parser = positive)]
    batch: usize,
    /// Passes over all pairs
    #[arg(long, default_value_t = 15, value_parser = positive)]
    epochs: usize,
    /// What moves the parameters; adam is a departure from the paper
    #[arg(long, value_enum, default_value_t = Method::Sgd)]
    optimizer: Method,
    /// Learning rate of the first epoch [default: 0.5, with adam 0.001]
    #[arg(long, value_parser = factor)]
    rate: Option<f64>,
    /// Factor of the rate after an epoch whose loss is over those of the three before it
    #[arg(long, default_value_t = 0.99, value_parser = share)]
    decay: f64,
    /// Most norm of the gradient
    #[arg(long, default_value_t = 5.0, value_parser = factor)]
    clip: f64,
    /// Least share of the URLs that hold a function token; rarer tokens are arguments
    #[arg(long, default_value_t = 0.01, value_parser = share)]
    function_share: f64,
    /// How a target numbers its arguments
    #[arg(long, value_enum, default_value_t = Numbering::Source)]
    numbering: Numbering,
    /// The encoder reads URLs from their end, as Sutskever et al. do
    #[arg(long)]
    reversed: bool,
    /// Clusters of one URL give a pair of it and itself: a departure from the paper
    #[arg(long)]
    identity: bool,
    /// Seed of the first weights and of the order of batches
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
struct Predict {
    /// Test file of `undust compare --split`; its labels are not read
    records: PathBuf,
    /// Folder of the network
    #[arg(long)]
    model: PathBuf,
    /// File for lines of URL, tab, canonical URL
    #[arg(long)]
    out: PathBuf,
    /// URLs, the first of the file, that are timed one at a time as well
    #[arg(long, default_value_t = 100)]
    timed: usize,
}

/// Most units, numbers of an embedding, pairs of a batch, epochs.
const MOST: usize = 100_000;

fn positive(text: &str) -> std::result::Result<usize, String> {
    text.parse()
        .ok()
        .filter(|number| (1..=MOST).contains(number))
        .ok_or_else(|| format!("not a number from 1 to {MOST}"))
}

fn factor(text: &str) -> std::result::Result<f64, String> {
    text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite()).ok_or_else(|| "not above 0".to_owned())
}

fn share(text: &str) -> std::result::Result<f64, String> {
    factor(text).ok().filter(|number| *number <= 1.0).ok_or_else(|| "not above 0 and up to 1".to_owned())
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Train(options) => train(&options),
        Command::Predict(options) => predict(&options),
    };
    match done {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("seq2seq: {error}");
            ExitCode::from(2)
        }
    }
}

fn train(options: &Train) -> Result<serde_json::Value> {
    let start = Instant::now();
    let records = records::training(&options.records)?;
    let share = options.function_share;
    let pair_options = PairOptions { identity: options.identity, numbering: options.numbering, function_share: share };
    let set = TrainingSet::of(&records, pair_options);
    let schedule = Schedule {
        method: options.optimizer,
        epochs: options.epochs,
        batch: options.batch,
        rate: options.rate.unwrap_or(if options.optimizer == Method::Sgd { 0.5 } else { 0.001 }),
        decay: options.decay,
        clip: options.clip,
    };
    let sizes = Sizes {
        vocabulary: set.vocabulary.len(),
        embedding: options.embedding,
        units: options.units,
        reversed: options.reversed,
    };
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let network = Network::random(sizes, DType::F32, &mut random)?;
    let longest = set.pairs.iter().map(|(_, target)| target.len()).max().unwrap_or(0);
    let (distinct, least_loss) = set.distinct_and_least_loss();
    eprintln!(
        "{} URLs, {} clusters of two and more, {} pairs ({distinct} different, least loss {least_loss:.4}), vocabulary {}",
        records.len(),
        set.duplicated,
        set.pairs.len(),
        set.vocabulary.len()
    );
    let mut description = Description::new(&network, set.vocabulary, longest, schedule, options.seed);
    description.curve = training::train(&network, &set.pairs, schedule, &mut random, |number, epoch, seconds| {
        eprintln!("epoch {number}: loss {:.4}, clipped {:.2}, {seconds:.1} s", epoch.loss, epoch.clipped);
    })?;
    model::save(&options.model, &description, &network)?;
    Ok(serde_json::json!({
        "urls": records.len(), "clusters": set.duplicated, "pairs": set.pairs.len(), "distinct_pairs": distinct,
        "least_loss": least_loss,
        "vocabulary": sizes.vocabulary, "units": sizes.units, "epochs": schedule.epochs,
        "losses": description.curve.iter().map(|epoch| epoch.loss).collect::<Vec<_>>(),
        "seconds": start.elapsed().as_secs_f64(),
    }))
}

fn predict(options: &Predict) -> Result<serde_json::Value> {
    let place = |path: &Path| path.canonicalize().ok();
    if let Some(out) = place(&options.out) {
        let is_model = place(&options.model).is_some_and(|model| out.parent() == Some(&model));
        if is_model || place(&options.records).as_ref() == Some(&out) {
            return Err(format!("{}: it is read; give --out another name", options.out.display()).into());
        }
    }
    let urls = records::urls(&options.records)?;
    let (Description { vocabulary, longest, .. }, network) = model::load(&options.model)?;
    let start = Instant::now();
    let (canonical, outcomes) = prediction::predict(&network, &vocabulary, longest, &urls)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut lines = String::new();
    for (url, canonical) in urls.iter().zip(&canonical) {
        writeln!(lines, "{url}\t{canonical}")?;
    }
    replace(&options.out, |path| std::fs::write(path, lines).map_err(|error| failed(path, &error)))?;
    let timed = options.timed.min(urls.len());
    let start = Instant::now();
    for url in &urls[..timed] {
        prediction::predict(&network, &vocabulary, longest, std::slice::from_ref(url))?;
    }
    Ok(serde_json::json!({
        "outcomes": outcomes, "seconds": seconds,
        "single_url_seconds": start.elapsed().as_secs_f64() / timed.max(1) as f64,
    }))
}

#[cfg(test)]
mod tests;
