//! A rule as a pattern and a replacement.

/// A part of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The text that this group of the pattern matched, from 1; empty where it took no part.
    Group(u8),
    /// This text.
    Text(String),
}

/// A regular expression over the whole URL, and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// Anchored at both ends.
    pub pattern: String,
    /// At most nine groups are used.
    pub pieces: Vec<Piece>,
}

impl Rewrite {
    /// The replacement as text, each part written by the target.
    pub fn replacement(&self, group: impl Fn(u8) -> String, text: impl Fn(&str) -> String) -> String {
        let one = |piece: &Piece| match piece {
            Piece::Group(number) => group(*number),
            Piece::Text(part) => text(part),
        };
        self.pieces.iter().map(one).collect()
    }

    /// The literal texts of the replacement.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Group(_) => None,
            Piece::Text(text) => Some(text.as_str()),
        })
    }

    /// With `$1` for groups and a backslash before `$` and `\`, as Java reads it.
    pub fn java_replacement(&self) -> String {
        self.replacement(|n| format!("${n}"), |text| text.replace('\\', "\\\\").replace('$', "\\$"))
    }
}
