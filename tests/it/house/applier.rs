//! The size of the applier.

use super::files;
use std::collections::BTreeSet;

/// Files of `src/rules` that do not exist to apply rules: the rule type and its meaning, files,
/// explanations, exports, and what is done with applied rules. All others count as the applier.
const NOT_THE_APPLIER: &[&str] = &[
    "age",
    "ascii",
    "checksum",
    "compiled_format",
    "diff",
    "explain",
    "export",
    "file",
    "filter",
    "functions",
    "interpreter",
    "lines",
    "mod",
    "origins",
    "overrides",
    "params",
    "platforms",
    "provisional",
    "published",
    "saved",
    "shared",
    "stops",
    "thresholds",
    "trace",
    "twins",
    "types",
    "value_ranges",
    "without",
    "wording",
];

/// `scripts/applier-lines` prints what this counts: lines of code, without tests, comments and blank
/// lines. The applier is at most 2,500 lines.
#[test]
#[allow(clippy::print_stdout, reason = "the script shows the list")]
fn the_applier_is_small() {
    let mut total = 0;
    for file in files(&["src/rules"]) {
        let name = file.path["src/rules/".len()..].split(['/', '.']).next().unwrap_or_default();
        if !file.test && !NOT_THE_APPLIER.contains(&name) {
            let lines: BTreeSet<usize> = file.tokens.iter().map(|token| token.line).collect();
            println!("{:5}  {}", lines.len(), file.path);
            total += lines.len();
        }
    }
    println!("{total:5}  lines of code");
    assert!((500..=2500).contains(&total), "the applier has {total} lines of code");
}
