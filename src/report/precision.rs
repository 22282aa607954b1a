//! DustBuster's precision at k (WWW 2007, Figure 5 and Table 2): of the first k likely rules, before
//! any is validated, the share that pages then show to be valid in at least one direction.

use super::table::{Table, share};
use crate::baselines::results::{Comparison, Detection, Site, Tried};

/// The k of the tables.
const RANKS: [u64; 9] = [1, 2, 5, 10, 20, 50, 100, 200, 300];
/// Ranks that a site shows.
const SITE_RANKS: [u64; 4] = [10, 50, 100, 300];

/// Detections by site and seed.
fn detections(comparison: &Comparison) -> impl Iterator<Item = (&Site, usize, &Detection)> {
    comparison
        .sites
        .iter()
        .flat_map(|site| site.runs.iter().filter_map(move |run| Some((site, run.seed, run.detection.as_ref()?))))
}

/// Rules, valid ones and unknown ones among the first k, summed.
fn sum<'a>(all: impl Iterator<Item = &'a Tried>, k: u64) -> [u64; 3] {
    all.map(|tried| tried.at(k)).fold([0; 3], |sum, one| std::array::from_fn(|i| sum[i] + one[i]))
}

/// Share of valid rules among those with pages; NaN where there are none.
fn precision([rules, valid, unknown]: [u64; 3]) -> f64 {
    valid as f64 / (rules - unknown) as f64
}

/// The tables; none without a DustBuster in the comparison.
pub fn tables(comparison: &Comparison) -> Vec<Table> {
    if detections(comparison).next().is_none() {
        Vec::new()
    } else {
        vec![by_rank(comparison), by_site(comparison), rules(comparison)]
    }
}

fn by_rank(comparison: &Comparison) -> Table {
    let title = "DustBuster Figure 5: precision at k of likely rules before validation";
    let note = "Sums over sites and training samples; rules by falling support. A rule is valid where pages say so in at \
                least one direction, unknown where no page could be asked for: those count neither way. Without cue: by \
                support alone, as where neither sizes nor fingerprints are known.";
    let head = [
        "k",
        "rules",
        "valid",
        "unknown",
        "precision",
        "rules without cue",
        "valid",
        "unknown",
        "precision without cue",
    ];
    let mut table = Table::new("precision-at-k", title, note, &head);
    for k in RANKS {
        let with = sum(detections(comparison).map(|d| &d.2.with_cue), k);
        let without = sum(detections(comparison).map(|d| &d.2.without_cue), k);
        let cells = |all: [u64; 3]| all.map(|n| n.to_string()).into_iter().chain([share(precision(all))]);
        table.row(std::iter::once(k.to_string()).chain(cells(with)).chain(cells(without)));
    }
    table
}

fn by_site(comparison: &Comparison) -> Table {
    let title = "DustBuster site by site: likely rules (Table 2), precision at k, redundancy discovered in the list";
    let note = "Of the first training sample. Detected and likely: rules before and after the elimination of redundant \
                ones. Redundancy: the share of the URLs it learned from that its valid rules make another's.";
    let ranks = SITE_RANKS.map(|k| format!("at {k}"));
    let mut head = vec!["site", "URLs", "detected", "likely", "tried", "unknown"];
    head.extend(ranks.iter().map(String::as_str));
    head.extend(["without cue at 100", "redundancy"]);
    let mut table = Table::new("precision-by-site", title, note, &head);
    for (site, _, found) in detections(comparison).filter(|d| d.1 == 0) {
        let name = if site.site.is_empty() { "(no site)" } else { &site.site };
        let with = &found.with_cue;
        let numbers = [found.urls, with.detected, with.likely, with.tried, with.unknown.len() as u64];
        let at = |tried: &Tried, k| share(precision(tried.at(k)));
        let redundancy = (found.urls - found.forms) as f64 / found.urls as f64;
        let cells = numbers.map(|n| n.to_string()).into_iter().chain(SITE_RANKS.map(|k| at(with, k)));
        let rest = [at(&found.without_cue, 100), share(redundancy)];
        table.row(std::iter::once(name.to_owned()).chain(cells).chain(rest));
    }
    table
}

/// Sites whose rules are shown: those with most URLs in the list.
const SHOWN_SITES: usize = 10;

fn rules(comparison: &Comparison) -> Table {
    let title = "DustBuster: the most likely rules before validation, and what pages say of them";
    let note = "Of the first training sample; ten of each of the ten sites with the longest lists.";
    let mut table = Table::new("likely-rules", title, note, &["site", "place", "support", "pages say", "rule"]);
    let mut all: Vec<_> = detections(comparison).filter(|d| d.1 == 0).collect();
    all.sort_by_key(|(site, _, found)| (std::cmp::Reverse(found.urls), &site.site));
    for (site, _, found) in all.into_iter().take(SHOWN_SITES) {
        for (at, (rule, support)) in (0..).zip(&found.first) {
            let tried = &found.with_cue;
            let said = match () {
                () if tried.valid.binary_search(&at).is_ok() => "valid",
                () if u64::from(at) < tried.tried && tried.unknown.binary_search(&at).is_err() => "wrong",
                () => "unknown",
            };
            table.row([site.site.clone(), (at + 1).to_string(), support.to_string(), said.to_owned(), rule.clone()]);
        }
    }
    table
}

/// Precision over k up to the most rules tried on a site, with the cue and without; none without a
/// DustBuster.
pub fn curves(comparison: &Comparison) -> Vec<(&'static str, Vec<(f64, f64)>)> {
    let curve = |of: fn(&Detection) -> &Tried| -> Vec<(f64, f64)> {
        let most = detections(comparison).map(|d| of(d.2).tried).max().unwrap_or(0);
        (1..=most).map(|k| (k as f64, precision(sum(detections(comparison).map(|d| of(d.2)), k)))).collect()
    };
    match detections(comparison).next() {
        None => Vec::new(),
        Some(_) => vec![("with cue", curve(|d| &d.with_cue)), ("without cue", curve(|d| &d.without_cue))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::results::Run;
    use crate::baselines::{Figures, Name};

    #[test]
    fn counts_of_the_first_k_are_summed_and_the_unknown_left_out() {
        let tried = |tried, valid: &[u32], unknown: &[u32]| Tried {
            detected: 40,
            likely: 20,
            tried,
            valid: valid.to_vec(),
            unknown: unknown.to_vec(),
        };
        let run = |with_cue| Run {
            method: Name::Dustbuster,
            seed: 0,
            figures: Figures::default(),
            fits: Vec::new(),
            detection: Some(Detection {
                urls: 10,
                forms: 8,
                with_cue,
                without_cue: tried(4, &[], &[]),
                first: vec![("x".into(), 7); 2],
            }),
            missing: None,
        };
        let site = |name: &str, with_cue| Site { site: name.into(), runs: vec![run(with_cue)], ..Site::default() };
        let sites = vec![site("a", tried(3, &[0, 2], &[1])), site("b", tried(20, &[0, 5], &[]))];
        let comparison = Comparison { sites, ..Comparison::default() };
        let [ranks, sites, rules] = &tables(&comparison)[..] else { panic!("three tables") };
        assert_eq!(rules.rows[0].join(" "), "a 1 7 valid x");
        assert_eq!((&*rules.rows[1][3], &*rules.rows[3][3]), ("unknown", "wrong"));
        let row = |k: &str| ranks.rows.iter().find(|row| row[0] == k).expect("the rank").join(" ");
        assert_eq!(row("1"), "1 2 2 0 1.0000 2 0 0 0.0000");
        assert_eq!(row("2"), "2 4 2 1 0.6667 4 0 0 0.0000");
        assert_eq!(row("10"), "10 13 4 1 0.3333 8 0 0 0.0000");
        assert_eq!(sites.rows[0].join(" "), "a 10 40 20 3 1 1.0000 1.0000 1.0000 1.0000 0.0000 0.2000");
        let curves = curves(&comparison);
        assert_eq!((curves[0].1.len(), curves[1].1.len()), (20, 4));
        assert_eq!(curves[0].1[1], (2.0, 2.0 / 3.0));
        assert!(tables(&Comparison::default()).is_empty());
    }
}
