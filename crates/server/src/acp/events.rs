//! Shows a session's events in the editor.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acp::schema::{
    ContentBlock, ContentChunk, Cost, SessionInfoUpdate, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, UsageUpdate,
};
use model::{CallId, Part};
use serde_json::Value;
use session::{
    Answer, Body, Command, Event, Item, ItemDelta, ItemId, ItemStart, NoticeLevel, PreviewUpdate, Question, QuestionId,
    QuestionSubject, SessionId, TurnEnd,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::editor_session::EditorSession;
use super::partial_edits::PartialEdits;
use super::{questions, replay, tools};

/// Minimum interval of output updates.
const OUTPUT_INTERVAL: Duration = Duration::from_millis(150);
/// Bytes of output that are shown.
const OUTPUT_TAIL: usize = 8_000;
/// Questions that were rejected permanently.
type RefusedQuestions = Arc<Mutex<HashSet<String>>>;

/// Processes events until the session ends.
pub(super) async fn show_events(live: Arc<EditorSession>, mut events: mpsc::Receiver<Event>) {
    let mut show = EventPresenter {
        live,
        calls: HashMap::new(),
        results: HashMap::new(),
        questions: HashMap::new(),
        refused: RefusedQuestions::default(),
        reply_text: String::new(),
        due: None,
    };
    loop {
        let wait = async {
            match show.due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = events.recv() => match event {
                Some(event) => show.handle_event(event).await,
                None => break,
            },
            () = wait => show.send_output().await,
        }
    }
    show.abort_questions();
    // Ends a turn that is still waiting.
    show.live.turn_finished(&TurnEnd::Interrupted);
}

struct EventPresenter {
    live: Arc<EditorSession>,
    calls: HashMap<CallId, ShownCall>,
    /// The calls of results.
    results: HashMap<ItemId, CallId>,
    questions: HashMap<QuestionId, JoinHandle<()>>,
    refused: RefusedQuestions,
    /// The text of the newest reply.
    reply_text: String,
    /// When output is sent next.
    due: Option<Instant>,
}

/// A call that the editor knows.
#[derive(Default)]
struct ShownCall {
    tool: String,
    title: String,
    input: Value,
    growing: PartialEdits,
    /// The files of its edits before they are applied.
    files: BTreeMap<PathBuf, String>,
    /// The number of diffs that were sent.
    sent_diffs: usize,
    has_unsent_edit: bool,
    output: String,
    has_unsent_output: bool,
}

impl EventPresenter {
    async fn handle_event(&mut self, event: Event) {
        match event {
            Event::TurnStarted => self.live.turn_started(),
            Event::ItemStarted { id, kind } => self.item_started(id, kind).await,
            Event::ItemDelta { id, delta } => self.item_delta(id, delta).await,
            Event::ItemFinished { item } => self.item_finished(&item).await,
            // The shown text stays: it is sent again, and a notice gives the reason.
            Event::ItemDropped { .. } => {}
            Event::QuestionAsked { question } => self.ask(question, None).await,
            Event::QuestionAnswered { question } => {
                if let Some(task) = self.questions.remove(&question) {
                    task.abort();
                }
            }
            Event::Usage { usage, totals, .. } => {
                let model = self.live.offer().models.current;
                let size = self.live.backend.window(self.live.id, &model);
                let used = usage.prompt_tokens() + usage.output;
                let cost = Cost::new(totals.cost.usd(), "USD");
                let update = UsageUpdate::new(used, size.max(used)).cost(cost);
                self.live.update(SessionUpdate::UsageUpdate(update)).await;
            }
            Event::Retrying { error, attempt, delay } => {
                let text = format!("{error}; attempt {attempt} follows in {} s", delay.as_secs());
                self.live.notice(NoticeLevel::Warning, text).await;
            }
            Event::Notice { level, text } => {
                self.live.notice(level, text).await;
                self.live.compacted();
            }
            Event::TitleChanged { title } => {
                let update = SessionInfoUpdate::new().title(title);
                self.live.update(SessionUpdate::SessionInfoUpdate(update)).await;
            }
            // The protocol has no update for it; an editor rewinds by loading the session.
            Event::Rewound { .. } => {}
            Event::Subtask { session, call, event } => self.subtask_event(session, &call, *event).await,
            Event::TurnFinished { ending, answer } => self.turn_finished(&ending, &answer).await,
        }
    }

    async fn turn_finished(&mut self, ending: &TurnEnd, answer: &str) {
        // An editor that cancels a turn answers its questions itself.
        if !self.live.is_cancelled() {
            self.abort_questions();
        }
        self.send_output().await;
        let answer = answer.trim();
        if *ending == TurnEnd::Completed && !answer.is_empty() && answer != self.reply_text.trim() {
            self.send_text(ItemId::new(), answer.to_owned()).await;
        }
        self.calls.clear();
        self.results.clear();
        self.live.turn_finished(ending);
    }

    async fn item_started(&mut self, id: ItemId, kind: ItemStart) {
        match kind {
            ItemStart::Reply => self.reply_text.clear(),
            ItemStart::Result { call, tool, title } => {
                self.results.insert(id, call.clone());
                self.announce_call(&call, &tool).await;
                let Some(known) = self.calls.get_mut(&call) else { return };
                known.title = title;
                let fields = ToolCallUpdateFields::new()
                    .status(ToolCallStatus::InProgress)
                    .title(tools::title(&known.tool, &known.title));
                self.update_call(&call, fields).await;
            }
        }
    }

    /// Announces a call to the editor.
    async fn announce_call(&mut self, call: &CallId, tool: &str) {
        if self.calls.contains_key(call) {
            return;
        }
        let known = ShownCall {
            tool: tool.to_owned(),
            ..ShownCall::default()
        };
        self.calls.insert(call.clone(), known);
        let shown = ToolCall::new(call.to_string(), tool)
            .name(tool.to_owned())
            .kind(tools::kind(self.live.backend.tool_kind(tool)));
        self.live.update(SessionUpdate::ToolCall(shown)).await;
    }

    async fn item_delta(&mut self, id: ItemId, delta: ItemDelta) {
        match delta {
            ItemDelta::Text(text) => {
                self.reply_text.push_str(&text);
                self.send_text(id, text).await;
            }
            ItemDelta::Thinking(text) => {
                let chunk = ContentChunk::new(ContentBlock::from(text)).message_id(id.to_string().as_str());
                self.live.update(SessionUpdate::AgentThoughtChunk(chunk)).await;
            }
            ItemDelta::Call { call, tool } => self.announce_call(&call, &tool).await,
            // The complete input is sent later.
            ItemDelta::Input { .. } => {}
            ItemDelta::Preview { call, update } => self.edit_grows(&call, update).await,
            ItemDelta::Output(text) => {
                if let Some(call) = self.results.get(&id).cloned() {
                    self.append_output(&call, &text);
                }
            }
        }
    }

    async fn send_text(&self, id: ItemId, text: String) {
        let chunk = ContentChunk::new(ContentBlock::from(text)).message_id(id.to_string().as_str());
        self.live.update(SessionUpdate::AgentMessageChunk(chunk)).await;
    }

    /// Adds to the output of a call.
    fn append_output(&mut self, call: &CallId, text: &str) {
        let Some(known) = self.calls.get_mut(call) else { return };
        known.output.push_str(text);
        if known.output.len() > 2 * OUTPUT_TAIL {
            let start = known.output.ceil_char_boundary(known.output.len() - OUTPUT_TAIL);
            known.output.drain(..start);
        }
        known.has_unsent_output = true;
        self.due.get_or_insert_with(|| Instant::now() + OUTPUT_INTERVAL);
    }

    /// Adds to an edit that the model is writing. Its beginning is shown immediately, the rest at intervals.
    async fn edit_grows(&mut self, call: &CallId, update: PreviewUpdate) {
        let Some(known) = self.calls.get_mut(call) else { return };
        known.growing.apply(update);
        known.has_unsent_edit = true;
        match known.sent_diffs {
            0 => self.send_edit(call).await,
            _ => {
                self.due.get_or_insert_with(|| Instant::now() + OUTPUT_INTERVAL);
            }
        }
    }

    /// Sends the diff of an edit so far, with its lines.
    async fn send_edit(&mut self, call: &CallId) {
        let live = Arc::clone(&self.live);
        let Some(known) = self.calls.get_mut(call).filter(|known| known.has_unsent_edit) else {
            return;
        };
        known.has_unsent_edit = false;
        for path in known.growing.paths() {
            if let Entry::Vacant(file) = known.files.entry(path) {
                // A new file has no text yet.
                let text = live.backend.text(live.root.join(file.key())).await;
                file.insert(text.unwrap_or_default());
            }
        }
        let diffs = known.growing.contents(&known.files).into_iter();
        let diffs: Vec<ToolCallContent> = diffs.filter_map(|it| tools::diff(it, &live.root)).collect();
        if diffs.is_empty() {
            return;
        }
        known.sent_diffs += 1;
        let fields = ToolCallUpdateFields::new()
            .content(diffs)
            .locations(tools::change_locations(known.growing.places(), &live.root));
        self.update_call(call, fields).await;
    }

    async fn send_output(&mut self) {
        self.due = None;
        let edited = self.calls.iter().filter(|(_, known)| known.has_unsent_edit);
        let edited: Vec<CallId> = edited.map(|(call, _)| call.clone()).collect();
        for call in edited {
            self.send_edit(&call).await;
        }
        let mut updates = Vec::new();
        for (call, known) in self.calls.iter_mut().filter(|(_, known)| known.has_unsent_output) {
            known.has_unsent_output = false;
            updates.push((call.clone(), tools::code_block(&known.output)));
        }
        for (call, content) in updates {
            self.update_call(&call, ToolCallUpdateFields::new().content(vec![content]))
                .await;
        }
    }

    async fn item_finished(&mut self, item: &Item) {
        match &item.body {
            Body::Prompt { message } => {
                let is_own = self.live.prompt_accepted(message);
                if !is_own {
                    replay::replay_prompt(&self.live, message, &item.id.to_string()).await;
                }
            }
            Body::Reply { message, .. } => {
                for part in &message.parts {
                    if let Part::ToolCall { id, name, input, .. } = part {
                        self.announce_call(id, name).await;
                        self.send_edit(id).await;
                        let Some(known) = self.calls.get_mut(id) else { continue };
                        known.input = input.clone();
                        let mut locations = tools::change_locations(known.growing.places(), &self.live.root);
                        if locations.is_empty() {
                            locations = tools::locations(input, &self.live.root);
                        }
                        let fields = ToolCallUpdateFields::new()
                            .raw_input(input.clone())
                            .locations(locations);
                        self.update_call(id, fields).await;
                    }
                }
            }
            Body::Result { call, tool, .. } => {
                self.announce_call(call, tool).await;
                if let Some(known) = self.calls.get_mut(call) {
                    known.has_unsent_output = false;
                }
                if let Some(fields) = replay::result_fields(&self.live, &item.body).await {
                    self.update_call(call, fields).await;
                }
            }
            Body::Summary { .. } => {
                self.live
                    .notice(NoticeLevel::Info, "the conversation was summarized".into())
                    .await;
                self.live.compacted();
            }
            Body::Notice { text } if !self.live.is_cancelled() => {
                self.live.notice(NoticeLevel::Warning, text.clone()).await;
            }
            Body::Notification { source: cause, .. } => {
                self.live
                    .notice(NoticeLevel::Info, format!("hew continues: {cause}"))
                    .await
            }
            Body::Mode { name, .. } => self.live.mode_changed(name).await,
            Body::Todos { list } => self.live.update(replay::todo_plan(list)).await,
            _ => {}
        }
    }

    async fn update_call(&self, call: &CallId, fields: ToolCallUpdateFields) {
        let update = ToolCallUpdate::new(call.to_string(), fields);
        self.live.update(SessionUpdate::ToolCallUpdate(update)).await;
    }

    /// Events of a subtask are shown in the call that started it.
    async fn subtask_event(&mut self, session: SessionId, call: &CallId, event: Event) {
        match event {
            Event::ItemDelta {
                delta: ItemDelta::Text(text),
                ..
            } => self.append_output(call, &text),
            Event::ItemDelta {
                delta: ItemDelta::Thinking(text),
                ..
            } => self.append_output(call, &text),
            Event::ItemStarted {
                kind: ItemStart::Result { tool, title, .. },
                ..
            } => self.append_output(call, &format!("\n> {tool} {title}\n")),
            Event::QuestionAsked { question } => self.ask(question, Some(session)).await,
            Event::QuestionAnswered { question } => {
                if let Some(task) = self.questions.remove(&question) {
                    task.abort();
                }
            }
            Event::Notice { level, text } => self.live.notice(level, text).await,
            // A nested subtask has its own session, which receives the answer.
            Event::Subtask { session, event, .. } => Box::pin(self.subtask_event(session, call, *event)).await,
            Event::TurnStarted
            | Event::TurnFinished { .. }
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::Usage { .. }
            | Event::Retrying { .. }
            | Event::TitleChanged { .. }
            | Event::Rewound { .. } => {}
        }
    }

    /// Asks the user; `within` is the subtask that asks.
    async fn ask(&mut self, question: Question, within: Option<SessionId>) {
        let key = refusal_key(&question);
        let refused = Arc::clone(&self.refused);
        if key.as_ref().is_some_and(|key| lock(&refused).contains(key)) {
            let reason = Some("the user does not want to be asked about this again".into());
            answer(&self.live, &question, within, Answer::Reject { reason }).await;
            return;
        }
        let known = question
            .call
            .as_ref()
            .filter(|_| within.is_none())
            .and_then(|call| self.calls.get(call));
        let (id, title, growing) = match (known, &question.call) {
            (Some(known), Some(call)) => (
                call.to_string(),
                tools::title(&known.tool, &known.title),
                known.growing.clone(),
            ),
            _ => (
                format!("question-{}", question.id),
                question.tool.clone(),
                PartialEdits::default(),
            ),
        };
        let is_own = known.is_none();
        let input = match &question.subject {
            QuestionSubject::Permission { input, .. } if !input.is_null() => Some(input.clone()),
            QuestionSubject::Permission { .. } | QuestionSubject::Inquiry { .. } => {
                known.map(|known| known.input.clone())
            }
        };
        let fields = ToolCallUpdateFields::new()
            .title(title.clone())
            .kind(tools::kind(self.live.backend.tool_kind(&question.tool)))
            .status(ToolCallStatus::Pending)
            .locations(input.as_ref().map(|input| tools::locations(input, &self.live.root)))
            .raw_input(input.filter(|input| !input.is_null()));
        if is_own {
            let call = ToolCall::new(id.clone(), title).kind(tools::kind(self.live.backend.tool_kind(&question.tool)));
            self.live.update(SessionUpdate::ToolCall(call)).await;
        }
        let (live, asked) = (Arc::clone(&self.live), question.id);
        let task = tokio::spawn(async move {
            let content = question_content(&live, &question, &growing).await;
            let shown = ToolCallUpdate::new(id.clone(), fields.content(content));
            let answered = questions::ask_editor(&live, &question, shown).await;
            if let (true, Some(key)) = (answered.forever, key) {
                lock(&refused).insert(key);
            }
            if is_own {
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
                live.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)))
                    .await;
            }
            answer(&live, &question, within, answered.answer).await;
        });
        self.questions.insert(asked, task);
    }

    fn abort_questions(&mut self) {
        for (_, task) in self.questions.drain() {
            task.abort();
        }
    }
}

/// What the user sees with the question: the reason, and the changes.
async fn question_content(
    live: &EditorSession,
    question: &Question,
    growing: &PartialEdits,
) -> Option<Vec<ToolCallContent>> {
    let QuestionSubject::Permission { reason: why, .. } = &question.subject else {
        return None;
    };
    let mut files = BTreeMap::new();
    for path in growing.paths() {
        if let Ok(text) = live.backend.text(live.root.join(&path)).await {
            files.insert(path, text);
        }
    }
    let diffs = growing.contents(&files).into_iter();
    let diffs: Vec<ToolCallContent> = diffs.filter_map(|it| tools::diff(it, &live.root)).collect();
    Some(match diffs.is_empty() {
        true => vec![tools::text(why)],
        false => diffs,
    })
}

async fn answer(live: &EditorSession, question: &Question, within: Option<SessionId>, answer: Answer) {
    let command = Command::Answer {
        question: question.id,
        answer,
    };
    live.command(match within {
        None => command,
        Some(session) => Command::Subtask {
            session,
            command: Box::new(command),
        },
    })
    .await;
}

/// Identifies a question that must not be asked again.
fn refusal_key(question: &Question) -> Option<String> {
    match &question.subject {
        QuestionSubject::Permission { rules, action, .. } => {
            let what = rules.first().cloned().unwrap_or_else(|| format!("{action:?}"));
            Some(format!("{} {what}", question.tool))
        }
        QuestionSubject::Inquiry { .. } => None,
    }
}

fn lock(refused: &RefusedQuestions) -> std::sync::MutexGuard<'_, HashSet<String>> {
    refused.lock().unwrap_or_else(PoisonError::into_inner)
}
