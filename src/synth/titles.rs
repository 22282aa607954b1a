//! Shapes of numbers beside titles: a number inside a path segment, a title behind a number in a query, a
//! value of a key that makes no difference.

use super::parts::Parts;
use super::shapes::{PAGES, Shape, WORDS, is_at, view};
use super::view::View;
use super::words;

/// A title that is another one in each form of the URL.
fn changing_title(number: u64, form: u64, out: &mut Vec<u8>) {
    words::slug(number.wrapping_mul(3) + form, 2, out);
    if form > 0 {
        out.push(b'-');
        out.extend_from_slice(word(form).as_bytes());
    }
}

/// The word that names one of the pages of a number.
fn word(entity: u64) -> &'static str {
    WORDS[(entity % WORDS.len() as u64) as usize]
}

/// The page of a number and the word behind it.
fn worded(number: &str, word: &str) -> Option<u64> {
    let at = WORDS.iter().position(|of| *of == word)? as u64;
    Some(number.parse::<u64>().ok()? * WORDS.len() as u64 + at)
}

/// Number and title of a segment such as `p-749-a-title.html` of one directory.
fn slug<'u>(url: &'u View, directory: &str) -> Option<(&'u str, &'u str)> {
    let [first, file] = url.path()[..] else { return None };
    file.strip_prefix("p-")?.strip_suffix(".html").filter(|_| first == directory)?.split_once('-')
}

pub(super) const SLUGS: Shape = Shape {
    name: "slugs",
    forms: 3,
    write: |page, url| {
        url.seg("guides").seg("p-").add_n(page.entity).add("-");
        changing_title(page.entity, page.form, url.path());
        url.add(".html");
    },
    key: |url| slug(url, "guides")?.0.parse().ok(),
    rule: "the number inside the name is the page, the title behind it does not matter",
};

pub(super) const SLUGS_MATTER: Shape = Shape {
    name: "slugs-matter",
    forms: 2,
    write: |page, url| {
        url.seg("tours").seg("p-").add_n(page.entity / WORDS.len() as u64).add("-").add(word(page.entity)).add(".html");
        view(page, url);
    },
    key: |url| slug(url, "tours").and_then(|(number, word)| worded(number, word)),
    rule: "the word behind the number names the page, view does not matter",
};

/// What is joined to the name of a page that is shown otherwise.
const JOINED_WORDS: [&str; 2] = ["-print", ",amp"];

/// Writes a title and its number below a directory.
fn write_title(directory: &str, number: u64, url: &mut Parts) {
    url.seg(directory).seg("");
    words::slug(number, 2, url.path());
    url.add("-").add_n(number);
}

/// The number of a title below a directory, where it is that of the number.
fn titled_page(url: &View, directory: &str, bare: fn(&str) -> &str) -> Option<(u64, bool)> {
    let [first, file] = url.path()[..] else { return None };
    let name = file.strip_suffix(".html").filter(|_| first == directory)?;
    let (title, number) = bare(name).rsplit_once('-')?;
    let (number, mut slug) = (number.parse().ok()?, Vec::new());
    words::slug(number, 2, &mut slug);
    (slug == title.as_bytes()).then_some((number, bare(name) != name))
}

pub(super) const JOINED: Shape = Shape {
    name: "joined",
    forms: 1 + JOINED_WORDS.len() as u64,
    write: |page, url| {
        write_title("stories", page.entity, url);
        url.add(page.form.checked_sub(1).map_or("", |word| JOINED_WORDS[word as usize])).add(".html");
    },
    key: |url| {
        let page = titled_page(url, "stories", |name| {
            JOINED_WORDS.iter().find_map(|word| name.strip_suffix(word)).unwrap_or(name)
        });
        Some(page?.0)
    },
    rule: "a word joined to the name of a page does not matter",
};

pub(super) const JOINED_MATTER: Shape = Shape {
    name: "joined-matter",
    forms: 2,
    write: |page, url| {
        write_title("tales", page.entity / 2, url);
        url.add(if page.entity.is_multiple_of(2) { "" } else { "-notes" }).add(".html");
        view(page, url);
    },
    key: |url| {
        let (number, is_notes) = titled_page(url, "tales", |name| name.strip_suffix("-notes").unwrap_or(name))?;
        Some(number * 2 + u64::from(is_notes))
    },
    rule: "a word joined to the name of a page is another page, view does not matter",
};

pub(super) const TITLED: Shape = Shape {
    name: "titled",
    forms: 3,
    write: |page, url| {
        url.seg("story.php").pair_with("id", |out| {
            words::number(page.entity, out);
            if page.form > 0 {
                out.push(b':');
                changing_title(page.entity, page.form, out);
            }
        });
    },
    key: |url| url.get("id")?.split(':').next()?.parse().ok().filter(|_| is_at(url, "story.php")),
    rule: "a title behind the number in id does not matter",
};

pub(super) const TITLED_MATTER: Shape = Shape {
    name: "titled-matter",
    forms: 2,
    write: |page, url| {
        url.seg("sheet.php");
        view(page, url);
        url.pair_with("id", |out| {
            words::number(page.entity / WORDS.len() as u64, out);
            // One of the pages has the bare number.
            if !page.entity.is_multiple_of(WORDS.len() as u64) {
                out.push(b':');
                out.extend_from_slice(word(page.entity).as_bytes());
            }
        });
    },
    key: |url| {
        let id = url.get("id").filter(|_| is_at(url, "sheet.php"))?;
        let (number, word) = id.split_once(':').unwrap_or((id, WORDS[0]));
        worded(number, word)
    },
    rule: "the word behind the number names the page, view does not matter",
};

/// Topic and page of `/thread/7/page-2`; the first page without one.
fn paged(url: &View, directory: &str) -> Option<(u64, Option<u64>)> {
    match url.path()[..] {
        [first, topic] if first == directory => Some((topic.parse().ok()?, None)),
        [first, topic, page] if first == directory => {
            Some((topic.parse().ok()?, Some(page.strip_prefix("page-")?.parse().ok()?)))
        }
        _ => None,
    }
}

pub(super) const FIRST_PAGE: Shape = Shape {
    name: "first-page",
    forms: 2,
    write: |page, url| {
        let (topic, nth) = (page.entity / PAGES, page.entity % PAGES + 1);
        url.seg("thread").seg_n(topic);
        if nth > 1 || page.form > 0 {
            url.seg("page-").add_n(nth);
        }
        if nth > 1 {
            view(page, url);
        }
    },
    key: |url| {
        let (topic, page) = paged(url, "thread")?;
        Some(topic * PAGES + page.unwrap_or(1).checked_sub(1)?)
    },
    rule: "page-1 does not matter, view does not matter",
};

pub(super) const FIRST_PAGE_MATTERS: Shape = Shape {
    name: "first-page-matter",
    forms: 2,
    write: |page, url| {
        url.seg("chapter").seg_n(page.entity / PAGES);
        if let nth @ 1.. = page.entity % PAGES {
            url.seg("page-").add_n(nth);
        }
        view(page, url);
    },
    key: |url| paged(url, "chapter").map(|(topic, page)| topic * PAGES + page.unwrap_or(0)),
    rule: "page-1 is another page than the contents, view does not matter",
};
