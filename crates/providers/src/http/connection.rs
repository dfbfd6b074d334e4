//! One HTTP connection, polled by the reader of its response.
//!
//! There is no separate task between socket and reader: the reader processes everything that one read returns, and
//! dropping the response closes the connection.

use super::route::{BoxedIo, HttpRoute};
use super::{ConnectionError, IDLE_TIMEOUT, RequestBody};
use bytes::Bytes;
use futures::{FutureExt as _, Stream};
use http::{Request, Response, response};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::time::Instant;

/// The size of the read buffer: more would let a fast server occupy the thread for long.
const MAX_BUFFER: usize = 64 << 10;
/// The maximum number of idle connections.
const MAX_IDLE: usize = 4;

/// Idle connections for the next requests.
#[derive(Default)]
pub(crate) struct ConnectionPool {
    idle: Mutex<Vec<IdleConnection>>,
}

struct IdleConnection {
    connection: HttpConnection,
    route: HttpRoute,
    since: Instant,
}

/// A response with a streaming body.
pub(crate) struct HttpResponse {
    pub(crate) head: response::Parts,
    pub(crate) body: ResponseBody,
}

impl ConnectionPool {
    /// Sends a request on an idle connection, or on a new one.
    pub(crate) async fn send(
        self: &Arc<Self>,
        route: &HttpRoute,
        url: &Url,
        mut request: Request<RequestBody>,
    ) -> Result<HttpResponse, ConnectionError> {
        route.set_target(url, &mut request)?;
        while let Some(mut connection) = self.take(route) {
            match connection.send(request).await {
                Ok(response) => return Ok(self.response(connection, route, response)),
                // The server closed the connection in the meantime and has not seen the request.
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(ConnectionError::other(failed.into_error())),
                },
            }
        }
        let mut connection = HttpConnection::new(route.connect().await?).await?;
        let response = connection.send(request).await;
        let response = response.map_err(|failed| ConnectionError::other(failed.into_error()))?;
        Ok(self.response(connection, route, response))
    }

    fn take(&self, route: &HttpRoute) -> Option<HttpConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|idle| idle.since.elapsed() < IDLE_TIMEOUT);
        while let Some(index) = idle.iter().rposition(|idle| idle.route.same_target(route)) {
            let mut connection = idle.remove(index).connection;
            if connection.is_usable() {
                return Some(connection);
            }
        }
        None
    }

    fn put_back(&self, connection: HttpConnection, route: HttpRoute) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MAX_IDLE {
            idle.remove(0);
        }
        idle.push(IdleConnection {
            connection,
            route,
            since: Instant::now(),
        });
    }

    fn response(
        self: &Arc<Self>,
        connection: HttpConnection,
        route: &HttpRoute,
        response: Response<Incoming>,
    ) -> HttpResponse {
        let (head, incoming) = response.into_parts();
        let body = ResponseBody {
            incoming,
            open: Some((connection, route.clone())),
            pool: Arc::clone(self),
        };
        HttpResponse { head, body }
    }
}

/// A connection and the driver of its I/O.
struct HttpConnection {
    sender: SendRequest<RequestBody>,
    driver: http1::Connection<TokioIo<BoxedIo>, RequestBody>,
    closed: bool,
}

impl HttpConnection {
    async fn new(io: BoxedIo) -> Result<Self, ConnectionError> {
        let handshake = http1::Builder::new()
            .max_buf_size(MAX_BUFFER)
            .handshake(TokioIo::new(io))
            .await;
        let (sender, driver) = handshake.map_err(ConnectionError::other)?;
        Ok(HttpConnection {
            sender,
            driver,
            closed: false,
        })
    }

    async fn send(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, TrySendError<Request<RequestBody>>> {
        let HttpConnection { sender, driver, closed } = self;
        let mut response = pin!(sender.try_send_request(request));
        poll_fn(|cx| {
            drive(driver, closed, cx);
            response.as_mut().poll(cx)
        })
        .await
    }

    /// Drives the I/O as far as possible.
    fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.driver, &mut self.closed, cx);
    }

    /// Whether the connection is still open and idle.
    fn is_usable(&mut self) -> bool {
        let ready = poll_fn(|cx| {
            self.drive(cx);
            self.sender.poll_ready(cx)
        });
        matches!(ready.now_or_never(), Some(Ok(()))) && !self.closed
    }
}

fn drive(driver: &mut http1::Connection<TokioIo<BoxedIo>, RequestBody>, closed: &mut bool, cx: &mut Context<'_>) {
    // The response or body future reports the reason.
    if !*closed && Pin::new(driver).poll(cx).is_ready() {
        *closed = true;
    }
}

/// The streaming body of a response. At its end, the connection returns to the pool.
pub(crate) struct ResponseBody {
    incoming: Incoming,
    open: Option<(HttpConnection, HttpRoute)>,
    pool: Arc<ConnectionPool>,
}

impl ResponseBody {
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
            match frame.map(|frame| frame.map(|frame| frame.into_data())) {
                Some(Ok(Ok(piece))) => return Poll::Ready(Some(Ok(piece))),
                // Trailers are ignored.
                Some(Ok(Err(_))) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(ConnectionError::other(error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl Stream for ResponseBody {
    type Item = Result<Bytes, ConnectionError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let piece = match (this.poll_data(cx), &mut this.open) {
            (Poll::Pending, Some((connection, _))) => {
                connection.drive(cx);
                ready!(this.poll_data(cx))
            }
            (Poll::Pending, None) => return Poll::Pending,
            (Poll::Ready(piece), _) => piece,
        };
        match &piece {
            Some(Ok(_)) => {}
            Some(Err(_)) => this.open = None,
            None => {
                if let Some((mut connection, route)) = this.open.take() {
                    connection.drive(cx);
                    if !connection.closed {
                        this.pool.put_back(connection, route);
                    }
                }
            }
        }
        Poll::Ready(piece)
    }
}
