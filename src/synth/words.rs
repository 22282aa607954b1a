//! The vocabulary of invented sites: words for slugs, names and hosts, and names that need percent
//! escapes.

use super::rng::mix;

/// Common words, all lower-case ASCII letters and no two alike, so that a word determines its index.
pub const WORDS: [&str; 64] = [
    "amber", "anchor", "apple", "autumn", "badger", "basket", "beacon", "birch", "bridge", "canal", "candle", "cedar",
    "cherry", "clover", "cobalt", "copper", "coral", "cotton", "crane", "dawn", "eagle", "ember", "falcon", "fern",
    "field", "finch", "flint", "garnet", "ginger", "glade", "granite", "harbour", "hazel", "heron", "indigo", "island",
    "ivory", "jasper", "juniper", "kestrel", "lantern", "laurel", "linen", "maple", "meadow", "mirror", "moss", "oak",
    "olive", "orchard", "otter", "pebble", "pine", "quartz", "raven", "river", "saffron", "silver", "stone", "thistle",
    "timber", "tulip", "velvet", "willow",
];

/// Number of [`WORDS`].
pub const COUNT: u64 = WORDS.len() as u64;

/// Names of places that cannot be written in a URL without percent escapes; each holds a letter beyond
/// ASCII.
pub const PLACES: [&str; 8] = ["Málaga", "Tromsø", "Gdańsk", "Besançon", "São_Tomé", "Türkheim", "Plzeň", "Šibenik"];

/// The word of a number, taken modulo [`COUNT`].
pub fn word(n: u64) -> &'static str {
    WORDS[(n % COUNT) as usize]
}

/// The number of a word: the inverse of [`word`] below [`COUNT`]. Cost: one pass over the list.
pub fn index(text: &str) -> Option<u64> {
    WORDS.iter().position(|w| *w == text).map(|i| i as u64)
}

/// Adds a slug of `count` words that belongs to `about`: always the same for the same number.
pub fn slug(about: u64, count: u32, out: &mut Vec<u8>) {
    let mut bits = mix(about.wrapping_add(0x51_7c_c1_b7));
    for i in 0..count {
        if i > 0 {
            out.push(b'-');
        }
        out.extend_from_slice(word(bits & 63).as_bytes());
        bits >>= 6;
    }
}

/// Adds a number in decimal.
pub fn number(mut n: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Adds the low `digits` hexadecimal digits of a number, lower case.
pub fn hex(n: u64, digits: u32, out: &mut Vec<u8>) {
    for i in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(n >> (4 * i) & 15) as usize]);
    }
}

/// Splits `amber17` into the word's number and 17 (0 where there are no digits).
pub fn numbered(text: &str) -> Option<(u64, u64)> {
    let cut = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let tail = if cut == text.len() { 0 } else { text[cut..].parse().ok()? };
    Some((index(&text[..cut])?, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_tells_its_index() {
        for n in 0..COUNT {
            assert_eq!(index(word(n)), Some(n));
            assert!(word(n).bytes().all(|b| b.is_ascii_lowercase()));
        }
        assert_eq!(numbered("amber17"), Some((0, 17)));
        assert_eq!(numbered("amber"), Some((0, 0)));
        assert_eq!(numbered("ambre"), None);
        assert!(PLACES.iter().all(|p| !p.is_ascii()));
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for n in [0, 7, 10, 99, 100, 1_234_567, u64::MAX] {
            let mut out = Vec::new();
            number(n, &mut out);
            assert_eq!(out, n.to_string().as_bytes());
            out.clear();
            hex(n, 16, &mut out);
            assert_eq!(out, format!("{n:016x}").as_bytes());
        }
    }
}
