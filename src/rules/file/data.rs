//! Identity of the records that rules were learned from: a count and a sum of hashes.

use crate::model::{Record, hash128};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Identity of a multiset of records: their number, and the sum of their 128-bit hashes, modulo 2^128.
///
/// Sums of parts add up, whatever the order of the records and their division. Other records have the
/// same identity with a probability of 2^-128, unless someone constructs them: it is no signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataId {
    /// Records, repeats included.
    pub records: u64,
    /// Sum of the hashes (XXH3-128 of the hashes of URL, as given, and cluster label; all ones for no
    /// label); 32 hex digits in JSON.
    #[serde(serialize_with = "write", deserialize_with = "read")]
    pub sum: u128,
}

impl DataId {
    /// Adds a record. The site label does not count: it may be given by the way the records are read.
    pub fn add(&mut self, record: Record<'_>) {
        let mut pair = [0xff; 32];
        pair[..16].copy_from_slice(&hash128(record.url).to_le_bytes());
        if let Some(cluster) = record.cluster {
            pair[16..].copy_from_slice(&hash128(cluster).to_le_bytes());
        }
        self.records += 1;
        self.sum = self.sum.wrapping_add(hash128(&pair));
    }

    /// Adds the records of another part.
    pub fn merge(&mut self, other: &DataId) {
        self.records += other.records;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

fn write<S: Serializer>(sum: &u128, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&format!("{sum:032x}"))
}

fn read<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
    let text = String::deserialize(from)?;
    let is_sum = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let sum = is_sum.then(|| u128::from_str_radix(&text, 16).ok()).flatten();
    sum.ok_or_else(|| D::Error::custom(format!("{text:?} is no sum of hashes (32 hex digits)")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(records: &[(&str, Option<&str>)]) -> DataId {
        let mut id = DataId::default();
        for (url, cluster) in records {
            let (url, cluster) = (url.as_bytes(), cluster.map(str::as_bytes));
            id.add(Record { url, cluster, site: None, elsewhere: false });
        }
        id
    }

    #[test]
    fn parts_in_any_order_are_the_whole() {
        let all =
            [("http://a/1", Some("x")), ("http://a/2", None), ("http://a/1", Some("x")), ("http://b/", Some("y"))];
        let mut sum = id(&[all[3], all[0]]);
        sum.merge(&id(&[all[2], all[1]]));
        assert_eq!(sum, id(&all));
    }

    #[test]
    fn what_differs_has_another_identity() {
        let all = [
            id(&[("http://a/1", Some("x"))]),
            id(&[("http://a/1", Some("y"))]),
            id(&[("http://a/1", Some(""))]),
            id(&[("http://a/1", None)]),
            id(&[("http://a/1x", None)]),
            id(&[("http://a/", Some("1x"))]),
            id(&[("http://a/1", Some("x")), ("http://a/1", Some("x"))]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| other != one && other.sum != one.sum), "{one:?}");
        }
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let one = id(&[("http://a/1", Some("x"))]);
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<DataId>(&text).unwrap(), one);
        for bad in ["", "+1", "fg000000000000000000000000000000"] {
            let text = format!(r#"{{"records":1,"sum":"{bad}"}}"#);
            assert!(serde_json::from_str::<DataId>(&text).unwrap_err().to_string().contains("32 hex digits"));
        }
    }
}
