//! Which document of a group of duplicates stays.
//!
//! A rank is bytes that are compared: of the documents of a group the one with the least rank stays,
//! among equals the one with the lowest old id. So every choice is the same on any number of workers.

/// The policy of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The document whose own URL is the canonical one, else the one with the shortest URL.
    #[default]
    Canonical,
    /// The document with the shortest URL (in bytes), among equals one whose own URL is canonical.
    Shortest,
    /// The longest document (in terms), among equals as [`Policy::Canonical`].
    LongestDoc,
}

/// Bytes of a rank.
pub const RANK: usize = 9;

/// Properties of a document that may survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentProperties {
    /// Its own URL is the canonical one.
    pub canonical: bool,
    /// Length of its URL in bytes.
    pub url_bytes: u32,
    /// Its length in terms.
    pub length: u32,
}

impl Policy {
    /// The rank of a document; the least stays.
    pub fn rank(self, candidate: DocumentProperties) -> [u8; RANK] {
        let DocumentProperties { canonical, url_bytes, length } = candidate;
        let (other, url) = (u8::from(!canonical), url_bytes.to_be_bytes());
        let mut rank = [0; RANK];
        match self {
            Policy::Canonical => {
                rank[0] = other;
                rank[1..5].copy_from_slice(&url);
            }
            Policy::Shortest => {
                rank[..4].copy_from_slice(&url);
                rank[4] = other;
            }
            Policy::LongestDoc => {
                rank[..4].copy_from_slice(&(!length).to_be_bytes());
                rank[4] = other;
                rank[5..].copy_from_slice(&url);
            }
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_has_its_order() {
        let document = |canonical, url_bytes, length| DocumentProperties { canonical, url_bytes, length };
        let (own, short, long) = (document(true, 40, 10), document(false, 20, 9), document(false, 300, 900));
        let best = |policy: Policy| [own, short, long].into_iter().min_by_key(|&d| policy.rank(d)).unwrap();
        assert_eq!(best(Policy::Canonical), own);
        assert_eq!(best(Policy::Shortest), short);
        assert_eq!(best(Policy::LongestDoc), long);
        for policy in [Policy::Canonical, Policy::LongestDoc] {
            assert!(policy.rank(document(false, 20, 5)) < policy.rank(document(false, 256, 5)), "{policy:?}");
        }
        assert!(Policy::Shortest.rank(document(true, 20, 5)) < Policy::Shortest.rank(document(false, 20, 5)));
    }
}
