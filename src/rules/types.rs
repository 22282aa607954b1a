//! The one rule type of learned, published and hand-made rules.
//!
//! A rule is a source pattern (a conjunction of constraints on keys), one operation a touched key, and,
//! for rules between forms, a target pattern whose other keys do not exist. Tree nodes, pooled
//! conditions, value classes and forms are only sources of patterns: whatever stage of the learner made
//! a rule, the applier, the rule file and `explain` know this type alone. WWW10 section 3 names the
//! operations keep, replace and ignore; the departures from them (classes and string functions on the
//! dictionary of a key) are rows of the normalization catalogue.

use super::platforms::Recognised;
use super::spans::Local;
use crate::url::section::{self, Section};
use crate::url::{Cut, DELIMITERS};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a constraint asks of the value of one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// The key has exactly this value.
    Equals(String),
    /// The key has one of these values (sorted).
    OneOf(Vec<String>),
    /// The key is present and has none of these values (sorted): the branch of the trivial values of a tree
    /// node.
    NoneOf(Vec<String>),
    /// The key is there, whatever its value.
    Present,
    /// The key is not there. An absent key is a value of its own.
    Absent,
}

/// One constraint of a source pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Constraint {
    /// Key in the notation of [`crate::url::keys`], for example `query sid=`.
    pub key: String,
    /// What is asked of its value.
    pub test: Test,
}

/// What an ignored key becomes, so that the canonical URL can be fetched (WWW10 writes `*` here).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Representative {
    /// The key is left out: the training data show URLs without it.
    LeftOut,
    /// The key gets this value wherever it is present; where it is absent it stays absent.
    WherePresent(String),
    /// The key gets this value, also where it was absent.
    Everywhere(String),
}

/// String functions of the normalization catalogue, applied to the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Function {
    /// `www.` is taken off a host.
    DropWww,
    /// Escaped sub-delimiters that are harmless in this place (`( ) ! * ' , : @ $`) are decoded.
    DecodeSubDelimiters,
    /// `%2F` and `%3F` in a query value become `/` and `?`, which have no meaning of their own there (RFC
    /// 3986, 3.4).
    DecodeSlash,
    /// `+` in a query value becomes `%20`.
    PlusIsSpace,
    /// A query key with an empty value is left out.
    DropEmpty,
    /// ASCII upper case becomes lower case, escapes untouched.
    LowerCase,
    /// A value that is a number alone loses the zeros before it: `0365` is `365`, also as the number of a
    /// path segment (`msg0365`). Other values stay, and those of a query key that comes more than once.
    DropLeadingZeros,
    /// `346:a-title` is `346`: a number, then `:`, `%3A`, `-` or `_`, then a letter or an escape. `2016-07-16` stays.
    DropTitle,
    /// A hash, a value of 40 lower-case hexadecimal digits and nothing else, is cut to its first 7: many programs
    /// take an abbreviation for the hash that it begins.
    #[serde(rename = "hash-to-7")]
    HashTo7,
    /// A hash is cut to its first 8 digits.
    #[serde(rename = "hash-to-8")]
    HashTo8,
    /// A hash is cut to its first 10 digits.
    #[serde(rename = "hash-to-10")]
    HashTo10,
    /// A hash is cut to its first 12 digits.
    #[serde(rename = "hash-to-12")]
    HashTo12,
    /// Of the values of a query key that comes more than once only the first counts (`a=1&a=2` is `a=1`).
    FirstRepeat,
    /// Of the values of a query key that comes more than once only the last counts (`a=1&a=2` is `a=2`).
    LastRepeat,
    /// The values of a query key that comes more than once are a set: sorted by bytes, each once.
    SortRepeats,
}

impl Function {
    /// All functions, in the order of their definition.
    pub const ALL: [Function; 15] = [
        Function::DropWww,
        Function::DecodeSubDelimiters,
        Function::DecodeSlash,
        Function::PlusIsSpace,
        Function::DropEmpty,
        Function::LowerCase,
        Function::DropLeadingZeros,
        Function::DropTitle,
        Function::HashTo7,
        Function::HashTo8,
        Function::HashTo10,
        Function::HashTo12,
        Function::FirstRepeat,
        Function::LastRepeat,
        Function::SortRepeats,
    ];

    /// Digits to which a function cuts hashes; `None` for the others.
    pub fn hash_digits(self) -> Option<usize> {
        match self {
            Function::HashTo7 => Some(7),
            Function::HashTo8 => Some(8),
            Function::HashTo10 => Some(10),
            Function::HashTo12 => Some(12),
            _ => None,
        }
    }

    /// True for a function on the values of a repeated key: it has a meaning on query keys only.
    pub fn is_on_repeats(self) -> bool {
        matches!(self, Function::FirstRepeat | Function::LastRepeat | Function::SortRepeats)
    }
}

/// What a rule does to one key of the target (WWW10 section 3; the last two are departures).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// The target has this concrete value.
    Keep(String),
    /// The target gets the value of this key of the source.
    Replace(String),
    /// The value does not matter.
    Ignore(Representative),
    /// Values that mean the same are mapped to one of them; `None` is the absent key. Sorted by the first
    /// of a pair.
    Classes(Vec<(Option<String>, Option<String>)>),
    /// A string function on the value, where the key is present.
    Apply(Function),
}

/// Pseudo-key of conditions: the [section](crate::url::section) of the URL as it came.
pub const SECTION: &str = "section";

/// Pseudo-key of mirror rules: scheme, host and leading path segments of the URL that the other rules
/// compose.
pub const PREFIX: &str = "prefix";

/// What kind of evidence made a rule; decides nothing when it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One or more keys whose values do not matter.
    Ignore,
    /// Values of one key that mean the same.
    Classes,
    /// A string function of the catalogue.
    Function,
    /// A mapping between two forms (WWW10 5.2.2).
    Form,
    /// A form all of whose URLs are one page (login pages, soft 404s).
    ConstantPage,
    /// A directory that serves what another one serves.
    Mirror,
}

/// The evidence that let a rule pass, counted over the records it was proven on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Sum over groups of size of the largest cluster - 1.
    pub good: u64,
    /// Sum over groups of group size - size of the largest cluster.
    pub bad: u64,
    /// Pseudo-observations the kind of rule starts with (0 or 8; never in the whole-corpus proof).
    pub prior: u32,
    /// Pairs that fall together (WWW10 eq. 3).
    pub support_pairs: u64,
    /// Pairs among them from different clusters (WWW10 eq. 3).
    pub false_positive_pairs: u64,
    /// Wilson upper bound of bad / (good + bad + prior), in millionths.
    pub upper_bound_ppm: u32,
    /// Clusters that support the rule.
    pub clusters: u64,
    /// Up to three pairs of URLs of one cluster that the rule joins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<[String; 2]>,
}

/// One rewrite rule of one site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// 16 hex digits, a hash of site, scope and operations: the same rule has the same id in every run.
    pub id: String,
    /// What made it.
    pub kind: Kind,
    /// The source pattern; all constraints must hold.
    pub scope: Vec<Constraint>,
    /// One operation a touched key, sorted by key.
    pub operations: Vec<(String, Operation)>,
    /// True for a rule between forms: keys without an operation do not exist in the target, and the source
    /// has exactly the keys that the scope names. False: keys without an operation are kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// It also acts on hosts of the site's registrable domain that no record has: see
    /// [`SiteRules::extends_to`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extended: bool,
    /// It acts before any evidence, by the word of the catalogue of platforms alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// Name of the line of that catalogue which it is an instance of, for example `phpbb-2/topic-session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// What it was proven with.
    pub evidence: Evidence,
    /// Departures from WWW10 that made it, by name (for `compare`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub departures: Vec<String>,
}

impl Rule {
    /// A rule of kind [`Kind::Ignore`], not between forms, without evidence: the fields that most rules
    /// have in common.
    pub fn of(id: &str, scope: Vec<Constraint>, operations: Vec<(String, Operation)>) -> Rule {
        let (evidence, departures) = Default::default();
        let (closed, extended, provisional) = (false, false, false);
        let (id, kind, line) = (id.to_owned(), Kind::Ignore, None);
        Rule { id, kind, scope, operations, closed, extended, provisional, line, evidence, departures }
    }

    /// Calls `change` with the key of each value that the rule names, in the order of the rule, and the
    /// value.
    pub(super) fn for_each_value(&mut self, mut change: impl FnMut(&str, &mut String)) {
        for Constraint { key, test } in &mut self.scope {
            match test {
                Test::Equals(value) => change(key, value),
                Test::OneOf(values) | Test::NoneOf(values) => values.iter_mut().for_each(|value| change(key, value)),
                Test::Present | Test::Absent => {}
            }
        }
        for (key, operation) in &mut self.operations {
            match operation {
                Operation::Keep(value)
                | Operation::Ignore(Representative::WherePresent(value) | Representative::Everywhere(value)) => {
                    change(key, value);
                }
                Operation::Classes(pairs) => {
                    let values = pairs.iter_mut().flat_map(|(from, to)| [from, to]).flatten();
                    values.for_each(|value| change(key, value));
                }
                Operation::Ignore(Representative::LeftOut) | Operation::Apply(_) | Operation::Replace(_) => {}
            }
        }
    }
}

/// How the URLs of a site are cut into keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Characters among `:,=!` that cut path segments on this site.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub delimiters: String,
    /// `;` separates query parameters on this site, as `&` does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub semicolons: bool,
    /// Of the URLs that use one separator alone, more use `;`: it is the usual one here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined_by_semicolons: bool,
    /// A first query parameter without a value that holds a path, as in `index.php?/category/3`, is cut as
    /// the path is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub query_path: bool,
    /// A last path segment that is a name and a number, as in `/category/3/start-30`, is a path parameter
    /// (`/start-`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbered_end: bool,
    /// A number inside a path segment, as in `p-749-a-title.aspx`, is a key (`path0.group`), and so is the word
    /// before it (`path0.groups`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inner_numbers: bool,
    /// Names of query keys that differ in their digits alone are one key, and names without `=` that hold a
    /// digit are another: [`family`](crate::url::keys::family).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_families: bool,
    /// The site's usual order of query keys: what "sorted" means here. Keys not listed follow by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query_order: Vec<String>,
    /// First directories of paths that are [sections](crate::url::section) by themselves, and with a slash
    /// those whose members are; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
    /// What fragments are on this site; not written where the records had none, nor in files before format
    /// 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragments: Option<Fragments>,
    /// Keys and rules of this site are those of `--method published`: see [`crate::rules::published`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub published: bool,
}

/// What fragments (`#...`) are on a site. Those that begin with `!` or `/` are routes of a program in
/// the page: keys on every site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fragments {
    /// No part of a URL: rules and look-ups do not see them, canonical URLs have none.
    LeftOut,
    /// A key, since records show that they tell pages apart.
    Keys {
        /// Clusters that show it: of URLs that are equal up to the fragment. At least
        /// [`Params::fragment_clusters`](crate::rules::Params::fragment_clusters).
        clusters: u32,
    },
}

impl Tokens {
    /// The section of a URL in normal form, as rules name it.
    pub fn section<'u>(&self, url: &'u [u8]) -> &'u [u8] {
        self.section_of_path(section::path(url))
    }

    /// [`section`](Self::section), from the path of the URL.
    pub fn section_of_path<'u>(&self, path: &'u [u8]) -> &'u [u8] {
        let is_named = |name: &[u8]| self.sections.iter().any(|of| of.as_bytes() == name);
        match section::of(path) {
            Section::Tenant(name) => name,
            Section::Member(directory, name) if is_named(directory) => name,
            Section::Member(directory, _) if is_named(&directory[..directory.len() - 1]) => {
                &directory[..directory.len() - 1]
            }
            Section::Word(name) if is_named(name) => name,
            Section::Member(..) | Section::Word(_) => section::OTHER.as_bytes(),
            Section::Number => section::NUMBER.as_bytes(),
            Section::Other => section::OTHER.as_bytes(),
        }
    }

    /// True where paths are cut as patterns and simple readers cannot cut them.
    pub fn cuts_paths(&self) -> bool {
        self.query_path || self.numbered_end || self.inner_numbers
    }

    /// The compiled form; delimiters that are none are left out.
    pub fn cut(&self) -> Cut {
        let bit = |(i, &c): (usize, &u8)| if self.delimiters.contains(char::from(c)) { 1 << i } else { 0 };
        Cut {
            delimiters: DELIMITERS.iter().enumerate().map(bit).sum(),
            semicolons: self.semicolons,
            joined_by_semicolons: self.semicolons && self.joined_by_semicolons,
            fragments: matches!(self.fragments, Some(Fragments::Keys { .. })),
            learned: self.fragments.is_some(),
            query_path: self.query_path,
            numbered_end: self.numbered_end,
            inner_numbers: self.inner_numbers,
            name_families: self.name_families,
        }
    }
}

/// A list of URLs; clones share it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Urls(Arc<[Box<str>]>);

impl Urls {
    /// Number of URLs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without any URL.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The URL at `index`, where there is one.
    pub fn get(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(AsRef::as_ref)
    }

    /// The URLs in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Bytes of memory behind all clones together.
    pub fn memory(&self) -> usize {
        self.iter().map(|url| url.len() + size_of::<Box<str>>()).sum()
    }
}

impl<S: Into<Box<str>>> FromIterator<S> for Urls {
    fn from_iter<I: IntoIterator<Item = S>>(urls: I) -> Urls {
        Urls(urls.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<Box<str>>> From<Vec<S>> for Urls {
    fn from(urls: Vec<S>) -> Urls {
        urls.into_iter().collect()
    }
}

/// All that was learned of one site; one line of `rules.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteRules {
    /// The site's label or registrable domain.
    pub site: String,
    /// Origins on which the rules act, sorted: scheme, host and port as in URLs in normal form
    /// (`http://a.example`, `https://a.example:8443`). Format 1 has `hosts` in their place, each of which
    /// is two origins.
    #[serde(alias = "hosts", deserialize_with = "super::origins::read")]
    pub origins: Vec<String>,
    /// How its URLs are cut.
    #[serde(default)]
    pub tokens: Tokens,
    /// Programs that it runs, by its URLs; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<Recognised>,
    /// Share of labels that contradict even the best-supported operation, in thousandths: what the proof
    /// takes as the noise of the labels.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub label_noise_permille: u32,
    /// Rules in the order in which they fire, each at most once.
    pub rules: Vec<Rule>,
    /// Pages for which a rule does not hold: a URL that the rules reduce to the page (first) and the id of
    /// the rule that is passed over for all URLs that they reduce to it, or `*` for all rules (second);
    /// sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<[String; 2]>,
    /// Learned look-ups: a URL that the rules reduce (first) to what is the same page as another URL, which
    /// is its own canonical URL (second); sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<[String; 2]>,
    /// Keys whose values are known page by page, best proven first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local: Vec<Local>,
}

impl SiteRules {
    /// True for an origin that none of its records has and on which its [extended](Rule::extended)
    /// rules act: of a host whose registrable domain is the site, on a default port, without user
    /// information.
    pub fn extends_to(&self, origin: &str) -> bool {
        !self.tokens.published
            && self.rules.iter().any(|rule| rule.extended)
            && super::origins::domain(origin) == Some(&self.site)
            && !self.origins.iter().any(|of| of == origin)
    }

    /// The rules that act on unseen hosts. Rules that are not extended are replaced by rules without
    /// operations, so that the numbers of rules stay. There are no origins, so that no rule changes
    /// scheme or host. `None` if no rule is extended.
    pub(crate) fn for_unseen_hosts(&self) -> Option<SiteRules> {
        let acts = |rule: &Rule| rule.extended && rule.mirror().is_none();
        if self.tokens.published || !self.rules.iter().any(|rule| rule.extended) {
            return None;
        }
        let mut rules = self.rules.clone();
        for rule in rules.iter_mut().filter(|rule| !acts(rule)) {
            (rule.scope, rule.operations, rule.closed) = (Vec::new(), Vec::new(), false);
        }
        let mut tokens = self.tokens.clone();
        if self.cut().fragments {
            // In files without this token the rules decide; some of them are gone.
            tokens.fragments.get_or_insert(Fragments::Keys { clusters: 0 });
        }
        Some(SiteRules { site: self.site.clone(), tokens, rules, ..SiteRules::default() })
    }

    /// How its URLs are cut into keys. In rules without [`Tokens::fragments`] (older ones, or made by hand)
    /// fragments are keys where a rule does more with a fragment than to leave it out everywhere.
    pub fn cut(&self) -> Cut {
        const KEY: &str = "fragment";
        let left_out = Operation::Ignore(Representative::LeftOut);
        let taken = Operation::Replace(KEY.to_owned());
        let names = self.rules.iter().any(|rule| {
            let everywhere = rule.scope.is_empty() && !rule.closed;
            rule.scope.iter().any(|constraint| constraint.key == KEY && constraint.test != Test::Absent)
                || rule.operations.iter().any(|(key, operation)| {
                    *operation == taken || key == KEY && !(everywhere && *operation == left_out)
                })
        });
        let cut = self.tokens.cut();
        Cut { fragments: cut.fragments || self.tokens.fragments.is_none() && names, ..cut }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
