//! Several processes of the binary on this machine's loopback addresses.
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with shards, a list of hosts, and what processes say.
pub struct Cluster {
    folder: TempDir,
    pub ports: Vec<u16>,
}

/// A port that is free, that no other test gets, and that no connection gets for its own end: systems
/// take those from 32768 on.
pub fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let next = std::process::id().wrapping_mul(97).wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = 12_000 + (next % 20_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Cluster {
    /// For `processes` processes, with a small corpus in `in`.
    pub fn new(processes: usize, urls: usize) -> Cluster {
        let folder = TempDir::new().unwrap();
        let ports = (0..processes).map(|_| free_port()).collect();
        let cluster = Cluster { folder, ports };
        let urls = urls.to_string();
        let made = cluster.undust(&[
            "synth",
            "--out",
            "in",
            "--sites",
            "12",
            "--urls-min",
            "60",
            "--urls-max",
            &urls,
            "--shards",
            "7",
            "--seed",
            "3",
        ]);
        assert!(made.code == Some(0), "{}", made.err);
        cluster.hostfile("hosts");
        cluster
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// A secret with mode 0600.
    pub fn secret(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(name, text);
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn hostfile(&self, name: &str) {
        let lines: Vec<String> = self.ports.iter().map(|port| format!("127.0.0.1:{port}\n")).collect();
        self.write(name, &format!("# this machine\n\n{}", lines.concat()));
    }

    /// `cluster.toml` with these keys under `[mesh]`.
    pub fn toml(&self, name: &str, mesh: &str) {
        let hosts: Vec<String> =
            self.ports.iter().map(|port| format!("[[host]]\naddress = \"127.0.0.1:{port}\"\n")).collect();
        self.write(name, &format!("[mesh]\n{mesh}\n{}", hosts.concat()));
    }

    /// Starts the binary in the folder.
    pub fn start(&self, arguments: &[&str]) -> Process {
        self.start_program(env!("CARGO_BIN_EXE_undust"), arguments)
    }

    /// Starts another build of the binary in the folder.
    pub fn start_program(&self, program: &str, arguments: &[&str]) -> Process {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).env_remove("UNDUST_SECRET_FILE");
        // One that is killed leaves its scratch folder there.
        command.env("TMPDIR", self.folder.path());
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Process { child: piped.spawn().unwrap(), since: Instant::now() }
    }

    /// `learn in` as process `process`.
    pub fn learn(&self, process: usize, out: &str, arguments: &[&str]) -> Process {
        let process = process.to_string();
        let hosts: &[&str] = if arguments.contains(&"--cluster") { &[] } else { &["--hostfile", "hosts"] };
        self.start(&[&["learn", "in", "--out", out, "--process", &process], hosts, arguments].concat())
    }

    pub fn undust(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).end(60)
    }

    /// The files of a result; `prove` writes no profiles and no page.
    pub fn result(&self, out: &str) -> Vec<Option<Vec<u8>>> {
        let read = |name: &str| std::fs::read(self.path(out).join(name));
        for name in ["rules.jsonl", "summary.json", "rejects.jsonl", "_SUCCESS"] {
            read(name).unwrap_or_else(|e| panic!("{out}/{name}: {e}"));
        }
        ["rules.jsonl", "summary.json", "profiles.jsonl", "rejects.jsonl", "report.html", "_SUCCESS"]
            .map(|name| read(name).ok())
            .into()
    }

    /// The names in a folder.
    pub fn names(&self, out: &str) -> Vec<String> {
        names(&self.path(out))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A process that goes on.
pub struct Process {
    pub child: Child,
    since: Instant,
}

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    pub after: Duration,
}

impl Process {
    /// Waits for the end, at most so many seconds.
    #[track_caller]
    pub fn end(mut self, seconds: u64) -> Ended {
        fn read(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
            std::thread::spawn(move || {
                let mut text = String::new();
                from.read_to_string(&mut text).map(|_| text).unwrap()
            })
        }
        let out_text = read(self.child.stdout.take().unwrap());
        let err_text = read(self.child.stderr.take().unwrap());
        let until = Instant::now() + Duration::from_secs(seconds);
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > until => {
                    self.child.kill().unwrap();
                    self.child.wait().unwrap();
                    panic!("still going after {seconds} s: {}", err_text.join().unwrap());
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let after = self.since.elapsed();
        Ended { code: status.code(), out: out_text.join().unwrap(), err: err_text.join().unwrap(), after }
    }
}
