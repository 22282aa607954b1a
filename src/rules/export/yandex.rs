//! `Clean-param` lines for robots.txt (Yandex): parameters that do not matter on a site. One section an
//! origin, each for the robots.txt of that scheme, host and port.
//!
//! A path in `Clean-param` is a prefix, which no scope of undust is: only rules that hold everywhere
//! are written.

use super::comments::{comment, commented};
use super::context::Context;
use super::site::Site;
use crate::rules::types::{Operation, Representative};
use std::collections::BTreeMap;

/// Note on the limits of robots.txt.
const NOTE: &str = "# One section an origin: a robots.txt holds for its scheme, host and port alone. It cannot tell user information.\n";

/// Longest line that Yandex reads.
const LONGEST: usize = 500;

/// The names of the parameters that a rule leaves out.
pub fn of(context: &Context<'_>, at: usize) -> Result<Vec<String>, String> {
    let rule = context.rule(at);
    if !rule.scope.is_empty() || rule.closed {
        return Err("it holds under a condition; a path here is a prefix, which is wider".to_owned());
    }
    if context.site.tokens.has_separators() {
        return Err("parameters of this site have another separator, too".to_owned());
    }
    let name = |(key, operation): &(String, Operation)| {
        let name = key.strip_prefix("query ").and_then(|name| name.strip_suffix('='));
        let left_out = *operation == Operation::Ignore(Representative::LeftOut);
        let plain = |name: &&str| {
            !name.is_empty()
                && name.len() < LONGEST - 20
                && !name.contains(['&', '#', ' ', '\t', '*'])
                && name.is_ascii()
                && !name.contains(|c: char| c.is_ascii_control())
        };
        name.filter(plain).filter(|_| left_out).map(str::to_owned)
    };
    let names: Option<Vec<String>> = rule.operations.iter().map(name).collect();
    names.ok_or_else(|| "it does more than leave out named parameters".to_owned())
}

/// The file.
pub fn text(sites: &[Site<'_, Vec<String>>], head: &[String]) -> String {
    let mut out = commented(head, "yandex-clean-param");
    out.push_str(NOTE);
    let mut origins: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for site in sites {
        let mut names: Vec<&str> = site.rules.iter().flat_map(|w| &w.form).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        origins.extend(site.origins.iter().map(|origin| (*origin, names.clone())));
    }
    for (origin, names) in origins {
        out.push_str(&format!("\n# robots.txt of {}\nUser-agent: Yandex\n", comment(origin)));
        let mut line = String::new();
        for name in names {
            if !line.is_empty() && line.len() + 1 + name.len() > LONGEST {
                out.push_str(&format!("{line}\n"));
                line.clear();
            }
            line.push_str(if line.is_empty() { "Clean-param: " } else { "&" });
            line.push_str(name);
        }
        out.push_str(&format!("{line}\n"));
    }
    out
}
