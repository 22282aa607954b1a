//! Phase one: likely rules from the list alone (section 5.1, Figure 1).
//!
//! The substring table is made and sorted in parts by the hash of the envelope, so that at most
//! [`PART`] of its rows (16 bytes each) are held at once; the instance table is a map of counts.

use super::{Likely, Parameters, UrlList};
use crate::model::hash64_seeded;
use std::collections::HashMap;

/// Rows of the substring table that are held at once.
const PART: usize = 4 << 20;

/// Token boundaries of a marked URL, and its end: tokens are alphanumeric strings and single other
/// characters. Bytes above 0x7F count as alphanumeric.
pub fn boundaries(url: &[u8]) -> Vec<usize> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b >= 0x80;
    let starts = (0..url.len()).filter(|&at| at == 0 || !(word(url[at]) && word(url[at - 1])));
    starts.chain([url.len()]).collect()
}

/// A substring of a URL with its envelope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Substring {
    envelope: u64,
    url: u32,
    start: u16,
    end: u16,
}

/// Supports of a pair of strings, and a place of each.
#[derive(Clone, Copy)]
struct Support {
    low: u32,
    high: u32,
    a: (u32, u16, u16),
    b: (u32, u16, u16),
}

/// Likely rules by falling support, ties by their strings. URLs over 65,535 bytes are passed over.
pub fn detect(list: &UrlList, parameters: &Parameters) -> Vec<Likely> {
    let tokens: Vec<Vec<usize>> =
        list.urls.iter().map(|url| if url.len() > usize::from(u16::MAX) { vec![0] } else { boundaries(url) }).collect();
    let rows: usize = tokens.iter().map(|ends| ends.len() * ends.len().min(parameters.tokens + 1)).sum();
    let parts = (rows / PART + 1) as u64;
    let mut instances: HashMap<u64, Support, foldhash::fast::FixedState> = HashMap::default();
    let mut table: Vec<Substring> = Vec::new();
    for part in 0..parts {
        table.clear();
        for (url, ends) in tokens.iter().enumerate() {
            envelopes(&list.urls[url], ends, parameters.tokens, |envelope, start, end| {
                if envelope % parts == part {
                    table.push(Substring { envelope, url: url as u32, start: start as u16, end: end as u16 });
                }
            });
        }
        table.sort_unstable();
        for bucket in table.chunk_by(|a, b| a.envelope == b.envelope) {
            if bucket.len() > 1 && bucket.len() <= parameters.bucket_high {
                count(list, bucket, parameters, &mut instances);
            }
        }
    }
    let string = |(url, start, end): (u32, u16, u16)| &list.urls[url as usize][start.into()..end.into()];
    let kept = instances.into_values().filter(|support| support.low >= parameters.support);
    let mut out: Vec<Likely> = kept
        .map(|support| {
            let (a, b) = (string(support.a).to_vec(), string(support.b).to_vec());
            let (long, short) = if (a.len(), &a) > (b.len(), &b) { (a, b) } else { (b, a) };
            Likely { long, short, support: support.low, support_high: support.high }
        })
        .collect();
    out.sort_unstable_by(|a, b| b.support.cmp(&a.support).then_with(|| (&a.long, &a.short).cmp(&(&b.long, &b.short))));
    out
}

/// Calls `each` with the hash of the envelope and the ends of every substring of at most `most` tokens.
fn envelopes(url: &[u8], tokens: &[usize], most: usize, mut each: impl FnMut(u64, usize, usize)) {
    // Hashes of all prefixes and suffixes that end at a token.
    let prefix: Vec<u64> = tokens.iter().map(|&end| hash64_seeded(&url[..end], 1)).collect();
    let suffix: Vec<u64> = tokens.iter().map(|&start| hash64_seeded(&url[start..], 2)).collect();
    for first in 0..tokens.len() {
        for last in first..tokens.len().min(first + most + 1) {
            let envelope = prefix[first].rotate_left(21).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ suffix[last];
            each(envelope, tokens[first], tokens[last]);
        }
    }
}

fn count(
    list: &UrlList,
    bucket: &[Substring],
    parameters: &Parameters,
    instances: &mut HashMap<u64, Support, foldhash::fast::FixedState>,
) {
    let low = u32::from(bucket.len() <= parameters.bucket_low);
    let hash = |row: &Substring| hash64_seeded(&list.urls[row.url as usize][row.start.into()..row.end.into()], 3);
    for (at, a) in bucket.iter().enumerate() {
        for b in &bucket[at + 1..] {
            if a.url == b.url || !list.cues[a.url as usize].likely_similar(list.cues[b.url as usize]) {
                continue;
            }
            let (x, y) = (hash(a), hash(b));
            let ((x, a), (y, b)) = if x <= y { ((x, a), (y, b)) } else { ((y, b), (x, a)) };
            let pair = x.rotate_left(31).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ y;
            let (a, b) = ((a.url, a.start, a.end), (b.url, b.start, b.end));
            let support = instances.entry(pair).or_insert(Support { low: 0, high: 0, a, b });
            support.low += low;
            support.high += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cue, marked};
    use super::*;

    #[test]
    fn tokens_are_words_and_single_marks() {
        let url = marked(b"http://a.b/x_1?k=");
        let ends = boundaries(&url);
        let tokens: Vec<&[u8]> = ends.windows(2).map(|w| &url[w[0]..w[1]]).collect();
        let wanted: [&[u8]; 17] = [
            b"\x02", b"http", b":", b"/", b"/", b"a", b".", b"b", b"/", b"x", b"_", b"1", b"?", b"k", b"=", b"\x03",
            b"",
        ];
        assert_eq!(tokens, wanted[..16]);
    }

    #[test]
    fn overflowing_buckets_and_unlike_pages_give_no_support() {
        let urls = |digits: u64, sketch: fn(u64) -> u64| {
            UrlList::new((0..digits).flat_map(|i| {
                (0..9u64).map(move |page| {
                    (format!("http://a/pic-{i}-{page}.jpg").into_bytes(), Cue::Sketch(sketch(i) + 10 * page))
                })
            }))
        };
        let rule = |list: &UrlList| {
            detect(list, &Parameters::default()).iter().any(|r| r.long == b"pic-1" && r.short == b"pic-0")
        };
        assert!(rule(&urls(2, |_| 0)), "two spellings of every page");
        assert!(!rule(&urls(7, |_| 0)), "a bucket of seven is over T low");
        assert!(!rule(&urls(2, |i| i)), "the pages differ");
    }
}
