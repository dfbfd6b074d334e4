//! The app: what is known, what is open, and what a key or an event changes. It touches no terminal.

use crate::approval::{Approval, Taken};
use crate::composer::{Composer, Said};
use crate::house::{Done, House, Later, Opened, Remedy, Trouble, Which};
use crate::input::Input;
use crate::keys::{Context, Deed, Key, Keys, Press};
use crate::state::{Asked, Queued, State};
use crate::theme::Theme;
use crate::view::{Cx, Outcome, View, Wake, Wish};
use crate::views::{self, setup::Setup, transcript::Transcript};
use crossterm::event::{KeyCode, KeyEvent};
use futures::future::FutureExt as _;
use model::Message;
use session::{Answer, Command, Delivery, Ending, Event, Level, SessionId};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Everything but the terminal.
pub(crate) struct App {
    pub(crate) house: Arc<dyn House>,
    pub(crate) state: State,
    pub(crate) composer: Composer,
    /// Views that are open; the last one has the keys.
    pub(crate) views: Vec<Box<dyn View>>,
    pub(crate) theme: Theme,
    pub(crate) keys: Keys,
    pub(crate) wake: Wake,
    /// How far the person has come with the question that is asked.
    pub(crate) approval: Option<Approval>,
    /// Whether the person has asked to leave once already.
    leaving: bool,
    /// When the person pressed Esc last, where nothing was to be stopped.
    escaped: Option<Instant>,
    /// A key that waits for the second one of its pair.
    pending: Option<Key>,
    /// When the person did something last.
    touched: Option<Instant>,
    /// What the session was last told to wait here.
    held: Vec<Message>,
    /// What is to be said when the session that is being opened is there.
    pub(crate) parting: Option<Parting>,
}

/// What is to be said about the session that was open before.
pub(crate) struct Parting {
    words: Vec<String>,
    /// Whether the one that is opened continues it: its past stands in the history already.
    same: bool,
}

/// How things stood before events were heard.
pub(crate) struct Before {
    asked: usize,
    working: Option<Duration>,
}

/// A turn that takes longer is one during which people look elsewhere.
const LONG: Duration = Duration::from_secs(5);

/// Whoever pressed a key so short a time before a question came is perhaps writing still.
const LATELY: Duration = Duration::from_secs(1);

/// Two keys within this time are a double press.
const TWICE: Duration = Duration::from_millis(1_500);

/// Something about the session that was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// It can go on with this model, which takes so many tokens.
    Model {
        /// The model's name.
        name: String,
        /// How many tokens it takes.
        window: u64,
    },
    /// It has another title; what was done, in a sentence.
    Title {
        /// The session.
        session: SessionId,
        /// The title.
        title: String,
        /// What was done.
        told: String,
    },
}

/// What the loop has to do because of a key or an event.
pub(crate) enum Effect {
    /// Something of the session.
    Send(Command),
    /// Another session.
    Open(Which),
    /// The terminal handed back to the shell for a while.
    Suspend,
    /// Everything drawn anew.
    Redraw,
    /// Text written to the clipboard.
    Copy(String),
    /// The composer's text edited in the person's own editor.
    Editor,
    /// An answer that is told when it is there.
    TellLater(Later<String>),
    /// Something that is being done; it is told and kept when it is.
    KeepLater(Later<Done>),
    /// A command that is not known yet.
    SendLater(Later<Command>),
    /// Something that is being found out.
    LearnLater(Later<News>),
    /// The end, and then the demonstration.
    Demo,
    /// The end.
    Quit,
}

impl App {
    /// An app without a session yet.
    pub(crate) fn new(house: Arc<dyn House>, theme: Theme, keys: Keys, vim: bool) -> Self {
        let mut app = App {
            house,
            state: State::default(),
            composer: Composer::default(),
            views: Vec::new(),
            theme,
            keys,
            wake: Wake::default(),
            approval: None,
            leaving: false,
            escaped: None,
            pending: None,
            touched: None,
            held: Vec::new(),
            parting: None,
        };
        app.composer.set_vim(vim);
        app.with_composer(|composer, cx| composer.begin(cx));
        app
    }

    /// What waits here, where that is not as it was last told: the session keeps it, in case this process is killed.
    pub(crate) fn held(&mut self) -> Option<Command> {
        self.state.session?;
        let waiting = self
            .state
            .queue
            .iter()
            .filter(|queued| queued.delivery == Delivery::Queue);
        let messages: Vec<Message> = waiting.map(|queued| queued.message.clone()).collect();
        if messages == self.held {
            return None;
        }
        self.held.clone_from(&messages);
        Some(Command::Hold { messages })
    }

    /// What everything that draws or takes keys may look at.
    pub(crate) fn cx(&self) -> Cx<'_> {
        Cx {
            house: &self.house,
            state: &self.state,
            theme: &self.theme,
            keys: &self.keys,
            wake: &self.wake,
        }
    }

    /// What the person should hear of when they look elsewhere: a question, or the end of a long turn.
    pub(crate) fn news(&self, before: &Before) -> Option<&'static str> {
        if self.state.asked.len() > before.asked {
            return Some("a question waits for you");
        }
        let ended = before.working.is_some_and(|long| long >= LONG) && !self.state.is_working();
        ended.then_some("the turn is over")
    }

    /// Whether the person did something so short a time ago.
    fn is_writing(&self, within: Duration) -> bool {
        self.touched.is_some_and(|touched| touched.elapsed() < within)
    }

    /// Whether the person is in the middle of something that they write or look for.
    pub(crate) fn is_composing(&self) -> bool {
        !self.composer.is_empty() || !self.views.is_empty()
    }

    /// How things stand, to see later what is new.
    pub(crate) fn before(&self) -> Before {
        Before {
            asked: self.state.asked.len(),
            working: self.state.turn.as_ref().map(crate::state::Turn::elapsed),
        }
    }

    /// A session was opened.
    pub(crate) fn opened(&mut self, opened: &Opened) -> Vec<Effect> {
        self.state.opened(opened);
        self.held.clear();
        let parting = self.parting.take();
        if parting.as_ref().is_some_and(|parting| parting.same) {
            self.state.conversation.is_shown();
        }
        for words in parting.into_iter().flat_map(|parting| parting.words) {
            self.tell(Level::Info, &words);
        }
        self.with_composer(|composer, cx| composer.ask_commands(cx));
        let waiting = self.state.queue.iter();
        let prompts = waiting.map(|queued| self.prompt(queued.message.clone(), Delivery::Queue));
        prompts.collect()
    }

    /// No session could be opened. Whoever has no key yet is shown how to begin; else there is nothing to be done here.
    pub(crate) fn not_opened(&mut self, trouble: &Trouble) -> Vec<Effect> {
        match trouble.remedy {
            // What was said meanwhile waits until everything is set up.
            Remedy::Setup => {
                self.views.push(Box::new(Setup::first(&trouble.what)));
                Vec::new()
            }
            Remedy::Unknown => {
                for queued in std::mem::take(&mut self.state.queue) {
                    self.composer.give_back(&queued.message);
                }
                vec![Effect::Quit]
            }
        }
    }

    /// Another session is going to be opened. What waits was meant for this one: it comes back into the line.
    pub(crate) fn part(&mut self, which: &Which) {
        let Some(session) = self.state.session else { return };
        let mut words = Vec::new();
        let waiting = std::mem::take(&mut self.state.queue);
        waiting
            .iter()
            .for_each(|queued| self.composer.give_back(&queued.message));
        if self.state.is_working() {
            words.push("the turn that was running was stopped; its session can be resumed with /sessions".to_owned());
        }
        if !waiting.is_empty() {
            words.push("what was waiting to be said there is in the line again".to_owned());
        }
        let copied = match which {
            Which::Fork { session, upto } => Some((*session, upto.is_none())),
            Which::New | Which::Newest | Which::Named(_) => None,
        };
        if copied.is_some() {
            words.push("this is a copy now; the session it was made from stays as it is".to_owned());
        }
        let same = copied == Some((session, true)) && !self.state.is_working();
        self.parting = Some(Parting { words, same });
    }

    /// Somebody came back from an errand: what they brought is taken in.
    pub(crate) fn settle(&mut self) -> Vec<Effect> {
        let wishes = self.with_composer(|composer, cx| composer.settle(cx));
        wishes.into_iter().flat_map(|wish| self.grant(wish)).collect()
    }

    fn with_composer<T>(&mut self, act: impl FnOnce(&mut Composer, &Cx<'_>) -> T) -> T {
        let mut composer = std::mem::take(&mut self.composer);
        let answer = act(&mut composer, &self.cx());
        self.composer = composer;
        answer
    }

    /// Something happened in the session.
    pub(crate) fn hear(&mut self, event: &Event) -> Vec<Effect> {
        self.state.hear(event);
        let mut views = std::mem::take(&mut self.views);
        for view in &mut views {
            view.hear(event, &self.cx());
        }
        self.views = views;
        self.look_at_question();
        match event {
            // Whoever stops a turn wants to think again: what has not been heard yet comes back into the line.
            Event::TurnFinished {
                ending: Ending::Interrupted,
                ..
            } => {
                let back = std::mem::take(&mut self.state.queue);
                back.iter().for_each(|queued| self.composer.give_back(&queued.message));
                Vec::new()
            }
            Event::TurnFinished { .. } => self.send_queued(),
            _ => Vec::new(),
        }
    }

    /// The question that is asked now is shown.
    fn look_at_question(&mut self) {
        let first = self.state.asked.front();
        let is_same = match (&self.approval, first) {
            (Some(approval), Some(asked)) => approval.is_about(asked),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if is_same {
            return;
        }
        if let Some(text) = self.approval.take().and_then(|approval| approval.editing) {
            self.composer.set_text(&text);
        }
        let (writes, line) = (self.is_writing(LATELY), self.composer.text());
        self.approval = first.map(|asked| Approval::new(asked, writes, &line));
    }

    /// The turn is over: what was queued first is said now.
    fn send_queued(&mut self) -> Vec<Effect> {
        let next = self
            .state
            .queue
            .iter_mut()
            .find(|queued| queued.delivery == Delivery::Queue);
        let Some(queued) = next else { return Vec::new() };
        queued.delivery = Delivery::Steer;
        let message = queued.message.clone();
        vec![self.prompt(message, Delivery::Steer)]
    }

    /// Says something to the model. What begins with a slash may be a prompt of a server, which has to be asked for its words.
    fn prompt(&self, message: Message, delivery: Delivery) -> Effect {
        let is_command = message.text().starts_with('/');
        let command = Command::Prompt { message, delivery };
        if is_command {
            Effect::SendLater(self.house.fill_in(command))
        } else {
            Effect::Send(command)
        }
    }

    /// The person did something.
    pub(crate) fn take(&mut self, input: Input) -> Vec<Effect> {
        let effects = self.obey(input);
        if let Some(approval) = &mut self.approval {
            approval.note(&self.composer.text());
        }
        effects
    }

    fn obey(&mut self, input: Input) -> Vec<Effect> {
        match &input {
            Input::Key(_) | Input::Paste(_) => self.touched = Some(Instant::now()),
            Input::Focus(_) => {}
        }
        self.state.flash = None;
        let leaving = std::mem::take(&mut self.leaving);
        if !matches!(&input, Input::Key(key) if key.code == KeyCode::Esc) {
            self.escaped = None;
        }
        if let Some(effects) = self.for_view(&input) {
            return effects;
        }
        if let Some(effects) = self.for_question(&input) {
            return effects;
        }
        if let (Input::Key(key), true) = (&input, self.pending.is_some()) {
            return match self.keys.press(Context::Composer, *key, &mut self.pending) {
                Press::Deed(deed) => self.act(deed, leaving),
                Press::Waiting | Press::Nothing => Vec::new(),
            };
        }
        let said = self.with_composer(|composer, cx| composer.handle(input.clone(), cx));
        match (said, input) {
            (Said::Pass, Input::Key(key)) => match self.keys.press(Context::Everywhere, key, &mut self.pending) {
                Press::Deed(deed) => self.act(deed, leaving),
                Press::Waiting => self.begins_pair(key),
                Press::Nothing => match self.keys.deed(Context::Conversation, key).and_then(Transcript::moved) {
                    Some(transcript) => {
                        self.views.push(Box::new(transcript));
                        Vec::new()
                    }
                    None => self.begins_pair(key),
                },
            },
            (said, _) => self.said(said),
        }
    }

    /// A key that begins a pair of the composer's own.
    fn begins_pair(&mut self, key: KeyEvent) -> Vec<Effect> {
        match self.pending {
            Some(_) => Vec::new(),
            None => match self.keys.press(Context::Composer, key, &mut self.pending) {
                // A single key was for the composer already.
                Press::Deed(_) | Press::Waiting | Press::Nothing => Vec::new(),
            },
        }
    }

    fn said(&mut self, said: Said) -> Vec<Effect> {
        match said {
            Said::Nothing | Said::Pass => Vec::new(),
            Said::Prompt { message, delivery } => match &self.approval {
                // What was begun before the question came, or is for later, is no answer to it.
                Some(approval) if !approval.is_beside() && delivery != Delivery::Queue => {
                    self.answer_in_words(message.text())
                }
                Some(_) | None => self.say(message, delivery),
            },
            Said::Wish(wish) => self.grant(wish),
            Said::Pull => {
                let last = self
                    .state
                    .queue
                    .iter()
                    .rposition(|queued| queued.delivery == Delivery::Queue);
                if let Some(queued) = last.and_then(|last| self.state.queue.remove(last)) {
                    self.composer.give_back(&queued.message);
                }
                Vec::new()
            }
        }
    }

    /// Hands the input to the view on top; `None` where it is not for it.
    fn for_view(&mut self, input: &Input) -> Option<Vec<Effect>> {
        let mut view = self.views.pop()?;
        match view.handle(input.clone(), &self.cx()) {
            Outcome::Stay => self.views.push(view),
            Outcome::Close => {}
            Outcome::Do(wish) => {
                self.views.push(view);
                return Some(self.grant(wish));
            }
            Outcome::CloseAnd(wish) => return Some(self.grant(wish)),
            Outcome::Pass => {
                self.views.push(view);
                return None;
            }
        }
        Some(Vec::new())
    }

    /// Hands a key to the question that is asked; `None` where it is not for it.
    fn for_question(&mut self, input: &Input) -> Option<Vec<Effect>> {
        let (Input::Key(key), Some(approval)) = (input, &mut self.approval) else {
            return None;
        };
        let asked = self.state.asked.front()?.clone();
        // The second key of a pair, and what a list of the composer waits for, are no answers.
        if self.pending.is_some() || self.composer.is_choosing() {
            return None;
        }
        if approval.editing.is_some() {
            return self.for_edit(*key);
        }
        let line = self.composer.text();
        match approval.take(key, &line, &asked, &self.keys) {
            Taken::Used => Some(Vec::new()),
            Taken::Back => {
                self.with_composer(|composer, cx| composer.empty(cx));
                Some(Vec::new())
            }
            Taken::Answer(answer) => {
                self.with_composer(|composer, cx| composer.empty(cx));
                Some(self.answer(&asked, answer))
            }
            Taken::Edit(text) => {
                approval.editing = Some(String::new());
                self.composer.set_text(&text);
                Some(Vec::new())
            }
            Taken::Pass => None,
        }
    }

    /// A key while a call is changed: it is taken as it is written, whatever it begins with.
    fn for_edit(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        if key.code == KeyCode::Esc {
            let before = self.approval.as_mut().and_then(|approval| approval.editing.take());
            self.composer.set_text(before.unwrap_or_default());
            return Some(Vec::new());
        }
        let sends = self.keys.deed(Context::Composer, key) == Some(Deed::Send);
        let text = self.composer.text();
        if !sends || text.trim().is_empty() {
            return None;
        }
        self.with_composer(|composer, cx| composer.empty(cx));
        Some(self.answer_in_words(text))
    }

    fn answer(&mut self, asked: &Asked, answer: Answer) -> Vec<Effect> {
        self.state.asked.retain(|other| other.question.id != asked.question.id);
        self.look_at_question();
        vec![Effect::Send(asked.answer(answer))]
    }

    /// Words in the composer are an answer while something is asked.
    fn answer_in_words(&mut self, text: String) -> Vec<Effect> {
        let (Some(approval), Some(asked)) = (&self.approval, self.state.asked.front().cloned()) else {
            return Vec::new();
        };
        match approval.words(&asked, text.clone()) {
            Ok(answer) => self.answer(&asked, answer),
            Err(why) => {
                self.composer.set_text(text);
                self.state.flash = Some(why);
                Vec::new()
            }
        }
    }

    /// The person says something to the model.
    pub(crate) fn say(&mut self, message: Message, delivery: Delivery) -> Vec<Effect> {
        // What is queued waits here, so that it can be taken back and changed, and is sent when the turn is over.
        let waits = delivery == Delivery::Queue && self.state.is_working();
        let delivery = if waits { Delivery::Queue } else { Delivery::Steer };
        self.state.queue.push_back(Queued {
            message: message.clone(),
            delivery,
        });
        // What is said before there is a session is sent when there is one.
        match self.state.session {
            Some(_) if !waits => vec![self.prompt(message, delivery)],
            Some(_) | None => Vec::new(),
        }
    }

    fn act(&mut self, deed: Deed, leaving: bool) -> Vec<Effect> {
        match deed {
            Deed::Interrupt if self.state.is_working() => vec![Effect::Send(Command::Interrupt)],
            Deed::Interrupt => self.escape(),
            Deed::Cancel | Deed::Leave if leaving => vec![Effect::Quit],
            Deed::Cancel => self.cancel(),
            Deed::Leave if !self.state.is_working() => vec![Effect::Quit],
            Deed::Leave => self.warn_of_leaving("press again to leave; the turn is then stopped"),
            Deed::Suspend => vec![Effect::Suspend],
            Deed::Redraw => vec![Effect::Redraw],
            Deed::NewSession => vec![Effect::Open(Which::New)],
            Deed::NextMode => vec![Effect::SendLater(self.next_mode())],
            Deed::Copy => self.copy_reply(),
            Deed::UndoTurn => self.restore(self.house.undo()),
            Deed::RedoTurn => self.restore(self.house.redo()),
            deed => match views::open(deed, self.composer.commands(), &self.cx()) {
                Some(view) => {
                    self.views.push(view);
                    Vec::new()
                }
                None => {
                    let said = self.with_composer(|composer, cx| composer.act(deed, cx));
                    self.said(said)
                }
            },
        }
    }

    /// Stops what there is to stop: the turn, else what is being written, else, asked twice, all of it.
    fn cancel(&mut self) -> Vec<Effect> {
        match &mut self.state.turn {
            Some(turn) if turn.stops => self.warn_of_leaving("the turn is being stopped; press again to leave"),
            Some(turn) => {
                turn.stops = true;
                vec![Effect::Send(Command::Interrupt)]
            }
            None if self.composer.is_empty() => self.warn_of_leaving("press again to leave"),
            None => {
                self.with_composer(|composer, cx| composer.clear(cx));
                Vec::new()
            }
        }
    }

    fn warn_of_leaving(&mut self, words: &str) -> Vec<Effect> {
        self.leaving = true;
        self.state.flash = Some(words.into());
        Vec::new()
    }

    /// Esc with nothing to stop: twice in a row leads back to an earlier prompt.
    fn escape(&mut self) -> Vec<Effect> {
        let twice = self.escaped.take().is_some_and(|before| before.elapsed() < TWICE);
        if twice {
            return self.act(Deed::Rewind, false);
        }
        if !self.state.conversation.is_empty() {
            self.escaped = Some(Instant::now());
            self.state.flash = Some("esc again: go back to an earlier prompt".into());
        }
        Vec::new()
    }

    /// The mode after the one in force, around in a circle.
    fn next_mode(&self) -> Later<Command> {
        let (modes, now) = (self.house.modes(), self.state.facts.mode.clone());
        async move {
            let modes = modes.await?;
            let at = modes.iter().position(|mode| mode.name == now);
            let next = at.map_or(0, |at| (at + 1) % modes.len().max(1));
            match modes.into_iter().nth(next) {
                Some(mode) => Ok(Command::SetMode { name: mode.name }),
                None => Err(Trouble::new("there is no other mode")),
            }
        }
        .boxed()
    }

    fn copy_reply(&mut self) -> Vec<Effect> {
        let text = self.state.conversation.last_reply();
        if text.is_empty() {
            self.state.flash = Some("nothing has been said yet".into());
            return Vec::new();
        }
        self.state.flash = Some(format!("copied {} characters", text.chars().count()));
        vec![Effect::Copy(text)]
    }

    /// What goes with a command: another model is asked for when it is known that it can be used.
    fn sent(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::SetModel { name } => {
                let window = self.house.window(name.clone());
                let learn = window.map(|window| window.map(|window| News::Model { name, window }));
                vec![Effect::LearnLater(learn.boxed())]
            }
            command => vec![Effect::Send(command)],
        }
    }

    /// Takes in what was found out; the answer is what is to be sent because of it.
    pub(crate) fn learn(&mut self, news: News) -> Option<Command> {
        match news {
            News::Model { name, window } => {
                self.state.facts.model.clone_from(&name);
                self.state.facts.window = window;
                Some(Command::SetModel { name })
            }
            News::Title { session, title, told } => {
                if self.state.session == Some(session) {
                    self.state.facts.title = Some(title);
                }
                self.tell(Level::Info, &told);
                None
            }
        }
    }

    /// Files are put back between turns only: what a turn still does is not known yet.
    fn restore(&mut self, later: Later<Done>) -> Vec<Effect> {
        if self.state.is_working() {
            self.state.flash = Some("stop the turn first (esc)".into());
            return Vec::new();
        }
        vec![Effect::KeepLater(later)]
    }

    fn grant(&mut self, wish: Wish) -> Vec<Effect> {
        match wish {
            Wish::Send(command) => return self.sent(command),
            Wish::Say(text) => return self.say(Message::user(text), Delivery::Steer),
            Wish::Compose(text) => self.composer.set_text(&text),
            Wish::Insert(text) => self.composer.insert(&text),
            Wish::Switch(which) => return vec![Effect::Open(which)],
            Wish::Copy(text) => return vec![Effect::Copy(text)],
            Wish::Tell(text) => self.tell(Level::Info, &text),
            Wish::Rename(session, title) => {
                let done = self.house.rename(session, title.clone());
                let learn = done.map(move |told| told.map(|told| News::Title { session, title, told }));
                return vec![Effect::LearnLater(learn.boxed())];
            }
            Wish::KeepLater(later) => return vec![Effect::KeepLater(later)],
            Wish::Editor => return vec![Effect::Editor],
            Wish::ThemeNamed(name) => match Theme::find(&name, &self.house.themes()) {
                Ok(theme) => {
                    self.theme = theme;
                    return vec![Effect::TellLater(self.house.set("tui.theme".into(), name))];
                }
                Err(error) => self.state.flash = Some(error.to_string()),
            },
            Wish::Act(deed) => return self.act(deed, false),
            Wish::Flash(text) => self.state.flash = Some(text),
            Wish::All(wishes) => return wishes.into_iter().flat_map(|wish| self.grant(wish)).collect(),
            Wish::Demo => return vec![Effect::Demo],
            Wish::Quit => return vec![Effect::Quit],
        }
        Vec::new()
    }

    #[cfg(test)]
    pub(crate) fn forgo_grace(&mut self) {
        if let Some(approval) = &mut self.approval {
            approval.forgo_grace();
        }
    }

    /// Tells the person something that stays in the history.
    pub(crate) fn tell(&mut self, level: Level, text: &str) {
        self.state.conversation.notice(level, text);
    }

    /// Tells the person what went wrong.
    pub(crate) fn tell_trouble(&mut self, trouble: &Trouble) {
        self.tell(Level::Warning, &trouble.told());
    }
}
