//! `undust generate`: man pages and completions.

use crate::jobs_run::{Folder, run, run_with, undust};
use std::process::Command;

/// The jobs that the help lists.
fn jobs() -> Vec<String> {
    let help = run(undust(&["--help"])).done();
    let listed = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn there_is_a_page_for_every_job_and_none_is_replaced_unasked() {
    let folder = Folder::with_rules();
    let man = |arguments: &[&str]| {
        let mut command = undust(&["generate", "man", "man"]);
        command.args(arguments).current_dir(folder.path(""));
        run(command)
    };
    let message = man(&[]);
    assert!(message.err.contains("man pages: man"), "{}", message.err);
    message.done();
    assert!(jobs().len() > 10, "{:?}", jobs());
    for job in jobs() {
        let page = std::fs::read_to_string(folder.path(&format!("man/undust-{job}.1"))).unwrap();
        assert!(page.contains(&format!(".TH undust-{job} 1")), "{job}: {}", &page[..200.min(page.len())]);
        assert!(page.contains(".SH SYNOPSIS") && page.contains("log\\-format"), "{job}");
    }
    let first = std::fs::read_to_string(folder.path("man/undust.1")).unwrap();
    assert!(first.contains("undust\\-learn(1)"), "{first}");

    folder.write("man/undust-learn.1", b"mine\n");
    assert!(man(&[]).failed(2).contains("--overwrite"));
    assert_eq!(std::fs::read(folder.path("man/undust-learn.1")).unwrap(), b"mine\n");
    man(&["--overwrite", "-q"]).done();
    assert!(std::fs::read(folder.path("man/undust-learn.1")).unwrap().len() > 100);
}

#[test]
fn completions_name_every_job_and_are_scripts_of_their_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(undust(&["generate", "completions", shell])).done();
        for job in jobs() {
            assert!(script.contains(&job), "{shell}: {job} is missing");
        }
        assert!(script.contains("train-max"), "{shell}: options are missing");
        // Where the shell is there, it reads what is meant for it.
        let checks = matches!(shell, "bash" | "zsh") && Command::new(shell).arg("--version").output().is_ok();
        if checks {
            let mut command = Command::new(shell);
            command.args(["-n", "/dev/stdin"]);
            run_with(command, script.as_bytes()).done();
        }
    }
    assert!(run(undust(&["generate", "completions", "cmd"])).failed(2).contains("bash"));
}
