//! The URL of pairs of which few changed, put together from the URL that they were cut from.
//!
//! Most rules give scheme, host or a part of the path another value, or leave out parameters. Then the URL is its old self
//! but for these places, and nobody needs to look at each of its pairs, as [`url::compose`](crate::url::compose) does.

use super::{ABSENT, CompiledSite, GONE, State, touch};
use crate::url::{Cell, Cells, KeyRef, Pieces, Split};

impl CompiledSite {
    /// Writes the URL of the pairs that rules made of the URL at `split`, `length` bytes in stage-1 form, to `out` (cleared
    /// first); false, and what stands there says nothing, where more changed than this can tell.
    pub(super) fn edit(&self, split: &Split, length: usize, cells: &Cells, state: &State, out: &mut Vec<u8>) -> bool {
        // Parameters that `;` separates are composed with `&`.
        let semicolons = self.template.cut.semicolons && split.query.is_some();
        if semicolons || state.touched & !(touch::SCHEME | touch::QUERY | touch::HARMLESS) != 0 {
            return false;
        }
        out.clear();
        let mut to = Pieces::new(&cells.text, out);
        let origin = (0u16..).zip(state.owed_origin).filter(|&(_, code)| code != ABSENT);
        let mut next = 0;
        for (at, code) in origin.chain(state.owed.iter().copied()) {
            let at = usize::from(at);
            // Parameters, and what was written twice or not in its order.
            if at < next || at >= cells.query_from {
                return false;
            }
            next = at + 1;
            to.instead(&cells.list[at], self.text(code));
        }
        if state.gone == 0 && state.touched & touch::QUERY == 0 {
            to.up_to(length);
        } else {
            if split.fragment.is_some() || state.ordered {
                return false;
            }
            to.up_to(split.path.1 as usize);
            let parameters = &cells.list[cells.query_from..];
            // Beside them the key for their order may be gone, or that for an empty query, which stands last before them.
            let gone = state.gone - usize::from(cells.list[cells.query_from - 1].key == GONE);
            // Often none is left; how many there were, nobody can foretell.
            if gone < parameters.len() && !kept(parameters, state.disordered, &mut to) {
                return false;
            }
        }
        to.flush();
        true
    }
}

/// Writes the parameters that are left; false where they may have to stand in another order, or are no parameters.
fn kept(parameters: &[Cell], disordered: bool, to: &mut Pieces<'_>) -> bool {
    let mut mark = b'?';
    parameters.iter().all(|cell| match cell.key {
        GONE => true,
        KeyRef::Query(a, b) if mark == b'?' || !disordered => {
            to.bytes(&[std::mem::replace(&mut mark, b'&')]);
            to.range(a, b);
            to.piece(cell);
            true
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::apply::Scratch;
    use crate::rules::types::{Constraint, Fragments, Operation, Representative, Rule, SiteRules, Test, Tokens};
    use crate::url;

    #[test]
    fn what_changed_in_its_place_is_edited_and_all_else_composed() {
        let ignore = |key: &str, representative| {
            Rule::of("", Vec::new(), vec![(key.to_owned(), Operation::Ignore(representative))])
        };
        let set = |key: &str, to: &str| ignore(key, Representative::WherePresent(to.to_owned()));
        let compile = |rules, semicolons| {
            let hosts = vec!["a.example".to_owned(), "b.example".to_owned()];
            let fragments = Some(Fragments::Keys { clusters: 3 });
            let tokens = Tokens { semicolons, fragments, ..Tokens::default() };
            CompiledSite::compile(&SiteRules { hosts, rules, tokens, ..SiteRules::default() })
        };
        let mut rules = vec![set("host", "a.example"), set("scheme", "http"), ignore("order", Representative::LeftOut)];
        rules.extend([ignore("query s=", Representative::LeftOut), ignore("fragment", Representative::LeftOut)]);
        rules.extend([set("path1", "y"), set("query b=", "0"), ignore("trailing slash", Representative::LeftOut)]);
        let (site, mut scratch) = (compile(rules, false), Scratch::default());
        let mut edited = |site: &CompiledSite, from: &str| {
            let split = url::normalize(from.as_bytes(), &mut scratch.cells.text).unwrap();
            let length = scratch.cells.text.len();
            scratch.fired.clear();
            site.reduce(&split, &mut scratch, None);
            let Scratch { cells, state, out, .. } = &mut scratch;
            let edited = site.edit(&split, length, cells, state, out).then(|| String::from_utf8(out.clone()).unwrap());
            assert!(edited.is_none() || site.composes_what_was_edited(&mut scratch), "{edited:?}");
            edited
        };
        for (from, to) in [
            ("https://b.example/x/z/w", Some("http://a.example/x/y/w")),
            ("http://b.example/x/z?c=1#d", None),
            ("https://a.example/x/?c=1&s=2", None),
            ("https://a.example/x?s=2", Some("http://a.example/x")),
            ("http://b.example/x?s=2&c=1&a=2&c=3", None),
            ("http://a.example/x?c=1&d&e=3&s=2", Some("http://a.example/x?c=1&d&e=3")),
            ("http://a.example/x?d&c=1&s=2", None),
            ("http://a.example/x?s=2&c=1", Some("http://a.example/x?c=1")),
            ("http://a.example/x?a=1&b=2", None),
            ("http://a.example/x?s=1#d", None),
            ("http://b.example/x?c=1&d=2", Some("http://a.example/x?c=1&d=2")),
        ] {
            assert_eq!(edited(&site, from).as_deref(), to, "{from}");
        }
        // The order is a pair of its own where a rule leaves it out that asks for something else.
        let mut order = ignore("order", Representative::LeftOut);
        order.scope = vec![Constraint { key: "query e=".to_owned(), test: Test::Present }];
        let site = compile(vec![order, ignore("query s=", Representative::LeftOut)], false);
        for (from, to) in [
            ("http://a.example/x?s=2&e=1", Some("http://a.example/x?e=1")),
            ("http://a.example/x?s=2&e=1&c=3", None),
            ("http://a.example/x?s=2&c=1", None),
            ("http://a.example/x?c=1&s=2", Some("http://a.example/x?c=1")),
        ] {
            assert_eq!(edited(&site, from).as_deref(), to, "{from}");
        }
        let site = compile(vec![set("scheme", "http")], true);
        assert_eq!(edited(&site, "https://a.example/x").as_deref(), Some("http://a.example/x"));
        assert_eq!(edited(&site, "https://a.example/x?c=1;d=2"), None);
    }
}
