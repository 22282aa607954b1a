//! Page types with views of a page that show the same content, beside parameters that do not (SIGIR
//! 2017, section 1: superfluous parameters; WWW10, section 1).

use super::kind::{Page, PageType};
use super::parts::Parts;
use super::rng::Rng;
use super::view::View;

/// `/article/123.html`, its print view (`?print=1` or `/article/123/print`), and where the reader came
/// from.
struct Print {
    word: &'static str,
    in_path: bool,
}

const FROM: [&str; 4] = ["rss", "mail", "top", "related"];

/// Draws a [`Print`].
pub fn print(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Print { word: rng.pick(&["article", "post", "doc"]), in_path: rng.percent(50) })
}

impl PageType for Print {
    fn name(&self) -> &'static str {
        "print"
    }
    fn forms(&self) -> u64 {
        2 + FROM.len() as u64
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        url.seg(self.word).seg_n(page.entity);
        match page.form {
            0 => url.add(".html"),
            1 if self.in_path => url.seg("print"),
            1 => url.add(".html").pair("print", "1"),
            from => url.add(".html").pair("from", FROM[from as usize - 2]),
        };
    }
    fn key(&self, url: &View) -> Option<u64> {
        match url.path()[..] {
            [word, n, "print"] if word == self.word && self.in_path && url.pairs.is_empty() => n.parse().ok(),
            [word, n] if word == self.word && url.only(&["print", "from"]) => n.strip_suffix(".html")?.parse().ok(),
            _ => None,
        }
    }
    fn rules(&self) -> Vec<String> {
        let word = self.word;
        let print = if self.in_path { format!("/{word}/N/print") } else { format!("/{word}/N.html?print=1") };
        vec![format!("{print} -> /{word}/N.html"), format!("/{word}/N.html: drop from")]
    }
}

/// `/info.php?id=7&lang=de&mode=full`: three languages are three pages, `en` and `full` may be left
/// out.
struct Lang {
    script: &'static str,
}

const LANGS: [&str; 3] = ["en", "de", "fr"];

/// Draws a [`Lang`].
pub fn lang(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Lang { script: rng.pick(&["info.php", "about.php", "page.php"]) })
}

impl PageType for Lang {
    fn name(&self) -> &'static str {
        "lang"
    }
    fn forms(&self) -> u64 {
        2
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng) {
        let lang = page.entity % 3;
        url.seg(self.script).pair_n("id", page.entity / 3);
        if lang > 0 || coin.percent(50) {
            url.pair("lang", LANGS[lang as usize]);
        }
        if page.form == 1 {
            url.pair("mode", "full");
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        if url.path()[..] != [self.script] || !url.only(&["id", "lang", "mode"]) {
            return None;
        }
        let lang = LANGS.iter().position(|l| *l == url.get("lang").unwrap_or("en"))?;
        Some(url.num("id")? * 3 + lang as u64)
    }
    fn rules(&self) -> Vec<String> {
        vec![format!("/{}: lang matters; lang=en and mode=full are defaults", self.script)]
    }
}

/// `/viewtopic.php?f=3&t=41&start=2&vote=5`: four small unrelated integers, of which `vote` means
/// nothing and the others all matter; `start=0` may be left out.
struct SmallInt {
    script: &'static str,
    start: &'static str,
    vote: &'static str,
}

/// Values of the superfluous integer.
const VOTES: u64 = 8;

/// Draws a [`SmallInt`].
pub fn smallint(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(SmallInt {
        script: rng.pick(&["viewtopic.php", "thread.asp"]),
        start: rng.pick(&["start", "st"]),
        vote: rng.pick(&["vote", "style", "color"]),
    })
}

impl PageType for SmallInt {
    fn name(&self) -> &'static str {
        "smallint"
    }
    fn forms(&self) -> u64 {
        1 + VOTES
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng) {
        let e = page.entity;
        url.seg(self.script).pair_n("f", 1 + e % 7).pair_n("t", 1 + e / 7 % 60);
        if e >= 420 || coin.percent(30) {
            url.pair_n(self.start, e / 420);
        }
        if page.form > 0 {
            url.pair_n(self.vote, page.form);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        if url.path()[..] != [self.script] || !url.only(&["f", "t", self.start, self.vote]) {
            return None;
        }
        let start = if url.get(self.start).is_some() { url.num(self.start)? } else { 0 };
        Some(start * 420 + (url.num("t")?.checked_sub(1)?) * 7 + url.num("f")?.checked_sub(1)?)
    }
    fn rules(&self) -> Vec<String> {
        let SmallInt { script, start, vote } = self;
        vec![format!("/{script}: drop {vote}; f, t and {start} matter; {start}=0 is the default")]
    }
}
