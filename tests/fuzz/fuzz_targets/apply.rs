//! Fuzzes applying rules that were learned from the sample: whatever the bytes, the laws hold.
#![no_main]

#[path = "../laws/apply.rs"]
mod laws;

use std::cell::RefCell;
use std::path::Path;
use std::sync::LazyLock;
use undust::rules::{RuleSet, Scratch};

static RULES: LazyLock<RuleSet> = LazyLock::new(|| {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/kb-sample.jsonl.gz");
    RuleSet::new(vec![laws::learned(&laws::records(&sample))])
});

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = SCRATCH.with_borrow_mut(|scratch| laws::laws(&RULES, data, scratch)) {
        panic!("{broken}");
    }
});
