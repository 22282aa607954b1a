//! Admission to a mesh: real processes, and strangers written by hand.
use super::cluster_support::{Cluster, Ended};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};
use undust::runtime::mesh::hello::{PROTOCOL, hello, hello_of};

const SECRET: &str = "correct horse battery staple, and then some\n";

/// Two processes whose configurations are these, the second started first.
fn pair(cluster: &Cluster, zero: &[&str], one: &[&str]) -> (Ended, Ended) {
    let (one, zero) = (cluster.learn(1, "out", one), cluster.learn(0, "out", zero));
    (zero.end(20), one.end(20))
}

#[track_caller]
fn check(end: &Ended, code: i32, words: &[&str]) {
    assert_eq!(end.code, Some(code), "{}", end.err);
    for word in words {
        assert!(end.err.contains(word), "{word:?} is not in: {}", end.err);
    }
    assert!(end.out.is_empty() && !end.err.contains("panicked"), "{end:?}");
    assert!(end.err.lines().count() <= 3, "few lines: {}", end.err);
}

#[test]
fn those_who_do_not_agree_are_refused_with_the_reason() {
    let mesh = "connect_deadline = \"6 s\"\nsecret_file = \"secret\"";
    let never = ["process 1 (127.0.0.1:", "never came, within 6 s"];
    let a = ["--cluster", "a.toml"];
    // What process 1 has beside a.toml, what it is told, and what process 0 says when its deadline is
    // over.
    let cases: [(&[&str], &str, &str); 4] = [
        (&["--cluster", "b.toml"], "it has another secret", "has another secret"),
        (&["--cluster", "c.toml"], "encryption is off here, on there", "encryption"),
        (&["--cluster", "a.toml", "--train-max", "5"], "the learning parameters differ", "parameters"),
        (&["--cluster", "a.toml", "-w", "2"], "worker threads differ: 1 here, 2 there", "threads"),
    ];
    // Each waits for its deadline, so they do so side by side.
    std::thread::scope(|scope| {
        for (arguments, told, says) in cases {
            scope.spawn(move || {
                let cluster = Cluster::new(2, 80);
                cluster.secret("secret", SECRET);
                cluster.secret("other", "another secret of at least thirty-two bytes");
                cluster.toml("a.toml", mesh);
                cluster.toml("b.toml", &mesh.replace("\"secret\"", "\"other\""));
                cluster.toml("c.toml", &format!("{mesh}\nencrypt = \"always\""));
                let (zero, one) = pair(&cluster, &a, arguments);
                check(&one, 2, &["process 0 (127.0.0.1:", told]);
                check(&zero, 3, &[&never[..], &[says]].concat());
                assert!(one.after < Duration::from_secs(20), "long before the other gives up: {:?}", one.after);
            });
        }
    });
}

#[test]
fn usage_is_checked_before_anything_is_opened() {
    let cluster = Cluster::new(2, 80);
    cluster.write("far", "10.255.0.1:2101\n10.255.0.2:2101\n");
    cluster.write("open", SECRET);
    let learn = |arguments: &[&str]| cluster.undust(&[&["learn", "in", "--out", "out"][..], arguments].concat());
    check(&learn(&["--hostfile", "far", "--process", "0"]), 2, &["UNDUST_SECRET_FILE", "loopback"]);
    check(&learn(&["--hostfile", "hosts", "--process", "2"]), 2, &["there is no process 2"]);
    let open = format!(
        "[[host]]\naddress = \"127.0.0.1:{}\"\nlisten = \"0.0.0.0:{0}\"\n[[host]]\naddress = \"127.0.0.1:{}\"\n",
        cluster.ports[0], cluster.ports[1]
    );
    cluster.write("listen.toml", &open);
    check(&learn(&["--cluster", "listen.toml", "--process", "0"]), 2, &["no secret", "`listen`", "loopback"]);
    check(&learn(&["--process", "0"]), 2, &["--hostfile"]);
    assert_eq!(learn(&["--hostfile", "hosts"]).code, Some(2));
    cluster.toml("open.toml", "secret_file = \"open\"");
    std::fs::set_permissions(cluster.path("open"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    check(&learn(&["--cluster", "open.toml", "--process", "0"]), 2, &["mode 0644", "chmod 600"]);
    cluster.write("bad", "localhost:1\nlocalhost:x\n");
    check(&learn(&["--hostfile", "bad", "--process", "0"]), 2, &["bad:2: \"localhost:x\" is no address"]);
    let taken = TcpListener::bind(("127.0.0.1", cluster.ports[0])).unwrap();
    check(&learn(&["--hostfile", "hosts", "--process", "0"]), 2, &["another process listens there"]);
    drop(taken);
    assert!(cluster.names("out").is_empty());
}

#[test]
fn who_never_comes_is_named() {
    let cluster = Cluster::new(3, 80);
    cluster.toml("c.toml", "connect_deadline = \"2 s\"");
    let (zero, two) =
        (cluster.learn(0, "out", &["--cluster", "c.toml"]), cluster.learn(2, "out", &["--cluster", "c.toml"]));
    let (zero, two) = (zero.end(12), two.end(12));
    check(&zero, 3, &[&format!("process 1 (127.0.0.1:{}) ", cluster.ports[1]), "never came"]);
    check(&two, 3, &["process 1 (127.0.0.1:", "never came"]);
    assert!(zero.after < Duration::from_secs(6));
}

/// Connects as soon as the port is open.
fn connect(port: u16) -> TcpStream {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(socket) => return socket,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn strangers_neither_come_in_nor_disturb() {
    let cluster = Cluster::new(2, 80);
    let one = cluster.undust(&["learn", "in", "--out", "one"]);
    assert_eq!(one.code, Some(0), "{}", one.err);
    let zero = cluster.learn(0, "out", &[]);
    let port = cluster.ports[0];
    // Silent, garbage, an older protocol, a right hello with a wrong message, one byte at a time, and a
    // flood.
    let silent = connect(port);
    let mut garbage = connect(port);
    garbage.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut old = connect(port);
    old.write_all(&hello_of(PROTOCOL + 1, "0.0.9")).unwrap();
    let mut wrong = connect(port);
    wrong.write_all(&[&hello()[..], &[0, 60], &[7; 60]].concat()).unwrap();
    let mut long = connect(port);
    long.write_all(&[&hello()[..], &[255, 255], &[7; 3000]].concat()).unwrap();
    let mut theirs = Vec::new();
    old.read_to_end(&mut theirs).unwrap();
    assert_eq!(theirs, hello(), "whoever comes learns the version");
    let mut reply = Vec::new();
    wrong.read_to_end(&mut reply).unwrap();
    assert_eq!(reply[40..], [0, 0, 1], "a wrong secret is told from a wrong version");
    let flood: Vec<TcpStream> = (0..300).map(|_| connect(port)).collect();
    let first = cluster.learn(1, "out", &[]);
    let more: Vec<TcpStream> = (0..100).filter_map(|_| TcpStream::connect(("127.0.0.1", port)).ok()).collect();
    let (zero, first) = (zero.end(30), first.end(30));
    drop((silent, flood, more));
    assert_eq!((zero.code, first.code), (Some(0), Some(0)), "{}{}", zero.err, first.err);
    assert_eq!(cluster.result("out"), cluster.result("one"));
    let version = format!("is undust 0.0.9 (mesh protocol {})", PROTOCOL + 1);
    for word in ["does not speak the protocol", &version, "has another secret", "overlong"] {
        assert!(zero.err.contains(word), "{word}: {}", zero.err);
    }
    assert!(zero.err.lines().count() < 30, "a flood does not fill the log: {}", zero.err);
}

#[test]
fn a_second_process_of_one_index_is_refused() {
    let cluster = Cluster::new(3, 80);
    // Process 2 does not come yet, so that process 1 is waiting when its double comes.
    let (zero, first) = (cluster.learn(0, "out", &[]), cluster.learn(1, "out", &[]));
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", cluster.ports[1])).is_err() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(700));
    // On another host it could listen; it is process 0 that knows better.
    let hosts = std::fs::read_to_string(cluster.path("hosts")).unwrap();
    let addresses = hosts.lines().filter(|line| line.starts_with("127"));
    let host = |(i, address): (usize, &str)| {
        let listen = if i == 1 { "listen = \"127.0.0.9:4109\"\n" } else { "" };
        format!("[[host]]\naddress = \"{address}\"\n{listen}")
    };
    cluster.write("double.toml", &addresses.enumerate().map(host).collect::<String>());
    let double = cluster.learn(1, "out", &["--cluster", "double.toml"]).end(15);
    check(&double, 2, &["process 1 is here already"]);
    let two = cluster.learn(2, "out", &[]);
    for end in [zero.end(30), first.end(30), two.end(30)] {
        assert_eq!(end.code, Some(0), "{}", end.err);
    }
}

#[test]
fn another_version_is_told_from_another_secret() {
    let cluster = Cluster::new(2, 80);
    let listener = TcpListener::bind(("127.0.0.1", cluster.ports[0])).unwrap();
    cluster.toml("version.toml", "connect_deadline = \"2 s\"");
    let one = cluster.learn(1, "out", &["--cluster", "version.toml"]);
    let answer = std::thread::spawn(move || {
        let begun = Instant::now();
        listener.set_nonblocking(true).unwrap();
        while begun.elapsed() < Duration::from_secs(4) {
            if let Ok((mut socket, _)) = listener.accept() {
                socket.write_all(&hello_of(PROTOCOL, "7.0.0")).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        listener
    });
    // Said in the clear, so anybody may have said it: told at once, and tried again until the deadline.
    let one = one.end(20);
    check(&one, 2, &["it is undust 7.0.0", "run the same binary on all hosts", "trying again for up to 2 s"]);
    let _listener = answer.join().unwrap();
    // Someone who accepts and never speaks is waited for no longer than the deadline.
    cluster.toml("c.toml", "connect_deadline = \"1 s\"");
    let one = cluster.learn(1, "out", &["--cluster", "c.toml"]).end(15);
    check(&one, 3, &["process 0 (127.0.0.1:", "never came"]);
}

#[test]
fn a_stopped_process_is_lost_within_ten_seconds() {
    let cluster = Cluster::new(2, 4_000);
    cluster.toml("c.toml", "silence_deadline = \"1 s\"");
    let arguments = ["--cluster", "c.toml"];
    let (zero, first) = (cluster.learn(0, "out", &arguments), cluster.learn(1, "out", &arguments));
    let begun = Instant::now();
    while !cluster.path("out/.work").exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let signal = |name: &str| {
        let id = first.child.id().to_string();
        std::process::Command::new("kill").args([name, &id]).status().unwrap();
    };
    signal("-STOP");
    let stopped = Instant::now();
    let zero = zero.end(12);
    assert!(stopped.elapsed() < Duration::from_secs(10));
    signal("-CONT");
    let first = first.end(12);
    check(&zero, 3, &["process 1 (127.0.0.1:", "is lost: it has said nothing for"]);
    // It hears so from process 0, or finds it gone; in neither case is process 0 to blame.
    check(&first, 3, &["process 1 (127.0.0.1:", "is lost: th"]);
    assert!(first.err.contains("this process was stopped for") || first.err.contains("the others say of this process"));
}
