//! A rule between forms as one rewrite: all keys of its source are known, so the whole URL is one
//! pattern.

use super::context::Context;
use super::dependencies::guard;
use super::left_out::no_constraint;
use super::pattern::{EXTENSION, SEG, SEG_END, Space, literal, numbered, parameter};
use super::rewritten::{Piece, Rewrite};
use crate::rules::types::{Constraint, Operation, Rule, Test};
use crate::url::keys::MAX_SEGMENTS;
use crate::url::{Fixed, Key, Part, segment};

/// Part of a pattern that matches one key, and how the value is read back.
struct Source<'a> {
    constraint: &'a Constraint,
    key: Key,
    /// Group that holds the value, where an operation copies it.
    group: Option<u8>,
}

/// The rewrite of a closed rule.
///
/// # Errors
/// Why it cannot be expressed.
pub fn rewrite(context: &Context<'_>, at: usize) -> Result<Rewrite, String> {
    let rule = context.rule(at);
    if !context.site.tokens.delimiters.is_empty() || context.site.tokens.has_separators() {
        return Err("this site cuts its URLs at delimiters of its own".to_owned());
    }
    let mut sources = Vec::new();
    for constraint in rule.scope.iter().filter(|c| c.test.needs_key()) {
        let key = Key::parse(&constraint.key).ok_or_else(|| no_constraint(constraint))?;
        sources.push(Source { constraint, key, group: None });
    }
    let copied = |key: &Key| {
        let text = key.to_string();
        rule.operations.iter().any(|(_, op)| matches!(op, Operation::Replace(from) if *from == text))
    };
    let mut pattern = format!("^{}", guard(Space::Url, context.site, at, false));
    let mut groups = 0;
    let ranks = |name: &str| {
        let at = context.site.tokens.query_order.iter().position(|known| known == name);
        (at.unwrap_or(usize::MAX), name.to_owned())
    };
    let find = |sources: &[Source<'_>], fixed: Fixed| sources.iter().position(|s| s.key.is(fixed));
    let fixed_value = |sources: &[Source<'_>], fixed: Fixed| {
        let at = find(sources, fixed)?;
        match &sources[at].constraint.test {
            Test::Equals(value) => Some(value.clone()),
            _ => None,
        }
    };
    let needed =
        |fixed: Fixed, name: &str| fixed_value(&sources, fixed).ok_or_else(|| format!("its {name} is not one value"));
    let scheme = needed(Fixed::SCHEME, "scheme")?;
    let host = needed(Fixed::HOST, "host")?;
    let depth: usize = needed(Fixed::DEPTH, "depth")?.parse().map_err(|_| "its depth is no number".to_owned())?;
    let origin = format!("{scheme}://{host}");
    if !context.origins.contains(&origin.as_str()) {
        return Err(format!("{origin:?} is no origin of this site alone"));
    }
    let becomes = |key: &str, from: &str| match rule.operations.iter().find(|(of, _)| of == key) {
        Some((_, Operation::Keep(value))) => value.clone(),
        _ => from.to_owned(),
    };
    let becomes = format!("{}://{}", becomes("scheme", &scheme), becomes("host", &host));
    if !context.site.origins.contains(&becomes) {
        return Err(format!("{becomes:?} is no origin of this site"));
    }
    if depth + 2 >= MAX_SEGMENTS {
        return Err("its path is too deep".to_owned());
    }
    pattern.push_str(&format!("{}://{}", literal(&scheme), literal(&host)));
    let mut used = 3;
    let extension = fixed_value(&sources, Fixed::EXTENSION);
    for segment in 0..depth {
        let own: Vec<usize> =
            (0..sources.len()).filter(|&i| sources[i].key.as_path().is_some_and(|(at, _)| at == segment)).collect();
        used += own.len();
        let behind = if segment + 1 == depth { extension.clone() } else { None };
        pattern.push('/');
        pattern.push_str(&parts(&mut sources, &own, behind.as_deref(), &mut groups, &copied)?);
        used += usize::from(behind.is_some());
    }
    let slash = find(&sources, Fixed::TRAILING_SLASH).is_some();
    match fixed_value(&sources, Fixed::INDEX) {
        Some(index) => {
            pattern.push('/');
            pattern.push_str(&literal(&index));
            used += 1 + usize::from(slash);
        }
        None if depth == 0 || slash => {
            pattern.push('/');
            used += usize::from(slash);
        }
        None => {}
    }
    let mut query: Vec<usize> = (0..sources.len()).filter(|&i| matches!(sources[i].key, Key::Query(_))).collect();
    query.sort_by_key(|&i| match &sources[i].key {
        Key::Query(name) => ranks(name),
        _ => unreachable!("query keys only"),
    });
    used += query.len();
    for (place, &i) in query.iter().enumerate() {
        pattern.push_str(if place == 0 { r"\?" } else { "&" });
        let Key::Query(name) = sources[i].key.clone() else { unreachable!("query keys only") };
        pattern.push_str(&parameter(Space::Url, &name).ok_or_else(|| no_constraint(sources[i].constraint))?);
        let to = destinations(rule, &sources[i].key);
        pattern.push_str(&value(&mut sources[i], &name, &to, &mut groups, &copied)?);
    }
    if used != sources.len() {
        return Err("it names keys that a pattern of the whole URL cannot".to_owned());
    }
    pattern.push('$');
    if groups > 9 {
        return Err("it copies more than nine values".to_owned());
    }
    Ok(Rewrite { pattern, pieces: target(rule, &sources, &ranks)? })
}

/// Keys that get the value of `key`.
fn destinations(rule: &Rule, key: &Key) -> Vec<Key> {
    let text = key.to_string();
    let copies = rule.operations.iter().filter(|(_, op)| matches!(op, Operation::Replace(from) if *from == text));
    copies.filter_map(|(to, _)| Key::parse(to)).collect()
}

/// The pattern of the value of a query key.
fn value(
    source: &mut Source<'_>,
    name: &str,
    to: &[Key],
    groups: &mut u8,
    copied: &dyn Fn(&Key) -> bool,
) -> Result<String, String> {
    let (test, key) = (&source.constraint.test, source.key.clone());
    if !name.ends_with('=') {
        return Ok(String::new());
    }
    let mut out = String::new();
    let any = match test {
        Test::Equals(value) if !value.contains(['&', '#']) => literal(value),
        Test::OneOf(values) if values.iter().all(|v| !v.contains(['&', '#'])) => {
            format!("(?:{})", values.iter().map(|v| literal(v)).collect::<Vec<_>>().join("|"))
        }
        Test::Present | Test::NoneOf(_) => {
            if let Test::NoneOf(values) = test {
                let values: Vec<String> = values.iter().map(|v| literal(v)).collect();
                out.push_str(&format!("(?!(?:{})(?:[&#]|$))", values.join("|")));
            }
            // A value moves only where it can stand: no separator of its new place, no dot segment.
            match to.iter().any(|to| !matches!(to, Key::Query(_))) {
                true => {
                    out.push_str(r"(?!\.{1,2}(?:[&#]|$))");
                    "[^&#/?;+]+".to_owned()
                }
                false if to.iter().any(|to| *to != key) => "[^&#+]*".to_owned(),
                false => "[^&#]*".to_owned(),
            }
        }
        _ => return Err(no_constraint(source.constraint)),
    };
    match copied(&key) {
        true => {
            *groups += 1;
            source.group = Some(*groups);
            out.push_str(&format!("({any})"));
        }
        false => out.push_str(&any),
    }
    Ok(out)
}

/// The pattern of one path segment, whose parts are `own`; `extension` follows the last one.
fn parts(
    sources: &mut [Source<'_>],
    own: &[usize],
    extension: Option<&str>,
    groups: &mut u8,
    copied: &dyn Fn(&Key) -> bool,
) -> Result<String, String> {
    let part = |sources: &[Source<'_>], part: Part| {
        own.iter().copied().find(|&i| sources[i].key.as_path().is_some_and(|(_, p)| p == part))
    };
    let [head, number, tail, ext] = [Part::Head, Part::Number, Part::Tail, Part::Extension].map(|p| part(sources, p));
    let text = |sources: &[Source<'_>], at: usize| match &sources[at].constraint.test {
        Test::Equals(value) => Some(value.clone()),
        _ => None,
    };
    if own.len() != [head, number, tail, ext].iter().flatten().count() {
        return Err("a segment is cut into more parts than a pattern tells apart".to_owned());
    }
    let behind = match (
        extension,
        ext.map(|at| text(sources, at).ok_or_else(|| no_constraint(sources[at].constraint))).transpose()?,
    ) {
        (Some(known), None) => literal(known),
        (None, Some(known)) => literal(&known),
        (None, None) => String::new(),
        _ => return Err("two extensions".to_owned()),
    };
    // The body is everything before the extension; without one, it ends in no known extension.
    let no_extension = if behind.is_empty() { format!("(?!{SEG}+{}{SEG_END})", *EXTENSION) } else { String::new() };
    let mut group = |sources: &mut [Source<'_>], at: usize, pattern: String| match copied(&sources[at].key) {
        true => {
            *groups += 1;
            sources[at].group = Some(*groups);
            format!("({pattern})")
        }
        false => pattern,
    };
    let but = |sources: &[Source<'_>], at: usize| match &sources[at].constraint.test {
        Test::Present => Ok(String::new()),
        Test::NoneOf(values) => {
            let values: Vec<String> = values.iter().map(|v| literal(v)).collect();
            Ok(format!("(?!(?:{}){behind}{SEG_END})", values.join("|")))
        }
        _ => Err(no_constraint(sources[at].constraint)),
    };
    // What is copied elsewhere must be able to stand there; `&` and `+` have a meaning in a query.
    let plain = "[^/?#;&+]";
    match (head, number, tail) {
        (Some(head), None, None) => match text(sources, head) {
            Some(value) => {
                check(&value, "", sources[head].constraint)?;
                let value = literal(&value);
                Ok(group(sources, head, value) + &behind)
            }
            None => {
                let but = but(sources, head)?;
                let lone = format!("(?!{})", numbered_before(&behind));
                let value = group(sources, head, format!("{plain}+?"));
                Ok(format!("{no_extension}{lone}{but}{value}{behind}{SEG_END}"))
            }
        },
        (None, Some(number), None) => {
            let value = match text(sources, number) {
                Some(value) => literal(&value),
                None => but(sources, number)? + "[0-9]+",
            };
            Ok(group(sources, number, value) + &behind + SEG_END)
        }
        (Some(head), Some(number), None) => {
            let stem = text(sources, head).ok_or_else(|| no_constraint(sources[head].constraint))?;
            check(&stem, "7", sources[head].constraint)?;
            let value = match text(sources, number) {
                Some(value) => literal(&value),
                None => but(sources, number)? + "[0-9]+",
            };
            let stem = group(sources, head, literal(&stem));
            Ok(stem + &group(sources, number, value) + &behind + SEG_END)
        }
        (None, Some(number), Some(tail)) if sources[tail].constraint.test == Test::Present => {
            let number = match text(sources, number) {
                Some(value) => group(sources, number, literal(&value)),
                None => {
                    let but = but(sources, number)?;
                    but + &group(sources, number, "[0-9]+".to_owned())
                }
            };
            let tail = group(sources, tail, "[-_][^/?#;&+]*?".to_owned());
            Ok(format!("{no_extension}{number}{tail}{behind}{SEG_END}"))
        }
        _ => Err("parts of a segment that a pattern does not tell apart".to_owned()),
    }
}

/// A segment with a number in it, from its start, where `behind` is what its extension must be.
fn numbered_before(behind: &str) -> String {
    match behind.is_empty() {
        true => numbered(),
        false => {
            let body = format!("(?:[0-9]+|[A-Za-z][A-Za-z_.\\-]{{0,20}}[0-9]+|[0-9]+[-_]{SEG}*|{SEG}*[-_][0-9]+)");
            format!("{body}{behind}{SEG_END}")
        }
    }
}

/// The cutter must give this literal back as a head.
fn check(head: &str, behind: &str, constraint: &Constraint) -> Result<(), String> {
    let whole = format!("{head}{behind}");
    let split = segment::split(whole.as_bytes(), segment::last_dot(whole.as_bytes()), false).head;
    let plain = !head.is_empty() && !head.contains(['/', '?', '#', ';']);
    if plain && split == head.len() { Ok(()) } else { Err(no_constraint(constraint)) }
}

/// The URL that the rule writes.
fn target(rule: &Rule, sources: &[Source<'_>], ranks: &dyn Fn(&str) -> (usize, String)) -> Result<Vec<Piece>, String> {
    let mut keys: Vec<(Key, Piece)> = Vec::new();
    for (to, operation) in &rule.operations {
        let key = Key::parse(to).ok_or_else(|| format!("it writes {to}"))?;
        let piece = match operation {
            Operation::Keep(value) => Piece::Text(value.clone()),
            Operation::Replace(from) => {
                let from = Key::parse(from).ok_or_else(|| format!("it copies {from}"))?;
                let source =
                    sources.iter().find(|s| s.key == from).ok_or("it copies a key that its source does not have")?;
                match (source.group, &source.constraint.test) {
                    (Some(group), _) => Piece::Group(group),
                    (None, Test::Equals(value)) => Piece::Text(value.clone()),
                    _ => return Err("it copies a value that no group holds".to_owned()),
                }
            }
            _ => return Err("it does more than keep and replace".to_owned()),
        };
        keys.push((key, piece));
    }
    let of = |fixed: Fixed| keys.iter().find(|k| k.0.is(fixed)).map(|k| k.1.clone());
    let text = |piece: Option<Piece>| match piece {
        Some(Piece::Text(text)) => Some(text),
        _ => None,
    };
    let depth: usize = text(of(Fixed::DEPTH)).and_then(|d| d.parse().ok()).ok_or("its target has no depth")?;
    let scheme = of(Fixed::SCHEME).ok_or("its target has no scheme")?;
    let host = of(Fixed::HOST).ok_or("its target has no host")?;
    let mut out = vec![scheme, Piece::Text("://".to_owned()), host];
    let mut used = 3;
    for segment in 0..depth {
        out.push(Piece::Text("/".to_owned()));
        for part in Part::ORDER {
            let key = Key::Fixed(Fixed::path(segment, part));
            if let Some((_, piece)) = keys.iter().find(|k| k.0 == key) {
                out.push(piece.clone());
                used += 1;
            }
        }
    }
    let (extension, slash, index) = (of(Fixed::EXTENSION), of(Fixed::TRAILING_SLASH), of(Fixed::INDEX));
    used += [&extension, &slash, &index].iter().filter(|piece| piece.is_some()).count();
    let has_extension = extension.is_some();
    out.extend(extension);
    if depth == 0 || index.is_some() || slash.is_some() && !has_extension {
        out.push(Piece::Text("/".to_owned()));
    }
    out.extend(index);
    let mut query: Vec<(&String, &Piece)> = keys
        .iter()
        .filter_map(|(key, piece)| match key {
            Key::Query(name) => Some((name, piece)),
            _ => None,
        })
        .collect();
    query.sort_by_key(|(name, _)| ranks(name));
    used += query.len();
    for (place, (name, piece)) in query.into_iter().enumerate() {
        out.push(Piece::Text(format!("{}{name}", if place == 0 { "?" } else { "&" })));
        out.push(piece.clone());
    }
    if used != keys.len() {
        return Err("its target has keys that a pattern of the whole URL cannot write".to_owned());
    }
    // Texts side by side become one.
    let mut joined: Vec<Piece> = Vec::new();
    for piece in out {
        match (joined.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(more)) => before.push_str(&more),
            (_, piece) => joined.push(piece),
        }
    }
    Ok(joined)
}
