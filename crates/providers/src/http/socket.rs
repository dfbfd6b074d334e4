//! A socket that lets tiny pieces gather where they come in quick succession.
//!
//! Some servers send each word of a reply by itself. As long as words come at the pace of a model, each is read as it comes. A
//! server that sends thousands a second would wake the reader for each; then the reader looks only every few milliseconds, and
//! takes all that has come.

use std::io::{self, Read as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// Pieces that come within this time of each other come in quick succession.
const QUICK: Duration = Duration::from_millis(1);
/// A piece is tiny if it has no more bytes than this.
const TINY: usize = 4096;
/// So many tiny pieces in quick succession are a flood.
const FLOOD: u32 = 32;
/// How long pieces gather in a flood.
const REST: Duration = Duration::from_millis(4);
/// Fewer bytes than this after a rest are no flood any more.
const TRICKLE: usize = 512;
/// The most that is read at once after a rest.
const MOST: usize = 64 * 1024;

/// A connected socket.
pub(super) struct Socket {
    state: State,
    /// When something was last read.
    read: Instant,
    /// How many tiny pieces have come in quick succession.
    quick: u32,
}

enum State {
    /// What comes is read at once.
    Awake(TcpStream),
    /// Nobody is told of what comes. It is read when the time is over.
    Resting {
        socket: std::net::TcpStream,
        until: Pin<Box<Sleep>>,
        /// What was read since the last rest.
        bytes: usize,
    },
    /// The socket could not be handed over.
    Broken,
}

impl Socket {
    pub(super) fn new(socket: TcpStream) -> Self {
        Socket {
            state: State::Awake(socket),
            read: Instant::now(),
            quick: 0,
        }
    }

    /// Counts a piece and rests if too many have come too quickly.
    fn note(&mut self, bytes: usize) -> io::Result<()> {
        let now = Instant::now();
        let in_succession = bytes > 0 && bytes <= TINY && now - self.read < QUICK;
        self.quick = if in_succession { self.quick + 1 } else { 0 };
        self.read = now;
        if self.quick < FLOOD {
            return Ok(());
        }
        if let State::Awake(socket) = std::mem::replace(&mut self.state, State::Broken) {
            self.state = State::Resting {
                socket: socket.into_std()?,
                until: Box::pin(tokio::time::sleep(REST)),
                bytes: 0,
            };
        }
        Ok(())
    }

    /// The socket, where it tells of everything that happens to it.
    fn awake(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        if let State::Resting { .. } = self.state
            && let State::Resting { socket, .. } = std::mem::replace(&mut self.state, State::Broken)
        {
            self.state = State::Awake(TcpStream::from_std(socket)?);
            self.quick = 0;
        }
        match &mut self.state {
            State::Awake(socket) => Ok(Pin::new(socket)),
            State::Resting { .. } | State::Broken => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Reads what has gathered; `false` when this is no flood any more and the socket should be awake.
    fn poll_gathered(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<bool>> {
        let State::Resting { socket, until, bytes } = &mut self.state else {
            return Poll::Ready(Ok(false));
        };
        ready!(until.as_mut().poll(cx));
        let room = buffer.remaining().min(MOST);
        let read = match socket.read(buffer.initialize_unfilled_to(room)) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Ready(Ok(false)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Poll::Ready(Err(error)),
        };
        buffer.advance(read);
        *bytes += read;
        self.read = Instant::now();
        // A full buffer leaves more to read at once.
        if read < room {
            if *bytes < TRICKLE {
                self.awake()?;
            } else {
                *bytes = 0;
                until.as_mut().reset(self.read + REST);
            }
        }
        Poll::Ready(Ok(true))
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if buffer.remaining() == 0 || ready!(this.poll_gathered(cx, buffer))? {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(this.awake()?.poll_read(cx, buffer))?;
        this.note(buffer.filled().len() - before)?;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // Whoever speaks waits for an answer, and the answer shall be heard at once.
        self.quick = 0;
        self.awake()?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.quick = 0;
        self.awake()?.poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Awake(socket) => Pin::new(socket).poll_flush(cx),
            // Sockets hold nothing back.
            State::Resting { .. } | State::Broken => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.awake()?.poll_shutdown(cx)
    }
}
