//! The files of a result.

use std::io;

use undust::dataflow::Learned;
use undust::dataflow::summary::Summary;
use undust::io::rules::{OVERRIDES_FILE, read_overrides, write_overrides};
use undust::io::{OutputDir, Rejects};
use undust::report::run::{Run, pages};
use undust::rules::file::{self, DataId, Header, InputCounts, Learned as Dates};
use undust::site::profile;

use super::checked::Checked;
use super::data_date::DataDate;
use crate::learn_error::LearnError;
use crate::profiles::PROFILES_FILE;

/// Writes the files of the result; `_SUCCESS` follows later.
pub fn write(
    out: &mut OutputDir,
    run: &Checked,
    learned: &Learned,
    summary: &Summary,
    rejects: &Rejects,
    data: DataId,
) -> Result<(), LearnError> {
    let input =
        InputCounts { records: summary.total.records, urls: summary.total.urls, sites: learned.sites.len() as u64 };
    let dates = run.data_date.map(|DataDate(from, to)| Dates { from: from.to_string(), to: to.to_string() });
    let header = Header { data: Some(data), learned: dates, ..Header::new(run.plan.params.clone(), input) };
    if let Some(overrides) = &run.overrides {
        let overrides = read_overrides(overrides).map_err(|error| LearnError::Failed(Box::new(error)))?;
        write_overrides(&out.path().join(OVERRIDES_FILE), &overrides)?;
    }
    out.write("rules.jsonl", |mut file| {
        file::write(&header, learned.sites.iter().map(|site| &site.rules), &mut file).map_err(io::Error::other)
    })?;
    out.write("summary.json", |mut file| {
        serde_json::to_writer_pretty(&mut file, summary)?;
        file.write_all(b"\n")
    })?;
    let profiles = learned.sites.iter().map(|site| (site.rules.site.as_str(), &site.learned.profile));
    out.write(PROFILES_FILE, |mut file| profile::file::write(profiles, &mut file))?;
    out.write("rejects.jsonl", |file| rejects.write_jsonl(file))?;
    if run.report {
        report(out, &header, learned, summary)?;
    }
    Ok(())
}

fn report(out: &mut OutputDir, header: &Header, learned: &Learned, summary: &Summary) -> Result<(), LearnError> {
    let sites = learned.sites.iter().map(|site| (site.rules.site.as_str(), &site.rules)).collect();
    let profiles = learned.sites.iter().map(|site| (site.rules.site.as_str(), &site.learned.profile)).collect();
    // Readers of the rules refuse a faulty file that was there before, with a way out; the run is not lost
    // for it.
    let overrides = read_overrides(&out.path().join(OVERRIDES_FILE)).unwrap_or_default();
    let run = Run { header, summary, sites: &sites, profiles: &profiles, overrides: &overrides };
    for (name, text) in pages(run) {
        out.write(&name, |file| file.write_all(text.as_bytes()))?;
    }
    Ok(())
}
