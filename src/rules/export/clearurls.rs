//! Provider JSON of ClearURLs: one provider a rule, so that each has its own scope, with `rawRules`,
//! which delete what they match in the URL.
//!
//! ClearURLs matches without regard to case; `(?-i:...)` takes that back, which needs regular
//! expression modifiers (Chrome 125, Firefox 132 or later). `rules`, its list of parameter names, would
//! be wider than any rule of undust: it takes parameters without `=`, and fragments, too. Deleting is
//! all that ClearURLs can do. URLs that are not in [normal form](NORMAL_FORM) are exceptions.

use super::comments::{about, command, comment};
use super::context::Context;
use super::dependencies::guard;
use super::pattern::{
    END, EXTENSION, FEW_PARAMETERS, INDEX, NORMAL_FORM, REST, SEG, Space, parameter, plain_path, scope, single,
};
use super::site::{Site, count};
use crate::rules::explain::operation_text;
use crate::rules::types::{Function, Operation, Representative};
use crate::url::{Fixed, Key};
use serde_json::{Map, Value, json};

/// The raw rules of a rule.
pub fn of(context: &Context<'_>, at: usize) -> Result<Vec<String>, String> {
    let rule = context.rule(at);
    let tokens = &context.site.tokens;
    if rule.closed {
        return Err("a rule between forms: ClearURLs deletes, it cannot write".to_owned());
    }
    let ahead = guard(Space::Url, context.site, at, true) + &scope(Space::Url, &rule.scope, tokens)?;
    let front = Space::Url.front_of(&context.origins);
    let mut out = Vec::new();
    for (name, operation) in &rule.operations {
        let refused = || format!("it does more than delete: {}", operation_text(name, operation));
        let key = Key::parse(name).ok_or_else(refused)?;
        if matches!(key, Key::Query(_)) && tokens.has_separators() {
            return Err("parameters of this site have another separator, too".to_owned());
        }
        let deleted = one(&format!("^{ahead}"), &front, &key, operation).ok_or_else(refused)?;
        out.extend(deleted.into_iter().map(|pattern| format!("(?-i:{pattern})")));
    }
    if out.len() > 1 && rule.operations.iter().any(|(key, _)| rule.scope.iter().any(|c| c.key == *key)) {
        return Err("its condition asks what it changes itself, in several steps".to_owned());
    }
    Ok(out)
}

/// Patterns of what is deleted, each behind a look-behind that holds scope and place.
fn one(ahead: &str, front: &str, key: &Key, operation: &Operation) -> Option<Vec<String>> {
    let left_out = matches!(operation, Operation::Ignore(Representative::LeftOut));
    if let Key::Query(name) = key {
        let parameter = parameter(Space::Url, name)?;
        let bare = !name.ends_with('=');
        let delete = |value: &str, guard: &str| {
            let guard = format!("{ahead}{FEW_PARAMETERS}{guard}{front}[^?#]*");
            vec![
                format!(r"(?<={guard}\?(?:[^#]*&)?){parameter}{value}&"),
                format!(r"(?<={guard}\?[^#]*)&{parameter}{value}(?=#|$)"),
                format!(r"(?<={guard})\?{parameter}{value}(?=#|$)"),
            ]
        };
        return match operation {
            _ if left_out => Some(delete(if bare { "" } else { "[^&#]*" }, "")),
            Operation::Apply(Function::DropEmpty) if !bare => Some(delete("", &single(&parameter))),
            Operation::Classes(pairs) if !bare => {
                let mut out = Vec::new();
                for pair in pairs {
                    let (Some(from), None) = (&pair.0, &pair.1) else { return None };
                    if from.contains(['&', '#']) {
                        return None;
                    }
                    out.extend(delete(&Space::Url.literal(from), &single(&parameter)));
                }
                Some(out)
            }
            _ => None,
        };
    }
    let Key::Fixed(fixed) = *key else { return None };
    if !left_out {
        return None;
    }
    let path = plain_path(Space::Url);
    let segments = format!("(?:/+{SEG}+)");
    Some(vec![match fixed {
        Fixed::FRAGMENT => format!("(?<={ahead}{front}[^#]*)#{REST}$"),
        Fixed::EMPTY_QUERY => format!(r"(?<={ahead}{front}[^?#]*)\?(?=#|$)"),
        Fixed::TRAILING_SLASH => format!("(?<={ahead}{path}{front}{segments}+)/+{END}"),
        Fixed::INDEX => format!("(?<={ahead}{path}{front}{segments}*/+){}{END}", *INDEX),
        Fixed::EXTENSION => {
            format!("(?<={ahead}{path}{front}{segments}*/+(?!{}{END}){SEG}+){}{END}", *INDEX, *EXTENSION)
        }
        Fixed::DOUBLE_SLASH => format!("(?<={ahead}{path}{front}(?:[^?#]*[^/?#])?/)/+"),
        _ => return None,
    }])
}

/// The file.
pub fn text(sites: &[Site<'_, Vec<String>>], head: &[String]) -> String {
    let mut providers = Map::new();
    let (mut place, rules) = (0, count(sites));
    let width = rules.to_string().len();
    for site in sites {
        for written in &site.rules {
            place += 1;
            // Providers work in the order of their names where a reader sorts them.
            let name = comment(&format!("undust {place:0width$} {} {}", site.site.site, written.rule.id));
            let provider = json!({
                "urlPattern": format!("^{}/", Space::Url.front_of(&site.origins)),
                "completeProvider": false,
                "rules": [],
                "rawRules": written.form,
                "referralMarketing": [],
                "exceptions": [format!("^(?-i:(?!{NORMAL_FORM}))")],
                "redirections": [],
                "forceRedirection": false,
                "description": comment(&about(site.site, written.rule)),
            });
            providers.insert(name, provider);
        }
    }
    let description = format!("{} Made by: {}", head.join(" "), command("clearurls"));
    let file = json!({ "description": description, "providers": Value::Object(providers) });
    serde_json::to_string_pretty(&file).expect("writing strings into memory cannot fail") + "\n"
}
