//! A filter before a queue: of the URLs that have one canonical URL, the first goes on, in its
//! canonical form.
//!
//! ```sh
//! cargo run --release --example queue_filter -- RULES < links.txt > queue.txt
//! ```

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, BufRead, Write};

use undust::rules::{RuleSet, Scratch};

/// URLs that have passed. A crawler keeps them for as long as it runs.
pub struct Filter {
    rules: RuleSet,
    scratch: Scratch,
    passed: BTreeSet<Box<[u8]>>,
}

impl Filter {
    /// Nothing has passed yet.
    pub fn new(rules: RuleSet) -> Filter {
        Filter { rules, scratch: Scratch::default(), passed: BTreeSet::new() }
    }

    /// The canonical URL of `url`, unless it has passed before.
    pub fn next(&mut self, url: &[u8]) -> Option<&[u8]> {
        let canonical = self.rules.apply(url, None, &mut self.scratch).url;
        if self.passed.contains(canonical) {
            return None;
        }
        self.passed.insert(canonical.into());
        Some(canonical)
    }
}

/// One URL a line in, those to fetch out.
pub fn filter(rules: RuleSet, links: impl BufRead, mut queue: impl Write) -> io::Result<()> {
    let mut filter = Filter::new(rules);
    for link in links.split(b'\n') {
        if let Some(url) = filter.next(&link?) {
            queue.write_all(url)?;
            queue.write_all(b"\n")?;
        }
    }
    queue.flush()
}

fn main() -> Result<(), Box<dyn Error>> {
    let rules = std::env::args_os().nth(1).ok_or("name the folder that `undust learn` wrote")?;
    filter(RuleSet::open(rules)?, io::stdin().lock(), io::stdout().lock())?;
    Ok(())
}
