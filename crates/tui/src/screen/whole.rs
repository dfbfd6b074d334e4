//! Standard output in one piece: the library's own would cut a frame at its last line feed, and between its two parts a
//! terminal may become another size.

use std::io::{self, Write};

/// Standard output without a buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole;

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(rustix::stdio::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
