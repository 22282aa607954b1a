//! The shape of a URL, computed cheaply: kinds of pages of a site, before anything is learned. Not the
//! [`Form`](crate::site::forms::Form) of the learner, which is a leaf of the pattern tree.

/// The form of a normal URL, host and scheme left out: its first path segment where that is a word, the
/// number of segments, whether the last is a number or has an extension, and the names of its query
/// keys. Appended to `out`.
pub fn form(url: &[u8], out: &mut Vec<u8>) {
    let rest = memchr::memmem::find(url, b"://").map_or(url, |at| &url[at + 3..]);
    let rest = &rest[memchr::memchr(b'/', rest).unwrap_or(rest.len())..];
    let rest = &rest[..memchr::memchr(b'#', rest).unwrap_or(rest.len())];
    let (path, query) = match memchr::memchr(b'?', rest) {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, &b""[..]),
    };
    let segments = path.split(|&b| b == b'/').skip(1);
    let count = segments.clone().count();
    let last = segments.clone().last().unwrap_or_default();
    let first = segments.clone().next().filter(|_| count > 1).unwrap_or_default();
    if !first.iter().any(u8::is_ascii_digit) && first.len() <= 24 {
        out.extend_from_slice(first);
    }
    out.push(b'/');
    out.push(count.min(255) as u8);
    if !last.is_empty() && last.iter().all(u8::is_ascii_digit) {
        out.push(b'0');
    } else if let Some(dot) = memchr::memrchr(b'.', last).filter(|&dot| dot > 0 && last.len() - dot <= 6) {
        out.extend_from_slice(&last[dot..]);
    } else if last.is_empty() {
        out.push(b'/');
    }
    // Names of query keys whatever their order.
    let mut names: Vec<&[u8]> =
        query.split(|&b| b == b'&').map(|pair| pair.split(|&b| b == b'=').next().unwrap_or_default()).collect();
    names.sort_unstable();
    names.dedup();
    names.iter().filter(|name| !name.is_empty()).for_each(|name| {
        out.push(b'?');
        out.extend_from_slice(name);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_tell_kinds_of_urls_apart() {
        let of = |path: &str| {
            let mut out = Vec::new();
            form(format!("http://a.example{path}").as_bytes(), &mut out);
            out
        };
        let same = [
            ("/topic/1", "/topic/22"),
            ("/a/b/c?x=1&y=2", "/a/d/e?y=3&x=4"),
            ("/login.php?to=1", "/log.php?to=2"),
            ("/2024/slug", "/2025/other"),
        ];
        same.iter().for_each(|(a, b)| assert_eq!(of(a), of(b), "{a} {b}"));
        let other = [
            ("/topic/1", "/topic/x"),
            ("/topic/1", "/user/1"),
            ("/a", "/a?b=1"),
            ("/a/b", "/a/b/"),
            ("/a.php", "/a.html"),
        ];
        other.iter().for_each(|(a, b)| assert_ne!(of(a), of(b), "{a} {b}"));
    }
}
