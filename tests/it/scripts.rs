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

/// Runs Python with the scripts importable and an empty folder as its argument.
fn python(code: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut command) = script("python3") else { return };
    command.args(["-c", code]).arg(folder.path()).env("PYTHONPATH", "scripts").env("TMPDIR", folder.path());
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", said(&ran));
}

/// Runs scripts where `cargo` fails and notes what it is called with.
struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (cargo, log) = (folder.path().join("cargo"), folder.path().join("log"));
        std::fs::write(&cargo, format!("#!/bin/sh\necho \"$@\" >> {}\nexit 9\n", log.display())).unwrap();
        std::fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755)).unwrap();
        Sandbox { folder }
    }

    /// Exit code, what cargo was called with, standard output and error; `None` without Python.
    fn run(&self, path: &str, words: &[&str]) -> Option<(Option<i32>, String, String)> {
        let log = self.folder.path().join("log");
        let _ = std::fs::remove_file(&log);
        let path_variable = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        let mut command = script(path)?;
        let ran = command.args(words).env("PATH", path_variable).env("TMPDIR", self.folder.path()).output().unwrap();
        Some((ran.status.code(), std::fs::read_to_string(&log).unwrap_or_default(), said(&ran)))
    }
}

/// Names of the parts that `list` shows.
fn parts(listed: &str) -> Vec<String> {
    let rows = listed.split("\npart ").nth(1).unwrap().split("\n\n").next().unwrap();
    rows.lines().skip(1).map(|row| row.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn every_script_gives_help_without_a_build() {
    let sandbox = Sandbox::new();
    let mut names = vec![".ci/run".to_owned()];
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() && entry.metadata().unwrap().permissions().mode() & 0o111 != 0 {
            names.push(format!("scripts/{}", entry.file_name().to_string_lossy()));
        }
    }
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        for word in ["--help", "-h"] {
            let Some((code, built, said)) = sandbox.run(&name, &[word]) else { return };
            assert!(code == Some(0) && built.is_empty() && said.lines().count() > 1, "{name} {word}: {built}{said}");
        }
    }
    for (entry, least) in [("scripts/accept", 21), ("scripts/bench", 5)] {
        let (code, _, listed) = sandbox.run(entry, &["list"]).unwrap();
        let parts = parts(&listed);
        assert!(code == Some(0) && parts.len() >= least, "{listed}");
        for part in parts {
            let (code, built, said) = sandbox.run(entry, &[&part, "--binary=/bin/sh", "--help"]).unwrap();
            let usage = said.starts_with(&format!("usage: {entry} {part} "));
            assert!(code == Some(0) && built.is_empty() && usage, "{part}: {built}{said}");
        }
    }
}

#[test]
fn parts_are_built_where_no_program_is_given() {
    let sandbox = Sandbox::new();
    let accept = |words: &[&str]| sandbox.run("scripts/accept", words);
    let Some((code, built, said)) = accept(&["traps"]) else { return };
    assert!(code == Some(2) && built.contains("--profile release --locked --bin undust"), "{built}{said}");
    let (code, built, said) = accept(&["seq2seq", "--binary=/bin/sh"]).unwrap();
    assert!(
        code == Some(1) && built.contains("scripts/seq2seq/Cargo.toml") && said.contains("seq2seq  missed: "),
        "{said}"
    );
    for words in [
        &["peers", "--binary=/nowhere"][..],
        &["--binary", "/nowhere", "traps"],
        &["page", "--binary=/bin/sh", "--network", "/nowhere"],
        &["parity", "--shared=/nowhere"],
    ] {
        let (code, built, said) = accept(words).unwrap();
        assert!(
            code == Some(2) && built.is_empty() && said.contains("/nowhere is not there"),
            "{words:?}: {built}{said}"
        );
    }
}

#[test]
fn wrong_arguments_name_the_part() {
    let sandbox = Sandbox::new();
    for (words, text) in [
        (&["nope"][..], "scripts/accept: error: no part nope"),
        (&["--only", "proof"], "scripts/accept parity: error: unrecognized arguments: --only proof"),
        (&["traps", "--url", "5"], "scripts/accept traps: error: unrecognized arguments: --url 5"),
        (
            &["traps", "cluster", "--urls", "5", "--show", "3"],
            "scripts/accept cluster: error: unrecognized arguments: --show 3",
        ),
        (&["traps", "--keep", "/bin/sh"], "scripts/accept traps: error: --keep /bin/sh: no folder"),
    ] {
        let Some((code, built, said)) = sandbox.run("scripts/accept", words) else { return };
        assert!(code == Some(2) && built.is_empty() && said.contains(text), "{words:?}: {built}{said}");
    }
}

#[test]
fn the_table_says_what_was_missed_and_what_was_skipped() {
    let sandbox = Sandbox::new();
    let empty = sandbox.folder.path().to_str().unwrap();
    let words = ["parity", "compare", "--binary=/bin/false", "--shared", empty];
    let Some((code, built, said)) = sandbox.run("scripts/accept", &words) else { return };
    assert!(code == Some(0) && built.is_empty(), "{built}{said}");
    assert_eq!(said.matches("  skipped: no corpora/").count(), 2, "{said}");
    assert_eq!(said.matches("SKIPPED: ").count(), 2, "{said}");
    let words = ["compare", "traps", "--binary=/bin/false", "--shared", empty];
    let (code, _, said) = sandbox.run("scripts/accept", &words).unwrap();
    assert!(code == Some(1) && said.contains("\ntraps    missed: /bin/false synth: exit code 1"), "{said}");
    let leaves_nothing = std::fs::read_dir(empty).unwrap().all(|entry| entry.unwrap().file_name() == "cargo");
    assert!(leaves_nothing, "a folder is left in {empty}");
}

#[test]
fn what_was_made_with_other_options_is_made_again() {
    python(
        "import pathlib, sys
from parts import page
file, calls = pathlib.Path(sys.argv[1]) / 'x.json', []
def make():
    calls.append(1)
    if len(calls) == 3:
        raise RuntimeError('killed')
    file.write_text('made')
for options, count in ((['a', 1], 1), (['a', 1], 1), (['a', 2], 2)):
    page.once(file, options, make)
    assert len(calls) == count, (options, calls)
try:
    page.once(file, ['a', 3], make)
except RuntimeError:
    pass
page.once(file, ['a', 2], make)
assert len(calls) == 4, 'what was begun with other options is not taken'
file.unlink()
page.once(file, ['a', 2], make)
assert len(calls) == 5
",
    );
}

#[test]
fn folders_of_a_run_are_removed_or_kept() {
    python(
        "import os, pathlib, subprocess, sys
from parts.common import scratch
try:
    with scratch(None, 'x') as folder:
        (folder / 'file').touch()
        raise RuntimeError('no such peer')
except RuntimeError:
    pass
assert os.listdir(sys.argv[1]) == [], os.listdir(sys.argv[1])
kept = pathlib.Path(sys.argv[1]) / 'a' / 'kept'
with scratch(kept, 'x') as folder:
    (folder / 'file').touch()
assert (kept / 'file').exists()
peers = [sys.executable, 'scripts/accept', 'peers', '--binary', sys.executable, '--shared', sys.argv[1]]
done = subprocess.run([*peers, '--keep', kept], capture_output=True, text=True)
assert done.returncode == 2 and 'not empty' in done.stderr and 'Traceback' not in done.stderr, done
",
    );
}

/// `compare` takes no two canonical URLs for one URL.
#[test]
fn maybedont_predicts_a_url_once() {
    python(
        "import sys, types, peers
class DupePredictor:
    def update_model(self, url, content): pass
    def get_dupe_prob(self, url): return 1.0
sys.modules['maybedont'] = types.SimpleNamespace(DupePredictor=DupePredictor)
urls = ['http://a/%d' % (i % 40) for i in range(400)]
records = [{'url': url, 'cluster': url[-1]} for url in urls]
predictions, failed = peers.maybedont([], [])(records)
assert failed == 0 and [url for url, _ in predictions] == urls[:40], predictions
",
    );
}
