//! A server as somebody defined it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;

/// How long a call may take, unless somebody says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A server as somebody defined it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What people and rules call it.
    pub name: String,
    /// How it is reached, or why that is not known.
    pub transport: Result<Transport, String>,
    /// Whether it is used at all.
    pub disabled: bool,
    /// How long it may take to start, and to answer a call.
    pub timeout: Duration,
    /// Tools that are called without a question; `*` stands for all.
    pub always_allow: Vec<String>,
    /// Tools that nobody is to have.
    pub disabled_tools: Vec<String>,
    /// The only tools that are offered, where they are named.
    pub enabled_tools: Option<Vec<String>>,
    /// Whether its own word is taken for which of its tools only look.
    pub hints: Hints,
    /// What happens when it wants the model to answer something.
    pub sampling: Sampling,
    /// How to log in, where it wants that.
    pub oauth: OAuth,
    /// Where it was defined, for people.
    pub origin: String,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A program that is started, over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that it sees besides the usual ones.
        env: BTreeMap<String, String>,
        /// Where it is started; the project's folder if absent.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP. Where the address only knows the older SSE, that is spoken.
    Http {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// HTTP with server-sent events, the way it was before streamable HTTP.
    Sse {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

/// Whether a server's own word is taken for which of its tools only look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hints {
    /// It is not: each may change something.
    #[default]
    Ignored,
    /// The person trusts it.
    Trusted,
}

/// What happens when a server wants the model to answer something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// The person is asked.
    #[default]
    Ask,
    /// It happens.
    Allow,
    /// It does not.
    Deny,
}

/// How to log in, beyond what the server says itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OAuth {
    /// What the server knows us by, where we do not register ourselves.
    pub client_id: Option<String>,
    /// The secret that belongs to it.
    pub client_secret: Option<String>,
    /// What we ask to be allowed.
    pub scopes: Vec<String>,
    /// The port of this machine to which the browser comes back; any free one if absent.
    pub port: Option<u16>,
}

impl Definition {
    /// A server that is reached this way, with everything else as usual.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Definition {
            name: name.into(),
            transport: Ok(transport),
            disabled: false,
            timeout: TIMEOUT,
            always_allow: Vec::new(),
            disabled_tools: Vec::new(),
            enabled_tools: None,
            hints: Hints::default(),
            sampling: Sampling::default(),
            oauth: OAuth::default(),
            origin: String::new(),
        }
    }

    /// Names what the server is, so that what was learned about it counts as long as it is the same. Nothing can be read
    /// from it.
    pub fn fingerprint(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.transport.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Whether a tool of this name is offered.
    pub fn offers(&self, tool: &str) -> bool {
        let listed = |names: &[String]| names.iter().any(|name| name == tool);
        !listed(&self.disabled_tools) && self.enabled_tools.as_deref().is_none_or(listed)
    }

    /// Rules that allow what is always allowed, in the language of `policy`.
    pub fn rules(&self) -> Vec<String> {
        let server = &self.name;
        let rule = |tool: &String| match tool.as_str() {
            "*" => format!("mcp(={server})"),
            tool => format!("mcp(={server}/{tool})"),
        };
        self.always_allow.iter().map(rule).collect()
    }
}
