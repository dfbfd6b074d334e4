//! Sessions of this process for other processes of the same user, over a Unix socket: the same API without devices. A server
//! forwards requests for a session to the process that has it open, so that a session in a terminal can be continued in a browser.

use super::backend::{OpenedWebSession, PublishedSession, WebSessions};
use super::guard::StreamLimiter;
use super::hub::SessionHub;
use super::registry::HubRegistry;
use super::routes;
use super::service::{HttpState, serve_connection};
use axum::body::Body;
use axum::response::Response;
use http::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use session::{Command, Event};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

/// How long connecting to another process may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The capacity of the channels between the front end and the session.
const CHANNEL: usize = 256;

/// A session that the front end of this process shares with others.
pub struct SharedSession {
    /// Receives commands of the front end.
    pub commands: mpsc::Sender<Command>,
    /// Sends events to the front end.
    pub events: mpsc::Receiver<Event>,
}

/// Shares a session with other processes while the front end of this process uses it.
pub fn share(sessions: Arc<dyn WebSessions>, opened: OpenedWebSession) -> SharedSession {
    let (commands, from_front_end) = mpsc::channel(CHANNEL);
    let (to_front_end, events) = mpsc::channel(CHANNEL);
    let registry = HubRegistry::new(sessions);
    let hub = registry.insert(opened, Some(to_front_end));
    drop(tokio::spawn(forward_commands(hub, registry, from_front_end)));
    SharedSession { commands, events }
}

/// Forwards the commands of the front end until it leaves; then the session ends after the running turn.
async fn forward_commands(hub: Arc<SessionHub>, registry: Arc<HubRegistry>, mut commands: mpsc::Receiver<Command>) {
    let mut is_closed = false;
    while let Some(command) = commands.recv().await {
        is_closed |= matches!(command, Command::Close | Command::Finish);
        let sent = match command {
            Command::SetModel { name } => {
                let window = hub.services.context_window(name.clone()).await.unwrap_or_default();
                hub.set_model(name, window).await
            }
            command => hub.send(command).await,
        };
        if sent.is_err() {
            break;
        }
    }
    if !is_closed {
        hub.send(Command::Close).await.ok();
    }
    let mut changes = registry.changes();
    while !hub.is_closed() && changes.changed().await.is_ok() {}
    // The front end releases the session; its socket is removed here.
    registry.forget(hub.id);
}

/// Serves other processes until it is aborted.
pub(super) async fn serve(published: PublishedSession, registry: Arc<HubRegistry>) {
    let PublishedSession { listener, cleanup } = published;
    let _cleanup = cleanup;
    let listening = listener
        .set_nonblocking(true)
        .and_then(|()| UnixListener::from_std(listener));
    let listener = match listening {
        Ok(listener) => listener,
        Err(error) => {
            tracing::debug!(%error, "the session is not shared");
            return;
        }
    };
    // Built for the first connection: most sessions have none.
    let mut served = None;
    while let Ok((stream, _)) = listener.accept().await {
        let (state, router) = served.get_or_insert_with(|| {
            let state = Arc::new(HttpState {
                registry: Arc::clone(&registry),
                streams: StreamLimiter::default(),
                network: None,
            });
            (Arc::clone(&state), routes::router(state))
        });
        drop(tokio::spawn(serve_connection(
            stream,
            Arc::clone(state),
            router.clone(),
            (Arc::default(), None),
        )));
    }
}

/// Forwards a request to the process with this socket. Returns the request if it cannot be reached, or if it ends before it
/// answers a request that only reads.
pub(super) async fn forward(socket: &Path, request: Request<Body>) -> Result<Response, Box<Request<Body>>> {
    let connecting = tokio::time::timeout(CONNECT_TIMEOUT, UnixStream::connect(socket));
    let Ok(Ok(stream)) = connecting.await else {
        return Err(Box::new(request));
    };
    let Ok((mut sender, connection)) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await else {
        return Err(Box::new(request));
    };
    drop(tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "the connection to another process ended");
        }
    }));
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let again = (parts.method == Method::GET).then(|| Request::from_parts(parts.clone(), Body::empty()));
    parts.uri = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
    match (sender.send_request(Request::from_parts(parts, body)).await, again) {
        (Ok(response), _) => Ok(response.map(Body::new)),
        (Err(_), Some(request)) => Err(Box::new(request)),
        (Err(error), None) => Ok(super::api_json::error_response(
            http::StatusCode::BAD_GATEWAY,
            &format!("the process that has the session open does not answer: {error}"),
            None,
        )),
    }
}
