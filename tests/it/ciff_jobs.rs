//! `undust compress-index` from the outside, against the obvious way.

use crate::ciff_support::{Asked, Toy, merged};
use crate::jobs_run::{Folder, rule_set, run, undust};
use std::io::Write;
use undust::index::DocRecord;
use undust::io::ciff::CiffReader;
use undust::io::compression::{Compression, Encoder};

fn compressed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(compression, Vec::new()).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The names of documents, as URLs.
fn names(toy: &Toy) -> Vec<Option<String>> {
    toy.docs.iter().map(|(name, _)| Some(name.clone())).collect()
}

/// The lines of a map without its head.
fn entries(text: &str) -> Vec<(u32, u32, u32, String)> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("old\tnew\tsurvivor\tcanonical"));
    let number = |field: &str| field.parse().unwrap();
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), 4, "{line}");
            (number(fields[0]), number(fields[1]), number(fields[2]), fields[3].to_owned())
        })
        .collect()
}

#[test]
fn every_policy_and_order_gives_what_the_obvious_way_gives() {
    let folder = Folder::with_rules();
    let toy = Toy::random(7, 900, 400);
    folder.write("in.ciff", &toy.bytes());
    for policy in ["canonical", "shortest", "longest-doc"] {
        for (order, merge_tf) in [("keep", false), ("keep", true), ("url", false), ("url", true)] {
            let asked = Asked { policy, order, merge_tf };
            let (expected, expected_entries) = merged(&toy, &names(&toy), &rule_set(), asked);
            assert!(expected.docs.len() < 700 && expected.docs.len() > 300);
            let mut arguments = vec!["--index", "in.ciff", "--out", "out.ciff", "--docmap", "map.tsv", "--overwrite"];
            arguments.extend(["--policy", policy, "--order", order, "--verify", "-w", "2"]);
            if merge_tf {
                arguments.push("--merge-tf");
            }
            let said = run(folder.job("compress-index", &arguments)).done();
            assert!(said.contains("verified: every list"), "{said}");
            let (header, found) = Toy::read(CiffReader::open(&folder.path("out.ciff")).unwrap());
            assert!(found == expected, "{asked:?}");
            assert_eq!(header, expected.header(), "{asked:?}");
            let map = std::fs::read_to_string(folder.path("map.tsv")).unwrap();
            assert_eq!(entries(&map), expected_entries, "{asked:?}");
        }
    }
}

#[test]
fn any_number_of_workers_and_any_memory_give_the_same_bytes() {
    let folder = Folder::with_rules();
    // Several blocks of lists.
    let toy = Toy::random(11, 20_000, 5000);
    let bytes = toy.bytes();
    assert!(bytes.len() > 3 << 19, "{} bytes", bytes.len());
    folder.write("in.ciff", &bytes);
    folder.write("in.gz", &compressed(Compression::Gzip, &bytes));
    folder.write("in.zst", &compressed(Compression::Zstd, &bytes));
    let mut first: [Option<Vec<u8>>; 4] = [const { None }; 4];
    for (workers, memory, input) in
        [("1", "1GiB", "in.ciff"), ("2", "64KiB", "in.gz"), ("3", "300KiB", "in.zst"), ("4", "1GiB", "in.zst")]
    {
        for (slot, (out, order)) in [("a.ciff", "keep"), ("b.gz", "url"), ("c.zst", "url")].into_iter().enumerate() {
            let mut arguments = vec!["--index", input, "--out", out, "--overwrite", "-w", workers, "--memory", memory];
            arguments.extend(["--order", order, "--verify", "--docmap", "map.tsv.gz"]);
            run(folder.job("compress-index", &arguments)).done();
            for (slot, name) in [(slot, out), (3, "map.tsv.gz")] {
                // The map does not depend on where the index goes, but on the order of ids.
                if name == out || order == "url" {
                    let found = std::fs::read(folder.path(name)).unwrap();
                    assert!(first[slot].get_or_insert(found.clone()) == &found, "-w {workers}, {input} to {name}");
                }
            }
        }
    }
    let read = |name: &str| Toy::read(CiffReader::open(&folder.path(name)).unwrap());
    assert_eq!(read("b.gz"), read("c.zst"));
    assert_ne!(read("a.ciff"), read("b.gz"));
}

#[test]
fn records_may_stand_in_any_order() {
    let folder = Folder::with_rules();
    // Several blocks of records.
    let toy = Toy::random(17, 30_000, 50);
    let records: Vec<Vec<u8>> = (0..)
        .zip(&toy.docs)
        .map(|(docid, (name, length))| {
            let mut record = Vec::new();
            DocRecord { docid, collection_docid: name.as_bytes(), length: *length }.encode(&mut record);
            record
        })
        .collect();
    let bytes = toy.bytes();
    let lists = &bytes[..bytes.len() - records.concat().len()];
    let reversed: Vec<u8> = records.iter().rev().flatten().copied().collect();
    assert!(reversed.len() > 1 << 20, "{} bytes", reversed.len());
    folder.write("in.ciff", &bytes);
    folder.write("reversed.ciff", &[lists, &reversed].concat());
    // Those in order go with the lists, the others are sorted.
    let merged = |input: &str, workers: &str| {
        let arguments = ["--index", input, "--out", "out.ciff", "--overwrite", "--verify", "-w", workers];
        run(folder.job("compress-index", &arguments)).done();
        std::fs::read(folder.path("out.ciff")).unwrap()
    };
    let expected = merged("in.ciff", "1");
    assert!(expected.len() < bytes.len());
    for (input, workers) in [("in.ciff", "2"), ("in.ciff", "3"), ("reversed.ciff", "1"), ("reversed.ciff", "2")] {
        assert!(merged(input, workers) == expected, "{input}, {workers} workers");
    }
}

#[test]
fn urls_may_stand_in_a_list() {
    let folder = Folder::with_rules();
    let mut toy = Toy::random(13, 400, 100);
    let urls: Vec<Option<String>> =
        names(&toy).into_iter().enumerate().map(|(doc, name)| name.filter(|_| doc % 10 != 3)).collect();
    for (doc, (name, _)) in toy.docs.iter_mut().enumerate() {
        *name = format!("clueweb-{doc}");
    }
    folder.write("in.ciff", &toy.bytes());
    let lines = |key: &dyn Fn(usize) -> String| {
        let lines = urls.iter().enumerate().filter_map(|(doc, url)| Some(format!("{}\t{}\n", key(doc), url.as_ref()?)));
        // Not in the order of ids; one line twice, which says nothing new; two of no document (one, where ids
        // are asked for: x is no id); the others are none.
        let mut lines: Vec<String> = lines.collect();
        lines.reverse();
        lines.push(lines[5].clone());
        lines
            .extend(["4000\thttp://a.example/\n", "x\thttp://a.example/\n", "no tab\n", "\n", "7\t"].map(String::from));
        lines.concat().into_bytes()
    };
    folder.write("by-name.tsv.zst", &compressed(Compression::Zstd, &lines(&|doc| format!("clueweb-{doc}"))));
    folder.write("by-id.tsv", &lines(&|doc| doc.to_string()));
    let asked = Asked { policy: "canonical", order: "url", merge_tf: false };
    let (expected, expected_entries) = merged(&toy, &urls, &rule_set(), asked);
    for (list, by, idle) in [("by-name.tsv.zst", "name", 2), ("by-id.tsv", "docid", 1)] {
        let mut arguments = vec!["--index", "in.ciff", "--out", "out.ciff", "--docmap", "map.tsv", "--overwrite"];
        arguments.extend(["--order", "url", "--urls", list, "--urls-by", by, "--verify", "-w", "3"]);
        let said = run(folder.job("compress-index", &arguments)).done();
        let (_, found) = Toy::read(CiffReader::open(&folder.path("out.ciff")).unwrap());
        assert!(found == expected, "{list}");
        assert_eq!(entries(&std::fs::read_to_string(folder.path("map.tsv")).unwrap()), expected_entries);
        let without = expected_entries.iter().filter(|entry| entry.3.is_empty()).count();
        assert!(without > 40 && said.contains(&format!("{without} without a URL")), "{said}");
        assert!(said.contains(&format!(", {idle} of no document")), "{said}");
    }
}

#[test]
fn an_empty_index_stays_empty() {
    let folder = Folder::with_rules();
    folder.write("in.ciff", &Toy::default().bytes());
    run(folder.job("compress-index", &["--index", "in.ciff", "--out", "out.ciff", "--verify", "--order", "url"]))
        .done();
    assert_eq!(std::fs::read(folder.path("out.ciff")).unwrap(), Toy::default().bytes());
}

#[test]
fn what_is_there_is_refused_and_flags_are_told() {
    let folder = Folder::with_rules();
    folder.write("in.ciff", &Toy::random(1, 10, 10).bytes());
    folder.write("old", b"old");
    let job = |more: &[&str]| run(folder.job("compress-index", &[&["--index", "in.ciff"], more].concat()));
    assert!(job(&["--out", "old"]).failed(2).contains("--overwrite"));
    assert!(job(&["--out", "new", "--docmap", "old"]).failed(2).contains("--overwrite"));
    assert!(job(&["--out", "/dev/null"]).failed(1).contains("not a regular file"));
    assert!(job(&["--out", "new", "--urls-by", "docid"]).failed(2).contains("--urls"));
    assert_eq!(std::fs::read(folder.path("old")).unwrap(), b"old");
    assert_eq!(folder.names(), ["in.ciff", "old", "rules"]);
    job(&["--out", "old", "--overwrite", "-q"]).done();
    let help = run(undust(&["compress-index", "--help"])).done();
    for flag in ["--rules", "--index", "--urls", "--urls-by", "--out", "--docmap", "--order", "--policy", "--merge-tf"]
    {
        assert!(help.contains(&format!("{flag} ")) || help.contains(&format!("{flag}\n")), "{flag} is missing");
    }
    assert!(help.contains("  4  more records were rejected"));
}
