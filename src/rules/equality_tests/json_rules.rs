//! Compares what the export in JSON says with the reference interpreter.
//!
//! The file is read as `docs/json-rules.md` has it, by code that shares nothing with the writer, into
//! rules of the interpreter; these must do what the exported rules do. With `UNDUST_JSON_RULES_CASES`,
//! a folder, each random site is written there as `N.json`, with `N.tsv`: URLs and the canonical URLs
//! that a reader of the file must give. `scripts/accept exports` gives them to the reference applier.

use super::{Random, generate, number};
use crate::rules::explain::TraceStep;
use crate::rules::export::export_some;
use crate::rules::export::{Selection, Target};
use crate::rules::interpreter::Interpreter;
use crate::rules::value_ranges::{RangedKey, ValueRange};
use crate::rules::{Constraint, Fragments, Function, Operation, Representative, Rule, SiteRules, Test, Tokens};
use crate::url::NormalUrl;
use serde_json::Value;

/// Random sites of the default run.
const SITES: u64 = 1_500;

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().map(text).collect()
}

fn pairs(value: &Value) -> Vec<[String; 2]> {
    list(value).iter().map(|pair| [text(&pair[0]), text(&pair[1])]).collect()
}

fn test(when: &Value) -> Constraint {
    let tests: Vec<&str> = when.as_object().expect("a condition").keys().map(String::as_str).collect();
    let test = match &tests[..] {
        ["key", "present"] if when["present"] == true => Test::Present,
        ["key", "present"] => Test::Absent,
        ["in", "key"] | ["key", "in"] if list(&when["in"]).len() == 1 => Test::Equals(text(&when["in"][0])),
        ["in", "key"] | ["key", "in"] => Test::OneOf(texts(&when["in"])),
        ["key", "not"] => Test::Not(texts(&when["not"])),
        ["key", "not_in"] => Test::NoneOf(texts(&when["not_in"])),
        other => panic!("{other:?}"),
    };
    Constraint { key: text(&when["key"]), test }
}

fn operation(then: &Value, whole: bool) -> (String, Operation) {
    let kinds: Vec<&str> =
        then.as_object().expect("an operation").keys().map(String::as_str).filter(|of| *of != "key").collect();
    let value = &then[kinds[0]];
    let maybe = |value: &Value| value.as_str().map(str::to_owned);
    let key = text(&then["key"]);
    let operation = match &kinds[..] {
        ["remove"] => Operation::Ignore(Representative::LeftOut),
        ["set"] if whole => Operation::Keep(text(value)),
        ["set"] => Operation::Ignore(Representative::Everywhere(text(value))),
        ["replace"] => Operation::Ignore(Representative::WherePresent(text(value))),
        ["copy"] => Operation::Replace(text(value)),
        ["map"] => Operation::Classes(list(value).iter().map(|pair| (maybe(&pair[0]), maybe(&pair[1]))).collect()),
        ["apply"] => Operation::Apply(serde_json::from_value::<Function>(value.clone()).expect("a function")),
        other => panic!("{other:?}"),
    };
    (key, operation)
}

fn rule(value: &Value) -> Rule {
    let whole = value["whole"] == true;
    let operations = list(&value["then"]).iter().map(|then| operation(then, whole)).collect();
    Rule { closed: whole, ..Rule::of(&text(&value["id"]), list(&value["when"]).iter().map(test).collect(), operations) }
}

/// A mirror as a rule.
fn mirror(value: &Value) -> Rule {
    let key = || "prefix".to_owned();
    let scope = vec![Constraint { key: key(), test: Test::Equals(text(&value["front"])) }];
    Rule::of(&text(&value["id"]), scope, vec![(key(), Operation::Keep(text(&value["to"])))])
}

fn site(value: &Value) -> SiteRules {
    let fragments = if value["fragments"] == true { Fragments::Keys { clusters: 1 } } else { Fragments::LeftOut };
    let range = |range: &Value| RangedKey {
        key: text(&range["key"]),
        absent: range["absent"] == true,
        inner: range["text"].is_string(),
        pages: vec![ValueRange {
            like: text(&range["like"]),
            range: range["numbers"].as_array().map(|of| [0, 1].map(|at: usize| of[at].as_u64().expect("a number"))),
            page: text(&range["page"]),
        }],
        ..RangedKey::default()
    };
    SiteRules {
        site: text(&value["site"]),
        origins: texts(&value["origins"]),
        tokens: Tokens {
            delimiters: text(&value["delimiters"]),
            semicolons: value["semicolons"] == true,
            joined_by_semicolons: value["joined_by_semicolons"] == true,
            nested_queries: value["nested_queries"] == true,
            commas: value["commas"] == true,
            query_order: texts(&value["order"]),
            sections: texts(&value["sections"]),
            fragments: Some(fragments),
            query_path: value["query_path"] == true,
            numbered_end: value["numbered_end"] == true,
            endings: value["endings"].as_array().map(|_| texts(&value["endings"])).unwrap_or_default(),
            inner_numbers: value["inner_numbers"] == true,
            name_families: value["name_families"] == true,
            value_ends: value["value_ends"].as_array().into_iter().flatten().map(|of| texts(of).concat()).collect(),
            ..Tokens::default()
        },
        rules: list(&value["rules"]).iter().map(rule).chain(list(&value["mirrors"]).iter().map(mirror)).collect(),
        exceptions: pairs(&value["exceptions"]),
        aliases: pairs(&value["lookups"]),
        local: list(&value["ranges"]).iter().map(range).collect(),
        ..SiteRules::default()
    }
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct JsonRuleCounts {
    changed: u64,
    kept: u64,
    without_a_rule: u64,
    differences: Vec<String>,
}

/// Compares a site with its export; gives the file and what a reader must give for each URL.
fn compare(rules: &SiteRules, urls: &[String], found: &mut JsonRuleCounts) -> Option<(String, String)> {
    // No proof writes an exception to a rule that never acts. Here it may hide another one of its page.
    let mut rules = rules.clone();
    let SiteRules { rules: all, exceptions, .. } = &mut rules;
    exceptions.retain(|[_, id]| all.iter().all(|rule| rule.id != *id || rule.mirror().is_some() || rule.is_valid()));
    let rules = &rules;
    let export =
        export_some(std::slice::from_ref(rules), Selection { target: Target::JsonRules, only: &[], urls: None });
    let file: Value = serde_json::from_str(&export.text).expect("JSON");
    assert_eq!((file["format"].as_str(), file["version"].as_u64()), (Some("undust-json-rules"), Some(1)));
    let read = site(list(&file["sites"]).first()?);
    let is_whole = export.left_out.iter().all(|out| out.reason == "it never acts");
    let mut ascii = rules.clone().into_ascii();
    ascii.rules.iter_mut().for_each(|rule| rule.extended = false);
    let (meant, exported) = (Interpreter::new(&ascii), Interpreter::new(&read));
    let mut expected = String::new();
    for url in urls {
        let normal = NormalUrl::new(url.as_bytes()).ok().filter(|normal| normal.as_str() == url);
        let Some(normal) = normal else {
            expected.push_str(&format!("{url}\t{url}\n"));
            continue;
        };
        let (whole, made) = (meant.canonicalize(&normal), exported.canonicalize(&normal).url);
        // With a rule less, a URL may become a fixed point, or miss its look-up.
        let refused = |step: &TraceStep<'_>| matches!(step, TraceStep::Refused { .. } | TraceStep::Again { .. });
        let apart = !is_whole && (whole.looked_up || whole.steps.iter().any(refused));
        let meant_url = whole.url;
        let show = |url: &[u8]| String::from_utf8_lossy(url).into_owned();
        expected.push_str(&format!("{url}\t{}\n", show(&made)));
        let again = NormalUrl::new(&made).map(|made| meant.canonicalize(&made).url);
        if made == meant_url {
            *(if made == normal.as_bytes() { &mut found.kept } else { &mut found.changed }) += 1;
        } else if apart || !is_whole && (made == normal.as_bytes() || again.as_ref() == Ok(&meant_url)) {
            found.without_a_rule += 1;
        } else {
            let rules: Vec<String> = ascii.rules.iter().map(crate::rules::explain::pattern_text).collect();
            let (rules, out) = (rules.join("\n  "), &export.left_out);
            let urls = format!("{url}\nmeant {}\nmade {}", show(&meant_url), show(&made));
            found.differences.push(format!("{rules}\n{out:?}\n{}\n{urls}", export.text));
        }
    }
    Some((export.text, expected))
}

#[test]
fn rules_in_json_are_the_rules() {
    let mut random = Random::new(number("UNDUST_EQUALITY_SEED", 3));
    let mut found = JsonRuleCounts::default();
    let folder = std::env::var_os("UNDUST_JSON_RULES_CASES").map(std::path::PathBuf::from);
    for number in 0..number("UNDUST_EQUALITY_SITES", SITES) {
        let case = generate::case(&mut Random::new(random.next()), number);
        let url =
            |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).ok().filter(|url| !url.contains(['\n', '\r', '\t']));
        let urls: Vec<String> = case.inputs.iter().filter_map(|input| url(&input.url)).collect();
        let file = compare(&case.sites[0], &urls, &mut found);
        if let Some((folder, (file, expected))) = folder.as_ref().zip(file) {
            std::fs::write(folder.join(format!("{number}.json")), file).expect("a folder that can be written");
            std::fs::write(folder.join(format!("{number}.tsv")), expected).expect("a folder that can be written");
        }
    }
    let JsonRuleCounts { changed, kept, without_a_rule, differences } = &found;
    let (count, shown) = (differences.len(), differences[..differences.len().min(3)].join("\n\n"));
    // Known gap: where a rule is left out, a later rule may act on what the left-out one would have
    // changed beforehand. The URLs of a site share such a rule, so that a few sites make the share.
    let is_rare = count as u64 * 300 <= *changed;
    assert!(is_rare, "{count} differences, {changed} changed, {without_a_rule} without a rule\n{shown}");
    assert!(*changed > 2_200 && *kept > 5_000 && without_a_rule < changed, "too little was compared: {found:?}");
}
