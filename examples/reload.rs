//! Reload in a long-running program: rules are replaced while other threads apply them.
//!
//! ```sh
//! cargo run --release --example reload -- RULES < urls.txt      # an empty line opens RULES again
//! ```

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::Path;

use undust::rules::{RuleSet, Scratch, SharedRules};

/// A URL a line in, its canonical URL out; an empty line opens the rules at `path` again. Rules that
/// cannot be opened are told, and the current ones stay.
pub fn serve(path: &Path, urls: impl BufRead, mut out: impl Write) -> Result<(), Box<dyn Error>> {
    let shared = SharedRules::new(RuleSet::open(path)?);
    let mut scratch = Scratch::default();
    for url in urls.split(b'\n') {
        let url = url?;
        if url.is_empty() {
            match shared.reload(path) {
                Ok(()) => writeln!(out, "reloaded")?,
                Err(error) => writeln!(out, "the current rules stay: {error}")?,
            }
            continue;
        }
        // One set for one URL, or for one batch: what another thread puts in its place does not touch it.
        let rules = shared.current();
        out.write_all(rules.apply(&url, None, &mut scratch).url)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let rules = std::env::args_os().nth(1).ok_or("name the folder that `undust learn` wrote")?;
    serve(Path::new(&rules), io::stdin().lock(), io::stdout().lock())
}
