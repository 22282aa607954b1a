use super::read::{Catalogue, entries};
use super::recognise::{Signatures, recognise};
use crate::rules::platforms::{Entry, Platforms, Recognised};
use crate::url::NormalUrls;

#[test]
fn the_catalogue_is_checked_line_by_line() {
    let entries = entries(include_str!("catalogue.jsonl")).unwrap_or_else(|error| panic!("{error}"));
    let catalogue = Catalogue::of(entries.iter()).unwrap_or_else(|error| panic!("{error}"));
    assert!(catalogue.programs.len() >= 20 && catalogue.lines.len() >= 100);
    // Every program has lines, and says of all of them alike whether a corpus holds it.
    for program in &catalogue.programs {
        let lines: Vec<_> = catalogue.lines_of(&program.id).collect();
        assert!(!lines.is_empty(), "{}", program.id);
        assert!(lines.iter().all(|line| line.status == lines[0].status), "{}", program.id);
    }
}

/// A line of a catalogue that holds, to be spoiled.
const PROGRAM: &str = r#"{"program":{"id":"x","title":"X","counts":[[{"key":"path0","test":{"equals":"x"}}],[{"key":"path0","test":{"equals":"y"}}]]}}"#;
const LINE: &str = r#"{"line":{"id":"sid","program":"x","versions":"1","source":"x.php","status":"tested","scope":[{"key":"path0","test":{"equals":"x"}}],"operations":[["query sid=",{"ignore":"left-out"}]],"examples":[["http://h.org/x?sid=1","http://h.org/x"]],"stays":["http://h.org/y?sid=1"]}}"#;

/// Why a catalogue of the two is refused; nothing where it is not.
fn refused(program: &str, line: &str) -> String {
    let entries = entries(&[program, line].join("\n\n"));
    let checked = entries.and_then(|entries| Catalogue::of(entries.iter()));
    checked.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn mistakes_in_a_catalogue_are_refused() {
    assert_eq!(refused(PROGRAM, LINE), "");
    let line = |from: &str, to: &str| {
        assert!(LINE.contains(from), "{from}");
        refused(PROGRAM, &LINE.replace(from, to))
    };
    let path = r#"{"key":"path0","test":{"equals":"x"}}"#;
    assert!(line(path, "").contains("names no script"));
    assert!(line(path, r#"{"key":"depth","test":{"equals":"1"}}"#).contains("becomes"));
    assert!(line("\"query sid=\"", "\"path0\"").contains("lines leave out"));
    assert!(line("\"query sid=\"", "\"host\"").contains("is not a key that a catalogue may name"));
    assert!(line("\"query sid=\"", "\"query si=\"").contains("becomes http://h.org/x?sid=1"));
    let unknown = line("left-out", "nothing");
    assert!(unknown.starts_with("line 3: neither a program") && unknown.contains(" at column "), "{unknown}");
    assert!(!unknown.contains("at line"), "the parser counts every line as the first: {unknown}");
    assert!(line("h.org/y?sid=1", "h.org/x?sid=1").contains("becomes http://h.org/x"));
    assert!(line("\"x\",\"versions\"", "\"z\",\"versions\"").contains("no such program"));
    assert!(line("x.php", " ").contains("its source is empty"));
    assert!(line("\"tested\"", "\"maybe\"").contains("unknown variant"));
    let alone = PROGRAM.replace(r#",[{"key":"path0","test":{"equals":"y"}}]"#, "");
    assert!(refused(&alone, LINE).contains("two scopes or more"));
    let adrift = PROGRAM.replace(r#"{"key":"path0","test":{"equals":"y"}}"#, r#"{"key":"query y=","test":"present"}"#);
    assert!(refused(&adrift, LINE).contains("a value for a part of the path"));
    assert!(refused(&[PROGRAM, PROGRAM].join("\n"), LINE).contains("stands twice"));
}

#[test]
fn a_generic_name_needs_a_script() {
    let generic = LINE
        .replace("sid", "page")
        .replace(r#"{"key":"path0","test":{"equals":"x"}}"#, r#"{"key":"depth","test":{"equals":"1"}}"#);
    assert!(refused(PROGRAM, &generic).contains("is a name of many programs"));
}

/// Programs recognised among URLs, each line one.
fn found(urls: &[String], params: &Platforms) -> Vec<Recognised> {
    let mut normal = NormalUrls::default();
    urls.iter().for_each(|url| normal.push(url.as_bytes()));
    let urls = (0..urls.len()).filter_map(|row| normal.get(row));
    recognise(urls, &Signatures::new(Catalogue::built_in()), params)
}

/// Cases as text: a line `program directory` or `nothing`, then templates with `{i}` and how often each
/// comes.
#[test]
fn programs_are_recognised_by_their_urls() {
    for (name, text) in CASES {
        let (mut urls, mut wanted): (Vec<String>, Vec<String>) = Default::default();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            match line.split_once(' ') {
                Some(("found:", program)) => wanted.push(program.to_owned()),
                Some((count, template)) => {
                    let count: usize = count.parse().unwrap_or_else(|_| panic!("{name}: {line}"));
                    urls.extend((1..=count).map(|i| template.replace("{i}", &i.to_string())));
                }
                None => panic!("{name}: {line}"),
            }
        }
        let found = found(&urls, &Platforms::default());
        let words = |of: &Recognised| [&[of.program.clone(), of.directory.clone()], &of.hosts[..]].concat().join(" ");
        assert_eq!(found.iter().map(words).collect::<Vec<_>>(), wanted, "{name}");
    }
}

const CASES: &[(&str, &str)] = &[
    ("phpbb-2", include_str!("../../tests/cases/platforms/phpbb-2.txt")),
    ("phpbb-3", include_str!("../../tests/cases/platforms/phpbb-3-in-a-directory.txt")),
    ("not a forum", include_str!("../../tests/cases/platforms/one-script-is-no-program.txt")),
    ("too few", include_str!("../../tests/cases/platforms/too-few.txt")),
    ("one host of two", include_str!("../../tests/cases/platforms/one-host-of-two.txt")),
    ("relatives", include_str!("../../tests/cases/platforms/relatives.txt")),
    ("semicolons", include_str!("../../tests/cases/platforms/smf.txt")),
];

#[test]
fn thresholds_are_parameters() {
    let urls: Vec<String> = (0..6)
        .flat_map(|i| [format!("http://h.org/viewtopic.php?t={i}"), format!("http://h.org/profile.php?mode=x&u={i}")])
        .chain((0..90).map(|i| format!("http://h.org/page-{i}")))
        .collect();
    let with = |share_permille, least| Platforms { share_permille, urls: least, ..Platforms::default() };
    assert!(found(&urls, &with(200, 10)).is_empty());
    assert_eq!(found(&urls, &with(100, 10)).len(), 1);
    assert!(found(&urls, &with(100, 13)).is_empty());
}

#[test]
fn an_own_program_takes_the_place_of_one_of_its_id() {
    let own = entries(&PROGRAM.replace("\"id\":\"x\"", "\"id\":\"phpbb-2\"")).unwrap();
    let catalogue = Catalogue::with(&own).unwrap();
    assert!(catalogue.lines_of("phpbb-2").next().is_none() && catalogue.lines_of("phpbb-3").next().is_some());
    assert!(matches!(&own[0], Entry::Program(program) if Some(program) == catalogue.program("phpbb-2")));
}
