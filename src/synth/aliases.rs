//! Page types whose pages have several entry points in the path (DustBuster, WWW 2007, section 1:
//! aliases and "two ways to name a story"; SIGIR 2017, section 1: multiple URL entries).

use super::kind::{Page, PageType};
use super::parts::Parts;
use super::rng::Rng;
use super::view::View;
use super::words;

/// `/story_123`, `/story?id=123` and, on some sites, `/s/123` (DustBuster, section 1: a token to be
/// split).
struct Story {
    word: &'static str,
    key: &'static str,
    forms: u64,
}

/// Draws a [`Story`].
pub fn story(rng: &mut Rng) -> Box<dyn PageType> {
    let word = rng.pick(&["story", "news", "item", "entry"]);
    Box::new(Story { word, key: rng.pick(&["id", "nid", "num"]), forms: 2 + rng.below(2) })
}

impl PageType for Story {
    fn name(&self) -> &'static str {
        "story"
    }
    fn forms(&self) -> u64 {
        self.forms
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        match page.form {
            0 => url.seg(self.word).add("_").add_n(page.entity),
            1 => url.seg(self.word).pair_n(self.key, page.entity),
            _ => url.seg(&self.word[..1]).seg_n(page.entity),
        };
    }
    fn key(&self, url: &View) -> Option<u64> {
        match url.path()[..] {
            [one] if one == self.word && url.only(&[self.key]) => url.num(self.key),
            [one] if url.pairs.is_empty() => one.strip_prefix(self.word)?.strip_prefix('_')?.parse().ok(),
            [first, n] if url.pairs.is_empty() && first == &self.word[..1] => n.parse().ok(),
            _ => None,
        }
    }
    fn rules(&self) -> Vec<String> {
        let Story { word, key, .. } = self;
        let mut rules = vec![format!("/{word}?{key}=N -> /{word}_N")];
        if self.forms > 2 {
            rules.push(format!("/{}/N -> /{word}_N", &word[..1]));
        }
        rules
    }
}

/// `/questions/123/some-title`, `/questions/123` and `/q/123` (SIGIR 2017, section 1).
struct Question {
    word: &'static str,
}

/// Draws a [`Question`].
pub fn question(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Question { word: rng.pick(&["questions", "threads", "problems"]) })
}

impl PageType for Question {
    fn name(&self) -> &'static str {
        "question"
    }
    fn forms(&self) -> u64 {
        3
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        match page.form {
            0 => url.seg(self.word).seg_n(page.entity).seg_slug(page.entity, 3),
            1 => url.seg(self.word).seg_n(page.entity),
            _ => url.seg(&self.word[..1]).seg_n(page.entity),
        };
    }
    fn key(&self, url: &View) -> Option<u64> {
        match url.path()[..] {
            _ if !url.pairs.is_empty() => None,
            [first, n] if first == self.word || first == &self.word[..1] => n.parse().ok(),
            [first, n, _slug] if first == self.word => n.parse().ok(),
            _ => None,
        }
    }
    fn rules(&self) -> Vec<String> {
        let (word, short) = (self.word, &self.word[..1]);
        vec![format!("/{word}/N and /{short}/N -> /{word}/N/slug"), format!("the slug of /{word}/N/slug is free")]
    }
}

/// `/~river17/` and `/people/river17/`; `%7E` is the same letter (DustBuster, section 1).
struct Tilde {
    word: &'static str,
}

/// Draws a [`Tilde`].
pub fn tilde(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Tilde { word: rng.pick(&["people", "staff", "members"]) })
}

impl PageType for Tilde {
    fn name(&self) -> &'static str {
        "tilde"
    }
    fn forms(&self) -> u64 {
        3
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let (name, number) = (words::word(page.entity), page.entity / words::COUNT);
        match page.form {
            0 => url.seg(self.word).seg(name),
            1 => url.seg("~").add(name),
            _ => url.seg("%7E").add(name),
        };
        url.add_n(number).seg("");
    }
    fn key(&self, url: &View) -> Option<u64> {
        let user = match url.path()[..] {
            [first, user, ""] if first == self.word => user,
            [user, ""] => user.strip_prefix('~').or_else(|| user.strip_prefix("%7e"))?,
            _ => return None,
        };
        let (word, number) = words::numbered(user)?;
        url.pairs.is_empty().then_some(number * words::COUNT + word)
    }
    fn rules(&self) -> Vec<String> {
        vec![format!("/~NAME/ -> /{}/NAME/", self.word), "%7E is ~".to_owned()]
    }
}

/// `/Wiki/Some_Title`, the same in lower case, in half lower case, and with `%20` for `_`.
struct Wiki {
    word: &'static str,
}

/// Draws a [`Wiki`].
pub fn wiki(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Wiki { word: rng.pick(&["Wiki", "Page", "Topic"]) })
}

impl Wiki {
    /// Adds a word, its first letter upper case where `capital`.
    fn add(url: &mut Parts, word: &str, capital: bool) {
        let at = url.path().len();
        url.add(word);
        if capital {
            url.path()[at].make_ascii_uppercase();
        }
    }
}

impl PageType for Wiki {
    fn name(&self) -> &'static str {
        "wiki"
    }
    fn forms(&self) -> u64 {
        4
    }
    fn keeps_case(&self) -> bool {
        true
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let (e, form) = (page.entity, page.form);
        url.seg("");
        Wiki::add(url, self.word, false);
        if form == 1 {
            let word = url.path();
            word.make_ascii_lowercase();
        }
        url.seg("");
        let capital = form == 0 || form == 3;
        Wiki::add(url, words::word(e), capital);
        url.add(if form == 3 { "%20" } else { "_" });
        Wiki::add(url, words::word(e / words::COUNT), capital);
        if e / words::COUNT >= words::COUNT {
            url.add(if form == 3 { "%20" } else { "_" }).add_n(e / words::COUNT / words::COUNT);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let [first, title] = url.path()[..] else { return None };
        if !first.eq_ignore_ascii_case(self.word) || !url.pairs.is_empty() {
            return None;
        }
        let title = title.replace("%20", "_");
        let mut parts = title.split('_');
        let (a, b) = (words::index(parts.next()?)?, words::index(parts.next()?)?);
        let n = parts.next().map_or(Some(0), |n| n.parse().ok())?;
        Some((n * words::COUNT + b) * words::COUNT + a)
    }
    fn rules(&self) -> Vec<String> {
        vec![format!("/{}/TITLE is case-insensitive; %20 is _ in titles", self.word)]
    }
}

/// `/docs/a/b/`, `/docs/a/b` and `/docs/a/b/index.html` (catalogue: trailing slash, directory index).
struct Dir {
    word: &'static str,
    index: &'static str,
}

/// Draws a [`Dir`].
pub fn dir(rng: &mut Rng) -> Box<dyn PageType> {
    let word = rng.pick(&["docs", "manual", "help"]);
    Box::new(Dir { word, index: rng.pick(&["index.html", "default.asp", "index.php"]) })
}

impl PageType for Dir {
    fn name(&self) -> &'static str {
        "dir"
    }
    fn forms(&self) -> u64 {
        3
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let e = page.entity;
        url.seg(self.word).seg(words::word(e)).seg(words::word(e / words::COUNT));
        if e / words::COUNT >= words::COUNT {
            url.add_n(e / words::COUNT / words::COUNT);
        }
        match page.form {
            0 => url.seg(""),
            1 => url,
            _ => url.seg(self.index),
        };
    }
    fn key(&self, url: &View) -> Option<u64> {
        let (a, b) = match url.path()[..] {
            [first, a, b] | [first, a, b, ""] if first == self.word => (a, b),
            [first, a, b, last] if first == self.word && last == self.index => (a, b),
            _ => return None,
        };
        let (b, n) = words::numbered(b)?;
        url.pairs.is_empty().then_some((n * words::COUNT + b) * words::COUNT + words::index(a)?)
    }
    fn rules(&self) -> Vec<String> {
        vec![format!("/{0}/A/B and /{0}/A/B/{1} -> /{0}/A/B/", self.word, self.index)]
    }
}
