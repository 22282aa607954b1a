//! Page types of lists and forms: parameters that are superfluous, have a default, or come in any order
//! (SIGIR 2017, section 1; catalogue: sorting the variables, default and empty-valued variables).

use super::kind::{Page, PageType};
use super::parts::Parts;
use super::rng::Rng;
use super::view::View;
use super::words;

/// `/category/amber?page=2&sort=date&view=grid`: the page matters and 1 may be left out, sort and view
/// do not.
struct List {
    word: &'static str,
    page: &'static str,
    sort: &'static str,
    view: &'static str,
}

/// Pages a category has.
const PAGES: u64 = 9;
const SORTS: [&str; 4] = ["date", "name", "price", "top"];
const VIEWS: [&str; 2] = ["list", "grid"];

/// Draws a [`List`].
pub fn list(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(List {
        word: rng.pick(&["category", "forum", "tags", "browse"]),
        page: rng.pick(&["page", "p", "pg"]),
        sort: rng.pick(&["sort", "order", "sortby"]),
        view: rng.pick(&["view", "layout", "mode"]),
    })
}

impl PageType for List {
    fn name(&self) -> &'static str {
        "list"
    }
    fn forms(&self) -> u64 {
        (1 + SORTS.len() as u64) * (1 + VIEWS.len() as u64)
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng) {
        let (name, number) = (page.entity / PAGES, page.entity % PAGES);
        url.seg(self.word).seg(words::word(name));
        if name >= words::COUNT {
            url.add_n(name / words::COUNT);
        }
        if number > 0 || coin.percent(25) {
            url.pair_n(self.page, number + 1);
        }
        let (sort, view) = (page.form % 5, page.form / 5);
        if sort > 0 {
            url.pair(self.sort, SORTS[sort as usize - 1]);
        }
        if view > 0 {
            url.pair(self.view, VIEWS[view as usize - 1]);
        }
        if coin.percent(25) {
            url.shuffle(coin);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let [first, name] = url.path()[..] else { return None };
        if first != self.word || !url.only(&[self.page, self.sort, self.view]) {
            return None;
        }
        let (word, number) = words::numbered(name)?;
        let page = if url.get(self.page).is_some() { url.num(self.page)? } else { 1 };
        Some((number * words::COUNT + word) * PAGES + page.checked_sub(1)?)
    }
    fn rules(&self) -> Vec<String> {
        let List { word, page, sort, view } = self;
        vec![format!("/{word}/C: drop {sort} and {view}; {page} matters, {page}=1 is the default; any order")]
    }
}

/// `/search?q=amber+anchor&lang=de&ref=nav`: the language matters and `en` may be left out, `ref` does
/// not, `+` is `%20`, any order.
struct Search {
    word: &'static str,
    lang: &'static str,
}

const LANGS: [&str; 4] = ["en", "de", "fr", "es"];
const REFS: [&str; 3] = ["home", "nav", "footer"];

/// Draws a [`Search`].
pub fn search(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Search { word: rng.pick(&["search", "find", "query"]), lang: rng.pick(&["lang", "hl", "locale"]) })
}

impl PageType for Search {
    fn name(&self) -> &'static str {
        "search"
    }
    fn forms(&self) -> u64 {
        2 * (1 + REFS.len() as u64)
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng) {
        let (term, lang) = (page.entity / 4, page.entity % 4);
        let space: &[u8] = if page.form.is_multiple_of(2) { b"+" } else { b"%20" };
        url.seg(self.word).pair_with("q", |out| {
            out.extend_from_slice(words::word(term).as_bytes());
            out.extend_from_slice(space);
            out.extend_from_slice(words::word(term / words::COUNT).as_bytes());
            if term / words::COUNT >= words::COUNT {
                words::number(term / words::COUNT / words::COUNT, out);
            }
        });
        if lang > 0 || coin.percent(50) {
            url.pair(self.lang, LANGS[lang as usize]);
        }
        if page.form >= 2 {
            url.pair("ref", REFS[page.form as usize / 2 - 1]);
        }
        if coin.percent(50) {
            url.shuffle(coin);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        if url.path()[..] != [self.word] || !url.only(&["q", self.lang, "ref"]) {
            return None;
        }
        let term = url.get("q")?.replace("%20", "+");
        let (a, b) = term.split_once('+')?;
        let (b, n) = words::numbered(b)?;
        let term = (n * words::COUNT + b) * words::COUNT + words::index(a)?;
        let lang = LANGS.iter().position(|l| *l == url.get(self.lang).unwrap_or("en"))?;
        Some(term * 4 + lang as u64)
    }
    fn rules(&self) -> Vec<String> {
        let Search { word, lang } = self;
        vec![format!("/{word}: {lang} matters, {lang}=en is the default; drop ref; + is %20; any order")]
    }
}

/// `/report.php?year=2012&dept=amber&id=7` in all six orders; every parameter matters.
struct Order {
    script: &'static str,
}

/// Draws an [`Order`].
pub fn order(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Order { script: rng.pick(&["report.php", "record.cgi", "get.jsp"]) })
}

impl PageType for Order {
    fn name(&self) -> &'static str {
        "order"
    }
    fn forms(&self) -> u64 {
        6
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let e = page.entity;
        url.seg(self.script).pair_n("year", 2005 + e % 10);
        url.pair("dept", words::word(e / 10 % 16)).pair_n("id", e / 160);
        url.order3(page.form);
    }
    fn key(&self, url: &View) -> Option<u64> {
        if url.path()[..] != [self.script] || url.pairs.len() != 3 {
            return None;
        }
        let year = url.num("year")?.checked_sub(2005)?;
        Some((url.num("id")? * 16 + words::index(url.get("dept")?)?) * 10 + year)
    }
    fn rules(&self) -> Vec<String> {
        vec![format!("/{}: year, dept and id matter, in any order", self.script)]
    }
}

/// `/calendar.php?day=17&scale=month&filter=`: a default value and an empty one that may be left out;
/// `scale=week` is another page.
struct Defaults {
    script: &'static str,
    scale: &'static str,
}

/// Draws a [`Defaults`].
pub fn defaults(rng: &mut Rng) -> Box<dyn PageType> {
    let script = rng.pick(&["calendar.php", "agenda.asp", "diary.cgi"]);
    Box::new(Defaults { script, scale: rng.pick(&["scale", "span", "zoom"]) })
}

impl PageType for Defaults {
    fn name(&self) -> &'static str {
        "defaults"
    }
    fn forms(&self) -> u64 {
        // The default scale written out or not is the coin's: only half of the pages have it.
        2
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng) {
        url.seg(self.script).pair_n("day", page.entity / 2);
        if page.entity % 2 == 1 {
            url.pair(self.scale, "week");
        } else if coin.percent(50) {
            url.pair(self.scale, "month");
        }
        if page.form == 1 {
            url.pair("filter", "");
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        if url.path()[..] != [self.script] || !url.only(&["day", self.scale, "filter"]) {
            return None;
        }
        let week = match url.get(self.scale) {
            None | Some("month") => 0,
            Some("week") => 1,
            Some(_) => return None,
        };
        (url.get("filter").unwrap_or("").is_empty()).then_some(url.num("day")? * 2 + week)
    }
    fn rules(&self) -> Vec<String> {
        let Defaults { script, scale } = self;
        vec![format!("/{script}: {scale}=month is the default, {scale}=week is another page; drop an empty filter")]
    }
}
