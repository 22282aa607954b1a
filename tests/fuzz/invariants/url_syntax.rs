//! The invariants of syntax-based normalization on one input, for the property tests, the fuzz target and the
//! replay of its corpus.
use undust::url::{Split, normalize};

/// Checks every invariant; what is not a URL has only to be refused.
pub fn check(url: &[u8]) -> Result<(), String> {
    let mut out = b"left over from another URL".to_vec();
    let split = match normalize(url, &mut out) {
        Ok(split) => split,
        Err(_) => return Ok(()),
    };
    let check = |holds: bool, invariant: &str| {
        if holds { Ok(()) } else { Err(format!("{invariant}: {} -> {}", url.escape_ascii(), out.escape_ascii())) }
    };
    let host = part(&out, split.host);
    let rare = |b: &&u8| !b.is_ascii_graphic() || b"\"<>[]^`{|}@".contains(b);
    let longest = url.len() + host.len() + 2 * url.iter().filter(rare).count() + 1;
    check(out.len() <= longest, "at most one byte longer, beside host and escapes")?;
    check(reassembled(&split, &out) == out, "the parts make up the output")?;
    let path = part(&out, split.path);
    check(path.first() == Some(&b'/'), "the path starts with a slash")?;
    check(path.split(|&b| b == b'/').all(|s| s != b"." && s != b".."), "no dot segments")?;
    let empty = host.strip_suffix(b".").unwrap_or(host).split(|&b| b == b'.').any(<[u8]>::is_empty);
    check(!empty, "a host without empty labels")?;
    check(out.iter().all(u8::is_ascii_graphic), "ASCII without spaces and control characters")?;
    // RFC 3986, section 2, less what browsers send as it is.
    let is = |bytes: &'static [u8]| move |b: &u8| b.is_ascii_alphanumeric() || bytes.contains(b);
    let name = is(b"-._~!$&'()*+,;=");
    check(host.iter().all(name) || host.starts_with(b"["), "a host of RFC 3986")?;
    let user = &out[split.authority.0 as usize..split.host.0 as usize];
    check(user.iter().all(is(b"-._~!$&'()*+,;=:%@")), "user information of RFC 3986")?;
    check(path.iter().all(is(b"-._~!$&'()*+,;=:@/%[]^|")), "a path of RFC 3986, and brackets, circumflexes and bars")?;
    check(!out.iter().any(|b| b"\"<>".contains(b)), "no quotes and no angle brackets")?;
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
