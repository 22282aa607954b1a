//! Effect of each query key of a site, as a table.

use super::OneSite;
use crate::report::table::Table;
use crate::report::text::{brief, count, many, percent};
use crate::site::profile::KeyProfile;

/// Names of the columns; the stylesheet has them before the cells on a phone.
pub(super) const HEAD: [&str; 8] = ["key", "does", "same", "other", "share same", "together", "URLs", "values"];

/// The table, where the site has keys: at most `shown` of them, those of most URLs.
pub(super) fn table(out: &mut String, site: &OneSite<'_>, at: usize, shown: usize) {
    let Some(profile) = site.profile.filter(|profile| !profile.keys.is_empty()) else { return };
    let more = profile.keys.len().saturating_sub(shown);
    let mut note = "Irrelevant, tracking, session: the page is the same whatever the value. Identity: another value is \
                    another page; page: a place in a list; order: the order of a list; unknown: too few changes, or some \
                    of each kind. Same: changes of the value alone that left the page the same; other: that led to another \
                    page; together: these two counts of changes with other keys that one rule ignores. Counted on the \
                    training URLs; the share is of the first two counts, or of the last two where those are 0."
        .to_owned();
    if more > 0 {
        note += &format!(" {}: undust keys --rules .", many(more as u64, "more key"));
    }
    let mut table = Table::new(&format!("keys-{at}"), "What each key does", &note, &HEAD);
    for key in profile.keys.iter().take(shown) {
        let KeyProfile { key: name, does, urls, values, same, other, same_together, other_together } = key;
        table.row([
            brief(name),
            does.word().to_owned(),
            count(*same),
            count(*other),
            key.same_ppm().map_or("-".to_owned(), percent),
            match same_together + other_together {
                0 => "-".to_owned(),
                _ => format!("{} / {}", count(*same_together), count(*other_together)),
            },
            count(*urls),
            count(*values),
        ]);
    }
    out.push_str(&table.section(4));
}
