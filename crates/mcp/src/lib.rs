//! MCP client: tools, resources and prompts of servers, over every transport.
//!
//! [`McpServers`] are created from [`McpDefinition`]s, from hew's configuration or from files of other programs
//! ([`parse_mcp_file`]). The offers of servers are cached between runs, so that a server starts only when one of its
//! tools is called, and the tools in requests stay the same. An unknown server is started in the background and
//! announced when it is ready.

mod auth;
mod cache_store;
mod calls;
mod connect;
mod content;
mod definition;
mod elicitation;
mod environment;
mod error;
mod expand;
mod handler;
mod import;
mod mcp_tool;
mod offer;
mod offer_changes;
mod resource;
mod sampling;
mod server;
mod server_log;
mod servers;
mod sse;
mod tool_names;
mod transport;

pub use auth::login;
pub use cache_store::{CacheEntry, ServerCache};
pub use definition::{
    DEFAULT_TIMEOUT, ElicitationPolicy, McpDefinition, McpTransport, OAuthSettings, ReadOnlyHints, SamplingPolicy,
};
pub use environment::{HttpClientFactory, McpEnvironment, McpToolFilter, TextRedactor};
pub use error::{BoxError, DefinitionError, Error};
pub use expand::{ConfigVariables, expand_variables};
pub use import::{PROJECT_FILES, mcp_file_entries, parse_mcp_file};
pub use offer::{PromptArgument, PromptOffer, ResourceOffer, ServerOffer, ToolOffer};
pub use server::McpServerState;
pub use servers::{McpPrompt, McpServerStatus, McpServers, PromptArgumentError};
