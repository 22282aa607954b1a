//! Pages for readers: a comparison (tables and figures of the papers with our numbers, as text, as CSV,
//! and as one HTML page), and a run of `learn`. Pure: numbers in, text out.
//!
//! [`table`] is a table and its three notations, [`figures`] joins sites and seeds, [`tables`] makes
//! the tables of the papers, [`costs`] those of times, [`charts`] the figures, [`page`] the report of
//! a comparison or of several, [`run`] that of a run.

pub mod charts;
pub mod costs;
pub mod coverage;
pub mod escape;
pub mod figures;
mod frame;
mod joined;
pub mod page;
pub mod precision;
pub mod run;
pub mod table;
pub mod tables;
mod text;
mod tree;
