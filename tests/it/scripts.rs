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

#[test]
fn what_was_made_with_other_options_is_made_again() {
    python(
        "import pathlib, sys, accept_page
file, calls = pathlib.Path(sys.argv[1]) / 'x.json', []
def make():
    calls.append(1)
    if len(calls) == 3:
        raise RuntimeError('killed')
    file.write_text('made')
for options, count in ((['a', 1], 1), (['a', 1], 1), (['a', 2], 2)):
    accept_page.once(file, options, make)
    assert len(calls) == count, (options, calls)
try:
    accept_page.once(file, ['a', 3], make)
except RuntimeError:
    pass
accept_page.once(file, ['a', 2], make)
assert len(calls) == 4, 'what was begun with other options is not taken'
file.unlink()
accept_page.once(file, ['a', 2], make)
assert len(calls) == 5
",
    );
}

#[test]
fn a_run_that_cannot_be_done_says_why_and_leaves_no_folder() {
    python(
        "import os, pathlib, subprocess, sys
from ending import leave, scratch
def main():
    with scratch(None, 'x') as folder:
        (folder / 'file').touch()
        raise RuntimeError('no such peer')
try:
    leave('x', main)
except SystemExit as end:
    assert end.code == 2
assert os.listdir(sys.argv[1]) == [], os.listdir(sys.argv[1])
kept = pathlib.Path(sys.argv[1]) / 'a' / 'kept'
with scratch(kept, 'x') as folder:
    (folder / 'file').touch()
assert (kept / 'file').exists()
peers = [sys.executable, 'scripts/accept_peers.py', '--binary', sys.executable, '--shared', sys.argv[1]]
done = subprocess.run([*peers, '--keep', kept], capture_output=True, text=True)
assert done.returncode == 2 and 'not empty' in done.stderr and 'Traceback' not in done.stderr, done
done = subprocess.run([*peers, '--keep', kept / 'file'], capture_output=True, text=True)
assert done.returncode == 2 and 'Traceback' not in done.stderr, done
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
