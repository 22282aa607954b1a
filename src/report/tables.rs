//! The tables of the papers with our numbers.

use super::figures::{Mean, first, macro_mean, micro, seeds, summaries, total};
use super::table::{Table, share};
use super::text::many;
use crate::baselines::Name;
use crate::baselines::results::{Comparison, Protocol, Site};
use crate::evaluate::{Rates, Summary};
use crate::site::Stage;

/// A figure of the rates with its heading.
type Column = (&'static str, fn(&Rates) -> f64);

/// Columns of [`methods`].
const COLUMNS: [Column; 9] = [
    ("compression", |r| r.comp),
    ("dup-reduction", |r| r.dupred),
    ("pair fpr", |r| r.fpr),
    ("URL fpr", |r| r.urlfpr),
    ("precision", |r| r.prec),
    ("recall", |r| r.rec),
    ("F1", |r| r.f1),
    ("saved", |r| r.saved_share),
    ("fetch ok", |r| r.fetch_ok),
];

/// Everything but times: tables whose bytes follow from the records.
pub fn all(comparison: &Comparison) -> Vec<Table> {
    let mut tables =
        vec![methods(comparison, true), methods(comparison, false), winners(comparison), winners_by_site(comparison)];
    match comparison.protocol {
        Protocol::Www10 => {
            tables.extend([table_2(comparison), table_3(comparison), table_4(comparison)]);
            tables.push(curve(comparison, "figure-10", "WWW10 Figure 10: qualified rate over fpr_max", qualified));
            let micro_macro: [(&str, &str, bool, Figure); 4] = [
                ("figure-11a", "WWW10 Figure 11 (a): compression rate over fpr_max, micro", true, |r| r.comp),
                ("figure-11b", "WWW10 Figure 11 (b): compression rate over fpr_max, macro", false, |r| r.comp),
                ("figure-12a", "WWW10 Figure 12 (a): dup-reduction rate over fpr_max, micro", true, |r| r.dupred),
                ("figure-12b", "WWW10 Figure 12 (b): dup-reduction rate over fpr_max, macro", false, |r| r.dupred),
            ];
            for (id, title, joined, figure) in micro_macro {
                tables.push(curve(comparison, id, title, |c, m, at| rate(&summaries(c, m, at), joined, figure)));
            }
        }
        Protocol::Sigir2017 => tables.push(sigir(comparison)),
    }
    tables.extend(super::precision::tables(comparison));
    tables.extend(super::coverage::table(comparison));
    tables.push(sites(comparison));
    tables
}

/// A figure of rates.
type Figure = fn(&Rates) -> f64;

/// A figure, micro or macro, mean of the seeds.
pub fn rate(summaries: &[Summary], joined: bool, figure: fn(&Rates) -> f64) -> f64 {
    if joined { micro(summaries, figure).mean } else { macro_mean(summaries, figure).mean }
}

pub(super) fn with_spread(mean: Mean, seeds: usize) -> String {
    if seeds < 2 || mean.mean.is_nan() { share(mean.mean) } else { format!("{:.4}±{:.4}", mean.mean, mean.spread) }
}

/// Stages of undust that were left out, as a sentence.
pub fn without(comparison: &Comparison) -> String {
    let names: Vec<&str> = comparison.without.stages().map(Stage::text).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" undust without: {}.", names.join(", ")),
    }
}

fn headline(comparison: &Comparison) -> f64 {
    comparison.fpr_max.get(comparison.headline).copied().unwrap_or(f64::NAN)
}

/// All methods at the headline rate.
fn methods(comparison: &Comparison, joined: bool) -> Table {
    let mut head = vec!["method"];
    head.extend(COLUMNS.iter().map(|c| c.0));
    let (id, how) =
        if joined { ("methods", "all URLs together (micro)") } else { ("methods-macro", "mean of the sites (macro)") };
    let seeds = seeds(comparison);
    let title = format!(
        "All methods at fpr_max {}: {how}, {}",
        headline(comparison),
        many(comparison.sites.len() as u64, "site")
    );
    let note = match seeds {
        0 | 1 => "One training sample.".to_owned(),
        n => format!("Mean ± standard deviation of {n} training samples."),
    } + &without(comparison);
    let mut table = Table::new(id, &title, &note, &head);
    for &method in &comparison.methods {
        let all = summaries(comparison, method, comparison.headline);
        let cell = |c: &Column| with_spread(if joined { micro(&all, c.1) } else { macro_mean(&all, c.1) }, seeds);
        table.row(std::iter::once(method.to_string()).chain(COLUMNS.iter().map(cell)));
    }
    table
}

/// The method that saves most at each rate.
fn winners(comparison: &Comparison) -> Table {
    let title = "First in saved share among methods with recall of at least 0.995";
    let mut table = Table::new(
        "first",
        title,
        "Micro, mean of the seeds. undust-whole, whose proof sees labels of the test, is not ranked; outside methods are.",
        &["fpr_max", "first", "saved", "undust", "recall of undust"],
    );
    for (at, fpr_max) in comparison.fpr_max.iter().enumerate() {
        let all = summaries(comparison, Name::Undust, at);
        let own = |figure: fn(&Rates) -> f64| {
            if comparison.methods.contains(&Name::Undust) { share(micro(&all, figure).mean) } else { "-".to_owned() }
        };
        let (name, saved) = match first(comparison, at) {
            Some((name, saved)) => (name.to_string(), share(saved)),
            None => ("none".to_owned(), "-".to_owned()),
        };
        table.row([format!("{fpr_max}"), name, saved, own(|r| r.saved_share), own(|r| r.rec)]);
    }
    table
}

/// The first of each site at the headline rate, and the rates up to 0.1 at which it is not undust.
fn winners_by_site(comparison: &Comparison) -> Table {
    let title = "First in saved share among methods with recall of at least 0.995, site by site";
    let note = "At the headline rate; the last column: rates up to 0.1 at which another method than undust is first. A site \
                without duplicates has no first.";
    let head = ["site", "first", "saved", "undust", "recall of undust", "not undust at"];
    let mut table = Table::new("first-by-site", title, note, &head);
    for site in &comparison.sites {
        let one = Comparison { sites: vec![site.clone()], ..comparison.clone_plan() };
        let of = |at: usize| crate::report::figures::first(&one, at);
        let own = summaries(&one, Name::Undust, one.headline);
        let lost: Vec<String> = (one.fpr_max.iter().enumerate())
            .filter(|&(at, rate)| {
                site.urls > site.clusters && *rate <= 0.1 && of(at).is_none_or(|(name, _)| name != Name::Undust)
            })
            .map(|(at, rate)| format!("{rate} ({})", of(at).map_or("none".to_owned(), |(name, _)| name.to_string())))
            .collect();
        let (name, saved) = match of(one.headline) {
            Some((name, saved)) => (name.to_string(), share(saved)),
            None => ("none".to_owned(), "-".to_owned()),
        };
        let (own_saved, recall) = (share(micro(&own, |r| r.saved_share).mean), share(micro(&own, |r| r.rec).mean));
        let lost = if lost.is_empty() { "-".to_owned() } else { lost.join(", ") };
        table.row([named(site).to_owned(), name, saved, own_saved, recall, lost]);
    }
    table
}

fn range(values: Vec<u64>) -> [String; 3] {
    let (min, max) = (values.iter().min(), values.iter().max());
    let average = values.iter().sum::<u64>() as f64 / values.len().max(1) as f64;
    let text = |value: Option<&u64>| value.map_or("-".to_owned(), u64::to_string);
    [text(min), text(max), format!("{average:.1}")]
}

/// WWW10 Table 2, without its running time: see [`super::costs`].
fn table_2(comparison: &Comparison) -> Table {
    let title = "WWW10 Table 2: the constructed pattern trees";
    let mut table = Table::new("table-2", title, "Of the first training sample.", &["", "min", "max", "average"]);
    let tree = comparison.methods.iter().copied().find(|m| matches!(m, Name::PublishedGraph | Name::PublishedNaive));
    let runs = comparison.sites.iter().flat_map(|s| &s.runs).filter(|run| Some(run.method) == tree && run.seed == 0);
    let figures: Vec<_> = runs.map(|run| run.figures).collect();
    let mut add = |name: &str, values: Vec<u64>| table.row(std::iter::once(name.to_owned()).chain(range(values)));
    add("nodes on a tree", figures.iter().map(|f| f.nodes).collect());
    add("height of a tree", figures.iter().map(|f| f.height).collect());
    add("training URLs", comparison.sites.iter().filter_map(|s| s.trained.first().copied()).collect());
    table
}

/// WWW10 Table 3.
fn table_3(comparison: &Comparison) -> Table {
    let title = format!("WWW10 Table 3: raw and qualified candidate rules at fpr_max {}", headline(comparison));
    let mut table = Table::new("table-3", &title, "Sums over the sites.", &["method", "raw", "qualified", "rate"]);
    for &method in &comparison.methods {
        let raw = total(comparison, method, |run| run.figures.raw).mean;
        let qualified = total(comparison, method, |run| run.fits[comparison.headline].qualified).mean;
        table.row([method.to_string(), format!("{raw:.0}"), format!("{qualified:.0}"), share(qualified / raw)]);
    }
    table
}

/// WWW10 Table 4.
fn table_4(comparison: &Comparison) -> Table {
    let title = format!("WWW10 Table 4: deployable rules at fpr_max {}", headline(comparison));
    let head = ["method", "candidates", "deployed", "compression", "pair fpr", "recall"];
    let note = "Sums over the sites; rates micro. The paper gives no fpr for what is deployed.";
    let mut table = Table::new("table-4", &title, note, &head);
    for &method in &comparison.methods {
        let qualified = total(comparison, method, |run| run.fits[comparison.headline].qualified).mean;
        let deployed = total(comparison, method, |run| run.fits[comparison.headline].deployed).mean;
        let all = summaries(comparison, method, comparison.headline);
        let of = |figure: fn(&Rates) -> f64| share(micro(&all, figure).mean);
        let numbers = [format!("{qualified:.0}"), format!("{deployed:.0}")];
        let rates = [of(|r| r.comp), of(|r| r.fpr), of(|r| r.rec)];
        table.row(std::iter::once(method.to_string()).chain(numbers).chain(rates));
    }
    table
}

/// Share of the raw candidates that qualify.
pub fn qualified(comparison: &Comparison, method: Name, at: usize) -> f64 {
    let raw = total(comparison, method, |run| run.figures.raw).mean;
    total(comparison, method, |run| run.fits[at].qualified).mean / raw
}

/// Methods as columns, rates as rows.
fn curve(comparison: &Comparison, id: &str, title: &str, figure: impl Fn(&Comparison, Name, usize) -> f64) -> Table {
    let mut head = vec!["fpr_max"];
    head.extend(comparison.methods.iter().map(Name::text));
    let mut table = Table::new(id, title, "", &head);
    for (at, fpr_max) in comparison.fpr_max.iter().enumerate() {
        let cells = comparison.methods.iter().map(|&method| share(figure(comparison, method, at)));
        table.row(std::iter::once(format!("{fpr_max}")).chain(cells));
    }
    table
}

/// SIGIR 2017 Table 2: the crawl simulation by site, and the mean of the sites.
fn sigir(comparison: &Comparison) -> Table {
    let title = "SIGIR 2017 Table 2: crawl simulation, a site a row of three";
    let mut head = vec!["site"];
    head.extend(comparison.methods.iter().map(Name::text));
    let mut table = Table::new("sigir-table-2", title, "Precision, recall and F1 of the crawl.", &head);
    let figures: [Column; 3] = [("Prec", |r| r.prec), ("Rec", |r| r.rec), ("F1", |r| r.f1)];
    for site in &comparison.sites {
        for (name, figure) in figures {
            let cell = |&method: &Name| {
                let run = site.runs.iter().find(|run| run.method == method);
                run.map_or("-".to_owned(), |run| share(figure(&Rates::of(&run.fits[comparison.headline].counts))))
            };
            table.row(std::iter::once(format!("{} {name}", named(site))).chain(comparison.methods.iter().map(cell)));
        }
    }
    for (name, figure) in figures {
        let cell = |&method: &Name| share(macro_mean(&summaries(comparison, method, comparison.headline), figure).mean);
        // Rows of sites end with the figure: whatever a site is called, none is called so.
        table.row(std::iter::once(format!("{name}, mean of the sites")).chain(comparison.methods.iter().map(cell)));
    }
    table
}

/// Name of a site in a table.
fn named(site: &Site) -> &str {
    if site.site.is_empty() { "(no site)" } else { &site.site }
}

/// Saved share of each method by site.
fn sites(comparison: &Comparison) -> Table {
    let mut head = vec!["site", "URLs", "clusters"];
    head.extend(comparison.methods.iter().map(Name::text));
    let title = format!("Saved share by site at fpr_max {}", headline(comparison));
    let note = "First training sample. A star: recall under 0.995. '-': took no part, so all URLs are kept.";
    let mut table = Table::new("sites", &title, note, &head);
    for site in &comparison.sites {
        let cell = |&method: &Name| {
            let run = site.runs.iter().find(|run| run.method == method && run.seed == 0);
            // Predictions of no URL of the site: the method did not take part there.
            run.filter(|run| run.missing != Some(site.urls)).map_or("-".to_owned(), |run| {
                let rates = Rates::of(&run.fits[comparison.headline].counts);
                let low = rates.rec < super::figures::RECALL;
                format!("{}{}", share(rates.saved_share), if low { "*" } else { "" })
            })
        };
        let numbers = [named(site).to_owned(), site.urls.to_string(), site.clusters.to_string()];
        table.row(numbers.into_iter().chain(comparison.methods.iter().map(cell)));
    }
    table
}
