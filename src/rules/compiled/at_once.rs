//! Rules whose work is done while a URL is read.
//!
//! Most rules of most sites leave out a parameter, or say which of its hosts a site goes by, whatever else the URL holds.
//! Where nothing before such a rule looks at its keys, it makes no difference when it acts: its work is done when the key
//! is read, and the rules behind it are chosen by what it wrote.

use super::{ABSENT, Class, Program, Slot, Step, Template, part, touch};
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
            for (slot, becomes) in writes {
                let column = &mut self.columns[usize::from(slot)];
                (column.at_once, column.becomes) = (at as u8, becomes);
            }
        }
    }

    /// What a program writes that asks for nothing but its own keys, each by itself.
    fn writes_at_once(&self, program: &Program) -> Option<Vec<(Slot, u16)>> {
        if program.is_form() || program.checks.0 != program.checks.1 {
            return None;
        }
        let code = |code: u32| u16::try_from(code).ok();
        let write = |step: &Step| match (*step, self.columns[usize::from(step.slot())].class) {
            (Step::Drop(slot), Class::Query) => Some((slot, ABSENT as u16)),
            (Step::Drop(slot), Class::Fixed(number)) if touch::without(Fixed(number)) != touch::SHAPE => {
                Some((slot, ABSENT as u16))
            }
            // Scheme and host are the first two keys of every URL.
            (Step::Set(slot, to, false), Class::Fixed(number))
                if (number == Fixed::SCHEME.0 || number == Fixed::HOST.0) && self.values[to as usize].plain =>
            {
                Some((slot, code(to)?))
            }
            _ => None,
        };
        let writes: Vec<(Slot, u16)> = part(&self.steps, program.steps).iter().map(write).collect::<Option<_>>()?;
        let once = (1..writes.len()).all(|i| writes[..i].iter().all(|write| write.0 != writes[i].0));
        once.then_some(writes)
    }
}
