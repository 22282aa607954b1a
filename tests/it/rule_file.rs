//! The rule file: exactness on any rules, versions, and what a faulty file is told.
#[path = "../fuzz/invariants/rule_file.rs"]
pub mod invariants;

use proptest::prelude::*;
use std::io::{self, BufReader, Read, Write};
use undust::io::rules::OpenError;
use undust::rules::file::{FORMAT, Format, Header, InputCounts, Learned, RuleFileError, read, rule_id, write};
use undust::rules::*;
use undust::site::{Method, Params};

const FIXTURE: &str = include_str!("fixtures/rules-1.0.jsonl");

fn header() -> Header {
    Header::new(Params::default(), InputCounts { records: 7, urls: 6, sites: 2 })
}

fn written(header: &Header, sites: &[SiteRules]) -> Vec<u8> {
    let mut out = Vec::new();
    write(header, sites.iter(), &mut out).expect("sorted sites with ids");
    out
}

/// Rule set of these bytes, opened as a file for applying.
fn opened(bytes: &[u8]) -> Result<RuleSet, OpenError> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), bytes).expect("room");
    RuleSet::open(file.path())
}

fn read_bytes(bytes: &[u8]) -> Result<(Header, Vec<SiteRules>), RuleFileError> {
    // A tiny buffer: lines must not depend on where the reads end.
    read(&mut BufReader::with_capacity(7, bytes))
}

/// Text with everything that has a meaning in JSON or ends a line somewhere.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z0-9=/ ]{0,5}",
        1 => any::<char>().prop_map(String::from),
        1 => prop::sample::select(vec![
            "\n", "\r\n", "\u{85}", "\u{2028}", "\u{2029}", "\0", "\u{7f}", "\\", "\"", "\\u2028", "{", "]", "\u{feff}",
            "\u{10ffff}", "null",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

fn strings() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(hostile(), 0..3)
}

fn test() -> impl Strategy<Value = Test> {
    prop_oneof![
        hostile().prop_map(Test::Equals),
        strings().prop_map(Test::OneOf),
        strings().prop_map(Test::NoneOf),
        strings().prop_map(Test::Not),
        Just(Test::Present),
        Just(Test::Absent),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    use Representative::*;
    let absent_or = || prop::option::of(hostile());
    prop_oneof![
        hostile().prop_map(Operation::Keep),
        hostile().prop_map(Operation::Replace),
        Just(Operation::Ignore(LeftOut)),
        hostile().prop_map(|value| Operation::Ignore(WherePresent(value))),
        hostile().prop_map(|value| Operation::Ignore(Everywhere(value))),
        prop::collection::vec((absent_or(), absent_or()), 0..3).prop_map(Operation::Classes),
        prop::sample::select(Function::ALL.to_vec()).prop_map(Operation::Apply),
    ]
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let pair = (hostile(), hostile()).prop_map(|(a, b)| [a, b]);
    (any::<[u64; 5]>(), any::<[u32; 2]>(), prop::collection::vec(pair, 0..3)).prop_map(|(n, m, examples)| Evidence {
        good: n[0],
        bad: n[1],
        prior: m[0],
        support_pairs: n[2],
        false_positive_pairs: n[3],
        upper_bound_ppm: m[1],
        clusters: n[4],
        examples,
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let kinds = vec![Kind::Ignore, Kind::Classes, Kind::Function, Kind::Form, Kind::ConstantPage];
    (
        "[0-9a-f]{16}",
        prop::sample::select(kinds),
        prop::collection::vec((hostile(), test()).prop_map(|(key, test)| Constraint { key, test }), 0..3),
        prop::collection::vec((hostile(), operation()), 0..3),
        any::<bool>(),
        evidence(),
        strings(),
    )
        .prop_map(|(id, kind, scope, operations, closed, evidence, departures)| Rule {
            id,
            kind,
            scope,
            operations,
            closed,
            extended: closed,
            provisional: !closed,
            line: (!closed).then(|| "phpbb-2/topic-session".to_owned()),
            evidence,
            departures,
        })
}

fn site() -> impl Strategy<Value = SiteRules> {
    let keys = any::<u32>().prop_map(|clusters| Fragments::Keys { clusters });
    let fragments = prop::option::of(prop_oneof![Just(Fragments::LeftOut), keys]);
    let tokens = (hostile(), any::<[bool; 9]>(), (strings(), strings(), strings(), strings()), fragments);
    let pairs = || prop::collection::vec((hostile(), hostile()).prop_map(|(a, b)| [a, b]), 0..2);
    (hostile(), strings(), tokens, prop::collection::vec(rule(), 0..3), (pairs(), pairs())).prop_map(
        |(site, hosts, tokens, rules, (exceptions, aliases))| {
            let (delimiters, flags, (query_order, sections, endings, value_ends), fragments) = tokens;
            let [
                semicolons,
                joined_by_semicolons,
                nested_queries,
                commas,
                published,
                query_path,
                numbered_end,
                inner,
                families,
            ] = flags;
            SiteRules {
                site,
                origins: undust::rules::origins::of_hosts(hosts),
                tokens: Tokens {
                    delimiters,
                    semicolons,
                    joined_by_semicolons,
                    nested_queries,
                    commas,
                    query_path,
                    numbered_end,
                    endings,
                    inner_numbers: inner,
                    name_families: families,
                    value_ends,
                    query_order,
                    sections,
                    fragments,
                    published,
                },
                rules,
                exceptions,
                aliases,
                ..SiteRules::default()
            }
        },
    )
}

fn sites() -> impl Strategy<Value = Vec<SiteRules>> {
    prop::collection::vec(site(), 0..4).prop_map(|mut sites| {
        sites.sort_by(|a, b| a.site.cmp(&b.site));
        sites.dedup_by(|a, b| a.site == b.site);
        sites
    })
}

fn headers() -> impl Strategy<Value = Header> {
    let methods = vec![Method::Undust, Method::PublishedGraph, Method::PublishedNaive];
    let learned = prop::option::of((hostile(), hostile()).prop_map(|(from, to)| Learned { from, to }));
    (prop::sample::select(methods), any::<u32>(), any::<[u64; 3]>(), hostile(), learned).prop_map(
        |(method, fpr_max_ppm, [records, urls, sites], version, learned)| {
            let mut header = Header::new(Params::default(), InputCounts { records, urls, sites });
            header.params.method = method;
            header.params.fpr_max_ppm = fpr_max_ppm;
            Header { version, learned, ..header }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read_back(header in headers(), sites in sites()) {
        let bytes = written(&header, &sites);
        let (header_again, sites_again) = read_bytes(&bytes).expect("our own file");
        prop_assert_eq!(&header_again, &header);
        prop_assert_eq!(&sites_again, &sites);
        prop_assert_eq!(written(&header_again, &sites_again), bytes.clone());
        invariants::check(&bytes).map_err(TestCaseError::fail)?;
    }

    /// Cut anywhere, between two lines too, a file is refused.
    #[test]
    fn a_cut_file_is_refused(sites in sites(), at in any::<prop::sample::Index>(), between in any::<bool>()) {
        let bytes = written(&header(), &sites);
        let mut at = at.index(bytes.len());
        if between {
            at = bytes[..at].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        }
        prop_assert!(read_bytes(&bytes[..at]).is_err());
        prop_assert!(opened(&bytes[..at]).is_err());
    }

    /// With a byte changed anywhere, a file is refused or reads as before.
    #[test]
    fn a_changed_byte_is_known(sites in sites(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = written(&header(), &sites);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let result = read_bytes(&bytes);
        prop_assert!(opened(&bytes).is_err() || result.is_ok());
        if let Ok((header_again, sites_again)) = result {
            prop_assert_eq!(header_again, header());
            prop_assert_eq!(sites_again, sites);
        }
        invariants::check(&bytes).map_err(TestCaseError::fail)?;
    }

    /// The id knows the site and what the rule does, and nothing else.
    #[test]
    fn ids(rule in rule(), evidence in evidence()) {
        let id = rule_id("a.example", &rule);
        let extended = !rule.extended;
        let mut same = Rule { id: String::new(), kind: Kind::Form, extended, evidence, departures: vec![], ..rule.clone() };
        same.scope.reverse();
        same.operations.reverse();
        prop_assert_eq!(rule_id("a.example", &same), id.clone());
        prop_assert_ne!(rule_id("b.example", &rule), id.clone());
        prop_assert_ne!(rule_id("a.example", &Rule { closed: !rule.closed, ..rule.clone() }), id.clone());
        let mut wider = rule;
        wider.scope.push(Constraint { key: "query x=".to_owned(), test: Test::Present });
        prop_assert_ne!(rule_id("a.example", &wider), id);
    }
}

/// A file of format 1.0, made by hand: it must open in every 1.x, and its ids must never change.
#[test]
fn the_fixture_of_format_1_0_opens() {
    let (header, sites) = read_bytes(FIXTURE.as_bytes()).expect("a file of format 1.0");
    assert_eq!(header.format, Format { major: 1, minor: 0 });
    assert_eq!((header.params.method, header.params.fpr_max_ppm), (Method::Undust, 10_000));
    assert_eq!(header.input, InputCounts { records: 5200, urls: 5000, sites: 3 });
    assert_eq!(sites.iter().map(|s| s.site.as_str()).collect::<Vec<_>>(), ["alice.github.io", "example.com", "shop"]);
    for site in &sites {
        for rule in &site.rules {
            assert_eq!(rule_id(&site.site, rule), rule.id, "{rule:?}");
        }
    }
    for name in [
        "equals",
        "one-of",
        "none-of",
        "present",
        "absent",
        "keep",
        "replace",
        "left-out",
        "where-present",
        "everywhere",
        "classes",
        "drop-www",
        "decode-sub-delimiters",
        "plus-is-space",
        "drop-empty",
        "lower-case",
        "ignore",
        "function",
        "form",
        "constant-page",
    ] {
        assert!(FIXTURE.contains(&format!("\"{name}\"")), "{name} is not in the fixture");
    }
    // What it had no word for: the check of a line, and which is the last.
    let unsealed = |line: &str| {
        line.split(r#","last":true"#).flat_map(|l| l.split(r#","check":""#)).next().map(|l| format!("{l}}}"))
    };
    let written = String::from_utf8(written(&header, &sites)).unwrap();
    let lines: Vec<String> = written.lines().skip(1).filter_map(unsealed).collect();
    let seen = r#","seen":["http://example.com/shop?id=1"]"#;
    // A host of format 1 is two origins.
    let origins = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let hosts = line.as_object_mut().unwrap().remove("hosts").expect("hosts");
        let hosts: Vec<String> = serde_json::from_value(hosts).unwrap();
        line["origins"] = undust::rules::origins::of_hosts(hosts).into();
        line
    };
    let expected: Vec<serde_json::Value> =
        FIXTURE.lines().skip(1).map(|line| origins(&line.replace(seen, ""))).collect();
    let lines: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, expected, "what it says of seen members is left out");
}

/// The fixture with something replaced in it, which must be there.
fn changed(from: &str, to: &str) -> Result<(Header, Vec<SiteRules>), RuleFileError> {
    let text = FIXTURE.replacen(from, to, 1);
    assert_ne!(text, FIXTURE, "{from}");
    read_bytes(text.as_bytes())
}

fn told(result: Result<(Header, Vec<SiteRules>), RuleFileError>) -> String {
    result.expect_err("a faulty file").to_string()
}

#[test]
fn versions() {
    let (header, sites) = changed(r#""minor":0}"#, r#""minor":7},"later":{"a":[1]}"#).expect("a newer minor");
    assert_eq!(header.format.minor, 7);
    assert!(written(&header, &sites).starts_with(br#"{"format":{"major":2,"minor":1}"#), "what is lost is not claimed");
    changed(r#""closed":true"#, r#""closed":true,"later":null"#).expect("an unknown field in a rule");

    let newer = told(changed(r#""major":1"#, r#""major":3"#));
    assert!(
        newer.contains("3.0 (written by undust 0.1.0)") && newer.contains("an undust that reads format 3"),
        "{newer}"
    );
    // The rest of a header of another major version may look different.
    let other = read_bytes(b"{\"format\":{\"major\":4,\"minor\":1},\"program\":\"undust\"}\n");
    assert!(matches!(other, Err(RuleFileError::Version { found: Format { major: 4, minor: 1 }, .. })));
    assert_eq!(
        FORMAT.major, 2,
        "keep the fixtures of formats 1 and 2 readable, or say in the error how to convert them"
    );
}

#[test]
fn faults_are_told_with_line_and_way_out() {
    let lines: Vec<&str> = FIXTURE.lines().collect();
    let file = |order: &[usize]| order.iter().map(|&i| format!("{}\n", lines[i])).collect::<String>();

    let unsorted = told(read_bytes(file(&[0, 2, 1, 3]).as_bytes()));
    assert!(
        unsorted.starts_with("line 3: site \"alice.github.io\" must not come after \"example.com\"; sort"),
        "{unsorted}"
    );
    let repeated = told(read_bytes(file(&[0, 1, 2, 2]).as_bytes()));
    assert!(repeated.starts_with("line 4: site \"example.com\" has a line already; keep"), "{repeated}");
    let cut = told(read_bytes(&FIXTURE.as_bytes()[..FIXTURE.len() - 1]));
    assert!(cut.starts_with("line 4: the file ends inside the line"), "{cut}");
    let no_header = told(read_bytes(file(&[1, 2]).as_bytes()));
    assert!(no_header.starts_with("line 1: not the header of a rule file (missing field `format`)"), "{no_header}");
    let empty = told(read_bytes(b""));
    assert!(empty.contains("the file is empty"), "{empty}");
    let other = told(changed(r#""program":"undust""#, r#""program":"rsync""#));
    assert!(other.contains("program is \"rsync\""), "{other}");

    let not_json = told(read_bytes(format!("{}\n{}\n\n", lines[0], lines[1]).as_bytes()));
    assert!(not_json.starts_with("line 3, column 0: not the rules of a site: EOF"), "{not_json}");
    let operation = told(changed(r#""plus-is-space""#, r#""minus-is-space""#));
    assert!(operation.starts_with("line 3, column ") && operation.contains("`minus-is-space`"), "{operation}");
    assert!(!operation.contains("at line 1"), "{operation}");

    let (before, _) = lines[2].split_once(r#""id":""#).expect("a rule");
    let id = &lines[2][before.len() + 6..before.len() + 22];
    let no_id = told(changed(&format!(r#""id":"{id}","#), ""));
    assert!(no_id.starts_with("line 3: rule 1 of site \"example.com\" has none, not an id"), "{no_id}");
    for bad in ["", "12345", "0123456789ABCDEF", "0123456789abcdeg"] {
        let told = told(changed(id, bad));
        assert!(told.starts_with(&format!("line 3: rule 1 of site \"example.com\" has {bad:?}, not an id")), "{told}");
    }
}

#[test]
fn writing_checks_what_reading_checks() {
    let (header, mut sites) = read_bytes(FIXTURE.as_bytes()).expect("a file of format 1.0");
    sites.reverse();
    let error = write(&header, sites.iter(), &mut Vec::new()).expect_err("not sorted");
    assert!(matches!(error, RuleFileError::Unsorted { line: 3, .. }), "{error}");
    let twice = [&sites[0], &sites[0]];
    let error = write(&header, twice.into_iter(), &mut Vec::new()).expect_err("repeated");
    assert!(matches!(error, RuleFileError::Repeated { line: 3, .. }), "{error}");
    sites[1].rules[0].id.clear();
    let error = write(&header, [&sites[1]].into_iter(), &mut Vec::new()).expect_err("no id");
    assert!(matches!(error, RuleFileError::RuleId { line: 2, rule: 1, .. }), "{error}");
}

#[test]
fn reader_and_writer_failures_keep_their_line() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("disk gone"))
        }
    }
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 { Err(io::Error::new(io::ErrorKind::StorageFull, "no space left")) } else { Ok(taken) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let header_line = FIXTURE.find('\n').expect("a header") + 1;
    let error = read(&mut BufReader::new(FIXTURE.as_bytes()[..header_line].chain(Broken))).expect_err("broken");
    assert!(matches!(error, RuleFileError::Read { line: 2, .. }) && error.to_string().contains("disk gone"), "{error}");
    let (header, sites) = read_bytes(FIXTURE.as_bytes()).expect("a file of format 1.0");
    let ours = written(&header, &sites);
    let second_line = ours.iter().position(|&b| b == b'\n').expect("a header") + 1;
    for (room, line) in [(0, 1), (second_line, 2), (ours.len() - 1, 4)] {
        match write(&header, sites.iter(), &mut Full(room)).expect_err("full") {
            RuleFileError::Write { line: at, source } => {
                assert_eq!((at, source.kind()), (line, io::ErrorKind::StorageFull));
            }
            other => panic!("{other}"),
        }
    }
}
