//! A URL read back for the oracle: the site's decorations undone, the rest split for the page types'
//! keys.

use super::decor::Decor;

/// What is left of a URL without scheme, mirror, port, fragment, double slashes, session ids and
/// tracking parameters.
#[derive(Debug, PartialEq, Eq)]
pub struct View {
    /// Sub-domain that is not a mirror of the site.
    pub host: Option<String>,
    /// Path segments as written; a trailing slash gives an empty last one.
    pub segs: Vec<String>,
    /// Path segments in lower case.
    pub lower: Vec<String>,
    /// Parameters in their order.
    pub pairs: Vec<(String, String)>,
    /// Parameters without `=`, in their order.
    pub bare: Vec<String>,
}

impl View {
    /// Reads a URL of the site `domain` with decorations `decor`; None for a URL of another site or shape.
    pub fn read(url: &str, domain: &str, decor: &Decor) -> Option<View> {
        let rest = match url.strip_prefix("http://") {
            Some(rest) => rest,
            None => url.strip_prefix("https://").filter(|_| decor.https)?,
        };
        let rest = rest.split('#').next()?;
        let (authority, tail) = rest.split_at(rest.find('/')?);
        let host = authority.strip_suffix(":80").filter(|_| decor.port).unwrap_or(authority);
        let label = match host.strip_suffix(domain)? {
            "" => "",
            label => label.strip_suffix('.')?,
        };
        let host = (!decor.mirrors.contains(&label)).then(|| label.to_owned());
        let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
        let path = match (decor.session, path.split_once(";jsessionid=")) {
            (Some("jsessionid"), Some((path, _))) => path,
            _ => path,
        };
        let path = if decor.dslash { path.replace("//", "/") } else { path.to_owned() };
        let segs: Vec<String> = path.strip_prefix('/')?.split('/').map(str::to_owned).collect();
        let lower = segs.iter().map(|s| s.to_ascii_lowercase()).collect();
        let (mut pairs, mut bare) = (Vec::new(), Vec::new());
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                bare.push(pair.to_owned());
                continue;
            };
            let superfluous = decor.session == Some(key)
                || decor.utm && (key.starts_with("utm_") || key == "gclid" || key == "fbclid");
            if !superfluous {
                pairs.push((key.to_owned(), value.to_owned()));
            }
        }
        Some(View { host, segs, lower, pairs, bare })
    }

    /// Value of a parameter.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|p| p.0 == key).map(|p| p.1.as_str())
    }

    /// Value of a parameter that is a number.
    pub fn num(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }

    /// True when no parameter other than these is there.
    pub fn only(&self, keys: &[&str]) -> bool {
        self.pairs.iter().all(|p| keys.contains(&p.0.as_str()))
    }

    /// The path in lower case, for matching on slices.
    pub fn path(&self) -> Vec<&str> {
        self.lower.iter().map(String::as_str).collect()
    }
}
