//! `undust compare` as a whole: the same bytes on any number of workers, and a page that hostile URLs
//! cannot break.

use std::process::Command;

fn undust(args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_undust")).args(args).output().expect("the binary runs")
}

/// Records of three sites, one URL of which carries a script.
fn records() -> String {
    let mut out = String::new();
    for site in ["a.example.com", "b.example.org", "c.example.net"] {
        for id in 0..60 {
            for url in [format!("http://{site}/p?id={id}"), format!("http://{site}/p?id={id}&sid=x{}", id * 7)] {
                out.push_str(&format!("{url}\t{site} {id}\n"));
            }
        }
        out.push_str(&format!("http://{site}/\"><script>alert(1)</script>\tx\n"));
        out.push_str(&format!("http://{site}/q?a=\"><script>alert(1)</script>\tx\n"));
    }
    out
}

#[test]
fn results_do_not_depend_on_workers_and_the_page_shows_text_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let all = records();
    let lines: Vec<&str> = all.lines().collect();
    for (at, part) in lines.chunks(70).enumerate() {
        std::fs::write(path(&format!("in-{at}.tsv")), part.join("\n") + "\n").expect("written");
    }
    let input = path("in-*.tsv");
    let mut first: Option<Vec<Vec<u8>>> = None;
    for workers in ["1", "2", "3"] {
        let out = path(&format!("out-{workers}"));
        let methods = "keep-all,rfc3986,catalogue,drop-query,tracking,platforms,fan-out-5,dustbuster,decision-tree,published-graph,undust,undust-whole";
        let done = undust(&[
            "compare",
            &input,
            "--out",
            &out,
            "-w",
            workers,
            "--methods",
            methods,
            "--train-share",
            "0.7",
            "--seeds",
            "1,2",
            "--fpr-max",
            "0,0.01,0.1",
        ]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let read = |name: &str| std::fs::read(format!("{out}/{name}")).expect(name);
        let files =
            ["comparison.json", "methods.csv", "table-4.csv", "precision-at-k.csv", "tables.txt"].map(read).to_vec();
        assert_eq!(*first.get_or_insert_with(|| files.clone()), files, "{workers} workers");
        let page = String::from_utf8(read("report.html")).expect("UTF-8");
        assert!(page.contains("&quot;&gt;&lt;script&gt;alert(1)"), "the hostile URL is shown");
        assert!(!page.contains("<script") && page.contains("default-src 'none'"));
        assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "no network");
        assert!(page.contains("<details open><summary>") && page.matches("<figure>").count() == 8);
        assert!(page.contains("Figure 5: precision at k") && page.contains("id=\"precision-by-site\""));
        assert!(["cost", "cost-learning", "cost-applying"].iter().all(|id| page.contains(&format!("id=\"{id}\""))));
        // The page again, from the folder alone.
        assert!(undust(&["report", &out]).status.success());
        assert_eq!(read("report.html"), page.into_bytes());
    }
}

#[test]
fn a_folder_that_holds_something_and_a_folder_that_holds_nothing_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("in.tsv"), "http://a/\tx\n").expect("written");
    let full = folder.path().to_string_lossy().into_owned();
    let done = undust(&["compare", &path("in.tsv"), "--out", &full]);
    assert_eq!(done.status.code(), Some(2), "{}", String::from_utf8_lossy(&done.stderr));
    let done = undust(&["report", &full]);
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("comparison.json"));
}

/// A switch takes away what its stage finds, and only that.
#[test]
fn stages_can_be_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let mut records = String::new();
    for id in 0..60u8 {
        let word = format!("{}{}zen", char::from(b'a' + id / 26), char::from(b'a' + id % 26));
        for word in [word.to_uppercase(), word] {
            records.push_str(&format!("http://a.example.com/page/{word}\tpage {id}\n"));
        }
    }
    std::fs::write(path("in.tsv"), records).expect("written");
    let saved = |name: &str, without: &[&str]| {
        let (input, out) = (path("in.tsv"), path(name));
        let mut args = vec!["compare", &input, "--out", &out, "--methods", "undust", "--fpr-max", "0.01"];
        args.extend(["--train-share", "0.5"]);
        args.extend(without);
        let done = undust(&args);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let page = std::fs::read_to_string(path(name) + "/report.html").expect("written");
        assert_eq!(page.contains("undust without: functions."), name == "without");
        let table = std::fs::read_to_string(path(name) + "/methods.csv").expect("written");
        table.lines().nth(1).and_then(|line| line.split(',').nth(8)?.parse::<f64>().ok()).expect("a saved share")
    };
    let (whole, other) = (saved("whole", &[]), saved("other", &["--without", "mirrors,energy-walk"]));
    assert_eq!((whole, other), (1.0, 1.0));
    // Letters of another case are found by a function of their values; look-ups are left for the pairs
    // seen.
    let without = saved("without", &["--without", "functions"]);
    assert!(without < 0.9, "{without}");
    let bad = undust(&["compare", &path("in.tsv"), "--out", &path("bad"), "--without", "nothing"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("energy-walk"));
}

/// Of a site without duplicates no share can be saved: no method is first, and undust has not lost.
#[test]
fn a_site_without_duplicates_is_lost_by_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let mut records = String::new();
    for id in 0..60 {
        records
            .push_str(&format!("http://a.example.com/p?id={id}\t{id}\nhttp://a.example.com/p?id={id}&sid=7\t{id}\n"));
        records.push_str(&format!("http://b.example.org/p?id={id}\t{id}\n"));
    }
    std::fs::write(path("in.tsv"), records).expect("written");
    let more = ["--methods", "keep-all,undust", "--fpr-max", "0,0.01", "--train-share", "0.7"];
    let done = undust(&[&["compare", &path("in.tsv"), "--out", &path("out")][..], &more].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let table = std::fs::read_to_string(path("out/first-by-site.csv")).expect("written");
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert_eq!(rows, ["example.com,undust,1.0000,1.0000,1.0000,-", "example.org,none,-,-,1.0000,-"]);
}

/// A site may have any name, that of the row of averages included.
#[test]
fn the_averages_of_the_crawl_are_no_site() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let sites = ["avg", "mean of the sites", "Prec, mean of the sites"];
    let records: String = sites
        .iter()
        .flat_map(|site| (0..40).map(move |id| format!("http://a.example/{id}\t{}\t{site}\n", id / 2)))
        .collect();
    std::fs::write(path("in.tsv"), records).expect("written");
    let more = ["--methods", "keep-all", "--protocol", "sigir2017"];
    let done = undust(&[&["compare", &path("in.tsv"), "--out", &path("out")][..], &more].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut table = csv::Reader::from_path(path("out/sigir-table-2.csv")).expect("a table");
    let names: Vec<String> = table.records().map(|row| row.expect("a row")[0].to_owned()).collect();
    let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!((names.len(), distinct.len()), (12, 12), "{names:?}");
}
