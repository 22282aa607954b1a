//! The laws of keys and values on one input, for the property tests, the fuzz target and the replay of
//! its corpus.
use undust::url::{Cells, Cut, Key, compose, normalize, set_order};

/// Ways of cutting that every input is tried with: as most sites, with each delimiter, with all of
/// them.
const DELIMITERS: [u8; 6] = [0, 1, 2, 4, 8, 15];

/// Checks every law; what is not a URL has no keys.
pub fn laws(url: &[u8]) -> Result<(), String> {
    let mut safe = Vec::new();
    if normalize(url, &mut safe).is_err() {
        return Ok(());
    }
    for delimiters in DELIMITERS {
        // The rank of a query key may be anything: none, one hidden in its hash, one that puts half of them
        // first.
        for rank in [|_: u64| u32::MAX, |seed: u64| seed as u32, |seed: u64| (seed & 1) as u32] {
            one(&safe, Cut { delimiters, fragments: true, ..Cut::default() }, rank)?;
        }
    }
    for joined_by_semicolons in [false, true] {
        one(&safe, Cut { semicolons: true, joined_by_semicolons, fragments: true, ..Cut::default() }, |seed| {
            seed as u32
        })?;
    }
    Ok(())
}

fn one(safe: &[u8], cut: Cut, rank: fn(u64) -> u32) -> Result<(), String> {
    let mut cells = Cells::default();
    let split = normalize(safe, &mut cells.text).map_err(|e| format!("safe syntax refuses what it made: {e:?}"))?;
    cells.cut(&split, cut);
    set_order(&mut cells, |cells, at| rank(cells.seed(cells.list[at].key)));
    let told =
        |law: &str, with: &[u8]| Err(format!("{law} ({cut:?}): {} -> {}", safe.escape_ascii(), with.escape_ascii()));
    let mut out = b"left over from another URL".to_vec();
    compose(&cells, &mut out);
    if out != safe {
        return told("composing what was cut gives the URL", &out);
    }
    let keys: Vec<Key> = cells.list.iter().map(|cell| cells.key(cell)).collect();
    for (i, (key, cell)) in keys.iter().zip(&cells.list).enumerate() {
        let text = key.to_string();
        if keys[..i].contains(key) && safe.is_ascii() {
            return told("each key comes once", text.as_bytes());
        }
        if Key::parse(&text).as_ref() != Some(key) {
            return told("a key is read as it is written", text.as_bytes());
        }
        if safe.is_ascii() && key.seed() != cells.seed(cell.key) {
            return told("a key has one seed", text.as_bytes());
        }
        if key.optional() != (i >= cells.query_from || matches!(key, Key::Param(_))) {
            return told("query keys stand behind all others", text.as_bytes());
        }
    }
    Ok(())
}
