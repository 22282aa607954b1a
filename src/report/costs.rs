//! What methods cost: seconds to learn, microseconds a URL. Of one run on one machine, so no two runs
//! give the same bytes; nothing here is in a file of tables.

use super::figures::Mean;
use super::table::Table;
use crate::baselines::Name;
use crate::baselines::results::{Comparison, Time, Times};
use std::collections::BTreeMap;

/// Origin of the figures.
const ORIGIN: &str = "Processor time of one thread of this run on this machine (time by the clock where the \
                      system counts none); of outside methods as given with --times.";

/// All tables of times, WWW10 Figure 9 last.
pub fn all(comparison: &Comparison, times: &Times) -> Vec<Table> {
    let costs = Costs::new(comparison, times);
    vec![costs.methods(), costs.by_site(&LEARNING), costs.by_site(&APPLYING), figure_9(times, &comparison.methods)]
}

/// A figure of cost.
struct Cost {
    id: &'static str,
    title: &'static str,
    note: &'static str,
    seconds: fn(&Time) -> f64,
    /// Number of its units in a second, and whether it is the cost of one URL.
    unit: (f64, bool),
}

const LEARNING: Cost = Cost {
    id: "cost-learning",
    title: "Seconds to learn, by site",
    note: "Mean of the training samples. '-': not known.",
    seconds: |time| time.learn + time.select,
    unit: (1.0, false),
};

const APPLYING: Cost = Cost {
    id: "cost-applying",
    title: "Microseconds to canonicalize a URL, by site",
    note: "Mean of the training samples, all URLs of the test one after the other. '-': not known.",
    seconds: |time| time.apply,
    unit: (1e6, true),
};

/// Times of one method by site.
type BySite<'a> = BTreeMap<&'a str, Vec<&'a Time>>;

struct Costs<'a> {
    comparison: &'a Comparison,
    /// Test URLs by site.
    urls: BTreeMap<&'a str, u64>,
    /// Times of sites of the comparison.
    times: BTreeMap<Name, BySite<'a>>,
}

impl<'a> Costs<'a> {
    fn new(comparison: &'a Comparison, times: &'a Times) -> Costs<'a> {
        let urls: BTreeMap<&str, u64> = comparison.sites.iter().map(|site| (site.site.as_str(), site.urls)).collect();
        let mut by: BTreeMap<Name, BySite<'a>> = BTreeMap::new();
        for time in times.times.iter().filter(|time| urls.contains_key(time.site.as_str())) {
            by.entry(time.method).or_default().entry(&time.site).or_default().push(time);
        }
        Costs { comparison, urls, times: by }
    }

    /// URLs that a time of applying is for.
    fn urls(&self, time: &Time) -> f64 {
        (if time.urls > 0 { time.urls } else { self.urls[time.site.as_str()] }) as f64
    }

    /// Times of a method.
    fn of(&self, method: Name) -> BySite<'a> {
        self.times.get(&method).cloned().unwrap_or_default()
    }

    /// A cost on these sites together: the mean of the seeds is taken site by site, so that a site that is
    /// timed for fewer seeds than others has its full weight. The spread is that of the seeds that have all
    /// of the sites.
    fn mean(&self, cost: &Cost, sites: &BySite<'a>) -> Mean {
        let sum = |seed: Option<usize>| {
            let (mut seconds, mut urls) = (0.0, 0.0);
            for times in sites.values() {
                // NaN where a site has no time of the seed.
                let times = || times.iter().filter(|time| seed.is_none_or(|seed| time.seed == seed));
                let count = times().count() as f64;
                seconds += times().map(|time| (cost.seconds)(time)).sum::<f64>() / count;
                urls += times().map(|time| self.urls(time)).sum::<f64>() / count;
            }
            seconds * cost.unit.0 / if cost.unit.1 { urls } else { 1.0 }
        };
        if sites.is_empty() {
            return Mean::of([]);
        }
        let spread = Mean::of((0..self.comparison.seeds.len()).map(|seed| sum(Some(seed)))).spread;
        Mean { mean: sum(None), spread }
    }

    /// A cost on one site; NaN where not known.
    fn on_site(&self, cost: &Cost, method: Name, site: &str) -> f64 {
        let times = self.times.get(&method).and_then(|sites| sites.get_key_value(site));
        self.mean(cost, &times.map(|(site, times)| (*site, times.clone())).into_iter().collect()).mean
    }

    /// A row a method: all sites together.
    fn methods(&self) -> Table {
        let title = "Cost of each method, all sites together";
        let head = ["method", "sites", "seconds to learn", "slowest site", "µs a URL"];
        let note = ORIGIN.to_owned()
            + " Seconds: sum over the sites of the mean of each, ± standard deviation of the training samples; sites: those \
               with a known time.";
        let mut table = Table::new("cost", title, &note, &head);
        for &method in &self.comparison.methods {
            let times = self.of(method);
            let each = times.keys().map(|site| self.on_site(&LEARNING, method, site));
            let slowest = each.fold(f64::NAN, f64::max);
            table.row([
                method.to_string(),
                times.len().to_string(),
                with_spread(self.mean(&LEARNING, &times)),
                number(slowest),
                with_spread(self.mean(&APPLYING, &times)),
            ]);
        }
        table
    }

    /// A row a site, a column a method.
    fn by_site(&self, cost: &Cost) -> Table {
        let mut head = vec!["site", "URLs"];
        head.extend(self.comparison.methods.iter().map(Name::text));
        let mut table = Table::new(cost.id, cost.title, cost.note, &head);
        for site in &self.comparison.sites {
            let cell = |&method: &Name| number(self.on_site(cost, method, &site.site));
            let name = if site.site.is_empty() { "(no site)".to_owned() } else { site.site.clone() };
            table.row([name, site.urls.to_string()].into_iter().chain(self.comparison.methods.iter().map(cell)));
        }
        table
    }
}

/// Seconds to learn and microseconds a URL of a method on all sites; `-` where not known. Times of some
/// sites alone have their number behind them: `12.5 (1 of 3 sites)`.
pub fn of_method(comparison: &Comparison, times: &Times, method: Name) -> [String; 2] {
    let costs = Costs::new(comparison, times);
    let (times, all) = (costs.of(method), comparison.sites.len());
    let part = match times.len() {
        known if known == 0 || known == all => String::new(),
        known => format!(" ({known} of {all} sites)"),
    };
    [&LEARNING, &APPLYING].map(|cost| with_spread(costs.mean(cost, &times)) + &part)
}

fn with_spread(mean: Mean) -> String {
    match mean.spread > 0.0 {
        true => format!("{}±{}", number(mean.mean), number(mean.spread)),
        false => number(mean.mean),
    }
}

/// A number with three digits or three decimal places; `-` for NaN.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "-".to_owned(),
        _ if value < 1.0 => format!("{value:.3}"),
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// WWW10 Figure 9: seconds a site, by method.
fn figure_9(times: &Times, methods: &[Name]) -> Table {
    let title = "WWW10 Figure 9: seconds a site";
    let note = "Mean over sites and seeds; the slowest site in the last column. Candidates: learning before any selection, \
                tree included. Outside methods as given with --times.";
    let mut table =
        Table::new("figure-9", title, note, &["method", "candidates", "selection", "applying", "all", "slowest"]);
    for &method in methods {
        let of: Vec<&Time> = times.times.iter().filter(|t| t.method == method).collect();
        let mean = |step: fn(&Time) -> f64| Mean::of(of.iter().map(|t| step(t))).mean;
        let most = of.iter().map(|t| t.learn + t.select + t.apply).fold(f64::NAN, f64::max);
        let cells =
            [mean(|t| t.learn), mean(|t| t.select), mean(|t| t.apply), mean(|t| t.learn + t.select + t.apply), most];
        table.row(
            std::iter::once(method.to_string())
                .chain(cells.map(|s| if s.is_nan() { "-".to_owned() } else { format!("{s:.4}") })),
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::name::Label;
    use crate::baselines::results::Site;

    fn time(site: &str, method: Name, seed: usize, [learn, select, apply]: [f64; 3], urls: u64) -> Time {
        Time { site: site.to_owned(), method, seed, trained: 0, learn, select, apply, urls }
    }

    #[test]
    fn costs_are_sums_over_sites_and_means_over_seeds() {
        let net = Name::Outside(Label::new("net").expect("a label"));
        let site = |name: &str, urls| Site { site: name.to_owned(), urls, ..Site::default() };
        let comparison = Comparison {
            methods: vec![Name::KeepAll, Name::Undust, net],
            seeds: vec![5, 7],
            sites: vec![site("a", 1_000), site("b", 500)],
            ..Comparison::default()
        };
        let times = Times {
            times: vec![
                time("a", Name::Undust, 0, [1.0, 0.5, 0.001], 1_000),
                time("b", Name::Undust, 0, [0.25, 0.25, 0.002], 500),
                time("a", Name::Undust, 1, [3.0, 0.5, 0.001], 1_000),
                time("b", Name::Undust, 1, [0.25, 0.25, 0.002], 500),
                // Of one site and seed alone, without a number of URLs.
                time("b", net, 1, [120.0, 0.0, 0.5], 0),
            ],
        };
        let tables = all(&comparison, &times);
        let rows = |at: usize| tables[at].rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>();
        assert_eq!(rows(0), ["keep-all 0 - - -", "undust 2 3.00±1.41 2.50 2.00", "net 1 120 120 1000"]);
        assert_eq!(rows(1), ["a 1000 - 2.50 -", "b 500 - 0.500 120"]);
        assert_eq!(rows(2), ["a 1000 - 1.00 -", "b 500 - 4.00 1000"]);
        assert_eq!(rows(3)[1], "undust 1.1250 0.3750 0.0015 1.5015 3.5010");
        assert_eq!(of_method(&comparison, &times, net), ["120 (1 of 2 sites)", "1000 (1 of 2 sites)"]);
        assert_eq!(of_method(&comparison, &times, Name::Undust), ["3.00±1.41", "2.00"]);
        // Half of the samples of the second site are timed: it counts as a whole site all the same.
        let of =
            |keep: &dyn Fn(&Time) -> bool| Times { times: times.times.iter().filter(|t| keep(t)).cloned().collect() };
        let fewer = of(&|time| time.seed == 0 || time.site == "a");
        assert_eq!(of_method(&comparison, &fewer, Name::Undust), ["3.00", "2.00"]);
        // No sample has both sites.
        let crossed = of(&|time| (time.seed == 0) == (time.site == "a"));
        assert_eq!(of_method(&comparison, &crossed, Name::Undust), ["2.00", "2.00"]);
    }

    #[test]
    fn numbers_have_three_digits() {
        let texts = [0.0004, 0.5, 1.234, 12.34, 123.4, 12_345.6, f64::NAN].map(number);
        assert_eq!(texts, ["0.000", "0.500", "1.23", "12.3", "123", "12346", "-"]);
    }
}
