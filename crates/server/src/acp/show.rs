//! Shows the editor what happens in a session, as it happens.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acp::schema::{
    ContentBlock, ContentChunk, Cost, SessionInfoUpdate, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, UsageUpdate,
};
use model::{CallId, Part};
use serde_json::Value;
use session::{
    Answer, Body, Command, Delta, Ending, Event, Item, ItemId, ItemKind, Level, Question, QuestionId, SessionId,
    Subject,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::growing::Growing;
use super::live::Live;
use super::{ask, replay, tools};

/// Live output is told at most so often.
const PAUSE: Duration = Duration::from_millis(150);
/// The end of live output that is shown, in bytes.
const TAIL: usize = 8_000;
/// Questions that were answered for ever.
type Refused = Arc<Mutex<HashSet<String>>>;

/// Shows everything until the session ends.
pub(super) async fn show(live: Arc<Live>, mut events: mpsc::Receiver<Event>) {
    let mut show = Show {
        live,
        calls: HashMap::new(),
        results: HashMap::new(),
        questions: HashMap::new(),
        refused: Refused::default(),
        said: String::new(),
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
                Some(event) => show.take(event).await,
                None => break,
            },
            () = wait => show.tell_output().await,
        }
    }
    show.forget_questions();
    // Whoever still waits for a turn learns that there will be no end of it.
    show.live.turn_finished(&Ending::Interrupted);
}

struct Show {
    live: Arc<Live>,
    calls: HashMap<CallId, Call>,
    /// The calls that results belong to.
    results: HashMap<ItemId, CallId>,
    questions: HashMap<QuestionId, JoinHandle<()>>,
    refused: Refused,
    /// The text of the newest reply.
    said: String,
    /// When live output is told next.
    due: Option<Instant>,
}

/// A call that the editor knows.
#[derive(Default)]
struct Call {
    tool: String,
    title: String,
    input: Value,
    growing: Growing,
    output: String,
    untold: bool,
}

impl Show {
    async fn take(&mut self, event: Event) {
        match event {
            Event::TurnStarted => self.live.turn_started(),
            Event::ItemStarted { id, kind } => self.started(id, kind).await,
            Event::ItemDelta { id, delta } => self.grew(id, delta).await,
            Event::ItemFinished { item } => self.finished(&item).await,
            // What was shown of it stays: it is sent again, and the person is told why.
            Event::ItemDropped { .. } => {}
            Event::Asked { question } => self.ask(question, None).await,
            Event::Answered { question } => {
                if let Some(task) = self.questions.remove(&question) {
                    task.abort();
                }
            }
            Event::Usage { usage, totals, .. } => {
                let model = self.live.offer().models.current;
                let size = self.live.house.window(self.live.id, &model);
                let used = usage.prompt() + usage.output;
                let cost = Cost::new(totals.cost.usd(), "USD");
                let update = UsageUpdate::new(used, size.max(used)).cost(cost);
                self.live.update(SessionUpdate::UsageUpdate(update)).await;
            }
            Event::Retrying { error, attempt, delay } => {
                let text = format!("{error}; attempt {attempt} follows in {} s", delay.as_secs());
                self.live.notice(Level::Warning, text).await;
            }
            Event::Notice { level, text } => {
                self.live.notice(level, text).await;
                self.live.compacted();
            }
            Event::Titled { title } => {
                let update = SessionInfoUpdate::new().title(title);
                self.live.update(SessionUpdate::SessionInfoUpdate(update)).await;
            }
            Event::Subtask { session, call, event } => self.below(session, &call, *event).await,
            Event::TurnFinished { ending, answer } => self.over(&ending, &answer).await,
        }
    }

    async fn over(&mut self, ending: &Ending, answer: &str) {
        // An editor that cancels answers what it was asked by itself.
        if !self.live.is_cancelled() {
            self.forget_questions();
        }
        self.tell_output().await;
        let answer = answer.trim();
        if *ending == Ending::Completed && !answer.is_empty() && answer != self.said.trim() {
            self.say(ItemId::new(), answer.to_owned()).await;
        }
        self.calls.clear();
        self.results.clear();
        self.live.turn_finished(ending);
    }

    async fn started(&mut self, id: ItemId, kind: ItemKind) {
        match kind {
            ItemKind::Reply => self.said.clear(),
            ItemKind::Result { call, tool, title } => {
                self.results.insert(id, call.clone());
                self.know(&call, &tool).await;
                let Some(known) = self.calls.get_mut(&call) else { return };
                known.title = title;
                let fields = ToolCallUpdateFields::new()
                    .status(ToolCallStatus::InProgress)
                    .title(tools::title(&known.tool, &known.title));
                self.update_call(&call, fields).await;
            }
        }
    }

    /// Makes the editor know a call.
    async fn know(&mut self, call: &CallId, tool: &str) {
        if self.calls.contains_key(call) {
            return;
        }
        let known = Call {
            tool: tool.to_owned(),
            ..Call::default()
        };
        self.calls.insert(call.clone(), known);
        let shown = ToolCall::new(call.to_string(), tool)
            .name(tool.to_owned())
            .kind(tools::kind(tool));
        self.live.update(SessionUpdate::ToolCall(shown)).await;
    }

    async fn grew(&mut self, id: ItemId, delta: Delta) {
        match delta {
            Delta::Text(text) => {
                self.said.push_str(&text);
                self.say(id, text).await;
            }
            Delta::Thinking(text) => {
                let chunk = ContentChunk::new(ContentBlock::from(text)).message_id(id.to_string().as_str());
                self.live.update(SessionUpdate::AgentThoughtChunk(chunk)).await;
            }
            Delta::Call { call, tool } => self.know(&call, &tool).await,
            // The whole input is told when it is there.
            Delta::Input { .. } => {}
            Delta::Preview { call, glimpse } => {
                if let Some(known) = self.calls.get_mut(&call) {
                    known.growing.take(glimpse);
                }
            }
            Delta::Output(text) => {
                if let Some(call) = self.results.get(&id).cloned() {
                    self.print(&call, &text);
                }
            }
        }
    }

    async fn say(&self, id: ItemId, text: String) {
        let chunk = ContentChunk::new(ContentBlock::from(text)).message_id(id.to_string().as_str());
        self.live.update(SessionUpdate::AgentMessageChunk(chunk)).await;
    }

    /// Adds to the live output of a call.
    fn print(&mut self, call: &CallId, text: &str) {
        let Some(known) = self.calls.get_mut(call) else { return };
        known.output.push_str(text);
        if known.output.len() > 2 * TAIL {
            let start = known.output.ceil_char_boundary(known.output.len() - TAIL);
            known.output.drain(..start);
        }
        known.untold = true;
        self.due.get_or_insert_with(|| Instant::now() + PAUSE);
    }

    async fn tell_output(&mut self) {
        self.due = None;
        let mut told = Vec::new();
        for (call, known) in self.calls.iter_mut().filter(|(_, known)| known.untold) {
            known.untold = false;
            told.push((call.clone(), tools::printed(&known.output)));
        }
        for (call, content) in told {
            self.update_call(&call, ToolCallUpdateFields::new().content(vec![content]))
                .await;
        }
    }

    async fn finished(&mut self, item: &Item) {
        match &item.body {
            Body::Prompt { .. } => self.live.heard(),
            Body::Reply { message, .. } => {
                for part in &message.parts {
                    if let Part::ToolCall { id, name, input, .. } = part {
                        self.know(id, name).await;
                        if let Some(known) = self.calls.get_mut(id) {
                            known.input = input.clone();
                        }
                        let fields = ToolCallUpdateFields::new()
                            .raw_input(input.clone())
                            .locations(tools::locations(input, &self.live.root));
                        self.update_call(id, fields).await;
                    }
                }
            }
            Body::Result { call, tool, .. } => {
                self.know(call, tool).await;
                if let Some(known) = self.calls.get_mut(call) {
                    known.untold = false;
                }
                if let Some(fields) = replay::result(&self.live, &item.body).await {
                    self.update_call(call, fields).await;
                }
            }
            Body::Summary { .. } => {
                self.live
                    .notice(Level::Info, "the conversation so far was summed up".into())
                    .await;
                self.live.compacted();
            }
            Body::Notice { text } => {
                if !self.live.is_cancelled() {
                    self.live.notice(Level::Warning, text.clone()).await;
                }
            }
            Body::Wake { cause, .. } => self.live.notice(Level::Info, format!("hew goes on: {cause}")).await,
            Body::Mode { name, .. } => self.live.mode_changed(name).await,
            Body::Todos { list } => self.live.update(replay::plan(list)).await,
            Body::Panels { .. } | Body::Review { .. } | Body::Restored { .. } => {}
        }
    }

    async fn update_call(&self, call: &CallId, fields: ToolCallUpdateFields) {
        let update = ToolCallUpdate::new(call.to_string(), fields);
        self.live.update(SessionUpdate::ToolCallUpdate(update)).await;
    }

    /// What happens in a subtask is shown in the call that handed it over.
    async fn below(&mut self, session: SessionId, call: &CallId, event: Event) {
        match event {
            Event::ItemDelta {
                delta: Delta::Text(text),
                ..
            } => self.print(call, &text),
            Event::ItemDelta {
                delta: Delta::Thinking(text),
                ..
            } => self.print(call, &text),
            Event::ItemStarted {
                kind: ItemKind::Result { tool, title, .. },
                ..
            } => self.print(call, &format!("\n> {tool} {title}\n")),
            Event::Asked { question } => self.ask(question, Some(session)).await,
            Event::Answered { question } => {
                if let Some(task) = self.questions.remove(&question) {
                    task.abort();
                }
            }
            Event::Notice { level, text } => self.live.notice(level, text).await,
            // One that is deeper still names its own session, which takes the answer.
            Event::Subtask { session, event, .. } => Box::pin(self.below(session, call, *event)).await,
            Event::TurnStarted
            | Event::TurnFinished { .. }
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::Usage { .. }
            | Event::Retrying { .. }
            | Event::Titled { .. } => {}
        }
    }

    /// Puts a question to the person; `within` names the subtask that asks.
    async fn ask(&mut self, question: Question, within: Option<SessionId>) {
        let key = refusal(&question);
        let refused = Arc::clone(&self.refused);
        if key.as_ref().is_some_and(|key| locked(&refused).contains(key)) {
            let reason = Some("the person does not want to be asked about this again".into());
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
                Growing::default(),
            ),
        };
        let is_own = known.is_none();
        let input = match &question.subject {
            Subject::Permission { input, .. } if !input.is_null() => Some(input.clone()),
            Subject::Permission { .. } | Subject::Inquiry { .. } => known.map(|known| known.input.clone()),
        };
        let fields = ToolCallUpdateFields::new()
            .title(title.clone())
            .kind(tools::kind(&question.tool))
            .status(ToolCallStatus::Pending)
            .locations(input.as_ref().map(|input| tools::locations(input, &self.live.root)))
            .raw_input(input.filter(|input| !input.is_null()));
        if is_own {
            let call = ToolCall::new(id.clone(), title).kind(tools::kind(&question.tool));
            self.live.update(SessionUpdate::ToolCall(call)).await;
        }
        let (live, asked) = (Arc::clone(&self.live), question.id);
        let task = tokio::spawn(async move {
            let content = explained(&live, &question, &growing).await;
            let shown = ToolCallUpdate::new(id.clone(), fields.content(content));
            let said = ask::ask(&live, &question, shown).await;
            if let (true, Some(key)) = (said.forever, key) {
                locked(&refused).insert(key);
            }
            if is_own {
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
                live.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)))
                    .await;
            }
            answer(&live, &question, within, said.answer).await;
        });
        self.questions.insert(asked, task);
    }

    fn forget_questions(&mut self) {
        for (_, task) in self.questions.drain() {
            task.abort();
        }
    }
}

/// What the person should see before they decide: why they are asked, and what would change.
async fn explained(live: &Live, question: &Question, growing: &Growing) -> Option<Vec<ToolCallContent>> {
    let Subject::Permission { why, .. } = &question.subject else {
        return None;
    };
    let mut files = BTreeMap::new();
    for path in growing.paths() {
        if let Ok(text) = live.house.text(live.root.join(&path)).await {
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

async fn answer(live: &Live, question: &Question, within: Option<SessionId>, answer: Answer) {
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

/// What is meant where the same is never to be asked again.
fn refusal(question: &Question) -> Option<String> {
    match &question.subject {
        Subject::Permission { rules, action, .. } => {
            let what = rules.first().cloned().unwrap_or_else(|| format!("{action:?}"));
            Some(format!("{} {what}", question.tool))
        }
        Subject::Inquiry { .. } => None,
    }
}

fn locked(refused: &Refused) -> std::sync::MutexGuard<'_, HashSet<String>> {
    refused.lock().unwrap_or_else(PoisonError::into_inner)
}
