//! A table of all rules (RFC 4180), with their evidence, for people and spreadsheets; nothing is left
//! out. Hidden characters are shown as escapes, and no cell is a formula: URLs and names are untrusted
//! text.

use super::selection::{Export, Selection};
use crate::model::shown::cell;
use crate::rules::explain::operation_text;
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
    let mut rules = 0;
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
    }
    let text = String::from_utf8(out.into_inner().expect("memory takes all")).expect("fields are text");
    Export { text, rules, left_out: Vec::new(), kept: selection.kept(sites, &[]) }
}
