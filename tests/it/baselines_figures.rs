//! The worked examples of the papers for the methods that undust is compared with.

use super::published_figures::FIGURE_3;
use undust::baselines::catalogue::{Catalogue, CatalogueRow, Switches};
use undust::baselines::decision_tree::DecisionTree;
use undust::baselines::dustbuster::DustBuster;
use undust::baselines::fan_out::FanOut;
use undust::baselines::protocol::Records;
use undust::baselines::{Method, RuleReport, Sample};

fn training<U: AsRef<str>, C: AsRef<str>>(rows: &[(U, C)]) -> Records {
    let mut records = Records::new("example.com");
    rows.iter().for_each(|(url, label)| records.push(url.as_ref().as_bytes(), label.as_ref().as_bytes(), false));
    records
}

/// The rules at `fpr_max`, and what they make of each URL.
fn learned(method: &dyn Method, training: &Records, fpr_max: f64, urls: &[&str]) -> (Vec<RuleReport>, Vec<String>) {
    let rows: Vec<usize> = (0..training.len()).collect();
    let mut rules = method.learn(&Sample::new(training, &rows)).select(fpr_max).rules;
    let mut out = Vec::new();
    let mut canonical = |url: &&str| {
        rules.canonicalize(url.as_bytes(), &mut out);
        String::from_utf8(out.clone()).expect("UTF-8 in, UTF-8 out")
    };
    let canonical = urls.iter().map(&mut canonical).collect();
    (rules.report(), canonical)
}

/// Every row of the catalogue alone, on its own example.
#[test]
fn catalogue_rows_do_what_their_examples_say() {
    let text = include_str!("../cases/baselines/catalogue.tsv");
    let none = training::<&str, &str>(&[]);
    let mut seen = std::collections::BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let [name, url, wanted] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let row = CatalogueRow::parse(name).unwrap_or_else(|| panic!("no row {name}"));
        let hosts = [("208.77.188.166".to_owned(), "www.example.com".to_owned())].into();
        let method = Catalogue { switches: Switches::NONE.with(row), hosts };
        assert_eq!(learned(&method, &none, 0.0, &[url]).1, [wanted], "{name}");
        seen.insert(name);
    }
    assert_eq!(seen.len(), CatalogueRow::ALL.len(), "every row has an example");
}

/// "R1 and R2 are further combined in the step (3) to create the ideal rule R3"; without U6 "some raw
/// rules like R1 and the final R3 cannot be generated". The figure shows two values a key, so the
/// fan-out is 2.
#[test]
fn figure_3_needs_u6() {
    let r3 = |reports: &[RuleReport]| reports.iter().any(|rule| rule.text.starts_with("ignore q:k3=, q:k5= "));
    for (without, wanted) in [(None, true), (Some(5), false)] {
        let rows: Vec<(&str, &str)> =
            (0..8).filter(|&i| Some(i) != without).map(|i| (FIGURE_3[i], "the page")).collect();
        let (rules, forms) = learned(&FanOut { least: 2 }, &training(&rows), 0.0, &FIGURE_3);
        assert_eq!(r3(&rules), wanted, "without {without:?}: {rules:#?}");
        let all = |form: &String| form == "http://example.com/a/b?k3=*&k4=c&k5=*";
        assert_eq!(forms.iter().all(all), wanted, "without {without:?}: {forms:#?}");
    }
    // The keys take six values each: the larger fan-out of WWW10 sees too few.
    let rows: Vec<(&str, &str)> = FIGURE_3.iter().map(|&url| (url, "the page")).collect();
    assert!(!r3(&learned(&FanOut { least: 10 }, &training(&rows), 0.0, &[]).0));
}

/// A context is left open once it has shown as many values as the fan-out, and not before.
#[test]
fn contexts_open_with_the_fan_out() {
    let rows: Vec<(String, String)> = (0..7)
        .flat_map(|id| {
            [format!("http://example.com/p?id={id}&print=1"), format!("http://example.com/p?id={id}")]
                .map(|url| (url, format!("page {id}")))
        })
        .collect();
    let url = "http://example.com/p?id=99&print=1";
    assert_eq!(learned(&FanOut { least: 5 }, &training(&rows), 0.0, &[url]).1, ["http://example.com/p?id=99"]);
    assert_eq!(learned(&FanOut { least: 10 }, &training(&rows), 0.0, &[url]).1, [url]);
}

/// DustBuster Figure 7 from a small log of a forum: the story alias, the superfluous view parameters
/// and the old script name come out; stories of one number on two domains (section 4) do not become
/// one.
#[test]
fn figure_7_from_a_small_log() {
    let mut rows: Vec<(String, String)> = Vec::new();
    for id in 0..30 {
        let mut page = |url: String, label: String| rows.push((url, label));
        let story = 1000 + 37 * id;
        for domain in ["movies.co.il", "politics.co.il"] {
            page(format!("http://{domain}/story_{story}"), format!("{domain} {story}"));
            page(format!("http://{domain}/story?id={story}"), format!("{domain} {story}"));
        }
        let thread = 5000 + 41 * id;
        page(format!("http://movies.co.il/thread?rep={thread}"), format!("thread {thread}"));
        page(format!("http://movies.co.il/thread?rep={thread}&LastView=&Close="), format!("thread {thread}"));
        page(format!("http://movies.co.il/faq.php3?q={thread}"), format!("faq {thread}"));
        page(format!("http://movies.co.il/faq?q={thread}"), format!("faq {thread}"));
    }
    let urls = [
        "http://movies.co.il/story?id=77",
        "http://movies.co.il/story_77",
        "http://politics.co.il/story_77",
        "http://movies.co.il/thread?rep=8&LastView=&Close=",
        "http://movies.co.il/faq.php3?q=8",
    ];
    let (rules, forms) = learned(&DustBuster::default(), &training(&rows), 0.05, &urls);
    assert_eq!(forms[0], forms[1], "{rules:#?}");
    assert_ne!(forms[1], forms[2], "{rules:#?}");
    assert_eq!(forms[3], "http://movies.co.il/thread?rep=8", "{rules:#?}");
    assert_eq!(forms[4], "http://movies.co.il/faq?q=8", "{rules:#?}");
    assert!(rules.len() < 12, "redundant rules are gone: {rules:#?}");
}

/// SIGIR Table 3, column "Rule-based": decision trees find cases 1, 2 and 4, make the mistake of case 3
/// (no training URL told them that `tagged` is no number), and cannot know the database of case 5.
#[test]
fn table_3_of_sigir_2017() {
    let mut rows: Vec<(String, String)> = Vec::new();
    let names = ["rich", "anzer", "yovav", "mike", "bruce"];
    for id in 0..30u32 {
        let mut page = |url: String, label: String| rows.push((format!("http://example.com/{url}"), label));
        let user = 150_000 + 781 * id;
        page(format!("users/{user}/{}", names[id as usize % 5]), format!("user {user}"));
        page(format!("users/{user}"), format!("user {user}"));
        let question = 132_000 + 218 * id;
        page(format!("questions/{question}/"), format!("question {question}"));
        page(format!("q/{question}"), format!("question {question}"));
        let other = format!("{}{}", names[id as usize % 5], char::from(b'a' + (id % 26) as u8));
        page(format!("private-message/set/{other}"), "log in first".to_owned());
        page(format!("t/prev/{}", 10_000 + 135 * id), format!("thread {id}"));
        page(format!("t/{}.aspx", 98_000 + 579 * (id * 7 % 30)), format!("thread {id}"));
    }
    page_of_login(&mut rows);
    let urls = [
        "http://example.com/users/7/someone",
        "http://example.com/questions/77/",
        "http://example.com/questions/tagged/google",
        "http://example.com/private-message/set/Yovav",
        "http://example.com/private-message/set/other",
        "http://example.com/t/prev/10135",
    ];
    let (rules, forms) = learned(&DecisionTree, &training(&rows), 0.1, &urls);
    assert_eq!(forms[0], "http://example.com/users/7", "{rules:#?}");
    assert_eq!(forms[1], "http://example.com/q/77", "{rules:#?}");
    assert_eq!(forms[2], "http://example.com/q/tagged", "{rules:#?}");
    assert_eq!(forms[3], forms[4], "{rules:#?}");
    assert_eq!(forms[5], urls[5], "{rules:#?}");
    assert!(
        rules.iter().all(|rule| rule.evidence.as_ref().is_some_and(|e| e.false_positive_pairs * 10 <= e.support_pairs))
    );
}

/// The page that the others of its cluster are sent to.
fn page_of_login(rows: &mut Vec<(String, String)>) {
    rows.push(("http://example.com/private-message/set/anzer".to_owned(), "log in first".to_owned()));
}

/// Where a transformation holds in one part of a site and not in another, the tree tells the parts
/// apart.
#[test]
fn contexts_are_split_where_a_transformation_is_wrong() {
    let rows: Vec<(String, String)> = (0..20)
        .flat_map(|id| {
            [
                (format!("http://example.com/news?id={id}&v=1"), format!("news {id}")),
                (format!("http://example.com/news?id={id}"), format!("news {id}")),
                (format!("http://example.com/docs?id={id}&v=1"), format!("docs {id}, first")),
                (format!("http://example.com/docs?id={id}"), format!("docs {id}, last")),
            ]
        })
        .collect();
    let urls = ["http://example.com/news?id=99&v=1", "http://example.com/docs?id=99&v=1"];
    let (rules, forms) = learned(&DecisionTree, &training(&rows), 0.0, &urls);
    assert_eq!(forms, ["http://example.com/news?id=99", urls[1]], "{rules:#?}");
    assert_eq!(rules.len(), 1, "{rules:#?}");
}

/// Figure 5 on a log whose answer is known: two transformations are aliases, the others join different
/// pages. The cue tells them apart: fingerprints in full, sizes where different pages have different
/// sizes.
#[test]
fn precision_at_k_of_a_small_log() {
    let mut records = Records::new("example.com");
    let mut train = Vec::new();
    for id in 0..60usize {
        let word = format!("w{}x", id * 37);
        let mut page = |url: String, label: String, size: usize| {
            let url = format!("http://example.com/{url}");
            records.push_sized(url.as_bytes(), label.as_bytes(), false, (size + 10 * id) as u64);
            // The last pages validate.
            if id < 40 {
                train.push(records.len() - 1);
            }
        };
        page(format!("story/{word}"), format!("story {id}"), 1_000);
        page(format!("story/{word}?print=1"), format!("story {id}"), 1_000);
        page(format!("user-{word}"), format!("user {id}"), 5_000);
        page(format!("people/{word}"), format!("user {id}"), 5_000);
        // Two departments, half of whose pages are of one size.
        page(format!("red/{word}.htm"), format!("red {id}"), 9_000);
        page(format!("blue/{word}.htm"), format!("blue {id}"), 9_000 + id % 2);
    }
    let whole: Vec<usize> = (0..records.len()).collect();
    let detection = |sizes: bool| {
        let method = DustBuster { sizes, ..DustBuster::default() };
        let sample = Sample { whole: &whole, ..Sample::new(&records, &train) };
        method.learn(&sample).detection(&sample).expect("DustBuster detects")
    };
    let by_clusters = detection(false);
    assert_eq!(by_clusters.with_cue.at(300), [2, 2, 0], "{by_clusters:?}");
    assert_eq!((by_clusters.urls, by_clusters.forms), (6 * 40, 4 * 40));
    // The departments have half the support of the aliases, so they come last.
    let by_sizes = detection(true);
    assert_eq!(by_sizes.with_cue.at(2), [2, 2, 0], "{by_sizes:?}");
    assert_eq!(by_sizes.with_cue.at(300), [3, 2, 0], "{by_sizes:?}");
    // By support alone the three wrong ones (story - user, story - people, red - blue) count as much as
    // the aliases.
    assert_eq!(by_sizes.without_cue.at(300), [5, 2, 0], "{by_sizes:?}");
    assert_eq!(by_sizes.forms, by_clusters.forms, "what is wrong is not validated");
}
