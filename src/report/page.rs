//! One comparison or several as one HTML page: no network, no script, a policy that allows neither;
//! every word that comes from records is escaped ([`super::escape`]). Trees, rules and misses open and
//! close by `<details>`.

use super::charts::{Series, lines, style};
use super::escape::html as escaped;
use super::figures::{RECALL, micro, summaries};
use super::frame::{self, pairs};
use super::text::{brief, count, many};
use super::{costs, joined, precision, tables};
use crate::baselines::Name;
use crate::baselines::results::{Comparison, Protocol, Shown, Site, Times, TreeNode};
use crate::evaluate::{Rates, Summary};
use std::fmt::Write as _;

/// Heading of the page.
pub(super) const TITLE: &str = "Learned URL normalization: methods compared";

/// Sites that are shown one by one, those with most URLs.
const SHOWN_SITES: usize = 40;

/// A comparison of a page.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its counts.
    pub comparison: &'a Comparison,
    /// Its times, where they are known.
    pub times: Option<&'a Times>,
}

/// The page; tables of times only where there are any. Several parts begin with a table of all.
pub fn html(parts: &[Part<'_>]) -> String {
    let mut out = frame::begin("undust: comparison of methods");
    match parts {
        [part] => {
            head(&mut out, part.comparison);
            out.push_str("<main>");
            body(&mut out, *part, "");
        }
        parts => {
            joined::head(&mut out, parts);
            out.push_str("<main>");
            out.push_str(&joined::table(parts).html());
            for (at, part) in parts.iter().enumerate() {
                let prefix = format!("{}-", at + 1);
                let _ = write!(
                    out,
                    "<h2 class=part id={prefix}part>{}</h2><p class=lead>{}</p>",
                    joined::name(parts, at),
                    lead(part.comparison)
                );
                body(&mut out, *part, &prefix);
            }
        }
    }
    frame::end(&mut out, "undust report");
    out
}

/// All of a part; anchors begin with `prefix`.
fn body(out: &mut String, Part { comparison, times }: Part<'_>, prefix: &str) {
    overview(out, comparison, prefix);
    if comparison.protocol == Protocol::Www10 {
        charts(out, comparison, prefix);
    }
    precision(out, comparison, prefix);
    let _ = write!(out, "<h2 id={prefix}tables>Tables</h2>");
    let costs = times.map(|times| costs::all(comparison, times)).unwrap_or_default();
    for mut table in tables::all(comparison).into_iter().chain(costs) {
        table.id.insert_str(0, prefix);
        out.push_str(&table.html());
    }
    sites(out, comparison, prefix);
}

/// Sites, protocol and rate in words.
fn lead(comparison: &Comparison) -> String {
    let urls: u64 = comparison.sites.iter().map(|s| s.urls).sum();
    let clusters: u64 = comparison.sites.iter().map(|s| s.clusters).sum();
    let how = match comparison.protocol {
        Protocol::Www10 => format!(
            "Protocol of WWW 2010: {} % of the URLs of a site train, at most {}; all URLs test.",
            comparison.train_share * 100.0,
            count(comparison.train_max)
        ),
        Protocol::Sigir2017 => {
            "Protocol of SIGIR 2017: the first 15,000 URLs of a site train, the next 5,000 test.".to_owned()
        }
    };
    let headline = comparison.fpr_max.get(comparison.headline).copied().unwrap_or(f64::NAN);
    format!(
        "{}, {} of {}. {} \
         Where one figure stands for a method, the highest false-positive rate is {headline}.",
        many(comparison.sites.len() as u64, "site"),
        many(urls, "URL"),
        many(clusters, "page"),
        escaped(&(how + &tables::without(comparison))),
    )
}

fn head(out: &mut String, comparison: &Comparison) {
    let _ = write!(
        out,
        "<header><h1>{TITLE}</h1><p class=lead>{}</p>\
         <nav><a href=\"#overview\">Overview</a>{}{}<a href=\"#tables\">Tables</a><a href=\"#sites-detail\">Sites</a></nav></header>",
        lead(comparison),
        if comparison.protocol == Protocol::Www10 { "<a href=\"#figures\">Figures</a>" } else { "" },
        if precision::curves(comparison).is_empty() { "" } else { "<a href=\"#precision\">DustBuster</a>" },
    );
}

/// Bars of the saved share.
fn overview(out: &mut String, comparison: &Comparison, prefix: &str) {
    let _ = write!(
        out,
        "<h2 id={prefix}overview>Fetches rightly saved</h2><p>Share of the duplicate fetches that a crawler is spared, less the pages it loses. \
        A dashed bar: more than 0.5 % of the pages are lost, so the method is not ranked.</p><div class=bars>"
    );
    for &method in &comparison.methods {
        let all = summaries(comparison, method, comparison.headline);
        let (saved, recall) = (micro(&all, |r| r.saved_share).mean, micro(&all, |r| r.rec).mean);
        let class = match () {
            () if recall < RECALL => "low",
            () if method == Name::Undust => "own",
            () => "",
        };
        let width = if saved.is_nan() { 0.0 } else { saved.clamp(0.0, 1.0) * 100.0 };
        let _ = write!(
            out,
            "<span>{method}</span><span><i class=\"{class}\" style=\"width:{width:.1}%\"></i></span><b>{}, recall {}</b>",
            super::table::share(saved),
            super::table::share(recall)
        );
    }
    out.push_str("</div>");
}

fn charts(out: &mut String, comparison: &Comparison, prefix: &str) {
    let _ = write!(out, "<h2 id={prefix}figures>Figures of WWW 2010</h2><div class=charts>");
    let style = |method: Name| style(&comparison.methods, method);
    let mut chart = |title: &str, y: &str, up_to: f64, figure: &dyn Fn(Name, usize) -> f64| {
        let series: Vec<Series> = (comparison.methods.iter())
            .map(|&method| {
                let points = comparison.fpr_max.iter().enumerate().filter(|(_, fpr)| **fpr <= up_to);
                let points = points.map(|(at, &fpr)| (fpr, figure(method, at))).collect();
                Series { name: method.to_string(), style: style(method), points }
            })
            .collect();
        let svg = lines(title, "highest false-positive rate", y, &series);
        let _ = write!(out, "<figure><figcaption>{}</figcaption>{svg}</figure>", escaped(title));
    };
    let cached: Vec<Vec<Vec<Summary>>> = (comparison.methods.iter())
        .map(|&m| (0..comparison.fpr_max.len()).map(|at| summaries(comparison, m, at)).collect())
        .collect();
    let of = |method: Name, at: usize, joined: bool, figure: fn(&Rates) -> f64| {
        let index = comparison.methods.iter().position(|m| *m == method).unwrap_or(0);
        tables::rate(&cached[index][at], joined, figure)
    };
    chart("Saved share (micro)", "saved share", 0.1, &|m, at| of(m, at, true, |r| r.saved_share));
    chart("Recall (micro)", "recall", 0.1, &|m, at| of(m, at, true, |r| r.rec));
    chart("Figure 11 (a): compression, micro", "compression rate", 0.1, &|m, at| of(m, at, true, |r| r.comp));
    chart("Figure 11 (b): compression, macro", "compression rate", 0.1, &|m, at| of(m, at, false, |r| r.comp));
    chart("Figure 12 (a): dup-reduction, micro", "dup-reduction rate", 0.1, &|m, at| of(m, at, true, |r| r.dupred));
    chart("Figure 12 (b): dup-reduction, macro", "dup-reduction rate", 0.1, &|m, at| of(m, at, false, |r| r.dupred));
    chart("Figure 10: qualified candidates", "qualified rate", 1.0, &|m, at| tables::qualified(comparison, m, at));
    out.push_str("</div>");
}

/// DustBuster's Figure 5.
fn precision(out: &mut String, comparison: &Comparison, prefix: &str) {
    // Two lines that are distinct in light and dark: its own, and that of the method without rules.
    let styles = [Name::Dustbuster, Name::KeepAll].map(|method| style(&comparison.methods, method));
    let series: Vec<Series> = (precision::curves(comparison).into_iter().zip(styles))
        .map(|((name, points), style)| Series { name: name.to_owned(), style, points })
        .collect();
    if series.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<h2 id={prefix}precision>DustBuster: likely rules before validation (WWW 2007)</h2><div class=charts>"
    );
    let title = "Figure 5: precision at k";
    let svg = lines(title, "first k likely rules", "share that is valid", &series);
    let _ = write!(out, "<figure><figcaption>{title}</figcaption>{svg}</figure></div>");
}

fn sites(out: &mut String, comparison: &Comparison, prefix: &str) {
    let mut order: Vec<&Site> = comparison.sites.iter().collect();
    order.sort_by_key(|site| (std::cmp::Reverse(site.urls), &site.site));
    let more = order.len().saturating_sub(SHOWN_SITES);
    order.truncate(SHOWN_SITES);
    let _ = write!(
        out,
        "<h2 id={prefix}sites-detail>Sites</h2><p>For each site its pattern tree, and for each method its rules and what it misses."
    );
    if more > 0 {
        let _ = write!(out, " The {} sites with most URLs; {more} more are in the tables only.", order.len());
    }
    out.push_str("</p>");
    for site in order {
        let name = if site.site.is_empty() { "(no site)" } else { &site.site };
        let _ = write!(
            out,
            "<details class=site><summary><h3 class=url>{}</h3><span class=count>{}, {}</span></summary>",
            escaped(&brief(name)),
            many(site.urls, "URL"),
            many(site.clusters, "page")
        );
        tree(out, site);
        for shown in &site.shown {
            method(out, site, shown, comparison.headline);
        }
        out.push_str("</details>");
    }
}

/// The pattern tree as nested details, the first levels open.
fn tree(out: &mut String, site: &Site) {
    if site.tree.is_empty() {
        return;
    }
    let _ = write!(out, "<h4>Pattern tree (WWW10, Algorithm 1): {}", many(site.tree_nodes, "node"));
    if site.tree_nodes > site.tree.len() as u64 {
        let _ = write!(out, ", the {} largest shown", site.tree.len());
    }
    out.push_str("</h4>");
    let all = site.tree[0].urls;
    let parents: Vec<usize> = site.tree.iter().map(|node| node.parent).collect();
    super::tree::nested(out, &parents, |out, at| label(out, &site.tree[at], all));
}

fn label(out: &mut String, node: &TreeNode, all: u64) {
    super::tree::bar(out, node.urls, all);
    let _ = write!(
        out,
        "<code>{}</code><span class=count>{}</span><span class=\"url pattern\">{}</span>",
        escaped(&brief(&node.branch)),
        count(node.urls),
        escaped(&brief(&node.pattern))
    );
}

/// Rules and misses of one method.
fn method(out: &mut String, site: &Site, shown: &Shown, headline: usize) {
    let run = site.runs.iter().find(|run| run.method == shown.method && run.seed == 0);
    let rates = run.and_then(|run| run.fits.get(headline)).map(|fit| Rates::of(&fit.counts));
    let _ = write!(out, "<details><summary>{}<span class=count>", shown.method);
    if let Some(rates) = rates {
        let share = super::table::share;
        let _ = write!(
            out,
            "saved {}, recall {}, {}",
            share(rates.saved_share),
            share(rates.rec),
            many(shown.rules.len() as u64 + shown.more_rules, "rule")
        );
    }
    if let Some(missing) = run.and_then(|run| run.missing) {
        let _ = write!(out, ", {} without a prediction", many(missing, "URL"));
    }
    out.push_str("</span></summary>");
    if !shown.rules.is_empty() {
        out.push_str("<h4>Rules</h4><ol class=rules>");
        for rule in &shown.rules {
            let _ = write!(out, "<li><code>{}</code>", escaped(&brief(&rule.text)));
            if let Some(evidence) = &rule.evidence {
                let _ = write!(
                    out,
                    "<div class=evidence>{}</div>",
                    escaped(&crate::rules::explain::evidence_text(evidence))
                );
                pairs(out, evidence.examples.iter().map(|[a, b]| (a.as_str(), b.as_str())), "and");
            }
            out.push_str("</li>");
        }
        out.push_str("</ol>");
        if shown.more_rules > 0 {
            let _ = write!(out, "<p class=note>and {} more</p>", many(shown.more_rules, "rule"));
        }
    }
    if !shown.split.is_empty() {
        out.push_str("<h4>Missed: pages that still cost most fetches</h4>");
        for split in &shown.split {
            let _ = write!(out, "<p class=note>{} too many for one page</p>", many(split.extra, "fetch"));
            pairs(out, split.urls.iter().map(|[url, canonical]| (url.as_str(), canonical.as_str())), "→");
        }
    }
    if !shown.mixed.is_empty() {
        out.push_str("<h4 class=wrong>Wrong: different pages with one canonical URL</h4>");
        for mixed in &shown.mixed {
            let _ = write!(
                out,
                "<p class=note>{} at <span class=url>{}</span></p>",
                many(mixed.wrong, "URL"),
                escaped(&brief(&mixed.canonical))
            );
            pairs(out, mixed.urls.iter().map(|url| (url.as_str(), "")), "");
        }
    }
    out.push_str("</details>");
}
