//! Bytes of a page to UTF-8 (HTML standard, "determining the character encoding"): a byte order mark,
//! else the charset of the HTTP head, else of a `meta` element near the beginning, else a guess from
//! the bytes (chardetng, the detector of Firefox). Decoding is encoding_rs's; what cannot be decoded
//! becomes U+FFFD.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes at the beginning in which a `meta` element is looked for (1024 by the standard; older pages
/// put it later).
const PRESCAN: usize = 4096;
/// Bytes that the guess looks at.
const GUESS: usize = 64 << 10;

/// The text of `bytes`: as they are where they are UTF-8, else decoded into `out`. `declared` is the
/// value of a `Content-Type` field, or empty.
pub fn decode<'a>(bytes: &'a [u8], declared: &[u8], out: &'a mut String) -> &'a str {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return with(encoding, &bytes[mark..], out);
    }
    let named = label(declared).or_else(|| prescan(&bytes[..bytes.len().min(PRESCAN)]));
    let encoding = named.unwrap_or_else(|| guess(bytes));
    with(encoding, bytes, out)
}

fn with<'a>(encoding: &'static Encoding, bytes: &'a [u8], out: &'a mut String) -> &'a str {
    if encoding == UTF_8
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return text;
    }
    out.clear();
    let mut decoder = encoding.new_decoder_without_bom_handling();
    // A decoder that is given the room its encoding may need does not stop in between.
    out.reserve(decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len() * 3));
    let _ = decoder.decode_to_string(bytes, out, true);
    out
}

/// The encoding of `charset=` in a media type or in the content of a `meta` element.
fn label(text: &[u8]) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let at = memchr::memmem::find(&lower, b"charset")?;
    let rest = lower[at + 7..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or(rest.strip_prefix(b"'")).unwrap_or(rest);
    let end = rest.iter().position(|b| matches!(b, b'"' | b'\'' | b';' | b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r'));
    Encoding::for_label(&rest[..end.unwrap_or(rest.len())])
}

/// The encoding that a `meta` element names. Such an element is read as ASCII, so one that says UTF-16
/// is wrong: it counts as UTF-8, as the standard has it.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    let mut rest = head;
    loop {
        let at = memchr::memmem::find(rest, b"<")?;
        rest = &rest[at + 1..];
        if rest.get(..4).is_some_and(|name| name.eq_ignore_ascii_case(b"meta")) {
            let end = memchr::memchr(b'>', rest).unwrap_or(rest.len());
            if let Some(encoding) = label(&rest[..end]) {
                return Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding });
            }
        }
    }
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0x1b) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&bytes[..bytes.len().min(GUESS)], bytes.len() <= GUESS);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], declared: &str) -> String {
        decode(bytes, declared.as_bytes(), &mut String::new()).to_owned()
    }

    /// Charsets of the standard with text that each can write.
    const CHARSETS: [(&str, &str); 16] = [
        ("utf-8", "Grüße aus Köln, 東京"),
        ("windows-1252", "Crème brûlée – “à la carte” für 5 €"),
        ("iso-8859-2", "Příliš žluťoučký kůň úpěl ďábelské ódy"),
        ("windows-1250", "Zażółć gęślą jaźń, vyjádření"),
        ("windows-1251", "Съешь ещё этих мягких французских булок, да выпей чаю"),
        ("koi8-r", "Съешь ещё этих мягких французских булок, да выпей чаю"),
        ("iso-8859-7", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία"),
        ("windows-1254", "Pijamalı hasta yağız şoföre çabucak güvendi"),
        ("windows-1255", "דג סקרן שט בים מאוכזב ולפתע מצא חברה"),
        ("windows-1256", "نص حكيم له سر قاطع وذو شأن عظيم"),
        ("shift_jis", "これは日本語の文章です。文字コードを調べるために書きました"),
        ("euc-jp", "いろはにほへとちりぬるを、色は匂へど散りぬるを"),
        ("iso-2022-jp", "いろはにほへとちりぬるを、色は匂へど散りぬるを"),
        ("gb18030", "天地玄黄宇宙洪荒日月盈昃辰宿列张"),
        ("big5", "天地玄黃宇宙洪荒日月盈昃辰宿列張"),
        ("euc-kr", "키스의 고유조건은 입술끼리 만나야 하고"),
    ];

    #[test]
    fn sixteen_charsets_declared_in_the_head_in_a_meta_element_or_guessed() {
        for (name, sample) in CHARSETS {
            let encoding = Encoding::for_label(name.as_bytes()).expect(name);
            let encode = |text: &str| {
                let (bytes, _, lossy) = encoding.encode(text);
                assert!(!lossy, "{name}");
                bytes.into_owned()
            };
            assert_eq!(text(&encode(sample), &format!("text/html; Charset=\"{name}\"")), sample, "{name} in the head");
            for meta in
                [format!("<META charset={name}>"), format!("<meta http-equiv=x content='text/html; charset={name}'/>")]
            {
                let page = format!("<html><!-- x --><head>{meta}</head>{sample}");
                assert_eq!(text(&encode(&page), "text/html"), page, "{name} in a meta element");
            }
            let long = format!("<p>{}</p>", [sample; 12].join(". "));
            assert_eq!(text(&encode(&long), ""), long, "{name} guessed");
        }
    }

    #[test]
    fn marks_win_and_nonsense_is_survived() {
        let utf16: Vec<u8> = "\u{feff}<p>é".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(text(&utf16, "text/html; charset=koi8-r"), "<p>é");
        assert_eq!(text(b"\xef\xbb\xbf<p>", "text/html; charset=koi8-r"), "<p>");
        assert_eq!(text("<meta charset=utf-16>é".as_bytes(), ""), "<meta charset=utf-16>é");
        assert_eq!(text("é".as_bytes(), "text/html; charset=no-such"), "é");
        assert_eq!(text(b"a\xffb", "text/html; charset=utf-8"), "a\u{fffd}b");
        assert_eq!(text(b"", ""), "");
    }
}
