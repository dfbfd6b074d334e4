//! A session as the agent holds it, and the few things that may be done to it.

use crate::account::{Books, Open};
use crate::actor::Family;
use crate::calls::Finished;
use crate::changed::{self, Reported};
use crate::children::{Children, Counted};
use crate::delegate::Delegate;
use crate::desk::{Course, Desk, Rules};
use crate::hooked::Hooked;
use crate::inbox::Inbox;
use crate::panels::Beside;
use crate::preview::Watching;
use crate::receive::result_message;
use crate::room::Room;
use crate::surroundings::{Lent, Noted, Surroundings};
use crate::tally::Tally;
use crate::title::{self, Titled};
use crate::todos::{newest_todos, todo};
use crate::{Approvals, Limits, ModelSource, Previews, Setup, System};
use futures::FutureExt as _;
use futures::future::Shared;
use model::{Block, CallId, Cost, Message, Model, Part, Reply, Usage};
use policy::{Mode, Modes};
use prompt::Frame;
use session::{
    Body, Draft, Error, Event, Item, ItemId, Level, Receipt, Record, RequestId, SessionId, Status, Store, Time, Todo,
    Totals, WaitingId,
};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tool::{Next, Notice, Notices, Output, Spending, Spent};

/// A session as the agent holds it.
pub(crate) struct State {
    pub(crate) session: SessionId,
    /// From the first item to the head.
    pub(crate) items: Vec<Arc<Item>>,
    /// Another number whenever the model loses sight of earlier results.
    pub(crate) view: u64,
    pub(crate) totals: Totals,
    pub(crate) title: Option<String>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) small: Option<Arc<dyn Model>>,
    pub(crate) models: ModelSource,
    pub(crate) tools: tool::Registry,
    pub(crate) rules: Rules,
    pub(crate) mode: Mode,
    pub(crate) modes: Modes,
    pub(crate) system: System,
    /// The model for modes that have none of their own.
    pub(crate) usual_model: Arc<dyn Model>,
    pub(crate) hooked: Hooked,
    /// What hooks want the model to know with the next prompt.
    pub(crate) context: Vec<String>,
    /// Requests and money since the person last said to go on.
    pub(crate) since_asked: Totals,
    pub(crate) approvals: Approvals,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) frame: Frame,
    /// Which tags in its text are calls, for a model that calls tools there.
    pub(crate) grammar: Option<Arc<prompt::Grammar>>,
    pub(crate) surroundings: Arc<dyn Surroundings>,
    /// What the model has been told beside what is said.
    pub(crate) noted: Noted,
    /// The model to go back to after this turn.
    pub(crate) lent: Lent,
    /// What of the items has been laid out for the model already.
    pub(crate) laid_out: prompt::Kept,
    pub(crate) books: Books,
    pub(crate) limits: Limits,
    pub(crate) room: Room,
    /// What is shown beside the conversation.
    pub(crate) beside: Beside,
    pub(crate) previews: Previews,
    pub(crate) backoff: Duration,
    pub(crate) clock: fn() -> Time,
    pub(crate) events: mpsc::Sender<Event>,
    /// The reply that is arriving.
    pub(crate) live: Option<Live>,
    /// The tools at work.
    pub(crate) running: JoinSet<Finished>,
    /// Calls that have started and whose results are not kept yet.
    pub(crate) started: HashMap<CallId, Started>,
    /// Results that are not kept yet.
    pub(crate) unkept: VecDeque<Finished>,
    /// The prompt for which a title is still to be asked.
    pub(crate) untitled: Option<String>,
    /// A title that is on its way.
    pub(crate) titling: Option<JoinHandle<Titled>>,
    /// Where tools report the requests that they make themselves.
    pub(crate) spending: Spending,
    /// Changes of calls that were stopped.
    pub(crate) reported: Reported,
    /// Requests of tools that are not counted yet.
    spent: mpsc::UnboundedReceiver<Spent>,
    /// The write of the newest item, while it is under way.
    pending: Option<Shared<Receipt>>,
    /// What it takes together with its subtasks and those above it.
    pub(crate) tally: Arc<Tally>,
    /// As many requests as it may make in a turn by itself.
    pub(crate) own_steps: Option<u32>,
    /// How deep below the first session it stands.
    pub(crate) depth: u32,
    /// Its subtasks that are at work.
    pub(crate) children: Arc<Children>,
    /// Requests of subtasks that are not counted yet.
    requests: mpsc::UnboundedReceiver<Counted>,
    pub(crate) root: PathBuf,
    pub(crate) notices: Notices,
    /// The list of things to do.
    pub(crate) todos: Vec<Todo>,
    /// What the newest result brings with it.
    owed: Owed,
    /// What the model said when it declared its work done.
    pub(crate) last_words: Option<String>,
    /// What is to be told as soon as there is room.
    pub(crate) untold: VecDeque<Event>,
    /// How many of the items the front end has been told of.
    told: usize,
}

/// Which tags are calls: those of all tools, by all names that cannot be taken for another markup's.
fn grammar(tools: &tool::Registry) -> prompt::Grammar {
    let mut grammar = prompt::Grammar::default();
    for tool in tools.iter() {
        let spec = tool.spec();
        grammar.add(&spec.name, spec);
        for alias in tools.aliases_of(&spec.name).filter(|alias| alias.contains('_')) {
            grammar.add(alias, spec);
        }
    }
    grammar
}

/// What a result brings with it. It is done when the result is kept, also where the turn is stopped meanwhile.
#[derive(Default)]
struct Owed {
    /// Another list of things to do.
    todos: Option<Vec<Todo>>,
    /// Another mode.
    mode: Option<String>,
}

/// A call that has started.
pub(crate) struct Started {
    /// The item that its result will become.
    pub(crate) item: ItemId,
    /// What it does, in one line for the person.
    pub(crate) title: String,
    /// How far it has come.
    pub(crate) course: Arc<Course>,
}

/// A reply that is arriving.
pub(crate) struct Live {
    pub(crate) draft: Draft,
    pub(crate) reply: Reply,
    pub(crate) attempt: u32,
    pub(crate) at: Time,
    pub(crate) sent: Instant,
    pub(crate) first_chunk: Option<Duration>,
    /// How long the prompt was as it left, where the model says so.
    pub(crate) measured: Option<model::Sent>,
    /// About how many tokens the request has.
    pub(crate) estimated: u64,
    pub(crate) open: Open,
    pub(crate) watching: Watching,
}

impl State {
    pub(crate) fn new(setup: Setup, family: Family, events: mpsc::Sender<Event>) -> Self {
        let frame = Frame {
            tools: setup.tools.specs(),
            system: Vec::new(),
            affinity: Some(setup.session.to_string().into()),
            call: setup.call,
            protocol: prompt::Protocol::default(),
            family: Default::default(),
            budget: None,
        };
        let hooked = Hooked {
            hooks: setup.hooks,
            session: setup.session,
            events: events.clone(),
        };
        let usual_model = Arc::clone(&setup.model);
        let told = setup.items.len();
        let todos = newest_todos(&setup.items);
        let rules = family.rules.unwrap_or_else(|| Rules::new(setup.policy, setup.keeper));
        let (sender, spent) = mpsc::unbounded_channel();
        let mut state = State {
            session: setup.session,
            items: setup.items,
            view: 0,
            totals: setup.totals,
            title: setup.title,
            model: setup.model,
            small: setup.small,
            models: setup.models,
            tools: setup.tools,
            rules,
            mode: setup.mode,
            modes: setup.modes,
            system: setup.system,
            usual_model,
            hooked,
            context: Vec::new(),
            since_asked: Totals::default(),
            approvals: setup.approvals,
            store: setup.store,
            frame,
            grammar: None,
            surroundings: setup.surroundings,
            noted: Noted::default(),
            lent: None,
            laid_out: prompt::Kept::default(),
            books: Books::default(),
            limits: setup.limits,
            room: Room::new(setup.compaction),
            beside: Beside::new(setup.panels),
            previews: setup.previews,
            backoff: setup.backoff,
            clock: setup.clock,
            events,
            live: None,
            running: JoinSet::new(),
            started: HashMap::new(),
            unkept: VecDeque::new(),
            untitled: None,
            titling: None,
            spending: Spending::new(sender),
            reported: Reported::default(),
            spent,
            pending: None,
            tally: family.tally,
            own_steps: family.steps,
            depth: family.depth,
            children: family.children,
            requests: family.requests,
            root: setup.root,
            notices: setup.notices.0,
            todos,
            owed: Owed::default(),
            last_words: None,
            untold: VecDeque::new(),
            told,
        };
        state.render_system();
        state
    }

    /// Renders the system prompt for the mode, the model and the tools as they are now.
    pub(crate) fn render_system(&mut self) {
        // Tools of other programs come and go; what is said about the tools must not change with them.
        let own: Vec<_> = self.tools.deferred().filter(|tool| tool.source().is_none()).collect();
        let further: Vec<&str> = own.iter().map(|tool| tool.spec().name.as_str()).collect();
        let rendered = (self.system)(&prompt::Scene {
            mode: &self.mode,
            model: self.model.info(),
            listed: &self.frame.tools,
            further: &further,
        });
        self.frame.system = rendered.blocks;
        self.frame.protocol = prompt::Protocol::of(self.model.info());
        self.grammar = match self.frame.protocol {
            prompt::Protocol::Native => None,
            prompt::Protocol::Xml => Some(Arc::new(grammar(&self.tools))),
        };
        let problems = rendered.problems.into_iter().map(|text| Event::Notice {
            level: Level::Warning,
            text,
        });
        self.untold.extend(problems);
    }

    /// The newest item.
    pub(crate) fn head(&self) -> Option<ItemId> {
        self.items.last().map(|item| item.id)
    }

    pub(crate) async fn tell(&self, event: Event) {
        // A front end that is gone needs no events; the session goes on without it.
        drop(self.events.send(event).await);
    }

    pub(crate) async fn notice(&self, level: Level, text: impl Into<String>) {
        self.tell(Event::Notice {
            level,
            text: text.into(),
        })
        .await;
    }

    /// Adds an item, waits until it is durable, and only then tells of it.
    ///
    /// The write is under way at the first poll: the item counts from then on, even if this future is dropped before it is
    /// durable. [`State::confirm`] then waits in its place.
    pub(crate) async fn append(&mut self, id: ItemId, body: Body) -> Result<(), Error> {
        self.append_heard(id, body, None).await
    }

    /// The same for what may have waited: it waits no longer.
    pub(crate) async fn append_heard(&mut self, id: ItemId, body: Body, heard: Option<WaitingId>) -> Result<(), Error> {
        let item = Arc::new(Item {
            id,
            parent: self.head(),
            at: (self.clock)(),
            body,
        });
        match &item.body {
            Body::Summary { .. } => {
                self.view += 1;
                self.room.forget();
            }
            Body::Panels { fold: Some(fold), .. } if *fold != prompt::fold_in_force(&self.items) => {
                self.view += 1;
                self.room.refolded();
            }
            _ => {}
        }
        let receipt = match heard {
            Some(waiting) => self.store.append_heard(self.session, Arc::clone(&item), waiting),
            None => self.store.append(self.session, Arc::clone(&item)),
        };
        self.pending = Some(receipt.shared());
        self.room.add(&item, self.frame.family);
        self.items.push(item);
        self.confirm().await?;
        self.tell_rest().await;
        Ok(())
    }

    /// Waits until the newest item is durable; one that cannot be kept no longer counts.
    pub(crate) async fn confirm(&mut self) -> Result<(), Error> {
        let Some(receipt) = self.pending.clone() else {
            return Ok(());
        };
        let kept = receipt.await;
        self.pending = None;
        if kept.is_err() {
            self.items.pop();
            self.view += 1;
            self.owed = Owed::default();
        }
        kept
    }

    /// Tells of the items that the front end has not been told of.
    pub(crate) async fn tell_rest(&mut self) {
        while self.told < self.items.len() {
            // Nothing is ticked off before there is room to tell of it: a turn that is stopped here loses nothing.
            let room = self.events.clone().reserve_owned().await;
            let Some(item) = self.items.get(self.told).cloned() else {
                return;
            };
            self.told += 1;
            // A front end that is gone needs no events.
            drop(room.map(|room| room.send(Event::ItemFinished { item })));
        }
    }

    /// Tells what has been put aside to be told.
    pub(crate) async fn tell_untold(&mut self) {
        while !self.untold.is_empty() {
            let room = self.events.clone().reserve_owned().await;
            let Some(event) = self.untold.pop_front() else { return };
            drop(room.map(|room| room.send(event)));
        }
    }

    /// Adds what the person said.
    pub(crate) async fn append_prompt(&mut self, message: Message) -> Result<(), Error> {
        self.append(
            ItemId::new(),
            Body::Prompt {
                message: Arc::new(message),
            },
        )
        .await
    }

    /// Adds what a tool answered, with the files that it changed.
    pub(crate) async fn append_result(&mut self, finished: Finished) -> Result<(), Error> {
        let message = Arc::new(result_message(&finished));
        let id = self
            .started
            .remove(&finished.id)
            .map(|started| started.item)
            .unwrap_or_default();
        if finished.output.next == Next::EndTurn {
            self.last_words = Some(text_of(&finished.output));
        }
        self.owed = Owed {
            todos: finished.output.todos.map(|list| list.into_iter().map(todo).collect()),
            mode: match &finished.output.next {
                Next::SwitchMode(name) => Some(name.clone()),
                Next::GoOn | Next::EndTurn => None,
            },
        };
        let reported = self.reported.take(&finished.id);
        let changes = reported.into_iter().chain(finished.output.changes);
        let changes = changes.map(|change| changed::keep(self.store.as_ref(), change));
        let body = Body::Result {
            message,
            call: finished.id,
            tool: finished.tool,
            title: finished.title,
            summary: finished.output.summary,
            millis: finished.millis,
            changes: changes.collect(),
        };
        let mut kept = self.append(id, body).await;
        if kept.is_ok() {
            kept = self.pay_owed().await;
        }
        self.count_spending().await;
        kept
    }

    /// Does what the newest result brings with it, if that is not done yet.
    pub(crate) async fn pay_owed(&mut self) -> Result<(), Error> {
        if let Some(list) = self.owed.todos.take() {
            self.todos = list.clone();
            self.append(ItemId::new(), Body::Todos { list }).await?;
        }
        if let Some(name) = self.owed.mode.clone() {
            self.switch_mode(&name).await?;
            self.owed.mode = None;
        }
        Ok(())
    }

    /// Adds what happened beside the conversation.
    pub(crate) async fn append_news(&mut self, news: Vec<Notice>) -> Result<(), Error> {
        let told = news.iter().map(|notice| (notice.source.as_str(), notice.text.as_str()));
        let message = Arc::new(prompt::wake(told));
        let sources: Vec<String> = news.into_iter().map(|notice| notice.source).collect();
        let cause = sources.join(", ");
        self.append(ItemId::new(), Body::Wake { message, cause }).await
    }

    /// The list of things to do, as tools see it.
    pub(crate) fn tool_todos(&self) -> Arc<[tool::Todo]> {
        self.todos
            .iter()
            .map(|todo| tool::Todo {
                text: todo.text.clone(),
                status: match todo.status {
                    Status::Pending => tool::Status::Pending,
                    Status::InProgress => tool::Status::InProgress,
                    Status::Completed => tool::Status::Completed,
                    Status::Cancelled => tool::Status::Cancelled,
                },
            })
            .collect()
    }

    /// What a call needs to hand work on.
    pub(crate) fn delegate(&self) -> Delegate {
        Delegate {
            session: self.session,
            root: self.root.clone(),
            depth: self.depth,
            model: Arc::clone(&self.model),
            small: self.small.clone(),
            models: Arc::clone(&self.models),
            modes: self.modes.clone(),
            tools: self.tools.clone(),
            rules: self.rules.clone(),
            mode: self.mode.clone(),
            approvals: self.approvals,
            store: Arc::clone(&self.store),
            system: Arc::clone(&self.system),
            hooks: Arc::clone(&self.hooked.hooks),
            surroundings: Arc::clone(&self.surroundings),
            limits: self.limits,
            compaction: self.room.compaction.clone(),
            call: self.frame.call.clone(),
            previews: self.previews,
            backoff: self.backoff,
            clock: self.clock,
            events: self.events.clone(),
            tally: Arc::clone(&self.tally),
            children: Arc::clone(&self.children),
            notices: self.notices.clone(),
        }
    }

    /// Forgets the reply that is arriving, because its request failed; its tokens are accounted for all the same.
    pub(crate) async fn drop_live(&mut self, error: &model::Error) {
        if let Some(live) = self.live.take() {
            self.store.discard(self.session, live.draft.id);
            self.account(&live, error.to_string());
            self.untold.push_back(Event::ItemDropped { id: live.draft.id });
        }
        self.tell_untold().await;
    }

    /// Enters a request into the ledger.
    pub(crate) fn account(&mut self, live: &Live, outcome: String) {
        let usage = match (live.reply.usage, live.first_chunk) {
            (Some(usage), _) if live.reply.stop.is_some() => usage,
            // The provider's figures come last, or grow: a reply that was cut off is counted by what had arrived.
            (Some(usage), _) => {
                let arrived = estimate(live).output.max(usage.output);
                Usage {
                    output: arrived,
                    estimated: true,
                    ..usage
                }
            }
            (None, Some(_)) => estimate(live),
            (None, None) => Usage::default(),
        };
        if live.reply.stop.is_some() {
            self.room.count(usage.prompt() + usage.output);
            if !usage.estimated {
                self.room.rate.learn(live.estimated, usage.prompt());
            }
        }
        let info = self.model.info();
        let report = prompt::Report {
            usage: &usage,
            sent: live.measured.as_ref(),
            at: (self.clock)().0,
        };
        let (sections, prompt) = self.books.close(&live.open, info, &report, self.store.as_ref());
        self.count(Record {
            id: live.draft.request,
            item: Some(live.draft.id),
            purpose: "turn".into(),
            model: live.draft.model.clone(),
            attempt: live.attempt,
            at: live.at,
            first_chunk: live.first_chunk.map(|after| after.as_millis() as u64),
            total: live.sent.elapsed().as_millis() as u64,
            usage,
            cost: live.reply.cost.or_else(|| info.cost(&usage)),
            outcome,
            sections,
            prompt: Some(prompt),
        });
    }

    /// Counts the requests that tools have made themselves, however those tools have ended.
    pub(crate) async fn count_spending(&mut self) {
        while let Ok(spent) = self.spent.try_recv() {
            self.count_spent(spent);
        }
        // These are in the ledger of their own session already.
        while let Ok(Counted { request, usage, cost }) = self.requests.try_recv() {
            self.add_up(request, usage, cost);
        }
        self.tell_untold().await;
    }

    /// Adds a request to the totals and the ledger. The front end is told with [`State::tell_untold`].
    pub(crate) fn count(&mut self, record: Record) {
        self.tally.pay(record.cost.unwrap_or_default());
        self.add_up(record.id, record.usage, record.cost);
        // The next item that is waited for makes it durable too: writes are kept in order.
        drop(self.store.record(self.session, record));
    }

    fn add_up(&mut self, request: RequestId, usage: Usage, cost: Option<Cost>) {
        self.totals.usage += usage;
        self.totals.cost += cost.unwrap_or_default();
        self.totals.requests += 1;
        self.since_asked.cost += cost.unwrap_or_default();
        self.since_asked.requests += 1;
        self.untold.push_back(Event::Usage {
            request,
            usage,
            cost,
            totals: self.totals,
        });
    }

    /// Gives a new session a plain title at once; a better one is asked for when the first reply begins.
    pub(crate) fn begin_title(&mut self, prompt: String) {
        if self.title.is_some() {
            return;
        }
        let plain = prompt::plain_title(&prompt);
        drop(self.store.title(self.session, plain.clone()));
        self.title = Some(plain);
        self.untitled = Some(prompt);
    }

    /// Asks the small model for a title, once, now that the first reply has begun and nothing is delayed by it.
    pub(crate) fn ask_title(&mut self) {
        if let (Some(prompt), Some(small)) = (self.untitled.take(), self.small.clone()) {
            self.titling = Some(tokio::spawn(title::ask(small, prompt, self.clock)));
        }
    }

    /// Where a call, or the turn itself, gets its permission.
    pub(crate) fn desk(&self, inbox: &Arc<Inbox>, call: Option<CallId>, tool: &str) -> Desk {
        Desk {
            rules: self.rules.clone(),
            mode: self.mode.clone(),
            modes: self.modes.clone(),
            approvals: self.approvals,
            store: Arc::clone(&self.store),
            events: self.events.clone(),
            inbox: Arc::clone(inbox),
            hooked: self.hooked.clone(),
            call,
            tool: tool.to_owned(),
            delegate: None,
            course: Arc::default(),
        }
    }

    /// Goes back to the first so many items.
    pub(crate) fn rewind(&mut self, items: usize) {
        self.items.truncate(items);
        self.room.forget();
        self.view += 1;
        self.told = self.told.min(items);
        self.todos = newest_todos(&self.items);
    }
}

fn text_of(output: &Output) -> String {
    let texts = output.content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Media(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// About how many tokens a request took, for providers that do not say.
fn estimate(live: &Live) -> Usage {
    let said = live.reply.clone().into_message();
    let written: usize = said
        .parts
        .iter()
        .map(|part| match part {
            Part::Text { text, .. } | Part::Thinking { text, .. } => text.len(),
            Part::ToolCall { name, input, .. } => name.len() + input.to_string().len(),
            Part::ToolResult { .. } | Part::Media(_) => 0,
        })
        .sum();
    Usage {
        input: live.estimated,
        output: (written as u64).div_ceil(4),
        estimated: true,
        ..Usage::default()
    }
}
