use super::*;
use crate::url::origin;

/// The normal form, checked against its split.
fn normal(url: &str) -> String {
    let mut out = b"left over".to_vec();
    let split = normalize(url.as_bytes(), &mut out).unwrap_or_else(|why| panic!("{url}: {why}"));
    let part = |(a, b): (u32, u32)| std::str::from_utf8(&out[a as usize..b as usize]).unwrap();
    let scheme = if split.https { "https" } else { "http" };
    let mut again = format!("{scheme}://{}{}", part(split.authority), part(split.path));
    if let Some(query) = split.query {
        again = format!("{again}?{}", part(query));
    }
    if let Some(fragment) = split.fragment {
        again = format!("{again}#{}", part(fragment));
    }
    let out_text = String::from_utf8(out.clone()).unwrap();
    assert_eq!(again, out_text);
    let mut twice = Vec::new();
    assert_eq!(normalize(&out, &mut twice), Ok(split), "{url}");
    assert_eq!(twice, out, "{url}");
    out_text
}

fn refused(url: &[u8]) -> Invalid {
    normalize(url, &mut Vec::new()).expect_err("not a URL")
}

#[test]
fn normal_urls_come_back_unchanged() {
    for url in [
        "http://example.com/",
        "https://www.example.com/a/b.html?x=1&y=2#top",
        "http://example.com/?",
        "http://example.com/#",
        "http://example.com/?#",
        "http://example.com/#a?b#c",
        "http://user:Pass%7E@example.com:8080/%C3%A9",
        "http://example.com/.hidden/..x/...",
        "http://example.com//a//b//",
        "http://[::1]:8080/",
        "http://xn--bcher-kva.example/%C3%BC?%C3%BC#%C3%BC",
        "http://example.com/[a]^b|c?[a]^b|c\\{`}#[a]^b|c\\{}",
        "http://a.b./",
        "http://under_score.example/",
        "http://192.168.0.1/",
    ] {
        assert_eq!(normal(url), url);
    }
}

#[test]
fn case_of_scheme_and_host_but_not_of_user_or_path() {
    assert_eq!(normal("HTTP://User@EXAMPLE.com/Path?Q#F"), "http://User@example.com/Path?Q#F");
    assert_eq!(normal("hTTpS://a/"), "https://a/");
    assert_eq!(normal("http://A%C3%a9%2d%42.x/"), "http://xn--a-b-bma.x/");
    assert_eq!(normal("http://[2001:DB8::A]/"), "http://[2001:db8::a]/");
}

#[test]
fn escapes() {
    assert_eq!(normal("http://a/b c/.?x=1 2#d  e"), "http://a/b%20c/?x=1%202#d%20%20e");
    assert_eq!(normal("http://a/%2 0?% a"), "http://a/%2%200?%%20a");
    assert_eq!(normal("http://a/b?c#d  "), "http://a/b?c#d");
    assert_eq!(normal("http://a "), "http://a/");
    assert_eq!(normal("http://a/é\u{1f600}?é#é"), "http://a/%C3%A9%F0%9F%98%80?%C3%A9#%C3%A9");
    assert_eq!(normal("http://a/\"<>{`}?\"<>{`}#\"<>{`}"), "http://a/%22%3C%3E%7B%60%7D?%22%3C%3E{`}#%22%3C%3E{%60}");
    assert_eq!(normal("http://é\"<>{`}[^]|@b:c@a/"), "http://%C3%A9%22%3C%3E%7B%60%7D%5B%5E%5D%7C%40b:c@a/");
    assert_eq!(normal("http://a/%4é%C3"), "http://a/%4%C3%A9%C3");
    let mut out = Vec::new();
    normalize(b"http://a/r\xe9sum\xe9?\xff", &mut out).unwrap();
    assert_eq!(out, b"http://a/r%E9sum%E9?%FF");
    assert_eq!(normal("http://a/%7e%41%2f%c2%b5?%2D%3d#%5f%20"), "http://a/~A%2F%C2%B5?-%3D#_%20");
    assert_eq!(normal("http://a/%2541"), "http://a/%2541");
    // Malformed ones are kept, and nothing near them may complete them.
    assert_eq!(normal("http://a/%zz%4?%#%a"), "http://a/%zz%4?%#%a");
    assert_eq!(normal("http://a/%%34%31"), "http://a/%%341");
    assert_eq!(normal("http://a/%4%31"), "http://a/%4%31");
    assert_eq!(normal("http://a/%4%7a"), "http://a/%4z");
}

#[test]
fn hosts() {
    for (host, want) in [
        ("bücher.example", "xn--bcher-kva.example"),
        ("B%C3%BCCHER.example:81", "xn--bcher-kva.example:81"),
        ("xn--BCHER-kva.example", "xn--bcher-kva.example"),
        ("faß.example", "xn--fa-hia.example"),
        ("日本。ＪＰ", "xn--wgv71a.jp"),
        ("%65xample.com", "example.com"),
        ("A..", ""),
        ("a.b.", "a.b."),
        ("a.b。", "a.b."),
        ("a--b.c--", "a--b.c--"),
        ("0x7f.1", "127.0.0.1"),
        ("0300.168.0xF0", "192.168.0.240"),
        ("2130706433", "127.0.0.1"),
        ("1.2.3.4.", "1.2.3.4"),
        ("１.2.3.4", "1.2.3.4"),
        ("1.2.3.4a", "1.2.3.4a"),
        ("[0:0::1]", "[::1]"),
        ("[2001:DB8:0:0:1:0:0:1]:80", "[2001:db8::1:0:0:1]"),
    ] {
        let url = format!("http://{host}/");
        match want {
            "" => assert_eq!(refused(url.as_bytes()), Invalid::Host, "{host}"),
            want => assert_eq!(normal(&url), format!("http://{want}/")),
        }
    }
    for host in [
        "a<b",
        "a>b",
        "a|b",
        "a^b",
        "a%b",
        "a%2Fb",
        "a%3Ab",
        "a%00b",
        "a%25b",
        "a\"b",
        "a{b}",
        "a`b",
        "a%7Bb",
        "a[b]",
        "xn--a",
        "xn--",
        "a.xn--zz-",
        "\u{200d}.a",
        "\u{fffd}",
        "%FF",
        "1.2.3.256",
        "1.2.3.4.5",
        "a.1",
        "a.09",
        "a.0x",
        "99999999999999999999",
        "[fe80::1%25eth0]",
        "[::%31]",
    ] {
        assert_eq!(refused(format!("http://{host}/").as_bytes()), Invalid::Host, "{host}");
    }
}

#[test]
fn a_backslash_before_the_query_is_invalid() {
    for url in ["http://a\\b", "http://a/\\", "http://u\\@a/", "http://a/b\\..\\c?d#e", "http://a\\?b", "HTTP://a/\\#b"]
    {
        assert_eq!(refused(url.as_bytes()), Invalid::Backslash, "{url}");
    }
    for url in ["http://a/?\\", "http://a/#\\", "http://a/b?c\\d#e\\f"] {
        assert_eq!(normal(url), url);
    }
}

#[test]
fn dot_segments() {
    // RFC 3986 section 5.2.4 and the examples of 5.4, as paths.
    for (path, want) in [
        ("/a/b/c/./../../g", "/a/g"),
        ("/mid/content=5/../6", "/mid/6"),
        ("/b/c/.", "/b/c/"),
        ("/b/c/./", "/b/c/"),
        ("/b/c/..", "/b/"),
        ("/b/c/../..", "/"),
        ("/b/c/../../../g", "/g"),
        ("/..", "/"),
        ("/.", "/"),
        ("/../", "/"),
        ("/a//..", "/a/"),
        ("/a//../b", "/a/b"),
        ("//..", "/"),
        ("/%2e%2E/a/.%2e/b/%2e", "/b/"),
        ("/a/..;x/.b/c.", "/a/..;x/.b/c."),
        ("/a/../%zz", "/%zz"),
    ] {
        assert_eq!(normal(&format!("http://h{path}")), format!("http://h{want}"));
        assert_eq!(normal(&format!("http://h{path}?a/../b#./c")), format!("http://h{want}?a/../b#./c"));
    }
}

#[test]
fn ports_and_empty_paths() {
    for (url, want) in [
        ("http://a", "http://a/"),
        ("http://a?q", "http://a/?q"),
        ("http://a#f", "http://a/#f"),
        ("http://a:/", "http://a/"),
        ("http://a:80", "http://a/"),
        ("http://a:0080/", "http://a/"),
        ("http://a:443/", "http://a:443/"),
        ("https://a:443/", "https://a/"),
        ("https://a:80/", "https://a:80/"),
        ("http://a:008080/", "http://a:8080/"),
        ("http://a:000/", "http://a:0/"),
        ("http://@a/", "http://@a/"),
        ("http://u:@a:80/", "http://u:@a/"),
        ("http://a@b@c/", "http://a%40b@c/"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("http://[::1]:", "http://[::1]/"),
        ("http://a.b.:80/", "http://a.b./"),
        ("http://a.b%2e:81/", "http://a.b.:81/"),
    ] {
        assert_eq!(normal(url), want);
    }
}

#[test]
fn parts_of_a_rewritten_url() {
    let mut out = Vec::new();
    let split = normalize(b"HTTPS://u:p@WWW.Example.com.:443/./%61?b#c", &mut out).unwrap();
    assert_eq!(out, b"https://u:p@www.example.com./a?b#c");
    assert!(split.https);
    assert_eq!((split.authority, split.host), ((8, 28), (12, 28)));
    assert_eq!((split.path, split.query, split.fragment), ((28, 30), Some((31, 32)), Some((33, 34))));
}

#[test]
fn what_is_not_a_url_says_why() {
    for url in
        ["", "http", "http:", "http:/a", "ftp://a/", "//a/", " http://a/", "httpss://a/", "mailto:a@b", "httpé://"]
    {
        assert_eq!(refused(url.as_bytes()), Invalid::Scheme, "{url}");
    }
    for host in
        ["", "/", "?q", "#f", ":80", "u@", ".", "..", "%2e", ".a", "a..b", "a..", "a:b", "a:65536", "a:80:80", "a:9x"]
    {
        assert_eq!(refused(format!("http://{host}").as_bytes()), Invalid::Host, "{host}");
    }
    for host in ["[", "[]", "[::1", "[::1]x", "[1.2.3.4]", "[::1]:x", "[%25eth0]"] {
        assert_eq!(refused(format!("http://{host}/").as_bytes()), Invalid::Host, "{host}");
    }
    for url in
        [&b"http://a/\n"[..], b"http://a\t.b/", b"http://a/?\0", b"http://a/#0123456789012345\x7f", b"http://\x1f"]
    {
        assert_eq!(refused(url), Invalid::Control, "{url:?}");
    }
}

#[test]
fn an_origin_that_is_known_need_not_be_looked_at() {
    for host in ["a.example", "www.a-1.example", "under_score.example", "xn--bcher-kva.example", "[::1]", "10.0.0.1"] {
        for scheme in ["http", "https"] {
            let start = format!("{scheme}://{host}");
            for rest in [
                "/a-long-path",
                "/a/b.html?c=d#e",
                "/a/../b;c?D=%7e",
                "/A%2f%3A b/c/d",
                "/./././././",
                "/aaaaaaaaaa\u{7f}",
                "/..//%zz?////",
                "/\u{e9}/<\u{e9}>?aaaaaaaaaa",
                "/a-\\-long-path",
            ] {
                let url = format!("{start}{rest}");
                let origin = origin(url.as_bytes()).expect("in lower case, with a slash");
                assert_eq!(origin.end, start.len());
                let (mut out, mut known) = (Vec::new(), b"left over".to_vec());
                let split = normalize(url.as_bytes(), &mut out);
                let mut to = Split::default();
                let behind = normalize_behind(Some(origin), url.as_bytes(), &mut known, &mut to).map(|()| to);
                assert_eq!(split, behind, "{url}");
                assert!(split.is_err() || out == known, "{url}");
            }
        }
    }
    for host in 0..=40 {
        for path in 0..40 {
            let url = format!("http://{}/{}", "a".repeat(host), "b".repeat(path));
            let found = origin(url.as_bytes()).map(|origin| origin.end);
            assert_eq!(found, (host < 32 && host + path >= 15).then_some(7 + host), "{url}");
        }
    }
    for none in ["HTTP://a.example/", "http:/a.example/", "https//a.example/", "http://a?"] {
        assert_eq!(origin(format!("{none}aaaaaaaaaaaaaaaaaaaaaa").as_bytes()), None, "{none}");
    }
}
