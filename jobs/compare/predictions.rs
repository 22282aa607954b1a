//! `--predictions`: canonical URLs of methods outside of this program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use undust::baselines::Name;
use undust::baselines::name::{LONGEST, Label};
use undust::baselines::outside::{Conflict, Outside, Predictions, Reading};
use undust::io::{Rejects, predictions};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::rejected_lines;
use crate::messages::say;

/// A file of predictions, as named on the command line.
#[derive(Clone, Debug)]
pub struct Named {
    label: Label,
    /// The seed that it is for; `None`: all.
    seed: Option<u64>,
    path: PathBuf,
}

impl Named {
    /// The method that predicted.
    pub fn method(&self) -> Name {
        Name::Outside(self.label)
    }

    /// True for the file of a method for a seed, or (`None`) for all.
    pub fn is_for(&self, method: Name, seed: Option<u64>) -> bool {
        self.method() == method && self.seed == seed
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// `NAME=FILE` or `NAME@SEED=FILE`.
///
/// # Errors
/// The fault in the text.
pub fn parse(text: &str) -> Result<Named, String> {
    let (name, path) = text.split_once('=').filter(|(_, path)| !path.is_empty()).ok_or("NAME=FILE is expected")?;
    let (name, seed) = match name.split_once('@') {
        None => (name, None),
        Some((name, seed)) => (name, Some(seed.parse().map_err(|_| "a seed of --seeds is expected behind the @")?)),
    };
    let label = Label::new(name).ok_or_else(|| {
        format!(
            "a name is expected that no method of undust has: 1 to {LONGEST} letters (ASCII), digits, '.', '_' and '-', the \
             first a letter or digit"
        )
    })?;
    Ok(Named { label, seed, path: path.into() })
}

/// True where a file is standard input.
pub fn from_stdin(named: &[Named]) -> bool {
    named.iter().any(|of| of.path == Path::new("-"))
}

/// Refuses names with two files for one seed, or without one for a seed, and names that differ in the
/// case of letters alone.
///
/// # Errors
/// A usage error.
pub fn check(named: &[Named], samples: &[u64]) -> Result<(), Failure> {
    let mut seeds: BTreeMap<Label, Vec<Option<u64>>> = BTreeMap::new();
    named.iter().for_each(|of| seeds.entry(of.label).or_default().push(of.seed));
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for name in seeds.keys().map(Label::text) {
        if let Some(other) = names.insert(name.to_ascii_lowercase(), name) {
            let text =
                format!("--predictions {other}, {name}: the names differ in case alone; give one of them another");
            return Err(Failure::usage(text));
        }
    }
    for (label, mut given) in seeds {
        given.sort_unstable();
        let mut wanted: Vec<Option<u64>> = samples.iter().copied().map(Some).collect();
        wanted.sort_unstable();
        if given != [None] && given != wanted {
            let (name, seeds) = (label.text(), samples.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
            let text = format!(
                "--predictions {name}: one file for all seeds ({name}=FILE), or one for each ({name}@SEED=FILE) of {seeds}"
            );
            return Err(Failure::usage(text));
        }
    }
    if named.iter().filter(|of| of.path == Path::new("-")).count() > 1 {
        return Err(Failure::usage("--predictions NAME=-: standard input is read once"));
    }
    Ok(())
}

/// Reads all files into at most `memory` bytes. Lines that are no predictions go to `rejects`.
///
/// # Errors
/// A file that cannot be read, holds no prediction, or has two canonical URLs for one URL; too many
/// predictions.
pub fn read(
    named: &[Named],
    line_limit: usize,
    memory: usize,
    rejects: &mut Rejects,
) -> Result<BTreeMap<Label, Outside>, Failure> {
    let mut all: BTreeMap<Label, Outside> = BTreeMap::new();
    let mut left = memory;
    for of in named {
        let predictions = one(&of.path, line_limit, left, rejects)?;
        left = left.saturating_sub(predictions.bytes());
        all.entry(of.label).or_default().0.insert(of.seed, Arc::new(predictions));
    }
    Ok(all)
}

fn one(path: &Path, line_limit: usize, memory: usize, all: &mut Rejects) -> Result<Predictions, Failure> {
    let (mut reading, mut rejects) = (Reading::default(), Rejects::default());
    let file = path.display();
    let failed = |text: String| Failure::new(Exit::Failed, text);
    predictions::read(path, line_limit, &mut rejects, |url, canonical, line| {
        reading.add(url, canonical, line);
        match reading.bytes() > memory {
            true => {
                Err(failed(format!("{file}: the predictions take more memory than --memory leaves them; raise it")))
            }
            false => Ok(()),
        }
    })?;
    let predictions = reading.finish(rejects.total()).map_err(|Conflict { first, second }| {
        failed(format!("{file}: lines {first} and {second} give one URL two canonical URLs; leave one of them out"))
    })?;
    if predictions.lines() == 0 {
        rejected_lines(&rejects).iter().for_each(say);
        let lines = rejects.lines();
        return Err(failed(format!("{file}: none of {lines} lines is a URL, a tab and its canonical URL")));
    }
    all.merge(rejects);
    Ok(predictions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_seeds_are_read() {
        let named = parse("w3lib=a=b.tsv").unwrap();
        assert_eq!((named.label.text(), named.seed, named.path), ("w3lib", None, PathBuf::from("a=b.tsv")));
        let named = parse("net@18446744073709551615=-").unwrap();
        assert_eq!((named.label.text(), named.seed, named.path), ("net", Some(u64::MAX), PathBuf::from("-")));
        for wrong in ["", "w3lib", "w3lib=", "=f", "undust=f", "a b=f", "a@=f", "a@x=f", "@1=f"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_seed_has_one_file() {
        let named = |texts: &[&str]| texts.iter().map(|text| parse(text).unwrap()).collect::<Vec<_>>();
        for good in [&["a=f", "b=g"][..], &["a@2=f", "a@1=g", "b=h"], &[]] {
            assert!(check(&named(good), &[1, 2]).is_ok(), "{good:?}");
        }
        for bad in [
            &["a=f", "a=g"][..],
            &["a@1=f"],
            &["a@1=f", "a@3=f"],
            &["a=f", "a@1=g", "a@2=h"],
            &["a=-", "b=-"],
            &["Net=f", "net=g"],
        ] {
            assert!(check(&named(bad), &[1, 2]).is_err(), "{bad:?}");
        }
    }
}
