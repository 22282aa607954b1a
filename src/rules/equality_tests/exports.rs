//! Compares what exports do to URLs with the reference interpreter, one random rule at a time.
//!
//! An exported rule does what the interpreter does, or leaves the URL as it is. The patterns of Nutch,
//! StormCrawler and Heritrix stand for all targets: `exports_read` shows that each file says what
//! was meant, `scripts/accept-exports` runs the systems themselves.

use super::{Random, generate, number};
use crate::rules::SiteRules;
use crate::rules::explain::Step;
use crate::rules::export::{Piece, Rewrite, rewrites_alone};
use crate::rules::interpreter::Interpreter;
use crate::url::NormalUrl;
use fancy_regex::Regex;

/// Random sites of the default run.
const SITES: u64 = 2_000;

/// What an exported rule made of URLs.
#[derive(Debug, Default)]
struct Found {
    /// As the interpreter, changed.
    changed: u64,
    /// As the interpreter, unchanged.
    kept: u64,
    /// The interpreter changes the URL, the export does not.
    narrower: u64,
    /// The interpreter gives the normal form back since an invariant does not hold.
    refused: u64,
    /// Anything else.
    differences: Vec<String>,
}

/// The URL after the rewrites, each where it matches.
fn rewritten(rewrites: &[(Regex, &Rewrite)], url: &str) -> String {
    let mut url = url.to_owned();
    for (pattern, rewrite) in rewrites {
        let Some(found) = pattern.captures(&url).expect("a pattern that ends") else { continue };
        let group = |number: u8| found.get(usize::from(number)).map_or("", |group| group.as_str());
        let piece = |piece: &Piece| match piece {
            Piece::Group(number) => group(*number).to_owned(),
            Piece::Text(text) => text.clone(),
        };
        url = rewrite.pieces.iter().map(piece).collect();
    }
    url
}

/// Compares one rule with its export on these URLs.
fn compare(site: &SiteRules, urls: &[NormalUrl], found: &mut Found) {
    let rewrites = rewrites_alone(site);
    if rewrites.is_empty() {
        return;
    }
    let compiled: Vec<(Regex, &Rewrite)> =
        rewrites.iter().map(|rewrite| (Regex::new(&rewrite.pattern).expect("a pattern"), rewrite)).collect();
    let interpreter = Interpreter::new(site);
    for url in urls {
        let meant = interpreter.canonicalize(url);
        let mut exported = rewritten(&compiled, url.as_str());
        // A fragment that is no key goes in undust, whatever the rule.
        if meant.steps.iter().any(|step| matches!(step, Step::Fragment { .. })) {
            exported.truncate(exported.find('#').unwrap_or(exported.len()));
        }
        let normal = match meant.steps.first() {
            Some(Step::Fragment { url }) => url.as_str(),
            _ => url.as_str(),
        };
        let changed = meant.url != normal.as_bytes();
        if meant.steps.iter().any(|step| matches!(step, Step::Refused { .. })) {
            found.refused += 1;
        } else if exported.as_bytes() == meant.url {
            *(if changed { &mut found.changed } else { &mut found.kept }) += 1;
        } else if exported == normal {
            found.narrower += 1;
        } else {
            let meant = String::from_utf8_lossy(&meant.url);
            let rule = crate::rules::explain::pattern_text(&site.rules[0]);
            found.differences.push(format!("{rule}\n  url {}\n  meant {meant}\n  exported {exported}", url.as_str()));
        }
    }
}

#[test]
fn an_exported_rule_is_the_rule_or_nothing() {
    let mut random = Random::new(number("UNDUST_EQUALITY_SEED", 1));
    let mut found = Found::default();
    for case in 0..number("UNDUST_EQUALITY_SITES", SITES) {
        let case = generate::case(&mut Random::new(random.next()), case);
        let urls: Vec<NormalUrl> = case.inputs.iter().filter_map(|input| NormalUrl::new(&input.url).ok()).collect();
        for site in &case.sites[..case.sites.len().min(3)] {
            for rule in &site.rules[..site.rules.len().min(8)] {
                let SiteRules { site, origins, tokens, .. } = site.clone();
                let alone = SiteRules { site, origins, tokens, rules: vec![rule.clone()], ..SiteRules::default() };
                compare(&alone, &urls, &mut found);
            }
        }
    }
    let differences = &found.differences[..found.differences.len().min(5)];
    let count = found.differences.len();
    assert!(differences.is_empty(), "{count} differences\n{}", differences.join("\n"));
    // Half of the random URLs are of kinds that exports leave alone: ports, semicolons, repeats.
    assert!(found.changed > 1_500 && found.narrower < 2 * found.changed, "too little was compared: {found:?}");
}
