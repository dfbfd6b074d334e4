//! The session's actor: takes commands one by one, and runs a turn at a time.

use crate::inbox::Inbox;
use crate::room::{self, Made};
use crate::state::State;
use crate::title::Titled;
use crate::{Setup, settle, turn};
use model::Message;
use session::{Body, Command, Delivery, Ending, Event, ItemId, Level, Limit};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long the end of a session waits for a title that is on its way.
const TITLE_AT_END: Duration = Duration::from_secs(1);

/// A session between turns.
struct Actor {
    state: State,
    commands: mpsc::Receiver<Command>,
    inbox: Arc<Inbox>,
    queue: VecDeque<Job>,
    closing: bool,
}

/// A turn to run.
enum Job {
    /// What the person said; usually one prompt.
    Prompts(Vec<Message>),
    Continue,
}

/// Runs a session until it is closed.
pub(crate) async fn run(setup: Setup, commands: mpsc::Receiver<Command>, events: mpsc::Sender<Event>) {
    let mut actor = Actor {
        state: State::new(setup, events),
        commands,
        inbox: Arc::default(),
        queue: VecDeque::new(),
        closing: false,
    };
    if let Err(error) = settle::crashed(&mut actor.state).await {
        actor.state.notice(Level::Warning, error.to_string()).await;
    }
    while let Some(job) = actor.next().await {
        actor.work(job).await;
    }
    actor.finish_title().await;
    actor.state.room.close().await;
    actor.state.count_spending().await;
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
            let command = tokio::select! {
                command = self.commands.recv() => command,
                titled = arrived(&mut self.state.titling) => {
                    self.take_title(titled).await;
                    continue;
                }
            };
            match command {
                None | Some(Command::Close) => self.closing = true,
                Some(Command::Prompt { message, .. }) => self.queue.push_back(Job::Prompts(vec![message])),
                Some(Command::Continue) => self.queue.push_back(Job::Continue),
                Some(Command::Rewind { to }) => self.rewind(to).await,
                Some(Command::SetModel { name }) => self.set_model(&name).await,
                Some(Command::SetMode { mode }) => self.inbox.set_mode(mode),
                Some(Command::SetLevel { level }) => self.state.set_level(level),
                Some(Command::Compact { instructions }) => self.compact(instructions).await,
                // Nothing runs that could be stopped or waits for an answer.
                Some(Command::Interrupt | Command::Answer { .. }) => {}
            }
        }
    }

    /// Runs one turn, listening to commands meanwhile.
    async fn work(&mut self, job: Job) {
        self.state.tell(Event::TurnStarted).await;
        let messages = match job {
            Job::Prompts(messages) => messages,
            Job::Continue => Vec::new(),
        };
        for message in messages {
            let text = message.text();
            if !prompt::mentions(&text).is_empty() {
                // Looking things up may take a while: the turn does it, because a turn can be stopped.
                self.inbox.steer(message);
                self.begin_title(text);
                continue;
            }
            if let Err(error) = self.state.append_prompt(message).await {
                let ending = Ending::Failed {
                    hint: error.hint().into(),
                    error: error.to_string(),
                };
                self.state.tell(Event::TurnFinished { ending }).await;
                return;
            }
            self.begin_title(text);
        }
        let mut ending = self.run_turn().await;
        if let Err(error) = settle::interrupted(&mut self.state).await {
            ending = Ending::Failed {
                hint: error.hint().into(),
                error: error.to_string(),
            };
        }
        self.inbox.forget_questions();
        self.take_late_steering();
        self.keep_ending(&ending).await;
        self.state.count_spending().await;
        self.state.tell(Event::TurnFinished { ending }).await;
    }

    /// What came too late for this turn opens the next one, before anything that was said later.
    fn take_late_steering(&mut self) {
        let late: Vec<Message> = std::iter::from_fn(|| self.inbox.next_steering()).collect();
        if late.is_empty() {
            return;
        }
        match self.queue.front_mut() {
            Some(Job::Prompts(messages)) => {
                messages.splice(0..0, late);
            }
            Some(Job::Continue) | None => self.queue.push_front(Job::Prompts(late)),
        }
    }

    async fn run_turn(&mut self) -> Ending {
        let Actor {
            state,
            commands,
            inbox,
            queue,
            closing,
            ..
        } = self;
        let time = state.limits.time;
        let models = Arc::clone(&state.models);
        let events = state.events.clone();
        let rules = Arc::clone(&state.policy);
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
                }
                Some(Command::Close) => *closing = true,
                Some(Command::Interrupt) => {
                    give_back(queue, inbox, &events).await;
                    return Ending::Interrupted;
                }
                Some(Command::Prompt { message, delivery }) => match delivery {
                    Delivery::Steer => inbox.steer(message),
                    Delivery::Queue => queue.push_back(Job::Prompts(vec![message])),
                    Delivery::Interrupt => {
                        queue.push_front(Job::Prompts(vec![message]));
                        return Ending::Interrupted;
                    }
                },
                Some(Command::Answer { question, answer }) => inbox.answer(question, answer),
                Some(Command::SetMode { mode }) => inbox.set_mode(mode),
                Some(Command::Compact { instructions }) => inbox.compact(instructions),
                Some(Command::SetLevel { level }) => rules.lock().unwrap_or_else(PoisonError::into_inner).level = level,
                Some(Command::SetModel { name }) => match models(&name) {
                    Ok(model) => inbox.set_model(model),
                    Err(why) => drop(events.send(notice(why)).await),
                },
                Some(Command::Continue) => queue.push_back(Job::Continue),
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

    async fn rewind(&mut self, to: ItemId) {
        let Some(place) = self.state.items.iter().position(|item| item.id == to) else {
            self.state
                .notice(Level::Warning, format!("this branch of the session has no item {to}"))
                .await;
            return;
        };
        match self.state.store.rewind(self.state.session, to).await {
            Ok(()) => self.state.rewind(place + 1),
            Err(error) => self.state.notice(Level::Warning, error.to_string()).await,
        }
    }

    /// Makes room between turns.
    async fn compact(&mut self, instructions: Option<String>) {
        match room::by_hand(&mut self.state, instructions).await {
            Ok(Made::Room) => {}
            Ok(Made::Nothing) => {
                let text = "there is nothing to summarise yet";
                self.state.notice(Level::Info, text).await;
            }
            Err(error) => self.state.notice(Level::Warning, error.to_string()).await,
        }
    }

    async fn set_model(&mut self, name: &str) {
        match (self.state.models)(name) {
            Ok(model) => self.inbox.set_model(model),
            Err(why) => self.state.notice(Level::Warning, why).await,
        }
    }

    /// Gives a new session a plain title at once; a better one is asked for when the first reply begins.
    fn begin_title(&mut self, prompt: String) {
        if self.state.title.is_some() {
            return;
        }
        let plain = prompt::plain_title(&prompt);
        drop(self.state.store.title(self.state.session, plain.clone()));
        self.state.title = Some(plain);
        self.state.untitled = Some(prompt);
    }

    async fn take_title(&mut self, titled: Option<Titled>) {
        let Some(Titled { title, record }) = titled else { return };
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

/// Gives prompts that were still waiting back to the person.
async fn give_back(queue: &mut VecDeque<Job>, inbox: &Inbox, events: &mpsc::Sender<Event>) {
    let mut waiting: Vec<Message> = std::iter::from_fn(|| inbox.next_steering()).collect();
    for job in queue.drain(..) {
        match job {
            Job::Prompts(messages) => waiting.extend(messages),
            Job::Continue => {}
        }
    }
    for message in waiting {
        let text = format!("not sent, because the turn was stopped: {}", message.text());
        drop(
            events
                .send(Event::Notice {
                    level: Level::Info,
                    text,
                })
                .await,
        );
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
