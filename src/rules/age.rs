//! Dates of the data that rules were learned from, and the age of rules by them.
//!
//! A date is a day of the Gregorian calendar as `YYYY-MM-DD`, also `YYYYMMDD` and what follows of a
//! timestamp (`2024-05-01T10:00:00Z`, `20240501100000`). Days are counted by Hinnant's algorithm for
//! civil dates.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// A day, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(i64);

/// A text that is not a date.
#[derive(Debug)]
pub struct NotADate(String);

impl fmt::Display for NotADate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotADate(text) = self;
        write!(
            f,
            "{text:?}: not a date; write it as 2024-05-31 or as a timestamp that starts with 2024-05-31 or 20240531"
        )
    }
}

impl Error for NotADate {}

impl Day {
    /// The day that many days after 1970-01-01.
    pub fn from_days(days: i64) -> Day {
        Day(days)
    }

    /// The day of a time in seconds since 1970-01-01 UTC.
    pub fn from_unix(seconds: u64) -> Day {
        Day((seconds / 86_400) as i64)
    }

    /// Days from `earlier` to this day; negative where it is later.
    pub fn since(self, earlier: Day) -> i64 {
        self.0 - earlier.0
    }

    /// The day of a year, month and day of the month; `None` where there is none.
    fn of(year: i64, month: i64, day: i64) -> Option<Day> {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        if !(1..=length).contains(&day) {
            return None;
        }
        let y = year - i64::from(month <= 2);
        let (era, of_era) = (y.div_euclid(400), y.rem_euclid(400));
        let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
        Some(Day(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468))
    }
}

impl FromStr for Day {
    type Err = NotADate;

    fn from_str(text: &str) -> Result<Day, NotADate> {
        let digits = |part: Option<&str>| {
            let part = part.filter(|p| p.bytes().all(|b| b.is_ascii_digit()))?;
            part.parse::<i64>().ok()
        };
        let bytes = text.as_bytes();
        let dashed = bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
        let [year, month, day, end] = if dashed { [0, 5, 8, 10] } else { [0, 4, 6, 8] };
        let (width, rest) = (if dashed { 1 } else { 0 }, bytes.get(end));
        let part = |from: usize, to: usize| digits(text.get(from..to));
        let parts = (part(year, month - width), part(month, day - width), part(day, end));
        // A date is followed by digits of a time, by nothing, or by a separator of ISO 8601.
        let ends = match rest {
            None => true,
            Some(b) => {
                if dashed {
                    matches!(b, b'T' | b't' | b' ')
                } else {
                    b.is_ascii_digit() || *b == b'T'
                }
            }
        };
        let (Some(year), Some(month), Some(day), true) = (parts.0, parts.1, parts.2, ends) else {
            return Err(NotADate(text.to_owned()));
        };
        Day::of(year, month, day).ok_or_else(|| NotADate(text.to_owned()))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0 + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * years + years / 4 - years / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        write!(f, "{:04}-{month:02}-{day:02}", years + era * 400 + i64::from(month <= 2))
    }
}

/// A number of days such as `90d`, `12w`, `6m` (of 30 days) or `2y` (of 365 days); a bare number is
/// days.
///
/// # Errors
/// A message with a way out.
pub fn parse_age(text: &str) -> Result<i64, String> {
    let (number, days) = match text.char_indices().last() {
        Some((at, 'd')) => (&text[..at], 1),
        Some((at, 'w')) => (&text[..at], 7),
        Some((at, 'm')) => (&text[..at], 30),
        Some((at, 'y')) => (&text[..at], 365),
        _ => (text, 1),
    };
    let age = number.parse::<u32>().ok().map(|n| i64::from(n) * days);
    age.ok_or_else(|| format!("{text:?}: not a number of days; write 90d, 12w, 6m or 2y"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar_and_come_back() {
        let day = |text: &str| text.parse::<Day>().unwrap();
        assert_eq!(day("1970-01-01"), Day(0));
        assert_eq!(day("2000-02-29").since(day("2000-02-28")), 1);
        assert_eq!(day("20240501100000"), day("2024-05-01T10:00:00Z"));
        assert_eq!(day("2026-11-21"), Day::from_unix(1_795_219_200 + 5));
        for days in (-800_000..800_000).step_by(97) {
            assert_eq!(day(&Day(days.max(-719_000)).to_string()), Day(days.max(-719_000)));
        }
        for bad in
            ["", "2024", "2024-13-01", "2023-02-29", "2024-05-01x", "24-05-01", "2024/05/01", "2024050", "é24-05-01"]
        {
            assert!(bad.parse::<Day>().is_err(), "{bad}");
        }
    }

    #[test]
    fn ages_are_read() {
        let cases = [("90d", 90), ("90", 90), ("12w", 84), ("6m", 180), ("2y", 730)];
        for (text, days) in cases {
            assert_eq!(parse_age(text), Ok(days));
        }
        for bad in ["", "d", "-1d", "1.5y", "soon", "é"] {
            assert!(parse_age(bad).is_err(), "{bad}");
        }
    }
}
