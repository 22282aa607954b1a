//! Catalogue files: JSON lines, each a program or a line about one ([`Entry`]).
//!
//! A line is refused unless the reference interpreter, given that line alone, makes of its examples
//! what they say and leaves the URLs that stay as they are.

use super::place::{Placed, place};
use super::recognise::is_anchored;
use crate::rules::file::reason_in_line;
use crate::rules::interpreter::Interpreter;
use crate::rules::platforms::{Entry, Line, Program, Recognised};
use crate::rules::{Constraint, Kind, Operation, Representative, Rule, SiteRules, Test};
use crate::url::{Endings, Key, NormalUrl, Tokenizer, ValueEnds};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::sync::LazyLock;

/// The catalogue of the program.
const BUILT_IN: &str = include_str!("catalogue.jsonl");

/// Names of parameters that mean something else in each program: a line on them names a script or a
/// directory.
const GENERIC: [&str; 27] = [
    "a", "action", "c", "category", "f", "g", "h", "id", "limit", "m", "mode", "name", "order", "p", "page", "path",
    "q", "r", "ref", "s", "sort", "start", "t", "tag", "u", "v", "view",
];

/// Programs and their lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Sorted by id.
    pub programs: Vec<Program>,
    /// Sorted by program, then as in the file.
    pub lines: Vec<Line>,
}

/// Why a catalogue is refused. Lines count from 1.
#[derive(Debug)]
pub enum CatalogueError {
    /// A line of the file is none of a catalogue.
    Text {
        /// The line.
        line: usize,
        /// Reason.
        why: String,
    },
    /// An entry breaks a rule of catalogues.
    Entry {
        /// Name of the program or of the line.
        entry: String,
        /// Reason, and a way out.
        why: String,
    },
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CatalogueError::Text { line, why } => {
                write!(f, "line {line}: neither a program nor a line of a catalogue ({why}); see docs/platforms.md")
            }
            CatalogueError::Entry { entry, why } => write!(f, "{entry}: {why}"),
        }
    }
}

impl Error for CatalogueError {}

/// Entries of the text of a file; empty lines count for nothing.
///
/// # Errors
/// [`CatalogueError::Text`] with the line.
pub fn entries(text: &str) -> Result<Vec<Entry>, CatalogueError> {
    let lines = (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty());
    let read = |(line, text)| {
        serde_json::from_str(text).map_err(|error| CatalogueError::Text { line, why: reason_in_line(&error) })
    };
    lines.map(read).collect()
}

impl Catalogue {
    /// The catalogue that comes with the program.
    pub fn built_in() -> &'static Catalogue {
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
            let entries = entries(BUILT_IN).expect("a test reads it");
            Catalogue::of(entries.iter()).expect("a test checks it")
        });
        &CATALOGUE
    }

    /// The catalogue that comes with the program and entries of a user: a program of an id that is there
    /// already takes its place, with its lines.
    ///
    /// # Errors
    /// [`CatalogueError::Entry`] with the first that is refused.
    pub fn with(own: &[Entry]) -> Result<Catalogue, CatalogueError> {
        let out = Catalogue::joined(own);
        out.check()?;
        Ok(out)
    }

    /// The catalogue of these entries.
    ///
    /// # Errors
    /// [`CatalogueError::Entry`] with the first that is refused.
    pub fn of<'e>(entries: impl Iterator<Item = &'e Entry>) -> Result<Catalogue, CatalogueError> {
        let out = Catalogue::sorted(entries.cloned());
        out.check()?;
        Ok(out)
    }

    /// The catalogue that parameters name: as [`with`](Self::with), of entries that were checked when they
    /// were read.
    pub fn named(own: &[Entry]) -> Cow<'static, Catalogue> {
        match own {
            [] => Cow::Borrowed(Catalogue::built_in()),
            own => Cow::Owned(Catalogue::joined(own)),
        }
    }

    fn joined(own: &[Entry]) -> Catalogue {
        let built_in = Catalogue::built_in();
        let is_own = |id: &str| own.iter().any(|entry| matches!(entry, Entry::Program(program) if program.id == id));
        let programs = built_in.programs.iter().filter(|program| !is_own(&program.id)).cloned().map(Entry::Program);
        let lines = built_in.lines.iter().filter(|line| !is_own(&line.program)).cloned().map(Entry::Line);
        Catalogue::sorted(programs.chain(lines).chain(own.iter().cloned()))
    }

    fn sorted(entries: impl Iterator<Item = Entry>) -> Catalogue {
        let mut out = Catalogue::default();
        for entry in entries {
            match entry {
                Entry::Program(program) => out.programs.push(program),
                Entry::Line(line) => out.lines.push(line),
            }
        }
        out.programs.sort_by(|a, b| a.id.cmp(&b.id));
        out.lines.sort_by(|a, b| a.program.cmp(&b.program));
        out
    }

    /// The lines of a program.
    pub fn lines_of<'c>(&'c self, program: &str) -> impl Iterator<Item = &'c Line> {
        let from = self.lines.partition_point(|line| line.program.as_str() < program);
        let to = self.lines.partition_point(|line| line.program.as_str() <= program);
        self.lines[from..to].iter()
    }

    /// The program of an id.
    pub fn program(&self, id: &str) -> Option<&Program> {
        self.programs.binary_search_by(|program| program.id.as_str().cmp(id)).ok().map(|at| &self.programs[at])
    }

    fn check(&self) -> Result<(), CatalogueError> {
        let refuse = |entry: String, why: String| Err(CatalogueError::Entry { entry, why });
        if let Some(pair) = self.programs.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return refuse(pair[0].id.clone(), "the program stands twice".to_owned());
        }
        for program in &self.programs {
            if let Err(why) = check_program(program) {
                return refuse(program.id.clone(), why);
            }
        }
        let mut names = BTreeSet::new();
        for line in &self.lines {
            let twice = !names.insert((&line.program, &line.id));
            let known = self.program(&line.program).is_some();
            let checked = match (known, twice) {
                (false, _) => Err("no such program: add its entry".to_owned()),
                (_, true) => Err("the line stands twice".to_owned()),
                _ => check_line(line),
            };
            if let Err(why) = checked {
                return refuse(line.name(), why);
            }
        }
        Ok(())
    }
}

fn check_program(program: &Program) -> Result<(), String> {
    let scopes = || program.counts.iter().chain(&program.marks);
    if scopes().count() < 2 {
        return Err("a signature has two scopes or more: one script is of many programs".to_owned());
    }
    for scope in scopes().chain(&program.against) {
        scope.iter().try_for_each(|constraint| check_key(&constraint.key))?;
        if !is_anchored(scope) {
            return Err(
                "each scope of a signature has a value for a part of the path, or a value for the depth and a value for \
                 the index or a parameter"
                    .to_owned(),
            );
        }
    }
    Ok(())
}

/// Keys that say where a site is, or what it is, are none of a catalogue.
fn check_key(key: &str) -> Result<(), String> {
    let known = Key::parse(key).ok_or_else(|| format!("{key:?} is not a key"))?;
    let elsewhere = ["scheme", "host", "section", "whole query", "order"].contains(&key);
    if elsewhere || Key::parse(&known.to_string()).as_ref() != Some(&known) {
        return Err(format!("{key:?} is not a key that a catalogue may name"));
    }
    Ok(())
}

fn check_line(line: &Line) -> Result<(), String> {
    let said = [("versions", &line.versions), ("source", &line.source), ("id", &line.id)];
    if let Some((what, _)) = said.iter().find(|(_, text)| text.trim().is_empty()) {
        return Err(format!("its {what} is empty"));
    }
    line.scope.iter().map(|constraint| &constraint.key).try_for_each(|key| check_key(key))?;
    let is_path = |constraint: &&Constraint| {
        let key = constraint.key.as_str();
        key.starts_with("path") || ["index", "ext", "depth"].contains(&key)
    };
    if !line.scope.iter().any(|constraint| is_path(&constraint)) {
        return Err("its scope names no script and no part of the path".to_owned());
    }
    let is_named = |constraint: &&Constraint| {
        (constraint.key.starts_with("path") || constraint.key == "index")
            && matches!(constraint.test, Test::Equals(_) | Test::OneOf(_))
    };
    let names_script = line.scope.iter().any(|constraint| is_named(&constraint));
    for (key, operation) in &line.operations {
        check_key(key)?;
        let optional =
            Key::parse(key).is_some_and(|key| key.optional()) || ["index", "separator"].contains(&key.as_str());
        let writes = matches!(operation, Operation::Keep(_) | Operation::Replace(_));
        if !optional || writes {
            return Err(format!(
                "{key:?}: lines leave out, join or rewrite values of parameters, of the index and of the separator"
            ));
        }
        let name = key.trim_start_matches("query ").trim_start_matches("param ").trim_end_matches('=');
        if GENERIC.contains(&name) && !names_script {
            return Err(format!("{name:?} is a name of many programs: name the script, or a directory of the path"));
        }
        if matches!(operation, Operation::Ignore(Representative::Everywhere(_))) {
            return Err(format!("{key:?}: a line adds no parameter"));
        }
    }
    if line.operations.is_empty() || line.examples.is_empty() || line.stays.is_empty() {
        return Err("it has at least one operation, one example and one URL that stays".to_owned());
    }
    check_examples(line)
}

/// The line alone, at the root, on the hosts of its examples; and a directory further down.
fn check_examples(line: &Line) -> Result<(), String> {
    let unchanged = line.stays.iter().map(|url| [url.clone(), url.clone()]);
    for [before, after] in line.examples.iter().cloned().chain(unchanged) {
        for directory in ["/", "/a/b2/"] {
            let within = |url: &str| -> Result<NormalUrl, String> {
                let normal = NormalUrl::new(url.as_bytes()).map_err(|why| format!("{url}: {why}"))?;
                let at = normal.by_ref().origin().len();
                let text = [&normal.as_str()[..at], directory, &normal.as_str()[at + 1..]].concat();
                NormalUrl::new(text.as_bytes()).map_err(|why| format!("{text}: {why}"))
            };
            let (from, to) = (within(&before)?, within(&after)?);
            let site = alone(line, directory, from.by_ref().origin())?;
            let made = Interpreter::new(&site).canonicalize(&from).url;
            if made != to.as_bytes() {
                let made = String::from_utf8_lossy(&made);
                return Err(format!("{} becomes {made}, not {}", from.as_str(), to.as_str()));
            }
        }
    }
    Ok(())
}

/// A site with one rule: the line in a directory.
fn alone(line: &Line, directory: &str, origin: &str) -> Result<SiteRules, String> {
    let found = Recognised {
        program: line.program.clone(),
        directory: directory.to_owned(),
        hosts: Vec::new(),
        met: 0,
        urls: 0,
    };
    let semicolons = line.examples.iter().flatten().any(|url| url.contains(';'));
    let mut site = SiteRules { origins: vec![origin.to_owned()], ..SiteRules::default() };
    (site.tokens.semicolons, site.tokens.joined_by_semicolons) = (semicolons, semicolons);
    let placed = place(line, &found, site.tokenizer()).ok_or("its path is too deep")?;
    site.rules.push(rule(&placed));
    if !site.rules[0].is_valid() {
        return Err("an operation has no meaning on its key".to_owned());
    }
    Ok(site)
}

/// A placed line as a rule without evidence and without an id.
pub fn rule(placed: &Placed) -> Rule {
    Rule {
        kind: kind(&placed.operations),
        line: Some(placed.line.clone()),
        ..Rule::of("", placed.scope.clone(), placed.operations.clone())
    }
}

fn kind(operations: &[(String, Operation)]) -> Kind {
    match operations.first() {
        Some((_, Operation::Classes(_))) => Kind::Classes,
        Some((_, Operation::Apply(_))) => Kind::Function,
        _ => Kind::Ignore,
    }
}

/// Tokenization of the URLs in which programs are recognised.
pub(super) const TOKENIZER: Tokenizer = Tokenizer {
    delimiters: 0,
    semicolons: true,
    joined_by_semicolons: false,
    nested_queries: false,
    commas: false,
    fragments: false,
    learned: true,
    query_path: false,
    numbered_end: false,
    endings: Endings::NONE,
    inner_numbers: false,
    name_families: false,
    value_ends: ValueEnds::NONE,
};
