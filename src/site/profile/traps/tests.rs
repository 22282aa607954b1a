//! Planted traps are told with their counts, and innocent sites have none.
use super::*;

type Records = Vec<(String, String)>;

fn traps(records: &Records) -> Vec<Trap> {
    let rows = records.iter().map(|(url, page)| (url.as_bytes(), Some(page.as_bytes()), false));
    find(&Training::new("a.example", rows))
}

/// The one trap of these records: kind, family, what varies, URLs, new pages.
#[track_caller]
fn one(records: &Records) -> (TrapKind, String, String, u64, u64) {
    let mut traps = traps(records);
    assert_eq!(traps.len(), 1, "{traps:?}");
    let Trap { kind, family, varies, urls, new, .. } = traps.remove(0);
    (kind, family, varies, urls, new)
}

fn record(path: String, page: impl ToString) -> (String, String) {
    (format!("http://a.example{path}"), page.to_string())
}

/// A shop of 30 articles, where none of its URLs is a trap.
fn shop() -> Records {
    (0..30).map(|at| record(format!("/article/{at}"), format!("article {at}"))).collect()
}

#[test]
fn a_segment_that_repeats_is_told() {
    let mut records = shop();
    for page in 0..10 {
        for depth in 0..6 {
            let path = format!("/docs{}/p{page}.html", "/en/docs".repeat(depth));
            records.push(record(path, format!("doc {page}")));
        }
    }
    // Depth 2 and more: `docs` is there three times.
    let expected = (TrapKind::RepeatedSegments, "/docs/<repeated>".to_owned(), "/<repeated>".to_owned(), 40, 0);
    assert_eq!(one(&records), expected);
    assert_eq!(traps(&records)[0].example, "http://a.example/docs/en/docs/en/docs/p0.html");
    // A second form of pages that all differ is none: its folders of one name repeat nothing.
    let copies = (0..60).flat_map(|at| {
        [record(format!("/doc/{at}"), at), record(format!("/docs/x/docs/y/docs/{}.html", word(at)), at)]
    });
    assert_eq!(traps(&copies.collect()), []);
    // Folders of one name that hold pages of their own are none.
    for (at, (_, page)) in records.iter_mut().enumerate() {
        page.push_str(&at.to_string());
    }
    assert_eq!(traps(&records), []);
}

#[test]
fn dates_that_show_one_page_are_a_calendar() {
    let months = || (0..60).map(|at| (2020 + at / 12, 1 + at % 12));
    let page =
        |(year, month): (i32, i32)| if year == 2020 { format!("events {month}") } else { "no events".to_owned() };
    type Path = fn(i32, i32) -> String;
    let paths: [(&str, Path); 4] = [
        ("/events/<date>/", |year, month| format!("/events/{year}/{month:02}/")),
        ("/events/list-<date>", |year, month| format!("/events/list-{year}-{month}-1")),
        ("/cal?month=<date>&year=<date>&view=m", |year, month| format!("/cal?view=m&year={year}&month={month}")),
        ("/cal?from=<date>", |year, month| format!("/cal?from={year}{month:02}01")),
    ];
    for (family, path) in paths {
        let calendar = months().map(|(year, month)| record(path(year, month), page((year, month))));
        let records: Records = shop().into_iter().chain(calendar).collect();
        let (kind, found, _, urls, new) = one(&records);
        assert_eq!((kind, found.as_str(), urls, new), (TrapKind::Calendar, family, 60, 13));
    }
    // An archive whose months all differ is none, nor are posts below their dates, under two hosts
    // and with a campaign.
    let archive = months().map(|(year, month)| record(format!("/blog/{year}/{month:02}/"), format!("{year} {month}")));
    let mut records: Records = archive.collect();
    for (year, month) in months() {
        for post in 0..3 {
            let path = format!("/blog/{year}/{month:02}/post-{post}/");
            for more in ["", "?utm_source=feed", "?print=1"] {
                records.push(record(format!("{path}{more}"), &path));
                records.push((format!("https://www.a.example{path}{more}"), path.clone()));
            }
        }
    }
    assert_eq!(traps(&records), []);
}

#[test]
fn numbers_and_keys_without_end_are_told() {
    // Behind its last page each list shows the first one again.
    let mut lists = shop();
    for list in 0..3 {
        for page in 0..40 {
            let shown = if page < 5 { page } else { 0 };
            lists.push(record(format!("/list/{list}?start={}", page * 15), format!("list {list} {shown}")));
        }
    }
    let endless =
        |family: &str, varies: &str, urls, new| (TrapKind::Endless, family.to_owned(), varies.to_owned(), urls, new);
    assert_eq!(one(&lists), endless("/list/#?start=#", "start=*", 120, 15));
    // One list alone: nearly all show one page, and others come before it.
    lists.retain(|(url, _)| !url.contains("/list/1") && !url.contains("/list/2"));
    for page in 40..200 {
        lists.push(record(format!("/list/0?start={}", page * 15), "list 0 0"));
    }
    let one_list = one(&lists);
    assert_eq!((one_list.0, one_list.3, one_list.4), (TrapKind::Endless, 200, 5));
    // A number in the path, in many directories: one row.
    let directories = (0..5).flat_map(|of| {
        let of = format!("d{}", ["a", "b", "c", "d", "e"][of]);
        (0..30).map(move |at| record(format!("/{of}/page-{at}"), format!("{of} {}", at.min(2))))
    });
    assert_eq!(one(&directories.collect()), endless("/*/page-#", "/page-#", 150, 15));
    // A comment to answer, below two kinds of pages: one row, of the key.
    let mut comments = Vec::new();
    for post in 0..25 {
        comments.push(record(format!("/post/{post}"), post));
        for comment in 0..4 {
            comments.push(record(format!("/post/{post}?reply={post}0{comment}"), post));
            comments.push(record(format!("/post/{post}/all?reply={post}0{comment}"), post));
        }
    }
    assert_eq!(one(&comments), endless("/post/#/...?reply=#", "reply=*", 200, 0));
    assert_eq!(traps(&comments)[0].new_ppm(), 0);
    assert_eq!(traps(&comments)[0].wasted(), 200);
}

#[test]
fn many_urls_of_one_page_are_told() {
    let tags = |shown: fn(u32) -> String| -> Records {
        let tag = |at| record(format!("/tag/{}", word(at)), shown(at));
        shop().into_iter().chain((0..50).map(tag)).collect()
    };
    let empty = tags(|at| if at % 10 == 9 { format!("tag {at}") } else { "nothing found".to_owned() });
    assert_eq!(one(&empty), (TrapKind::OnePage, "/tag/*".to_owned(), String::new(), 50, 6));
    // Three of ten have content: the family is worth its fetches.
    let some = tags(|at| if at % 10 > 6 { format!("tag {at}") } else { "nothing found".to_owned() });
    assert_eq!(traps(&some), []);
    // Numbers here and there that show one page are no list that is over.
    let numbers = (0..50).map(|at| record(format!("/shelf/{at}"), if at % 10 == 4 { at } else { 1_000 }));
    assert_eq!(one(&numbers.collect()).0, TrapKind::OnePage);
}

/// A word without digits for a number.
fn word(at: u32) -> String {
    at.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

#[test]
fn innocent_sites_have_no_trap() {
    // A forum: topics of several pages, sessions of few visitors, orders, print views.
    let mut forum = Vec::new();
    for topic in 0..60 {
        for start in [0, 15, 30] {
            let (path, page) = (format!("/view.php?t={topic}&start={start}"), format!("{topic} {start}"));
            for more in ["", "&sid=0a1b2c3d", "&sid=4e5f6071", "&order=asc", "&order=desc", "&print=1"] {
                forum.push(record(format!("{path}{more}"), &page));
            }
        }
    }
    // Places within topics: a third of them show a topic again.
    for at in 0..90 {
        let topic = at * 2 / 3;
        forum.extend([record(format!("/t/{topic}"), topic), record(format!("/place?number={at}"), topic)]);
    }
    // Few sizes of a list; a list of 30 places that is over behind the twelfth.
    for at in 0..360 {
        forum.push(record(format!("/gallery?album={}&size={}", at / 9, at % 9), format!("album {}", at / 9)));
        forum.push(record(format!("/gallery?album={}", at / 9), format!("album {}", at / 9)));
        forum.push(record(format!("/news?start={}", at % 30), format!("news {}", (at % 30).min(11))));
    }
    // A list whose pages all differ; slugs beside numbers; two hosts with the same pages, two with
    // others.
    for page in 0..200 {
        forum.push(record(format!("/list?page={page}"), format!("list {page}")));
        forum.push(record(format!("/item/{page}-{}", word(page)), format!("item {page}")));
        forum.push(record(format!("/item/{page}"), format!("item {page}")));
        for host in ["a", "b"] {
            forum.push((format!("https://{host}.example/page/{page}"), format!("page {page}")));
            forum.push((format!("https://{host}.example/wiki/{page}"), format!("{host} {page}")));
        }
    }
    assert_eq!(traps(&forum), []);
}

#[test]
fn order_and_repeats_of_the_records_change_nothing() {
    let mut records = shop();
    for at in 0..60 {
        records.push(record(format!("/calendar/{}/{:02}/", 2020 + at / 12, 1 + at % 12), at.min(3)));
        records.push(record(format!("/login?back={}", word(at)), "log in"));
    }
    let first = traps(&records);
    assert_eq!(first.len(), 2);
    assert!(first.is_sorted_by_key(|trap| (Reverse(trap.wasted()), trap.family.clone())));
    for turn in 1..8 {
        records.rotate_left(turn * 7);
        records.push(records[0].clone());
        assert_eq!(traps(&records), first, "{turn}");
    }
    // Without labels there is nothing to tell.
    let rows = records.iter().map(|(url, _)| (url.as_bytes(), None, false));
    assert_eq!(find(&Training::new("a.example", rows)), []);
}

#[test]
fn the_result_is_bounded_and_hostile_urls_end() {
    let mut records = Vec::new();
    for family in 0..MAX_TRAPS as u32 + 5 {
        for at in 0..30 {
            records.push(record(format!("/{0}/x/{0}?q{0}={1}", word(family), word(at)), family));
        }
    }
    records.push(record(format!("/{}", "a/".repeat(30_000)), "deep"));
    records.push(record(format!("/?{}", "a=1&".repeat(30_000)), "wide"));
    let traps = traps(&records);
    assert_eq!(traps.len(), MAX_TRAPS);
    assert!(traps.iter().all(|trap| trap.kind == TrapKind::OnePage && trap.urls == 30 && trap.new == 1));
}
