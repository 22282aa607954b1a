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
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Its part of the URL.
    pub part: Part,
    /// Its shape, for people: a place among the texts of the URL.
    shape: (u32, u32),
    /// Its general form, for people.
    general: (u32, u32),
    /// Hash of its text.
    pub exact: u64,
    /// Hash of its text without what varies.
    pub masked: u64,
    /// What varies.
    pub axis: Axis,
    /// The number, the date as `yyyymmdd`, or the hash of the value.
    pub value: u64,
}

/// The pieces of one URL after another: kept, it allocates little.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    /// Shapes and general forms.
    texts: String,
    list: Vec<Piece>,
}

impl std::ops::Deref for Pieces {
    type Target = [Piece];

    fn deref(&self) -> &[Piece] {
        &self.list
    }
}

impl Pieces {
    /// The pieces of a path with its query.
    pub(super) fn of(url: &str) -> Pieces {
        let mut out = Pieces::default();
        out.take(url);
        out
    }

    /// Takes the pieces of another path with its query. True for a path that repeats a segment.
    pub(super) fn take(&mut self, url: &str) -> bool {
        self.texts.clear();
        self.list.clear();
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let is_repeating = is_repeating(path);
        if is_repeating {
            // The depth differs from URL to URL, so only the beginning counts.
            self.segment(Part::Path, path.split('/').nth(1).unwrap_or(""));
            self.whole(Part::Path, "/<repeated>", collapsed(url));
        } else {
            self.segments(Part::Path, path);
        }
        let mut pairs: Vec<&str> = split(query, b'&').filter(|pair| !pair.is_empty()).take(MAX_PIECES).collect();
        pairs.sort_unstable();
        pairs.iter().filter(|pair| pair.starts_with('/')).for_each(|path| self.segments(Part::QueryPath, path));
        pairs.retain(|pair| !pair.starts_with('/'));
        self.dated_pairs(&mut pairs);
        pairs.into_iter().for_each(|pair| self.pair(pair));
        if self.list.len() > MAX_PIECES {
            self.list.truncate(MAX_PIECES - 1);
            self.whole(Part::Pair, "...", hash64(url.as_bytes()));
        }
        is_repeating
    }

    /// Shape of a piece, for people.
    pub(super) fn shape(&self, piece: &Piece) -> &str {
        self.read(piece.shape)
    }

    /// General form of a piece, for people.
    pub(super) fn general(&self, piece: &Piece) -> &str {
        self.read(piece.general)
    }

    fn read(&self, (start, end): (u32, u32)) -> &str {
        &self.texts[start as usize..end as usize]
    }

    /// Writes a text.
    fn text(&mut self, write: impl FnOnce(&mut String)) -> (u32, u32) {
        let start = self.texts.len();
        write(&mut self.texts);
        (start as u32, self.texts.len() as u32)
    }

    /// A piece without anything that varies, of this shape and hash.
    fn whole(&mut self, part: Part, shape: &str, exact: u64) {
        let shape = self.text(|out| out.push_str(shape));
        self.list.push(Piece { part, shape, general: shape, exact, masked: exact, axis: Axis::None, value: 0 });
    }

    fn segment(&mut self, part: Part, text: &str) {
        let general = self.text(|out| out.push_str("/*"));
        let exact = hash64(text.as_bytes());
        if let Some((at, end, value)) = date(text) {
            let mut of_date = |write: fn(&str, &mut String)| {
                self.text(|out| {
                    out.push('/');
                    write(&text[..at], out);
                    out.push_str("<date>");
                    write(&text[end..], out);
                })
            };
            let (masked, shape) = (of_date(|text, out| out.push_str(text)), of_date(folded));
            let masked = hash64(self.read(masked).as_bytes());
            return self.list.push(Piece { part, shape, general, exact, masked, axis: Axis::Date, value });
        }
        let shape = self.text(|out| {
            out.push('/');
            folded(text, out);
        });
        let one = numbers(text).next().filter(|_| numbers(text).nth(1).is_none());
        let number = one.and_then(|(start, end)| text[start..end].parse().ok());
        let axis = if number.is_some() { Axis::Number } else { Axis::None };
        let masked = hash64(self.read(shape).as_bytes());
        self.list.push(Piece { part, shape, general, exact, masked, axis, value: number.unwrap_or(0) });
    }

    fn pair(&mut self, text: &str) {
        let (part, exact) = (Part::Pair, hash64(text.as_bytes()));
        let Some((name, of)) = split_once(text, b'=') else {
            let shape = self.text(|out| folded(text, out));
            let general = self.text(|out| out.push('*'));
            return self.list.push(Piece { part, shape, general, exact, masked: exact, axis: Axis::None, value: 0 });
        };
        let general = self.text(|out| out.extend([name, "=*"]));
        let masked = hash64(self.read(general).as_bytes());
        let found = date(of);
        let (axis, value) = match (found, of.parse()) {
            (Some((_, _, value)), _) => (Axis::Date, value),
            (None, Ok(number)) if !of.starts_with('+') => (Axis::Number, number),
            _ => (Axis::Value, hash64(of.as_bytes())),
        };
        let shape = self.text(|out| {
            out.extend([name, "="]);
            match (found, axis) {
                (Some((at, end, _)), _) => {
                    folded(&of[..at], out);
                    out.push_str("<date>");
                    folded(&of[end..], out);
                }
                (None, Axis::Number) => out.push('#'),
                _ => folded(of, out),
            }
        });
        self.list.push(Piece { part, shape, general, exact, masked, axis, value });
    }

    /// Several neighbours that are one date: of these texts the exact hash, of `shape` all else.
    fn dated(&mut self, part: Part, texts: &str, shape: &str, value: u64) {
        let (exact, masked) = (hash64(texts.as_bytes()), hash64(shape.as_bytes()));
        let shape = self.text(|out| out.push_str(shape));
        self.list.push(Piece { part, shape, general: shape, exact, masked, axis: Axis::Date, value });
    }

    /// The segments of a path, a date over two or three of them as one piece.
    fn segments(&mut self, part: Part, path: &str) {
        let list: Vec<&str> = split(path, b'/').skip(1).take(MAX_PIECES + 1).collect();
        let mut at = 0;
        while let Some(&segment) = list.get(at) {
            let next = |plus: usize| list.get(at + plus).copied().unwrap_or("");
            let (year, month, day) = (year(segment), month(next(1)), day(next(2)));
            at += match (year, month, day) {
                (Some(year), Some(month), Some(day)) => {
                    let texts = list[at..at + 3].join("/");
                    self.dated(part, &texts, "/<date>", year * 10_000 + month * 100 + day);
                    3
                }
                (Some(year), Some(month), None) => {
                    let texts = list[at..at + 2].join("/");
                    self.dated(part, &texts, "/<date>", year * 10_000 + month * 100);
                    2
                }
                _ => {
                    self.segment(part, segment);
                    1
                }
            };
        }
    }

    /// Takes the pairs of a year, a month and a day out of `pairs`, as one piece: only where there is a
    /// year and a month.
    fn dated_pairs(&mut self, pairs: &mut Vec<&str>) {
        let find = |short: [&str; 2], long: &str, read: fn(&str) -> Option<u64>| {
            pairs.iter().enumerate().find_map(|(at, pair)| {
                let (name, value) = split_once(pair, b'=')?;
                let value = read(value)?;
                let tail = name.len().checked_sub(long.len()).map(|at| &name.as_bytes()[at..]);
                let is_wanted = tail.is_some_and(|tail| tail.eq_ignore_ascii_case(long.as_bytes()))
                    || short.iter().any(|of| name.eq_ignore_ascii_case(of));
                is_wanted.then(|| (at, name.to_owned(), value))
            })
        };
        let year = find(["y", "yr"], "year", year);
        let Some((year, month)) = year.and_then(|year| Some((year, find(["m", "mon"], "month", month)?))) else {
            return;
        };
        let day = find(["d", "dd"], "day", day);
        let value = year.2 * 10_000 + month.2 * 100 + day.as_ref().map_or(0, |day| day.2);
        let found = [year, month].into_iter().chain(day);
        let mut found: Vec<(usize, String)> = found.map(|(at, name, _)| (at, name)).collect();
        found.sort_unstable();
        let texts: Vec<&str> = found.iter().map(|(at, _)| pairs[*at]).collect();
        let shape: Vec<String> = found.iter().map(|(_, name)| format!("{name}=<date>")).collect();
        self.dated(Part::Pair, &texts.join("&"), &shape.join("&"), value);
        for (at, _) in found.iter().rev() {
            pairs.remove(*at);
        }
    }
}

/// True for a path that has a segment [`REPEATS`] times or more. Numbers do not count: `/11/11/11/`
/// is a date.
fn is_repeating(path: &str) -> bool {
    let segments: Vec<&str> = split(path, b'/').take(MAX_SEGMENTS).filter(|segment| !segment.is_empty()).collect();
    let is_word = |segment: &str| segment.bytes().any(|byte| !byte.is_ascii_digit());
    let repeats = |(at, of): (usize, &&str)| segments[at..].iter().filter(|segment| *segment == of).count() >= REPEATS;
    segments.iter().enumerate().any(|of| repeats(of) && is_word(of.1))
}

/// `str::split_once`, faster where the first part is short.
fn split_once(text: &str, separator: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|byte| byte == separator)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The parts of a text between separators, as `str::split` cuts it; faster where they are short.
fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.bytes().position(|byte| byte == separator);
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
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

/// Writes the text with each run of digits as `#`, escapes (`%3A`) as they are.
fn folded(text: &str, out: &mut String) {
    let mut from = 0;
    for (start, end) in numbers(text) {
        out.push_str(&text[from..start]);
        out.push('#');
        from = end;
    }
    out.push_str(&text[from..]);
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
        let pieces = Pieces::of(url);
        pieces.iter().map(|piece| pieces.shape(piece).to_owned()).collect()
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
        assert_eq!(Pieces::of(&"/a1".repeat(5_000)).len(), 2, "repeating");
        let long: String = (0..99).map(|at| format!("/a{at}b{at}")).collect();
        assert_eq!(shapes(&long).last().map(String::as_str), Some("..."));
        assert_eq!(shapes(&long).len(), MAX_PIECES);
    }

    #[test]
    fn a_mask_hides_what_varies_and_nothing_else() {
        let masked = |url: &str| Pieces::of(url).last().expect("a piece").masked;
        assert_eq!(masked("/a-15"), masked("/a-16"));
        assert_ne!(masked("/a-15"), masked("/b-15"));
        assert_eq!(masked("/7-list-2024-01"), masked("/7-list-2025-02"));
        assert_ne!(masked("/7-list-2024-01"), masked("/8-list-2024-01"));
        assert_eq!(masked("/?sid=abc"), masked("/?sid=12"));
        assert_eq!(collapsed("/a/b/a/b/x?y"), collapsed("/a/b/x?y"));
        assert_ne!(collapsed("/a/b/a/b/x?y"), collapsed("/a/b/x?z"));
    }
}
