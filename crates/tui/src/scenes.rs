//! For tests: the whole front end on a virtual terminal.

mod answers;
mod conversation;
mod deeds;
mod glass;
mod invariants;
mod storm;
mod told;

use crate::app::{App, Effect};
use crate::draw;
use crate::house::{Facts, Opened, Trouble, Which};
use crate::input::Input;
use crate::keys::Key;
use crate::screen::{Drawn, Painter, Reflow, Rest, painted};
use crate::stage::Given;
use crate::terminal::Terminal;
use crate::theme::Theme;
use model::{Block, CallId, Message, Outcome, Part, Role, Stop};
use ratatui::layout::Size;
use serde_json::Value;
use session::{Body, Delta, End, Event, Item, ItemId, ItemKind, RequestId, SessionId, Time};
use std::num::NonZeroU16;
use std::sync::Arc;
use tokio::sync::mpsc;

/// So many rows that have scrolled away are kept.
const SCROLLBACK: usize = 100_000;

/// The whole front end on a virtual terminal.
pub(crate) struct Scene {
    pub(crate) app: App,
    terminal: Terminal<Vec<u8>>,
    screen: vt100::Parser,
    /// Errands are sent here; nobody comes back from one.
    runtime: tokio::runtime::Runtime,
}

impl Scene {
    /// A session that has just been opened.
    pub(crate) fn open(width: u16, height: u16) -> Self {
        Scene::with(width, height, Vec::new())
    }

    /// A session with a past.
    pub(crate) fn with(width: u16, height: u16, items: Vec<Arc<Item>>) -> Self {
        let size = Size::new(width, height);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle().clone();
        let _within = handle.enter();
        let mut scene = Scene {
            app: App::new(
                Arc::new(Given::default()),
                Theme::default(),
                crate::keys::Keys::default(),
                false,
            ),
            terminal: Terminal::new(Vec::new(), size, Painter::default(), Reflow::Cuts),
            screen: vt100::Parser::new(nonzero(height), nonzero(width), SCROLLBACK),
            runtime,
        };
        scene.app.opened(&opened(items));
        scene
    }

    /// The person goes on in another session.
    pub(crate) fn switch(&mut self, which: &Which, items: Vec<Arc<Item>>) -> Vec<Effect> {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        self.app.part(which);
        self.app.state.session = None;
        self.app.opened(&opened(items))
    }

    /// No session could be opened.
    pub(crate) fn troubled(&mut self, trouble: &Trouble) -> Vec<crate::app::Effect> {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        self.app.not_opened(trouble)
    }

    /// Draws a frame; how many bytes it took.
    pub(crate) fn draw(&mut self) -> usize {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        let size = self.terminal.size();
        let before = self.terminal.written().len();
        match draw::full(&mut self.app, size) {
            Some(frame) => self.terminal.full(&frame.buf, frame.caret).unwrap(),
            None => {
                let mut frame = draw::inline(&mut self.app, size, self.terminal.live_width());
                let history = painted(&frame.history, self.terminal.painter());
                self.terminal
                    .inline(&history, &mut frame.buf, frame.caret, Rest::Caret)
                    .unwrap();
            }
        }
        let new = self.terminal.written().get(before..).unwrap().to_vec();
        self.screen.process(&new);
        new.len()
    }

    /// Something happens in the session.
    pub(crate) fn hear(&mut self, event: Event) {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        self.app.hear(&event);
    }

    /// The person presses keys, named as in the key map.
    pub(crate) fn press(&mut self, keys: &[&str]) -> Vec<Effect> {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        let mut effects = Vec::new();
        for key in keys {
            let key = Key::parse(key).unwrap();
            let event = crossterm::event::KeyEvent::new(key.code(), key.modifiers());
            effects.extend(self.app.take(Input::Key(event)));
        }
        effects
    }

    /// The person types.
    pub(crate) fn write(&mut self, text: &str) {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        self.app.take(Input::Paste(text.into()));
    }

    /// The terminal becomes another size.
    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        self.screen.screen_mut().set_size(nonzero(height), nonzero(width));
        let before = self.terminal.written().len();
        self.terminal.resize(Size::new(width, height), Drawn::Before).unwrap();
        self.terminal.is_wide(width).unwrap();
        self.terminal.settle();
        let new = self.terminal.written().get(before..).unwrap().to_vec();
        self.screen.process(&new);
        self.draw();
    }

    /// What can be seen, without the blanks at the ends.
    pub(crate) fn seen(&self) -> String {
        let rows = self
            .screen
            .screen()
            .rows(0, u16::MAX)
            .map(|row| row.trim_end().to_string());
        rows.collect::<Vec<_>>().join("\n").trim_end().to_string()
    }

    /// Everything, what has scrolled away included.
    pub(crate) fn everything(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let screen = self.screen.screen_mut();
        let above = screen.scrollback_len();
        for back in (1..=above).rev() {
            screen.set_scrollback(back);
            lines.extend(screen.rows(0, u16::MAX).next());
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, u16::MAX));
        lines.into_iter().map(|line| line.trim_end().to_string()).collect()
    }

    /// Where the cursor is: the row and the column.
    pub(crate) fn cursor(&self) -> (u16, u16) {
        self.screen.screen().cursor_position()
    }

    /// A reply that streams in pieces.
    pub(crate) fn stream(&mut self, id: ItemId, pieces: &[&str]) {
        self.hear(Event::ItemStarted {
            id,
            kind: ItemKind::Reply,
        });
        for piece in pieces {
            self.hear(Event::ItemDelta {
                id,
                delta: Delta::Text((*piece).into()),
            });
        }
    }
}

fn opened(items: Vec<Arc<Item>>) -> Opened {
    let (commands, _) = mpsc::channel(1);
    let (_, events) = mpsc::channel(1);
    Opened {
        id: SessionId::new(),
        commands,
        events,
        items,
        facts: Facts {
            model: "anthropic/claude-sonnet-4-6".into(),
            window: 200_000,
            mode: "code".into(),
            permission: "workspace".into(),
            sandbox: "writes the project only, no network".into(),
            root: "/project".into(),
            place: "/project".into(),
            ..Facts::default()
        },
        told: Vec::new(),
    }
}

fn nonzero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

/// An item of the past.
pub(crate) fn item(body: Body) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(0),
        body,
    })
}

/// What the person said.
pub(crate) fn prompt(text: &str) -> Arc<Item> {
    item(Body::Prompt {
        message: Arc::new(Message::user(text)),
    })
}

/// What the model said, with calls.
pub(crate) fn reply(text: &str, calls: &[(&str, &str, Value)]) -> Arc<Item> {
    let mut parts = vec![Part::text(text)];
    parts.extend(calls.iter().map(|(id, name, input)| Part::ToolCall {
        id: CallId::from(*id),
        name: (*name).into(),
        input: input.clone(),
        malformed: None,
        replay: None,
    }));
    item(Body::Reply {
        message: Arc::new(Message {
            role: Role::Assistant,
            parts,
        }),
        model: "anthropic/claude-sonnet-4-6".into(),
        request: RequestId::new(),
        end: End::Finished(Stop::End),
    })
}

/// What a tool answered.
pub(crate) fn result(call: &str, tool: &str, title: &str, text: &str, outcome: Outcome) -> Arc<Item> {
    item(Body::Result {
        message: Arc::new(Message {
            role: Role::User,
            parts: vec![Part::ToolResult {
                id: CallId::from(call),
                name: tool.into(),
                content: vec![Block::text(text)],
                outcome,
            }],
        }),
        call: CallId::from(call),
        tool: tool.into(),
        title: title.into(),
        summary: None,
        millis: 1_200,
        changes: Vec::new(),
    })
}
