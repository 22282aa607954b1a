//! Rules and branches of the pattern tree in plain words.

use crate::model::shown::within;
use crate::report::text::many;
use crate::rules::{Constraint, Function, Operation, PREFIX, Representative, Rule, SECTION, Test};
use crate::url::keys::HOST_SUB;
use crate::url::section::{NUMBER, OTHER};
use crate::url::{Key, Part};

/// Values of a list that are written out.
const VALUES: usize = 4;
/// Keys that every URL has.
const ALWAYS: [&str; 4] = [SECTION, "scheme", "host", "depth"];

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
        let gone = rule.scope.iter().filter(|of| of.test.needs_key() && !named(&of.key));
        done.extend(gone.map(|of| format!("{} is removed", key(&of.key))));
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
        Operation::Classes(pairs) => pairs.is_empty(),
        Operation::Keep(value) => {
            rule.scope.iter().any(|of| of.key == key && matches!(&of.test, Test::Equals(is) if is == value))
        }
        _ => false,
    }
}

/// A branch of the pattern tree: its text is a key, and what the key is.
pub(super) fn branch(text: &str) -> String {
    let Some((name, is)) = text.split_once(" is ") else { return text.to_owned() };
    let of = key(name);
    let of = of.strip_prefix("the ").unwrap_or(&of);
    match (is, is.strip_prefix("none of ")) {
        ("another", _) => format!("{of} is another value"),
        (_, Some(named)) => format!("{of} is none of the {named} values"),
        _ => format!("{of} is {is}"),
    }
}

/// A key of a URL in words.
fn key(text: &str) -> String {
    let named = |what: &str, name: &str| match name.strip_suffix('=').unwrap_or(name) {
        "" => format!("the {what} without a name"),
        name => format!("the {what} {}", quoted(name)),
    };
    match Key::parse(text) {
        Some(Key::Query(name)) => named("parameter", &name),
        Some(Key::Param(name)) if name == "/" => {
            "the last part of the path, a word that the site puts behind pages,".to_owned()
        }
        Some(Key::Param(name)) if name.len() > 1 && name.ends_with('/') => {
            format!("the word that {} joins to the last part of the path", quoted(name.trim_end_matches('/')))
        }
        Some(Key::Param(name)) if name == "<list>" => "the start of the list in the query".to_owned(),
        Some(Key::Param(name)) if name.starts_with("<end>") => {
            format!("the last part of {}", named("parameter", &name["<end>".len()..]))
        }
        Some(Key::Param(name)) if name.starts_with("<list>") => named("parameter", &name["<list>".len()..]),
        Some(Key::Param(name)) => match name.strip_prefix('/') {
            Some(word) => format!("the number behind {} at the end of the path", quoted(word)),
            None => named("path parameter", &name),
        },
        Some(Key::Fixed(fixed)) => match fixed.as_path() {
            Some((segment, part)) => {
                let of = format!("part {} of the path", segment + 1);
                match part {
                    Part::Head => of,
                    Part::Number => format!("the number in {of}"),
                    Part::Tail => format!("what follows the number in {of}"),
                    Part::Extension => format!("the extension in {of}"),
                    Part::Group => format!("the last but one piece of {of}"),
                    Part::Groups => format!("the front of {of}"),
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
        "double slash" => "the doubled slash in the path",
        "index" => "the name of the directory index",
        "depth" => "the number of parts of the path",
        "ext" => "the extension",
        "empty query" => "the ? with nothing behind it",
        "order" => "the order of the parameters",
        "separator" => "the separator of the parameters",
        "whole query" => "the whole query",
        "scheme" | "host" | "fragment" => return format!("the {text}"),
        other => other,
    }
    .to_owned()
}

fn constraint(Constraint { key: name, test }: &Constraint) -> String {
    let of = key(name);
    let quoted = |value: &str| match value {
        OTHER if name == SECTION => "rare or missing".to_owned(),
        NUMBER if name == SECTION => "a number".to_owned(),
        value => quoted(value),
    };
    let list = |values: &[String]| list(values, quoted);
    match test {
        Test::Equals(value) => match value.parse() {
            Ok(parts) if name == "depth" => format!("the path has {}", many(parts, "part")),
            _ => match value.split_once('&').filter(|(front, _)| name == PREFIX && front.contains('?')) {
                Some((front, names)) => {
                    let names: Vec<String> =
                        names.split('&').map(|name| name.trim_end_matches('=').to_owned()).collect();
                    format!("{of} is {} and parameters of the names {} follow", quoted(front), list(&names))
                }
                None => format!("{of} is {}", quoted(value)),
            },
        },
        Test::OneOf(values) => format!("{of} is {}", list(values)),
        Test::NoneOf(values) if ALWAYS.contains(&name.as_str()) => format!("{of} is not {}", list(values)),
        Test::Not(values) => format!("{of} is not {}", list(values)),
        Test::NoneOf(values) => format!("{of} is present and is not {}", list(values)),
        Test::Present => format!("{of} is present"),
        Test::Absent => format!("{of} is absent"),
    }
}

fn operation(name: &str, operation: &Operation) -> String {
    let of = key(name);
    match operation {
        Operation::Keep(value) => format!("{of} becomes {}", quoted(value)),
        Operation::Replace(source) => format!("{of} is taken from {}", key(source)),
        Operation::Ignore(Representative::LeftOut) if name == "order" => {
            "the parameters are put in one order".to_owned()
        }
        Operation::Ignore(Representative::LeftOut) => format!("{of} is removed"),
        Operation::Ignore(Representative::WherePresent(value)) => match Key::parse(name) {
            Some(Key::Fixed(_)) => format!("{of} is always {}", quoted(value)),
            _ => format!("{of} becomes {} where it is present", quoted(value)),
        },
        Operation::Ignore(Representative::Everywhere(value)) => format!("{of} is always {}", quoted(value)),
        Operation::Classes(pairs) => classes(&of, pairs),
        Operation::Apply(function) => format!("{of} {}", applied(*function)),
    }
}

/// Values of a key that become others; `None` is an absent key.
fn classes(of: &str, pairs: &[(Option<String>, Option<String>)]) -> String {
    let removed: Option<Vec<String>> = pairs.iter().map(|(from, to)| from.clone().filter(|_| to.is_none())).collect();
    if let Some(removed) = removed {
        return format!("{of} is removed where it is {}", list(&removed, quoted));
    }
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| "a missing value".to_owned(), quoted);
    let shown = pairs.iter().take(VALUES).map(|(from, to)| format!("{} becomes {}", value(from), value(to)));
    let more = pairs.len().saturating_sub(VALUES);
    let more = if more > 0 { format!(", and {}", many(more as u64, "more value")) } else { String::new() };
    format!("in {of}, {}{more}", shown.collect::<Vec<_>>().join(", "))
}

fn applied(function: Function) -> &'static str {
    match function {
        Function::DropWww => "loses its www.",
        Function::DecodeSubDelimiters => "has harmless escapes written out",
        Function::DecodeSlash => "has escaped slashes written out",
        Function::PlusIsSpace => "has + written as %20",
        Function::DropEmpty => "is removed where it is empty",
        Function::LowerCase => "is written in lower case",
        Function::DropLeadingZeros => "loses zeros before numbers",
        Function::DropTitle => "loses the title behind its number",
        Function::HashTo7 => "is cut to 7 digits where it is a hash",
        Function::HashTo8 => "is cut to 8 digits where it is a hash",
        Function::HashTo10 => "is cut to 10 digits where it is a hash",
        Function::HashTo12 => "is cut to 12 digits where it is a hash",
        Function::FirstRepeat => "counts once, the first of its values",
        Function::LastRepeat => "counts once, the last of its values",
        Function::SortRepeats => "has its values sorted, each once",
        Function::SortFamily => "has its values sorted",
    }
}

fn quoted(value: &str) -> String {
    if value.is_empty() { "empty".to_owned() } else { format!("“{}”", within(value, 80)) }
}

fn list(values: &[String], quoted: impl Fn(&str) -> String) -> String {
    // One more takes no more room than the words that count it.
    let written = if values.len() == VALUES + 1 { VALUES + 1 } else { VALUES };
    let mut shown: Vec<String> = values.iter().take(written).map(|value| quoted(value)).collect();
    if values.len() > written {
        shown.push(format!("one of {} more", values.len() - written));
    }
    match shown.pop() {
        Some(last) if !shown.is_empty() => format!("{} or {last}", shown.join(", ")),
        last => last.unwrap_or_else(|| "nothing".to_owned()),
    }
}
