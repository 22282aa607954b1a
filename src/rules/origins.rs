//! Origins: scheme, host and port of a URL in normal form, without user information.

use crate::url::site::registrable_domain;
use serde::{Deserialize, Deserializer};

/// Both origins of each host, on the default ports; sorted.
pub fn of_hosts<S: AsRef<str>>(hosts: impl IntoIterator<Item = S>) -> Vec<String> {
    let both = |host: S| ["http", "https"].map(|scheme| format!("{scheme}://{}", host.as_ref()));
    let mut origins: Vec<String> = hosts.into_iter().flat_map(both).collect();
    origins.sort_unstable();
    origins.dedup();
    origins
}

/// Scheme and authority of a URL in normal form.
pub fn of(url: &[u8]) -> &[u8] {
    let start = memchr::memmem::find(url, b"://").map_or(0, |at| at + 3);
    &url[..memchr::memchr(b'/', &url[start..]).map_or(url.len(), |at| start + at)]
}

/// Scheme and authority of an origin.
pub(super) fn parts(origin: &str) -> (&str, &str) {
    origin.split_once("://").unwrap_or(("", origin))
}

/// The registrable domain of the host of an origin; `None` where it has a port or user information.
pub fn domain(origin: &str) -> Option<&str> {
    let host = Some(parts(origin).1).filter(|host| !host.contains([':', '@']))?;
    std::str::from_utf8(registrable_domain(host.as_bytes())).ok()
}

/// The hosts of sorted origins, with their ports; sorted, each once.
pub fn hosts(origins: &[String]) -> Vec<&str> {
    let mut hosts: Vec<&str> = origins.iter().map(|origin| parts(origin).1).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// Reads origins, or the hosts that rule files of format 1 have in their place.
///
/// # Errors
/// Those of the format.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let list = Vec::<String>::deserialize(from)?;
    if list.iter().all(|origin| origin.contains("://")) { Ok(list) } else { Ok(of_hosts(list)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_users_have_no_domain() {
        assert_eq!(domain("https://m.a.example.co.uk"), Some("example.co.uk"));
        assert_eq!(domain("http://a.example"), Some("a.example"));
        for origin in ["http://a.example:8080", "http://u@a.example", "http://[::1]"] {
            assert_eq!(domain(origin), None);
        }
    }

    #[test]
    fn a_host_of_format_1_is_two_origins() {
        let read = |text: &str| read(&mut serde_json::Deserializer::from_str(text)).unwrap();
        assert_eq!(read(r#"["b.example","a.example"]"#), of_hosts(["a.example", "b.example"]));
        let origins = ["http://a.example", "https://a.example:8443"].map(str::to_owned);
        assert_eq!(read(r#"["http://a.example","https://a.example:8443"]"#), origins);
        assert_eq!(hosts(&origins), ["a.example", "a.example:8443"]);
        assert_eq!(hosts(&of_hosts(["b", "a"])), ["a", "b"]);
    }
}
