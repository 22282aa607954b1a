//! `regex-normalize.xml` of Apache Nutch's `urlnormalizer-regex`, which StormCrawler's `RegexURLNormalizer` reads too:
//! a list of patterns, each replaced in turn by a substitution (`Matcher.replaceAll`). Let `urlnormalizer-basic` run
//! before it.

use super::{Rewrite, Site, about, count, heading};

/// The file.
pub fn text(sites: &[Site<'_, Vec<Rewrite>>]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!("<!-- {} -->\n<regex-normalize>\n", comment(&heading(sites.len(), count(sites), "nutch"))));
    for site in sites {
        for written in &site.rules {
            out.push_str(&format!("<!-- {} -->\n", comment(&about(site.site, written.rule))));
            for rewrite in &written.form {
                out.push_str(&format!(
                    "<regex>\n  <pattern>{}</pattern>\n  <substitution>{}</substitution>\n</regex>\n",
                    escape(&rewrite.pattern),
                    escape(&rewrite.java_replacement())
                ));
            }
        }
    }
    out + "</regex-normalize>\n"
}

/// Text of an element or of an attribute in double quotes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// Text that may stand in an XML comment: no two hyphens side by side, no control characters.
pub fn comment(text: &str) -> String {
    text.replace("--", "-\u{2010}").trim_end_matches('-').chars().filter(|c| !c.is_control()).collect()
}
