//! The laws of stage 1 on one input, for the property tests, the fuzz target and the replay of its corpus.
use undust::url::{Split, normalize};

/// Checks every law; what is not a URL has only to be refused.
pub fn laws(url: &[u8]) -> Result<(), String> {
    let mut out = b"left over from another URL".to_vec();
    let split = match normalize(url, &mut out) {
        Ok(split) => split,
        Err(_) => return Ok(()),
    };
    let check = |holds: bool, law: &str| {
        if holds { Ok(()) } else { Err(format!("{law}: {} -> {}", url.escape_ascii(), out.escape_ascii())) }
    };
    let spaces = url.iter().filter(|&&b| b == b' ').count();
    check(out.len() <= url.len() + 2 * spaces + 1, "at most one byte longer, beside escaped spaces")?;
    check(reassembled(&split, &out) == out, "the parts make up the output")?;
    let path = part(&out, split.path);
    check(path.first() == Some(&b'/'), "the path starts with a slash")?;
    check(path.split(|&b| b == b'/').all(|s| s != b"." && s != b".."), "no dot segments")?;
    let host = part(&out, split.host);
    check(!host.is_empty() && !host.ends_with(b".") && !host.starts_with(b"."), "a host without loose dots")?;
    check(out.iter().all(|&b| b > b' ' && b != 0x7f), "no spaces or control characters")?;
    let mut twice = Vec::new();
    let again = normalize(&out, &mut twice);
    check(twice == out && again == Ok(split), "twice is once")
}

/// The bytes of a part.
pub fn part(out: &[u8], (start, end): (u32, u32)) -> &[u8] {
    &out[start as usize..end as usize]
}

fn reassembled(split: &Split, out: &[u8]) -> Vec<u8> {
    let authority = part(out, split.authority);
    let host = part(out, split.host);
    assert!(split.authority.0 <= split.host.0 && split.host.1 <= split.authority.1);
    assert!(authority.windows(host.len()).any(|w| w == host));
    let mut url = if split.https { b"https://".to_vec() } else { b"http://".to_vec() };
    url.extend_from_slice(authority);
    url.extend_from_slice(part(out, split.path));
    for (mark, range) in [(b'?', split.query), (b'#', split.fragment)] {
        if let Some(range) = range {
            url.push(mark);
            url.extend_from_slice(part(out, range));
        }
    }
    url
}
