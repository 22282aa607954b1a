//! The figures of WWW10, rebuilt from the prose: the text at hand holds their captions only. Each test
//! states what it assumes.

use undust::rules::published::PublishedSite;
use undust::rules::types::{Operation, Representative, SiteRules};
use undust::site::energy;
use undust::site::published::candidates::NodeRule;
use undust::site::published::duplicates::identify;
use undust::site::published::evidence::{Counts, Operation as Op};
use undust::site::published::keys::PublishedColumns;
use undust::site::published::select;
use undust::site::published::tree::{Patterns, Slot};
use undust::site::published::{PublishedCandidates, Switches, learn, prepare};
use undust::site::tree::{Branch, Tree};
use undust::site::{Method, Params, Training};

fn training(urls: &[(&str, &str)]) -> Training {
    Training::new("example.com", urls.iter().map(|(url, label)| (url.as_bytes(), Some(label.as_bytes()), false)))
}

fn params(method: Method) -> Params {
    Params { method, fpr_max_ppm: 50_000, ..Params::default() }
}

fn state(urls: &[(&str, &str)]) -> PublishedCandidates {
    prepare(&training(urls), &params(Method::PublishedGraph), &Switches::default()).1
}

/// The pattern of a node as text, without the keys that are nowhere in it.
fn pattern(state: &PublishedCandidates, node: u32) -> Vec<String> {
    let slots = state.patterns().of(node).iter().zip(&state.columns().keys);
    let text = |(slot, key): (&Slot, &_)| match *slot {
        Slot::One(0) => None,
        Slot::One(value) => Some(format!("{key}:{}", state.columns().text(value))),
        Slot::Many(optional) => Some(format!("{key}:*{}", if optional { " or absent" } else { "" })),
    };
    slots.filter_map(text).collect()
}

fn canonical(rules: &SiteRules, url: &str) -> String {
    let mut out = Vec::new();
    PublishedSite::new(rules).canonicalize(url.as_bytes(), &mut out);
    String::from_utf8(out).expect("UTF-8 in, UTF-8 out")
}

/// Figure 3, as URLs. Assumed: K1, K2 and K4 are path segments a, b, c; R1 and R2 come from pairs that
/// differ in K3 alone (p, q), once with K5 = m and once with K5 = n; the values of U1 to U4 occur once
/// each.
pub const FIGURE_3: [&str; 8] = [
    "http://example.com/a/b?k3=d&k4=c&k5=h",
    "http://example.com/a/b?k3=e&k4=c&k5=i",
    "http://example.com/a/b?k3=f&k4=c&k5=j",
    "http://example.com/a/b?k3=g&k4=c&k5=k",
    "http://example.com/a/b?k3=p&k4=c&k5=m",
    "http://example.com/a/b?k3=q&k4=c&k5=m",
    "http://example.com/a/b?k3=p&k4=c&k5=n",
    "http://example.com/a/b?k3=q&k4=c&k5=n",
];

/// "Even [if] some URLs are absent, it is still possible to construct a tree node with the pattern
/// K1=a & K2=b & K3=.* & K4=c & K5=.*", and the rule R3 from it.
#[test]
fn figure_3_generalizes_k3_and_k5_with_and_without_u6() {
    for without in [None, Some(5)] {
        let urls: Vec<(&str, &str)> =
            (0..8).filter(|&i| Some(i) != without).map(|i| (FIGURE_3[i], "the page")).collect();
        let expected =
            ["scheme:http", "auth_0:example", "auth_1:com", "path_0:a", "path_1:b", "q:k3=:*", "q:k4=:c", "q:k5=:*"];
        assert_eq!(pattern(&state(&urls), 0), expected, "without {without:?}");

        let outcome = learn(&training(&urls), &params(Method::PublishedNaive), &Switches::default());
        let [rule] = &outcome.rules.rules[..] else { panic!("R3 alone, not {:?}", outcome.rules.rules) };
        let ignored: Vec<&str> = (rule.operations.iter())
            .filter(|(_, o)| *o == Operation::Ignore(Representative::Everywhere("*".into())))
            .map(|(key, _)| key.as_str())
            .collect();
        assert_eq!(ignored, ["q:k3=", "q:k5="]);
        for url in FIGURE_3 {
            assert_eq!(canonical(&outcome.rules, url), "http://example.com/a/b?k3=*&k4=c&k5=*");
        }
        // The context K1=a & K2=b & K4=c holds.
        let other = "http://example.com/a/b?k3=p&k4=x&k5=m";
        assert_eq!(canonical(&outcome.rules, other), other);
    }
}

/// Figure 4 (a). From the prose: mirrors `archive0` and `archive3` in `path_0` of A and B, `pageid` of
/// A is `path_1` of B with values like 10 and 21, `path_2` of B is `display`, and B has a `sid`.
/// Assumed: `path_1` of A is a script; A has more URLs than B, so that the absence of `path_2` is
/// salient; all other curves are flat, so that the tree ends at A and B.
const FIGURE_4: [(&str, &str); 10] = [
    ("http://www.example.com/archive0/view.php?pageid=10", "c1"),
    ("http://www.example.com/archive3/view.php?pageid=10", "c1"),
    ("http://www.example.com/archive0/view.php?pageid=21", "c2"),
    ("http://www.example.com/archive3/view.php?pageid=21", "c2"),
    ("http://www.example.com/archive0/view.php?pageid=35", "c3"),
    ("http://www.example.com/archive3/view.php?pageid=35", "c3"),
    ("http://www.example.com/archive0/10/display?sid=a1", "c1"),
    ("http://www.example.com/archive3/10/display?sid=b2", "c1"),
    ("http://www.example.com/archive3/21/display?sid=c3", "c2"),
    ("http://www.example.com/archive0/35/display?sid=d4", "c3"),
];

/// Figure 4 (b): siblings A and B under C.
#[test]
fn figure_4_tree_has_two_siblings_and_their_parent() {
    let state = state(&FIGURE_4);
    assert_eq!(state.patterns().tree.nodes.len(), 3);
    let fixed = |rest: &[&str]| {
        let all = ["scheme:http", "auth_0:www", "auth_1:example", "auth_2:com"].iter().chain(rest);
        all.map(|s| s.to_string()).collect::<Vec<_>>()
    };
    let c = ["path_0:*", "path_1:*", "path_2:* or absent", "q:pageid=:* or absent", "q:sid=:* or absent"];
    assert_eq!(pattern(&state, 0), fixed(&c));
    assert_eq!(pattern(&state, 1), fixed(&["path_0:*", "path_1:view.php", "q:pageid=:*"]));
    assert_eq!(pattern(&state, 2), fixed(&["path_0:*", "path_1:*", "path_2:display", "q:sid=:*"]));
    assert_eq!(state.patterns().tree.nodes[1].branch, Branch::Is(0), "A: path_2 is absent");
    assert_eq!([1, 2].map(|n| state.patterns().tree.nodes[n].parent), [0, 0]);
}

/// Figure 4 (c): the rule from A to B ignores `path_0` (a fake replace), replaces `path_1` by `pageid`,
/// keeps `display`, ignores `sid`.
#[test]
fn figure_4_rule_keeps_replaces_and_ignores() {
    let state = state(&FIGURE_4);
    let rule = state.candidates().rules.iter().find(|r| (r.source, r.target) == (1, 2)).expect("a rule A to B");
    let readable: Vec<String> = (rule.operations.iter())
        .map(|&(key, operation)| {
            let key = &state.columns().keys[key];
            match operation {
                Op::Keep(value) => format!("{key} keep {}", state.columns().text(value)),
                Op::Replace(from) => format!("{key} replace {}", state.columns().keys[from]),
                Op::Ignore => format!("{key} ignore"),
            }
        })
        .collect();
    let expected = [
        "scheme keep http",
        "auth_0 keep www",
        "auth_1 keep example",
        "auth_2 keep com",
        "path_0 ignore",
        "path_1 replace q:pageid=",
        "path_2 keep display",
        "q:sid= ignore",
    ];
    assert_eq!(readable, expected);
    // The two URLs of A in each of three clusters fall together; B's own URLs stay as they are.
    assert_eq!((rule.counts.support_pairs, rule.fpr), (3, 0.0));
}

/// The rule of Figure 4 (c) applied, with only clusters that A and B share taken as pairs (no nested
/// pairs, and a rule of A to itself out of reach), so that A to B is what is left.
#[test]
fn figure_4_rule_rewrites_urls_of_a() {
    let switches = Switches { nested: false, overlap_min: 0.6, ..Switches::default() };
    let (graph, state) = prepare(&training(&FIGURE_4), &params(Method::PublishedGraph), &switches);
    let pairs: Vec<(u32, u32)> = state.candidates().rules.iter().map(|r| (r.source, r.target)).collect();
    assert!(pairs.contains(&(1, 2)), "{pairs:?}");
    let next = select::by_energy(
        &state.candidates().rules,
        &state.patterns().tree,
        &[0, 1, 2],
        // B is the most popular.
        &[0, 1, 9].map(|urls| urls * energy::URL),
        &switches,
    );
    assert_eq!(next.get(&1).map(|r| r.target), Some(2));
    assert_eq!(graph.walk, energy::Walk::Lazy);
    let maker = &mut undust::site::published::candidates::Maker::new(state.columns(), state.patterns(), &switches);
    let deployed = select::direct(&next, maker, &switches, 0.05);
    let rules = undust::site::published::emit::rules(
        "example.com",
        state.columns(),
        state.patterns(),
        &deployed,
        maker,
        &switches,
    );
    for (url, expected) in [
        ("http://www.example.com/archive0/view.php?pageid=10", "http://www.example.com/*/10/display?sid=*"),
        ("http://www.example.com/archive9/view.php?pageid=77", "http://www.example.com/*/77/display?sid=*"),
        // A value that would be two segments does not move into the path; another script is not A.
        ("http://www.example.com/archive0/view.php?pageid=a/b", "http://www.example.com/archive0/view.php?pageid=a/b"),
        ("http://www.example.com/archive0/edit.php?pageid=10", "http://www.example.com/archive0/edit.php?pageid=10"),
    ] {
        assert_eq!(canonical(&rules, url), expected);
    }
}

/// By hand, eq. 6 on Figure 4: of A (6 URLs) and B (4) all URLs are in common clusters, 10 / (6 + 4) =
/// 1; of A and its parent C (10) the union is C, 10 / (6 + 10) = 0.625; of B and C 10 / (4 + 10) =
/// 0.714. The duplicate rate of A is 1 - 3/6 = 0.5, of B 1 - 3/4 = 0.25 (below 0.5), of C 1 - 3/10 =
/// 0.7.
#[test]
fn figure_4_overlaps_are_equation_six() {
    let switches = Switches::default();
    let columns = PublishedColumns::new(&training(&FIGURE_4));
    let tree = Patterns::build(&columns, &switches).tree;
    let found: Vec<(u32, u32, String)> = identify(&columns, &tree, &switches)
        .iter()
        .map(|p| (p.source, p.target, format!("{:.3}", p.overlap)))
        .collect();
    let expected = [
        (1, 2, "1.000"),
        (2, 1, "1.000"),
        (0, 2, "0.714"),
        (2, 0, "0.714"),
        (0, 0, "0.700"),
        (0, 1, "0.625"),
        (1, 0, "0.625"),
        (1, 1, "0.500"),
    ];
    assert_eq!(found, expected.map(|(s, t, o)| (s, t, o.to_owned())));
}

/// A tree for the selection figures: a root with three folders a (9 URLs), b (7), c (5), and in folder
/// a, split by page, x (5) and the rest (4). Nodes: 0 root, 1 a, 2 b, 3 c, 4 a/x, 5 a/*.
fn selection_tree() -> (PublishedColumns, Patterns) {
    let mut urls = Vec::new();
    for (folder, count) in [("a", 9), ("b", 7), ("c", 5)] {
        for i in 0..count {
            let page = if folder == "a" && i >= 5 {
                format!("y{i}")
            } else {
                format!("x{}", if folder == "a" { 0 } else { i })
            };
            urls.push((format!("http://example.com/{folder}/{page}?n={folder}{i}"), format!("{folder}{i}")));
        }
    }
    // One more folder of one URL makes the decline of eq. 5 fall after c.
    urls.push(("http://example.com/z/x0?n=z".to_owned(), "z".to_owned()));
    let columns =
        PublishedColumns::new(&training(&urls.iter().map(|(u, c)| (u.as_str(), c.as_str())).collect::<Vec<_>>()));
    let patterns = Patterns::build(&columns, &Switches::default());
    let tree = &patterns.tree;
    let volumes: Vec<u32> = (0..tree.nodes.len() as u32).map(|n| tree.volume(n)).collect();
    assert_eq!(volumes, [22, 9, 7, 5, 1, 5, 4]);
    assert_eq!([5, 6].map(|n| tree.nodes[n].parent), [1, 1]);
    (columns, patterns)
}

const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;
const A_X: u32 = 5;

fn rule(source: u32, target: u32, fpr: f64) -> NodeRule {
    let counts = Counts { support_pairs: 10, ..Counts::default() };
    NodeRule { source, target, operations: vec![(0, Op::Ignore)], counts, fpr }
}

fn kept(rules: &[NodeRule], tree: &Tree) -> Vec<(u32, u32)> {
    select::naive(rules, tree).iter().map(|(&source, rule)| (source, rule.target)).collect()
}

/// Figure 7 (a): s to t1 and s to t2; the rule of smaller false-positive rate is kept.
#[test]
fn figure_7a_two_rules_of_one_source() {
    let tree = selection_tree().1.tree;
    assert_eq!(kept(&[rule(A, B, 0.03), rule(A, C, 0.01)], &tree), [(A, C)]);
    assert_eq!(kept(&[rule(A, B, 0.01), rule(A, C, 0.03)], &tree), [(A, B)]);
}

/// Figure 7 (b): s1 is the ancestor of s2; the rule on s1 is kept, even where that on s2 has the
/// smaller rate.
#[test]
fn figure_7b_one_rule_covers_another() {
    let tree = selection_tree().1.tree;
    assert_eq!(kept(&[rule(A, B, 0.03), rule(A_X, C, 0.0)], &tree), [(A, B)]);
}

/// Figure 7 (c): a to b to c to a. The support of a rule is the number of URLs it can normalize: 9, 7
/// and 5, so the rule from c goes.
#[test]
fn figure_7c_a_circle_is_broken_at_the_least_support() {
    let tree = selection_tree().1.tree;
    assert_eq!(kept(&[rule(A, B, 0.0), rule(B, C, 0.0), rule(C, A, 0.0)], &tree), [(A, B), (B, C)]);
}

/// Figure 8 (b), eq. 7 by hand. Rules a/x to b (fpr 0.2) and b to c (0). Vertices a/x, b, c and, with a
/// rule from a to c (0.5), a: the edges are the rules with 1 - fpr and the link a/x to a with 1. The
/// row of a/x is 0.8 to b and 1 to a, normalized 0.8/1.8 and 1/1.8.
#[test]
fn figure_8b_graph_has_rules_and_links_to_ancestors() {
    let tree = selection_tree().1.tree;
    let rules = [rule(A_X, B, 0.2), rule(B, C, 0.0), rule(A, C, 0.5)];
    let (graph, nodes) = select::graph(&rules, &tree, &Switches::default());
    assert_eq!(nodes, [A, B, C, A_X]);
    assert_eq!(graph.volume, [9, 7, 5, 5]);
    assert_eq!(graph.edges, [(0, 2, 0.5), (1, 2, 1.0), (3, 0, 1.0), (3, 1, 0.8)]);
    // One lazy round from the volumes: half stays, half flows.
    let transition = graph.transition();
    let next = transition.step(&transition.start);
    let expected = [
        0.5 * 9.0 + 0.5 * 5.0 * 1.0 / 1.8,
        0.5 * 7.0 + 0.5 * 5.0 * 0.8 / 1.8,
        0.5 * (5.0 + 5.0) + 0.5 * (9.0 + 7.0),
        0.5 * 5.0,
    ];
    for (&e, x) in next.iter().zip(expected) {
        assert!((e as f64 / energy::URL as f64 - x).abs() < 1e-11, "{next:?}");
    }
}

/// Figure 8 (c) to (e). Assumed: candidate rules 1: a/x to a, 2: a to b, 3: b to c, and back rules from
/// c to b and from b to a with higher fpr. All energy can end in c by 1, 2, 3, of the back rules
/// nothing stays: c is the destination, rules from it are removed, and 1+2+3 becomes one direct rule 4
/// from a/x to c.
#[test]
fn figure_8_chains_become_one_direct_rule() {
    let (columns, patterns) = selection_tree();
    let tree = &patterns.tree;
    let key = |name: &str| columns.keys.iter().position(|k| k.to_string() == name).expect("a key of the site");
    let (folder, page, n) = (key("path_0"), key("path_1"), key("q:n="));
    let value = |node: u32| match patterns.of(node)[folder] {
        Slot::One(value) => value,
        Slot::Many(_) => panic!("one folder"),
    };
    let with = |source, target, fpr, operations: &[(usize, Op)]| NodeRule {
        operations: operations.to_vec(),
        ..rule(source, target, fpr)
    };
    let rules = [
        with(A_X, A, 0.0, &[(folder, Op::Keep(value(A))), (page, Op::Replace(page)), (n, Op::Replace(n))]),
        with(A, B, 0.0, &[(folder, Op::Keep(value(B))), (page, Op::Replace(n)), (n, Op::Ignore)]),
        with(B, C, 0.0, &[(folder, Op::Keep(value(C))), (page, Op::Replace(page)), (n, Op::Replace(n))]),
        rule(C, B, 0.05),
        rule(B, A, 0.05),
    ];
    // The destination is the vertex of most energy; here it is given, so that the figure does not hang on
    // the walk.
    let (_, nodes) = select::graph(&rules, tree, &Switches::default());
    let next =
        select::by_energy(&rules, tree, &nodes, &[1, 2, 9, 0].map(|urls| urls * energy::URL), &Switches::default());
    let chosen: Vec<(u32, u32)> = next.iter().map(|(&s, r)| (s, r.target)).collect();
    assert_eq!(chosen, [(A, B), (B, C), (A_X, A)], "no rule starts from the destination c");
    let switches = Switches::default();
    let maker = &mut undust::site::published::candidates::Maker::new(&columns, &patterns, &switches);
    let direct = select::direct(&next, maker, &switches, 0.05);
    let four = direct.iter().find(|r| r.source == A_X).expect("rule 4");
    assert_eq!(four.target, C);
    assert_eq!(
        four.operations,
        [(folder, Op::Keep(value(C))), (page, Op::Replace(n)), (n, Op::Ignore)],
        "the fixed folder of c, the page that rule 2 took from n, the n that rule 2 ignored"
    );
    assert!(direct.iter().all(|r| r.target == C));
}
