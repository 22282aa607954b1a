//! `default_filters: url_normalize` of pywb's `rules.yaml`: pairs of a Python regular expression and a replacement, each
//! applied in turn (`re.sub`) to the key of the URL asked for and to those of the index, which are the same page where
//! they come out the same.
//!
//! Keys are in SURT form: pywb has lower-cased them, sorted their parameters, and taken off scheme, `www.`, trailing
//! slash and fragment. So these need no rule, and the names and values of rules are written in lower case. Escapes are
//! decoded in keys: a rule for a character that URLs in normal form hold only as an escape, which undust never applies,
//! would act in pywb. Such rules are left out.

use super::pattern::{Engine, Space};
use super::{Context, Rewrite, Site, about, command, comment, count, heading, rewrite};
use crate::rules::types::Rule;
use crate::url::NormalUrl;
use serde::Serialize;
use serde_saphyr::{CommentPosition, Commented};

/// The rewrites of a rule, over keys.
pub fn of(context: &Context<'_>, rule: &Rule) -> Result<Vec<Rewrite>, String> {
    match never_held(rule) {
        Some(text) => Err(format!("no URL in normal form holds {text:?}, and keys, which are unescaped, may")),
        None => rewrite::in_space(context, rule, Space::Surt),
    }
}

/// The first name or value of a rule that no URL in normal form holds.
fn never_held(rule: &Rule) -> Option<String> {
    let mut texts: Vec<(bool, String)> = Vec::new();
    let mut rule = rule.clone();
    rule.for_each_value(|key, value| texts.push((key.starts_with("query "), value.clone())));
    let keys = rule.scope.iter().map(|constraint| &constraint.key).chain(rule.operations.iter().map(|(key, _)| key));
    texts.extend(keys.filter_map(|key| key.strip_prefix("query ")).map(|name| (true, name.to_owned())));
    let is_held = |(in_query, text): &(bool, String)| {
        let url = format!("http://a/{}{text}", if *in_query { "?" } else { "x" });
        NormalUrl::new(url.as_bytes()).is_ok_and(|normal| normal.as_str() == url)
    };
    texts.into_iter().find(|text| !is_held(text)).map(|(_, text)| text)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::types::{Constraint, Operation, Representative, Test};

    #[test]
    fn texts_that_no_url_holds_are_found() {
        let rule = |key: &str, value: &str, name: &str| {
            let scope = vec![Constraint { key: key.into(), test: Test::Equals(value.into()) }];
            Rule::of("", scope, vec![(format!("query {name}="), Operation::Ignore(Representative::LeftOut))])
        };
        for (key, value, name) in [("path0", "a", "s[]"), ("query a=", "{}`", "a{"), ("host", "www.a.example", "%22")] {
            assert_eq!(never_held(&rule(key, value, name)), None, "{key} {value} {name}");
        }
        for (key, value, name, found) in [
            ("path0", "{", "a", "{"),
            ("query a=", "\"", "a", "\""),
            ("query a<=", "b", "a", "a<="),
            ("path0", "a", "b c", "b c="),
            ("path0", "%7E", "a", "%7E"),
            ("path0", "a", "\n", "\n="),
        ] {
            assert_eq!(never_held(&rule(key, value, name)).as_deref(), Some(found), "{key} {value} {name}");
        }
    }
}
