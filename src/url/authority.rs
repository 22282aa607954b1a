//! End of the authority of a URL, and whether it is a normal host name.

use super::window::{Window, below, highest, lowest};

/// End of the authority that starts at `start`, and whether it is known to be a normal host name and
/// nothing else: lower-case letters, digits, single hyphens and single dots, and no number as last
/// label, which would be an address. `window` is that of its start.
#[inline(always)]
pub(super) fn authority_end(window: &Window<2>, url: &[u8], start: usize) -> (usize, bool) {
    // Letters, digits, hyphen and dot; the slash is between these two.
    let end = lowest(!window.between([b'a', b'z'], [b'-', b'9']) | window.equal(b'/'), 64);
    if end < 32 && matches!(url.get(start + end), None | Some(b'/' | b'?' | b'#')) {
        let dots = window.equal(b'.');
        // A dot at either end, or behind another, has nothing beside it.
        let empty = (dots << 1 | 1) & (dots | 1 << end) & below(end + 1);
        let hyphens = window.equal(b'-');
        let doubled = hyphens & hyphens >> 1 & below(end);
        let before = highest((dots & below(end)) << 1);
        let number = url.get(start + before).is_some_and(u8::is_ascii_digit);
        return (start + end, (empty | doubled) == 0 && !number);
    }
    long_authority_end(url, start)
}

/// End of an authority of any length, byte by byte, and whether it is a normal host name.
fn long_authority_end(url: &[u8], start: usize) -> (usize, bool) {
    let mut before = DOT;
    let mut odd = 0;
    let mut end = start;
    let mut number = false;
    while end < url.len() {
        let class = AUTHORITY[url[end] as usize];
        if class == END {
            break;
        }
        odd |= (class & OTHER) | (class & before & (DOT | HYPHEN));
        if before & DOT != 0 {
            number = url[end].is_ascii_digit();
        }
        before = class;
        end += 1;
    }
    (end, odd | (before & DOT) == 0 && !number)
}

const DOT: u8 = 1;
const OTHER: u8 = 2;
const END: u8 = 4;
const HYPHEN: u8 = 8;

/// Class of a byte in an authority; 0 for the characters of a normal label.
static AUTHORITY: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut b = 0;
    while b < 256 {
        match b as u8 {
            b'a'..=b'z' | b'0'..=b'9' => table[b] = 0,
            b'-' => table[b] = HYPHEN,
            b'.' => table[b] = DOT,
            b'/' | b'?' | b'#' => table[b] = END,
            _ => {}
        }
        b += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_tells_what_the_bytes_do() {
        let long = format!("{}.example", "a".repeat(40));
        for host in [
            "a", "a.b", "", ".", "a.", ".a", "a..b", "a-b.c9", "A.b", "a:80", "u@a", "a_b", "[::1]", "a%41", "\u{e9}",
            "1", "1.2", "9a.b", "a.9b", "a.b.0x", "xn--a.b", "a--", "-a-", "--", &long,
        ] {
            for behind in ["", "/", "/a.b/", "?a", "#a", "/..", ";", " "] {
                let url = format!("http://{host}{behind}");
                let window = Window::<2>::at(url.as_bytes(), 7);
                assert_eq!(authority_end(&window, url.as_bytes(), 7), long_authority_end(url.as_bytes(), 7), "{url}");
            }
            // With all of the window there, too.
            let url = format!("http://{host}/{long}");
            let window = Window::<2>::at(url.as_bytes(), 7);
            assert_eq!(authority_end(&window, url.as_bytes(), 7), long_authority_end(url.as_bytes(), 7), "{url}");
        }
    }
}
