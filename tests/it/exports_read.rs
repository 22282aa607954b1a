//! Every export is read back by a parser of its format that did not write it, for keys, values and
//! names of sites that try to leave their place; what is read is what was meant.
//!
//! What was meant: the same rules with a plain word in the place of the hostile text give the same
//! patterns and replacements, but for that word.

use crate::exports_parsers::read;
use proptest::prelude::*;
use undust::model::shown::{cell, is_hidden};
use undust::rules::explain::{constraint_text, operation_text};
use undust::rules::export::{Export, Piece, Target, export};
use undust::rules::{Constraint, Evidence, Operation, Representative, Rule, SiteRules, Test};

/// Text that hostile text will replace.
const PLAIN: &str = "qzq";

/// Texts that break one format or another.
const HOSTILE: &[&str] = &[
    "\u{2028}",
    "\u{2029}",
    "\u{85}",
    "\u{1b}[2J",
    "\u{7}",
    "\0",
    "\"",
    "'",
    "''",
    "\\",
    "\\n",
    "-->",
    "a--b",
    "---",
    "]]>",
    "<!--",
    "<x>",
    "&amp;",
    "#",
    " # x",
    "$",
    "$1",
    "\\1",
    "\\g<1>",
    "{",
    "}",
    ";",
    "{};",
    "\n",
    "\r\n",
    "\t",
    "\n# x\n",
    "\u{202e}",
    "\u{2066}",
    "\u{feff}",
    "😀",
    "\u{e0041}",
    "\u{fffe}",
    "\u{ffff}",
    "*/",
    "-",
    "?",
    ":",
    ": ",
    "&",
    "!",
    "%",
    "@",
    "`",
    "|",
    ">",
    "*",
    "<<",
    "=",
    "~",
    "yes",
    "no",
    "null",
    "1e3",
    "0x1f",
    "12:30",
    "2020-01-01",
    "=1+2",
    "+1",
    "-1",
    "@x",
    "a b",
    " a",
    "a ",
    "\u{7f}",
    "%0A",
    "\\E",
    "\\Q",
    "(?i)",
    "[",
    "]",
    "(",
    ")",
    "^",
    ".",
    "é",
    "ж",
];

const TARGETS: [Target; 8] = [
    Target::Nutch,
    Target::Heritrix,
    Target::Pywb,
    Target::ClearUrls,
    Target::YandexCleanParam,
    Target::Nginx,
    Target::JsonRules,
    Target::Csv,
];

/// Rules that have `text` in keys, values, conditions, the name of the site and an example.
fn rules(text: &str) -> SiteRules {
    let left_out = || Operation::Ignore(Representative::LeftOut);
    let there = |value: &str| Operation::Ignore(Representative::WherePresent(value.to_owned()));
    let when = |key: String, test: Test| vec![Constraint { key, test }];
    let pair = |from: &str, to: &str| (Some(from.to_owned()), Some(to.to_owned()));
    let key = |before: &str| format!("query {before}{text}=");
    let rules = [
        (vec![], key(""), left_out()),
        (when(key("k"), Test::Equals(text.to_owned())), "query z=".to_owned(), left_out()),
        (when(key("k"), Test::Present), format!("query {text}b"), left_out()),
        (when("query k=".to_owned(), Test::OneOf(vec![text.to_owned(), format!("{text}a")])), key("y"), left_out()),
        (when("query k=".to_owned(), Test::NoneOf(vec![text.to_owned()])), "query x=".to_owned(), left_out()),
        (vec![], key("w"), there(text)),
        (vec![], "query v=".to_owned(), there(&format!("{text}1"))),
        (vec![], "query c=".to_owned(), Operation::Classes(vec![pair(text, "plain"), pair("z", &format!("1{text}"))])),
        (when("query k=".to_owned(), Test::Not(vec![text.to_owned()])), "query u=".to_owned(), left_out()),
    ];
    let rule = |(at, (scope, key, operation)): (usize, (Vec<Constraint>, String, Operation))| Rule {
        evidence: Evidence {
            good: 7,
            clusters: 3,
            examples: vec![[text.to_owned(), format!("b{text}")]],
            ..Evidence::default()
        },
        ..Rule::of(&format!("{at:016x}"), scope, vec![(key, operation)])
    };
    SiteRules {
        site: format!("{text}s.example"),
        origins: undust::rules::origins::of_hosts(["s.example", "www.s.example"]),
        rules: rules.into_iter().enumerate().map(rule).collect(),
        ..SiteRules::default()
    }
}

/// The CSV has one row a rule, whose cells are the texts of the rule.
fn check_table(text: &str, site: &SiteRules) {
    assert!(!text.contains(|c| is_hidden(c) && !matches!(c, '\r' | '\n')), "{text:?}");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), site.rules.len());
    for (row, rule) in rows.iter().zip(&site.rules) {
        let field = |name: &str| row.get(head.iter().position(|h| h == name).unwrap()).unwrap();
        let scope: Vec<String> = rule.scope.iter().map(constraint_text).collect();
        let (key, operation) = &rule.operations[0];
        let [one, other] = &rule.evidence.examples[0];
        for (name, want) in [
            ("site", &site.site),
            ("id", &rule.id),
            ("scope", &scope.join(" and ")),
            ("operations", &operation_text(key, operation)),
            ("example", one),
            ("same_page_as", other),
        ] {
            assert_eq!(field(name), cell(want), "{name} of {}", rule.id);
            assert!(!field(name).starts_with(['=', '+', '@']), "a formula: {}", field(name));
        }
    }
}

/// The JSON has the rules in their order, each key and value as URLs in normal form have it, and
/// nothing that is not seen.
fn check_json(text: &str, site: &SiteRules) {
    assert!(!text.contains(|c| is_hidden(c) && c != '\n'), "{text:?}");
    let file: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(file["sites"][0]["site"], *site.site);
    let rules = file["sites"][0]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), site.rules.len());
    for (found, rule) in rules.iter().zip(&site.rules) {
        assert_eq!(
            (&found["id"], &found["then"][0]["key"]),
            (&rule.id.clone().into(), &escaped(&rule.operations[0].0).into())
        );
        if let Some(Constraint { test: Test::Equals(value), .. }) = rule.scope.first() {
            assert_eq!(found["when"][0]["in"][0], escaped(value));
        }
    }
}

/// The text as URLs in normal form have it: bytes that are not ASCII as escapes.
fn escaped(text: &str) -> String {
    let byte = |b: u8| if b.is_ascii() { char::from(b).to_string() } else { format!("%{b:02X}") };
    text.bytes().map(byte).collect()
}

/// Checks all exports of the rules with this text; returns how many rules each target left out.
fn check(text: &str) -> Vec<usize> {
    let site = rules(text);
    let mut counts = Vec::new();
    for target in TARGETS {
        let Export { text: file, rules: written, left_out, .. } = export(std::slice::from_ref(&site), target);
        assert_eq!(written as usize + left_out.len(), site.rules.len(), "{target:?} of {text:?}");
        counts.push(left_out.len());
        if target == Target::Csv {
            check_table(&file, &site);
            continue;
        }
        if target == Target::JsonRules {
            check_json(&file, &site);
            continue;
        }
        // The same rules about a plain word, of which the same are left out.
        let mut plain = rules(PLAIN);
        plain.rules.retain(|rule| left_out.iter().all(|out| out.rule != rule.id));
        let lower = |text: &str| if target == Target::Pywb { text.to_ascii_lowercase() } else { text.to_owned() };
        let text = &escaped(text);
        let put = |plain: &str| plain.replace(PLAIN, &lower(text));
        let mut meant = read(target, &export(&[plain], target).text);
        for (pattern, pieces) in &mut meant {
            *pattern = put(pattern);
            for piece in pieces {
                if let Piece::Text(text) = piece {
                    *text = put(text);
                }
            }
        }
        let mut found = read(target, &file);
        if target == Target::YandexCleanParam {
            // In the order of their names.
            meant.sort_by(|a, b| a.0.cmp(&b.0));
            found.sort_by(|a, b| a.0.cmp(&b.0));
        }
        assert_eq!(found, meant, "{target:?} of {text:?}");
    }
    counts
}

#[test]
fn every_export_of_hostile_rules_is_read_back_as_meant() {
    for text in HOSTILE {
        check(text);
        check(&format!("a{text}b"));
    }
    let all_in_one: String =
        HOSTILE.iter().filter(|text| !text.contains(['&', '#', '$', '\0', '\u{fffe}', '\u{ffff}'])).copied().collect();
    check(&all_in_one);
}

/// Look-ups, value ranges and exceptions are no rules: the table has a row with their number, and they
/// are among what is left out.
#[test]
fn a_table_says_what_it_does_not_list() {
    let pair = || ["http://s.example/a".to_owned(), "http://s.example/b".to_owned()];
    let site = SiteRules { aliases: vec![pair(), pair()], exceptions: vec![pair()], ..rules("x") };
    let Export { text, rules: written, left_out, kept } = export(std::slice::from_ref(&site), Target::Csv);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let last = rows.last().expect("rows");
    assert_eq!((rows.len(), written as usize), (site.rules.len() + 1, site.rules.len()));
    let cells = ["xs.example", "", "look-ups", "look-ups", "", "not in this table: 2 look-ups, 1 exception"];
    assert_eq!(last.iter().take(6).collect::<Vec<_>>(), cells);
    assert_eq!(left_out.iter().map(|out| out.rule.as_str()).collect::<Vec<_>>(), ["look-ups"]);
    assert!(kept.text().starts_with("Keeps 9 of 9 rules, and 0 of 1 table of look-ups"), "{}", kept.text());
    // As JSON, all of it is there.
    let Export { left_out, kept, .. } = export(&[site], Target::JsonRules);
    assert!(left_out.is_empty() && kept.text().starts_with("Keeps 9 of 9 rules, and 1 of 1 table"), "{}", kept.text());
}

/// Nothing but what a format cannot hold is left out for its characters, and with a reason.
#[test]
fn what_a_format_cannot_hold_is_left_out_with_the_reason() {
    let left_out = |text: &str, target: Target| -> Vec<(String, String)> {
        let out = export(&[rules(text)], target).left_out;
        out.into_iter().map(|out| (out.rule[15..].to_owned(), out.reason)).collect()
    };
    for target in [Target::Nutch, Target::Heritrix, Target::Nginx] {
        assert_eq!(left_out("\u{2028}é\u{202e}\u{fffe}\"'\\--]]>", target), [], "{target:?}");
    }
    // Keys of pywb are unescaped: a rule for what no URL in normal form holds would act there.
    assert_eq!(left_out("'--]]", Target::Pywb), []);
    assert!(left_out("\"", Target::Pywb).iter().all(|out| out.1.starts_with("no URL in normal form holds ")));
    let replacements = ["5", "6", "7"];
    for (text, target, reason) in [
        ("\u{1b}", Target::Nutch, "XML cannot write the character U+001B"),
        ("\u{7}", Target::Heritrix, "XML cannot write the character U+0007"),
        ("\n", Target::Nginx, "nginx cannot write a control character"),
        ("$", Target::Nginx, "nginx cannot write a dollar sign"),
    ] {
        assert_eq!(left_out(text, target), replacements.map(|rule| (rule.to_owned(), reason.to_owned())), "{text:?}");
    }
    assert!(!left_out("\u{1b}", Target::Pywb).is_empty());
    assert_eq!(left_out("\n", Target::Nutch), []);
    // The name of a parameter in robots.txt is a word.
    assert!(left_out("\n", Target::YandexCleanParam).iter().any(|(rule, _)| rule == "0"));
}

/// nginx reads no parameter and no comment that does not fit its buffer of 4,096 bytes.
#[test]
fn very_long_keys_and_values_break_no_file() {
    for length in [700, 1_200, 4_000, 70_000] {
        let counts = check(&"ж\u{2028}\"".repeat(length / 3));
        assert_eq!(counts[0], 0, "nutch has no limit");
        let counts = check(&"xyz".repeat(length / 3));
        assert_eq!(counts[2], 0, "pywb has no limit");
    }
    let nginx = export(&[rules(&"x".repeat(70_000))], Target::Nginx);
    assert!(nginx.left_out.iter().all(|out| out.reason == "nginx reads no parameter of more than 4095 bytes"));
    assert_eq!(nginx.left_out.len(), 9);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_export_of_any_rules_is_read_back_as_meant(parts in prop::collection::vec(prop_oneof![
        3 => prop::sample::select(HOSTILE).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[ -~]{1,3}",
    ], 1..8)) {
        let text = parts.concat();
        // A short word may be the name of another key of these rules, which then depend on one another.
        prop_assume!(!text.bytes().all(|b| b.is_ascii_lowercase()));
        check(&text);
    }
}
