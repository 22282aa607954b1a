//! Keys and values: composing what was tokenized gives the URL, on any string that looks like one; and cases
//! from a file.
#[path = "../fuzz/invariants/keys.rs"]
pub mod invariants;

use invariants::check;
use proptest::prelude::*;
use undust::rules::Tokens;
use undust::site::columns::Ranks;
use undust::url::{Key, KeyValues, Part, Tokenizer, compose, normalize, set_order};

/// Strings of the pieces that matter to the cutting of paths and queries.
fn url_like() -> impl Strategy<Value = Vec<u8>> {
    let path = prop_oneof![
        4 => "[a-zA-Z0-9._-]{0,5}",
        3 => Just("/".to_owned()),
        2 => prop::sample::select(vec![
            "//", "///", ";", ";;", ";x=1", ";x", ";y=2", "index.php", "Default.asp", "home.html", ".html", ".php/", "12",
            "v2", "12-slug", "slug-12", ":", ",", "=", "!", "a:b:c", "%2F", "%3B", "2024_x", "3.5", "&", "?",
        ])
        .prop_map(str::to_owned),
    ];
    let query = prop_oneof![
        3 => "[abc]{0,2}=?[0-9a]{0,2}",
        4 => prop::sample::select(vec!["&", "&", "&", "&&", "a=", "a=1", "a", "=", "=b", "b=2", "&a=1&b=2&a=3", "c", ";", "?"])
            .prop_map(str::to_owned),
    ];
    let fragment = prop_oneof![3 => Just(String::new()), 1 => "#[a?&/;=#]{0,4}"];
    let host = prop::sample::select(vec!["http://a.b", "https://www.a.b:81", "http://u@a.b", "http://a.b/index.php"]);
    let query = prop::collection::vec(query, 0..12)
        .prop_map(|q| if q.is_empty() { String::new() } else { format!("?{}", q.concat()) });
    (host, prop::collection::vec(path, 0..16), query, fragment)
        .prop_map(|(host, path, query, fragment)| format!("{host}/{}{query}{fragment}", path.concat()).into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_on_url_like_strings(url in url_like()) {
        check(&url).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn invariants_hold_on_any_bytes(tail in prop::collection::vec(any::<u8>(), 0..64)) {
        check(&[b"http://a.b/".as_slice(), &tail].concat()).map_err(TestCaseError::fail)?;
    }

    /// Around the limits on segments and parameters, with repeats.
    #[test]
    fn invariants_hold_for_many_segments_and_parameters(
        segments in 20usize..30, slashes in 1usize..3, parameters in 58usize..70, names in 1usize..70, end in "[/;a?]{0,2}",
    ) {
        let path: String = (0..segments).map(|i| format!("s{i}{}", "/".repeat(slashes))).collect();
        let query: Vec<String> = (0..parameters).map(|i| format!("k{}={i}", i % names)).collect();
        check(format!("http://a.b/{path}{end}?{}", query.join("&")).as_bytes()).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn a_key_is_read_as_it_is_written(name in any::<String>(), segment in 0usize..24, part in 0usize..6) {
        use undust::url::Fixed;
        for key in [Key::Query(name.clone()), Key::Param(name.clone()), Key::Fixed(Fixed::path(segment, Part::ORDER[part]))] {
            prop_assert_eq!(Key::parse(&key.to_string()), Some(key));
        }
    }
}

#[test]
fn what_is_not_a_key_is_not_read() {
    for text in ["", "path", "path24", "path0.body", "path-1", "query", "param", "Host", "path0 ", "host.sub"] {
        assert_eq!(Key::parse(text), None, "{text:?}");
    }
}

/// A case of tests/cases/keys.txt: a URL, how its site is tokenized, its keys.
fn case(block: &str) -> (String, Tokens, Vec<String>) {
    let mut lines = block.lines().filter(|l| !l.starts_with('#'));
    let first = lines.next().expect("a URL");
    let mut words = first.split(' ');
    let url = words.next().expect("a URL").to_owned();
    let mut tokens = Tokens::default();
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("order", names) => tokens.query_order = names.split('|').map(str::to_owned).collect(),
            ("delimiters", those) => tokens.delimiters = those.to_owned(),
            ("semicolons", _) => tokens.semicolons = true,
            ("joined-by-semicolons", _) => tokens.joined_by_semicolons = true,
            ("nested-queries", _) => tokens.nested_queries = true,
            ("commas", _) => tokens.commas = true,
            ("query-path", _) => tokens.query_path = true,
            ("endings", words) => tokens.endings = words.split('|').map(str::to_owned).collect(),
            ("numbered-end", _) => tokens.numbered_end = true,
            ("inner-numbers", _) => tokens.inner_numbers = true,
            ("value-ends", ends) => tokens.value_ends = ends.split('|').map(str::to_owned).collect(),
            ("name-families", _) => tokens.name_families = true,
            _ => panic!("{word:?} of {first}"),
        }
    }
    (url, tokens, lines.map(|l| l.trim_start().to_owned()).collect())
}

#[test]
fn cases() {
    let text = include_str!("../cases/keys.txt");
    let blocks: Vec<&str> = text.split("\n\n").filter(|b| b.lines().any(|l| !l.starts_with('#'))).collect();
    assert!(blocks.len() >= 20, "{} cases", blocks.len());
    let mut wrong = Vec::new();
    for block in blocks {
        let (url, tokens, expected) = case(block);
        let ranks = Ranks::new(&tokens);
        let mut pairs = KeyValues::default();
        let split = normalize(url.as_bytes(), &mut pairs.text).unwrap_or_else(|e| panic!("{url}: {e}"));
        let normal = pairs.text.clone();
        pairs.tokenize(&split, Tokenizer { fragments: true, ..tokens.tokenizer() });
        set_order(&mut pairs, |pairs, at| ranks.of(pairs.seed(pairs.list[at].key)));
        let pair = |pair| format!("{} = {:?}", pairs.key(pair), String::from_utf8_lossy(pairs.value(pair)));
        let found: Vec<String> = pairs.list.iter().map(pair).collect();
        if found != expected {
            wrong.push(format!("{}\n    {}", block.lines().next().unwrap_or_default(), found.join("\n    ")));
        }
        let mut out = Vec::new();
        compose(&pairs, &mut out);
        if out != normal {
            wrong.push(format!("{url} comes back as {}", out.escape_ascii()));
        }
        check(url.as_bytes()).unwrap_or_else(|broken| panic!("{broken}"));
    }
    assert!(wrong.is_empty(), "found:\n{}", wrong.join("\n\n"));
}
