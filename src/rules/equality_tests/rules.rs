//! Random rules of a site: most hold for one of its URLs.

use super::generate::Maker;
use crate::model::hash64;
use crate::rules::functions::apply;
use crate::rules::twins;
use crate::rules::{Constraint, Function, Kind, Operation, PREFIX, Representative, Rule, SECTION, Test};

/// Keys that URLs seldom have, and text that is no key.
const OTHER_KEYS: [&str; 27] = [
    "scheme",
    "host",
    "double slash",
    "index",
    "trailing slash",
    "depth",
    "ext",
    "empty query",
    "order",
    "separator",
    "fragment",
    "whole query",
    "path0",
    "path0.number",
    "path1.group",
    "path1.groups",
    "path0.tail",
    "path0.ext",
    "path23",
    "query a=",
    "query ",
    "param ",
    "param s=",
    "host.sub",
    "prefix",
    "path99",
    "no key",
];
/// Values that few keys can have.
const ODD_VALUES: [&str; 22] = [
    "",
    "..",
    ".",
    "a/b",
    "x;y",
    "x?y#z",
    "a&b=1",
    "1&a=2",
    "%7e",
    "%2F",
    "+",
    "-1",
    "99999999999999999999",
    "evil.test",
    "ftp",
    "a.example:80",
    "u@a.example",
    "\u{e9}",
    "0.1",
    "b=&a=",
    ".html",
    "/",
];

fn left_out() -> Operation {
    Operation::Ignore(Representative::LeftOut)
}

/// A test that excludes values: of a key that may be absent or of one that is there, by a hash.
fn excluded(key: &str, values: Vec<String>) -> Test {
    let drawn = values.iter().fold(hash64(key.as_bytes()), |sum, value| sum.wrapping_add(hash64(value.as_bytes())));
    if drawn.is_multiple_of(3) { Test::Not(values) } else { Test::NoneOf(values) }
}

impl Maker<'_> {
    /// A value that a URL of the site has for the key, or an unusual one.
    fn value(&mut self, key: &str) -> String {
        let is_query = key.starts_with("query ");
        match self.values.get(key) {
            // Cut again, the value ends at the semicolon.
            _ if is_query && self.tokens.semicolons && self.random.chance(10) => "x;y".to_owned(),
            Some(values) if self.random.chance(85) => self.random.pick(values).clone(),
            _ if key == "host" => self.random.pick(&self.words.hosts).clone(),
            _ if self.random.chance(60) => self.words.value(self.random),
            _ => (*self.random.pick(&ODD_VALUES)).to_owned(),
        }
    }

    fn values(&mut self, key: &str, with: Option<&str>) -> Vec<String> {
        let mut values: Vec<String> = (0..self.random.below(4)).map(|_| self.value(key)).collect();
        values.extend(with.map(str::to_owned));
        values.sort();
        values.dedup();
        values
    }

    /// A test of a key; it holds for `value` in most cases.
    fn test(&mut self, key: &str, value: Option<&str>) -> Test {
        let value = if self.random.chance(85) { value.map(str::to_owned) } else { Some(self.value(key)) };
        let Some(value) = value else { return Test::Absent };
        match self.random.below(10) {
            0..=2 => Test::Equals(value),
            3..=4 => Test::OneOf(self.values(key, Some(&value))),
            5 | 9 if self.random.chance(40) => excluded(key, self.values(key, Some(&value))),
            5 | 9 => {
                let mut values = self.values(key, None);
                values.retain(|of| *of != value);
                excluded(key, values)
            }
            6 if self.random.chance(40) => Test::Absent,
            _ => Test::Present,
        }
    }

    fn constraint(&mut self, key: &str, value: Option<&str>) -> Constraint {
        Constraint { key: key.to_owned(), test: self.test(key, value) }
    }

    /// A key-value pair of a URL, mostly.
    pub(super) fn pair(&mut self) -> (String, Option<String>) {
        let at = self.random.below(self.pairs.len());
        let (key, value) = self.random.pick(&self.pairs[at]).clone();
        match self.random.below(12) {
            0 => {
                let key = (*self.random.pick(&OTHER_KEYS)).to_owned();
                let value = self.pairs[at].iter().find(|pair| pair.0 == key).map(|pair| pair.1.clone());
                (key, value)
            }
            1 => (format!("query {}", self.random.pick(&self.words.names)), None),
            _ => (key, Some(value)),
        }
    }

    /// Functions that change a value of the key, as far as the URLs show.
    fn apt_functions(&self, key: &str) -> Vec<Function> {
        let values = self.values.get(key).map_or(&[][..], Vec::as_slice);
        let changes = |function: &Function| values.iter().any(|v| apply(*function, v.as_bytes(), &mut Vec::new()));
        let apt: Vec<Function> = Function::ALL.into_iter().filter(changes).collect();
        // Hardly a key is a family of several names.
        if key.contains('#') && apt.contains(&Function::SortFamily) { vec![Function::SortFamily] } else { apt }
    }

    /// What a rule that is not closed does to a key; most keep the URL one of the site.
    fn operation(&mut self, key: &str) -> Operation {
        let apt = self.apt_functions(key);
        if !apt.is_empty() && self.random.chance(35) {
            return Operation::Apply(*self.random.pick(&apt));
        }
        let kind = match key {
            "scheme" | "host" | "depth" if self.random.chance(90) => 5 + self.random.below(9),
            _ if key.starts_with("path") && self.random.chance(80) => 5 + self.random.below(9),
            _ => self.random.below(14),
        };
        match kind {
            0..=4 => left_out(),
            5 | 6 => Operation::Ignore(Representative::WherePresent(self.value(key))),
            7 => Operation::Ignore(Representative::Everywhere(self.value(key))),
            8 => Operation::Keep(self.value(key)),
            9 | 10 => {
                let to = self.random.chance(75).then(|| self.value(key));
                let mut pairs: Vec<(Option<String>, Option<String>)> = Vec::new();
                for from in self.values(key, None) {
                    let to = if self.random.chance(70) {
                        to.clone()
                    } else {
                        self.random.chance(80).then(|| self.value(key))
                    };
                    pairs.push((Some(from), to));
                }
                if self.random.chance(25) {
                    let value = self.value(key);
                    pairs.push((None, to.or(Some(value))));
                }
                pairs.sort();
                Operation::Classes(pairs)
            }
            _ => Operation::Apply(*self.random.pick(&Function::ALL)),
        }
    }

    pub(super) fn rule(&mut self) -> Rule {
        let mut rule = match self.random.below(20) {
            0..=11 => self.open_rule(),
            12..=15 => self.form(),
            16 | 17 => self.mirror(),
            18 => self.host_form(),
            _ => self.any_rule(),
        };
        if self.random.chance(92) {
            rule.operations.sort_by(|a, b| a.0.cmp(&b.0));
        }
        rule
    }

    /// A rule on one query key, for rule sets of more than 64 rules.
    pub(super) fn numbered(&mut self) -> Rule {
        let key = format!("query {}", self.random.pick(&self.words.names));
        let scope = match self.random.below(10) {
            0..=1 => {
                let (key, value) = self.pair();
                vec![self.constraint(&key, value.as_deref())]
            }
            2..=4 => {
                let key = format!("query {}", self.random.pick(&self.words.names));
                let value = self.value(&key);
                vec![self.constraint(&key, Some(&value))]
            }
            _ => Vec::new(),
        };
        let operation = if self.random.chance(50) { left_out() } else { self.operation(&key) };
        Rule::of("", scope, vec![(key, operation)])
    }

    fn open_rule(&mut self) -> Rule {
        let from = self.random.below(self.pairs.len());
        let mut scope = Vec::new();
        for _ in 0..*self.random.pick(&[0, 0, 0, 1, 1, 2]) {
            let (key, value) = self.random.pick(&self.pairs[from]).clone();
            scope.push(self.constraint(&key, Some(&value)));
        }
        if self.random.chance(15) {
            let (key, _) = self.pair();
            let value = self.pairs[from].iter().find(|pair| pair.0 == key).map(|pair| pair.1.clone());
            scope.push(self.constraint(&key, value.as_deref()));
        }
        let mut operations: Vec<(String, Operation)> = Vec::new();
        for _ in 0..*self.random.pick(&[1, 1, 1, 2, 2, 3]) {
            let (key, _) = self.pair();
            // Few rules write a key twice.
            if operations.iter().all(|(other, _)| *other != key) || self.random.chance(10) {
                operations.push((key.clone(), self.operation(&key)));
            }
        }
        if self.random.chance(10) {
            operations = vec![("order".to_owned(), left_out())];
        }
        Rule::of("", scope, operations)
    }

    /// The scope of a closed rule that holds for a URL.
    fn whole_scope(&mut self, pairs: &[(String, String)]) -> Vec<Constraint> {
        let mut scope: Vec<Constraint> = Vec::new();
        for (key, value) in pairs {
            let test = if self.random.chance(65) { Test::Present } else { self.test(key, Some(value)) };
            scope.push(Constraint { key: key.clone(), test });
        }
        if self.random.chance(10) {
            let (key, _) = self.pair();
            scope.push(Constraint { key, test: Test::Absent });
        }
        if self.random.chance(5) {
            scope.remove(self.random.below(scope.len()));
        }
        scope
    }

    /// A closed rule from the keys of one URL to those of another.
    fn form(&mut self) -> Rule {
        let source = self.random.pick(&self.pairs).clone();
        let target = self.random.pick(&self.pairs).clone();
        let scope = self.whole_scope(&source);
        let mut operations = Vec::new();
        for (key, value) in target.into_iter().filter(|pair| pair.0 != SECTION) {
            let same = source.iter().any(|(of, _)| *of == key);
            let operation = match self.random.below(20) {
                0 => Operation::Replace("host.sub".to_owned()),
                1 if key == "host" => {
                    let from = self.random.pick(&source).0.clone();
                    operations.push(("host.sub".to_owned(), Operation::Replace(from)));
                    continue;
                }
                2 => Operation::Keep((*self.random.pick(&ODD_VALUES)).to_owned()),
                3 => continue,
                _ if same && key != "depth" && self.random.chance(80) => Operation::Replace(key.clone()),
                4..=9 if !matches!(key.as_str(), "scheme" | "host" | "depth") => {
                    Operation::Replace(self.random.pick(&source).0.clone())
                }
                _ => Operation::Keep(value),
            };
            operations.push((key, operation));
        }
        Rule { closed: true, kind: Kind::Form, ..Rule::of("", scope, operations) }
    }

    /// A closed rule that moves labels of the host to another key, or a value to the host.
    fn host_form(&mut self) -> Rule {
        let source = self.random.pick(&self.pairs).clone();
        let scope = self.whole_scope(&source);
        let replace = |from: &str| Operation::Replace(from.to_owned());
        let mut operations = vec![("scheme".to_owned(), replace("scheme"))];
        if self.random.chance(50) {
            let moved = *self.random.pick(&["path0", "query u=", "param s="]);
            operations.push(("host".to_owned(), Operation::Keep(self.random.pick(&self.words.hosts).clone())));
            operations.push(("depth".to_owned(), Operation::Keep("1".to_owned())));
            operations.push((moved.to_owned(), replace("host.sub")));
            if moved != "path0" {
                operations.push(("path0".to_owned(), Operation::Keep("x".to_owned())));
            }
        } else {
            let from = self.random.pick(&source).0.clone();
            operations.push(("host.sub".to_owned(), replace(&from)));
            operations.push(("depth".to_owned(), Operation::Keep("0".to_owned())));
        }
        Rule { closed: true, kind: Kind::Form, ..Rule::of("", scope, operations) }
    }

    /// A directory of a URL, or a parameter of its script, and the directory that takes its place.
    fn mirror(&mut self) -> Rule {
        let directory = |maker: &mut Self| {
            let url = maker.random.pick(&maker.drafts).text();
            let url = url.split(['?', '#', ';']).next().unwrap_or_default().to_owned();
            let slashes: Vec<usize> = url.match_indices('/').map(|(at, _)| at).skip(2).collect();
            // At a slash, so that directories of the same URL lie in one another.
            match slashes.is_empty() || maker.random.chance(20) {
                true => url,
                false => url[..*maker.random.pick(&slashes)].to_owned(),
            }
        };
        let parameter = |maker: &mut Self| {
            let url = maker.random.pick(&maker.drafts).text();
            let query = url.split('#').next().unwrap_or_default().split_once('?')?.1;
            let one = query.split('&').next().unwrap_or_default();
            let script = &url[..url.len() - url[url.find('?')?..].len()];
            let name = one.find('=').map_or("", |at| &one[..=at]);
            let slash = if one[name.len()..].starts_with('/') { "/" } else { "" };
            let front = format!("{script}?{name}{slash}");
            let others = twins::with_others(url.as_bytes(), front.as_bytes()).filter(|_| maker.random.chance(70));
            Some(others.map_or(front, |others| String::from_utf8(others).expect("parts of a URL")))
        };
        let (source, target) = (directory(self), directory(self));
        let source = if self.random.chance(25) { parameter(self).unwrap_or(source) } else { source };
        let scope = vec![Constraint { key: PREFIX.to_owned(), test: Test::Equals(source) }];
        let operations = vec![(PREFIX.to_owned(), Operation::Keep(target))];
        Rule { kind: Kind::Mirror, ..Rule::of("", scope, operations) }
    }

    /// A rule of any keys, tests and operations.
    fn any_rule(&mut self) -> Rule {
        let key = |maker: &mut Self| match maker.random.chance(50) {
            true => (*maker.random.pick(&OTHER_KEYS)).to_owned(),
            false => maker.pair().0,
        };
        let (mut scope, mut operations) = (Vec::new(), Vec::new());
        for _ in 0..self.random.below(3) {
            let key = key(self);
            scope.push(self.constraint(&key, None));
        }
        for _ in 0..self.random.below(4) {
            let (to, from) = (key(self), key(self));
            let operation = if self.random.chance(30) { Operation::Replace(from) } else { self.operation(&to) };
            operations.push((to, operation));
        }
        Rule { closed: self.random.chance(30), ..Rule::of("", scope, operations) }
    }
}

/// The front of a mirror rule.
pub(super) fn mirror_source(rule: &Rule) -> Option<&str> {
    match (&rule.scope[..], &rule.operations[..]) {
        ([scope], [(key, Operation::Keep(_))]) if scope.key == PREFIX && key == PREFIX => match &scope.test {
            Test::Equals(source) => Some(source),
            _ => None,
        },
        _ => None,
    }
}
