//! Fetcher for one server that the user names: one request at a time with a pause before each, obeying
//! its robots files, with a bounded number of requests and bytes and a time limit each. It contacts no
//! other server.
//!
//! The server represents all hosts of a site: a request carries the host of its URL in `Host`, and
//! `X-Forwarded-Proto` where the URL is https, as a proxy would send it. Redirects are followed on this
//! same server, within the registrable domain. Plain HTTP only: a server behind TLS is reached through
//! a proxy of the user's.

use super::robots::{self, Robots};
use crate::content::reference;
use crate::url::{normalize, registrable_domain};
use std::collections::HashMap;
use std::io::Read;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// User agent; its first word is the name in robots files.
const AGENT: &str = concat!("undust/", env!("CARGO_PKG_VERSION"), " (checks which URLs of this site are one page)");
/// The product token of [`AGENT`].
const PROGRAM: &str = "undust";
/// Redirects in a row that are followed.
const HOPS: usize = 5;
/// Requests in a row without an answer after which no more are sent.
const SILENT: u32 = 5;
/// Time for one request, from connecting to its last byte.
const TIME: Duration = Duration::from_secs(15);

/// Limits on the requests to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Pause before each request, counted from the end of the one before.
    pub pause: Duration,
    /// Most requests, including those for robots files and redirects.
    pub requests: u64,
    /// Most bytes of bodies.
    pub bytes: u64,
    /// Most bytes of one body; the rest is not read.
    pub page: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { pause: Duration::from_millis(500), requests: 1_000, bytes: 256 << 20, page: 1 << 20 }
    }
}

/// Result of fetching a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Its body, as far as it was read.
    Body(Vec<u8>),
    /// An answer of the 4xx or 5xx series, a redirect that leads out of the site or in circles, or no
    /// answer.
    Failed,
    /// No request was sent: a robots file forbids it, or a limit is reached.
    NotAsked,
}

/// Counts of the requests so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Requests.
    pub requests: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    /// Pages that robots files forbid.
    pub forbidden: u64,
    /// Pages that were not requested since a limit was reached.
    pub over: u64,
    /// Requests without an answer.
    pub silent: u64,
}

/// A server with the remaining limits.
#[derive(Debug)]
pub struct Fetcher {
    agent: ureq::Agent,
    /// `http://HOST:PORT`
    server: String,
    limits: Limits,
    asked: Asked,
    silent: u32,
    last: Option<Instant>,
    robots: HashMap<Vec<u8>, Robots, foldhash::fast::FixedState>,
}

/// One answer.
struct Answer {
    status: u16,
    location: Option<Vec<u8>>,
    body: Vec<u8>,
}

impl Fetcher {
    /// A fetcher for the server at `http://HOST[:PORT]`.
    ///
    /// # Errors
    /// The reason where this is no such address.
    pub fn new(server: &str, limits: Limits) -> Result<Fetcher, String> {
        let server = server.trim_end_matches('/');
        let address = server.strip_prefix("http://").filter(|rest| !rest.is_empty());
        let mut normal = Vec::new();
        if address.is_none_or(|rest| rest.contains(['/', '?', '#', '@']))
            || normalize(server.as_bytes(), &mut normal).is_err()
        {
            return Err(format!("{server}: an address of the form http://HOST:PORT is expected"));
        }
        let config = ureq::Agent::config_builder()
            .user_agent(AGENT)
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_connect(Some(TIME / 3))
            .timeout_global(Some(TIME))
            .build();
        let (agent, server) = (config.new_agent(), server.to_owned());
        let (asked, robots) = (Asked::default(), HashMap::default());
        Ok(Fetcher { agent, server, limits, asked, silent: 0, last: None, robots })
    }

    /// Counts of the requests so far.
    pub fn asked(&self) -> Asked {
        self.asked
    }

    /// Fetches the page at an absolute http or https URL.
    pub fn page(&mut self, url: &[u8]) -> Fetched {
        let (mut url, mut next) = (url.to_vec(), Vec::new());
        let mut normal = Vec::new();
        let mut site: Option<Vec<u8>> = None;
        for _ in 0..=HOPS {
            let Ok(split) = normalize(&url, &mut normal) else { return Fetched::Failed };
            let host = &normal[split.host.0 as usize..split.host.1 as usize];
            let domain = registrable_domain(host);
            if site.get_or_insert_with(|| domain.to_vec()) != domain {
                return Fetched::Failed;
            }
            let (authority, path) = parts(&normal);
            match self.forbidden(&normal, authority, path) {
                Some(false) => {}
                Some(true) => {
                    self.asked.forbidden += 1;
                    return Fetched::NotAsked;
                }
                None => return self.over(),
            }
            let Some(answer) = self.ask(&normal, authority, path, self.limits.page) else { return self.over() };
            let Some(answer) = answer else { return Fetched::Failed };
            match (answer.status, answer.location) {
                (200..300, _) => return Fetched::Body(answer.body),
                (300..400, Some(location)) if reference::resolve(&normal, &location, &mut next) => {
                    std::mem::swap(&mut url, &mut next);
                }
                _ => return Fetched::Failed,
            }
        }
        Fetched::Failed
    }

    fn over(&mut self) -> Fetched {
        self.asked.over += 1;
        Fetched::NotAsked
    }

    /// Whether the robots file of the URL's host forbids its path; `None` where a limit keeps it from being
    /// read. An answer of 4xx allows everything, one of 5xx, or none, nothing (RFC 9309, section 2.3.1).
    fn forbidden(&mut self, url: &[u8], authority: &[u8], path: &[u8]) -> Option<bool> {
        if let Some(robots) = self.robots.get(authority) {
            return Some(!robots.allows(path));
        }
        let answer = self.ask(url, authority, b"/robots.txt", robots::LIMIT)?;
        let robots = match answer {
            Some(Answer { status: 200..300, body, .. }) => Robots::read(&body, PROGRAM),
            Some(Answer { status: 300..500, .. }) => Robots::default(),
            _ => Robots::read(b"User-agent: *\nDisallow: /", PROGRAM),
        };
        let allows = robots.allows(path);
        self.robots.insert(authority.to_vec(), robots);
        Some(!allows)
    }

    /// Sends one request, after the pause; `None` where a limit is reached, `Some(None)` without an answer.
    fn ask(&mut self, url: &[u8], authority: &[u8], path: &[u8], most: u64) -> Option<Option<Answer>> {
        let spent = self.asked.requests >= self.limits.requests || self.asked.bytes >= self.limits.bytes;
        if spent || self.silent >= SILENT {
            return None;
        }
        if let Some(last) = self.last {
            sleep(self.limits.pause.saturating_sub(last.elapsed()));
        }
        self.asked.requests += 1;
        let answer = self.request(url, authority, path, most);
        self.last = Some(Instant::now());
        match &answer {
            Some(answer) => {
                self.asked.bytes += answer.body.len() as u64;
                self.silent = 0;
            }
            None => {
                self.asked.silent += 1;
                self.silent += 1;
            }
        }
        Some(answer)
    }

    fn request(&self, url: &[u8], authority: &[u8], path: &[u8], most: u64) -> Option<Answer> {
        let target = format!("{}{}", self.server, std::str::from_utf8(path).ok()?);
        let mut request = self.agent.get(target).header("Host", authority);
        if url.starts_with(b"https:") {
            request = request.header("X-Forwarded-Proto", "https");
        }
        let mut answer = request.call().ok()?;
        let location = answer.headers().get("location").map(|value| value.as_bytes().to_vec());
        let mut body = Vec::new();
        answer.body_mut().as_reader().take(most).read_to_end(&mut body).ok()?;
        Some(Answer { status: answer.status().as_u16(), location, body })
    }
}

/// Host with port, and path with query, of a URL in normal form.
fn parts(url: &[u8]) -> (&[u8], &[u8]) {
    let start = memchr::memmem::find(url, b"://").map_or(0, |at| at + 3);
    let rest = &url[start..];
    let end = memchr::memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len());
    let authority = &rest[..end];
    // Text before an @ is for the client.
    let authority = memchr::memrchr(b'@', authority).map_or(authority, |at| &authority[at + 1..]);
    let path = &rest[end..];
    let path = &path[..memchr::memchr(b'#', path).unwrap_or(path.len())];
    (authority, if path.is_empty() { b"/" } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_plain_http_and_name_no_page() {
        for bad in ["https://a", "a:80", "http://", "http://a/b", "http://u@a", "http://a?x"] {
            assert!(Fetcher::new(bad, Limits::default()).is_err(), "{bad}");
        }
        assert_eq!(Fetcher::new("http://127.0.0.1:80/", Limits::default()).unwrap().server, "http://127.0.0.1:80");
    }

    #[test]
    fn a_url_has_an_authority_and_a_path() {
        let of = |url: &'static str| parts(url.as_bytes());
        assert_eq!(of("http://u:p@a:81/b?c#d"), (&b"a:81"[..], &b"/b?c"[..]));
        assert_eq!(of("https://a#d"), (&b"a"[..], &b"/"[..]));
    }
}
