//! Counts to figures, and the sites joined.

use super::Counts;
use serde::Serialize;

/// Defines [`Rates`] once: the fields, their names and their order.
macro_rules! define_rates {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The figures of a site, or of many; shares in 0..=1 unless said otherwise. NaN (`null` in JSON) where
        /// a figure is undefined.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize)]
        pub struct Rates {
            $($(#[$doc])* pub $name: f64,)*
        }

        /// Number of figures.
        const FIGURES: usize = [$(stringify!($name)),*].len();

        impl Rates {
            /// Names of the figures, in the order of [`values`](Self::values).
            pub const NAMES: [&'static str; FIGURES] = [$(stringify!($name)),*];

            /// The figures in the order of [`NAMES`](Self::NAMES).
            pub fn values(&self) -> [f64; FIGURES] {
                [$(self.$name),*]
            }

            /// The inverse of [`values`](Self::values).
            fn from_values([$($name),*]: [f64; FIGURES]) -> Rates {
                Rates { $($name),* }
            }
        }
    };
}

define_rates! {
    /// Distinct labelled URLs.
    n,
    /// Their clusters.
    clusters,
    /// Compression rate, WWW10 eq. 1.
    comp,
    /// Compression of the oracle with all clusters: the duplicate rate.
    oracle,
    /// Dup-reduction rate, WWW10 eq. 2, one-page reading; may be negative. NaN without duplicates.
    dupred,
    /// Dup-reduction rate, naive reading; may exceed 1. NaN without duplicates.
    dupred_naive,
    /// False-positive rate over pairs, WWW10 eq. 3; 0 without pairs.
    fpr,
    /// Share of the merged URLs that are not of the largest cluster of their canonical URL.
    urlfpr,
    /// Precision of the crawl simulation: covered clusters per fetched page.
    prec,
    /// Recall of the crawl simulation: covered clusters per cluster.
    rec,
    /// Harmonic mean of the two.
    f1,
    /// Clusters none of whose URLs is fetched: a count.
    lost,
    /// Fetches rightly saved, as a share of those the oracle saves; may be negative. NaN without
    /// duplicates.
    saved_share,
    /// Share of the pairs of one cluster that share their canonical URL. NaN without such pairs.
    pair_rec,
    /// Share of the rewritten URLs whose canonical URL is a listed URL of the same cluster. NaN without
    /// rewritten URLs.
    fetch_ok,
    /// Share of the rewritten URLs whose canonical URL is a listed URL of another cluster. NaN without
    /// rewritten URLs.
    fetch_bad,
    /// Share of the URLs whose canonical URL holds `*`.
    star,
}

impl Rates {
    /// The figures that follow from `counts`.
    pub fn of(counts: &Counts) -> Rates {
        let share = |part: u64, whole: u64, otherwise: f64| match whole {
            0 => otherwise,
            whole => part as f64 / whole as f64,
        };
        let Counts { urls, canonical, clusters, covered, .. } = *counts;
        let oracle = if urls == 0 { 0.0 } else { 1.0 - clusters as f64 / urls as f64 };
        let reduction = |pages_with_news: f64| match oracle > 0.0 {
            true => 1.0 - (1.0 - pages_with_news) / oracle,
            false => f64::NAN,
        };
        let prec = share(covered, canonical, 1.0);
        let rec = share(covered, clusters, 1.0);
        // Signed: every page that is fetched for a cluster already covered, or in place of one lost, counts
        // against.
        let saved = urls as f64 - canonical as f64 - counts.lost() as f64;
        Rates {
            n: urls as f64,
            clusters: clusters as f64,
            comp: 1.0 - share(canonical, urls, f64::NAN),
            oracle,
            dupred: reduction(prec),
            dupred_naive: reduction(share(clusters, canonical, 1.0)),
            fpr: share(counts.false_positive_pairs, counts.support_pairs, 0.0),
            urlfpr: share(counts.wrong, counts.merged, 0.0),
            prec,
            rec,
            f1: if prec + rec > 0.0 { 2.0 * prec * rec / (prec + rec) } else { 0.0 },
            lost: counts.lost() as f64,
            saved_share: if urls > clusters { saved / (urls - clusters) as f64 } else { f64::NAN },
            pair_rec: share(counts.true_pairs(), counts.duplicate_pairs, f64::NAN),
            fetch_ok: share(counts.fetch_ok, counts.rewritten, f64::NAN),
            fetch_bad: share(counts.fetch_bad, counts.rewritten, f64::NAN),
            star: share(counts.star, urls, f64::NAN),
        }
    }
}

/// Many sites in two rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Mean of the sites' figures; a site where a figure is undefined is left out of its mean.
    #[serde(rename = "macro")]
    pub macro_mean: Rates,
    /// Figures of the summed counts.
    pub micro: Rates,
}

impl Summary {
    /// Joins the sites, in the order given (sums of floats depend on it in the last bits).
    pub fn of(sites: &[Counts]) -> Summary {
        let mut sums = [0.0; FIGURES];
        let mut defined = [0u64; FIGURES];
        for counts in sites {
            for (i, value) in Rates::of(counts).values().into_iter().enumerate() {
                if !value.is_nan() {
                    sums[i] += value;
                    defined[i] += 1;
                }
            }
        }
        let means = std::array::from_fn(|i| if defined[i] == 0 { f64::NAN } else { sums[i] / defined[i] as f64 });
        Summary { macro_mean: Rates::from_values(means), micro: Rates::of(&sites.iter().copied().sum()) }
    }
}
