//! The invariants of catalogue files (`--platforms FILE`) on any bytes, for the fuzz target and the
//! replay of its corpus.
use super::memory::bounded;
use undust::platforms::read::entries;
use undust::platforms::recognise::{Signatures, recognise};
use undust::platforms::{Catalogue, CatalogueError};
use undust::rules::platforms::{Entry, Platforms};
use undust::url::NormalUrls;

/// Any text is refused with its line, or with the entry that breaks a rule of catalogues; or its
/// entries are written and read again unchanged, are found by their names, and its programs are
/// looked for in any URLs. Gives the number of entries of a catalogue.
pub fn check(bytes: &[u8]) -> Result<usize, String> {
    // The reader of the file refuses what is not UTF-8 before it is parsed.
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(0) };
    let own = match bounded(text.len(), 16 << 10, 32, || entries(text))? {
        Ok(own) => own,
        Err(error) => return names_a_line(text, &error).map(|()| 0),
    };
    if own.len() > text.lines().count() {
        return Err("an entry a line".to_owned());
    }
    let json = own.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
    let written = json.map_err(|error| format!("read, but not written: {error}"))?.join("\n");
    if entries(&written).map_err(|error| format!("written, but not read: {error}"))? != own {
        return Err("what is read is written again".to_owned());
    }
    let catalogue = match bounded(text.len(), 256 << 10, 64, || Catalogue::of(own.iter()))? {
        Ok(catalogue) => catalogue,
        Err(error) => return names_an_entry(&own, &error).map(|()| 0),
    };
    if catalogue.programs.len() + catalogue.lines.len() != own.len() {
        return Err("a catalogue holds all entries".to_owned());
    }
    found_by_name(&own, &catalogue)?;
    found_by_name(&own, &Catalogue::named(&own))?;
    recognised(&catalogue).map(|()| own.len())
}

/// The lines before the one that is named are good, and with it they are not.
fn names_a_line(text: &str, error: &CatalogueError) -> Result<(), String> {
    let told = error.to_string();
    let to = |end: usize| text.lines().take(end).collect::<Vec<_>>().join("\n");
    let is_there = |line: &usize| *line >= 1 && entries(&to(line - 1)).is_ok() && entries(&to(*line)).is_err();
    match error {
        CatalogueError::Text { line, .. }
            if is_there(line) && told.starts_with(&format!("line {line}: ")) && !told.contains(" at line ") =>
        {
            Ok(())
        }
        _ => Err(format!("an error names its line, and no other: {told:?}")),
    }
}

fn names_an_entry(own: &[Entry], error: &CatalogueError) -> Result<(), String> {
    let is_there = |name: &String| {
        own.iter().any(|one| match one {
            Entry::Program(program) => program.id == *name,
            Entry::Line(line) => line.name() == *name,
        })
    };
    match error {
        CatalogueError::Entry { entry, why } if is_there(entry) && !why.is_empty() => Ok(()),
        _ => Err(format!("an error names an entry of the file, with a reason: {error}")),
    }
}

/// Each entry is in the catalogue under its name, and no other in the place of its program.
fn found_by_name(own: &[Entry], catalogue: &Catalogue) -> Result<(), String> {
    for one in own {
        let program = match one {
            Entry::Program(program) => program,
            Entry::Line(line) if catalogue.lines_of(&line.program).any(|known| known == line) => continue,
            Entry::Line(line) => return Err(format!("the line {} is not found", line.name())),
        };
        let lines = own.iter().filter(|one| matches!(one, Entry::Line(line) if line.program == program.id)).count();
        if catalogue.program(&program.id) != Some(program) || catalogue.lines_of(&program.id).count() != lines {
            return Err(format!("the program {} is not found, or with other lines", program.id));
        }
    }
    Ok(())
}

/// Programs are looked for in the URLs of all examples; those that are found are of the catalogue.
fn recognised(catalogue: &Catalogue) -> Result<(), String> {
    let mut urls = NormalUrls::default();
    let examples = catalogue.lines.iter().flat_map(|line| line.examples.iter().flatten().chain(&line.stays));
    let count = examples.map(|url| urls.push(url.as_bytes())).count();
    let params = Platforms { share_permille: 1, urls: 1, ..Platforms::default() };
    let all = (0..count).filter_map(|at| urls.get(at));
    let found = recognise(all, &Signatures::new(catalogue), &params);
    match found.iter().find(|found| catalogue.program(&found.program).is_none()) {
        None => Ok(()),
        Some(found) => Err(format!("{} is no program of the catalogue", found.program)),
    }
}
