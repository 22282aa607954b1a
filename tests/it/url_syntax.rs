//! The invariants of syntax-based normalization, on any bytes and on strings that look like URLs.
#[path = "../fuzz/invariants/url_syntax.rs"]
pub mod invariants;

use invariants::{check, part};
use proptest::prelude::*;
use undust::url::{Invalid, normalize};

/// Strings of the pieces that matter to normalization, in any order behind a scheme.
fn url_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-zA-Z0-9]{1,4}",
        4 => "[%.:@/?#\\[\\]]",
        3 => "%[0-9a-fA-F]{2}",
        2 => prop::sample::select(vec!["%", "%2", "%%3", "/.", "/..", "/%2e", "%2E%2e", "//", ":80", ":443", ":0", "."])
            .prop_map(str::to_owned),
        1 => prop::sample::select(vec![" ", "\\", "ü", "\u{7f}", "[::1]", "~", ";a=b", "&x="]).prop_map(str::to_owned),
    ];
    let scheme =
        prop::sample::select(vec!["http://", "https://", "HTTP://", "hTTps://", "http:/", "http://a", "https://b.c/"]);
    (scheme, prop::collection::vec(piece, 0..24)).prop_map(|(s, pieces)| format!("{s}{}", pieces.concat()).into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_on_url_like_strings(url in url_like()) {
        check(&url).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn invariants_hold_on_any_bytes(tail in prop::collection::vec(any::<u8>(), 0..64), scheme in any::<bool>()) {
        let url = if scheme { [b"http://".as_slice(), &tail].concat() } else { tail };
        check(&url).map_err(TestCaseError::fail)?;
    }

    /// The bulk copy of clean runs must not depend on where in a run a special byte stands.
    #[test]
    fn a_special_byte_is_seen_at_every_offset(fill in 0usize..80, after in 0usize..40) {
        let with = |special: &[u8]| {
            let mut url = b"http://a/".to_vec();
            url.resize(url.len() + fill, b'x');
            url.extend_from_slice(special);
            url.resize(url.len() + after, b'y');
            url
        };
        let mut out = Vec::new();
        for control in [0u8, 0x1f, 0x7f] {
            prop_assert_eq!(normalize(&with(&[control]), &mut out), Err(Invalid::Control));
        }
        normalize(&with(b"%7e"), &mut out).expect("a URL");
        prop_assert_eq!(&out, &with(b"~"));
        normalize(&with(b"/./"), &mut out).expect("a URL");
        prop_assert_eq!(&out, &with(b"/"));
    }
}

/// Where both have an opinion, the `url` crate (WHATWG) agrees on the path of escape-free URLs.
#[test]
fn dot_segments_agree_with_the_url_crate() {
    let segments = ["a", "b", ".", "..", "", "c."];
    let mut out = Vec::new();
    for code in 0..6usize.pow(5) {
        let path: Vec<&str> = (0..5).map(|i| segments[code / 6usize.pow(i) % 6]).collect();
        let url = format!("http://h/{}", path.join("/"));
        let split = normalize(url.as_bytes(), &mut out).expect("a URL");
        let theirs = url::Url::parse(&url).expect("a URL");
        assert_eq!(part(&out, split.path), theirs.path().as_bytes(), "{url}");
    }
}
