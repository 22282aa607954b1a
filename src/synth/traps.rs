//! Page types that mislead a learner of rules: each has a rule that holds on most of a site and
//! merges pages that differ on the rest. All were seen in crawls of public sites.

mod copies;
mod groups;
mod keys;
mod lists;
mod state;

use super::kind::Make;

/// Every trap: its name, what it stands for, how to make one.
pub const TRAPS: [(&str, &str, Make); 8] = [
    ("beyond", "starts beyond the last page show the first page, as does a sort order with any start", lists::beyond),
    ("empty", "searches without hits are one page, whatever the words; searches with hits differ", lists::empty),
    ("keys-are-values", "parameters without =, of which some name the page and some do nothing", keys::keys),
    ("limit", "a limit does nothing on short lists and matters on long ones", lists::limit),
    ("login-renderings", "one login page behind many URLs, recorded under five labels", state::login),
    ("releases", "copies of releases in folders: equal until a page changes", copies::releases),
    ("revisions", "revisions by parameter: equal for most pages, not for those that changed", copies::revisions),
    (
        "tenant-parameter",
        "a parameter that names the page for one tenant and does nothing for all others",
        state::tenant,
    ),
];
