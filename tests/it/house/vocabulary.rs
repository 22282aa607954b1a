//! The words of identifiers: where the field has a term, no private word stands for it.
//!
//! Names of declared items, fields, variants, parameters and local variables are split into words, and
//! names of files and folders too. Each word is looked up in [`TERMS`].

use super::source::{Token, closing, tokens};
use super::{files, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Names in which a word is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// Types, traits, modules and files: the word is plain English elsewhere, but names no concept.
    Concepts,
    /// Functions, constants and fields too, but neither parameters nor local variables.
    Items,
    /// All names but those of tests, which are sentences.
    Names,
}

use Scope::{Concepts, Items, Names};

/// Private words, with the term of the field.
const TERMS: &[(&[&str], &str, Scope)] = &[
    (&["flight", "flights", "porch"], "batch, handshake state", Names),
    (&["way", "ways", "land", "together"], "lane, finish, lanes", Concepts),
    (&["lean", "packed"], "rule loader, compiled format", Names),
    (&["known"], "template cache", Concepts),
    (&["settled"], "fixed point", Names),
    (&["edit", "edits"], "splice", Concepts),
    (&["stay", "stays", "stand", "stands"], "host-closed, is canonical", Names),
    (&["reach", "wakes"], "dependencies between rules", Items),
    (&["gate", "owed", "pay", "pays"], "precondition, deferred write, flush", Names),
    (&["once"], "inlined", Concepts),
    (&["met", "claim", "claims"], "hit, host index", Items),
    (&["seal", "seals", "sealed"], "checksum", Names),
    (&["cut", "cuts"], "tokenize", Items),
    (&["cell", "cells"], "key-value pair", Concepts),
    (&["marks"], "delimiter positions", Names),
    (&["safe"], "syntax-based normalization, normal form", Names),
    (&["law", "laws"], "invariant", Names),
    (&["door", "doors", "fate", "fates"], "listener, handshake state", Names),
    (&["rest"], "shutdown, park", Concepts),
    (&["aside", "laid", "lay", "lays"], "replay spill", Names),
    (&["deal", "deals", "dealt"], "work stealing", Names),
    (&["desk", "board", "harvest"], "leader barrier, results", Names),
    (&["case"], "proof state", Concepts),
    (&["breadth"], "generalization check", Names),
    (&["sink", "sinks"], "soft 404; dead end of a walk; writer or receiver", Names),
    (&["span", "spans"], "value range", Names),
    (&["lower"], "emit", Concepts),
    (&["lot", "lots"], "bounds on hashes, draw", Names),
];

/// Plain words that several types had for a name: each names at most one type now, which readers need not qualify.
const ONE_TYPE: [&str; 11] =
    ["Row", "Kind", "Place", "Found", "Candidate", "Step", "State", "Key", "Table", "Stage", "Columns"];

/// Files whose names keep a word, and why. A path ends in `/` for all files below it.
const EXCEPT: &[(&str, &[&str], &str)] = &[
    ("jobs/rules.rs", &["seal"], "the command `rules seal`"),
    ("jobs/rules/seal.rs", &["seal"], "the command `rules seal`"),
    ("src/runtime/mesh/", &["seal", "sealed"], "a cipher with authentication seals"),
    ("tests/fuzz/invariants/hello.rs", &["sealed"], "a cipher with authentication seals"),
    ("tests/it/cluster_learn.rs", &["sealed"], "a cipher with authentication seals"),
    ("src/rules/platforms.rs", &["marks", "met", "stays"], "fields of the catalogue and of rule files"),
    ("src/site/mirrors.rs", &["breadth"], "names of thresholds in rule files"),
    ("src/dataflow/marginal.rs", &["cell"], "a cell of a contingency table"),
    ("src/content/page.rs", &["aside"], "an element of HTML"),
    ("src/rules/equality_tests/", &["case"], "a test case"),
    ("tests/it/", &["case"], "a test case"),
];

/// Kind of a declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Type, trait, module or file.
    Concept,
    /// Function, constant, static, macro, field or variant.
    Item,
    /// Parameter or local variable.
    Local,
}

/// A declared name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Declared {
    line: usize,
    kind: Kind,
    name: String,
}

/// Words of a name in lower case: of `CamelCase`, `snake_case` and `UPPER_CASE`.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let (mut out, mut word) = (Vec::new(), String::new());
    for (i, &letter) in letters.iter().enumerate() {
        let is_lower = |at: usize| letters.get(at).is_some_and(|c| c.is_lowercase() || c.is_ascii_digit());
        // `HTTPServer` is `HTTP` and `Server`.
        let begins = letter.is_uppercase() && i > 0 && (is_lower(i - 1) || is_lower(i + 1));
        if (letter == '_' || begins) && !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        if letter != '_' {
            word.extend(letter.to_lowercase());
        }
    }
    out.extend(Some(word).filter(|word| !word.is_empty()));
    out
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && !matches!(text, "mut" | "ref" | "self" | "Self" | "_")
}

/// The declared names of a file, without those of tests. Patterns of closures, `match` and `for` are not
/// read: what they name was declared as a field, or is plain.
fn declared(tokens: &[Token]) -> Vec<Declared> {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let mut out = Vec::new();
    let mut declare = |at: usize, kind: Kind| {
        if is_name(text(at)) {
            out.push(Declared { line: tokens[at].line, kind, name: text(at).to_owned() });
        }
    };
    let mut is_test = false;
    for i in 0..tokens.len() {
        match text(i) {
            "#" if text(i + 1) == "[" && text(i + 2) == "test" && text(i + 3) == "]" => is_test = true,
            "struct" | "enum" | "union" | "trait" | "mod" | "type" => {
                declare(i + 1, Kind::Concept);
                if matches!(text(i), "struct" | "enum" | "union")
                    && let Some(open) = body(tokens, i + 2)
                {
                    members(tokens, open, text(i) == "enum", &mut declare);
                }
            }
            "const" | "static" if text(i + 1) != "fn" => {
                declare(if text(i + 1) == "mut" { i + 2 } else { i + 1 }, Kind::Item);
            }
            "fn" => {
                if !std::mem::take(&mut is_test) {
                    declare(i + 1, Kind::Item);
                }
                let open = (i..tokens.len()).find(|&at| text(at) == "(").unwrap_or(i);
                let end = closing(tokens, open);
                (open..end).filter(|&at| text(at + 1) == ":").for_each(|at| declare(at, Kind::Local));
            }
            "let" => {
                // Constructors begin with a capital; what follows a colon is a type.
                let end = (i..tokens.len()).find(|&at| matches!(text(at), "=" | ";" | ":")).unwrap_or(i);
                let bound = (i + 1..end).filter(|&at| text(at).starts_with(|c: char| c.is_lowercase()));
                bound.filter(|&at| text(at + 1) != "::").for_each(|at| declare(at, Kind::Local));
            }
            _ => {}
        }
    }
    out
}

/// Index of the brace that opens the body of an item whose name ends before `from`; `None` where it has none.
fn body(tokens: &[Token], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match tokens.get(at)?.text.as_str() {
            "{" => return Some(at),
            ";" => return None,
            "(" => at = closing(tokens, at) + 1,
            _ => at += 1,
        }
    }
}

/// Fields of a struct, or variants of an enum with their fields, in the braces at `open`.
fn members(tokens: &[Token], open: usize, is_enum: bool, declare: &mut impl FnMut(usize, Kind)) {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let end = closing(tokens, open);
    let mut at = open + 1;
    while at < end {
        match text(at) {
            "#" => at = closing(tokens, at + 1),
            "(" | "[" => at = closing(tokens, at),
            "{" => {
                members(tokens, at, false, declare);
                at = closing(tokens, at);
            }
            _ if text(at + 1) == ":" => declare(at, Kind::Item),
            _ if is_enum && matches!(text(at - 1), "{" | "," | "]") => declare(at, Kind::Item),
            _ => {}
        }
        at += 1;
    }
}

/// Uses of private words in declared names, as `path:line: ...`.
fn breaches(path: &str, declared: &[Declared], used: &mut BTreeSet<(usize, String)>) -> Vec<String> {
    let mut found = Vec::new();
    for Declared { line, kind, name } in declared {
        for word in words(name) {
            let term = TERMS.iter().find(|(words, ..)| words.contains(&word.as_str()));
            let Some((_, term, scope)) = term.filter(|(.., scope)| match scope {
                Concepts => *kind == Kind::Concept,
                Items => *kind != Kind::Local,
                Names => true,
            }) else {
                continue;
            };
            let is_at = |place: &str| if place.ends_with('/') { path.starts_with(place) } else { path == place };
            let except = EXCEPT.iter().position(|(place, words, _)| is_at(place) && words.contains(&word.as_str()));
            match except {
                Some(at) => _ = used.insert((at, word)),
                None => found.push(format!(
                    "{path}:{line}: `{name}`: `{word}` is a private word in names of {scope:?}, which stood for: {term}"
                )),
            }
        }
    }
    found
}

/// The parts of the path of a file, as names.
fn of_path(path: &str) -> Vec<Declared> {
    let parts = path.trim_end_matches(".rs").split('/');
    parts.map(|part| Declared { line: 1, kind: Kind::Concept, name: part.replace('-', "_") }).collect()
}

#[test]
fn identifiers_use_the_terms_of_the_field() {
    let (mut found, mut used) = (Vec::new(), BTreeSet::new());
    for file in files(&["src", "jobs", "benches", "examples", "tests"]) {
        if file.path.starts_with("tests/it/house") {
            continue;
        }
        // The tokens of `files` lack the test modules.
        let mut names = of_path(&file.path);
        names.extend(declared(&tokens(&read(&file.path))));
        found.extend(breaches(&file.path, &names, &mut used));
    }
    let way_out = "take the term, or another word where something else is meant; EXCEPT lists names that users know";
    let (count, list) = (found.len(), found.join("\n"));
    assert!(found.is_empty(), "{count} name(s) with private words (tests/it/house/vocabulary.rs; {way_out}):\n{list}");
    for (at, (place, words, reason)) in EXCEPT.iter().enumerate() {
        assert!(!reason.is_empty() && Path::new(env!("CARGO_MANIFEST_DIR")).join(place).exists(), "{place}");
        for word in *words {
            assert!(used.contains(&(at, (*word).to_owned())), "{place} need not keep `{word}`");
        }
    }
}

#[test]
fn a_plain_word_names_one_type() {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files(&["src", "jobs"]) {
        for pair in file.tokens.windows(2) {
            let is_type = matches!(pair[0].text.as_str(), "struct" | "enum" | "trait" | "type");
            if let Some(word) = ONE_TYPE.iter().find(|word| is_type && **word == pair[1].text) {
                places.entry(word).or_default().push(format!("{}:{}", file.path, pair[1].line));
            }
        }
    }
    let several: Vec<_> = places.iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(several.is_empty(), "several types have one name; name each by its subject: {several:?}");
}

#[test]
fn each_kind_of_name_is_seen() {
    let source = "pub struct Aside { pub laid: u8, #[serde(default)] deal: Vec<(u8, u8)> }\n\
                  enum E { A, Desk(u8), Gate { owed: u8 }, Packed = 3 }\n\
                  trait Known {}\n\
                  mod marks;\n\
                  type Cells = u8;\n\
                  const SAFE: u8 = 0;\n\
                  static SPANS: u8 = 0;\n\
                  fn lay<T>(law: u8) -> u8 { let (sink, mut stays) = (0, 0); let Some(gate) = x else { y }; 0 }\n\
                  #[test]\n\
                  fn nothing_stays_as_it_was() { let lots = 0; }\n\
                  const fn breadth(known: u8) {}";
    let names = declared(&tokens(source));
    let found = breaches("src/a.rs", &names, &mut BTreeSet::new());
    let seen: BTreeMap<usize, Vec<&str>> = found.iter().fold(BTreeMap::new(), |mut seen, found| {
        let line = found.split(':').nth(1).and_then(|line| line.parse().ok()).expect("a line");
        seen.entry(line).or_insert_with(Vec::new).push(found.split('`').nth(1).expect("a name"));
        seen
    });
    let want: [(usize, &[&str]); 10] = [
        (1, &["Aside", "laid", "deal"]),
        (2, &["Desk", "Gate", "owed", "Packed"]),
        (3, &["Known"]),
        (4, &["marks"]),
        (5, &["Cells"]),
        (6, &["SAFE"]),
        (7, &["SPANS"]),
        (8, &["lay", "law", "sink", "stays", "gate"]),
        (10, &["lots"]),
        (11, &["breadth"]),
    ];
    assert_eq!(seen, want.map(|(line, names)| (line, names.to_vec())).into());
    assert_eq!(breaches("src/dataflow/aside.rs", &of_path("src/dataflow/aside.rs"), &mut BTreeSet::new()).len(), 1);
}

#[test]
fn names_are_split_into_words() {
    for (name, want) in [
        ("KeyValues", "key values"),
        ("HTTPServer", "http server"),
        ("OFF_THE_MESH", "off the mesh"),
        ("is_at_2nd", "is at 2nd"),
        ("Soft404s", "soft404s"),
        ("_", ""),
    ] {
        assert_eq!(words(name).join(" "), want);
    }
}
