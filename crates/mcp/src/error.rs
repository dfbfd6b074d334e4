//! What can go wrong with a server.

/// What can go wrong with a server. The sentences are for the person and the model alike.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The definition of a server is wrong.
    #[error("the MCP server `{server}` cannot be used: {why}")]
    Definition {
        /// The server.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// There is no such server.
    #[error("there is no MCP server `{0}`")]
    Unknown(String),
    /// It could not be started or reached.
    #[error("the MCP server `{server}` cannot be reached: {why}")]
    Unreachable {
        /// The server.
        server: String,
        /// Why.
        why: String,
    },
    /// It failed a moment ago and is not tried again yet.
    #[error("the MCP server `{server}` cannot be reached: {why}; it is tried again in {seconds} s")]
    Resting {
        /// The server.
        server: String,
        /// Why it failed.
        why: String,
        /// How long it is left alone.
        seconds: u64,
    },
    /// It wants to know who asks.
    #[error("the MCP server `{server}` wants a login; the person can do that with `hew mcp login {server}`")]
    Login {
        /// The server.
        server: String,
    },
    /// The login failed.
    #[error("the login at the MCP server `{server}` failed: {why}")]
    LoginFailed {
        /// The server.
        server: String,
        /// Why.
        why: String,
    },
    /// It did not answer in time.
    #[error("the MCP server `{server}` did not answer within {seconds} s; whether it did something is not known")]
    Late {
        /// The server.
        server: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It went away during a call.
    #[error("the MCP server `{server}` went away during the call; whether it did something is not known")]
    Lost {
        /// The server.
        server: String,
    },
    /// It said no.
    #[error("the MCP server `{server}` refused: {why}")]
    Refused {
        /// The server.
        server: String,
        /// Its words.
        why: String,
    },
}

impl From<Error> for tool::Error {
    fn from(error: Error) -> Self {
        tool::Error::Failed(error.to_string())
    }
}

/// At most this many bytes of what a server says about an error are passed on.
const MOST: usize = 2_000;

/// Words of a server, as far as they are passed on.
pub(crate) fn bounded(text: impl Into<String>) -> String {
    let mut text = text.into();
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST));
        text.push_str(" …");
    }
    text
}
