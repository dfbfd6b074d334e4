//! What a client needs to join a session in the middle of a turn: the unfinished items, open questions, queued prompts and
//! settings.

use super::types::{SessionSettings, SessionState};
use super::wire::{event_value, totals_value};
use serde_json::{Value, json};
use session::{
    Body, Command, Delivery, Event, ItemDelta, ItemId, ItemStart, NoticeLevel, QuestionId, SessionId, Totals, TurnEnd,
};
use std::collections::VecDeque;

/// The maximum number of notices since the last turn started.
const MAX_NOTICES: usize = 20;
/// The maximum output of a running tool.
const MAX_OUTPUT: usize = 64 << 10;

/// The state of a session besides its items.
pub(super) struct LiveState {
    settings: SessionSettings,
    title: Option<String>,
    is_unfinished: bool,
    is_working: bool,
    open_items: Vec<OpenItem>,
    questions: Vec<OpenQuestion>,
    /// Questions with an answer that the session has not confirmed yet.
    answered: Vec<QuestionId>,
    queued: Vec<(String, Delivery)>,
    held: Vec<String>,
    notices: VecDeque<(NoticeLevel, String)>,
    totals: Totals,
}

/// An item that is not finished.
struct OpenItem {
    id: ItemId,
    kind: ItemStart,
    deltas: Vec<ItemDelta>,
}

/// A question that is not answered.
struct OpenQuestion {
    id: QuestionId,
    /// The subtask that asks.
    subtask: Option<SessionId>,
    event: Event,
}

impl LiveState {
    pub(super) fn new(
        settings: SessionSettings,
        title: Option<String>,
        is_unfinished: bool,
        notices: Vec<String>,
    ) -> Self {
        LiveState {
            settings,
            title,
            is_unfinished,
            is_working: false,
            open_items: Vec::new(),
            questions: Vec::new(),
            answered: Vec::new(),
            queued: Vec::new(),
            held: Vec::new(),
            notices: notices.into_iter().map(|text| (NoticeLevel::Warning, text)).collect(),
            totals: Totals::default(),
        }
    }

    /// The state of a session that is not open.
    pub(super) fn stored(title: Option<String>, totals: Totals, is_unfinished: bool) -> Value {
        json!({
            "type": "live", "state": SessionState::Stored, "unfinished": is_unfinished, "title": title,
            "events": [], "queued": [], "totals": totals_value(&totals), "settings": Value::Null,
        })
    }

    pub(super) fn state(&self) -> SessionState {
        match (self.is_working, self.questions.is_empty()) {
            (_, false) => SessionState::Waiting,
            (true, true) => SessionState::Working,
            (false, true) => SessionState::Idle,
        }
    }

    pub(super) fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    pub(super) fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// Changes settings; returns the event for clients.
    pub(super) fn change_settings(&mut self, change: impl FnOnce(&mut SessionSettings)) -> Value {
        change(&mut self.settings);
        json!({"type": "settings", "settings": self.settings})
    }

    /// The whole state as one event, which replaces what a client knew about unfinished work.
    pub(super) fn to_json(&self) -> Value {
        let mut events = Vec::new();
        for (level, text) in &self.notices {
            events.push(json!({"type": "notice", "level": level.name(), "text": text}));
        }
        events.extend(self.unfinished_events().iter().map(event_value));
        json!({
            "type": "live", "state": self.state(), "unfinished": self.is_unfinished, "title": self.title,
            "events": events, "queued": self.queued_json(), "totals": totals_value(&self.totals),
            "settings": self.settings,
        })
    }

    /// The unfinished items and the open questions as events.
    pub(super) fn unfinished_events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for item in &self.open_items {
            let (id, kind) = (item.id, item.kind.clone());
            events.push(Event::ItemStarted { id, kind });
            events.extend(item.deltas.iter().cloned().map(|delta| Event::ItemDelta { id, delta }));
        }
        events.extend(self.questions.iter().map(|question| question.event.clone()));
        events
    }

    fn queued_json(&self) -> Vec<Value> {
        let sent = self.queued.iter().map(|(text, delivery)| {
            let delivery = match delivery {
                Delivery::Steer => "steer",
                Delivery::Queue => "queue",
                Delivery::Interrupt => "interrupt",
            };
            json!({"text": text, "delivery": delivery})
        });
        let held = self.held.iter().map(|text| json!({"text": text, "delivery": "queue"}));
        sent.chain(held).collect()
    }

    fn queue_event(&self) -> Value {
        json!({"type": "queue", "queued": self.queued_json()})
    }

    /// Takes an open question out; returns the subtask that asks. `None` if it is not open.
    pub(super) fn take_question(&mut self, id: QuestionId) -> Option<Option<SessionId>> {
        let found = self.questions.iter().find(|question| question.id == id)?;
        if self.answered.contains(&id) {
            return None;
        }
        self.answered.push(id);
        Some(found.subtask)
    }

    /// Follows a command; returns events for clients.
    pub(super) fn observe(&mut self, command: &Command) -> Vec<Value> {
        match command {
            Command::Prompt { message, delivery } => {
                self.is_unfinished = false;
                if !self.is_working {
                    return Vec::new();
                }
                self.queued.push((session::user_text(message), *delivery));
                vec![self.queue_event()]
            }
            Command::HoldPrompts { messages } => {
                self.held = messages.iter().map(session::user_text).collect();
                vec![self.queue_event()]
            }
            Command::Continue => {
                self.is_unfinished = false;
                Vec::new()
            }
            Command::Interrupt
            | Command::Answer { .. }
            | Command::SetModel { .. }
            | Command::SetEffort { .. }
            | Command::SetMode { .. }
            | Command::SetLevel { .. }
            | Command::SetEditApproval { .. }
            | Command::Revoke { .. }
            | Command::Rewind { .. }
            | Command::Compact { .. }
            | Command::Record { .. }
            | Command::Editor { .. }
            | Command::Subtask { .. }
            | Command::Finish
            | Command::Close => Vec::new(),
        }
    }

    /// Follows an event; returns further events for clients.
    pub(super) fn apply(&mut self, event: &Event) -> Vec<Value> {
        match event {
            Event::TurnStarted => {
                self.is_working = true;
                self.is_unfinished = false;
                self.notices.clear();
            }
            Event::ItemStarted { id, kind } => self.open_items.push(OpenItem {
                id: *id,
                kind: kind.clone(),
                deltas: Vec::new(),
            }),
            Event::ItemDelta { id, delta } => {
                if let Some(item) = self.open_items.iter_mut().find(|item| item.id == *id) {
                    item.add(delta);
                }
            }
            Event::ItemFinished { item } => {
                self.open_items.retain(|open| open.id != item.id);
                match &item.body {
                    Body::Prompt { message } => {
                        let text = session::user_text(message);
                        if let Some(at) = self.queued.iter().position(|(queued, _)| *queued == text) {
                            self.queued.remove(at);
                            return vec![self.queue_event()];
                        }
                    }
                    Body::Mode { name, .. } => {
                        return vec![self.change_settings(|settings| settings.mode.clone_from(name))];
                    }
                    _ => {}
                }
            }
            Event::ItemDropped { id } => self.open_items.retain(|open| open.id != *id),
            Event::QuestionAsked { question } => self.ask(None, question.id, event),
            Event::QuestionAnswered { question } => self.settle(*question),
            Event::Usage { totals, .. } => self.totals = *totals,
            Event::Notice { level, text } => {
                if self.notices.len() == MAX_NOTICES {
                    self.notices.pop_front();
                }
                self.notices.push_back((*level, text.clone()));
            }
            Event::TitleChanged { title } => self.title = Some(title.clone()),
            Event::Rewound { .. } => self.open_items.clear(),
            Event::Subtask {
                session, event: inner, ..
            } => self.apply_subtask(*session, inner, event),
            Event::TurnFinished { ending, .. } => {
                self.is_working = false;
                self.open_items.clear();
                self.questions.clear();
                self.answered.clear();
                if *ending == TurnEnd::Interrupted && !self.queued.is_empty() {
                    self.queued.clear();
                    return vec![self.queue_event()];
                }
            }
            Event::Retrying { .. } => {}
        }
        Vec::new()
    }

    /// Follows an event of a subtask: only questions matter here.
    fn apply_subtask(&mut self, session: SessionId, inner: &Event, whole: &Event) {
        match inner {
            Event::QuestionAsked { question } => self.ask(Some(session), question.id, whole),
            Event::QuestionAnswered { question } => self.settle(*question),
            Event::Subtask { session, event, .. } => self.apply_subtask(*session, event, whole),
            Event::TurnFinished { .. } => self.questions.retain(|question| question.subtask != Some(session)),
            Event::TurnStarted
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::Usage { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. }
            | Event::TitleChanged { .. }
            | Event::Rewound { .. } => {}
        }
    }

    fn ask(&mut self, subtask: Option<SessionId>, id: QuestionId, event: &Event) {
        self.questions.push(OpenQuestion {
            id,
            subtask,
            event: event.clone(),
        });
    }

    fn settle(&mut self, question: QuestionId) {
        self.questions.retain(|open| open.id != question);
        self.answered.retain(|id| *id != question);
    }
}

impl OpenItem {
    /// Adds a delta; consecutive text is joined.
    fn add(&mut self, delta: &ItemDelta) {
        match (self.deltas.last_mut(), delta) {
            (Some(ItemDelta::Text(text)), ItemDelta::Text(more))
            | (Some(ItemDelta::Thinking(text)), ItemDelta::Thinking(more)) => text.push_str(more),
            (Some(ItemDelta::Output(text)), ItemDelta::Output(more)) => {
                text.push_str(more);
                if text.len() > 2 * MAX_OUTPUT {
                    let start = text.ceil_char_boundary(text.len() - MAX_OUTPUT);
                    text.drain(..start);
                }
            }
            (Some(ItemDelta::Input { call, json }), ItemDelta::Input { call: same, json: more }) if call == same => {
                json.push_str(more);
            }
            (_, delta) => self.deltas.push(delta.clone()),
        }
    }
}
