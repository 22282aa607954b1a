//! Random pages of a site: exceptions, look-ups and value ranges.

use super::Random;
use super::generate::Maker;
use super::rules::mirror_source;
use super::urls::UrlDraft;
use crate::rules::SiteRules;
use crate::rules::interpreter::Interpreter;
use crate::rules::value_ranges::{RangedKey, ValueRange, inner_number, number};
use crate::url::{Key, NormalUrl, Pairs};

/// URLs that a site names, a list for each field that names them, and URLs near its value ranges and
/// mirrors.
pub(super) fn texts_of(random: &mut Random, site: &SiteRules) -> Vec<Vec<String>> {
    let first = |pairs: &[[String; 2]]| pairs.iter().map(|[url, _]| url.clone()).collect();
    let mut near = Vec::new();
    for local in &site.local {
        let Some(key) = Key::parse(&local.key) else { continue };
        for ValueRange { like, range, .. } in &local.pages {
            let Ok(url) = NormalUrl::new(like.as_bytes()) else { continue };
            let [low, high] = range.unwrap_or([0, 9]);
            let pairs = Pairs::tokenize(&url, site.tokenizer(), &site.tokens.query_order);
            let text = inner_number(pairs.get(&key).unwrap_or_default()).map_or(&b""[..], |(text, _)| text);
            let text = if local.inner { String::from_utf8_lossy(text) } else { "".into() };
            let numbers = [low, high, high + 1, low.saturating_sub(1)].map(|number| Some(format!("{text}{number}")));
            let others = [None, Some(random.pick(&["", "x", "007", "1000000000000000"]).to_string())];
            // An absent key is in a range only where any value is.
            let absent = vec![None; if range.is_none() { 4 } else { 0 }];
            for value in numbers.into_iter().chain(others).chain(absent) {
                let mut pairs = Pairs::tokenize(&url, site.tokenizer(), &site.tokens.query_order);
                pairs.set(key.clone(), value.map(String::into_bytes));
                near.extend(String::from_utf8(pairs.compose()));
            }
        }
    }
    let mirrors = site.rules.iter().filter_map(mirror_source);
    let below = mirrors.map(|source| {
        format!("{source}{}", random.pick(&["", "/", "/x", "/x/y?a=1", "/index.php", "x", "x/y", "x/y&a=1"]))
    });
    let below = below.collect();
    let mut all = vec![first(&site.exceptions), first(&site.aliases), near, below];
    all.retain(|list: &Vec<String>| !list.is_empty());
    all
}

impl Maker<'_> {
    /// The canonical URL of a draft by the rules of the site alone, and the rules that fired.
    fn canonical(&mut self, rules: &Interpreter<'_>) -> Option<(String, Vec<usize>)> {
        let mut draft = self.random.pick(&self.drafts).clone();
        for _ in 0..*self.random.pick(&[0, 0, 1]) {
            draft.edit(self.random, &self.words);
        }
        let normal = NormalUrl::new(draft.text().as_bytes()).ok()?;
        match self.random.below(10) {
            // The URL as it is; the rules may rewrite it.
            0..=2 => Some((normal.as_str().to_owned(), Vec::new())),
            // Possibly not in normal form.
            3 if self.random.chance(20) => Some((draft.text(), Vec::new())),
            _ => {
                let made = rules.canonicalize(&normal);
                Some((String::from_utf8(made.url).ok()?, made.fired))
            }
        }
    }

    /// Exceptions, look-ups (some to themselves) and value ranges.
    pub(super) fn pages(&mut self, site: &mut SiteRules) {
        let rules = site.clone();
        let rules = Interpreter::new(&rules);
        let mut seen: Vec<String> = Vec::new();
        if self.random.chance(85) {
            seen.extend((0..1 + self.random.below(10)).filter_map(|_| self.canonical(&rules)).map(|made| made.0));
        }
        seen.sort();
        seen.dedup();
        if self.random.chance(50) {
            for _ in 0..1 + self.random.below(4) {
                let Some((page, fired)) = self.canonical(&rules) else { continue };
                let any = site.rules.get(self.random.below(site.rules.len() + 1)).map(|rule| rule.id.clone());
                let fired = fired.first().map(|&at| site.rules[at].id.clone());
                let rule = match self.random.below(4) {
                    0 => "*".to_owned(),
                    1 => any.unwrap_or_else(|| "0".repeat(16)),
                    _ => fired.or(any).unwrap_or_else(|| "*".to_owned()),
                };
                site.exceptions.push([page.clone(), rule]);
                if self.random.chance(20) {
                    site.exceptions.push([page, "*".to_owned()]);
                }
            }
            site.exceptions.sort();
        }
        for _ in 0..self.random.below(4) {
            let to = if seen.is_empty() { continue } else { self.random.pick(&seen).clone() };
            let Some((from, _)) = self.canonical(&rules) else { continue };
            site.aliases.push([from, to]);
        }
        site.aliases.extend(seen.iter().filter(|_| self.random.chance(70)).map(|page| [page.clone(), page.clone()]));
        site.aliases.sort();
        if !seen.is_empty() && self.random.chance(50) {
            for _ in 0..*self.random.pick(&[1, 1, 2]) {
                self.local(site, &seen, &rules, false);
            }
            self.local(site, &seen, &rules, true);
        }
    }

    /// Adds value ranges of one more key.
    fn local(&mut self, site: &mut SiteRules, seen: &[String], rules: &Interpreter<'_>, inner: bool) {
        let is = |value: &[u8]| if inner { inner_number(value).is_some() } else { number(value).is_some() };
        let is_number = |values: &Vec<String>| values.iter().any(|value| is(value.as_bytes()));
        let named = self.values.iter().filter(|(key, values)| is_number(values) && *key != "depth");
        let named: Vec<String> = named.map(|(key, _)| key.clone()).collect();
        let optional = |key: &String| key.starts_with("query ") || key.starts_with("param ");
        let queries: Vec<String> = named.iter().filter(|key| optional(key)).cloned().collect();
        let named = if queries.is_empty() || self.random.chance(30) { named } else { queries };
        let other = self.pair().0;
        let key = if named.is_empty() || self.random.chance(15) { other } else { self.random.pick(&named).clone() };
        if site.local.iter().any(|local| local.key == key && local.inner == inner) {
            return;
        }
        let (mut pages, any) = (Vec::new(), self.random.chance(40));
        let having = self.drafts.iter().zip(&self.pairs).filter(|(_, pairs)| pairs.iter().any(|pair| pair.0 == key));
        let having: Vec<UrlDraft> = having.map(|(draft, _)| draft.clone()).collect();
        for draft in having.iter().take(4) {
            let Ok(normal) = NormalUrl::new(draft.text().as_bytes()) else { continue };
            let made = rules.canonicalize(&normal).url;
            let Ok(like) = String::from_utf8(made) else { continue };
            for _ in 0..1 + self.random.below(3) {
                let low = self.random.below(25) as u64;
                let high = low + *self.random.pick(&[0, 1, 3, 10, 1 << 50]);
                let range = if any && self.random.chance(60) { None } else { Some([low, high]) };
                pages.push(ValueRange { like: like.clone(), range, page: self.random.pick(seen).clone() });
            }
        }
        pages.sort();
        if !pages.is_empty() {
            site.local.push(RangedKey { key, absent: self.random.chance(60), inner, pages, ..RangedKey::default() });
        }
    }
}
