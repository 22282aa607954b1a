//! The rules of one site, compiled: keys become slots, values become codes, rules become programs of a
//! few integers.
//!
//! A URL is canonicalized in five steps, each in a file of its own.
//! - [`coding`]: each pair of the URL gets the slot of its key, the code of its value, and a hash.
//! - [`rows`]: the values select the programs that may act.
//! - [`run`]: those run in order and change the pairs.
//! - [`lookups`], [`ranges`]: the sum of the hashes of the pairs, the *identity*, finds the page that
//!   is canonical.
//! - [`fixed_point`]: the pairs are composed, and the URL is checked to be its own canonical URL.
//!
//! Values are ranges of one text; a value from a rule is appended to it. The part that sites of the
//! same software have in common is a shared [`Template`]; hosts and single pages are a site's [`Own`].

mod coding;
mod compile;
mod fixed_point;
mod fragments;
mod hosts;
mod index;
mod lookups;
mod mirrors;
mod program;
mod ranges;
mod reduce;
mod rows;
mod run;
mod site;
mod sorted;
mod state;
mod template;
mod template_cache;
mod touch;

use super::fired::bits;
pub use coding::{CodedOrigin, KeptOrigin};
pub use program::*;
pub use site::{CompiledSite, Own};
pub use state::{Buffers, State};
use state::{Filled, PairState, SlotState};
pub use template::{Template, Templates};
pub use template_cache::TemplateCache;
