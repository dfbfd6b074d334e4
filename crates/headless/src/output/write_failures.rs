//! Records output errors, which are reported at the end.

use crate::failure::{Failure, plain};
use std::io::{Error, ErrorKind, Result};

/// The first write error.
#[derive(Debug, Default)]
pub struct WriteFailures(Option<Error>);

impl WriteFailures {
    /// Records the result of a write. A closed pipe is not an error, because the session contains the whole output.
    pub fn note(&mut self, written: Result<()>) {
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.0.get_or_insert(error);
        }
    }

    /// The failure to report, if a write failed.
    pub fn failure(&self) -> Option<Failure> {
        let error = self.0.as_ref()?;
        Some(Failure::failed(format!("cannot write the output: {}", plain(error))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_write_error_is_reported_and_a_broken_pipe_is_not_an_error() {
        let mut failures = WriteFailures::default();
        failures.note(Ok(()));
        failures.note(Err(ErrorKind::BrokenPipe.into()));
        assert_eq!(failures.failure(), None);
        failures.note(Err(Error::other("the disk is full")));
        failures.note(Err(Error::other("the network is down")));
        assert_eq!(
            failures.failure(),
            Some(Failure::failed("cannot write the output: the disk is full"))
        );
    }
}
