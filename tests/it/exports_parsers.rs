//! Strict readers of the files that exports write, each by a parser that did not write them where there
//! is one.

use undust::model::shown::is_hidden;
use undust::rules::export::{Piece, Target};

/// One rewrite as its reader understands it: the pattern with escapes of characters undone, and the
/// replacement.
pub type Read = (String, Vec<Piece>);

/// Undoes escapes of characters: `\x{h}`, `\xhh`, `\uhhhh`, `\Uhhhhhhhh` and a backslash before a mark.
fn undone(pattern: &str, bytes: bool) -> String {
    let c: Vec<char> = pattern.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < c.len() {
        let digits = match (c[at], c.get(at + 1)) {
            ('\\', Some('x')) if c.get(at + 2) == Some(&'{') => {
                at + 3..(at + 3..c.len()).find(|&i| c[i] == '}').expect("a closed escape")
            }
            ('\\', Some('x')) => at + 2..at + 4,
            ('\\', Some('u')) => at + 2..at + 6,
            ('\\', Some('U')) => at + 2..at + 10,
            ('\\', Some(mark)) if !mark.is_alphanumeric() => {
                out.extend(mark.to_string().bytes());
                at += 2;
                continue;
            }
            (other, _) => {
                out.extend(other.to_string().bytes());
                at += 1;
                continue;
            }
        };
        let number = u32::from_str_radix(&c[digits.clone()].iter().collect::<String>(), 16).expect("hex digits");
        match bytes {
            true => out.push(u8::try_from(number).expect("a byte")),
            false => out.extend(char::from_u32(number).expect("a character").to_string().bytes()),
        }
        at = digits.end + usize::from(c.get(digits.end) == Some(&'}') && c[at + 2] == '{');
    }
    String::from_utf8(out).expect("characters, or the bytes of characters")
}

/// A replacement: `group` reads a group at the start of a text, with its length; after `escape`, a
/// character means itself.
fn pieces(text: &str, escape: Option<char>, group: impl Fn(&str) -> Option<(u8, usize)>) -> Vec<Piece> {
    let (mut out, mut plain, mut at) = (Vec::new(), String::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        if let Some((number, length)) = group(&text[at..]) {
            if !plain.is_empty() {
                out.push(Piece::Text(std::mem::take(&mut plain)));
            }
            out.push(Piece::Group(number));
            at += length;
            continue;
        }
        let skip = if Some(c) == escape { c.len_utf8() } else { 0 };
        let own = text[at + skip..].chars().next().expect("an escape of something");
        plain.push(own);
        at += skip + own.len_utf8();
    }
    if !plain.is_empty() {
        out.push(Piece::Text(plain));
    }
    out
}

fn dollar(text: &str) -> Option<(u8, usize)> {
    let number = text.strip_prefix('$')?.bytes().next().filter(u8::is_ascii_digit).expect("a dollar sign is a group");
    Some((number - b'0', 2))
}

fn angle(text: &str) -> Option<(u8, usize)> {
    let (number, _) = text.strip_prefix("\\g<")?.split_once('>')?;
    Some((number.parse().expect("a group"), number.len() + 4))
}

/// `regex-normalize.xml` and the beans, by a strict reader of XML 1.0; comments must be text.
fn xml(text: &str, format: &str) -> Vec<Read> {
    let document = roxmltree::Document::parse(text).expect("well-formed XML");
    for comment in document.descendants().filter(|node| node.is_comment()) {
        assert!(!comment.text().expect("a comment").contains(is_hidden), "{comment:?}");
    }
    let command = document.root().children().find_map(|node| node.pi()).expect("a command");
    assert_eq!(format!("{} {}", command.target, command.value.unwrap()), made_by(format));
    let java = |pattern: &str, to: &str| (undone(pattern, false), pieces(to, Some('\\'), dollar));
    let text_of = |node: roxmltree::Node<'_, '_>, name: &str| {
        let child = node.children().find(|child| child.has_tag_name(name)).expect("its parts");
        child.text().unwrap_or_default().to_owned()
    };
    let of_class = |node: &roxmltree::Node<'_, '_>| node.attribute("class").is_some_and(|c| c.ends_with(".RegexRule"));
    let property = |node: roxmltree::Node<'_, '_>, name: &str| {
        let child = node.children().find(|child| child.attribute("name") == Some(name)).expect("its parts");
        child.attribute("value").expect("a value").to_owned()
    };
    match format {
        "nutch" => document
            .root_element()
            .children()
            .filter(|node| node.has_tag_name("regex"))
            .map(|node| java(&text_of(node, "pattern"), &text_of(node, "substitution")))
            .collect(),
        _ => document
            .descendants()
            .filter(of_class)
            .map(|node| java(&property(node, "regex"), &property(node, "format")))
            .collect(),
    }
}

/// `rules.yaml`, by libyaml, of which pywb uses the Python twin.
fn yaml(text: &str) -> Vec<Read> {
    let file: yaml_serde::Value = yaml_serde::from_str(text).expect("YAML");
    let pairs = file["default_filters"]["url_normalize"].as_sequence().expect("a list").clone();
    let text_of = |pair: &yaml_serde::Value, name: &str| {
        assert_eq!(pair.as_mapping().map(|pair| pair.len()), Some(2));
        pair[name].as_str().unwrap_or_else(|| panic!("{pair:?}: not a text")).to_owned()
    };
    let read = |pair: &yaml_serde::Value| {
        (undone(&text_of(pair, "match"), false), pieces(&text_of(pair, "replace"), Some('\\'), angle))
    };
    pairs.iter().map(read).collect()
}

/// Providers in the order of their names, each with its raw rules and scope.
fn json(text: &str) -> Vec<Read> {
    let file: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert!(file["description"].as_str().unwrap().ends_with(&made_by("clearurls")));
    let providers = file["providers"].as_object().expect("providers");
    assert!(
        providers
            .iter()
            .all(|(name, it)| !name.contains(is_hidden) && !it["description"].to_string().contains(is_hidden))
    );
    let raw = |it: &serde_json::Value| it["rawRules"].as_array().expect("a list").clone();
    let all = providers.values().flat_map(|it| raw(it).into_iter().chain([it["urlPattern"].clone()]));
    all.map(|pattern| (undone(pattern.as_str().expect("a text"), false), Vec::new())).collect()
}

/// A word of an nginx configuration, and whether it was in quotes; `{`, `}` and `;` are words of their
/// own.
type Word = (Vec<u8>, bool);

/// Reads a configuration as `ngx_conf_read_token` does, but for what no export may use (words in single
/// quotes, variables in braces), which it refuses.
fn nginx_words(text: &[u8]) -> Vec<Word> {
    let (mut out, mut at) = (Vec::new(), 0);
    let rest = |at: usize| text[at..].iter().position(|&b| b == b'\n').map_or(text.len(), |end| at + end);
    while at < text.len() {
        match text[at] {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'#' => {
                let end = rest(at);
                assert!(end - at <= 4_090, "nginx gives up at a comment of {} bytes", end - at);
                let comment = std::str::from_utf8(&text[at..end]).expect("UTF-8");
                assert!(!comment.contains(is_hidden), "{comment:?}");
                at = end;
            }
            mark @ (b'{' | b'}' | b';') => {
                out.push((vec![mark], false));
                at += 1;
            }
            b'"' => {
                let (start, mut word) = (at, Vec::new());
                at += 1;
                while text[at] != b'"' {
                    let (byte, length) = match (text[at], text[at + 1]) {
                        (b'\\', next @ (b'"' | b'\'' | b'\\')) => (next, 2),
                        (b'\\', b't') => (b'\t', 2),
                        (b'\\', b'r') => (b'\r', 2),
                        (b'\\', b'n') => (b'\n', 2),
                        (byte, _) => (byte, 1),
                    };
                    word.push(byte);
                    at += length;
                }
                at += 1;
                assert!(at - start <= 4_095, "nginx reads no parameter of {} bytes", at - start);
                assert!(matches!(text[at], b' ' | b'\n' | b';'), "a word ends with its quotes");
                out.push((word, true));
            }
            b'\'' => panic!("single quotes"),
            _ => {
                let end = (at..text.len()).find(|&i| b" \t\r\n;{}\"'#\\".contains(&text[i])).expect("an end");
                out.push((text[at..end].to_vec(), false));
                at = end;
            }
        }
    }
    out
}

/// `map` blocks, in order.
fn nginx(text: &str) -> Vec<Read> {
    let words = nginx_words(text.as_bytes());
    let mut words = words.iter();
    let mut out = Vec::new();
    let mut next = || words.next().cloned();
    let bare = |word: Option<Word>, want: &str| assert_eq!(word, Some((want.as_bytes().to_vec(), false)));
    while let Some(word) = next() {
        bare(Some(word), "map");
        for want in ["$undust_", "$undust_"] {
            let (name, quoted) = next().unwrap();
            assert!(!quoted && name.starts_with(want.as_bytes()) && name.iter().all(|b| b.is_ascii_graphic()));
        }
        bare(next(), "{");
        bare(next(), "default");
        let (default, quoted) = next().unwrap();
        assert!(default.starts_with(b"$undust_") && !quoted || default.is_empty() && quoted);
        bare(next(), ";");
        loop {
            let (key, quoted) = next().expect("the end of a block");
            if (key.as_slice(), quoted) == (b"}", false) {
                break;
            }
            let (value, second) = next().unwrap();
            bare(next(), ";");
            if value == b"$undust_url" {
                // URLs in normal form at the start, the URL itself in the place of nothing at the end.
                assert!(quoted && !second && (key.is_empty() || key.starts_with(b"~^(?=")));
                continue;
            }
            assert!(quoted && second, "an entry is two quoted words");
            let key = String::from_utf8(key).unwrap();
            let pattern = undone(key.strip_prefix('~').expect("a pattern"), true);
            out.push((pattern, pieces(&String::from_utf8(value).unwrap(), None, dollar)));
        }
    }
    out
}

/// Names of parameters, of each host alike.
fn yandex(text: &str) -> Vec<Read> {
    let mut hosts: Vec<Vec<Read>> = Vec::new();
    for line in text.strip_suffix('\n').expect("a last line").split('\n') {
        assert!(!line.contains(is_hidden) && line.len() < 520, "{line:?}");
        match line.split_once(": ") {
            Some(("Clean-param", names)) => {
                assert!(!names.contains([' ', '#']));
                hosts.last_mut().unwrap().extend(names.split('&').map(|name| (name.to_owned(), Vec::new())));
            }
            Some(("User-agent", "Yandex")) => hosts.push(Vec::new()),
            _ => assert!(line.is_empty() || line.starts_with('#'), "{line:?}"),
        }
    }
    assert!(hosts.windows(2).all(|pair| pair[0] == pair[1]));
    hosts.pop().unwrap_or_default()
}

fn made_by(format: &str) -> String {
    format!("undust export --rules DIR --to {format}")
}

/// Rules that a reader of the target finds in the file.
pub fn read(target: Target, text: &str) -> Vec<Read> {
    assert!(!text.contains('\u{2010}'), "a hyphen of an option is a hyphen");
    let head = |format: &str| assert!(text.lines().take(3).any(|line| line.ends_with(&made_by(format))), "{text}");
    match target {
        Target::Nutch => xml(text, "nutch"),
        Target::Heritrix => xml(text, "heritrix"),
        Target::Pywb => {
            head("pywb");
            yaml(text)
        }
        Target::ClearUrls => json(text),
        Target::YandexCleanParam => {
            head("yandex-clean-param");
            yandex(text)
        }
        Target::Nginx => {
            head("nginx");
            nginx(text)
        }
        Target::JsonRules | Target::Csv => unreachable!("no rewrites"),
    }
}
