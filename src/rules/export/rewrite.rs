//! Operations of an open rule as rewrites of the URL.

use super::closed;
use super::context::Context;
use super::dependencies::{few_repeats, guard, moves_section};
use super::pattern::{
    END, EXTENSION, FEW_PARAMETERS, INDEX, QUERY_FRAGMENT, REPEATS, REST, SEG, SEG_END, SPLIT_SEGMENTS, Space,
    any_head, any_of, behind_head, by_schemes, is_extension, parameter, plain_path, scope, single,
};
use super::rewritten::{Piece, Rewrite};
use crate::rules::explain::operation_text;
use crate::rules::origins;
use crate::rules::types::{Function, Operation, PREFIX, Representative, Rule, SECTION, Test};
use crate::url::{Fixed, Key, Part};

/// The rewrites of a rule over URLs.
///
/// # Errors
/// The reason why it cannot be expressed.
pub fn of(context: &Context<'_>, at: usize) -> Result<Vec<Rewrite>, String> {
    in_space(context, at, Space::Url)
}

/// The rewrites of a rule over `space`.
pub fn in_space(context: &Context<'_>, at: usize, space: Space) -> Result<Vec<Rewrite>, String> {
    let rule = context.rule(at);
    if rule.scope.iter().any(|constraint| constraint.key == PREFIX) {
        return Err("what a mirrored directory becomes goes through all rules once more".to_owned());
    }
    if rule.closed {
        return match space {
            Space::Url => closed::rewrite(context, at).map(|rewrite| vec![rewrite]),
            Space::Surt => Err("a rule between forms: keys in SURT form have lost what tells them apart".to_owned()),
        };
    }
    let tokens = &context.site.tokens;
    let mut keys: Vec<&String> = rule.operations.iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    if keys.windows(2).any(|two| two[0] == two[1]) {
        return Err("it changes a key twice".to_owned());
    }
    let acting = acting(context, rule)?;
    if acting.is_empty() {
        return Err("it acts on no origin that belongs to this site alone".to_owned());
    }
    let writer = Writer {
        space,
        context,
        front: space.front_of(&acting),
        // A URL whose parameters have another separator gets other separators where a rule fires.
        ahead: if tokens.has_separators() { r"(?![^?#]*\?[^#]*[;?])" } else { "" }.to_owned()
            + &scope(space, &rule.scope, tokens)?,
        delimiters: !tokens.delimiters.is_empty(),
        has_separators: tokens.has_separators(),
    };
    let touches_query = |key: &str| key.starts_with("query ");
    let query = rule.scope.iter().map(|c| &c.key).chain(rule.operations.iter().map(|o| &o.0)).any(|k| touches_query(k));
    if query && tokens.has_separators() {
        return Err("parameters of this site have another separator, too".to_owned());
    }
    let mut drafts = Vec::new();
    // An index is removed before the slash in front of it, and the origin, which the other steps match,
    // comes last.
    let place = |key: &str| match key {
        "index" => 0,
        "host" => 2,
        "scheme" => 3,
        _ => 1,
    };
    let mut operations: Vec<&(String, Operation)> = rule.operations.iter().collect();
    operations.sort_by_key(|(key, _)| place(key));
    for (key, operation) in operations {
        drafts.extend(writer.operation(key, operation)?);
    }
    // Look-aheads are tested again before each rewrite: the scope must not test a part that a rewrite
    // changes.
    let asked =
        |key: &str| rule.scope.iter().any(|c| c.key == key && !(c.test == Test::Present && rule.operations.len() == 1));
    let sections = rule.scope.iter().filter(|constraint| constraint.key == SECTION);
    let moved = sections.into_iter().any(|constraint| moves_section(tokens, rule, &constraint.test));
    if drafts.len() > 1 && (moved || rule.operations.iter().any(|(key, _)| asked(key))) {
        return Err("its condition asks what it changes itself, in several steps".to_owned());
    }
    // All steps of a rule act on the same URLs: the whole rule, or none of it.
    let mut guards: Vec<&str> = drafts.iter().map(|draft| draft.guard.as_str()).collect();
    guards.sort_unstable();
    guards.dedup();
    let own = guard(space, context.site, at, drafts.len() > 1);
    let front = format!("^{}{}{own}", writer.ahead, guards.concat());
    let rewrite = |StepPattern { body, pieces, .. }: &StepPattern| Rewrite {
        pattern: format!("{front}{body}$"),
        pieces: pieces.clone(),
    };
    Ok(drafts.iter().map(rewrite).collect())
}

/// The origins on which a rule acts: those that it leaves at an origin of the site.
///
/// # Errors
/// Where scheme and host change in two steps, and one step alone may act or lead to an origin that is
/// not of the site.
fn acting<'a>(context: &Context<'a>, rule: &Rule) -> Result<Vec<&'a str>, String> {
    let mut acting = context.origins.clone();
    let both = ["scheme", "host"].iter().all(|key| rule.operations.iter().any(|(of, _)| of == key));
    let mut apart = false;
    acting.retain(|origin| {
        let (scheme, host) = origins::parts(origin);
        let mut parts = [scheme.to_owned(), host.to_owned()];
        let mut has = vec![true];
        for (key, operation) in &rule.operations {
            let Some(at) = ["scheme", "host"].iter().position(|of| of == key) else { continue };
            let value = operation.value(Some(parts[at].as_bytes())).unwrap_or_default();
            parts[at] = String::from_utf8_lossy(&value).into_owned();
            has.push(context.site.origins.contains(&parts.join("://")));
        }
        apart |= has.contains(&false);
        has.pop() == Some(true)
    });
    if both && apart {
        return Err(
            "scheme and host change together, and one of them alone leads to an origin that was not seen".to_owned()
        );
    }
    Ok(acting)
}

/// Classes one after the other: none of the values that are written is one that is read; an absent one
/// is written as nothing. `None` where that is not so, or an absent value becomes one.
fn unchained(pairs: &[(Option<String>, Option<String>)]) -> Option<Vec<(&str, &str)>> {
    let known = pairs.iter().map(|(from, to)| Some((from.as_deref()?, to.as_deref().unwrap_or_default())));
    let known: Vec<(&str, &str)> = known.collect::<Option<_>>()?;
    known.iter().all(|(_, to)| known.iter().all(|(from, _)| from != to)).then_some(known)
}

/// Parts common to all rewrites of a rule.
struct Writer<'a> {
    space: Space,
    context: &'a Context<'a>,
    /// Everything before the path, on the origins of the site.
    front: String,
    /// The scope.
    ahead: String,
    delimiters: bool,
    has_separators: bool,
}

/// One step of a rule: a pattern and its replacement, before the scope is written in front.
#[derive(Clone)]
struct StepPattern {
    /// Look-aheads: the URLs that this step can express. No step makes one of them false.
    guard: String,
    body: String,
    pieces: Vec<Piece>,
}

impl Writer<'_> {
    /// A step that acts where `guard` holds and `body` matches the whole URL.
    fn rewrite(&self, guard: &str, body: &str, pieces: Vec<Piece>) -> StepPattern {
        StepPattern { guard: guard.to_owned(), body: body.to_owned(), pieces }
    }

    fn operation(&self, key: &str, operation: &Operation) -> Result<Vec<StepPattern>, String> {
        let refused = || format!("it does more than a pattern can: {}", operation_text(key, operation));
        let key = Key::parse(key).ok_or_else(refused)?;
        match &key {
            Key::Query(name) => self.query(name, operation).ok_or_else(refused),
            Key::Param(_) => Err(refused()),
            Key::Fixed(fixed) => self.fixed(*fixed, operation).ok_or_else(refused)?,
        }
    }

    fn query(&self, name: &str, operation: &Operation) -> Option<Vec<StepPattern>> {
        assert!(!self.has_separators, "refused before");
        let parameter = parameter(self.space, name)?;
        let bare = !name.ends_with('=');
        match operation {
            Operation::Ignore(Representative::LeftOut) => {
                let more = few_repeats(&parameter, REPEATS);
                Some(self.leave_out(&parameter, if bare { "" } else { "[^&#]*" }, &more, REPEATS))
            }
            Operation::Apply(Function::DropEmpty) if !bare => {
                Some(self.leave_out(&parameter, "", &single(&parameter), 1))
            }
            Operation::Ignore(Representative::WherePresent(value)) if !bare && !value.contains(['&', '#']) => {
                let text = self.space.literal(value);
                Some(vec![self.set(&parameter, &format!("(?!{text}(?:[&#]|$))[^&#]*"), name, value)])
            }
            Operation::Classes(pairs) if !bare => {
                let chained = pairs.iter().any(|(_, to)| pairs.iter().any(|(from, then)| from == to && then != to));
                let plain = |value: &str| !value.contains(['&', '#']);
                if chained {
                    return None;
                }
                let mut out = Vec::new();
                for (from, to) in pairs {
                    let from = from.as_deref().filter(|v| plain(v))?;
                    let value = format!("{}(?=[&#]|$)", self.space.literal(from));
                    match to.as_deref() {
                        None => out.extend(self.leave_out(&parameter, &value, &single(&parameter), 1)),
                        Some(to) if plain(to) => out.push(self.set(&parameter, &value, name, to)),
                        Some(_) => return None,
                    }
                }
                Some(out)
            }
            _ => None,
        }
    }

    /// Removes a parameter with a value that matches `value`, up to `times` times.
    fn leave_out(&self, parameter: &str, value: &str, guard: &str, times: usize) -> Vec<StepPattern> {
        let guard = format!("{FEW_PARAMETERS}{guard}");
        let front = &self.front;
        // A parameter that others follow is removed with the separator behind it, the last one with the
        // separator before it.
        let followed = self.rewrite(
            &guard,
            &format!(r"({front}[^?#]*\?(?:[^&#]*&)*?){parameter}{value}&({REST})"),
            vec![Piece::Group(1), Piece::Group(2)],
        );
        let last = self.rewrite(
            &guard,
            &format!(r"({front}[^?#]*)(?:(\?[^#]*)&|\?){parameter}{value}(#{REST})?"),
            vec![Piece::Group(1), Piece::Group(2), Piece::Group(3)],
        );
        let mut out = vec![followed; times];
        out.push(last);
        out
    }

    /// Gives a parameter that comes once another value.
    fn set(&self, parameter: &str, value: &str, name: &str, to: &str) -> StepPattern {
        let guard = format!("{FEW_PARAMETERS}{}", single(parameter));
        let body = format!(r"({}[^?#]*\?(?:[^#]*&)?){parameter}{value}((?:&[^#]*)?(?:#{REST})?)", self.front);
        self.rewrite(&guard, &body, vec![Piece::Group(1), Piece::Text(format!("{name}{to}")), Piece::Group(2)])
    }

    fn fixed(&self, key: Fixed, operation: &Operation) -> Option<Result<Vec<StepPattern>, String>> {
        use Representative::{Everywhere, LeftOut, WherePresent};
        let front = &self.front;
        let url = self.space == Space::Url;
        let (one, two) = (Piece::Group(1), Piece::Group(2));
        let both = || vec![one.clone(), two.clone()];
        let path = plain_path(self.space);
        let segments = format!("(?:/+{SEG}+)");
        let tail = QUERY_FRAGMENT;
        let rewrite = match (key, operation) {
            // The target's own keys have none of these: nothing is left to do.
            (Fixed::SCHEME | Fixed::FRAGMENT | Fixed::TRAILING_SLASH, Operation::Ignore(_)) if !url => {
                return Some(Ok(Vec::new()));
            }
            (Fixed::SCHEME, Operation::Ignore(WherePresent(value) | Everywhere(value)) | Operation::Keep(value))
                if matches!(value.as_str(), "http" | "https") =>
            {
                let other = if value == "http" { "https" } else { "http" };
                let moves = |origin: &str| {
                    let (scheme, host) = origins::parts(origin);
                    scheme == other && self.has_origin(value, host)
                };
                let from = self.context.origins.iter().copied().filter(|origin| moves(origin));
                let from: Vec<&str> = from.map(|origin| origins::parts(origin).1).collect();
                if from.is_empty() {
                    return Some(Ok(Vec::new()));
                }
                let body = format!("{other}(://{}/{REST})", any_of(&from));
                self.rewrite("", &body, vec![Piece::Text(value.clone()), one])
            }
            (Fixed::HOST, Operation::Ignore(WherePresent(value) | Everywhere(value)) | Operation::Keep(value)) => {
                return Some(self.host(value, |_| true));
            }
            (Fixed::HOST, Operation::Classes(pairs)) => {
                let pairs = unchained(pairs)?;
                let mut targets: Vec<&str> = pairs.iter().map(|pair| pair.1).collect();
                targets.sort_unstable();
                targets.dedup();
                let rewrites = targets.into_iter().map(|to| self.host(to, |host| pairs.contains(&(host, to))));
                return Some(rewrites.collect::<Result<Vec<_>, _>>().map(|all| all.concat()));
            }
            (Fixed::HOST, Operation::Apply(Function::DropWww)) if url => {
                let moves = |origin: &&str| {
                    let (scheme, host) = origins::parts(origin);
                    let bare = host.strip_prefix("www.").filter(|bare| bare.contains('.'));
                    bare.is_some_and(|bare| self.has_origin(scheme, bare))
                };
                let from = by_schemes(self.context.origins.iter().copied().filter(moves)).into_iter();
                let step = |(scheme, hosts): (&str, Vec<&str>)| {
                    let bare: Vec<&str> = hosts.iter().filter_map(|host| host.strip_prefix("www.")).collect();
                    self.rewrite("", &format!(r"({scheme}://)www\.({}/{REST})", any_of(&bare)), both())
                };
                return Some(Ok(from.map(step).collect()));
            }
            (Fixed::HOST, Operation::Apply(Function::DropWww)) => return Some(Ok(Vec::new())),
            (Fixed::FRAGMENT, Operation::Ignore(LeftOut)) => {
                self.rewrite("", &format!("({front}[^#]*)#{REST}"), vec![one])
            }
            (Fixed::EMPTY_QUERY, Operation::Ignore(LeftOut)) if url => {
                self.rewrite("", &format!(r"({front}[^?#]*)\?(#{REST})?"), both())
            }
            (Fixed::EMPTY_QUERY, Operation::Ignore(LeftOut)) => return Some(Ok(Vec::new())),
            (Fixed::TRAILING_SLASH, Operation::Ignore(LeftOut)) => {
                self.rewrite(&path, &format!("({front}{segments}+)/+({tail})"), both())
            }
            (Fixed::TRAILING_SLASH, Operation::Ignore(Everywhere(value))) if value == "/" => {
                let bare = format!("(?!{SEG}+{}{SEG_END})", *EXTENSION);
                let body = format!("({front}{segments}*/+{bare}{SEG}+)({tail})");
                self.rewrite(&path, &body, vec![one, Piece::Text("/".to_owned()), two])
            }
            (Fixed::INDEX | Fixed::EXTENSION, _) if !url => {
                // `/a.html/` is a key without an extension, and its key in SURT form that of `/a.html`.
                return Some(Err("keys in SURT form have lost the slash that tells a page from a folder".to_owned()));
            }
            (Fixed::EXTENSION, _) if self.delimiters => return Some(Err(SPLIT_SEGMENTS.to_owned())),
            (Fixed::INDEX, Operation::Ignore(LeftOut)) => {
                self.rewrite(&path, &format!("({front}{segments}*/+){}{END}({tail})", *INDEX), both())
            }
            (Fixed::EXTENSION, Operation::Ignore(LeftOut)) => {
                let last = format!("(?!{}{END}){SEG}+?", *INDEX);
                self.rewrite(&path, &format!("({front}{segments}*/+{last}){}{END}({tail})", *EXTENSION), both())
            }
            (Fixed::EXTENSION, Operation::Classes(pairs)) => {
                let last = format!("(?!{}{END}){SEG}+?", *INDEX);
                let pairs = unchained(pairs)?;
                if pairs.iter().any(|(from, _)| !is_extension(from)) {
                    return None;
                }
                let one = |(from, to): (&str, &str)| {
                    let from = self.space.literal(from);
                    let body = format!("({front}{segments}*/+{last}){from}{END}({tail})");
                    self.rewrite(&path, &body, vec![Piece::Group(1), Piece::Text(to.to_owned()), Piece::Group(2)])
                };
                return Some(Ok(pairs.into_iter().map(one).collect()));
            }
            (Fixed::DOUBLE_SLASH, Operation::Ignore(LeftOut)) if url => {
                let runs = format!("(?!{}(?:[^?#]*?//+(?!/)){{{}}})", self.space.front(), REPEATS + 1);
                let body = format!("({front}(?:/{SEG}+)*/)/+((?!/){REST})");
                return Some(Ok(vec![self.rewrite(&format!("{path}{runs}"), &body, both()); REPEATS]));
            }
            (key, operation) => return self.head(key, operation),
        };
        Some(Ok(vec![rewrite]))
    }

    /// True where the site has an origin.
    fn has_origin(&self, scheme: &str, host: &str) -> bool {
        let is = |origin: &String| origins::parts(origin) == (scheme, host);
        self.context.site.origins.iter().any(is)
    }

    /// The hosts that are `moved` become another one, where the site has its origin.
    fn host(&self, value: &str, moved: impl Fn(&str) -> bool) -> Result<Vec<StepPattern>, String> {
        let moves = |origin: &&str| {
            let (scheme, host) = origins::parts(origin);
            host != value && moved(host) && self.has_origin(scheme, value)
        };
        let origins: Vec<&str> = self.context.origins.iter().copied().filter(moves).collect();
        if origins.is_empty() {
            return Ok(Vec::new());
        }
        Ok(match self.space {
            Space::Url => {
                let step = |(scheme, hosts): (&str, Vec<&str>)| {
                    let pieces = vec![Piece::Group(1), Piece::Text(value.to_owned()), Piece::Group(2)];
                    self.rewrite("", &format!("({scheme}://){}(/{REST})", any_of(&hosts)), pieces)
                };
                by_schemes(origins.into_iter()).into_iter().map(step).collect()
            }
            Space::Surt => {
                let to = super::pattern::surt_host(value);
                let body = format!("(?!{}\\)){}(/{REST})", self.space.literal(&to), self.space.front_of(&origins));
                vec![self.rewrite("", &body, vec![Piece::Text(format!("{to})")), Piece::Group(1)])]
            }
        })
    }

    /// The head of a path segment becomes another one.
    fn head(&self, key: Fixed, operation: &Operation) -> Option<Result<Vec<StepPattern>, String>> {
        let (segment, Part::Head) = key.as_path()? else { return None };
        if self.delimiters {
            return Some(Err(SPLIT_SEGMENTS.to_owned()));
        }
        let before = format!("({}(?:/+{SEG}+){{{segment}}}/+)(?!{}{END})", self.front, *INDEX);
        let guard = plain_path(self.space);
        let fits = |value: &str| !value.is_empty() && !value.contains(['/', '?', '#', ';']);
        let to = |pattern: String, value: &str| {
            let pieces = vec![Piece::Group(1), Piece::Text(value.to_owned()), Piece::Group(2)];
            self.rewrite(&guard, &format!("{before}{pattern}"), pieces)
        };
        match operation {
            Operation::Ignore(Representative::WherePresent(value)) if fits(value) => {
                let own = format!("(?!{}{}{SEG_END})", self.space.literal(value), behind_head(value)?);
                Some(Ok(vec![to(format!("(?!{}){own}{}({REST})", super::pattern::headless(), any_head()), value)]))
            }
            Operation::Classes(pairs) => {
                let mut out = Vec::new();
                for (from, value) in pairs {
                    let (from, value) = (from.as_deref()?, value.as_deref()?);
                    if !fits(value) || pairs.iter().any(|(other, _)| other.as_deref() == Some(value)) {
                        return None;
                    }
                    let behind = behind_head(from)?;
                    out.push(to(format!("{}({behind}{SEG_END}{REST})", self.space.literal(from)), value));
                }
                Some(Ok(out))
            }
            _ => None,
        }
    }
}
