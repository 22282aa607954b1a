//! The rules of a site: plain words, examples, evidence, risk, and the command that switches a rule
//! off.

use super::words::sentence;
use super::{OneSite, Run};
use crate::report::escape::html as escaped;
use crate::report::frame::pairs;
use crate::report::text::{brief, count, many, percent};
use crate::rules::explain::pattern_text;
use crate::rules::stops::bad_until_withdrawn;
use crate::rules::{Evidence, Kind, Rule, RuleSet, Scratch, SiteRules};
use crate::url::NormalUrl;
use std::cmp::Reverse;
use std::fmt::Write as _;

/// Examples of a rule.
const EXAMPLES: usize = 3;
/// Rules before the others, which open.
const FIRST: usize = 10;

/// The list, at most `shown` of them, those that move most URLs first.
pub(super) fn list(out: &mut String, run: Run<'_>, site: &OneSite<'_>, at: usize, shown: usize) {
    let Some(rules) = site.rules.filter(|site| !site.rules.is_empty()) else {
        let _ = write!(out, "<p id=rules-{at}>No rule: every URL gets its normal form only.</p>");
        return;
    };
    let mut order: Vec<&Rule> = rules.rules.iter().collect();
    order.sort_by_key(|rule| Reverse(rule.evidence.good));
    let more = order.len().saturating_sub(shown);
    order.truncate(shown);
    let acting = acting(run, rules);
    let mut scratch = Scratch::default();
    let _ = write!(
        out,
        "<h4 id=rules-{at}>Rules</h4><p class=note>Those that move most URLs first.{}</p>",
        match order.iter().any(|rule| !rule.evidence.examples.is_empty()) {
            true => " Examples: a URL, and what all rules of the site make of it.",
            false => "",
        }
    );
    let (first, rest) = order.split_at(FIRST.min(order.len()));
    out.push_str("<ol class=rules>");
    first.iter().for_each(|rule| one(out, run, site, &acting, &mut scratch, rule));
    out.push_str("</ol>");
    if !rest.is_empty() {
        let _ = write!(
            out,
            "<details><summary>{}</summary><ol class=rules start={}>",
            many(rest.len() as u64, "more rule"),
            FIRST + 1
        );
        rest.iter().for_each(|rule| one(out, run, site, &acting, &mut scratch, rule));
        out.push_str("</ol></details>");
    }
    if more > 0 {
        let _ = write!(
            out,
            "<p class=note>{} in the file: <code>undust rules list --rules . --per-site 0</code></p>",
            many(more as u64, "more rule")
        );
    }
}

/// One rule of the list.
fn one(out: &mut String, run: Run<'_>, site: &OneSite<'_>, acting: &RuleSet, scratch: &mut Scratch, rule: &Rule) {
    let _ = write!(out, "<li><p class=words>{}</p>", escaped(&sentence(rule)));
    if let Some(reason) = run.overrides.reason(site.name, &rule.id) {
        let _ = write!(out, "<p class=\"note wrong\">Disabled: {}</p>", escaped(&brief(reason)));
    }
    let examples = examples(acting, scratch, rule);
    if !examples.is_empty() {
        pairs(out, examples.iter().map(|[before, after]| (before.as_str(), after.as_str())), "→");
    }
    let _ = write!(
        out,
        "<div class=evidence>{} {}</div><div class=evidence><code>{}</code></div><code class=command>undust rules disable \
         --rules . {} --reason WHY</code></li>",
        escaped(&evidence(&rule.evidence)),
        escaped(&risk(rule)),
        escaped(&brief(&pattern_text(rule))),
        escaped(&rule.id)
    );
}

/// The rules that act, without what is known of single pages.
fn acting(run: Run<'_>, site: &SiteRules) -> RuleSet {
    let mut sites = [SiteRules {
        site: site.site.clone(),
        origins: site.origins.clone(),
        tokens: site.tokens.clone(),
        rules: site.rules.clone(),
        ..SiteRules::default()
    }];
    run.overrides.apply(&mut sites);
    RuleSet::new(sites.into())
}

/// URLs of the evidence that the rules change, and their canonical URLs; of each pair the one on which
/// the rule fires.
fn examples(rules: &RuleSet, scratch: &mut Scratch, rule: &Rule) -> Vec<[String; 2]> {
    let own = rules.sites().first().and_then(|site| site.rules.iter().position(|of| of.id == rule.id));
    let mut after = |before: &String, wants_own: bool| {
        let url = NormalUrl::new(before.as_bytes()).ok()?;
        let applied = rules.apply_normal(url.by_ref(), Some(0), scratch);
        let fires = !wants_own || own.is_some_and(|own| applied.fired.iter().any(|of| usize::from(of) == own));
        let after = String::from_utf8_lossy(applied.url).into_owned();
        (fires && after != *before).then(|| [before.clone(), after])
    };
    let changed = rule.evidence.examples.iter().filter_map(|[one, other]| {
        [(one, true), (other, true), (one, false), (other, false)].iter().find_map(|(url, own)| after(url, *own))
    });
    changed.take(EXAMPLES).collect()
}

fn evidence(evidence: &Evidence) -> String {
    let Evidence { good, bad, clusters, upper_bound_ppm, .. } = evidence;
    if (*good, *bad) == (0, 0) {
        return "No URL with a label shows that it is right, or wrong.".to_owned();
    }
    format!(
        "{} merged rightly, {} wrongly, on {}; at most {} wrong.",
        many(*good, "URL"),
        count(*bad),
        many(*clusters, "page"),
        percent(u64::from(*upper_bound_ppm))
    )
}

fn risk(rule: &Rule) -> String {
    if rule.provisional {
        return "Risk: it acts on the word of the catalogue of platforms alone.".to_owned();
    }
    match bad_until_withdrawn(&rule.evidence, matches!(rule.kind, Kind::Form | Kind::Mirror)) {
        0 => {
            "Risk: it rests on few URLs, on one page, or on its name; one URL of another page withdraws it.".to_owned()
        }
        1 => "Risk: one more URL of another page withdraws it.".to_owned(),
        more => format!("Risk: {} of other pages would withdraw it.", many(more, "more URL")),
    }
}
