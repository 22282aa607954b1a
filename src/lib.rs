//! undust (map to be written)
pub mod evaluate;
pub mod dataflow;
pub mod io;
pub mod model;
pub mod rules;
pub mod runtime;
pub mod site;
pub mod synth;
pub mod spill;
pub mod url;
