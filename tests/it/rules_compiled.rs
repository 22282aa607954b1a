//! Compiled rules: they do what the rules do, and a file that is not what was written is refused.

use crate::apply_invariants::{site, url};
use crate::jobs_run::{Folder, run, sites, undust, urls};
use proptest::prelude::*;
use undust::model::hash64;
use undust::rules::compiled_format::{Blocks, CompiledFormatError, CompiledHeader, CompiledWriter, LAYOUT};
use undust::rules::file::{self, Header, InputCounts};
use undust::rules::*;

const FIXTURE: &str = include_str!("fixtures/rules-1.0.jsonl");

fn compiled(sites: &[SiteRules]) -> Vec<u8> {
    let rules = Header::new(Params::default(), InputCounts::default());
    let header = CompiledHeader { rules, overrides: Overrides::default() };
    let mut writer = CompiledWriter::new(&header, Vec::new()).expect("memory");
    let mut compiler = Compiler::default();
    for site in sites {
        writer.push(&LoadedSite::new(site.clone(), &mut compiler)).expect("memory");
    }
    writer.finish().expect("memory")
}

/// All sites of compiled rules, with room for so many bytes at a time.
fn opened(bytes: &[u8], piece: usize) -> Result<Vec<LoadedSite>, CompiledFormatError> {
    let (_, mut input) = Blocks::open(bytes)?;
    let (mut blocks, mut all) = (Vec::new(), Vec::new());
    loop {
        input.next_blocks(piece, &mut blocks)?;
        if blocks.is_empty() {
            return Ok(all);
        }
        for block in &blocks {
            all.extend(block.sites()?);
        }
    }
}

fn set(sites: Vec<LoadedSite>) -> RuleSet {
    let mut rules = Loader::default();
    sites.into_iter().for_each(|site| rules.push(site));
    rules.finish()
}

/// So many sites, each with a rule for a parameter of its own.
fn many(count: usize) -> Vec<SiteRules> {
    let one = |i: usize| {
        let rule = Rule::of(
            &format!("{i:016x}"),
            Vec::new(),
            vec![(format!("query s{i}="), Operation::Ignore(Representative::LeftOut))],
        );
        let site = format!("site{i:04}.example");
        SiteRules {
            origins: undust::rules::origins::of_hosts([&site]),
            site,
            rules: vec![rule],
            ..SiteRules::default()
        }
    };
    (0..count).map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn compiled_rules_do_what_the_rules_do(site in site(), urls in prop::collection::vec(url(), 1..12)) {
        let bytes = compiled(std::slice::from_ref(&site));
        let (rules, read) = (RuleSet::new(vec![site]), set(opened(&bytes, 1).unwrap()));
        let [mut one, mut other] = [Scratch::default(), Scratch::default()];
        for url in urls {
            let (a, b) = (rules.apply(url.as_bytes(), None, &mut one), read.apply(url.as_bytes(), None, &mut other));
            let all = |applied: &Applied<'_>| {
                (applied.url.to_vec(), applied.site, applied.fired.clone(), applied.looked_up, applied.invalid)
            };
            prop_assert_eq!(all(&a), all(&b));
            prop_assert_eq!(rules.canonicalize(&url), read.canonicalize(&url));
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), keep in 0usize..3) {
        let whole = compiled(&many(2));
        let line = memchr::memchr(b'\n', &whole).expect("a line") + 1;
        // Alone, behind the first line, and behind the first block.
        let start = [0, line, whole.len() - 16][keep];
        prop_assert!(opened(&[&whole[..start], &bytes].concat(), 64).is_err());
    }
}

#[test]
fn sites_of_many_blocks_come_back_in_their_order() {
    for count in [0, 1, 255, 256, 257, 1_000] {
        let bytes = compiled(&many(count));
        assert_eq!(bytes, compiled(&many(count)), "the same rules are the same bytes");
        for piece in [1, 1 << 20] {
            let sites = opened(&bytes, piece).expect("what was written");
            assert!(sites.iter().map(LoadedSite::name).eq(many(count).iter().map(|site| site.site.as_str())));
            let rules = set(sites);
            if count > 0 {
                let i = count - 1;
                let asked = format!("http://site{i:04}.example/?s{i}=1&s=2");
                let url = rules.canonicalize(&asked);
                assert_eq!(url.url, format!("http://site{i:04}.example/?s=2"));
                assert_eq!(url.rules.iter().collect::<Vec<_>>(), [format!("{i:016x}")]);
            }
        }
    }
}

#[test]
fn a_changed_byte_is_known() {
    let mut bytes = compiled(&many(300));
    let header = Blocks::open(bytes.as_slice()).expect("as it was").0;
    let step = bytes.len() / 4_000 + 1;
    let first_line = memchr::memchr(b'\n', &bytes).expect("a line") + 40;
    for at in (0..first_line).chain((first_line..bytes.len()).step_by(step)).chain(bytes.len() - 16..bytes.len()) {
        let bit = 1 << (at % 8);
        bytes[at] ^= bit;
        // Capitals for the digits of the check are the same check.
        let same = bytes[at].is_ascii_uppercase()
            && Blocks::open(bytes.as_slice()).is_ok_and(|read| at < first_line && read.0 == header);
        assert!(same || opened(&bytes, 1 << 20).is_err(), "byte {at} of {}", bytes.len());
        bytes[at] ^= bit;
    }
    assert_eq!(opened(&bytes, 1 << 20).expect("as it was").len(), 300);
}

#[test]
fn a_missing_end_and_bytes_behind_it_are_known() {
    let bytes = compiled(&many(600));
    let step = bytes.len() / 1_000 + 1;
    for at in (0..bytes.len()).step_by(step).chain(bytes.len() - 20..bytes.len()) {
        assert!(opened(&bytes[..at], 1 << 20).is_err(), "cut at {at} of {}", bytes.len());
    }
    assert!(opened(&[&bytes[..], &b"\0"[..]].concat(), 1 << 20).is_err());
    // A block left out, and two in the wrong order.
    let start = memchr::memchr(b'\n', &bytes).expect("a line") + 1;
    let length = |at: usize| 16 + u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let second = start + length(start);
    let third = second + length(second);
    let (line, one, two, rest) = (&bytes[..start], &bytes[start..second], &bytes[second..third], &bytes[third..]);
    assert!(opened(&[line, one, two, rest].concat(), 1).is_ok());
    for wrong in [[line, two, rest, b""], [line, one, rest, b""], [line, two, one, rest]] {
        assert!(matches!(opened(&wrong.concat(), 1), Err(CompiledFormatError::Damaged { .. })));
    }
}

#[test]
fn another_layout_is_refused_with_a_way_out() {
    let bytes = compiled(&many(1));
    let text = String::from_utf8_lossy(&bytes[..memchr::memchr(b'\n', &bytes).unwrap()]).into_owned();
    // As another version would write it: without its check it would be damage.
    let text = text.replace(&format!("\"compiled\":{{\"major\":{}", LAYOUT.major), "\"compiled\":{\"major\":77");
    let body = &text[..text.rfind(",\"check\"").unwrap()];
    let text = format!("{body},\"check\":\"{:016x}\"}}\nanything", hash64(body.as_bytes()));
    let error = opened(text.as_bytes(), 1).expect_err("another layout").to_string();
    assert!(error.contains("layout 77.") && error.contains("undust rules compile"), "{error}");
}

/// Who changes what a compiled site is, or how values are hashed, sees this fail: the layout then needs
/// a new number, since a file that was written before would be read as something else.
#[test]
fn the_layout_changes_only_with_its_number() {
    let (_, mut sites) = file::read(&mut FIXTURE.as_bytes()).expect("the fixture");
    // A function is its place in the enum.
    let rules = Function::ALL.iter().zip(0..).map(|(function, at)| {
        let operation = ("path0".to_owned(), Operation::Apply(*function));
        // Names of hosts have codes of their own.
        let scope = vec![Constraint { key: "host".to_owned(), test: Test::Equals("functions.example".to_owned()) }];
        Rule::of(&format!("{at:016x}"), scope, vec![operation])
    });
    let origins = undust::rules::origins::of_hosts(["functions.example"]);
    sites.push(SiteRules { site: "functions.example".into(), origins, rules: rules.collect(), ..SiteRules::default() });
    let bytes = compiled(&sites.into_iter().filter(|site| !site.tokens.published).collect::<Vec<_>>());
    let body = &bytes[memchr::memchr(b'\n', &bytes).expect("a line") + 1..];
    assert_eq!((LAYOUT.major, LAYOUT.minor, hash64(body)), (2, 13, 12_127_879_173_164_192_368));
}

#[test]
fn the_job_compiles_and_every_job_that_applies_takes_the_file() {
    let folder = Folder::with_rules();
    let job = |arguments: &[&str]| {
        let mut command = undust(arguments);
        command.current_dir(folder.path(""));
        run(command)
    };
    folder.write("urls.txt", urls(2_000).as_bytes());
    job(&["rules", "compile", "--rules", "rules", "--out", "fast.compiled"]).done();
    let slow = job(&["normalize", "--rules", "rules", "--output", "jsonl", "urls.txt"]).done();
    let fast = job(&["normalize", "--rules", "fast.compiled", "--output", "jsonl", "urls.txt"]).done();
    assert!(slow == fast && slow.lines().count() == 2_000);
    // The same bytes from the rule file, and from itself.
    let bytes = std::fs::read(folder.path("fast.compiled")).unwrap();
    for from in ["rules/rules.jsonl", "fast.compiled"] {
        job(&["rules", "compile", "--rules", from, "--out", "again"]).done();
        assert!(bytes == std::fs::read(folder.path("again")).unwrap());
        std::fs::remove_file(folder.path("again")).unwrap();
    }
    // Nothing is replaced by surprise; what wants evidence says where it is.
    let compile = ["rules", "compile", "--rules", "rules", "--out", "fast.compiled"];
    assert!(job(&compile).failed(2).contains("--overwrite"));
    assert!(job(&["rules", "compile", "--rules", "rules", "--out", "fast.gz"]).failed(2).contains("not compressed"));
    for what in [&["rules", "list"][..], &["explain", "http://a.example/"], &["export", "--to", "csv"]] {
        let told = job(&[what, &["--rules", "fast.compiled"]].concat()).failed(1);
        assert!(told.contains("name that"), "{told}");
    }
    // What is disabled later is not passed over.
    let site = &sites()[0];
    let disable = |name: &str| {
        let mut overrides = Overrides::default();
        overrides.disable(&site.site, &site.rules[0].id, "because");
        folder.write(name, overrides.text().as_bytes());
    };
    disable("overrides.jsonl");
    let told = job(&["normalize", "--rules", "fast.compiled", "urls.txt"]).failed(1);
    assert!(told.contains("compile the rules again"), "{told}");
    let again = [&compile[..], &["--overwrite", "--overrides", "overrides.jsonl"]].concat();
    job(&again).done();
    let slow = job(&["normalize", "--rules", "rules", "--overrides", "overrides.jsonl", "urls.txt"]).done();
    assert!(slow == job(&["normalize", "--rules", "fast.compiled", "urls.txt"]).done());
    // Without a file beside it, it keeps to what it was compiled with.
    std::fs::remove_file(folder.path("overrides.jsonl")).unwrap();
    assert!(slow == job(&["normalize", "--rules", "fast.compiled", "urls.txt"]).done());
}
