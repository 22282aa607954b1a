//! The other jobs that are dataflows, on several processes: what one process gives.
use super::ciff_support::Toy;
use super::cluster_support::{Cluster, Ended, Process};

/// Starts `job` at all processes and waits for them.
fn together(cluster: &Cluster, job: impl Fn(usize) -> Vec<String>) -> Vec<Ended> {
    started(cluster, ["--hostfile", "hosts"], job)
}

/// Starts processes that will not meet, so that none waits half a minute for the others.
fn apart(cluster: &Cluster, job: impl Fn(usize) -> Vec<String>) -> Vec<Ended> {
    cluster.toml("short.toml", "connect_deadline = \"3 s\"");
    started(cluster, ["--cluster", "short.toml"], job)
}

fn started(cluster: &Cluster, hosts: [&str; 2], job: impl Fn(usize) -> Vec<String>) -> Vec<Ended> {
    let start = |process: usize| {
        let (mut arguments, process) = (job(process), process.to_string());
        arguments.extend([hosts[0], hosts[1], "--process", &process].map(str::to_owned));
        cluster.start(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let started: Vec<Process> = (0..cluster.ports.len()).map(start).collect();
    started.into_iter().map(|process| process.end(60)).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn all_end(ended: &[Ended], code: i32) {
    for (process, end) in ended.iter().enumerate() {
        assert_eq!(end.code, Some(code), "process {process}: {}", end.err);
        assert!(!end.err.contains("panicked"), "{}", end.err);
    }
}

fn read(cluster: &Cluster, name: &str) -> Vec<u8> {
    std::fs::read(cluster.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The lines of files, sorted.
fn lines(cluster: &Cluster, names: &[&str]) -> Vec<String> {
    let text = names.iter().map(|name| String::from_utf8(read(cluster, name)).unwrap()).collect::<String>();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Seven shards of an index in which each page has three URLs, in different shards.
fn index_of_a_crawl(cluster: &Cluster, folder: impl Fn(usize) -> String) {
    for shard in 0..7 {
        let line = |at: usize| {
            let (page, copy) = (at / 3, at % 3);
            format!(
                "com,example)/p{page}?s={copy} 20240501000000 {{\"url\": \"http://example.com/p{page}?s={copy}\", \
                 \"mime\": \"text/html\", \"status\": \"200\", \"digest\": \"SHA{page}\"}}\n"
            )
        };
        let text: String = (0..900).filter(|at| at % 7 == shard).map(line).collect();
        std::fs::create_dir_all(cluster.path(&folder(shard))).unwrap();
        cluster.write(&format!("{}/{shard}.cdxj", folder(shard)), &text);
    }
}

#[test]
fn clusters_are_found_across_processes_and_each_writes_what_it_read() {
    let cluster = Cluster::new(3, 100);
    index_of_a_crawl(&cluster, |_| "crawl".to_owned());
    let one = cluster.undust(&["clusters", "crawl", "--out", "one.jsonl", "-w", "2"]);
    assert_eq!(one.code, Some(0), "{}", one.err);
    let ended = together(&cluster, |_| words("clusters crawl --out three.jsonl --memory 300kB"));
    all_end(&ended, 0);
    let parts = ["three.0.jsonl", "three.1.jsonl", "three.2.jsonl"];
    assert_eq!(lines(&cluster, &parts), lines(&cluster, &["one.jsonl"]));
    assert!(parts.iter().all(|part| !read(&cluster, part).is_empty()), "each has a share");
    // Figures of all, told once, by process 0.
    let told = |end: &Ended| end.err.lines().find(|line| line.contains("clustered by digest")).map(str::to_owned);
    assert_eq!(told(&ended[0]), told(&one));
    assert!(told(&ended[0]).unwrap().contains("900 in 300 clusters"), "{}", ended[0].err);
    assert_eq!((told(&ended[1]), told(&ended[2])), (None, None));
    // What they wrote is learned from as what one wrote.
    let learn = |inputs: &[&str], out| {
        let learned = cluster.undust(&[&["learn", "--out", out], inputs].concat());
        assert_eq!(learned.code, Some(0), "{}", learned.err);
        read(&cluster, &format!("{out}/rules.jsonl"))
    };
    let rules = learn(&["one.jsonl"], "rules-one");
    assert_eq!(learn(&parts, "rules-three"), rules);

    // `learn` does both at once, on one process and on three.
    assert_eq!(learn(&["crawl"], "rules-at-once"), rules);
    let ended = together(&cluster, |_| words("learn crawl --out rules -w 2"));
    all_end(&ended, 0);
    assert_eq!(cluster.result("rules"), cluster.result("rules-at-once"));
}

#[test]
fn clusters_of_shards_on_their_own_hosts() {
    let cluster = Cluster::new(2, 100);
    index_of_a_crawl(&cluster, |shard| format!("host{}", usize::from(shard > 2)));
    let one = cluster.undust(&["clusters", "host0", "host1", "--out", "one.jsonl"]);
    assert_eq!(one.code, Some(0), "{}", one.err);
    let job = |process: usize| words(&format!("clusters host{process} --local-shards --out host{process}/out.jsonl"));
    all_end(&together(&cluster, job), 0);
    let parts = ["host0/out.0.jsonl", "host1/out.1.jsonl"];
    assert_eq!(lines(&cluster, &parts), lines(&cluster, &["one.jsonl"]));

    // Parts that are there stop all, before anything is read.
    std::fs::remove_file(cluster.path("one.jsonl")).unwrap();
    let job = |process: usize| words(&format!("clusters host{process}/{process}.cdxj --local-shards --out one.jsonl"));
    cluster.write("one.0.jsonl", "");
    cluster.write("one.1.jsonl", "");
    std::fs::rename(cluster.path("host1/3.cdxj"), cluster.path("host1/1.cdxj")).unwrap();
    let again = together(&cluster, job);
    assert!(again.iter().all(|end| end.code == Some(2) && end.err.contains("--overwrite")), "{again:?}");
}

#[test]
fn rules_are_proven_across_processes() {
    let cluster = Cluster::new(3, 300);
    let learned =
        cluster.undust(&words("learn in --no-held-out -q --out rules").iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(learned.code, Some(0), "{}", learned.err);
    // A rule that is wrong on all sites: whatever the first two directories, they are one.
    let text = String::from_utf8(read(&cluster, "rules/rules.jsonl")).unwrap();
    let mut lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        let fields = line.as_object_mut().unwrap();
        fields.retain(|field, _| !["check", "last"].contains(&field.as_str()));
        if let Some(rule) = fields.get("rules").and_then(|rules| rules.get(0)).cloned() {
            let mut wrong = rule;
            wrong["id"] = "00000000000000aa".into();
            wrong["scope"] = serde_json::json!([]);
            wrong["operations"] = serde_json::json!([["path0", { "ignore": { "where-present": "x" } }], ["path1", { "ignore": { "where-present": "x" } }]]);
            fields["rules"].as_array_mut().unwrap().push(wrong);
        }
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    cluster.write("rules.jsonl", &text);
    let job = "prove in --rules rules.jsonl -q --out";
    let one = cluster.undust(&format!("{job} one").split(' ').collect::<Vec<_>>());
    assert_eq!(one.code, Some(0), "{}", one.err);
    assert!(one.out.contains("withdrawn: "), "{}", one.out);
    all_end(&together(&cluster, |_| words(&format!("{job} three"))), 0);
    assert!(cluster.result("one") == cluster.result("three"));
}

#[test]
fn methods_are_compared_across_processes() {
    let cluster = Cluster::new(3, 700);
    let job = "compare in --methods undust,fan-out-10,dustbuster,tracking --fpr-max 0.01,0.1 --seeds 1,2 -q --out";
    let one = cluster.undust(&format!("{job} one").split(' ').collect::<Vec<_>>());
    assert_eq!(one.code, Some(0), "{}", one.err);
    let ended = together(&cluster, |_| words(&format!("{job} three")));
    all_end(&ended, 0);
    assert!(ended[1].out.is_empty() && ended[2].out.is_empty());
    same_tables(&cluster, "one", "three");
}

/// Two results of `compare` have the same bytes but for what holds times.
fn same_tables(cluster: &Cluster, one: &str, three: &str) {
    let mut names = cluster.names(one);
    assert_eq!(names, cluster.names(three));
    names.retain(|name| !["times.json", "report.html"].contains(&name.as_str()));
    assert!(names.len() > 4, "{names:?}");
    for name in names {
        let of = |out: &str| {
            let text = String::from_utf8(read(cluster, &format!("{out}/{name}"))).unwrap();
            // The mark names the two with what their bytes are.
            let timed = |line: &&str| !line.ends_with(" times.json") && !line.ends_with(" report.html");
            text.lines().filter(timed).map(|line| line.to_owned() + "\n").collect::<String>()
        };
        assert_eq!(of(three), of(one), "{name}");
    }
}

#[test]
fn predictions_are_scored_and_records_split_across_processes() {
    let cluster = Cluster::new(3, 700);
    let split = "compare in --seeds 1,2 -q --split";
    let one = cluster.undust(&format!("{split} split").split(' ').collect::<Vec<_>>());
    assert_eq!(one.code, Some(0), "{}", one.err);
    all_end(&together(&cluster, |_| words(&format!("{split} split3"))), 0);
    same_tables(&cluster, "split", "split3");

    // Every second URL becomes another one of the corpus; one line is of no record, one is none.
    let text = String::from_utf8(read(&cluster, "split/test.jsonl")).unwrap();
    let url = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].as_str().unwrap().to_owned();
    let urls: Vec<String> = text.lines().map(url).collect();
    let lines = urls.chunks(2).map(|pair| format!("{}\t{}\n", pair[0], pair[pair.len() - 1])).collect::<String>();
    cluster.write("p.tsv", &(lines.clone() + "http://nowhere.example/\tx\nnone\n"));
    let job = "compare in --methods keep-all,tracking --fpr-max 0.01 --seeds 1,2 -q --predictions peer=p.tsv --out";
    let one = cluster.undust(&format!("{job} one").split(' ').collect::<Vec<_>>());
    assert_eq!(one.code, Some(0), "{}", one.err);
    all_end(&together(&cluster, |_| words(&format!("{job} three"))), 0);
    same_tables(&cluster, "one", "three");
    let table = String::from_utf8(read(&cluster, "three/predictions.csv")).unwrap();
    let row: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((row[3], row[5]), ("1", "1"), "{table}");

    // Predictions of other records end all processes; the first one has the reason.
    cluster.write("foreign.tsv", "http://nowhere.example/\tx\n");
    let ended = together(&cluster, |_| words("compare in -q --predictions peer=foreign.tsv --out o"));
    assert!(ended[0].code == Some(1) && ended[0].err.contains("none of its 1 URLs"), "{ended:?}");
    assert!(ended.iter().all(|end| end.code != Some(0) && !end.err.contains("panicked")), "{ended:?}");

    // Processes that read other predictions do not meet.
    cluster.write("other.tsv", &lines);
    let job = |process: usize| {
        words(&format!("compare in -q --predictions peer={} --out o", if process == 1 { "other.tsv" } else { "p.tsv" }))
    };
    let ended = apart(&cluster, job);
    assert!(ended.iter().any(|end| end.code == Some(2)), "{ended:?}");
    assert!(ended.iter().all(|end| end.code != Some(0) && !end.err.contains("panicked")), "{ended:?}");
}

#[test]
fn an_index_is_compressed_across_processes() {
    let cluster = Cluster::new(3, 500);
    let learned = cluster.undust(&["learn", "in", "--out", "rules"]);
    assert_eq!(learned.code, Some(0), "{}", learned.err);
    // Documents of the sites that there are rules for.
    let mut toy = Toy::random(5, 2500, 700);
    let shards = cluster.names("in").into_iter().filter(|name| name.ends_with(".tsv"));
    let text = shards.map(|name| String::from_utf8(read(&cluster, &format!("in/{name}"))).unwrap()).collect::<String>();
    let urls = text.lines().filter_map(|line| line.split('\t').next()).filter(|field| field.starts_with("http"));
    urls.zip(&mut toy.docs).for_each(|(url, doc)| doc.0 = url.to_owned());
    std::fs::write(cluster.path("in.ciff"), toy.bytes()).unwrap();

    for (order, out) in [("keep", "keep.ciff"), ("url", "url.ciff.gz")] {
        let job = |to: &str| {
            format!(
                "compress-index --rules rules --index in.ciff --order {order} --verify --out {to}{out} --docmap {to}{out}.tsv"
            )
        };
        let one = cluster.undust(&job("one.").split(' ').collect::<Vec<_>>());
        assert_eq!(one.code, Some(0), "{}", one.err);
        assert!(!one.out.contains("; 0 merged"), "{}", one.out);
        let ended = together(&cluster, |process| {
            // The index and the output are at process 0 only.
            let here =
                if process == 0 { job("three.") } else { job("elsewhere/three.").replace("in.ciff", "nowhere.ciff") };
            words(&format!("{here} -w 2 --memory 200kB"))
        });
        all_end(&ended, 0);
        assert_eq!(ended[0].out, one.out);
        for name in [out.to_owned(), format!("{out}.tsv")] {
            let of = |to: &str| read(&cluster, &format!("{to}{name}"));
            assert!(of("three.") == of("one."), "{name}");
        }
    }
}

#[test]
fn processes_that_do_not_agree_or_fail_end_together() {
    let cluster = Cluster::new(2, 200);
    // Not the same job.
    let ended =
        apart(&cluster, |process| words(&format!("compare in -q --fpr-max 0.01 --seeds {} --out o", process + 1)));
    assert!(ended.iter().any(|end| end.code == Some(2)), "{ended:?}");
    assert!(ended.iter().all(|end| end.code != Some(0) && !end.err.contains("panicked")), "{ended:?}");
    // Not the same sites.
    let learned = cluster.undust(&["learn", "in", "--out", "rules", "-q", "--no-held-out"]);
    assert_eq!(learned.code, Some(0), "{}", learned.err);
    let by = |process: usize| if process == 0 { "host" } else { "domain" };
    let ended =
        apart(&cluster, |process| words(&format!("prove in --rules rules --out p -q --site-by {}", by(process))));
    assert!(ended.iter().any(|end| end.code == Some(2)), "{ended:?}");
    assert!(ended.iter().all(|end| end.code != Some(0) && !end.err.contains("panicked")), "{ended:?}");
    // One cannot name its part: none says that all is there.
    std::fs::create_dir_all(cluster.path("pages.1.jsonl/in")).unwrap();
    let ended = together(&cluster, |_| words("clusters in --cluster-by label --out pages.jsonl --overwrite -q"));
    assert!(ended.iter().all(|end| end.code == Some(1)), "{ended:?}");
    // One cannot read what it is to read: the other hears of it.
    index_of_a_crawl(&cluster, |shard| format!("host{}", shard % 2));
    std::fs::write(cluster.path("host1/9.jsonl.gz"), b"\x1f\x8b\x08\x00not gzip").unwrap();
    let job = |process: usize| {
        words(&format!("clusters host{process} --local-shards --cluster-by digest --out part{process}.jsonl"))
    };
    let ended = together(&cluster, job);
    all_end(&ended, 1);
    assert!(ended[1].err.contains("9.jsonl.gz"), "{}", ended[1].err);
    assert!(ended[0].err.contains("process 1"), "{}", ended[0].err);
    assert!(!cluster.path("part0.0.jsonl").exists() && !cluster.path("part1.1.jsonl").exists(), "nothing half-done");
}
