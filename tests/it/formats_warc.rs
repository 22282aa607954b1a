//! Archives: kinds of records, codings, charsets, and faults that cost one record.

use undust::content::simhash::distance;
use undust::io::Reason;
use undust::io::compression::Compression::{Gzip, Plain, Zstd};
use undust::model::DocumentKind;

use crate::formats_support::{compressed, members, page, prose, read, response, warc};

fn html(topic: u64) -> String {
    format!("<title>Page {topic}</title><body><nav>menu</nav><p>{}</p></body>", prose(topic, 120))
}

#[test]
fn kinds_of_records() {
    let canonical = html(1).replace("<body>", "<link rel=canonical href='/a'><body>");
    let records = [
        warc("warcinfo", "urn:x", "", b"software: x\r\n"),
        warc("request", "http://example.org/a", "", b"GET /a HTTP/1.1\r\n\r\n"),
        page("http://example.org/a?sid=1", &canonical),
        warc("metadata", "http://example.org/a?sid=1", "", b"via: http://example.org/\r\n"),
        response("<http://example.org/old>", "301 Moved", "Location: /a?x#y\r\nContent-Type: text/html\r\n", b""),
        warc(
            "revisit",
            "http://example.org/b",
            "WARC-Payload-Digest: sha1:AAAA\r\nContent-Type: application/http\r\n",
            b"HTTP/1.1 304 Not Modified\r\n\r\n",
        ),
        warc("revisit", "http://example.org/c", "WARC-Payload-Digest: sha1:AAAA\r\n", b""),
        warc("resource", "http://example.org/d", "Content-Type: text/html\r\n", html(2).as_bytes()),
        response("http://example.org/i.png", "200 OK", "Content-Type: image/png\r\n", b"\x89PNG"),
        response("http://example.org/no", "404 Not Found", "Content-Type: text/html\r\n", html(3).as_bytes()),
        response(
            "http://example.org/h",
            "200 OK",
            "Content-Type: text/html\r\nLink: </next>; rel=next, </h2>; rel=\"canonical\"\r\n",
            html(4).as_bytes(),
        ),
        warc("response", "dns:example.org", "Content-Type: text/dns\r\n", b"20260131\nexample.org. 1 IN A 192.0.2.1\n"),
        warc("conversion", "http://example.org/a", "Content-Type: text/plain\r\n", b"text"),
    ];
    // A record of WARC 1.0, lines that end in LF alone.
    let old = b"WARC/1.0\nwarc-type: response\nwarc-target-uri: http://example.org/lf\ncontent-length: 51\n\nHTTP/1.0 200 OK\nContent-Type: text/html\n\n<p>One two\n\n\n\n";
    let plain = [records.concat(), old.to_vec()].concat();
    let compressed = [members(&records, Gzip), compressed(old, Gzip)].concat();
    for (name, bytes) in [("a.warc", plain.clone()), ("a.warc.gz", compressed), ("part", plain)] {
        let found = read(name, &bytes);
        assert!(found.rejects.is_empty(), "{name}: {:?}", found.rejects);
        let rows: Vec<_> = found.records.iter().map(|r| (r.url.as_str(), r.status, r.kind, r.text.is_some())).collect();
        let expected = [
            ("http://example.org/a?sid=1", 200, DocumentKind::Html, true),
            ("http://example.org/old", 301, DocumentKind::Html, false),
            ("http://example.org/b", 200, DocumentKind::Unknown, false),
            ("http://example.org/c", 0, DocumentKind::Unknown, false),
            ("http://example.org/d", 200, DocumentKind::Html, true),
            ("http://example.org/i.png", 200, DocumentKind::Other, false),
            ("http://example.org/no", 404, DocumentKind::Html, false),
            ("http://example.org/h", 200, DocumentKind::Html, true),
            ("http://example.org/lf", 200, DocumentKind::Html, true),
        ];
        assert_eq!(rows, expected, "{name}");
        let of = |at: usize| &found.records[at];
        assert_eq!(
            (of(0).canonical.as_deref(), of(0).title.as_deref()),
            (Some("http://example.org/a"), Some("Page 1"))
        );
        assert_eq!(of(1).redirect.as_deref(), Some("http://example.org/a?x"));
        assert_eq!((of(2).digest.as_deref(), of(3).digest.as_deref()), (Some("sha1:AAAA"), Some("sha1:AAAA")));
        assert_eq!(of(7).canonical.as_deref(), Some("http://example.org/h2"));
        assert_eq!(of(8).text.map(|print| print.tokens), Some(2));
        assert!(of(0).elsewhere && of(1).elsewhere && !of(4).elsewhere);
    }
}

#[test]
fn codings_lengths_and_heads_make_no_difference_to_the_text() {
    let url = "http://example.org/";
    let body = html(7).into_bytes();
    let chunked = |body: &[u8]| {
        let mut out = Vec::new();
        for chunk in body.chunks(100) {
            out.extend_from_slice(format!("{:X};x=y\r\n", chunk.len()).as_bytes());
            out.extend_from_slice(chunk);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"0\r\nTrailer: x\r\n\r\n");
        out
    };
    let huge = format!("X-Junk: {}\r\n", "j".repeat(300_000));
    let many: String = (0..3000).map(|at| format!("Set-Cookie: c{at}=v\r\n")).collect();
    let cases = [
        (String::new(), body.clone()),
        ("Content-Length: 7\r\n".to_owned(), body.clone()),
        ("Content-Length: 999999999999999999999999\r\n".to_owned(), body.clone()),
        ("Transfer-Encoding: chunked\r\n".to_owned(), chunked(&body)),
        ("Transfer-Encoding: chunked\r\n".to_owned(), body.clone()),
        ("Content-Encoding: gzip\r\n".to_owned(), compressed(&body, Gzip)),
        ("Content-Encoding: gzip\r\nContent-Length: 1\r\n".to_owned(), body.clone()),
        ("Content-Encoding: x-gzip\r\nTransfer-Encoding: chunked\r\n".to_owned(), chunked(&compressed(&body, Gzip))),
        ("Content-Encoding: zstd\r\n".to_owned(), compressed(&body, Zstd)),
        (huge, body.clone()),
        (many, body.clone()),
    ];
    let records: Vec<Vec<u8>> = cases
        .iter()
        .map(|(fields, body)| response(url, "200 OK", &format!("Content-Type: text/html\r\n{fields}"), body))
        .collect();
    for (name, bytes) in [("a.warc", records.concat()), ("a.warc.gz", members(&records, Gzip))] {
        let found = read(name, &bytes);
        assert_eq!((found.records.len(), &found.rejects[..]), (cases.len(), &[][..]), "{name}");
        let first = found.records[0].text;
        assert!(first.is_some_and(|print| print.tokens == 120));
        for (record, (fields, _)) in found.records.iter().zip(&cases) {
            assert_eq!((record.text, record.title.as_deref()), (first, Some("Page 7")), "{name} {:.40}", fields);
        }
    }
}

#[test]
fn charsets_come_to_the_same_text() {
    let samples = [
        ("windows-1252", "Crème brûlée – “à la carte” für 5 €"),
        ("iso-8859-2", "Příliš žluťoučký kůň úpěl ďábelské ódy"),
        ("windows-1250", "Zażółć gęślą jaźń, vyjádření"),
        ("windows-1251", "Съешь ещё этих мягких французских булок"),
        ("koi8-r", "Съешь ещё этих мягких французских булок"),
        ("iso-8859-5", "Съешь ещё этих мягких французских булок"),
        ("iso-8859-7", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία"),
        ("windows-1254", "Pijamalı hasta yağız şoföre çabucak güvendi"),
        ("windows-1255", "דג סקרן שט בים מאוכזב ולפתע מצא חברה"),
        ("windows-1256", "نص حكيم له سر قاطع وذو شأن عظيم"),
        ("shift_jis", "これは日本語の文章です"),
        ("euc-jp", "いろはにほへとちりぬるを"),
        ("iso-2022-jp", "いろはにほへとちりぬるを"),
        ("gb18030", "天地玄黄宇宙洪荒日月盈昃"),
        ("big5", "天地玄黃宇宙洪荒日月盈昃"),
        ("euc-kr", "키스의 고유조건은 입술끼리"),
    ];
    for (charset, sample) in samples {
        let url = "http://example.org/";
        let encoding = encoding_rs::Encoding::for_label(charset.as_bytes()).unwrap();
        let write = |meta: &str| {
            let text = format!("<head>{meta}<title>{sample}</title></head><p>{sample}</p>");
            let (bytes, _, lossy) = encoding.encode(&text);
            assert!(!lossy, "{charset}");
            bytes.into_owned()
        };
        let records = [
            page(url, &format!("<title>{sample}</title><p>{sample}</p>")),
            response(url, "200 OK", &format!("Content-Type: text/html;charset={charset}\r\n"), &write("")),
            response(url, "200 OK", "Content-Type: text/html\r\n", &write(&format!("<meta charset='{charset}'>"))),
        ];
        let found = read("a.warc", &records.concat());
        assert_eq!(found.records.len(), 3, "{charset}");
        for record in &found.records {
            assert_eq!(record.title.as_deref(), Some(sample), "{charset}");
            assert_eq!(record.text, found.records[0].text, "{charset}");
        }
    }
}

#[test]
fn a_broken_record_costs_itself() {
    let url = |at: u64| format!("http://example.org/{at}");
    let good = |at: u64| page(&url(at), &html(at));
    let length = |record: Vec<u8>, by: i64| {
        let text = String::from_utf8(record).unwrap();
        let at = text.find("Content-Length: ").unwrap() + 16;
        let end = at + text[at..].find('\r').unwrap();
        let wrong = text[at..end].parse::<i64>().unwrap() + by;
        format!("{}{wrong}{}", &text[..at], &text[end..]).into_bytes()
    };
    let lacks = |record: Vec<u8>, field: &str| {
        let text = String::from_utf8(record).unwrap();
        let at = text.find(field).unwrap();
        let end = at + text[at..].find("\r\n").unwrap() + 2;
        format!("{}{}", &text[..at], &text[end..]).into_bytes()
    };
    let faults: [(&str, Vec<u8>, Reason); 8] = [
        ("too short", length(good(1), -9), Reason::BrokenRecord),
        ("too long", length(good(1), 9), Reason::BrokenRecord),
        ("far too long", length(good(1), 4_000_000_000), Reason::BrokenRecord),
        ("no length", lacks(good(1), "Content-Length"), Reason::BrokenRecord),
        ("no head", b"WARC/1.1\r\nno colon".to_vec(), Reason::BrokenRecord),
        ("rubbish", vec![b'x'; 5000], Reason::BrokenRecord),
        ("no HTTP", warc("response", &url(1), "", b"\x16\x03\x01 no head"), Reason::BrokenHttp),
        ("no URL", lacks(good(1), "WARC-Target-URI"), Reason::MissingUrl),
    ];
    for (name, fault, reason) in faults {
        let records = [good(0), fault, good(2), good(3)];
        for (file, bytes) in [("a.warc", records.join(&b"\r\n\r\n"[..])), ("a.warc.gz", members(&records, Gzip))] {
            let found = read(file, &bytes);
            assert_eq!(found.urls(), [url(0), url(2), url(3)], "{name} in {file}");
            assert_eq!(found.rejects, [(reason, 1)], "{name} in {file}");
        }
    }
    let records: Vec<Vec<u8>> = (0..6).map(good).collect();
    for compression in [Gzip, Zstd] {
        let name = if compression == Gzip { "a.warc.gz" } else { "a.warc.zst" };
        let mut pieces: Vec<Vec<u8>> = records.iter().map(|record| compressed(record, compression)).collect();
        let middle = pieces[2].len() / 2;
        pieces[2].truncate(middle);
        let found = read(name, &pieces.concat());
        assert_eq!(found.urls(), [0, 1, 3, 4, 5].map(url), "{name}");
        assert_eq!(found.rejects, [(Reason::BrokenMember, 1)], "{name}");
        // The end is missing, as of a copy that was broken off.
        let whole = members(&records, compression);
        let found = read(name, &whole[..whole.len() - 40]);
        assert_eq!(found.urls(), [0, 1, 2, 3, 4].map(url), "{name}");
        assert_eq!(found.rejects, [(Reason::BrokenMember, 1)], "{name}");
    }
    let whole = records.concat();
    let found = read("a.warc", &whole[..whole.len() - 200]);
    assert_eq!((found.urls().len(), &found.rejects[..]), (5, &[(Reason::BrokenRecord, 1)][..]));
}

#[test]
fn zstd_with_a_dictionary_before_the_frames() {
    let records: Vec<Vec<u8>> = (0..40).map(|at| page(&format!("http://example.org/{at}"), &html(at))).collect();
    // Bytes without the mark of a trained dictionary are one by their content.
    let dictionary = records[..4].concat();
    for inside in [dictionary.clone(), zstd::encode_all(&dictionary[..], 3).unwrap()] {
        let mut file = 0x184d_2a5d_u32.to_le_bytes().to_vec();
        file.extend_from_slice(&(inside.len() as u32).to_le_bytes());
        file.extend_from_slice(&inside);
        for record in &records {
            let mut encoder = zstd::stream::Encoder::with_dictionary(Vec::new(), 3, &dictionary).unwrap();
            std::io::Write::write_all(&mut encoder, record).unwrap();
            file.extend_from_slice(&encoder.finish().unwrap());
        }
        let found = read("a.warc.zst", &file);
        assert_eq!((found.records.len(), found.rejects), (40, vec![]));
        assert_eq!(found.records[39].title.as_deref(), Some("Page 39"));
    }
}

#[test]
fn bombs_and_depths_are_survived() {
    let url = |at: u64| format!("http://example.org/{at}");
    // 64 MiB of nothing: as a body under a coding, as a record of its own, as one more line of a head.
    let nothing = vec![b' '; 64 << 20];
    let coded = response(
        &url(1),
        "200 OK",
        "Content-Type: text/html\r\nContent-Encoding: gzip\r\n",
        &compressed(&nothing, Gzip),
    );
    let long = response(&url(2), "200 OK", "Content-Type: text/html\r\n", &nothing);
    let head = response(&url(3), "200 OK", &format!("X: {}\r\n", "x".repeat(2 << 20)), b"<p>a");
    let outer = [b"WARC/1.1\r\nX: ".as_slice(), &nothing, b"\r\n\r\n"].concat();
    let deep = format!("{}{}", "<div><b>".repeat(100_000), prose(1, 100));
    let records = [page(&url(0), &html(0)), coded, long, head, outer, page(&url(5), &deep), page(&url(6), &html(6))];
    for (name, compression) in [("a.warc", Plain), ("a.warc.gz", Gzip), ("a.warc.zst", Zstd)] {
        let bytes = members(&records, compression);
        let found = read(name, &bytes);
        // Of the bombs only what their heads say is known; the head that is too long is no head.
        let rows: Vec<_> = found.records.iter().map(|r| (r.url.clone(), r.text.map(|print| print.tokens))).collect();
        let expected = [(0, Some(120)), (1, None), (2, None), (5, Some(100)), (6, Some(120))];
        assert_eq!(rows, expected.map(|(at, tokens)| (url(at), tokens)), "{name}");
        assert_eq!(found.rejects, [(Reason::BrokenRecord, 1), (Reason::BrokenHttp, 1)], "{name}");
    }
}

#[test]
fn near_texts_have_near_fingerprints_from_end_to_end() {
    let text = prose(9, 300);
    let other = text.replacen(' ', " inserted ", 1);
    let records = [
        page("http://example.org/1", &format!("<p>{text}</p><td>598</td>")),
        page("http://example.org/2", &format!("<p>{text}</p><td>1,599</td>")),
        page("http://example.org/3", &format!("<p>{other}</p>")),
        page("http://example.org/4", &format!("<p>{}</p>", prose(10, 300))),
    ];
    let prints: Vec<_> = read("a.warc", &records.concat()).records.iter().map(|r| r.text.unwrap()).collect();
    assert_eq!(prints[0].simhash, prints[1].simhash, "counters make no difference to the fingerprint");
    assert_ne!(prints[0].text, prints[1].text, "but to the exact text");
    assert!(distance(prints[0].simhash, prints[2].simhash) <= 8);
    assert!(distance(prints[0].simhash, prints[3].simhash) >= 14);
}
