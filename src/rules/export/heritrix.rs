//! `RegexRule` beans of Heritrix 3 in a `RulesCanonicalizationPolicy`: each rule whose regex matches
//! the whole URL replaces it by its format. Heritrix uses the result to recognize a URL, and fetches
//! the URL as found.

use super::comments::about;
use super::pattern::Engine;
use super::rewritten::Rewrite;
use super::site::Site;
use super::xml::Document;

/// The file.
pub fn text(sites: &[Site<'_, Vec<Rewrite>>], head: &[String]) -> String {
    let mut out = Document::new(head, "heritrix");
    let beans = "http://www.springframework.org/schema/beans";
    let schema = format!("{beans} {beans}/spring-beans.xsd");
    let instance = "http://www.w3.org/2001/XMLSchema-instance";
    out.open("beans", &[("xmlns", beans), ("xmlns:xsi", instance), ("xsi:schemaLocation", &schema)]);
    let policy = "org.archive.modules.canonicalize.RulesCanonicalizationPolicy";
    out.open("bean", &[("id", "undustCanonicalizationPolicy"), ("class", policy)]);
    out.open("property", &[("name", "rules")]);
    out.open("list", &[]);
    for site in sites {
        for written in &site.rules {
            out.comment(&about(site.site, written.rule));
            for rewrite in &written.form {
                out.open("bean", &[("class", "org.archive.modules.canonicalize.RegexRule")]);
                let (regex, format) = (Engine::Java.pattern(&rewrite.pattern), rewrite.java_replacement());
                out.empty("property", &[("name", "regex"), ("value", &regex)]);
                out.empty("property", &[("name", "format"), ("value", &format)]);
                out.close("bean");
            }
        }
    }
    ["list", "property", "bean", "beans"].into_iter().for_each(|name| out.close(name));
    out.finish()
}
