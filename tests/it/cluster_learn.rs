//! `learn` on several processes: the same bytes as one, whatever fails in between.
use super::cluster_support::{Cluster, Ended, Process};
use std::time::Duration;

const SECRET: &str = "correct horse battery staple, and then some\n";

fn all_done(ended: &[Ended]) {
    for (process, end) in ended.iter().enumerate() {
        assert_eq!(end.code, Some(0), "process {process}: {}", end.err);
        // Results are process 0's alone.
        assert_eq!(end.out.is_empty(), process > 0, "process {process} says {:?}", end.out);
        assert!(!end.err.contains("panicked"), "{}", end.err);
    }
}

/// Starts all processes and waits for them.
fn together(cluster: &Cluster, out: &str, arguments: &[&str]) -> Vec<Ended> {
    let started: Vec<Process> = (0..cluster.ports.len()).map(|i| cluster.learn(i, out, arguments)).collect();
    started.into_iter().map(|process| process.end(60)).collect()
}

#[test]
fn three_processes_give_the_bytes_of_one() {
    let cluster = Cluster::new(3, 300);
    cluster.write("in/broken.tsv", "no url\tc\nhttp://x.example/a\tc\nmailto:a@b\tc\n");
    let one = cluster.undust(&["learn", "in", "--out", "one", "--max-rejects", "100%"]);
    assert_eq!(one.code, Some(0), "{}", one.err);
    let ended = together(&cluster, "three", &["--max-rejects", "100%"]);
    all_done(&ended);
    assert_eq!(cluster.result("three"), cluster.result("one"));
    assert_eq!(ended[0].out, one.out);
    assert_eq!(
        cluster.names("three"),
        ["_SUCCESS", "profiles.jsonl", "rejects.jsonl", "report.html", "rules.jsonl", "summary.json"]
    );
    assert!(ended[1].err.contains("in the clear"), "loopback needs no cipher: {}", ended[1].err);

    // Encrypted, two workers each, hardly any memory.
    cluster.secret("secret", SECRET);
    cluster.toml("cluster.toml", "encrypt = \"always\"\nsecret_file = \"secret\"");
    let sealed = together(
        &cluster,
        "sealed",
        &["--cluster", "cluster.toml", "-w", "2", "--memory", "200kB", "--max-rejects", "100%"],
    );
    all_done(&sealed);
    assert_eq!(cluster.result("sealed"), cluster.result("one"));
    assert!(sealed[2].err.contains("encrypted"), "{}", sealed[2].err);

    // Too many rejects are so at every process.
    let ended = together(&cluster, "four", &["--max-rejects", "0", "--no-held-out"]);
    for end in &ended {
        assert_eq!(end.code, Some(4), "{}", end.err);
    }
    assert!(!cluster.names("four").contains(&"_SUCCESS".to_owned()));
}

#[test]
fn shards_may_be_local() {
    let cluster = Cluster::new(2, 400);
    let one = cluster.undust(&["learn", "in", "--out", "one", "--no-held-out"]);
    assert_eq!(one.code, Some(0), "{}", one.err);
    // Each host has its own half, under the same name, and its own folder for the result.
    let mut shards = cluster.names("in");
    shards.retain(|name| name.ends_with(".tsv"));
    for (i, name) in shards.iter().enumerate() {
        let host = format!("host{}", i % 2);
        std::fs::create_dir_all(cluster.path(&host).join("part")).unwrap();
        std::fs::rename(cluster.path("in").join(name), cluster.path(&host).join("part").join(name)).unwrap();
    }
    let start = |process: usize| {
        let (host, index) = (format!("host{process}/part"), process.to_string());
        let out = format!("host{process}/out");
        let learn = ["learn", &host, "--out", &out, "--hostfile", "hosts", "--process", &index, "--local-shards"];
        cluster.start(&[&learn[..], &["--no-held-out"]].concat())
    };
    let started = [start(0), start(1)];
    let ended: Vec<Ended> = started.into_iter().map(|process| process.end(60)).collect();
    all_done(&ended);
    assert_eq!(cluster.result("host0/out")[..3], cluster.result("one")[..3]);
    assert!(cluster.names("host1/out").is_empty(), "only process 0 writes: {:?}", cluster.names("host1/out"));
}

#[test]
fn a_lost_run_is_taken_up() {
    let cluster = Cluster::new(2, 700);
    let one = cluster.undust(&["learn", "in", "--out", "one", "--no-held-out"]);
    assert_eq!(one.code, Some(0), "{}", one.err);
    let (zero, mut first) = (cluster.learn(0, "two", &["--no-held-out"]), cluster.learn(1, "two", &["--no-held-out"]));
    // As soon as something is learned, a process is killed.
    let work = cluster.path("two/.work");
    let learned = || {
        let files = std::fs::read_dir(&work).ok()?;
        let lines = files.filter_map(|f| std::fs::read_to_string(f.ok()?.path()).ok()).map(|t| t.lines().count());
        Some(lines.map(|n| n.saturating_sub(1)).sum::<usize>())
    };
    let begun = std::time::Instant::now();
    while learned().unwrap_or(0) < 1 && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(1));
    }
    first.child.kill().unwrap();
    let (zero, first) = (zero.end(11), first.end(1));
    assert_eq!((zero.code, first.code), (Some(3), None), "{}", zero.err);
    // A slow machine shows its progress before.
    let lines: Vec<&str> = zero.err.lines().filter(|line| !line.contains(" records/s, ")).collect();
    assert_eq!(lines.len(), 1, "one line: {}", zero.err);
    assert!(lines[0].contains("process 1 (127.0.0.1:") && lines[0].contains("is lost"), "{}", zero.err);
    assert_eq!(cluster.names("two"), [".work"], "nothing is mistaken for a result");

    // Not without being asked, not for other parameters, not for another input.
    let again = together(&cluster, "two", &[]);
    assert_eq!(again[0].code, Some(1), "{}", again[0].err);
    assert!(again[0].err.contains("--resume") && again[1].err.contains("process 0 (127.0.0.1:"), "{again:?}");
    assert_eq!(again[1].code, Some(1));
    let other = together(&cluster, "two", &["--resume", "--train-max", "77"]);
    assert!(other.iter().any(|end| end.err.contains("other learning parameters")), "{other:?}");
    assert!(other.iter().all(|end| end.code != Some(0)));
    let shard = cluster.path("in").join(cluster.names("in").pop().unwrap());
    let (text, before) = (std::fs::read(&shard).unwrap(), std::fs::metadata(&shard).unwrap().modified().unwrap());
    std::fs::write(&shard, &text).unwrap();
    let other = together(&cluster, "two", &["--resume", "--no-held-out"]);
    assert!(other.iter().any(|end| end.err.contains("another input")), "{other:?}");
    std::fs::File::options().append(true).open(&shard).unwrap().set_modified(before).unwrap();

    let kept = learned().expect("work is kept");
    let resumed = together(&cluster, "two", &["--resume", "--no-held-out"]);
    all_done(&resumed);
    assert_eq!(cluster.result("two"), cluster.result("one"));
    let count = |end: &Ended| {
        let line = end.err.lines().find(|line| line.contains("sites were learned before")).expect("a count").to_owned();
        let numbers: Vec<usize> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        (numbers[0], numbers[1])
    };
    let counts: Vec<(usize, usize)> = resumed.iter().map(count).collect();
    assert_eq!(counts.iter().map(|c| c.0).sum::<usize>(), kept, "none is learned twice: {counts:?}");
    assert_eq!(counts.iter().map(|c| c.0 + c.1).sum::<usize>(), 12, "{counts:?}");
}

#[test]
fn a_peer_that_fails_says_why() {
    let cluster = Cluster::new(2, 300);
    // The input of process 1 is damaged: compressed data that is cut short.
    let whole = std::fs::read(cluster.path("in").join("shard-0001.tsv")).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gz, &whole).unwrap();
    let gz = gz.finish().unwrap();
    std::fs::write(cluster.path("in").join("shard-0001.tsv"), &gz[..gz.len() / 2]).unwrap();
    let ended = together(&cluster, "out", &[]);
    assert_eq!((ended[0].code, ended[1].code), (Some(1), Some(1)), "{ended:?}");
    let all = format!("{}{}", ended[0].err, ended[1].err);
    assert!(all.matches("cut short").count() >= 2, "both know why: {all}");
    assert!(!all.contains("panicked"), "{all}");
    assert!(!cluster.names("out").contains(&"_SUCCESS".to_owned()));
}

#[test]
fn without_a_label_all_processes_fail_alike_and_leave_nothing() {
    let cluster = Cluster::new(2, 60);
    std::fs::remove_dir_all(cluster.path("in")).unwrap();
    std::fs::create_dir(cluster.path("in")).unwrap();
    cluster.write("in/a.txt", "http://a.example/1\nhttp://a.example/2\n");
    cluster.write("in/b.txt", "http://b.example/1\n");
    let both = [1, 0].map(|process| cluster.learn(process, "out", &[]));
    for (ended, first) in both.map(|process| process.end(60)).iter().zip([false, true]) {
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.err.contains("none of 3 records has a label"), "{}", ended.err);
        assert_eq!(ended.err.contains("a.txt: read as tsv (by its name): 2 records"), first, "{}", ended.err);
    }
    assert!(!cluster.path("out").exists());
}
