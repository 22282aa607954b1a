//! Results against the JSON Schemas of `docs/schema`.
use super::jobs_run::{Folder, run, undust};
use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use undust::rules::platforms::Recognised;
use undust::rules::value_ranges::{RangedKey, ValueRange};
use undust::rules::{Constraint, Evidence, Fragments, Function, Kind, Operation, Representative};
use undust::rules::{Rule, SiteRules, Test, Tokens};

/// The schemas of a result.
struct Checked {
    schemas: Schemas,
    summary: SchemaIndex,
    /// Of the first line and of the others: `rules.jsonl` and `profiles.jsonl`.
    rules: [SchemaIndex; 2],
    profiles: [SchemaIndex; 2],
}

impl Checked {
    fn new() -> Checked {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let mut compile = |name: &str| {
            let place = format!("{}/docs/schema/{name}", env!("CARGO_MANIFEST_DIR"));
            compiler.compile(&place, &mut schemas).unwrap_or_else(|error| panic!("{name}: {error:#}"))
        };
        let mut lines = |name: &str| ["header", "site"].map(|of| compile(&format!("{name}.schema.json#/$defs/{of}")));
        let (rules, profiles) = (lines("rules"), lines("profiles"));
        let summary = compile("summary.schema.json");
        Checked { schemas, summary, rules, profiles }
    }

    /// Why a value is refused, if it is.
    fn fault(&self, value: &Value, schema: SchemaIndex) -> Option<String> {
        self.schemas.validate(value, schema).err().map(|error| format!("{error:#}"))
    }

    /// The values of all files of a result, each with its schema.
    fn values(&self, folder: &Folder, out: &str) -> Vec<(Value, SchemaIndex)> {
        let read = |name: &str| std::fs::read_to_string(folder.path(out).join(name)).expect(name);
        let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let mut values = vec![(value(&read("summary.json")), self.summary)];
        for (name, schemas) in [("rules.jsonl", self.rules), ("profiles.jsonl", self.profiles)] {
            let text = read(name);
            values.extend(text.lines().enumerate().map(|(at, line)| (value(line), schemas[at.min(1)])));
        }
        values
    }

    #[track_caller]
    fn holds(&self, folder: &Folder, out: &str) {
        for (value, schema) in self.values(folder, out) {
            assert_eq!(self.fault(&value, schema), None, "{out}: {value:.600}");
        }
    }
}

fn learn(folder: &Folder, input: &str, out: &str, more: &[&str]) {
    let mut command = undust(&[&["learn", input, "-q", "--out", out], more].concat());
    command.current_dir(folder.path(""));
    run(command).done();
}

fn sample() -> String {
    format!("{}/tests/data/kb-sample.jsonl.gz", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn results_are_as_the_schemas_say() {
    let (folder, checked) = (Folder::with_rules(), Checked::new());
    let sample = sample();
    learn(&folder, &sample, "sample", &["--data-date", "2024-01-01..2024-03-01", "--fpr-max", "0", "--no-held-out"]);
    learn(&folder, &sample, "small", &["--train-max", "300", "--extend-to-domain", "--site-by", "domain"]);
    // Rules of a few URLs, of which the proof withdraws or narrows some; lines without labels, and none
    // that is cross-fitted.
    let synth = ["synth", "--out", "traps", "--sites", "12", "--total-urls", "9000", "--types", "traps", "--seed", "3"];
    let mut command = undust(&synth);
    command.current_dir(folder.path(""));
    run(command).done();
    learn(&folder, "traps", "trapped", &["--train-share", "0.2", "--platforms", "provisional"]);
    learn(&folder, &sample, "published", &["--method", "published", "--train-max", "400"]);
    for out in ["sample", "small", "trapped", "published"] {
        checked.holds(&folder, out);
    }
    let summaries: Vec<Value> =
        ["sample", "small", "trapped"].map(|out| checked.values(&folder, out)[0].0.clone()).into();
    let some = |name: &str| summaries.iter().any(|summary| summary.get(name).is_some());
    assert!(some("withdrawn") || some("narrowed"), "nothing was withdrawn: the schema of it is not tried");
}

#[test]
fn planted_mistakes_are_found() {
    let (folder, checked) = (Folder::with_rules(), Checked::new());
    learn(&folder, &sample(), "out", &["--no-held-out"]);
    let values = checked.values(&folder, "out");
    let (summary, rules, profiles) = (&values[0], &values[2], &values[values.len() - 1]);
    assert!(rules.0["rules"].as_array().is_some_and(|rules| rules.len() > 3));
    let good = [summary, rules, profiles, &values[1]];
    assert!(good.iter().all(|(value, schema)| checked.fault(value, *schema).is_none()));
    let planted: [(&(Value, SchemaIndex), &str, Value); 15] = [
        (summary, "/format", json!(2)),
        (summary, "/total/urls", json!(-1)),
        (summary, "/total/urls", json!(1.5)),
        (summary, "/total/fpr_ppm", json!(1_000_001)),
        (summary, "/total/held_out", json!("none")),
        (summary, "/parameters/learn/method", json!("other")),
        (summary, "/withdrawn", json!({"a": [{"id": "1", "reason": "bound"}]})),
        (rules, "/rules/0/kind", json!("ignores")),
        (rules, "/rules/0/operations/0/1", json!({"keep": 1})),
        (rules, "/rules/0/evidence/good", Value::Null),
        (rules, "/rules/0/more", json!(1)),
        (rules, "/check", json!("xyz")),
        (profiles, "/keys/0/does", json!("nothing")),
        (profiles, "/tree/0/parent", json!("0")),
        (profiles, "/traps/0/kind", json!("loop")),
    ];
    for ((value, schema), pointer, mistake) in planted {
        let (place, name) = pointer.rsplit_once('/').expect("a pointer");
        let mut bad = value.clone();
        match bad.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) {
            Value::Object(fields) => drop(fields.insert(name.to_owned(), mistake.clone())),
            Value::Array(items) => items[name.parse::<usize>().expect("a place")] = mistake.clone(),
            other => panic!("{place} is {other}"),
        }
        let fault = checked.fault(&bad, *schema);
        assert!(fault.is_some(), "{pointer}: {mistake} passes");
    }
    // A field that is missing, and the line of another kind.
    let mut short = rules.0.clone();
    short.as_object_mut().expect("an object").remove("origins");
    assert!(checked.fault(&short, rules.1).is_some());
    assert!(checked.fault(&values[1].0, rules.1).is_some() && checked.fault(&rules.0, profiles.1).is_some());
}

/// Every field that a line may have, set. A new field does not compile here, so that the schema is not
/// forgotten.
#[test]
fn every_field_is_in_the_schema() {
    let word = || "w".to_owned();
    let evidence = Evidence {
        good: 1,
        bad: 1,
        prior: 8,
        support_pairs: 1,
        false_positive_pairs: 1,
        upper_bound_ppm: 1_000_000,
        clusters: 1,
        examples: vec![[word(), word()]],
    };
    let operations = [
        Operation::Keep(word()),
        Operation::Replace(word()),
        Operation::Ignore(Representative::LeftOut),
        Operation::Ignore(Representative::WherePresent(word())),
        Operation::Ignore(Representative::Everywhere(word())),
        Operation::Classes(vec![(None, Some(word()))]),
    ];
    let operations = operations.into_iter().chain(Function::ALL.map(Operation::Apply));
    let lists = [Test::OneOf(vec![word()]), Test::NoneOf(vec![]), Test::Not(vec![word()])];
    let tests: Vec<Test> = lists.into_iter().chain([Test::Equals(word()), Test::Present, Test::Absent]).collect();
    let kinds = [Kind::Ignore, Kind::Classes, Kind::Function, Kind::Form, Kind::ConstantPage, Kind::Mirror];
    let rule = |kind| Rule {
        id: word(),
        kind,
        scope: tests.iter().map(|test| Constraint { key: word(), test: test.clone() }).collect(),
        operations: operations.clone().map(|operation| (word(), operation)).collect(),
        closed: true,
        extended: true,
        provisional: true,
        line: Some(word()),
        evidence: evidence.clone(),
        departures: vec![word()],
    };
    let tokens = |fragments| Tokens {
        delimiters: ":,=!".to_owned(),
        semicolons: true,
        joined_by_semicolons: true,
        nested_queries: true,
        commas: true,
        query_path: true,
        numbered_end: true,
        endings: vec![word()],
        inner_numbers: true,
        name_families: true,
        value_ends: vec![word()],
        query_order: vec![word()],
        sections: vec![word()],
        fragments: Some(fragments),
        published: true,
    };
    let value_range = ValueRange { like: word(), range: Some([1, 2]), page: word() };
    let local =
        RangedKey { key: word(), absent: true, inner: true, good: 1, bad: 1, clusters: 1, pages: vec![value_range] };
    let platform = Recognised { program: word(), directory: word(), hosts: vec![word()], met: 1, urls: 1 };
    let checked = Checked::new();
    for fragments in [Fragments::LeftOut, Fragments::Keys { clusters: 3 }] {
        let site = SiteRules {
            site: word(),
            origins: vec![word()],
            tokens: tokens(fragments),
            platforms: vec![platform.clone()],
            label_noise_permille: 1,
            rules: kinds.map(rule).into(),
            exceptions: vec![[word(), word()]],
            aliases: vec![[word(), word()]],
            local: vec![local.clone()],
            written: vec![(word(), vec![word()])],
        };
        let value = serde_json::to_value(&site).expect("JSON");
        assert_eq!(checked.fault(&value, checked.rules[1]), None, "{value:#}");
    }
}
