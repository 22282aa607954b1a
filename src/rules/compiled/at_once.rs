//! Rules whose work is done while a URL is read.
//!
//! Most rules of most sites leave out a parameter, or say which of its hosts a site goes by, whatever else the URL holds.
//! Where nothing before such a rule looks at its keys, it makes no difference when it acts: its work is done when the key
//! is read, and the rules behind it are chosen by what it wrote. A rule that lists the values it acts on does so when one
//! of them is read.

use super::{ABSENT, Class, LISTED, Program, Slot, Step, Template, part, touch};
use crate::url::Fixed;

impl Template {
    /// Notes with each key the program that acts at once; programs know what they look at.
    pub(super) fn fill_at_once(&mut self) {
        if !self.woken {
            return;
        }
        for at in 0..self.programs.len().min(64) {
            let program = self.programs[at];
            let Some(writes) = self.writes_at_once(&program) else { continue };
            if (0..at).any(|i| self.looks(i, &program)) {
                continue;
            }
            for Write { slot, becomes, listed } in writes {
                let column = &mut self.columns[usize::from(slot)];
                (column.at_once, column.becomes) = (at as u8 | if listed.is_some() { LISTED } else { 0 }, becomes);
                for &[value, _] in listed.map_or(&[][..], |listed| part(&self.words, listed).as_chunks().0) {
                    self.values[value as usize].listed = true;
                }
            }
        }
    }

    /// What a program writes that asks for nothing but its own keys, each by itself.
    fn writes_at_once(&self, program: &Program) -> Option<Vec<Write>> {
        if program.is_form() || program.checks.0 != program.checks.1 {
            return None;
        }
        let steps = part(&self.steps, program.steps).iter();
        let writes: Vec<Write> = steps.map(|step| self.write_at_once(step)).collect::<Option<_>>()?;
        let once = (1..writes.len()).all(|i| writes[..i].iter().all(|write| write.slot != writes[i].slot));
        once.then_some(writes)
    }

    fn write_at_once(&self, step: &Step) -> Option<Write> {
        let slot = step.slot();
        let (to, listed) = match *step {
            Step::Drop(_) => (ABSENT, None),
            Step::Set(_, to, false) => (to, None),
            Step::Map(_, from, to) => {
                let (pairs, _) = part(&self.words, (from, to)).as_chunks::<2>();
                let [first, becomes] = *pairs.first()?;
                // Values that become the same; an absent key is not read.
                if first == ABSENT || pairs.iter().any(|pair| pair[1] != becomes) {
                    return None;
                }
                (becomes, Some((from, to)))
            }
            _ => return None,
        };
        let may = match self.columns[usize::from(slot)].class {
            Class::Query => to == ABSENT,
            Class::Fixed(number) if to == ABSENT => touch::without(Fixed(number)) != touch::SHAPE,
            // Scheme and host are the first two keys of every URL.
            Class::Fixed(number) => {
                (number == Fixed::SCHEME.0 || number == Fixed::HOST.0) && self.values[to as usize].plain
            }
            Class::Param => false,
        };
        may.then_some(Write { slot, becomes: u16::try_from(to).ok()?, listed })
    }
}

/// What a program does to a key at once.
struct Write {
    slot: Slot,
    /// The code that the key gets; [`ABSENT`] leaves it out.
    becomes: u16,
    /// The only values that do, as words of pairs.
    listed: Option<(u32, u32)>,
}
