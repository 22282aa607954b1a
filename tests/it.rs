#[path = "it/house.rs"]
mod house;
