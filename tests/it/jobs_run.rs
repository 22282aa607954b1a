//! What the tests of the jobs share: a folder with a rule set written by hand, and a way to run the
//! binary.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use undust::rules::file::{self, Header, InputCounts};
use undust::rules::{Constraint, Evidence, Operation, Representative, Rule, RuleSet, SiteRules, Test};
use undust::site::Params;

/// A folder of one test, gone with it.
pub struct Folder(TempDir);

impl Folder {
    /// A folder that holds a rule set in `rules`.
    pub fn with_rules() -> Folder {
        let folder = Folder(TempDir::new().unwrap());
        std::fs::create_dir(folder.path("rules")).unwrap();
        let mut text = Vec::new();
        let header = Header::new(Params::default(), InputCounts::default());
        file::write(&header, sites().iter(), &mut text).unwrap();
        folder.write("rules/rules.jsonl", &text);
        folder.write("rules/_SUCCESS", b"");
        folder
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A file as text.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// What the binary says in this folder to arguments that are separated by spaces.
    pub fn said(&self, line: &str) -> Ran {
        let mut command = undust(&line.split(' ').collect::<Vec<_>>());
        command.current_dir(self.path(""));
        run(command)
    }

    /// The binary, in this folder, with `--rules rules` after the job's name.
    pub fn job(&self, job: &str, arguments: &[&str]) -> Command {
        let mut command = undust(&[job, "--rules", "rules"]);
        command.args(arguments).current_dir(self.0.path());
        command
    }
}

/// The binary with these arguments.
pub fn undust(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undust"));
    command.args(arguments);
    command
}

/// Sends a signal, by its name.
#[track_caller]
pub fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().expect("a kill command");
    assert!(sent.success(), "{name} to {pid}");
}

/// Waits until something is so.
#[track_caller]
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a job whose messages are kept.
pub fn quiet(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs to the end with nothing on standard input.
pub fn run(mut command: Command) -> Ran {
    Ran::of(command.stdin(Stdio::null()).output().unwrap())
}

/// Runs to the end with `input` on standard input.
pub fn run_with(mut command: Command, input: &[u8]) -> Ran {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // The job may end before it has read everything.
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().unwrap()
    });
    Ran::of(output)
}

/// The most memory that a process had resident, in bytes, watched until it ends well.
#[cfg(target_os = "linux")]
#[track_caller]
pub fn peak_of(mut child: std::process::Child) -> u64 {
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        // Gone by now, or a zombie without the line: the last reading counts.
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or_default() << 10);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    peak
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output) -> Ran {
        let err = String::from_utf8(output.stderr).unwrap();
        Ran { code: output.status.code().expect("ended by a signal"), out: output.stdout, err }
    }

    /// Standard output of a run that must have been done.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        String::from_utf8(self.out).unwrap()
    }

    /// The message of a run that must have failed with this code and printed nothing on standard output.
    #[track_caller]
    pub fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.out.len()), (code, 0), "{}", self.err);
        self.err
    }
}

/// Two sites: one ignores `sid`, on topics also `highlight`; the other has mirrors.
pub fn sites() -> Vec<SiteRules> {
    let evidence = Evidence { good: 120, upper_bound_ppm: 8_260, clusters: 43, ..Evidence::default() };
    let rule = |id: &str, scope: Vec<Constraint>, key: &str, representative| Rule {
        evidence: evidence.clone(),
        ..Rule::of(id, scope, vec![(key.into(), Operation::Ignore(representative))])
    };
    let topic = Constraint { key: "path0".into(), test: Test::Equals("topic".into()) };
    let forum = SiteRules {
        site: "forum.example".into(),
        origins: undust::rules::origins::of_hosts(["www.forum.example"]),
        rules: vec![
            rule("00000000000000a1", vec![], "query sid=", Representative::LeftOut),
            rule("00000000000000a2", vec![topic], "query highlight=", Representative::LeftOut),
        ],
        ..SiteRules::default()
    };
    let everywhere = Representative::Everywhere("a.mirror.example".into());
    let mirror = SiteRules {
        site: "mirror.example".into(),
        origins: undust::rules::origins::of_hosts(["a.mirror.example", "b.mirror.example"]),
        rules: vec![rule("00000000000000b1", vec![], "host", everywhere)],
        ..SiteRules::default()
    };
    vec![forum, mirror]
}

/// Rule set of [`sites`].
pub fn rule_set() -> RuleSet {
    RuleSet::new(sites())
}

/// `n` URLs one a line: some that rules change, some that syntax-based normalization changes, some untouched, some that
/// are none.
pub fn urls(n: usize) -> String {
    let mut text = String::new();
    for i in 0..n {
        text.push_str(&match i % 5 {
            0 => format!("http://www.forum.example/topic/{i}?sid={i:08x}&highlight=x&t={i}\n"),
            1 => format!("http://b.mirror.example/download/{i}/file.html\n"),
            2 => format!("HTTP://Other.Example:80/%7euser/{i}\n"),
            3 => format!("http://other.example/a/b/c/{i}?q={i}\n"),
            _ => format!("no url {i}\n"),
        });
    }
    text
}
