//! Ordered rules with their scopes in JSON (`docs/json-rules.md`), for crawlers that apply rules
//! themselves.
//!
//! The format describes undust in its own terms (key-value pairs, conditions, operations), so that
//! nearly all of a site is in it: sections, rules between forms, mirrors, exceptions and look-ups. Left
//! out are rules that move labels of a host, which need the public suffix list, rules of the published
//! method, and rules that never act.
//!
//! What an applier can do without is done here: tables hold no entry that never decides, mirrors are in
//! the order in which they are tried, `drop-empty` is a `map`.

use super::comments::{command, head};
use super::context::HostIndex;
use super::dependencies::needs;
use super::kept::NEVER_ACTS;
use super::left_out::LeftOut;
use super::pattern::Space;
use super::selection::{Export, Selection};
use crate::model::shown::is_hidden;
use crate::rules::interpreter::Interpreter;
use crate::rules::types::{Constraint, Function, Operation, Representative, Rule, SiteRules, Test};
use crate::url::keys::HOST_SUB;
use crate::url::section::{self, Section};
use crate::url::{Endings, NormalUrl, ValueEnds};
use serde::Serialize;
use std::cmp::Reverse;

/// A site as the format has it. Lists are written where they are empty, too.
#[derive(Serialize)]
struct Site<'a> {
    site: &'a str,
    origins: &'a [String],
    /// Origins that another site has, too, and those that no URL in normal form has: a URL there is left
    /// alone.
    shared: Vec<&'a str>,
    delimiters: &'a str,
    semicolons: bool,
    #[serde(skip_serializing_if = "is_false")]
    joined_by_semicolons: bool,
    #[serde(skip_serializing_if = "is_false")]
    nested_queries: bool,
    #[serde(skip_serializing_if = "is_false")]
    commas: bool,
    #[serde(skip_serializing_if = "is_false")]
    query_path: bool,
    #[serde(skip_serializing_if = "is_false")]
    numbered_end: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    endings: &'a [String],
    #[serde(skip_serializing_if = "is_false")]
    inner_numbers: bool,
    #[serde(skip_serializing_if = "is_false")]
    name_families: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    value_ends: Vec<[&'a str; 2]>,
    fragments: bool,
    sections: Vec<&'a str>,
    order: &'a [String],
    rules: Vec<Then<'a>>,
    mirrors: Vec<Mirror<'a>>,
    exceptions: Vec<[String; 2]>,
    lookups: Vec<&'a [String; 2]>,
    ranges: Vec<Range<'a>>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A mirror rule: URLs below the front move to the directory.
#[derive(Serialize)]
struct Mirror<'a> {
    id: &'a str,
    front: &'a str,
    to: &'a str,
}

/// A rule: where all conditions hold, what is done.
#[derive(Serialize)]
struct Then<'a> {
    id: &'a str,
    when: Vec<When<'a>>,
    #[serde(skip_serializing_if = "is_false")]
    whole: bool,
    then: Vec<Do<'a>>,
}

/// A condition on a key; one of the tests.
#[derive(Default, Serialize)]
struct When<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    present: Option<bool>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    within: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_in: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not: Option<&'a [String]>,
}

/// What is done to a key; one of the operations.
#[derive(Default, Serialize)]
struct Do<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    remove: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<&'a [(Option<String>, Option<String>)]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    apply: Option<Function>,
}

/// URLs that differ in the value of one key and are one page.
#[derive(Serialize)]
struct Range<'a> {
    key: String,
    like: String,
    /// A URL without the key is the page, too.
    absent: bool,
    /// Text before the number in the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// First and last number; any value where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers: Option<[u64; 2]>,
    page: &'a str,
}

/// All numbers of a value range: those of up to 15 digits.
const ALL_NUMBERS: [u64; 2] = [0, 999_999_999_999_999];

/// `drop-empty` as a map.
static WITHOUT_EMPTY: [(Option<String>, Option<String>); 1] = [(Some(String::new()), None)];

/// Writes the sites. Each is one line, so that a reader can take them one by one.
pub fn export(sites: &[SiteRules], selection: Selection<'_>) -> Export {
    let host_index = HostIndex::of(sites, Space::Url);
    let (mut written, mut left_out, mut rules) = (Vec::new(), Vec::new(), 0);
    for site in sites.iter().filter(|site| selection.has(site)) {
        let own = host_index.own(site);
        let forms = forms(site, own.is_empty());
        let is_out = |form: &Form<'_>| matches!(form, Form::Out(_));
        // Exceptions and look-ups are found by the reduced form of their URL.
        let tables = !forms.iter().any(is_out);
        for (rule, form) in site.rules.iter().zip(&forms) {
            match form {
                Form::Written(_) => rules += 1,
                Form::Idle => left_out.push(LeftOut::of(site, rule, NEVER_ACTS.to_owned())),
                Form::Out(reason) => left_out.push(LeftOut::of(site, rule, (*reason).to_owned())),
            }
        }
        left_out.extend(LeftOut::look_ups(site).filter(|_| !tables));
        let acts = |form: &Form<'_>| matches!(form, Form::Written(_));
        let is_empty = site.aliases.is_empty() && site.local.is_empty();
        if forms.iter().any(acts) || tables && (site.tokenizer().learned || !is_empty) {
            written.push(Site::of(site, &own, forms, tables));
        }
    }
    let kept = selection.kept(sites, &left_out);
    let mut about = head(written.len(), rules, &kept, &left_out);
    about.push(command("json-rules"));
    let lines: Vec<String> = written.iter().map(json).collect();
    let text = format!(
        "{{\"format\":\"undust-json-rules\",\"version\":1,\n\"about\":{},\n\"sites\":[\n{}\n]}}\n",
        json(&about),
        lines.join(",\n")
    );
    Export { text, rules, left_out, kept }
}

/// Compact JSON. Hidden characters, which occur in strings alone, are written as escapes.
fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("writing strings into memory cannot fail");
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
            false => out.push(c),
        }
    }
    out
}

/// A rule as it is in the export.
enum Form<'a> {
    Written(&'a Rule),
    /// The rule never acts, so that nothing depends on it.
    Idle,
    Out(&'static str),
}

/// Form of each rule of a site; `shared` where another site has all its origins, too.
fn forms(site: &SiteRules, shared: bool) -> Vec<Form<'_>> {
    let labels = |rule: &Rule| {
        let moves = |(key, operation): &(String, Operation)| {
            key == HOST_SUB || matches!(operation, Operation::Replace(from) if from == HOST_SUB)
        };
        rule.operations.iter().any(moves)
    };
    let is_normal = |rule: &Rule| {
        let directories = rule.mirror().map(|(source, target)| [source, target]);
        directories.into_iter().flatten().all(|directory| {
            let page = format!("{directory}/x");
            NormalUrl::new(page.as_bytes()).is_ok_and(|normal| normal.as_str() == page)
        })
    };
    let acts = |rule: &Rule| rule.mirror().is_some() || rule.is_valid();
    let whole = !site.rules.iter().any(|rule| acts(rule) && (labels(rule) || !is_normal(rule)));
    // Tables are left out with a rule, and without a rule the page of an exception cannot be computed.
    let excepted = |rule: &Rule| !whole && site.exceptions.iter().any(|[_, id]| *id == rule.id || id == "*");
    // A mirror moves what all other rules left of a URL. A depth hides segments, which a later rule may
    // show again.
    let needs_all = |rule: &Rule| {
        let writes_depth = rule.operations.iter().any(|(key, _)| key == "depth");
        rule.mirror().is_some() || !rule.closed && writes_depth
    };
    let mut forms: Vec<Form<'_>> = Vec::new();
    for (at, rule) in site.rules.iter().enumerate() {
        let mut earlier = site.rules[..at].iter().zip(&forms);
        let depends = earlier.any(|(before, form)| matches!(form, Form::Out(_)) && needs(rule, before));
        forms.push(match () {
            () if site.tokens.published => Form::Out("a rule of the published method: it has keys of its own"),
            () if shared => Form::Out("no origin belongs to this site alone"),
            () if !acts(rule) => Form::Idle,
            () if labels(rule) => Form::Out("it moves labels of the host, which needs the public suffix list"),
            () if !is_normal(rule) => Form::Out("its directory is not in normal form"),
            () if needs_all(rule) && !whole => Form::Out("it needs all rules of its site, of which one is left out"),
            () if excepted(rule) => Form::Out("it has exceptions, and a rule of the site is left out"),
            () if depends => Form::Out("a rule before it is left out, without which it would merge other URLs"),
            () => Form::Written(rule),
        });
    }
    forms
}

impl<'a> Site<'a> {
    fn of(site: &'a SiteRules, own: &[&str], forms: Vec<Form<'a>>, tables: bool) -> Site<'a> {
        let written = |form| match form {
            Form::Written(rule) => Some(rule),
            Form::Idle | Form::Out(_) => None,
        };
        let (moves, rules): (Vec<&Rule>, Vec<&Rule>) =
            forms.into_iter().filter_map(written).partition(|rule| rule.mirror().is_some());
        let mirror = |rule: &'a Rule| rule.mirror().map(|(front, to)| Mirror { id: &rule.id, front, to });
        let mut mirrors: Vec<Mirror<'_>> = moves.into_iter().filter_map(mirror).collect();
        mirrors.sort_by_key(|mirror| Reverse(mirror.front.len()));
        let acting = tables.then(|| Interpreter::new(site));
        let ranges = acting.iter().flat_map(Interpreter::acting_ranges).map(|of| Range {
            key: of.key,
            like: of.like.as_str().to_owned(),
            absent: of.absent,
            numbers: of.value_range.range.or(of.text.is_some().then_some(ALL_NUMBERS)),
            text: of.text,
            page: &of.value_range.page,
        });
        let is_normal = |origin: &str| {
            let page = format!("{origin}/");
            NormalUrl::new(page.as_bytes()).is_ok_and(|normal| normal.as_str() == page)
        };
        let is_shared = |origin: &&str| !own.contains(origin) || !is_normal(origin);
        let tokenizer = site.tokenizer();
        Site {
            site: &site.site,
            origins: &site.origins,
            shared: site.origins.iter().map(String::as_str).filter(is_shared).collect(),
            delimiters: &site.tokens.delimiters,
            semicolons: tokenizer.semicolons,
            joined_by_semicolons: tokenizer.joined_by_semicolons,
            nested_queries: tokenizer.nested_queries,
            commas: tokenizer.commas,
            query_path: tokenizer.query_path,
            numbered_end: tokenizer.numbered_end,
            endings: &site.tokens.endings[..site.tokens.endings.len().min(Endings::MOST)],
            inner_numbers: tokenizer.inner_numbers,
            name_families: tokenizer.name_families,
            value_ends: ValueEnds::valid(&site.tokens.value_ends)
                .iter()
                .map(|end| end.split_at(end.len() - 1).into())
                .collect(),
            fragments: tokenizer.fragments,
            sections: site.tokens.sections.iter().map(String::as_str).filter(|name| is_section(name)).collect(),
            order: &site.tokens.query_order,
            rules: rules.into_iter().map(Then::of).collect(),
            mirrors,
            exceptions: acting.as_ref().map(Interpreter::acting_exceptions).unwrap_or_default(),
            lookups: acting.as_ref().map(Interpreter::acting_look_ups).unwrap_or_default(),
            ranges: ranges.collect(),
        }
    }
}

/// False for a name with a slash behind it that is no directory of members.
fn is_section(name: &str) -> bool {
    let path = format!("/{name}x");
    let is_of_members = || matches!(section::of(path.as_bytes()), Section::Member(of, _) if of == name.as_bytes());
    !name.ends_with('/') || is_of_members()
}

impl<'a> Then<'a> {
    fn of(rule: &'a Rule) -> Then<'a> {
        Then {
            id: &rule.id,
            when: rule.scope.iter().map(When::of).collect(),
            whole: rule.closed,
            then: rule.operations.iter().map(Do::of).collect(),
        }
    }
}

impl<'a> When<'a> {
    fn of(Constraint { key, test }: &'a Constraint) -> When<'a> {
        let any = When { key, ..When::default() };
        match test {
            Test::Present => When { present: Some(true), ..any },
            Test::Absent => When { present: Some(false), ..any },
            Test::Equals(value) => When { within: Some(std::slice::from_ref(value)), ..any },
            Test::OneOf(values) => When { within: Some(values), ..any },
            Test::NoneOf(values) => When { not_in: Some(values), ..any },
            Test::Not(values) => When { not: Some(values), ..any },
        }
    }
}

impl<'a> Do<'a> {
    fn of((key, operation): &'a (String, Operation)) -> Do<'a> {
        let any = Do { key, ..Do::default() };
        match operation {
            Operation::Ignore(Representative::LeftOut) => Do { remove: true, ..any },
            Operation::Ignore(Representative::WherePresent(value)) => Do { replace: Some(value), ..any },
            Operation::Ignore(Representative::Everywhere(value)) | Operation::Keep(value) => {
                Do { set: Some(value), ..any }
            }
            Operation::Replace(from) => Do { copy: Some(from), ..any },
            Operation::Classes(pairs) => Do { map: Some(pairs), ..any },
            Operation::Apply(Function::DropEmpty) => Do { map: Some(&WITHOUT_EMPTY), ..any },
            Operation::Apply(function) => Do { apply: Some(*function), ..any },
        }
    }
}
