//! Deployed rules on URLs.

use super::Transform;
use super::evidence::WeighedRule;
use crate::baselines::{Canonicalizer, RuleReport, normalize_into};
use crate::rules::published::keys::{KeyTable, Numbers, PublishedKey, compose};
use crate::rules::types::Evidence;
use crate::site::published::keys::{ABSENT, PublishedColumns};

/// Rounds at most.
const ROUNDS: usize = 10;

/// Condition of a context on a key.
enum Asks {
    Equals(Vec<u8>),
    Absent,
    Present,
    Nothing,
}

enum Does {
    /// Keys and the value they get; `None`: they are left out.
    Write(Vec<usize>, Option<Vec<u8>>),
    Move(usize, usize),
}

struct Compiled {
    /// Closed keys first: they fail soonest.
    context: Vec<(usize, Asks)>,
    does: Does,
}

/// The rules of a site.
pub struct Rules {
    keys: Vec<PublishedKey>,
    table: KeyTable,
    rules: Vec<Compiled>,
    report: Vec<RuleReport>,
    numbers: Numbers,
    normal: Vec<u8>,
}

impl Rules {
    /// Compiles them, in this order.
    pub fn new(columns: &PublishedColumns, deployed: &[&WeighedRule]) -> Rules {
        Rules {
            keys: columns.keys.clone(),
            table: KeyTable::new(&columns.keys),
            rules: deployed.iter().map(|candidate| compile(columns, candidate)).collect(),
            report: deployed.iter().map(|candidate| report(columns, candidate)).collect(),
            numbers: Numbers::default(),
            normal: Vec::new(),
        }
    }
}

fn compile(columns: &PublishedColumns, candidate: &WeighedRule) -> Compiled {
    let rule = &candidate.rule;
    let mut context: Vec<(usize, Asks)> = (0..columns.keys.len())
        .map(|key| {
            let value = columns.values[key][rule.row as usize];
            let open = rule.open >> key & 1 == 1;
            let asks = match (open, value) {
                (false, ABSENT) => Asks::Absent,
                (false, value) => Asks::Equals(columns.value(value).to_vec()),
                (true, _) if rule.optional >> key & 1 == 1 => Asks::Nothing,
                (true, _) => Asks::Present,
            };
            (key, asks)
        })
        .collect();
    context.sort_by_key(|(key, asks)| {
        let rank = match asks {
            Asks::Equals(_) => 0,
            Asks::Present => 1,
            Asks::Absent => 2,
            Asks::Nothing => 3,
        };
        (rank, std::cmp::Reverse(*key))
    });
    let does = match rule.transform {
        Transform::Ignore(keys) => {
            Does::Write((0..columns.keys.len()).filter(|key| keys >> key & 1 == 1).collect(), Some(b"*".to_vec()))
        }
        Transform::Set(key, ABSENT) => Does::Write(vec![key.into()], None),
        Transform::Set(key, value) => Does::Write(vec![key.into()], Some(columns.value(value).to_vec())),
        Transform::Move(from, to) => Does::Move(from.into(), to.into()),
    };
    Compiled { context, does }
}

fn report(columns: &PublishedColumns, candidate: &WeighedRule) -> RuleReport {
    let rule = &candidate.rule;
    let name = |key: usize| columns.keys[key].to_string();
    let mut context = Vec::new();
    for key in 0..columns.keys.len() {
        let value = columns.values[key][rule.row as usize];
        if rule.open >> key & 1 == 0 && value != ABSENT {
            context.push(format!("{} is {}", name(key), columns.text(value)));
        }
    }
    let does = match rule.transform {
        Transform::Ignore(keys) => {
            let keys: Vec<String> = (0..columns.keys.len()).filter(|key| keys >> key & 1 == 1).map(name).collect();
            format!("ignore {}", keys.join(", "))
        }
        Transform::Set(key, ABSENT) => format!("leave out {}", name(key.into())),
        Transform::Set(key, value) => format!("set {} to {}", name(key.into()), columns.text(value)),
        Transform::Move(from, to) => format!("move {} to {}", name(from.into()), name(to.into())),
    };
    let counts = &candidate.counts;
    let examples = candidate.examples.iter().map(|pair| pair.map(|row| columns.url(row))).collect();
    let evidence = Evidence {
        good: counts.good,
        bad: counts.bad,
        prior: 0,
        support_pairs: counts.support_pairs,
        false_positive_pairs: counts.false_positive_pairs,
        upper_bound_ppm: (counts.upper_bound() * 1e6).ceil() as u32,
        clusters: counts.clusters,
        examples,
    };
    RuleReport { text: format!("{does} where {}", context.join(", ")), evidence: Some(evidence) }
}

impl Canonicalizer for Rules {
    fn canonicalize(&mut self, url: &[u8], out: &mut Vec<u8>) {
        if normalize_into(url, out).is_none() {
            return;
        }
        self.normal.clone_from(out);
        let Some(mut values) = self.table.values(&self.normal, self.keys.len(), &mut self.numbers) else { return };
        let mut fired = false;
        for _ in 0..ROUNDS {
            let mut changed = false;
            for rule in &self.rules {
                if rule.context.iter().all(|(key, asks)| holds(asks, values[*key])) {
                    changed |= rule.does.to(&mut values);
                }
            }
            fired |= changed;
            if !changed {
                break;
            }
        }
        if fired {
            out.clear();
            if !compose(&self.keys, |key| values[key], out) {
                out.clone_from(&self.normal);
            }
        }
    }

    fn report(&self) -> Vec<RuleReport> {
        self.report.clone()
    }
}

fn holds(asks: &Asks, value: Option<&[u8]>) -> bool {
    match asks {
        Asks::Equals(wanted) => value == Some(wanted.as_slice()),
        Asks::Absent => value.is_none(),
        Asks::Present => value.is_some(),
        Asks::Nothing => true,
    }
}

impl Does {
    /// True where anything changed.
    fn to<'u>(&'u self, values: &mut [Option<&'u [u8]>]) -> bool {
        match self {
            Does::Write(keys, value) => {
                let mut changed = false;
                for &key in keys {
                    changed |= values[key] != value.as_deref();
                    values[key] = value.as_deref();
                }
                changed
            }
            Does::Move(from, to) => {
                let Some(value) = values[*from].take() else { return false };
                values[*to] = Some(value);
                true
            }
        }
    }
}
