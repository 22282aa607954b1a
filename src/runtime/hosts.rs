//! Processes of a run on several machines: a hostfile, or `cluster.toml`.
//!
//! A hostfile names one process a line (`address:port`, the port may be left out), in the order of
//! their indices; blank lines and what follows a `#` do not count. `cluster.toml` names the same and
//! more: the sample at the root of the repository shows every key. Both are read to the end before
//! anything is opened, and every error names file and line.

use super::memory::parse_size;
use serde::Deserialize;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The port of a line that names none.
pub const PORT: u16 = 2101;
/// Most processes of a run.
pub const MAX_HOSTS: usize = 1024;
/// Default time for all processes to connect.
const CONNECT: Duration = Duration::from_secs(30);
/// How long a peer may say nothing before it counts as lost. With the time it takes to notice and to
/// end, under ten seconds in all.
const SILENCE: Duration = Duration::from_secs(8);

/// Why a hostfile or `cluster.toml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The file cannot be read.
    #[error("{}: cannot read: {source}; check that it is there and that you may read it", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A line is not what it should be.
    #[error("{}:{line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Reason, and a way out.
        what: String,
    },
    /// The file as a whole lacks something.
    #[error("{}: {what}", path.display())]
    Whole {
        /// The file.
        path: PathBuf,
        /// Reason, and a way out.
        what: String,
    },
}

/// One process of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Address for the others: `address:port`.
    pub address: String,
    /// Address of its listener, if another (behind address translation, or on every interface).
    pub listen: Option<String>,
}

/// When traffic between processes is encrypted. The handshake always is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encrypt {
    /// Unless every address is a loopback address.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// In no case: for networks that are private to the job.
    Never,
}

/// All that the files can say.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The processes, by index.
    pub hosts: Vec<Host>,
    /// Whether traffic is encrypted.
    pub encrypt: Encrypt,
    /// File of the shared secret.
    pub secret_file: Option<PathBuf>,
    /// Most time for all to connect.
    pub connect_deadline: Duration,
    /// After this silence a peer counts as lost.
    pub silence_deadline: Duration,
    /// Worker threads of each process, where the command line says nothing.
    pub workers: Option<u16>,
    /// Memory of each process in bytes, where the command line says nothing.
    pub memory: Option<usize>,
    /// Folder for scratch, where the command line says nothing.
    pub scratch: Option<PathBuf>,
}

impl Cluster {
    /// Reads a hostfile.
    ///
    /// # Errors
    /// [`HostsError`].
    pub fn from_hostfile(path: &Path) -> Result<Cluster, HostsError> {
        Cluster::parse_hostfile(path, &read(path)?)
    }

    /// Reads a `cluster.toml`.
    ///
    /// # Errors
    /// [`HostsError`].
    pub fn from_toml(path: &Path) -> Result<Cluster, HostsError> {
        Cluster::parse_toml(path, &read(path)?)
    }

    /// A hostfile's text; `path` is for errors.
    ///
    /// # Errors
    /// [`HostsError::Line`], [`HostsError::Whole`].
    pub fn parse_hostfile(path: &Path, text: &str) -> Result<Cluster, HostsError> {
        let mut hosts = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or_default().trim();
            if !text.is_empty() {
                hosts.push((line, Host { address: text.to_owned(), listen: None }));
            }
        }
        Ok(Cluster {
            hosts: checked(path, hosts)?,
            encrypt: Encrypt::Auto,
            secret_file: None,
            connect_deadline: CONNECT,
            silence_deadline: SILENCE,
            workers: None,
            memory: None,
            scratch: None,
        })
    }

    /// A `cluster.toml`'s text; `path` is for errors. A relative `secret_file` is looked for beside the
    /// file.
    ///
    /// # Errors
    /// [`HostsError::Line`], [`HostsError::Whole`].
    pub fn parse_toml(path: &Path, text: &str) -> Result<Cluster, HostsError> {
        let line_of = |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1;
        let fail = |at: usize, what: String| HostsError::Line { path: path.to_owned(), line: line_of(at), what };
        let file: File = toml::from_str(text).map_err(|error| {
            fail(error.span().map_or(0, |span| span.start), error.message().replace('\n', " ").trim().to_owned())
        })?;
        let mut hosts = Vec::new();
        for host in file.host {
            let line = line_of(host.address.span().start);
            hosts.push((line, Host { address: host.address.into_inner(), listen: host.listen }));
        }
        let seconds = |value: Option<toml::Spanned<String>>, default: Duration, name: &str| match value {
            None => Ok(default),
            Some(value) => {
                duration(value.get_ref()).filter(|d| !d.is_zero() && *d <= Duration::from_secs(86_400)).ok_or_else(
                    || fail(value.span().start, format!("{name}: write a time such as \"30 s\" or \"500 ms\"")),
                )
            }
        };
        let memory = file.run.memory.map(|value| {
            parse_size(value.get_ref()).map_err(|error| fail(value.span().start, format!("memory: {error}")))
        });
        let workers = match file.run.workers {
            Some(workers) if !(1..=1024).contains(workers.get_ref()) => {
                return Err(fail(workers.span().start, "workers: a number of threads from 1 to 1024".to_owned()));
            }
            workers => workers.map(toml::Spanned::into_inner),
        };
        let beside = |file: PathBuf| path.parent().map_or(file.clone(), |folder| folder.join(&file));
        Ok(Cluster {
            hosts: checked(path, hosts)?,
            encrypt: file.mesh.encrypt,
            secret_file: file.mesh.secret_file.map(beside),
            connect_deadline: seconds(file.mesh.connect_deadline, CONNECT, "connect_deadline")?,
            silence_deadline: seconds(file.mesh.silence_deadline, SILENCE, "silence_deadline")?,
            workers,
            memory: memory.transpose()?,
            scratch: file.run.scratch,
        })
    }

    /// True when every address, and every address to listen at, is one of this machine's own loopback
    /// addresses.
    pub fn is_local(&self) -> bool {
        self.hosts.iter().all(|host| is_loopback(&host.address) && host.listen.as_deref().is_none_or(is_loopback))
    }

    /// Whether traffic will be encrypted.
    pub fn encrypts(&self) -> bool {
        match self.encrypt {
            Encrypt::Auto => !self.is_local(),
            Encrypt::Always => true,
            Encrypt::Never => false,
        }
    }
}

/// `cluster.toml` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    run: RunTable,
    #[serde(default)]
    mesh: MeshTable,
    #[serde(default)]
    host: Vec<HostTable>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunTable {
    workers: Option<toml::Spanned<u16>>,
    memory: Option<toml::Spanned<String>>,
    scratch: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeshTable {
    secret_file: Option<PathBuf>,
    #[serde(default)]
    encrypt: Encrypt,
    connect_deadline: Option<toml::Spanned<String>>,
    silence_deadline: Option<toml::Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostTable {
    address: toml::Spanned<String>,
    listen: Option<String>,
}

fn read(path: &Path) -> Result<String, HostsError> {
    fs::read_to_string(path).map_err(|source| HostsError::Read { path: path.to_owned(), source })
}

/// The hosts, each address with a port, none twice.
fn checked(path: &Path, hosts: Vec<(usize, Host)>) -> Result<Vec<Host>, HostsError> {
    let whole = |what: &str| Err(HostsError::Whole { path: path.to_owned(), what: what.to_owned() });
    if hosts.is_empty() {
        return whole("names no host: write one address:port a process, process 0 first");
    }
    if hosts.len() > MAX_HOSTS {
        return whole("names more than 1024 processes");
    }
    let mut out: Vec<(usize, Host)> = Vec::with_capacity(hosts.len());
    for (line, host) in hosts {
        let fail = |what: String| HostsError::Line { path: path.to_owned(), line, what };
        let address = with_port(&host.address)
            .ok_or_else(|| fail(format!("{:?} is no address: write host:port or [IPv6]:port", host.address)))?;
        let listen = match &host.listen {
            None => None,
            Some(listen) => Some(with_port(listen).ok_or_else(|| fail(format!("{listen:?} is no address")))?),
        };
        if let Some((first, _)) = out.iter().find(|(_, other)| other.address == address) {
            return Err(fail(format!("{address} is on line {first} already: two processes need two ports")));
        }
        out.push((line, Host { address, listen }));
    }
    Ok(out.into_iter().map(|(_, host)| host).collect())
}

/// `address:port`, with [`PORT`] where none is given; `None` when it is neither a name nor an IP
/// address.
fn with_port(text: &str) -> Option<String> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(std::net::SocketAddr::new(ip, PORT).to_string());
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().ok().filter(|&port| port > 0)?),
        None => (text, PORT),
    };
    let name = |host: &str| {
        !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match bare {
        Some(v6) => v6.parse::<std::net::Ipv6Addr>().ok().map(|ip| format!("[{ip}]:{port}")),
        None => name(host).then(|| format!("{host}:{port}")),
    }
}

/// True for an address of the machine's own loopback interface, by its text: no name is looked up but
/// `localhost`.
fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// `30 s`, `500 ms`, `2 min`.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    match text[digits..].trim() {
        "s" => Some(Duration::from_secs(number)),
        "ms" => Some(Duration::from_millis(number)),
        "min" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hostfile(text: &str) -> Result<Cluster, String> {
        Cluster::parse_hostfile(Path::new("hosts"), text).map_err(|error| error.to_string())
    }

    fn toml(text: &str) -> Result<Cluster, String> {
        Cluster::parse_toml(Path::new("dir/cluster.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn hostfiles() {
        let cluster = hostfile("# three\n\n10.0.0.1:9000  # first\nnode-2\n\t[fe80::1]:7 \r\n::1\n").unwrap();
        let addresses: Vec<&str> = cluster.hosts.iter().map(|host| host.address.as_str()).collect();
        assert_eq!(addresses, ["10.0.0.1:9000", "node-2:2101", "[fe80::1]:7", "[::1]:2101"]);
        assert!(!cluster.is_local() && cluster.encrypts());
        let local = hostfile("localhost:1\n127.0.0.2:2\n[::1]:3").unwrap();
        assert!(local.is_local() && !local.encrypts());
    }

    #[test]
    fn errors_name_the_line() {
        for (text, want) in [
            ("", "hosts: names no host"),
            ("# only\n\n", "hosts: names no host"),
            ("a:1\n\na:1\n", "hosts:3: a:1 is on line 1 already"),
            ("a\na:2101\n", "hosts:2: a:2101 is on line 1 already"),
            ("a:1\nb c:2\n", "hosts:2: \"b c:2\" is no address"),
            ("a:0\n", "hosts:1: \"a:0\" is no address"),
            ("a:70000\n", "hosts:1: \"a:70000\" is no address"),
            (":1\n", "hosts:1: \":1\" is no address"),
            ("[::g]:1\n", "hosts:1: \"[::g]:1\" is no address"),
        ] {
            let error = hostfile(text).unwrap_err();
            assert!(error.starts_with(want), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_sample_says_what_the_defaults_are() {
        let text = include_str!("../../cluster.toml");
        let cluster = toml(text).unwrap();
        assert_eq!(cluster.hosts.len(), 3);
        assert_eq!((cluster.connect_deadline, cluster.silence_deadline), (CONNECT, SILENCE));
        assert_eq!(cluster.secret_file, Some(PathBuf::from("/etc/undust/secret")));
        assert_eq!((cluster.workers, cluster.memory), (Some(2), Some(2 << 30)));
    }

    #[test]
    fn toml_errors_name_the_line() {
        let host = "[[host]]\naddress = \"a:1\"\n";
        for (text, want) in [
            ("[mesh]\nencrypt = \"sometimes\"\n", "dir/cluster.toml:2: unknown variant"),
            ("[mesh]\nsecret = \"hunter2\"\n", "dir/cluster.toml:2: unknown field"),
            (
                "[run]\nmemory = \"lots\"\n[[host]]\naddress = \"a\"\n",
                "dir/cluster.toml:2: memory: \"lots\" is not a size",
            ),
            ("[run]\nworkers = 0\n", "dir/cluster.toml:2: workers"),
            ("[mesh]\nsilence_deadline = \"soon\"\n[[host]]\naddress = \"a\"", "dir/cluster.toml:2: silence_deadline"),
            ("[[host]]\naddress = \"a:1\"\n[[host]]\naddress = \"a:1\"\n", "dir/cluster.toml:4: a:1 is on line 2"),
            ("[mesh\n", "dir/cluster.toml:1:"),
            ("", "dir/cluster.toml: names no host"),
        ] {
            let error = toml(text).unwrap_err();
            assert!(error.starts_with(want), "{text:?}: {error}");
        }
        let listening = |at: &str| toml(&format!("[[host]]\naddress = \"127.0.0.1:1\"\nlisten = \"{at}\"\n")).unwrap();
        for open in ["0.0.0.0:1", "[::]:1", "10.0.0.1"] {
            let cluster = listening(open);
            assert!(!cluster.is_local() && cluster.encrypts(), "{open} is open to others");
        }
        assert!(listening("127.0.0.9:1").is_local() && !listening("[::1]:1").encrypts());
        let beside = toml(&format!("[mesh]\nsecret_file = \"secret\"\nencrypt = \"always\"\n{host}")).unwrap();
        assert_eq!(beside.secret_file, Some(PathBuf::from("dir/secret")));
        assert!(beside.encrypts());
    }
}
