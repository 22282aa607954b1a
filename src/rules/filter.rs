//! The canonical URLs that were seen, in about nine bits each: a membership test before a fetch.
//!
//! A canonical URL that the rules compose need not be one that the crawl met. The set of those that it
//! met is stored beside the rules as a binary fuse filter (Graf and Lemire 2022, crate `xorf`: MIT,
//! maintained, no dependency but `libm`; a Bloom filter of the same error takes 11.5 bits a URL, and no
//! crate of one keeps a documented layout). A URL that was seen is always found; one that was not is
//! found with probability 1/256.
//!
//! URLs go in by [`hash64`]. The layout, little endian: magic, number of URLs, number of fingerprints,
//! descriptor (seed as `u64`; segment length, its mask, segment count times length as `u32`),
//! fingerprints; then the [`hash128`] of all before it.

use crate::model::{hash64, hash128};
use xorf::{BinaryFuse8, BinaryFuse8Ref, DmaSerializable, Filter, FilterRef};

/// First bytes of the file; the digit is the version of the layout.
const MAGIC: &[u8; 16] = b"undust seen 1\0\0\0";
/// Bytes of a descriptor.
const DESCRIPTOR: usize = BinaryFuse8::DESCRIPTOR_LEN;
/// Bytes before the fingerprints.
const HEAD: usize = 16 + 8 + 8 + DESCRIPTOR;
/// Bytes of the checksum.
const SUM: usize = 16;

/// The seen canonical URLs of a rule set.
#[derive(Debug)]
pub struct SeenFilter {
    urls: u64,
    descriptor: [u8; DESCRIPTOR],
    fingerprints: Box<[u8]>,
}

/// Error of reading or building a filter.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The file is of another kind or of a later version.
    #[error("not a set of seen URLs that this program reads; make it again with `undust rules seen`")]
    Magic,
    /// The file is cut off, longer than its header states, or altered.
    #[error("{0}; copy it again, or make it again with `undust rules seen`")]
    Damaged(&'static str),
    /// No filter could be built from these URLs.
    #[error("no filter could be built from {0} URLs: {1}")]
    Build(usize, &'static str),
}

impl SeenFilter {
    /// Builds the set from the [`hash64`] of its URLs (sorted and rid of repeats here). The same URLs in
    /// any order give the same filter. Memory: 8 bytes a URL for the hashes, about 40 while it is built.
    ///
    /// # Errors
    /// [`FilterError::Build`]; practically never for distinct hashes.
    pub fn build(mut hashes: Vec<u64>) -> Result<SeenFilter, FilterError> {
        hashes.sort_unstable();
        hashes.dedup();
        let filter = BinaryFuse8::try_from(&hashes).map_err(|why| FilterError::Build(hashes.len(), why))?;
        let mut descriptor = [0; DESCRIPTOR];
        filter.dma_copy_descriptor_to(&mut descriptor);
        Ok(SeenFilter { urls: hashes.len() as u64, descriptor, fingerprints: filter.fingerprints })
    }

    /// True for every URL that was seen, and for one in 256 others.
    pub fn contains(&self, url: &[u8]) -> bool {
        self.urls > 0 && BinaryFuse8Ref::from_dma(&self.descriptor, &self.fingerprints).contains(&hash64(url))
    }

    /// URLs in the set.
    pub fn len(&self) -> u64 {
        self.urls
    }

    /// True without any URL.
    pub fn is_empty(&self) -> bool {
        self.urls == 0
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD + self.fingerprints.len() + SUM);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.urls.to_le_bytes());
        out.extend_from_slice(&(self.fingerprints.len() as u64).to_le_bytes());
        out.extend_from_slice(&self.descriptor);
        out.extend_from_slice(&self.fingerprints);
        let sum = hash128(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads the output of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`FilterError`]: a byte missing, added or altered anywhere is detected.
    pub fn from_bytes(bytes: &[u8]) -> Result<SeenFilter, FilterError> {
        if !bytes.starts_with(MAGIC) {
            return Err(FilterError::Magic);
        }
        let Some((body, sum)) = bytes.len().checked_sub(SUM).map(|at| bytes.split_at(at)) else {
            return Err(FilterError::Damaged("the file is cut off"));
        };
        if body.len() < HEAD {
            return Err(FilterError::Damaged("the file is cut off"));
        }
        if hash128(body).to_le_bytes() != sum {
            return Err(FilterError::Damaged("the checksum does not hold: the file is cut off or altered"));
        }
        let long = |at: usize| u64::from_le_bytes(body[at..at + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().expect("four bytes"));
        let fingerprints: Box<[u8]> = body[HEAD..].into();
        // The filter indexes by these lengths alone, and in a third segment even where there is no
        // first one.
        let (urls, length, mask, count) = (long(16), short(40), short(44), short(48));
        let reach = u64::from(count) + 2 * u64::from(length);
        let blocks = length.is_power_of_two() && mask == length - 1 && count > 0 && count.is_multiple_of(length);
        let sound = blocks && reach <= fingerprints.len() as u64;
        if long(24) != fingerprints.len() as u64 || !(sound || urls == 0) {
            return Err(FilterError::Damaged("the lengths in the file do not agree"));
        }
        let descriptor = body[32..HEAD].try_into().expect("as long as a descriptor");
        Ok(SeenFilter { urls, descriptor, fingerprints })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(i: u32) -> String {
        format!("http://www.example.com/topic/{i}")
    }

    fn filter(n: u32) -> SeenFilter {
        SeenFilter::build((0..n).rev().map(|i| hash64(url(i).as_bytes())).collect()).unwrap()
    }

    #[test]
    fn what_was_seen_is_found_and_little_else() {
        let n = 100_000;
        let seen = filter(n);
        assert!((0..n).all(|i| seen.contains(url(i).as_bytes())));
        let wrong = (n..2 * n).filter(|&i| seen.contains(url(i).as_bytes())).count();
        assert!(wrong < n as usize / 100, "{wrong} of {n}");
        let size = seen.to_bytes().len();
        assert!(size < n as usize * 12 / 10, "{size} bytes for {n} URLs");
    }

    #[test]
    fn the_same_urls_give_the_same_bytes_and_any_change_is_found() {
        let bytes = filter(200).to_bytes();
        let again = (0..200).chain(0..50).map(|i| hash64(url(i).as_bytes())).collect();
        assert_eq!(SeenFilter::build(again).unwrap().to_bytes(), bytes);
        assert_eq!(SeenFilter::from_bytes(&bytes).unwrap().to_bytes(), bytes);
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 0x10;
            assert!(SeenFilter::from_bytes(&altered).is_err(), "byte {at}");
            assert!(SeenFilter::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        }
        assert!(SeenFilter::from_bytes(&[&bytes[..], b"x"].concat()).is_err());
    }

    #[test]
    fn lengths_that_reach_beyond_the_fingerprints_are_refused() {
        let bytes = filter(200).to_bytes();
        let [length, count] = [40, 48].map(|at| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
        // As another program would write it: with a checksum that holds.
        let with = |length: u32, count: u32, fingerprints: usize| {
            let mut body = bytes[..HEAD + fingerprints].to_vec();
            body[24..32].copy_from_slice(&(fingerprints as u64).to_le_bytes());
            for (at, word) in [(40, length), (44, length.wrapping_sub(1)), (48, count)] {
                body[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
            SeenFilter::from_bytes(&[&body[..], &hash128(&body).to_le_bytes()].concat())
        };
        let all = bytes.len() - HEAD - SUM;
        assert_eq!(with(length, count, all).unwrap().to_bytes(), bytes);
        // No first segment, and so few fingerprints that the third one is not there.
        assert!(with(1, 0, 2).is_err());
        assert!(with(length, 0, 2 * length as usize).is_err());
        assert!(with(length, count + length, all).is_err());
        assert!(with(length, count, all - 1).is_err());
        assert!(with(0, count, all).is_err());
    }

    #[test]
    fn the_empty_set_holds_nothing() {
        let empty = SeenFilter::build(Vec::new()).unwrap();
        assert!(empty.is_empty() && !empty.contains(b"http://a/"));
        assert!(SeenFilter::from_bytes(&empty.to_bytes()).unwrap().is_empty());
    }
}
