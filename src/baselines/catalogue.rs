//! The catalogue of URL normalizations (Wikipedia's list as of 2012), every row a switch.
//!
//! The first six rows do not change what a URL means (RFC 3986); the others may, and are what undust
//! learns per site.
//!
//! Departures, where a row as written needs data beside the URL:
//! - *Removing IP* takes answers of the network; here those of a table of the user ([`Catalogue::hosts`]).
//! - *Removing arbitrary variables* needs the variables that a page expects; unexpected are those of
//!   [`super::tracking`].
//! - *Removing default variables* needs the defaults of a page; empty values are taken for defaults,
//!   and the row's own example, `sort=ascending`.
//! - *Adding trailing /* is done for the empty path only, as in its example: no syntax distinguishes a
//!   directory from a page.

use super::tracking::{is_superfluous, without};
use super::{Constant, Learned, Method, Sample};
use std::collections::BTreeMap;

/// A row of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CatalogueRow {
    /// Scheme and host to lower case.
    LowerCase,
    /// Escapes in capital letters.
    CapitalEscapes,
    /// Escapes of unreserved characters decoded.
    DecodeUnreserved,
    /// The empty path becomes `/`.
    AddSlash,
    /// The default port goes.
    DefaultPort,
    /// Dot segments go.
    DotSegments,
    /// The directory index goes.
    DirectoryIndex,
    /// The fragment goes.
    Fragment,
    /// An IP address becomes the host that the table names.
    Ip,
    /// `https` becomes `http`.
    LimitProtocols,
    /// Adjacent slashes become one.
    DuplicateSlashes,
    /// `www.` goes.
    Www,
    /// Variables in the order of their names.
    SortVariables,
    /// Unexpected variables go.
    ArbitraryVariables,
    /// Variables with their default value go.
    DefaultVariables,
    /// A `?` with nothing behind it goes.
    EmptyQuery,
    /// `/` and `+` in values are escaped.
    StandardEncoding,
}

impl CatalogueRow {
    /// All rows, in the order of the catalogue, which is not that in which they are applied.
    pub const ALL: [(CatalogueRow, &str); 17] = [
        (CatalogueRow::LowerCase, "lower-case"),
        (CatalogueRow::CapitalEscapes, "capital-escapes"),
        (CatalogueRow::DecodeUnreserved, "decode-unreserved"),
        (CatalogueRow::AddSlash, "add-slash"),
        (CatalogueRow::DefaultPort, "default-port"),
        (CatalogueRow::DotSegments, "dot-segments"),
        (CatalogueRow::DirectoryIndex, "directory-index"),
        (CatalogueRow::Fragment, "fragment"),
        (CatalogueRow::Ip, "ip"),
        (CatalogueRow::LimitProtocols, "limit-protocols"),
        (CatalogueRow::DuplicateSlashes, "duplicate-slashes"),
        (CatalogueRow::Www, "www"),
        (CatalogueRow::SortVariables, "sort-variables"),
        (CatalogueRow::ArbitraryVariables, "arbitrary-variables"),
        (CatalogueRow::DefaultVariables, "default-variables"),
        (CatalogueRow::EmptyQuery, "empty-query"),
        (CatalogueRow::StandardEncoding, "standard-encoding"),
    ];

    /// The row of a name.
    pub fn parse(name: &str) -> Option<CatalogueRow> {
        CatalogueRow::ALL.iter().find(|(_, known)| *known == name).map(|(row, _)| *row)
    }
}

/// Rows that are on; all of them by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches(u32);

impl Default for Switches {
    fn default() -> Switches {
        Switches((1 << CatalogueRow::ALL.len()) - 1)
    }
}

impl Switches {
    /// No row.
    pub const NONE: Switches = Switches(0);

    /// With one row more.
    #[must_use]
    pub fn with(self, row: CatalogueRow) -> Switches {
        Switches(self.0 | 1 << row as u8)
    }

    /// With one row less.
    #[must_use]
    pub fn without(self, row: CatalogueRow) -> Switches {
        Switches(self.0 & !(1 << row as u8))
    }

    /// Whether a row is on.
    pub fn has(self, row: CatalogueRow) -> bool {
        self.0 >> row as u8 & 1 == 1
    }
}

/// The method.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Rows that are on.
    pub switches: Switches,
    /// Host of an IP address.
    pub hosts: BTreeMap<String, String>,
}

impl Method for Catalogue {
    fn learn(&self, _: &Sample<'_>) -> Box<dyn Learned> {
        let rules =
            CatalogueRow::ALL.iter().filter(|(row, _)| self.switches.has(*row)).map(|(_, name)| (*name).to_owned());
        let (rules, this) = (rules.collect(), self.clone());
        Box::new(Constant { function: move |url: &[u8], out: &mut Vec<u8>| this.normalize(url, out), rules })
    }
}

/// A URL in its parts.
struct Parts {
    scheme: Vec<u8>,
    user: Vec<u8>,
    host: Vec<u8>,
    port: Option<Vec<u8>>,
    path: Vec<u8>,
    query: Option<Vec<u8>>,
    fragment: Option<Vec<u8>>,
}

impl Parts {
    /// `None` where the URL is not an absolute http or https URL with a host.
    fn of(url: &[u8]) -> Option<Parts> {
        let colon = memchr::memmem::find(url, b"://")?;
        let scheme = &url[..colon];
        if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
            return None;
        }
        let cut = |text: &[u8], at: u8| match memchr::memchr(at, text) {
            Some(i) => (text[..i].to_vec(), Some(text[i + 1..].to_vec())),
            None => (text.to_vec(), None),
        };
        let (rest, fragment) = cut(&url[colon + 3..], b'#');
        let (rest, query) = cut(&rest, b'?');
        let slash = memchr::memchr(b'/', &rest).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(slash);
        let user = memchr::memrchr(b'@', authority).map_or(0, |i| i + 1);
        let (user, rest) = authority.split_at(user);
        let port = memchr::memrchr(b':', rest).filter(|&i| rest[i + 1..].iter().all(u8::is_ascii_digit));
        let (host, port) = port.map_or((rest, None), |i| (&rest[..i], Some(rest[i + 1..].to_vec())));
        if host.is_empty() {
            return None;
        }
        let [scheme, user, host, path] = [scheme, user, host, path].map(<[u8]>::to_vec);
        Some(Parts { scheme, user, host, port, path, query, fragment })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.scheme);
        out.extend_from_slice(b"://");
        out.extend_from_slice(&self.user);
        out.extend_from_slice(&self.host);
        let part = |mark: u8, part: &Option<Vec<u8>>, out: &mut Vec<u8>| {
            if let Some(text) = part {
                out.push(mark);
                out.extend_from_slice(text);
            }
        };
        part(b':', &self.port, out);
        out.extend_from_slice(&self.path);
        part(b'?', &self.query, out);
        part(b'#', &self.fragment, out);
    }
}

impl Catalogue {
    fn normalize(&self, url: &[u8], out: &mut Vec<u8>) {
        let Some(mut parts) = Parts::of(url) else { return out.extend_from_slice(url) };
        let on = |row| self.switches.has(row);
        if on(CatalogueRow::LowerCase) {
            parts.scheme.make_ascii_lowercase();
            parts.host.make_ascii_lowercase();
        }
        for text in [Some(&mut parts.path), parts.query.as_mut(), parts.fragment.as_mut()].into_iter().flatten() {
            escapes(text, on(CatalogueRow::CapitalEscapes), on(CatalogueRow::DecodeUnreserved));
        }
        if on(CatalogueRow::AddSlash) && parts.path.is_empty() {
            parts.path.push(b'/');
        }
        if on(CatalogueRow::DefaultPort) {
            let default: &[u8] = if parts.scheme.eq_ignore_ascii_case(b"https") { b"443" } else { b"80" };
            parts.port = parts.port.filter(|port| !port.is_empty() && port != default);
        }
        if on(CatalogueRow::DotSegments) {
            parts.path = without_dots(&parts.path);
        }
        if on(CatalogueRow::DuplicateSlashes) {
            parts.path.dedup_by(|a, b| *a == b'/' && *b == b'/');
        }
        if on(CatalogueRow::DirectoryIndex) {
            let last = memchr::memrchr(b'/', &parts.path).map_or(0, |i| i + 1);
            if is_index(&parts.path[last..]) {
                parts.path.truncate(last);
            }
        }
        if on(CatalogueRow::Fragment) {
            parts.fragment = None;
        }
        if on(CatalogueRow::Ip)
            && let Some(host) = std::str::from_utf8(&parts.host).ok().and_then(|host| self.hosts.get(host))
        {
            parts.host = host.clone().into_bytes();
        }
        if on(CatalogueRow::LimitProtocols) && parts.scheme.eq_ignore_ascii_case(b"https") {
            parts.scheme.truncate(4);
        }
        if on(CatalogueRow::Www) && parts.host.len() > 4 && parts.host[..4].eq_ignore_ascii_case(b"www.") {
            parts.host.drain(..4);
        }
        if let Some(query) = parts.query.take() {
            parts.query = self.query(query);
        }
        parts.write(out);
    }

    fn query(&self, query: Vec<u8>) -> Option<Vec<u8>> {
        let on = |row| self.switches.has(row);
        let mut kept = Vec::with_capacity(query.len());
        let default = |name: &[u8], value: &[u8]| value.is_empty() || (name == b"sort" && value == b"ascending");
        let drop = |name: &[u8], value: &[u8]| {
            !name.is_empty()
                && (on(CatalogueRow::ArbitraryVariables) && is_superfluous(name)
                    || on(CatalogueRow::DefaultVariables) && default(name, value))
        };
        let any = without(&query, drop, &mut kept);
        if !any && !query.is_empty() {
            return None;
        }
        let mut items: Vec<Vec<u8>> = kept.split(|&b| b == b'&').map(<[u8]>::to_vec).collect();
        if on(CatalogueRow::SortVariables) {
            // By name; variables of one name keep their order.
            items.sort_by(|a, b| name(a).cmp(name(b)));
        }
        if on(CatalogueRow::StandardEncoding) {
            items.iter_mut().for_each(standard_encoding);
        }
        let query = items.join(&b"&"[..]);
        (!query.is_empty() || !on(CatalogueRow::EmptyQuery)).then_some(query)
    }
}

fn name(item: &[u8]) -> &[u8] {
    &item[..memchr::memchr(b'=', item).unwrap_or(item.len())]
}

fn escapes(text: &mut Vec<u8>, capital: bool, decode: bool) {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let hex = |i: usize| text.get(i).and_then(|&b| char::from(b).to_digit(16));
        let (Some(high), Some(low), b'%') = (hex(at + 1), hex(at + 2), text[at]) else {
            out.push(text[at]);
            at += 1;
            continue;
        };
        let byte = (high * 16 + low) as u8;
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        match (decode && unreserved, capital) {
            (true, _) => out.push(byte),
            (false, true) => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            (false, false) => out.extend_from_slice(&text[at..at + 3]),
        }
        at += 3;
    }
    *text = out;
}

/// RFC 3986, section 5.2.4.
fn without_dots(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    let segments: Vec<&[u8]> = path.split(|&b| b == b'/').collect();
    let last = segments.len() - 1;
    for (at, segment) in segments.into_iter().enumerate() {
        match segment {
            b"." | b".." => {
                if segment == b".." && kept.len() > 1 {
                    kept.pop();
                }
                if at == last {
                    kept.push(b"");
                }
            }
            segment => kept.push(segment),
        }
    }
    kept.join(&b'/')
}

fn is_index(segment: &[u8]) -> bool {
    let Some(dot) = memchr::memchr(b'.', segment) else { return false };
    let (stem, extension) = (segment[..dot].to_ascii_lowercase(), segment[dot + 1..].to_ascii_lowercase());
    matches!(&stem[..], b"index" | b"default")
        && matches!(&extension[..], b"html" | b"htm" | b"php" | b"asp" | b"aspx" | b"jsp" | b"shtml" | b"cgi")
}

fn standard_encoding(item: &mut Vec<u8>) {
    let from = name(item).len();
    let value: Vec<u8> = item.drain(from..).collect();
    for (at, byte) in value.into_iter().enumerate() {
        match byte {
            b'=' if at == 0 => item.push(byte),
            b'/' => item.extend_from_slice(b"%2F"),
            b'+' => item.extend_from_slice(b"%2B"),
            byte => item.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_off_does_nothing() {
        let url = "HTTP://www.Example.com:80/a%7e/../index.html?b=&a=1#x";
        let run = |switches| {
            let mut out = Vec::new();
            Catalogue { switches, ..Catalogue::default() }.normalize(url.as_bytes(), &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(run(Switches::NONE), url);
        assert_eq!(run(Switches::default()), "http://example.com/?a=1");
        assert_eq!(run(Switches::default().without(CatalogueRow::Www)), "http://www.example.com/?a=1");
        for (row, name) in CatalogueRow::ALL {
            assert_eq!(CatalogueRow::parse(name), Some(row));
            assert!(!Switches::default().without(row).has(row) && Switches::NONE.with(row).has(row));
        }
    }
}
