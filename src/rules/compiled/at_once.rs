//! Rules whose work is done while a URL is read.
//!
//! Most rules of most sites leave out a parameter, or say which of its hosts a site goes by, whatever else the URL holds.
//! Where nothing before such a rule looks at its keys, it makes no difference when it acts: its work is done when the key
//! is read, and the rules behind it are chosen by what it wrote. So it is with a list of hosts that become one, where it
//! lists all that any rule knows. (Lists of other keys, too, were measured: code for every key, and no gain.)

use super::compile::FIRST_HOST;
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
            for (slot, becomes, listed) in writes {
                let column = &mut self.columns[usize::from(slot)];
                (column.at_once, column.becomes) = (at as u8 | listed, becomes);
            }
        }
    }

    /// What a program writes that asks for nothing but its own keys, each by itself.
    ///
    /// A slot, the code that it gets, and [`LISTED`] where hosts get it that some rule knows.
    fn writes_at_once(&self, program: &Program) -> Option<Vec<(Slot, u16, u8)>> {
        if program.is_form() || program.checks.0 != program.checks.1 {
            return None;
        }
        let code = |code: u32| u16::try_from(code).ok();
        let write = |step: &Step| match (*step, self.columns[usize::from(step.slot())].class) {
            (Step::Drop(slot), Class::Query) => Some((slot, ABSENT as u16, 0)),
            (Step::Drop(slot), Class::Fixed(number)) if touch::without(Fixed(number)) != touch::SHAPE => {
                Some((slot, ABSENT as u16, 0))
            }
            // Scheme and host are the first two keys of every URL.
            (Step::Set(slot, to, false), Class::Fixed(number))
                if (number == Fixed::SCHEME.0 || number == Fixed::HOST.0) && self.values[to as usize].plain =>
            {
                Some((slot, code(to)?, 0))
            }
            (Step::Map(slot, from, to), Class::Fixed(number)) if number == Fixed::HOST.0 => {
                Some((slot, code(self.one_host((from, to))?)?, LISTED))
            }
            _ => None,
        };
        let writes: Vec<(Slot, u16, u8)> = part(&self.steps, program.steps).iter().map(write).collect::<Option<_>>()?;
        let once = (1..writes.len()).all(|i| writes[..i].iter().all(|write| write.0 != writes[i].0));
        once.then_some(writes)
    }

    /// The host that all others become that rules know, if that is what these words say.
    fn one_host(&self, words: (u32, u32)) -> Option<u32> {
        let (pairs, _) = part(&self.words, words).as_chunks::<2>();
        let to = pairs.first()?[1];
        let hosts = FIRST_HOST as u32..FIRST_HOST as u32 + self.hosts;
        // Sorted by the first of each; an absent host is none of them.
        let others = hosts.filter(|&host| host != to);
        let all = others.eq(pairs.iter().map(|pair| pair[0])) && pairs.iter().all(|pair| pair[1] == to);
        (all && self.values.get(to as usize)?.plain).then_some(to)
    }
}
