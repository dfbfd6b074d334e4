//! What a server says to nobody in particular, bounded: its standard error, its log messages, and what is no message at all.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// Lines that are kept.
const MOST_LINES: usize = 200;
/// Bytes of a line that are kept.
const MOST_LINE: usize = 500;

/// What a server said, newest last.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<VecDeque<String>>>);

impl Log {
    fn lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, mut line: String) {
        line.truncate(line.floor_char_boundary(MOST_LINE));
        let mut lines = self.lines();
        if lines.len() == MOST_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub(crate) fn text(&self) -> String {
        self.lines().iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A server's output on its way to the protocol. Lines that cannot be messages are noted, since nothing is a more common
/// mistake of servers than to print them.
pub(crate) struct Heard<R> {
    inner: R,
    log: Log,
    line: Vec<u8>,
}

impl<R> Heard<R> {
    pub(crate) fn new(inner: R, log: Log) -> Self {
        Heard {
            inner,
            log,
            line: Vec::new(),
        }
    }

    fn listen(&mut self, bytes: &[u8]) {
        for (place, piece) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if place > 0 {
                self.note();
            }
            let room = MOST_LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    fn note(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('{') && !line.starts_with('[') {
            self.log.add(format!("(not a message) {line}"));
        }
        self.line.clear();
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Heard<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.inner).poll_read(cx, buffer);
        if let Poll::Ready(Ok(())) = &polled {
            let bytes = buffer.filled()[before..].to_vec();
            this.listen(&bytes);
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn lines_that_are_no_messages_are_noted_and_passed_on() {
        let log = Log::default();
        let said: &[u8] = b"Server ready!\n{\"jsonrpc\": 1}\n\nmore\nlast";
        let mut heard = Heard::new(said, log.clone());
        let mut all = Vec::new();
        heard.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, said);
        assert_eq!(log.text(), "(not a message) Server ready!\n(not a message) more\n");
        (0..1_000).for_each(|number| log.add(format!("{number} {}", "x".repeat(1_000))));
        let text = log.text();
        assert!(
            text.len() <= MOST_LINES * (MOST_LINE + 1) && text.starts_with("800 x"),
            "{}",
            text.len()
        );
    }
}
