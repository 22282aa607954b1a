//! undust (map to be written)
pub mod evaluate;
pub mod io;
pub mod model;
pub mod rules;
pub mod site;
pub mod synth;
pub mod url;
