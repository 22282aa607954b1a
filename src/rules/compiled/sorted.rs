//! Tables in a compiled file: sorted by their hashes, so that the same rules are the same bytes.

use super::AsIs;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;

pub(super) fn serialize<T: Serialize, S: Serializer>(table: &HashMap<u64, T, AsIs>, out: S) -> Result<S::Ok, S::Error> {
    let mut items: Vec<(&u64, &T)> = table.iter().collect();
    items.sort_unstable_by_key(|item| item.0);
    out.collect_seq(items)
}

pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    input: D,
) -> Result<HashMap<u64, T, AsIs>, D::Error> {
    Ok(Vec::<(u64, T)>::deserialize(input)?.into_iter().collect())
}

/// The same for hashes alone.
pub(super) mod keys {
    use super::AsIs;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::collections::HashSet;

    pub(in super::super) fn serialize<S: Serializer>(table: &HashSet<u64, AsIs>, out: S) -> Result<S::Ok, S::Error> {
        let mut items: Vec<&u64> = table.iter().collect();
        items.sort_unstable();
        out.collect_seq(items)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<HashSet<u64, AsIs>, D::Error> {
        Ok(Vec::<u64>::deserialize(input)?.into_iter().collect())
    }
}
