//! Which programs of the first 64 a URL reaches, kept up to date while rules change its values: what [`rows`](super::rows)
//! tell together, without asking all of them again for every value that changed.

/// Sums over the rows of the values of a URL, one bit a program. How many values stop a program is counted up to two.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    /// No value stops these.
    pub(super) pass: u64,
    /// At most one value does.
    but_one: u64,
    /// Some value may set these to work, or could before it changed: a program that finds nothing to do does nothing.
    pub(super) act: u64,
    /// More than one value stopped these when one of them went: one at least is left.
    lost: u64,
    /// So it was twice: nobody knows whether one is left.
    unknown: u64,
}

impl Reach {
    /// Of the row of every URL.
    #[inline(always)]
    pub(super) fn new([pass, act]: [u64; 2]) -> Reach {
        Reach { pass, but_one: u64::MAX, act, lost: 0, unknown: 0 }
    }

    /// A value with this row comes.
    #[inline(always)]
    pub(super) fn enter(&mut self, [pass, act]: [u64; 2]) {
        self.but_one &= self.pass | pass;
        self.pass &= pass;
        self.act |= act;
    }

    /// A value with this row goes.
    #[inline(always)]
    pub(super) fn leave(&mut self, [pass, _]: [u64; 2]) {
        self.unknown |= self.lost & !pass;
        self.lost |= !pass & !self.but_one;
        self.pass |= !pass & self.but_one;
    }

    /// The programs that all values let pass and one may set to work, beside those that `also` may; `None` where it is not
    /// known of one of these `programs`.
    #[inline(always)]
    pub(super) fn chosen(&self, programs: u64, also: u64) -> Option<u64> {
        (self.unknown & programs == 0).then_some(self.pass & (self.act | also))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ways in which four values, each with one of these rows, come and go.
    #[test]
    fn what_is_known_is_so() {
        let rows = [[!0b0011, 1], [!0b0101, 2], [!0b1001, 4], [!0b1111, 8], [!0, 16], [!0b0110, 0]];
        let every = [!0b1000_0000, 64];
        let mut known = [0, 0];
        for mut way in 0..6u32.pow(6) {
            let (mut reach, mut values) = (Reach::new(every), Vec::new());
            for at in 0..6 {
                let row = rows[(way % 6) as usize];
                way /= 6;
                match values.iter().position(|value| *value == row) {
                    Some(found) => {
                        values.swap_remove(found);
                        reach.leave(row);
                    }
                    None => {
                        values.push(row);
                        reach.enter(row);
                    }
                }
                let pass = values.iter().fold(every[0], |pass, row| pass & row[0]);
                let act = values.iter().fold(every[1], |act, row| act | row[1]);
                for program in (0..8).map(|bit| 1 << bit) {
                    let chosen = reach.chosen(program, 0);
                    known[usize::from(chosen.is_some())] += 1;
                    let Some(chosen) = chosen else { continue };
                    assert_eq!(reach.pass & program, pass & program, "{values:?} {at}");
                    assert!(pass & act & program & !chosen == 0 && chosen & program & !pass == 0);
                }
            }
        }
        assert!(known[0] > 0 && known[1] > 4 * known[0], "{known:?}");
    }
}
