//! One server: connects on demand, reconnects after a loss, and backs off after failures.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest,
    GetPromptRequest, GetPromptRequestParams, GetPromptResult, InputRequiredResult, JsonObject, PaginatedRequestParams,
    PingRequest, ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, RequestId, ServerResult,
};
use rmcp::service::{ClientCacheConfig, Peer, PeerRequestOptions, RoleClient, ServiceError};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tool::CallContext;

use crate::auth;
use crate::cache_store::CacheEntry;
use crate::calls::{McpCallGuard, McpCalls};
use crate::connect::{self, LiveConnection};
use crate::definition::McpDefinition;
use crate::environment::McpEnvironment;
use crate::error::{Error, bounded};
use crate::handler::McpClientHandler;
use crate::offer::{self, PromptOffer, ResourceOffer, ServerOffer, ToolOffer};
use crate::offer_changes::OfferChanges;
use crate::server_log::ServerLog;

/// Delay after the first failure; doubles each time.
const BACKOFF: Duration = Duration::from_secs(1);
/// Maximum delay.
const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// Timeout of the ping after a request timed out.
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Changes of an offer within this time are handled together.
const CHANGE_DEBOUNCE: Duration = Duration::from_millis(200);
/// Maximum number of input rounds within one request.
const MAX_ROUNDS: usize = 10;
/// Maximum pages of a list.
const MAX_PAGES: usize = 100;

/// One server.
pub(crate) struct ManagedServer {
    pub(crate) definition: McpDefinition,
    env: Arc<McpEnvironment>,
    slot: tokio::sync::Mutex<ConnectionSlot>,
    shown: Mutex<ServerSnapshot>,
    calls: McpCalls,
    changed: Arc<OfferChanges>,
    log: ServerLog,
    /// Called after every change of the snapshot.
    on_change: Arc<dyn Fn() + Send + Sync>,
    /// Sessions that have received its instructions.
    instructed: Mutex<BTreeSet<Arc<str>>>,
    /// Whether the model is notified of the first tools.
    announces_first: AtomicBool,
}

/// The public state of a server.
#[derive(Clone)]
pub(crate) struct ServerSnapshot {
    pub(crate) state: McpServerState,
    pub(crate) offer: Option<Arc<ServerOffer>>,
}

/// The status of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServerState {
    /// Not needed yet.
    Idle,
    /// Starting.
    Starting,
    /// Connected.
    Ready,
    /// Failed.
    Failed(Error),
}

enum ConnectionSlot {
    Idle,
    Up {
        live: Arc<LiveConnection>,
        _watching: OfferWatch,
    },
    Down {
        until: Instant,
        failures: u32,
        why: Error,
    },
}

/// Whether a connection is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionAge {
    Existing,
    New,
}

/// A task that is aborted on drop.
struct OfferWatch(AbortHandle);

impl Drop for OfferWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ManagedServer {
    pub(crate) fn new(
        definition: McpDefinition,
        env: Arc<McpEnvironment>,
        on_change: Arc<dyn Fn() + Send + Sync>,
    ) -> Arc<Self> {
        let fingerprint = definition.fingerprint();
        let kept = env.cache.load(CacheEntry::Offer, &definition.name);
        let kept = kept.and_then(|text| serde_json::from_str::<ServerOffer>(&text).ok());
        let offer = kept.filter(|offer| offer.fingerprint == fingerprint).map(Arc::new);
        Arc::new(ManagedServer {
            definition,
            env,
            slot: tokio::sync::Mutex::new(ConnectionSlot::Idle),
            shown: Mutex::new(ServerSnapshot {
                state: McpServerState::Idle,
                offer,
            }),
            calls: McpCalls::default(),
            changed: Arc::default(),
            log: ServerLog::default(),
            on_change,
            instructed: Mutex::default(),
            announces_first: AtomicBool::new(true),
        })
    }

    fn lock_snapshot(&self) -> MutexGuard<'_, ServerSnapshot> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its state and offer.
    pub(crate) fn snapshot(&self) -> ServerSnapshot {
        self.lock_snapshot().clone()
    }

    /// Whether it reported a change of its offer that is not queried yet.
    pub(crate) fn has_reported_change(&self) -> bool {
        self.changed.is_pending()
    }

    fn set_state(&self, state: McpServerState) {
        self.lock_snapshot().state = state;
        (self.on_change)();
    }

    /// Queries the offer, connecting if necessary.
    pub(crate) async fn fetch_offer(self: &Arc<Self>) -> Result<Arc<ServerOffer>, Error> {
        let (live, _) = self.ensure_connected().await?;
        self.refresh(&live).await
    }

    /// Returns the connection, connecting if necessary. The offer may have changed since the last run, so it is queried
    /// in the background.
    async fn connection(self: &Arc<Self>) -> Result<Arc<LiveConnection>, Error> {
        let (live, made) = self.ensure_connected().await?;
        if made == ConnectionAge::New {
            self.changed.request_query();
        }
        Ok(live)
    }

    async fn ensure_connected(self: &Arc<Self>) -> Result<(Arc<LiveConnection>, ConnectionAge), Error> {
        let mut slot = self.slot.lock().await;
        let failures = match &*slot {
            ConnectionSlot::Up { live, .. } if !live.is_closed() => {
                return Ok((Arc::clone(live), ConnectionAge::Existing));
            }
            ConnectionSlot::Up { live, .. } => {
                self.save_log(Some(live));
                0
            }
            ConnectionSlot::Down { until, why, .. } if *until > Instant::now() => {
                return Err(self.backoff_error(*until, why));
            }
            ConnectionSlot::Down { failures, .. } => *failures,
            ConnectionSlot::Idle => 0,
        };
        *slot = ConnectionSlot::Idle;
        self.set_state(McpServerState::Starting);
        match self.connect().await.map_err(|error| self.redacted(error)) {
            Ok(live) => {
                let live = Arc::new(live);
                self.changed.complete(self.changed.reported());
                let watching = tokio::spawn(watch(
                    Arc::downgrade(self),
                    Arc::downgrade(&live),
                    Arc::clone(&self.changed),
                ));
                *slot = ConnectionSlot::Up {
                    live: Arc::clone(&live),
                    _watching: OfferWatch(watching.abort_handle()),
                };
                self.set_state(McpServerState::Ready);
                Ok((live, ConnectionAge::New))
            }
            Err(error) => {
                self.save_log(None);
                let rest = BACKOFF.saturating_mul(1 << failures.min(6)).min(MAX_BACKOFF);
                *slot = ConnectionSlot::Down {
                    until: Instant::now() + rest,
                    failures: failures + 1,
                    why: error.clone(),
                };
                self.set_state(McpServerState::Failed(error.clone()));
                Err(error)
            }
        }
    }

    async fn connect(&self) -> Result<LiveConnection, Error> {
        let handler = McpClientHandler {
            name: self.definition.name.clone(),
            root: self.env.root.clone(),
            sampling: self.definition.sampling,
            elicitation: self.definition.elicitation,
            model: self.env.model.clone(),
            calls: self.calls.clone(),
            changed: Arc::clone(&self.changed),
            log: self.log.clone(),
        };
        let limit = self.definition.timeout;
        let connecting = connect::connect(&self.definition, &self.env, handler);
        let live = match timeout(limit, connecting).await {
            Ok(live) => live?,
            Err(_) => {
                let hint = connect::network_hint(&self.definition, &self.env);
                let why = format!("no initialization within {} s{hint}", limit.as_secs());
                return Err(connect::unreachable(&self.definition, why));
            }
        };
        // hew caches offers itself.
        live.peer()
            .set_response_cache_config(ClientCacheConfig::disabled())
            .await;
        Ok(live)
    }

    fn backoff_error(&self, until: Instant, why: &Error) -> Error {
        match why {
            Error::Unreachable { server, why } => Error::Backoff {
                server: server.clone(),
                why: why.clone(),
                seconds: until.duration_since(Instant::now()).as_secs() + 1,
            },
            other => other.clone(),
        }
    }

    /// Clears the delay after a failure.
    pub(crate) async fn clear_backoff(&self) {
        let mut slot = self.slot.lock().await;
        if let ConnectionSlot::Down { .. } = *slot {
            *slot = ConnectionSlot::Idle;
        }
    }

    /// Calls a tool. A failed call is not retried: its effects are unknown.
    pub(crate) async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> Result<CallToolResult, Error> {
        let live = self.connection().await?;
        let call = self.calls.begin(context.clone());
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..MAX_ROUNDS {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
            match self.request(&live, request, Some(&call)).await? {
                ServerResult::CallToolResult(result) => {
                    self.save_log(Some(&live));
                    return Ok(result);
                }
                ServerResult::InputRequiredResult(required) => {
                    params.input_responses = Some(self.answers(&live, &required).await?);
                    params.request_state = required.request_state;
                }
                _ => return Err(self.refused("unexpected response type")),
            }
        }
        Err(self.refused("too many input requests"))
    }

    /// Reads a resource.
    pub(crate) async fn read(self: &Arc<Self>, uri: &str, context: &CallContext) -> Result<ReadResourceResult, Error> {
        let live = self.connection().await?;
        let call = self.calls.begin(context.clone());
        let mut params = ReadResourceRequestParams::new(uri);
        for _ in 0..MAX_ROUNDS {
            let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params.clone()));
            match self.request(&live, request, Some(&call)).await? {
                ServerResult::ReadResourceResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(required) => {
                    params.input_responses = Some(self.answers(&live, &required).await?);
                    params.request_state = required.request_state;
                }
                _ => return Err(self.refused("unexpected response type")),
            }
        }
        Err(self.refused("too many input requests"))
    }

    /// Renders a prompt.
    pub(crate) async fn prompt(self: &Arc<Self>, name: &str, arguments: JsonObject) -> Result<GetPromptResult, Error> {
        let live = self.connection().await?;
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        match self.request(&live, request, None).await? {
            ServerResult::GetPromptResult(result) => Ok(result),
            _ => Err(self.refused("unexpected response type")),
        }
    }

    async fn answers(
        &self,
        live: &LiveConnection,
        required: &InputRequiredResult,
    ) -> Result<rmcp::model::InputResponses, Error> {
        live.handler()
            .input_responses(required)
            .await
            .map_err(|error| self.refused(error.message))
    }

    /// Sends a request and waits for the response. Signs of activity extend the timeout.
    async fn request(
        self: &Arc<Self>,
        live: &Arc<LiveConnection>,
        request: ClientRequest,
        call: Option<&McpCallGuard>,
    ) -> Result<ServerResult, Error> {
        let limit = self.definition.timeout;
        let begun = Instant::now();
        let sent = live
            .peer()
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let handle = match timeout(limit, sent).await {
            Ok(handle) => handle.map_err(|error| self.service_error(error))?,
            Err(_) => return Err(self.timed_out(live)),
        };
        if let Some(call) = call {
            call.set_progress_token(handle.progress_token.clone());
        }
        let mut abandoned = CancelOnDrop {
            peer: live.peer().clone(),
            id: Some(handle.id.clone()),
        };
        let answer = handle.await_response();
        tokio::pin!(answer);
        loop {
            let last_activity = || call.map_or(begun, McpCallGuard::last_activity);
            tokio::select! {
                answer = &mut answer => {
                    abandoned.id = None;
                    return answer.map_err(|error| self.service_error(error));
                }
                () = sleep_until(last_activity() + limit) => {
                    if last_activity() + limit <= Instant::now() {
                        return Err(self.timed_out(live));
                    }
                }
            }
        }
    }

    /// Handles a timeout: if a ping fails as well, the connection is dropped and the next call reconnects.
    fn timed_out(self: &Arc<Self>, live: &Arc<LiveConnection>) -> Error {
        let (server, live) = (Arc::downgrade(self), Arc::downgrade(live));
        tokio::spawn(async move {
            let Some(peer) = live.upgrade().map(|live| live.peer().clone()) else {
                return;
            };
            let ping = ClientRequest::PingRequest(PingRequest::default());
            if timeout(PING_TIMEOUT, peer.send_request(ping))
                .await
                .is_ok_and(|answer| answer.is_ok())
            {
                return;
            }
            if let Some(server) = server.upgrade() {
                server.drop_connection(&live).await;
            }
        });
        Error::Timeout {
            server: self.definition.name.clone(),
            seconds: self.definition.timeout.as_secs(),
        }
    }

    async fn drop_connection(&self, which: &Weak<LiveConnection>) {
        let mut slot = self.slot.lock().await;
        let same = matches!(&*slot, ConnectionSlot::Up { live, .. } if Arc::as_ptr(live) == which.as_ptr());
        if same {
            if let ConnectionSlot::Up { live, .. } = &*slot {
                self.save_log(Some(live));
            }
            *slot = ConnectionSlot::Idle;
            self.set_state(McpServerState::Idle);
        }
    }

    fn service_error(&self, error: ServiceError) -> Error {
        match error {
            ServiceError::McpError(error) => match error.data {
                Some(data) if !data.is_null() => self.refused(format!("{} ({data})", error.message)),
                Some(_) | None => self.refused(error.message),
            },
            ServiceError::TransportSend(error) if auth::challenge(&error).is_some() => {
                // The next login requests the scopes that are missing now.
                let challenge = auth::challenge(&error).unwrap_or_default();
                let server = self.definition.name.clone();
                self.env.cache.save(CacheEntry::Challenge, &server, &challenge);
                Error::Login { server }
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => Error::Disconnected {
                server: self.definition.name.clone(),
            },
            other => self.refused(other.to_string()),
        }
    }

    fn refused(&self, why: impl Into<String>) -> Error {
        Error::Refused {
            server: self.definition.name.clone(),
            why: bounded((self.env.redact)(&why.into())),
        }
    }

    fn redacted(&self, error: Error) -> Error {
        match error {
            Error::Unreachable { server, why } => Error::Unreachable {
                server,
                why: (self.env.redact)(&why),
            },
            other => other,
        }
    }

    /// Queries the offer and announces changes.
    async fn refresh(&self, live: &LiveConnection) -> Result<Arc<ServerOffer>, Error> {
        let asked = timeout(self.definition.timeout, self.offer(live)).await;
        let fresh = Arc::new(match asked {
            Ok(offer) => offer?,
            Err(_) => {
                return Err(Error::Timeout {
                    server: self.definition.name.clone(),
                    seconds: self.definition.timeout.as_secs(),
                });
            }
        });
        // Before the offer is visible: who waits for it may change the setting.
        let announces_first = self.announces_first.load(Ordering::Relaxed);
        let before = self.lock_snapshot().offer.replace(Arc::clone(&fresh));
        if let Ok(text) = serde_json::to_string(&*fresh) {
            self.env.cache.save(CacheEntry::Offer, &self.definition.name, &text);
        }
        if before.as_ref().is_none_or(|before| !before.same_content(&fresh)) {
            (self.on_change)();
            if before.is_some() || announces_first {
                self.announce_changes(before.as_deref(), &fresh);
            }
        }
        self.save_log(Some(live));
        Ok(fresh)
    }

    async fn offer(&self, live: &LiveConnection) -> Result<ServerOffer, Error> {
        let peer = live.peer();
        let info = peer.peer_info();
        let able = info.as_ref().map(|info| info.capabilities.clone()).unwrap_or_default();
        let failed = |error: ServiceError| self.service_error(error);
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = match peer.list_tools(Some(page)).await {
                Ok(page) => page,
                Err(ServiceError::McpError(_)) if able.tools.is_none() => break,
                Err(error) => return Err(failed(error)),
            };
            tools.extend(page.tools.iter().map(ToolOffer::from));
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() >= offer::MAX_ENTRIES {
                break;
            }
        }
        tools.truncate(offer::MAX_ENTRIES);
        let mut prompts: Vec<PromptOffer> = Vec::new();
        let (mut resources, mut templates): (Vec<ResourceOffer>, Vec<ResourceOffer>) = (Vec::new(), Vec::new());
        // Some servers announce these capabilities without supporting them; their tools remain usable.
        if able.prompts.is_some()
            && let Ok(page) = peer.list_prompts(None).await
        {
            prompts = page.prompts.iter().take(offer::MAX_ENTRIES).map(Into::into).collect();
        }
        if able.resources.is_some() {
            if let Ok(page) = peer.list_resources(None).await {
                resources = page.resources.iter().take(offer::MAX_ENTRIES).map(Into::into).collect();
            }
            if let Ok(page) = peer.list_resource_templates(None).await {
                templates = page
                    .resource_templates
                    .iter()
                    .take(offer::MAX_ENTRIES)
                    .map(Into::into)
                    .collect();
            }
        }
        let title = info.as_ref().and_then(|info| info.server_info.as_ref());
        Ok(ServerOffer {
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

    /// Sets whether the model is notified of the first tools.
    pub(crate) fn set_announces_first(&self, announces: bool) {
        self.announces_first.store(announces, Ordering::Relaxed);
    }

    /// Notifies the model of changed tools.
    fn announce_changes(&self, before: Option<&ServerOffer>, now: &ServerOffer) {
        let names = |offer: &ServerOffer| -> BTreeSet<String> {
            let tools = offer.tools.iter().map(|tool| tool.name.clone());
            tools.filter(|name| self.definition.includes_tool(name)).collect()
        };
        let (old, new) = (before.map(names).unwrap_or_default(), names(now));
        let list = |names: Vec<&String>| -> String {
            let shown: Vec<&str> = names.iter().take(20).map(|name| name.as_str()).collect();
            match names.len().saturating_sub(20) {
                0 => shown.join(", "),
                more => format!("{} and {more} more", shown.join(", ")),
            }
        };
        let added: Vec<&String> = new.difference(&old).collect();
        let removed: Vec<&String> = old.difference(&new).collect();
        let text = match (added.is_empty(), removed.is_empty()) {
            (true, true) => return,
            (false, true) => format!("new tools, available through find_tools: {}", list(added)),
            (true, false) => format!("removed tools: {}", list(removed)),
            (false, false) => format!("new tools: {}; removed tools: {}", list(added), list(removed)),
        };
        self.notify(bounded(text));
    }

    /// Sends a notification about this server to the model.
    pub(crate) fn notify(&self, text: String) {
        self.env.notices.send(tool::ToolNotification {
            source: format!("MCP server {}", self.definition.name),
            text,
        });
    }

    /// Returns the usage instructions, once per session.
    pub(crate) fn instructions(&self, session: &Arc<str>) -> Option<String> {
        let text = self.lock_snapshot().offer.as_ref()?.instructions.clone()?;
        let mut instructed = self.instructed.lock().unwrap_or_else(PoisonError::into_inner);
        instructed.insert(Arc::clone(session)).then_some(text)
    }

    /// Saves the log.
    fn save_log(&self, live: Option<&LiveConnection>) {
        let stderr = live.map(LiveConnection::stderr).unwrap_or_default();
        let text = format!("{stderr}{}", self.log.text());
        if !text.is_empty() {
            let text = (self.env.redact)(&text);
            self.env.cache.save(CacheEntry::Log, &self.definition.name, &text);
        }
    }
}

/// Queries the offer again when the server reports a change.
async fn watch(server: Weak<ManagedServer>, live: Weak<LiveConnection>, changed: Arc<OfferChanges>) {
    loop {
        changed.requested().await;
        sleep(CHANGE_DEBOUNCE).await;
        let (Some(server), Some(live)) = (server.upgrade(), live.upgrade()) else {
            return;
        };
        let reported = changed.reported();
        // On an error the old offer is kept.
        drop(server.refresh(&live).await);
        changed.complete(reported);
        (server.on_change)();
    }
}

/// Cancels a request on drop, unless it was answered.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let error = CancelledNotificationParam::new(Some(id), Some("no longer needed".into()));
                // A server that does not accept this is unresponsive.
                drop(timeout(PING_TIMEOUT, peer.notify_cancelled(error)).await);
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
