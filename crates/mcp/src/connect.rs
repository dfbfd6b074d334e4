//! Connects to a server over any transport.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{ErrorCode, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RoleClient, RunningService,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig};
use sandbox::{Confinement, ConfinementLevel, NetworkAccess, PipedProcess, Program};

use crate::auth;
use crate::definition::{McpDefinition, McpTransport};
use crate::environment::McpEnvironment;
use crate::error::{Error, bounded};
use crate::handler::McpClientHandler;
use crate::server_log::LoggedReader;
use crate::sse::{self, SseTransport};
use crate::transport::{BoxedTransport, McpHttpClient};

/// Maximum size of a message, in bytes.
const MAX_MESSAGE: usize = 8 * 1024 * 1024;

/// An established connection.
pub(crate) struct LiveConnection {
    service: RunningService<RoleClient, McpClientHandler>,
    process: Option<Mutex<PipedProcess>>,
}

impl LiveConnection {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(crate) fn handler(&self) -> &McpClientHandler {
        self.service.service()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// The standard error of the process, if there is one.
    pub(crate) fn stderr(&self) -> String {
        let Some(process) = &self.process else {
            return String::new();
        };
        let output = process.lock().unwrap_or_else(PoisonError::into_inner).stderr();
        match output.omitted_bytes {
            0 => output.head,
            cut => format!("{}\n[{cut} bytes omitted]\n{}", output.head, output.tail),
        }
    }
}

/// Connects to a server.
pub(crate) async fn connect(
    definition: &McpDefinition,
    env: &McpEnvironment,
    handler: McpClientHandler,
) -> Result<LiveConnection, Error> {
    let transport = definition.transport.as_ref().map_err(|error| Error::Definition {
        server: definition.name.clone(),
        why: error.to_string(),
    })?;
    match transport {
        McpTransport::Stdio { .. } => stdio(definition, transport, env, handler).await,
        McpTransport::Http { url, headers } => http(definition, url, headers, env, handler).await,
        McpTransport::Sse { url, headers } => {
            let (client, token) = client_and_token(definition, url, env).await?;
            let found = connect_sse(&client, url, &header_map(definition, headers, token)?).await;
            let found = found.map_err(|error| sse_error(definition, error))?;
            handshake(definition, handler, BoxedTransport::new(found), None).await
        }
    }
}

async fn stdio(
    definition: &McpDefinition,
    transport: &McpTransport,
    context: &McpEnvironment,
    handler: McpClientHandler,
) -> Result<LiveConnection, Error> {
    let McpTransport::Stdio {
        command,
        args,
        env,
        cwd,
    } = transport
    else {
        return Err(unreachable(definition, "it is not a stdio server"));
    };
    let mut environment = context.environment.clone();
    for (name, value) in env {
        environment = environment.with(name.as_str(), value.as_str());
    }
    let program = Program::Exec {
        program: command.into(),
        args: args.iter().map(Into::into).collect(),
    };
    let cwd = cwd
        .as_ref()
        .map_or_else(|| context.root.clone(), |cwd| context.root.join(cwd));
    let confinement = context.confinement.as_ref();
    let confinement = confinement.map(|confinement| confinement.with_access(&definition.access));
    let start = || {
        let started = PipedProcess::start(&program, &cwd, &environment, confinement.as_ref());
        started.map_err(|error| unreachable(definition, error))
    };
    let mut attempt = HandshakeMode::Initialize;
    loop {
        let (process, input, output) = start()?;
        let output = LoggedReader::new(output, handler.log.clone());
        let transport = AsyncRwTransport::new_client(output, input).with_max_line_length(MAX_MESSAGE);
        match handler
            .clone()
            .serve_with_lifecycle(BoxedTransport::new(transport), attempt.lifecycle())
            .await
        {
            Ok(service) => {
                return Ok(LiveConnection {
                    service,
                    process: Some(Mutex::new(process)),
                });
            }
            Err(error) if attempt == HandshakeMode::Initialize && wants_discovery(&error) => {
                attempt = HandshakeMode::Discover
            }
            Err(error) => {
                // Its standard error may arrive slightly later.
                tokio::task::yield_now().await;
                let output = process.stderr();
                let last = format!("{}{}", output.head, output.tail);
                let last = last.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim);
                handler.log.add(format!("(cannot start) {}", last.unwrap_or_default()));
                let why = match last {
                    Some(last) => format!("{}; stderr: {last}", initialize_failure(&error)),
                    None => initialize_failure(&error),
                };
                return Err(unreachable(definition, why + network_hint(definition, context)));
            }
        }
    }
}

async fn http(
    definition: &McpDefinition,
    url: &str,
    headers: &BTreeMap<String, String>,
    env: &McpEnvironment,
    handler: McpClientHandler,
) -> Result<LiveConnection, Error> {
    let (client, _) = client_and_token(definition, url, env).await?;
    let plain: std::collections::HashMap<HeaderName, HeaderValue> = header_map(definition, headers, None)?
        .into_iter()
        .filter_map(|(name, value)| Some((name?, value)))
        .collect();
    let transport = |http_client| {
        let config = StreamableHttpClientTransportConfig::with_uri(url)
            .custom_headers(plain.clone())
            .max_sse_event_size(MAX_MESSAGE)
            .reinit_on_expired_session(true);
        BoxedTransport::new(StreamableHttpClientTransport::with_client(http_client, config))
    };
    let refused = match env.cache.login(&definition.name).await {
        Some(_) => {
            let manager = auth::authorized_manager(definition, url, env).await?;
            let http_client = McpHttpClient::Authorized(AuthClient::new(client.clone(), manager));
            handshake(definition, handler.clone(), transport(http_client), None).await
        }
        None => {
            let http_client = McpHttpClient::Plain(client.clone());
            handshake(
                definition,
                handler.clone(),
                transport(http_client.clone()),
                Some(transport(http_client)),
            )
            .await
        }
    };
    let error = match refused {
        Ok(live) => return Ok(live),
        Err(error @ Error::Login { .. }) => return Err(error),
        Err(error) => error,
    };
    // An older server does not know streamable HTTP, but supports SSE.
    match connect_sse(&client, url, &header_map(definition, headers, None)?).await {
        Ok(found) => handshake(definition, handler, BoxedTransport::new(found), None).await,
        Err(_) => Err(error),
    }
}

async fn connect_sse(client: &reqwest::Client, url: &str, headers: &HeaderMap) -> Result<SseTransport, sse::Error> {
    SseTransport::connect(client.clone(), url, headers.clone()).await
}

fn sse_error(definition: &McpDefinition, error: sse::Error) -> Error {
    match error {
        sse::Error::Status(401) => Error::Login {
            server: definition.name.clone(),
        },
        other => unreachable(definition, other),
    }
}

/// How a connection is initialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandshakeMode {
    /// With `initialize`, which every server supports.
    Initialize,
    /// With discovery, as servers of 2026 and later may require.
    Discover,
}

impl HandshakeMode {
    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            HandshakeMode::Initialize => ClientLifecycleMode::Initialize,
            HandshakeMode::Discover => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        }
    }
}

/// Initializes a connection; if the server requires discovery, tries again over `again`.
async fn handshake(
    definition: &McpDefinition,
    handler: McpClientHandler,
    transport: BoxedTransport,
    again: Option<BoxedTransport>,
) -> Result<LiveConnection, Error> {
    let first = handler
        .clone()
        .serve_with_lifecycle(transport, HandshakeMode::Initialize.lifecycle())
        .await;
    let served = match (first, again) {
        (Err(error), Some(again)) if wants_discovery(&error) => {
            handler
                .serve_with_lifecycle(again, HandshakeMode::Discover.lifecycle())
                .await
        }
        (first, _) => first,
    };
    match served {
        Ok(service) => Ok(LiveConnection { service, process: None }),
        Err(error) if error.is_authorization_required() || error.auth_challenge().is_some() => Err(Error::Login {
            server: definition.name.clone(),
        }),
        Err(error) if initialize_failure(&error).contains("401 Unauthorized") => Err(Error::Login {
            server: definition.name.clone(),
        }),
        Err(error) => Err(unreachable(definition, initialize_failure(&error))),
    }
}

/// Whether the server requires discovery.
fn wants_discovery(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::JsonRpcError(output) => {
            matches!(
                output.code,
                ErrorCode::METHOD_NOT_FOUND | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            )
        }
        _ => false,
    }
}

/// Returns a client for a URL, and the token of a login.
async fn client_and_token(
    definition: &McpDefinition,
    url: &str,
    env: &McpEnvironment,
) -> Result<(reqwest::Client, Option<String>), Error> {
    let builder = (env.http_client)(url).map_err(|why| unreachable(definition, why))?;
    let client = builder
        .build()
        .map_err(|error| unreachable(definition, error_chain(&error)))?;
    let token = match (&definition.transport, env.cache.login(&definition.name).await) {
        (Ok(McpTransport::Sse { .. }), Some(_)) => {
            let manager = auth::authorized_manager(definition, url, env).await?;
            manager.get_access_token().await.ok()
        }
        _ => None,
    };
    Ok((client, token))
}

fn header_map(
    definition: &McpDefinition,
    headers: &BTreeMap<String, String>,
    token: Option<String>,
) -> Result<HeaderMap, Error> {
    let token = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
    let pairs = headers
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .chain(token);
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        let wrong = || unreachable(definition, format!("the header `{name}` is not valid"));
        let key: HeaderName = name.parse().map_err(|_| wrong())?;
        map.insert(key, value.parse().map_err(|_| wrong())?);
    }
    Ok(map)
}

pub(crate) fn unreachable(definition: &McpDefinition, why: impl ToString) -> Error {
    Error::Unreachable {
        server: definition.name.clone(),
        why: bounded(why.to_string()),
    }
}

/// The hint for a server that does not start because it has no network, such as one that `npx` downloads.
pub(crate) fn network_hint(definition: &McpDefinition, context: &McpEnvironment) -> &'static str {
    let is_process = matches!(definition.transport, Ok(McpTransport::Stdio { .. }));
    let confinement = context.confinement.as_ref().filter(|_| is_process);
    let confinement = confinement.map(|confinement| confinement.with_access(&definition.access));
    match confinement {
        Some(Confinement {
            level: ConfinementLevel::ReadOnly | ConfinementLevel::Workspace,
            network: NetworkAccess::Denied,
            ..
        }) => " (it runs without a network; `network = true` in its definition grants it)",
        Some(_) | None => "",
    }
}

/// Formats an error with its sources in one line.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let output = cause.to_string();
        if !text.contains(&output) {
            text.push_str(": ");
            text.push_str(&output);
        }
        source = cause.source();
    }
    text
}

/// Why the initialization failed, for the user.
fn initialize_failure(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it exited immediately".into(),
        ClientInitializeError::TransportError { error, .. } => {
            let mut text = error.error.to_string();
            let mut source = error.error.source();
            while let Some(cause) = source {
                text = format!("{text}: {cause}");
                source = cause.source();
            }
            text
        }
        other => other.to_string(),
    }
}
