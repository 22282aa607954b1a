//! URLs as bytes: safe syntax (stage 1), keys and values, and back; the site of a host.
pub mod safe;
pub mod site;
pub use safe::{Invalid, Split, normalize};
