//! Robots files (RFC 9309): the group that names this program, else the one for all; of the rules that
//! match the longest counts, and of equally long ones `Allow`. Pure.

/// Most bytes of a file that are read; RFC 9309, section 2.5, requires at least these.
pub const LIMIT: u64 = 500 << 10;

/// The rules for one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    /// Patterns, and whether each allows.
    rules: Vec<(Vec<u8>, bool)>,
}

impl Robots {
    /// The rules of a file for the program with this product token, which is matched in any case.
    pub fn read(file: &[u8], program: &str) -> Robots {
        let (mut own, mut all): (Option<Robots>, Robots) = (None, Robots::default());
        // Programs of the group, and whether its rules have begun.
        let (mut names_own, mut names_all, mut begun) = (false, false, true);
        for line in file.split(|&b| b == b'\n' || b == b'\r') {
            let line = line.split(|&b| b == b'#').next().unwrap_or_default();
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
            let allows = name.eq_ignore_ascii_case(b"allow");
            if name.eq_ignore_ascii_case(b"user-agent") {
                if begun {
                    (names_own, names_all, begun) = (false, false, false);
                }
                names_own |= value.eq_ignore_ascii_case(program.as_bytes());
                names_all |= value == b"*";
                if names_own {
                    // Groups of one program are joined; a group without rules allows everything.
                    own.get_or_insert_default();
                }
            } else if allows || name.eq_ignore_ascii_case(b"disallow") {
                begun = true;
                let rule = || (value.to_vec(), allows);
                // An empty pattern matches nothing.
                if names_own && !value.is_empty() {
                    own.get_or_insert_default().rules.push(rule());
                }
                if names_all && !value.is_empty() {
                    all.rules.push(rule());
                }
            }
        }
        own.unwrap_or(all)
    }

    /// True where the path, with its query, may be fetched.
    pub fn allows(&self, path: &[u8]) -> bool {
        let matching = self.rules.iter().filter(|(pattern, _)| matches(pattern, path));
        matching.map(|(pattern, allows)| (pattern.len(), *allows)).max().is_none_or(|(_, allows)| allows)
    }
}

/// True where `pattern` matches the beginning of `path`; `*` is any run of bytes, `$` at the end the
/// end.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, whole) = match pattern.strip_suffix(b"$") {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split(|&b| b == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let parts: Vec<&[u8]> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        if whole && at + 1 == parts.len() {
            return rest.ends_with(part);
        }
        // The first place leaves most for what follows.
        match memchr::memmem::find(rest, part) {
            Some(found) => rest = &rest[found + part.len()..],
            None => return false,
        }
    }
    !whole || rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_goes_before_that_for_all_and_the_longest_rule_counts() {
        let file = b"User-agent: *\nDisallow: /\n\nUser-Agent: other\nUSER-AGENT: Undust # us\nDisallow: /private/ # no\n\
            Allow: /private/open\r\nDisallow: /*.pdf$\nDisallow: /*?*sid=\nDisallow:\n\nuser-agent: undust\nDisallow: /more\n";
        let robots = Robots::read(file, "undust");
        let allowed = |path: &str| robots.allows(path.as_bytes());
        assert!(allowed("/") && allowed("/private") && allowed("/private/open/1") && allowed("/a.pdf?x"));
        assert!(!allowed("/private/x") && !allowed("/a/b.pdf") && !allowed("/p?a=1&sid=2") && !allowed("/more/x"));
        assert!(!Robots::read(file, "someone").allows(b"/"));
        assert!(Robots::read(b"User-agent: undust\n\nUser-agent: *\nDisallow: /", "else").rules.len() == 1);
        assert!(Robots::read(b"<html>not a robots file: at all", "undust").allows(b"/x"));
    }

    #[test]
    fn patterns_match_from_the_beginning() {
        assert!(matches(b"/a*c$", b"/abcabc") && !matches(b"/a*c$", b"/abcd"));
        assert!(matches(b"/a*b*", b"/axxbyy") && !matches(b"/a*b*c", b"/axxbyy"));
        assert!(matches(b"/$", b"/") && !matches(b"/$", b"/a") && matches(b"*", b"") && !matches(b"b", b"/b"));
    }
}
