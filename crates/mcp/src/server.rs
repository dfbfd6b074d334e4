//! One server: connected when it is needed, connected again when it went away, left alone for a while when it fails.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest,
    GetPromptRequest, GetPromptRequestParams, GetPromptResult, InputRequiredResult, JsonObject, PaginatedRequestParams,
    PingRequest, ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, RequestId, ServerResult,
};
use rmcp::service::{ClientCacheConfig, Peer, PeerRequestOptions, RoleClient, ServiceError};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tool::Context;

use crate::calls::{Calls, Underway};
use crate::connect::{self, Live};
use crate::definition::Definition;
use crate::error::{Error, bounded};
use crate::handler::Handler;
use crate::log::Log;
use crate::offer::{self, Offer, PromptOffer, ResourceOffer, ToolOffer};
use crate::shelf::What;
use crate::surroundings::Surroundings;

/// The first time that a server is left alone after it failed; it doubles each time.
const REST: Duration = Duration::from_secs(1);
/// The longest such time.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// How long a server that was late may take to show that it is alive.
const ALIVE: Duration = Duration::from_secs(5);
/// Changes of an offer that come together are looked at together.
const TOGETHER: Duration = Duration::from_millis(200);
/// How often a server may ask back within one request.
const ROUNDS: usize = 10;
/// Pages of a list.
const MOST_PAGES: usize = 100;

/// One server.
pub(crate) struct Server {
    pub(crate) definition: Definition,
    around: Arc<Surroundings>,
    slot: tokio::sync::Mutex<Slot>,
    shown: Mutex<Shown>,
    calls: Calls,
    changed: Arc<Notify>,
    log: Log,
    /// Told whenever what is shown has changed.
    told: Arc<dyn Fn() + Send + Sync>,
    /// Sessions that have been told how to use it.
    instructed: Mutex<BTreeSet<Arc<str>>>,
}

/// What can be asked of a server at any time.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) state: State,
    pub(crate) offer: Option<Arc<Offer>>,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nobody has needed it yet.
    Idle,
    /// It is being started.
    Starting,
    /// It is there.
    Ready,
    /// It failed.
    Failed(Error),
}

enum Slot {
    Idle,
    Up { live: Arc<Live>, _watching: Watching },
    Down { until: Instant, failures: u32, why: Error },
}

/// When a connection was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Before,
    Now,
}

/// A task that ends with this.
struct Watching(AbortHandle);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Server {
    pub(crate) fn new(
        definition: Definition,
        around: Arc<Surroundings>,
        told: Arc<dyn Fn() + Send + Sync>,
    ) -> Arc<Self> {
        let fingerprint = definition.fingerprint();
        let kept = around.shelf.load(What::Offer, &definition.name);
        let kept = kept.and_then(|text| serde_json::from_str::<Offer>(&text).ok());
        let offer = kept.filter(|offer| offer.fingerprint == fingerprint).map(Arc::new);
        Arc::new(Server {
            definition,
            around,
            slot: tokio::sync::Mutex::new(Slot::Idle),
            shown: Mutex::new(Shown {
                state: State::Idle,
                offer,
            }),
            calls: Calls::default(),
            changed: Arc::default(),
            log: Log::default(),
            told,
            instructed: Mutex::default(),
        })
    }

    fn shown_mut(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it is and what it offers.
    pub(crate) fn shown(&self) -> Shown {
        self.shown_mut().clone()
    }

    fn becomes(&self, state: State) {
        self.shown_mut().state = state;
        (self.told)();
    }

    /// Finds out what it offers, connecting where that must be.
    pub(crate) async fn learn(self: &Arc<Self>) -> Result<Arc<Offer>, Error> {
        let (live, _) = self.connected().await?;
        self.refresh(&live).await
    }

    /// The connection, made where there is none. What a server offers may not be what it offered last time, so that is
    /// looked at beside the work for which it is connected.
    async fn live(self: &Arc<Self>) -> Result<Arc<Live>, Error> {
        let (live, made) = self.connected().await?;
        if made == Made::Now {
            self.changed.notify_one();
        }
        Ok(live)
    }

    async fn connected(self: &Arc<Self>) -> Result<(Arc<Live>, Made), Error> {
        let mut slot = self.slot.lock().await;
        let failures = match &*slot {
            Slot::Up { live, .. } if !live.is_closed() => return Ok((Arc::clone(live), Made::Before)),
            Slot::Up { live, .. } => {
                self.keep_log(Some(live));
                0
            }
            Slot::Down { until, why, .. } if *until > Instant::now() => return Err(self.resting(*until, why)),
            Slot::Down { failures, .. } => *failures,
            Slot::Idle => 0,
        };
        *slot = Slot::Idle;
        self.becomes(State::Starting);
        match self.connect().await {
            Ok(live) => {
                let live = Arc::new(live);
                let watching = tokio::spawn(watch(
                    Arc::downgrade(self),
                    Arc::downgrade(&live),
                    Arc::clone(&self.changed),
                ));
                *slot = Slot::Up {
                    live: Arc::clone(&live),
                    _watching: Watching(watching.abort_handle()),
                };
                self.becomes(State::Ready);
                Ok((live, Made::Now))
            }
            Err(error) => {
                self.keep_log(None);
                let rest = REST.saturating_mul(1 << failures.min(6)).min(LONGEST_REST);
                *slot = Slot::Down {
                    until: Instant::now() + rest,
                    failures: failures + 1,
                    why: error.clone(),
                };
                self.becomes(State::Failed(error.clone()));
                Err(error)
            }
        }
    }

    async fn connect(&self) -> Result<Live, Error> {
        let handler = Handler {
            name: self.definition.name.clone(),
            root: self.around.root.clone(),
            sampling: self.definition.sampling,
            model: self.around.model.clone(),
            calls: self.calls.clone(),
            changed: Arc::clone(&self.changed),
            log: self.log.clone(),
        };
        let patience = self.definition.timeout;
        let connecting = connect::connect(&self.definition, &self.around, handler);
        let live = match timeout(patience, connecting).await {
            Ok(live) => live?,
            Err(_) => {
                let why = format!("it did not begin to talk within {} s", patience.as_secs());
                return Err(connect::unreachable(&self.definition, why));
            }
        };
        // What is kept between runs is ours to keep.
        live.peer()
            .set_response_cache_config(ClientCacheConfig::disabled())
            .await;
        Ok(live)
    }

    fn resting(&self, until: Instant, why: &Error) -> Error {
        match why {
            Error::Unreachable { server, why } => Error::Resting {
                server: server.clone(),
                why: why.clone(),
                seconds: until.duration_since(Instant::now()).as_secs() + 1,
            },
            other => other.clone(),
        }
    }

    /// Forgets a failure, so that the server is tried again at once.
    pub(crate) async fn forgive(&self) {
        let mut slot = self.slot.lock().await;
        if let Slot::Down { .. } = *slot {
            *slot = Slot::Idle;
        }
    }

    /// Calls a tool. A call that fails is not made again: nobody knows what it did.
    pub(crate) async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: JsonObject,
        context: &Context,
    ) -> Result<CallToolResult, Error> {
        let live = self.live().await?;
        let underway = self.calls.begin(context.clone());
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..ROUNDS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            match self.ask(&live, request, Some(&underway)).await? {
                ServerResult::CallToolResult(result) => {
                    self.keep_log(Some(&live));
                    return Ok(result);
                }
                ServerResult::InputRequiredResult(wanted) => {
                    params.input_responses = Some(self.answers(&live, &wanted).await?);
                    params.request_state = wanted.request_state;
                }
                _ => return Err(self.refused("it answered something else")),
            }
        }
        Err(self.refused("it asked back too often"))
    }

    /// Reads a resource.
    pub(crate) async fn read(self: &Arc<Self>, uri: &str, context: &Context) -> Result<ReadResourceResult, Error> {
        let live = self.live().await?;
        let underway = self.calls.begin(context.clone());
        let mut params = ReadResourceRequestParams::new(uri);
        for _ in 0..ROUNDS {
            let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params.clone()));
            match self.ask(&live, request, Some(&underway)).await? {
                ServerResult::ReadResourceResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(wanted) => {
                    params.input_responses = Some(self.answers(&live, &wanted).await?);
                    params.request_state = wanted.request_state;
                }
                _ => return Err(self.refused("it answered something else")),
            }
        }
        Err(self.refused("it asked back too often"))
    }

    /// Fills in a prompt.
    pub(crate) async fn prompt(self: &Arc<Self>, name: &str, arguments: JsonObject) -> Result<GetPromptResult, Error> {
        let live = self.live().await?;
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        match self.ask(&live, request, None).await? {
            ServerResult::GetPromptResult(result) => Ok(result),
            _ => Err(self.refused("it answered something else")),
        }
    }

    async fn answers(&self, live: &Live, wanted: &InputRequiredResult) -> Result<rmcp::model::InputResponses, Error> {
        live.handler()
            .answers(wanted)
            .await
            .map_err(|error| self.refused(error.message))
    }

    /// Sends a request and waits, as long as the server shows that it is at work and no longer than it may.
    async fn ask(
        self: &Arc<Self>,
        live: &Arc<Live>,
        request: ClientRequest,
        underway: Option<&Underway>,
    ) -> Result<ServerResult, Error> {
        let patience = self.definition.timeout;
        let begun = Instant::now();
        let sent = live
            .peer()
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let handle = match timeout(patience, sent).await {
            Ok(handle) => handle.map_err(|error| self.failure(error))?,
            Err(_) => return Err(self.late(live)),
        };
        if let Some(underway) = underway {
            underway.known_as(handle.progress_token.clone());
        }
        let mut abandoned = Abandoned {
            peer: live.peer().clone(),
            id: Some(handle.id.clone()),
        };
        let answer = handle.await_response();
        tokio::pin!(answer);
        loop {
            let heard = || underway.map_or(begun, Underway::heard);
            tokio::select! {
                answer = &mut answer => {
                    abandoned.id = None;
                    return answer.map_err(|error| self.failure(error));
                }
                () = sleep_until(heard() + patience) => {
                    if heard() + patience <= Instant::now() {
                        return Err(self.late(live));
                    }
                }
            }
        }
    }

    /// A server that is late may be stuck for good: then the next call gets another one.
    fn late(self: &Arc<Self>, live: &Arc<Live>) -> Error {
        let (server, live) = (Arc::downgrade(self), Arc::downgrade(live));
        tokio::spawn(async move {
            let Some(peer) = live.upgrade().map(|live| live.peer().clone()) else {
                return;
            };
            let ping = ClientRequest::PingRequest(PingRequest::default());
            if timeout(ALIVE, peer.send_request(ping))
                .await
                .is_ok_and(|answer| answer.is_ok())
            {
                return;
            }
            if let Some(server) = server.upgrade() {
                server.drop_connection(&live).await;
            }
        });
        Error::Late {
            server: self.definition.name.clone(),
            seconds: self.definition.timeout.as_secs(),
        }
    }

    async fn drop_connection(&self, which: &Weak<Live>) {
        let mut slot = self.slot.lock().await;
        let same = matches!(&*slot, Slot::Up { live, .. } if Arc::as_ptr(live) == which.as_ptr());
        if same {
            if let Slot::Up { live, .. } = &*slot {
                self.keep_log(Some(live));
            }
            *slot = Slot::Idle;
            self.becomes(State::Idle);
        }
    }

    fn failure(&self, error: ServiceError) -> Error {
        match error {
            ServiceError::McpError(said) => match said.data {
                Some(data) if !data.is_null() => self.refused(format!("{} ({data})", said.message)),
                Some(_) | None => self.refused(said.message),
            },
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => Error::Lost {
                server: self.definition.name.clone(),
            },
            other => self.refused(other.to_string()),
        }
    }

    fn refused(&self, why: impl Into<String>) -> Error {
        Error::Refused {
            server: self.definition.name.clone(),
            why: bounded(why),
        }
    }

    /// Asks what it offers, and tells what has changed.
    async fn refresh(&self, live: &Live) -> Result<Arc<Offer>, Error> {
        let asked = timeout(self.definition.timeout, self.offer(live)).await;
        let fresh = Arc::new(match asked {
            Ok(offer) => offer?,
            Err(_) => {
                return Err(Error::Late {
                    server: self.definition.name.clone(),
                    seconds: self.definition.timeout.as_secs(),
                });
            }
        });
        let before = self.shown_mut().offer.replace(Arc::clone(&fresh));
        if let Ok(text) = serde_json::to_string(&*fresh) {
            self.around.shelf.save(What::Offer, &self.definition.name, &text);
        }
        if before.as_ref().is_none_or(|before| !before.same(&fresh)) {
            (self.told)();
            self.announce(before.as_deref(), &fresh);
        }
        self.keep_log(Some(live));
        Ok(fresh)
    }

    async fn offer(&self, live: &Live) -> Result<Offer, Error> {
        let peer = live.peer();
        let info = peer.peer_info();
        let able = info.as_ref().map(|info| info.capabilities.clone()).unwrap_or_default();
        let failed = |error: ServiceError| self.failure(error);
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = match peer.list_tools(Some(page)).await {
                Ok(page) => page,
                Err(ServiceError::McpError(_)) if able.tools.is_none() => break,
                Err(error) => return Err(failed(error)),
            };
            tools.extend(page.tools.iter().map(ToolOffer::from));
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() >= offer::MOST {
                break;
            }
        }
        tools.truncate(offer::MOST);
        let mut prompts: Vec<PromptOffer> = Vec::new();
        let (mut resources, mut templates): (Vec<ResourceOffer>, Vec<ResourceOffer>) = (Vec::new(), Vec::new());
        // Servers claim these and then do not serve them; that must not cost the tools.
        if able.prompts.is_some()
            && let Ok(page) = peer.list_prompts(None).await
        {
            prompts = page.prompts.iter().take(offer::MOST).map(Into::into).collect();
        }
        if able.resources.is_some() {
            if let Ok(page) = peer.list_resources(None).await {
                resources = page.resources.iter().take(offer::MOST).map(Into::into).collect();
            }
            if let Ok(page) = peer.list_resource_templates(None).await {
                templates = page
                    .resource_templates
                    .iter()
                    .take(offer::MOST)
                    .map(Into::into)
                    .collect();
            }
        }
        let title = info.as_ref().and_then(|info| info.server_info.as_ref());
        Ok(Offer {
            fingerprint: self.definition.fingerprint(),
            at: now(),
            tools,
            prompts,
            resources,
            templates,
            instructions: offer::instructions(info.as_ref().and_then(|info| info.instructions.as_deref())),
            title: title.map(|title| bounded(format!("{} {}", title.name, title.version))),
        })
    }

    /// Tells the model what is new.
    fn announce(&self, before: Option<&Offer>, now: &Offer) {
        let names = |offer: &Offer| -> BTreeSet<String> {
            let tools = offer.tools.iter().map(|tool| tool.name.clone());
            tools.filter(|name| self.definition.offers(name)).collect()
        };
        let (old, new) = (before.map(names).unwrap_or_default(), names(now));
        let list = |names: Vec<&String>| -> String {
            let shown: Vec<&str> = names.iter().take(20).map(|name| name.as_str()).collect();
            match names.len().saturating_sub(20) {
                0 => shown.join(", "),
                more => format!("{} and {more} more", shown.join(", ")),
            }
        };
        let came: Vec<&String> = new.difference(&old).collect();
        let went: Vec<&String> = old.difference(&new).collect();
        let text = match (came.is_empty(), went.is_empty()) {
            (true, true) => return,
            (false, true) => format!("offers tools that find_tools shows: {}", list(came)),
            (true, false) => format!("no longer offers {}", list(went)),
            (false, false) => format!("offers {} now, and no longer {}", list(came), list(went)),
        };
        self.tell(bounded(text));
    }

    /// Tells the model something about this server.
    pub(crate) fn tell(&self, text: String) {
        self.around.notices.tell(tool::Notice {
            source: format!("MCP server {}", self.definition.name),
            text,
        });
    }

    /// How to use the server, once in each session.
    pub(crate) fn instructions(&self, session: &Arc<str>) -> Option<String> {
        let text = self.shown_mut().offer.as_ref()?.instructions.clone()?;
        let mut told = self.instructed.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(Arc::clone(session)).then_some(text)
    }

    /// What it said to nobody in particular so far.
    fn keep_log(&self, live: Option<&Live>) {
        let said = live.map(Live::said).unwrap_or_default();
        let text = format!("{said}{}", self.log.text());
        if !text.is_empty() {
            self.around.shelf.save(What::Log, &self.definition.name, &text);
        }
    }
}

/// Looks again when the server says that its offer has changed.
async fn watch(server: Weak<Server>, live: Weak<Live>, changed: Arc<Notify>) {
    loop {
        changed.notified().await;
        sleep(TOGETHER).await;
        let (Some(server), Some(live)) = (server.upgrade(), live.upgrade()) else {
            return;
        };
        // The old offer stays where there is no new one.
        drop(server.refresh(&live).await);
    }
}

/// A request that nobody waits for any more, unless it was answered: the server is told.
struct Abandoned {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let said = CancelledNotificationParam::new(Some(id), Some("nobody waits for it any more".into()));
                // A server that does not even take this is beyond being told.
                drop(timeout(ALIVE, peer.notify_cancelled(said)).await);
            });
        }
    }
}

/// Seconds of Unix time.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
