//! Random URLs of few words, so that the URLs of a rule set have keys and values in common.

use super::Random;
use crate::model::hash64;
use crate::url::ValueEnds;

/// Hosts of one registrable domain each, and hosts of several kinds.
const FAMILIES: [&[&str]; 4] = [
    &["a.example", "www.a.example", "b.a.example", "blog.b.a.example", "www.www.a.example"],
    &["c.example", "www.c.example", "m.c.example", "www.m.c.example"],
    &["shop.a.co.uk", "a.co.uk", "www.a.co.uk"],
    &["192.168.0.1", "[::1]", "xn--bcher-kva.example", "a.example.", "localhost", "a.example", "www.localhost"],
];
const SEGMENTS: [&str; 48] = [
    "users",
    "~ann",
    "user",
    "x",
    "y",
    "z",
    "X",
    "topic",
    "Topic",
    "a",
    "b",
    "story_12",
    "7",
    "12",
    "12-slug",
    "v2",
    "v2.php",
    "show.php",
    "t.html",
    "News.HTML",
    "topic:7",
    "topic,7,12",
    "k=v!w",
    "a:b:c:3",
    "Caf%C3%A9",
    "A%2Fb",
    "(a)",
    "%28a%29",
    "b+c",
    "os.path",
    "2024",
    "0",
    "07",
    "index",
    "wiki",
    "p-7-title.html",
    "%2Fx",
    "p-12-title",
    "page-3",
    "start-30",
    "main",
    "q,1.html",
    "t:1.0",
    "t-7-1-1",
    "a b",
    "%7ex",
    "a+B",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
];
/// Segments that delimiters cut.
const GROUPS: [&str; 9] = ["topic:7", "a:b:c:3", "topic,7,12", "q,1.html", "k=v", "a=1=b", "w!x", "b!2", "t:1.0,x=y!z"];
const NAMES: [&str; 20] = [
    "a=",
    "b=",
    "c=",
    "id=",
    "t=",
    "sid=",
    "page=",
    "q=",
    "A=",
    "c",
    "b",
    "%2F=",
    "=",
    "x.y=",
    "do=",
    "u=",
    "sort=",
    "",
    "/topic/12",
    "x/y/page-3",
];
const VALUES: [&str; 40] = [
    "1",
    "2",
    "3",
    "x",
    "y",
    "X",
    "",
    "a+b",
    "a%20b",
    "a%2Fb",
    "a/b",
    "%28x%29",
    "login",
    "a=b",
    "07",
    "12",
    "..",
    ".",
    "999999999999999",
    "1000000000000000",
    "x;y",
    "+",
    "%2B",
    "Caf%C3%A9",
    "asc",
    "desc",
    "7-title",
    "blog",
    "www",
    "12:title",
    "%3Fq",
    "x,y",
    "0",
    "A%2fB",
    "%zz",
    "a%4",
    "a b",
    "\u{e9}",
    "%28+x",
    "",
];
const PARAMS: [&str; 8] = ["s=1", "s=2", "jsessionid=A1", "v", "s=", "t=x", "", "V=1"];
const FRAGMENTS: [&str; 9] = ["", "top", "x", "!/r", "/r", "F", "a=b", "!", "top+a"];
const ENDS: [&str; 9] = ["", "", "", "/", "/", "/index.php", "/Default.asp", "/index.html", "/page-3"];
/// Text that normalization changes, or that makes a URL invalid.
const ODD: [&[u8]; 22] = [
    b" ",
    b"\xc3\xa9",
    b"\xff",
    b"%zz",
    b"%2f",
    b"%7e",
    b"%4",
    b"\x01",
    b"\\",
    b"\"",
    b"{}",
    b"`",
    b"/./",
    b"/../x",
    b"%",
    b"..",
    b"&&",
    b"??",
    b";",
    b"#",
    b"%41",
    b"^|[]",
];

/// Words of the URLs of one rule set.
#[derive(Clone, Debug)]
pub(super) struct Words {
    pub(super) hosts: Vec<String>,
    pub(super) segments: Vec<String>,
    /// Names of query parameters, with their `=`.
    pub(super) names: Vec<String>,
    pub(super) values: Vec<String>,
    pub(super) params: Vec<String>,
    pub(super) fragments: Vec<String>,
    /// Parameters whose values have ends.
    pub(super) value_ends: Vec<String>,
}

fn some(random: &mut Random, list: &[&str], count: usize) -> Vec<String> {
    (0..count).map(|_| (*random.pick(list)).to_owned()).collect()
}

impl Words {
    /// Words of the site of a rule set at `index`; with `many` also names that are numbered.
    pub(super) fn new(random: &mut Random, index: usize, many: bool) -> Words {
        // Some sites name hosts of other sites.
        let family = if random.chance(75) { index % 3 } else { random.below(FAMILIES.len()) };
        let mut segments = some(random, &SEGMENTS, 6);
        if random.chance(45) {
            segments.extend(some(random, &GROUPS, 3));
        }
        let mut names = some(random, &NAMES, 6);
        if many {
            // Few keys, or more than 64.
            let count = *random.pick(&[14, 110]);
            names.extend((0..count).map(|_| format!("k{}=", random.below(130))));
        }
        // Numbered names in place of others, so that what is drawn next stays as it is.
        if Random::new(hash64(names.join("&").as_bytes())).chance(8) {
            names.iter_mut().zip(["f[0]=", "f[1]=", "f[2]="]).for_each(|(name, other)| other.clone_into(name));
        }
        let mut hosts = some(random, FAMILIES[family], 3);
        if random.chance(25) {
            let host = random.pick(&hosts).clone();
            hosts.push(format!("{host}:8080"));
        }
        Words {
            value_ends: value_ends(&names),
            hosts,
            segments,
            names,
            values: some(random, &VALUES, 7),
            params: some(random, &PARAMS, 3),
            fragments: some(random, &FRAGMENTS, 3),
        }
    }

    pub(super) fn value(&self, random: &mut Random) -> String {
        if random.chance(25) { random.below(30).to_string() } else { random.pick(&self.values).clone() }
    }

    fn parameter(&self, random: &mut Random) -> String {
        let name = random.pick(&self.names).clone();
        let value = if name.ends_with('=') { self.value(random) } else { String::new() };
        let has_ends = self.value_ends.iter().any(|end| end[..end.len() - 1] == name);
        if has_ends { ended(name + &value) } else { name + &value }
    }
}

/// A URL in parts.
#[derive(Clone, Debug)]
pub(super) struct UrlDraft {
    scheme: &'static str,
    user: &'static str,
    host: String,
    port: &'static str,
    /// Segments; an empty one makes a doubled slash.
    path: Vec<String>,
    end: &'static str,
    params: Vec<String>,
    query: Option<Vec<String>>,
    separator: &'static str,
    fragment: Option<String>,
}

/// Ends of the values of some of these parameters, on some sites, by a hash: what is drawn next stays as it is.
fn value_ends(names: &[String]) -> Vec<String> {
    let mut random = Random::new(hash64(names.concat().as_bytes()));
    let most = if random.chance(13) { 2 } else { 0 };
    let some: Vec<&String> = names.iter().filter(|name| name.ends_with('=') && random.chance(60)).take(most).collect();
    let mut end = |name| format!("{name}{}", char::from(*random.pick(&ValueEnds::DELIMITERS)));
    some.into_iter().map(&mut end).collect()
}

/// A parameter of which some have an end, by a hash.
fn ended(parameter: String) -> String {
    let mut random = Random::new(hash64(parameter.as_bytes()));
    let ends = ["/edit", "/x", "%2Fx", ":law", "%3Alaw", ".msg4", ".0"];
    if random.chance(70) { parameter + random.pick::<&str>(&ends) } else { parameter }
}

/// Parameters of which some begin with a list, by a hash: what is drawn next stays as it is.
fn listed(mut query: Vec<String>) -> Vec<String> {
    let mut random = Random::new(hash64(query.join("&").as_bytes()));
    if random.chance(12) {
        let parts = query.drain(..random.below(query.len() + 1)).collect::<Vec<_>>().join(",");
        let head = *random.pick(&["12,4", "1,7", "", "x", "12,x=3"]);
        query.insert(0, [head, &parts].join(if parts.is_empty() { "" } else { "," }));
    }
    query
}

impl UrlDraft {
    pub(super) fn new(random: &mut Random, words: &Words) -> UrlDraft {
        let depth = *random.pick(&[0, 1, 1, 1, 2, 2, 2, 3, 5]);
        let parameters = *random.pick(&[0, 0, 1, 1, 2, 2, 3, 4]);
        let mut query: Vec<String> = (0..parameters).map(|_| words.parameter(random)).collect();
        // A path in a query comes first.
        query.sort_by_key(|parameter| !parameter.contains('/') && random.chance(80));
        UrlDraft {
            scheme: if random.chance(70) { "http" } else { "https" },
            user: "",
            host: random.pick(&words.hosts).clone(),
            port: "",
            path: (0..depth).map(|_| random.pick(&words.segments).clone()).collect(),
            end: random.pick::<&str>(&ENDS),
            params: if random.chance(12) { vec![random.pick(&words.params).clone()] } else { Vec::new() },
            query: if query.is_empty() { None } else { Some(listed(query)) },
            separator: if random.chance(92) { "&" } else { ";" },
            fragment: random.chance(8).then(|| random.pick(&words.fragments).clone()),
        }
    }

    pub(super) fn text(&self) -> String {
        let UrlDraft { scheme, user, host, port, path, end, params, query, separator, fragment } = self;
        let mut text = format!("{scheme}://{user}{host}{port}");
        for segment in path {
            text.push('/');
            text.push_str(segment);
        }
        text.push_str(end);
        if path.is_empty() && end.is_empty() && (query.is_none() || !params.is_empty() || fragment.is_some()) {
            text.push('/');
        }
        for param in params {
            text.push(';');
            text.push_str(param);
        }
        if let Some(query) = query {
            text.push('?');
            text.push_str(&query.join(separator));
        }
        if let Some(fragment) = fragment {
            text.push('#');
            text.push_str(fragment);
        }
        text
    }

    /// Makes one change that keeps most keys.
    pub(super) fn edit(&mut self, random: &mut Random, words: &Words) {
        let kind = random.below(31);
        let parameter = words.parameter(random);
        let at = random.below(self.query.as_ref().map_or(0, Vec::len));
        match kind {
            0 => self.scheme = if self.scheme == "http" { "https" } else { "http" },
            1 => self.host.clone_from(random.pick(&words.hosts)),
            2 => self.host = format!("{}{}", random.pick(&["www.", "new.", "m."]), self.host),
            3 | 4 => self.end = *random.pick::<&str>(&ENDS),
            5 => match self.path.len() {
                0 => self.path.push(random.pick(&words.segments).clone()),
                length => self.path[random.below(length)].clone_from(random.pick(&words.segments)),
            },
            6 => drop(self.path.pop()),
            7 | 8 => self.path.iter_mut().for_each(|segment| renumber(segment, random)),
            9 => self.path.insert(random.below(self.path.len() + 1), String::new()),
            10 => self.path.iter_mut().for_each(|segment| *segment = segment.to_ascii_uppercase()),
            11 => self.params.push(random.pick(&words.params).clone()),
            12 => self.fragment = Some(random.pick(&words.fragments).clone()),
            13 => self.fragment = None,
            14 if random.chance(60) => self.port = *random.pick::<&str>(&[":80", ":443", ":8080", ":", ":00080"]),
            14 => self.user = *random.pick::<&str>(&["u@", "u:p@", "@", "www.u@"]),
            15 => self.query = random.chance(50).then(Vec::new),
            16 if self.separator == "&" => self.separator = if at.is_multiple_of(2) { "?" } else { ";" },
            16 => self.separator = "&",
            17..21 => self.query.get_or_insert_default().push(parameter),
            21 => self.query.get_or_insert_default().insert(at, parameter),
            30 => self.user = *random.pick::<&str>(&["u@", "", "www.u@"]),
            _ => {
                let Some(query) = self.query.as_mut().filter(|query| !query.is_empty()) else { return };
                let name = query[at].split_inclusive('=').next().unwrap_or_default().to_owned();
                match kind {
                    22 | 23 if name.ends_with('=') => query[at] = name + &words.value(random),
                    24 if name.ends_with('=') => query.push(name + &words.value(random)),
                    25 => query[at] = name,
                    26 => query[at] = name.trim_end_matches('=').to_owned(),
                    27 => drop(query.remove(at)),
                    28 => query.reverse(),
                    _ => query.rotate_left(1),
                }
            }
        }
    }

    /// Adds more segments or parameters than become keys, or a long value.
    pub(super) fn lengthen(&mut self, random: &mut Random, words: &Words) {
        let count = *random.pick(&[24, 25, 30, 64, 65, 70]);
        match random.below(5) {
            0 => self.path.extend((0..count).map(|n| format!("d{n}"))),
            1 => self.params.extend((0..count).map(|n| format!("p{n}={n}"))),
            2 | 3 => {
                let names: Vec<String> = (0..count).map(|n| format!("c{n}")).collect();
                self.query.get_or_insert_default().extend(names);
                self.query.get_or_insert_default().push(words.parameter(random));
            }
            _ => {
                let long = "lonG".repeat(1 << random.pick(&[3, 8, 14, 14]));
                match random.below(3) {
                    0 => self.path.push(long),
                    1 => self.query.get_or_insert_default().push(format!("{}{long}", random.pick(&words.names))),
                    _ => self.fragment = Some(long),
                }
            }
        }
    }
}

/// Replaces the first digits of a segment by another number.
fn renumber(segment: &mut String, random: &mut Random) {
    let Some(from) = segment.find(|c: char| c.is_ascii_digit()) else { return };
    let to = segment[from..].find(|c: char| !c.is_ascii_digit()).map_or(segment.len(), |at| from + at);
    if !segment[..from].ends_with('%') {
        segment.replace_range(from..to, &random.below(30).to_string());
    }
}

/// Changes the bytes of a URL without regard to its parts.
pub(super) fn spoil(url: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(url.len() + 1);
    match random.below(9) {
        0 => url.truncate(at),
        1 => {
            let front: [&[u8]; 4] = [b" ", b"/", b"x", b"view-source:"];
            url.splice(..0, random.pick(&front).iter().copied()).for_each(drop);
        }
        2 => {
            let scheme = url.iter().position(|&b| b == b':').unwrap_or(0);
            let other: [&[u8]; 5] = [b"HTTP", b"Https", b"ftp", b"mailto", b""];
            url.splice(..scheme, random.pick(&other).iter().copied()).for_each(drop);
        }
        3 => {
            // The host: behind the scheme, before the path.
            let end = url.iter().skip(8).position(|&b| b == b'/').map_or(url.len(), |at| at + 8);
            url[..end].make_ascii_uppercase();
        }
        4 if at < url.len() => url[at] = random.below(256) as u8,
        _ => drop(url.splice(at..at, random.pick(&ODD).iter().copied())),
    }
}
