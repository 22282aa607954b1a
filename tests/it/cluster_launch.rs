//! `scripts/launch`: what it starts, it ends.
#![cfg(target_os = "linux")]
use super::cluster_support::{Cluster, Ended};
use super::jobs_run::{signal, wait_for};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Processes whose command line or working folder is of this run, but for `launch` itself.
fn left(cluster: &Cluster, launch: u32) -> Vec<(u32, String)> {
    let folder = cluster.path("").canonicalize().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let here = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder);
        let zombie = std::fs::read_to_string(entry.path().join("stat")).is_ok_and(|stat| stat.contains(") Z "));
        if here && !zombie && pid != launch {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    found
}

/// The processes of undust.
fn undusts(cluster: &Cluster, launch: u32) -> Vec<u32> {
    let is_undust = |line: &str| line.starts_with(env!("CARGO_BIN_EXE_undust"));
    left(cluster, launch).into_iter().filter(|(_, line)| is_undust(line)).map(|(pid, _)| pid).collect()
}

/// A run on two hosts that are this machine; `None` without Python, which `launch` needs.
#[allow(clippy::print_stderr, reason = "a test that is passed over says so")]
fn launch(cluster: &Cluster) -> Option<Child> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: scripts/launch needs python3");
        return None;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/launch");
    let mut command = Command::new("python3");
    command.args([script, "--binary", env!("CARGO_BIN_EXE_undust"), "hosts", "--", "learn", "in", "--out", "out"]);
    command.current_dir(cluster.path("")).env("TMPDIR", cluster.path("")).env_remove("UNDUST_SECRET_FILE");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the work of both processes", || cluster.path("out/.work/sites-1.journal").exists());
    assert_eq!(undusts(cluster, child.id()).len(), 2);
    Some(child)
}

fn end(child: Child, since: Instant) -> Ended {
    let output = child.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    Ended { code: output.status.code(), out, err, after: since.elapsed() }
}

#[test]
fn a_list_of_hosts_is_no_script() {
    let cluster = Cluster::new(2, 60);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/launch");
    let run = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.arg(script).args(arguments).args(["--", "learn", "in", "--out", "out"]).current_dir(cluster.path(""));
        command.stdin(Stdio::null()).output().ok()
    };
    for (name, text) in [
        ("heredoc", "127.0.0.1:9\nUNDUST-HOSTS\ntouch made\n"),
        ("word", "127.0.0.1:9\nUNDUST-HOSTS\n./make\n"),
        ("command", "127.0.0.1:9;touch${IFS}made\n"),
        ("option", "-oProxyCommand=touch\n"),
        ("feed", "127.0.0.1:9\u{c}127.0.0.2:9\n"),
    ] {
        cluster.write(name, text);
        let Some(output) = run(&["--ssh", "true", "--binary", "true", name]) else { return };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!cluster.path("made").exists(), "{name}: {said}");
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
    }
    let output = run(&["--retries", "-1", "hosts"]).unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn one_interrupt_ends_all_and_a_stopped_one_too() {
    let cluster = Cluster::new(2, 30_000);
    let Some(child) = launch(&cluster) else { return };
    let (pid, since) = (child.id(), Instant::now());
    signal("STOP", undusts(&cluster, pid)[0]);
    signal("INT", pid);
    let ended = end(child, since);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("launch: stopped") && ended.err.contains("a second Ctrl-C"), "{}", ended.err);
    assert!(ended.after < Duration::from_secs(9), "{:?}", ended.after);
    wait_for("nobody to be left", || left(&cluster, pid).is_empty());
}

#[test]
fn a_second_interrupt_kills_all_at_once() {
    let cluster = Cluster::new(2, 30_000);
    let Some(child) = launch(&cluster) else { return };
    let (pid, since) = (child.id(), Instant::now());
    signal("STOP", undusts(&cluster, pid)[1]);
    signal("INT", pid);
    std::thread::sleep(Duration::from_millis(600));
    signal("INT", pid);
    let ended = end(child, since);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.after < Duration::from_secs(4), "{:?}", ended.after);
    wait_for("undust to be gone", || undusts(&cluster, pid).is_empty());
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
    wait_for("nobody to be left", || left(&cluster, pid).is_empty());
}

#[test]
fn nobody_outlives_a_launch_that_was_killed() {
    let cluster = Cluster::new(2, 30_000);
    let Some(mut child) = launch(&cluster) else { return };
    let pid = child.id();
    signal("STOP", undusts(&cluster, pid)[1]);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("nobody to be left", || left(&cluster, pid).is_empty());
}
