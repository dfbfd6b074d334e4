//! All servers of a session, as guests among the tools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tool::{DynTool, Guests};

use crate::content;
use crate::definition::Definition;
use crate::error::Error;
use crate::name::Names;
use crate::offer::{Argument, Offer};
use crate::resource::AccessResource;
use crate::served::Served;
use crate::server::{Server, State, now};
use crate::surroundings::Surroundings;

/// Servers are not started in the first moment of a session, which belongs to the first request.
const FIRST: Duration = Duration::from_millis(400);
/// How old an offer may be before it is looked at again.
const STALE: u64 = 24 * 60 * 60;
/// How often a server that nobody has seen yet is tried.
const TRIES: u32 = 4;
/// How long somebody who looks for a tool waits for servers that are starting.
const ARRIVAL: Duration = Duration::from_secs(20);
/// How often it is looked whether definitions have changed.
const LOOK: Duration = Duration::from_secs(2);
/// Bytes of descriptions of tools that every request may list.
const MOST_LISTED: usize = 8_000;

/// All servers of a session. Cheap to clone; the servers end with the last clone.
#[derive(Clone)]
pub struct Servers(Arc<Shared>);

struct Shared {
    servers: Mutex<BTreeMap<String, Arc<Server>>>,
    around: Arc<Surroundings>,
    names: Mutex<Names>,
    /// Tools that are listed in every request, by server and name there.
    listed: Mutex<BTreeSet<(String, String)>>,
    /// Counts changes of what is offered and how servers are.
    generation: Arc<AtomicU64>,
    moved: Arc<watch::Sender<u64>>,
    /// The guests as they were at a generation.
    built: Mutex<(u64, Vec<Arc<dyn DynTool>>)>,
}

/// The servers, as their tools know them: the tools do not keep them.
#[derive(Clone)]
pub(crate) struct Known(Weak<Shared>);

impl Known {
    /// The server of this name, if it is used.
    pub(crate) fn server(&self, name: &str) -> Result<Arc<Server>, Error> {
        let shared = self.0.upgrade().ok_or_else(|| Error::Unknown(name.to_owned()))?;
        Servers(shared).server(name)
    }
}

/// How a server is, for people.
#[derive(Debug, Clone)]
pub struct Status {
    /// How it was defined.
    pub definition: Definition,
    /// How it is.
    pub state: State,
    /// What it offers, as far as that is known.
    pub offer: Option<Arc<Offer>>,
}

/// A prompt of a server, which people use as a slash command.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The server.
    pub server: String,
    /// Its name there.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it takes.
    pub arguments: Vec<Argument>,
}

impl Prompt {
    /// What people call it, without the slash.
    pub fn command(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// What a person means who writes these words behind the command: one word for each argument, all that is left for the
    /// last, or `name=value`.
    pub fn parse(&self, text: &str) -> Result<BTreeMap<String, String>, String> {
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
            return Err(format!("/{} takes nothing", self.command()));
        }
        let missing = self
            .arguments
            .iter()
            .find(|own| own.required && !given.contains_key(&own.name));
        match missing {
            Some(missing) => Err(format!("/{} needs {}", self.command(), missing.name)),
            None => Ok(given),
        }
    }
}

impl Servers {
    /// Servers that are defined like this. Nothing is started yet.
    pub fn new(definitions: Vec<Definition>, around: Surroundings) -> Self {
        let servers = Servers(Arc::new(Shared {
            servers: Mutex::default(),
            around: Arc::new(around),
            names: Mutex::default(),
            listed: Mutex::default(),
            generation: Arc::new(AtomicU64::new(1)),
            moved: Arc::new(watch::channel(1).0),
            built: Mutex::default(),
        }));
        let made = definitions
            .into_iter()
            .map(|definition| (definition.name.clone(), servers.make(definition)));
        lock(&servers.0.servers).extend(made);
        servers
    }

    fn make(&self, definition: Definition) -> Arc<Server> {
        let (generation, moved) = (Arc::clone(&self.0.generation), Arc::clone(&self.0.moved));
        let told = move || {
            let now = generation.fetch_add(1, Ordering::AcqRel) + 1;
            moved.send_replace(now);
        };
        Server::new(definition, Arc::clone(&self.0.around), Arc::new(told))
    }

    fn moved(&self) {
        let now = self.0.generation.fetch_add(1, Ordering::AcqRel) + 1;
        self.0.moved.send_replace(now);
    }

    fn all(&self) -> Vec<Arc<Server>> {
        lock(&self.0.servers).values().cloned().collect()
    }

    /// Those that are used.
    fn usable(&self) -> impl Iterator<Item = Arc<Server>> {
        let fine = |server: &Arc<Server>| !server.definition.disabled && server.definition.transport.is_ok();
        self.all().into_iter().filter(fine)
    }

    /// The server of this name, if it is used.
    fn server(&self, name: &str) -> Result<Arc<Server>, Error> {
        let server = lock(&self.0.servers).get(name).cloned();
        let server = server.ok_or_else(|| Error::Unknown(name.to_owned()))?;
        let wrong = |why: &str| Error::Definition {
            server: name.to_owned(),
            why: why.to_owned(),
        };
        match &server.definition {
            definition if definition.disabled => Err(wrong("it is disabled")),
            definition => match &definition.transport {
                Err(why) => Err(wrong(why)),
                Ok(_) => Ok(server),
            },
        }
    }

    /// Starts, in the background and side by side, those of which it is not known yet what they offer, or not lately. All
    /// others are started when they are called.
    pub fn start(&self) {
        self.usable().for_each(|server| begin(&server));
    }

    /// Looks now and then whether other servers are defined, as long as there are any sessions that use them.
    pub fn follow(&self, look: impl FnMut() -> Option<Vec<Definition>> + Send + 'static) {
        tokio::spawn(follow(Arc::downgrade(&self.0), look));
    }

    /// Takes over other definitions. Servers that are defined as before are left alone.
    pub fn redefine(&self, definitions: Vec<Definition>) {
        let mut table = lock(&self.0.servers);
        let mut before = std::mem::take(&mut *table);
        let mut begun = Vec::new();
        for definition in definitions {
            let name = definition.name.clone();
            let server = match before.remove(&name) {
                Some(server) if server.definition == definition => server,
                Some(_) | None => {
                    let server = self.make(definition);
                    if !server.definition.disabled && server.definition.transport.is_ok() {
                        begun.push(Arc::clone(&server));
                    }
                    server
                }
            };
            table.insert(name, server);
        }
        drop(table);
        for gone in before.into_values() {
            gone.tell("is no longer there".into());
        }
        self.moved();
        begun.iter().for_each(begin);
    }

    /// How each server is, by name.
    pub fn status(&self) -> Vec<Status> {
        let status = |server: Arc<Server>| {
            let shown = server.shown();
            Status {
                definition: server.definition.clone(),
                state: shown.state,
                offer: shown.offer,
            }
        };
        self.all().into_iter().map(status).collect()
    }

    /// Connects to a server and asks what it offers.
    pub async fn check(&self, name: &str) -> Result<Arc<Offer>, Error> {
        let server = self.server(name)?;
        server.forgive().await;
        server.learn().await
    }

    /// The prompts of all servers, as far as they are known.
    pub fn prompts(&self) -> Vec<Prompt> {
        let prompts = self.usable().flat_map(|server| {
            let offer = server.shown().offer.unwrap_or_default();
            let prompts = offer.prompts.iter().map(|prompt| Prompt {
                server: server.definition.name.clone(),
                name: prompt.name.clone(),
                description: prompt.description.clone(),
                arguments: prompt.arguments.clone(),
            });
            prompts.collect::<Vec<_>>()
        });
        prompts.collect()
    }

    /// Fills in a prompt of a server: the words that a person would say.
    pub async fn prompt(&self, server: &str, name: &str, arguments: BTreeMap<String, String>) -> Result<String, Error> {
        let arguments = arguments.into_iter().map(|(name, value)| (name, Value::String(value)));
        let filled = self.server(server)?.prompt(name, arguments.collect()).await?;
        Ok(content::prompt(filled.messages))
    }

    fn known_to_tools(&self) -> Known {
        Known(Arc::downgrade(&self.0))
    }

    /// Every tool that is offered and known, by server.
    fn known(&self) -> Vec<(Arc<Server>, Arc<Offer>)> {
        self.usable()
            .filter_map(|server| Some((Arc::clone(&server), server.shown().offer?)))
            .collect()
    }

    fn offers(&self, server: &Server, tool: &str) -> bool {
        let chosen = self.0.around.offers.as_ref();
        server.definition.offers(tool) && chosen.is_none_or(|offers| offers(&server.definition.name, tool))
    }

    /// The tools that fit, under their names.
    fn tools_where(&self, fits: impl Fn(&(String, String)) -> bool) -> Vec<Arc<dyn DynTool>> {
        let known = self.known();
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
        names.give(pairs.into_iter());
        let fitting = offered().filter(|(server, tool)| fits(&(server.definition.name.clone(), tool.name.clone())));
        let tools = fitting.filter_map(|(server, tool)| {
            let name = names.of(&server.definition.name, &tool.name)?;
            Some(Arc::new(Served::new(&self.known_to_tools(), &server.definition, tool, name)) as Arc<dyn DynTool>)
        });
        tools.collect()
    }
}

impl Guests for Servers {
    fn seat(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn DynTool>> {
        lock(&self.0.names).leave(taken);
        let all = self.tools_where(|_| true);
        let size = |tool: &Arc<dyn DynTool>| {
            let spec = tool.spec();
            spec.name.len() + spec.description.len() + spec.input_schema.to_string().len()
        };
        if all.len() > self.0.around.listed || all.iter().map(size).sum::<usize>() > MOST_LISTED {
            return Vec::new();
        }
        let known = self.known();
        let pairs = known.iter().flat_map(|(server, offer)| {
            let name = server.definition.name.clone();
            offer.tools.iter().map(move |tool| (name.clone(), tool.name.clone()))
        });
        lock(&self.0.listed).extend(pairs);
        self.moved();
        all
    }

    fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        let generation = self.0.generation.load(Ordering::Acquire);
        let mut built = lock(&self.0.built);
        if built.0 != generation {
            let listed = lock(&self.0.listed).clone();
            let mut tools = self.tools_where(|tool| !listed.contains(tool));
            let has =
                |(_, offer): &(Arc<Server>, Arc<Offer>)| !offer.resources.is_empty() || !offer.templates.is_empty();
            if self.known().iter().any(has) {
                tools.push(Arc::new(AccessResource::new(&self.known_to_tools())));
            }
            *built = (generation, tools);
        }
        built.1.clone()
    }

    fn expected(&self) -> Vec<String> {
        let waiting = self.usable().filter(|server| {
            let shown = server.shown();
            shown.offer.is_none() && !matches!(shown.state, State::Failed(_))
        });
        waiting.map(|server| server.definition.name.clone()).collect()
    }

    fn arrived(&self) -> BoxFuture<'static, ()> {
        let servers = self.clone();
        let mut moved = self.0.moved.subscribe();
        let all_there = async move {
            while !servers.expected().is_empty() {
                if moved.changed().await.is_err() {
                    return;
                }
            }
        };
        // Whoever comes later is announced.
        async move { drop(timeout(ARRIVAL, all_there).await) }.boxed()
    }
}

/// Gets to know a server, in the background.
fn begin(server: &Arc<Server>) {
    let offer = server.shown().offer;
    let known = offer.is_some();
    if offer.is_some_and(|offer| now().saturating_sub(offer.at) < STALE) {
        return;
    }
    let server = Arc::downgrade(server);
    tokio::spawn(async move {
        sleep(FIRST).await;
        for attempt in 0..TRIES {
            let Some(server) = server.upgrade() else { return };
            match server.learn().await {
                Ok(_) => return,
                // Trying again does not help where somebody has to do something first.
                Err(error @ (Error::Login { .. } | Error::Definition { .. })) => {
                    server.tell(error.to_string());
                    return;
                }
                Err(error) if attempt == 0 && !known => server.tell(error.to_string()),
                Err(_) => {}
            }
            drop(server);
            sleep(Duration::from_secs(2 << attempt)).await;
        }
    });
}

async fn follow(servers: Weak<Shared>, mut look: impl FnMut() -> Option<Vec<Definition>>) {
    loop {
        sleep(LOOK).await;
        let Some(shared) = servers.upgrade() else { return };
        if let Some(definitions) = look() {
            Servers(shared).redefine(definitions);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
