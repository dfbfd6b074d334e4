//! One type for every way in which messages travel, so that what is said above it is built once.

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

/// Carries messages to a server and back.
pub(crate) struct Carrier(Box<dyn Carries>);

/// Why it did not.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Failure(Box<dyn Error + Send + Sync>);

impl Carrier {
    pub(crate) fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Carrier(Box::new(transport))
    }
}

impl Transport<RoleClient> for Carrier {
    type Error = Failure;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        self.0.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Failure>> + Send {
        self.0.close()
    }
}

/// A transport whose type has been forgotten.
trait Carries: Send {
    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), Failure>>;
    fn receive(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>>;
    fn close(&mut self) -> BoxFuture<'_, Result<(), Failure>>;
}

impl<T: Transport<RoleClient>> Carries for T {
    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), Failure>> {
        let sent = Transport::send(self, message);
        async { sent.await.map_err(|error| Failure(Box::new(error))) }.boxed()
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>> {
        Transport::receive(self).boxed()
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), Failure>> {
        let closed = Transport::close(self);
        async { closed.await.map_err(|error| Failure(Box::new(error))) }.boxed()
    }
}

/// What requests over HTTP are sent with.
#[derive(Clone)]
pub(crate) enum Door {
    /// Nothing but what is configured.
    Plain(reqwest::Client),
    /// The token of a login.
    Known(AuthClient<reqwest::Client>),
}

type Answer<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

macro_rules! pass {
    ($door:expr, $method:ident($($given:expr),*)) => {
        match $door {
            Door::Plain(client) => client.$method($($given),*).boxed(),
            Door::Known(client) => client.$method($($given),*).boxed(),
        }
    };
}

impl StreamableHttpClient for Door {
    type Error = reqwest::Error;

    fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Answer<StreamableHttpPostResponse>> + Send + '_ {
        pass!(self, post_message(uri, message, session, token, headers))
    }

    fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> impl Future<Output = Answer<StreamableHttpPostResponse>> + Send + '_ {
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
        headers: Headers,
    ) -> impl Future<Output = Answer<()>> + Send + '_ {
        pass!(self, delete_session(uri, session, token, headers))
    }

    fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> impl Future<Output = Answer<Events>> + Send + '_ {
        pass!(self, get_stream(uri, session, last, token, headers))
    }

    fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> impl Future<Output = Answer<Events>> + Send + '_ {
        pass!(
            self,
            get_stream_with_max_sse_event_size(uri, session, last, token, headers, most)
        )
    }
}
