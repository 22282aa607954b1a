//! Page types of lists that several numbered parameters narrow: `find.php?f[0]=7&f[1]=13&f[2]=102`.

use super::shapes::{Shape, is_at, view};
use super::view::View;

const NAMES: [&str; 3] = ["f[0]", "f[1]", "f[2]"];

/// The orders of three facets that lists are linked in.
const ORDERS: [[usize; 3]; 4] = [[0, 1, 2], [1, 2, 0], [2, 1, 0], [0, 2, 1]];

/// The facets of a list: a colour below 10, a size below 20, a maker from 100 on.
fn facets(entity: u64) -> [u64; 3] {
    [entity % 10, 10 + entity / 10 % 10, 100 + entity / 100]
}

pub(super) const FACETS: Shape = Shape {
    name: "facets",
    forms: ORDERS.len() as u64,
    write: |page, url| {
        url.seg("find.php");
        let facets = facets(page.entity);
        for (name, at) in NAMES.iter().zip(ORDERS[page.form as usize]) {
            url.pair_n(name, facets[at]);
        }
    },
    key: |url| {
        let mut values = values(url, "find.php")?;
        values.sort_unstable();
        let [colour, size, maker] = values;
        Some(colour + size.checked_sub(10)? * 10 + maker.checked_sub(100)? * 100)
    },
    rule: "the facets are a set",
};

pub(super) const FACETS_MATTER: Shape = Shape {
    name: "facets-matter",
    forms: 2,
    write: |page, url| {
        url.seg("drill.php");
        view(page, url);
        for (name, at) in NAMES.iter().zip(ORDERS[(page.entity % 4) as usize]) {
            url.pair_n(name, facets(page.entity / 4)[at]);
        }
    },
    key: |url| values(url, "drill.php").map(|[first, second, third]| (first * 1_000 + second) * 1_000 + third),
    rule: "the facets count in their order, view does not matter",
};

/// The values of the three facets.
fn values(url: &View, script: &str) -> Option<[u64; 3]> {
    let mut values = [0; 3];
    for (name, value) in NAMES.iter().zip(&mut values) {
        *value = url.get(name)?.parse().ok()?;
    }
    is_at(url, script).then_some(values)
}
