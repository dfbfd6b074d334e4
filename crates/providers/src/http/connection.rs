//! One connection, driven by whoever waits for its answer.
//!
//! No task of its own stands between the socket and the reader: all that one read has brought is taken in at once, and dropping
//! the answer closes the connection.

use super::connect::{Io, Route};
use super::{IDLE, Pieces, chain};
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

/// How many connections are kept for later.
const MOST_IDLE: usize = 4;

/// Connections that wait for the next request.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    connection: Connection,
    route: Route,
    since: Instant,
}

/// An answer whose body is still to come.
pub(crate) struct Answer {
    pub(crate) head: response::Parts,
    pub(crate) body: Body,
}

impl Pool {
    /// Sends a request on a connection that is open already, or else on a new one.
    pub(crate) async fn send(
        self: &Arc<Self>,
        route: &Route,
        url: &Url,
        mut request: Request<Pieces>,
    ) -> Result<Answer, String> {
        route.address(url, &mut request)?;
        while let Some(mut connection) = self.take(route) {
            match connection.send(request).await {
                Ok(response) => return Ok(self.answer(connection, route, response)),
                // The server closed it meanwhile, and has seen nothing of the request.
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(chain(failed.error())),
                },
            }
        }
        let mut connection = Connection::new(route.open().await?).await?;
        let response = connection.send(request).await;
        let response = response.map_err(|failed| chain(failed.error()))?;
        Ok(self.answer(connection, route, response))
    }

    fn take(&self, route: &Route) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|idle| idle.since.elapsed() < IDLE);
        while let Some(place) = idle.iter().rposition(|idle| idle.route.leads_to(route)) {
            let mut connection = idle.remove(place).connection;
            if connection.is_usable() {
                return Some(connection);
            }
        }
        None
    }

    fn keep(&self, connection: Connection, route: Route) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MOST_IDLE {
            idle.remove(0);
        }
        idle.push(Idle {
            connection,
            route,
            since: Instant::now(),
        });
    }

    fn answer(self: &Arc<Self>, connection: Connection, route: &Route, response: Response<Incoming>) -> Answer {
        let (head, incoming) = response.into_parts();
        let body = Body {
            incoming,
            open: Some((connection, route.clone())),
            pool: Arc::clone(self),
        };
        Answer { head, body }
    }
}

/// A connection, and what moves bytes over it.
struct Connection {
    sender: SendRequest<Pieces>,
    driver: http1::Connection<TokioIo<Io>, Pieces>,
    closed: bool,
}

impl Connection {
    async fn new(io: Io) -> Result<Self, String> {
        let shaken = http1::handshake(TokioIo::new(io)).await;
        let (sender, driver) = shaken.map_err(|error| chain(&error))?;
        Ok(Connection {
            sender,
            driver,
            closed: false,
        })
    }

    async fn send(&mut self, request: Request<Pieces>) -> Result<Response<Incoming>, TrySendError<Request<Pieces>>> {
        let Connection { sender, driver, closed } = self;
        let mut answer = pin!(sender.try_send_request(request));
        poll_fn(|cx| {
            drive(driver, closed, cx);
            answer.as_mut().poll(cx)
        })
        .await
    }

    /// Moves bytes as far as they go now.
    fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.driver, &mut self.closed, cx);
    }

    /// Whether nothing has happened to it since it was put aside.
    fn is_usable(&mut self) -> bool {
        let ready = poll_fn(|cx| {
            self.drive(cx);
            self.sender.poll_ready(cx)
        });
        matches!(ready.now_or_never(), Some(Ok(()))) && !self.closed
    }
}

fn drive(driver: &mut http1::Connection<TokioIo<Io>, Pieces>, closed: &mut bool, cx: &mut Context<'_>) {
    // Why it ended is told to whoever waits for an answer or for more of a body.
    if !*closed && Pin::new(driver).poll(cx).is_ready() {
        *closed = true;
    }
}

/// The bytes of an answer as they come. When all have come, the connection is kept for the next request.
pub(crate) struct Body {
    incoming: Incoming,
    open: Option<(Connection, Route)>,
    pool: Arc<Pool>,
}

impl Body {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, String>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
            match frame.map(|frame| frame.map(|frame| frame.into_data())) {
                Some(Ok(Ok(piece))) => return Poll::Ready(Some(Ok(piece))),
                // Trailers say nothing that hew wants to know.
                Some(Ok(Err(_))) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(chain(&error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl Stream for Body {
    type Item = Result<Bytes, String>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let piece = match (this.poll_piece(cx), &mut this.open) {
            (Poll::Pending, Some((connection, _))) => {
                connection.drive(cx);
                ready!(this.poll_piece(cx))
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
                        this.pool.keep(connection, route);
                    }
                }
            }
        }
        Poll::Ready(piece)
    }
}
