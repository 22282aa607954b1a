//! The invariants of keys and values on one input, for the property tests, the fuzz target and the replay of
//! its corpus.
use undust::url::{Key, KeyValues, Tokenizer, compose, normalize, set_order};

/// Ways of cutting that every input is tried with: as most sites, with each delimiter, with all of
/// them.
const DELIMITERS: [u8; 6] = [0, 1, 2, 4, 8, 15];

/// Checks every invariant; what is not a URL has no keys.
pub fn check(url: &[u8]) -> Result<(), String> {
    let mut normal = Vec::new();
    if normalize(url, &mut normal).is_err() {
        return Ok(());
    }
    for delimiters in DELIMITERS {
        // The rank of a query key may be anything: none, one hidden in its hash, one that puts half of them
        // first.
        for rank in [|_: u64| u32::MAX, |seed: u64| seed as u32, |seed: u64| (seed & 1) as u32] {
            one(&normal, Tokenizer { delimiters, fragments: true, ..Tokenizer::default() }, rank)?;
        }
    }
    for joined_by_semicolons in [false, true] {
        one(
            &normal,
            Tokenizer { semicolons: true, joined_by_semicolons, fragments: true, ..Tokenizer::default() },
            |seed| seed as u32,
        )?;
    }
    Ok(())
}

fn one(normal: &[u8], tokenizer: Tokenizer, rank: fn(u64) -> u32) -> Result<(), String> {
    let mut pairs = KeyValues::default();
    let split = normalize(normal, &mut pairs.text).map_err(|e| format!("normalization refuses what it made: {e:?}"))?;
    pairs.tokenize(&split, tokenizer);
    set_order(&mut pairs, |pairs, at| rank(pairs.seed(pairs.list[at].key)));
    let told = |invariant: &str, with: &[u8]| {
        Err(format!("{invariant} ({tokenizer:?}): {} -> {}", normal.escape_ascii(), with.escape_ascii()))
    };
    let mut out = b"left over from another URL".to_vec();
    compose(&pairs, &mut out);
    if out != normal {
        return told("composing what was cut gives the URL", &out);
    }
    let keys: Vec<Key> = pairs.list.iter().map(|pair| pairs.key(pair)).collect();
    for (i, (key, pair)) in keys.iter().zip(&pairs.list).enumerate() {
        let text = key.to_string();
        if keys[..i].contains(key) && normal.is_ascii() {
            return told("each key comes once", text.as_bytes());
        }
        if Key::parse(&text).as_ref() != Some(key) {
            return told("a key is read as it is written", text.as_bytes());
        }
        if normal.is_ascii() && key.seed() != pairs.seed(pair.key) {
            return told("a key has one seed", text.as_bytes());
        }
        if key.optional() != (i >= pairs.query_from || matches!(key, Key::Param(_))) {
            return told("query keys stand behind all others", text.as_bytes());
        }
    }
    Ok(())
}
