use super::*;
use crate::url::normalize;

/// A URL of pieces that tokenization depends on.
fn url(mut random: u64) -> String {
    const PIECES: [&str; 27] = [
        "/",
        "/",
        "/",
        "?",
        "&",
        "&",
        "=",
        "=",
        ".",
        "a",
        "bc",
        "page",
        "12",
        ".html",
        "index.php",
        ";",
        ";",
        "#",
        "//",
        "%2F",
        ":",
        ",",
        "A",
        "a-long-slug-of-words",
        "?/a/",
        "/start-",
        "",
    ];
    let mut text = String::from("http://a.example/");
    for _ in 0..random % 40 {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        text.push_str(PIECES[(random >> 33) as usize % PIECES.len()]);
    }
    text
}

fn some_endings() -> Endings {
    Endings::new(&["bc", "page.html", "index.php", "*-words", "*.bc", "*.php", "*.a", "*-bc"].map(str::to_owned))
}

#[test]
fn known_marks_cut_as_bytes_do() {
    let (mut known, mut bytes) = (KeyValues::default(), KeyValues::default());
    let mut short = 0;
    for n in 0..200_000u64 {
        let url = url(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
        let split = normalize(url.as_bytes(), &mut known.text).expect("a URL");
        let without = Split { positions: Positions::default(), ..split };
        let tokenizer = Tokenizer {
            delimiters: (n % 5) as u8,
            semicolons: n % 7 == 0,
            fragments: true,
            numbered_end: n % 3 == 0,
            endings: if n % 4 > 0 { some_endings() } else { Endings::NONE },
            ..Tokenizer::default()
        };
        bytes.text.clone_from(&known.text);
        known.tokenize(&split, tokenizer);
        bytes.tokenize(&without, tokenizer);
        assert_eq!(known.list, bytes.list, "{url}");
        assert_eq!((&known.text, &known.names), (&bytes.text, &bytes.names), "{url}");
        assert_eq!(known.query_from, bytes.query_from, "{url}");
        short += usize::from(split.positions.path && split.positions.query);
    }
    assert!(short > 20_000, "{short}");
}

#[test]
fn a_depth_of_more_than_a_digit_is_cut_from_the_bytes() {
    for depth in 0..30 {
        for end in ["", "/", "?a=b", "/index.html", "/x.html"] {
            let url = format!("http://a{}{end}", if depth == 0 { "/".to_owned() } else { "/b".repeat(depth) });
            let mut known = KeyValues::default();
            let split = normalize(url.as_bytes(), &mut known.text).expect("a URL");
            let mut bytes = known.clone();
            known.tokenize(&split, Tokenizer::default());
            bytes.tokenize(&Split { positions: Positions::default(), ..split }, Tokenizer::default());
            assert_eq!((&known.list, &known.text), (&bytes.list, &bytes.text), "{url}");
            let mut again = Vec::new();
            crate::url::compose(&known, &mut again);
            assert_eq!(again, url.as_bytes());
        }
    }
}

#[test]
fn marks_are_known_up_to_a_length() {
    let mut pairs = KeyValues::default();
    for length in 60..70 {
        let long = "a".repeat(length - 1);
        for (url, path, query) in [
            (format!("http://a/{long}"), length < 64, true),
            (format!("http://a/b?{long}="), true, length < 64),
            (format!("http://a/{long}?{long}&"), length < 64, length < 64),
        ] {
            let split = normalize(url.as_bytes(), &mut pairs.text).expect("a URL");
            assert_eq!((split.positions.path, split.positions.query), (path, query), "{url}");
            pairs.tokenize(&split, Tokenizer::default());
            let mut again = Vec::new();
            crate::url::compose(&pairs, &mut again);
            assert_eq!(again, url.as_bytes());
        }
    }
}

/// Keys and values of a URL, without its origin.
fn pairs(url: &str, tokenizer: Tokenizer) -> Vec<(String, String)> {
    let mut pairs = KeyValues::default();
    let split = normalize(url.as_bytes(), &mut pairs.text).expect("a URL");
    pairs.tokenize(&split, tokenizer);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    pairs.list[2..].iter().map(|pair| (pairs.key(pair).to_string(), text(pairs.value(pair)))).collect()
}

#[test]
fn a_path_in_a_query_is_cut_as_a_path() {
    let cases: [(&str, &[(&str, &str)]); 9] = [
        (
            "http://a/i.php?/c/3&d=1",
            &[("depth", "3"), ("path0", "i.php?"), ("path1", "c"), ("path2.number", "3"), ("query d=", "1")],
        ),
        ("http://a/?/c", &[("depth", "2"), ("path0", "?"), ("path1", "c")]),
        ("http://a/i.php?t/3&", &[("depth", "2"), ("path0", "i.php?t"), ("path1.number", "3"), ("query ", "")]),
        ("http://a/i.php?/c/start-30", &[("depth", "2"), ("path0", "i.php?"), ("path1", "c"), ("param /start-", "30")]),
        ("http://a/c/start-30?b=1", &[("depth", "1"), ("path0", "c"), ("param /start-", "30"), ("query b=", "1")]),
        // No path: a value, no segment behind the slash, or not the first parameter.
        ("http://a/c?u=/b/c", &[("depth", "1"), ("path0", "c"), ("query u=", "/b/c")]),
        ("http://a/c?b/", &[("depth", "1"), ("path0", "c"), ("query b/", "")]),
        ("http://a/c?d&/b", &[("depth", "1"), ("path0", "c"), ("query d", ""), ("query /b", "")]),
        // No numbered end: the only segment, a slash behind it, or digits before the separator.
        ("http://a/start-30", &[("depth", "1"), ("path0", "start-"), ("path0.number", "30")]),
    ];
    for (url, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let tokenizer = Tokenizer { query_path: true, numbered_end: true, ..Tokenizer::default() };
        assert_eq!(pairs(url, tokenizer), expected, "{url}");
    }
}

#[test]
fn an_ending_is_a_path_parameter() {
    let cases: [(&str, &[(&str, &str)]); 9] = [
        ("http://a/b/view", &[("depth", "1"), ("path0", "b"), ("param /", "view")]),
        ("http://a/b/view/", &[("trailing slash", "/"), ("depth", "1"), ("path0", "b"), ("param /", "view")]),
        ("http://a/b.html/view", &[("depth", "1"), ("path0", "b"), ("ext", ".html"), ("param /", "view")]),
        ("http://a/b/all.html", &[("trailing slash", "/"), ("depth", "1"), ("path0", "b"), ("param /", "all.html")]),
        ("http://a/b/view?c=1", &[("depth", "1"), ("path0", "b"), ("param /", "view"), ("query c=", "1")]),
        // None: the only segment, another place or word, path parameters, a file with a slash behind it.
        ("http://a/view", &[("depth", "1"), ("path0", "view")]),
        ("http://a/view/b", &[("depth", "2"), ("path0", "view"), ("path1", "b")]),
        ("http://a/b/view;c=1", &[("depth", "2"), ("path0", "b"), ("path1", "view"), ("param c=", "1")]),
        (
            "http://a/b/all.html/",
            &[("trailing slash", "/"), ("depth", "2"), ("path0", "b"), ("path1", "all"), ("path1.ext", ".html")],
        ),
    ];
    let endings = Endings::new(&["all.html", "view"].map(str::to_owned));
    for (url, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!(pairs(url, Tokenizer { endings, ..Tokenizer::default() }), expected, "{url}");
    }
}

#[test]
fn a_joined_ending_is_a_path_parameter() {
    let cases: [(&str, &[(&str, &str)]); 15] = [
        ("http://a/b--print", &[("depth", "1"), ("path0", "b--print")]),
        ("http://a/b-print.html", &[("depth", "1"), ("path0", "b"), ("ext", ".html"), ("param -/", "print")]),
        ("http://a/c/b-print", &[("depth", "2"), ("path0", "c"), ("path1", "b"), ("param -/", "print")]),
        ("http://a/b.html.en", &[("depth", "1"), ("path0", "b"), ("ext", ".html"), ("param .//", "en")]),
        (
            "http://a/b.en.html?c=1",
            &[("depth", "1"), ("path0", "b"), ("ext", ".html"), ("param ./", "en"), ("query c=", "1")],
        ),
        (
            "http://a/b-12-print.PHP",
            &[("depth", "1"), ("path0", "b-"), ("path0.number", "12"), ("ext", ".PHP"), ("param -/", "print")],
        ),
        ("http://a/12-b-print", &[("depth", "1"), ("path0.number", "12"), ("path0.tail", "-b"), ("param -/", "print")]),
        // What is left has the extension that it would have by itself.
        ("http://a/b.php.en.html", &[("depth", "1"), ("path0", "b.php"), ("ext", ".html"), ("param ./", "en")]),
        // None: another character or word, nothing before it, a slash or path parameters behind it, an index.
        ("http://a/b_print.html", &[("depth", "1"), ("path0", "b_print"), ("ext", ".html")]),
        ("http://a/b-prints", &[("depth", "1"), ("path0", "b-prints")]),
        ("http://a/-print.html", &[("depth", "1"), ("path0", "-print"), ("ext", ".html")]),
        ("http://a/b-print/", &[("trailing slash", "/"), ("depth", "1"), ("path0", "b-print")]),
        ("http://a/b-print;c=1", &[("depth", "1"), ("path0", "b-print"), ("param c=", "1")]),
        ("http://a/index-print.html", &[("depth", "1"), ("path0", "index-print"), ("ext", ".html")]),
        ("http://a/index.html.en", &[("depth", "1"), ("path0", "index.html.en")]),
    ];
    let endings = Endings::new(&["*-print", "*.en"].map(str::to_owned));
    for (url, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!(pairs(url, Tokenizer { endings, ..Tokenizer::default() }), expected, "{url}");
    }
    assert!(!endings.contains(b"*-print") && !endings.contains(b"-print"));
}

#[test]
fn pairs_compose_the_url_that_they_were_cut_from() {
    let (mut with, mut out) = (KeyValues::default(), Vec::new());
    let (mut query_paths, mut numbered, mut separators, mut endings) = (0, 0, 0, [0; 5]);
    for n in 0..200_000u64 {
        let url = url(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
        let split = normalize(url.as_bytes(), &mut with.text).expect("a URL");
        let normal = with.text.clone();
        let tokenizer = Tokenizer {
            delimiters: (n % 5) as u8,
            semicolons: n % 3 > 0,
            joined_by_semicolons: n % 3 > 1,
            fragments: true,
            query_path: true,
            numbered_end: true,
            endings: if n % 4 > 0 { some_endings() } else { Endings::NONE },
            inner_numbers: n % 2 > 0,
            name_families: n % 2 > 0,
            ..Tokenizer::default()
        };
        with.tokenize(&split, tokenizer);
        separators += usize::from(with.list.iter().any(|pair| pair.key == KeyRef::Fixed(Fixed::SEPARATOR)));
        query_paths += usize::from(with.path_of(&split, tokenizer).0 != split.path);
        numbered += usize::from(with.list.iter().any(|pair| with.key(pair).to_string() == "param /start-"));
        let ending = with.list.iter().find(|pair| with.key(pair).to_string() == "param /");
        let place = ending.map(|pair| ["bc", "page.html"].iter().position(|word| word.as_bytes() == with.value(pair)));
        place.into_iter().for_each(|place| endings[place.unwrap_or(2)] += 1);
        let is_joined = |pair: &&KeyValue| matches!(&*with.key(pair).to_string(), "param -/" | "param ./");
        let is_behind = |pair: &&KeyValue| with.key(pair).to_string() == "param .//";
        endings[4] += with.list.iter().filter(is_behind).count();
        endings[3] += with.list.iter().filter(is_joined).count();
        crate::url::set_order(&mut with, |_, _| 0);
        crate::url::compose(&with, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&normal), "{url}");
    }
    assert!(endings.iter().all(|&count| count > 15), "{endings:?}");
    assert!(query_paths > 20_000 && numbered > 100, "{query_paths} {numbered}");
    assert!(separators > 20_000, "{separators}");
}
