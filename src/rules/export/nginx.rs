//! `map` blocks of nginx, chained: the first is empty for a URL that is not in [normal form](NORMAL_FORM),
//! step n maps `$undust_{n-1}` to `$undust_n` by the n-th rewrite of every site (sites have origins of
//! their own, so that one pattern of a block matches at most), and the last sets `$undust_canonical`,
//! the URL itself where the result is empty. Requires nginx with PCRE. Variables are evaluated on use,
//! so a request that does not use them costs nothing.

use super::comments::{about, comment, commented};
use super::context::Context;
use super::pattern::{Engine, NORMAL_FORM};
use super::rewrite;
use super::rewritten::Rewrite;
use super::site::Site;

/// The rewrites of a rule.
pub fn of(context: &Context<'_>, at: usize) -> Result<Vec<Rewrite>, String> {
    let rule = context.rule(at);
    if rule.operations.iter().map(|o| &o.0).chain(rule.scope.iter().map(|c| &c.key)).any(|key| key == "fragment") {
        return Err("the fragment never reaches a server".to_owned());
    }
    let rewrites = rewrite::of(context, at)?;
    if rewrites.iter().flat_map(Rewrite::texts).any(|text| text.contains('$')) {
        return Err("nginx cannot write a dollar sign".to_owned());
    }
    if rewrites.iter().flat_map(Rewrite::texts).any(|text| text.contains(|c: char| c.is_ascii_control())) {
        return Err("nginx cannot write a control character".to_owned());
    }
    match rewrites.iter().any(|r| key(r).len().max(value(r).len()) > LONGEST) {
        true => Err(format!("nginx reads no parameter of more than {LONGEST} bytes")),
        false => Ok(rewrites),
    }
}

/// Longest parameter that nginx reads, in bytes, quotes included: its buffer has 4,096.
const LONGEST: usize = 4_095;

/// The first parameter of an entry.
fn key(rewrite: &Rewrite) -> String {
    quoted(&format!("~{}", Engine::Bytes.pattern(&rewrite.pattern)))
}

/// The second one.
fn value(rewrite: &Rewrite) -> String {
    quoted(&rewrite.replacement(|n| format!("${n}"), str::to_owned))
}

/// Notes for an administrator, after the head.
const NOTES: &str = r#"# Include it in http{}. In server{}: set $undust_url "$scheme://$http_host$request_uri";
# then compare $undust_canonical with $undust_url, and redirect where they differ.
# $request_uri is the request as it came: nginx does not normalize it. undust knows two forms of a URL for one where
# only these differ, and this file does not: it leaves a URL alone that has
# - a lower-case escape (%2f) or an escape of a character that needs none (%7E, %61);
# - dot segments (/./, /../), also as escapes;
# - a character that a URL cannot hold (space, quote, <, >, bytes above 0x7F; in the path { } ` and the backslash);
# - a Host header in upper case, with the default port of the scheme (:80, :443), or with any port that the site was not
#   met on. User information never reaches a server.
# merge_slashes acts on $uri alone: doubled slashes stay unless a rule below takes them away. So do the order of the
# parameters, empty parameters and a lone question mark. The fragment never reaches a server.
"#;

/// The entry of URLs in normal form.
fn normal_form() -> String {
    quoted(&format!("~^{NORMAL_FORM}"))
}

/// The file.
pub fn text(sites: &[Site<'_, Vec<Rewrite>>], head: &[String]) -> String {
    let mut out = commented(head, "nginx");
    out.push_str(NOTES);
    out.push_str(&format!("map $undust_url $undust_0 {{\n    default \"\";\n    {} $undust_url;\n}}\n", normal_form()));
    let chains: Vec<Vec<(String, &Rewrite)>> = sites
        .iter()
        .map(|site| {
            let of_rule = site.rules.iter().map(|w| (about(site.site, w.rule), &w.form));
            of_rule.flat_map(|(about, form)| form.iter().map(move |r| (about.clone(), r))).collect()
        })
        .collect();
    let steps = chains.iter().map(Vec::len).max().unwrap_or(0);
    for step in 0..steps {
        let (from, to) = (format!("undust_{step}"), format!("undust_{}", step + 1));
        out.push_str(&format!("map ${from} ${to} {{\n    default ${from};\n"));
        for (about, rewrite) in chains.iter().filter_map(|chain| chain.get(step)) {
            out.push_str(&format!("    # {}\n    {} {};\n", comment(about), key(rewrite), value(rewrite)));
        }
        out.push_str("}\n");
    }
    out.push_str(&format!(
        "map $undust_{steps} $undust_canonical {{\n    default $undust_{steps};\n    \"\" $undust_url;\n}}\n"
    ));
    out
}

/// The text in double quotes, inside which nginx would take some characters for an escape of its own or
/// for the end.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => out.push_str("\\\""),
            // These would become line ends, tabs or a single backslash.
            '\\' if matches!(chars.peek(), Some('\\' | '"' | '\'' | 't' | 'r' | 'n') | None) => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn backslashes_survive_the_quotes() {
        assert_eq!(quoted(r"a\.b\n"), r#""a\.b\\n""#);
        assert_eq!(quoted("a\"b\\"), r#""a\"b\\""#);
    }
}
