//! Tables in a compiled file: sorted by their hashes, so that the same rules are the same bytes.

use super::ByHash;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<T: Serialize, S: Serializer>(table: &ByHash<T>, out: S) -> Result<S::Ok, S::Error> {
    let mut items: Vec<(&u64, &T)> = table.iter().collect();
    items.sort_unstable_by_key(|item| item.0);
    out.collect_seq(items)
}

pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(input: D) -> Result<ByHash<T>, D::Error> {
    Ok(Vec::<(u64, T)>::deserialize(input)?.into_iter().collect())
}
