//! A strict reader of the Prometheus text format (version 0.0.4), as much of it as counters and gauges
//! need.

use std::collections::{BTreeMap, BTreeSet};

/// Labels of a series, by name.
pub type Labels = BTreeMap<String, String>;

/// The samples of one file.
#[derive(Debug, Default)]
pub struct Samples {
    /// Kind of each metric.
    pub kinds: BTreeMap<String, String>,
    /// Values by name and labels.
    pub values: BTreeMap<(String, Labels), f64>,
}

impl Samples {
    /// The value of a metric that has one series.
    #[track_caller]
    pub fn one(&self, name: &str) -> f64 {
        let found: Vec<f64> = self.values.iter().filter(|((of, _), _)| of == name).map(|(_, value)| *value).collect();
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        found[0]
    }

    /// True where a metric has a series.
    pub fn has(&self, name: &str) -> bool {
        self.values.keys().any(|(of, _)| of == name)
    }
}

/// Reads a whole file; says what is wrong with one that is none.
pub fn parse(text: &str) -> Result<Samples, String> {
    if !text.ends_with('\n') {
        return Err(format!("the last line has no end: {:?}", text.lines().last()));
    }
    let (mut samples, mut helped, mut current) = (Samples::default(), BTreeSet::new(), String::new());
    for line in text.lines() {
        let wrong = |why: &str| Err(format!("{why}: {line:?}"));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, _) = rest.split_once(' ').ok_or("help without text")?;
            if !is_name(name) || !helped.insert(name.to_owned()) {
                return wrong("a name that is none, or a second help");
            }
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').ok_or("type without kind")?;
            if !helped.contains(name) || samples.kinds.insert(name.to_owned(), kind.to_owned()).is_some() {
                return wrong("a type before its help, or a second one");
            }
            if !matches!(kind, "counter" | "gauge") || (kind == "counter") != name.ends_with("_total") {
                return wrong("a kind that does not fit the name");
            }
            name.clone_into(&mut current);
        } else {
            let (name, labels, value) = sample(line)?;
            let value: f64 = value.parse().map_err(|error| format!("{error}: {line:?}"))?;
            if name != current {
                return wrong("a sample outside the group of its metric");
            }
            if samples.values.insert((name, labels), value).is_some() {
                return wrong("a second sample of one series");
            }
        }
    }
    Ok(samples)
}

fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Name, labels and value of `name{label="value",...} value`.
fn sample(line: &str) -> Result<(String, Labels, &str), String> {
    let wrong = |why: &str| format!("{why}: {line:?}");
    let (name, mut rest) = line.split_once('{').ok_or_else(|| wrong("no labels"))?;
    let mut labels = Labels::new();
    loop {
        let (label, behind) = rest.split_once("=\"").ok_or_else(|| wrong("a label without a value"))?;
        let (mut value, mut chars) = (String::new(), behind.char_indices());
        let end = loop {
            match chars.next().ok_or_else(|| wrong("a value without an end"))? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, c @ ('\\' | '"'))) => c,
                    _ => return Err(wrong("an escape that is none")),
                }),
                (_, c) => value.push(c),
            }
        };
        if !is_name(name) || !is_name(label) || labels.insert(label.to_owned(), value).is_some() {
            return Err(wrong("a name that is none, or a second label of one name"));
        }
        match behind[end + 1..].split_at_checked(1) {
            Some((",", more)) => rest = more,
            Some(("}", more)) => {
                let value = more.strip_prefix(' ').ok_or_else(|| wrong("no value"))?;
                return Ok((name.to_owned(), labels, value));
            }
            _ => return Err(wrong("labels without an end")),
        }
    }
}

#[test]
fn what_is_no_metrics_file_is_refused() {
    let good = "# HELP a_total x\n# TYPE a_total counter\na_total{k=\"v\\\"\\\\\\n\"} 1\n";
    assert_eq!(parse(good).unwrap().values.keys().next().unwrap().1["k"], "v\"\\\n");
    for bad in [
        &good[..good.len() - 1],
        "a_total{k=\"v\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na{k=\"v\n\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na{k=\"v\"} x\n",
        "# HELP a x\n# TYPE a gauge\na{k=\"v\"} 1\na{k=\"v\"} 2\n",
        "# HELP a x\n# TYPE a counter\na{k=\"v\"} 1\n",
        "# HELP a x\n# TYPE a gauge\na{k=\"v\" 1\n",
    ] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
}
