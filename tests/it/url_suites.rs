//! Inputs of the test suites of other URL libraries, with one oracle: the parser of the `url` crate
//! (WHATWG).
//!
//! Each line of `tests/cases/url/suites.txt` is an input; the README beside it names the suites. An
//! input that undust accepts must be a URL for the oracle too, and the oracle must read the same URL
//! from input and output once escapes of unreserved characters are decoded.
use crate::url_syntax::invariants::check;
use undust::url::normalize;

/// The inputs, with their line numbers; `\xNN` stands for a byte and `\\` for a backslash.
fn inputs() -> impl Iterator<Item = (usize, Vec<u8>)> {
    let text = include_str!("../cases/url/suites.txt");
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| (number, unescape(line)))
}

fn unescape(line: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = line.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let (byte, after) = match (first, behind) {
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digits = [*high, *low];
                let text = std::str::from_utf8(&digits).expect("hex digits");
                (u8::from_str_radix(text, 16).expect("hex digits"), after)
            }
            (b'\\', [b'\\', after @ ..]) => (b'\\', after),
            (b'\\', _) => panic!("not an escape: {line}"),
            _ => (first, behind),
        };
        out.push(byte);
        rest = after;
    }
    out
}

/// What the oracle reads, escapes of unreserved characters decoded and the others in upper case.
fn read(url: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(url).map_err(|error| error.to_string())?;
    let read = url::Url::parse(text).map_err(|error| error.to_string())?;
    let mut out = String::new();
    let mut rest = read.as_str();
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let escaped = rest.get(1..3).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        match escaped.map(|digits| u8::from_str_radix(digits, 16).expect("hex digits")) {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => out.push(char::from(byte)),
            Some(byte) => out.push_str(&format!("%{byte:02X}")),
            None => out.push('%'),
        }
        rest = &rest[if escaped.is_some() { 3 } else { 1 }..];
    }
    Ok(out + rest)
}

#[test]
fn the_oracle_reads_the_same_url_from_input_and_output() {
    let (mut count, mut valid, mut broken) = (0, 0, Vec::new());
    let mut out = Vec::new();
    for (number, input) in inputs() {
        count += 1;
        check(&input).unwrap_or_else(|invariant| panic!("line {number}: {invariant}"));
        if normalize(&input, &mut out).is_err() {
            continue;
        }
        valid += 1;
        // The oracle reads text: a byte that is not UTF-8 is the escape that it must become.
        let text: Vec<u8> = match std::str::from_utf8(&input) {
            Ok(_) => input.clone(),
            Err(_) => {
                input.iter().flat_map(|&b| if b < 0x80 { vec![b] } else { format!("%{b:02X}").into_bytes() }).collect()
            }
        };
        let (before, after) = (read(&text), read(&out));
        if before.is_err() || before != after {
            broken.push(format!(
                "line {number}: {} -> {}\n    {before:?}\n    {after:?}",
                input.escape_ascii(),
                out.escape_ascii()
            ));
        }
    }
    assert!(count > 3_000 && valid > 1_500, "{count} inputs, {valid} of them URLs");
    assert!(broken.is_empty(), "{} of {count} inputs ({valid} URLs):\n{}", broken.len(), broken.join("\n"));
}
