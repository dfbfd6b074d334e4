//! Makes a connection to a server, whatever way it is reached.

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
use sandbox::{Partner, Program};

use crate::auth;
use crate::carrier::{Carrier, Door};
use crate::definition::{Definition, Transport};
use crate::error::{Error, bounded};
use crate::handler::Handler;
use crate::log::Heard;
use crate::sse::{self, Sse};
use crate::surroundings::Surroundings;

/// The longest message that is taken in, in bytes.
const MOST_MESSAGE: usize = 8 * 1024 * 1024;

/// A connection that stands.
pub(crate) struct Live {
    service: RunningService<RoleClient, Handler>,
    partner: Option<Mutex<Partner>>,
}

impl Live {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    pub(crate) fn handler(&self) -> &Handler {
        self.service.service()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// What the process wrote to its standard error, where there is one.
    pub(crate) fn said(&self) -> String {
        let Some(partner) = &self.partner else {
            return String::new();
        };
        let said = partner.lock().unwrap_or_else(PoisonError::into_inner).said();
        match said.cut {
            0 => said.head,
            cut => format!("{}\n[{cut} bytes cut]\n{}", said.head, said.tail),
        }
    }
}

/// Connects.
pub(crate) async fn connect(definition: &Definition, around: &Surroundings, handler: Handler) -> Result<Live, Error> {
    let transport = definition.transport.as_ref().map_err(|why| Error::Definition {
        server: definition.name.clone(),
        why: why.clone(),
    })?;
    match transport {
        Transport::Stdio { .. } => stdio(definition, transport, around, handler).await,
        Transport::Http { url, headers } => http(definition, url, headers, around, handler).await,
        Transport::Sse { url, headers } => {
            let (client, token) = reach(definition, url, around).await?;
            let found = old(&client, url, &head(definition, headers, token)?).await;
            let found = found.map_err(|error| old_failure(definition, error))?;
            greet(definition, handler, Carrier::new(found), None).await
        }
    }
}

async fn stdio(
    definition: &Definition,
    transport: &Transport,
    around: &Surroundings,
    handler: Handler,
) -> Result<Live, Error> {
    let Transport::Stdio {
        command,
        args,
        env,
        cwd,
    } = transport
    else {
        return Err(unreachable(definition, "it is no program"));
    };
    let mut environment = around.environment.clone();
    for (name, value) in env {
        environment = environment.with(name.as_str(), value.as_str());
    }
    let program = Program::Exec {
        program: command.into(),
        args: args.iter().map(Into::into).collect(),
    };
    let cwd = cwd
        .as_ref()
        .map_or_else(|| around.root.clone(), |cwd| around.root.join(cwd));
    let start = || Partner::start(&program, &cwd, &environment).map_err(|error| unreachable(definition, error));
    let mut attempt = Mode::Initialize;
    loop {
        let (partner, input, output) = start()?;
        let output = Heard::new(output, handler.log.clone());
        let transport = AsyncRwTransport::new_client(output, input).with_max_line_length(MOST_MESSAGE);
        match handler
            .clone()
            .serve_with_lifecycle(Carrier::new(transport), attempt.lifecycle())
            .await
        {
            Ok(service) => {
                return Ok(Live {
                    service,
                    partner: Some(Mutex::new(partner)),
                });
            }
            Err(error) if attempt == Mode::Initialize && is_newer(&error) => attempt = Mode::Discover,
            Err(error) => {
                // Whatever it had to say comes through the other stream, perhaps a moment later.
                tokio::task::yield_now().await;
                let said = partner.said();
                let last = format!("{}{}", said.head, said.tail);
                let last = last.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim);
                handler
                    .log
                    .add(format!("(could not be started) {}", last.unwrap_or_default()));
                let why = match last {
                    Some(last) => format!("{}; it said: {last}", reason(&error)),
                    None => reason(&error),
                };
                return Err(unreachable(definition, why));
            }
        }
    }
}

async fn http(
    definition: &Definition,
    url: &str,
    headers: &BTreeMap<String, String>,
    around: &Surroundings,
    handler: Handler,
) -> Result<Live, Error> {
    let (client, _) = reach(definition, url, around).await?;
    let plain: std::collections::HashMap<HeaderName, HeaderValue> = head(definition, headers, None)?
        .into_iter()
        .filter_map(|(name, value)| Some((name?, value)))
        .collect();
    let carrier = |door| {
        let config = StreamableHttpClientTransportConfig::with_uri(url)
            .custom_headers(plain.clone())
            .max_sse_event_size(MOST_MESSAGE)
            .reinit_on_expired_session(true);
        Carrier::new(StreamableHttpClientTransport::with_client(door, config))
    };
    let refused = match around.shelf.login(&definition.name).await {
        Some(_) => {
            let manager = auth::known(definition, url, around).await?;
            let door = Door::Known(AuthClient::new(client.clone(), manager));
            greet(definition, handler.clone(), carrier(door), None).await
        }
        None => {
            let door = Door::Plain(client.clone());
            greet(definition, handler.clone(), carrier(door.clone()), Some(carrier(door))).await
        }
    };
    let error = match refused {
        Ok(live) => return Ok(live),
        Err(error @ Error::Login { .. }) => return Err(error),
        Err(error) => error,
    };
    // An older server knows nothing of what was just sent, but answers like this.
    match old(&client, url, &head(definition, headers, None)?).await {
        Ok(found) => greet(definition, handler, Carrier::new(found), None).await,
        Err(_) => Err(error),
    }
}

async fn old(client: &reqwest::Client, url: &str, headers: &HeaderMap) -> Result<Sse, sse::Error> {
    Sse::connect(client.clone(), url, headers.clone()).await
}

fn old_failure(definition: &Definition, error: sse::Error) -> Error {
    match error {
        sse::Error::Status(401) => Error::Login {
            server: definition.name.clone(),
        },
        other => unreachable(definition, other),
    }
}

/// How a conversation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// With a greeting, as every server in the field understands it.
    Initialize,
    /// With a question, as servers of 2026 and later may want it.
    Discover,
}

impl Mode {
    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Mode::Initialize => ClientLifecycleMode::Initialize,
            Mode::Discover => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        }
    }
}

/// Begins the conversation over a transport, and once more in the newer way where there is another transport for it.
async fn greet(
    definition: &Definition,
    handler: Handler,
    carrier: Carrier,
    again: Option<Carrier>,
) -> Result<Live, Error> {
    let first = handler
        .clone()
        .serve_with_lifecycle(carrier, Mode::Initialize.lifecycle())
        .await;
    let served = match (first, again) {
        (Err(error), Some(again)) if is_newer(&error) => {
            handler.serve_with_lifecycle(again, Mode::Discover.lifecycle()).await
        }
        (first, _) => first,
    };
    match served {
        Ok(service) => Ok(Live { service, partner: None }),
        Err(error) if error.is_authorization_required() || error.auth_challenge().is_some() => Err(Error::Login {
            server: definition.name.clone(),
        }),
        Err(error) if reason(&error).contains("401 Unauthorized") => Err(Error::Login {
            server: definition.name.clone(),
        }),
        Err(error) => Err(unreachable(definition, reason(&error))),
    }
}

/// Whether the server wants to be greeted in the newer way.
fn is_newer(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::JsonRpcError(said) => {
            matches!(
                said.code,
                ErrorCode::METHOD_NOT_FOUND | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            )
        }
        _ => false,
    }
}

/// A client for an address, and the token of a login there.
async fn reach(
    definition: &Definition,
    url: &str,
    around: &Surroundings,
) -> Result<(reqwest::Client, Option<String>), Error> {
    let builder = (around.web)(url).map_err(|why| unreachable(definition, why))?;
    let client = builder
        .build()
        .map_err(|error| unreachable(definition, chain(&error)))?;
    let token = match (&definition.transport, around.shelf.login(&definition.name).await) {
        (Ok(Transport::Sse { .. }), Some(_)) => {
            let manager = auth::known(definition, url, around).await?;
            manager.get_access_token().await.ok()
        }
        _ => None,
    };
    Ok((client, token))
}

fn head(
    definition: &Definition,
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

pub(crate) fn unreachable(definition: &Definition, why: impl ToString) -> Error {
    Error::Unreachable {
        server: definition.name.clone(),
        why: bounded(why.to_string()),
    }
}

/// An error with everything behind it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

/// Why a conversation did not begin, for people.
fn reason(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended at once".into(),
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
