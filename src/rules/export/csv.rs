//! A table of all rules (RFC 4180), with their evidence; nothing is left out.

use super::Export;
use crate::rules::explain::{constraint_text, operation_text};
use crate::rules::types::SiteRules;

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
pub fn export(sites: &[SiteRules]) -> Export {
    let mut out = Export { text: HEAD.join(",") + "\r\n", ..Export::default() };
    for site in sites {
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
            out.text.push_str(&fields.map(|field| quoted(&field)).join(","));
            out.text.push_str("\r\n");
            out.rules += 1;
        }
    }
    out
}

/// A field; in quotes where it needs them. One that a spreadsheet would take for a formula gets a quote mark before it:
/// URLs and names are other people's text.
fn quoted(field: &str) -> String {
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let field = if formula { format!("'{field}") } else { field.to_owned() };
    match field.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}
