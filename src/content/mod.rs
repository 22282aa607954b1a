//! Content of a page: main text, fingerprint, title, declared canonical URL. Pure, on bytes.
//!
//! | module | contents |
//! |---|---|
//! | [`page`] | HTML -> title, canonical, base, main text as tokens; boilerplate left out |
//! | [`tokens`] | text -> tokens; times and nonces left out |
//! | [`simhash`] | tokens -> 64-bit fingerprint; distance |
//! | [`near`] | fingerprints -> pairs within a distance, through block permutations |
//! | [`charset`] | bytes -> UTF-8, by mark, declaration or guess |
//! | [`mod@reference`] | a URL reference and its base -> an absolute URL |
//!
//! HTML is cut into tokens by html5gum, which follows the standard, passes its tests and keeps no tree:
//! nesting costs no stack and no memory. What is boilerplate is told from the tags alone, in one pass.

pub mod charset;
pub mod near;
pub mod page;
pub mod reference;
pub mod simhash;
pub mod tokens;

pub use page::{Page, Reader};
