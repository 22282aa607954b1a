//! Fuzzes applying rules that were learned from the sample: whatever the bytes, the invariants hold.
#![no_main]

#[path = "../invariants/apply.rs"]
mod invariants;

use std::cell::RefCell;
use std::path::Path;
use std::sync::LazyLock;
use undust::rules::{RuleSet, Scratch};

static RULES: LazyLock<RuleSet> = LazyLock::new(|| {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/kb-sample.jsonl.gz");
    RuleSet::new(vec![invariants::learned(&invariants::records(&sample))])
});

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = SCRATCH.with_borrow_mut(|scratch| invariants::check(&RULES, data, scratch)) {
        panic!("{broken}");
    }
});
