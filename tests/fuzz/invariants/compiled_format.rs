//! The invariants of compiled rules on any bytes, for the fuzz target and the replay of its corpus.
//!
//! The checks of a compiled file detect damage, not malice, and applying rules that somebody else
//! made up is not covered; opening them is.
use std::fmt::Write as _;

use super::memory::bounded;
use undust::model::{hash64, hash64_seeded};
use undust::rules::compiled_format::{Blocks, CompiledFormatError, CompiledHeader, CompiledWriter, is_compiled};
use undust::rules::{Applied, Compiler, LoadedSite, Loader, Overrides, RuleSet, Scratch, SiteRules, Test, file};

/// Bytes before a block.
const HEAD: usize = 16;
/// Most URLs that the rules of a file are tried on.
const URLS: usize = 64;

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// Neither.
    Refused,
    /// Compiled rules.
    Compiled,
    /// A rule file, of which compiled rules were made.
    Rules,
}

/// Compiled rules open or are refused, with a way out, and so are those whose checks were made
/// good; what opens is written and opens again as the same bytes. Any other bytes that are a rule
/// file are compiled: these rules do what the file says, and one changed byte is known.
pub fn check(bytes: &[u8]) -> Result<Is, String> {
    if is_compiled(bytes) {
        let is = if opened(bytes)? { Is::Compiled } else { Is::Refused };
        opened(&with_checks(bytes))?;
        return Ok(is);
    }
    if opened(bytes)? {
        return Err("without its first bytes no file opens".to_owned());
    }
    let Ok((header, sites)) = file::read(&mut &bytes[..]) else { return Ok(Is::Refused) };
    let header = CompiledHeader { rules: header, overrides: overrides(&sites) };
    match compiled(&header, &sites) {
        Ok(compiled) => compiled_as_written(&header, &compiled, sites).map(|()| Is::Rules),
        // Rules of the method that is there to be compared with are not compiled.
        Err(CompiledFormatError::Published { site }) if sites.iter().any(|s| s.site == site && s.tokens.published) => {
            Ok(Is::Refused)
        }
        Err(error) => Err(format!("a rule file that is read is compiled: {error}")),
    }
}

/// Opens a file, in pieces of several sizes.
fn read_back(bytes: &[u8], piece: usize) -> Result<(CompiledHeader, Vec<LoadedSite>), CompiledFormatError> {
    let (header, mut input) = Blocks::open(bytes)?;
    let (mut blocks, mut all) = (Vec::new(), Vec::new());
    loop {
        input.next_blocks(piece, &mut blocks)?;
        if blocks.is_empty() {
            return Ok((header, all));
        }
        for block in &blocks {
            all.append(&mut block.sites()?);
        }
    }
}

fn set(sites: Vec<LoadedSite>) -> RuleSet {
    let mut rules = Loader::default();
    sites.into_iter().for_each(|site| rules.push(site));
    rules.finish()
}

/// Compiled rules of these sites.
pub fn compiled(header: &CompiledHeader, sites: &[SiteRules]) -> Result<Vec<u8>, CompiledFormatError> {
    let (mut writer, mut compiler) = (CompiledWriter::new(header, Vec::new())?, Compiler::default());
    for site in sites {
        writer.push(&LoadedSite::new(site.clone(), &mut compiler))?;
    }
    writer.finish()
}

/// Compiled rules of sites that are compiled.
fn again(header: &CompiledHeader, sites: &[LoadedSite]) -> Result<Vec<u8>, String> {
    let written = CompiledWriter::new(header, Vec::new()).and_then(|mut writer| {
        sites.iter().try_for_each(|site| writer.push(site))?;
        writer.finish()
    });
    written.map_err(|error| format!("opened, but not written: {error}"))
}

/// Whether the bytes open. Memory: what serde takes in advance for lists of a length that is made
/// up, a mebibyte a list, and the rules.
fn opened(bytes: &[u8]) -> Result<bool, String> {
    let (header, sites) = match bounded(bytes.len(), 8 << 20, 64, || read_back(bytes, 1))? {
        Ok(opened) => opened,
        Err(error) => {
            let told = error.to_string();
            let ways = ["compile", "copy the file again"];
            let has_way = ways.iter().any(|way| told.contains(way)) && !told.contains('\n');
            return if has_way { Ok(false) } else { Err(format!("no way out: {told}")) };
        }
    };
    let written = again(&header, &sites)?;
    drop(set(sites));
    let (same, sites) = read_back(&written, 1 << 20).map_err(|error| format!("written, but not opened: {error}"))?;
    if same != header || again(&header, &sites)? != written {
        return Err("what opens is written again".to_owned());
    }
    Ok(true)
}

/// The bytes with checks that hold: of the first line, and of the blocks as far as they go.
fn with_checks(bytes: &[u8]) -> Vec<u8> {
    let Some(end) = memchr::memchr(b'\n', bytes) else { return bytes.to_vec() };
    let check = br#","check":"0123456789abcdef"}"#.len();
    let line = &bytes[..end - check.min(end)];
    let mut out = [line, format!(r#","check":"{:016x}"}}"#, hash64(line)).as_bytes(), b"\n"].concat();
    let mut rest = &bytes[end + 1..];
    for number in 1u64.. {
        let Some((head, behind)) = rest.split_first_chunk::<HEAD>() else { break };
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        // A block that is cut off keeps what there is of it.
        let (block, behind) = behind.split_at(behind.len().min(word(0) as usize));
        out.extend_from_slice(&(block.len() as u32).to_le_bytes());
        out.extend_from_slice(&head[4..8]);
        out.extend_from_slice(&hash64_seeded(block, number << 32 | u64::from(word(4))).to_le_bytes());
        out.extend_from_slice(block);
        rest = behind;
    }
    out.extend_from_slice(rest);
    out
}

/// Overrides that change nothing, to be carried in the first line.
fn overrides(sites: &[SiteRules]) -> Overrides {
    let mut out = Overrides::default();
    sites.iter().take(3).for_each(|site| out.disable(&site.site, "none of these", &format!("of {:?}", site.site)));
    out
}

/// Compiled rules do what the rules do, and are not taken for those with a byte changed.
fn compiled_as_written(header: &CompiledHeader, compiled: &[u8], sites: Vec<SiteRules>) -> Result<(), String> {
    let (same, loaded) = read_back(compiled, 1).map_err(|error| format!("written, but not opened: {error}"))?;
    if same != *header || again(header, &loaded)? != compiled {
        return Err("what is compiled opens as it was".to_owned());
    }
    let urls = urls(&sites);
    let (rules, loaded) = (RuleSet::new(sites), set(loaded));
    let [mut one, mut other] = [Scratch::default(), Scratch::default()];
    for url in &urls {
        let [by_file, by_compiled] = [(&rules, &mut one), (&loaded, &mut other)].map(|(rules, scratch)| {
            let Applied { url, site, fired, looked_up, invalid } = rules.apply(url.as_bytes(), None, scratch);
            let ids: Vec<&str> =
                site.iter().flat_map(|&site| fired.iter().map(move |rule| rules.rule_id(site, rule))).collect();
            (url.to_vec(), site.map(|site| rules.site_name(site)), ids, looked_up, invalid)
        });
        if by_file != by_compiled {
            return Err(format!("{url}: {by_file:?} by the rule file, {by_compiled:?} by what was compiled"));
        }
    }
    let mut changed = compiled.to_vec();
    let place = hash64(compiled) as usize;
    let at = place % changed.len();
    changed[at] ^= 1 << (place / changed.len() % 8);
    match read_back(&changed, 1 << 20) {
        // Capitals for the digits of the check are the same check.
        Ok((same, loaded))
            if !changed[at].is_ascii_uppercase() || same != *header || again(header, &loaded)? != compiled =>
        {
            Err(format!("byte {at} of {} is changed, and the file opens", compiled.len()))
        }
        _ => Ok(()),
    }
}

/// URLs that rules may act on: those they tell of, and for each rule one that has its keys.
fn urls(sites: &[SiteRules]) -> Vec<String> {
    let mut urls = Vec::new();
    for site in sites {
        let told = site.rules.iter().flat_map(|rule| &rule.evidence.examples).chain(&site.aliases).flatten();
        urls.extend(told.take(URLS / 4).cloned());
        for origin in site.origins.iter().take(2) {
            urls.push(format!("{origin}/Index.html?sid=1&id=2#top"));
            for rule in site.rules.iter().take(URLS / 8) {
                let mut made = [String::new(), String::new()];
                let tests = rule.scope.iter().map(|constraint| (&constraint.key, Some(&constraint.test)));
                for (key, test) in tests.chain(rule.operations.iter().map(|(key, _)| (key, None))) {
                    let value = match test {
                        Some(Test::Equals(value)) => value,
                        Some(Test::OneOf(values)) => values.first().map_or("1", String::as_str),
                        _ => "1",
                    };
                    let [path, query] = &mut made;
                    // Writing to a string does not fail.
                    let _ = match key.strip_prefix("query ") {
                        Some(name) => write!(query, "{}{name}{value}", if query.is_empty() { '?' } else { '&' }),
                        None if key.starts_with("path") => write!(path, "/{value}"),
                        None => Ok(()),
                    };
                }
                let [path, query] = made;
                urls.push(format!("{origin}{}{query}", if path.is_empty() { "/" } else { &path }));
            }
        }
        if urls.len() > URLS {
            break;
        }
    }
    urls.truncate(URLS);
    urls
}
