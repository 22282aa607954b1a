//! The flag that silences messages.

use crate::messages;
use clap::Args;
use std::fmt::Display;

/// Option that suppresses messages.
#[derive(Args, Clone, Copy, Debug)]
pub struct Quiet {
    /// Says nothing on standard error but why it failed.
    #[arg(short, long)]
    quiet: bool,
}

impl Quiet {
    /// True where it is set.
    pub fn is_set(self) -> bool {
        self.quiet
    }

    /// Writes to standard error, unless it is set.
    pub fn say(self, message: impl Display) {
        if !self.quiet {
            messages::say(message);
        }
    }
}
