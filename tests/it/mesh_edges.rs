//! Handshakes under attack, and processes that do not run the same: real processes, and peers written
//! by hand.
use super::cluster_support::{Cluster, free_port};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use undust::runtime::hosts;
use undust::runtime::mesh::hello::{
    Answer, HELLO, HERE, JOIN, JOINED, MAX_MESSAGE, Offer, SEALED_WORD, Terms, framed, hello, is_word, noise, seal_word,
};
use undust::runtime::mesh::{Mesh, MeshError, ThisProcess};
use undust::runtime::secret::Secret;

/// A list of two processes on this machine with a short deadline.
pub(super) fn two(deadline: &str) -> hosts::Cluster {
    let ports = [free_port(), free_port()];
    let host = |port: &u16| format!("[[host]]\naddress = \"127.0.0.1:{port}\"\n");
    let text = format!("[mesh]\nconnect_deadline = \"{deadline}\"\n{}", ports.iter().map(host).collect::<String>());
    hosts::Cluster::parse_toml(Path::new("cluster.toml"), &text).unwrap()
}

fn place(process: usize) -> ThisProcess {
    let terms = Terms {
        processes: 2,
        workers: 1,
        encrypt: false,
        build: "b".to_owned(),
        parameters: "p".to_owned(),
        shards: "s".to_owned(),
    };
    ThisProcess { process, secret: Secret::none(), terms }
}

fn connect(address: &str) -> TcpStream {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(address) {
            Ok(socket) => return socket,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Joins in a thread.
pub(super) fn join(cluster: &hosts::Cluster, process: usize) -> std::thread::JoinHandle<Result<Mesh, MeshError>> {
    let cluster = cluster.clone();
    std::thread::spawn(move || Mesh::join(&cluster, place(process), Arc::new(|_: &str| {})))
}

/// Reads a handshake message: hello, length, message.
fn read_message(socket: &mut TcpStream) -> Vec<u8> {
    let mut head = [0; HELLO + 2];
    socket.read_exact(&mut head).unwrap();
    let mut message = vec![0; usize::from(u16::from_be_bytes([head[HELLO], head[HELLO + 1]]))];
    socket.read_exact(&mut message).unwrap();
    message
}

#[test]
fn a_peer_in_handshake_is_not_evicted_by_strangers() {
    let cluster = two("8 s");
    let address = cluster.hosts[0].address.clone();
    let zero = join(&cluster, 0);
    let mut socket = connect(&address);
    let mut state = noise(&Secret::none(), true).unwrap();
    let offer = Offer { process: 1, to: 0, job: String::new(), terms: place(1).terms };
    let message = framed(&mut state, &offer).unwrap();
    socket.write_all(&[&hello()[..], &message].concat()).unwrap();
    let answer = read_message(&mut socket);
    let mut payload = [0; MAX_MESSAGE];
    let n = state.read_message(&answer, &mut payload).unwrap();
    assert!(serde_json::from_slice::<Answer>(&payload[..n]).unwrap().refused.is_none());
    // Twice as many silent strangers as there are slots, while this peer takes its time.
    let strangers: Vec<TcpStream> = (0..600).map(|_| connect(&address)).collect();
    std::thread::sleep(Duration::from_millis(300));
    let cipher = state.into_stateless_transport_mode().unwrap();
    socket.write_all(&seal_word(&cipher, 0, JOIN).unwrap()).unwrap();
    let mut joined = [0; SEALED_WORD];
    socket.read_exact(&mut joined).expect("the connection is still there");
    assert!(is_word(&cipher, 0, &joined, JOINED));
    socket.write_all(&seal_word(&cipher, 1, HERE).unwrap()).unwrap();
    // It has joined: process 0 misses the notes of a peer now, not the peer.
    drop((strangers, socket));
    let error = zero.join().unwrap().expect_err("the peer left").to_string();
    assert!(error.contains("process 1") && error.contains("is lost"), "{error}");
}

#[test]
fn a_join_without_acknowledgement_is_retried() {
    let cluster = two("15 s");
    let listener = TcpListener::bind(&cluster.hosts[0].address).unwrap();
    let one = join(&cluster, 1);
    for attempt in 0..3 {
        let (mut socket, _) = listener.accept().unwrap();
        let mut state = noise(&Secret::none(), false).unwrap();
        let mut payload = [0; MAX_MESSAGE];
        let message = read_message(&mut socket);
        let n = state.read_message(&message, &mut payload).unwrap();
        serde_json::from_slice::<Offer>(&payload[..n]).unwrap();
        let answer = framed(&mut state, &Answer { job: "job".to_owned(), refused: None }).unwrap();
        socket.write_all(&[&hello()[..], &answer].concat()).unwrap();
        let cipher = state.into_stateless_transport_mode().unwrap();
        let mut word = [0; SEALED_WORD];
        socket.read_exact(&mut word).unwrap();
        assert!(is_word(&cipher, 0, &word, JOIN));
        // Twice the connection breaks before the acknowledgement, the third time behind it.
        if attempt == 2 {
            socket.write_all(&seal_word(&cipher, 0, JOINED).unwrap()).unwrap();
            socket.read_exact(&mut word).unwrap();
            assert!(is_word(&cipher, 1, &word, HERE));
        }
    }
    let error = one.join().unwrap().expect_err("process 0 left").to_string();
    assert!(error.contains("process 0") && error.contains("is lost"), "it counted itself in: {error}");
}

#[test]
fn a_refusal_in_the_clear_does_not_end_the_initiator() {
    let cluster = Cluster::new(2, 80);
    // Somebody else has the port for a while and says what a process with another secret would say.
    let listener = TcpListener::bind(("127.0.0.1", cluster.ports[0])).unwrap();
    let one = cluster.learn(1, "out", &[]);
    for _ in 0..2 {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(&[&hello()[..], &[0, 0, 1]].concat()).unwrap();
        let mut all = Vec::new();
        let _ = socket.read_to_end(&mut all);
    }
    drop(listener);
    let zero = cluster.learn(0, "out", &[]).end(40);
    let one = one.end(40);
    assert_eq!((zero.code, one.code), (Some(0), Some(0)), "{}{}", zero.err, one.err);
    assert_eq!(one.err.matches("it has another secret; trying again").count(), 1, "{}", one.err);
}

/// Threads that connect to the ports, say 64 bytes of nothing and leave, and connections that stay and
/// say nothing.
struct Flood {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<usize>>,
}

impl Flood {
    fn start(ports: &[u16]) -> Flood {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = ports
            .iter()
            .flat_map(|&port| (0..3).map(move |thread| (port, thread)))
            .map(|(port, thread)| {
                let stop = stop.clone();
                std::thread::spawn(move || {
                    let (mut made, mut silent) = (0, Vec::new());
                    // Bounded in count and in time, whatever becomes of the test.
                    let begun = Instant::now();
                    while !stop.load(Ordering::Relaxed) && made < 200_000 && begun.elapsed() < Duration::from_secs(60) {
                        let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)) else {
                            std::thread::sleep(Duration::from_millis(1));
                            continue;
                        };
                        made += 1;
                        let noise: Vec<u8> = (0..64).map(|at| (made * 31 + at * 7 + thread) as u8).collect();
                        if made % 8 == 0 {
                            silent.push(socket);
                            silent.drain(..silent.len().saturating_sub(200));
                        } else {
                            let _ = socket.write_all(&noise);
                        }
                    }
                    made
                })
            })
            .collect();
        Flood { stop, threads }
    }

    /// Ends it; number of connections.
    fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    }
}

#[test]
fn runs_start_under_a_flood() {
    let cluster = Cluster::new(3, 80);
    let flood = Flood::start(&cluster.ports[..2]);
    for start in 0..4 {
        let out = format!("out{start}");
        let processes: Vec<_> = (0..3).map(|i| cluster.learn(i, &out, &[])).collect();
        for (process, end) in processes.into_iter().map(|process| process.end(60)).enumerate() {
            assert_eq!(end.code, Some(0), "start {start}, process {process}: {}", end.err);
        }
    }
    // The ports are open only while a run goes on, and a full queue holds a connection back for a second.
    let made = flood.end();
    assert!(made > 200, "a flood of {made} connections");
}

#[test]
fn other_contents_and_other_builds_are_refused() {
    let cluster = Cluster::new(2, 80);
    cluster.toml("c.toml", "connect_deadline = \"5 s\"");
    let arguments = ["--cluster", "c.toml"];
    // The same names and sizes elsewhere, one letter changed.
    let name = "shard-0001.tsv";
    let shards = cluster.names("in");
    assert!(shards.contains(&name.to_owned()), "{shards:?}");
    std::fs::create_dir(cluster.path("other")).unwrap();
    for shard in shards {
        let mut bytes = std::fs::read(cluster.path("in").join(&shard)).unwrap();
        if shard == name {
            let last = bytes.len() - 2;
            bytes[last] ^= 1;
        }
        std::fs::write(cluster.path("other").join(&shard), bytes).unwrap();
    }
    let zero = cluster.learn(0, "out", &arguments);
    let one = cluster.start(&["learn", "other", "--out", "out", "--process", "1", "--cluster", "c.toml"]).end(20);
    assert_eq!(one.code, Some(2), "{}", one.err);
    assert!(one.err.contains("the shards differ in name, size or content"), "{}", one.err);
    assert_eq!(zero.end(20).code, Some(3));

    // Another build: the same program with one more byte behind it.
    let copy = cluster.path("copy");
    let mut bytes = std::fs::read(env!("CARGO_BIN_EXE_undust")).unwrap();
    bytes.push(0);
    std::fs::write(&copy, bytes).unwrap();
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = copy.to_str().unwrap();
    let zero = cluster.learn(0, "out", &arguments);
    let learn = ["learn", "in", "--out", "out", "--process", "1", "--cluster", "c.toml"];
    let one = cluster.start_program(copy, &learn).end(20);
    assert_eq!(one.code, Some(2), "{}", one.err);
    assert!(one.err.contains("the executables differ"), "{}", one.err);
    assert_eq!(zero.end(20).code, Some(3));

    // Nor does it take up the work of this one.
    let full = cluster.undust(&["learn", "in", "--out", "rules", "--resume", "--max-rejects", "0", "--no-held-out"]);
    assert_eq!(full.code, Some(0), "{}", full.err);
    std::fs::remove_file(cluster.path("rules/_SUCCESS")).unwrap();
    let journal = "{\"format\":2,\"build\":\"0123\",\"parameters\":\"p\",\"input\":\"i\"}\n";
    std::fs::create_dir(cluster.path("rules/.work")).unwrap();
    cluster.write("rules/.work/sites-0.journal", journal);
    let resumed = cluster.undust(&["learn", "in", "--out", "rules", "--resume"]);
    assert_eq!(resumed.code, Some(2), "{}", resumed.err);
    assert!(resumed.err.contains("the work of another build of undust"), "{}", resumed.err);
}

#[test]
fn secrets_are_made() {
    let cluster = Cluster::new(2, 80);
    let made = cluster.undust(&["secret", "--out", "mine"]);
    assert_eq!((made.code, made.out.as_str()), (Some(0), ""), "{}", made.err);
    assert_eq!(cluster.path("mine").metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    let again = cluster.undust(&["secret", "--out", "mine"]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("never replaces one"), "{}", again.err);
    let shown = cluster.undust(&["secret"]);
    assert!(shown.code == Some(0) && shown.out.starts_with("undust-secret-1:") && shown.out.len() == 81);
    // It is good for a run, and 32 equal letters are not.
    cluster.toml("c.toml", "encrypt = \"always\"\nsecret_file = \"mine\"");
    let ended = [0, 1].map(|i| cluster.learn(i, "out", &["--cluster", "c.toml"])).map(|process| process.end(30));
    assert!(ended.iter().all(|end| end.code == Some(0)), "{ended:?}");
    cluster.secret("equal", &"x".repeat(32));
    cluster.toml("e.toml", "encrypt = \"always\"\nsecret_file = \"equal\"");
    let equal = cluster.learn(0, "two", &["--cluster", "e.toml"]).end(10);
    assert_eq!(equal.code, Some(2));
    assert!(equal.err.contains("easily guessed") && equal.err.contains("undust secret"), "{}", equal.err);
}
