//! The open sessions of this server. A session is opened by the first request that needs it, and closed when nothing used it for
//! a while; its log is readable in between.

use super::backend::{OpenedWebSession, WebError, WebErrorKind, WebSessions, WebTarget};
use super::hub::{SessionHub, StreamPosition};
use super::live::LiveState;
use super::types::SessionState;
use serde_json::Value;
use session::{Event, Item, LoadedSession, SessionId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// A session is closed after this time without clients and without a turn, so that other processes can open it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// How often idle sessions are looked for.
const IDLE_CHECK: Duration = Duration::from_secs(30);
/// How often a snapshot is retried if the session is rewound meanwhile.
const SNAPSHOT_ATTEMPTS: usize = 8;

/// The open sessions.
pub(super) struct HubRegistry {
    pub(super) backend: Arc<dyn WebSessions>,
    hubs: Mutex<HashMap<SessionId, OpenHub>>,
    opening: Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>,
    changed: Arc<watch::Sender<u64>>,
}

struct OpenHub {
    hub: Arc<SessionHub>,
    /// Serves other processes.
    published: Option<JoinHandle<()>>,
}

impl Drop for OpenHub {
    fn drop(&mut self) {
        if let Some(published) = &self.published {
            published.abort();
        }
    }
}

/// A session at one moment.
pub(super) struct SessionSnapshot {
    pub(super) loaded: LoadedSession,
    /// The items up to the position.
    pub(super) items: Vec<Arc<Item>>,
    pub(super) position: StreamPosition,
    pub(super) live: Value,
}

impl HubRegistry {
    pub(super) fn new(backend: Arc<dyn WebSessions>) -> Arc<Self> {
        Arc::new(HubRegistry {
            backend,
            hubs: Mutex::default(),
            opening: Mutex::default(),
            changed: Arc::new(watch::Sender::new(0)),
        })
    }

    /// Notifies about opened and closed sessions and their states.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The hub of an open session.
    pub(super) fn hub(&self, session: SessionId) -> Option<Arc<SessionHub>> {
        let hubs = self.hubs();
        let found = hubs.get(&session).map(|open| Arc::clone(&open.hub));
        found.filter(|hub| !hub.is_closed())
    }

    /// The states of all open sessions.
    pub(super) fn states(&self) -> Vec<(SessionId, SessionState, Option<String>)> {
        let hubs = self.hubs();
        let open = hubs.values().map(|open| &open.hub).filter(|hub| !hub.is_closed());
        open.map(|hub| (hub.id, hub.state_name(), hub.title())).collect()
    }

    /// Opens a stored session, or returns it if it is open.
    pub(super) async fn open(self: &Arc<Self>, session: SessionId) -> Result<Arc<SessionHub>, WebError> {
        if let Some(hub) = self.hub(session) {
            return Ok(hub);
        }
        let turnstile = {
            let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(opening.entry(session).or_default())
        };
        let _entered = turnstile.lock().await;
        if let Some(hub) = self.hub(session) {
            return Ok(hub);
        }
        // A hub that ended still has the lease.
        self.close(session).await;
        let opened = self.backend.open(WebTarget::Stored(session)).await;
        self.opening
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&session);
        Ok(self.insert(opened?, None))
    }

    /// Creates a session.
    pub(super) async fn create(self: &Arc<Self>, root: Option<String>) -> Result<Arc<SessionHub>, WebError> {
        let target = WebTarget::New {
            root: root.map(Into::into),
        };
        let opened = self.backend.open(target).await?;
        Ok(self.insert(opened, None))
    }

    /// Adds an opened session, and publishes it to other processes.
    pub(super) fn insert(
        self: &Arc<Self>,
        opened: OpenedWebSession,
        front_end: Option<mpsc::Sender<Event>>,
    ) -> Arc<SessionHub> {
        let (hub, events) = SessionHub::new(opened, Arc::clone(&self.changed));
        let pump = tokio::spawn(Arc::clone(&hub).pump(events, front_end));
        drop(pump);
        let published = self.backend.publish(hub.id).map(|published| {
            let registry = Arc::clone(self);
            tokio::spawn(super::local::serve(published, registry))
        });
        let open = OpenHub {
            hub: Arc::clone(&hub),
            published,
        };
        self.hubs().insert(hub.id, open);
        self.changed.send_modify(|version| *version += 1);
        hub
    }

    /// Closes a session: a running turn is interrupted, everything is saved.
    pub(super) async fn close(&self, session: SessionId) {
        let open = self.hubs().remove(&session);
        if let Some(open) = open {
            open.hub.close().await;
            self.changed.send_modify(|version| *version += 1);
        }
    }

    /// Removes a session that its front end closes, and its socket.
    pub(super) fn forget(&self, session: SessionId) {
        drop(self.hubs().remove(&session));
        self.changed.send_modify(|version| *version += 1);
    }

    /// Releases a session that ended, without waiting for it.
    pub(super) fn release(self: &Arc<Self>, session: SessionId) {
        let registry = Arc::clone(self);
        drop(tokio::spawn(async move { registry.close(session).await }));
    }

    /// Closes all sessions.
    pub(super) async fn close_all(&self) {
        let all: Vec<SessionId> = self.hubs().keys().copied().collect();
        futures::future::join_all(all.into_iter().map(|session| self.close(session))).await;
    }

    /// Closes sessions that nothing uses. Runs until it is dropped.
    pub(super) async fn close_idle_sessions(&self) {
        loop {
            tokio::time::sleep(IDLE_CHECK).await;
            let hubs: Vec<Arc<SessionHub>> = self.hubs().values().map(|open| Arc::clone(&open.hub)).collect();
            for hub in hubs {
                let is_over = hub.is_closed();
                let is_idle = hub.idle_time().is_some_and(|idle| idle > IDLE_TIMEOUT);
                let has_jobs = match hub.services.jobs().await {
                    Ok(jobs) => jobs.iter().any(|job| job.running),
                    Err(_) => false,
                };
                if is_over || (is_idle && !has_jobs) {
                    self.close(hub.id).await;
                }
            }
        }
    }

    /// The items and the state of a session at one moment.
    pub(super) async fn snapshot(&self, session: SessionId) -> Result<SessionSnapshot, WebError> {
        for _ in 0..SNAPSHOT_ATTEMPTS {
            // An item is durable before the hub has it, so the log has everything up to the position of the hub.
            let hub = self.hub(session).map(|hub| hub.snapshot());
            let loaded = self.backend.load(session).await?;
            let Some(hub) = hub else {
                let position = StreamPosition::in_log(loaded.items.last().map(|item| item.id));
                let is_unfinished = !is_finished(&loaded.items) || !loaded.queued.is_empty();
                let live = LiveState::stored(loaded.meta.title.clone(), loaded.meta.totals, is_unfinished);
                let items = loaded.items.clone();
                return Ok(SessionSnapshot {
                    loaded,
                    items,
                    position,
                    live,
                });
            };
            let count = match hub.position.item {
                None => Some(0),
                Some(head) => loaded.items.iter().position(|item| item.id == head).map(|at| at + 1),
            };
            if let Some(count) = count {
                let items = loaded.items.iter().take(count).cloned().collect();
                return Ok(SessionSnapshot {
                    loaded,
                    items,
                    position: hub.position,
                    live: hub.live,
                });
            }
        }
        Err(WebError::new(WebErrorKind::Failed, "the session changes too quickly"))
    }

    fn hubs(&self) -> MutexGuard<'_, HashMap<SessionId, OpenHub>> {
        self.hubs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the last turn of a stored session is finished.
fn is_finished(items: &[Arc<Item>]) -> bool {
    let last = items.iter().rev().find(|item| item.kind().is_exchange());
    last.is_none_or(|item| item.is_final_reply())
}
