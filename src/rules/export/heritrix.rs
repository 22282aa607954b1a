//! `RegexRule` beans of Heritrix 3 in a `RulesCanonicalizationPolicy`: each rule whose regex matches the whole URL
//! replaces it by its format. Heritrix uses what comes out to know a URL again, and fetches the URL as found.

use super::nutch::{comment, escape};
use super::{Rewrite, Site, about, count, heading};

/// The file.
pub fn text(sites: &[Site<'_, Vec<Rewrite>>]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!("<!-- {} -->\n", comment(&heading(sites.len(), count(sites), "heritrix"))));
    out.push_str(
        "<beans xmlns=\"http://www.springframework.org/schema/beans\"\n       \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"\n       \
         xsi:schemaLocation=\"http://www.springframework.org/schema/beans \
         http://www.springframework.org/schema/beans/spring-beans.xsd\">\n  \
         <bean id=\"undustCanonicalizationPolicy\" \
         class=\"org.archive.modules.canonicalize.RulesCanonicalizationPolicy\">\n    \
         <property name=\"rules\">\n      <list>\n",
    );
    for site in sites {
        for written in &site.rules {
            out.push_str(&format!("        <!-- {} -->\n", comment(&about(site.site, written.rule))));
            for rewrite in &written.form {
                out.push_str(&format!(
                    "        <bean class=\"org.archive.modules.canonicalize.RegexRule\">\n          \
                     <property name=\"regex\" value=\"{}\"/>\n          \
                     <property name=\"format\" value=\"{}\"/>\n        </bean>\n",
                    escape(&rewrite.pattern),
                    escape(&rewrite.java_replacement())
                ));
            }
        }
    }
    out + "      </list>\n    </property>\n  </bean>\n</beans>\n"
}
