//! The event stream of a session: from the position of the client, through the buffer of the hub or the log, to the newest event.
//!
//! A client that continues from a position receives every later item exactly once, also from another process: the id of an event
//! names the last finished item, and the log has all items after it. What is not an item is sent as one `live` event, which
//! replaces what the client knew about unfinished work.

use super::backend::WebError;
use super::hub::{HubClient, HubRead, SessionHub, StreamPosition, frame};
use super::registry::HubRegistry;
use super::wire::item_event_json;
use bytes::Bytes;
use futures::Stream;
use serde_json::json;
use session::SessionId;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The interval of comments that keep proxies from closing a silent stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The stream of events after a position; of all items if there is none.
pub(super) fn session_events(
    registry: Arc<HubRegistry>,
    session: SessionId,
    position: Option<StreamPosition>,
    with_states: bool,
    permit: impl Send + 'static,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let changes = registry.changes();
    let states = with_states.then(|| {
        let mut states = registry.changes();
        states.mark_changed();
        states
    });
    let reader = StreamReader {
        registry,
        session,
        position,
        is_current: false,
        pending: VecDeque::from([Bytes::from_static(b"retry: 1000\n\n")]),
        hub: None,
        changes,
        states,
        _permit: permit,
    };
    futures::stream::unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((Ok(frame), reader))
    })
}

struct StreamReader<P> {
    registry: Arc<HubRegistry>,
    session: SessionId,
    position: Option<StreamPosition>,
    /// Whether the position continues in the hub, or in the log if there is no hub.
    is_current: bool,
    pending: VecDeque<Bytes>,
    hub: Option<(Arc<SessionHub>, HubClient, watch::Receiver<u64>)>,
    changes: watch::Receiver<u64>,
    /// Notifies about the states of all sessions, if the client wants them.
    states: Option<watch::Receiver<u64>>,
    _permit: P,
}

impl<P> StreamReader<P> {
    /// The next frame; `None` if another process has opened the session, so that the client connects to it.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.pending.pop_front() {
                return Some(frame);
            }
            if let Some(states) = &mut self.states
                && self.position.is_some()
                && states.has_changed().unwrap_or(false)
            {
                states.mark_unchanged();
                return Some(states_frame(&self.registry));
            }
            self.choose_hub();
            if !self.is_current {
                if let Err(error) = self.catch_up().await {
                    tracing::debug!(%error, "an event stream ended");
                    return None;
                }
                continue;
            }
            let Some((hub, _, latest)) = &mut self.hub else {
                match tokio::time::timeout(KEEP_ALIVE, self.changes.changed()).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(_)) => return None,
                    Err(_) if self.registry.backend.holder(self.session).is_some() => return None,
                    Err(_) => return Some(keep_alive()),
                }
            };
            latest.mark_unchanged();
            let wait = self.states.as_mut().unwrap_or(&mut self.changes);
            match hub.read_after(self.position.as_ref().map_or(0, |position| position.sequence)) {
                HubRead::Frames(frames, position) => {
                    self.pending.extend(frames);
                    self.position = Some(position);
                }
                HubRead::Lagged => {
                    let position = self.position.clone().unwrap_or_else(|| StreamPosition::in_log(None));
                    self.pending
                        .push_back(frame(&position, &json!({"type": "lagged"}).to_string()));
                    self.is_current = false;
                }
                HubRead::UpToDate if hub.is_closed() => {
                    self.hub = None;
                    self.is_current = false;
                    self.registry.release(self.session);
                }
                HubRead::UpToDate => {
                    let news = async {
                        tokio::select! {
                            news = latest.changed() => news,
                            news = wait.changed() => {
                                wait.mark_changed();
                                news
                            }
                        }
                    };
                    match tokio::time::timeout(KEEP_ALIVE, news).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) => return None,
                        Err(_) => return Some(keep_alive()),
                    }
                }
            }
        }
    }

    /// Follows the session to the hub that it has now.
    fn choose_hub(&mut self) {
        self.changes.mark_unchanged();
        let now = self.registry.hub(self.session);
        let is_same = match (&self.hub, &now) {
            (Some((hub, ..)), Some(now)) => Arc::ptr_eq(hub, now),
            // The rest of the events of a hub that ended is read first.
            (Some(_), None) => true,
            (None, None) => true,
            (None, Some(_)) => false,
        };
        if is_same {
            return;
        }
        self.hub = now.map(|hub| {
            let (client, latest) = hub.subscribe();
            let position = self.position.as_ref();
            self.is_current = position.is_some_and(|position| {
                position.buffer == hub.buffer_id() && !matches!(hub.read_after(position.sequence), HubRead::Lagged)
            });
            (hub, client, latest)
        });
    }

    /// Sends the items after the position from the log, then the state of unfinished work.
    async fn catch_up(&mut self) -> Result<(), WebError> {
        if self.registry.hub(self.session).is_none() {
            self.hub = None;
        }
        let snapshot = self.registry.snapshot(self.session).await?;
        // The snapshot may be of a hub that was opened meanwhile; the next round follows it.
        let known = self.position.as_ref().and_then(|position| position.item);
        let skip = match known {
            None => 0,
            Some(known) => match snapshot.items.iter().position(|item| item.id == known) {
                Some(at) => at + 1,
                None => {
                    let start = StreamPosition::in_log(None);
                    self.pending
                        .push_back(frame(&start, &json!({"type": "reset"}).to_string()));
                    0
                }
            },
        };
        for item in snapshot.items.iter().skip(skip) {
            let position = StreamPosition::in_log(Some(item.id));
            self.pending.push_back(frame(&position, &item_event_json(item)));
        }
        self.pending
            .push_back(frame(&snapshot.position, &snapshot.live.to_string()));
        let in_hub = self.hub.as_ref().map(|(hub, ..)| hub.buffer_id().to_owned());
        self.is_current = in_hub.as_deref().unwrap_or("log") == snapshot.position.buffer;
        self.position = Some(snapshot.position);
        Ok(())
    }
}

/// The states of all open sessions, whenever they change.
pub(super) fn session_states(
    registry: Arc<HubRegistry>,
    permit: impl Send + 'static,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let changes = registry.changes();
    let start = (registry, changes, true, permit);
    futures::stream::unfold(start, |(registry, mut changes, is_first, permit)| async move {
        if !is_first {
            match tokio::time::timeout(KEEP_ALIVE, changes.changed()).await {
                Ok(Ok(())) => tokio::time::sleep(Duration::from_millis(100)).await,
                Ok(Err(_)) => return None,
                Err(_) => return Some((Ok(keep_alive()), (registry, changes, false, permit))),
            }
        }
        changes.mark_unchanged();
        let frame = states_frame(&registry);
        Some((Ok(frame), (registry, changes, false, permit)))
    })
}

/// The states of all open sessions. It has no id: a client that reconnects receives the newest ones.
fn states_frame(registry: &HubRegistry) -> Bytes {
    let states = registry.states().into_iter();
    let states = states.map(|(id, state, title)| json!({"id": id.to_string(), "state": state, "title": title}));
    let states = json!({"type": "sessions", "sessions": states.collect::<Vec<_>>()});
    Bytes::from(format!("data: {states}\n\n"))
}

fn keep_alive() -> Bytes {
    Bytes::from_static(b": keep-alive\n\n")
}
