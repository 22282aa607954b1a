//! Failure of a job: exit codes, and one clear line on standard error.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use crate::exit::Exit;
use crate::messages::fail;

/// Section on exit codes in every `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done (also when the reader of standard output goes away early, as `head` does)
  1  the run failed (also where no record has a label, however many were rejected)
  2  usage or configuration
  3  a peer was lost or never came
  4  more records were rejected than --max-rejects allows: outputs are written, _SUCCESS is not
  130  interrupted (Ctrl-C; 143 by SIGTERM, 129 by SIGHUP): temporary files are removed";

/// Failure of a job: an exit code and the error with its causes. Any error converts to one with code 1.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    error: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// A failure with this code.
    pub fn new(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
        Failure { exit, error: error.into() }
    }

    /// A wrong command line or configuration.
    pub fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Failure {
        Failure::new(Exit::Usage, error)
    }

    /// Writing to standard output failed.
    pub fn stdout(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::new(Exit::ReaderGone, error),
            _ => Failure::new(Exit::Failed, format!("cannot write to standard output: {error}")),
        }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// The error.
    pub fn error(&self) -> &(dyn Error + 'static) {
        self.error.as_ref()
    }

    /// Writes the failure to standard error and returns the exit code.
    pub fn report(&self) -> ExitCode {
        if self.exit != Exit::ReaderGone {
            fail("error", self.exit as u8, chain(self.error.as_ref()));
        }
        ExitCode::from(self.exit as u8)
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(Exit::Failed, error)
    }
}

/// The error and its causes on one line; a cause that the text before it already contains is not
/// repeated.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer: {source}; try again")]
    struct Outer {
        source: Middle,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("middle")]
    struct Middle(#[source] io::Error);

    #[test]
    fn causes_are_told_once() {
        let error = Outer { source: Middle(io::Error::other("disk full")) };
        assert_eq!(chain(&error), "outer: middle; try again: disk full");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        assert_eq!(Failure::stdout(io::ErrorKind::BrokenPipe.into()).exit, Exit::ReaderGone);
        assert_eq!(Failure::stdout(io::Error::other("x")).exit, Exit::Failed);
        assert_eq!(Failure::from(io::Error::other("x")).exit, Exit::Failed);
    }
}
