#[path = "it/synth.rs"]
mod synth;
