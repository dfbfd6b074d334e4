//! A socket that batches small reads in quick succession.
//!
//! Some servers send each word of a reply separately. At the usual speed of a model, each word is read as it arrives. A
//! server that sends thousands per second would wake the reader for each one; the socket then polls only every few
//! milliseconds and reads everything that has arrived.

use std::io::{self, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// Reads within this interval count as quick succession.
const QUICK_SUCCESSION: Duration = Duration::from_millis(1);
/// The maximum size of a small read.
const SMALL_READ: usize = 4096;
/// The number of small reads in quick succession after which the socket pauses.
const SMALL_READS_BEFORE_PAUSE: u32 = 32;
/// The duration of a pause.
const PAUSE: Duration = Duration::from_millis(4);
/// Fewer bytes than this after a pause end the batching.
const RESUME_BELOW: usize = 512;
/// The maximum size of a read after a pause.
const MAX_READ: usize = 64 * 1024;

/// A connected socket.
pub(super) struct BatchingSocket {
    state: SocketState,
    /// The time of the last read.
    read: Instant,
    /// The number of small reads in quick succession.
    quick: u32,
}

enum SocketState {
    /// Data is read as it arrives.
    Reading(TcpStream),
    /// The socket is not registered with the runtime. It is read after the pause.
    Paused {
        socket: std::net::TcpStream,
        until: Pin<Box<Sleep>>,
        /// Bytes read since the last pause.
        bytes: usize,
    },
    /// Registering the socket failed.
    Failed,
}

impl BatchingSocket {
    pub(super) fn new(socket: TcpStream) -> Self {
        BatchingSocket {
            state: SocketState::Reading(socket),
            read: Instant::now(),
            quick: 0,
        }
    }

    /// Counts a read and pauses after too many small ones.
    fn record_read(&mut self, bytes: usize) -> io::Result<()> {
        let now = Instant::now();
        let in_succession = bytes > 0 && bytes <= SMALL_READ && now - self.read < QUICK_SUCCESSION;
        self.quick = if in_succession { self.quick + 1 } else { 0 };
        self.read = now;
        if self.quick < SMALL_READS_BEFORE_PAUSE {
            return Ok(());
        }
        if let SocketState::Reading(socket) = std::mem::replace(&mut self.state, SocketState::Failed) {
            self.state = SocketState::Paused {
                socket: socket.into_std()?,
                until: Box::pin(tokio::time::sleep(PAUSE)),
                bytes: 0,
            };
        }
        Ok(())
    }

    /// The socket, registered with the runtime.
    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        if let SocketState::Paused { .. } = self.state
            && let SocketState::Paused { socket, .. } = std::mem::replace(&mut self.state, SocketState::Failed)
        {
            self.state = SocketState::Reading(TcpStream::from_std(socket)?);
            self.quick = 0;
        }
        match &mut self.state {
            SocketState::Reading(socket) => Ok(Pin::new(socket)),
            SocketState::Paused { .. } | SocketState::Failed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Reads the data that arrived during the pause; `false` if the batching ends and the socket resumes.
    fn poll_batched(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<bool>> {
        let SocketState::Paused { socket, until, bytes } = &mut self.state else {
            return Poll::Ready(Ok(false));
        };
        ready!(until.as_mut().poll(cx));
        // A server that never stops sending must not keep other tasks from running.
        ready!(tokio::task::coop::poll_proceed(cx)).made_progress();
        let room = buffer.remaining().min(MAX_READ);
        let read = match socket.read(buffer.initialize_unfilled_to(room)) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Ready(Ok(false)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Poll::Ready(Err(error)),
        };
        buffer.advance(read);
        *bytes += read;
        self.read = Instant::now();
        // A full buffer leaves more to read immediately.
        if read < room {
            if *bytes < RESUME_BELOW {
                self.stream()?;
            } else {
                *bytes = 0;
                until.as_mut().reset(self.read + PAUSE);
            }
        }
        Poll::Ready(Ok(true))
    }
}

impl AsyncRead for BatchingSocket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if buffer.remaining() == 0 || ready!(this.poll_batched(cx, buffer))? {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(this.stream()?.poll_read(cx, buffer))?;
        this.record_read(buffer.filled().len() - before)?;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for BatchingSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // A write usually expects a response, so reading resumes.
        self.quick = 0;
        self.stream()?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.quick = 0;
        self.stream()?.poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            SocketState::Reading(socket) => Pin::new(socket).poll_flush(cx),
            // Sockets do not buffer writes.
            SocketState::Paused { .. } | SocketState::Failed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(cx)
    }
}
