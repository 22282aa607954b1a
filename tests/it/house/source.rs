//! Rust source as the house checks need it: words and marks without comments and test code, and the
//! paths named in it.
//!
//! A lexer of one page instead of a parser crate: the checks ask only which names a file uses. What it
//! does not see: names made by macros, and imports renamed twice.

use std::collections::BTreeMap;

/// One token of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Line, from 1.
    pub(super) line: usize,
    /// A word (identifier, keyword, number), a mark (`::` or one character) or a string literal with its
    /// quotes.
    pub(super) text: String,
}

/// A path named in a source file, imports resolved: `Instant::now` after `use std::time::Instant` is
/// `[std, time, Instant, now]`. A macro call ends in `!`, a glob import in `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Line, from 1.
    pub(super) line: usize,
    /// The segments.
    pub(super) path: Vec<String>,
}

/// Splits `source` into tokens; comments are dropped.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let c: Vec<char> = source.chars().collect();
    let at = |i: usize| c.get(i).copied().unwrap_or('\0');
    let is_word = |x: char| x.is_alphanumeric() || x == '_';
    let (mut out, mut i, mut line) = (Vec::new(), 0, 1);
    while i < c.len() {
        let start = i;
        let keep = match at(i) {
            '/' if at(i + 1) == '/' => {
                i = (i..c.len()).find(|&j| c[j] == '\n').unwrap_or(c.len());
                false
            }
            '/' if at(i + 1) == '*' => {
                i = end_of_block_comment(&c, i);
                false
            }
            x if x.is_whitespace() => {
                i += 1;
                false
            }
            // `r"..."`, `br#"..."#`: no escapes inside; a raw identifier `r#type` falls through to the words.
            'r' | 'b' | 'c' if raw_string_hashes(&c, i).is_some() => {
                let (open, hashes) = raw_string_hashes(&c, i).expect("just seen");
                let closes = |j: usize| at(j) == '"' && (1..=hashes).all(|k| at(j + k) == '#');
                i = (open + 1..c.len()).find(|&j| closes(j)).map_or(c.len(), |j| j + 1 + hashes);
                true
            }
            '"' => {
                i = end_of_quoted(&c, i);
                true
            }
            'b' | 'c' if at(i + 1) == '"' || (at(i) == 'b' && at(i + 1) == '\'') => {
                i = end_of_quoted(&c, i + 1);
                true
            }
            // A character literal closes after one character or an escape; anything else is a lifetime.
            '\'' if at(i + 1) == '\\' || at(i + 2) == '\'' => {
                i = end_of_quoted(&c, i);
                true
            }
            x if is_word(x) => {
                i = (i..c.len()).find(|&j| !is_word(c[j])).unwrap_or(c.len());
                true
            }
            ':' if at(i + 1) == ':' => {
                i += 2;
                true
            }
            _ => {
                i += 1;
                true
            }
        };
        if keep {
            out.push(Token { line, text: c[start..i].iter().collect() });
        }
        line += c[start..i].iter().filter(|&&x| x == '\n').count();
    }
    out
}

/// Index after the `*/` that closes the comment opened at `i`; comments nest.
fn end_of_block_comment(c: &[char], i: usize) -> usize {
    let (mut depth, mut j) = (0, i);
    while j + 1 < c.len() {
        match (c[j], c[j + 1]) {
            ('/', '*') => (depth, j) = (depth + 1, j + 2),
            ('*', '/') => (depth, j) = (depth - 1, j + 2),
            _ => j += 1,
        }
        if depth == 0 {
            return j;
        }
    }
    c.len()
}

/// Index after the quote that closes the literal whose opening quote stands at `i`.
fn end_of_quoted(c: &[char], i: usize) -> usize {
    let mut j = i + 1;
    while j < c.len() && c[j] != c[i] {
        j += if c[j] == '\\' { 2 } else { 1 };
    }
    (j + 1).min(c.len())
}

/// Index of the opening quote and number of hashes, where a raw string starts at `i`.
fn raw_string_hashes(c: &[char], i: usize) -> Option<(usize, usize)> {
    let r = if c[i] == 'r' { i } else { i + 1 };
    if c.get(r) != Some(&'r') {
        return None;
    }
    let hashes = c[r + 1..].iter().take_while(|&&x| x == '#').count();
    (c.get(r + 1 + hashes) == Some(&'"')).then_some((r + 1 + hashes, hashes))
}

/// Takes items under `#[cfg(test)]` out of `tokens`; also returns the names (or `path` attributes) of
/// test modules that are files of their own.
pub(super) fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let (mut kept, mut files, mut i) = (Vec::new(), Vec::new(), 0);
    while i < tokens.len() {
        let Some(end) = attribute_end(tokens, i).filter(|&end| is_test_cfg(&tokens[i..end])) else {
            kept.push(tokens[i].clone());
            i += 1;
            continue;
        };
        let (mut item, mut path) = (end, None);
        while let Some(next) = attribute_end(tokens, item) {
            if text(item + 2) == "path" {
                path = Some(text(item + 4).trim_matches('"').to_string());
            }
            item = next;
        }
        let end = item_end(tokens, item);
        let word = (item..end).find(|&j| text(j) == "mod");
        if let Some(word) = word.filter(|&word| text(word + 2) == ";") {
            files.push(path.unwrap_or_else(|| text(word + 1).to_string()));
        }
        i = end;
    }
    (kept, files)
}

/// Index after the `]` of the outer attribute that starts at `i`.
fn attribute_end(tokens: &[Token], i: usize) -> Option<usize> {
    let opens = tokens.get(i)?.text == "#" && tokens.get(i + 1)?.text == "[";
    opens.then(|| closing(tokens, i + 1) + 1)
}

/// `#[cfg(test)]` and its like (`all(test, unix)`), but not `not(test)`.
fn is_test_cfg(attribute: &[Token]) -> bool {
    let has = |word: &str| attribute.iter().any(|t| t.text == word);
    attribute[2].text == "cfg" && has("test") && !has("not")
}

/// Index of the bracket that closes the one at `open`.
pub(super) fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    tokens.len().saturating_sub(1)
}

/// Index after the item, field or statement that starts at `start`.
fn item_end(tokens: &[Token], start: usize) -> usize {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let is_field = text(start + 1) == ":" || (text(start) == "pub" && text(start + 2) == ":");
    // In these a brace does not end the item.
    let to_semicolon = (start..start + 2).any(|i| matches!(text(i), "use" | "const" | "static" | "let" | "type"));
    let to_semicolon = to_semicolon && !(start..start + 3).any(|i| text(i) == "fn");
    let mut i = start;
    while i < tokens.len() {
        match text(i) {
            ";" => return i + 1,
            "," if is_field => return i + 1,
            ")" | "]" | "}" => return i, // the block around a last field or statement
            "{" if !to_semicolon && !is_field => return closing(tokens, i) + 1,
            "(" | "[" | "{" => i = closing(tokens, i) + 1,
            _ => i += 1,
        }
    }
    i
}

/// Every path of two or more segments, every import and every macro call in `tokens`. `module` is where
/// the file stands: `["site", "tree"]` for `src/site/tree.rs`; `crate`, `self` and `super` are resolved
/// against it into paths that start with `crate`.
pub(super) fn named(tokens: &[Token], module: &[String]) -> Vec<Named> {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let (mut out, mut imports, mut i) = (Vec::new(), BTreeMap::new(), 0);
    let mut used = Vec::new();
    while i < tokens.len() {
        if text(i) == "use" && text(i + 1) != "<" {
            i = import(tokens, i + 1, &[], &mut used);
            continue;
        }
        if !is_word(text(i)) {
            i += 1;
            continue;
        }
        let (line, mut path) = (tokens[i].line, vec![text(i).to_string()]);
        while text(i + 1) == "::" && is_word(text(i + 2)) {
            path.push(text(i + 2).to_string());
            i += 2;
        }
        if text(i + 1) == "!" && text(i + 2) != "=" {
            path.last_mut().expect("not empty").push('!');
        }
        if path.len() > 1 || path[0].ends_with('!') {
            out.push(Named { line, path });
        }
        i += 1;
    }
    for (name, import) in used {
        let path = absolute(&import.path, module);
        imports.insert(name, path.clone());
        out.push(Named { line: import.line, path });
    }
    for named in &mut out {
        if let Some(import) = imports.get(&named.path[0]).filter(|_| named.path.len() > 1) {
            named.path = import.iter().chain(&named.path[1..]).cloned().collect();
        } else {
            named.path = absolute(&named.path, module);
        }
    }
    out.sort_by_key(|n| n.line);
    out
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Reads one import tree from `i` on into `(name in this file, full path)` pairs; returns the index
/// after it.
pub(super) fn import(tokens: &[Token], mut i: usize, before: &[String], out: &mut Vec<(String, Named)>) -> usize {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let mut path = before.to_vec();
    let line = tokens.get(i).map_or(0, |t| t.line);
    loop {
        match text(i) {
            "::" => i += 1,
            "{" => {
                let end = closing(tokens, i);
                i += 1;
                while i < end {
                    i = import(tokens, i, &path, out).max(i + 1);
                }
                return end + 1;
            }
            "as" => {
                out.push((text(i + 1).to_string(), Named { line, path }));
                return i + 2;
            }
            word if is_word(word) || word == "*" => {
                // `use a::{self}` names `a`.
                if word != "self" || path.is_empty() {
                    path.push(word.to_string());
                }
                i += 1;
            }
            _ => {
                if path.len() > before.len() || text(i.wrapping_sub(1)) == "self" {
                    out.push((path.last().cloned().unwrap_or_default(), Named { line, path }));
                }
                return i;
            }
        }
    }
}

/// `path` with `crate`, `self`, `super` and this package's own name resolved.
pub(super) fn absolute(path: &[String], module: &[String]) -> Vec<String> {
    let root = || vec!["crate".to_string()];
    let mut depth = module.len();
    let mut skip = 0;
    match path[0].as_str() {
        "crate" | "undust" => return root().into_iter().chain(path[1..].iter().cloned()).collect(),
        "self" => skip = 1,
        "super" => {
            while path.get(skip).is_some_and(|s| s == "super") {
                (skip, depth) = (skip + 1, depth.saturating_sub(1));
            }
        }
        _ => return path.to_vec(),
    }
    root().into_iter().chain(module[..depth].iter().cloned()).chain(path[skip..].iter().cloned()).collect()
}
