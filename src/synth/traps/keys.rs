//! Traps of parameters without `=`: names of parameters that are values.

use super::super::kind::{Page, PageType, Urls};
use super::super::parts::Parts;
use super::super::rng::{Rng, scramble24};
use super::super::view::View;
use super::super::words;
use super::groups::{Groups, put_word, word_name, word_to};

/// `/photos.php?/category/14/start-30`, `/viewer?amber7` and `/thumbs/amber7.png?a1b2c3`: the
/// parameter names the page, names the page, does nothing. `&print` does nothing either, and `&order=3`
/// leads to the first page of the category.
struct Keys {
    gallery: &'static str,
    viewer: &'static str,
    print: &'static str,
    order: &'static str,
}

/// URLs of a category: the first page (no start and 0, with and without `print`; with an order and each
/// start), then two more pages with and without `print`.
const CATEGORY: &[u64] = &[7, 2, 2];
/// Views with and without `print`.
const VIEW: &[u64] = &[2];
/// Thumbnails without and with stamps.
const THUMB: &[u64] = &[4];
const NAMES: Groups =
    Groups(&[CATEGORY, CATEGORY, CATEGORY, CATEGORY, VIEW, VIEW, VIEW, VIEW, VIEW, VIEW, THUMB, THUMB, THUMB, THUMB]);
/// Slots of categories, which come first.
const CATEGORIES: usize = 4;
/// Slots before those of thumbnails.
const VIEWS: usize = 10;
/// Items a page.
const STEP: u64 = 15;
/// Start (0 for none, else a page), `print` and order of each URL of a category.
const FORMS: [(u64, bool, bool); 11] = [
    (0, false, false),
    (1, false, false),
    (0, true, false),
    (1, true, false),
    (0, false, true),
    (2, false, true),
    (3, false, true),
    (2, false, false),
    (2, true, false),
    (3, false, false),
    (3, true, false),
];

/// Draws a [`Keys`].
pub(super) fn keys(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Keys {
        gallery: rng.pick(&["photos.php", "gallery.cgi", "media"]),
        viewer: rng.pick(&["viewer", "display.php", "peek"]),
        print: rng.pick(&["print", "mobile", "plain"]),
        order: rng.pick(&["order", "image_order", "sort"]),
    })
}

impl PageType for Keys {
    fn name(&self) -> &'static str {
        "keys-are-values"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn block(&self) -> Vec<Urls> {
        NAMES.pages()
    }
    fn has_bare_keys(&self) -> bool {
        true
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, coin: &mut Rng) {
        let group = NAMES.group(page.entity);
        let (name, nth) = (NAMES.name(group), group.first + page.form);
        if group.slot < CATEGORIES {
            let (start, print, order) = FORMS[nth as usize];
            url.seg(self.gallery).bare(|out| {
                out.extend_from_slice(b"/category/");
                words::number(name, out);
                if start > 0 {
                    out.extend_from_slice(b"/start-");
                    words::number((start - 1) * STEP, out);
                }
            });
            if print {
                url.bare(|out| out.extend_from_slice(self.print.as_bytes()));
            }
            if order {
                url.pair_n(self.order, coin.below(10));
            }
        } else if group.slot < VIEWS {
            url.seg(self.viewer).bare(|out| word_to(name, out));
            if nth > 0 {
                url.bare(|out| out.extend_from_slice(self.print.as_bytes()));
            }
        } else {
            url.seg("thumbs").seg("");
            put_word(name, url);
            url.add(".png");
            if nth > 0 {
                url.bare(|out| words::hex(scramble24(name * 4 + nth), 6, out));
            }
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let bare: Vec<&str> = url.bare.iter().map(String::as_str).collect();
        let (page, flags) = bare.split_first().map_or((None, &[][..]), |(page, flags)| (Some(*page), flags));
        if !url.only(&[self.order]) || !matches!(flags, []) && flags != [self.print] {
            return None;
        }
        let order = url.get(self.order).is_some();
        let (name, nth, kind) = match url.path()[..] {
            [first] if first == self.gallery => {
                let mut parts = page?.strip_prefix("/category/")?.split("/start-");
                let name = parts.next()?.parse().ok()?;
                let start: u64 = parts.next().map_or(Some(0), |start| start.parse().ok())?;
                let nth = [0, 7, 9].get((start / STEP) as usize).copied()?;
                (name, if order { 0 } else { nth }, 0)
            }
            [first] if first == self.viewer && !order => (word_name(page?)?, 0, 1),
            ["thumbs", thumb] if flags.is_empty() && !order => (word_name(thumb.strip_suffix(".png")?)?, 0, 2),
            _ => return None,
        };
        let (block, slot) = NAMES.place(name);
        let is = usize::from(slot >= CATEGORIES) + usize::from(slot >= VIEWS);
        NAMES.entity(block, slot, nth).filter(|_| is == kind)
    }
    fn rules(&self) -> Vec<String> {
        let Keys { gallery, viewer, print, order } = self;
        vec![
            format!("/{gallery}?/category/N/start-S: N and S matter, start-0 is the default; drop {print}"),
            format!("/{gallery}?/category/N/start-S with {order} is the first page of N, whatever S says"),
            format!("/{viewer}?NAME: NAME matters; drop {print}"),
            "/thumbs/NAME.png: drop the stamp".to_owned(),
        ]
    }
}
