//! Unbuffered standard output: the standard library would split a frame at its last line feed, and the terminal may be
//! resized in between.

use std::io::{self, Write};

/// Standard output without a buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnbufferedStdout;

impl Write for UnbufferedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(rustix::stdio::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
