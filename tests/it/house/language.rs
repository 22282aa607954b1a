//! The language of comments and documents: no reference to a document outside the repository, doc
//! comments that read alone, comment lines of bounded length.

use std::path::Path;

/// Longest comment line in characters, indentation and comment mark included.
const MAX_CHARS: usize = 120;

/// References to documents that are not in the repository, in lower case.
const ABSENT: &[&str] = &["design, section", "design section", "second design", "(design", "report.md"];

/// Beginnings of doc comments that need another text to be understood.
const NOT_ALONE: &[&str] = &["The same", "As there", "As above", "See above", "Likewise"];

/// Folders of the root that are read.
const FOLDERS: &[&str] = &[".ci", "benches", "docs", "examples", "jobs", "python", "scripts", "src", "tests"];

/// This file, which holds the forbidden texts.
const OWN: &str = "tests/it/house/language.rs";

/// True for Rust, Python and Markdown, and for scripts, which have no extension.
fn is_checked(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_script = path.starts_with("scripts/") || path.starts_with(".ci/");
    match name.rsplit_once('.') {
        Some((_, extension)) => matches!(extension, "rs" | "py" | "md") && path != "CHANGELOG.md" && path != OWN,
        None => is_script,
    }
}

/// Path from the root and text of each checked file, sorted by path.
fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut open, mut texts) = (vec![root.to_path_buf()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let entry = entry.expect("a readable entry");
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let local = path.strip_prefix(root).expect("under the root").to_string_lossy().replace('\\', "/");
            if path.is_dir() {
                let is_made = matches!(name.as_str(), "target" | "__pycache__" | "node_modules");
                let is_source = if folder == root { FOLDERS.contains(&name.as_str()) } else { !name.starts_with('.') };
                if is_source && !is_made {
                    open.push(path);
                }
            } else if is_checked(&local) {
                texts.push((local, std::fs::read_to_string(&path).expect("a text in UTF-8")));
            }
        }
    }
    texts.sort();
    texts
}

/// True for a line that cites a document outside the repository; also "design" with a section number.
fn cites_absent(line: &str) -> bool {
    let line = line.to_lowercase();
    let numbered = line.split("design ").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    numbered || ABSENT.iter().any(|text| line.contains(text))
}

/// Breaches in the text of a file, as `path:line: ...`.
fn breaches(path: &str, text: &str) -> Vec<String> {
    let is_rust = path.ends_with(".rs");
    let mark = if is_rust { "//" } else { "#" };
    let (mut found, mut is_fenced) = (Vec::new(), false);
    let mut before: Option<(&str, &str)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let mut breach = |what: &str| found.push(format!("{path}:{number}: {what}"));
        let trimmed = line.trim_start();
        // Mark and text of a doc comment.
        let doc = ["///", "//!"].into_iter().filter(|_| is_rust).find_map(|mark| {
            let text = trimmed.strip_prefix(mark)?;
            Some((mark, text.trim_start()))
        });
        let words = doc.map_or("", |(_, text)| text);
        let is_first = match (before, doc) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some((mark, text)), Some((own, _))) => mark != own || text.starts_with("# "),
        };
        is_fenced = doc.is_some() && is_fenced != words.starts_with("```");
        if cites_absent(line) {
            breach("cites a document that is not in the repository");
        }
        if is_first && NOT_ALONE.iter().any(|start| words.starts_with(start)) {
            breach("a doc comment that does not read alone");
        }
        // Tables and examples in doc comments cannot be wrapped.
        let can_wrap = !is_fenced && !words.starts_with('|');
        let is_comment = !path.ends_with(".md") && trimmed.starts_with(mark);
        if is_comment && can_wrap && line.chars().count() > MAX_CHARS {
            breach("a comment line over 120 characters");
        }
        before = doc;
    }
    found
}

#[test]
fn comments_and_documents_read_alone() {
    let texts = texts();
    for path in ["src/lib.rs", "README.md", "docs/method.md", "scripts/accept", "scripts/parts/figures.py"] {
        assert!(texts.iter().any(|(local, _)| local == path), "{path} is checked");
    }
    let found: Vec<String> = texts.iter().flat_map(|(path, text)| breaches(path, text)).collect();
    assert!(found.is_empty(), "{} breach(es) of the language of comments:\n{}", found.len(), found.join("\n"));
}

#[test]
fn each_breach_of_the_language_is_found() {
    let long = "x".repeat(MAX_CHARS);
    let broken = [
        ("src/a.rs", "//! Groups.\n//!\n//! See (design, section 4.1).".to_string(), 3),
        ("src/a.rs", "fn f() {} // bound of design 4.3".to_string(), 1),
        ("docs/a.md", "text\nas the second design has it".to_string(), 2),
        ("scripts/a", "# measured in REPORT.md".to_string(), 1),
        ("src/a.rs", "/// Rows.\nrows: u8,\n/// The same, sorted.\nsorted: u8,".to_string(), 3),
        ("src/a.rs", "    /// Opens.\n    ///\n    /// # Errors\n    /// As there.\n    fn f() {}".to_string(), 4),
        ("src/a.rs", "//! See above.".to_string(), 1),
        ("jobs/a.rs", format!("/// {long}\nfn f() {{}}"), 1),
        ("jobs/a.rs", format!("//! ```\n//! a\n//! ```\n//! {long}"), 4),
        ("scripts/a.py", format!("x = 1\n# {long}"), 2),
    ];
    for (path, text, line) in broken {
        let found = breaches(path, &text);
        assert_eq!(found.len(), 1, "{text:?} at {path}: {found:?}");
        assert!(found[0].starts_with(&format!("{path}:{line}: ")), "{found:?}");
    }
    let held = [
        ("src/a.rs", "/// A design of our own.\n///\n/// The same URL twice counts once.\nfn f() {}".to_string()),
        ("src/a.rs", format!("let x = \"{long}\"; // y\n//! | {long} |\n//! ```\n//! {long}\n//! ```")),
        ("docs/a.md", format!("# The same\n{long}")),
        ("src/a.rs", "// The same as below, in a comment of code.".to_string()),
    ];
    for (path, text) in held {
        assert_eq!(breaches(path, &text), Vec::<String>::new(), "{text:?} at {path}");
    }
    assert!(is_checked(".ci/run") && is_checked("python/tests/a.py") && is_checked("CONTRIBUTING.md"));
    assert!(!is_checked("CHANGELOG.md") && !is_checked("LICENSE-MIT") && !is_checked("scripts/exports/cases.js"));
}
