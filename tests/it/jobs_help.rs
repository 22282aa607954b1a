//! Help, version and usage errors.

use crate::jobs_run::{run, undust};

fn help(job: &str) -> String {
    run(undust(&[job, "--help"])).done()
}

#[test]
fn every_job_and_exit_code_is_in_the_help() {
    let text = run(undust(&["--help"])).done();
    for word in ["normalize", "evaluate", "explain", "Exit codes:", "  3  a peer was lost"] {
        assert!(text.contains(word), "{word} is missing");
    }
    for job in ["normalize", "evaluate", "explain"] {
        assert!(help(job).contains("  4  more records were rejected"), "{job}: exit codes are missing");
    }
}

#[test]
fn every_flag_is_in_the_help() {
    let flags = [
        (
            "normalize",
            &[
                "--rules <DIR>",
                "--allow-partial",
                "--output <OUTPUT>",
                "-o, --out <FILE>",
                "--overwrite",
                "-w, --workers <N>",
                "--line-limit <BYTES>",
                "-q, --quiet",
                "[INPUT]...",
            ][..],
        ),
        (
            "evaluate",
            &[
                "--rules <DIR>",
                "--allow-partial",
                "--one-site",
                "--site-by <SITE_BY>",
                "--format <FORMAT>",
                "--json <FILE>",
                "--all",
                "--line-limit <BYTES>",
                "-q, --quiet",
                "<INPUT>...",
            ],
        ),
        ("explain", &["--rules <DIR>", "--allow-partial", "--fired", "--output <OUTPUT>", "<URL>..."]),
    ];
    for (job, flags) in flags {
        let text = help(job);
        for flag in flags {
            assert!(text.contains(flag), "{job}: {flag} is missing in\n{text}");
        }
        // And no flag is without a description: clap then prints it alone on its line.
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.trim_start().starts_with("--")) {
            let described = line.trim().contains("  ") || lines.get(at + 1).is_some_and(|next| !next.trim().is_empty());
            assert!(described, "{job}: no description of {line}");
        }
    }
}

#[test]
fn the_version_is_the_package_s() {
    assert_eq!(run(undust(&["--version"])).done(), concat!("undust ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn usage_errors_have_exit_code_2() {
    for arguments in [
        &[][..],
        &["unknown"],
        &["normalize"],
        &["normalize", "--rules", "r", "-w", "0"],
        &["normalize", "--rules", "r", "--overwrite"],
        &["evaluate", "--rules", "r"],
        &["evaluate", "--rules", "r", "x.tsv", "--one-site", "--site-by", "host"],
        &["explain", "--rules", "r"],
    ] {
        let message = run(undust(arguments)).failed(2);
        assert!(message.contains("--help"), "{arguments:?}: {message}");
    }
}
