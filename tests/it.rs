//! The one integration binary: a module a subject, in `tests/it/`.

#[path = "it/house.rs"]
mod house;
