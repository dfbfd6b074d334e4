//! Requests to the HTTP API of a server.

use futures::{Stream, StreamExt as _};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use tui::UserError;
use url::Url;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a request may take; a first request opens the session.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an event stream may be silent; the server sends a comment every 15 seconds.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(45);
/// The maximum size of one event.
const MAX_EVENT: usize = 64 << 20;

/// A server and how it is accessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteServer {
    /// Its address, such as `http://127.0.0.1:4440`.
    pub url: String,
    /// The token of this device; empty before pairing.
    pub token: String,
    /// The SHA-256 fingerprint of its certificate, if it is not verified by the system.
    pub fingerprint: Option<String>,
}

/// Pairs this computer with a server by the code of a pairing link; returns its token.
pub async fn pair(server: &RemoteServer, code: &str, name: &str) -> Result<String, UserError> {
    let client = ServerClient::new(server)?;
    let body = json!({"code": code, "name": name, "credential": "bearer"});
    let paired = client.post("/pair", &body).await?;
    let token = paired["token"].as_str().map(str::to_owned);
    token.ok_or_else(|| UserError::new("the link shares one session for reading; a terminal needs a pairing link"))
}

/// Sends requests to a server.
pub(super) struct ServerClient {
    base: Url,
    token: String,
    http: Client,
}

impl ServerClient {
    pub(super) fn new(server: &RemoteServer) -> Result<Self, UserError> {
        let invalid = |error: &dyn std::fmt::Display| UserError::new(format!("cannot use {}: {error}", server.url));
        let base = Url::parse(&server.url).map_err(|error| invalid(&error))?;
        let builder = match &server.fingerprint {
            Some(fingerprint) => Client::builder()
                .tls_backend_preconfigured(server::http::pinned_tls(fingerprint).map_err(|error| invalid(&error))?),
            None => {
                Client::builder().tls_backend_preconfigured(providers::tls_config().map_err(|error| invalid(&error))?)
            }
        };
        let http = builder
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("hew/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .build()
            .map_err(|error| invalid(&error))?;
        Ok(ServerClient {
            base,
            token: server.token.clone(),
            http,
        })
    }

    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The address without a trailing slash.
    pub(super) fn base(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, UserError> {
        self.request(Method::GET, path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, UserError> {
        self.request(Method::POST, path, Some(body)).await
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> Result<Value, UserError> {
        self.request(Method::PATCH, path, Some(body)).await
    }

    /// Loads a document.
    pub(super) async fn text(&self, path: &str) -> Result<String, UserError> {
        let response = self.send(Method::GET, path, None).await?;
        match response.status() {
            status if status.is_success() => response.text().await.map_err(|error| self.unreachable(&error)),
            status => Err(self.refused(status, &response.json().await.unwrap_or_default())),
        }
    }

    async fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, UserError> {
        let response = self.send(method, path, body).await?;
        let status = response.status();
        let json: Value = response.json().await.unwrap_or_default();
        match status.is_success() {
            true => Ok(json),
            false => Err(self.refused(status, &json)),
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Response, UserError> {
        let mut request = self.http.request(method, self.address(path)).timeout(REQUEST_TIMEOUT);
        if !self.token.is_empty() {
            request = request.bearer_auth(&self.token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send().await.map_err(|error| self.unreachable(&error))
    }

    /// Opens the event stream of a session after an event id.
    pub(super) async fn events(
        &self,
        session: &str,
        after: &str,
    ) -> Result<impl Stream<Item = (String, Value)> + use<>, StreamRefusal> {
        let request = self.http.get(self.address(&format!("/sessions/{session}/events")));
        let response = request
            .bearer_auth(&self.token)
            .header("last-event-id", after)
            .send()
            .await;
        let response = response.map_err(|error| StreamRefusal::Unreachable(self.unreachable(&error)))?;
        let status = response.status();
        match status.is_success() {
            true => Ok(event_stream(response)),
            false if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
                let json = response.json().await.unwrap_or_default();
                Err(StreamRefusal::Refused(self.refused(status, &json)))
            }
            false => Err(StreamRefusal::Unreachable(UserError::new(format!(
                "the server answered {status}"
            )))),
        }
    }

    fn address(&self, path: &str) -> String {
        format!("{}/api/v1{path}", self.base())
    }

    fn unreachable(&self, error: &reqwest::Error) -> UserError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let mut error = UserError::new(format!("cannot reach {}: {cause}", self.base()));
        error.hint = Some("start the server with `hew serve`".into());
        error
    }

    fn refused(&self, status: StatusCode, json: &Value) -> UserError {
        let message = json["error"]["message"].as_str();
        let mut error = UserError::new(match message {
            Some(message) => message.to_owned(),
            None => format!("{} answered {status}", self.base()),
        });
        error.hint = match status {
            StatusCode::UNAUTHORIZED => {
                Some("pair this computer: `hew serve link` on the server, then hew --attach LINK".into())
            }
            _ => json["error"]["hint"].as_str().map(str::to_owned),
        };
        error
    }
}

/// Why there is no event stream.
pub(super) enum StreamRefusal {
    /// A later attempt may succeed.
    Unreachable(UserError),
    /// The server refuses.
    Refused(UserError),
}

/// A parameter of a query.
pub(super) fn query(name: &str, value: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .append_pair(name, value)
        .finish()
}

/// The events of a response with their ids. Ends with the connection, or if the server is silent for too long.
fn event_stream(response: Response) -> impl Stream<Item = (String, Value)> {
    let parser = EventParser::default();
    let bytes = response.bytes_stream().boxed();
    futures::stream::unfold((bytes, parser), |(mut bytes, mut parser)| async move {
        loop {
            if let Some(event) = parser.next_event() {
                return Some((event, (bytes, parser)));
            }
            let chunk = tokio::time::timeout(SILENCE_TIMEOUT, bytes.next()).await.ok()??.ok()?;
            if parser.buffer.len() + chunk.len() > MAX_EVENT {
                return None;
            }
            parser.buffer.extend_from_slice(&chunk);
        }
    })
}

/// Splits server-sent events. An event has one line with its id and one with its data.
#[derive(Default)]
struct EventParser {
    buffer: Vec<u8>,
    id: String,
}

impl EventParser {
    fn next_event(&mut self) -> Option<(String, Value)> {
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if let Some(id) = line.trim_end().strip_prefix("id: ") {
                self.id = id.to_owned();
            } else if let Some(data) = line.trim_end().strip_prefix("data: ")
                && let Ok(event) = serde_json::from_str(data)
            {
                return Some((self.id.clone(), event));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_at_every_split_of_the_stream() {
        let stream =
            "retry: 1000\n\nid: b.1.-\ndata: {\"type\":\"turn.started\"}\n\n: keep-alive\n\ndata: {\"type\":\"ü\"}\n\n";
        for split in 0..stream.len() {
            let mut parser = EventParser::default();
            let mut found = Vec::new();
            for part in [&stream.as_bytes()[..split], &stream.as_bytes()[split..]] {
                parser.buffer.extend_from_slice(part);
                found.extend(std::iter::from_fn(|| parser.next_event()));
            }
            assert_eq!(
                found,
                [
                    ("b.1.-".to_owned(), json!({"type": "turn.started"})),
                    ("b.1.-".to_owned(), json!({"type": "ü"})),
                ],
                "{split}"
            );
        }
    }
}
