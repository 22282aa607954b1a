//! Traps of copies: versions of a page that are equal until the page changes.

use super::super::kind::{Page, PageType, Urls};
use super::super::parts::Parts;
use super::super::rng::Rng;
use super::super::view::View;
use super::groups::{Groups, put_word, word_name};

/// `/notes/amber7?rev=3`: revision 5 may be left out.
struct Revisions {
    word: &'static str,
    revision: &'static str,
}

/// Revisions of a page.
const LAST: u64 = 5;
/// URLs of a page: its revisions, then no revision. Most pages never change, the others once.
const NOTES: Groups = Groups(&[&[6], &[6], &[6], &[6], &[6], &[6], &[6], &[6], &[6], &[1, 5], &[2, 4], &[4, 2]]);

/// Draws a [`Revisions`].
pub(super) fn revisions(rng: &mut Rng) -> Box<dyn PageType> {
    let revision = rng.pick(&["rev", "revision", "version"]);
    Box::new(Revisions { word: rng.pick(&["notes", "minutes", "drafts"]), revision })
}

impl PageType for Revisions {
    fn name(&self) -> &'static str {
        "revisions"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn block(&self) -> Vec<Urls> {
        NOTES.pages()
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let note = NOTES.group(page.entity);
        url.seg(self.word).seg("");
        put_word(NOTES.name(note), url);
        let nth = note.first + page.form;
        if nth < LAST {
            url.pair_n(self.revision, nth + 1);
        }
    }
    fn key(&self, url: &View) -> Option<u64> {
        let [first, note] = url.path()[..] else { return None };
        if first != self.word || !url.only(&[self.revision]) {
            return None;
        }
        let (block, slot) = NOTES.place(word_name(note)?);
        let revision = if url.get(self.revision).is_some() { url.num(self.revision)? } else { LAST };
        NOTES.entity(block, slot, revision.checked_sub(1).filter(|nth| *nth < LAST)?)
    }
    fn rules(&self) -> Vec<String> {
        let Revisions { word, revision } = self;
        vec![format!("/{word}/N: {revision}={LAST} is the default; {revision} matters where N has changed")]
    }
}

/// `/1.0/guide/amber7.html`, `/1.1/guide/amber7.html`, `/latest/guide/amber7.html`.
struct Releases {
    word: &'static str,
    latest: &'static str,
}

const RELEASES: [&str; 5] = ["1.0", "1.1", "1.2", "2.0", "2.1"];
/// URLs of a page: its releases, then the latest one. Most pages never change, some once or twice,
/// one at each release.
const GUIDES: Groups =
    Groups(&[&[6], &[6], &[6], &[6], &[6], &[6], &[6], &[6], &[3, 3], &[1, 5], &[1, 2, 3], &[1, 1, 1, 1, 2]]);

/// Draws a [`Releases`].
pub(super) fn releases(rng: &mut Rng) -> Box<dyn PageType> {
    let latest = rng.pick(&["latest", "current", "stable"]);
    Box::new(Releases { word: rng.pick(&["guide", "reference", "api"]), latest })
}

impl PageType for Releases {
    fn name(&self) -> &'static str {
        "releases"
    }
    fn forms(&self) -> u64 {
        1
    }
    fn block(&self) -> Vec<Urls> {
        GUIDES.pages()
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _coin: &mut Rng) {
        let guide = GUIDES.group(page.entity);
        let nth = guide.first + page.form;
        url.seg(RELEASES.get(nth as usize).unwrap_or(&self.latest)).seg(self.word).seg("");
        put_word(GUIDES.name(guide), url);
        url.add(".html");
    }
    fn key(&self, url: &View) -> Option<u64> {
        let [release, word, guide] = url.path()[..] else { return None };
        if word != self.word || !url.pairs.is_empty() {
            return None;
        }
        let (block, slot) = GUIDES.place(word_name(guide.strip_suffix(".html")?)?);
        let release = if release == self.latest { "2.1" } else { release };
        GUIDES.entity(block, slot, RELEASES.iter().position(|of| *of == release)? as u64)
    }
    fn rules(&self) -> Vec<String> {
        let Releases { word, latest } = self;
        vec![format!("/{latest}/{word}/P -> /2.1/{word}/P; the release matters where P has changed")]
    }
}
