//! Tiny sites written as text: records from templates, learned in process.
//!
//! Lines of a case (see tests/cases/learner): `for i=1..40 k=0..2: CLUSTER URL` makes a record for each
//! combination; `CLUSTER URL` alone makes one. `-` is no label; a third word `elsewhere` marks a record
//! that redirects. In templates: `{i}`, `{i%7}`, `{i/7}`, `{i+7}`, `{i*7}`; `{slug:i}` a slug of two to
//! four words that belongs to `i`, `{SLUG:i}` in capitals; `{word:i}` one word; `{hex}` 32 digits that
//! never come again; `{name?i%3}` leaves `name` out unless i is a multiple of 3.
//!
//! `extend to domain` learns with `learn --extend-to-domain`.
//!
//! Expectations are a line each: `rule: TEXT`, `no rule: TEXT`, `same: URL URL...`, `differ: URL URL...`,
//! `becomes: URL URL`, `count: FIGURE NUMBER`, `merged: PERCENT`; see [`Expected`]. `gap` in front marks a goal
//! that the learner does not reach: it must not hold, so that a learner that comes to reach it shows here.

use undust::model::hash64;
use undust::rules::{RuleSet, explain};
use undust::site::{Outcome, Params, Training, learn};

/// One record of a site.
#[derive(Clone, Debug)]
pub struct Row {
    pub url: String,
    pub cluster: Option<String>,
    pub elsewhere: bool,
}

/// What a line of a case expects.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Some rule reads like this.
    Rule(String),
    /// No rule reads like this.
    NoRule(String),
    /// All have one canonical URL.
    Same(Vec<String>),
    /// All have canonical URLs of their own.
    Differ(Vec<String>),
    /// The first becomes the second.
    Becomes(String, String),
    /// A figure of the outcome.
    Count(String, u64),
    /// At least this share of the clusters of two or more has one canonical URL for all URLs, in percent;
    /// and none shares one with another cluster.
    Merged(u64),
}

/// A site and what is expected of it.
#[derive(Debug, Default)]
pub struct Case {
    pub rows: Vec<Row>,
    pub params: Params,
    /// Line, expectation, and whether it is a goal that the learner does not reach (`gap`).
    pub expected: Vec<(usize, Expected, bool)>,
}

/// Beginnings of the lines that expect something, in the order of [`Expected`].
const EXPECTATIONS: &str = "rule:, no rule:, same:, differ:, becomes:, count:, merged:";

const WORDS: [&str; 40] = [
    "apple", "river", "stone", "cloud", "green", "tiger", "paper", "music", "ocean", "table", "light", "bread",
    "horse", "glass", "winter", "summer", "garden", "silver", "copper", "island", "valley", "bridge", "candle",
    "window", "forest", "engine", "pencil", "carpet", "mirror", "basket", "ladder", "hammer", "button", "needle",
    "rocket", "planet", "violin", "camera", "market", "castle",
];

fn word(i: u64, salt: u64) -> &'static str {
    WORDS[(hash64(&[i.to_le_bytes(), salt.to_le_bytes()].concat()) % 40) as usize]
}

/// Words for `i`; the last two spell `i`, so that no two are the same.
fn slug(i: u64) -> String {
    let mut out = String::new();
    for salt in 0..hash64(&i.to_le_bytes()) % 3 {
        out += word(i, salt);
        out.push('-');
    }
    out + WORDS[(i / 40 % 40) as usize] + "-" + WORDS[(i % 40) as usize]
}

/// Values of the variables of a `for`.
type Vars<'a> = [(&'a str, u64)];

fn number(expression: &str, vars: &Vars<'_>) -> u64 {
    let at = expression.find(['%', '/', '+', '*']).unwrap_or(expression.len());
    let (name, rest) = expression.split_at(at);
    let value = vars.iter().find(|v| v.0 == name).unwrap_or_else(|| panic!("no variable {name:?}")).1;
    let by = || rest[1..].parse::<u64>().unwrap_or_else(|_| panic!("{expression:?}"));
    match rest.as_bytes().first() {
        None => value,
        Some(b'%') => value % by(),
        Some(b'/') => value / by(),
        Some(b'*') => value * by(),
        Some(_) => value + by(),
    }
}

/// Fills a template; `fresh` counts what must not come again.
fn fill(template: &str, vars: &Vars<'_>, fresh: &mut u64) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (inner, after) = after.split_once('}').unwrap_or_else(|| panic!("no end: {template}"));
        out += before;
        rest = after;
        if inner == "hex" {
            *fresh += 1;
            out += &format!("{:016x}{:016x}", hash64(&fresh.to_le_bytes()), hash64(&(!*fresh).to_le_bytes()));
        } else if let Some(i) = inner.strip_prefix("slug:") {
            out += &slug(number(i, vars));
        } else if let Some(i) = inner.strip_prefix("SLUG:") {
            out += &slug(number(i, vars)).to_ascii_uppercase();
        } else if let Some(i) = inner.strip_prefix("word:") {
            out += word(number(i, vars), 9);
        } else if let Some((text, when)) = inner.split_once('?') {
            out += if number(when, vars) == 0 { text } else { "" };
        } else {
            out += &number(inner, vars).to_string();
        }
    }
    out + rest
}

impl Case {
    /// Reads a case; `name` is for messages about what cannot be read.
    pub fn read(name: &str, text: &str) -> Case {
        let mut case = Case::default();
        let mut fresh = 0;
        for (at, line) in text.lines().enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
            let words = |rest: &str| rest.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            if line == "extend to domain" {
                case.params.extend_to_domain = true;
            } else if let Some((head, rest)) = line.split_once(": ")
                && !head.contains("//")
            {
                let rest = rest.trim();
                let (head, gap) = head.strip_prefix("gap ").map_or((head, false), |head| (head, true));
                let expected = match head {
                    "rule" => Expected::Rule(rest.to_owned()),
                    "no rule" => Expected::NoRule(rest.to_owned()),
                    "same" => Expected::Same(words(rest)),
                    "differ" => Expected::Differ(words(rest)),
                    "becomes" => Expected::Becomes(words(rest)[0].clone(), words(rest)[1].clone()),
                    "merged" => Expected::Merged(rest.parse().expect("percent")),
                    "count" => {
                        let (name, count) = rest.rsplit_once(' ').expect("a name and a number");
                        Expected::Count(name.to_owned(), count.parse().expect("a number"))
                    }
                    _ => {
                        let ranges = head.strip_prefix("for ").unwrap_or_else(|| {
                            panic!("{name}, line {}: {line}\nno `for`, nor one of: {EXPECTATIONS}", at + 1)
                        });
                        case.repeat(&words(ranges), rest, &mut fresh);
                        continue;
                    }
                };
                case.expected.push((at + 1, expected, gap));
            } else {
                case.record(line, &[], &mut fresh);
            }
        }
        case
    }

    fn repeat(&mut self, ranges: &[String], template: &str, fresh: &mut u64) {
        let parsed: Vec<(&str, u64, u64)> = ranges
            .iter()
            .map(|r| {
                let (name, range) = r.split_once('=').expect("name=from..to");
                let (from, to) = range.split_once("..").expect("from..to");
                (name, from.parse().expect("a number"), to.parse().expect("a number"))
            })
            .collect();
        let mut vars: Vec<(&str, u64)> = parsed.iter().map(|p| (p.0, p.1)).collect();
        loop {
            self.record(template, &vars, fresh);
            // The last variable runs fastest.
            let Some(at) = (0..vars.len()).rev().find(|&v| vars[v].1 < parsed[v].2) else { return };
            vars[at].1 += 1;
            (at + 1..vars.len()).for_each(|v| vars[v].1 = parsed[v].1);
        }
    }

    fn record(&mut self, template: &str, vars: &Vars<'_>, fresh: &mut u64) {
        let filled = fill(template, vars, fresh);
        let words: Vec<&str> = filled.split_whitespace().collect();
        let (cluster, url) = (words[0], words.get(1).unwrap_or_else(|| panic!("no URL: {filled}")));
        let cluster = (cluster != "-").then(|| cluster.to_owned());
        self.rows.push(Row { url: (*url).to_owned(), cluster, elsewhere: words.get(2) == Some(&"elsewhere") });
    }
}

/// Training set of rows.
pub fn training(site: &str, rows: &[Row]) -> Training {
    let record = |r: &Row| (r.url.clone(), r.cluster.clone(), r.elsewhere);
    let owned: Vec<_> = rows.iter().map(record).collect();
    Training::new(site, owned.iter().map(|(u, c, e)| (u.as_bytes(), c.as_deref().map(str::as_bytes), *e)))
}

/// Learns a site.
pub fn learned(site: &str, rows: &[Row]) -> Outcome {
    learned_with(site, rows, &Params::default())
}

/// Learns a site with these parameters.
pub fn learned_with(site: &str, rows: &[Row], params: &Params) -> Outcome {
    learn(training(site, rows), params)
}

/// The outcome in words, for messages.
pub fn in_words(outcome: &Outcome) -> String {
    let mut out = String::new();
    outcome.rules.rules.iter().for_each(|rule| out += &format!("    {}\n", explain::rule_text(rule)));
    let show = |name: &str, list: Vec<String>| {
        let head: Vec<&str> = list.iter().take(3).map(String::as_str).collect();
        if list.is_empty() { String::new() } else { format!("    {} {name}: {}\n", list.len(), head.join(" , ")) }
    };
    let pairs = |list: &[[String; 2]]| list.iter().map(|p| p.join(" -> ")).collect();
    out += &show("aliases", pairs(&outcome.rules.aliases));
    out + &show("exceptions", pairs(&outcome.rules.exceptions))
}

/// Share of clusters of two or more with one canonical URL, in percent; and a canonical URL that two
/// clusters share.
pub fn merged(set: &RuleSet, rows: &[Row]) -> (u64, Option<[String; 3]>) {
    use std::collections::{BTreeMap, BTreeSet};
    let mut of_cluster: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut size: BTreeMap<&str, u64> = BTreeMap::new();
    let mut first: BTreeMap<String, &Row> = BTreeMap::new();
    let mut wrong = None;
    for row in rows {
        let Some(cluster) = &row.cluster else { continue };
        let url = set.canonicalize(&row.url).url.into_owned();
        of_cluster.entry(cluster).or_default().insert(url.clone());
        *size.entry(cluster).or_default() += 1;
        let known = *first.entry(url.clone()).or_insert(row);
        if known.cluster != row.cluster && wrong.is_none() {
            wrong = Some([known.url.clone(), row.url.clone(), url]);
        }
    }
    let several: Vec<_> = of_cluster.iter().filter(|(cluster, _)| size[*cluster] > 1).collect();
    let whole = several.iter().filter(|(_, urls)| urls.len() == 1).count() as u64;
    (whole * 100 / (several.len() as u64).max(1), wrong)
}
