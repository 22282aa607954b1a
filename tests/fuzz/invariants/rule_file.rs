//! The invariants of the rule file on any bytes, for the fuzz target and the replay of its corpus.
use undust::rules::file::{FORMAT, Header, RuleFileError, read, rule_id, write};

/// Any bytes are refused with an error that names a line, or they are rules that are written and read
/// again unchanged.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let (header, sites) = match read(&mut &bytes[..]) {
        Ok(read) => read,
        Err(error) => return names_a_line(&error),
    };
    let mut written = Vec::new();
    write(&header, sites.iter(), &mut written).map_err(|error| format!("read, but not written: {error}"))?;
    let (header_again, sites_again) = read(&mut &written[..]).map_err(|error| format!("not read again: {error}"))?;
    if header_again != (Header { format: FORMAT, ..header }) || sites_again != sites {
        return Err("read(write(x)) is not x".to_owned());
    }
    let mut twice = Vec::new();
    write(&header_again, sites_again.iter(), &mut twice).map_err(|error| error.to_string())?;
    if twice != written {
        return Err("write(read(bytes)) is not bytes".to_owned());
    }
    let text = std::str::from_utf8(&written).map_err(|error| error.to_string())?;
    let line_end = |c: char| matches!(c, '\0'..='\x09' | '\x0b'..='\x1f' | '\u{85}' | '\u{2028}' | '\u{2029}');
    if text.lines().count() != sites.len() + 1 || text.contains(line_end) {
        return Err("not one line a site".to_owned());
    }
    let ids = sites.iter().flat_map(|site| site.rules.iter().map(|rule| rule_id(&site.site, rule)));
    match ids.filter(|id| id.len() != 16).count() {
        0 => Ok(()),
        _ => Err("an id that is not 16 digits".to_owned()),
    }
}

fn names_a_line(error: &RuleFileError) -> Result<(), String> {
    let text = error.to_string();
    if text.starts_with("line ") && !text.contains('\n') { Ok(()) } else { Err(format!("no line in: {text}")) }
}
