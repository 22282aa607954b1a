//! Page types that try the limits of syntax: percent escapes (catalogue: capitalizing and decoding
//! escapes) and codes whose case matters.

use super::kind::{Page, PageType};
use super::parts::Parts;
use super::rng::Rng;
use super::view::View;
use super::words;

/// `/places/M%C3%A1laga(amber)17` with escapes in lower case, with escaped parentheses, with escaped
/// digits.
struct Enc {
    word: &'static str,
}

/// Draws an [`Enc`].
pub fn enc(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Enc { word: rng.pick(&["places", "titles", "towns"]) })
}

fn escape(byte: u8, lower: bool, out: &mut Vec<u8>) {
    let digits: &[u8; 16] = if lower { b"0123456789abcdef" } else { b"0123456789ABCDEF" };
    out.extend_from_slice(&[b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
}

impl PageType for Enc {
    fn name(&self) -> &'static str {
        "enc"
    }
    fn forms(&self) -> u64 {
        4
    }
    fn keeps_case(&self) -> bool {
        true
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let (e, form) = (page.entity, page.form);
        let path = url.seg(self.word).seg("").path();
        for byte in words::PLACES[(e % 8) as usize].bytes() {
            if byte.is_ascii() { path.push(byte) } else { escape(byte, form == 1, path) }
        }
        let parens: [&str; 2] = if form == 2 { ["%28", "%29"] } else { ["(", ")"] };
        url.add(parens[0]).add(words::word(e / 8)).add(parens[1]);
        let path = url.path();
        let start = path.len();
        words::number(e, path);
        if form == 3 {
            // The escapes go behind the digits, which are then cut out in one step.
            let end = path.len();
            for i in start..end {
                let digit = path[i];
                escape(digit, false, path);
            }
            path.drain(start..end);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let [first, _] = url.path()[..] else { return None };
        if first != self.word || !url.pairs.is_empty() {
            return None;
        }
        let mut bytes = Vec::new();
        let mut rest = url.segs[1].bytes();
        while let Some(byte) = rest.next() {
            bytes.push(if byte == b'%' {
                let hex = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()?
            } else {
                byte
            });
        }
        let name = String::from_utf8(bytes).ok()?;
        let (place, tail) = name.split_once('(')?;
        let (word, n) = tail.split_once(')')?;
        let n: u64 = n.parse().ok()?;
        (place == words::PLACES[(n % 8) as usize] && word == words::word(n / 8)).then_some(n)
    }
    fn rules(&self) -> Vec<String> {
        vec![format!("/{}/NAME: case of escapes; escapes of letters, digits and parentheses", self.word)]
    }
}

/// `/v/aB3x9` and `/watch?v=aB3x9`: base-62 codes whose case matters, so that folding case merges
/// strangers.
struct Code {
    word: &'static str,
    key: &'static str,
}

const LETTERS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Five letters.
const CODES: u64 = 62 * 62 * 62 * 62 * 62;
/// Spreads entities over the codes: odd and no multiple of 31, so it has an inverse modulo [`CODES`].
const SPREAD: u64 = 387_420_489;

/// Draws a [`Code`].
pub fn code(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Code { word: rng.pick(&["v", "x", "c"]), key: rng.pick(&["v", "code", "key"]) })
}

/// Inverse of `a` modulo `m` (extended Euclid); 0 where there is none.
fn inverse(a: u64, m: u64) -> u64 {
    let (mut old, mut r) = (a as i128, m as i128);
    let (mut x, mut next) = (1_i128, 0_i128);
    while r != 0 {
        let q = old / r;
        (old, r) = (r, old - q * r);
        (x, next) = (next, x - q * next);
    }
    if old == 1 { x.rem_euclid(m as i128) as u64 } else { 0 }
}

impl PageType for Code {
    fn name(&self) -> &'static str {
        "code"
    }
    fn forms(&self) -> u64 {
        2
    }
    fn keeps_case(&self) -> bool {
        true
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let mut code = page.entity % CODES * SPREAD % CODES;
        let letters: [u8; 5] = std::array::from_fn(|_| {
            let letter = LETTERS[(code % 62) as usize];
            code /= 62;
            letter
        });
        match page.form {
            0 => url.seg(self.word).seg("").path().extend_from_slice(&letters),
            _ => {
                url.seg("watch").pair_with(self.key, |out| out.extend_from_slice(&letters));
            }
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let code = match url.path()[..] {
            [word, _] if word == self.word && url.pairs.is_empty() => url.segs[1].as_str(),
            ["watch"] if url.pairs.len() == 1 => url.get(self.key)?,
            _ => return None,
        };
        if code.len() != 5 {
            return None;
        }
        let mut n = 0;
        for letter in code.bytes().rev() {
            n = n * 62 + LETTERS.iter().position(|l| *l == letter)? as u64;
        }
        Some((u128::from(n) * u128::from(inverse(SPREAD, CODES)) % u128::from(CODES)) as u64)
    }
    fn rules(&self) -> Vec<String> {
        vec![format!("/watch?{}=CODE -> /{}/CODE; the case of CODE matters", self.key, self.word)]
    }
}
