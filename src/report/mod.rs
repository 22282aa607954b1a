//! A comparison for readers: tables and figures of the papers with our numbers, as text, as CSV, and as one HTML page.
//! Pure: numbers in, text out.
//!
//! [`table`] is a table and its three notations, [`figures`] joins sites and seeds, [`tables`] makes the tables of the
//! papers, [`charts`] the figures, [`page`] the report.

pub mod charts;
pub mod coverage;
pub mod escape;
pub mod figures;
pub mod page;
pub mod precision;
pub mod table;
pub mod tables;
