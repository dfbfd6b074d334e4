//! Input for a running turn.

use crate::prompts::PendingPrompt;
use model::{Effort, Model};
use session::{Answer, EditorView, QuestionId};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tool::ToolNotification;

/// The number of notifications to keep for the model; the oldest is dropped first.
const MAX_NOTIFICATIONS: usize = 64;

/// Input for a running turn. The actor writes to it, the turn reads from it.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<InboxState>,
}

#[derive(Default)]
struct InboxState {
    steering: VecDeque<PendingPrompt>,
    model: Option<Arc<dyn Model>>,
    effort: Option<Option<Effort>>,
    mode: Option<String>,
    compaction: Option<Option<String>>,
    editor: EditorView,
    notifications: VecDeque<ToolNotification>,
    /// The number of notifications that the actor has not seen.
    unseen: usize,
    questions: HashMap<QuestionId, oneshot::Sender<Answer>>,
    /// No front end is left to answer questions.
    disconnected: bool,
}

impl Inbox {
    pub(crate) fn steer(&self, prompt: PendingPrompt) {
        self.lock().steering.push_back(prompt);
    }

    /// The oldest steering prompt, without removing it.
    pub(crate) fn first_steering(&self) -> Option<PendingPrompt> {
        self.lock().steering.front().cloned()
    }

    /// Removes and returns the oldest steering prompt.
    pub(crate) fn next_steering(&self) -> Option<PendingPrompt> {
        self.lock().steering.pop_front()
    }

    /// Removes and returns all steering prompts.
    pub(crate) fn take_steering(&self) -> Vec<PendingPrompt> {
        self.lock().steering.drain(..).collect()
    }

    pub(crate) fn has_steering(&self) -> bool {
        !self.lock().steering.is_empty()
    }

    pub(crate) fn push_notification(&self, notification: ToolNotification) {
        let mut state = self.lock();
        if state.notifications.len() >= MAX_NOTIFICATIONS {
            state.notifications.pop_front();
        }
        state.notifications.push_back(notification);
        state.unseen = (state.unseen + 1).min(MAX_NOTIFICATIONS);
    }

    /// Removes and returns all notifications.
    pub(crate) fn take_notifications(&self) -> Vec<ToolNotification> {
        let mut state = self.lock();
        state.unseen = 0;
        state.notifications.drain(..).collect()
    }

    pub(crate) fn has_notifications(&self) -> bool {
        !self.lock().notifications.is_empty()
    }

    pub(crate) fn has_unseen_notifications(&self) -> bool {
        self.lock().unseen > 0
    }

    /// Returns the unseen notifications; they stay in the inbox for the model.
    pub(crate) fn mark_notifications_seen(&self) -> Vec<ToolNotification> {
        let mut state = self.lock();
        let seen = state.notifications.len().saturating_sub(state.unseen);
        state.unseen = 0;
        state.notifications.iter().skip(seen).cloned().collect()
    }

    pub(crate) fn set_model(&self, model: Arc<dyn Model>) {
        self.lock().model = Some(model);
    }

    pub(crate) fn take_model(&self) -> Option<Arc<dyn Model>> {
        self.lock().model.take()
    }

    pub(crate) fn set_effort(&self, effort: Option<Effort>) {
        self.lock().effort = Some(effort);
    }

    pub(crate) fn take_effort(&self) -> Option<Option<Effort>> {
        self.lock().effort.take()
    }

    pub(crate) fn set_mode(&self, name: String) {
        self.lock().mode = Some(name);
    }

    pub(crate) fn take_mode(&self) -> Option<String> {
        self.lock().mode.take()
    }

    pub(crate) fn set_editor(&self, view: EditorView) {
        self.lock().editor = view;
    }

    /// What the user's editor shows.
    pub(crate) fn editor(&self) -> EditorView {
        self.lock().editor.clone()
    }

    /// Requests a compaction.
    pub(crate) fn request_compaction(&self, instructions: Option<String>) {
        self.lock().compaction = Some(instructions);
    }

    pub(crate) fn take_compaction(&self) -> Option<Option<String>> {
        self.lock().compaction.take()
    }

    /// Registers a question; the receiver gets its answer.
    pub(crate) fn wait_for_answer(&self, question: QuestionId) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        if !state.disconnected {
            state.questions.insert(question, sender);
        }
        receiver
    }

    /// Delivers an answer; answers to unknown questions are ignored.
    pub(crate) fn answer(&self, question: QuestionId, answer: Answer) {
        let sender = self.lock().questions.remove(&question);
        if let Some(sender) = sender {
            drop(sender.send(answer));
        }
    }

    /// Cancels all questions, also future ones, because no front end is left.
    pub(crate) fn disconnect(&self) {
        let mut state = self.lock();
        state.disconnected = true;
        state.questions.clear();
    }

    /// Returns whether no front end is left.
    pub(crate) fn is_disconnected(&self) -> bool {
        self.lock().disconnected
    }

    /// Cancels all questions: their receivers are closed.
    pub(crate) fn cancel_questions(&self) {
        self.lock().questions.clear();
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        // A panic while the lock is held cannot leave an operation incomplete.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
