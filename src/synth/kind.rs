//! Page types: a space of pages, the URLs each page has, and the way back from a URL to its
//! page.

use super::parts::Parts;
use super::rng::Rng;
use super::view::View;
use super::{aliases, constant, decor, lists, mapping, negatives, syntax, views};

/// One URL of one page, to be written by its page type.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The page, a number that the type turns into names and ids.
    pub entity: u64,
    /// Which of the type's URLs for it: below [`PageType::forms`] + [`PageType::own_host_forms`], or any
    /// number for a constant page.
    pub form: u64,
    /// Differs between all URLs of the page: what free values (session ids) are made of.
    pub serial: u64,
    /// The form alone does not set this URL apart from another of the page: the type must write its free
    /// value.
    pub free: bool,
}

/// The URLs of one page of a block (see [`PageType::block`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urls {
    /// Each block has a page of its own with this number of URLs.
    Each(u64),
    /// One page of the site, to which each block adds this number of URLs.
    Shared(u64),
}

/// A page type: one way in which a web server gives pages several URLs (or refuses to).
///
/// Two rules make distinct URLs and true clusters by construction rather than by a table of what was
/// written: `(entity, form)` can be told from the path, query and own sub-domain that
/// [`write`](Self::write) produces, whatever the coin says, and [`key`](Self::key) finds the entity
/// from the URL alone.
pub trait PageType: Send + Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;
    /// Distinct URLs of each page that any mirror of the site serves, before decorations. `u64::MAX` marks
    /// a constant page: one entity with URLs without end.
    fn forms(&self) -> u64;
    /// Further URLs of each page that have a sub-domain of their own.
    fn own_host_forms(&self) -> u64 {
        0
    }
    /// The type has a free value of its own, so a page has URLs without end.
    fn has_free_value(&self) -> bool {
        false
    }
    /// The pages of one block, for types whose pages differ in the number of their URLs; empty for
    /// types whose cluster sizes follow the distribution of the site. The type is a repetition of the block: page `i`
    /// of block `b` is the entity `b * block().len() + i`, that of a shared page `i`, and
    /// [`forms`](Self::forms) is not used. Only the last block can lack pages and URLs.
    fn block(&self) -> Vec<Urls> {
        Vec::new()
    }
    /// Labels under which a crawl records page `entity`: above 1 for a page whose text changes with
    /// what the URL does not show. Each record has one of them at random; the true cluster is one.
    fn renderings(&self, _entity: u64) -> u64 {
        1
    }
    /// The type has parameters without `=`.
    fn has_bare_keys(&self) -> bool {
        false
    }
    /// Letters' case tells forms or pages apart: the site's case decoration keeps off.
    fn keeps_case(&self) -> bool {
        false
    }
    /// Entities are numbers that sites hand out with gaps (ids); otherwise they must be dense.
    fn sparse_ids(&self) -> bool {
        true
    }
    /// Writes path, query and own sub-domain of `page`; `coin` decides what neither tells pages apart nor
    /// counts as a form of its own (order of parameters, explicit default values).
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng);
    /// The entity of a URL freed of the site's decorations; None when it is not of this type. Written from
    /// the truth in [`rules`](Self::rules), not from what `write` happens to do: the oracle of the tests.
    fn key(&self, url: &View) -> Option<u64>;
    /// What is to be learned, in words.
    fn rules(&self) -> Vec<String>;
}

/// Makes a page type with names drawn for one site.
pub type Make = fn(&mut Rng) -> Box<dyn PageType>;

/// Every page type: its name, what it stands for and where that is described, how to make one.
pub const TYPES: [(&str, &str, Make); 23] = [
    ("archive", "Fig. 4 of WWW10: numbered archives, page id in path or query, session id", mapping::archive),
    ("code", "case-sensitive short codes, look-alikes under case folding", syntax::code),
    ("dbmap", "SIGIR 2017, table 3, case 5: ids mapped in a database, not learnable from the URL", mapping::dbmap),
    ("defaults", "catalogue: default and empty values of parameters", lists::defaults),
    ("dir", "catalogue, DustBuster 1: directory index and trailing slash", aliases::dir),
    ("enc", "catalogue: percent-escape variants", syntax::enc),
    ("lang", "language matters, its default may be left out", views::lang),
    ("lecture", "DustBuster 4: numbered items (lect1.ps, lect2.ps) that are no duplicates", negatives::lecture),
    ("list", "SIGIR 2017, 1: superfluous sort and view parameters; the page number matters", lists::list),
    ("login", "WWW10 table 1: one page behind very many URLs (log in first)", constant::login),
    ("look", "DustBuster 2: look-alike URLs with equal ids that are no duplicates", negatives::look),
    ("order", "catalogue: order of parameters, all of which matter", lists::order),
    ("print", "print views and referrer parameters", views::print),
    ("product", "WWW10 5.2.1: path and query carry the same id; any slug is served", mapping::product),
    ("question", "SIGIR 2017, 1: optional slug and short entry point", aliases::question),
    ("search", "+ and %20, order of parameters, language with default, referrer", lists::search),
    ("smallint", "small unrelated integers, some kept and one superfluous", views::smallint),
    ("soft404", "one soft-404 page behind very many URLs", constant::soft404),
    ("story", "DustBuster 1: story_123, story?id=123, s/123", aliases::story),
    ("sub", "DustBuster 1: sub-domain or directory", mapping::sub),
    ("tilde", "DustBuster 1: ~user or /people/user", aliases::tilde),
    ("versions", "WWW10 5.2.2: numbers that name a mirror beside numbers that name a page", mapping::versions),
    ("wiki", "spelling and case of titles", aliases::wiki),
];

/// Page types that mislead a learner of rules, with truth. A site has them only where it is asked
/// for them, by name or by [`ALL_TRAPS`].
pub use super::traps::TRAPS;

/// Page types that need, or tempt, the kinds of rules that came after the papers. A site has them only
/// where it is asked for them, by name or by [`ALL_SHAPES`].
pub use super::shapes::SHAPES;

/// Name that stands for all of [`TRAPS`] among names of page types.
pub const ALL_TRAPS: &str = "traps";

/// Name that stands for all of [`SHAPES`].
pub const ALL_SHAPES: &str = "shapes";

/// Names of all page types, [`ALL_TRAPS`] and [`ALL_SHAPES`], for messages.
pub fn type_names() -> Vec<&'static str> {
    TYPES.iter().chain(&TRAPS).chain(&SHAPES).map(|t| t.0).chain([ALL_TRAPS, ALL_SHAPES]).collect()
}

/// Page types that `names` asks for, in the order of [`TYPES`], [`TRAPS`] and [`SHAPES`].
pub fn named(names: &[String]) -> Vec<Make> {
    let asked = |name: &str| names.iter().any(|n| n == name);
    let traps = TRAPS.iter().filter(|t| asked(t.0) || asked(ALL_TRAPS));
    let shapes = SHAPES.iter().filter(|t| asked(t.0) || asked(ALL_SHAPES));
    TYPES.iter().filter(|t| asked(t.0)).chain(traps).chain(shapes).map(|t| t.2).collect()
}

/// Names of all decorations, for messages.
pub fn decoration_names() -> Vec<&'static str> {
    decor::NAMES.to_vec()
}
