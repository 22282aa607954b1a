//! Page types without duplicates of their own whose URLs look like duplicates: the evidence against
//! rules (DustBuster, sections 2 and 4).

use super::kind::{Page, PageType};
use super::parts::Parts;
use super::rng::Rng;
use super::view::View;
use super::words;

/// `/users/5`, `/groups/5`, `/show?type=users&id=5`: six pages with one id.
struct Look {
    sections: [&'static str; 3],
}

/// Draws a [`Look`].
pub fn look(rng: &mut Rng) -> Box<dyn PageType> {
    let mut all = ["users", "groups", "gallery", "events", "albums"];
    rng.shuffle(&mut all);
    Box::new(Look { sections: [all[0], all[1], all[2]] })
}

impl PageType for Look {
    fn name(&self) -> &'static str {
        "look"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let section = self.sections[(page.entity % 3) as usize];
        let n = page.entity / 6;
        if (page.entity / 3).is_multiple_of(2) {
            url.seg(section).seg_n(n);
        } else {
            url.seg("show").pair("type", section).pair_n("id", n);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let (section, shape, n) = match url.path()[..] {
            [section, n] if url.pairs.is_empty() => (section, 0, n.parse().ok()?),
            ["show"] if url.only(&["type", "id"]) => (url.get("type")?, 1, url.num("id")?),
            _ => return None,
        };
        let section = self.sections.iter().position(|s| *s == section)? as u64;
        Some((n * 2 + shape) * 3 + section)
    }
    fn rules(&self) -> Vec<String> {
        Vec::new()
    }
}

/// `/courses/amber/lect1.ps`, `lect2.ps`: numbered items of one folder.
struct Lecture {
    word: &'static str,
}

/// Items of a folder.
const ITEMS: u64 = 24;

/// Draws a [`Lecture`].
pub fn lecture(rng: &mut Rng) -> Box<dyn PageType> {
    Box::new(Lecture { word: rng.pick(&["courses", "classes", "seminars"]) })
}

impl PageType for Lecture {
    fn name(&self) -> &'static str {
        "lecture"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let (course, item) = (page.entity / ITEMS, page.entity % ITEMS);
        url.seg(self.word).seg(words::word(course)).add_n(course / words::COUNT);
        url.seg("lect").add_n(item + 1).add(".ps");
    }
    fn key(&self, url: &View) -> Option<u64> {
        let [first, course, item] = url.path()[..] else { return None };
        let (word, number) = words::numbered(course)?;
        let item: u64 = item.strip_prefix("lect")?.strip_suffix(".ps")?.parse().ok()?;
        let right = first == self.word && url.pairs.is_empty() && (1..=ITEMS).contains(&item);
        right.then_some((number * words::COUNT + word) * ITEMS + item - 1)
    }
    fn rules(&self) -> Vec<String> {
        Vec::new()
    }
}
