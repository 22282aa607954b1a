//! Greedy shrinking: removes parts of rule set and URLs as long as a difference remains.

use super::compare::{Applier, Difference, Forms, Input, Reference, caught, check};
use super::generate::Case;
use super::{RuleSet, SiteRules};
use crate::rules::explain::Trace;
use serde_json::Value;
use std::fmt::Write;

/// Attempts to make a case smaller.
const ATTEMPTS: usize = 20_000;

/// The difference that a case shows.
fn shown(sites: Vec<SiteRules>, inputs: &[Input], forms: Forms) -> Option<Difference> {
    // The site that the URL was given to was removed.
    if inputs.iter().any(|input| input.site.is_some_and(|site| site as usize >= sites.len())) {
        return None;
    }
    check(sites, inputs, forms, &mut Applier::default(), |_, _| {}).err().map(|difference| *difference)
}

/// A place in a JSON value: indices of items and of fields.
type JsonPath = Vec<usize>;

/// All items and fields, each before those below it; the last ones of a list first.
fn places(value: &Value, here: &JsonPath, all: &mut Vec<JsonPath>) {
    let below: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => return,
    };
    for (at, value) in below.into_iter().enumerate().rev() {
        let place: JsonPath = here.iter().copied().chain([at]).collect();
        all.push(place.clone());
        places(value, &place, all);
    }
}

/// Removes the element at a place; false where there is none.
fn remove(value: &mut Value, place: &[usize]) -> bool {
    let (at, below) = (place[0], &place[1..]);
    match value {
        Value::Array(items) if at < items.len() && below.is_empty() => drop(items.remove(at)),
        Value::Array(items) if at < items.len() => return remove(&mut items[at], below),
        Value::Object(fields) => {
            let Some(key) = fields.keys().nth(at).cloned() else { return false };
            if !below.is_empty() {
                return remove(fields.get_mut(&key).expect("a field"), below);
            }
            // A required field without effect.
            return key != "evidence" && fields.remove(&key).is_some();
        }
        _ => return false,
    }
    true
}

/// The rules without the parts that the difference does not need.
fn smaller_rules(
    sites: &[SiteRules],
    attempts: &mut usize,
    differs: impl Fn(Vec<SiteRules>) -> bool,
) -> Vec<SiteRules> {
    let mut value = serde_json::to_value(sites).expect("rules in JSON");
    let mut all = Vec::new();
    places(&value, &JsonPath::new(), &mut all);
    // Whole sites and rules first.
    all.sort_by_key(Vec::len);
    for place in &all {
        if *attempts == 0 {
            break;
        }
        let mut less = value.clone();
        if remove(&mut less, place)
            && let Ok(sites) = serde_json::from_value::<Vec<SiteRules>>(less.clone())
        {
            *attempts -= 1;
            if differs(sites) {
                value = less;
            }
        }
    }
    serde_json::from_value(value).expect("rules")
}

/// The URL without the bytes that the difference does not need.
fn smaller_url(url: &[u8], attempts: &mut usize, differs: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let (mut url, mut step) = (url.to_vec(), url.len().next_power_of_two());
    while step > 0 {
        let mut at = 0;
        while at < url.len() && *attempts > 0 {
            *attempts -= 1;
            let less = [&url[..at], &url[(at + step).min(url.len())..]].concat();
            if differs(&less) { url = less } else { at += step }
        }
        step /= 2;
    }
    url
}

/// A report of a difference: the smallest rule set and URLs that show it, both outcomes, and the
/// steps of the interpreter.
pub(super) fn report(case: Case, forms: Forms, found: Difference) -> String {
    let Case { mut sites, mut inputs } = case;
    let alone = vec![found.input.clone()];
    let forms = if shown(sites.clone(), &inputs, Forms::Memory).is_some() { Forms::Memory } else { forms };
    if shown(sites.clone(), &alone, forms).is_some() {
        inputs = alone;
    }
    let mut attempts = ATTEMPTS;
    loop {
        let before = (serde_json::to_string(&sites).expect("rules in JSON"), inputs.clone());
        let mut at = inputs.len();
        while at > 0 && inputs.len() > 1 && attempts > 0 {
            (at, attempts) = (at - 1, attempts - 1);
            let mut less = inputs.clone();
            less.remove(at);
            if shown(sites.clone(), &less, forms).is_some() {
                inputs = less;
            }
        }
        sites = smaller_rules(&sites, &mut attempts, |sites| shown(sites, &inputs, forms).is_some());
        if let [Input { url, site }] = &inputs[..] {
            let input = |url: &[u8]| [Input { url: url.to_vec(), site: *site }];
            let differs = |url: &[u8]| shown(sites.clone(), &input(url), forms).is_some();
            inputs = input(&smaller_url(url, &mut attempts, differs)).to_vec();
        }
        if attempts == 0 || before == (serde_json::to_string(&sites).expect("rules in JSON"), inputs.clone()) {
            break;
        }
    }
    text(&sites, &inputs, shown(sites.clone(), &inputs, forms).unwrap_or(found))
}

fn text(sites: &[SiteRules], inputs: &[Input], difference: Difference) -> String {
    let Difference { how, input, expected, given } = difference;
    let mut text = format!("--- {how}\n");
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        writeln!(text, "{name:<12} {value}").expect("memory takes every write");
    };
    for site in sites {
        line("rules", &json(site));
    }
    if inputs.len() > 1 {
        inputs.iter().for_each(|input| line("URL before", &input.url.escape_ascii()));
    }
    line("URL", &input.url.escape_ascii());
    line("given to", &input.site.map_or("the site of the host".to_owned(), |site| format!("site {site}")));
    line("interpreter", &expected);
    line("applier", &given);
    if let Ok(set) = caught(|| RuleSet::new(sites.to_vec())) {
        let steps = Reference::new(set.sites()).pair(&input).steps;
        let trace = Trace { url: input.url.escape_ascii().to_string(), steps };
        line("steps", &trace.text(false).as_str());
    }
    text
}

/// A site in JSON without the evidence of its rules.
fn json(site: &SiteRules) -> String {
    let mut value = serde_json::to_value(site).expect("rules in JSON");
    for rule in value["rules"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        rule.remove("evidence");
        rule.remove("kind");
    }
    value.to_string()
}

/// A report of a difference on one URL of a corpus; not shrunk where one URL does not show it.
pub(super) fn plain(sites: &[SiteRules], difference: Difference) -> String {
    let input = difference.input.clone();
    match shown(sites.to_vec(), std::slice::from_ref(&input), Forms::Memory) {
        Some(_) => report(Case { sites: sites.to_vec(), inputs: vec![input] }, Forms::Memory, difference),
        None => format!("--- {difference:?}\n"),
    }
}
