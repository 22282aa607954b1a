//! The table of examples at the start of README, against the rules that `learn` makes of the sample.

use crate::jobs_run::{Folder, run, undust};
use undust::rules::RuleSet;

#[test]
fn readme_shows_what_the_rules_of_the_sample_give() {
    let folder = Folder::with_rules();
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kb-sample.jsonl.gz");
    let mut learn = undust(&["learn", "-q", "--no-held-out", "--no-report", input, "--out", "sample"]);
    learn.current_dir(folder.path(""));
    run(learn).done();
    let rules = RuleSet::open(folder.path("sample/rules.jsonl")).expect("rules");
    let readme = include_str!("../../README.md").lines().filter(|line| line.starts_with("| `http"));
    let mut shown = 0;
    for line in readme {
        let urls: Vec<&str> = line.split('`').filter(|text| text.starts_with("http")).collect();
        let [found, expected] = urls[..] else { panic!("{line}") };
        assert_eq!(rules.canonicalize(found).url, expected, "{found}");
        shown += 1;
    }
    assert!(shown >= 4, "the table has gone");
}
