//! undust learns, per web site, which URLs are the same page: it reads crawl records labelled with
//! duplicate clusters, proposes URL rewrite rules, proves each of them, and applies them. One
//! canonical, fetchable URL for every URL.
//!
//! This page is the map of the crate. The program around it is in `jobs/`, one small file a job; only
//! the program parses a command line.
//!
//! # Map
//! In reading order. Each line uses only lines above it, except where it says so.
//!
//! - `model`: ids and small types that all share; records in columns; hashes that never change; the stages of
//!   a run and their counts, in one list (`stage`); text for people without what could drive a terminal
//!   (`shown`).
//! - `temporary`: files and folders that are removed when the run ends, by a signal too.
//! - `content`: what a page says: main text, fingerprint, title, declared canonical URL; near
//!   fingerprints.
//! - `url`: bytes to keys and back; syntax-based normalization (RFC 3986); hashes of values; the site of a host, the
//!   section of a path; words at the end of a path and of a value that are keys (`endings`, `value_ends`).
//! - `rules`: the one rule type; the interpreter, which defines what rules mean and explains them, with
//!   the URLs that mirror rules make (`twins`); the compiled applier, which equals it; the file formats
//!   of both; the parameters of learning and their thresholds, in one table (`thresholds`).
//! - `platforms`: what well-known programs do with their URLs, line by line, and which of them a site
//!   runs.
//! - `index`: inverted indexes in the Common Index File Format, and their posting lists when duplicates
//!   are merged.
//! - `site`: learning one site, a pure function: how its URLs become keys, by hold-out (`tokens`; what is tried:
//!   `endings`, `value_ends`); operations, the sections and scripts in which they hold
//!   (`sections`, `scripts`), hosts with and without `www.` (`www`), values beside which they were hardly shown
//!   (`unshown`), paths of which the front names the page (`prefixes`), what rules on the origin do to feeds
//!   (`feeds`), tree, forms, evidence, candidates, energy, invariants; whether the pages that a rule moves are
//!   found where it moves them (`overlap`); directories and parameters that move whole (`mirrors`, `fronts`), and which
//!   other parameters move along (`names_behind`); look-ups of single URLs, and values of a key that are one
//!   page (`lookups`, `value_ranges`); names of trackers (`tracking`), sessions (`sessions`, `random_tokens`),
//!   and values that prove a rule together (`proven_values`); what decides between equals (`hints`); an earlier
//!   result and the new rules as one (`relearn`, by what both do: `effects`); cross-fitted figures
//!   (`held_out`); what URLs show beside the rules (`profile`); and the method as published.
//! - `evaluate`: counts of a URL mapping against clusters, merged and turned into figures.
//! - `baselines`: every method of the papers behind one trait, and the protocols that compare them.
//! - `synth`: synthetic sites with known truth.
//! - `io`: formats, shards, compression, rejects; result folders with their lock and mark (`output`);
//!   digests of shards and of the executable (`fingerprint`); pages of a server that the user names.
//! - `spill`: batches on disk, written and read back in place: the one user of `abomonation` and of
//!   `unsafe`.
//! - `runtime`: configuration, workers, progress, the mesh of processes and its secret: how a dataflow
//!   is started and watched.
//! - `dataflow`: the jobs on many workers: learning (sample, group by site, energy walk, proof over all
//!   records), clusters of records without labels, comparing methods, merging the documents of an
//!   index.
//! - `report`: what a comparison gives as text, CSV and one self-contained page, and the pages of a run
//!   of `learn`.
//!
//! Start with `rules` (what comes out), then `site` (how one site is learned, in plain code: it is the
//! oracle of the dataflow), then `dataflow` (how many sites are). `model <- url <- rules <- platforms
//! <- site <- evaluate` is the direction of dependency; these import nothing of the rest.
//!
//! With `default-features = false` the crate is these and `model`: rules and their applier, the catalogue
//! of platforms, learning of one site, evaluation. Everything else is behind the feature `program`, and
//! so are `rules::export`, `rules::lines` and `rules::filter` (`scripts/light` checks it). Compiled rules as
//! a file, `rules::compiled_format`, are behind the feature `compiled-format`, which `program` brings.
//!
//! # Invariants
//! Most are absences, which no one can see by reading code. `tests/it/house.rs` checks those marked
//! with a star and names file and line where one is broken; the compiler and clippy check the others.
//!
//! - ★ Dependencies point one way, as in the map. `dataflow` does not import `io`: it takes record
//!   iterators and returns collections; `jobs` joins the two.
//! - ★ No timely and no differential outside `dataflow` and `runtime`.
//! - ★ No files, sockets or clocks outside `temporary`, `io`, `runtime`, `spill` and `jobs`; no
//!   environment and no processes either outside the last four. No signals outside `jobs`. Learning,
//!   applying and evaluating are functions of their arguments.
//! - ★ No clap outside `jobs`.
//! - ★ No printing outside `jobs/messages.rs` and `runtime/progress.rs`. Results go to standard output,
//!   all else to standard error. Text for people passes through `model::shown`, which escapes what
//!   could drive a terminal; data do not.
//! - ★ No `unsafe` outside `spill`, and no `abomonation`: it decodes only files that this very process
//!   wrote in this run.
//! - ★ No randomness without a seed, no hash that may change between runs or releases.
//! - No iteration over a hash map that reaches an output (clippy `iter_over_hash_type`): ties are
//!   broken by a documented order, and the same input gives the same bytes on any number of workers.
//! - No floating-point difference in a differential collection (its traits do not allow one). One
//!   site's floating-point sums are made in one place and in one order.
//! - No record is fatal: a bad one is counted and sampled. No failure of the run is a panic: it is a
//!   typed error with the facts and a way out.
//! - ★ No file over 500 lines without a reason, no `todo!`, no ignored test.
//! - ★ No private word in an identifier where the field has a term (`tests/it/house/vocabulary.rs`).
//! - ★ No reference to a document outside the repository, no doc comment that begins with "The same", no
//!   comment line over 120 characters.

#[cfg(feature = "program")]
pub mod baselines;
#[cfg(feature = "program")]
pub mod content;
#[cfg(feature = "program")]
pub mod dataflow;
pub mod evaluate;
#[cfg(feature = "program")]
pub mod index;
#[cfg(feature = "program")]
pub mod io;
pub mod model;
pub mod platforms;
#[cfg(feature = "program")]
pub mod report;
pub mod rules;
#[cfg(feature = "program")]
pub mod runtime;
pub mod site;
#[cfg(feature = "program")]
pub mod spill;
#[cfg(feature = "program")]
pub mod synth;
#[cfg(feature = "program")]
pub mod temporary;
pub mod url;
