//! `regex-normalize.xml` of Apache Nutch's `urlnormalizer-regex`, which StormCrawler's
//! `RegexURLNormalizer` reads too: a list of patterns, each replaced in turn by a substitution
//! (`Matcher.replaceAll`). Let `urlnormalizer-basic` run before it.

use super::comments::about;
use super::context::Context;
use super::pattern::{Engine, NORMAL_FORM, Space};
use super::rewrite;
use super::rewritten::Rewrite;
use super::site::Site;
use super::xml::{Document, carries};

/// The rewrites of a rule, as an XML file can hold them. They skip URLs that are not in [normal
/// form](NORMAL_FORM), which the normalizer before them may not have made: patterns of other sites fail
/// before that test.
pub fn of(context: &Context<'_>, at: usize) -> Result<Vec<Rewrite>, String> {
    let front = Space::Url.front_of(&context.origins);
    let mut rewrites = rewrite::of(context, at)?;
    for Rewrite { pattern, .. } in &mut rewrites {
        pattern.insert_str(1, &format!("(?={front}){NORMAL_FORM}"));
    }
    carries(rewrites)
}

/// The file.
pub fn text(sites: &[Site<'_, Vec<Rewrite>>], head: &[String]) -> String {
    let mut out = Document::new(head, "nutch");
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
