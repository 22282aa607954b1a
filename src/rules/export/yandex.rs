//! `Clean-param` lines for robots.txt (Yandex): parameters that do not matter on a host. One section a host, each for the
//! robots.txt of that host.
//!
//! A path in `Clean-param` is a prefix, which no scope of undust is: only rules that hold everywhere are written.

use super::{Context, Site, command, comment, count, heading};
use crate::rules::origins;
use crate::rules::types::{Operation, Representative, Rule};
use std::collections::BTreeMap;

/// Longest line that Yandex reads.
const LONGEST: usize = 500;

/// The names of the parameters that a rule leaves out.
pub fn of(context: &Context<'_>, rule: &Rule) -> Result<Vec<String>, String> {
    if !rule.scope.is_empty() || rule.closed {
        return Err("it holds under a condition; a path here is a prefix, which is wider".to_owned());
    }
    if context.site.tokens.semicolons {
        return Err("parameters of this site are separated by semicolons too".to_owned());
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
pub fn text(sites: &[Site<'_, Vec<String>>]) -> String {
    let mut out = format!("# {}\n# {}\n", heading(sites.len(), count(sites)), command("yandex-clean-param"));
    let mut hosts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for site in sites {
        let mut names: Vec<&str> = site.rules.iter().flat_map(|w| &w.form).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let origins = site.origins.iter().map(|origin| origins::parts(origin).1);
        hosts.extend(origins.map(|host| (host, names.clone())));
    }
    for (host, names) in hosts {
        out.push_str(&format!("\n# robots.txt of {}\nUser-agent: Yandex\n", comment(host)));
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
