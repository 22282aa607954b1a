//! undust (map to be written)
pub mod dataflow;
pub mod io;
pub mod model;
pub mod rules;
pub mod runtime;
pub mod site;
pub mod spill;
pub mod url;
