//! Errors of MCP servers.

/// An error of a server. The messages are for the user and the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The definition is invalid.
    #[error("the MCP server `{server}` cannot be used: {why}")]
    Definition {
        /// The server.
        server: String,
        /// The message.
        why: String,
    },
    /// The server is not configured.
    #[error("no MCP server named `{0}` is configured")]
    Unknown(String),
    /// The server could not be started or reached.
    #[error("the MCP server `{server}` cannot be reached: {why}")]
    Unreachable {
        /// The server.
        server: String,
        /// The reason.
        why: String,
    },
    /// The server failed recently and is not retried yet.
    #[error("the MCP server `{server}` cannot be reached: {why}; next attempt in {seconds} s")]
    Backoff {
        /// The server.
        server: String,
        /// The reason.
        why: String,
        /// Time until the next attempt.
        seconds: u64,
    },
    /// The server requires a login.
    #[error("the MCP server `{server}` requires a login; run `hew mcp login {server}`")]
    Login {
        /// The server.
        server: String,
    },
    /// The login failed.
    #[error("the login to the MCP server `{server}` failed: {why}")]
    LoginFailed {
        /// The server.
        server: String,
        /// The reason.
        why: String,
    },
    /// The server did not respond in time.
    #[error("the MCP server `{server}` did not respond within {seconds} s; it is unknown whether the call took effect")]
    Timeout {
        /// The server.
        server: String,
        /// The timeout.
        seconds: u64,
    },
    /// The connection was lost during a call.
    #[error("the MCP server `{server}` disconnected during the call; it is unknown whether the call took effect")]
    Disconnected {
        /// The server.
        server: String,
    },
    /// The server returned an error.
    #[error("the MCP server `{server}` returned an error: {why}")]
    Refused {
        /// The server.
        server: String,
        /// Its message.
        why: String,
    },
}

/// Why a definition is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum DefinitionError {
    /// The entry does not have the expected structure.
    #[error("{0}")]
    Structure(String),
    /// There are two ways to reach the server.
    #[error("it has both a command and a URL")]
    CommandAndUrl,
    /// There is no way to reach the server.
    #[error("it has neither a command nor a URL")]
    NoCommandOrUrl,
    /// A command is given for an HTTP transport.
    #[error("its type needs a URL, not a command")]
    TypeNeedsUrl,
    /// A URL is given for a stdio transport.
    #[error("its type needs a command, not a URL")]
    TypeNeedsCommand,
    /// The transport is not supported.
    #[error("unknown type `{0}`; expected stdio, http or sse")]
    UnknownType(String),
    /// A variable without a value.
    #[error("the environment variable {0} is not set")]
    MissingVariable(String),
    /// A variable that only editors support.
    #[error("the input variable `{0}` is not supported")]
    UnsupportedInput(String),
}

/// An error of the caller's code, such as the cache or the HTTP client factory.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl From<Error> for tool::Error {
    fn from(error: Error) -> Self {
        tool::Error::Failed(error.to_string())
    }
}

/// Maximum bytes of a server's error message.
const MAX_TEXT: usize = 2_000;

/// Bounds a server's text.
pub(crate) fn bounded(text: impl Into<String>) -> String {
    let mut text = text.into();
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str(" …");
    }
    text
}
