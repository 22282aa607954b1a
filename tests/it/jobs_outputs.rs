//! Files that jobs write where the user says: none is lost by a mistake in the command.

use crate::jobs_run::{Folder, run, undust};
use std::fs::File;
use std::process::Command;

/// A folder with rules, records, URLs and what is disabled of the rules.
fn folder() -> Folder {
    let folder = Folder::with_rules();
    folder.write("r.tsv", b"http://www.forum.example/topic/7?sid=1\tseven\n");
    folder.write("urls.txt", b"http://www.forum.example/topic/7\n");
    std::fs::create_dir(folder.path("sub")).unwrap();
    folder.write("sub/1.txt", b"http://www.forum.example/topic/8\n");
    folder.write("off.jsonl", b"");
    folder.write("rules/overrides.jsonl", b"");
    folder
}

/// The binary in the folder, with arguments that are separated by spaces.
fn job(folder: &Folder, line: &str) -> Command {
    let mut command = undust(&line.split(' ').collect::<Vec<_>>());
    command.current_dir(folder.path(""));
    command
}

#[test]
fn an_existing_file_is_replaced_only_where_that_is_asked_for() {
    let folder = folder();
    let jobs = [
        "normalize --rules rules urls.txt -o out",
        "evaluate --rules rules r.tsv --json out",
        "export --rules rules --to csv -o out",
        "export --rules rules --to csv --left-out out",
        "clusters r.tsv --out out",
        "rules compile --rules rules --out out",
    ];
    for line in jobs {
        folder.write("out", b"precious");
        let message = run(job(&folder, line)).failed(2);
        assert_eq!(message, "undust: out: exists; name another file, or give --overwrite to replace it\n", "{line}");
        assert_eq!(folder.text("out"), "precious", "{line}");
        run(job(&folder, &format!("{line} --overwrite"))).done();
        assert_ne!(std::fs::read(folder.path("out")).unwrap(), b"precious", "{line}");
    }
    // A device is written to, not replaced.
    run(job(&folder, "evaluate --rules rules r.tsv --json /dev/null")).done();
}

#[test]
fn a_file_that_is_read_is_never_replaced() {
    let folder = folder();
    #[cfg(unix)]
    std::os::unix::fs::symlink("urls.txt", folder.path("link")).unwrap();
    folder.write("a.ciff", b"an index");
    let jobs = [
        ("urls.txt", "normalize --rules rules urls.txt -o urls.txt"),
        #[cfg(unix)]
        ("urls.txt", "normalize --rules rules urls.txt -o link"),
        ("urls.txt", "normalize --rules rules sub urls.txt -o ./sub/../urls.txt"),
        ("sub/1.txt", "normalize --rules rules sub -o sub/1.txt"),
        ("off.jsonl", "normalize --rules rules --overrides off.jsonl urls.txt -o off.jsonl"),
        ("r.tsv", "evaluate --rules rules r.tsv --json r.tsv"),
        ("r.tsv", "clusters r.tsv --out r.tsv"),
        ("urls.txt", "export --rules rules --to csv --urls urls.txt -o urls.txt"),
        ("off.jsonl", "export --rules rules --to csv --overrides off.jsonl --left-out off.jsonl"),
        ("a.ciff", "compress-index --rules rules --index a.ciff --out a.ciff"),
        ("urls.txt", "compress-index --rules rules --index a.ciff --urls urls.txt --out b.ciff --docmap urls.txt"),
    ];
    for (file, line) in jobs {
        let before = folder.text(file);
        for more in ["", " --overwrite"] {
            let message = run(job(&folder, &format!("{line}{more}"))).failed(2);
            assert!(message.contains("an input of this command"), "{line}: {message}");
            assert_eq!(folder.text(file), before, "{line}");
        }
    }
    #[cfg(unix)]
    {
        let mut command = job(&folder, "normalize --rules rules -o urls.txt --overwrite");
        command.stdin(File::open(folder.path("urls.txt")).unwrap()).stdout(File::create(folder.path("o")).unwrap());
        assert_eq!(command.output().unwrap().status.code(), Some(2));
    }
}

#[test]
fn rules_in_use_are_never_replaced() {
    let folder = folder();
    let before = folder.text("rules/rules.jsonl");
    let names = ["rules.jsonl", "overrides.jsonl", "summary.json", "report.html", "report-2.html", "_SUCCESS"];
    let jobs = [
        "normalize --rules rules urls.txt --overwrite -o rules/",
        "normalize --rules rules/rules.jsonl urls.txt --overwrite -o rules/",
        "evaluate --rules rules r.tsv --overwrite --json sub/../rules/",
        "export --rules rules --to csv --overwrite -o rules/",
        "export --rules rules --to csv --overwrite --left-out rules/",
        "rules compile --rules rules --overwrite --out rules/",
    ];
    for line in jobs {
        for name in names {
            let message = run(job(&folder, &format!("{line}{name}"))).failed(2);
            assert!(message.contains(name), "{line}{name}: {message}");
            assert_eq!(folder.text("rules/rules.jsonl"), before, "{line}{name}");
        }
    }
    assert!(!folder.path("rules/summary.json").exists() && !folder.path("rules/report-2.html").exists());
    // Other files in the folder, and files of these names beside compiled rules, are none of the rules.
    run(job(&folder, "evaluate --rules rules r.tsv --json rules/figures.json")).done();
    std::fs::remove_file(folder.path("rules/figures.json")).unwrap();
    run(job(&folder, "rules compile --rules rules --out compiled")).done();
    run(job(&folder, "evaluate --rules compiled r.tsv --json summary.json")).done();
    let message = run(job(&folder, "normalize --rules compiled urls.txt -o compiled --overwrite")).failed(2);
    assert!(message.contains("an input of this command"), "{message}");
}

#[test]
fn two_outputs_have_two_names() {
    let folder = folder();
    let line = "export --rules rules --to csv -o sub/../out --left-out out --overwrite";
    assert!(run(job(&folder, line)).failed(2).contains("named for two outputs"));
    assert!(!folder.path("out").exists());
}
