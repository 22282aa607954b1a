//! The days that the data of a run are of.

use undust::rules::age::Day;

/// First and last day of the data.
#[derive(Clone, Copy, Debug)]
pub struct DataDate(pub Day, pub Day);

/// A day, or the first and the last as `FROM..TO`.
pub fn data_date(text: &str) -> Result<DataDate, String> {
    let day = |text: &str| text.parse::<Day>().map_err(|error| error.to_string());
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (day(from)?, day(to)?);
    if to < from { Err(format!("{to} is before {from}")) } else { Ok(DataDate(from, to)) }
}
