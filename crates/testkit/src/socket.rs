//! A socket that can be cut in the middle of what is being written to it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Stands where the connection shall break. Followed by more bytes, so that the chunk it is in stays incomplete.
const MARK: &[u8] = b"\0\0<cut the connection here>\0\0 and these bytes never arrive";

/// Breaks one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scissors(Arc<AtomicBool>);

impl Scissors {
    /// Makes the connection break right after these bytes, inside the chunk that holds them.
    pub(crate) fn cut_after(&self, bytes: &[u8]) -> Bytes {
        self.0.store(true, Ordering::SeqCst);
        let mut doomed = BytesMut::with_capacity(bytes.len() + MARK.len());
        doomed.extend_from_slice(bytes);
        doomed.extend_from_slice(MARK);
        doomed.freeze()
    }

    fn is_armed(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A socket with its scissors.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    scissors: Scissors,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, scissors: Scissors) -> Self {
        Self { stream, scissors }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    // Vectored writes stay off, so that the mark is never spread over two buffers.
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut upto = buf.len();
        if self.scissors.is_armed() {
            match buf.windows(MARK.len()).position(|window| window == MARK) {
                Some(0) => return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
                Some(at) => upto = at,
                None => {}
            }
        }
        Pin::new(&mut self.stream).poll_write(cx, &buf[..upto])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
