//! HTTP with server-sent events, the predecessor of streamable HTTP: messages arrive as events of one response, and are
//! sent to the URL in the first event.

use std::pin::Pin;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use url::Url;

/// Maximum size of an event, in bytes.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// A transport error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The network failed.
    #[error("{0}")]
    Network(String),
    /// The HTTP status of an error response.
    #[error("HTTP status {0}")]
    Status(u16),
    /// The server does not support this transport.
    #[error("{0}")]
    Protocol(&'static str),
}

/// A connection.
pub(crate) struct SseTransport {
    client: reqwest::Client,
    headers: HeaderMap,
    endpoint: Url,
    events: SseEvents,
}

impl SseTransport {
    /// Connects and waits for the URL for messages.
    pub(crate) async fn connect(client: reqwest::Client, url: &str, headers: HeaderMap) -> Result<Self, Error> {
        let base = Url::parse(url).map_err(|error| Error::Network(error.to_string()))?;
        let request = client.get(base.clone()).headers(headers.clone());
        let answer = request
            .header(ACCEPT, "text/event-stream")
            .send()
            .await
            .map_err(network)?;
        if !answer.status().is_success() {
            return Err(Error::Status(answer.status().as_u16()));
        }
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Err(Error::Protocol("the server does not respond with events"));
        }
        let mut events = SseEvents {
            bytes: Box::pin(answer.bytes_stream()),
            buffer: Vec::new(),
            name: String::new(),
            data: String::new(),
        };
        let endpoint = loop {
            match events.next().await {
                Some((name, data)) if name == "endpoint" => break data,
                Some(_) => {}
                None => return Err(Error::Protocol("the event stream ended before the endpoint event")),
            }
        };
        let endpoint = base
            .join(endpoint.trim())
            .map_err(|_| Error::Protocol("the endpoint is not a valid URL"))?;
        // Headers may contain secrets, which are for this server only.
        if endpoint.origin() != base.origin() {
            return Err(Error::Protocol("the endpoint is on another server"));
        }
        Ok(SseTransport {
            client,
            headers,
            endpoint,
            events,
        })
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone());
        async move {
            let answer = request.json(&item).send().await.map_err(network)?;
            match answer.status() {
                status if status.is_success() => Ok(()),
                status => Err(Error::Status(status.as_u16())),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let (name, data) = self.events.next().await?;
            if !matches!(name.as_str(), "" | "message") {
                continue;
            }
            // Invalid messages are skipped.
            if let Ok(message) = serde_json::from_str(&data) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events.bytes = Box::pin(futures::stream::empty());
        Ok(())
    }
}

type SseBody = Pin<Box<dyn Stream<Item = Result<Bytes, reqwest::Error>> + Send>>;

/// Parses events. State is kept here, so that a pending read can be dropped at any time.
struct SseEvents {
    bytes: SseBody,
    buffer: Vec<u8>,
    name: String,
    data: String,
}

impl SseEvents {
    /// Returns the next event, as name and data; `None` at the end, or if an event is too long.
    async fn next(&mut self) -> Option<(String, String)> {
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
                if let Some(event) = self.line(&line) {
                    return Some(event);
                }
            }
            if self.buffer.len() + self.data.len() > MAX_EVENT {
                return None;
            }
            let bytes = self.bytes.next().await?.ok()?;
            self.buffer.extend_from_slice(&bytes);
        }
    }

    fn line(&mut self, line: &str) -> Option<(String, String)> {
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            return (!data.is_empty()).then_some((name, data));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            _ => {}
        }
        None
    }
}

fn network(error: reqwest::Error) -> Error {
    Error::Network(crate::connect::error_chain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_are_parsed_however_they_are_split() {
        let text = ": hi\nevent: endpoint\r\ndata: /m?x=1\r\n\r\ndata: {\"a\":\ndata: 1}\n\nevent: ping\n\ndata: z\n\n";
        for size in [1, 3, 7, 1_000] {
            let pieces: Vec<Result<Bytes, reqwest::Error>> = text
                .as_bytes()
                .chunks(size)
                .map(|piece| Ok(Bytes::copy_from_slice(piece)))
                .collect();
            let mut events = SseEvents {
                bytes: Box::pin(futures::stream::iter(pieces)),
                buffer: Vec::new(),
                name: String::new(),
                data: String::new(),
            };
            let mut all = Vec::new();
            while let Some(event) = events.next().await {
                all.push(event);
            }
            let expected = [("endpoint", "/m?x=1"), ("", "{\"a\":\n1}"), ("", "z")];
            assert_eq!(
                all,
                expected.map(|(name, data)| (name.to_owned(), data.to_owned())),
                "{size}"
            );
        }
    }
}
