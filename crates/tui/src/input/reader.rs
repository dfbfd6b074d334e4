//! Reads the terminal without a thread of its own: nobody takes keys from an editor that was started meanwhile.

use super::{Parser, Signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

/// After so long a lone Escape is the key, and not the beginning of a sequence.
const PATIENCE: Duration = Duration::from_millis(25);

/// Reads signals from a terminal.
pub(crate) struct Reader {
    fd: AsyncFd<OwnedFd>,
    parser: Parser,
    /// Until then more is waited for, where what came may be a beginning. It is kept here because the waiting is dropped and
    /// begun anew whenever something else happens.
    until: Option<Instant>,
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
            until: None,
        })
    }

    /// The next signals; `None` when the terminal is gone. Nothing is lost when this is dropped while it waits.
    pub(crate) async fn next(&mut self, out: &mut Vec<Signal>) -> Option<()> {
        loop {
            let read = match self.until {
                // The runtime looks at its clock as seldom as at the terminal while there is much else to do.
                Some(until) if Instant::now() >= until && !is_readable(self.fd.get_ref().as_fd()) => None,
                Some(until) => tokio::time::timeout_at(until, read(&self.fd)).await.ok(),
                None => Some(read(&self.fd).await),
            };
            let Some(read) = read else {
                self.until = None;
                self.parser.settle(out);
                if out.is_empty() {
                    continue;
                }
                return Some(());
            };
            match read {
                Ok(bytes) if bytes.is_empty() => return None,
                Ok(bytes) => {
                    self.parser.feed(&bytes, out);
                    self.until = self.parser.is_waiting().then(|| Instant::now() + PATIENCE);
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crossterm::event::KeyCode;
    use std::io::Write as _;

    #[tokio::test]
    async fn a_lone_escape_is_the_key_however_often_the_waiting_is_dropped() {
        let (terminal, mut keyboard) = io::pipe().unwrap();
        let mut reader = Reader::new(terminal.as_fd()).unwrap();
        keyboard.write_all(b"\x1b").unwrap();
        let mut out = Vec::new();
        // Something else happens again and again, as when a reply streams: each time the waiting is dropped.
        let give_up = Instant::now() + 400 * PATIENCE;
        while out.is_empty() && Instant::now() < give_up {
            tokio::select! {
                biased;
                read = reader.next(&mut out) => assert!(read.is_some()),
                () = tokio::task::yield_now() => {}
            }
        }
        let escape = |signal: &Signal| matches!(signal, Signal::Input(Input::Key(key)) if key.code == KeyCode::Esc);
        assert!(out.len() == 1 && out.iter().all(escape), "{out:?}");
    }
}
