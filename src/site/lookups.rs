//! Look-ups: single URLs of the training set with the page that represents their cluster.
//!
//! The rules reduce each training URL to an identity and compose one URL for it. Identities that hold
//! one and the same cluster become look-ups to one of them: a session form and an article form of one
//! page that no rule joins. A look-up acts only on URLs whose identity was seen, but it trusts single
//! labels, so there are none where more than `look_up_max_impure_permille` of the URLs contradict their
//! identity's majority. It decides on path and query only: both URLs lie on one origin. And it never
//! adds or changes a number: one label does not prove that a topic is its page 2. Value ranges may
//! ([`super::leads`]).
//!
//! A rule that is withdrawn or disabled later takes no look-up to another page: a look-up names a URL that was met,
//! which is reduced anew, and [`SiteRules::written`] are the URLs of look-ups that only rules wrote.

use super::operations::plainness;
use super::points::Reader;
use super::reduced::Identity;
use super::{Thresholds, Training, identity_pages, value_ranges};
use crate::rules::origins::of as origin;
use crate::rules::{RuleSet, Scratch, SiteRules};
use crate::url::NormalUrl;
use foldhash::fast::FixedState;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

/// Adds look-ups and value ranges to `rules`, found on the URLs of `training`.
pub fn learn(rules: &mut SiteRules, training: &Training, mut identities: Vec<Identity>, thresholds: &Thresholds) {
    if too_noisy(&identities, training, thresholds) {
        return;
    }
    let set = RuleSet::new(vec![rules.clone()]);
    identity_pages::choose(&mut identities, training, rules.tokenizer(), &set);
    let earlier = training.hints.previous.as_ref().map(|rules| RuleSet::new(vec![SiteRules::clone(rules)]));
    let mut reader = Reader::new(&rules.tokens);
    let mut look_ups = Vec::new();
    let mut target_of: Vec<usize> = (0..identities.len()).collect();
    let mut best_of = target_of.clone();
    for cluster in by_cluster(&identities) {
        let of: Vec<&Identity> = cluster.iter().map(|&n| &identities[n]).collect();
        let numbers: Vec<Vec<Vec<u8>>> = of.iter().map(|of| reader.numbers(of.page.by_ref())).collect();
        let votes = earlier.as_ref().map_or_else(|| vec![0; of.len()], |earlier| votes(&of, earlier, &set));
        let Some(best) = best(&of, &votes, &numbers, thresholds) else { continue };
        for (at, &n) in cluster.iter().enumerate() {
            best_of[n] = cluster[best];
            if at != best && holds(&numbers[at], &numbers[best]) {
                look_ups.push([of[at].source.as_str().to_owned(), of[best].page.as_str().to_owned()]);
                target_of[n] = cluster[best];
            }
        }
    }
    let page = |n: usize| {
        let target = &identities[target_of[n]];
        target.fetchable.then(|| target.page.as_str().to_owned())
    };
    for (n, identity) in identities.iter().enumerate() {
        if target_of[n] == n && identity.page != identity.composed {
            let page = identity.page.as_str().to_owned();
            look_ups.push([page.clone(), page]);
        }
    }
    rules.local = value_ranges::learn(&identities, &mut reader, &best_of, page, thresholds);
    look_ups.sort_unstable();
    rules.aliases = look_ups;
    rules.written = written(rules, training, &identities, &set);
}

/// The identities, by index, that hold one and the same cluster on one origin, where there are several.
fn by_cluster(identities: &[Identity]) -> Vec<Vec<usize>> {
    let pure = identities.iter().enumerate().filter(|(_, identity)| identity.pure);
    let mut pure: Vec<(u32, &[u8], usize)> =
        pure.map(|(n, identity)| (identity.majority, origin(identity.composed.as_bytes()), n)).collect();
    pure.sort_unstable();
    let clusters = pure.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|cluster| cluster.len() > 1);
    clusters.map(|cluster| cluster.iter().map(|of| of.2).collect()).collect()
}

/// Votes of an earlier result for each identity of a cluster: how many of the others it led to its page. `now` applies
/// the rules as they are.
fn votes(cluster: &[&Identity], earlier: &RuleSet, now: &RuleSet) -> Vec<u32> {
    let mut scratch = Scratch::default();
    let mut votes = vec![0u32; cluster.len()];
    for (at, identity) in cluster.iter().enumerate() {
        // A URL that was met: what only new rules write, the earlier result does not know.
        let led_to = earlier.apply_normal(identity.source.by_ref(), Some(0), &mut scratch).url;
        let Ok(led_to) = NormalUrl::new(led_to) else { continue };
        let reduced = now.apply_normal(led_to.by_ref(), Some(0), &mut scratch).url;
        let is_it = |of: &Identity| of.page.as_bytes() == led_to.as_bytes() || of.composed.as_bytes() == reduced;
        if let Some(to) = (0..cluster.len()).find(|&to| to != at && is_it(cluster[to])) {
            votes[to] += 1;
        }
    }
    votes
}

/// The identity of a cluster to whose page the others are led: the first one of those fetched in the order of votes, of
/// the fewest `numbers` (the others may lead to it), and of plain pages that were met.
fn best(cluster: &[&Identity], votes: &[u32], numbers: &[Vec<Vec<u8>>], thresholds: &Thresholds) -> Option<usize> {
    let rank = |&at: &usize| {
        let Identity { listed, is_requested, page, .. } = cluster[at];
        (
            Reverse(votes[at]),
            numbers[at].len(),
            !is_requested,
            cluster.len() >= thresholds.look_up_many && !listed,
            plainness(page.as_bytes()),
        )
    };
    let fetchable = (0..cluster.len()).filter(|&at| cluster[at].fetchable);
    fetchable.min_by(|a, b| rank(a).cmp(&rank(b)))
}

/// [`SiteRules::written`] for the look-ups and value ranges of `rules`: of the rules that write a URL those of the
/// member that the fewest change. `set` applies the rules without them.
fn written(
    rules: &SiteRules,
    training: &Training,
    identities: &[Identity],
    set: &RuleSet,
) -> Vec<(String, Vec<String>)> {
    let (tokenizer, mut scratch) = (rules.tokenizer(), Scratch::default());
    let ranges = rules.local.iter().flat_map(|local| &local.pages).flat_map(|range| [&range.like, &range.page]);
    let named: HashSet<&str, FixedState> = ranges.chain(rules.aliases.iter().flatten()).map(String::as_str).collect();
    let mut out = BTreeMap::new();
    for identity in identities {
        let own = identity.rows.iter().filter(|&&row| training.clusters[row as usize] == identity.majority);
        let own = own.filter_map(|&row| training.normal(row as usize));
        let is_met = |url: &str| own.clone().any(|own| own.without_fragment(tokenizer) == url.as_bytes());
        let is_written = |url: &&str| named.contains(url) && !is_met(url);
        let urls = [identity.source.as_str(), identity.page.as_str()].into_iter().filter(is_written);
        let urls: Vec<String> = urls.map(str::to_owned).collect();
        if !urls.is_empty() {
            let fired = |url| set.apply_normal(url, Some(0), &mut scratch).fired.iter().collect::<Vec<u16>>();
            let fewest = own.clone().map(fired).min_by_key(Vec::len).unwrap_or_default();
            let id = |&rule: &u16| rules.rules[usize::from(rule)].id.clone();
            let ids: Vec<String> = fewest.iter().map(id).collect();
            out.extend(urls.into_iter().map(|url| (url, ids.clone())));
        }
    }
    out.into_iter().collect()
}

/// True where the sorted list `all` holds each of the sorted list `some`, repeats counted.
fn holds(all: &[Vec<u8>], some: &[Vec<u8>]) -> bool {
    let mut all = all.iter();
    some.iter().all(|value| all.any(|other| other == value))
}

/// Adds exceptions: training pages whose URLs are of different clusters are excepted from the one rule
/// that joined them, the rule without which their URLs fall into groups of one cluster each; the fewest
/// groups first, then the rule adopted last; where no single rule does, all of them. Adds nothing where
/// labels are too noisy to be trusted one by one, nor for a page of which so few URLs are outside its largest
/// cluster that its rules bear them: an exception would keep all the others apart.
pub fn learn_exceptions(
    rules: &mut SiteRules,
    training: &Training,
    identities: &[Identity],
    thresholds: &Thresholds,
) -> u64 {
    let is_torn =
        |of: &&Identity| outside(of, training) * 1000 > thresholds.exception_min_permille * of.rows.len() as u64;
    let mixed: Vec<&Identity> = identities.iter().filter(|i| !i.pure).filter(is_torn).collect();
    if mixed.is_empty() || too_noisy(identities, training, thresholds) {
        return 0;
    }
    let ids: Vec<String> = rules.rules.iter().map(|r| r.id.clone()).collect();
    let plain = RuleSet::new(vec![rules.clone()]);
    // One rule set for each rule left out, made on first use.
    let mut without: Vec<Option<RuleSet>> = ids.iter().map(|_| None).collect();
    let mut scratch = Scratch::default();
    let mut exceptions = Vec::new();
    for identity in mixed {
        let mut fired: Vec<u16> = Vec::new();
        for &row in &identity.rows {
            // The search is for the rules that joined the members.
            if let Some(url) = training.normal(row as usize) {
                fired.extend(plain.apply_normal(url, Some(0), &mut scratch).fired.iter());
            }
        }
        fired.sort_unstable();
        fired.dedup();
        let mut best: Option<(usize, u16)> = None;
        for &rule in fired.iter().rev() {
            let set = without[usize::from(rule)].get_or_insert_with(|| {
                let mut rules = rules.clone();
                rules.rules.remove(usize::from(rule));
                RuleSet::new(vec![rules])
            });
            let mut parts: Vec<(u64, u32)> = identity
                .rows
                .iter()
                .filter_map(|&row| {
                    let applied = set.apply_normal(training.normal(row as usize)?, Some(0), &mut scratch);
                    Some((crate::model::hash64(applied.url), training.clusters[row as usize]))
                })
                .collect();
            parts.sort_unstable();
            parts.dedup();
            let pure = parts.windows(2).all(|w| w[0].0 != w[1].0);
            if pure && best.is_none_or(|b| parts.len() < b.0) {
                best = Some((parts.len(), rule));
            }
        }
        let url = String::from_utf8_lossy(training.url(identity.rows[0] as usize)).into_owned();
        exceptions.push([url, best.map_or_else(|| "*".to_owned(), |(_, rule)| ids[usize::from(rule)].clone())]);
    }
    exceptions.sort_unstable();
    rules.exceptions = exceptions;
    rules.exceptions.len() as u64
}

/// True where more URLs than `look_up_max_impure_permille` are outside the majority of their identity.
fn too_noisy(identities: &[Identity], training: &Training, thresholds: &Thresholds) -> bool {
    let labelled: u64 = identities.iter().map(|i| i.rows.len() as u64).sum();
    let all = identities.iter().map(|of| outside(of, training)).sum::<u64>();
    all * 1000 > thresholds.look_up_max_impure_permille * labelled
}

/// URLs outside the majority of their identity.
fn outside(of: &Identity, training: &Training) -> u64 {
    of.rows.iter().filter(|&&row| training.clusters[row as usize] != of.majority).count() as u64
}

#[cfg(test)]
mod tests {
    use super::super::reduced;
    use super::*;
    use crate::rules::Tokens;
    use crate::rules::types::{Operation, Representative, Rule};

    #[test]
    fn look_ups_name_urls_that_were_met_and_pages_that_only_rules_wrote() {
        let urls = [("old/1/", "p"), ("title", "p"), ("b/o/", "q"), ("longer/o/", "q"), ("alone/", "r")];
        let urls = urls.map(|(path, label)| (format!("http://a.example/{path}"), label));
        let rows = urls.iter().map(|(url, label)| (url.as_bytes(), Some(label.as_bytes()), false));
        let training = Training::new("a.example", rows);
        let slash = vec![("trailing slash".to_owned(), Operation::Ignore(Representative::LeftOut))];
        let mut rules = SiteRules {
            site: "a.example".to_owned(),
            origins: vec!["http://a.example".to_owned()],
            rules: vec![Rule::of("a", Vec::new(), slash)],
            ..SiteRules::default()
        };
        let found = reduced::identities(&rules, &training);
        learn(&mut rules, &training, found, &Thresholds::default());
        assert_eq!(rules.written, [("http://a.example/b/o".to_owned(), vec!["a".to_owned()])]);
        let page = |rules: &SiteRules, url: &str| {
            let url = NormalUrl::new(format!("http://a.example/{url}").as_bytes()).expect("a URL");
            let set = RuleSet::new(vec![rules.clone()]);
            let canonical = set.apply_normal(url.by_ref(), Some(0), &mut Scratch::default()).url.to_vec();
            String::from_utf8(canonical).expect("a path of ASCII").replace("http://a.example/", "")
        };
        let pages = |rules: &SiteRules| ["old/1/", "old/1", "longer/o/", "longer/o"].map(|url| page(rules, url));
        assert_eq!(pages(&rules), ["title", "title", "b/o", "b/o"]);
        // Another origin is written by its rule, under both URLs of a look-up.
        let hosts = vec![("http://www.a.example/x/", "p"), ("http://www.a.example/y/", "p")];
        let other =
            Training::new("a.example", hosts.into_iter().map(|(url, of)| (url.as_bytes(), Some(of.as_bytes()), false)));
        let host = Operation::Classes(vec![(Some("www.a.example".to_owned()), Some("a.example".to_owned()))]);
        let mut of_hosts = SiteRules {
            origins: vec!["http://a.example".to_owned(), "http://www.a.example".to_owned()],
            rules: vec![Rule::of("h", Vec::new(), vec![("host".to_owned(), host)])],
            aliases: Vec::new(),
            ..rules.clone()
        };
        let found = reduced::identities(&of_hosts, &other);
        learn(&mut of_hosts, &other, found, &Thresholds::default());
        let both = ["x", "y"].map(|path| (format!("http://a.example/{path}/"), vec!["h".to_owned()]));
        assert_eq!((of_hosts.aliases.len(), &of_hosts.written[..]), (1, &both[..]));
        of_hosts.rules[0].id = "another".to_owned();
        assert_eq!((of_hosts.forget_written(), of_hosts.aliases.len(), of_hosts.written.len()), (1, 0, 0));
        // Without the rule the URL without a slash is another one, which nobody has met.
        rules.rules.clear();
        assert_eq!(pages(&rules), ["title", "old/1", "b/o", "longer/o"]);
        // The page that it alone wrote goes with it.
        assert_eq!(rules.forget_written(), 1);
        assert_eq!(pages(&rules), ["title", "old/1", "longer/o/", "longer/o"]);
    }
    #[test]
    fn numbers_are_those_of_repeats_and_families_as_well() {
        let url = NormalUrl::new(b"http://a.example/x/7?p1=11&p2=22&q=x7&a=5&a=6").expect("a URL");
        let numbers = |name_families| {
            let tokens = Tokens { name_families, ..Tokens::default() };
            let numbers = Reader::new(&tokens).numbers(url.by_ref());
            numbers.into_iter().map(|number| String::from_utf8(number).expect("digits")).collect::<Vec<_>>()
        };
        assert_eq!([numbers(false), numbers(true)], [["11", "22", "5", "6", "7"], ["11", "22", "5", "6", "7"]]);
    }
}
