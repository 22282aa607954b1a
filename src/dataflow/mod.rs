//! The dataflows: the only users of timely, with `runtime`.
//!
//! [`learn`] turns records into rule sets, [`proof`] counts the evidence of rule sets on all records;
//! both are built at every worker and fit on one screen each. Learning a site is a chain of operators, one for each
//! stage of the method (`stages`, [`walk`]). Operators are extension traits and thin:
//! decisions are in plain functions ([`sample`], [`group`], [`pages`], [`verdict`]) that are tested
//! without a worker. Rows travel and spill in columns.
//!
//! Two things save work and change no result: work stealing between the workers of a process
//! ([`work_stealing`]), and the replay spill of small sites for a later pass of the proof ([`replay`]).
//!
//! The proof: [`pages`] makes rows of records, [`tally`] and [`marginal`] turn rows into [`counts`],
//! [`verdict`] decides by them what is to [`change`], [`narrow`] narrows a rule, [`mod@run`] goes from pass to
//! pass.
//!
//! [`alone`] does both dataflows for one site in plain code: their oracle. [`clusters`] makes clusters
//! of records without labels, before the others, through pairs of [`near`] fingerprints; it alone uses
//! differential dataflow. [`compare`](mod@compare) distributes sites to all methods, `undust` among them,
//! and [`compress`] merges the documents of an index: each is a dataflow of its own.
//!
//! All are started by `driver`; their sources keep a `pace`, the first worker of a process informs
//! the others by a `leader_barrier`, and `failure` keeps what went wrong first.
//!
//! The module opens no files: records come from a [`Source`], results are values.
pub mod alone;
pub mod change;
pub mod clusters;
pub mod compare;
pub mod compress;
pub mod counts;
mod driver;
mod failure;
pub mod form;
mod gather;
pub mod group;
mod group_by_site;
mod grouped;
pub mod held_out;
pub mod journal;
mod leader_barrier;
pub mod learn;
pub mod learned_site;
pub mod locate;
pub mod marginal;
pub mod narrow;
pub mod near;
mod pace;
pub mod pages;
pub mod proof;
mod proof_state;
pub mod proven;
mod rate;
pub mod read;
pub mod replay;
pub mod rows;
pub mod run;
pub mod sample;
pub mod sorted;
pub mod source;
mod stages;
pub mod table;
pub mod tally;
pub mod types;
pub mod verdict;
pub mod walk;
pub mod work_stealing;
pub use learned_site::Journal;
pub use proven::{Learned, Narrowed, ProvenSite, Withdrawn};
pub use run::{prove_on, run, run_on};
pub use source::{Batches, Source, SourceError};
pub use types::{Plan, RunError};
pub mod summary;
