//! One type for all transports, so that the layers above are compiled once.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

/// A transport to a server.
pub(crate) struct BoxedTransport(Box<dyn ErasedTransport>);

/// A transport failure.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct TransportError(Box<dyn Error + Send + Sync>);

impl BoxedTransport {
    pub(crate) fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        BoxedTransport(Box::new(transport))
    }
}

impl Transport<RoleClient> for BoxedTransport {
    type Error = TransportError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), TransportError>> + Send + 'static {
        self.0.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), TransportError>> + Send {
        self.0.close()
    }
}

/// A type-erased transport.
trait ErasedTransport: Send {
    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), TransportError>>;
    fn receive(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>>;
    fn close(&mut self) -> BoxFuture<'_, Result<(), TransportError>>;
}

impl<T: Transport<RoleClient>> ErasedTransport for T {
    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), TransportError>> {
        let sent = Transport::send(self, message);
        async { sent.await.map_err(|error| TransportError(Box::new(error))) }.boxed()
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>> {
        Transport::receive(self).boxed()
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), TransportError>> {
        let closed = Transport::close(self);
        async { closed.await.map_err(|error| TransportError(Box::new(error))) }.boxed()
    }
}

/// The HTTP client of a connection.
#[derive(Clone)]
pub(crate) enum McpHttpClient {
    /// Without authorization.
    Plain(reqwest::Client),
    /// With the token of a login.
    Authorized(AuthClient<reqwest::Client>),
}

type HttpResult<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type HeaderMapByName = HashMap<HeaderName, HeaderValue>;
type SseEventStream = BoxStream<'static, Result<Sse, SseError>>;

macro_rules! pass {
    ($client:expr, $method:ident($($given:expr),*)) => {
        match $client {
            McpHttpClient::Plain(client) => client.$method($($given),*).boxed(),
            McpHttpClient::Authorized(client) => client.$method($($given),*).boxed(),
        }
    };
}

impl StreamableHttpClient for McpHttpClient {
    type Error = reqwest::Error;

    fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HeaderMapByName,
    ) -> impl Future<Output = HttpResult<StreamableHttpPostResponse>> + Send + '_ {
        pass!(self, post_message(uri, message, session, token, headers))
    }

    fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HeaderMapByName,
        most: usize,
    ) -> impl Future<Output = HttpResult<StreamableHttpPostResponse>> + Send + '_ {
        pass!(
            self,
            post_message_with_max_sse_event_size(uri, message, session, token, headers, most)
        )
    }

    fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HeaderMapByName,
    ) -> impl Future<Output = HttpResult<()>> + Send + '_ {
        pass!(self, delete_session(uri, session, token, headers))
    }

    fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HeaderMapByName,
    ) -> impl Future<Output = HttpResult<SseEventStream>> + Send + '_ {
        pass!(self, get_stream(uri, session, last, token, headers))
    }

    fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: HeaderMapByName,
        most: usize,
    ) -> impl Future<Output = HttpResult<SseEventStream>> + Send + '_ {
        pass!(
            self,
            get_stream_with_max_sse_event_size(uri, session, last, token, headers, most)
        )
    }
}
