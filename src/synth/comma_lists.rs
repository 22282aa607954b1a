//! Page types whose query begins with a list: `topic.php?3,17,view=print`.

use super::kind::{Page, PageType};
use super::parts::Parts;
use super::rng::Rng;
use super::shapes::{Shape, is_at, view};
use super::view::View;
use super::words;

/// A page type whose parameters have no `=`.
struct Lists(Shape);

impl PageType for Lists {
    fn name(&self) -> &'static str {
        self.0.name
    }
    fn forms(&self) -> u64 {
        self.0.forms
    }
    fn has_bare_keys(&self) -> bool {
        true
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _: &mut Rng) {
        (self.0.write)(page, url);
    }
    fn key(&self, url: &View) -> Option<u64> {
        (self.0.key)(url)
    }
    fn rules(&self) -> Vec<String> {
        vec![self.0.rule.to_owned()]
    }
}

pub(super) fn lists(_: &mut Rng) -> Box<dyn PageType> {
    Box::new(Lists(COMMA_LISTS))
}

pub(super) fn lists_matter(_: &mut Rng) -> Box<dyn PageType> {
    Box::new(Lists(COMMA_LISTS_MATTER))
}

const COMMA_LISTS: Shape = Shape {
    name: "comma-lists",
    forms: 4,
    write: |page, url| {
        let named: [&[u8]; 4] = [b"", b",view=print", b",page=1", b",view=print,page=1"];
        list(url, "topic.php", [page.entity % 7, page.entity], named[page.form as usize % 4]);
    },
    key: |url| numbers(url, "topic.php").map(|[_, topic]| topic),
    rule: "view and page=1 of a list do not matter",
};

const COMMA_LISTS_MATTER: Shape = Shape {
    name: "comma-lists-matter",
    forms: 2,
    write: |page, url| {
        let floor = format!(",floor={}", page.entity % 7);
        list(url, "map.php", [page.entity % 3, page.entity / 7], floor.as_bytes());
        view(page, url);
    },
    key: |url| {
        let floor = url.pairs.iter().find(|pair| pair.0.ends_with(",floor"))?;
        Some(numbers(url, "map.php")?[1] * 7 + floor.1.parse::<u64>().ok()?)
    },
    rule: "floor of a list matters, view does not",
};

/// A query that begins with two numbers and more behind them.
fn list(url: &mut Parts, script: &str, [first, second]: [u64; 2], more: &[u8]) {
    url.seg(script);
    url.bare(|out| {
        words::number(first, out);
        out.push(b',');
        words::number(second, out);
        out.extend_from_slice(more);
    });
}

/// The first two parts of the list that the query of a script begins with.
fn numbers(url: &View, script: &str) -> Option<[u64; 2]> {
    let first = url.bare.first().or_else(|| url.pairs.first().map(|pair| &pair.0)).filter(|_| is_at(url, script))?;
    let mut parts = first.split(',');
    Some([parts.next()?.parse().ok()?, parts.next()?.parse().ok()?])
}
