//! The catalogue of platforms: what well-known programs do with their URLs, and which of them a site
//! runs.
//!
//! Most sites are small, and many run the same few programs. A line of the catalogue is a rule that the
//! vendor documents: phpBB 2 makes the same page of `viewtopic.php?t=7` with any `sid`. It needs fewer
//! records of a site than an unknown rule, and with `learn --platforms provisional`
//! none ([`Platforms`](crate::rules::platforms::Platforms)).
//!
//! - [`read`]: catalogue files, and the checks that each line passes.
//! - [`mod@recognise`]: which programs a site runs, from its URLs alone.
//! - [`mod@place`]: a line, moved into the directory of the program.
//!
//! Every line names a script or another part of the path: `sid` of a forum is no word about `sid`
//! elsewhere. Carrying rules from site to site without their scripts loses pages (recall .90 on 27
//! corpora).
//!
//! Pure: no files, no clock. docs/platforms.md says how to add a program.

pub mod place;
pub mod read;
pub mod recognise;
#[cfg(test)]
mod tests;

pub use place::{Placed, place};
pub use read::{Catalogue, CatalogueError};
pub use recognise::recognise;
