//! The size of the applier, and the list of mistakes that are planted in it.

use super::{File, files};
use std::collections::BTreeSet;
use std::path::Path;

/// Files of `src/rules` that do not exist to apply rules: the rule type and its meaning, files,
/// explanations, exports, and what is done with applied rules. All others count as the applier.
const NOT_THE_APPLIER: &[&str] = &[
    "age",
    "ascii",
    "checksum",
    "compiled_format",
    "diff",
    "explain",
    "export",
    "file",
    "filter",
    "functions",
    "interpreter",
    "lines",
    "mod",
    "origins",
    "overrides",
    "params",
    "platforms",
    "provisional",
    "published",
    "saved",
    "shared",
    "stops",
    "thresholds",
    "trace",
    "twins",
    "types",
    "value_ranges",
    "without",
    "wording",
];

/// Lines of code of each file of the applier.
fn applier() -> Vec<(String, usize)> {
    let is_applier = |file: &File| {
        let name = file.path["src/rules/".len()..].split(['/', '.']).next().unwrap_or_default();
        !file.test && !NOT_THE_APPLIER.contains(&name)
    };
    let lines = |file: &File| file.tokens.iter().map(|token| token.line).collect::<BTreeSet<usize>>().len();
    files(&["src/rules"]).into_iter().filter(is_applier).map(|file| (file.path.clone(), lines(&file))).collect()
}

/// `scripts/applier-lines` prints what this counts: lines of code, without tests, comments and blank
/// lines. The applier is at most 2,500 lines.
#[test]
#[allow(clippy::print_stdout, reason = "the script shows the list")]
fn the_applier_is_small() {
    let mut total = 0;
    for (path, lines) in applier() {
        println!("{lines:5}  {path}");
        total += lines;
    }
    println!("{total:5}  lines of code");
    assert!((500..=2500).contains(&total), "the applier has {total} lines of code");
}

/// Mistakes that `scripts/accept mutants` plants in the applier.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutants {
    mutant: Vec<Mutant>,
    #[serde(default)]
    drawn: Vec<Drawn>,
}

/// A mistake written by hand.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    name: String,
    file: String,
    text: String,
    becomes: String,
    why: String,
    equivalent: Option<String>,
}

/// A mistake of cargo-mutants that no test can see.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Drawn {
    file: String,
    mutant: String,
    line: String,
    equivalent: String,
}

/// What is wrong with a list of mutants of files with these texts.
fn mistakes(Mutants { mutant, drawn }: &Mutants, text: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    for Mutant { name, file, text: old, becomes, why, equivalent } in mutant {
        let times = text(file).map(|text| text.matches(old.as_str()).count());
        let wrong = match times {
            _ if !names.insert(name) => "its name is given twice".to_owned(),
            _ if why.is_empty() || equivalent.as_ref().is_some_and(String::is_empty) => "no reason".to_owned(),
            _ if old == becomes => "it changes nothing".to_owned(),
            None => format!("{file} is no file of the applier"),
            Some(1) => continue,
            Some(times) => format!("its text is {times} times in {file}"),
        };
        found.push(format!("{name}: {wrong}"));
    }
    for Drawn { file, mutant, line, equivalent } in drawn {
        if text(file).is_none() || line.is_empty() || equivalent.is_empty() {
            found.push(format!("{mutant}: no line of {file}, a file of the applier, or no reason"));
        }
    }
    found
}

/// Each mistake of `scripts/parts/mutants.toml` can still be planted: its text is once in its file.
#[test]
fn mutants_of_the_applier_are_of_its_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = std::fs::read_to_string(root.join("scripts/parts/mutants.toml")).expect("the list of mutants");
    let list: Mutants = toml::from_str(&list).unwrap_or_else(|error| panic!("scripts/parts/mutants.toml: {error}"));
    let applier: BTreeSet<String> = applier().into_iter().map(|(path, _)| path).collect();
    let text = |file: &str| {
        applier.contains(file).then(|| std::fs::read_to_string(root.join(file)).expect("a readable source file"))
    };
    let found = mistakes(&list, text);
    assert!(found.is_empty(), "scripts/parts/mutants.toml:\n{}", found.join("\n"));
    let seen = list.mutant.iter().filter(|mutant| mutant.equivalent.is_none()).count();
    assert!(seen >= 40, "{seen} mutants by hand that tests see");
}

#[test]
fn a_list_of_mutants_that_went_out_of_date_is_named() {
    let of = |file: &str, text: &str, becomes: &str| {
        let list =
            format!("[[mutant]]\nname = 'a'\nfile = '{file}'\ntext = '{text}'\nbecomes = '{becomes}'\nwhy = 'b'");
        mistakes(&toml::from_str(&list).expect("a list"), |file| (file == "x.rs").then(|| "one two two".to_owned()))
    };
    assert!(of("x.rs", "one", "").is_empty());
    assert_eq!(of("x.rs", "two", ""), ["a: its text is 2 times in x.rs"]);
    assert_eq!(of("x.rs", "three", ""), ["a: its text is 0 times in x.rs"]);
    assert_eq!(of("x.rs", "one", "one"), ["a: it changes nothing"]);
    assert_eq!(of("y.rs", "one", ""), ["a: y.rs is no file of the applier"]);
}
