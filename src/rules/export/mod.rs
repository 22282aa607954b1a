//! Rules for other systems.
//!
//! A rule becomes a short list of [`Rewrite`]s: a regular expression over the whole URL, and what it is
//! replaced with. Each is anchored to the hosts of its site, carries the scope of its rule as
//! look-aheads, and acts once; together, in order, they are the rule. They are written in the part of
//! the language that Java, Python and PCRE share, and read the normal form of a URL (RFC 3986,
//! sections 6.2.2 and 6.2.3), which every one of these systems makes by itself.
//!
//! A rule that a target cannot express is left out and listed with its reason: never approximated into
//! a wider rule. Narrower than undust, on purpose: only hosts that the rules name; URLs with more than
//! 64 parameters, with a repeat of a parameter beyond the third, with 23 path segments or more, or, for
//! rules on parts of the path, with path parameters are left as they are.
//!
//! | module | contents |
//! |---|---|
//! | [`pattern`] | constraints of a scope as look-aheads |
//! | [`rewrite`] | operations of an open rule as rewrites |
//! | [`closed`] | a rule between forms as one rewrite |
//! | [`context`] | the rules of a site that a target gets |
//! | [`dependencies`] | dependencies between rules |
//! | [`kept`] | what an export keeps |
//! | [`xml`] | common parts of nutch and heritrix |
//! | the others | one format each |

mod clearurls;
mod closed;
mod comments;
mod context;
mod csv;
mod dependencies;
mod heritrix;
mod json_rules;
mod kept;
mod left_out;
mod nginx;
mod nutch;
mod pattern;
mod pywb;
mod rewrite;
mod rewritten;
mod selection;
mod site;
mod xml;
mod yandex;

use super::types::SiteRules;
use comments::head;
use context::{Context, HostIndex};
pub use kept::Kept;
pub use left_out::LeftOut;
use pattern::Space;
pub use rewritten::{Piece, Rewrite};
pub use selection::{Export, Selection, Target};
use site::{Site, Written, count};

/// Writes the rules of `sites` (sorted by site, as a rule file is) for `target`. Pure; the same rules
/// give the same text.
///
/// Keys and values are written as URLs in normal form have them, except in the table, which shows those
/// of the rule file.
pub fn export(sites: &[SiteRules], target: Target) -> Export {
    export_some(sites, Selection { target, only: &[], urls: None })
}

/// Writes the rules of some of `sites`, as [`export`] does. All sites are needed, since an origin that
/// two of them have is left alone.
pub fn export_some(sites: &[SiteRules], selection: Selection<'_>) -> Export {
    if selection.target == Target::Csv {
        return csv::export(sites, selection);
    }
    let ascii: Vec<SiteRules> = sites.iter().cloned().map(SiteRules::into_ascii).collect();
    match selection.target {
        Target::Nutch => rewrites(&ascii, selection, nutch::of, nutch::text),
        Target::Heritrix => rewrites(&ascii, selection, nutch::of, heritrix::text),
        Target::Nginx => rewrites(&ascii, selection, nginx::of, nginx::text),
        Target::Pywb => rewrites(&ascii, selection, pywb::of, pywb::text),
        Target::ClearUrls => rewrites(&ascii, selection, clearurls::of, clearurls::text),
        Target::YandexCleanParam => rewrites(&ascii, selection, yandex::of, yandex::text),
        Target::JsonRules => json_rules::export(&ascii, selection),
        Target::Csv => unreachable!("returned above"),
    }
}

/// Writes each rule, by its place in the site, with `one` and the file with `all`; rules that `one`
/// refuses are left out, and so are the rules that [need](dependencies::needs) them.
fn rewrites<'a, T>(
    sites: &'a [SiteRules],
    selection: Selection<'_>,
    one: impl Fn(&Context<'a>, usize) -> Result<T, String>,
    all: impl Fn(&[Site<'a, T>], &[String]) -> String,
) -> Export {
    let (mut left_out, mut written) = (Vec::new(), Vec::new());
    let host_index = HostIndex::of(sites, if selection.target == Target::Pywb { Space::Surt } else { Space::Url });
    for site in sites.iter().filter(|site| selection.has(site)) {
        let context = Context { site, origins: host_index.own(site) };
        let mut rules = Vec::new();
        for (rule, form) in site.rules.iter().zip(context.forms(&one)) {
            match form {
                Ok(form) => rules.push(Written { rule, form }),
                Err(reason) => left_out.push(LeftOut::of(site, rule, reason)),
            }
        }
        left_out.extend(LeftOut::look_ups(site));
        if !rules.is_empty() {
            written.push(Site { site, origins: context.origins, rules });
        }
    }
    let kept = selection.kept(sites, &left_out);
    let rules = count(&written) as u64;
    let head = head(written.len(), rules, &kept, &left_out);
    Export { text: all(&written, &head), rules, left_out, kept }
}

/// The rewrites that Nutch, StormCrawler and Heritrix get for each rule of a site that shares no
/// origin; `None` where it is left out.
#[cfg(test)]
pub(super) fn rewrites_of(site: &SiteRules) -> Vec<Option<Vec<Rewrite>>> {
    let context = Context { site, origins: site.origins.iter().map(String::as_str).collect() };
    context.forms(|context, at| nutch::of(context, at)).into_iter().map(Result::ok).collect()
}
