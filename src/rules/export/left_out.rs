//! Rules that a format cannot express.

use crate::rules::explain::pattern_text;
use crate::rules::overrides::{LOOK_UPS, Override};
use crate::rules::types::{Constraint, Rule, SiteRules};
use crate::rules::wording::constraint_text;

/// A rule that the target cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The site.
    pub site: String,
    /// Id of the rule, or [`LOOK_UPS`].
    pub rule: String,
    /// The rule in readable form.
    pub text: String,
    /// Reason.
    pub reason: String,
}

impl LeftOut {
    pub(super) fn of(site: &SiteRules, rule: &Rule, reason: String) -> LeftOut {
        LeftOut { site: site.site.clone(), rule: rule.id.clone(), text: pattern_text(rule), reason }
    }

    /// An entry for the tables of a site, where it has some.
    pub(super) fn look_ups(site: &SiteRules) -> Option<LeftOut> {
        let aliases = site.aliases.len();
        let value_ranges: usize = site.local.iter().map(|local| local.pages.len()).sum();
        (!site.aliases.is_empty() || !site.local.is_empty()).then(|| LeftOut {
            site: site.site.clone(),
            rule: LOOK_UPS.to_owned(),
            text: format!("{aliases} look-ups and {value_ranges} value ranges"),
            reason: "tables of single URLs, not rules".to_owned(),
        })
    }

    /// The override that disables it: a rule set with all of these acts as the export.
    pub fn as_override(&self) -> Override {
        Override { site: self.site.clone(), rule: self.rule.clone(), reason: format!("not exported: {}", self.reason) }
    }
}

/// The reason for a constraint that a target cannot express.
pub(super) fn no_constraint(constraint: &Constraint) -> String {
    format!("the condition that {}", constraint_text(constraint))
}
