//! Traps of lists and searches: parameters whose effect depends on how many items there are.

use super::super::kind::{Page, PageType, Urls};
use super::super::parts::Parts;
use super::super::rng::{Rng, mix};
use super::super::view::View;
use super::super::words;
use super::groups::{Groups, put_word, word_name};

/// `/labels/amber?limit=25`: all limits show a short list whole.
struct Limit {
    word: &'static str,
    limit: &'static str,
}

/// Limits by number of the URL; the first is the default, which may be left out.
const LIMITS: [u64; 4] = [10, 25, 50, 100];
/// URLs of a list: no limit, then [`LIMITS`]. Lists of up to 10 items, of up to 25, of up to 50,
/// and longer ones.
const LISTS: Groups = Groups(&[&[5], &[5], &[5], &[5], &[5], &[5], &[5], &[2, 3], &[2, 1, 2], &[2, 1, 1, 1]]);

/// Draws a [`Limit`].
pub(super) fn limit(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Limit {
        word: rng.pick(&["labels", "shelves", "topics"]),
        limit: rng.pick(&["limit", "per_page", "rows"]),
    })
}

impl PageType for Limit {
    fn name(&self) -> &'static str {
        "limit"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn block(&self) -> Vec<Urls> {
        LISTS.pages()
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let list = LISTS.group(page.entity);
        url.seg(self.word).seg("");
        put_word(LISTS.name(list), url);
        let nth = list.first + page.form;
        if nth > 0 {
            url.pair_n(self.limit, LIMITS[nth as usize - 1]);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let [first, list] = url.path()[..] else { return None };
        if first != self.word || !url.only(&[self.limit]) {
            return None;
        }
        let (block, slot) = LISTS.place(word_name(list)?);
        let limit = if url.get(self.limit).is_some() { url.num(self.limit)? } else { 10 };
        // The first limit that shows as many items, as a URL of its page.
        let items = [7, 7, 7, 7, 7, 7, 7, 18, 40, 500][slot];
        let shown = limit.min(items);
        let nth = LIMITS.iter().position(|of| (*of).min(items) == shown).filter(|_| LIMITS.contains(&limit))?;
        LISTS.entity(block, slot, nth as u64 + 1)
    }
    fn rules(&self) -> Vec<String> {
        let Limit { word, limit } = self;
        vec![format!("/{word}/L: {limit}=10 is the default; {limit} matters where L has more than 10 items")]
    }
}

/// `/album/amber?start=30&order=name`: each start is a page, but starts beyond the last show the
/// first, and so does any URL with an order, which sites keep in the session before they redirect
/// to the first page.
struct Beyond {
    word: &'static str,
    start: &'static str,
    order: &'static str,
}

/// Items a page.
const STEP: u64 = 15;
/// Starts beyond the last page that are met for each list.
const OUTSIDE: u64 = 3;
const ORDERS: [&str; 2] = ["name", "date"];
/// Starts that are met with an order: none, 0, 15, 30.
const RESET: u64 = 4;
/// URLs of the first page: no start, 0, beyond the last page, with an order.
const FIRST: u64 = 2 + OUTSIDE + RESET * ORDERS.len() as u64;
/// URLs of a list of 2 to 5 pages: the first page, then each other page.
const ALBUMS: Groups = Groups(&[&[FIRST, 1], &[FIRST, 1, 1], &[FIRST, 1, 1, 1], &[FIRST, 1, 1, 1, 1]]);

/// Draws a [`Beyond`].
pub(super) fn beyond(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Beyond {
        word: rng.pick(&["album", "gallery.php", "pictures"]),
        start: rng.pick(&["start", "offset", "from"]),
        order: rng.pick(&["order", "image_order", "sort"]),
    })
}

impl PageType for Beyond {
    fn name(&self) -> &'static str {
        "beyond"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn block(&self) -> Vec<Urls> {
        ALBUMS.pages()
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng) {
        let album = ALBUMS.group(page.entity);
        url.seg(self.word).seg("");
        put_word(ALBUMS.name(album), url);
        let (pages, nth) = (album.slot as u64 + 2, album.first + page.form);
        let (start, order) = match nth {
            0 => (None, None),
            1 => (Some(0), None),
            _ if nth < 2 + OUTSIDE => (Some(pages + nth - 2), None),
            _ if nth < FIRST => {
                let nth = nth - 2 - OUTSIDE;
                ((nth % RESET).checked_sub(1), Some(ORDERS[(nth / RESET) as usize]))
            }
            _ => (Some(nth - FIRST + 1), None),
        };
        if let Some(start) = start {
            url.pair_n(self.start, start * STEP);
        }
        if let Some(order) = order {
            url.pair(self.order, order);
        }
        if coin.percent(25) {
            url.shuffle(coin);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let [first, album] = url.path()[..] else { return None };
        if first != self.word || !url.only(&[self.start, self.order]) {
            return None;
        }
        let (block, slot) = ALBUMS.place(word_name(album)?);
        let pages = slot as u64 + 2;
        let start = if url.get(self.start).is_some() { url.num(self.start)? } else { 0 };
        if !start.is_multiple_of(STEP) {
            return None;
        }
        let known = url.get(self.order).is_none_or(|order| ORDERS.contains(&order));
        let first = url.get(self.order).is_some() || start == 0 || start >= pages * STEP;
        let nth = if first { 0 } else { FIRST + start / STEP - 1 };
        ALBUMS.entity(block, slot, nth).filter(|_| known)
    }
    fn rules(&self) -> Vec<String> {
        let Beyond { word, start, order } = self;
        vec![
            format!("/{word}/A: {start} matters up to the last page of A; {start}=0 and beyond it are the first page"),
            format!("/{word}/A with {order} is the first page, whatever {start} says"),
        ]
    }
}

/// `/lookup?q=amber+anchor`: a third of the word pairs has hits.
struct Empty {
    word: &'static str,
    words: &'static str,
}

/// Searches with hits of a block, and the searches without any that it adds to the one empty page.
const HITS: u64 = 6;
const MISSES: u64 = 12;
const REFS: [&str; 2] = ["nav", "footer"];

/// Draws an [`Empty`].
pub(super) fn empty(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Empty { word: rng.pick(&["lookup", "finder", "seek"]), words: rng.pick(&["q", "words", "terms"]) })
}

impl PageType for Empty {
    fn name(&self) -> &'static str {
        "empty"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn block(&self) -> Vec<Urls> {
        let hits = (0..HITS).map(|_| Urls::Each(1 + REFS.len() as u64));
        std::iter::once(Urls::Shared(MISSES)).chain(hits).collect()
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng) {
        let (block, hit) = (page.entity / (HITS + 1), page.entity % (HITS + 1));
        // Pairs whose number is a multiple of 3 have hits. There are 64 words, 1 modulo 3, so that
        // neither word alone decides.
        let (pair, from) = match hit {
            0 => (page.form / 2 * 3 + 1 + page.form % 2, mix(page.form) % (1 + REFS.len() as u64)),
            _ => ((block * HITS + hit - 1) * 3, page.form),
        };
        url.seg(self.word).pair_with(self.words, |out| {
            out.extend_from_slice(words::word(pair).as_bytes());
            out.push(b'+');
            out.extend_from_slice(words::word(pair / words::COUNT).as_bytes());
            let number = pair / words::COUNT / words::COUNT;
            if number > 0 {
                words::number(number, out);
            }
        });
        if from > 0 {
            url.pair("ref", REFS[from as usize - 1]);
        }
        if coin.percent(25) {
            url.shuffle(coin);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        if url.path()[..] != [self.word] || !url.only(&[self.words, "ref"]) {
            return None;
        }
        let (a, b) = url.get(self.words)?.split_once('+')?;
        let pair = word_name(b)? * words::COUNT + words::index(a)?;
        let hit = pair / 3;
        Some(if pair.is_multiple_of(3) { hit / HITS * (HITS + 1) + hit % HITS + 1 } else { 0 })
    }
    fn rules(&self) -> Vec<String> {
        let Empty { word, words } = self;
        vec![format!("/{word}: drop ref; {words} matters where it has hits, all without hits are one page")]
    }
}
