use proptest::prelude::*;

use super::*;

fn one(line: &str) -> Result<RecordBatch, Reason> {
    let mut batch = RecordBatch::default();
    parse(line.as_bytes(), &mut batch).map(|()| batch)
}

#[test]
fn labels_are_strings_or_the_text_of_numbers() {
    let cases: [(&str, Option<&str>); 11] = [
        (r#""a""#, Some("a")),
        (r#""a\tb""#, Some("a\tb")),
        (r#""\u00e9""#, Some("é")),
        (r#""""#, None),
        ("null", None),
        (" 7 ", Some("7")),
        ("-7", Some("-7")),
        ("1.0", Some("1.0")),
        ("1e400", Some("1e400")),
        ("123456789012345678901234567890", Some("123456789012345678901234567890")),
        (r#""null""#, Some("null")),
    ];
    for (json, expected) in cases {
        let batch = one(&format!(r#"{{"cluster":{json},"url":"http://a/","site":{json}}}"#)).unwrap();
        assert_eq!(batch.get(0).cluster, expected.map(str::as_bytes), "{json}");
        assert_eq!(batch.get(0).site, expected.map(str::as_bytes), "{json}");
    }
}

#[test]
fn urls_lose_their_escapes_and_the_last_of_two_counts() {
    let batch = one(r#" {"x":{"url":[1]},"url":"http://b/","url":"http:\/\/a\/\u00e9","y":[null]} "#).unwrap();
    assert_eq!(batch.get(0).url, "http://a/é".as_bytes());
}

#[test]
fn other_targets_and_errors_are_seen() {
    let cases = [
        (r#""status":200"#, true, false),
        (r#""status":"200""#, true, false),
        (r#""status":null"#, true, false),
        (r#""status":"-""#, true, false),
        (r#""status":404"#, false, false),
        (r#""status":500"#, false, false),
        (r#""status":0"#, false, false),
        (r#""status":301"#, true, true),
        (r#""status":304"#, true, false),
        (r#""status":302,"redirect":"http://a/""#, true, false),
        (r#""redirect":"http://b/""#, true, true),
        (r#""redirect":null,"canonical":"""#, true, false),
        (r#""canonical":"http://b/""#, true, true),
        (r#""canonical":"http://a/""#, true, false),
    ];
    for (fields, labelled, elsewhere) in cases {
        let batch = one(&format!(r#"{{"url":"http://a/","cluster":1,{fields}}}"#)).unwrap();
        let record = batch.get(0);
        assert_eq!((record.cluster.is_some(), record.elsewhere), (labelled, elsewhere), "{fields}");
    }
}

#[test]
fn bad_lines_name_their_reason() {
    use Reason::*;
    let cases = [
        ("", EmptyLine),
        (" ", NotAJsonObject),
        ("[1]", NotAJsonObject),
        ("http://a/\t1", NotAJsonObject),
        (r#"{"url":"http://a/""#, NotAJsonObject),
        (r#"{"url":"http://a/"} x"#, NotAJsonObject),
        (r#"{"url":"http://a/\ud800"}"#, NotAJsonObject),
        (r#"{"url":"http://a/","cluster":"\ud800"}"#, NotAJsonObject),
        (r#"{}"#, MissingUrl),
        (r#"{"url":null}"#, MissingUrl),
        (r#"{"url":""}"#, MissingUrl),
        (r#"{"url":7}"#, WrongType),
        (r#"{"url":"http://a/","cluster":true}"#, WrongType),
        (r#"{"url":"http://a/","site":{}}"#, WrongType),
        (r#"{"url":"http://a/","canonical":[]}"#, WrongType),
        (r#"{"url":"http://a/","status":"ok"}"#, WrongType),
        (r#"{"url":"http://a/\u0007"}"#, ControlCharacter),
        (r#"{"url":"/a"}"#, NotHttp),
    ];
    for (line, expected) in cases {
        assert_eq!(one(line), Err(expected), "{line}");
    }
    assert_eq!(parse(b"{\"url\":\"\xff\"}", &mut RecordBatch::default()), Err(InvalidUtf8));
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    let deep = "[".repeat(60_000);
    assert_eq!(one(&format!(r#"{{"x":{deep}"#)), Err(Reason::NotAJsonObject));
    let closed = format!("{deep}{}", "]".repeat(60_000));
    assert!(one(&format!(r#"{{"url":"http://a/","x":{closed}}}"#)).is_ok());
    assert_eq!(one(&format!(r#"{{"url":"http://a/","cluster":{closed}}}"#)), Err(Reason::WrongType));
}

/// Lines made of tokens of JSON, mostly objects.
fn line() -> impl Strategy<Value = String> {
    let key =
        prop::sample::select(vec!["url", "cluster", "site", "canonical", "redirect", "status", "x", "", "\\u0075rl"]);
    let value = prop::sample::select(vec![
        "\"http://a/\"",
        "\"http://a/\\u00e9\"",
        "\"http://b/é\"",
        "\"\"",
        "\"-\"",
        "\"200\"",
        "\"a\u{1}b\"",
        "\"a\tb\"",
        "0",
        "-0",
        "-",
        "01",
        "7",
        "200",
        "404",
        "12345678901234567890123",
        "1.0",
        "-1e5",
        "1.",
        "null",
        "nul",
        "true",
        "false",
        "truex",
        "[]",
        "{}",
        "[1,{\"url\":2}]",
        "\"\\ud800\"",
        "\"\u{7f}\"",
        "\"",
        "",
    ]);
    let space = prop::sample::select(vec!["", "", "", " ", "\t", "\r", "\u{b}", "\u{a0}"]);
    let comma = prop::sample::select(vec![",", ",", ",", ",", ",", "", ",,", ":"]);
    let field = (key, value, space.clone(), space.clone(), comma)
        .prop_map(|(key, value, a, b, comma)| format!("{a}\"{key}\"{b}:{a}{value}{b}{comma}"));
    let end = prop::sample::select(vec!["}", "}", "}", "} ", "", "}}", "} x"]);
    (space, prop::collection::vec(field, 0..6), end, any::<bool>()).prop_map(|(space, fields, end, tidy)| {
        let fields = fields.concat();
        let fields = if tidy { fields.trim_end_matches([',', ':']) } else { &fields };
        format!("{space}{{{fields}{end}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]
    #[test]
    fn the_scan_agrees_with_serde_json(text in line()) {
        if let Some(row) = scan::scan(&text) {
            prop_assert_eq!(Ok(row), parse_any(&text));
        }
    }
}

#[test]
fn plain_lines_are_scanned() {
    let plain = [
        r#"{"site":"blog","url":"https://a/","cluster":0,"size":47024,"status":200,"simhash":"84fc"}"#,
        r#" { "url" : "http://é/" , "cluster" : "x", "canonical":null, "status":"404", "mobile":false } "#,
        "{}",
    ];
    plain.iter().for_each(|text| assert_eq!(Ok(scan::scan(text).expect(text)), parse_any(text)));
}
