//! Reads terminal input without a thread, so that keys for a spawned editor are not consumed.

use super::{InputParser, TerminalEvent};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

/// After this time a lone Escape is the key rather than the start of a sequence.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(25);

/// Reads terminal events.
pub(crate) struct InputReader {
    fd: AsyncFd<OwnedFd>,
    parser: InputParser,
    /// Deadline for completing a sequence. Stored here because the read future is dropped and recreated on other
    /// events.
    deadline: Option<Instant>,
}

impl InputReader {
    /// Reads standard input.
    pub(crate) fn stdin() -> io::Result<Self> {
        InputReader::new(io::stdin().as_fd())
    }

    /// Reads a terminal.
    #[expect(
        deprecated,
        reason = "an owned descriptor stays open, which is what its unsafe successor demands"
    )]
    pub(crate) fn new(terminal: BorrowedFd<'_>) -> io::Result<Self> {
        let fd = AsyncFd::with_interest(terminal.try_clone_to_owned()?, Interest::READABLE)?;
        Ok(InputReader {
            fd,
            parser: InputParser::default(),
            deadline: None,
        })
    }

    /// Returns the next events, or `None` if the terminal is closed. Cancel-safe.
    pub(crate) async fn next(&mut self, out: &mut Vec<TerminalEvent>) -> Option<()> {
        loop {
            let read = match self.deadline {
                // The runtime rarely polls timers and the terminal while other events are ready.
                Some(until) if Instant::now() >= until && !is_readable(self.fd.get_ref().as_fd()) => None,
                Some(until) => tokio::time::timeout_at(until, read(&self.fd)).await.ok(),
                None => Some(read(&self.fd).await),
            };
            let Some(read) = read else {
                self.deadline = None;
                self.parser.time_out(out);
                if out.is_empty() {
                    continue;
                }
                return Some(());
            };
            match read {
                Ok(bytes) if bytes.is_empty() => return None,
                Ok(bytes) => {
                    self.parser.feed(&bytes, out);
                    self.deadline = self.parser.is_waiting().then(|| Instant::now() + ESCAPE_TIMEOUT);
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
        // The terminal may be shared with other programs and stays blocking, so it is read only when readable. It is
        // polled directly because the runtime rarely polls it while other events are ready.
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
    async fn a_lone_escape_is_a_key_even_if_the_read_is_cancelled_repeatedly() {
        let (terminal, mut keyboard) = io::pipe().unwrap();
        let mut reader = InputReader::new(terminal.as_fd()).unwrap();
        keyboard.write_all(b"\x1b").unwrap();
        let mut out = Vec::new();
        // Other events drop the future repeatedly, as during streaming.
        let give_up = Instant::now() + 400 * ESCAPE_TIMEOUT;
        while out.is_empty() && Instant::now() < give_up {
            tokio::select! {
                biased;
                read = reader.next(&mut out) => assert!(read.is_some()),
                () = tokio::task::yield_now() => {}
            }
        }
        let escape = |signal: &TerminalEvent| matches!(signal, TerminalEvent::Input(Input::Key(key)) if key.code == KeyCode::Esc);
        assert!(out.len() == 1 && out.iter().all(escape), "{out:?}");
    }
}
