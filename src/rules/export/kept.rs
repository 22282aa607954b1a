//! Share of the rules that an export keeps, and the rules left out with reasons: the lines for people
//! at the head of every file.

use super::left_out::LeftOut;
use crate::model::hash64;
use crate::rules::overrides::{LOOK_UPS, Overrides};
use crate::rules::types::SiteRules;
use crate::rules::{RuleSet, Scratch};
use crate::url::NormalUrl;
use foldhash::fast::FixedState;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

type Hashes = HashSet<u64, FixedState>;

/// Reason of a rule that is left out and has no effect.
pub const NEVER_ACTS: &str = "it never acts";

/// Most reasons that the head of a file names.
const REASONS: usize = 8;

/// Counts of what an export keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Kept {
    /// Counted on URLs, in normal form and each once.
    Urls {
        /// URLs on origins of the exported sites.
        urls: u64,
        /// These less their distinct canonical URLs, with all rules of undust.
        saved: u64,
        /// These less their distinct canonical URLs, with the exported rules.
        kept: u64,
        /// URLs whose canonical URL is the one that undust gives them.
        own: u64,
        /// The shares are upper bounds: on some URLs the target acts where undust does but not wholly (see
        /// `docs/crawlers.md`).
        at_most: bool,
    },
    /// Number of rules and tables, where no URLs are given. No share of the savings: the merges of rules
    /// overlap, and those of tables are not known.
    Counts {
        /// Rules of the exported sites.
        rules: u64,
        /// Those that are exported, or never act.
        kept: u64,
        /// Sites with look-ups or value ranges.
        tables: u64,
        /// Those whose look-ups and value ranges are exported.
        kept_tables: u64,
    },
}

impl Kept {
    /// Counts of the rules and tables of these sites.
    pub fn by_counts<'s>(sites: impl Iterator<Item = &'s SiteRules>, left_out: &[LeftOut]) -> Kept {
        let (mut rules, mut tables) = (0, 0);
        for site in sites {
            rules += site.rules.len() as u64;
            tables += u64::from(!site.aliases.is_empty() || !site.local.is_empty());
        }
        let out = left_out.iter().filter(|entry| entry.reason != NEVER_ACTS);
        let (out_tables, out): (Vec<_>, Vec<_>) = out.partition(|entry| entry.rule == LOOK_UPS);
        Kept::Counts { rules, kept: rules - out.len() as u64, tables, kept_tables: tables - out_tables.len() as u64 }
    }

    /// Share by URLs. All sites must be given, since an origin that two of them have belongs to none;
    /// `is_exported` selects the sites that count. `is_exact`: what is not left out acts in the target as in
    /// undust. Time: each URL is canonicalized twice; memory: 24 bytes a URL.
    pub fn on_urls(
        sites: &[SiteRules],
        is_exported: impl Fn(&SiteRules) -> bool,
        left_out: &[LeftOut],
        is_exact: bool,
        urls: &[Box<[u8]>],
    ) -> Kept {
        let mut overrides = Overrides::default();
        for entry in left_out {
            overrides.disable(&entry.site, &entry.rule, &entry.reason);
        }
        let mut exported = sites.to_vec();
        overrides.apply(&mut exported);
        // No target has rules for unseen hosts.
        exported.iter_mut().flat_map(|site| &mut site.rules).for_each(|rule| rule.extended = false);
        let (all, some) = (RuleSet::new(sites.to_vec()), RuleSet::new(exported));
        let (mut one, mut other) = (Scratch::default(), Scratch::default());
        let [mut known, mut canonical, mut made] = [(); 3].map(|()| Hashes::default());
        let mut own = 0;
        for url in urls.iter().filter_map(|url| NormalUrl::new(url).ok()) {
            let meant = all.apply(url.as_bytes(), None, &mut one);
            let counts = meant.site.is_some_and(|site| is_exported(&sites[site as usize]));
            if !counts || !known.insert(hash64(url.as_bytes())) {
                continue;
            }
            let found = some.apply(url.as_bytes(), None, &mut other);
            own += u64::from(found.url == meant.url);
            canonical.insert(hash64(meant.url));
            made.insert(hash64(found.url));
        }
        let urls = known.len() as u64;
        // A later rule may act on what one that is left out would have changed.
        let at_most = !is_exact || left_out.iter().any(|entry| entry.reason != NEVER_ACTS);
        Kept::Urls { urls, saved: urls - canonical.len() as u64, kept: urls - made.len() as u64, own, at_most }
    }

    /// In words, for the head of a file and the terminal.
    pub fn text(&self) -> String {
        match *self {
            Kept::Urls { urls, saved, kept, own, at_most } => {
                let most = if at_most { "at most " } else { "" };
                format!(
                    "Keeps {most}{} of what undust saves ({kept} of {saved} fetches), and undust's own canonical URL for \
                     {most}{} of {urls} URLs.",
                    percent(kept, saved),
                    percent(own, urls)
                )
            }
            Kept::Counts { rules, kept, tables, kept_tables } => format!(
                "Keeps {kept} of {}, and {kept_tables} of {} of look-ups and value ranges; what that keeps of the saving was \
                 not counted (--urls FILE counts it).",
                counted(rules as usize, "rule"),
                counted(tables as usize, "table")
            ),
        }
    }
}

/// A share in percent, rounded down to a tenth, so that only all is 100; 100 for 0 of 0.
fn percent(part: u64, whole: u64) -> String {
    let permille = (part * 1000).checked_div(whole).unwrap_or(1000);
    format!("{}.{} %", permille / 10, permille % 10)
}

/// How much was left out of `all` rules and tables, by reason, most frequent first.
pub fn left_out_lines(left_out: &[LeftOut]) -> Vec<String> {
    let rules = left_out.iter().filter(|entry| entry.rule != LOOK_UPS).count();
    let tables = left_out.len() - rules;
    let mut out = Vec::new();
    if !left_out.is_empty() {
        out.push(format!("Left out: {} and {}.", counted(rules, "rule"), counted(tables, "table")));
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in left_out {
        *reasons.entry(&entry.reason).or_default() += 1;
    }
    let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|&(_, count)| Reverse(count));
    out.extend(reasons.iter().take(REASONS).map(|(reason, count)| format!("- {count}: {reason}")));
    if let Some(more) = reasons.len().checked_sub(REASONS).filter(|more| *more > 0) {
        out.push(format!("- and {} more (--left-out FILE lists all)", counted(more, "reason")));
    }
    out
}

/// A number with its noun in the singular or plural.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_is_a_hundred_percent() {
        for (part, whole, text) in [(0, 0, "100.0 %"), (1999, 2000, "99.9 %"), (1, 3, "33.3 %"), (7, 7, "100.0 %")] {
            assert_eq!(percent(part, whole), text);
        }
    }

    #[test]
    fn reasons_are_counted_and_the_frequent_ones_come_first() {
        let entry = |rule: &str, reason: &str| LeftOut {
            site: "s".into(),
            rule: rule.into(),
            text: String::new(),
            reason: reason.into(),
        };
        let left_out = [entry("1", "a"), entry("2", "b"), entry("3", "b"), entry(LOOK_UPS, "tables")];
        let lines = ["Left out: 3 rules and 1 table.", "- 2: b", "- 1: a", "- 1: tables"];
        assert_eq!(left_out_lines(&left_out), lines);
        assert!(left_out_lines(&[]).is_empty());
        let many: Vec<LeftOut> = (0..10).map(|n| entry("1", &format!("reason {n}"))).collect();
        assert_eq!(left_out_lines(&many).last().unwrap(), "- and 2 reasons more (--left-out FILE lists all)");
    }
}
