//! Numbers and rules in plain words.

use crate::model::shown::within;
use crate::rules::{Constraint, Function, Operation, PREFIX, Representative, Rule, SECTION, Test};
use crate::url::keys::HOST_SUB;
use crate::url::section::{NUMBER, OTHER};
use crate::url::{Key, Part};

/// Characters of a text of others (URL, value, name) that are shown.
const LONGEST: usize = 300;
/// Values of a list that are written out.
const VALUES: usize = 4;

/// A text of others, the middle left out where it is long; not escaped for HTML.
pub(super) fn brief(text: &str) -> String {
    within(text, LONGEST)
}

/// A number with commas.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number and its noun.
pub(super) fn many(number: u64, noun: &str) -> String {
    let ending = match (number, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(number))
}

/// Millionths as percent, rounded up in the second place where it is under 1 %, else in the first.
pub(super) fn percent(ppm: u64) -> String {
    match ppm {
        0..10_000 => format!("{:.2} %", ppm.div_ceil(100) as f64 / 100.0),
        _ => format!("{:.1} %", ppm as f64 / 1e4),
    }
}

/// Effect of a rule, in a sentence.
pub(super) fn sentence(rule: &Rule) -> String {
    let mut scope: Vec<String> = rule.scope.iter().map(constraint).collect();
    if rule.closed {
        scope.push("nothing else is in the URL".to_owned());
    }
    let changes = rule.operations.iter().filter(|(key, op)| !keeps(rule, key, op));
    let mut done: Vec<String> = changes.map(|(key, op)| operation(key, op)).collect();
    if rule.closed {
        // What the source has and no operation names does not exist in the target.
        let named = |key: &str| rule.operations.iter().any(|(of, _)| of == key) || key == SECTION;
        let gone = rule.scope.iter().filter(|of| of.test != Test::Absent && !named(&of.key));
        done.extend(gone.map(|of| format!("{} goes", key(&of.key))));
    }
    if done.is_empty() {
        done.push("the URL stays as it is".to_owned());
    }
    let done = done.join("; ");
    let text = match scope.is_empty() {
        true => done,
        false => format!("where {}: {done}", scope.join(" and ")),
    };
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect::<String>() + ".")
}

/// True for an operation that leaves its key as the scope says it is: rules between forms name every
/// key.
fn keeps(rule: &Rule, key: &str, operation: &Operation) -> bool {
    match operation {
        Operation::Replace(source) => source == key,
        Operation::Keep(value) => {
            rule.scope.iter().any(|of| of.key == key && matches!(&of.test, Test::Equals(is) if is == value))
        }
        _ => false,
    }
}

/// A key of a URL in words.
fn key(text: &str) -> String {
    let named = |what: &str, name: &str| format!("the {what} {}", quoted(name.strip_suffix('=').unwrap_or(name)));
    match Key::parse(text) {
        Some(Key::Query(name)) => named("parameter", &name),
        Some(Key::Param(name)) => named("path parameter", &name),
        Some(Key::Fixed(fixed)) => match fixed.as_path() {
            Some((segment, part)) => {
                let of = format!("part {} of the path", segment + 1);
                match part {
                    Part::Head => of,
                    Part::Number => format!("the number in {of}"),
                    Part::Tail => format!("what follows the number in {of}"),
                    Part::Extension => format!("the extension in {of}"),
                    Part::Group => format!("the last but one piece of {of}"),
                    Part::Groups => format!("the first pieces of {of}"),
                }
            }
            None => fixed_key(text),
        },
        None => fixed_key(text),
    }
}

fn fixed_key(text: &str) -> String {
    match text {
        SECTION => "the first directory",
        PREFIX => "the beginning of the URL",
        HOST_SUB => "the subdomain",
        "trailing slash" => "the slash at the end of the path",
        "double slash" => "doubled slashes in the path",
        "index" => "the name of the directory index",
        "depth" => "the number of parts of the path",
        "ext" => "the extension",
        "empty query" => "a ? with nothing behind it",
        "order" => "the order of the parameters",
        "separator" => "the separators of the parameters",
        "whole query" => "the whole query",
        "scheme" | "host" | "fragment" => return format!("the {text}"),
        other => other,
    }
    .to_owned()
}

fn constraint(Constraint { key: name, test }: &Constraint) -> String {
    let of = key(name);
    let quoted = |value: &str| match value {
        OTHER if name == SECTION => "any other".to_owned(),
        NUMBER if name == SECTION => "a number".to_owned(),
        value => quoted(value),
    };
    let list = |values: &[String]| list(values, quoted);
    match test {
        Test::Equals(value) => format!("{of} is {}", quoted(value)),
        Test::OneOf(values) => format!("{of} is {}", list(values)),
        Test::NoneOf(values) => format!("{of} is there and is not {}", list(values)),
        Test::Present => format!("{of} is there"),
        Test::Absent => format!("{of} is not there"),
    }
}

fn operation(name: &str, operation: &Operation) -> String {
    let of = key(name);
    match operation {
        Operation::Keep(value) => format!("{of} becomes {}", quoted(value)),
        Operation::Replace(source) => format!("{of} is taken from {}", key(source)),
        Operation::Ignore(Representative::LeftOut) => format!("{of} goes"),
        Operation::Ignore(Representative::WherePresent(value)) => match Key::parse(name) {
            Some(Key::Fixed(_)) => format!("{of} is always {}", quoted(value)),
            _ => format!("{of} becomes {} where it is there", quoted(value)),
        },
        Operation::Ignore(Representative::Everywhere(value)) => format!("{of} is always {}", quoted(value)),
        Operation::Classes(pairs) => {
            let value = |value: &Option<String>| value.as_deref().map_or_else(|| "nothing".to_owned(), quoted);
            let shown = pairs.iter().take(VALUES).map(|(from, to)| format!("{} becomes {}", value(from), value(to)));
            let more = pairs.len().saturating_sub(VALUES);
            let more = if more > 0 { format!(", and {more} more values") } else { String::new() };
            format!("in {of} {}{more}", shown.collect::<Vec<_>>().join(", "))
        }
        Operation::Apply(function) => format!("{of} {}", applied(*function)),
    }
}

fn applied(function: Function) -> &'static str {
    match function {
        Function::DropWww => "loses its www.",
        Function::DecodeSubDelimiters => "has harmless escapes written out",
        Function::DecodeSlash => "has escaped slashes written out",
        Function::PlusIsSpace => "has + written as %20",
        Function::DropEmpty => "goes where it is empty",
        Function::LowerCase => "is written in lower case",
        Function::DropLeadingZeros => "loses zeros before numbers",
        Function::FirstRepeat => "counts once, the first of its values",
        Function::LastRepeat => "counts once, the last of its values",
        Function::SortRepeats => "has its values sorted, each once",
    }
}

fn quoted(value: &str) -> String {
    format!("“{}”", within(value, 80))
}

fn list(values: &[String], quoted: impl Fn(&str) -> String) -> String {
    let mut shown: Vec<String> = values.iter().take(VALUES).map(|value| quoted(value)).collect();
    if values.len() > VALUES {
        shown.push(format!("one of {} more", values.len() - VALUES));
    }
    shown.join(" or ")
}
