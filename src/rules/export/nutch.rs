//! `regex-normalize.xml` of Apache Nutch's `urlnormalizer-regex`, which StormCrawler's `RegexURLNormalizer` reads too:
//! a list of patterns, each replaced in turn by a substitution (`Matcher.replaceAll`). Let `urlnormalizer-basic` run
//! before it.

use super::pattern::Engine;
use super::xml::{Document, carries};
use super::{Context, Rewrite, Site, about, count, heading, rewrite};
use crate::rules::types::Rule;

/// The rewrites of a rule, as an XML file can hold them.
pub fn of(context: &Context<'_>, rule: &Rule) -> Result<Vec<Rewrite>, String> {
    carries(rewrite::of(context, rule)?)
}

/// The file.
pub fn text(sites: &[Site<'_, Vec<Rewrite>>]) -> String {
    let mut out = Document::new(&heading(sites.len(), count(sites)), "nutch");
    out.open("regex-normalize", &[]);
    for site in sites {
        for written in &site.rules {
            out.comment(&about(site.site, written.rule));
            for rewrite in &written.form {
                out.open("regex", &[]);
                out.text("pattern", &Engine::Java.pattern(&rewrite.pattern));
                out.text("substitution", &rewrite.java_replacement());
                out.close("regex");
            }
        }
    }
    out.close("regex-normalize");
    out.finish()
}
