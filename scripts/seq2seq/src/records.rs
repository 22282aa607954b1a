//! The files of `undust compare --split`.

use crate::{Result, failed};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A labelled URL of the training file.
#[derive(Debug, Deserialize)]
pub struct Labelled {
    /// The URL as found.
    pub url: String,
    /// Label of its duplicate cluster.
    pub cluster: String,
    /// The site, where the file names it.
    #[serde(default)]
    pub site: Option<String>,
}

/// The part of a test record that a method may read: no label.
#[derive(Deserialize)]
struct Unlabelled {
    url: String,
}

/// Records of a training file, which must be of one site: a network translates the URLs of one site.
pub fn training(path: &Path) -> Result<Vec<Labelled>> {
    let records: Vec<Labelled> = read(path, |record: &Labelled| &record.url)?;
    if let Some(other) = records.iter().find(|record| record.site != records[0].site) {
        let name = |record: &Labelled| record.site.clone().unwrap_or_else(|| "no site".into());
        let (first, second) = (name(&records[0]), name(other));
        return Err(format!("{}: records of {first} and of {second}; a network is of one site", path.display()).into());
    }
    if records.is_empty() {
        return Err(format!("{}: no record", path.display()).into());
    }
    Ok(records)
}

/// URLs of a test file, in its order.
pub fn urls(path: &Path) -> Result<Vec<String>> {
    let records: Vec<Unlabelled> = read(path, |record: &Unlabelled| &record.url)?;
    Ok(records.into_iter().map(|record| record.url).collect())
}

/// JSON lines with a URL each; an error names file and line. A URL with a tab or a line end is one: a
/// file of predictions cannot hold it.
fn read<T: for<'de> Deserialize<'de>>(path: &Path, url: fn(&T) -> &str) -> Result<Vec<T>> {
    let file = File::open(path).map_err(|error| failed(path, &error))?;
    let mut records = Vec::new();
    for (i, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|error| format!("{}:{}: {error}", path.display(), i + 1))?;
        if !line.trim().is_empty() {
            let record =
                serde_json::from_str(&line).map_err(|error| format!("{}:{}: {error}", path.display(), i + 1))?;
            if url(&record).contains(['\t', '\n', '\r']) {
                return Err(format!("{}:{}: a URL with a tab or a line end", path.display(), i + 1).into());
            }
            records.push(record);
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        file
    }

    #[test]
    fn bad_lines_and_second_sites_are_named() {
        let bad = file("{\"url\":\"http://a/\",\"cluster\":\"1\"}\n\n{\"url\":\"http://b/\"}\n");
        let error = training(bad.path()).expect_err("no cluster").to_string();
        assert!(error.contains(":3: ") && error.contains("cluster"), "{error}");
        assert_eq!(urls(bad.path()).expect("labels are not needed").len(), 2);
        let two = file(
            "{\"url\":\"http://a/\",\"cluster\":\"1\",\"site\":\"a\"}\n{\"url\":\"http://b/\",\"cluster\":\"1\",\"site\":\"b\"}\n",
        );
        let error = training(two.path()).expect_err("two sites").to_string();
        assert!(error.contains("records of a and of b"), "{error}");
        for end in ["\\t", "\\n", "\\r"] {
            let bad = file(&format!(
                "{{\"url\":\"http://a/\",\"cluster\":\"1\"}}\n{{\"url\":\"http://a/{end}b\",\"cluster\":\"1\"}}\n"
            ));
            let said =
                [training(bad.path()).err(), urls(bad.path()).err()].map(|error| error.expect("a bad URL").to_string());
            assert!(said.iter().all(|said| said.ends_with(":2: a URL with a tab or a line end")), "{said:?}");
        }
        assert!(training(file("").path()).expect_err("empty").to_string().contains("no record"));
        assert!(urls(Path::new("nowhere.jsonl")).expect_err("absent").to_string().contains("nowhere.jsonl"));
    }
}
