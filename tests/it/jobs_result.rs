//! The folder of a result: one run at a time changes it, `_SUCCESS` says what is in it, readers check
//! that.
use super::jobs_run::{Folder, Ran, quiet, run, run_with, signal, sites, undust, wait_for};
use std::path::Path;
use std::process::Command;
use undust::io::output::{FolderLock, LOCK};
use undust::model::hash128;
use undust::rules::file;

/// Two sites of ten pages each, with a session id: enough for a rule.
fn crawl(folder: &Folder) {
    let mut text = String::new();
    for page in 0..60 {
        for copy in 0..3 {
            text.push_str(&format!("http://www.forum.example/topic/{page}?sid={copy}{page:03}\tp{page}\n"));
        }
    }
    folder.write("crawl.tsv", text.as_bytes());
}

/// The binary in the folder.
fn job(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = undust(arguments);
    command.current_dir(folder.path(""));
    command
}

fn learn(folder: &Folder, out: &str, more: &[&str]) -> Ran {
    run(job(folder, &[&["learn", "crawl.tsv", "-q", "--out", out], more].concat()))
}

/// A folder with two results, of other parameters and other rules.
fn two_results() -> Folder {
    let folder = Folder::with_rules();
    crawl(&folder);
    learn(&folder, "one", &[]).done();
    learn(&folder, "two", &["--train-max", "9"]).done();
    assert_ne!(read(&folder, "one/rules.jsonl"), read(&folder, "two/rules.jsonl"));
    folder
}

fn read(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn mark(folder: &Folder, of: &str) -> String {
    String::from_utf8(read(folder, &format!("{of}/_SUCCESS"))).unwrap()
}

/// The mark names these files with what their bytes are.
#[track_caller]
fn marked(folder: &Folder, of: &str, names: &[&str]) {
    let line = |name: &&str| {
        let bytes = read(folder, &format!("{of}/{name}"));
        format!("{:032x} {} {name}\n", hash128(&bytes), bytes.len())
    };
    assert_eq!(mark(folder, of), names.iter().map(line).collect::<String>());
}

fn normalize(folder: &Folder, rules: &str, more: &[&str]) -> Ran {
    run_with(job(folder, &[&["normalize", "-q", "--rules", rules], more].concat()), b"http://a.example/\n")
}

const RESULT: [&str; 5] = ["profiles.jsonl", "rejects.jsonl", "report.html", "rules.jsonl", "summary.json"];

#[test]
fn of_two_runs_into_one_folder_one_is_refused() {
    let folder = Folder::with_rules();
    run(job(&folder, &["synth", "--out", "crawl", "--sites", "4", "--total-urls", "60000", "--seed", "5"])).done();
    let learn = |out: &str, more: &[&str]| {
        let learn = &["learn", "crawl", "--out", out, "--scratch", ".", "--overwrite", "--no-held-out"];
        job(&folder, &[learn, more].concat())
    };
    let (fine, coarse): (&[&str], &[&str]) = (&[], &["--train-max", "40"]);
    run(learn("fine", fine)).done();
    run(learn("coarse", coarse)).done();

    let lock = folder.path("both").join(LOCK);
    // In the middle of its work, while another runs from its begin to its end. The file is there before it
    // is locked, and signed after; on a busy machine a run may also end before it is stopped: then another
    // one is.
    let signed = || std::fs::read(&lock).is_ok_and(|text| text.ends_with(b"\n"));
    let first = loop {
        let mut first = quiet(learn("both", fine));
        wait_for("the lock", || signed() || first.try_wait().unwrap().is_some());
        signal("STOP", first.id());
        std::thread::sleep(std::time::Duration::from_millis(50));
        if signed() {
            break first;
        }
        signal("CONT", first.id());
        Ran::of(first.wait_with_output().unwrap()).done();
    };
    let second = run(learn("both", coarse));
    signal("CONT", first.id());
    let first = Ran::of(first.wait_with_output().unwrap());
    let won = if first.code == 0 { "fine" } else { "coarse" };
    let mut codes = [first.code, second.code];
    codes.sort_unstable();
    assert_eq!(codes, [0, 1], "{}\n{}", first.err, second.err);
    let refused = if first.code == 0 { second } else { first }.err;
    assert!(refused.contains("both: in use by process ") && refused.contains("another folder"), "{refused}");
    for name in RESULT.iter().chain(&["_SUCCESS"]) {
        assert!(read(&folder, &format!("both/{name}")) == read(&folder, &format!("{won}/{name}")), "{name}");
    }
    marked(&folder, "both", &RESULT);
    assert!(!folder.path("both").join(LOCK).exists());
}

#[test]
fn a_run_that_fails_leaves_the_result_it_was_to_replace() {
    let folder = two_results();
    let files = || RESULT.map(|name| read(&folder, &format!("one/{name}")));
    let before = files();
    for (name, records) in
        [("empty.tsv", ""), ("bare.jsonl", "{\"url\":\"http://a.example/\"}\n"), ("bad.jsonl", "x\n")]
    {
        folder.write(name, records.as_bytes());
        run(job(&folder, &["learn", name, "--overwrite", "--out", "one"])).failed(1);
        assert!(files() == before, "{name}");
        normalize(&folder, "one", &[]).done();
    }
}

#[test]
fn a_folder_that_is_locked_is_changed_by_no_job() {
    let folder = two_results();
    let compare = ["compare", "crawl.tsv", "--methods", "undust", "--fpr-max", "0.01", "--train-share", "0.5", "--out"];
    run(job(&folder, &[&compare[..], &["tables"]].concat())).done();
    std::fs::create_dir(folder.path("empty")).unwrap();
    let list = run(job(&folder, &["rules", "list", "--rules", "one", "--output", "jsonl"])).done();
    let id = list.split('"').find(|word| word.len() == 16).expect("an id").to_owned();
    let held = ["one", "tables", "empty"].map(|name| FolderLock::take(&folder.path(name)).unwrap());
    let before = ["one/_SUCCESS", "tables/_SUCCESS"].map(|name| read(&folder, name));
    let jobs: [&[&str]; 8] = [
        &["learn", "crawl.tsv", "--overwrite", "--out", "one"],
        &["learn", "crawl.tsv", "--out", "empty"],
        &["synth", "--out", "empty", "--sites", "1"],
        &[&compare[..], &["empty"]].concat(),
        &["report", "tables"],
        &["rules", "seen", "--rules", "one", "crawl.tsv"],
        &["rules", "disable", "--rules", "one", &id, "--reason", "x"],
        &["rules", "seal", "one"],
    ];
    for arguments in jobs {
        let said = run(job(&folder, arguments)).failed(1);
        let holder = format!("in use by process {} on ", std::process::id());
        assert!(said.contains(&holder), "{arguments:?}: {said}");
    }
    assert_eq!(before, ["one/_SUCCESS", "tables/_SUCCESS"].map(|name| read(&folder, name)));
    drop(held);
    for arguments in jobs.into_iter().skip(4) {
        run(job(&folder, arguments)).done();
    }
    run(job(&folder, &["rules", "enable", "--rules", "one", &id])).done();
    assert!(!folder.path("one").join(LOCK).exists());
}

#[test]
fn the_lock_of_a_run_that_was_killed_is_free() {
    let folder = Folder::with_rules();
    run(job(&folder, &["synth", "--out", "crawl", "--sites", "4", "--total-urls", "20000", "--seed", "5"])).done();
    let learn = || job(&folder, &["learn", "crawl", "-q", "--out", "out", "--scratch", ".", "--no-held-out"]);
    let mut child = quiet(learn());
    wait_for("the lock", || folder.path("out").join(LOCK).exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(folder.path("out").join(LOCK).exists(), "killed before its end");
    run(learn()).done();
    marked(&folder, "out", &RESULT);
    assert!(!folder.path("out").join(LOCK).exists());
}

#[test]
fn rules_of_another_run_are_refused_by_every_reader() {
    let folder = two_results();
    marked(&folder, "one", &RESULT);
    normalize(&folder, "one", &[]).done();
    std::fs::copy(folder.path("two/rules.jsonl"), folder.path("one/rules.jsonl")).unwrap();
    let readers: [&[&str]; 6] = [
        &["normalize", "--rules", "one"],
        &["explain", "--rules", "one", "http://a.example/"],
        &["evaluate", "--rules", "one", "crawl.tsv"],
        &["rules", "list", "--rules", "one"],
        &["rules", "diff", "one", "two"],
        &["rules", "compile", "--rules", "one", "--out", "compiled"],
    ];
    for arguments in readers {
        let said = run(job(&folder, arguments)).failed(1);
        let found = read(&folder, "two/rules.jsonl");
        let found = format!("{} bytes, xxh3-128 {:032x}, but _SUCCESS", found.len(), hash128(&found));
        assert!(said.contains(&found) && said.contains("undust rules seal"), "{arguments:?}: {said}");
    }
    assert!(!folder.path("compiled").exists());
    // As many bytes, and every line as it was sealed: only the hash of the file tells.
    let text = String::from_utf8(read(&folder, "two/rules.jsonl")).unwrap();
    let swapped = text.replacen("\"train_max\":9", "\"train_max\":8", 1);
    folder.write("two/rules.jsonl", unchecked(&swapped).as_bytes());
    run(job(&folder, &["rules", "seal", "two"])).done();
    let same_length = unchecked(&swapped).replacen("forum", "farum", 1);
    folder.write("two/rules.jsonl", same_length.as_bytes());
    for arguments in [&["normalize", "--rules", "two"][..], &["rules", "list", "--rules", "two"]] {
        assert!(run(job(&folder, arguments)).failed(1).contains("but _SUCCESS"), "{arguments:?}");
    }
    // What is there is read where it is asked for, and a rule file is a rule file.
    normalize(&folder, "one", &["--allow-partial"]).done();
    normalize(&folder, "one/rules.jsonl", &[]).done();
}

/// A rule file without the checks of its lines, as an editor of it leaves it.
fn unchecked(text: &str) -> String {
    let line = |line: &str| match line.rfind(",\"check\":") {
        Some(at) => line[..at].to_owned() + "}\n",
        None => line.to_owned() + "\n",
    };
    text.lines().map(line).collect()
}

#[test]
fn rules_are_sealed_after_a_change_by_hand() {
    let folder = two_results();
    let text = String::from_utf8(read(&folder, "one/rules.jsonl")).unwrap();
    folder.write("one/rules.jsonl", unchecked(&text).as_bytes());
    assert!(normalize(&folder, "one", &[]).failed(1).contains("undust rules seal"));
    let said = run(job(&folder, &["rules", "seal", "one"]));
    assert!(
        said.err.contains("rules.jsonl: ") && said.err.contains(" -> ") && !said.err.contains("summary"),
        "{}",
        said.err
    );
    marked(&folder, "one", &RESULT);
    normalize(&folder, "one", &[]).done();
    // Nothing changed: nothing is said of any file.
    let said = run(job(&folder, &["rules", "seal", "one"]));
    assert!(said.code == 0 && !said.err.contains(".jsonl"), "{}", said.err);

    // Faulty rules are not sealed, nor is what is no result.
    let before = mark(&folder, "one");
    folder.write("one/rules.jsonl", text.replacen("forum", "farum", 1).as_bytes());
    assert!(run(job(&folder, &["rules", "seal", "one"])).failed(1).contains("line "));
    assert_eq!(mark(&folder, "one"), before);
    folder.write("one/rules.jsonl", text.as_bytes());
    std::fs::remove_file(folder.path("one/_SUCCESS")).unwrap();
    assert!(run(job(&folder, &["rules", "seal", "one"])).failed(1).contains("no _SUCCESS"));
    assert!(!folder.path("one/_SUCCESS").exists());
    std::fs::create_dir(folder.path("none")).unwrap();
    assert!(run(job(&folder, &["rules", "seal", "none"])).failed(1).contains("rules.jsonl"));
    assert!(run(job(&folder, &["rules", "seal", "crawl.tsv"])).failed(1).contains("not a folder"));
    assert!(run(job(&folder, &["rules", "seal", "absent"])).failed(1).contains("no such"));
    run(job(&folder, &["rules", "seal", "--allow-partial", "one"])).done();
    marked(&folder, "one", &RESULT);
    // A mark that was damaged is told with its line, and made anew.
    folder.write("one/_SUCCESS", (mark(&folder, "one") + "x\n").as_bytes());
    assert!(normalize(&folder, "one", &[]).failed(1).contains(&format!("_SUCCESS: line {}", RESULT.len() + 1)));
    run(job(&folder, &["rules", "seal", "one"])).done();
    marked(&folder, "one", &RESULT);
}

#[test]
fn what_is_added_to_a_result_is_marked_and_checked() {
    let folder = two_results();
    let seen = |rules: &str| run(job(&folder, &["rules", "seen", "-q", "--rules", rules, "crawl.tsv"]));
    let all = ["profiles.jsonl", "rejects.jsonl", "report.html", "rules.jsonl", "seen.bin", "summary.json"];
    seen("one").done();
    marked(&folder, "one", &all);
    normalize(&folder, "one", &["--only-seen"]).done();
    // Named by its file, the same.
    seen("two/rules.jsonl").done();
    marked(&folder, "two", &all);
    // Of another result, of none, and not there although it should be.
    let other = read(&folder, "two/seen.bin");
    std::fs::remove_file(folder.path("two/seen.bin")).unwrap();
    assert!(normalize(&folder, "two", &["--only-seen"]).failed(1).contains("seen.bin: not there"));
    normalize(&folder, "two", &[]).done();
    learn(&folder, "two", &["--overwrite"]).done();
    folder.write("two/seen.bin", &other);
    assert!(
        normalize(&folder, "two", &["--only-seen"]).failed(1).contains("seen.bin: _SUCCESS beside it does not name it")
    );
    normalize(&folder, "two", &["--only-seen", "--allow-partial"]).done();
    run(job(&folder, &["rules", "seal", "two"])).done();
    marked(&folder, "two", &all);
    normalize(&folder, "two", &["--only-seen"]).done();
    let mut altered = other;
    *altered.last_mut().unwrap() ^= 1;
    folder.write("two/seen.bin", &altered);
    assert!(normalize(&folder, "two", &["--only-seen"]).failed(1).contains("seen.bin: "));
    // What people disable is theirs to change.
    let list = run(job(&folder, &["rules", "list", "--rules", "one", "--output", "jsonl"])).done();
    let id = list.split('"').find(|word| word.len() == 16).expect("an id");
    run(job(&folder, &["rules", "disable", "--rules", "one", id, "--reason", "x"])).done();
    marked(&folder, "one", &all);
    normalize(&folder, "one", &[]).done();
    // A new result drops the set, and its mark.
    learn(&folder, "one", &["--overwrite"]).done();
    marked(&folder, "one", &RESULT);
}

#[test]
fn a_mark_of_an_earlier_release_is_accepted_and_stays_empty() {
    let folder = Folder::with_rules();
    crawl(&folder);
    normalize(&folder, "rules", &[]).done();
    run(job(&folder, &["rules", "seen", "-q", "--rules", "rules", "crawl.tsv"])).done();
    assert_eq!(mark(&folder, "rules"), "");
    normalize(&folder, "rules", &["--only-seen"]).done();
    run(job(&folder, &["rules", "seal", "rules"])).done();
    marked(&folder, "rules", &["rules.jsonl", "seen.bin"]);
}

#[test]
fn a_comparison_is_marked_and_checked() {
    let folder = Folder::with_rules();
    crawl(&folder);
    let arguments = "compare crawl.tsv --methods undust --fpr-max 0.01 --train-share 0.5 -q --out tables";
    run(job(&folder, &arguments.split(' ').collect::<Vec<_>>())).done();
    let mut names: Vec<String> = std::fs::read_dir(folder.path("tables"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != "_SUCCESS");
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(names.contains(&"comparison.json") && names.contains(&"report.html"));
    marked(&folder, "tables", &names);
    let report = |more: &[&str]| run(job(&folder, &[&["report", "tables"], more].concat()));
    report(&[]).done();
    marked(&folder, "tables", &names);
    // Changed, or gone: the page would show something else.
    let times = read(&folder, "tables/times.json");
    folder.write("tables/times.json", &[&times[..], b"\n"].concat());
    assert!(report(&[]).failed(1).contains("times.json: "));
    std::fs::remove_file(folder.path("tables/times.json")).unwrap();
    assert!(report(&[]).failed(1).contains("times.json: not there"));
    folder.write("tables/times.json", &times);
    // Not marked: refused, unless asked for, and then not marked either.
    std::fs::remove_file(folder.path("tables/_SUCCESS")).unwrap();
    assert!(report(&[]).failed(1).contains("no _SUCCESS"));
    report(&["--allow-partial"]).done();
    assert!(!folder.path("tables/_SUCCESS").exists());
}

/// A file that is none of the run's business, and links to it.
#[cfg(unix)]
struct Precious<'a>(&'a Folder);

#[cfg(unix)]
impl Precious<'_> {
    fn plant(&self, name: &str) {
        self.0.write("precious", b"mine");
        let link = self.0.path(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(self.0.path("precious"), link).unwrap();
    }

    #[track_caller]
    fn is_whole(&self) {
        assert_eq!(read(self.0, "precious"), b"mine");
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_was_planted_is_not_written_through() {
    let folder = two_results();
    let precious = Precious(&folder);
    folder.write("urls.txt", b"http://www.forum.example/topic/1\n");
    let jobs = [
        ("out.txt", "normalize --rules one urls.txt --out out.txt"),
        ("out.json", "evaluate --rules one crawl.tsv --json out.json"),
        ("out.jsonl", "clusters crawl.tsv --out out.jsonl"),
        ("out.csv", "export --to csv --rules one --out out.csv"),
        ("out.compiled", "rules compile --rules one --out out.compiled"),
        ("one/seen.bin", "rules seen --rules one crawl.tsv"),
    ];
    for (file, arguments) in jobs {
        let partial =
            Path::new(file).with_file_name(format!(".{}.partial", Path::new(file).file_name().unwrap().display()));
        precious.plant(partial.to_str().unwrap());
        run(job(&folder, &arguments.split(' ').collect::<Vec<_>>())).done();
        precious.is_whole();
        assert!(folder.path(file).symlink_metadata().unwrap().is_file(), "{file}");
        std::fs::remove_file(folder.path("").join(&partial)).unwrap();
    }
    // Files of a result replace a link of their name; a file that the user names is written through it.
    precious.plant("one/seen.bin");
    run(job(&folder, &["rules", "seen", "--rules", "one", "crawl.tsv"])).done();
    precious.is_whole();
    assert!(folder.path("one/seen.bin").symlink_metadata().unwrap().is_file());
    // Nor is the lock.
    precious.plant(&format!("one/{LOCK}"));
    assert!(run(job(&folder, &["rules", "seen", "--rules", "one", "crawl.tsv"])).failed(1).contains(LOCK));
    precious.is_whole();
}

#[cfg(unix)]
#[test]
fn links_in_the_place_of_kept_work_are_not_written_through() {
    let folder = Folder::with_rules();
    crawl(&folder);
    let precious = Precious(&folder);
    std::fs::create_dir_all(folder.path("out/.work")).unwrap();
    precious.plant("out/.work/sites-0.journal");
    assert!(learn(&folder, "out", &["--resume"]).failed(1).contains("sites-0.journal"));
    precious.is_whole();
    std::fs::remove_dir_all(folder.path("out/.work")).unwrap();
    std::fs::create_dir(folder.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(folder.path("elsewhere"), folder.path("out/.work")).unwrap();
    assert!(learn(&folder, "out", &["--resume"]).failed(1).contains("symbolic link"));
    assert_eq!(std::fs::read_dir(folder.path("elsewhere")).unwrap().count(), 0);
}

/// The rules of the fixture, so that the tests above rest on rules that parse.
#[test]
fn an_unchecked_rule_file_is_read() {
    let folder = Folder::with_rules();
    let text = unchecked(&String::from_utf8(read(&folder, "rules/rules.jsonl")).unwrap());
    assert!(!text.contains("check"));
    assert_eq!(file::read(&mut text.as_bytes()).unwrap().1, sites());
}
