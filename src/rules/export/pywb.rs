//! `default_filters: url_normalize` of pywb's `rules.yaml`: pairs of a Python regular expression and a
//! replacement, each applied in turn (`re.sub`) to the requested key and to those of the index; equal
//! results are the same page.
//!
//! Keys are in SURT form: pywb has lower-cased them, sorted their parameters, and taken off scheme,
//! `www.`, trailing slash and fragment. So these need no rule, and the names and values of rules are
//! written in lower case. Escapes are decoded in keys: a rule for a character that URLs in normal form
//! hold only as an escape, which undust never applies, would act in pywb. Such rules are left out.

use super::comments::{about, comment, commented};
use super::context::Context;
use super::pattern::{Engine, Space};
use super::rewrite;
use super::rewritten::Rewrite;
use super::site::Site;
use crate::rules::types::{Rule, SECTION};
use crate::url::NormalUrl;
use crate::url::segment::KNOWN_EXTENSIONS;
use serde::Serialize;
use serde_saphyr::{CommentPosition, Commented};
use std::collections::BTreeMap;

/// The rewrites of a rule, over keys.
pub fn of(context: &Context<'_>, at: usize) -> Result<Vec<Rewrite>, String> {
    let rule = context.rule(at);
    match never_held(rule) {
        Some(text) => Err(format!("no URL in normal form holds {text:?}, and keys, which are unescaped, may")),
        None => rewrite::in_space(context, at, Space::Surt),
    }
}

/// The first name or value of a rule that no URL in normal form holds.
fn never_held(rule: &Rule) -> Option<String> {
    let mut texts: Vec<(bool, String)> = Vec::new();
    let mut rule = rule.clone();
    rule.for_each_value(|key, value| {
        if key != SECTION {
            texts.push((key.starts_with("query "), value.clone()));
        }
    });
    let keys = rule.scope.iter().map(|constraint| &constraint.key).chain(rule.operations.iter().map(|(key, _)| key));
    texts.extend(keys.filter_map(|key| key.strip_prefix("query ")).map(|name| (true, name.to_owned())));
    let is_held = |(in_query, text): &(bool, String)| {
        let url = format!("http://a/{}{text}", if *in_query { "?" } else { "x" });
        NormalUrl::new(url.as_bytes()).is_ok_and(|normal| normal.as_str() == url)
    };
    texts.into_iter().find(|text| !is_held(text)).map(|(_, text)| text)
}

/// The file.
pub fn text(sites: &[Site<'_, Vec<Rewrite>>], head: &[String]) -> String {
    let (mut pairs, mut patterns) = (Vec::new(), BTreeMap::<String, usize>::new());
    for site in sites {
        for written in &site.rules {
            let mut about = Some(comment(&about(site.site, written.rule)));
            for rewrite in &written.form {
                let replace = rewrite
                    .replacement(|n| format!("\\g<{n}>"), |text| text.to_ascii_lowercase().replace('\\', "\\\\"));
                let mut pattern = Engine::Python.pattern(&rewrite.pattern);
                let times = patterns.entry(pattern.clone()).or_default();
                *times += 1;
                if *times > 1 {
                    // pywb keeps the result of a pattern for a key, so that the same one would do nothing a second
                    // time.
                    pattern.push_str(&format!("(?#{times})"));
                }
                let pair = Pair { r#match: pattern, replace };
                pairs.push(match about.take() {
                    Some(about) => Entry::First(Commented(pair, about)),
                    None => Entry::Next(pair),
                });
            }
        }
    }
    let filters = Filters { fuzzy_search_limit: "100", not_exts: not_exts(), mimes: [], url_normalize: pairs };
    let every = Every { url_prefix: "", fuzzy_lookup: Lookup { r#match: "()" } };
    let options = serde_saphyr::ser_options! {
        prefer_block_scalars: false,
        compact_list_indent: false,
        comment_position: CommentPosition::Above,
    };
    let file = File { default_filters: filters, rules: [every] };
    let mut out = commented(head, "pywb");
    out.push_str(NOTES);
    out + &serde_saphyr::to_string_with_options(&file, options).expect("strings in lists have a form in YAML")
}

/// Notes for an archive, after the head.
const NOTES: &str = "\
# A whole rules.yaml: `rules_file: rules.yaml` in config.yaml of pywb. pywb's own file has more rules, for the pages of
# some services: to keep them, copy url_normalize into a copy of that file.
# pywb applies them where it has no capture of the URL, to captures of URLs that begin with its part before the query: so
# rules that change the path find nothing. Two URLs whose keys are made the same are one page to it.
# Keys have no scheme, user information, www., trailing slash and fragment, are in lower case and unescaped, and sorted by
# parameter: to pywb URLs that differ in these alone are one, with rules or without. Ports and hosts count.
# not_exts: for files with other extensions pywb leaves out the whole query, rules or not. More here than in pywb's file.
";

/// Extensions whose queries pywb must not drop: undust's own list, and those that pywb's own file
/// lists.
fn not_exts() -> Vec<&'static str> {
    let mut out: Vec<&str> = KNOWN_EXTENSIONS.iter().copied().chain(["exe", "dll"]).collect();
    out.sort_unstable();
    out
}

/// Part of `rules.yaml` that is written here.
#[derive(Serialize)]
struct File {
    default_filters: Filters,
    rules: [Every; 1],
}

/// The rule that makes pywb search captures of other URLs; without it no filter runs.
#[derive(Serialize)]
struct Every {
    url_prefix: &'static str,
    fuzzy_lookup: Lookup,
}

#[derive(Serialize)]
struct Lookup {
    r#match: &'static str,
}

#[derive(Serialize)]
struct Filters {
    /// Most captures that pywb reads.
    fuzzy_search_limit: &'static str,
    not_exts: Vec<&'static str>,
    /// Media types whose queries pywb drops.
    mimes: [&'static str; 0],
    url_normalize: Vec<Entry>,
}

/// The first rewrite of a rule has a comment about the rule.
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
        // The name of a section is no text of a URL.
        for (key, value, name) in [
            ("section", "<other>", "a"),
            ("path0", "a", "s[]"),
            ("query a=", "{}`", "a{"),
            ("host", "www.a.example", "%22"),
        ] {
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
