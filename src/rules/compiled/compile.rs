//! Compiling: keys get slots, values get codes, rules become programs.

use super::index::{Index, PARAM_SEED, QUERY_SEED, fixed_seed};
use super::{
    ABSENT, Check, Constant, Fill, KeySlot, NO_PROGRAM, NO_RANK, NO_RULE, NO_SLOT, OTHER, Program, Slot, Step,
    Template, append, bit, entries, part, touch,
};
use crate::rules::functions::{ANY, holds, needs};
use crate::rules::types::{Constraint, Function, Operation, Representative, Rule, SECTION, SiteRules, Test};
use crate::url::hash::hash;
use crate::url::keys::{HOST_SUB, MAX_SEGMENTS};
use crate::url::{Fixed, Key, KeyKind, NormalUrl, Pairs, Part, Tokenizer, section};
use foldhash::fast::FixedState;
use serde::Serialize;
use std::collections::HashMap;

/// Code of the first host.
pub(super) const FIRST_HOST: usize = OTHER as usize + 1;

/// A template under construction.
#[derive(Default)]
struct Builder {
    site: Template,
    /// Key of each column.
    names: Vec<Key>,
    /// Column of each key.
    keys: HashMap<Key, Slot, FixedState>,
    /// Code of each value, by its hash.
    codes: HashMap<u64, u32, FixedState>,
    /// Slot of each value.
    slots: Vec<Slot>,
}

impl Template {
    /// Compiles a site. Total: a rule with an unknown key, with a name of over 65,535 bytes, or beyond the
    /// 65,534 rules and 65,535 keys that a site may have, never fires.
    pub(super) fn compile(site: &Generic<'_>) -> Template {
        let Generic { tokenizer, identified, .. } = *site;
        let (values, hosts) = (vec![Constant::default(); FIRST_HOST], site.hosts.len() as u32);
        let template = Template { tokenizer, identified, values, hosts, ..Template::default() };
        let mut builder = Builder { site: template, slots: vec![NO_SLOT; FIRST_HOST], ..Builder::default() };
        let rules = || site.rules.iter().take(usize::from(NO_RULE));
        let local = site.local.iter().filter_map(|key| Key::parse(key));
        let mut keys: Vec<Key> = rules().flat_map(keys).chain(local).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().for_each(|key| builder.column(key));
        builder.site.slots = builder.site.columns.len() as Slot;
        let local = site.local.iter().map(|key| builder.slot_of(key).unwrap_or(NO_SLOT));
        builder.site.local = local.collect();
        for (name, rank) in site.query_order.iter().zip(0..NO_RANK) {
            builder.rank(name, rank);
        }
        let host = builder.slot_of("host");
        // Hosts get the first codes: the code of a host is its number among those of the site.
        for value in &site.hosts {
            host.map(|slot| builder.code(slot, value));
        }
        if let Some(slot) = builder.slot_of(SECTION) {
            // Only in a rule file made by hand do names of sections hold `<`; no path does.
            let names = site.sections.iter().filter(|name| !name.starts_with('<'));
            names.for_each(|name| _ = builder.code(slot, name));
            builder.site.number = builder.code(slot, section::NUMBER);
            builder.code(slot, section::OTHER);
        }
        builder.site.programs = rules().map(|rule| builder.program(rule).unwrap_or_default()).collect();
        builder.finish()
    }
}

/// The keys that a rule names; a rule between forms may need the host.
fn keys(rule: &Rule) -> impl Iterator<Item = Key> {
    let scope = rule.scope.iter().map(|c| c.key.as_str());
    let sources = rule.operations.iter().filter_map(|(_, operation)| match operation {
        Operation::Replace(from) => Some(from.as_str()),
        _ => None,
    });
    let touched = rule.operations.iter().map(|o| o.0.as_str());
    let host = rule.closed.then_some(Key::Fixed(Fixed::HOST));
    scope.chain(sources).chain(touched).filter_map(Key::parse).chain(host)
}

impl Builder {
    /// Adds a column; keys come in their order, fixed ones first.
    fn column(&mut self, key: Key) {
        let at = self.site.columns.len();
        let kind = key.kind();
        let (name, seed) = match &key {
            Key::Fixed(Fixed(number)) => ("", fixed_seed(*number)),
            Key::Param(name) => (name.as_str(), hash(name.as_bytes(), PARAM_SEED)),
            Key::Query(name) => (name.as_str(), hash(name.as_bytes(), QUERY_SEED)),
        };
        // No rule learned has a longer name.
        if at >= usize::from(NO_SLOT) || name.len() > usize::from(u16::MAX) {
            return;
        }
        if let Key::Fixed(Fixed(number)) = key {
            // They come first: the pool is still empty.
            self.site.pool.resize(usize::from(number) + 1, u8::MAX);
            self.site.pool[usize::from(number)] = at as u8;
            self.site.fixed = u16::from(number) + 1;
        }
        let name = append(&mut self.site.pool, name.as_bytes());
        self.site.columns.push(KeySlot { seed, name, kind, rank: NO_RANK, row: 0, coded: false, inlined: NO_PROGRAM });
        self.keys.insert(key.clone(), at as Slot);
        self.names.push(key);
    }

    /// Gives a query key its place in the usual order; the last place counts for a repeated name.
    fn rank(&mut self, name: &str, rank: u16) {
        let key = Key::Query(name.to_owned());
        if !self.keys.contains_key(&key) {
            self.column(key.clone());
        }
        if let Some(&at) = self.keys.get(&key) {
            self.site.columns[usize::from(at)].rank = rank;
        }
    }

    /// The slot of a key in the notation of rules; `None` where a file names more keys than there are
    /// slots.
    fn slot_of(&self, key: &str) -> Option<Slot> {
        self.keys.get(&Key::parse(key)?).copied().filter(|&slot| slot < self.site.slots)
    }

    fn code(&mut self, slot: Slot, value: &str) -> u32 {
        let Builder { site: Template { pool, values, columns, tokenizer, .. }, slots, names, .. } = self;
        let (column, key) = (&mut columns[usize::from(slot)], &names[usize::from(slot)]);
        column.coded = true;
        let hash = hash(value.as_bytes(), column.seed);
        *self.codes.entry(hash).or_insert_with(|| {
            let (plain, holds) = match Generic::is_plain_host(value).filter(|_| key.is(Fixed::HOST)) {
                Some(plain) => (plain, if plain { 0 } else { ANY - 1 }),
                None => (is_plain(key, value, *tokenizer), holds(value.as_bytes())),
            };
            let (start, end) = append(pool, value.as_bytes());
            values.push(Constant { hash, start, end, row: 0, plain, holds });
            slots.push(slot);
            values.len() as u32 - 1
        })
    }

    fn codes(&mut self, slot: Slot, values: &[String]) -> (u32, u32) {
        let mut codes: Vec<u32> = values.iter().map(|value| self.code(slot, value)).collect();
        codes.sort_unstable();
        append(&mut self.site.words, &codes)
    }

    /// A rule; `None` for one that never fires.
    fn program(&mut self, rule: &Rule) -> Option<Program> {
        if !rule.is_valid() {
            return None;
        }
        let mut checks = Vec::new();
        for Constraint { key, test } in &rule.scope {
            let slot = self.slot_of(key)?;
            let check = match test {
                Test::Equals(value) => Check::Is(self.code(slot, value)),
                Test::OneOf(values) => Check::OneOf(self.codes(slot, values)),
                Test::NoneOf(values) | Test::Not(values) => Check::Not(self.codes(slot, values)),
                Test::Present => Check::Present,
                Test::Absent => Check::Absent,
            };
            checks.push((slot, check));
            checks.extend(matches!(test, Test::NoneOf(_)).then_some((slot, Check::Present)));
        }
        let is_named = |of: &&Constraint| of.test.needs_key() && of.key != SECTION;
        let mut named: Vec<Slot> = rule.scope.iter().filter(is_named).filter_map(|of| self.slot_of(&of.key)).collect();
        named.sort_unstable();
        named.dedup();
        let required = named.iter().fold(0, |bits, &slot| bits | bit(slot));
        let mut program = Program { required, needs: ANY, ..Program::default() };
        if rule.closed {
            let fills = rule.operations.iter().map(|(key, operation)| self.fill(key, operation));
            let mut fills: Vec<(Slot, Fill)> = fills.collect::<Option<_>>()?;
            // Columns are in the order of their keys; path parameters are written in that of the rule.
            fills.sort_by_key(|&(slot, _)| match self.site.columns[usize::from(slot)].kind {
                KeyKind::Fixed(_) => (0, slot),
                KeyKind::Param => (1, 0),
                KeyKind::Query => (2, slot),
            });
            program.target = append(&mut self.site.fills, &fills);
            program.named = named.len() as u16;
        } else {
            let steps = rule.operations.iter().map(|(key, operation)| self.step(key, operation));
            let steps: Vec<Step> = steps.collect::<Option<_>>()?;
            let need = |step: &Step| match *step {
                Step::Apply(_, function) => needs(function),
                Step::Drop(_) | Step::Set(..) | Step::Map(..) => ANY,
            };
            program.needs = steps.iter().fold(0, |all, step| all | need(step));
            program.moves = steps.iter().any(|step| self.site.is_origin(step.slot()));
            program.steps = append(&mut self.site.steps, &steps);
        }
        program.checks = append(&mut self.site.checks, &checks);
        Some(program)
    }

    fn step(&mut self, key: &str, operation: &Operation) -> Option<Step> {
        let slot = self.slot_of(key)?;
        Some(match operation {
            Operation::Ignore(Representative::LeftOut) => Step::Drop(slot),
            Operation::Ignore(Representative::WherePresent(v)) => Step::Set(slot, self.code(slot, v), false),
            Operation::Ignore(Representative::Everywhere(v)) | Operation::Keep(v) => {
                Step::Set(slot, self.code(slot, v), true)
            }
            Operation::Classes(pairs) => {
                let mut code = |v: &Option<String>| v.as_ref().map_or(ABSENT, |v| self.code(slot, v));
                let mut map: Vec<[u32; 2]> = pairs.iter().map(|(a, b)| [code(a), code(b)]).collect();
                // Of two entries for one value the first counts.
                map.sort_by_key(|m| m[0]);
                map.dedup_by_key(|m| m[0]);
                Step::Map(slot, append(&mut self.site.words, map.as_flattened()))
            }
            Operation::Apply(function) => Step::Apply(slot, *function),
            Operation::Replace(_) => return None,
        })
    }

    fn fill(&mut self, key: &str, operation: &Operation) -> Option<(Slot, Fill)> {
        let host = self.slot_of("host")?;
        if key == HOST_SUB {
            let Operation::Replace(from) = operation else { return None };
            return Some((host, Fill::ToSub { value: self.slot_of(from)?, host }));
        }
        let slot = self.slot_of(key)?;
        let fill = match operation {
            Operation::Keep(value) => Fill::Constant(self.code(slot, value)),
            Operation::Replace(from) if from == HOST_SUB => Fill::FromSub(host),
            Operation::Replace(from) => Fill::From(self.slot_of(from)?),
            _ => return None,
        };
        Some((slot, fill))
    }

    fn finish(self) -> Template {
        let mut site = self.site;
        site.ordered = site.identified
            || site.fixed_slot(Fixed::ORDER.0) != NO_SLOT
            || site.programs.iter().any(Program::is_form)
            || site.steps.iter().any(|step| site.adds(step));
        site.fill_rows(&self.slots);
        site.fill_watched();
        let sleepers = (1..ANY).map(|needs| {
            let sleeps = |(at, program): (usize, &Program)| u64::from(program.needs == needs) << at;
            (needs, site.programs.iter().take(64).enumerate().map(sleeps).fold(0, |all, bit| all | bit))
        });
        site.sleepers = sleepers.filter(|sleepers| sleepers.1 != 0).collect();
        let fixed = site.columns.iter().take_while(|c| matches!(c.kind, KeyKind::Fixed(_))).count();
        site.named = Index::new(site.columns[fixed..].iter().map(|c| c.seed), fixed as u32);
        site.codes = Index::new(site.values[FIRST_HOST..].iter().map(|v| v.hash), FIRST_HOST as u32);
        // The lists of a copy have no spare capacity.
        site.clone()
    }
}

impl Template {
    /// True for the slot of scheme or host.
    pub(super) fn is_origin(&self, slot: Slot) -> bool {
        matches!(self.columns[usize::from(slot)].kind, KeyKind::Fixed(Fixed::SCHEME | Fixed::HOST))
    }

    /// Slots of the keys that a program has a check or a step on.
    fn watches(&self, program: &Program) -> impl Iterator<Item = usize> {
        let checks = part(&self.checks, program.checks).iter().map(|check| check.0);
        checks.chain(part(&self.steps, program.steps).iter().map(Step::slot)).map(usize::from)
    }

    /// Records which programs have later ones that watch the keys they change; and which are inlined: run
    /// while a URL is coded. Inlined programs have no check, no earlier program watches their keys, and
    /// they remove parameters, or set scheme and host; of the latter several may set the same key, one
    /// after the other. A check of the section does not count where sections have rows: those are read
    /// before the pairs.
    fn fill_watched(&mut self) {
        let section = Some(self.fixed_slot(Fixed::SECTION.0)).filter(|_| self.rows.len() > self.words());
        let mut last = vec![0; usize::from(self.slots)];
        for (at, program) in self.programs.iter().enumerate() {
            self.watches(program).for_each(|slot| last[slot] = at);
        }
        let mut seen = vec![false; usize::from(self.slots)];
        for at in 0..self.programs.len() {
            let program = self.programs[at];
            let steps = part(&self.steps, program.steps).to_vec();
            let watched = steps.iter().any(|step| last[usize::from(step.slot())] > at);
            self.programs[at].watched = program.is_form() || watched;
            let is_free = part(&self.checks, program.checks).iter().all(|check| Some(check.0) == section);
            let free = !program.is_form() && is_free && at < 64;
            if free && steps.iter().all(|step| !seen[usize::from(step.slot())]) {
                if steps.iter().all(|step| self.removes(step)) {
                    steps.iter().for_each(|step| self.columns[usize::from(step.slot())].inlined = at as u8);
                } else if steps.iter().all(|step| self.sets_origin(step)) {
                    self.origin |= 1 << at;
                    continue;
                }
            }
            // Depends on the whole origin.
            let origin = [Fixed::SCHEME, Fixed::HOST].map(|of| self.fixed_slot(of.0)).into_iter();
            origin.filter(|&slot| program.moves && slot != NO_SLOT).for_each(|slot| seen[usize::from(slot)] = true);
            self.watches(&program).for_each(|slot| seen[slot] = true);
            if program.is_form() {
                seen.fill(true);
            }
        }
    }

    /// True for a step that removes a key without changing how the others are tokenized.
    fn removes(&self, step: &Step) -> bool {
        matches!(step, Step::Drop(_)) && touch::removed(self.columns[usize::from(step.slot())].kind) != touch::SHAPE
    }

    /// True for a step that gives the scheme or the host a plain constant, where it acts at all, or removes
    /// `www.`.
    fn sets_origin(&self, step: &Step) -> bool {
        let plain = |code: u32| self.values[code as usize].plain;
        let plain = match *step {
            Step::Set(_, to, _) => plain(to),
            Step::Map(_, range) => {
                entries(&self.words, range).iter().all(|&[_, to]| plain(to) && self.after(step, to) == to)
            }
            Step::Apply(_, function) => function == Function::DropWww,
            Step::Drop(_) => false,
        };
        plain && !self.adds(step) && self.is_origin(step.slot())
    }
}

/// Everything that a template depends on: rules with a number and a mark in place of each host.
#[derive(Debug, Serialize)]
pub(super) struct Generic<'s> {
    pub(super) tokenizer: Tokenizer,
    /// Exceptions or look-ups need the identity of a URL.
    pub(super) identified: bool,
    pub(super) query_order: &'s [String],
    pub(super) sections: &'s [String],
    /// Keys with value ranges.
    pub(super) local: Vec<&'s str>,
    #[serde(serialize_with = "without_evidence")]
    pub(super) rules: Vec<Rule>,
    /// Placeholders of the hosts in the rules, in the order of their numbers.
    pub(super) hosts: Vec<String>,
}

fn without_evidence<S: serde::Serializer>(rules: &[Rule], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(rules.iter().map(|rule| (&rule.scope, &rule.operations, rule.closed)))
}

impl<'s> Generic<'s> {
    /// The rules of a site without its hosts, and the hosts.
    pub(super) fn of(site: &'s SiteRules) -> (Generic<'s>, Vec<String>) {
        let (mut hosts, mut placeholders): (Vec<String>, Vec<String>) = Default::default();
        let mut numbers: HashMap<String, usize, FixedState> = HashMap::default();
        let generic = |rule: &Rule| {
            let (scope, operations, closed) = (rule.scope.clone(), rule.operations.clone(), rule.closed);
            let mut rule = Rule { closed, ..Rule::of("", scope, operations) };
            rule.for_each_value(|key, value| {
                if key == "host" {
                    let number = *numbers.entry(value.clone()).or_insert_with(|| {
                        // No URL holds a control character. A NUL would not do: with it the hash of a value is that
                        // of a shorter one of the next key.
                        let plain = is_plain(&Key::Fixed(Fixed::HOST), value, Tokenizer::default());
                        placeholders.push(format!("\u{1}{}{}", if plain { '+' } else { '-' }, hosts.len()));
                        hosts.push(value.clone());
                        hosts.len() - 1
                    });
                    value.clone_from(&placeholders[number]);
                }
            });
            rule
        };
        let rules = site.rules.iter().map(generic).collect();
        let generic = Generic {
            tokenizer: site.tokenizer(),
            identified: !(site.exceptions.is_empty() && site.aliases.is_empty() && site.local.is_empty()),
            query_order: &site.tokens.query_order,
            sections: &site.tokens.sections,
            local: site.local.iter().map(|local| local.key.as_str()).collect(),
            rules,
            hosts: placeholders,
        };
        (generic, hosts)
    }

    /// For the placeholder of a host: whether the host is [plain](is_plain).
    pub(super) fn is_plain_host(value: &str) -> Option<bool> {
        value.strip_prefix('\u{1}').map(|mark| mark.starts_with('+'))
    }
}

/// True where a value of a key, composed into a URL and tokenized again, is this value and nothing else: it
/// has no delimiter and no escape with another normal form. For a head: as the whole segment; for a
/// group: with more of the segment behind it. False for other keys.
pub(super) fn is_plain(key: &Key, value: &str, tokenizer: Tokenizer) -> bool {
    let is_part = |fixed: Fixed, of| fixed.as_path().is_some_and(|(at, part)| part == of && at + 2 < MAX_SEGMENTS);
    let first = |part| Key::Fixed(Fixed::path(0, part));
    // URLs with the value, and the number of their keys.
    let (key, urls) = match key {
        Key::Fixed(Fixed::SCHEME) => return matches!(value, "http" | "https"),
        Key::Fixed(Fixed::TRAILING_SLASH) => return value == "/",
        Key::Fixed(Fixed::HOST) => (key, [(format!("http://{value}/"), 3), (format!("https://{value}/"), 3)]),
        Key::Fixed(fixed) if is_part(*fixed, Part::Head) => {
            (&first(Part::Head), [(format!("http://a/{value}"), 4), (format!("http://a/{value}/b"), 5)])
        }
        Key::Fixed(fixed) if is_part(*fixed, Part::Group) => {
            (&first(Part::Group), [(format!("http://a/{value}b"), 5), (format!("http://a/{value}b/c"), 6)])
        }
        Key::Query(name) if !name.is_empty() => {
            (key, [(format!("http://a/?{name}{value}"), 4), (format!("http://a/?b&{name}{value}&c"), 6)])
        }
        Key::Fixed(_) | Key::Query(_) | Key::Param(_) => return false,
    };
    urls.iter().all(|(url, count)| {
        let normal = NormalUrl::new(url.as_bytes()).ok().filter(|normal| normal.as_str() == url);
        normal.is_some_and(|normal| {
            let pairs = Pairs::tokenize(&normal, tokenizer, &[]);
            let keys = pairs.keys().filter(|key| !key.is(Fixed::ORDER)).count();
            keys == *count && pairs.get(key) == Some(value.as_bytes())
        })
    })
}
