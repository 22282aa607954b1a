//! The invariants of overrides files on any bytes, for the fuzz target and the replay of its corpus.
use super::memory::bounded;
use undust::rules::overrides::{LOOK_UPS, OverridesError, WHOLE_SITE};
use undust::rules::{Overrides, Rule, SiteRules};

/// Any text is refused with one line that names a line of the file, or it is overrides that are
/// written and read again unchanged and disable what they name. Gives the number of overrides.
pub fn check(bytes: &[u8]) -> Result<usize, String> {
    // The reader of the file refuses what is not UTF-8 before it is parsed.
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(0) };
    let overrides = match bounded(text.len(), 16 << 10, 32, || Overrides::parse(text))? {
        Ok(overrides) => overrides,
        Err(error) => return names_a_line(text, &error).map(|()| 0),
    };
    let count = overrides.iter().count();
    if count > text.lines().count() || overrides.is_empty() != (count == 0) {
        return Err(format!("{count} overrides in {} lines", text.lines().count()));
    }
    if overrides.iter().any(|one| one.reason.trim().is_empty()) {
        return Err("an override has a reason".to_owned());
    }
    let written = overrides.text();
    let again = Overrides::parse(&written).map_err(|error| format!("written, but not read: {error}"))?;
    if again != overrides || again.text() != written || written.lines().count() != count {
        return Err("what is read is written again, a line each".to_owned());
    }
    applied(&overrides).map(|()| count)
}

/// The lines before the one that is named are good, and with it they are not.
fn names_a_line(text: &str, error: &OverridesError) -> Result<(), String> {
    let told = error.to_string();
    let (OverridesError::Line { line, .. } | OverridesError::Repeated { line, .. }) = error;
    let to = |end: usize| text.lines().take(end).collect::<Vec<_>>().join("\n");
    let is_there = *line >= 1 && Overrides::parse(&to(line - 1)).is_ok() && Overrides::parse(&to(*line)).is_err();
    let is_one_line = !told.contains('\n') && !told.contains(" at line ");
    match is_there && is_one_line && told.starts_with(&format!("line {line}: ")) {
        true => Ok(()),
        false => Err(format!("an error names its line, and no other: {told:?}")),
    }
}

/// Of sites with the rules that are disabled and one more, those are left out and that one only
/// with its site; the file names nothing that is not there.
fn applied(overrides: &Overrides) -> Result<(), String> {
    const OTHER: &str = "not disabled";
    let page = || vec![["http://a/1".to_owned(), "http://a/2".to_owned()]];
    let rule = |id: &str| Rule::of(id, Vec::new(), Vec::new());
    let mut sites: Vec<SiteRules> = Vec::new();
    // Sorted by site.
    for one in overrides.iter() {
        if sites.last().is_none_or(|last| last.site != one.site) {
            sites.push(SiteRules { site: one.site, rules: vec![rule(OTHER)], aliases: page(), ..SiteRules::default() });
        }
        if let Some(site) = sites.last_mut() {
            site.rules.push(rule(&one.rule));
        }
    }
    let done = overrides.apply(&mut sites);
    for site in &sites {
        let is = |name: &str| overrides.reason(&site.site, name).is_some();
        let left = site.rules.iter().filter(|rule| is(&rule.id)).count();
        let other = site.rules.iter().any(|rule| rule.id == OTHER);
        if left > 0 || other == is(OTHER) || site.aliases.is_empty() != is(LOOK_UPS) {
            return Err(format!("site {:?}: {left} disabled rules are left, or others went", site.site));
        }
        if is(WHOLE_SITE) != site.rules.is_empty() && !is(OTHER) {
            return Err(format!("site {:?}: a whole site goes whole", site.site));
        }
    }
    match done.unmatched {
        0 => Ok(()),
        unmatched => Err(format!("{unmatched} overrides match nothing, though their sites are there")),
    }
}
