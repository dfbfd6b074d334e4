//! Records output errors, which are reported at the end.

use crate::failure::{Failure, plain};
use std::io::{Error, ErrorKind, Result};

/// The first mistake in writing.
#[derive(Debug, Default)]
pub(crate) struct WriteFailures(Option<Error>);

impl WriteFailures {
    /// Takes down how writing went. A reader who has left is no mistake: the session has everything.
    pub(crate) fn note(&mut self, written: Result<()>) {
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.0.get_or_insert(error);
        }
    }

    /// The failure to report, if a write failed.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let error = self.0.as_ref()?;
        Some(Failure::failed(format!("cannot write the output: {}", plain(error))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_loss_is_told_and_a_reader_who_left_is_none() {
        let mut lost = WriteFailures::default();
        lost.note(Ok(()));
        lost.note(Err(ErrorKind::BrokenPipe.into()));
        assert_eq!(lost.failure(), None);
        lost.note(Err(Error::other("the disk is gone")));
        lost.note(Err(Error::other("and so is the machine")));
        assert_eq!(
            lost.failure(),
            Some(Failure::failed("cannot write the output: the disk is gone"))
        );
    }
}
