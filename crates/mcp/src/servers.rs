//! All MCP servers of a session, as dynamic tools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tool::{DynTool, DynamicTools};

use crate::connect;
use crate::content;
use crate::definition::McpDefinition;
use crate::environment::McpEnvironment;
use crate::error::Error;
use crate::mcp_tool::McpTool;
use crate::offer::{PromptArgument, ServerOffer};
use crate::resource::AccessResource;
use crate::server::{ManagedServer, McpServerState, now};
use crate::tool_names::ToolNames;

/// Delay before known servers start, so that the first request is not slowed down.
const START_DELAY: Duration = Duration::from_millis(400);
/// Age after which an offer is queried again.
const OFFER_MAX_AGE_SECONDS: u64 = 24 * 60 * 60;
/// Attempts to start an unknown server.
const MAX_ATTEMPTS: u32 = 4;
/// How long a tool search waits for starting servers.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval of checks for changed definitions.
const DEFINITION_POLL: Duration = Duration::from_secs(2);
/// Maximum bytes of tool descriptions listed in every request.
const MAX_LISTED_BYTES: usize = 8_000;

/// All servers of a session. Cheap to clone; the servers end with the last clone.
#[derive(Clone)]
pub struct McpServers(Arc<McpServersInner>);

struct McpServersInner {
    servers: Mutex<BTreeMap<String, Arc<ManagedServer>>>,
    env: Arc<McpEnvironment>,
    names: Mutex<ToolNames>,
    /// Tools listed in every request, by server and name.
    listed: Mutex<BTreeSet<(String, String)>>,
    /// Counts changes of offers and states.
    generation: Arc<AtomicU64>,
    moved: Arc<watch::Sender<u64>>,
    /// The tools built for a generation.
    built: Mutex<(u64, Vec<Arc<dyn DynTool>>)>,
    /// Reads the definitions again if they have changed.
    definitions: Mutex<Option<DefinitionReader>>,
}

/// Returns the definitions if they have changed since the last call.
type DefinitionReader = Box<dyn FnMut() -> Option<Vec<McpDefinition>> + Send>;

/// A weak reference for tools, which do not keep the servers alive.
#[derive(Clone)]
pub(crate) struct WeakServers(Weak<McpServersInner>);

impl WeakServers {
    /// Returns the server with this name, if enabled.
    pub(crate) fn server(&self, name: &str) -> Result<Arc<ManagedServer>, Error> {
        let shared = self.0.upgrade().ok_or_else(|| Error::Unknown(name.to_owned()))?;
        McpServers(shared).server(name)
    }

    /// The known offers, by server name.
    pub(crate) fn offers(&self) -> Vec<(String, Arc<ServerOffer>)> {
        let known = self.0.upgrade().map(|shared| McpServers(shared).known_offers());
        let named = known.unwrap_or_default().into_iter();
        named
            .map(|(server, offer)| (server.definition.name.clone(), offer))
            .collect()
    }
}

/// The status of a server, for the user.
#[derive(Debug, Clone)]
pub struct McpServerStatus {
    /// Its definition.
    pub definition: McpDefinition,
    /// Its state.
    pub state: McpServerState,
    /// Its offer, if known.
    pub offer: Option<Arc<ServerOffer>>,
}

/// A prompt of a server, used as a slash command.
#[derive(Debug, Clone, PartialEq)]
pub struct McpPrompt {
    /// The server.
    pub server: String,
    /// Its name on the server.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its parameters.
    pub arguments: Vec<PromptArgument>,
}

/// Invalid arguments of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptArgumentError {
    /// The prompt takes no arguments.
    #[error("/{command} takes no arguments")]
    NoArguments {
        /// The command of the prompt.
        command: String,
    },
    /// A required argument is missing.
    #[error("/{command} needs {argument}")]
    Missing {
        /// The command of the prompt.
        command: String,
        /// The argument.
        argument: String,
    },
}

impl McpPrompt {
    /// Its command name without the slash.
    pub fn command(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// Parses the text after the command: one word per argument, the rest for the last one, or `name=value`.
    pub fn parse(&self, text: &str) -> Result<BTreeMap<String, String>, PromptArgumentError> {
        let mut given = BTreeMap::new();
        let mut rest = text.trim();
        for (place, argument) in self.arguments.iter().enumerate() {
            if rest.is_empty() {
                break;
            }
            let last = place + 1 == self.arguments.len();
            let (word, after) = match (last, rest.split_once(char::is_whitespace)) {
                (true, _) | (false, None) => (rest, ""),
                (false, Some((word, after))) => (word, after.trim_start()),
            };
            let named = word
                .split_once('=')
                .filter(|(name, _)| self.arguments.iter().any(|own| own.name == *name));
            match named {
                Some((name, value)) => given.insert(name.to_owned(), value.to_owned()),
                None => given.insert(argument.name.clone(), word.to_owned()),
            };
            rest = after;
        }
        if !rest.is_empty() && self.arguments.is_empty() {
            return Err(PromptArgumentError::NoArguments {
                command: self.command(),
            });
        }
        let missing = self
            .arguments
            .iter()
            .find(|own| own.required && !given.contains_key(&own.name));
        match missing {
            Some(missing) => Err(PromptArgumentError::Missing {
                command: self.command(),
                argument: missing.name.clone(),
            }),
            None => Ok(given),
        }
    }
}

impl McpServers {
    /// Creates the servers without starting them.
    pub fn new(definitions: Vec<McpDefinition>, env: McpEnvironment) -> Self {
        let servers = McpServers(Arc::new(McpServersInner {
            servers: Mutex::default(),
            env: Arc::new(env),
            names: Mutex::default(),
            listed: Mutex::default(),
            generation: Arc::new(AtomicU64::new(1)),
            moved: Arc::new(watch::channel(1).0),
            built: Mutex::default(),
            definitions: Mutex::default(),
        }));
        let made = definitions
            .into_iter()
            .map(|definition| (definition.name.clone(), servers.create(definition)));
        lock(&servers.0.servers).extend(made);
        servers
    }

    fn create(&self, definition: McpDefinition) -> Arc<ManagedServer> {
        let (generation, moved) = (Arc::clone(&self.0.generation), Arc::clone(&self.0.moved));
        let on_change = move || {
            let now = generation.fetch_add(1, Ordering::AcqRel) + 1;
            moved.send_replace(now);
        };
        ManagedServer::new(definition, Arc::clone(&self.0.env), Arc::new(on_change))
    }

    fn bump_generation(&self) {
        let now = self.0.generation.fetch_add(1, Ordering::AcqRel) + 1;
        self.0.moved.send_replace(now);
    }

    fn all(&self) -> Vec<Arc<ManagedServer>> {
        lock(&self.0.servers).values().cloned().collect()
    }

    /// The enabled servers.
    fn usable(&self) -> impl Iterator<Item = Arc<ManagedServer>> {
        let fine = |server: &Arc<ManagedServer>| !server.definition.disabled && server.definition.transport.is_ok();
        self.all().into_iter().filter(fine)
    }

    /// Returns the server with this name, if enabled.
    fn server(&self, name: &str) -> Result<Arc<ManagedServer>, Error> {
        let server = lock(&self.0.servers).get(name).cloned();
        let server = server.ok_or_else(|| Error::Unknown(name.to_owned()))?;
        let wrong = |why: &str| Error::Definition {
            server: name.to_owned(),
            why: why.to_owned(),
        };
        match &server.definition {
            definition if definition.disabled => Err(wrong("it is disabled")),
            definition => match &definition.transport {
                Err(error) => Err(wrong(&error.to_string())),
                Ok(_) => Ok(server),
            },
        }
    }

    /// Starts the servers without a recent offer, in the background and in parallel. The others start when they are
    /// called.
    pub fn start(&self) {
        self.usable().for_each(|server| start_in_background(&server));
    }

    /// Sets whether the model is notified of the first tools of a server; not before its first request, which lists them.
    pub fn set_announces_first(&self, announces: bool) {
        self.usable().for_each(|server| server.set_announces_first(announces));
    }

    /// Watches for changed definitions while sessions use the servers: at intervals, and when a tool is searched.
    pub fn watch_definitions(&self, look: impl FnMut() -> Option<Vec<McpDefinition>> + Send + 'static) {
        *lock(&self.0.definitions) = Some(Box::new(look));
        tokio::spawn(follow(Arc::downgrade(&self.0)));
    }

    fn update_definitions(&self) {
        let changed = lock(&self.0.definitions).as_mut().and_then(|look| look());
        if let Some(definitions) = changed {
            self.replace_definitions(definitions);
        }
    }

    /// Replaces the definitions. Unchanged servers are kept.
    pub fn replace_definitions(&self, definitions: Vec<McpDefinition>) {
        let mut table = lock(&self.0.servers);
        let mut before = std::mem::take(&mut *table);
        let mut begun = Vec::new();
        for definition in definitions {
            let name = definition.name.clone();
            let server = match before.remove(&name) {
                Some(server) if server.definition == definition => server,
                Some(_) | None => {
                    let server = self.create(definition);
                    if !server.definition.disabled && server.definition.transport.is_ok() {
                        begun.push(Arc::clone(&server));
                    }
                    server
                }
            };
            table.insert(name, server);
        }
        drop(table);
        for removed in before.into_values() {
            removed.notify("was removed".into());
        }
        self.bump_generation();
        begun.iter().for_each(start_in_background);
    }

    /// The status of each server, by name.
    pub fn status(&self) -> Vec<McpServerStatus> {
        let status = |server: Arc<ManagedServer>| {
            let shown = server.snapshot();
            McpServerStatus {
                definition: server.definition.clone(),
                state: shown.state,
                offer: shown.offer,
            }
        };
        self.all().into_iter().map(status).collect()
    }

    /// A hint for a server that does not start because it has no network; empty if it has.
    pub fn network_hint(&self, name: &str) -> &'static str {
        let server = lock(&self.0.servers).get(name).cloned();
        server.map_or("", |server| connect::network_hint(&server.definition, &self.0.env))
    }

    /// Connects to a server and queries its offer.
    pub async fn check(&self, name: &str) -> Result<Arc<ServerOffer>, Error> {
        let server = self.server(name)?;
        server.clear_backoff().await;
        server.fetch_offer().await
    }

    /// The known prompts of all servers.
    pub fn prompts(&self) -> Vec<McpPrompt> {
        let prompts = self.usable().flat_map(|server| {
            let offer = server.snapshot().offer.unwrap_or_default();
            let prompts = offer.prompts.iter().map(|prompt| McpPrompt {
                server: server.definition.name.clone(),
                name: prompt.name.clone(),
                description: prompt.description.clone(),
                arguments: prompt.arguments.clone(),
            });
            prompts.collect::<Vec<_>>()
        });
        prompts.collect()
    }

    /// Renders a prompt of a server as user text.
    pub async fn prompt(&self, server: &str, name: &str, arguments: BTreeMap<String, String>) -> Result<String, Error> {
        let arguments = arguments.into_iter().map(|(name, value)| (name, Value::String(value)));
        let filled = self.server(server)?.prompt(name, arguments.collect()).await?;
        Ok(content::prompt(filled.messages))
    }

    fn weak(&self) -> WeakServers {
        WeakServers(Arc::downgrade(&self.0))
    }

    /// The known offers, by server.
    fn known_offers(&self) -> Vec<(Arc<ManagedServer>, Arc<ServerOffer>)> {
        self.usable()
            .filter_map(|server| Some((Arc::clone(&server), server.snapshot().offer?)))
            .collect()
    }

    fn offers(&self, server: &ManagedServer, tool: &str) -> bool {
        let chosen = self.0.env.tool_filter.as_ref();
        server.definition.includes_tool(tool) && chosen.is_none_or(|offers| offers(&server.definition.name, tool))
    }

    /// The matching tools, under their assigned names.
    fn tools_where(&self, fits: impl Fn(&(String, String)) -> bool) -> Vec<Arc<dyn DynTool>> {
        let known = self.known_offers();
        let offered = || {
            known.iter().flat_map(|(server, offer)| {
                let tools = offer.tools.iter().filter(|tool| self.offers(server, &tool.name));
                tools.map(move |tool| (server, tool))
            })
        };
        let mut names = lock(&self.0.names);
        let pairs: Vec<(&str, &str)> = offered()
            .map(|(server, tool)| (server.definition.name.as_str(), tool.name.as_str()))
            .collect();
        names.assign(pairs.into_iter());
        let fitting = offered().filter(|(server, tool)| fits(&(server.definition.name.clone(), tool.name.clone())));
        let tools = fitting.filter_map(|(server, tool)| {
            let name = names.of(&server.definition.name, &tool.name)?;
            Some(Arc::new(McpTool::new(&self.weak(), &server.definition, tool, name)) as Arc<dyn DynTool>)
        });
        tools.collect()
    }
}

impl DynamicTools for McpServers {
    fn reserve_names(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn DynTool>> {
        lock(&self.0.names).reserve(taken);
        let all = self.tools_where(|_| true);
        let size = |tool: &Arc<dyn DynTool>| {
            let spec = tool.spec();
            spec.name.len() + spec.description.len() + spec.input_schema.to_string().len()
        };
        if all.len() > self.0.env.max_listed || all.iter().map(size).sum::<usize>() > MAX_LISTED_BYTES {
            return Vec::new();
        }
        let known = self.known_offers();
        let pairs = known.iter().flat_map(|(server, offer)| {
            let name = server.definition.name.clone();
            offer.tools.iter().map(move |tool| (name.clone(), tool.name.clone()))
        });
        lock(&self.0.listed).extend(pairs);
        self.bump_generation();
        all
    }

    fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        let generation = self.0.generation.load(Ordering::Acquire);
        let mut built = lock(&self.0.built);
        if built.0 != generation {
            let listed = lock(&self.0.listed).clone();
            let mut tools = self.tools_where(|tool| !listed.contains(tool));
            let has = |(_, offer): &(Arc<ManagedServer>, Arc<ServerOffer>)| {
                !offer.resources.is_empty() || !offer.templates.is_empty()
            };
            if self.known_offers().iter().any(has) {
                tools.push(Arc::new(AccessResource::new(&self.weak())));
            }
            *built = (generation, tools);
        }
        built.1.clone()
    }

    fn starting(&self) -> Vec<String> {
        self.update_definitions();
        let waiting = self.usable().filter(|server| {
            let shown = server.snapshot();
            let is_unknown = shown.offer.is_none() && !matches!(shown.state, McpServerState::Failed(_));
            is_unknown || server.has_reported_change()
        });
        waiting.map(|server| server.definition.name.clone()).collect()
    }

    fn wait_until_started(&self) -> BoxFuture<'static, ()> {
        let servers = self.clone();
        let mut moved = self.0.moved.subscribe();
        let all_there = async move {
            while !servers.starting().is_empty() {
                if moved.changed().await.is_err() {
                    return;
                }
            }
        };
        // Servers that become ready later are announced.
        async move { drop(timeout(ARRIVAL_TIMEOUT, all_there).await) }.boxed()
    }
}

/// Queries the offer of a server in the background.
fn start_in_background(server: &Arc<ManagedServer>) {
    let offer = server.snapshot().offer;
    let known = offer.is_some();
    if offer.is_some_and(|offer| now().saturating_sub(offer.at) < OFFER_MAX_AGE_SECONDS) {
        return;
    }
    let server = Arc::downgrade(server);
    tokio::spawn(async move {
        if known {
            sleep(START_DELAY).await;
        }
        for attempt in 0..MAX_ATTEMPTS {
            let Some(server) = server.upgrade() else { return };
            match server.fetch_offer().await {
                Ok(_) => return,
                // These errors need action by the user; retrying does not help.
                Err(error @ (Error::Login { .. } | Error::Definition { .. })) => {
                    server.notify(error.to_string());
                    return;
                }
                Err(error) if attempt == 0 && !known => server.notify(error.to_string()),
                Err(_) => {}
            }
            drop(server);
            sleep(Duration::from_secs(2 << attempt)).await;
        }
    });
}

async fn follow(servers: Weak<McpServersInner>) {
    loop {
        sleep(DEFINITION_POLL).await;
        let Some(shared) = servers.upgrade() else { return };
        McpServers(shared).update_definitions();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
