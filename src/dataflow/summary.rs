//! `summary.json`: parameters, per-stage counts, figures of each site and of all.
//!
//! Nothing here depends on order of records, number of workers, memory, paths or time: no spill counts,
//! no run times. Integers and sorted maps only, so that the same run gives the same bytes.

use super::change::Reason;
use super::held_out::HeldOut;
use super::proven::{Learned, Narrowed, ProvenSite, Withdrawn};
use super::sample::SampleParams;
use super::types::Plan;
use crate::model::{Count, SiteBy};
use crate::rules::explain::pattern_text;
use crate::rules::platforms::Recognised;
use crate::rules::types::SiteRules;
use crate::site::Params;
use crate::site::held_out::{Counts, Limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the layout of `summary.json`.
pub const FORMAT: u32 = 1;

/// The whole of `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// Parameters that determine the result.
    pub parameters: Parameters,
    /// Counts of the stages, by name: those of the dataflow, and those of learning summed over the sites.
    pub stages: BTreeMap<String, u64>,
    /// Rejected lines by reason.
    pub rejects: BTreeMap<String, u64>,
    /// Sums over the sites.
    pub total: Figures,
    /// By site.
    pub sites: BTreeMap<String, Figures>,
    /// Rules that the proof withdrew, by site, in the order of withdrawal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub withdrawn: BTreeMap<String, Vec<Gone>>,
    /// Rules that it narrowed, by site, in the order of narrowing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub narrowed: BTreeMap<String, Vec<Changed>>,
}

/// A rule that the proof narrowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The rule as it was.
    pub before: Gone,
    /// Id of the rule that it became, which may have been narrowed or withdrawn later.
    pub id: String,
    /// Its pattern, in words.
    pub rule: String,
}

impl Changed {
    fn of(narrowed: &Narrowed) -> Changed {
        let Narrowed { before, after, reason } = narrowed;
        let before = Gone::of(&Withdrawn { rule: before.clone(), reason: *reason, apart: (0, 0) });
        Changed { before, id: after.id.clone(), rule: pattern_text(after) }
    }
}

/// A rule that the proof withdrew, and the evidence against it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// Id of the rule.
    pub id: String,
    /// Its pattern, in words.
    pub rule: String,
    /// Reason.
    pub reason: Reason,
    /// Good URLs among all records.
    pub good: u64,
    /// Bad URLs among all records.
    pub bad: u64,
    /// Good URLs among the records that did not train.
    pub apart_good: u64,
    /// Bad URLs among the records that did not train.
    pub apart_bad: u64,
    /// Pairs on one page (WWW10 eq. 3).
    pub support_pairs: u64,
    /// Pairs on one page from different clusters (WWW10 eq. 3).
    pub false_positive_pairs: u64,
}

impl Gone {
    fn of(withdrawn: &Withdrawn) -> Gone {
        let Withdrawn { rule, reason, apart: (apart_good, apart_bad) } = withdrawn;
        Gone {
            id: rule.id.clone(),
            rule: pattern_text(rule),
            reason: *reason,
            good: rule.evidence.good,
            bad: rule.evidence.bad,
            apart_good: *apart_good,
            apart_bad: *apart_bad,
            support_pairs: rule.evidence.support_pairs,
            false_positive_pairs: rule.evidence.false_positive_pairs,
        }
    }
}

/// Learning parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The learner.
    pub learn: Params,
    /// Parameters of the sample.
    pub sample: SampleParams,
    /// `domain` or `host`.
    pub site_by: String,
    /// Bounds on what is cross-fitted; absent with `--no-held-out`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<Limits>,
}

impl Parameters {
    /// Parameters of a plan.
    pub fn of(plan: &Plan) -> Parameters {
        let site_by = match plan.site_by {
            SiteBy::Domain => "domain",
            SiteBy::Host => "host",
        };
        Parameters {
            learn: plan.params.clone(),
            sample: plan.sample,
            site_by: site_by.to_owned(),
            held_out: plan.held_out,
        }
    }
}

/// Figures of provisional rules, supported by the catalogue of platforms alone; part of no other number
/// of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provisional {
    /// Provisional rules.
    pub rules: u64,
    /// Labelled URLs that they move to the page of their cluster; a URL that two of them move counts twice.
    pub good: u64,
    /// Labelled URLs that they move to another page.
    pub bad: u64,
}

impl Provisional {
    fn of(site: &SiteRules) -> Option<Provisional> {
        let evidence = site.rules.iter().filter(|rule| rule.provisional).map(|rule| &rule.evidence);
        let sum = evidence.fold(Provisional::default(), |sum, of| Provisional {
            rules: sum.rules + 1,
            good: sum.good + of.good,
            bad: sum.bad + of.bad,
        });
        (sum.rules > 0).then_some(sum)
    }
}

/// Figures over distinct URLs of all records, under the rules that hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Records, repeats included.
    pub records: u64,
    /// Distinct URLs, as found.
    pub urls: u64,
    /// Distinct URLs with a label.
    pub labelled: u64,
    /// Distinct URLs with several labels.
    pub conflicts: u64,
    /// Distinct canonical URLs.
    pub canonical: u64,
    /// Distinct duplicate clusters.
    pub clusters: u64,
    /// Distinct URLs that trained.
    pub trained: u64,
    /// Rules that hold, without provisional ones.
    pub rules: u64,
    /// Rules that are provisional; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisional: Option<Provisional>,
    /// Programs that the site runs, by its URLs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<Recognised>,
    /// Rules that the proof over everything withdrew.
    pub withdrawn: u64,
    /// Rules that it narrowed; a rule that was narrowed twice counts twice.
    #[serde(default)]
    pub narrowed: u64,
    /// Look-ups, value ranges and exceptions that it removed one by one.
    #[serde(default)]
    pub forgotten: u64,
    /// Wrong merges that are taken for drift of the labels: their rules are kept.
    #[serde(default)]
    pub drift: u64,
    /// Sites that fell back to syntax-based normalization.
    pub fell_back: u64,
    /// Sites whose look-ups the proof withdrew.
    pub without_lookups: u64,
    /// Labelled URLs on the page of their cluster, less one a page.
    pub good: u64,
    /// Labelled URLs on the page of another cluster.
    pub bad: u64,
    /// Pairs on one page (WWW10 eq. 3).
    pub support_pairs: u64,
    /// Pairs on one page from different clusters (WWW10 eq. 3).
    pub false_positive_pairs: u64,
    /// Pair false-positive rate in millionths, rounded up.
    pub fpr_ppm: u64,
    /// Compression rate, (urls - canonical) / urls, in millionths, rounded down.
    pub compression_ppm: u64,
    /// Figures on URLs that took no part in learning; absent with `--no-held-out`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
}

impl Figures {
    fn of(site: &ProvenSite) -> Figures {
        let counts = &site.counts;
        Figures {
            records: counts.records,
            urls: counts.urls,
            labelled: counts.labelled,
            conflicts: counts.conflicts,
            canonical: counts.canonical,
            clusters: counts.clusters,
            trained: site.learned.trained,
            rules: site.rules.rules.iter().filter(|rule| !rule.provisional).count() as u64,
            provisional: Provisional::of(&site.rules),
            platforms: site.rules.platforms.clone(),
            withdrawn: site.withdrawn.len() as u64,
            narrowed: site.narrowed.len() as u64,
            forgotten: site.forgotten,
            drift: site.drift,
            fell_back: u64::from(site.fell_back),
            without_lookups: u64::from(site.without_lookups),
            good: counts.good,
            bad: counts.bad,
            support_pairs: counts.support_pairs,
            false_positive_pairs: counts.false_positive_pairs,
            ..Figures::default()
        }
        .with_rates()
    }

    fn with_rates(mut self) -> Figures {
        let ppm = |part: u64, whole: u64| u128::from(part) * 1_000_000 / u128::from(whole.max(1));
        let rest = u128::from(self.false_positive_pairs) * 1_000_000 % u128::from(self.support_pairs.max(1));
        self.fpr_ppm = (ppm(self.false_positive_pairs, self.support_pairs) + u128::from(rest > 0)) as u64;
        self.compression_ppm = ppm(self.urls - self.canonical, self.urls) as u64;
        self
    }

    fn add(&mut self, other: &Figures) {
        self.records += other.records;
        self.urls += other.urls;
        self.labelled += other.labelled;
        self.conflicts += other.conflicts;
        self.canonical += other.canonical;
        self.clusters += other.clusters;
        self.trained += other.trained;
        self.rules += other.rules;
        if let Some(other) = other.provisional {
            let sum = self.provisional.get_or_insert_default();
            (sum.rules, sum.good, sum.bad) = (sum.rules + other.rules, sum.good + other.good, sum.bad + other.bad);
        }
        self.withdrawn += other.withdrawn;
        self.narrowed += other.narrowed;
        self.forgotten += other.forgotten;
        self.drift += other.drift;
        self.fell_back += other.fell_back;
        self.without_lookups += other.without_lookups;
        self.good += other.good;
        self.bad += other.bad;
        self.support_pairs = self.support_pairs.saturating_add(other.support_pairs);
        self.false_positive_pairs = self.false_positive_pairs.saturating_add(other.false_positive_pairs);
    }
}

impl Summary {
    /// The summary of a run; `rejects` are the rejected lines by reason.
    pub fn new(plan: &Plan, learned: &Learned, rejects: BTreeMap<String, u64>) -> Summary {
        let held_out = |counts: Option<&Counts>| plan.held_out.map(|_| HeldOut::of(counts));
        let figures =
            |site: &ProvenSite| Figures { held_out: held_out(site.learned.held_out.as_ref()), ..Figures::of(site) };
        let sites: BTreeMap<String, Figures> =
            learned.sites.iter().map(|site| (site.rules.site.clone(), figures(site))).collect();
        let gone = |site: &ProvenSite| (site.rules.site.clone(), site.withdrawn.iter().map(Gone::of).collect());
        let withdrawn = learned.sites.iter().filter(|site| !site.withdrawn.is_empty()).map(gone).collect();
        let narrowed = |site: &ProvenSite| (site.rules.site.clone(), site.narrowed.iter().map(Changed::of).collect());
        let narrowed = learned.sites.iter().filter(|site| !site.narrowed.is_empty()).map(narrowed).collect();
        let mut total = Figures::default();
        sites.values().for_each(|site| total.add(site));
        let mut all: Option<Counts> = None;
        let counts = learned.sites.iter().filter_map(|site| site.learned.held_out.as_ref());
        counts.for_each(|counts| all.get_or_insert_default().add(counts));
        total.held_out = held_out(all.as_ref());
        let mut stages: BTreeMap<String, u64> = BTreeMap::new();
        for (of, count) in learned.sites.iter().flat_map(|site| &site.learned.counts) {
            *stages.entry(of.in_summary()).or_default() += count;
        }
        let conflicts = learned.sites.iter().map(|site| site.learned.conflicts).sum();
        let whole = [
            (Count::Records, total.records),
            (Count::Sites, sites.len() as u64),
            (Count::SampledUrls, total.trained),
            (Count::Conflicts, conflicts),
            (Count::Passes, learned.proof_passes),
            (Count::Withdrawn, total.withdrawn),
            (Count::Narrowed, total.narrowed),
            (Count::FellBack, total.fell_back),
        ];
        stages.extend(whole.map(|(of, count)| (of.in_summary(), count)));
        // Learned sites have records; given ones may have none, and keep the evidence that they came with.
        let without = learned.sites.iter().filter(|site| site.counts.records == 0).count() as u64;
        if without > 0 {
            stages.insert(Count::WithoutRecords.in_summary(), without);
        }
        Summary {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            parameters: Parameters::of(plan),
            stages,
            rejects,
            total: total.with_rates(),
            sites,
            withdrawn,
            narrowed,
        }
    }
}
