//! The documentation: every page is in the summary of the site once, every relative link leads to a
//! file and, where it has a fragment, to a heading of it, pages of the site link to pages of the site
//! alone, and source files that are named exist.

use super::WRITE;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use undust::model::{Description, Stage};

/// Lines of a document outside fenced code blocks.
fn prose(text: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, None) => lines.push(line),
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
        }
    }
    lines
}

/// A paragraph without its code spans. A run of backticks that no equal run closes is literal.
fn without_code(text: &str) -> String {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('`') {
        let length = run(&rest[at..]);
        let behind = &rest[at + length..];
        let mut from = 0;
        let close = loop {
            let Some(next) = behind[from..].find('`').map(|next| from + next) else { break None };
            match run(&behind[next..]) {
                found if found == length => break Some(next + found),
                found => from = next + found,
            }
        };
        out.push_str(&rest[..at]);
        rest = match close {
            Some(end) => &behind[end..],
            None => {
                out.push_str(&rest[at..at + length]);
                behind
            }
        };
    }
    out + rest
}

/// Targets of the inline links of a document, without titles.
fn links(text: &str) -> Vec<String> {
    let lines = prose(text);
    let paragraphs = lines.split(|line| line.trim().is_empty()).map(|lines| without_code(&lines.join("\n")));
    let mut found = Vec::new();
    for paragraph in paragraphs {
        for rest in paragraph.split("](").skip(1) {
            let target = rest.split(|c: char| c == ')' || c.is_whitespace()).next().unwrap_or_default();
            found.push(target.to_owned());
        }
    }
    found
}

/// Fragments of the headings of a document by the rules of GitHub: lower case; letters, digits, `-` and
/// `_` alone; spaces as `-`; behind a repeat its number.
fn fragments(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for line in prose(text) {
        let level = line.len() - line.trim_start_matches('#').len();
        let Some(title) = line[level..].strip_prefix(' ').filter(|_| (1..=6).contains(&level)) else { continue };
        // Of a link the text counts.
        let parts = title.split("](").enumerate();
        let title: String =
            parts.map(|(at, part)| if at == 0 { part } else { part.split_once(')').map_or(part, |of| of.1) }).collect();
        let title = title.trim().trim_end_matches('#').trim_end().to_lowercase();
        let kept = title.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = counts.entry(slug.clone()).or_default();
        found.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    found
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = out.pop(),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Links of the document at `path` (from the root) that lead nowhere. `read` returns the text of a
/// file, an empty one for a folder, `None` for a missing one.
fn broken(path: &str, text: &str, read: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for link in links(text) {
        if link.contains("://") || link.starts_with("mailto:") {
            continue;
        }
        let (file, fragment) = link.split_once('#').map_or((link.as_str(), None), |(file, of)| (file, Some(of)));
        let to = if file.is_empty() { PathBuf::from(path) } else { plain(&folder.join(file)) };
        match (read(&to), fragment) {
            (None, _) => found.push(format!("{path}: ({link}): no such file")),
            (Some(text), Some(fragment)) if !fragments(&text).contains(fragment) => {
                found.push(format!("{path}: ({link}): no such heading"));
            }
            _ => {}
        }
    }
    found
}

/// Pages of `docs/` that the summary does not name once, and names of the summary that are no page.
fn unlisted(pages: &BTreeSet<String>, summary: &str) -> Vec<String> {
    let listed = links(summary);
    let times = |page: &String| listed.iter().filter(|&link| link == page).count();
    let missing = pages.iter().filter(|&page| times(page) != 1);
    let missing = missing.map(|page| format!("docs/{page} is {} times in docs/SUMMARY.md", times(page)));
    let foreign = listed.iter().filter(|&link| !pages.contains(link));
    missing.chain(foreign.map(|link| format!("docs/SUMMARY.md names {link}, which is no page of docs"))).collect()
}

/// Relative links of a page of the site that lead to no page of it; `pages` are names in `docs/`.
fn outside(page: &str, text: &str, pages: &BTreeSet<String>) -> Vec<String> {
    let is_outside = |link: &String| {
        let file = link.split('#').next().unwrap_or_default();
        !link.contains("://") && !link.starts_with("mailto:") && !file.is_empty() && !pages.contains(file)
    };
    let found = links(text).into_iter().filter(is_outside);
    found.map(|link| format!("docs/{page}: ({link}): no page of the site; name its path as code")).collect()
}

/// Names of the pages in `docs/`, without the summary.
fn pages() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let entries = std::fs::read_dir(folder).expect("docs").map(|entry| entry.expect("a readable entry").file_name());
    let names = entries.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect()
}

#[test]
fn the_site_has_every_page_once() {
    let pages = pages();
    assert!(pages.contains("method.md"), "the check sees the pages: {pages:?}");
    let found = unlisted(&pages, &super::read("docs/SUMMARY.md"));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn links_of_the_documentation_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| match root.join(path) {
        folder if folder.is_dir() => Some(String::new()),
        file => std::fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    };
    let docs = pages().into_iter().map(|page| format!("docs/{page}"));
    let all = docs.chain(["README.md", "CONTRIBUTING.md", "docs/SUMMARY.md"].map(str::to_owned));
    let (mut found, mut seen) = (Vec::new(), 0);
    for path in all {
        let text = super::read(&path);
        seen += links(&text).len();
        found.extend(broken(&path, &text, &read));
    }
    assert!(seen > 40, "the check sees the links: {seen}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Source files that a document names by their path from the root, `NAME` and lists in braces left aside, of which
/// `exists` knows nothing.
fn gone(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let is_source = |name: &&str| {
        ["src/", "jobs/", "tests/", "scripts/parts/"].iter().any(|folder| name.starts_with(folder))
            && [".rs", ".py", ".jsonl", ".toml"].iter().any(|end| name.ends_with(end))
            && !name.contains("NAME")
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    };
    text.split('`').filter(is_source).filter(|name| !exists(name)).map(str::to_owned).collect()
}

#[test]
fn source_files_that_documents_name_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = pages().into_iter().map(|page| format!("docs/{page}"));
    let all = docs.chain(["README.md", "CONTRIBUTING.md"].map(str::to_owned));
    let found: Vec<String> = all
        .flat_map(|path| {
            gone(&super::read(&path), |name| root.join(name).is_file())
                .into_iter()
                .map(move |of| format!("{path}: {of}"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let text = "`src/a.rs` (`src/b.rs`, `c.rs`), `src/NAME.rs`, `src/{a,c}.rs`, `jobs/d.rs`";
    assert_eq!(gone(text, |name| name == "src/a.rs"), ["src/b.rs", "jobs/d.rs"]);
}

#[test]
fn pages_of_the_site_link_to_pages_of_the_site() {
    let pages = pages();
    let found = pages.iter().flat_map(|page| outside(page, &super::read(&format!("docs/{page}")), &pages));
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn broken_links_and_missing_pages_are_found() {
    let other = "# One\n## A `b`, c_d & [e](f)\n## One\n```text\n# Code\n```\n####### Seven\n#tag\n";
    assert_eq!(fragments(other), BTreeSet::from(["a-b-c_d--e", "one", "one-1"].map(str::to_owned)));
    let read = |path: &Path| (path == Path::new("docs/other.md")).then(|| other.to_owned());
    let text = "[a](other.md) [b](other.md#one-1 \"t\") [`c`](../docs/./other.md#one) `[d](x)` [e](http://x/y)\n\n\
                ``a ` [f](x)`` ` [g](gone.md)\n\n# Here\n[h](#here) [i](#there)\n\n```sh\n[j](x)\n```\n[k](other.md#code) ![l](x.png)";
    let wrong = ["(gone.md): no such file", "(#there): no such heading", "(other.md#code): no such heading"];
    let wrong = wrong.into_iter().chain(["(x.png): no such file"]).map(|of| format!("docs/a.md: {of}"));
    let read = |path: &Path| if path == Path::new("docs/a.md") { Some(text.to_owned()) } else { read(path) };
    assert_eq!(broken("docs/a.md", text, &read), wrong.collect::<Vec<_>>());
    let pages = BTreeSet::from(["a.md", "b.md", "c.md"].map(str::to_owned));
    assert_eq!(unlisted(&pages, "[A](a.md)\n- [B](b.md)\n- [C](c.md)\n"), Vec::<String>::new());
    let found = unlisted(&pages, "- [A](a.md)\n- [A](a.md)\n- [B](b.md)\n- [D](d.md)");
    assert_eq!(found.len(), 3, "a.md twice, no c.md, a foreign d.md: {found:?}");
    let text = "[a](b.md#x) [b](#y) [c](https://x/y) [d](../README.md#z) [e](schema/) `[f](x.js)` [g](d.md)";
    let left = outside("a.md", text, &pages);
    assert_eq!(left.len(), 3, "README.md, a folder, a page that is missing: {left:?}");
}

#[test]
fn every_stage_is_in_the_lists_of_stages() {
    let (page, script) = (super::read("docs/operations.md"), super::read("scripts/parts/ablations.py"));
    let phases: Vec<String> = Stage::phases().map(|phase| format!("`{}`", phase.text())).collect();
    let (last, others) = phases.split_last().expect("phases");
    let said = format!("Stages are {} and {last}.", others.join(", "));
    assert!(page.replace('\n', " ").contains(&said), "docs/operations.md does not say: {said}");
    let optional: Vec<String> = Stage::optional().map(|stage| format!("'{}'", stage.text())).collect();
    let listed = format!("STAGES = ({})\n", optional.join(", "));
    assert!(script.contains(&listed), "scripts/parts/ablations.py does not have: {listed}");
}

/// Compares, or writes, the table of a page between its marks: the lines `<!-- NAME: generated -->` and
/// `<!-- end of NAME -->`. `source` and `test` are where the table comes from and what writes it.
fn generated(page: &str, name: &str, want: &str, source: &str, test: &str) {
    let text = super::read(page);
    let [first, last] = [format!("<!-- {name}: generated -->"), format!("<!-- end of {name} -->")];
    let (before, rest) = text.split_once(&first).expect("the first mark");
    let (table, after) = rest.split_once(&last).expect("the second mark");
    let want = format!("\n{want}");
    if std::env::var_os(WRITE).is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        std::fs::write(path, format!("{before}{first}{want}{last}{after}")).expect("a writable page");
        return;
    }
    let differ = table.lines().zip(want.lines()).find(|(found, wanted)| found != wanted);
    assert!(
        table == want,
        "the table in {page} is not that of {source} (first difference: {differ:?}): \
         {WRITE}=1 cargo test --test it -- {test} writes it"
    );
}

#[test]
fn the_table_of_thresholds_is_that_of_the_code() {
    let mut table = "| name | default | allowed | what it decides |\n|---|---|---|---|\n".to_owned();
    for of in undust::rules::Params::default().table() {
        let (name, default, [least, most]) = (of.name, of.default, of.range);
        let reason = of.reason.replace('|', "\\|");
        table += &format!("| `{name}` | {default} | {least} to {most} | {reason} |\n");
    }
    generated("docs/method.md", "thresholds", &table, "src/rules/thresholds", "the_table_of_thresholds");
}

#[test]
fn the_table_of_stages_is_that_of_the_code() {
    let mut table =
        "| stage | part of | file | what it is | without it | counts |\n|---|---|---|---|---|---|\n".to_owned();
    for stage in Stage::ALL {
        let Description { text, about, file, part_of, without, counts } = stage.description();
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(file).is_file(), "{text}: no file {file}");
        let part_of = part_of.map(|whole| format!("`{}`", whole.text())).unwrap_or_default();
        let counts: Vec<String> = counts.iter().map(|count| format!("`{}`", count.in_summary())).collect();
        let (without, counts) = (without.unwrap_or_default(), counts.join(", "));
        table += &format!("| `{text}` | {part_of} | `{file}` | {about} | {without} | {counts} |\n");
    }
    generated("docs/architecture.md", "stages", &table, "src/model/stage.rs", "the_table_of_stages");
}
