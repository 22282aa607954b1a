//! Text of others (URLs, labels, names of sites) inside HTML: it is data of attackers and must stay text.

/// `text` as HTML text or as an attribute in quotes. Control characters, which HTML forbids or swallows, and the marks
/// that turn the direction of writing become U+FFFD, so that what is shown is what there is.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control()
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

/// `text` as one field of CSV (RFC 4180); a field that a spreadsheet would take for a formula gets an apostrophe first.
pub fn csv(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err() && text != "-";
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(html("\"><script>a&b'\u{202e}\0"), "&quot;&gt;&lt;script&gt;a&amp;b&#39;\u{fffd}\u{fffd}");
        assert_eq!(csv("=1+2"), "'=1+2");
        assert_eq!(csv("-0.5"), "-0.5");
        assert_eq!(csv("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
