//! The events of one open session for any number of clients: a bounded buffer that clients read at their own pace, and the state
//! that a client needs to join in the middle of a turn.

use super::backend::{OpenedWebSession, SessionServices, WebError, WebErrorKind};
use super::live::LiveState;
use super::types::{EditApproval, SessionSettings, SessionState};
use super::wire::event_json;
use bytes::Bytes;
use policy::{AccessLevel, ApprovalMode};
use serde_json::{Value, json};
use session::{Answer, Body, Command, Event, ItemId, QuestionId, SessionId};
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// The maximum size of the buffer. A client that falls behind further continues from the log.
const BUFFER_BYTES: usize = 1 << 20;
/// The maximum number of buffered events.
const BUFFER_EVENTS: usize = 4096;
/// The number of events that a client receives in one batch.
const READ_EVENTS: usize = 256;
/// Events that wait for a front end of this process; one that falls behind further is detached.
const FRONT_END_EVENTS: usize = 8192;
/// How long a command may wait for the session.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// The position of a client in the events of a session: the buffer, the last event in it, and the last finished item, from which
/// the log continues if the buffer was discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamPosition {
    pub(super) buffer: String,
    pub(super) sequence: u64,
    pub(super) item: Option<ItemId>,
}

impl StreamPosition {
    /// A position in the log.
    pub(super) fn in_log(item: Option<ItemId>) -> Self {
        StreamPosition {
            buffer: "log".into(),
            sequence: 0,
            item,
        }
    }
}

impl fmt::Display for StreamPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.", self.buffer, self.sequence)?;
        match self.item {
            Some(item) => item.fmt(f),
            None => f.write_str("-"),
        }
    }
}

impl FromStr for StreamPosition {
    type Err = WebError;

    fn from_str(text: &str) -> Result<Self, WebError> {
        let invalid = || WebError::invalid(format!("`{text}` is no event id"));
        let mut parts = text.splitn(3, '.');
        let (Some(buffer), Some(sequence), Some(item)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(invalid());
        };
        Ok(StreamPosition {
            buffer: buffer.to_owned(),
            sequence: sequence.parse().map_err(|_| invalid())?,
            item: match item {
                "-" => None,
                item => Some(item.parse().map_err(|_| invalid())?),
            },
        })
    }
}

/// A frame of the event stream.
pub(super) fn frame(position: &StreamPosition, json: &str) -> Bytes {
    Bytes::from(format!("id: {position}\ndata: {json}\n\n"))
}

/// The result of reading the buffer.
pub(super) enum HubRead {
    /// The next events, and the position after them.
    Frames(Vec<Bytes>, StreamPosition),
    /// Nothing new.
    UpToDate,
    /// The next event is no longer in the buffer.
    Lagged,
}

/// The state of a session at one moment.
pub(super) struct HubSnapshot {
    pub(super) position: StreamPosition,
    pub(super) live: Value,
}

/// The events of one open session.
pub(super) struct SessionHub {
    pub(super) id: SessionId,
    pub(super) services: Arc<dyn SessionServices>,
    buffer_id: String,
    state: Mutex<HubState>,
    latest: watch::Sender<u64>,
    commands: mpsc::Sender<Command>,
    max_level: AccessLevel,
    clients: AtomicUsize,
    changed: Arc<watch::Sender<u64>>,
}

struct HubState {
    buffer: VecDeque<(u64, Bytes, Option<ItemId>)>,
    bytes: usize,
    sequence: u64,
    live: LiveState,
    head: Option<ItemId>,
    used: Instant,
    /// Front ends of this process that joined later.
    front_ends: Vec<mpsc::Sender<Event>>,
    /// Whether a client has come: before that, events are only followed.
    is_buffered: bool,
    is_closed: bool,
}

/// A client of a hub; the hub counts them.
pub(super) struct HubClient(Arc<SessionHub>);

impl Drop for HubClient {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
        self.0.state().used = Instant::now();
    }
}

impl SessionHub {
    /// Creates the hub of an opened session, and returns the events to pump into it. `changed` is notified when the state of the
    /// session changes.
    pub(super) fn new(
        opened: OpenedWebSession,
        changed: Arc<watch::Sender<u64>>,
    ) -> (Arc<SessionHub>, mpsc::Receiver<Event>) {
        let OpenedWebSession {
            id,
            title,
            commands,
            events,
            head,
            settings,
            max_level,
            has_unfinished_turn,
            notices,
            services,
        } = opened;
        let hub = SessionHub {
            id,
            services,
            buffer_id: super::random_hex(8),
            state: Mutex::new(HubState {
                buffer: VecDeque::new(),
                bytes: 0,
                sequence: 0,
                live: LiveState::new(settings, title, has_unfinished_turn, notices),
                head,
                used: Instant::now(),
                front_ends: Vec::new(),
                is_buffered: false,
                is_closed: false,
            }),
            latest: watch::Sender::new(0),
            commands,
            max_level,
            clients: AtomicUsize::new(0),
            changed,
        };
        (Arc::new(hub), events)
    }

    /// Forwards the events of the session to the hub, and to the front end of this process, if any. Ends with the session.
    pub(super) async fn pump(
        self: Arc<Self>,
        mut events: mpsc::Receiver<Event>,
        front_end: Option<mpsc::Sender<Event>>,
    ) {
        while let Some(event) = events.recv().await {
            self.push_event(&event);
            if let Some(front_end) = &front_end {
                // A front end that has ended needs no events.
                front_end.send(event).await.ok();
            }
        }
        {
            let mut state = self.state();
            state.is_closed = true;
            state.front_ends.clear();
        }
        self.latest.send_modify(|latest| *latest += 1);
        self.notify();
    }

    fn push_event(&self, event: &Event) {
        let mut state = self.state();
        let before = state.live.state();
        let extra = state.live.apply(event);
        match event {
            Event::ItemFinished { item } => state.head = Some(item.id),
            Event::Rewound { head } => state.head = Some(*head),
            _ => {}
        }
        state
            .front_ends
            .retain(|front_end| front_end.try_send(event.clone()).is_ok());
        if state.is_buffered {
            self.push(&mut state, &event_json(event));
        }
        for json in extra {
            self.push(&mut state, &json.to_string());
        }
        let is_changed = before != state.live.state() || matches!(event, Event::TitleChanged { .. });
        drop(state);
        if is_changed {
            self.notify();
        }
    }

    fn push(&self, state: &mut HubState, json: &str) {
        if !state.is_buffered {
            return;
        }
        state.sequence += 1;
        let position = StreamPosition {
            buffer: self.buffer_id.clone(),
            sequence: state.sequence,
            item: state.head,
        };
        let frame = frame(&position, json);
        state.bytes += frame.len();
        let (sequence, head) = (state.sequence, state.head);
        state.buffer.push_back((sequence, frame, head));
        while state.bytes > BUFFER_BYTES || state.buffer.len() > BUFFER_EVENTS {
            match state.buffer.pop_front() {
                Some((_, old, _)) => state.bytes -= old.len(),
                None => break,
            }
        }
        self.latest.send_replace(sequence);
    }

    /// Reads the events after a position of this buffer.
    pub(super) fn read_after(&self, sequence: u64) -> HubRead {
        let state = self.state();
        if sequence == state.sequence {
            return HubRead::UpToDate;
        }
        let first = state.buffer.front().map_or(state.sequence + 1, |(first, ..)| *first);
        // A position after the newest event belongs to no buffer.
        if sequence + 1 < first || sequence > state.sequence {
            return HubRead::Lagged;
        }
        let skip = usize::try_from(sequence + 1 - first).unwrap_or(usize::MAX);
        let next: Vec<_> = state.buffer.iter().skip(skip).take(READ_EVENTS).collect();
        let Some((last, _, item)) = next.last() else {
            return HubRead::UpToDate;
        };
        let position = StreamPosition {
            buffer: self.buffer_id.clone(),
            sequence: *last,
            item: *item,
        };
        HubRead::Frames(next.into_iter().map(|(_, frame, _)| frame.clone()).collect(), position)
    }

    /// The state at this moment.
    pub(super) fn snapshot(&self) -> HubSnapshot {
        let mut state = self.state();
        state.is_buffered = true;
        HubSnapshot {
            position: StreamPosition {
                buffer: self.buffer_id.clone(),
                sequence: state.sequence,
                item: state.head,
            },
            live: state.live.to_json(),
        }
    }

    /// Adds a front end of this process. The log has everything up to the returned item; the events begin with the unfinished work
    /// after it. They end if the front end does not keep up.
    pub(super) fn attach(&self) -> (Option<ItemId>, mpsc::Receiver<Event>) {
        let (sender, events) = mpsc::channel(FRONT_END_EVENTS);
        let mut state = self.state();
        let started = (state.live.state() != SessionState::Idle).then_some(Event::TurnStarted);
        for event in started.into_iter().chain(state.live.unfinished_events()) {
            // A front end that cannot take these is detached by the next event.
            sender.try_send(event).ok();
        }
        state.front_ends.push(sender);
        (state.head, events)
    }

    pub(super) fn buffer_id(&self) -> &str {
        &self.buffer_id
    }

    /// Notifies about new events.
    pub(super) fn subscribe(self: &Arc<Self>) -> (HubClient, watch::Receiver<u64>) {
        self.clients.fetch_add(1, Ordering::Relaxed);
        (HubClient(Arc::clone(self)), self.latest.subscribe())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    /// How long nothing used the session; `None` while it works or has clients.
    pub(super) fn idle_time(&self) -> Option<Duration> {
        let state = self.state();
        let is_used = self.clients.load(Ordering::Relaxed) > 0 || state.live.state() != SessionState::Idle;
        (!is_used).then(|| state.used.elapsed())
    }

    pub(super) fn state_name(&self) -> SessionState {
        self.state().live.state()
    }

    pub(super) fn title(&self) -> Option<String> {
        self.state().live.title().map(str::to_owned)
    }

    /// Follows a title that was set outside the session.
    pub(super) fn set_title(&self, title: String) {
        self.push_event(&Event::TitleChanged { title });
    }

    /// The highest permission level that clients may select.
    pub(super) fn max_level(&self) -> AccessLevel {
        self.max_level
    }

    pub(super) fn settings(&self) -> SessionSettings {
        self.state().live.settings().clone()
    }

    /// Sends a command to the session.
    pub(super) async fn send(&self, command: Command) -> Result<(), WebError> {
        self.observe(&command);
        match tokio::time::timeout(COMMAND_TIMEOUT, self.commands.send(command)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(WebError::new(WebErrorKind::Busy, "the session is closing")),
            Err(_) => Err(WebError::new(WebErrorKind::Failed, "the session does not respond")),
        }
    }

    /// Reports what a command changes without an event of the session.
    pub(super) fn observe(&self, command: &Command) {
        let mut state = self.state();
        state.used = Instant::now();
        for json in state.live.observe(command) {
            self.push(&mut state, &json.to_string());
        }
    }

    /// Sends an answer to a pending question, also of a subtask. Each question is answered once.
    pub(super) async fn answer(&self, question: QuestionId, answer: Answer) -> Result<(), WebError> {
        let asked = self.state().live.take_question(question);
        let Some(subtask) = asked else {
            let mut error = WebError::new(
                WebErrorKind::Busy,
                "this question is not open: it was answered, or the turn ended",
            );
            error.hint = Some("load the session again".into());
            return Err(error);
        };
        let answer = Command::Answer { question, answer };
        self.send(match subtask {
            None => answer,
            Some(session) => Command::Subtask {
                session,
                command: Box::new(answer),
            },
        })
        .await
    }

    /// Changes the model; the caller has checked that it can be used.
    pub(super) async fn set_model(&self, name: String, window: u64) -> Result<(), WebError> {
        self.send(Command::SetModel { name: name.clone() }).await?;
        self.change_settings(|settings| {
            settings.model = name;
            settings.context_window = window;
        });
        Ok(())
    }

    /// Changes the permission level, at most to the configured one.
    pub(super) async fn set_level(&self, level: AccessLevel) -> Result<(), WebError> {
        if level_rank(level) > level_rank(self.max_level) {
            return Err(WebError {
                message: "the permission level cannot be raised above the configured one from here".into(),
                hint: Some("change `permission` in the configuration, or start the server with --permission".into()),
                kind: WebErrorKind::Forbidden,
            });
        }
        self.send(Command::SetLevel { level }).await?;
        self.change_settings(|settings| settings.permission = level_name(level).into());
        Ok(())
    }

    /// Changes the reasoning effort.
    pub(super) async fn set_effort(&self, name: &str) -> Result<(), WebError> {
        let effort = match name {
            "default" => None,
            "none" => Some(model::Effort::None),
            "minimal" => Some(model::Effort::Minimal),
            "low" => Some(model::Effort::Low),
            "medium" => Some(model::Effort::Medium),
            "high" => Some(model::Effort::High),
            "max" => Some(model::Effort::Max),
            _ => return Err(WebError::invalid(format!("there is no effort `{name}`"))),
        };
        self.send(Command::SetEffort { effort }).await?;
        let shown = if effort.is_none() { "" } else { name };
        self.change_settings(|settings| settings.effort = shown.into());
        Ok(())
    }

    /// Changes whether the user approves changes.
    pub(super) async fn set_edit_approval(&self, approval: EditApproval) -> Result<(), WebError> {
        let mode = match approval {
            EditApproval::Ask => ApprovalMode::Ask,
            EditApproval::Allow => ApprovalMode::Allow,
        };
        self.send(Command::SetEditApproval { mode }).await?;
        self.change_settings(|settings| settings.edit_approval = approval);
        Ok(())
    }

    fn change_settings(&self, change: impl FnOnce(&mut SessionSettings)) {
        let mut state = self.state();
        let json = state.live.change_settings(change);
        self.push(&mut state, &json.to_string());
    }

    /// Appends an item that records an action of the user.
    pub(super) async fn record(&self, body: Body) -> Result<(), WebError> {
        self.send(Command::Record { body: Box::new(body) }).await
    }

    /// Notifies clients that data outside the events changed, such as the unreviewed changes.
    pub(super) fn announce(&self, what: &str) {
        let mut state = self.state();
        self.push(&mut state, &json!({"type": "changed", "what": what}).to_string());
    }

    /// Ends the session: a running turn is interrupted.
    pub(super) async fn close(&self) {
        if self.state_name() != SessionState::Idle {
            self.send(Command::Interrupt).await.ok();
        }
        self.send(Command::Close).await.ok();
        let mut latest = self.latest.subscribe();
        while !self.is_closed() {
            if latest.changed().await.is_err() {
                break;
            }
        }
        self.services.close().await;
    }

    fn notify(&self) {
        self.changed.send_modify(|version| *version += 1);
    }

    fn state(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn level_rank(level: AccessLevel) -> u8 {
    match level {
        AccessLevel::ReadOnly => 0,
        AccessLevel::Workspace => 1,
        AccessLevel::Full => 2,
    }
}

pub(super) fn level_name(level: AccessLevel) -> &'static str {
    match level {
        AccessLevel::ReadOnly => "read-only",
        AccessLevel::Workspace => "workspace",
        AccessLevel::Full => "full",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_id_survives_formatting_and_parsing() {
        for item in [None, Some(ItemId::new())] {
            let position = StreamPosition {
                buffer: "0a1b".into(),
                sequence: 17,
                item,
            };
            assert_eq!(position.to_string().parse(), Ok(position));
        }
        for text in ["", "a", "a.1", "a.x.-", "a.1.b"] {
            assert!(text.parse::<StreamPosition>().is_err(), "{text}");
        }
    }
}
