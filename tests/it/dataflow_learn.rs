//! The dataflow against plain code, at several worker counts, with and without spilling.
use super::dataflow_support::{Memory, Owned, crawl, plan, run, shuffled};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use undust::dataflow::learned_site::LearnedSite;
use undust::dataflow::sample::SampleParams;
use undust::dataflow::{Batches, Journal, Learned, Plan, Source, SourceError, run_on};
use undust::model::SiteBy;
use undust::runtime::progress::Progress;
use undust::site::{self, Method, Params, Training};
use undust::url::site::site_of;
use undust::url::syntax;

/// Memory so small that everything spills many times.
const TINY: usize = 1 << 12;
const LARGE: usize = 1 << 28;

/// Records by site, URLs in normal form.
fn by_site(records: &[Owned]) -> BTreeMap<String, Vec<(Vec<u8>, &Owned)>> {
    let mut sites: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for record in records {
        let mut url = Vec::new();
        let Ok(split) = syntax::normalize(record.url.as_bytes(), &mut url) else { continue };
        let host = url[split.host.0 as usize..split.host.1 as usize].to_vec();
        let site = site_of(record.site.as_deref().map(str::as_bytes), &host, SiteBy::Domain);
        sites.entry(String::from_utf8(site.to_vec()).expect("text")).or_default().push((url, record));
    }
    sites
}

/// What each site was learned to be, before the proof.
#[derive(Debug, Default)]
struct Kept(Mutex<BTreeMap<String, LearnedSite>>);

impl Journal for Kept {
    fn finished(&self, _: &str) -> Result<Option<LearnedSite>, SourceError> {
        Ok(None)
    }

    fn keep(&self, site: &LearnedSite) -> Result<(), SourceError> {
        self.0.lock().expect("no panic").insert(site.rules.site.clone(), site.clone());
        Ok(())
    }
}

#[test]
fn every_site_is_learned_as_by_the_sequential_learner() {
    let (records, how) = (crawl(5, 300), plan(3, LARGE));
    let sites = by_site(&records);
    for method in [Method::Undust, Method::PublishedGraph, Method::PublishedNaive] {
        let how = Plan { params: Params { method, ..how.params.clone() }, ..how.clone() };
        let kept = Arc::new(Kept::default());
        let source = Arc::new(Memory { records: Arc::new(records.clone()), batch: 100 });
        let got = run_on(&how, source, Arc::new(Progress::default()), None, Some(kept.clone()), None);
        let got = got.expect("the run succeeds");
        let kept = kept.0.lock().expect("no panic");
        assert_eq!((got.sites.len(), kept.len()), (sites.len(), sites.len()));
        for (site, (name, records)) in got.sites.iter().zip(&sites) {
            let rows = records.iter().map(|(url, r)| (&url[..], r.cluster.as_deref().map(str::as_bytes), r.elsewhere));
            let training = Training::new(name, rows);
            let (trained, conflicts) = (training.len() as u64, training.conflicts);
            let want = site::learn(training, &how.params);
            assert_eq!(kept[name].rules, want.rules, "{name}");
            assert_eq!(site.learned.counts, want.counts, "{name}");
            assert_eq!(site.learned.trained, trained, "{name}");
            assert_eq!(site.learned.conflicts, conflicts, "{name}");
            assert_eq!(site.learned.profile.tree_nodes > 0, method == Method::Undust, "{name}");
        }
    }
}

#[test]
fn counts_are_those_of_plain_code() {
    let records = crawl(4, 200);
    let got = run(&plan(2, LARGE), records.clone(), 64);
    let sites = by_site(&records);
    for site in &got.sites {
        let rows = &sites[&site.rules.site];
        let urls: BTreeSet<&str> = rows.iter().map(|(_, r)| r.url.as_str()).collect();
        let labelled: BTreeSet<&str> =
            rows.iter().filter(|(_, r)| r.cluster.is_some()).map(|(_, r)| r.url.as_str()).collect();
        let clusters: BTreeSet<&str> = rows.iter().filter_map(|(_, r)| r.cluster.as_deref()).collect();
        let pairs: BTreeSet<(&str, &str)> =
            rows.iter().filter_map(|(_, r)| Some((r.url.as_str(), r.cluster.as_deref()?))).collect();
        assert_eq!(site.counts.records, rows.len() as u64);
        assert_eq!(site.counts.urls, urls.len() as u64);
        assert_eq!(site.counts.labelled, labelled.len() as u64);
        assert_eq!(site.counts.clusters, clusters.len() as u64);
        assert_eq!(site.counts.conflicts, (pairs.len() - labelled.len()) as u64);
    }
    let invalid = records.iter().filter(|r| r.url.starts_with("mailto:")).count();
    assert_eq!(got.invalid, invalid as u64);
}

#[test]
fn the_same_for_any_workers_order_batches_and_memory() {
    let records = crawl(7, 150);
    for sample in [
        SampleParams::default(),
        SampleParams { share: 0.4, max: 120, cluster_max: 3, held_back: 0.1, ..SampleParams::default() },
        SampleParams { max: 1, ..SampleParams::default() },
    ] {
        let learn = |workers: usize, memory: usize, seed: u64, batch: usize| -> Learned {
            let mut plan = plan(workers, memory);
            plan.sample = sample;
            run(&plan, shuffled(records.clone(), seed), batch)
        };
        let want = learn(1, LARGE, 0, 10_000);
        assert!(want.sites.len() == 8, "seven sites and a label");
        for (workers, memory, seed, batch) in [
            (1, TINY, 1, 37),
            (2, LARGE, 2, 100),
            (2, TINY, 3, 10),
            (3, LARGE, 4, 1),
            (4, TINY, 5, 64),
            (4, LARGE, 6, 999),
        ] {
            assert_eq!(
                learn(workers, memory, seed, batch),
                want,
                "{workers} workers, {memory} bytes, batches of {batch}"
            );
        }
    }
}

#[test]
fn no_records_no_sites() {
    let got = run(&plan(2, LARGE), Vec::new(), 10);
    assert_eq!(got, Learned { proof_passes: got.proof_passes, ..Learned::default() });
}

/// Records that note in which passes they are read.
struct Noting(Memory, Mutex<BTreeSet<usize>>);

impl Source for Noting {
    fn open(&self, index: usize, peers: usize, pass: usize) -> Result<Box<dyn Batches>, SourceError> {
        self.1.lock().expect("no worker panics").insert(pass);
        self.0.open(index, peers, pass)
    }
}

#[test]
fn a_later_pass_reads_what_was_laid_aside_where_there_is_room() {
    // A rule that a small sample does not contradict and the rest does: its site is counted again.
    let records = Arc::new(crawl(40, 60));
    let sample = SampleParams { share: 0.3, ..SampleParams::default() };
    let learn = |workers: usize, memory: usize| {
        let source = Arc::new(Noting(Memory { records: records.clone(), batch: 100 }, Mutex::default()));
        let plan = Plan { sample, ..plan(workers, memory) };
        let learned = undust::dataflow::run(&plan, source.clone(), Arc::new(Progress::default())).expect("a run");
        (learned, source.1.lock().expect("no worker panicked").clone())
    };
    let (want, passes) = learn(2, TINY);
    assert!(want.proof_passes > 1, "no site is counted again");
    assert_eq!(passes.len() as u64, want.proof_passes + 1, "without room all is read in each pass");
    for workers in [1, 3] {
        let (got, passes) = learn(workers, LARGE);
        assert_eq!(got, want);
        assert_eq!(passes, BTreeSet::from([0, 1]), "{workers} workers");
    }
}
