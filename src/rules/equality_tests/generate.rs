//! Random rule sets whose rules name the keys and values of URLs, and those URLs with changes.

use super::Random;
use super::compare::Input;
use super::pages::texts_of;
use super::urls::{UrlDraft, Words, spoil};
use crate::model::hash64;
use crate::rules::origins::of_hosts;
use crate::rules::{Fragments, Operation, Representative, Rule, SECTION, SiteRules, Tokens};
use crate::url::keys::HOST_SUB;
use crate::url::site::registrable_domain;
use crate::url::{Endings, NormalUrl, Pairs, segment};
use std::collections::BTreeMap;

/// A rule set and URLs for it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) sites: Vec<SiteRules>,
    pub(super) inputs: Vec<Input>,
}

/// Generates one site.
pub(super) struct Maker<'m> {
    pub(super) random: &'m mut Random,
    pub(super) words: Words,
    pub(super) drafts: Vec<UrlDraft>,
    pub(super) tokens: Tokens,
    /// Key-value pairs of the drafts.
    pub(super) pairs: Vec<Vec<(String, String)>>,
    /// Values of each key.
    pub(super) values: BTreeMap<String, Vec<String>>,
}

/// Generates the case of this number; every 60th has enough sites for batches of many lanes.
pub(super) fn case(random: &mut Random, number: u64) -> Case {
    let many = random.chance(9);
    let words = Words::new(random, 0, many);
    let (mut sites, mut drafts, mut texts) = (Vec::new(), Vec::new(), Vec::<Vec<String>>::new());
    for index in 0..*random.pick(&[1, 1, 1, 2, 3]) {
        let words = if index == 0 || random.chance(15) { words.clone() } else { Words::new(random, index, false) };
        let count = 10;
        let made: Vec<UrlDraft> = (0..count).map(|_| UrlDraft::new(random, &words)).collect();
        let (tokens, of) = (Tokens::default(), &mut *random);
        let mut maker = Maker { random: of, words, drafts: made, tokens, pairs: Vec::new(), values: BTreeMap::new() };
        let mut site = maker.site(index, many && index == 0);
        let Maker { drafts: made, words, .. } = maker;
        if sites.iter().any(|of: &SiteRules| of.site == site.site) {
            site.site = index.to_string();
        }
        drafts.extend(made.into_iter().map(|draft| (draft, words.clone())));
        texts.extend(texts_of(random, &site));
        sites.push(site);
    }
    let mut inputs: Vec<Input> = (0..35).map(|_| input(random, &drafts, &texts, sites.len())).collect();
    if number % 60 == 7 {
        let filler = random.chance(50);
        sites.extend((0..260).map(|n| other_site(n, filler)));
        let url = |n: usize| Input { url: format!("http://s{n:03}.test/x?k{n}=1&b=2").into_bytes(), site: None };
        inputs.extend((0..10).map(|_| url(random.below(260))));
    }
    Case { sites, inputs }
}

/// A site that only enlarges a rule set; a `distinct` one has a rule that no other site has.
fn other_site(n: usize, distinct: bool) -> SiteRules {
    let key = if distinct { format!("query k{n}=") } else { "query b=".to_owned() };
    let rule = Rule::of(&format!("{n:016x}"), Vec::new(), vec![(key, Operation::Ignore(Representative::LeftOut))]);
    let site = format!("s{n:03}.test");
    SiteRules { origins: of_hosts([&site]), site, rules: vec![rule], ..SiteRules::default() }
}

fn input(random: &mut Random, drafts: &[(UrlDraft, Words)], texts: &[Vec<String>], sites: usize) -> Input {
    let (draft, words) = random.pick(drafts);
    let mut draft = draft.clone();
    for _ in 0..*random.pick(&[0, 0, 1, 1, 1, 2, 2, 3]) {
        draft.edit(random, words);
    }
    if random.below(50) == 0 {
        draft.lengthen(random, words);
    }
    let mut url = draft.text().into_bytes();
    if !texts.is_empty() && random.chance(25) {
        let list = random.pick(texts);
        url = random.pick(list).clone().into_bytes();
        if random.chance(30) {
            url.extend_from_slice(random.pick(&["?sid=1", "&a=1", "#top", "/", "#!/r"]).as_bytes());
        }
    }
    if random.chance(8) {
        spoil(&mut url, random);
    }
    let site = random.chance(8).then(|| random.below(sites) as u32);
    Input { url, site }
}

impl Maker<'_> {
    fn site(&mut self, index: usize, many: bool) -> SiteRules {
        self.tokens = self.tokens();
        for draft in &self.drafts {
            let normal = NormalUrl::new(draft.text().as_bytes()).expect("a draft is a URL");
            let pairs = Pairs::tokenize(&normal, self.tokens.tokenizer(), &self.tokens.query_order);
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| (key.to_string(), text(value))).collect();
            for (key, value) in &pairs {
                self.values.entry(key.clone()).or_default().push(value.clone());
            }
            let section = text(self.tokens.section(normal.as_bytes()));
            let sectioned = self.random.chance(25).then(|| (SECTION.to_owned(), section));
            for (key, value) in sectioned.iter() {
                self.values.entry(key.clone()).or_default().push(value.clone());
            }
            self.pairs.push(pairs.into_iter().chain(sectioned).collect());
        }
        let count = if many { 70 + self.random.below(70) } else { *self.random.pick(&[0, 1, 1, 2, 3, 4, 5, 6, 8]) };
        let mut rules: Vec<Rule> = match self.pairs.is_empty() {
            true => Vec::new(),
            false => {
                (0..count).map(|_| if many && self.random.chance(75) { self.numbered() } else { self.rule() }).collect()
            }
        };
        let salt = self.random.below(1 << 40);
        for (at, rule) in rules.iter_mut().enumerate() {
            rule.id = format!("{:016x}", salt + at);
        }
        let mut origins = of_hosts(&self.words.hosts);
        // Some origins of the URLs belong to no site, some have a port.
        if self.random.chance(40) {
            origins.remove(self.random.below(origins.len()));
        }
        for port in [":8080", ":443", ":81"] {
            if self.random.chance(25) {
                let origin = self.random.pick(&origins).clone();
                origins.push(origin + port);
            }
        }
        for (rule, pairs) in rules.iter().flat_map(|rule| self.pairs.iter().map(move |pairs| (rule, pairs))) {
            let moved = rule.operations.iter().find_map(|(key, operation)| match operation {
                Operation::Replace(from) if key == HOST_SUB => pairs.iter().find(|(key, _)| key == from),
                _ => None,
            });
            let host = pairs.iter().find(|(key, _)| key == "host");
            let (Some((_, labels)), Some((_, host))) = (moved, host) else { continue };
            let labels = labels.to_ascii_lowercase();
            let domain = String::from_utf8_lossy(registrable_domain(host.as_bytes())).into_owned();
            origins.extend(of_hosts([format!("{labels}.{domain}")]));
        }
        origins.sort();
        origins.dedup();
        let tokens = self.tokens.clone();
        let mut site = SiteRules { site: format!("{index}"), origins, tokens, rules, ..SiteRules::default() };
        if self.random.chance(25) {
            self.extend(&mut site);
        }
        if self.random.chance(60) {
            self.pages(&mut site);
        }
        site
    }

    /// Extends rules to the domain of a host of the site, mostly with fewer origins.
    fn extend(&mut self, site: &mut SiteRules) {
        let host = self.random.pick(&self.words.hosts).clone();
        site.site = String::from_utf8_lossy(registrable_domain(host.as_bytes())).into_owned();
        let some = *self.random.pick(&[30, 70, 100]);
        for rule in &mut site.rules {
            rule.extended = self.random.chance(some);
        }
        let least = *self.random.pick(&[1, 1, 2, usize::MAX]);
        while site.origins.len() > least {
            site.origins.remove(self.random.below(site.origins.len()));
        }
    }

    fn tokens(&mut self) -> Tokens {
        let random = &mut *self.random;
        let cut = self.words.segments.iter().any(|segment| segment.contains([':', ',', '=', '!']));
        let delimiters = match cut && random.chance(70) {
            true => *random.pick(&[":", ",", "=", "!", ":,", "=!", ":,=!", ":,=!"]),
            false => "",
        };
        let ordered = if random.chance(35) { 1 + random.below(4) } else { 0 };
        let fragments =
            *random.pick(&[None, None, None, Some(Fragments::LeftOut), Some(Fragments::Keys { clusters: 3 })]);
        let words = self.words.segments.iter().filter(|segment| random.chance(25) && !segment.contains('/'));
        let mut some_sections: Vec<String> = words.cloned().collect();
        some_sections.extend(random.chance(40).then(|| "users/".to_owned()));
        some_sections.sort();
        some_sections.dedup();
        let mut random_ends = Random::new(hash64(self.words.segments.join("/").as_bytes()));
        let most = if random_ends.chance(12) { 3 } else { 0 };
        let ends = self.words.segments.iter().filter(|segment| random_ends.chance(40) && !segment.contains('/'));
        let mut endings: Vec<String> = ends.take(most).cloned().collect();
        let is_joined = random_ends.chance(40);
        let tails = self.words.segments.iter().filter(|_| is_joined).filter_map(|word| {
            let segment::Tail { joint, end, .. } = segment::tail(word.as_bytes())?;
            Some(format!("{}{}", Endings::MARK, &word[joint..end]))
        });
        endings.extend(tails);
        let (semicolons, joined) = (random.chance(20), random.below(100));
        Tokens {
            delimiters: delimiters.to_owned(),
            semicolons,
            joined_by_semicolons: joined < 50,
            nested_queries: random_ends.chance(15),
            query_path: random.chance(20),
            numbered_end: random.chance(20),
            endings,
            inner_numbers: (52..66).contains(&joined),
            name_families: (47..52).contains(&joined) || self.words.names[0] == "f[0]=" && random_ends.chance(80),
            commas: random_ends.chance(15),
            value_ends: self.words.value_ends.clone(),
            sections: some_sections,
            query_order: (0..ordered).map(|_| random.pick(&self.words.names).clone()).collect(),
            fragments,
            published: false,
        }
    }
}
