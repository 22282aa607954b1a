//! Effect of each query key of a site, as a table.

use super::OneSite;
use super::words::{brief, count, percent};
use crate::report::table::Table;
use crate::site::profile::KeyProfile;

/// The table, where the site has keys: at most `shown` of them, those of most URLs.
pub(super) fn table(out: &mut String, site: &OneSite<'_>, at: usize, shown: usize) {
    let Some(profile) = site.profile.filter(|profile| !profile.keys.is_empty()) else { return };
    let more = profile.keys.len().saturating_sub(shown);
    let mut note =
        "Of the training URLs. Same: changes of the value alone that left the page the same; other: that led \
                    to another page; together: the same two counts for changes together with other keys that one rule \
                    ignores. The share is of the first two, or of the last two where those are 0."
            .to_owned();
    if more > 0 {
        note += &format!(" {more} keys more: undust keys --rules .");
    }
    let head = ["key", "does", "same", "other", "share same", "together", "URLs", "values"];
    let mut table = Table::new(&format!("keys-{at}"), "What each key does", &note, &head);
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
    out.push_str(&table.html());
}
