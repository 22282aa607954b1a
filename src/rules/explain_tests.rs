//! Texts of `explain`, as it must print them.

use super::*;
use crate::rules::types::{Constraint, Test};

fn rule(scope: &[(&str, Test)], operations: &[(&str, Operation)]) -> Rule {
    Rule {
        evidence: Evidence { good: 120, bad: 0, upper_bound_ppm: 8_260, clusters: 43, ..Evidence::default() },
        ..Rule::of(
            "0123456789abcdef",
            scope.iter().map(|(key, test)| Constraint { key: (*key).into(), test: test.clone() }).collect(),
            operations.iter().map(|(key, operation)| ((*key).into(), operation.clone())).collect(),
        )
    }
}

fn strings(values: &[&str]) -> Vec<String> {
    values.iter().map(|&value| value.into()).collect()
}

#[test]
fn an_ignore_under_one_condition() {
    let rule = rule(
        &[("query do=", Test::Equals("login".into()))],
        &[("query sid=", Operation::Ignore(Representative::LeftOut))],
    );
    assert_eq!(
        rule_text(&rule),
        r#"where query do= is "login": ignore query sid= (left out)  [good 120, bad 0, <= 0.9 %, 43 clusters]"#
    );
}

#[test]
fn every_test_and_operation_has_a_text() {
    let scope = [
        ("host", Test::OneOf(strings(&["m", "www"]))),
        ("path0", Test::NoneOf(strings(&["a", "b", "c"]))),
        ("path1.number", Test::Present),
        ("query q=", Test::Absent),
    ];
    let operations = [
        ("ext", Operation::Keep("html".into())),
        ("fragment", Operation::Ignore(Representative::WherePresent("x".into()))),
        ("host", Operation::Apply(Function::DropWww)),
        ("path0", Operation::Apply(Function::LowerCase)),
        ("path1", Operation::Apply(Function::DecodeSubDelimiters)),
        ("path2", Operation::Replace("query id=".into())),
        ("query a=", Operation::Apply(Function::PlusIsSpace)),
        ("query b=", Operation::Apply(Function::DropEmpty)),
        ("query c=", Operation::Ignore(Representative::Everywhere("1".into()))),
        ("query d=", Operation::Classes(vec![(None, Some("asc".into())), (Some("x\"y".into()), None)])),
    ];
    assert_eq!(
        pattern_text(&rule(&scope, &operations)),
        concat!(
            r#"where host is "m" or "www" and path0 is there but not "a", "b" or "c" and path1.number is there "#,
            r#"and query q= is absent: keep ext "html", ignore fragment (becomes "x"), drop "www." from host, "#,
            r#"lower-case path0, decode sub-delimiters in path1, replace path2 by query id=, write + as %20 in query a=, "#,
            r#"leave out query b= where empty, ignore query c= (becomes "1", also where absent), "#,
            r#"for query d= absent take "asc", for "x\"y" take absent"#
        )
    );
}

#[test]
fn a_rule_everywhere_and_a_rule_between_forms() {
    let operation = [("scheme", Operation::Ignore(Representative::Everywhere("https".into())))];
    let mut form = rule(&[], &operation);
    assert_eq!(pattern_text(&form), r#"everywhere: ignore scheme (becomes "https", also where absent)"#);
    form.closed = true;
    form.scope.push(Constraint { key: "path0".into(), test: Test::Equals("t".into()) });
    assert_eq!(
        pattern_text(&form),
        concat!(
            r#"where path0 is "t" and no other key is there: "#,
            r#"ignore scheme (becomes "https", also where absent), drop the other keys"#
        )
    );
}

#[test]
fn long_lists_are_cut_and_counted() {
    let values: Vec<String> = (0..9).map(|n| n.to_string()).collect();
    let test = Constraint { key: "k".into(), test: Test::OneOf(values.clone()) };
    assert_eq!(constraint_text(&test), r#"k is "0", "1", "2", "3", "4", "5" or one of 3 more"#);
    let classes = Operation::Classes(values.into_iter().map(|v| (Some(v), Some("x".into()))).collect());
    assert!(operation_text("k", &classes).ends_with(r#"for "5" take "x" and 3 more"#));
}

#[test]
fn the_bound_is_rounded_up() {
    let text = |upper_bound_ppm, prior, clusters| {
        evidence_text(&Evidence { good: 9, bad: 1, prior, upper_bound_ppm, clusters, ..Evidence::default() })
    };
    assert_eq!(text(0, 0, 3), "[good 9, bad 1, <= 0.0 %, 3 clusters]");
    assert_eq!(text(1, 8, 3), "[good 9, bad 1, prior 8, <= 0.1 %, 3 clusters]");
    assert_eq!(text(100_000, 0, 1), "[good 9, bad 1, <= 10.0 %, 1 cluster]");
}

#[test]
fn a_trace_reads_from_top_to_bottom() {
    let mut fired = rule(&[], &[("query sid=", Operation::Ignore(Representative::LeftOut))]);
    fired.evidence.examples.push(["http://a.example/?sid=1".into(), "http://a.example/?sid=2".into()]);
    let stopped = rule(
        &[("query do=", Test::Equals("login".into()))],
        &[("query id=", Operation::Ignore(Representative::LeftOut))],
    );
    let trace = Trace {
        url: "HTTP://a.example/?sid=7".into(),
        steps: vec![
            TraceStep::Normal { url: "http://a.example/?sid=7".into() },
            TraceStep::Site {
                origin: "http://a.example".into(),
                site: Some("a.example".into()),
                unseen: false,
                platforms: &[],
            },
            TraceStep::Keys { keys: vec![("scheme".into(), "http".into()), ("query sid=".into(), "7".into())] },
            TraceStep::Rule {
                index: 0,
                outcome: RuleOutcome::Fired {
                    changes: vec![Change { key: "query sid=".into(), before: Some("7".into()), after: None }],
                },
                rule: &fired,
            },
            TraceStep::Rule {
                index: 1,
                outcome: RuleOutcome::Stopped { constraint: stopped.scope[0].clone(), found: None },
                rule: &stopped,
            },
            TraceStep::Alias { from: "http://a.example/".into(), to: "http://a.example/index.php".into() },
            TraceStep::Canonical { url: "http://a.example/index.php".into() },
        ],
    };
    let expected = r#"HTTP://a.example/?sid=7
  normal form  http://a.example/?sid=7
  site         a.example (origin http://a.example)
  keys         scheme "http"
               query sid= "7"
  rule 1       0123456789abcdef everywhere: ignore query sid= (left out)  [good 120, bad 0, <= 0.9 %, 43 clusters]
               fired: query sid= "7" -> absent
               would be stopped by: no query sid=
               or by 10 more URLs of other clusters in the data, or `undust rules disable 0123456789abcdef`
               seen as one page: http://a.example/?sid=1
                            and: http://a.example/?sid=2
"#;
    let rest = r#"  look-up      http://a.example/ is the same page as
               -> http://a.example/index.php
  canonical    http://a.example/index.php
"#;
    let unfired = r#"  rule 2       0123456789abcdef where query do= is "login": ignore query id= (left out)  [good 120, bad 0, <= 0.9 %, 43 clusters]
               stopped: query do= is absent, the rule asks that query do= is "login"
"#;
    assert_eq!(trace.text(true).as_str(), format!("{expected}{rest}"));
    assert_eq!(trace.text(false).as_str(), format!("{expected}{unfired}{rest}"));
}
