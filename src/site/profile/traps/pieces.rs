//! A URL without its origin, as pieces: segments of the path, then pairs of the query by their
//! bytes.
//!
//! A piece has an exact text, a shape (digits folded to `#`, a date to `<date>`) and a general form
//! (`/*`, `name=*`). Bound: [`MAX_PIECES`] pieces a URL; the rest of it is the last piece.

use crate::model::hash64;

/// Pieces of a URL that are told apart.
pub(super) const MAX_PIECES: usize = 24;
/// Segments of a path among which a repeated one is looked for.
const MAX_SEGMENTS: usize = 64;
/// Times that a segment is in a path that counts as repeating. Two are common (`/en/news/en/`, a
/// user and his folder of that name).
const REPEATS: usize = 3;

/// What varies in a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    /// Nothing that is followed.
    None,
    /// A number in a segment, or the value of a pair that is a number.
    Number,
    /// Another value of a pair.
    Value,
    /// A year and a month, with or without a day.
    Date,
}

/// Part of the URL that a piece belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// A segment of the path.
    Path,
    /// A segment of a path within the query (`?/category/3`).
    QueryPath,
    /// A pair of the query, or a name without a value.
    Pair,
}

/// One piece. Hashes are of its text, so they are the same in all URLs.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Its part of the URL.
    pub part: Part,
    /// Its shape, for people.
    pub shape: String,
    /// Its general form, for people.
    pub general: String,
    /// Hash of its text.
    pub exact: u64,
    /// Hash of its text without what varies.
    pub masked: u64,
    /// What varies.
    pub axis: Axis,
    /// The number, the date as `yyyymmdd`, or the hash of the value.
    pub value: u64,
}

impl Piece {
    fn segment(part: Part, text: &str) -> Piece {
        let general = "/*".to_owned();
        let exact = hash64(text.as_bytes());
        if let Some((at, end, value)) = date(text) {
            let masked = format!("{}<date>{}", &text[..at], &text[end..]);
            let shape = format!("/{}<date>{}", folded(&text[..at]), folded(&text[end..]));
            return Piece { part, shape, general, exact, masked: hash64(masked.as_bytes()), axis: Axis::Date, value };
        }
        let shape = folded(text);
        let one = numbers(text).next().filter(|_| numbers(text).nth(1).is_none());
        let number = one.and_then(|(start, end)| text[start..end].parse().ok());
        let axis = if number.is_some() { Axis::Number } else { Axis::None };
        let (masked, value) = (hash64(shape.as_bytes()), number.unwrap_or(0));
        Piece { part, shape: format!("/{shape}"), general, exact, masked, axis, value }
    }

    fn pair(text: &str) -> Piece {
        let (part, exact) = (Part::Pair, hash64(text.as_bytes()));
        let Some((name, of)) = text.split_once('=') else {
            let (shape, general) = (folded(text), "*".to_owned());
            return Piece { part, shape, general, exact, masked: exact, axis: Axis::None, value: 0 };
        };
        let general = format!("{name}=*");
        let masked = hash64(general.as_bytes());
        let (shape, axis, value) = match (date(of), of.parse()) {
            (Some((at, end, value)), _) => {
                (format!("{}<date>{}", folded(&of[..at]), folded(&of[end..])), Axis::Date, value)
            }
            (None, Ok(number)) if !of.starts_with('+') => ("#".to_owned(), Axis::Number, number),
            _ => (folded(of), Axis::Value, hash64(of.as_bytes())),
        };
        Piece { part, shape: format!("{name}={shape}"), general, exact, masked, axis, value }
    }

    /// Several neighbours that are one date: of these texts the exact hash, of `shape` all else.
    fn dated(part: Part, texts: &str, shape: &str, value: u64) -> Piece {
        let (exact, masked) = (hash64(texts.as_bytes()), hash64(shape.as_bytes()));
        let (shape, general) = (shape.to_owned(), shape.to_owned());
        Piece { part, shape, general, exact, masked, axis: Axis::Date, value }
    }
}

/// The pieces of a path with its query.
pub(super) fn pieces(url: &str) -> Vec<Piece> {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let mut out = Vec::new();
    if is_repeating(path) {
        // The depth differs from URL to URL, so only the beginning counts.
        out.push(Piece::segment(Part::Path, path.split('/').nth(1).unwrap_or("")));
        let (shape, general) = ("/<repeated>".to_owned(), "/<repeated>".to_owned());
        let hash = collapsed(url);
        let (axis, value) = (Axis::None, 0);
        out.push(Piece { part: Part::Path, shape, general, exact: hash, masked: hash, axis, value });
    } else {
        segments(&mut out, Part::Path, path);
    }
    let mut pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).take(MAX_PIECES).collect();
    pairs.sort_unstable();
    pairs.iter().filter(|pair| pair.starts_with('/')).for_each(|path| segments(&mut out, Part::QueryPath, path));
    pairs.retain(|pair| !pair.starts_with('/'));
    out.extend(dated_pairs(&mut pairs));
    out.extend(pairs.into_iter().map(Piece::pair));
    if out.len() > MAX_PIECES {
        out.truncate(MAX_PIECES - 1);
        let (shape, general) = ("...".to_owned(), "...".to_owned());
        let exact = hash64(url.as_bytes());
        out.push(Piece { part: Part::Pair, shape, general, exact, masked: exact, axis: Axis::None, value: 0 });
    }
    out
}

/// The segments of a path, a date over two or three of them as one piece.
fn segments(out: &mut Vec<Piece>, part: Part, path: &str) {
    let list: Vec<&str> = path.split('/').skip(1).take(MAX_PIECES + 1).collect();
    let mut at = 0;
    while let Some(&segment) = list.get(at) {
        let next = |plus: usize| list.get(at + plus).copied().unwrap_or("");
        let (year, month, day) = (year(segment), month(next(1)), day(next(2)));
        let (taken, piece) = match (year, month, day) {
            (Some(year), Some(month), Some(day)) => {
                let texts = list[at..at + 3].join("/");
                (3, Piece::dated(part, &texts, "/<date>", year * 10_000 + month * 100 + day))
            }
            (Some(year), Some(month), None) => {
                let texts = list[at..at + 2].join("/");
                (2, Piece::dated(part, &texts, "/<date>", year * 10_000 + month * 100))
            }
            _ => (1, Piece::segment(part, segment)),
        };
        out.push(piece);
        at += taken;
    }
}

/// Takes the pairs of a year, a month and a day out of `pairs`, as one piece: only where there is a
/// year and a month.
fn dated_pairs(pairs: &mut Vec<&str>) -> Option<Piece> {
    let find = |short: [&str; 2], long: &str, read: fn(&str) -> Option<u64>| {
        pairs.iter().enumerate().find_map(|(at, pair)| {
            let (name, value) = pair.split_once('=')?;
            let lower = name.to_ascii_lowercase();
            (short.contains(&lower.as_str()) || lower.ends_with(long)).then_some(())?;
            Some((at, name.to_owned(), read(value)?))
        })
    };
    let found = [find(["y", "yr"], "year", year)?, find(["m", "mon"], "month", month)?];
    let day = find(["d", "dd"], "day", day);
    let value = found[0].2 * 10_000 + found[1].2 * 100 + day.as_ref().map_or(0, |day| day.2);
    let mut found: Vec<(usize, String)> = found.into_iter().chain(day).map(|(at, name, _)| (at, name)).collect();
    found.sort_unstable();
    let texts: Vec<&str> = found.iter().map(|(at, _)| pairs[*at]).collect();
    let shape: Vec<String> = found.iter().map(|(_, name)| format!("{name}=<date>")).collect();
    let piece = Piece::dated(Part::Pair, &texts.join("&"), &shape.join("&"), value);
    for (at, _) in found.iter().rev() {
        pairs.remove(*at);
    }
    Some(piece)
}

/// True for a path that has a segment [`REPEATS`] times or more. Numbers do not count: `/11/11/11/`
/// is a date.
pub(super) fn is_repeating(path: &str) -> bool {
    let segments = || path.split('/').take(MAX_SEGMENTS).filter(|segment| !segment.is_empty());
    let word = |segment: &&str| segment.bytes().any(|byte| !byte.is_ascii_digit());
    segments().count() >= REPEATS
        && segments().filter(word).any(|of| segments().filter(|segment| *segment == of).count() >= REPEATS)
}

/// Hash of a URL with each segment once, where it comes first.
pub(super) fn collapsed(url: &str) -> u64 {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let mut kept: Vec<&str> = Vec::new();
    for (at, segment) in path.split('/').enumerate() {
        if at >= MAX_SEGMENTS || !kept.contains(&segment) {
            kept.push(segment);
        }
    }
    hash64(format!("{}?{query}", kept.join("/")).as_bytes())
}

/// The text with each run of digits as `#`, escapes (`%3A`) as they are.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (start, end) in numbers(text) {
        out.push_str(&text[from..start]);
        out.push('#');
        from = end;
    }
    out.push_str(&text[from..]);
    out
}

/// Places of the runs of digits of a text that are not of an escape.
fn numbers(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !bytes[at].is_ascii_digit() {
            at += if bytes[at] == b'%' { 3 } else { 1 };
        }
        let start = at;
        at += bytes.get(start..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (at > start).then_some((start, at))
    })
}

fn within(text: &str, digits: std::ops::RangeInclusive<usize>, values: std::ops::RangeInclusive<u64>) -> Option<u64> {
    let is_number = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|value| is_number && values.contains(value))
}

fn year(text: &str) -> Option<u64> {
    within(text, 4..=4, 1900..=2199)
}

fn month(text: &str) -> Option<u64> {
    within(text, 1..=2, 1..=12)
}

fn day(text: &str) -> Option<u64> {
    within(text, 1..=2, 1..=31)
}

/// Place, end and value of the first date in a text: `2024-05`, `2024-5-1`, `2024_05_01`,
/// `20240501`.
fn date(text: &str) -> Option<(usize, usize, u64)> {
    let part = |from: usize, read: fn(&str) -> Option<u64>| {
        let separator = *text.as_bytes().get(from).filter(|byte| b"-_.".contains(byte))?;
        let digits = text.as_bytes()[from + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = from + 1 + digits;
        Some((end, separator, read(&text[from + 1..end])?))
    };
    numbers(text).find_map(|(at, end)| {
        if let Some(value) = whole_date(&text[at..end]) {
            return Some((at, end, value));
        }
        let year = year(&text[at..end])?;
        let (month_end, separator, month) = part(end, month)?;
        let day = part(month_end, day).filter(|(_, between, _)| *between == separator);
        let (end, day) = day.map_or((month_end, 0), |(end, _, day)| (end, day));
        Some((at, end, year * 10_000 + month * 100 + day))
    })
}

/// The value of eight digits that are a date.
fn whole_date(digits: &str) -> Option<u64> {
    let (year, month, day) = (year(digits.get(..4)?)?, month(digits.get(4..6)?)?, day(digits.get(6..)?)?);
    (digits.len() == 8).then_some(())?;
    Some(year * 10_000 + month * 100 + day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(url: &str) -> Vec<String> {
        pieces(url).into_iter().map(|piece| piece.shape).collect()
    }

    #[test]
    fn a_url_is_cut_into_shapes() {
        for (url, expected) in [
            ("/", &["/"][..]),
            ("/a/b2c3/?t=5&s=x9&p", &["/a", "/b#c#", "/", "p", "s=x#", "t=#"]),
            ("/2024/05/1/post", &["/<date>", "/post"]),
            ("/2024/13/post", &["/#", "/#", "/post"]),
            ("/i.php?/list-2024-5-1/start-15&x=", &["/i.php", "/list-<date>", "/start-#", "x="]),
            ("/c?month=5&cal_year=2024&id=20240501", &["/c", "cal_year=<date>&month=<date>", "id=<date>"]),
            ("/c?month=13&year=2024", &["/c", "month=#", "year=#"]),
            ("/weekly-2013-33/1999", &["/weekly-#-#", "/#"]),
            ("/a%3A7?ns=a%3Ab&x=%2", &["/a%3A#", "ns=a%3Ab", "x=%2"]),
            ("/2024010/2024-01-99", &["/#", "/<date>-#"]),
            ("/a/b/a/b/a/b?x=1", &["/a", "/<repeated>", "x=#"]),
            ("/1/1/1/a/b/a", &["/#", "/#", "/#", "/a", "/b", "/a"]),
        ] {
            assert_eq!(shapes(url), expected, "{url}");
        }
        assert_eq!(pieces(&"/a1".repeat(5_000)).len(), 2, "repeating");
        let long: String = (0..99).map(|at| format!("/a{at}b{at}")).collect();
        assert_eq!(shapes(&long).last().map(String::as_str), Some("..."));
        assert_eq!(shapes(&long).len(), MAX_PIECES);
    }

    #[test]
    fn a_mask_hides_what_varies_and_nothing_else() {
        let masked = |url: &str| pieces(url).last().expect("a piece").masked;
        assert_eq!(masked("/a-15"), masked("/a-16"));
        assert_ne!(masked("/a-15"), masked("/b-15"));
        assert_eq!(masked("/7-list-2024-01"), masked("/7-list-2025-02"));
        assert_ne!(masked("/7-list-2024-01"), masked("/8-list-2024-01"));
        assert_eq!(masked("/?sid=abc"), masked("/?sid=12"));
        assert_eq!(collapsed("/a/b/a/b/x?y"), collapsed("/a/b/x?y"));
        assert_ne!(collapsed("/a/b/a/b/x?y"), collapsed("/a/b/x?z"));
    }
}
