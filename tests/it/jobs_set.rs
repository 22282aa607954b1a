//! `learn --set`: parameters by name, from the command line to the rule file.

use crate::jobs_run::{Folder, Ran, run, undust};
use serde_json::{Value, json};
use undust::rules::Thresholds;

/// Runs `learn` on the sample, without figures and without a page.
fn learn(folder: &Folder, out: &str, more: &[&str]) -> Ran {
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kb-sample.jsonl.gz");
    let mut command = undust(&[&["learn", "-q", "--no-held-out", "--no-report", input, "--out", out], more].concat());
    command.current_dir(folder.path(""));
    run(command)
}

/// The learning parameters of a rule file.
fn params(folder: &Folder, out: &str) -> Value {
    let text = folder.text(&format!("{out}/rules.jsonl"));
    let header: Value = serde_json::from_str(text.lines().next().expect("a header")).expect("JSON");
    header["params"].clone()
}

#[test]
fn help_needs_no_other_argument_and_names_all() {
    let text = run(undust(&["learn", "--set", "help"])).done();
    assert!(text.starts_with("Parameters of --set NAME=VALUE"), "{text:.100}");
    for name in Thresholds::NAMES.iter().chain(&["fragment_clusters", "platforms.urls"]) {
        assert!(text.contains(&format!("\n{name} = ")), "{name} is missing");
    }
    assert!(text.contains("\nagreement_percent = 80 (1 to 100)\n    Share of common clusters"));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "the text is wrapped");
}

#[test]
fn what_is_set_is_in_the_result_and_acts() {
    let folder = Folder::with_rules();
    learn(&folder, "plain", &[]).done();
    learn(&folder, "default", &["--set", "agreement_percent=80", "--set", "noise_max_chance=1e-5"]).done();
    let text = |out: &str| folder.text(&format!("{out}/rules.jsonl"));
    assert!(text("plain") == text("default") && params(&folder, "plain").get("thresholds").is_none());
    let set = ["--set", "min_clusters=40", "--set", "noise_max_chance=0.25", "--set", "fragment_clusters=5"];
    learn(&folder, "other", &set).done();
    let found = params(&folder, "other");
    assert_eq!(found["thresholds"], json!({"min_clusters": 40, "noise_max_chance": 0.25}));
    assert_eq!(found["fragment_clusters"], json!(5));
    let summary: Value = serde_json::from_str(&folder.text("other/summary.json")).expect("JSON");
    assert_eq!(summary["parameters"]["learn"], found);
    let sites = |out: &str| text(out).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_ne!(sites("plain"), sites("other"), "forty clusters for three change no rule");
    // Readers of the rule file take it, and the proof keeps what it was learned with.
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kb-sample.jsonl.gz");
    folder.said(&format!("prove -q --rules other --out proven {input}")).done();
    assert_eq!(params(&folder, "proven"), found);
}

#[test]
fn mistakes_are_usage_errors_with_a_way_out() {
    let folder = Folder::with_rules();
    let cases: [(&[&str], &str); 6] = [
        (&["--set", "damping=90"], "no parameter is named damping (near it: energy_damping); --set help lists all"),
        (&["--set", "agreement_percent=0"], "agreement_percent is a number from 1 to 100"),
        (&["--set", "agreement_percent=x"], "agreement_percent is a number from 1 to 100"),
        (&["--set", "fpr_max_ppm=1"], "fpr_max_ppm is set by --fpr-max"),
        (&["--set", "min_good"], "NAME=VALUE, or help"),
        (&["--set", "min_good=4", "--set", "min_good=5"], "min_good is set twice"),
    ];
    for (arguments, message) in cases {
        let ran = learn(&folder, "out", arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.err.contains(message), "{arguments:?}: {}", ran.err);
        assert!(!folder.path("out").exists());
    }
}
