//! What methods cost: `compare --times`, and the page of several comparisons.

use super::jobs_run::Folder;
use serde_json::{Value, json};

/// Two sites of pairs, predictions for one of them, and what the predictor took there.
fn crawl() -> Folder {
    let folder = Folder::with_rules();
    let (mut records, mut predictions) = (String::new(), String::new());
    for site in ["a.example.com", "b.example.org"] {
        for id in 0..40 {
            for more in ["", "&sid=7"] {
                let url = format!("http://{site}/p?id={id}{more}");
                records.push_str(&format!("{url}\t{site} {id}\n"));
                if site.starts_with('a') {
                    predictions.push_str(&format!("{url}\thttp://{site}/p?id={id}\n"));
                }
            }
        }
    }
    folder.write("in.tsv", records.as_bytes());
    folder.write("p.tsv", predictions.as_bytes());
    folder.write("t.json", times(&[time("peer", "example.com", 0)]).as_bytes());
    folder
}

fn time(method: &str, site: &str, seed: u64) -> Value {
    json!({"method": method, "site": site, "seed": seed, "learn": 12.5, "apply": 0.000_4})
}

fn times(of: &[Value]) -> String {
    json!({ "times": of }).to_string()
}

/// KeyValues of the row of a method in a table of the page.
fn cells(page: &str, table: &str, first: &str) -> Vec<String> {
    let (_, table) = page.split_once(&format!("id=\"{table}\"")).unwrap_or_else(|| panic!("{table} is not there"));
    let table = table.split("</table>").next().unwrap_or_default();
    let row = table.split("<tr>").find(|row| row.starts_with(&format!("<th scope=row>{first}</th>")));
    let row = row.unwrap_or_else(|| panic!("{first}: {table}"));
    row.split("<td>").skip(1).map(|cell| cell.split('<').next().unwrap_or_default().to_owned()).collect()
}

const COMPARE: &str = "compare in.tsv --methods keep-all,undust --fpr-max 0.01 -q --predictions peer=p.tsv";

#[test]
fn costs_of_outside_methods_are_beside_the_others_and_change_no_other_file() {
    let folder = crawl();
    folder.said(&format!("{COMPARE} --times t.json --out with")).done();
    folder.said(&format!("{COMPARE} --out without")).done();
    for name in ["comparison.json", "methods.csv", "sites.csv", "predictions.csv", "tables.txt"] {
        assert_eq!(folder.text(&format!("with/{name}")), folder.text(&format!("without/{name}")), "{name}");
    }
    let page = folder.text("with/report.html");
    // 0.4 ms for the 80 URLs of the site, whose number the file does not give.
    assert_eq!(cells(&page, "cost", "peer"), ["1", "12.5", "12.5", "5.00"]);
    assert_eq!(cells(&page, "cost-learning", "example.com")[3], "12.5");
    assert_eq!(cells(&page, "cost-applying", "example.com")[3], "5.00");
    assert_eq!(cells(&page, "cost-learning", "example.org")[3], "-");
    // A site without a prediction is no result of the method.
    assert_eq!(cells(&page, "sites", "example.com")[4], "1.0000");
    assert_eq!(cells(&page, "sites", "example.org")[4], "-");
    let own = &cells(&page, "cost", "undust")[3];
    assert!(own.parse::<f64>().is_ok_and(|micros| micros > 0.0), "{own}");
    assert_eq!(cells(&folder.text("without/report.html"), "cost", "peer"), ["0", "-", "-", "-"]);
    // Given times go through times.json: the page again, from the folder alone.
    folder.said("report with -q").done();
    assert_eq!(folder.text("with/report.html"), page);
}

#[test]
fn times_that_are_none_are_refused() {
    let folder = crawl();
    let negative = json!({"method": "peer", "site": "example.com", "seed": 0, "learn": -1, "apply": 0});
    let one = time("peer", "example.com", 0);
    let changed = |key: &str, value: Value| {
        let mut time = one.clone();
        time[key] = value;
        times(&[time])
    };
    let cases = [
        (changed("apply", json!(1e10)), 2, "seconds are 0 or more, at most 1000000000"),
        (changed("select", json!(-1e-9)), 2, "seconds are 0 or more"),
        (changed("urls", json!(u64::MAX)), 2, "numbers of URLs are at most 1000000000000"),
        (changed("method", json!("x".repeat(5_000))), 2, "characters left out"),
        (changed("site", json!("s".repeat(5_000))), 1, "characters left out"),
        (times(&[time("keep-all", "example.com", 0)]), 2, "no --predictions are of this method"),
        (times(&[time("other", "example.com", 0)]), 2, "no --predictions are of this method"),
        (times(&[time("peer", "example.com", 1)]), 2, "seeds are counted from 0, and there are 1"),
        (times(&[negative]), 2, "seconds are 0 or more"),
        (times(&[one.clone(), one.clone()]), 2, "there are two times"),
        ("{\"times\":[{\"site\":\"example.com\"}]}".to_owned(), 2, "not in the format of times.json"),
        (
            times(&[time("peer", "elsewhere.example", 0)]),
            1,
            "--times wrong.json: peer has a time on site \"elsewhere.example\", which no labelled record is of",
        ),
    ];
    for (at, (given, code, words)) in cases.into_iter().enumerate() {
        folder.write("wrong.json", given.as_bytes());
        let said = folder.said(&format!("{COMPARE} --times wrong.json --out out-{at}")).failed(code);
        assert!(said.contains(words) && said.len() < 1_000, "{given}: {said}");
        assert!(!folder.path(&format!("out-{at}/_SUCCESS")).exists());
    }
    let said = folder.said(&format!("{COMPARE} --times none.json --out none")).failed(2);
    assert!(said.contains("none.json"), "{said}");
    folder.said("compare in.tsv --times t.json --out no").failed(2);
}

/// As some editors and programs write it.
#[test]
fn a_byte_order_mark_and_a_negative_zero_in_times_are_harmless() {
    let folder = crawl();
    let given = "\u{feff}".to_owned()
        + &times(&[json!({"method": "peer", "site": "example.com", "seed": 0, "learn": -0.0, "apply": 0})]);
    assert!(given.contains("-0.0"), "{given}");
    folder.write("bom.json", given.as_bytes());
    folder.said(&format!("{COMPARE} --times bom.json --out out")).done();
    assert!(!folder.text("out/times.json").contains("-0"), "{}", folder.text("out/times.json"));
    assert_eq!(cells(&folder.text("out/report.html"), "cost", "peer")[..2], ["1", "0.000"]);
}

#[test]
fn several_comparisons_are_one_page() {
    let folder = crawl();
    folder.said(&format!("{COMPARE} --times t.json --out first")).done();
    let second = "compare in.tsv --protocol sigir2017 --methods keep-all,platforms --fpr-max 0.01 -q --out second";
    folder.said(second).done();
    let before = folder.text("first/report.html");
    folder.said("report first second --page all.html -q").done();
    let page = folder.text("all.html");
    let row = cells(&page, "all", "peer");
    assert_eq!(row[2..].join(" "), "12.5 (1 of 2 sites) 5.00 (1 of 2 sites) - - - -");
    let row = cells(&page, "all", "platforms");
    assert_eq!((row[..4].join(" "), row[5].as_str()), ("- - - -".to_owned(), "1.0000"));
    for id in ["id=1-part", "id=2-part", "id=1-overview", "id=2-sites-detail", "id=\"2-sigir-table-2\""] {
        assert_eq!(page.matches(id).count(), 1, "{id}");
    }
    assert!(!page.contains("<script") && page.contains("default-src 'none'"));
    folder.said("report first second --page again.html -q").done();
    assert_eq!(folder.text("again.html"), page);
    folder.write("again.html", b"of another run");
    assert!(folder.said("report first second --page again.html").failed(2).contains("--overwrite"));
    assert_eq!(folder.text("again.html"), "of another run");
    folder.said("report first second --page again.html --overwrite -q").done();
    assert_eq!(folder.text("again.html"), page);
    assert_eq!(folder.text("first/report.html"), before, "folders stay as they are");
    assert!(folder.said("report first second").failed(2).contains("--page"));
    std::fs::create_dir(folder.path("damaged")).unwrap();
    folder.write("damaged/comparison.json", b"{}");
    folder.said("report first damaged --page no.html").failed(1);
    assert!(!folder.path("no.html").exists());
}

/// The page of several comparisons goes where none of them is damaged by it.
#[test]
fn a_page_has_a_place_of_its_own() {
    let folder = crawl();
    folder.said(&format!("{COMPARE} --out first")).done();
    folder.said("learn in.tsv --out learned -q --no-held-out").done();
    std::fs::create_dir(folder.path("first/more")).unwrap();
    let before = folder.text("first/comparison.json");
    for (line, words) in [
        ("first --page first/comparison.json --overwrite", "name a file outside of it"),
        ("first --page ./first/more/new.html", "name a file outside of it"),
        ("first --page nodir/x.html", "there is no folder nodir"),
        ("first ./first --page x.html", "./first is there twice"),
        ("learned --page x.html", "--page takes folders of `undust compare`"),
        ("first learned --page -", "--page takes folders of `undust compare`"),
    ] {
        let ran = folder.said(&format!("report {line}"));
        assert!(ran.out.is_empty(), "{line}");
        let said = ran.failed(2);
        assert!(said.contains(words), "{line}: {said}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("first/comparison.json", folder.path("link.html")).unwrap();
        let said = folder.said("report first --page link.html --overwrite").failed(2);
        assert!(said.contains("name a file outside of it"), "{said}");
    }
    assert_eq!(folder.text("first/comparison.json"), before);
    assert!(!folder.path("x.html").exists());
    folder.said("report first --page page.html -q").done();
    let ran = folder.said("report first --page -");
    assert_eq!(String::from_utf8(ran.out).unwrap(), folder.text("page.html"));
    assert!(!folder.path("-").exists());
}

/// A comparison that can be read and does not add up is an error, not a panic.
#[test]
fn inconsistent_comparisons_are_damaged() {
    let folder = crawl();
    let line =
        "compare in.tsv --methods keep-all,dustbuster --fpr-max 0.01,0.1 --headline 0.1 --seeds 1,2 -q --out out";
    folder.said(line).done();
    folder.said("report out --allow-partial -q").done();
    let good: [Value; 2] =
        ["comparison", "times"].map(|name| serde_json::from_str(&folder.text(&format!("out/{name}.json"))).unwrap());
    let run = "/sites/0/runs/1";
    let counts = format!("{run}/fits/0/counts");
    let detection = format!("{run}/detection");
    let many: Vec<u32> = (0..10_001).collect();
    let site = good[0]["sites"][0].clone();
    let first = good[0]["sites"][0]["runs"][0].clone();
    let cases = [
        ("/headline".to_owned(), json!(2), "headline 2 of 2 rates"),
        ("/fpr_max".to_owned(), json!([]), "0 fpr_max"),
        ("/fpr_max".to_owned(), json!([0.1, 0.01]), "no rising rates"),
        ("/methods".to_owned(), json!([]), "0 methods"),
        ("/methods".to_owned(), json!(["keep-all", "keep-all"]), "a method is there twice"),
        ("/methods".to_owned(), json!(["keep-all"]), "the method is not compared"),
        ("/seeds".to_owned(), json!(many), "10001 seeds"),
        ("/seeds".to_owned(), json!([1]), "2 training samples"),
        ("/sites/1".to_owned(), site, "a site is there twice"),
        ("/sites/0/clusters".to_owned(), json!(81), "81 clusters of 80 URLs"),
        ("/sites/0/runs".to_owned(), json!([]), "no runs"),
        (run.to_owned(), first, "two runs of one method and seed"),
        (format!("{run}/seed"), json!(2), "2 training samples"),
        (format!("{run}/fits"), json!([]), "0 fits at 2 rates"),
        (format!("{run}/missing"), json!(81), "more URLs are missing"),
        (format!("{counts}/covered"), json!(81), "larger than those of the whole"),
        (format!("{counts}/canonical"), json!(81), "larger than those of the whole"),
        (format!("{counts}/false_positive_pairs"), json!(u64::MAX), "larger than those of the whole"),
        (format!("{counts}/wrong"), json!(81), "larger than those of the whole"),
        (format!("{counts}/duplicate_pairs"), json!(u64::MAX), "counts are too large"),
        (format!("{detection}/forms"), json!(u64::MAX), "do not add up"),
        (format!("{detection}/with_cue/tried"), json!(u64::MAX), "do not add up"),
        (format!("{detection}/with_cue/unknown"), json!([3, 3]), "do not add up"),
    ];
    let broken = |name: &str, good: &Value, pointer: &str, value: Value, words: &str| {
        let mut wrong = good.clone();
        *wrong.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        folder.write(name, wrong.to_string().as_bytes());
        let said = folder.said("report out --allow-partial").failed(2);
        assert!(said.contains(&format!("{name} is damaged (")) && said.contains(words), "{pointer}: {said}");
        assert!(!said.contains("panicked"), "{pointer}: {said}");
        folder.write(name, good.to_string().as_bytes());
    };
    for (pointer, value, words) in cases {
        let mut good = good[0].clone();
        if pointer.ends_with("/missing") {
            good["sites"][0]["runs"][1]["missing"] = json!(0);
        }
        broken("out/comparison.json", &good, &pointer, value, words);
    }
    for (pointer, value, words) in [
        ("/times/0/learn", json!(-1), "seconds are not from 0"),
        ("/times/0/site", json!("elsewhere"), "is not compared"),
        ("/times/0/seed", json!(2), "is not compared"),
        ("/times/1", good[1]["times"][0].clone(), "two times of one site"),
    ] {
        broken("out/times.json", &good[1], pointer, value, words);
    }
}
