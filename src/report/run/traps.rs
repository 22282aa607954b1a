//! Crawler traps of a site, as a table.

use super::OneSite;
use crate::report::table::Table;
use crate::report::text::{brief, count, percent};
use crate::site::profile::{Trap, TrapKind};

/// Names of the columns; the stylesheet has them before the cells on a phone.
pub(super) const HEAD: [&str; 7] =
    ["family", "trap", "varies", "URLs", "new pages", "share new", "example of a page seen before"];

/// The table, where the site has traps: at most `shown` of them, those of most wasted fetches.
pub(super) fn table(out: &mut String, site: &OneSite<'_>, at: usize, shown: usize) {
    let Some(profile) = site.profile.filter(|profile| !profile.traps.is_empty()) else { return };
    let more = profile.traps.len().saturating_sub(shown);
    let mut note = "Families of training URLs, without scheme and host, that brought few new pages. New pages: \
                    those whose first URL is in the family, shorter URLs first. Look at the example. Then do not follow the links of \
                    the family, or fetch a few of its URLs only; a key that a rule above removes needs no more than \
                    canonical URLs before the queue. Leave a family alone whose pages change."
        .to_owned();
    if more > 0 {
        note += &format!(" {more} more in profiles.jsonl.");
    }
    let mut table = Table::new(&format!("traps-{at}"), "Where a crawler is trapped", &note, &HEAD);
    for trap in profile.traps.iter().take(shown) {
        let Trap { kind, family, varies, example, urls, new } = trap;
        let varies = if varies.is_empty() { "-".to_owned() } else { brief(varies) };
        let share = percent(trap.new_ppm());
        table.row([brief(family), words(*kind).to_owned(), varies, count(*urls), count(*new), share, brief(example)]);
    }
    out.push_str(&table.section(4));
}

/// A kind in words.
fn words(kind: TrapKind) -> &'static str {
    match kind {
        TrapKind::RepeatedSegments => "the path repeats a segment",
        TrapKind::Calendar => "calendar",
        TrapKind::Endless => "values without end",
        TrapKind::OnePage => "one page (an empty listing, a log-in)",
    }
}
