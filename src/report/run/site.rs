//! One site: its figures, and what opens below them.

use super::words::branch;
use super::{OneSite, Run, head, keys, rejected, rules, traps};
use crate::report::escape::html as escaped;
use crate::report::text::{brief, count, many};
use crate::report::tree::{bar, nested};
use crate::rules::explain::platform_text;
use crate::rules::overrides::LOOK_UPS;
use std::fmt::Write as _;

/// Name of a site as HTML text.
pub(super) fn title(name: &str) -> String {
    escaped(&brief(if name.is_empty() { "(no site)" } else { name }))
}

/// How much of a site is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    rules: usize,
    keys: usize,
    traps: usize,
}

impl Shown {
    /// On a page of few sites.
    pub(super) const FEW: Shown = Shown { rules: 40, keys: 40, traps: 20 };
    /// On a page of many: a thousand sites take some megabytes, which a phone still opens.
    pub(super) const MANY: Shown = Shown { rules: 10, keys: 15, traps: 5 };

    /// For a page of so many sites.
    pub(super) fn of(sites: usize) -> Shown {
        if sites <= 100 { Shown::FEW } else { Shown::MANY }
    }
}

/// The section of the site at place `at` of all.
pub(super) fn section(out: &mut String, run: Run<'_>, site: &OneSite<'_>, at: usize, open: bool, shown: Shown) {
    let OneSite { name, figures, .. } = site;
    let _ = write!(
        out,
        "<details class=site id=s{at}{}><summary><h3 class=url>{}</h3><span class=count>saves {} of {} ({}), {}</span></summary>",
        if open { " open" } else { "" },
        title(name),
        count(site.saved()),
        many(figures.urls, "fetch"),
        head::whole_percent(figures.compression_ppm),
        head::rules(figures),
    );
    // Of one site the first line of the page says the same.
    if figures.held_out.is_some() && run.summary.sites.len() > 1 {
        let _ = write!(out, "<p>{}</p>", head::headline(figures));
    }
    memory(out, run, site);
    let part = |write: &dyn Fn(&mut String)| {
        let mut out = String::new();
        write(&mut out);
        out
    };
    let parts = [
        ("rules", "Rules", part(&|out| rules::list(out, run, site, at, shown.rules))),
        ("keys", "Keys", part(&|out| keys::table(out, site, at, shown.keys))),
        ("traps", "Traps", part(&|out| traps::table(out, site, at, shown.traps))),
        ("tree", "Pattern tree", part(&|out| tree(out, site, at))),
        ("refused", "Refused", part(&|out| rejected::refused(out, run.summary, site, at))),
        ("missing", "Missing evidence", part(&|out| rejected::wanting(out, site, at))),
    ];
    out.push_str("<p class=parts>");
    let there = parts.iter().filter(|(_, _, text)| !text.is_empty());
    there.for_each(|(id, name, _)| _ = write!(out, "<a href=\"#{id}-{at}\">{name}</a>"));
    out.push_str("</p>");
    parts.iter().for_each(|(_, _, text)| out.push_str(text));
    out.push_str("</details>");
}

/// Writes the data of single pages, and the programs of the site.
fn memory(out: &mut String, run: Run<'_>, site: &OneSite<'_>) {
    let Some(rules) = site.rules else { return };
    for platform in &rules.platforms {
        let _ = write!(out, "<p class=note>It {}.</p>", escaped(&platform_text(platform)));
    }
    let ranges: u64 = rules.local.iter().map(|local| local.pages.len() as u64).sum();
    let look_ups = rules.aliases.len() as u64 + ranges;
    if look_ups > 0 {
        let _ = write!(
            out,
            "<p class=note>Beside the rules {} of single pages decide. To switch them off:</p><code class=command>undust \
             rules disable --rules . look-ups --site {} --reason WHY</code>",
            many(look_ups, "look-up"),
            argument(site.name)
        );
    }
    if let Some(reason) = run.overrides.reason(site.name, LOOK_UPS).filter(|_| look_ups > 0) {
        let _ = write!(out, "<p class=\"note wrong\">Look-ups are disabled: {}</p>", escaped(&brief(reason)));
    }
}

/// A site as one word of a command, or a placeholder where a shell would read more into it.
fn argument(name: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    if !name.is_empty() && !name.starts_with('-') && name.bytes().all(plain) { name } else { "SITE" }
}

/// The pattern tree.
fn tree(out: &mut String, site: &OneSite<'_>, at: usize) {
    let Some(profile) = site.profile.filter(|profile| !profile.tree.is_empty()) else { return };
    let _ = write!(
        out,
        "<details id=tree-{at}><summary>Pattern tree<span class=count>{}{}</span></summary><p class=note>The training URLs, \
         as rules on single keys leave them, split where a part of the URL has few values. Numbers and bars: distinct \
         URLs.</p>",
        many(profile.tree_nodes, "node"),
        match profile.tree.len() as u64 {
            shown if shown < profile.tree_nodes => format!(", the {shown} largest shown"),
            _ => String::new(),
        }
    );
    let parents: Vec<usize> = profile.tree.iter().map(|node| node.parent as usize).collect();
    let all = profile.tree[0].pages;
    nested(out, &parents, |out, at| {
        let node = &profile.tree[at];
        bar(out, node.pages, all);
        let _ = write!(out, "{}<span class=count>{}</span>", escaped(&branch(&node.branch)), count(node.pages));
    });
    out.push_str("</details>");
}
