//! Each threshold acts: some case of the learner comes out otherwise where it has its smallest or its
//! largest value. Which case that is stands in `tests/cases/thresholds.txt`: to look for it in all of them
//! takes minutes.

use super::house::WRITE;
use super::learner_site::{Case, learned_with};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use undust::rules::{SiteRules, Threshold, Thresholds};
use undust::site::Params;

/// Thresholds that no case shows, with the crawl on which the rules change, or the unit tests that show
/// them. A case takes its threshold out of the list.
const UNSEEN: &[(&str, &str)] = &[
    ("bad_cost", "crawl-photos"),
    ("breadth_max_against", "unseen: frequent values that meet other clusters mostly fail the bound before"),
    ("breadth_slack_ppm", "crawl-bugs"),
    ("classes_raw_permille", "crawl-docs"),
    ("cut_ending_percent", "site::endings"),
    ("cut_ending_known_percent", "site::endings"),
    ("energy_damping", "crawl-bugs"),
    ("form_min_constant_urls", "phpbb-forum"),
    ("form_near", "crawl-kb"),
    ("form_rarer", "crawl-bugs"),
    ("look_up_many", "crawl-bugs"),
    ("mirror_covered_percent", "500 URLs of crawl-kb"),
    ("moved_permille", "learner_hints"),
    ("noise_max_chance", "site::noise"),
    ("noise_min_alone_permille", "crawl-store with one label of 67 wrong"),
    ("noise_min_held_percent", "university"),
    ("noise_min_sure", "site::noise"),
    ("noise_variants_rows", "site::noise"),
    ("overlap_title_rows", "50,000 URLs of scripts/accept traps --only slugs"),
    ("small_opaque_percent", "unseen: keys with tokens hold hardly anything else"),
    ("span_far_percent", "site::spans"),
    ("span_many_raw_permille", "site::value_ranges"),
    ("span_raw_permille", "unseen: the Wilson bound of value ranges is mostly reached before"),
];

/// Thresholds of the proof, which these cases do not run: unit tests of `dataflow::verdict` and
/// `dataflow::narrow` show them.
fn is_of_the_proof(name: &str) -> bool {
    name.starts_with("proof_") || name.starts_with("narrow_")
}

/// Where it is written which case shows a threshold: lines `THRESHOLD VALUE CASE`.
const SHOWN_BY: &str = "tests/cases/thresholds.txt";

fn path(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(of)
}

/// The cases by their names, those of fewest records first.
fn cases() -> Vec<(String, Case)> {
    let paths = std::fs::read_dir(path("tests/cases/learner")).expect("cases");
    let read = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, Case::read(&path.to_string_lossy(), &std::fs::read_to_string(&path).expect("readable")))
    };
    let mut cases: Vec<(String, Case)> = paths.map(|entry| read(entry.expect("a file").path())).collect();
    cases.sort_by(|a, b| (a.1.rows.len(), &a.0).cmp(&(b.1.rows.len(), &b.0)));
    cases
}

/// Cases, and what is learned of those that were asked with the thresholds as they are.
struct Cases {
    all: Vec<(String, Case)>,
    learned: Vec<Option<SiteRules>>,
}

impl Cases {
    /// True where other rules are learned of a case with this value of a threshold.
    fn show(&mut self, at: usize, name: &str, value: &str) -> bool {
        let case = &self.all[at].1;
        let rules = |params: &Params| learned_with("example.com", &case.rows, params).rules;
        let before = self.learned[at].get_or_insert_with(|| rules(&case.params));
        let mut params = case.params.clone();
        params.set(name, value).is_ok() && rules(&params) != *before
    }

    /// The first case that shows a threshold at an end of its range, as a line of the file.
    fn find(&mut self, name: &str, range: &[String; 2]) -> Option<String> {
        let cases = self.all.len();
        let mut tries = range.iter().flat_map(|value| (0..cases).map(move |at| (value, at)));
        let (value, at) = tries.find(|&(value, at)| self.show(at, name, value))?;
        Some(format!("{name} {value} {}\n", self.all[at].0))
    }

    /// True where a line of the file is about this threshold at an end of its range, and right.
    fn bear_out(&mut self, line: &str, name: &str, range: &[String; 2]) -> bool {
        let [of, value, case] = line.split_whitespace().collect::<Vec<_>>()[..] else { return false };
        let at = self.all.iter().position(|known| known.0 == case);
        of == name && range.iter().any(|end| end == value) && at.is_some_and(|at| self.show(at, name, value))
    }
}

#[test]
fn every_threshold_acts() {
    let all = cases();
    let mut cases = Cases { learned: all.iter().map(|_| None).collect(), all };
    let written = std::fs::read_to_string(path(SHOWN_BY)).unwrap_or_default();
    let lines: BTreeMap<&str, &str> =
        written.lines().filter_map(|line| Some((line.split(' ').next()?, line))).collect();
    let (mut unseen, mut shown) = (Vec::new(), String::new());
    for Threshold { name, range, .. } in Params::default().table() {
        if is_of_the_proof(name) || UNSEEN.iter().any(|of| of.0 == name) {
            continue;
        }
        match lines.get(name).filter(|line| cases.bear_out(line, name, &range)) {
            Some(line) => shown += &format!("{line}\n"),
            None => match cases.find(name, &range) {
                Some(line) => shown += &line,
                None => unseen.push(name),
            },
        }
    }
    assert!(unseen.is_empty(), "these change no case in tests/cases/learner: {unseen:?}");
    assert!(UNSEEN.iter().all(|of| Thresholds::NAMES.contains(&of.0)), "the list names thresholds");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path(SHOWN_BY), shown).expect("a writable file");
        return;
    }
    let differ: Vec<&str> = shown.lines().filter(|line| !written.lines().any(|of| of == *line)).collect();
    assert!(
        shown == written,
        "{SHOWN_BY} lacks {differ:?} or has lines of other thresholds: \
         {WRITE}=1 cargo test --test it -- every_threshold_acts writes it"
    );
}
