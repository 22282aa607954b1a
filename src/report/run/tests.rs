//! The pages, read by an HTML parser.
use super::*;
use crate::dataflow::change::Reason;
use crate::dataflow::held_out::{HeldOut, HeldOutFigures};
use crate::dataflow::sample::SampleParams;
use crate::dataflow::summary::{FORMAT, Gone, Parameters, Provisional};
use crate::rules::file::InputCounts;
use crate::rules::{Constraint, Evidence, Operation, Representative, Rule, Test};
use crate::site::Params;
use crate::site::profile::{Effect, KeyProfile, Node, Trap, TrapKind};
use html5gum::{Token, Tokenizer};

/// Text that would be markup, a line of its own, or written from right to left, if it did not stay
/// text.
const HOSTILE: &str = "\"><script>alert(1)</script>'<b x=\"&amp;\u{202e}\u{7}\n</details>";

fn key(name: &str, does: Effect, same: u64, other: u64) -> KeyProfile {
    let (key, same_together, other_together) = (name.to_owned(), 0, 0);
    KeyProfile { key, does, urls: 50, values: 5, same, other, same_together, other_together }
}

fn trap(kind: TrapKind, varies: &str, urls: u64, new: u64) -> Trap {
    Trap { kind, family: HOSTILE.to_owned(), varies: varies.to_owned(), example: HOSTILE.to_owned(), urls, new }
}

fn rule(id: &str, good: u64) -> Rule {
    let scope = vec![Constraint { key: "query do=".to_owned(), test: Test::Equals(HOSTILE.to_owned()) }];
    let operations = vec![("query sid=".to_owned(), Operation::Ignore(Representative::LeftOut))];
    let examples = vec![["http://a.example/?do=1&sid=2".to_owned(), format!("http://a.example/?do={HOSTILE}")]];
    let evidence = Evidence { good, clusters: 7, upper_bound_ppm: 12_000, examples, ..Evidence::default() };
    Rule { evidence, ..Rule::of(id, scope, operations) }
}

fn summary(sites: &[(&str, u64)]) -> Summary {
    let figures = |saved: u64| Figures {
        urls: 100 + saved,
        canonical: 100,
        clusters: 90,
        labelled: 100 + saved,
        ..Figures::default()
    };
    let (learn, sample) = (Params::default(), SampleParams::default());
    Summary {
        format: FORMAT,
        version: "0".to_owned(),
        parameters: Parameters { learn, sample, site_by: "domain".to_owned(), held_out: None },
        stages: BTreeMap::new(),
        rejects: BTreeMap::from([(HOSTILE.to_owned(), 3)]),
        total: Figures::default(),
        sites: sites.iter().map(|(name, saved)| ((*name).to_owned(), figures(*saved))).collect(),
        withdrawn: BTreeMap::new(),
        narrowed: BTreeMap::new(),
    }
}

fn made(
    summary: &Summary,
    sites: &[SiteRules],
    profiles: &[(&str, Profile)],
    overrides: &Overrides,
) -> Vec<(String, String)> {
    let header = Header::new(Params::default(), InputCounts::default());
    let sites = sites.iter().map(|site| (site.site.as_str(), site)).collect();
    let profiles = profiles.iter().map(|(name, profile)| (*name, profile)).collect();
    pages(Run { header: &header, summary, sites: &sites, profiles: &profiles, overrides }).collect()
}

/// Reads a page as a browser does: every element that is opened is closed, in order; only elements and
/// attributes of ours; no character that is not seen. Gives its text.
#[track_caller]
fn text_of(page: &str) -> String {
    const VOID: [&str; 1] = ["meta"];
    let (mut open, mut text): (Vec<String>, String) = Default::default();
    for token in Tokenizer::new(page) {
        match token.expect("memory fails for no page") {
            Token::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                let known = "html head meta title style body header main footer nav section details summary h1 h2 h3 h4 p \
                             ol ul li div span code b a table thead tbody tr th td";
                assert!(known.split_whitespace().any(|known| known == name), "<{name}>");
                for attribute in tag.attributes.keys() {
                    let attribute = String::from_utf8_lossy(attribute);
                    let known = "lang charset http-equiv content name class id href open start style scope tabindex";
                    assert!(known.split(' ').any(|known| known == attribute), "<{name} {attribute}>");
                }
                if !VOID.contains(&name.as_str()) && !tag.self_closing {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                assert_eq!(open.pop().as_deref(), Some(name.as_str()), "</{name}> closes another");
            }
            Token::String(string) => text.push_str(&String::from_utf8_lossy(&string)),
            Token::Error(error) => panic!("{error:?}"),
            Token::Comment(_) | Token::Doctype(_) => {}
        }
    }
    assert!(open.is_empty(), "{open:?} left open");
    let hidden = |c: char| c != '\n' && crate::model::shown::is_hidden(c);
    assert!(!page.contains(hidden), "a character that is not seen");
    text
}

#[test]
fn hostile_names_stay_text_and_the_page_is_well_formed() {
    let mut summary = summary(&[(HOSTILE, 50), ("b.example", 10)]);
    let gone = Gone {
        id: "1".to_owned(),
        rule: HOSTILE.to_owned(),
        reason: Reason::Bound,
        good: 1,
        bad: 2,
        apart_good: 0,
        apart_bad: 0,
        support_pairs: 0,
        false_positive_pairs: 0,
    };
    summary.withdrawn.insert(HOSTILE.to_owned(), vec![gone]);
    let rules = vec![rule("0123456789abcdef", 200), rule(HOSTILE, 9)];
    let site = SiteRules { site: HOSTILE.to_owned(), rules, aliases: vec![Default::default()], ..SiteRules::default() };
    let node = |parent, branch: &str| Node { parent, branch: branch.to_owned(), pages: 9 };
    let profile = Profile {
        keys: vec![key(HOSTILE, Effect::Unknown, 1, 1), key("query sid=", Effect::Session, 44, 1)],
        tree: vec![node(0, "all pages"), node(0, HOSTILE), node(1, "x"), node(9, "damaged")],
        tree_nodes: 9,
        traps: vec![trap(TrapKind::Endless, HOSTILE, 200, 3), trap(TrapKind::OnePage, "", 40, 0)],
    };
    let mut overrides = Overrides::default();
    overrides.disable(HOSTILE, "0123456789abcdef", HOSTILE);
    let pages = made(&summary, &[site], &[(HOSTILE, profile)], &overrides);
    assert_eq!(pages.len(), 1);
    let (name, page) = &pages[0];
    let text = text_of(page);
    assert_eq!(name, PAGE);
    assert!(!page.contains("<script") && !page.contains("<b x"), "{page}");
    let shown = "\"><script>alert(1)</script>'<b x=\"&amp;\\u{202e}\\u{7}\\u{a}</details>";
    // Site, rejected line, value of a condition twice a rule, id, reason, withdrawn rule, branch, key
    // twice, ...
    assert!(text.matches(shown).count() >= 9, "{} times:\n{text}", text.matches(shown).count());
    // Family, what varies and example of the first trap, family and example of the second.
    let traps = text.split("Where a crawler is trapped").nth(1).expect("traps").split("Pattern tree").next();
    assert_eq!(traps.expect("before the tree").matches(shown).count(), 5);
    for words in [
        "the parameter “sid” is removed.",
        "200 URLs merged rightly, 0 wrongly, on 7 pages; at most 1.2 % wrong.",
        "undust rules disable --rules . 0123456789abcdef --reason WHY",
        "Disabled: \"><script>",
        "(1 right, 2 wrong)",
        "10 fetches still go to pages",
        "1 of 2 changes left the page the same. Fetch some of these URLs",
        "9 nodes, the 4 largest shown",
        "Where a crawler is trapped",
        "values without end",
        "one page (an empty listing, a log-in)-4000.00 %",
        "--site SITE",
    ] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    assert!(text.find("alert").expect("there") < text.find("b.example").expect("there"), "largest saving first");
}

#[test]
fn a_page_that_is_not_well_formed_is_found() {
    for bad in ["<p>", "<p></div>", "<script></script>", "<p onclick=x></p>", "<p>\u{202e}</p>"] {
        assert!(std::panic::catch_unwind(|| text_of(bad)).is_err(), "{bad}");
    }
}

#[test]
fn beyond_a_thousand_sites_there_is_a_list_and_a_page_a_thousand() {
    let names: Vec<String> = (0..2_001).map(|at| format!("s{at:04}.example")).collect();
    let sites: Vec<(&str, u64)> = names.iter().zip(0..).map(|(name, at)| (name.as_str(), at)).collect();
    let pages = made(&summary(&sites), &[], &[], &Overrides::default());
    let files: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(files, ["report.html", "report-1.html", "report-2.html", "report-3.html"]);
    pages.iter().for_each(|(_, page)| drop(text_of(page)));
    // The largest saving is on the first page, the least on the last; the list leads there.
    assert!(pages[1].1.contains("s2000.example") && pages[3].1.contains("s0000.example"));
    assert_eq!(
        pages.iter().map(|(_, page)| page.matches("<details class=site").count()).collect::<Vec<_>>(),
        [0, 1_000, 1_000, 1]
    );
    assert!(pages[0].1.contains("href=\"report-3.html#s2000\">s0000.example</a>"));
    assert!(pages[3].1.contains("id=s2000>"));
    // Of many sites less is shown each: 10 rules here, 40 where there are few.
    let rules = |name: &str| SiteRules { site: name.to_owned(), rules: vec![rule("1", 9); 50], ..SiteRules::default() };
    for (few, shown) in [(100, 40), (101, 10)] {
        let page = &made(&summary(&sites[..few]), &[rules(&names[0])], &[], &Overrides::default())[0].1;
        assert_eq!(page.matches("<p class=words>").count(), shown, "{few} sites");
        assert!(page.contains(&format!("{} more rules in the file", 50 - shown)));
        assert_eq!(page.contains("<summary>30 more rules</summary><ol class=rules start=11>"), shown > 10);
    }
    let one = made(&summary(&sites[..1_000]), &[], &[], &Overrides::default());
    assert_eq!((one.len(), one[0].1.matches("<details class=site").count()), (1, 1_000));
}

#[test]
fn traps_are_a_table_with_the_share_of_new_pages() {
    let summary = summary(&[("a.example", 9)]);
    let of = |traps: Vec<Trap>| {
        let profile = Profile { traps, ..Profile::default() };
        made(&summary, &[], &[("a.example", profile)], &Overrides::default()).remove(0).1
    };
    let page = of(vec![trap(TrapKind::Calendar, "/<date>", 1_200, 36), trap(TrapKind::RepeatedSegments, "", 9, 1)]);
    text_of(&page);
    assert!(page.contains("<td>calendar</td><td>/&lt;date&gt;</td><td>1,200</td><td>36</td><td>3.0 %</td>"), "{page}");
    assert!(page.contains("<td>the path repeats a segment</td><td>-</td><td>9</td><td>1</td><td>11.1 %</td>"));
    assert!(page.contains("do not follow the links"), "what can be done");
    assert!(!of(Vec::new()).contains("trapped"), "nothing is said of no trap");
    let many = of(vec![trap(TrapKind::OnePage, "", 9, 1); 22]);
    assert!(many.contains(" 2 more in profiles.jsonl."));
}

#[test]
fn the_first_line_is_that_of_urls_that_took_no_part() {
    let of = |held_out| {
        let mut summary = summary(&[]);
        (summary.total.held_out, summary.total.labelled) = (held_out, 9);
        text_of(&made(&summary, &[], &[], &Overrides::default())[0].1)
    };
    let figures = HeldOutFigures {
        saved_by_cluster: None,
        saved_by_cluster_margin: None,
        saved_by_url: Some(926_400),
        saved_by_url_margin: Some(23_100),
        wrong_share: 401,
        wrong_upper: 2_100,
        clusters: 1_234,
        rows: 56_789,
    };
    let text = of(Some(HeldOut::Figures(figures)));
    let line = "On URLs that took no part in learning, the rules save 92.6 % (± 2.3 %) of the fetches that duplicates cost, \
                nothing (there are no duplicates) on pages never met, and merge 0.05 % of the URLs wrongly (at most 0.21 \
                %). Counted on 56,789 URLs of 1,234 pages, bounds of 95 %.";
    assert!(text.contains(line), "{text}");
    assert!(of(Some(HeldOut::None(HeldOut::NONE.to_owned()))).contains("it was not cross-fitted"));
    assert!(of(None).contains("--no-held-out"));
}

#[test]
fn without_labels_nothing_is_said_of_wrong_merges() {
    let mut summary = summary(&[]);
    let provisional = Provisional { rules: 10, ..Provisional::default() };
    let held_out = Some(HeldOut::None(HeldOut::NONE.to_owned()));
    summary.total =
        Figures { urls: 1_300, canonical: 900, provisional: Some(provisional), held_out, ..Figures::default() };
    let text = text_of(&made(&summary, &[], &[], &Overrides::default())[0].1);
    for words in [
        "Not measured on URLs that took no part in learning: no record has a label.",
        "0 sites, 1,300 URLs without labels, 10 provisional rules. The rules save 400 fetches",
        "No label says whether they merge rightly. The date of the data was not given",
    ] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    assert!(!text.contains("are wrong"), "{text}");
}

#[test]
fn the_stylesheet_names_the_columns_that_a_phone_stacks() {
    let css = include_str!("../style.css");
    for (table, head) in [("keys", &keys::HEAD[2..]), ("traps", &traps::HEAD[2..])] {
        for (name, column) in head.iter().zip(3..) {
            let name = name.split(" of a ").next().expect("a part");
            let rule = format!("[id^={table}-] td:nth-child({column})::before{{content:\"{name} \"}}");
            assert!(css.contains(&rule), "{rule}");
        }
    }
}

#[test]
fn rules_are_told_in_plain_words() {
    let constraint = |key: &str, test| Constraint { key: key.to_owned(), test };
    let of = |scope, operations: Vec<(&str, Operation)>, closed| {
        let operations = operations.into_iter().map(|(key, operation)| (key.to_owned(), operation)).collect();
        words::sentence(&Rule { closed, ..Rule::of("1", scope, operations) })
    };
    let some = |value: &str| Some(value.to_owned());
    let classes = Operation::Classes(vec![(None, some("0")), (some("a"), None)]);
    let section = constraint("section", Test::OneOf(vec!["<other>".to_owned(), "<number>".to_owned(), "w".to_owned()]));
    assert_eq!(
        of(vec![section], vec![("query start=", classes)], false),
        "Where the first directory is rare or missing, a number or “w”: in the parameter “start”, a missing value becomes “0”, \
         “a” becomes a missing value."
    );
    let removed = Operation::Classes(vec![(some("0"), None), (some(""), None)]);
    let path = Test::OneOf(["a", "b", "c", "d", "e"].map(str::to_owned).to_vec());
    let nothing = Operation::Classes(Vec::new());
    assert_eq!(
        of(vec![constraint("path0", path)], vec![("path1", nothing), ("host", Operation::Keep("m".to_owned()))], false),
        "Where part 1 of the path is “a”, “b”, “c”, “d” or “e”: the host becomes “m”."
    );
    let scope = || vec![constraint("depth", Test::Equals("1".to_owned())), constraint("query ", Test::Absent)];
    assert_eq!(
        of(scope(), vec![("query start=", removed), ("order", Operation::Ignore(Representative::LeftOut))], false),
        "Where the path has 1 part and the parameter without a name is absent: the parameter “start” is removed where it is \
         “0” or empty; the parameters are put in one order."
    );
    for (branch, words) in [
        ("all pages", "all pages"),
        ("path0.group is \"a is b\"", "last but one piece of part 1 of the path is \"a is b\""),
        ("query do= is none of 7", "parameter “do” is none of the 7 values"),
        ("ext is another", "extension is another value"),
    ] {
        assert_eq!(words::branch(branch), words);
    }
    let https = || "https".to_owned();
    let scheme = Operation::Ignore(Representative::WherePresent(https()));
    assert_eq!(of(vec![], vec![("scheme", scheme)], false), "The scheme is always “https”.");
    let scope = vec![
        constraint("scheme", Test::Equals(https())),
        constraint("path1.number", Test::Present),
        constraint("query old=", Test::Present),
    ];
    let same = vec![
        ("path1.number", Operation::Replace("path1.number".to_owned())),
        ("path1", Operation::Keep("x-".to_owned())),
        ("scheme", Operation::Keep(https())),
    ];
    assert_eq!(
        of(scope, same, true),
        "Where the scheme is “https” and the number in part 2 of the path is present and the parameter “old” is present and \
         nothing else is in the URL: part 2 of the path becomes “x-”; the parameter “old” is removed."
    );
    for (front, words) in [
        ("http://a/?q=", "“http://a/?q=”"),
        ("http://a/?q=&page=&sort=", "“http://a/?q=” and parameters of the names “page” or “sort” follow"),
        ("http://a/b&", "“http://a/b&”"),
    ] {
        let scope = vec![constraint("prefix", Test::Equals(front.to_owned()))];
        let told = of(scope, vec![("prefix", Operation::Keep("http://a".to_owned()))], false);
        let becomes = "the beginning of the URL becomes “http://a”.";
        assert_eq!(told, format!("Where the beginning of the URL is {words}: {becomes}"));
    }
}
