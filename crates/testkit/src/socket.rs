//! A socket that can be disconnected in the middle of a write.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Marks the point of the disconnect. More bytes follow it, so that its chunk stays incomplete.
const MARK: &[u8] = b"\0\0<cut the connection here>\0\0 and these bytes never arrive";

/// Disconnects one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionCutter(Arc<AtomicBool>);

impl ConnectionCutter {
    /// Disconnects directly after these bytes, inside their chunk.
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

/// A socket with its cutter.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    scissors: ConnectionCutter,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, scissors: ConnectionCutter) -> Self {
        Self { stream, scissors }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    // Vectored writes are disabled, so that the mark is never split over two buffers.
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
