//! Scripts of checks: when they build, what they keep, what they leave behind.
#![cfg(target_os = "linux")]
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// A command in the folder of the repository; `None` without Python, which the scripts need.
#[allow(clippy::print_stderr, reason = "a test that is passed over says so")]
fn script(program: &str) -> Option<Command> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: the scripts need python3");
        return None;
    }
    let mut command = Command::new(program);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env("PYTHONDONTWRITEBYTECODE", "1");
    Some(command)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Help and a program that is given, in either spelling, start no build.
#[test]
fn wrappers_build_where_no_program_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let (cargo, log) = (folder.path().join("cargo"), folder.path().join("log"));
    std::fs::write(&cargo, format!("#!/bin/sh\necho \"$@\" >> {}\nexit 9\n", log.display())).unwrap();
    std::fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let run = |name: &str, words: &[&str]| {
        let _ = std::fs::remove_file(&log);
        let ran = script(&format!("scripts/{name}"))?.args(words).env("PATH", &path).output().unwrap();
        Some((ran.status.code(), std::fs::read_to_string(&log).unwrap_or_default(), said(&ran)))
    };
    let (program, network) = ("--binary=/nowhere", "--network=/nowhere");
    for name in ["accept-peers", "accept-page", "accept-seq2seq"] {
        for words in [&["--help"][..], &["-h"], &[program, network, "--help"]] {
            let Some((code, built, said)) = run(name, words) else { return };
            assert!(code == Some(0) && built.is_empty() && said.starts_with("usage: "), "{name}: {built}{said}");
        }
        let given: &[&str] = if name == "accept-peers" { &[program] } else { &[program, network] };
        let Some((code, built, said)) = run(name, given) else { return };
        assert!(code == Some(2) && built.is_empty() && said.contains("not there: /nowhere"), "{name}: {built}{said}");
        let Some((code, built, _)) = run(name, &[]) else { return };
        assert!(code == Some(9) && built.contains("--bin undust"), "{name}: {built}");
    }
    for words in [&[program, "--network=build"][..], &[program, "--network", "build"]] {
        let Some((code, built, _)) = run("accept-page", words) else { return };
        assert!(code == Some(9) && built.contains("seq2seq"), "{words:?}: {built}");
    }
}
