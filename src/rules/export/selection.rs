//! Selection of the rules that are exported, and the result of an export.

use super::kept::Kept;
use super::left_out::LeftOut;
use crate::rules::types::SiteRules;

/// A system that rules can be written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `regex-normalize.xml` of Apache Nutch, also read by StormCrawler.
    Nutch,
    /// `rules.yaml` of pywb: `url_normalize`, on keys in SURT form.
    Pywb,
    /// Provider JSON of ClearURLs.
    ClearUrls,
    /// `Clean-param` lines of robots.txt.
    YandexCleanParam,
    /// `map` blocks of nginx.
    Nginx,
    /// `RegexRule` beans of Heritrix 3.
    Heritrix,
    /// Ordered rules with their scopes in JSON, for programs (`docs/json-rules.md`).
    JsonRules,
    /// A table of all rules, for people and spreadsheets. Of look-ups and exceptions it has the number.
    Csv,
}

/// Selection of the sites and the target of an export.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'s> {
    /// The system.
    pub target: Target,
    /// Names of the sites; none for all.
    pub only: &'s [String],
    /// URLs on which the kept share is counted; without them rules and tables are.
    pub urls: Option<&'s [Box<[u8]>]>,
}

/// Result of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The file.
    pub text: String,
    /// Rules in it.
    pub rules: u64,
    /// Rules left out, in the order of the rule file.
    pub left_out: Vec<LeftOut>,
    /// What it keeps.
    pub kept: Kept,
}

impl Selection<'_> {
    pub(super) fn has(&self, site: &SiteRules) -> bool {
        self.only.is_empty() || self.only.contains(&site.site)
    }

    /// What of the rules of `sites` is exported.
    pub(super) fn kept(&self, sites: &[SiteRules], left_out: &[LeftOut]) -> Kept {
        match self.urls {
            Some(urls) => {
                let is_exact = self.target == Target::JsonRules;
                Kept::on_urls(sites, |site| self.has(site), left_out, is_exact, urls)
            }
            None => Kept::by_counts(sites.iter().filter(|site| self.has(site)), left_out),
        }
    }
}
