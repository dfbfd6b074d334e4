//! The session's actor: takes commands one by one, and runs a turn at a time.

use crate::children::{Children, Counted};
use crate::desk::Rules;
use crate::inbox::Inbox;
use crate::room::{self, Made};
use crate::state::State;
use crate::tally::Tally;
use crate::title::Titled;
use crate::waiting::{Held, Spoken};
use crate::wake::{Rail, Wakes};
use crate::{Setup, settle, turn};
use session::{Body, Command, Delivery, Ending, Event, ItemId, Level, Limit, SessionId, Store, Totals};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tool::Notice;

/// How long the end of a session waits for a title that is on its way.
const TITLE_AT_END: Duration = Duration::from_secs(1);
/// How often a session that finishes looks whether anything is still expected.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What tells of things that are still to do.
const TODO_LIST: &str = "todo list";

/// A session between turns.
struct Actor {
    state: State,
    commands: mpsc::Receiver<Command>,
    /// Commands that came while room was made.
    early: VecDeque<Early>,
    inbox: Arc<Inbox>,
    queue: VecDeque<Job>,
    /// What waits in the front end.
    held: Held,
    closing: bool,
    /// To close as soon as nothing is expected any more.
    finishing: bool,
    news: mpsc::Receiver<Notice>,
    wakes: Wakes,
    /// When a turn that failed is tried again.
    retry: Option<Instant>,
}

/// What a session has in common with those above and below it.
pub(crate) struct Family {
    /// How deep below the first session it stands.
    pub(crate) depth: u32,
    /// The rules of the session above.
    pub(crate) rules: Option<Rules>,
    /// What all of them take together.
    pub(crate) tally: Arc<Tally>,
    /// As many requests as this one may make in a turn by itself.
    pub(crate) steps: Option<u32>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) children: Arc<Children>,
    /// The requests of its subtasks.
    pub(crate) requests: mpsc::UnboundedReceiver<Counted>,
}

impl Family {
    /// The family of a session that nobody handed work to.
    pub(crate) fn first(setup: &Setup) -> Self {
        let (children, requests) = Children::new(setup.delegation, setup.agents.clone());
        Family {
            depth: 0,
            rules: None,
            tally: Arc::new(Tally::new(setup.totals.cost)),
            steps: None,
            inbox: Arc::default(),
            children,
            requests,
        }
    }
}

/// What came while room was made.
enum Early {
    Command(Command),
    Prompt(Spoken),
}

/// A turn to run.
enum Job {
    /// What the person said; usually one prompt.
    Prompts(Vec<Spoken>),
    Continue,
    /// The agent goes on by itself; what for is in the inbox, or said already.
    Wake,
}

/// Runs a session until it is closed.
pub(crate) async fn run(
    mut setup: Setup,
    family: Family,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
) {
    let waiting = std::mem::take(&mut setup.waiting);
    let (notices, news) = setup.notices;
    // Only the sending end is for the state.
    setup.notices = (notices, mpsc::channel(1).1);
    let mut actor = Actor {
        wakes: Wakes::new(setup.autonomy, setup.totals),
        inbox: Arc::clone(&family.inbox),
        state: State::new(setup, family, events),
        commands,
        early: VecDeque::new(),
        queue: VecDeque::new(),
        held: Held::default(),
        closing: false,
        finishing: false,
        news,
        retry: None,
    };
    if let Err(error) = settle::crashed(&mut actor.state).await {
        actor.state.notice(Level::Warning, error.to_string()).await;
    }
    if actor.state.mode.model.is_some() {
        let mode = actor.state.mode.clone();
        actor.state.adopt(mode).await;
    }
    actor.state.begin_hooks().await;
    actor.state.tell_waiting(&waiting).await;
    for prompt in waiting {
        actor.inbox.steer(prompt.into());
    }
    while let Some(job) = actor.next().await {
        actor.work(job).await;
    }
    actor.state.children.close().await;
    actor.state.count_spending().await;
    actor.finish_title().await;
    actor.state.room.close().await;
    actor.state.count_spending().await;
    actor.state.end_hooks().await;
    if let Err(error) = actor.state.store.flush().await {
        actor.state.notice(Level::Warning, error.to_string()).await;
    }
}

impl Actor {
    /// The next turn to run; `None` when the session is over.
    async fn next(&mut self) -> Option<Job> {
        loop {
            if let Some(job) = self.queue.pop_front() {
                return Some(job);
            }
            if self.closing {
                return None;
            }
            match self.early.pop_front() {
                Some(Early::Command(command)) => {
                    self.obey(Some(command)).await;
                    continue;
                }
                Some(Early::Prompt(spoken)) => return Some(Job::Prompts(vec![spoken])),
                None => {}
            }
            if self.wakes_now().await {
                return Some(Job::Wake);
            }
            if self.finishing && !self.is_expecting() {
                return None;
            }
            let command = tokio::select! {
                command = self.commands.recv() => command,
                Some(notice) = self.news.recv() => {
                    self.inbox.put_news(notice);
                    continue;
                }
                () = due(self.retry) => {
                    self.retry = None;
                    self.wakes.woken();
                    return Some(Job::Wake);
                }
                // What was expected may be given up without a word.
                () = tokio::time::sleep(LOOK_AGAIN), if self.finishing => continue,
                titled = arrived(&mut self.state.titling) => {
                    self.take_title(titled).await;
                    continue;
                }
            };
            self.obey(command).await;
        }
    }

    /// Does what is commanded between turns.
    async fn obey(&mut self, command: Option<Command>) {
        match command {
            None | Some(Command::Close) => self.closing = true,
            Some(Command::Finish) => self.finishing = true,
            Some(Command::Subtask { session, command }) => self.pass(session, *command).await,
            Some(Command::Prompt { message, .. }) => {
                let spoken = Spoken::later(message, self.state.session, &self.state.store);
                self.queue.push_back(Job::Prompts(vec![spoken]));
            }
            Some(Command::Continue) => self.queue.push_back(Job::Continue),
            Some(Command::Rewind { to }) => self.rewind(to).await,
            Some(Command::Keep { body }) => self.keep(*body).await,
            Some(Command::SetModel { name }) => self.set_model(&name).await,
            Some(Command::SetMode { name }) => self.set_mode(&name).await,
            Some(Command::SetLevel { level }) => self.state.rules.set_level(level),
            Some(Command::Revoke { rule }) => revoke(&self.state.rules, &rule),
            Some(Command::Hold { messages }) => self.held.set(messages, self.state.session, &self.state.store),
            Some(Command::Editor { view }) => self.inbox.set_editor(view),
            Some(Command::Compact { instructions }) => self.compact(instructions).await,
            // Nothing runs that could be stopped, but nothing shall begin by itself either.
            Some(Command::Interrupt) => {
                self.retry = None;
                self.wakes.person_stopped();
            }
            // Nothing waits for an answer.
            Some(Command::Answer { .. }) => {}
        }
    }

    /// Runs one turn, listening to commands meanwhile.
    async fn work(&mut self, job: Job) {
        self.state.tell(Event::TurnStarted).await;
        let first = self.state.items.len();
        self.state.last_words = None;
        if self.state.depth == 0 {
            self.state.tally.begin_turn();
        }
        let by_itself = matches!(job, Job::Wake);
        let spoken = matches!(job, Job::Prompts(_));
        self.state.count_spending().await;
        if !by_itself {
            self.state.since_asked = Totals::default();
        }
        if let Job::Prompts(messages) = job {
            self.retry = None;
            self.wakes.person_spoke(self.state.totals);
            // The turn adds them: hooks and what is mentioned may take a while, and a turn can be stopped.
            for message in messages {
                self.inbox.steer(message);
            }
        }
        let mut ending = self.run_turn().await;
        if let Some(model) = self.state.lent.take() {
            self.state.model = model;
        }
        if let Err(error) = settle::interrupted(&mut self.state).await {
            ending = Ending::Failed {
                hint: error.hint().into(),
                error: error.to_string(),
            };
        }
        self.inbox.forget_questions();
        let undone = matches!(ending, Ending::Failed { .. } | Ending::Limit(_)) && self.state.items.len() == first;
        if let Some(name) = self.inbox.take_mode() {
            self.set_mode(&name).await;
        }
        if spoken && undone {
            // The next turn would get no further.
            let kept = (self.state.session, Arc::clone(&self.state.store));
            give_back(&mut VecDeque::new(), &self.inbox, &self.state.events, &kept).await;
        } else {
            self.take_late_steering();
            self.keep_ending(&ending).await;
        }
        self.state.count_spending().await;
        self.think_of_more(&ending, by_itself);
        let answer = self.answer(first);
        self.state.tell(Event::TurnFinished { ending, answer }).await;
    }

    /// What the model said last in a turn that began with this item.
    fn answer(&mut self, first: usize) -> String {
        if let Some(words) = self.state.last_words.take() {
            return words;
        }
        let items = self.state.items.get(first..).unwrap_or_default();
        let replies = items.iter().rev().filter_map(|item| match &item.body {
            Body::Reply { message, .. } => Some(message.text()),
            Body::Prompt { .. }
            | Body::Result { .. }
            | Body::Summary { .. }
            | Body::Notice { .. }
            | Body::Mode { .. }
            | Body::Wake { .. }
            | Body::Todos { .. }
            | Body::Panels { .. }
            | Body::Restored { .. }
            | Body::Review { .. } => None,
        });
        replies.take(1).next().unwrap_or_default()
    }

    /// Whether the turn that ended is a reason to go on: it failed, or left something undone.
    fn think_of_more(&mut self, ending: &Ending, by_itself: bool) {
        self.retry = self
            .wakes
            .turn_ended(ending, by_itself)
            .map(|wait| Instant::now() + wait);
        if *ending == Ending::Completed
            && let Some(text) = self.wakes.reminder(&self.state.todos)
        {
            let source = TODO_LIST.into();
            self.inbox.put_news(Notice { source, text });
        }
    }

    /// Whether there is news for which the agent goes on by itself. What it may not go on for waits for the next prompt.
    async fn wakes_now(&mut self) -> bool {
        while let Ok(notice) = self.news.try_recv() {
            self.inbox.put_news(notice);
        }
        if !self.inbox.has_fresh_news() {
            return false;
        }
        self.state.count_spending().await;
        let rail = self.wakes.rail(&self.state.items, &self.state.totals);
        let fresh = self.inbox.seen_news();
        let Some(rail) = rail else {
            self.wakes.woken();
            return true;
        };
        for Notice { source, text } in fresh {
            let why = match rail {
                Rail::Off | Rail::Stopped => String::new(),
                rail => format!(" (the agent does not go on by itself: {rail})"),
            };
            let told = match text.split_once('\n') {
                // Its first line tells the model what to do.
                Some((_, list)) if source == TODO_LIST => format!("not done yet{why}:\n{list}"),
                Some(_) | None => format!("{source}: {text}{why}"),
            };
            self.state.notice(Level::Info, told).await;
        }
        false
    }

    /// Whether something may still come for which the agent would go on by itself.
    fn is_expecting(&self) -> bool {
        let may_go_on = self.wakes.rail(&self.state.items, &self.state.totals).is_none();
        self.retry.is_some() || (may_go_on && (self.state.notices.is_expected() || !self.news.is_empty()))
    }

    async fn pass(&mut self, session: SessionId, command: Command) {
        if !self.state.children.pass(session, command) {
            self.state.notice(Level::Warning, no_subtask(session)).await;
        }
    }

    /// What came too late for this turn opens the next one, before anything that was said later.
    fn take_late_steering(&mut self) {
        let late: Vec<Spoken> = std::iter::from_fn(|| self.inbox.next_steering()).collect();
        if late.is_empty() {
            return;
        }
        match self.queue.front_mut() {
            Some(Job::Prompts(messages)) => {
                messages.splice(0..0, late);
            }
            Some(Job::Continue | Job::Wake) | None => self.queue.push_front(Job::Prompts(late)),
        }
    }

    async fn run_turn(&mut self) -> Ending {
        let Actor {
            state,
            commands,
            inbox,
            queue,
            closing,
            finishing,
            news,
            held,
            ..
        } = self;
        let time = state.limits.time;
        let models = Arc::clone(&state.models);
        let events = state.events.clone();
        let rules = state.rules.clone();
        let children = Arc::clone(&state.children);
        let kept = (state.session, Arc::clone(&state.store));
        let mut deaf = false;
        let turn = turn::run(state, inbox);
        tokio::pin!(turn);
        let out_of_time = async move {
            match time {
                Some(limit) => {
                    tokio::time::sleep(limit).await;
                    limit
                }
                None => std::future::pending().await,
            }
        };
        tokio::pin!(out_of_time);
        loop {
            let command = tokio::select! {
                ending = &mut turn => return ending,
                limit = &mut out_of_time => return Ending::Limit(Limit::Time(limit)),
                Some(notice) = news.recv() => {
                    inbox.put_news(notice);
                    continue;
                }
                command = commands.recv(), if !deaf => command,
            };
            let notice = |text: String| Event::Notice {
                level: Level::Warning,
                text,
            };
            match command {
                // Nobody is left who could stop the turn: it runs to its end, and so does the session.
                None => {
                    (deaf, *closing) = (true, true);
                    inbox.nobody_answers();
                    children.nobody_answers();
                }
                Some(Command::Finish) => *finishing = true,
                Some(Command::Subtask { session, command }) => {
                    if !children.pass(session, *command) {
                        drop(events.send(notice(no_subtask(session))).await);
                    }
                }
                Some(Command::Close) => *closing = true,
                Some(Command::Interrupt) => {
                    give_back(queue, inbox, &events, &kept).await;
                    return Ending::Interrupted;
                }
                Some(Command::Prompt { message, delivery }) => {
                    let spoken = Spoken::later(message, kept.0, &kept.1);
                    match delivery {
                        Delivery::Steer => inbox.steer(spoken),
                        Delivery::Queue => queue.push_back(Job::Prompts(vec![spoken])),
                        Delivery::Interrupt => {
                            queue.push_front(Job::Prompts(vec![spoken]));
                            return Ending::Interrupted;
                        }
                    }
                }
                Some(Command::Answer { question, answer }) => inbox.answer(question, answer),
                Some(Command::SetMode { name }) => inbox.set_mode(name),
                Some(Command::SetLevel { level }) => rules.set_level(level),
                Some(Command::Revoke { rule }) => revoke(&rules, &rule),
                Some(Command::Hold { messages }) => held.set(messages, kept.0, &kept.1),
                Some(Command::Editor { view }) => inbox.set_editor(view),
                Some(Command::Compact { instructions }) => inbox.compact(instructions),
                Some(Command::SetModel { name }) => match models(&name) {
                    Ok(model) => inbox.set_model(model),
                    Err(why) => drop(events.send(notice(why)).await),
                },
                Some(Command::Continue) => queue.push_back(Job::Continue),
                Some(Command::Keep { .. }) => {
                    let text = "what was done while a turn is running is not kept; interrupt it first".into();
                    drop(events.send(notice(text)).await);
                }
                Some(Command::Rewind { .. }) => {
                    let text = "a session cannot be rewound while a turn is running; interrupt it first".into();
                    drop(events.send(notice(text)).await);
                }
            }
        }
    }

    /// Keeps how a turn ended where that is not plain from the items themselves.
    async fn keep_ending(&mut self, ending: &Ending) {
        let text = match ending {
            Ending::Completed => return,
            Ending::Interrupted => "The person stopped the turn.".to_string(),
            Ending::MaxTokens => "The model's reply was cut off by its output limit.".to_string(),
            Ending::Refused { detail: Some(detail) } => format!("The model declined: {detail}"),
            Ending::Refused { detail: None } => "The model declined.".to_string(),
            Ending::Limit(limit) => format!("A limit stopped the turn: {limit:?}."),
            Ending::Loop { tool, times } => format!("The model called `{tool}` {times} times with the same result."),
            Ending::Failed { error, .. } => format!("The turn failed: {error}."),
        };
        if let Err(error) = self.state.append(ItemId::new(), Body::Notice { text }).await {
            self.state.notice(Level::Warning, error.to_string()).await;
        }
    }

    /// Keeps what the person did beside the conversation. Nothing else is said in their name.
    async fn keep(&mut self, body: Body) {
        let text = match body {
            Body::Review { .. } | Body::Restored { .. } => match self.state.append(ItemId::new(), body).await {
                Ok(()) => return,
                Err(error) => error.to_string(),
            },
            Body::Prompt { .. }
            | Body::Reply { .. }
            | Body::Result { .. }
            | Body::Summary { .. }
            | Body::Notice { .. }
            | Body::Wake { .. }
            | Body::Mode { .. }
            | Body::Todos { .. }
            | Body::Panels { .. } => "only a review or files put back can be kept by hand".to_string(),
        };
        self.state.notice(Level::Warning, text).await;
    }

    async fn rewind(&mut self, to: ItemId) {
        let Some(place) = self.state.items.iter().position(|item| item.id == to) else {
            self.state
                .notice(Level::Warning, format!("this branch of the session has no item {to}"))
                .await;
            return;
        };
        match self.state.store.rewind(self.state.session, to).await {
            Ok(()) => {
                self.retry = None;
                drop(self.inbox.take_mode());
                self.state.rewind(place + 1);
                self.state.restore_mode().await;
            }
            Err(error) => self.state.notice(Level::Warning, error.to_string()).await,
        }
    }

    /// Makes room between turns, unless the person stops it.
    async fn compact(&mut self, instructions: Option<String>) {
        match self.make_room(instructions).await {
            Some(Ok(Made::Room)) => {}
            Some(Ok(Made::Nothing)) => {
                let text = "there is nothing to summarise yet";
                self.state.notice(Level::Info, text).await;
            }
            Some(Err(error)) => self.state.notice(Level::Warning, error.to_string()).await,
            None => {
                self.state.room.close().await;
                // It may have been stopped while the summary was being kept.
                let settled = settle::interrupted(&mut self.state).await;
                let text = "the conversation was not summarised, because you stopped it";
                self.state.notice(Level::Info, text).await;
                if let Err(error) = settled {
                    self.state.notice(Level::Warning, error.to_string()).await;
                }
            }
        }
    }

    /// Nothing when the person stopped it. Other commands wait until it is done.
    async fn make_room(&mut self, instructions: Option<String>) -> Option<Result<Made, session::Error>> {
        let Actor {
            state, commands, early, ..
        } = self;
        let kept = (state.session, Arc::clone(&state.store));
        let making = room::by_hand(state, instructions);
        tokio::pin!(making);
        let mut deaf = false;
        loop {
            tokio::select! {
                made = &mut making => return Some(made),
                command = commands.recv(), if !deaf => match command {
                    Some(Command::Interrupt) => return None,
                    Some(Command::Prompt { message, .. }) => {
                        early.push_back(Early::Prompt(Spoken::later(message, kept.0, &kept.1)));
                    }
                    Some(command) => early.push_back(Early::Command(command)),
                    None => deaf = true,
                },
            }
        }
    }

    async fn set_mode(&mut self, name: &str) {
        // What was said before no longer counts.
        drop(self.inbox.take_mode());
        if let Err(error) = self.state.switch_mode(name).await {
            self.state.notice(Level::Warning, error.to_string()).await;
        }
    }

    async fn set_model(&mut self, name: &str) {
        match (self.state.models)(name) {
            Ok(model) => self.inbox.set_model(model),
            Err(why) => self.state.notice(Level::Warning, why).await,
        }
    }

    async fn take_title(&mut self, titled: Option<Titled>) {
        let Some(Titled {
            title,
            mut record,
            request,
            info,
        }) = titled
        else {
            return;
        };
        let State {
            books, items, store, ..
        } = &self.state;
        let (sections, prompt) = books.beside(&request, items, &info, &record, store.as_ref());
        (record.sections, record.prompt) = (sections, Some(prompt));
        self.state.count(record);
        self.state.tell_untold().await;
        if let Some(title) = title {
            drop(self.state.store.title(self.state.session, title.clone()));
            self.state.title = Some(title.clone());
            self.state.tell(Event::Titled { title }).await;
        }
    }

    async fn finish_title(&mut self) {
        if self.state.titling.is_none() {
            return;
        }
        if let Ok(titled) = tokio::time::timeout(TITLE_AT_END, arrived(&mut self.state.titling)).await {
            self.take_title(titled).await;
        }
    }
}

/// Takes back an answer; a rule that cannot be read was never granted.
fn revoke(rules: &Rules, rule: &str) {
    if let Ok(rule) = rule.parse() {
        rules.revoke(&rule);
    }
}

/// Gives prompts that were still waiting back to the person.
async fn give_back(
    queue: &mut VecDeque<Job>,
    inbox: &Inbox,
    events: &mpsc::Sender<Event>,
    (session, store): &(SessionId, Arc<dyn Store>),
) {
    let mut waiting: Vec<Spoken> = std::iter::from_fn(|| inbox.next_steering()).collect();
    for job in queue.drain(..) {
        match job {
            Job::Prompts(prompts) => waiting.extend(prompts),
            Job::Continue | Job::Wake => {}
        }
    }
    for spoken in waiting {
        let text = format!("not sent, because the turn was stopped: {}", spoken.message.text());
        let level = Level::Info;
        drop(events.send(Event::Notice { level, text }).await);
        // Only now: until the person has it back, it waits.
        spoken.forget(*session, store);
    }
}

fn no_subtask(session: SessionId) -> String {
    format!("no subtask {session} is at work")
}

/// Waits until it is time; for ever when there is none.
async fn due(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits for a title that is on its way; for ever when none is.
async fn arrived(titling: &mut Option<JoinHandle<Titled>>) -> Option<Titled> {
    match titling {
        Some(handle) => {
            let titled = handle.await.ok();
            *titling = None;
            titled
        }
        None => std::future::pending().await,
    }
}
