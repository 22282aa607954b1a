//! Traps of state: what the URL does not show, and what holds for one tenant alone.

use super::super::kind::{Page, PageType, Urls};
use super::super::parts::Parts;
use super::super::rng::Rng;
use super::super::view::View;
use super::super::words;
use super::groups::{Groups, put_word, word_name};

/// `/my/settings?id=7`, `/my/inbox/amber7` and `/my/reply?to=17` ask to log in, beside
/// `/boards/show?id=7`, which does not. The page to log in is recorded under five labels.
struct Login {
    word: &'static str,
}

const RENDERINGS: u64 = 5;
/// URLs that a block adds to the page to log in, and boards of a block.
const CLOSED: u64 = 12;
const BOARDS: u64 = 6;
const REFS: [&str; 2] = ["nav", "footer"];

/// Draws a [`Login`].
pub(super) fn login(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Login { word: rng.pick(&["boards", "rooms", "groups.php"]) })
}

impl PageType for Login {
    fn name(&self) -> &'static str {
        "login-renderings"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn block(&self) -> Vec<Urls> {
        let boards = (0..BOARDS).map(|_| Urls::Each(1 + REFS.len() as u64));
        std::iter::once(Urls::Shared(CLOSED)).chain(boards).collect()
    }
    fn renderings(&self, entity: u64) -> u64 {
        if entity == 0 { RENDERINGS } else { 1 }
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let (block, forum) = (page.entity / (BOARDS + 1), page.entity % (BOARDS + 1));
        let n = page.form / 3 + 1;
        match (forum, page.form % 3) {
            (0, 0) => url.seg("my").seg("settings").pair_n("id", n),
            (0, 1) => url.seg("my").seg("inbox").seg(words::word(n)).add_n(n),
            (0, _) => url.seg("my").seg("reply").pair_n("to", n),
            (_, from) => {
                url.seg(self.word).seg("show").pair_n("id", block * BOARDS + forum);
                if from > 0 { url.pair("ref", REFS[from as usize - 1]) } else { url }
            }
        };
    }
    fn key(&self, url: &View) -> Option<u64> {
        match url.path()[..] {
            ["my", "settings" | "reply"] | ["my", "inbox", _] => Some(0),
            [first, "show"] if first == self.word && url.only(&["id", "ref"]) => {
                let forum = url.num("id")?.checked_sub(1)?;
                Some(forum / BOARDS * (BOARDS + 1) + forum % BOARDS + 1)
            }
            _ => None,
        }
    }
    fn rules(&self) -> Vec<String> {
        let closed = "/my/settings?id=*, /my/inbox/* and /my/reply?to=* are one page under five labels";
        vec![closed.to_owned(), format!("/{}/show: drop ref", self.word)]
    }
}

/// `/~amber/birch7.php?id=3`: `id` names the page of one tenant.
struct Tenant {
    /// The tenant whose pages have ids.
    own: u64,
    id: &'static str,
}

/// URLs of a page: without id, and with [`IDS`]. The first slot is the tenant for whom the id names
/// the page.
const PAGES: Groups =
    Groups(&[&[1, 1, 1, 1], &[4], &[4], &[4], &[4], &[4], &[4], &[4], &[4], &[4], &[4], &[4], &[4], &[4], &[4], &[4]]);
/// Ids with which a page is met.
const IDS: u64 = 3;

/// Draws a [`Tenant`].
pub(super) fn tenant(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Tenant { own: rng.below(words::COUNT), id: rng.pick(&["id", "item", "no"]) })
}

impl PageType for Tenant {
    fn name(&self) -> &'static str {
        "tenant-parameter"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn block(&self) -> Vec<Urls> {
        PAGES.pages()
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let group = PAGES.group(page.entity);
        url.seg("~").add(words::word(self.own + group.slot as u64)).seg("");
        put_word(group.block, url);
        url.add(".php");
        let nth = group.first + page.form;
        if nth > 0 {
            url.pair_n(self.id, group.block % 20 * IDS + nth);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let [tenant, page] = url.path()[..] else { return None };
        let tenant = words::index(tenant.strip_prefix('~')?)?;
        let slot = (tenant + words::COUNT - self.own) % words::COUNT;
        let block = word_name(page.strip_suffix(".php")?)?;
        if slot >= PAGES.0.len() as u64 || !url.only(&[self.id]) {
            return None;
        }
        let nth = match url.get(self.id) {
            Some(_) => url.num(self.id)?.checked_sub(block % 20 * IDS).filter(|nth| (1..=IDS).contains(nth))?,
            None => 0,
        };
        PAGES.entity(block, slot as usize, if slot == 0 { nth } else { 0 })
    }
    fn rules(&self) -> Vec<String> {
        vec![format!("/~*/: drop {0}, but for /~{1}/, where {0} matters", self.id, words::word(self.own))]
    }
}
