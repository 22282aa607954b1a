//! Stage 1 beside `url::Url::parse` on the same URLs, and the registrable domain of their hosts. Times
//! are for 64 URLs.
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use undust::url::normalize;
use undust::url::site::registrable_domain;

fn main() {
    divan::main();
}

/// 64 ordinary URLs of 75 bytes.
fn ordinary() -> Vec<String> {
    (0..64)
        .map(|i| {
            let mut url = format!(
                "https://www.example{}.org/articles/2024/{:02}/a-story-told-{i}.html?page={}&id=",
                i % 7,
                i % 12,
                i % 5
            );
            while url.len() < 75 {
                url.push((b'a' + (url.len() * 7 % 26) as u8) as char);
            }
            url
        })
        .collect()
}

/// URLs with one thing to change in each: case of the host, an escape, a dot segment, a port.
fn mixed() -> Vec<String> {
    let change = |(i, url): (usize, String)| match i % 4 {
        0 => url.replacen("www", "WWW", 1),
        1 => url.replacen("story", "%73tory%c3%a9", 1),
        2 => url.replacen("/articles", "/articles/../articles", 1),
        _ => url.replacen(".org", ".org:443", 1),
    };
    ordinary().into_iter().enumerate().map(change).collect()
}

fn each(bencher: Bencher, urls: Vec<String>, mut work: impl FnMut(&str)) {
    bencher
        .counter(ItemsCount::new(urls.len()))
        .counter(BytesCount::new(urls.iter().map(String::len).sum::<usize>()))
        .bench_local(|| urls.iter().for_each(|url| work(black_box(url))));
}

fn stage_1(bencher: Bencher, urls: Vec<String>) {
    let mut out = Vec::new();
    each(bencher, urls, |url| {
        black_box(normalize(url.as_bytes(), &mut out).expect("a URL"));
        black_box(&out);
    });
}

#[divan::bench]
fn stage_1_ordinary(bencher: Bencher) {
    stage_1(bencher, ordinary());
}

#[divan::bench]
fn stage_1_mixed(bencher: Bencher) {
    stage_1(bencher, mixed());
}

#[divan::bench]
fn url_crate_ordinary(bencher: Bencher) {
    each(bencher, ordinary(), |url| drop(black_box(url::Url::parse(url).expect("a URL"))));
}

#[divan::bench]
fn url_crate_mixed(bencher: Bencher) {
    each(bencher, mixed(), |url| drop(black_box(url::Url::parse(url).expect("a URL"))));
}

#[divan::bench]
fn site_of_a_host(bencher: Bencher) {
    let hosts = [
        "www.example.org",
        "news.bbc.co.uk",
        "alice.github.io",
        "en.wikipedia.org",
        "192.168.0.1",
        "a.b.c.example.com",
    ];
    each(bencher, hosts.iter().cycle().take(60).map(|h| h.to_string()).collect(), |host| {
        black_box(registrable_domain(host.as_bytes()));
    });
}
