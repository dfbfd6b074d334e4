//! A bounded log of a server: its standard error, log messages, and output that is not a message.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// Maximum number of lines.
const MAX_LINES: usize = 200;
/// Maximum bytes of a line.
const MAX_LINE_BYTES: usize = 500;

/// The log of a server, newest last.
#[derive(Clone, Default)]
pub(crate) struct ServerLog(Arc<Mutex<VecDeque<String>>>);

impl ServerLog {
    fn lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, mut line: String) {
        line.truncate(line.floor_char_boundary(MAX_LINE_BYTES));
        let mut lines = self.lines();
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub(crate) fn text(&self) -> String {
        self.lines().iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A server's output on its way to the protocol. Lines that are not messages are logged: printing them is the most
/// common mistake of servers.
pub(crate) struct LoggedReader<R> {
    inner: R,
    log: ServerLog,
    line: Vec<u8>,
}

impl<R> LoggedReader<R> {
    pub(crate) fn new(inner: R, log: ServerLog) -> Self {
        LoggedReader {
            inner,
            log,
            line: Vec::new(),
        }
    }

    fn observe(&mut self, bytes: &[u8]) {
        for (place, piece) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if place > 0 {
                self.log_line();
            }
            let room = MAX_LINE_BYTES.saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    fn log_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('{') && !line.starts_with('[') {
            self.log.add(format!("(not a message) {line}"));
        }
        self.line.clear();
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LoggedReader<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.inner).poll_read(cx, buffer);
        if let Poll::Ready(Ok(())) = &polled {
            let bytes = buffer.filled()[before..].to_vec();
            this.observe(&bytes);
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn lines_that_are_not_messages_are_logged_and_forwarded() {
        let log = ServerLog::default();
        let output: &[u8] = b"Server ready!\n{\"jsonrpc\": 1}\n\nmore\nlast";
        let mut reader = LoggedReader::new(output, log.clone());
        let mut all = Vec::new();
        reader.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, output);
        assert_eq!(log.text(), "(not a message) Server ready!\n(not a message) more\n");
        (0..1_000).for_each(|number| log.add(format!("{number} {}", "x".repeat(1_000))));
        let text = log.text();
        assert!(
            text.len() <= MAX_LINES * (MAX_LINE_BYTES + 1) && text.starts_with("800 x"),
            "{}",
            text.len()
        );
    }
}
