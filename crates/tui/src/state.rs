//! What is known about the session that is open: everything that is drawn is drawn from here.

mod asked;
mod subtasks;
mod turn;

pub(crate) use asked::Asked;
pub(crate) use subtasks::Subtask;
pub(crate) use turn::{Doing, Turn};

use crate::conversation::Conversation;
use crate::house::{Facts, Opened};
use model::{Message, Usage};
use session::{Body, Event, Level, RequestId, SessionId, Todo, Totals};
use std::collections::VecDeque;
use std::sync::Arc;

/// What is known about the session that is open.
#[derive(Default)]
pub(crate) struct State {
    /// The session; absent while it is being opened.
    pub(crate) session: Option<SessionId>,
    /// What is known about it.
    pub(crate) facts: Facts,
    /// The branch that is checked out.
    pub(crate) branch: Option<String>,
    /// What was said and done.
    pub(crate) conversation: Conversation,
    /// The turn that runs.
    pub(crate) turn: Option<Turn>,
    /// Questions that wait for the person; the first one is shown.
    pub(crate) asked: VecDeque<Asked>,
    /// Prompts that were sent and that no item says yet.
    pub(crate) queue: VecDeque<Queued>,
    /// Tokens, money and requests so far.
    pub(crate) totals: Totals,
    /// The request of the newest reply.
    pub(crate) usage: Usage,
    /// Requests whose replies have not been seen.
    counted: VecDeque<(RequestId, Usage)>,
    replied: Option<RequestId>,
    /// The list of things to do.
    pub(crate) todos: Vec<Todo>,
    /// Subtasks of the session, oldest first.
    pub(crate) subtasks: Vec<Subtask>,
    /// Something that was just told and is shown until the next key.
    pub(crate) flash: Option<String>,
}

/// A prompt that waits for its turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Queued {
    /// What was said.
    pub(crate) message: Message,
    /// What happens with it when the turn runs on.
    pub(crate) delivery: session::Delivery,
}

impl State {
    /// Another session is open now.
    pub(crate) fn opened(&mut self, opened: &Opened) {
        let branch = self.branch.take();
        let queue = std::mem::take(&mut self.queue);
        *self = State {
            session: Some(opened.id),
            facts: opened.facts.clone(),
            totals: opened.facts.totals,
            branch,
            queue,
            ..State::default()
        };
        self.conversation.restore(&opened.items);
        if opened.items.is_empty() {
            self.conversation.begin(&opened.facts.place);
        }
        self.todos = opened
            .items
            .iter()
            .rev()
            .find_map(|item| match &item.body {
                Body::Todos { list } => Some(list.clone()),
                _ => None,
            })
            .unwrap_or_default();
        for text in &opened.told {
            self.conversation.notice(Level::Warning, text);
        }
    }

    /// Something happened in the session.
    pub(crate) fn hear(&mut self, event: &Event) {
        self.conversation.hear(event);
        match event {
            Event::TurnStarted => self.turn = Some(Turn::begin()),
            Event::ItemFinished { item } => match &item.body {
                Body::Prompt { message } => self.delivered(message),
                Body::Mode { name, .. } => self.facts.mode.clone_from(name),
                Body::Todos { list } => self.todos.clone_from(list),
                Body::Reply { request, .. } => {
                    self.replied = Some(*request);
                    self.count();
                }
                Body::Result { .. }
                | Body::Summary { .. }
                | Body::Notice { .. }
                | Body::Wake { .. }
                | Body::Review { .. }
                | Body::Panels { .. }
                | Body::Restored { .. } => {}
            },
            Event::Usage {
                request, usage, totals, ..
            } => {
                if self.counted.len() >= 8 {
                    self.counted.pop_front();
                }
                self.counted.push_back((*request, *usage));
                self.totals = *totals;
                self.count();
            }
            Event::Titled { title } => self.facts.title = Some(title.clone()),
            Event::Asked { question } => self.asked.push_back(Asked::new(None, question.clone())),
            Event::Answered { question } => {
                let asked = self.asked.iter().find(|asked| asked.question.id == *question);
                if let Some(call) = asked.and_then(|asked| asked.question.call.clone()) {
                    self.conversation.answered(&call);
                }
                self.asked.retain(|asked| asked.question.id != *question);
            }
            Event::Subtask { session, event, .. } => {
                subtasks::hear(&mut self.subtasks, *session, event);
                self.hear_below(*session, event);
            }
            Event::TurnFinished { .. } => {
                self.turn = None;
                self.asked.clear();
            }
            Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemDropped { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. } => {}
        }
        if let Some(turn) = &mut self.turn {
            turn.hear(event);
        }
    }

    /// What the newest reply's own request took. Others, such as the one for the title, say nothing about the context.
    fn count(&mut self) {
        let found = self
            .counted
            .iter()
            .position(|(request, _)| Some(*request) == self.replied);
        if let Some((_, usage)) = found.and_then(|at| self.counted.remove(at)) {
            self.usage = usage;
        }
    }

    /// Something happened in a subtask: only questions concern the whole.
    fn hear_below(&mut self, session: SessionId, event: &Event) {
        match event {
            Event::Asked { question } => self.asked.push_back(Asked::new(Some(session), question.clone())),
            Event::Answered { question } => self.asked.retain(|asked| asked.question.id != *question),
            Event::Subtask { session, event, .. } => self.hear_below(*session, event),
            Event::TurnStarted
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::Usage { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. }
            | Event::Titled { .. }
            | Event::TurnFinished { .. } => {}
        }
    }

    /// A prompt has become part of the conversation.
    fn delivered(&mut self, message: &Arc<Message>) {
        let words = message.text();
        let found = self
            .queue
            .iter()
            .position(|queued| words.starts_with(&queued.message.text()));
        if let Some(found) = found {
            self.queue.remove(found);
        }
    }

    /// Whether a turn runs.
    pub(crate) fn is_working(&self) -> bool {
        self.turn.is_some()
    }
}
