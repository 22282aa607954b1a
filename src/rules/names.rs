//! Names of a site that a rule set keeps beside its program: its name, and the ids of its rules.

use super::types::SiteRules;
use serde::{Deserialize, Serialize};

/// Name and ids of a site in one piece of memory.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Names {
    /// The name; then the ids, each behind a line feed, and that of a provisional rule behind a tab, too.
    pub(super) text: Box<str>,
    /// Bytes of the name.
    pub(super) site: u32,
}

impl Names {
    pub(super) fn of(site: &SiteRules) -> Names {
        let ids = site.rules.iter().flat_map(|rule| [if rule.provisional { "\n\t" } else { "\n" }, &rule.id]);
        let text: String = std::iter::once(site.site.as_str()).chain(ids).collect();
        Names { text: text.into(), site: site.site.len() as u32 }
    }

    pub(super) fn site(&self) -> &str {
        self.text.get(..self.site as usize).unwrap_or_default()
    }

    /// The id of a rule; empty where there is no such rule.
    pub(super) fn id(&self, rule: u16) -> &str {
        let ids = self.text.get(self.site as usize..).unwrap_or_default();
        ids.split('\n').nth(usize::from(rule) + 1).unwrap_or_default().trim_start_matches('\t')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::types::Rule;

    #[test]
    fn ids_come_back_as_they_were() {
        // More rules than a byte counts.
        let many: Vec<String> = (0..300).map(|n| format!("{n:016x}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for ids in [&["59ffc32d160110b6", "0000000000000000"][..], &["mine", "", "+9ffc32d160110b6"], &[], &many] {
            let rules = ids.iter().map(|id| Rule::of(id, Vec::new(), Vec::new())).collect();
            let names = Names::of(&SiteRules { site: "a.example".into(), rules, ..SiteRules::default() });
            assert_eq!(names.site(), "a.example");
            for (id, at) in ids.iter().chain([&""]).zip(0..) {
                assert_eq!(names.id(at), *id);
            }
        }
    }
}
