//! ACP over a WebSocket: each text message is one JSON-RPC message.

use super::acp_sessions::NetworkAcpSessions;
use super::api_json::error_response;
use super::service::{Client, HttpState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use futures::{SinkExt as _, StreamExt as _};
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderValue, Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::runtime::Handle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// The maximum size of a message.
const MAX_MESSAGE: usize = 32 << 20;
/// The capacity of the pipe to the ACP server.
const PIPE: usize = 64 << 10;

/// Accepts a WebSocket and serves the Agent Client Protocol on it.
pub(super) async fn acp(
    State(state): State<Arc<HttpState>>,
    Extension(client): Extension<Client>,
    mut request: Request<Body>,
) -> Response {
    let text = |name| {
        request
            .headers()
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let is_upgrade = text(UPGRADE).is_some_and(|value| value.eq_ignore_ascii_case("websocket"));
    let key = request.headers().get(SEC_WEBSOCKET_KEY).cloned();
    let (true, Some(key), Some("13")) = (is_upgrade, key, text(SEC_WEBSOCKET_VERSION)) else {
        return error_response(
            StatusCode::UPGRADE_REQUIRED,
            "this address serves ACP over WebSocket",
            None,
        );
    };
    let Some(permit) = state.streams.permit(&client.device) else {
        return error_response(StatusCode::TOO_MANY_REQUESTS, "too many connections are open", None);
    };
    let upgrade = hyper::upgrade::on(&mut request);
    drop(tokio::spawn(async move {
        let _permit = permit;
        let Ok(upgraded) = upgrade.await else {
            return;
        };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
        let (pipe, agent) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(agent);
        let sessions = Arc::new(NetworkAcpSessions::new(Arc::clone(&state.registry)));
        let connected = async {
            tokio::select! {
                () = bridge(socket, pipe) => {}
                () = state.revoked(&client.device) => {}
            }
        };
        let wire = Handle::current();
        tokio::join!(connected, crate::acp::serve(sessions, &wire, input, output));
    }));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

/// Copies messages between the socket and the lines of the ACP server, until one side ends.
async fn bridge(socket: WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>, pipe: DuplexStream) {
    let (mut send, mut receive) = socket.split();
    let (read, mut write) = tokio::io::split(pipe);
    let incoming = async {
        while let Some(Ok(message)) = receive.next().await {
            let text = match message {
                // A message is one line.
                Message::Text(text) => text.replace(['\r', '\n'], " "),
                Message::Close(_) => break,
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
            };
            if write.write_all(text.as_bytes()).await.is_err() || write.write_all(b"\n").await.is_err() {
                break;
            }
        }
        write.shutdown().await.ok();
    };
    let outgoing = async {
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if send.send(Message::text(line)).await.is_err() {
                break;
            }
        }
        send.close().await.ok();
    };
    // Dropping the pipe ends the ACP server.
    tokio::select! {
        () = incoming => {}
        () = outgoing => {}
    }
}
