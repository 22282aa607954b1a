//! Comments in exported files.

use super::kept::{self, Kept};
use super::left_out::LeftOut;
use crate::model::shown;
use crate::rules::explain::rule_text;
use crate::rules::types::{Rule, SiteRules};

/// The first lines of every file: contents, kept share, rules left out with reasons. [`command`] goes
/// with them.
pub(super) fn head(sites: usize, rules: u64, kept: &Kept, left_out: &[LeftOut]) -> Vec<String> {
    let sites = if sites == 1 { "1 site".to_owned() } else { format!("{sites} sites") };
    let what = format!(
        "{rules} rules of {sites}, written by undust {}. Expects URLs in normal form (RFC 3986, 6.2.2 and 6.2.3); order \
         matters.",
        env!("CARGO_PKG_VERSION")
    );
    let lines = [what, kept.text()].into_iter().chain(kept::left_out_lines(left_out));
    lines.map(|line| comment(&line)).collect()
}

/// The head as comments behind `#`, with the command in the second line.
pub(super) fn commented(head: &[String], format: &str) -> String {
    let command = command(format);
    let lines = head[..1].iter().chain([&command]).chain(&head[1..]);
    lines.map(|line| format!("# {line}\n")).collect()
}

/// Command that makes a file of this format again.
pub(super) fn command(format: &str) -> String {
    format!("undust export --rules DIR --to {format}")
}

/// Longest comment, in characters: 3,600 bytes in UTF-8, since nginx ends at a comment of more than
/// 4,090.
const LONGEST_COMMENT: usize = 900;

/// A line of text for people, for the comments of all formats.
pub(super) fn comment(text: &str) -> String {
    shown::within(text, LONGEST_COMMENT)
}

/// A readable line about a rule, for [`comment`].
pub(super) fn about(site: &SiteRules, rule: &Rule) -> String {
    format!("{} {} {}", site.site, rule.id, rule_text(rule))
}
