//! The environment of MCP servers.

use std::path::PathBuf;
use std::sync::Arc;

use model::Model;
use tool::NotificationSender;

use crate::{BoxError, ServerCache};

/// Creates an HTTP client for a URL, with the certificates and proxies of this machine.
pub type HttpClientFactory = Arc<dyn Fn(&str) -> Result<reqwest::ClientBuilder, BoxError> + Send + Sync>;

/// Whether a tool of a server is available, by their names.
pub type McpToolFilter = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// Removes secrets from a text.
pub type TextRedactor = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The environment of MCP servers.
#[derive(Clone)]
pub struct McpEnvironment {
    /// The project directory.
    pub root: PathBuf,
    /// The environment of processes.
    pub environment: sandbox::ProcessEnvironment,
    /// The confinement of processes; not even their descendants are ended without one.
    pub confinement: Option<sandbox::Confinement>,
    /// Creates HTTP clients.
    pub http_client: HttpClientFactory,
    /// Storage between runs.
    pub cache: Arc<dyn ServerCache>,
    /// Removes secrets from what servers report: they may repeat what they were given.
    pub redact: TextRedactor,
    /// Receives notifications about servers.
    pub notices: NotificationSender,
    /// Answers sampling requests.
    pub model: Option<Arc<dyn Model>>,
    /// Which tools are available; all if absent.
    pub tool_filter: Option<McpToolFilter>,
    /// Up to this many tools are listed in every request; otherwise the model searches for them.
    pub max_listed: usize,
}
