//! URLs as bytes: safe syntax (stage 1), keys and values, and back; the site of a host.
mod authority;
pub mod cells;
pub mod compose;
pub mod keys;
mod marks;
pub mod safe;
pub(crate) mod scan;
pub mod segment;
pub mod site;
mod window;
pub use cells::{Cell, Cells, Cut};
pub use compose::{compose, is_usual_order, set_order, write_order};
pub use keys::{Fixed, Key, KeyRef, Part};
pub use safe::{CAPITAL, Invalid, LETTERS, PERCENT, PLUS, Split, letters, normalize};
pub use segment::DELIMITERS;
pub use site::registrable_domain;
