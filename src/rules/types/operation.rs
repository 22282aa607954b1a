//! Operations: what a rule does to one key.

use crate::url::keys::is_family;
use serde::{Deserialize, Serialize};

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
    /// The values of a family of query keys whose names are sorted have no order: they are sorted by bytes
    /// (`f[0]=b&f[1]=a` is `f[0]=a&f[1]=b`). Others stay.
    SortFamily,
}

impl Function {
    /// All functions, in the order of their definition.
    pub const ALL: [Function; 16] = [
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
        Function::SortFamily,
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

    /// True for a function on the values of a repeated key.
    pub fn is_on_repeats(self) -> bool {
        matches!(self, Function::FirstRepeat | Function::LastRepeat | Function::SortRepeats)
    }

    /// False for the name of a key on which the function has no meaning: one that can be no repeated parameter, or no
    /// family of names.
    pub fn is_for(self, key: &str) -> bool {
        match self {
            Function::SortFamily => key.starts_with("query ") && key.ends_with('=') && is_family(key.as_bytes()),
            _ => !self.is_on_repeats() || key.starts_with("query "),
        }
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
