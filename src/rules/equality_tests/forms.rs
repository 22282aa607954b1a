//! Rule sets that were written and read again.

use super::{RuleSet, SiteRules};
use crate::io::rules::{OpenedRules, RuleFile};
use crate::rules::Params;
use crate::rules::file::{self, Header, InputCounts};
use std::path::Path;

/// The rule set in each of its file forms.
pub(super) fn read_again(sites: &[SiteRules]) -> [(&'static str, RuleSet); 3] {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rules.jsonl");
    let mut text = Vec::new();
    let header = Header::new(Params::default(), InputCounts::default());
    file::write(&header, sites.iter(), &mut text).expect("rules that can be written");
    std::fs::write(&path, text).expect("a temporary file");
    opened(&path, folder.path())
}

/// Opens the rules at `path`, a rule file or its folder: as a whole, for applying, and compiled. The
/// compiled file is written to `scratch`.
pub(super) fn opened(path: &Path, scratch: &Path) -> [(&'static str, RuleSet); 3] {
    let compiled = scratch.join("rules.compiled");
    OpenedRules::open(path, false).and_then(|file| file.write_compiled(&compiled)).expect("rules that can be compiled");
    [
        ("JSON lines, all of them", RuleFile::open(path, false).expect("a rule file").compile()),
        ("JSON lines", RuleSet::open(path).expect("a rule file")),
        ("compiled file", RuleSet::open(&compiled).expect("a compiled file")),
    ]
}
