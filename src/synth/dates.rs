//! Page types whose pages are named by a date: months of which any day may stand in the URL, and days.

use super::kind::Page;
use super::parts::Parts;
use super::shapes::{Shape, is_at, view};
use super::view::View;

/// The first year of a calendar.
const SINCE: u64 = 1000;

/// Writes a date: months since the first year, and the day.
fn write_date(url: &mut Parts, months: u64, day: u64) {
    url.pair_with("date", |out| {
        out.extend_from_slice(format!("{:04}{:02}{day:02}", SINCE + months / 12, months % 12 + 1).as_bytes());
    });
}

/// Months since the first year, and the day, of the page of a script.
fn read_date(url: &View, script: &str) -> Option<(u64, u64)> {
    let date = url.get("date").filter(|date| date.len() == 8 && is_at(url, script))?;
    let number = |range: std::ops::Range<usize>| date.get(range)?.parse::<u64>().ok();
    Some((number(0..4)?.checked_sub(SINCE)? * 12 + number(4..6)?.checked_sub(1)?, number(6..8)?))
}

pub(super) const DATES: Shape = Shape {
    name: "dates",
    forms: 4,
    write: |page: Page, url| {
        url.seg("month.php");
        write_date(url, page.entity, 1 + (page.entity * 5 + page.form * 7) % 28);
    },
    key: |url| read_date(url, "month.php").map(|(months, _)| months),
    rule: "the day of date does not matter",
};

pub(super) const DATES_MATTER: Shape = Shape {
    name: "dates-matter",
    forms: 2,
    write: |page: Page, url| {
        url.seg("day.php");
        write_date(url, page.entity / 28, 1 + page.entity % 28);
        view(page, url);
    },
    key: |url| {
        let (months, day) = read_date(url, "day.php")?;
        Some(months * 28 + day.checked_sub(1)?)
    },
    rule: "each date is a page, view does not matter",
};
