//! Dependencies between the rules of a site in an export.
//!
//! Undust applies all rules to the key-value pairs of a URL; a target has some of the rules, and reads
//! the URL anew before each. Two things could then merge URLs that undust keeps apart:
//!
//! - A rule that is left out stops a later one, or separates URLs that the later one merges:
//!   [`needs`].
//! - A rule rewrites the first directory of the path, so that a later condition on the section, which
//!   undust tests on the original URL, holds for another URL: [`moves_section`].
//!
//! In both cases the later rule is left out, or acts on fewer URLs ([`guard`]).

use super::pattern::{END, FEW_PARAMETERS, REPEATS, SEG, Space, parameter, plain_path, single};
use crate::rules::types::{Function, Operation, Representative, Rule, SECTION, SiteRules, Test, Tokens};
use crate::url::{Fixed, Key, Part, section};

/// True where `rule` may merge URLs that undust keeps apart if `before`, which acts first, is left out
/// or acts on fewer URLs. Keys are compared by name; what cannot be excluded counts.
pub fn needs(rule: &Rule, before: &Rule) -> bool {
    if before.mirror().is_some() {
        // A mirror acts on what all other rules left of a URL.
        return false;
    }
    let writes = |key: &str| rule.operations.iter().any(|(of, _)| of == key);
    let tells_apart = match before.closed {
        // A rule between forms reads all keys: another key, or one less, stops it.
        true => !rule.closed && !origins_differ(rule, before),
        false => before.scope.iter().any(|constraint| writes(&constraint.key)),
    };
    let stops = before.operations.iter().any(|(key, operation)| {
        let mut asked = rule.scope.iter().filter(|constraint| constraint.key == *key);
        let mut own = rule.operations.iter().filter(|(of, _)| of == key);
        asked.any(|constraint| !keeps(operation, &constraint.test))
            || own.any(|(_, own)| !joins_as_much(own, operation))
    });
    let copies = |key: &str| {
        let from = |(_, operation): &(String, Operation)| matches!(operation, Operation::Replace(of) if of == key);
        rule.operations.iter().any(from)
    };
    let copied = before.operations.iter().any(|(key, _)| copies(key));
    let origin = |of: &Rule| of.operations.iter().any(|(key, _)| key == "scheme" || key == "host");
    tells_apart || stops || copied || rule.closed && !origins_differ(rule, before) || origin(before) && origin(rule)
}

/// True for two rules whose conditions name different hosts or schemes, so that no URL is for both.
fn origins_differ(one: &Rule, other: &Rule) -> bool {
    let value = |rule: &Rule, key: &str| {
        rule.scope.iter().find_map(|constraint| match &constraint.test {
            Test::Equals(value) if constraint.key == key => Some(value.clone()),
            _ => None,
        })
    };
    let moves = one.operations.iter().chain(&other.operations).any(|(key, _)| key == "scheme" || key == "host");
    let differ = |key: &str| value(one, key).zip(value(other, key)).is_some_and(|(a, b)| a != b);
    !moves && (differ("scheme") || differ("host"))
}

/// True where a value for which the test holds is, after the operation, one for which it holds.
fn keeps(operation: &Operation, test: &Test) -> bool {
    let holds = |value: Option<&str>| test.holds(value.map(str::as_bytes));
    let after = |value: Option<&str>| test.holds(operation.value(value.map(str::as_bytes)).as_deref());
    match (operation, test) {
        (Operation::Replace(_), _) => false,
        (_, Test::Absent) => after(None),
        (_, Test::Not(_)) if !after(None) => false,
        (_, Test::Equals(value)) => after(Some(value)),
        (_, Test::OneOf(values)) => values.iter().all(|value| after(Some(value))),
        (Operation::Ignore(Representative::LeftOut) | Operation::Apply(Function::DropEmpty), _) => false,
        (Operation::Apply(_), Test::Present) => true,
        (Operation::Apply(_), Test::NoneOf(_) | Test::Not(_)) => false,
        (Operation::Classes(pairs), _) => {
            pairs.iter().all(|(from, to)| !holds(from.as_deref()) || holds(to.as_deref()))
        }
        (
            Operation::Ignore(Representative::WherePresent(to) | Representative::Everywhere(to)) | Operation::Keep(to),
            _,
        ) => holds(Some(to)),
    }
}

/// True where values of a key that `rule` makes one are made one by it, too, if `before` acts on them
/// first.
fn joins_as_much(rule: &Operation, before: &Operation) -> bool {
    let is_fixed = |value: &Option<String>| {
        let value = value.as_ref().map(|value| value.as_bytes());
        before.value(value).as_deref() == value
    };
    match rule {
        Operation::Ignore(Representative::LeftOut | Representative::Everywhere(_)) | Operation::Keep(_) => true,
        // Any present values are one: they must stay present.
        Operation::Ignore(Representative::WherePresent(_)) => keeps(before, &Test::Present),
        Operation::Classes(pairs) => pairs.iter().all(|(from, to)| is_fixed(from) && is_fixed(to)),
        Operation::Apply(_) | Operation::Replace(_) => false,
    }
}

/// True where the test of a condition on the section may have another result once `before`, which the
/// target has, acted. Its [`guard`] is taken into account.
pub fn moves_section(tokens: &Tokens, before: &Rule, test: &Test) -> bool {
    if before.mirror().is_some() {
        return false;
    }
    if before.closed {
        return true;
    }
    before.operations.iter().any(|(key, operation)| {
        let Some(Key::Fixed(fixed)) = Key::parse(key) else { return false };
        match (fixed.as_path(), operation) {
            (Some((0, Part::Head)), Operation::Classes(pairs)) => pairs.iter().any(|(from, to)| {
                from.as_deref().zip(to.as_deref()).is_none_or(|(from, to)| !are_alike(tokens, test, from, to))
            }),
            (Some((0, _)), _) => true,
            _ => false,
        }
    })
}

/// True where the test holds for both of two heads of the first directory or for none of them, whatever
/// follows.
fn are_alike(tokens: &Tokens, test: &Test, from: &str, to: &str) -> bool {
    let named = tokens.sections.iter().map(|name| name.trim_end_matches('/'));
    let behind = named.flat_map(|name| [name.strip_prefix(from), name.strip_prefix(to)]).flatten();
    let holds = |head: &str, behind: &str| {
        let path = format!("/{head}{behind}/");
        test.holds(Some(tokens.section_of_path(path.as_bytes())))
    };
    let plain = |head: &str| {
        let path = format!("/{head}/x");
        matches!(section::of(path.as_bytes()), section::Section::Word(_) | section::Section::Other)
            && head.bytes().any(|byte| !byte.is_ascii_digit())
    };
    plain(from) && plain(to) && behind.chain(["", ".", "0"]).all(|behind| holds(from, behind) == holds(to, behind))
}

/// Look-aheads of the rule at `at`, so that it acts on no URL on which a rule that it [needs] cannot
/// act in the target, and moves no URL to another section before a condition on the section is tested:
/// by a later rule, or, where it acts in `steps`, by itself.
pub fn guard(space: Space, site: &SiteRules, at: usize, steps: bool) -> String {
    let (before, rule, behind) = (&site.rules[..at], &site.rules[at], &site.rules[at + 1..]);
    let mut guards: Vec<String> =
        before.iter().filter(|before| needs(rule, before)).flat_map(|before| narrowed(space, before)).collect();
    let asks = |rule: &Rule| rule.scope.iter().any(|constraint| constraint.key == SECTION);
    if !rule.closed && (behind.iter().any(asks) || steps && asks(rule)) {
        guards.extend(rule.operations.iter().flat_map(|(key, _)| keeps_section(space, &site.tokens, key)));
    }
    guards.sort_unstable();
    guards.dedup();
    guards.concat()
}

/// The URLs on which a rule that a target has can act, less those of its scope.
fn narrowed(space: Space, rule: &Rule) -> Vec<String> {
    if rule.closed {
        return Vec::new();
    }
    let mut out = vec![FEW_PARAMETERS.to_owned(), plain_path(space)];
    for (key, operation) in &rule.operations {
        let Some(Key::Query(name)) = Key::parse(key) else { continue };
        let Some(parameter) = parameter(space, &name) else { continue };
        match operation {
            Operation::Ignore(Representative::LeftOut) => out.push(few_repeats(&parameter, REPEATS)),
            Operation::Ignore(_) => out.push(single(&parameter)),
            _ => {}
        }
    }
    out
}

/// No more than this many parameters of a key.
pub fn few_repeats(parameter: &str, times: usize) -> String {
    format!(r"(?![^?#]*\?(?:(?:[^&#]*&)*?{parameter}[^&#]*(?:&|(?=#|$))){{{}}})", times + 1)
}

/// URLs whose section an operation on this key does not change.
fn keeps_section(space: Space, tokens: &Tokens, key: &str) -> Vec<String> {
    let front = space.front();
    let members: Vec<String> =
        tokens.sections.iter().filter(|of| of.ends_with('/')).map(|of| space.literal(of)).collect();
    let in_members = |behind: &str| match members.is_empty() {
        true => Vec::new(),
        false => vec![format!("(?!{front}/+(?:{}){behind})", members.join("|"))],
    };
    let Some(Key::Fixed(fixed)) = Key::parse(key) else { return Vec::new() };
    match fixed {
        Fixed::TRAILING_SLASH => vec![format!("(?!{front}/+{SEG}+/*{END})")],
        // A file that stands directly in a directory of tenants is a tenant, whatever it is called.
        Fixed::EXTENSION => [in_members("/*"), vec![format!("(?!{front}/+~)")]].concat(),
        Fixed::INDEX | Fixed::DOUBLE_SLASH => in_members(""),
        fixed if matches!(fixed.as_path(), Some((1, _))) => in_members(""),
        _ => Vec::new(),
    }
}
