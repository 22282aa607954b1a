//! `default_filters: url_normalize` of pywb's `rules.yaml`: pairs of a Python regular expression and a replacement, each
//! applied in turn (`re.sub`) to the key of the URL asked for and to those of the index, which are the same page where
//! they come out the same.
//!
//! Keys are in SURT form: pywb has lower-cased them, sorted their parameters, and taken off scheme, `www.`, trailing
//! slash and fragment. So these need no rule, and the names and values of rules are written in lower case.

use super::pattern::Space;
use super::{Context, Rewrite, Site, about, count, heading, rewrite};
use crate::rules::types::Rule;

/// The rewrites of a rule, over keys.
pub fn of(context: &Context<'_>, rule: &Rule) -> Result<Vec<Rewrite>, String> {
    rewrite::in_space(context, rule, Space::Surt)
}

/// The file.
pub fn text(sites: &[Site<'_, Vec<Rewrite>>]) -> String {
    let mut out =
        format!("# {}\ndefault_filters:\n  url_normalize:\n", comment(&heading(sites.len(), count(sites), "pywb")));
    let mut any = false;
    for site in sites {
        for written in &site.rules {
            out.push_str(&format!("    # {}\n", comment(&about(site.site, written.rule))));
            for rewrite in &written.form {
                any = true;
                let replacement = rewrite
                    .replacement(|n| format!("\\g<{n}>"), |text| text.to_ascii_lowercase().replace('\\', "\\\\"));
                out.push_str(&format!(
                    "    - match: {}\n      replace: {}\n",
                    quoted(&rewrite.pattern),
                    quoted(&replacement)
                ));
            }
        }
    }
    if !any {
        out.push_str("    []\n");
    }
    out
}

/// In single quotes, in which nothing but they themselves has a meaning.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn comment(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
