//! Decorations: what a site does to the URLs of all its pages without changing them.

use super::rng::Rng;

/// Names on the command line, in the order of [`Decor`]'s fields.
pub const NAMES: [&str; 9] =
    ["mirrors", "https", "session", "utm", "case", "dslash", "empty-query", "port", "fragment"];

/// Decorations of one site. Mirrors and scheme set URLs of a page apart by themselves; session and
/// click ids do when a page has more URLs than that; the others ride along on some URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decor {
    /// Sub-domains that serve the same pages (WWW10, 1: `us.php.net` and `de.php.net`); the first is the
    /// main one, the empty label is the bare domain. Always at least one.
    pub mirrors: Vec<&'static str>,
    /// `http` and `https` serve the same pages.
    pub https: bool,
    /// Name of the session parameter (WWW10, 1); `jsessionid` stands in the path after `;`.
    pub session: Option<&'static str>,
    /// Bundles of tracking parameters and click ids.
    pub utm: bool,
    /// The path's case is free: some links shout or capitalize.
    pub case: bool,
    /// Some links have a double slash.
    pub dslash: bool,
    /// Some links have a `?` and nothing behind it.
    pub empty_query: bool,
    /// Some links name the default port.
    pub port: bool,
    /// Some links have a fragment.
    pub fragment: bool,
}

impl Decor {
    /// A site without decorations on its main host.
    pub fn plain(main: &'static str) -> Decor {
        Decor {
            mirrors: vec![main],
            https: false,
            session: None,
            utm: false,
            case: false,
            dslash: false,
            empty_query: false,
            port: false,
            fragment: false,
        }
    }

    /// Draws a site's decorations. `names` asks for exactly these; None leaves all to chance.
    pub fn draw(rng: &mut Rng, bare: bool, names: Option<&[String]>) -> Decor {
        let main = if bare || rng.percent(25) { "" } else { "www" };
        let on = |rng: &mut Rng, name: &str, percent: u64| {
            let luck = rng.percent(percent);
            names.map_or(luck, |names| names.iter().any(|n| n == name))
        };
        let mirrors: &[&'static str] = match (rng.below(3), bare) {
            (0, _) | (_, true) => &["www", ""],
            (1, _) => &["www", "us", "de", "m"],
            _ => &["www", "www2", "www3"],
        };
        let session = rng.pick(&["PHPSESSID", "s", "jsessionid", "osCsid"]);
        Decor {
            mirrors: if on(rng, "mirrors", 60) { mirrors.to_vec() } else { vec![main] },
            https: on(rng, "https", 30),
            session: on(rng, "session", 45).then_some(session),
            utm: on(rng, "utm", 40),
            case: on(rng, "case", 10),
            dslash: on(rng, "dslash", 15),
            empty_query: on(rng, "empty-query", 10),
            port: on(rng, "port", 8),
            fragment: on(rng, "fragment", 10),
        }
    }

    /// URLs that one path and query has by mirror and scheme.
    pub fn addresses(&self) -> u64 {
        self.mirrors.len() as u64 * self.schemes()
    }

    /// Schemes that serve the site.
    pub fn schemes(&self) -> u64 {
        1 + u64::from(self.https)
    }

    /// True when a page can have URLs without end.
    pub fn endless(&self) -> bool {
        self.session.is_some() || self.utm
    }
}
