//! The app: what is known, what is open, and what a key or an event changes. It touches no terminal.

use crate::composer::{Composer, Said};
use crate::house::{House, Later, Opened, Trouble, Which};
use crate::input::Input;
use crate::keys::{Deed, Keys};
use crate::state::{Queued, State};
use crate::theme::Theme;
use crate::view::{Cx, Outcome, View, Wake, Wish};
use crate::views::transcript::Transcript;
use model::Message;
use session::{Command, Delivery, Event, Level};
use std::sync::Arc;

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
    /// Whether the person has asked to leave once already.
    leaving: bool,
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
    /// The end.
    Quit,
}

impl App {
    /// An app without a session yet.
    pub(crate) fn new(house: Arc<dyn House>, theme: Theme) -> Self {
        App {
            house,
            state: State::default(),
            composer: Composer::default(),
            views: Vec::new(),
            theme,
            keys: Keys::default(),
            wake: Wake::default(),
            leaving: false,
        }
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

    /// A session was opened, or could not be.
    pub(crate) fn opened(&mut self, opened: Result<&Opened, Trouble>) -> Vec<Effect> {
        match opened {
            Ok(opened) => {
                self.state.opened(opened);
                let waiting = self.state.queue.iter().map(|queued| {
                    Effect::Send(Command::Prompt {
                        message: queued.message.clone(),
                        delivery: Delivery::Queue,
                    })
                });
                waiting.collect()
            }
            Err(trouble) => {
                self.tell_trouble(&trouble);
                for queued in std::mem::take(&mut self.state.queue) {
                    self.composer.give_back(&queued.message);
                }
                Vec::new()
            }
        }
    }

    /// Something happened in the session.
    pub(crate) fn hear(&mut self, event: &Event) {
        self.state.hear(event);
        let mut views = std::mem::take(&mut self.views);
        for view in &mut views {
            view.hear(event, &self.cx());
        }
        self.views = views;
    }

    /// The person did something.
    pub(crate) fn take(&mut self, input: Input) -> Vec<Effect> {
        self.state.flash = None;
        let leaving = std::mem::take(&mut self.leaving);
        if let Some(effects) = self.for_view(&input) {
            return effects;
        }
        let mut composer = std::mem::take(&mut self.composer);
        let said = composer.handle(input.clone(), &self.cx());
        self.composer = composer;
        match said {
            Said::Nothing => Vec::new(),
            Said::Prompt { message, delivery } => self.say(message, delivery),
            Said::Wish(wish) => self.grant(wish),
            Said::Pass => match input {
                Input::Key(key) => match self.keys.deed(&key) {
                    Some(deed) => self.act(deed, leaving),
                    None => Vec::new(),
                },
                Input::Paste(_) | Input::Focus(_) => Vec::new(),
            },
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

    /// The person says something to the model.
    pub(crate) fn say(&mut self, message: Message, delivery: Delivery) -> Vec<Effect> {
        self.state.queue.push_back(Queued {
            message: message.clone(),
            delivery,
        });
        // What is said before there is a session is sent when there is one.
        match self.state.session {
            Some(_) => vec![Effect::Send(Command::Prompt { message, delivery })],
            None => Vec::new(),
        }
    }

    fn act(&mut self, deed: Deed, leaving: bool) -> Vec<Effect> {
        match deed {
            Deed::Interrupt if self.state.is_working() => vec![Effect::Send(Command::Interrupt)],
            Deed::Interrupt => Vec::new(),
            Deed::Leave if leaving || !self.state.is_working() => vec![Effect::Quit],
            Deed::Leave => {
                self.leaving = true;
                self.state.flash = Some("press again to leave; the turn is then stopped".into());
                Vec::new()
            }
            Deed::Transcript => {
                self.views.push(Box::new(Transcript::default()));
                Vec::new()
            }
            Deed::Suspend => vec![Effect::Suspend],
            Deed::Redraw => vec![Effect::Redraw],
        }
    }

    fn grant(&mut self, wish: Wish) -> Vec<Effect> {
        match wish {
            Wish::Send(command) => return vec![Effect::Send(command)],
            Wish::Open(view) => self.views.push(view),
            Wish::Compose(text) => self.composer.set_text(text),
            Wish::Insert(text) => self.composer.insert(&text),
            Wish::Switch(which) => return vec![Effect::Open(which)],
            Wish::Copy(text) => return vec![Effect::Copy(text)],
            Wish::Tell(text) => self.tell(Level::Info, &text),
            Wish::TellLater(later) => return vec![Effect::TellLater(later)],
            Wish::Editor => return vec![Effect::Editor],
            Wish::Theme(theme) => self.theme = theme,
            Wish::Quit => return vec![Effect::Quit],
        }
        Vec::new()
    }

    /// Tells the person something that stays in the history.
    pub(crate) fn tell(&mut self, level: Level, text: &str) {
        self.state.conversation.notice(level, text);
    }

    /// Tells the person what went wrong.
    pub(crate) fn tell_trouble(&mut self, trouble: &Trouble) {
        let text = match &trouble.hint {
            Some(hint) => format!("{}; {hint}", trouble.what),
            None => trouble.what.clone(),
        };
        self.tell(Level::Warning, &text);
    }
}
