//! A batch: many URLs at once, on all processors, in order. `Batch` works on several URLs at a time, so
//! that the memory that one waits for is fetched while others are worked on.
//!
//! ```sh
//! cargo run --release --example batch -- RULES URL...
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::thread;

use undust::rules::{Batch, RuleSet};

/// The canonical URLs of `urls`, in their order.
pub fn canonical(rules: &RuleSet, urls: &[String]) -> Vec<String> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let part = urls.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let parts = urls.chunks(part).map(|urls| scope.spawn(|| of_part(rules, urls)));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("applying rules does not panic")).collect()
    })
}

/// Each thread has a `Batch` of its own: it holds buffers.
fn of_part(rules: &RuleSet, urls: &[String]) -> Vec<String> {
    let mut out = Vec::with_capacity(urls.len());
    Batch::default().apply(rules, urls.iter().map(|url| url.as_bytes()), |_, applied| {
        // A URL that is UTF-8 has a canonical URL that is.
        out.push(String::from_utf8_lossy(applied.url).into_owned());
    });
    out
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rules = RuleSet::open(arguments.next().ok_or("name the folder that `undust learn` wrote, then URLs")?)?;
    let urls: Vec<String> = arguments.collect();
    for (url, canonical) in urls.iter().zip(canonical(&rules, &urls)) {
        writeln!(io::stdout(), "{url}\t{canonical}")?;
    }
    Ok(())
}
