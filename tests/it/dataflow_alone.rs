//! The plain code of one site against the dataflows: it stands behind the rows of undust in a
//! comparison.
use super::dataflow_support::{Owned, crawl, plan, run, shuffled};
use undust::dataflow::alone;
use undust::dataflow::learned_site::LearnedSite;
use undust::dataflow::sample::SampleParams;
use undust::model::Record;
use undust::rules::SiteRules;

fn check(records: &[Owned], sample: SampleParams) {
    let plan = undust::dataflow::Plan { sample, ..plan(2, 64 << 20) };
    let dataflow = run(&plan, shuffled(records.to_vec(), 3), 97);
    assert!(!dataflow.sites.is_empty());
    for site in &dataflow.sites {
        let name = &site.rules.site;
        // A comparison assigns records by the same locator.
        let mut locator = undust::dataflow::locate::Locator::new(plan.site_by);
        let of_site = |record: &Record<'_>| locator.locate(*record).is_some_and(|(found, _)| found == name.as_bytes());
        let mine: Vec<Record<'_>> = records.iter().map(Owned::record).filter(of_site).collect();
        let learned = alone::learn(name, &mine, &sample, &plan.params);
        let but_rules = LearnedSite { rules: SiteRules::default(), ..learned.clone() };
        assert_eq!(but_rules, site.learned, "{name}");
        assert_eq!(&alone::prove(learned, &mine, &sample, &plan.params), site, "{name}");
    }
}

#[test]
fn a_site_alone_is_the_site_of_the_dataflow() {
    check(&crawl(3, 120), SampleParams::default());
}

#[test]
fn so_it_is_with_a_sample_and_a_budget() {
    check(&crawl(2, 300), SampleParams { share: 0.3, ..SampleParams::default() });
    check(&crawl(2, 300), SampleParams { max: 150, cluster_max: 3, ..SampleParams::default() });
}
