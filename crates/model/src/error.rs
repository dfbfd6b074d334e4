//! What can go wrong between a request and the end of its reply, and what to do about it.

use std::time::Duration;

/// Why a model did not answer, or stopped answering.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// No key, or a key that the provider does not accept.
    #[error("{provider} did not accept the credentials: {detail}")]
    Credentials {
        /// The provider's name.
        provider: String,
        /// What it said, or what is missing.
        detail: String,
    },
    /// The prompt does not fit the model's window.
    #[error("the conversation is too long for the model: {detail}")]
    ContextOverflow {
        /// What the provider said.
        detail: String,
    },
    /// The provider asks to slow down.
    #[error("{provider} is rate-limiting requests: {detail}")]
    RateLimited {
        /// The provider's name.
        provider: String,
        /// What it said.
        detail: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider has more work than it can do.
    #[error("{provider} is overloaded: {detail}")]
    Overloaded {
        /// The provider's name.
        provider: String,
        /// What it said.
        detail: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The account has no money, quota or permission left for this.
    #[error("{provider} refused the request (HTTP {status}): {detail}")]
    Refused {
        /// The provider's name.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        detail: String,
    },
    /// The provider failed.
    #[error("{provider} failed (HTTP {status}): {detail}")]
    Server {
        /// The provider's name.
        provider: String,
        /// The HTTP status; 200 where the failure came inside the stream.
        status: u16,
        /// What it said.
        detail: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider does not know the model or the path.
    #[error("{provider} does not know this model or address (HTTP 404): {detail}")]
    NotFound {
        /// The provider's name.
        provider: String,
        /// What it said.
        detail: String,
    },
    /// The provider could not be reached, or the connection broke before an answer began.
    #[error("could not reach {provider}: {detail}")]
    Connection {
        /// The provider's name.
        provider: String,
        /// What happened.
        detail: String,
    },
    /// The stream ended before the reply did.
    #[error("the stream from {provider} was cut off: {detail}")]
    Cut {
        /// The provider's name.
        provider: String,
        /// What happened.
        detail: String,
    },
    /// Nothing arrived for too long.
    #[error("{provider} sent nothing for {} seconds", after.as_secs())]
    Stalled {
        /// The provider's name.
        provider: String,
        /// How long hew waited.
        after: Duration,
    },
    /// What arrived is not what the wire promises.
    #[error("{provider} sent something that is not an answer: {detail}")]
    Garbled {
        /// The provider's name.
        provider: String,
        /// What was wrong with it.
        detail: String,
    },
    /// Another agent that did the work did not go on with it.
    #[error("the agent {name}: {detail}")]
    Agent {
        /// What it is called.
        name: String,
        /// What happened.
        detail: String,
    },
    /// The request itself is wrong, by hew's doing or the configuration's.
    #[error("{provider} rejected the request (HTTP {status}): {detail}")]
    BadRequest {
        /// The provider's name.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        detail: String,
    },
}

/// Whether a failed request is worth sending again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It would fail again.
    Never,
    /// At most this many times, after the delay that the provider asked for, or else a growing one.
    UpTo {
        /// How many more times.
        times: u32,
        /// The delay that the provider asked for.
        after: Option<Duration>,
    },
}

impl Error {
    /// Whether the request is worth sending again.
    pub fn retry(&self) -> Retry {
        match self {
            Error::Credentials { .. }
            | Error::ContextOverflow { .. }
            | Error::Refused { .. }
            | Error::NotFound { .. }
            | Error::Agent { .. }
            | Error::BadRequest { .. } => Retry::Never,
            Error::RateLimited { retry_after, .. } | Error::Overloaded { retry_after, .. } => Retry::UpTo {
                times: 4,
                after: *retry_after,
            },
            Error::Server { retry_after, .. } => Retry::UpTo {
                times: 3,
                after: *retry_after,
            },
            Error::Connection { .. } | Error::Cut { .. } | Error::Stalled { .. } => {
                Retry::UpTo { times: 3, after: None }
            }
            Error::Garbled { .. } => Retry::UpTo { times: 2, after: None },
        }
    }

    /// What the person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Credentials { .. } => {
                "check the key with `hew doctor`; keys come from the environment, the config or the keyring"
            }
            Error::ContextOverflow { .. } => {
                "start a new session, or choose a model with a larger window (`hew models`)"
            }
            Error::RateLimited { .. } => "wait a little, or choose another model",
            Error::Overloaded { .. } | Error::Server { .. } => "try again later, or choose another model",
            Error::Refused { .. } => "check the account's credit and permissions at the provider",
            Error::NotFound { .. } => {
                "check the model's name (`hew models`) and the provider's base URL (`hew config`)"
            }
            Error::Connection { provider, .. } => match provider.as_str() {
                "ollama" => "is Ollama running? `ollama serve` starts it; OLLAMA_HOST says where it is",
                "lmstudio" => "is the server of LM Studio running? `lms server start` starts it",
                "llamacpp" | "vllm" => "is the server running, and at the provider's base URL (`hew doctor`)?",
                _ => "check the network, proxy and the provider's base URL (`hew doctor`)",
            },
            Error::Cut { .. } | Error::Stalled { .. } => "check the network",
            Error::Garbled { .. } => "check that the base URL is the provider's API, not a web page (`hew doctor`)",
            Error::Agent { .. } => "`hew agents test` starts it and shows what it says",
            Error::BadRequest { .. } => "check the model's options in the configuration (`hew config`)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_this_machine_that_cannot_be_reached_may_not_be_running() {
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
