//! Keeps house: the invariants of `src/lib.rs` that are absences, the size of files, the map, the
//! README.
//!
//! Names file and line of each breach. The reading of the source is in `house/source.rs`; what it finds
//! is shown at the end on snippets that break each rule. Pages and links of the
//! documentation are checked in `house/docs.rs`, the words of identifiers in `house/vocabulary.rs`.

mod applier;
mod circles;
mod docs;
mod language;
mod source;
mod vocabulary;

use source::{Named, named, tokens, without_tests};
use std::collections::BTreeSet;
use std::path::Path;

/// Set, tests write what is generated instead of comparing it.
pub const WRITE: &str = "UNDUST_WRITE_DOCS";

/// Names that only some places may use. A path under `only` may use `names`; tests may use everything.
struct Absence {
    what: &'static str,
    names: &'static [&'static str],
    only: &'static [&'static str],
}

const ABSENCES: &[Absence] = &[
    Absence {
        what: "timely and differential",
        names: &["timely", "timely_communication", "differential_dataflow"],
        only: &["src/dataflow/", "src/runtime/"],
    },
    Absence {
        what: "files, sockets and clocks",
        names: &[
            "std::fs",
            "std::net::TcpStream",
            "std::net::TcpListener",
            "std::net::UdpSocket",
            "std::net::ToSocketAddrs",
            "std::os::unix::net",
            "std::time::Instant",
            "std::time::SystemTime",
            "tempfile",
            "glob",
        ],
        only: &["src/temporary.rs", "src/io/", "src/runtime/", "src/spill/", "jobs/"],
    },
    Absence {
        what: "environment and processes",
        names: &["std::env", "std::process"],
        only: &["src/io/", "src/runtime/", "src/spill/", "jobs/"],
    },
    Absence { what: "the command line", names: &["clap", "clap_complete", "clap_mangen"], only: &["jobs/"] },
    Absence {
        what: "printing",
        names: &[
            "println!",
            "print!",
            "eprintln!",
            "eprint!",
            "dbg!",
            "std::io::stdout",
            "std::io::stderr",
            "std::panic::set_hook",
            "std::panic::take_hook",
        ],
        only: &["src/runtime/progress.rs", "jobs/messages.rs"],
    },
    // All but these print text for people, which passes through `model::shown`.
    Absence {
        what: "data on standard output",
        names: &["crate::messages::data"],
        only: &[
            "jobs/messages.rs",
            "jobs/normalize.rs",
            "jobs/export.rs",
            "jobs/generate.rs",
            "jobs/keys.rs",
            "jobs/report.rs",
            "jobs/secret.rs",
        ],
    },
    Absence { what: "arguments that clap prints itself", names: &["Cli::parse", "Cli::parse_from"], only: &[] },
    Absence { what: "the HTTP client", names: &["ureq"], only: &["src/io/"] },
    Absence { what: "signals", names: &["signal_hook"], only: &["jobs/"] },
    Absence { what: "the progress bar", names: &["indicatif"], only: &["src/runtime/progress.rs"] },
    Absence { what: "abomonation", names: &["abomonation"], only: &["src/spill/"] },
    Absence {
        what: "randomness without a seed, hashes of the run",
        names: &[
            "rand",
            "std::hash::RandomState",
            "std::collections::hash_map::RandomState",
            "std::hash::DefaultHasher",
            "std::collections::hash_map::DefaultHasher",
            "foldhash::fast::RandomState",
            "foldhash::quality::RandomState",
        ],
        only: &[],
    },
    Absence { what: "unfinished code", names: &["todo!", "unimplemented!"], only: &[] },
];

/// What a module of the library may import besides itself. Dependencies point one way.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("model", &[]),
    // Who creates temporary files need not know each other, and a signal must find the files of all.
    ("temporary", &[]),
    ("content", &["model"]),
    ("url", &["model"]),
    ("rules", &["model", "url"]),
    ("platforms", &["model", "url", "rules"]),
    ("site", &["model", "url", "rules", "platforms"]),
    ("evaluate", &["model", "url", "rules", "site"]),
    ("synth", &["model", "url"]),
    ("index", &["model", "url", "rules"]),
    ("baselines", &["model", "url", "rules", "site", "evaluate"]),
    ("io", &["model", "temporary", "content", "url", "rules", "index", "site", "evaluate"]),
    ("spill", &["model", "temporary"]),
    ("runtime", &["model", "spill"]),
    ("dataflow", &["model", "content", "url", "rules", "index", "site", "evaluate", "baselines", "spill", "runtime"]),
    ("report", &["model", "url", "rules", "site", "evaluate", "baselines", "dataflow"]),
];

/// Lines after which a file is split, tests included.
const MAX_LINES: usize = 500;

/// Files that may be longer, with the reason.
const LONG: &[(&str, &str)] = &[];

/// One Rust file of the repository.
struct File {
    /// From the root, with `/`.
    path: String,
    lines: usize,
    tokens: Vec<source::Token>,
    /// The file as a whole is test code.
    test: bool,
}

/// All Rust files under `folders`, sorted by path; test modules are marked, and test items taken out of
/// the others.
fn files(folders: &[&str]) -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in folders.iter().filter(|f| root.join(f).is_dir()) {
        let mut open = vec![root.join(folder)];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).expect("a readable folder") {
                let path = entry.expect("a readable entry").path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    paths.push(path);
                }
            }
        }
    }
    paths.sort();
    let mut tests = BTreeSet::new();
    let mut files = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable source file");
        let path = path.strip_prefix(root).expect("under the root").to_string_lossy().replace('\\', "/");
        let (tokens, test_modules) = without_tests(&tokens(&text));
        tests.extend(test_modules.iter().map(|name| module_file(&path, name)));
        files.push(File { test: path.starts_with("tests/"), lines: text.lines().count(), path, tokens });
    }
    for file in &mut files {
        let stem = file.path.trim_end_matches(".rs").trim_end_matches("/mod");
        file.test |= tests.iter().any(|t| stem == t || stem.starts_with(&format!("{t}/")));
    }
    files
}

/// Path without `.rs` of the module `name` (or `path` attribute) declared in the file `path`.
fn module_file(path: &str, name: &str) -> String {
    let (folder, file) = path.rsplit_once('/').expect("in a folder");
    if let Some(stem) = name.strip_suffix(".rs") {
        return format!("{folder}/{stem}");
    }
    match file {
        "mod.rs" | "lib.rs" | "main.rs" => format!("{folder}/{name}"),
        _ => format!("{folder}/{}/{name}", file.trim_end_matches(".rs")),
    }
}

/// Module path of a file: `["site", "tree"]` for `src/site/tree.rs`.
fn module_of(path: &str) -> Vec<String> {
    let inner = path.split_once('/').expect("in a folder").1.trim_end_matches(".rs");
    let inner = inner.trim_end_matches("/mod");
    inner.split('/').filter(|&s| !matches!(s, "lib" | "main")).map(String::from).collect()
}

/// True when `path` uses `name`: one is the beginning of the other, but a bare `std` is not a use of
/// `std::fs`.
fn uses(path: &[String], name: &str) -> bool {
    let name: Vec<&str> = name.split("::").collect();
    let meet = path.iter().zip(&name).take_while(|(a, b)| a == b || *a == "*").count();
    // `std::time` and `std::time::*` bring `std::time::Instant` within reach.
    meet == name.len() || (path.len() > 1 && meet == path.len() && path.last().is_some_and(|s| s == "*"))
}

/// Breaches of the absences in a file of product code.
fn absences(path: &str, all: &[Named]) -> Vec<String> {
    let mut found = Vec::new();
    for absence in ABSENCES.iter().filter(|a| !a.only.iter().any(|only| path.starts_with(only))) {
        for named in all.iter().filter(|n| absence.names.iter().any(|name| uses(&n.path, name))) {
            let (line, name) = (named.line, named.path.join("::"));
            let only = if absence.only.is_empty() { "nowhere".to_string() } else { absence.only.join(", ") };
            found.push(format!("{path}:{line}: `{name}`: {} belong in: {only}", absence.what));
        }
    }
    found
}

/// Breaches of the direction of dependency in a file of the library.
fn dependencies(path: &str, module: &[String], all: &[Named]) -> Vec<String> {
    let Some(own) = module.first().filter(|_| path.starts_with("src/")) else { return Vec::new() };
    let Some((_, may)) = MAY_IMPORT.iter().find(|(name, _)| name == own) else {
        return vec![format!("{path}:1: module `{own}` is not in the table of dependencies of tests/it/house.rs")];
    };
    let known = |name: &str| MAY_IMPORT.iter().any(|(m, _)| *m == name);
    let imports = all.iter().filter(|n| n.path[0] == "crate" && n.path.len() > 1);
    let breaks = imports.filter(|n| known(&n.path[1]) && n.path[1] != *own && !may.contains(&n.path[1].as_str()));
    breaks.map(|n| format!("{path}:{}: `{own}` must not import `{}`", n.line, n.path[1])).collect()
}

/// Breaches by words: `unsafe` outside `spill`.
fn unsafe_code(path: &str, tokens: &[source::Token]) -> Vec<String> {
    let found = tokens.iter().filter(|t| matches!(t.text.as_str(), "unsafe" | "unsafe_code"));
    let found = found.filter(|_| !path.starts_with("src/spill/"));
    found.map(|t| format!("{path}:{}: `{}` outside src/spill", t.line, t.text)).collect()
}

/// Errors of clap that are printed elsewhere than where their arguments are escaped: `error.print()`.
fn printed_by_clap(path: &str, tokens: &[source::Token]) -> Vec<String> {
    let calls = tokens.windows(3).filter(|w| w[0].text == "." && w[1].text == "print" && w[2].text == "(");
    let calls = calls.filter(|_| path.starts_with("jobs/") && path != "jobs/messages.rs");
    calls.map(|w| format!("{path}:{}: clap prints in jobs/messages.rs only", w[1].line)).collect()
}

/// Ignored tests, in any file.
fn ignored_tests(path: &str, tokens: &[source::Token]) -> Vec<String> {
    let starts = tokens.windows(3).filter(|w| w[0].text == "#" && w[1].text == "[" && w[2].text == "ignore");
    starts.map(|w| format!("{path}:{}: an ignored test", w[0].line)).collect()
}

/// All breaches of one source text, as if it stood at `path`.
fn check_source(path: &str, tokens: &[source::Token]) -> Vec<String> {
    let module = module_of(path);
    let all = named(tokens, &module);
    let mut found = absences(path, &all);
    found.extend(dependencies(path, &module, &all));
    found.extend(unsafe_code(path, tokens));
    found.extend(printed_by_clap(path, tokens));
    found
}

fn fail_on(found: &[String]) {
    assert!(found.is_empty(), "{} breach(es) of the invariants of src/lib.rs:\n{}", found.len(), found.join("\n"));
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn absences_and_dependencies_hold() {
    let files = files(&["src", "jobs"]);
    assert!(files.iter().any(|f| f.path == "src/lib.rs"), "the checks see the source");
    let found: Vec<String> = files.iter().filter(|f| !f.test).flat_map(|f| check_source(&f.path, &f.tokens)).collect();
    fail_on(&found);
}

#[test]
fn no_file_is_long_and_no_test_ignored() {
    let mut found = Vec::new();
    for file in files(&["src", "jobs", "tests", "benches"]) {
        if file.lines > MAX_LINES && !LONG.iter().any(|(path, _)| *path == file.path) {
            found.push(format!("{}: {} lines, over {MAX_LINES}: divide it by subject", file.path, file.lines));
        }
        found.extend(ignored_tests(&file.path, &file.tokens));
    }
    fail_on(&found);
    for (path, reason) in LONG {
        assert!(read(path).lines().count() > MAX_LINES && !reason.is_empty(), "{path} need not be in LONG");
    }
}

/// Rows of the map in `src/lib.rs`: `//! - \`name\`: ...` between the headings Map and Invariants.
fn map_rows() -> Vec<String> {
    let text = read("src/lib.rs");
    let map = text.split("//! # Map").nth(1).and_then(|t| t.split("//! # ").next()).expect("a map in src/lib.rs");
    map.lines().filter_map(|l| l.strip_prefix("//! - `")?.split_once('`')).map(|(name, _)| name.to_string()).collect()
}

#[test]
fn the_map_shows_the_house() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rows = map_rows();
    assert!(rows.len() > 5, "a map: {rows:?}");
    let exists = |name: &str| root.join(format!("src/{name}.rs")).is_file() || root.join("src").join(name).is_dir();
    for name in &rows {
        assert!(exists(name), "src/lib.rs shows `{name}`, which is not there");
        assert!(MAY_IMPORT.iter().any(|(m, _)| m == name), "`{name}` is not in the table of dependencies");
    }
    for entry in std::fs::read_dir(root.join("src")).expect("src") {
        let name = entry.expect("a readable entry").file_name().to_string_lossy().replace(".rs", "");
        assert!(name == "lib" || rows.contains(&name), "src/{name} is not on the map of src/lib.rs");
    }
    // The order of the rows is the direction of dependency.
    for (i, name) in rows.iter().enumerate() {
        let (_, may) = MAY_IMPORT.iter().find(|(m, _)| m == name).expect("checked above");
        for above in may.iter().filter(|m| rows.iter().any(|r| r == *m)) {
            assert!(rows[..i].iter().any(|r| r == above), "`{name}` imports `{above}`, which the map shows below it");
        }
    }
}

#[test]
fn lints_and_pins_are_set() {
    let cargo = read("Cargo.toml");
    for line in ["unsafe_code = \"deny\"", "iter_over_hash_type = \"warn\"", "print_stdout = \"warn\""] {
        assert!(cargo.contains(line), "Cargo.toml does not say {line}");
    }
    for engine in ["timely", "differential-dataflow", "abomonation"] {
        let line = cargo.lines().find(|l| l.starts_with(engine)).unwrap_or_else(|| panic!("no {engine}"));
        assert!(line.contains("\"="), "not pinned exactly: {line}");
    }
}

/// The names of the libraries of `undust` in a lock file.
fn locked(path: &str) -> BTreeSet<String> {
    let lock: toml::Value = toml::from_str(&read(path)).expect("a lock file");
    let undust = lock["package"].as_array().expect("packages").iter().find(|p| p["name"].as_str() == Some("undust"));
    let libraries = undust.expect("the package itself")["dependencies"].as_array().expect("its libraries");
    libraries.iter().filter_map(|d| d.as_str()?.split(' ').next()).map(str::to_owned).collect()
}

/// The Python package is built `--locked`, seldom: what is added to `Cargo.toml` must be in its lock
/// file too.
#[test]
fn the_lock_file_of_the_python_package_is_in_step() {
    let manifest: toml::Value = toml::from_str(&read("Cargo.toml")).expect("a manifest");
    // Those of some processors alone, too.
    let targets = manifest["target"].as_table().expect("targets").values();
    let tables = targets.chain([&manifest]).map(|table| table["dependencies"].as_table().expect("libraries"));
    let wanted = tables.flat_map(|table| table.keys().cloned()).collect::<BTreeSet<_>>();
    assert!(wanted.is_subset(&locked("Cargo.lock")));
    assert_eq!(locked("python/Cargo.lock"), wanted, "run `cargo metadata --manifest-path python/Cargo.toml`");
}

#[test]
fn the_changelog_has_an_unreleased_section() {
    assert!(read("CHANGELOG.md").lines().any(|l| l.trim() == "## [Unreleased]"));
}

/// Commands of the code blocks of a document: what follows `undust` or `cargo run ... --`, one line
/// each.
fn commands(text: &str) -> Vec<Vec<String>> {
    let blocks =
        text.split("```").skip(1).step_by(2).filter_map(|b| b.split_once('\n')).filter(|(tag, _)| *tag == "sh");
    let lines = blocks.flat_map(|(_, block)| block.lines()).map(|l| l.split(" #").next().unwrap_or(l));
    let parts = lines.flat_map(|l| l.split(['|', ';']));
    parts
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let name = words.iter().position(|w| *w == "undust" || w.ends_with("/undust"));
            let cargo = words.starts_with(&["cargo", "run"]).then(|| words.iter().position(|w| *w == "--")).flatten();
            let rest = &words[cargo.or(name)? + 1..];
            (!rest.is_empty()).then(|| rest.iter().map(|w| w.to_string()).collect())
        })
        .collect()
}

#[test]
fn commands_of_the_readme_exist() {
    let found = commands(&read("README.md"));
    assert!(found.iter().any(|c| c[0] == "learn"), "the README shows how to learn: {found:?}");
    if !read("jobs/main.rs").contains("clap") {
        return; // no command line yet
    }
    for command in found {
        let mut undust = std::process::Command::new(env!("CARGO_BIN_EXE_undust"));
        let help = undust.args([&command[0], "--help"]).output().expect("the binary runs");
        assert!(help.status.success(), "README.md shows `undust {}`, which is not a job", command[0]);
        let help = String::from_utf8_lossy(&help.stdout);
        for flag in command.iter().filter(|w| w.starts_with("--") || (w.starts_with('-') && w.len() == 2)) {
            let flag = flag.split('=').next().expect("one part at least");
            let known = help.split(|c: char| c.is_whitespace() || ",[]=<>".contains(c)).any(|w| w == flag);
            assert!(known, "README.md shows `undust {} {flag}`, which its --help does not know", command[0]);
        }
    }
}

/// Breaches of `source` at `path`, as `line: ...` without the path.
fn breaches(path: &str, source: &str) -> Vec<String> {
    check_source(path, &without_tests(&tokens(source)).0)
}

#[test]
fn each_absence_can_be_broken() {
    let broken = [
        ("src/site/a.rs", "use timely::dataflow::Scope;", "timely"),
        ("src/site/a.rs", "fn f() { let x = timely::Config::thread(); }", "timely"),
        ("src/io/a.rs", "use differential_dataflow as d;", "differential"),
        ("src/rules/a.rs", "use std::{fmt, fs::File};", "files"),
        (
            "src/rules/a.rs",
            "use std::{fmt, time};\nfn f() { time::Instant::now(); }",
            "src/rules/a.rs:2: `std::time::Instant",
        ),
        ("src/rules/a.rs", "use std::time::*;", "clocks"),
        ("src/url/a.rs", "fn f() { ::std::net::TcpStream::connect(\"x\"); }", "sockets"),
        ("src/dataflow/a.rs", "use crate::io::reader;", "must not import `io`"),
        ("src/model.rs", "use crate::url::Split;", "must not import `url`"),
        ("src/url/keys.rs", "use super::super::rules::Rule;", "must not import `rules`"),
        ("src/rules/a.rs", "fn f() -> crate::site::Params { todo!() }", "must not import `site`"),
        ("src/rules/a.rs", "fn f() { todo!() }", "unfinished"),
        ("src/spill/a.rs", "use clap::Parser;", "command line"),
        ("src/runtime/a.rs", "fn f() { eprintln!(\"x\"); }", "printing"),
        ("src/io/a.rs", "use std::io::{self, Write};\nfn f() { let mut o = io::stdout(); }", "printing"),
        ("jobs/a.rs", "fn f() { eprintln!(\"x\"); }", "printing"),
        ("jobs/rules/a.rs", "use std::io;\nfn f() { io::stdout().lock(); }", "jobs/rules/a.rs:2: `std::io::stdout"),
        ("jobs/a.rs", "use std::io::stderr as out;\nfn f() { out(); }", "printing"),
        ("src/runtime/mesh/a.rs", "fn f() { std::io::stderr(); }", "printing"),
        ("jobs/main.rs", "fn f() { std::panic::set_hook(h); }", "printing"),
        ("jobs/a.rs", "use crate::messages::{data, say};", "data on standard output"),
        ("jobs/a.rs", "use super::messages as m;\nfn f() { m::data(b\"\"); }", "data on standard output"),
        ("jobs/main.rs", "fn f() { let cli = Cli::parse(); }", "clap prints itself"),
        ("jobs/main.rs", "fn f(e: clap::Error) { e.print(); }", "clap prints in"),
        ("jobs/a.rs", "use indicatif::ProgressBar;", "progress bar"),
        ("src/site/a.rs", "fn f() { unsafe { g() } }", "unsafe"),
        ("src/lib.rs", "#![allow(unsafe_code)]", "unsafe_code"),
        ("src/io/a.rs", "use abomonation::encode;", "abomonation"),
        ("src/site/a.rs", "use std::collections::hash_map::RandomState;", "randomness"),
        ("src/new/a.rs", "fn f() {}", "not in the table"),
    ];
    for (path, source, part) in broken {
        let found = breaches(path, source);
        assert!(found.iter().any(|f| f.contains(part)), "{source:?} at {path}: {found:?}");
    }
}

#[test]
fn what_is_allowed_is_not_a_breach() {
    let held = [
        ("src/dataflow/a.rs", "use timely::dataflow::Scope; use crate::site::Params;"),
        ("src/runtime/progress.rs", "fn f() { eprintln!(\"x\"); }"),
        ("jobs/messages.rs", "use std::io;\nfn f(e: E) { io::stdout(); eprintln!(\"x\"); e.print(); }"),
        ("jobs/normalize.rs", "use crate::messages::data;"),
        ("jobs/a.rs", "use crate::messages::{self, say, show};\nfn f(data: u8) { messages::show(data); print(data); }"),
        ("src/spill/a.rs", "fn f() { unsafe { g() } }"),
        ("src/site/a.rs", "// use std::fs;\n/* unsafe /* nested */ std::net */\n/// std::fs\nfn f() {}"),
        ("src/site/a.rs", "fn f() -> &'static str { \"use std::fs; unsafe \\\" \" }"),
        ("src/site/a.rs", "fn f() -> &'static str { r#\"unsafe \" std::fs::x\"# }"),
        ("src/site/a.rs", "fn f(c: char) -> bool { c == '\"' || c == '\\'' }\nfn g<'a>(x: &'a str) {} // unsafe"),
        ("src/site/a.rs", "#[cfg(test)]\nmod tests {\n use std::fs;\n fn f() { unsafe {} }\n}\nfn g() {}"),
        (
            "src/site/a.rs",
            "#[cfg(test)]\nuse std::{fs, net};\n#[cfg(all(test, unix))]\nconst X: Y = Y { a: std::env::args() };",
        ),
        ("src/site/a.rs", "struct S { #[cfg(test)] at: std::time::Instant, b: u8 }"),
        ("src/site/a.rs", "use std::time::Duration; use std::io::Write; fn f(fs: u8, x: X) { x.glob(fs); x != 1; }"),
        ("src/site/energy.rs", "use super::Params; use self::inner::f; use crate::{model::hash64, rules};"),
    ];
    for (path, source) in held {
        assert_eq!(breaches(path, source), Vec::<String>::new(), "{source:?} at {path}");
    }
    // But what follows a test item is product code again.
    let after = "#[cfg(test)]\nmod tests { fn f() {} }\n#[cfg(not(test))]\nuse std::fs;";
    assert_eq!(breaches("src/site/a.rs", after).len(), 1);
}

#[test]
fn test_modules_in_files_are_found() {
    let (_, found) =
        without_tests(&tokens("#[cfg(test)]\nmod tests;\n#[cfg(test)] #[path = \"b_tests.rs\"] mod other;"));
    let found: Vec<String> = found.iter().map(|name| module_file("src/site/tree.rs", name)).collect();
    assert_eq!(found, ["src/site/tree/tests", "src/site/b_tests"]);
    assert_eq!(module_file("src/site/mod.rs", "tests"), "src/site/tests");
    assert_eq!(ignored_tests("x", &tokens("#[test]\n#[ignore = \"slow\"]\nfn f() {}")), ["x:2: an ignored test"]);
}

#[test]
fn commands_are_read_from_code_blocks() {
    let text = "```sh\ncargo run --release -- learn x --out d\nundust explain --rules d 'http://a/' # why\n```\n`undust no`\n```text\nundust not\n```";
    let found = commands(text);
    assert_eq!(found.iter().map(|c| c[0].as_str()).collect::<Vec<_>>(), ["learn", "explain"]);
}
