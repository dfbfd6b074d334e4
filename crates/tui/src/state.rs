//! State of the open session, from which everything is drawn.

mod pending_question;
mod subtasks;
mod turn;

pub(crate) use pending_question::PendingQuestion;
pub(crate) use subtasks::SubtaskState;
pub(crate) use turn::{RunningTurn, TurnActivity};

use crate::app::PursuedGoal;
use crate::backend::{OpenedSession, SessionInfo};
use crate::conversation::ConversationLog;
use crate::format::first_line;
use model::{Message, Usage};
use session::{Body, Delivery, Event, NoticeLevel, RequestId, SessionId, Todo, Totals};
use std::collections::VecDeque;
use std::sync::Arc;

/// State of the open session.
#[derive(Default)]
pub(crate) struct AppState {
    /// The session; `None` while it is being opened.
    pub(crate) session: Option<SessionId>,
    pub(crate) info: SessionInfo,
    /// The checked-out Git branch.
    pub(crate) branch: Option<String>,
    pub(crate) conversation: ConversationLog,
    /// The running turn.
    pub(crate) turn: Option<RunningTurn>,
    /// Pending questions; the first one is shown.
    pub(crate) questions: VecDeque<PendingQuestion>,
    /// Prompts that were submitted but are not yet part of the conversation.
    pub(crate) queue: VecDeque<WaitingPrompt>,
    /// Total usage and cost.
    pub(crate) totals: Totals,
    /// Usage of the last reply's request.
    pub(crate) usage: Usage,
    /// Usage of requests that have no finished reply yet.
    unmatched_usage: VecDeque<(RequestId, Usage)>,
    last_reply: Option<RequestId>,
    pub(crate) todos: Vec<Todo>,
    /// Subtasks, oldest first.
    pub(crate) subtasks: Vec<SubtaskState>,
    /// A message that is shown until the next key.
    pub(crate) flash: Option<String>,
    /// The goal that the agent pursues.
    pub(crate) goal: Option<PursuedGoal>,
    /// The number of running background jobs.
    pub(crate) running_jobs: usize,
    /// Sessions that continue in the background.
    pub(crate) others: Vec<LiveSession>,
}

/// A session that continues in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveSession {
    pub(crate) id: SessionId,
    pub(crate) title: String,
    pub(crate) activity: LiveActivity,
    /// Whether it had background jobs when it was left.
    pub(crate) has_jobs: bool,
}

/// What a background session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveActivity {
    /// Its turn is running.
    Works,
    /// A question is pending.
    WaitsForUser,
    /// Its turn has ended.
    Idle,
}

/// The heading of a session: folder, model, rules files and sandbox.
fn heading(info: &SessionInfo) -> Vec<String> {
    let rules = match info.rules.as_slice() {
        [] => "no rules files".to_owned(),
        files => format!("rules: {}", files.join(", ")),
    };
    let mut lines = vec![info.display_path.clone(), format!("{} · {rules}", info.model)];
    if !info.sandbox.is_empty() {
        lines.push(format!("sandbox: {}", info.sandbox));
    }
    lines
}

/// A prompt that waits for delivery.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WaitingPrompt {
    pub(crate) message: Message,
    /// How it is delivered.
    pub(crate) delivery: Delivery,
}

impl AppState {
    /// Resets the state for an opened session.
    pub(crate) fn reset_for(&mut self, opened: &OpenedSession) {
        let branch = self.branch.take();
        let queue = std::mem::take(&mut self.queue);
        let others = std::mem::take(&mut self.others);
        *self = AppState {
            session: Some(opened.id),
            info: opened.info.clone(),
            totals: opened.info.totals,
            branch,
            queue,
            others,
            ..AppState::default()
        };
        self.conversation.restore(&opened.items);
        let mut heading = heading(&opened.info);
        if !opened.items.is_empty() {
            heading.push(format!("session: {}", self.title()));
        }
        self.conversation.set_heading(heading);
        self.todos = opened
            .items
            .iter()
            .rev()
            .find_map(|item| match &item.body {
                Body::Todos { list } => Some(list.clone()),
                _ => None,
            })
            .unwrap_or_default();
        for text in &opened.notices {
            self.conversation.notice(NoticeLevel::Warning, text);
        }
    }

    /// The session's title; until it has one, its first prompt.
    pub(crate) fn title(&self) -> String {
        let prompt = || self.conversation.first_prompt().map(session::user_text);
        let title = self.info.title.clone().or_else(prompt);
        title.map_or_else(|| "untitled".into(), |title| first_line(&title))
    }

    /// Applies a session event.
    pub(crate) fn handle_event(&mut self, event: &Event) {
        self.conversation.handle_event(event);
        match event {
            Event::TurnStarted => self.turn = Some(RunningTurn::start(self.totals)),
            Event::ItemFinished { item } => match &item.body {
                Body::Prompt { message } => self.remove_delivered(message),
                Body::Mode { name, .. } => {
                    self.conversation.change_mode(&self.info.mode, name);
                    self.info.mode.clone_from(name);
                }
                Body::Todos { list } => self.todos.clone_from(list),
                Body::Reply { request, .. } => {
                    self.last_reply = Some(*request);
                    self.update_usage();
                }
                _ => {}
            },
            Event::Usage {
                request, usage, totals, ..
            } => {
                if self.unmatched_usage.len() >= 8 {
                    self.unmatched_usage.pop_front();
                }
                self.unmatched_usage.push_back((*request, *usage));
                self.totals = *totals;
                self.update_usage();
            }
            Event::TitleChanged { title } => self.info.title = Some(title.clone()),
            Event::QuestionAsked { question } => {
                if let Some(call) = &question.call {
                    self.conversation.ask_about(call);
                }
                self.questions.push_back(PendingQuestion::new(None, question.clone()));
            }
            Event::QuestionAnswered { question } => {
                let asked = self.questions.iter().find(|asked| asked.question.id == *question);
                if let Some(call) = asked.and_then(|asked| asked.question.call.clone()) {
                    self.conversation.restart_clock(&call);
                }
                self.questions.retain(|asked| asked.question.id != *question);
            }
            Event::Subtask { session, event, .. } => {
                subtasks::handle_event(&mut self.subtasks, *session, event);
                self.handle_subtask_event(*session, event);
            }
            Event::TurnFinished { .. } => {
                if let Some(text) = self.turn.take().and_then(|turn| turn.summary(&self.totals)) {
                    self.conversation.notice(NoticeLevel::Info, &text);
                }
                self.questions.clear();
            }
            Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemDropped { .. }
            | Event::Retrying { .. }
            | Event::Rewound { .. }
            | Event::Notice { .. } => {}
        }
        if let Some(turn) = &mut self.turn {
            turn.handle_event(event);
        }
    }

    /// Updates the usage from the last reply's request. Other requests, such as title generation, do not count for the
    /// context.
    fn update_usage(&mut self) {
        let found = self
            .unmatched_usage
            .iter()
            .position(|(request, _)| Some(*request) == self.last_reply);
        if let Some((_, usage)) = found.and_then(|at| self.unmatched_usage.remove(at)) {
            self.usage = usage;
        }
    }

    /// Applies a subtask's event; only questions are relevant.
    fn handle_subtask_event(&mut self, session: SessionId, event: &Event) {
        match event {
            Event::QuestionAsked { question } => self
                .questions
                .push_back(PendingQuestion::new(Some(session), question.clone())),
            Event::QuestionAnswered { question } => self.questions.retain(|asked| asked.question.id != *question),
            Event::Subtask { session, event, .. } => self.handle_subtask_event(*session, event),
            Event::TurnStarted
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::Usage { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. }
            | Event::TitleChanged { .. }
            | Event::Rewound { .. }
            | Event::TurnFinished { .. } => {}
        }
    }

    /// Removes a prompt that is now part of the conversation.
    fn remove_delivered(&mut self, message: &Arc<Message>) {
        let words = message.text();
        let found = self
            .queue
            .iter()
            .position(|queued| words.starts_with(&queued.message.text()));
        if let Some(found) = found {
            self.queue.remove(found);
        }
    }

    /// Takes the first queued prompt for delivery after the turn has ended.
    pub(crate) fn deliver_queued(&mut self) -> Option<Message> {
        let mut waiting = self.queue.iter_mut();
        let queued = waiting.find(|queued| queued.delivery == Delivery::Queue)?;
        queued.delivery = Delivery::Steer;
        Some(queued.message.clone())
    }

    /// Whether a turn is running.
    pub(crate) fn is_working(&self) -> bool {
        self.turn.is_some()
    }
}
