//! Page types that carry one id in several places: path, query, sub-domain (WWW10, section 5.2 and Fig.
//! 4; DustBuster, section 1), and one whose second id no URL tells (SIGIR 2017, table 3, case 5).

use super::kind::{Page, PageType};
use super::parts::Parts;
use super::rng::{Rng, mix, scramble24};
use super::view::View;
use super::words;

/// `/product/two-words/123`, `/product.php?pid=123[&cat=amber]`, and any other slug (WWW10, 5.2.1 and
/// 5.2.2).
struct Product {
    word: &'static str,
    key: &'static str,
}

/// Wrong slugs a page is linked under.
const WRONG_SLUGS: u64 = 6;

/// Draws a [`Product`].
pub fn product(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Product { word: rng.pick(&["product", "shop", "goods"]), key: rng.pick(&["pid", "product_id"]) })
}

impl PageType for Product {
    fn name(&self) -> &'static str {
        "product"
    }
    fn forms(&self) -> u64 {
        3 + WRONG_SLUGS
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let e = page.entity;
        match page.form {
            0 => url.seg(self.word).seg_slug(e, 2).seg_n(e),
            1 => url.seg(self.word).add(".php").pair_n(self.key, e).pair("cat", words::word(e % 17)),
            2 => url.seg(self.word).add(".php").pair_n(self.key, e),
            // One word where the right slug has two, and another word each: never alike.
            wrong => url.seg(self.word).seg(words::word(mix(e) % words::COUNT + wrong)).seg_n(e),
        };
    }
    fn key(&self, url: &View) -> Option<u64> {
        match url.path()[..] {
            [word, _slug, n] if word == self.word && url.pairs.is_empty() => n.parse().ok(),
            [script] if script.strip_suffix(".php") == Some(self.word) && url.only(&[self.key, "cat"]) => {
                url.num(self.key)
            }
            _ => None,
        }
    }
    fn rules(&self) -> Vec<String> {
        let Product { word, key } = self;
        vec![format!("/{word}.php?{key}=N[&cat=C] and /{word}/ANY/N -> /{word}/slug/N")]
    }
}

/// Fig. 4 of WWW10: `/archive0/10/display?sid=9f01c2` and `/archive3/display.php?pageid=10&sid=e03b11`.
/// The archive is a mirror, `sid` a session, `pageid` the page.
struct Archive {
    word: &'static str,
    view: &'static str,
}

/// Draws an [`Archive`].
pub fn archive(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Archive { word: rng.pick(&["archive", "store", "arc"]), view: rng.pick(&["display", "view", "show"]) })
}

impl PageType for Archive {
    fn name(&self) -> &'static str {
        "archive"
    }
    fn forms(&self) -> u64 {
        8
    }
    fn has_free_value(&self) -> bool {
        true
    }
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng) {
        url.seg(self.word).add_n(page.form / 2);
        if page.form.is_multiple_of(2) {
            url.seg_n(page.entity).seg(self.view);
        } else {
            url.seg(self.view).add(".php").pair_n("pageid", page.entity);
        }
        if page.free || coin.percent(55) {
            url.pair_with("sid", |out| words::hex(scramble24(page.serial), 6, out));
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let is_archive = |seg: &str| seg.strip_prefix(self.word).is_some_and(|n| n.parse::<u8>().is_ok_and(|n| n < 4));
        match url.path()[..] {
            [arc, n, view] if is_archive(arc) && view == self.view && url.only(&["sid"]) => n.parse().ok(),
            [arc, script] if is_archive(arc) && script.strip_suffix(".php") == Some(self.view) => {
                url.num("pageid").filter(|_| url.only(&["pageid", "sid"]))
            }
            _ => None,
        }
    }
    fn rules(&self) -> Vec<String> {
        let Archive { word, view } = self;
        vec![format!("/{word}*/{view}.php?pageid=N&sid=* -> /{word}*/N/{view}; {word}N is a mirror, sid superfluous")]
    }
}

/// `/srv2/node/2` and `/node.php?srv=2&n=2`: the same small numbers name a server, which means nothing,
/// and a page (WWW10, 5.2.2: the mapping that must not become a replace).
struct Versions {
    server: &'static str,
    word: &'static str,
}

/// Draws a [`Versions`].
pub fn versions(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Versions { server: rng.pick(&["srv", "node", "web"]), word: rng.pick(&["part", "chapter", "lot"]) })
}

impl PageType for Versions {
    fn name(&self) -> &'static str {
        "versions"
    }
    fn forms(&self) -> u64 {
        10
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let server = page.form / 2 + 1;
        if page.form.is_multiple_of(2) {
            url.seg(self.server).add_n(server).seg(self.word).seg_n(page.entity);
        } else {
            url.seg(self.word).add(".php").pair_n(self.server, server).pair_n("n", page.entity);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        match url.path()[..] {
            [server, word, n] if word == self.word && url.pairs.is_empty() => {
                server.strip_prefix(self.server)?.parse::<u64>().ok()?;
                n.parse().ok()
            }
            [script] if script.strip_suffix(".php") == Some(self.word) && url.only(&[self.server, "n"]) => url.num("n"),
            _ => None,
        }
    }
    fn rules(&self) -> Vec<String> {
        let Versions { server, word } = self;
        vec![format!("/{word}.php?{server}=*&n=N -> /{server}*/{word}/N; {server} is superfluous")]
    }
}

/// `/money/2007/123` and `http://money.HOST/2007/123` (DustBuster, section 1: `google.com/news` and
/// `news.google.com`). Sections share ids, so one section is no duplicate of another (DustBuster,
/// section 4).
struct Sub {
    sections: [&'static str; 3],
}

/// Draws a [`Sub`].
pub fn sub(rng: &mut Rng) -> Box<dyn PageType> {
    let mut all = ["money", "sports", "travel", "health", "tech", "movies"];
    rng.shuffle(&mut all);
    Box::new(Sub { sections: [all[0], all[1], all[2]] })
}

impl PageType for Sub {
    fn name(&self) -> &'static str {
        "sub"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn own_host_forms(&self) -> u64 {
        1
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let section = self.sections[(page.entity % 3) as usize];
        let n = page.entity / 3;
        if page.form == 0 {
            url.seg(section);
        } else {
            url.on_host(section);
        }
        url.seg("20").add_n(10 + n % 10).seg_n(n);
    }
    fn key(&self, url: &View) -> Option<u64> {
        let (section, year, n) = match (&url.host, &url.path()[..]) {
            (None, [section, year, n]) => (*section, *year, *n),
            (Some(host), [year, n]) => (host.as_str(), *year, *n),
            _ => return None,
        };
        let section = self.sections.iter().position(|s| *s == section)? as u64;
        let n: u64 = n.parse().ok()?;
        let right = url.pairs.is_empty() && year.parse() == Ok(2010 + n % 10);
        right.then_some(n * 3 + section)
    }
    fn rules(&self) -> Vec<String> {
        self.sections.iter().map(|s| format!("{s}.HOST/X -> HOST/{s}/X")).collect()
    }
}

/// `/t/10135.aspx` and `/t/prev/10150`: which page comes before another stands in a database (SIGIR
/// 2017, section 3.4). Nothing about it can be learned but to leave it alone.
struct DbMap;

/// Draws a [`DbMap`].
pub fn dbmap(_rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(DbMap)
}

impl PageType for DbMap {
    fn name(&self) -> &'static str {
        "dbmap"
    }
    fn forms(&self) -> u64 {
        2
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let id = page.entity * 37 + 11;
        match page.form {
            0 => url.seg("t").seg_n(id).add(".aspx"),
            _ => url.seg("t").seg("prev").seg_n(id + 1 + mix(page.entity) % 36),
        };
    }
    fn key(&self, url: &View) -> Option<u64> {
        let id: u64 = match url.path()[..] {
            _ if !url.pairs.is_empty() => return None,
            ["t", page] => page.strip_suffix(".aspx")?.parse().ok()?,
            ["t", "prev", id] => id.parse().ok()?,
            _ => return None,
        };
        Some(id.checked_sub(11)? / 37)
    }
    fn rules(&self) -> Vec<String> {
        Vec::new()
    }
}
