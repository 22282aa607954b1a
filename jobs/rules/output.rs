//! What the jobs on rules have in common: URLs that they read, and text that they write.

use crate::failure::Failure;
use crate::messages::show as print_page;
use crate::normalize::{refuse_piped_records, refuse_records};
use std::path::Path;
use undust::io::blocks::LineBlocks;
use undust::model::shown::Page;

/// Text on standard output.
pub(super) fn print(text: &Page) -> Result<(), Failure> {
    print_page(text).map_err(Failure::stdout)
}

/// Passes each line of a file of URLs, or of standard input for `-`, to `each`, until it fails.
pub fn each_url(path: &Path, mut each: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
    refuse_records(path)?;
    let (mut lines, mut urls, mut normal) = (0, 0, Vec::new());
    // A pipe could not be read before.
    let mut pipe = Some(path).filter(|path| !path.is_file());
    let mut blocks = if path == Path::new("-") { LineBlocks::stdin()? } else { LineBlocks::open(path)? };
    let mut block = Vec::new();
    while blocks.next_block(&mut block)? {
        pipe.take().map_or(Ok(()), |path| refuse_piped_records(path, &block))?;
        let all = block.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        for line in all.filter(|line| !line.is_empty()) {
            lines += 1;
            urls += u64::from(undust::url::normalize(line, &mut normal).is_ok());
            each(line)?;
        }
    }
    if urls == 0 {
        let text = format!("{}: none of {lines} lines is a URL; one URL a line is expected", path.display());
        return Err(Failure::usage(text));
    }
    Ok(())
}
