//! Hosts with `www.` and without it: which of the two is canonical.

use super::columns::Columns;
use super::operations;
use crate::rules::functions::are_www_pair;
use crate::url::Fixed;
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// False where hosts with `www.` are preferred to those without: only these make origins that were met,
/// or records lead to them, or an earlier result moved URLs there, or, where nothing of this decides, the one that
/// the site has was met more than `near` times as often ([`representative`](operations::representative) would choose
/// it, and [has the same prior](is_alone)).
pub fn may_drop(columns: &Columns, rows: &[u32], near: u32) -> bool {
    let Some(key) = columns.fixed(Fixed::HOST) else { return true };
    let bare = |code: u32| columns.value(key, code).strip_prefix(b"www.").and_then(|host| columns.find(key, host));
    let preferred = &columns.preferred;
    let codes = (1..columns.codes_len(key) as u32).filter_map(|code| Some((code, bare(code)?)));
    let mut pairs: HashMap<u32, u32, FixedState> = HashMap::default();
    let (mut is_led, mut met) = (false, [0u64; 2]);
    for (www, bare) in codes {
        let met_with_scheme = operations::of_origins(columns, key, vec![www, bare]);
        if preferred.host_votes(www) > preferred.host_votes(bare) || met_with_scheme == [www] {
            return false;
        }
        is_led |= preferred.host_votes(bare) > 0 || met_with_scheme == [bare];
        met = [met[0] + u64::from(columns.times_seen(key, www)), met[1] + u64::from(columns.times_seen(key, bare))];
        pairs.extend([(www, bare), (bare, www)]);
    }
    let moved =
        |row: &u32| preferred.before(key, *row).is_some_and(|to| pairs.get(&columns.code(key, *row)) == Some(&to));
    let (mut to_www, mut to_bare) = (0u32, 0u32);
    for row in rows.iter().filter(|row| moved(row)) {
        *(if bare(columns.code(key, *row)).is_some() { &mut to_bare } else { &mut to_www }) += 1;
    }
    let decides_itself = is_led || to_www + to_bare > 0 || !is_alone(columns, key);
    if decides_itself { to_www <= to_bare } else { met[0] <= met[1] * u64::from(near) }
}

/// True for the host of a site that has one with `www.` and that without it, and no other: servers have this in common,
/// whichever of the two is canonical.
pub fn is_alone(columns: &Columns, key: usize) -> bool {
    let [one, other] =
        [1, 2].map(|code| if code < columns.codes_len(key) as u32 { columns.value(key, code) } else { b"" });
    columns.keys[key].is(Fixed::HOST) && columns.codes_len(key) == 3 && are_www_pair(one, other)
}
