//! A table of all rules (RFC 4180), with their evidence, for people and spreadsheets. Of look-ups, value
//! ranges and exceptions of a site it has the number, in a row behind the rules of the site. Hidden
//! characters are shown as escapes, and no cell is a formula: URLs and names are untrusted text.

use super::kept::counted;
use super::left_out::LeftOut;
use super::selection::{Export, Selection};
use crate::model::shown::cell;
use crate::rules::explain::operation_text;
use crate::rules::overrides::LOOK_UPS;
use crate::rules::types::SiteRules;
use crate::rules::wording::constraint_text;
use csv::{Terminator, WriterBuilder};

const HEAD: [&str; 16] = [
    "site",
    "order",
    "id",
    "kind",
    "scope",
    "operations",
    "closed",
    "good",
    "bad",
    "prior",
    "upper_bound_ppm",
    "clusters",
    "support_pairs",
    "false_positive_pairs",
    "example",
    "same_page_as",
];

/// The file.
pub fn export(sites: &[SiteRules], selection: Selection<'_>) -> Export {
    let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let (mut rules, mut left_out) = (0, Vec::new());
    out.write_record(HEAD).expect("memory takes all");
    for site in sites.iter().filter(|site| selection.has(site)) {
        for (order, rule) in (1..).zip(&site.rules) {
            let scope: Vec<String> = rule.scope.iter().map(constraint_text).collect();
            let operations: Vec<String> = rule.operations.iter().map(|(key, op)| operation_text(key, op)).collect();
            let evidence = &rule.evidence;
            let [example, same] = evidence.examples.first().cloned().unwrap_or_default();
            let kind = serde_json::to_value(rule.kind).expect("a name");
            let fields = [
                site.site.clone(),
                order.to_string(),
                rule.id.clone(),
                kind.as_str().unwrap_or_default().to_owned(),
                scope.join(" and "),
                operations.join(", "),
                rule.closed.to_string(),
                evidence.good.to_string(),
                evidence.bad.to_string(),
                evidence.prior.to_string(),
                evidence.upper_bound_ppm.to_string(),
                evidence.clusters.to_string(),
                evidence.support_pairs.to_string(),
                evidence.false_positive_pairs.to_string(),
                example,
                same,
            ];
            out.write_record(fields.iter().map(|field| cell(field).into_owned())).expect("memory takes all");
            rules += 1;
        }
        left_out.extend(LeftOut::look_ups(site));
        if let Some(text) = not_listed(site) {
            let fields = [&site.site, "", LOOK_UPS, LOOK_UPS, "", &text];
            let fields = fields.into_iter().chain([""; HEAD.len() - 6]);
            out.write_record(fields.map(|field| cell(field).into_owned())).expect("memory takes all");
        }
    }
    let text = String::from_utf8(out.into_inner().expect("memory takes all")).expect("fields are text");
    let kept = selection.kept(sites, &left_out);
    Export { text, rules, left_out, kept }
}

/// Number of what a site has beside rules; `None` without any.
fn not_listed(site: &SiteRules) -> Option<String> {
    let value_ranges: usize = site.local.iter().map(|local| local.pages.len()).sum();
    let counts = [(site.aliases.len(), "look-up"), (value_ranges, "value range"), (site.exceptions.len(), "exception")];
    let texts: Vec<String> =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, of)| counted(count, of)).collect();
    (!texts.is_empty()).then(|| format!("not in this table: {}", texts.join(", ")))
}
