//! How the URLs of a site are tokenized.

use crate::url::section::{self, Section};
use crate::url::{DELIMITERS, Endings, Tokenizer, ValueEnds};
use serde::{Deserialize, Serialize};

/// How the URLs of a site are tokenized into keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Characters among `:,=!` that split path segments on this site.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub delimiters: String,
    /// `;` separates query parameters on this site, as `&` does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub semicolons: bool,
    /// Of the URLs that use one separator alone, more use `;`: it is the usual one here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined_by_semicolons: bool,
    /// A `?` within the query separates parameters on this site, as `&` does: `?n=A?action=print`. Of no effect beside
    /// `semicolons`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nested_queries: bool,
    /// A query that begins with a list, a first part with commas, is cut at those before names: `?6,123,page=2` has
    /// the path parameters `<list>` (`6,123`) and `<list>,page=`. Of no effect beside `semicolons`, `nested_queries`
    /// and `query_path`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commas: bool,
    /// A first query parameter without a value that holds a path, as in `index.php?/category/3`, is tokenized as
    /// the path is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub query_path: bool,
    /// A last path segment that is a name and a number, as in `/category/3/start-30`, is a path parameter
    /// (`/start-`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbered_end: bool,
    /// Last path segments that are a path parameter (`/`), at any depth: `view` of `/a/b/view`; and, behind a `*`,
    /// words that a character joins to one, which are one of its name (`-/`): `*-print` of `/a/b-print.html`. At
    /// most [`Endings::MOST`](crate::url::Endings::MOST); sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endings: Vec<String>,
    /// A number inside a path segment, as in `p-749-a-title.aspx`, is a key (`path0.group`), and so is the word
    /// before it (`path0.groups`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inner_numbers: bool,
    /// Names of query keys that differ in their digits alone are one key, and names without `=` that hold a
    /// digit are another: [`family`](crate::url::keys::family).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_families: bool,
    /// Parameters, each with its `=` and a delimiter, whose values have [ends](crate::url::value_ends): `page=/` where
    /// `?page=Home/edit` has the keys `query page=` (`Home`) and `param <end>page=` (`/edit`). At most
    /// [`ValueEnds::MOST`]; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value_ends: Vec<String>,
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

    /// True where something beside `&` separates parameters.
    pub fn has_separators(&self) -> bool {
        self.semicolons || self.nested_queries
    }

    /// True where paths are tokenized as patterns and simple readers cannot tokenize them.
    pub fn extends_paths(&self) -> bool {
        self.query_path || self.numbered_end || self.inner_numbers || !self.endings.is_empty()
    }

    /// The compiled form; delimiters that are none are left out.
    pub fn tokenizer(&self) -> Tokenizer {
        let bit = |(i, &c): (usize, &u8)| if self.delimiters.contains(char::from(c)) { 1 << i } else { 0 };
        Tokenizer {
            delimiters: DELIMITERS.iter().enumerate().map(bit).sum(),
            semicolons: self.semicolons,
            joined_by_semicolons: self.semicolons && self.joined_by_semicolons,
            nested_queries: self.nested_queries && !self.semicolons,
            commas: self.commas && !self.has_separators() && !self.query_path,
            fragments: matches!(self.fragments, Some(Fragments::Keys { .. })),
            learned: self.fragments.is_some(),
            query_path: self.query_path,
            numbered_end: self.numbered_end,
            endings: Endings::new(&self.endings),
            inner_numbers: self.inner_numbers,
            name_families: self.name_families,
            value_ends: ValueEnds::new(&self.value_ends),
        }
    }
}
