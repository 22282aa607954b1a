//! The section of a URL: the part of a site that its first directory names.
//!
//! A rule that holds in some sections of a site need not hold in another, so rules list their sections.
//! A directory is a path segment with a slash behind it.

/// Section of all first directories that are numbers, as rules name it. No path holds `<`.
pub const NUMBER: &str = "<number>";
/// Section of URLs without a directory, and of all first directories that are no section by themselves.
pub const OTHER: &str = "<other>";

/// First directories whose subdirectories belong to one person or tenant each.
const TENANTS: [&[u8]; 8] = [b"users", b"user", b"people", b"members", b"member", b"u", b"home", b"homepages"];

/// Kind of the first directory of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section<'p> {
    /// `~user`: always a section of its own.
    Tenant(&'p [u8]),
    /// A directory such as `users`, with its slash, and that directory with the segment behind it: each
    /// such segment is a section of its own where the site names the directory, else the directory is a
    /// word.
    Member(&'p [u8], &'p [u8]),
    /// A word: a section of its own where the site names it.
    Word(&'p [u8]),
    /// A number.
    Number,
    /// No directory.
    Other,
}

/// The section of a path, which starts with `/`; doubled slashes at its start count once. O(length of
/// its first two segments).
pub fn of(path: &[u8]) -> Section<'_> {
    let path = &path[path.iter().take_while(|&&b| b == b'/').count()..];
    let first = memchr::memchr(b'/', path);
    let name = &path[..first.unwrap_or(path.len())];
    if name.len() > 1 && name[0] == b'~' {
        return Section::Tenant(name);
    }
    match first {
        // A server may read an escape or a parameter as nothing: one directory would have as many names as one
        // likes.
        None => Section::Other,
        Some(_) if memchr::memchr2(b'%', b';', name).is_some() => Section::Other,
        Some(end) if names_tenants(name) => {
            let start = end + path[end..].iter().take_while(|&&b| b == b'/').count();
            let second = memchr::memchr(b'/', &path[start..]).map_or(path.len(), |at| start + at);
            if second > start { Section::Member(&path[..=end], &path[..second]) } else { Section::Word(name) }
        }
        Some(_) if name.iter().all(u8::is_ascii_digit) => Section::Number,
        Some(_) => Section::Word(name),
    }
}

/// True for one of [`TENANTS`]; most names show by their first letter that they are none.
fn names_tenants(name: &[u8]) -> bool {
    matches!(name.first().map(u8::to_ascii_lowercase), Some(b'u' | b'p' | b'm' | b'h'))
        && TENANTS.iter().any(|of| of.eq_ignore_ascii_case(name))
}

/// The path of a URL in normal form.
pub fn path(url: &[u8]) -> &[u8] {
    let start = memchr::memmem::find(url, b"://").map_or(0, |at| at + 3);
    let path = memchr::memchr(b'/', &url[start..]).map_or(&[][..], |at| &url[start + at..]);
    &path[..memchr::memchr2(b'?', b'#', path).unwrap_or(path.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_directory_is_the_section() {
        let cases = [
            ("/", Section::Other),
            ("/page", Section::Other),
            ("//a/b", Section::Word(b"a")),
            ("//", Section::Other),
            ("/forum/", Section::Word(b"forum")),
            ("/forum/a/b", Section::Word(b"forum")),
            ("/2024/05/x", Section::Number),
            ("/2024", Section::Other),
            ("/7z/x", Section::Word(b"7z")),
            ("/~mallory", Section::Tenant(b"~mallory")),
            ("/~mallory/page", Section::Tenant(b"~mallory")),
            ("/~/x", Section::Word(b"~")),
            ("/users/ann", Section::Member(b"users/", b"users/ann")),
            ("/users/ann/x", Section::Member(b"users/", b"users/ann")),
            ("/users//ann/x", Section::Member(b"users/", b"users//ann")),
            ("/Users/ann/x", Section::Member(b"Users/", b"Users/ann")),
            ("/users;s=1/ann/x", Section::Other),
            ("/users%2Fann/x", Section::Other),
            ("/users/", Section::Word(b"users")),
            ("/users", Section::Other),
            ("", Section::Other),
        ];
        for (path, expected) in cases {
            assert_eq!(of(path.as_bytes()), expected, "{path}");
            for behind in ["", "?a=/b/", "#/b"].iter().filter(|_| !path.is_empty()) {
                let url = format!("http://a.example:81{path}{behind}");
                assert_eq!(super::path(url.as_bytes()), path.as_bytes(), "{url}");
            }
        }
    }
}
