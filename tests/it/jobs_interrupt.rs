//! Jobs that are interrupted: what is temporary goes, one line says so, the exit code names the signal.
use super::cluster_support::Cluster;
use super::jobs_run::{Folder, quiet, run, signal, undust, wait_for};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Exit code and messages; a signal that was not caught has no code.
fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// A corpus in `crawl` that takes some seconds, most of them over spilled rows.
fn corpus() -> Folder {
    let folder = Folder::with_rules();
    let mut command = undust(&["synth", "--out", "crawl", "--sites", "8", "--total-urls", "60000", "--seed", "7"]);
    command.current_dir(folder.path(""));
    run(command).done();
    folder
}

fn learn(folder: &Folder, more: &[&str]) -> Command {
    let mut command = undust(&["learn", "crawl", "-q", "--memory", "64KiB", "--scratch", ".", "--out", "out"]);
    command.args(more).current_dir(folder.path(""));
    command
}

/// Names that only a run that goes on has.
fn temporary(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() && !name.starts_with("undust-") {
            found.extend(temporary(&entry.path()));
        } else if name.starts_with("undust-") || name.starts_with('.') {
            found.push(name);
        }
    }
    found
}

#[test]
fn each_signal_removes_what_is_temporary_and_has_its_exit_code() {
    let folder = corpus();
    for (name, code, word) in [("INT", 130, "interrupted"), ("TERM", 143, "terminated"), ("HUP", 129, "hang-up")] {
        let child = quiet(learn(&folder, &[]));
        let scratch = || temporary(&folder.path("")).iter().any(|name| name.starts_with("undust-spill-"));
        wait_for("scratch", scratch);
        signal(name, child.id());
        let (ended, said) = ended(child);
        assert_eq!(ended, Some(code), "{name}: {said}");
        let one_line = said.lines().count() == 1 && said.starts_with("undust: ");
        assert!(one_line && said.contains(word) && said.contains("; removed "), "{name}: {said}");
        assert!(said.contains("undust-spill-"), "{name}: {said}");
        assert_eq!(temporary(&folder.path("")), [""; 0], "{name}");
        assert!(!folder.path("out/_SUCCESS").exists());
    }
    // Nothing stands in the way of the next run.
    run(learn(&folder, &["--no-held-out"])).done();
}

#[test]
fn what_was_learned_is_kept_and_taken_up() {
    let folder = corpus();
    let child = quiet(learn(&folder, &["--resume"]));
    let work = folder.path("out/.work/sites-0.journal");
    wait_for("a learned site", || std::fs::read_to_string(&work).is_ok_and(|text| text.lines().count() > 2));
    signal("INT", child.id());
    let (code, said) = ended(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("out/.work: run again with --resume"), "{said}");
    assert!(work.exists());
    let mut again = learn(&folder, &["--resume"]);
    again.args(["--overwrite"]);
    assert_eq!(run(again).code, 2, "--resume does not go with --overwrite");
    let mut again = undust(&["learn", "crawl", "--memory", "64KiB", "--scratch", ".", "--out", "out", "--resume"]);
    again.current_dir(folder.path(""));
    let again = run(again);
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(!again.err.contains(" 0 sites were learned before"), "{}", again.err);
}

#[test]
fn a_file_that_is_being_written_is_removed() {
    let folder = Folder::with_rules();
    let mut command = folder.job("normalize", &["--out", "out.txt"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"http://a.example/\n").unwrap();
    wait_for("a partial file", || temporary(&folder.path("")).iter().any(|name| name.contains("out.txt")));
    signal("INT", child.id());
    let (code, said) = ended(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("interrupted; removed ") && said.contains("out.txt."), "{said}");
    assert_eq!(folder.names(), ["rules"]);
}

#[test]
fn a_run_that_ignores_signals_goes_on() {
    let folder = corpus();
    let mut shell = Command::new("sh");
    let script = "trap '' INT HUP; exec \"$0\" learn crawl -q --no-held-out --scratch . --out out";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_undust")]).current_dir(folder.path(""));
    let child = quiet(shell);
    wait_for("its work", || folder.path("out").exists());
    signal("INT", child.id());
    signal("HUP", child.id());
    let (code, said) = ended(child);
    assert_eq!(code, Some(0), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_one_ends_it_at_once() {
    let folder = corpus();
    // A terminal that takes nothing more: the message cannot be written.
    let (mut reader, mut full) = std::io::pipe().unwrap();
    full.write_all(&[b'x'; 1 << 16]).unwrap();
    let mut command = learn(&folder, &[]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(full).spawn().unwrap();
    drop(command);
    wait_for("scratch", || temporary(&folder.path("")).iter().any(|name| name.starts_with("undust-spill-")));
    signal("INT", child.id());
    wait_for("what the first one removes", || temporary(&folder.path("")).is_empty());
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "the message is not out");
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut said = Vec::new();
    reader.read_to_end(&mut said).unwrap();
    assert_eq!(said.len(), 1 << 16);
}

#[cfg(target_os = "linux")]
#[test]
fn a_message_that_nobody_reads_does_not_keep_the_process() {
    let folder = corpus();
    let (_reader, mut full) = std::io::pipe().unwrap();
    full.write_all(&[b'x'; 1 << 16]).unwrap();
    let mut command = learn(&folder, &[]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(full).spawn().unwrap();
    wait_for("scratch", || temporary(&folder.path("")).iter().any(|name| name.starts_with("undust-spill-")));
    signal("INT", child.id());
    wait_for("the end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn peers_of_an_interrupted_process_say_which_it_was() {
    let cluster = Cluster::new(2, 30_000);
    let (zero, one) = (cluster.learn(0, "out", &[]), cluster.learn(1, "out", &[]));
    wait_for("their work", || cluster.path("out/.work/sites-1.journal").exists());
    signal("INT", one.child.id());
    let (zero, one) = (zero.end(11), one.end(5));
    assert_eq!((zero.code, one.code), (Some(3), Some(130)), "{zero:?} {one:?}");
    assert!(zero.err.contains("process 1 (127.0.0.1:") && zero.err.lines().count() == 1, "{}", zero.err);
    // Whether there was a temporary file to remove depends on the moment.
    assert!(one.err.contains("interrupted; ") && one.err.contains("--resume"), "{}", one.err);
    let left = cluster.names("");
    assert!(!left.iter().any(|name| name.starts_with("undust-")), "{left:?}");
    assert_eq!(cluster.names("out"), [".work"]);
}

/// What a terminal shows of a job that is interrupted while its progress is drawn.
#[cfg(target_os = "linux")]
#[test]
fn the_message_stands_on_a_line_of_its_own_on_a_terminal() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let folder = corpus();
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let stderr = std::fs::File::options().read(true).write(true).open(name).unwrap();
    let mut command = undust(&["learn", "crawl", "--memory", "64KiB", "--scratch", ".", "--out", "out"]);
    command.current_dir(folder.path("")).env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut terminal = std::fs::File::from(terminal);
    let (mut shown, mut piece, mut sent) = (String::new(), [0; 4096], false);
    // Reading fails once no process has the terminal open.
    while let Ok(n @ 1..) = terminal.read(&mut piece) {
        shown.push_str(&String::from_utf8_lossy(&piece[..n]));
        if !sent && shown.contains("records/s") {
            signal("INT", child.id());
            sent = true;
        }
    }
    assert!(sent, "no progress was drawn: {shown:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130), "{shown:?}");
    let (before, message) = shown.split_once("undust: interrupted").expect("a message");
    let line = before.rsplit(['\r', '\n']).next().unwrap_or_default().replace("\u{1b}[2K", "");
    assert_eq!(line, "", "garbled: {shown:?}");
    assert_eq!(message.trim_end().lines().count(), 1, "{message:?}");
}
