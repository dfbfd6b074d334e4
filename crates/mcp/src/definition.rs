//! Server definitions.

use crate::DefinitionError;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;

/// Default timeout of a call.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A configured server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpDefinition {
    /// Its name in commands and rules.
    pub name: String,
    /// Its transport, or why the definition is invalid.
    pub transport: Result<McpTransport, DefinitionError>,
    /// Whether it is disabled.
    pub disabled: bool,
    /// Timeout of startup and of a call.
    pub timeout: Duration,
    /// Tools that need no approval; `*` means all.
    pub always_allow: Vec<String>,
    /// Tools that are not available.
    pub disabled_tools: Vec<String>,
    /// If present, the only available tools.
    pub enabled_tools: Option<Vec<String>>,
    /// Whether its read-only annotations are trusted.
    pub hints: ReadOnlyHints,
    /// What happens with its sampling requests.
    pub sampling: SamplingPolicy,
    /// How its questions to the user are answered.
    pub elicitation: ElicitationPolicy,
    /// OAuth settings.
    pub oauth: OAuthSettings,
    /// What its process may do in addition to the profile of servers.
    pub access: sandbox::ProcessAccess,
    /// Where it was defined, for the user.
    pub origin: String,
}

/// The transport of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum McpTransport {
    /// A process, over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Additional environment variables.
        env: BTreeMap<String, String>,
        /// Its working directory; the project directory if absent.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP, with fallback to SSE.
    Http {
        /// Its URL.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// HTTP with server-sent events, the predecessor of streamable HTTP.
    Sse {
        /// Its URL.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

/// Whether a server's read-only annotations are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadOnlyHints {
    /// Ignored: every tool may change something.
    #[default]
    Ignored,
    /// Trusted.
    Trusted,
}

/// What happens with sampling requests of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SamplingPolicy {
    /// The user is asked.
    #[default]
    Ask,
    /// Allowed.
    Allow,
    /// Denied.
    Deny,
}

/// How questions of a server are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ElicitationPolicy {
    /// The user is asked.
    #[default]
    Ask,
    /// With the defaults that the server states. The user is asked only for required fields without one.
    Defaults,
    /// Declined.
    Decline,
}

/// OAuth settings in addition to the server's metadata.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OAuthSettings {
    /// The client id, if the client is registered already.
    pub client_id: Option<String>,
    /// The client secret.
    pub client_secret: Option<String>,
    /// The URL of a client metadata document, which is the client id at servers that support it.
    pub client_metadata_url: Option<String>,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The port of the callback; any free port if absent.
    pub port: Option<u16>,
}

impl McpDefinition {
    /// A definition with default settings.
    pub fn new(name: impl Into<String>, transport: McpTransport) -> Self {
        McpDefinition {
            name: name.into(),
            transport: Ok(transport),
            disabled: false,
            timeout: DEFAULT_TIMEOUT,
            always_allow: Vec::new(),
            disabled_tools: Vec::new(),
            enabled_tools: None,
            hints: ReadOnlyHints::default(),
            sampling: SamplingPolicy::default(),
            elicitation: ElicitationPolicy::default(),
            oauth: OAuthSettings::default(),
            access: sandbox::ProcessAccess::default(),
            origin: String::new(),
        }
    }

    /// A hash of the transport; stored data is valid while it is the same. Reveals no secrets.
    pub fn fingerprint(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.transport.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Whether a tool is available.
    pub fn includes_tool(&self, tool: &str) -> bool {
        let listed = |names: &[String]| names.iter().any(|name| name == tool);
        !listed(&self.disabled_tools) && self.enabled_tools.as_deref().is_none_or(listed)
    }

    /// The rules for `always_allow`, in the syntax of `policy`.
    pub fn allow_rules(&self) -> Vec<String> {
        let server = &self.name;
        let rule = |tool: &String| match tool.as_str() {
            "*" => format!("mcp(={server})"),
            tool => format!("mcp(={server}/{tool})"),
        };
        self.always_allow.iter().map(rule).collect()
    }
}
