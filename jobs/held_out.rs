//! Output of `learn` about URLs that took no part in learning.

use std::cmp::Reverse;

use undust::dataflow::held_out::{HeldOut, HeldOutFigures};
use undust::dataflow::summary::Summary;
use undust::model::shown::Page;

/// Sites that are shown, those with the most URLs.
const SHOWN: usize = 20;

/// A line for each of the largest sites and one for all, and the heading of the figures that follow;
/// empty where the summary has none.
pub fn section(summary: &Summary) -> Page {
    let mut page = Page::default();
    let Some(total) = &summary.total.held_out else { return page };
    let mut sites: Vec<_> = summary.sites.iter().collect();
    sites.sort_by_key(|(_, figures)| Reverse(figures.urls));
    let _ = writeln!(page, "on URLs that took no part in learning (learned without each fold, counted on it):");
    for (name, figures) in sites.iter().take(SHOWN) {
        let _ = writeln!(page, "{name}: {}", figures.held_out.as_ref().map_or_else(String::new, words));
    }
    if sites.len() > SHOWN {
        let _ = writeln!(page, "and {} sites more: see summary.json", sites.len() - SHOWN);
    }
    let fitted = sites.iter().filter(|(_, figures)| matches!(figures.held_out, Some(HeldOut::Figures(_)))).count();
    let _ = writeln!(page, "{fitted} of {} sites: {}", sites.len(), words(total));
    let _ = writeln!(page, "on the data the rules were learned from:");
    page
}

fn words(held_out: &HeldOut) -> String {
    let HeldOutFigures {
        saved_by_cluster,
        saved_by_cluster_margin,
        saved_by_url,
        saved_by_url_margin,
        wrong_share,
        wrong_upper,
        clusters,
        rows,
    } = match held_out {
        HeldOut::Figures(figures) => figures,
        HeldOut::None(text) => return text.clone(),
    };
    let saved = |share: &Option<u64>, margin: &Option<u64>| match share.zip(*margin) {
        Some((share, margin)) => format!("{:.3} +- {:.3}", share as f64 / 1e6, margin as f64 / 1e6),
        None => "nothing to save".to_owned(),
    };
    format!(
        "saved {} on new clusters, {} on new URLs; wrong {:.4}, at most {:.4}; {rows} URLs, {clusters} clusters",
        saved(saved_by_cluster, saved_by_cluster_margin),
        saved(saved_by_url, saved_by_url_margin),
        *wrong_share as f64 / 1e6,
        *wrong_upper as f64 / 1e6,
    )
}
