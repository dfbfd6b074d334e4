//! What arrives for a turn while it runs.

use crate::waiting::Spoken;
use model::Model;
use session::{Answer, EditorView, QuestionId};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tool::Notice;

/// As much news as is kept for the model; the oldest goes first.
const NEWS: usize = 64;

/// What arrives for a turn while it runs. The actor puts in, the turn takes out.
#[derive(Default)]
pub(crate) struct Inbox {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    steering: VecDeque<Spoken>,
    model: Option<Arc<dyn Model>>,
    mode: Option<String>,
    compaction: Option<Option<String>>,
    news: VecDeque<Notice>,
    /// How many of the news the actor has not looked at.
    fresh: usize,
    waiting: HashMap<QuestionId, oneshot::Sender<Answer>>,
    /// What the person's editor shows.
    editor: Option<EditorView>,
    /// Nobody is left to answer.
    nobody: bool,
}

impl Inbox {
    pub(crate) fn steer(&self, spoken: Spoken) {
        self.lock().steering.push_back(spoken);
    }

    /// The oldest steering prompt, left where it is.
    pub(crate) fn first_steering(&self) -> Option<Spoken> {
        self.lock().steering.front().cloned()
    }

    /// The oldest steering prompt, taken out.
    pub(crate) fn next_steering(&self) -> Option<Spoken> {
        self.lock().steering.pop_front()
    }

    pub(crate) fn has_steering(&self) -> bool {
        !self.lock().steering.is_empty()
    }

    pub(crate) fn put_news(&self, notice: Notice) {
        let mut inner = self.lock();
        if inner.news.len() >= NEWS {
            inner.news.pop_front();
        }
        inner.news.push_back(notice);
        inner.fresh = (inner.fresh + 1).min(NEWS);
    }

    /// All news, taken out.
    pub(crate) fn take_news(&self) -> Vec<Notice> {
        let mut inner = self.lock();
        inner.fresh = 0;
        inner.news.drain(..).collect()
    }

    pub(crate) fn has_fresh_news(&self) -> bool {
        self.lock().fresh > 0
    }

    /// The news that has not been looked at; it stays for the model.
    pub(crate) fn seen_news(&self) -> Vec<Notice> {
        let mut inner = self.lock();
        let old = inner.news.len().saturating_sub(inner.fresh);
        inner.fresh = 0;
        inner.news.iter().skip(old).cloned().collect()
    }

    pub(crate) fn has_news(&self) -> bool {
        !self.lock().news.is_empty()
    }

    pub(crate) fn set_model(&self, model: Arc<dyn Model>) {
        self.lock().model = Some(model);
    }

    pub(crate) fn take_model(&self) -> Option<Arc<dyn Model>> {
        self.lock().model.take()
    }

    pub(crate) fn set_mode(&self, name: String) {
        self.lock().mode = Some(name);
    }

    pub(crate) fn take_mode(&self) -> Option<String> {
        self.lock().mode.take()
    }

    /// The person's editor shows this now.
    pub(crate) fn set_editor(&self, view: Option<EditorView>) {
        self.lock().editor = view;
    }

    pub(crate) fn editor(&self) -> Option<EditorView> {
        self.lock().editor.clone()
    }

    /// The person wants room to be made.
    pub(crate) fn compact(&self, instructions: Option<String>) {
        self.lock().compaction = Some(instructions);
    }

    pub(crate) fn take_compaction(&self) -> Option<Option<String>> {
        self.lock().compaction.take()
    }

    /// Waits for the answer to a question.
    pub(crate) fn listen(&self, question: QuestionId) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        let mut inner = self.lock();
        if !inner.nobody {
            inner.waiting.insert(question, sender);
        }
        receiver
    }

    /// Hands an answer to whoever waits for it; an answer that nobody waits for is too late and means nothing.
    pub(crate) fn answer(&self, question: QuestionId, answer: Answer) {
        let waiting = self.lock().waiting.remove(&question);
        if let Some(sender) = waiting {
            drop(sender.send(answer));
        }
    }

    /// Nobody is left to answer questions, those that wait and those to come.
    pub(crate) fn nobody_answers(&self) {
        self.lock().nobody = true;
        self.forget_questions();
    }

    /// Whether nobody is left to answer.
    pub(crate) fn is_deserted(&self) -> bool {
        self.lock().nobody
    }

    /// Forgets all questions: whoever waits is told that nobody will answer.
    pub(crate) fn forget_questions(&self) {
        self.lock().waiting.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while the lock is held cannot leave a push or a take half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
