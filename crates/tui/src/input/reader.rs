//! Reads the terminal without a thread of its own: nobody takes keys from an editor that was started meanwhile.

use super::{Parser, Signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// After so long a lone Escape is the key, and not the beginning of a sequence.
const PATIENCE: Duration = Duration::from_millis(25);

/// Reads signals from a terminal.
pub(crate) struct Reader {
    fd: AsyncFd<OwnedFd>,
    parser: Parser,
}

impl Reader {
    /// A reader of standard input.
    pub(crate) fn stdin() -> io::Result<Self> {
        Reader::new(io::stdin().as_fd())
    }

    /// A reader of a terminal.
    #[expect(
        deprecated,
        reason = "an owned descriptor stays open, which is what its unsafe successor demands"
    )]
    pub(crate) fn new(terminal: BorrowedFd<'_>) -> io::Result<Self> {
        let fd = AsyncFd::with_interest(terminal.try_clone_to_owned()?, Interest::READABLE)?;
        Ok(Reader {
            fd,
            parser: Parser::default(),
        })
    }

    /// The next signals; `None` when the terminal is gone. Nothing is lost when this is dropped while it waits.
    pub(crate) async fn next(&mut self, out: &mut Vec<Signal>) -> Option<()> {
        loop {
            let read = if self.parser.is_waiting() {
                match tokio::time::timeout(PATIENCE, read(&self.fd)).await {
                    Ok(read) => read,
                    Err(_) => {
                        self.parser.settle(out);
                        if out.is_empty() {
                            continue;
                        }
                        return Some(());
                    }
                }
            } else {
                read(&self.fd).await
            };
            match read {
                Ok(bytes) if bytes.is_empty() => return None,
                Ok(bytes) => self.parser.feed(&bytes, out),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            if !out.is_empty() {
                return Some(());
            }
        }
    }
}

async fn read(fd: &AsyncFd<OwnedFd>) -> io::Result<Vec<u8>> {
    loop {
        // The terminal may be shared with other programs and so stays blocking; it is only read when it has something. It is
        // asked before the runtime is, which looks at it seldom while there is much else to do.
        if !is_readable(fd.get_ref().as_fd()) {
            fd.readable().await?.clear_ready();
            if !is_readable(fd.get_ref().as_fd()) {
                continue;
            }
        }
        let mut buffer = [0; 4096];
        let count = rustix::io::read(fd.get_ref(), &mut buffer)?;
        return Ok(buffer.get(..count).unwrap_or_default().to_vec());
    }
}

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut fds, Some(&now)), Ok(count) if count > 0)
}
