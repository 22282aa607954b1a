//! Text of others (URLs, labels, names of sites) inside HTML: it is data of attackers and must stay
//! text.

use crate::model::shown::visible;

/// `text` as HTML text or as an attribute in quotes; hidden characters as [`visible`] writes them.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(html("\"><script>a&b'\u{202e}\0"), "&quot;&gt;&lt;script&gt;a&amp;b&#39;\\u{202e}\\u{0}");
    }
}
