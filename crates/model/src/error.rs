//! Errors between sending a request and the end of its reply, with retry advice and hints.

use std::time::Duration;

/// Why a request failed or its reply was interrupted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The key is missing or the provider rejects it.
    #[error("{provider} rejected the credentials: {detail}")]
    Credentials {
        /// The provider's name.
        provider: String,
        /// The provider's message, or the missing credential.
        detail: String,
    },
    /// The prompt exceeds the model's context window.
    #[error("the conversation exceeds the model's context window: {detail}")]
    ContextOverflow {
        /// The provider's message.
        detail: String,
        /// The context window that the provider enforces, if it reports it.
        window: Option<u64>,
    },
    /// The model or its server does not accept tools.
    #[error("{provider} does not support tool calls for this model: {detail}")]
    ToolsUnsupported {
        /// The provider's name.
        provider: String,
        /// The provider's message.
        detail: String,
    },
    /// The server rejected an optional part of the request. The model omits or replaces it from now on, so the request can
    /// be sent again.
    #[error("{provider} rejected a part of the request; {change} ({detail})")]
    PartRejected {
        /// The provider's name.
        provider: String,
        /// What later requests do instead.
        change: String,
        /// The provider's message.
        detail: String,
    },
    /// The reply exceeds the maximum size or duration.
    #[error("the reply from {provider} was stopped: {detail}")]
    ReplyTooLong {
        /// The provider's name.
        provider: String,
        /// The exceeded limit.
        detail: String,
    },
    /// The provider limits the request rate.
    #[error("{provider} is rate-limiting requests: {detail}")]
    RateLimited {
        /// The provider's name.
        provider: String,
        /// The provider's message.
        detail: String,
        /// The delay that the provider requests.
        retry_after: Option<Duration>,
    },
    /// The provider is overloaded.
    #[error("{provider} is overloaded: {detail}")]
    Overloaded {
        /// The provider's name.
        provider: String,
        /// The provider's message.
        detail: String,
        /// The delay that the provider requests.
        retry_after: Option<Duration>,
    },
    /// A filter of the provider blocked the prompt or the reply.
    #[error("a content filter of {provider} blocked the request: {detail}")]
    ContentFiltered {
        /// The provider's name.
        provider: String,
        /// The provider's message.
        detail: String,
    },
    /// The account lacks credit, quota or permission.
    #[error("{provider} refused the request (HTTP {status}): {detail}")]
    Refused {
        /// The provider's name.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// The provider's message.
        detail: String,
    },
    /// The provider reports an internal error.
    #[error("{provider} failed (HTTP {status}): {detail}")]
    Server {
        /// The provider's name.
        provider: String,
        /// The HTTP status; 200 if the error arrived within the stream.
        status: u16,
        /// The provider's message.
        detail: String,
        /// The delay that the provider requests.
        retry_after: Option<Duration>,
    },
    /// The provider does not know the model or the path.
    #[error("{provider} does not know this model or path (HTTP 404): {detail}")]
    NotFound {
        /// The provider's name.
        provider: String,
        /// The provider's message.
        detail: String,
    },
    /// The provider is unreachable, or the connection failed before a response began.
    #[error("could not reach {provider}: {detail}")]
    Connection {
        /// The provider's name.
        provider: String,
        /// The cause.
        detail: String,
    },
    /// The stream ended before the reply was complete.
    #[error("the stream from {provider} ended early: {detail}")]
    StreamCut {
        /// The provider's name.
        provider: String,
        /// The cause.
        detail: String,
    },
    /// No data arrived within the stall timeout.
    #[error("{provider} sent nothing for {} seconds", after.as_secs())]
    Stalled {
        /// The provider's name.
        provider: String,
        /// The timeout that elapsed.
        after: Duration,
    },
    /// The response does not follow the wire's format.
    #[error("{provider} sent an invalid response: {detail}")]
    InvalidResponse {
        /// The provider's name.
        provider: String,
        /// The problem.
        detail: String,
    },
    /// An external agent that ran the task failed.
    #[error("the agent {name}: {detail}")]
    Agent {
        /// The agent's name.
        name: String,
        /// The cause.
        detail: String,
    },
    /// The provider rejects the request as invalid; the cause is hew or the configuration.
    #[error("{provider} rejected the request (HTTP {status}): {detail}")]
    BadRequest {
        /// The provider's name.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// The provider's message.
        detail: String,
    },
}

/// Whether to retry a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// A retry would fail again.
    Never,
    /// At most this many retries, after the requested delay or with exponential backoff.
    UpTo {
        /// The number of retries.
        times: u32,
        /// The delay that the provider requests.
        after: Option<Duration>,
    },
}

impl Error {
    /// Whether to retry the request.
    pub fn retry(&self) -> Retry {
        match self {
            Error::Credentials { .. }
            | Error::ContextOverflow { .. }
            | Error::ToolsUnsupported { .. }
            | Error::ReplyTooLong { .. }
            | Error::ContentFiltered { .. }
            | Error::Refused { .. }
            | Error::NotFound { .. }
            | Error::Agent { .. }
            | Error::BadRequest { .. } => Retry::Never,
            // Each part is rejected once.
            Error::PartRejected { .. } => Retry::UpTo {
                times: 8,
                after: Some(Duration::ZERO),
            },
            Error::RateLimited { retry_after, .. } | Error::Overloaded { retry_after, .. } => Retry::UpTo {
                times: 4,
                after: *retry_after,
            },
            Error::Server { retry_after, .. } => Retry::UpTo {
                times: 3,
                after: *retry_after,
            },
            Error::Connection { .. } | Error::StreamCut { .. } | Error::Stalled { .. } => {
                Retry::UpTo { times: 3, after: None }
            }
            Error::InvalidResponse { .. } => Retry::UpTo { times: 2, after: None },
        }
    }

    /// A hint for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Credentials { .. } => {
                "check the key with `hew doctor`; keys come from the environment, the config or the keyring"
            }
            Error::ContextOverflow { .. } => {
                "start a new session, or choose a model with a larger window (`hew models`)"
            }
            Error::ToolsUnsupported { .. } => "set tool_protocol = \"xml\", or choose another model (`hew models`)",
            Error::ReplyTooLong { .. } => "the model repeats itself: rephrase the task, or choose another model",
            Error::ContentFiltered { .. } => "put the task differently, or choose another model",
            Error::RateLimited { .. } => "wait a moment, or choose another model",
            Error::Overloaded { .. } | Error::Server { .. } => "try again later, or choose another model",
            Error::Refused { .. } => "check the account's credit and permissions at the provider",
            Error::NotFound { .. } => {
                "check the model's name (`hew models`) and the provider's base URL (`hew config`)"
            }
            Error::Connection { provider, .. } => match provider.as_str() {
                "ollama" => "is Ollama running? start it with `ollama serve`; OLLAMA_HOST sets its address",
                "lmstudio" => "is the LM Studio server running? start it with `lms server start`",
                "llamacpp" | "vllm" => "is the server running at the provider's base URL? check with `hew doctor`",
                _ => "check the network, proxy and the provider's base URL (`hew doctor`)",
            },
            Error::StreamCut { .. } | Error::Stalled { .. } => "check the network",
            Error::InvalidResponse { .. } => {
                "check that the base URL is the provider's API, not a web page (`hew doctor`)"
            }
            Error::Agent { .. } => "run `hew agents test` to start it and show its output",
            Error::BadRequest { .. } | Error::PartRejected { .. } => {
                "check the model's options in the configuration (`hew config`)"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_for_an_unreachable_local_server_suggests_to_start_it() {
        let hint = |provider: &str| {
            let detail = "connection refused".into();
            let provider = provider.into();
            Error::Connection { provider, detail }.hint()
        };
        assert!(hint("ollama").starts_with("is Ollama running?"));
        assert!(hint("lmstudio").contains("lms server start"));
        assert!(hint("anthropic").starts_with("check the network"));
    }
}
