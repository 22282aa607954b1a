//! The invariants of the set of seen URLs on any bytes, for the fuzz target and the replay of its corpus.
use super::memory::bounded;
use undust::model::{hash64, hash128};
use undust::rules::filter::SeenFilter;

/// Bytes of the checksum at the end.
const SUM: usize = 16;

/// Any bytes are refused, or they are a set that is written as it was read and answers for every
/// URL; so are they with a checksum that holds, which no damage has. The lines of the input as URLs
/// make a set that holds them all and is read as it was written. Gives whether the bytes as they
/// are are a set.
pub fn check(bytes: &[u8]) -> Result<bool, String> {
    let is_set = read(bytes)?;
    let (body, sum) = bytes.split_at(bytes.len().saturating_sub(SUM));
    let summed = [body, &hash128(body).to_le_bytes()].concat();
    if is_set && summed != bytes {
        return Err(format!("a checksum that does not hold is refused: {}", sum.escape_ascii()));
    }
    read(&summed)?;
    let urls = || bytes.split(|&b| b == b'\n');
    let made = SeenFilter::build(urls().map(hash64).collect()).map_err(|error| format!("no set: {error}"))?;
    if !urls().all(|url| made.contains(url)) || made.len() > urls().count() as u64 {
        return Err("what was seen is found, and counted once".to_owned());
    }
    if !read(&made.to_bytes())? {
        return Err("what was written is read".to_owned());
    }
    Ok(is_set)
}

/// Reads a set and asks it for URLs; whether it is one.
fn read(bytes: &[u8]) -> Result<bool, String> {
    let set = match bounded(bytes.len(), 1 << 10, 1, || SeenFilter::from_bytes(bytes))? {
        Ok(set) => set,
        Err(error) if error.to_string().contains("`undust rules seen`") => return Ok(false),
        Err(error) => return Err(format!("no way out: {error}")),
    };
    // Hashes in all parts of the set.
    for number in 0..64u32 {
        set.contains(&number.to_le_bytes());
    }
    if set.to_bytes() != bytes {
        return Err("what is read is written again".to_owned());
    }
    if set.is_empty() && set.contains(b"http://a/") {
        return Err("an empty set holds nothing".to_owned());
    }
    Ok(true)
}
