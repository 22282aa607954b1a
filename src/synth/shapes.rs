//! Page types for the kinds of rules that came after the papers: one that needs the kind, and one with
//! URLs of the same look whose pages differ, which tempts it.

use super::kind::{Make, Page, PageType};
use super::parts::Parts;
use super::rng::Rng;
use super::view::View;
use super::words;
use super::{comma_lists, facets, titles, value_ends};

/// Every shape: its name, what it stands for, how to make one. Of each two the second tempts the rule
/// that the first one needs.
pub const SHAPES: [(&str, &str, Make); 34] = [
    ("families", "widgets turn their own pages, under names with their numbers; the page stays", |_| make(FAMILIES)),
    ("families-matter", "the number in the name of a parameter names the page", |_| make(FAMILIES_MATTER)),
    ("separators", "parameters are joined by & or ;", |_| make(SEPARATORS)),
    ("separators-matter", "a query that is joined by ; is another page", |_| make(SEPARATORS_MATTER)),
    ("nested-queries", "another ? before a parameter that shows the page otherwise", |_| {
        make(value_ends::NESTED_QUERIES)
    }),
    ("nested-queries-matter", "a ? within a value is part of it", |_| make(value_ends::NESTED_QUERIES_MATTER)),
    ("comma-lists", "a query begins with a list: topic.php?3,17,view=print", comma_lists::lists),
    ("comma-lists-matter", "a named part of a list is another page", comma_lists::lists_matter),
    ("value-ends", "the value of a parameter ends in how the page is shown: page=17/view", |_| {
        make(value_ends::VALUE_ENDS)
    }),
    ("value-ends-matter", "the end of a value is another page: page=17/talk", |_| make(value_ends::VALUE_ENDS_MATTER)),
    ("repeats", "of a parameter that comes twice the last one counts", |_| make(REPEATS)),
    ("repeats-matter", "both values of a parameter that comes twice count, and their order", |_| make(REPEATS_MATTER)),
    ("facets", "facets are a set, whatever their numbers: f[0]=7&f[1]=13", |_| make(facets::FACETS)),
    ("facets-matter", "facets that are numbered count in their order", |_| make(facets::FACETS_MATTER)),
    ("messages", "message N lies on a page of its topic: talk/3.msg17.html", |_| make(MESSAGES)),
    ("messages-matter", "each message of a topic is a page: note/3.msg17.html", |_| make(MESSAGES_MATTER)),
    ("zeros", "numbers with leading zeros and without", |_| make(ZEROS)),
    ("zeros-matter", "a leading zero names another page", |_| make(ZEROS_MATTER)),
    ("hashes", "a hash and its first digits", |_| make(HASHES)),
    ("hashes-matter", "a hash and its first digits are two pages", |_| make(HASHES_MATTER)),
    ("tails", "the front of the path names the page, any word may follow", |_| make(TAILS)),
    ("tails-matter", "the word behind a number names the page", |_| make(TAILS_MATTER)),
    ("endings", "a last segment shows the page otherwise, at any depth: guides/a/b/3/print", |_| make(ENDINGS)),
    ("endings-matter", "a last segment is another page, at any depth", |_| make(ENDINGS_MATTER)),
    ("joined", "a word joined to a name shows the page otherwise: red-rose-3-print.html", |_| make(titles::JOINED)),
    ("joined-matter", "a word joined to a name is another page", |_| make(titles::JOINED_MATTER)),
    ("subpages", "the rest of a path as a parameter: title=a/b and wiki/a/b", |_| make(SUBPAGES)),
    ("subpages-matter", "a script says something else about the page at that path", |_| make(SUBPAGES_MATTER)),
    ("slugs", "a number inside a name is the page, any title follows: p-7-a-title.html", |_| make(titles::SLUGS)),
    ("slugs-matter", "the word behind the number inside a name is another page", |_| make(titles::SLUGS_MATTER)),
    ("titled", "a title behind a number in a query: id=7:a-title", |_| make(titles::TITLED)),
    ("titled-matter", "a word behind a number in a query is another page", |_| make(titles::TITLED_MATTER)),
    ("first-page", "page-1 of a topic is the topic, the others are pages", |_| make(titles::FIRST_PAGE)),
    ("first-page-matter", "a chapter is another page than its page-1", |_| make(titles::FIRST_PAGE_MATTERS)),
];

/// A page type of two plain functions, without names drawn for the site.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) forms: u64,
    pub(super) write: fn(Page, &mut Parts),
    pub(super) key: fn(&View) -> Option<u64>,
    pub(super) rule: &'static str,
}

fn make(shape: Shape) -> Box<dyn PageType> {
    Box::new(shape)
}

impl PageType for Shape {
    fn name(&self) -> &'static str {
        self.name
    }
    fn forms(&self) -> u64 {
        self.forms
    }
    fn sparse_ids(&self) -> bool {
        false
    }
    fn write(&self, page: Page, url: &mut Parts, _: &mut Rng) {
        (self.write)(page, url);
    }
    fn key(&self, url: &View) -> Option<u64> {
        (self.key)(url)
    }
    fn rules(&self) -> Vec<String> {
        vec![self.rule.to_owned()]
    }
}

/// The second URL of a page of two, by a parameter that does not matter.
pub(super) fn view(page: Page, url: &mut Parts) {
    if page.form > 0 {
        url.pair("view", "1");
    }
}

/// A number with more behind it, as the value of one parameter.
pub(super) fn joined(url: &mut Parts, key: &str, number: u64, more: &[u8]) {
    url.pair_with(key, |out| {
        words::number(number, out);
        out.extend_from_slice(more);
    });
}

/// One of the two pages of a number: the second has a separator and more behind it.
pub(super) fn half(value: &str, separator: char) -> Option<u64> {
    let number: u64 = value.split(separator).next()?.parse().ok()?;
    Some(number * 2 + u64::from(value.contains(separator)))
}

/// The number of a path of one directory and a number.
fn numbered(url: &View, directory: &str) -> Option<u64> {
    match url.path()[..] {
        [first, number] if first == directory => number.parse().ok(),
        _ => None,
    }
}

/// True for a path of this one segment.
pub(super) fn is_at(url: &View, script: &str) -> bool {
    url.path() == [script]
}

const FAMILIES: Shape = Shape {
    name: "families",
    forms: 6,
    write: |page, url| {
        url.seg("gadgets").seg_n(page.entity);
        if page.form > 0 {
            let widget = 10 + (page.entity * 7 + page.form) % 40;
            url.pair_n(&format!("w{widget}_page"), page.form);
        }
    },
    key: |url| {
        let is_widget = |name: &str| name.starts_with('w') && name.ends_with("_page");
        numbered(url, "gadgets").filter(|_| url.pairs.iter().all(|pair| is_widget(&pair.0)))
    },
    rule: "parameters w<number>_page do not matter",
};

const FAMILIES_MATTER: Shape = Shape {
    name: "families-matter",
    forms: 2,
    write: |page, url| {
        url.seg("polls").seg_n(page.entity / 5).pair_n(&format!("q{}", 1 + page.entity % 5), 1);
        view(page, url);
    },
    key: |url| {
        let question = url.pairs.iter().find_map(|pair| pair.0.strip_prefix('q')?.parse::<u64>().ok())?;
        Some(numbered(url, "polls")? * 5 + question.checked_sub(1)?)
    },
    rule: "the number in q<number> names the page, view does not matter",
};

const SEPARATORS: Shape = Shape {
    name: "separators",
    forms: 2,
    write: |page, url| {
        url.seg("topics.php");
        if page.form == 0 {
            url.pair_n("t", page.entity).pair("s", "0");
        } else {
            joined(url, "t", page.entity, b";s=0");
        }
    },
    key: |url| url.get("t")?.split(';').next()?.parse().ok().filter(|_| is_at(url, "topics.php")),
    rule: "; and & separate parameters alike",
};

const SEPARATORS_MATTER: Shape = Shape {
    name: "separators-matter",
    forms: 2,
    write: |page, url| {
        url.seg("mixed.php");
        view(page, url);
        if page.entity % 2 == 0 {
            url.pair_n("a", page.entity / 2).pair("b", "1");
        } else {
            joined(url, "a", page.entity / 2, b";b=1");
        }
    },
    key: |url| half(url.get("a").filter(|_| is_at(url, "mixed.php"))?, ';'),
    rule: "; is part of a value, view does not matter",
};

const REPEATS: Shape = Shape {
    name: "repeats",
    forms: 4,
    write: |page, url| {
        url.seg("entry.php");
        if page.form > 0 {
            url.pair_n("id", page.entity + page.form);
        }
        url.pair_n("id", page.entity);
    },
    key: |url| {
        let last = url.pairs.iter().rfind(|pair| pair.0 == "id")?;
        last.1.parse().ok().filter(|_| is_at(url, "entry.php"))
    },
    rule: "the last id counts",
};

const REPEATS_MATTER: Shape = Shape {
    name: "repeats-matter",
    forms: 2,
    write: |page, url| {
        url.seg("pick.php");
        view(page, url);
        url.pair_n("f", page.entity / 30).pair_n("f", page.entity % 30);
    },
    key: |url| {
        let mut values = url.pairs.iter().filter(|pair| pair.0 == "f").map(|pair| pair.1.parse::<u64>().ok());
        let (first, second) = (values.next()??, values.next()??);
        is_at(url, "pick.php").then_some(first * 30 + second)
    },
    rule: "both f count, in their order; view does not matter",
};

/// Messages a page, and pages a topic.
const ON_PAGE: u64 = 7;
pub(super) const PAGES: u64 = 3;

const MESSAGES: Shape = Shape {
    name: "messages",
    forms: 1 + ON_PAGE,
    write: |page, url| {
        let topic = page.entity / PAGES;
        url.seg("talk").seg_n(topic);
        match page.form.checked_sub(1) {
            None => url.add(".").add_n(page.entity % PAGES * ON_PAGE),
            Some(nth) => url.add(".msg").add_n(page.entity * ON_PAGE + nth),
        };
        url.add(".html");
    },
    key: |url| {
        let [directory, file] = url.path()[..] else { return None };
        let (topic, place) = file.strip_suffix(".html").filter(|_| directory == "talk")?.split_once('.')?;
        match place.strip_prefix("msg") {
            Some(message) => message.parse::<u64>().ok().map(|message| message / ON_PAGE),
            None => Some(topic.parse::<u64>().ok()? * PAGES + place.parse::<u64>().ok()? / ON_PAGE),
        }
    },
    rule: "messages of a page lie between two numbers",
};

const MESSAGES_MATTER: Shape = Shape {
    name: "messages-matter",
    forms: 2,
    write: |page, url| {
        url.seg("note").seg_n(page.entity / 6).add(".msg").add_n(page.entity).add(".html");
        view(page, url);
    },
    key: |url| {
        let [directory, file] = url.path()[..] else { return None };
        let (_, message) = file.strip_suffix(".html").filter(|_| directory == "note")?.split_once(".msg")?;
        message.parse().ok()
    },
    rule: "each message is a page, view does not matter",
};

const HASHES: Shape = Shape {
    name: "hashes",
    forms: 2,
    write: |page, url| {
        url.seg("commit");
        hash(url, page.entity, page.form > 0);
    },
    key: |url| hashed(url, "commit").map(|(number, _)| number),
    rule: "a hash is its first 8 digits",
};

const HASHES_MATTER: Shape = Shape {
    name: "hashes-matter",
    forms: 2,
    write: |page, url| {
        url.seg("object");
        hash(url, page.entity / 2, page.entity % 2 == 1);
        view(page, url);
    },
    key: |url| hashed(url, "object").map(|(number, short)| number * 2 + u64::from(short)),
    rule: "the parameter view does not matter",
};

/// A hash of a number as a segment, or its first 8 digits.
fn hash(url: &mut Parts, number: u64, short: bool) {
    // An odd factor gives no two numbers the same 32 bits.
    let first = (number as u32).wrapping_mul(HASH_FACTOR);
    let rest = crate::model::hash64(&number.to_le_bytes());
    let text = format!("{first:08x}{rest:016x}{:016x}", !rest);
    url.seg(if short { &text[..8] } else { &text });
}

/// The number of a hash or of its first digits, and whether it is short.
fn hashed(url: &View, directory: &str) -> Option<(u64, bool)> {
    let text = match url.path()[..] {
        [first, text] if first == directory => text,
        _ => return None,
    };
    let first = u32::from_str_radix(text.get(..8)?, 16).ok()?;
    Some((u64::from(first.wrapping_mul(HASH_INVERSE)), text.len() == 8))
}

/// An odd factor, and the factor that undoes it in 32 bits.
const HASH_FACTOR: u32 = 0x9e37_79b1;
const HASH_INVERSE: u32 = 0x0e8b_2f51;

const ZEROS: Shape = Shape {
    name: "zeros",
    forms: 3,
    write: |page, url| {
        url.seg("parts.php").pair_with("id", |out| {
            out.extend_from_slice(&b"00"[..page.form as usize]);
            words::number(page.entity + 1, out);
        });
    },
    key: |url| url.get("id")?.parse::<u64>().ok()?.checked_sub(1).filter(|_| is_at(url, "parts.php")),
    rule: "zeros before id do not matter",
};

const ZEROS_MATTER: Shape = Shape {
    name: "zeros-matter",
    forms: 2,
    write: |page, url| {
        url.seg("codes.php").pair_with("id", |out| {
            out.extend_from_slice(&b"0"[..(page.entity % 2) as usize]);
            words::number(page.entity / 2 + 1, out);
        });
        view(page, url);
    },
    key: |url| {
        let id = url.get("id").filter(|_| is_at(url, "codes.php"))?;
        Some((id.parse::<u64>().ok()?.checked_sub(1)?) * 2 + u64::from(id.starts_with('0')))
    },
    rule: "a zero before id names another page, view does not matter",
};

/// Words behind the number of a picture, and of an album.
pub(super) const WORDS: [&str; 4] = ["sizes", "exif", "comments", "large"];

const TAILS: Shape = Shape {
    name: "tails",
    forms: 1 + WORDS.len() as u64,
    write: |page, url| {
        url.seg("pictures").seg_n(page.entity);
        if let Some(word) = page.form.checked_sub(1) {
            url.seg(WORDS[word as usize]);
        }
    },
    key: |url| match url.path()[..] {
        ["pictures", number] | ["pictures", number, _] => number.parse().ok(),
        _ => None,
    },
    rule: "what follows the number does not matter",
};

const TAILS_MATTER: Shape = Shape {
    name: "tails-matter",
    forms: 2,
    write: |page, url| {
        let word = WORDS[(page.entity % WORDS.len() as u64) as usize];
        url.seg("albums").seg_n(page.entity / WORDS.len() as u64).seg(word);
        view(page, url);
    },
    key: |url| {
        let ["albums", number, word] = url.path()[..] else { return None };
        let word = WORDS.iter().position(|of| *of == word)? as u64;
        Some(number.parse::<u64>().ok()? * WORDS.len() as u64 + word)
    },
    rule: "the word behind the number names the page, view does not matter",
};

/// Directories of a page, of which each has a few; and what may stand behind it.
const DIRECTORIES: [&str; 5] = ["north", "south", "east", "west", "centre"];
const SHOWN: [&str; 2] = ["view", "print"];

/// The directories above a page: none to five.
fn directories(number: u64) -> impl Iterator<Item = &'static str> {
    (0..number % 6).map(move |at| DIRECTORIES[((number / 6 + at * 3) % 5) as usize])
}

/// Writes the directories of a page, and its number.
fn write_below(number: u64, url: &mut Parts) {
    for directory in directories(number) {
        url.seg(directory);
    }
    url.seg_n(number);
}

/// The number of a page below a directory, at its place.
fn below(path: &[&str], directory: &str) -> Option<u64> {
    let [first, above @ .., number] = path else { return None };
    let number = number.parse().ok()?;
    (*first == directory && directories(number).eq(above.iter().copied())).then_some(number)
}

const ENDINGS: Shape = Shape {
    name: "endings",
    forms: 1 + SHOWN.len() as u64,
    write: |page, url| {
        url.seg("guides");
        write_below(page.entity, url);
        if let Some(word) = page.form.checked_sub(1) {
            url.seg(SHOWN[word as usize]);
        }
    },
    key: |url| match &url.path()[..] {
        [path @ .., last] if SHOWN.contains(last) => below(path, "guides"),
        path => below(path, "guides"),
    },
    rule: "view and print behind a page do not matter",
};

const ENDINGS_MATTER: Shape = Shape {
    name: "endings-matter",
    forms: 2,
    write: |page, url| {
        let number = page.entity / 2;
        url.seg("manuals");
        write_below(number, url);
        if page.entity % 2 > 0 {
            url.seg("view");
        }
        view(page, url);
    },
    key: |url| match &url.path()[..] {
        [path @ .., "view"] => Some(below(path, "manuals")? * 2 + 1),
        path => Some(below(path, "manuals")? * 2),
    },
    rule: "view behind a page is another page, the parameter view does not matter",
};

/// The title of a page, with one to three subpages that name it again.
fn title(number: u64, out: &mut Vec<u8>) {
    for depth in 0..=number % 3 {
        out.extend_from_slice([b"t".as_slice(), b"/notes", b"/v"][depth as usize]);
        words::number(number, out);
    }
}

/// The number of a title.
fn titled(title: &str) -> Option<u64> {
    title.split('/').next()?.strip_prefix('t')?.parse().ok()
}

const SUBPAGES: Shape = Shape {
    name: "subpages",
    forms: 2,
    write: |page, url| {
        if page.form == 0 {
            url.seg("handbook").add("/");
            title(page.entity, url.path());
        } else {
            url.seg("handbook.php").pair_with("title", |out| title(page.entity, out));
        }
    },
    key: |url| match url.path()[..] {
        ["handbook.php"] => titled(url.get("title")?),
        ["handbook", title, ..] => titled(title),
        _ => None,
    },
    rule: "handbook.php?title=... is handbook/...",
};

const SUBPAGES_MATTER: Shape = Shape {
    name: "subpages-matter",
    forms: 2,
    write: |page, url| {
        let number = page.entity / 2;
        if page.entity % 2 == 0 {
            url.seg("archives").add("/");
            title(number, url.path());
        } else {
            url.seg("backlinks.php").pair_with("page", |out| title(number, out));
        }
        view(page, url);
    },
    key: |url| match url.path()[..] {
        ["backlinks.php"] => Some(titled(url.get("page")?)? * 2 + 1),
        ["archives", title, ..] => Some(titled(title)? * 2),
        _ => None,
    },
    rule: "backlinks.php lists what leads to a page; view does not matter",
};
