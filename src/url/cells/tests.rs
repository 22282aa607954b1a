use super::*;
use crate::url::normalize;

/// A URL of pieces that cuts look at.
fn url(mut random: u64) -> String {
    const PIECES: [&str; 24] = [
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
        "#",
        "//",
        "%2F",
        ":",
        ",",
        "A",
        "a-long-slug-of-words",
        "",
    ];
    let mut text = String::from("http://a.example/");
    for _ in 0..random % 40 {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        text.push_str(PIECES[(random >> 33) as usize % PIECES.len()]);
    }
    text
}

#[test]
fn known_marks_cut_as_bytes_do() {
    let (mut known, mut bytes) = (Cells::default(), Cells::default());
    let mut short = 0;
    for n in 0..200_000u64 {
        let url = url(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
        let split = normalize(url.as_bytes(), &mut known.text).expect("a URL");
        let without = Split { marks: Marks::default(), ..split };
        let cut = Cut { delimiters: (n % 5) as u8, semicolons: n % 7 == 0, fragments: true, learned: false };
        bytes.text.clone_from(&known.text);
        known.cut(&split, cut);
        bytes.cut(&without, cut);
        assert_eq!(known.list, bytes.list, "{url}");
        assert_eq!((&known.text, &known.names), (&bytes.text, &bytes.names), "{url}");
        assert_eq!(known.query_from, bytes.query_from, "{url}");
        short += usize::from(split.marks.path && split.marks.query);
    }
    assert!(short > 20_000, "{short}");
}

#[test]
fn a_depth_of_more_than_a_digit_is_cut_from_the_bytes() {
    for depth in 0..30 {
        for end in ["", "/", "?a=b", "/index.html", "/x.html"] {
            let url = format!("http://a{}{end}", if depth == 0 { "/".to_owned() } else { "/b".repeat(depth) });
            let mut known = Cells::default();
            let split = normalize(url.as_bytes(), &mut known.text).expect("a URL");
            let mut bytes = known.clone();
            known.cut(&split, Cut::default());
            bytes.cut(&Split { marks: Marks::default(), ..split }, Cut::default());
            assert_eq!((&known.list, &known.text), (&bytes.list, &bytes.text), "{url}");
            let mut again = Vec::new();
            crate::url::compose(&known, &mut again);
            assert_eq!(again, url.as_bytes());
        }
    }
}

#[test]
fn marks_are_known_up_to_a_length() {
    let mut cells = Cells::default();
    for length in 60..70 {
        let long = "a".repeat(length - 1);
        for (url, path, query) in [
            (format!("http://a/{long}"), length < 64, true),
            (format!("http://a/b?{long}="), true, length < 64),
            (format!("http://a/{long}?{long}&"), length < 64, length < 64),
        ] {
            let split = normalize(url.as_bytes(), &mut cells.text).expect("a URL");
            assert_eq!((split.marks.path, split.marks.query), (path, query), "{url}");
            cells.cut(&split, Cut::default());
            let mut again = Vec::new();
            crate::url::compose(&cells, &mut again);
            assert_eq!(again, url.as_bytes());
        }
    }
}
