//! Kinds of change to a URL, as bits: they decide whether the output has to be tokenized again.

use crate::url::{Fixed, KeyKind};

/// A change that alters how the rest of the URL is tokenized.
pub(super) const SHAPE: u8 = 1;
/// The trailing slash, the index or the doubled slashes were removed, or a trailing slash was added.
pub(super) const SLASH: u8 = 2;
/// Parts of the path got other values that are tokenized alike.
pub(super) const PATH: u8 = 4;
pub(super) const QUERY: u8 = 8;
pub(super) const SCHEME: u8 = 16;

/// The bits for a key that was removed.
pub(super) fn removed(key: KeyKind) -> u8 {
    match key {
        KeyKind::Fixed(Fixed::FRAGMENT | Fixed::EMPTY_QUERY | Fixed::WHOLE_QUERY) => 0,
        KeyKind::Fixed(Fixed::TRAILING_SLASH | Fixed::INDEX | Fixed::DOUBLE_SLASH) => SLASH,
        KeyKind::Fixed(Fixed::ORDER) | KeyKind::Query => QUERY,
        KeyKind::Fixed(_) | KeyKind::Param => SHAPE,
    }
}
