//! The tracking catalogue: names of parameters that say of themselves that they carry a session or a campaign.

use crate::url::Key;

/// Names that carry a session, beside those that begin with `aspsessionid`.
pub const SESSIONS: [&str; 10] =
    ["cfid", "cftoken", "jsessionid", "phpsessid", "sectok", "sess", "session_id", "sessionid", "sid", "token"];
/// Names that carry a campaign, or where a visitor came from, beside those that begin with `utm_`.
const CAMPAIGNS: [&str; 14] = [
    "gclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "_ga", "yclid", "dclid", "igshid", "ref", "referrer", "spm",
    "gbraid", "wbraid",
];
/// Names among both that programs give to what makes a page, too: `sid` to a story, `ref` to a branch.
const COMMON: [&str; 8] = ["ref", "referrer", "sess", "session_id", "sessionid", "sid", "spm", "token"];

/// The name of a parameter without its `=`; `None` for other keys.
pub fn name_of(key: &Key) -> Option<&str> {
    match key {
        Key::Fixed(_) => None,
        Key::Param(name) | Key::Query(name) => Some(name.trim_end_matches('=')),
    }
}

/// True for a name of the catalogue that carries a session.
pub fn is_session(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SESSIONS.contains(&name.as_str()) || name.starts_with("aspsessionid")
}

/// True for a name of the catalogue.
pub fn is_tracking(name: &str) -> bool {
    is_session(name) || is_campaign(&name.to_ascii_lowercase())
}

/// True for a name of the catalogue that programs give to other things, too.
pub fn is_common(name: &str) -> bool {
    COMMON.contains(&name.to_ascii_lowercase().as_str())
}

/// True for a name that advertisers give to a click or a campaign, and nobody to anything else.
pub fn is_of_campaigns(name: &str) -> bool {
    is_campaign(&name.to_ascii_lowercase()) && !is_common(name)
}

fn is_campaign(name: &str) -> bool {
    CAMPAIGNS.contains(&name) || name.starts_with("utm_")
}
