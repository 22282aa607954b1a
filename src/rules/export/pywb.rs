//! `default_filters: url_normalize` of pywb's `rules.yaml`: pairs of a Python regular expression and a replacement, each
//! applied in turn (`re.sub`) to the key of the URL asked for and to those of the index, which are the same page where
//! they come out the same.
//!
//! Keys are in SURT form: pywb has lower-cased them, sorted their parameters, and taken off scheme, `www.`, trailing
//! slash and fragment. So these need no rule, and the names and values of rules are written in lower case.

use super::pattern::{Engine, Space};
use super::{Context, Rewrite, Site, about, command, comment, count, heading, rewrite};
use crate::rules::types::Rule;
use serde::Serialize;
use serde_saphyr::{CommentPosition, Commented};

/// The rewrites of a rule, over keys.
pub fn of(context: &Context<'_>, rule: &Rule) -> Result<Vec<Rewrite>, String> {
    rewrite::in_space(context, rule, Space::Surt)
}

/// The file.
pub fn text(sites: &[Site<'_, Vec<Rewrite>>]) -> String {
    let mut pairs = Vec::new();
    for site in sites {
        for written in &site.rules {
            let mut about = Some(comment(&about(site.site, written.rule)));
            for rewrite in &written.form {
                let replace = rewrite
                    .replacement(|n| format!("\\g<{n}>"), |text| text.to_ascii_lowercase().replace('\\', "\\\\"));
                let pair = Pair { r#match: Engine::Python.pattern(&rewrite.pattern), replace };
                pairs.push(match about.take() {
                    Some(about) => Entry::First(Commented(pair, about)),
                    None => Entry::Next(pair),
                });
            }
        }
    }
    let heading = format!("{} Made by: {}", heading(sites.len(), count(sites)), command("pywb"));
    let file = Commented(File { default_filters: Filters { url_normalize: pairs } }, heading);
    let options = serde_saphyr::ser_options! {
        prefer_block_scalars: false,
        compact_list_indent: false,
        comment_position: CommentPosition::Above,
    };
    serde_saphyr::to_string_with_options(&file, options).expect("strings in lists have a form in YAML")
}

/// `rules.yaml`, as far as it is written here.
#[derive(Serialize)]
struct File {
    default_filters: Filters,
}

#[derive(Serialize)]
struct Filters {
    url_normalize: Vec<Entry>,
}

/// The first rewrite of a rule has a comment that tells of the rule.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    First(Commented<Pair>),
    Next(Pair),
}

#[derive(Serialize)]
struct Pair {
    r#match: String,
    replace: String,
}
