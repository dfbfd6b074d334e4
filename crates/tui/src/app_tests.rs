//! Tests of the whole front end on a virtual terminal.

mod approvals;
mod conversation;
mod invariants;
mod key_actions;
mod notices;
mod reflowing_terminal;
mod resize_stress;

use crate::action::AppEffect;
use crate::app::App;
use crate::backend::{OpenedSession, SessionInfo, SessionTarget, UserError};
use crate::draw;
use crate::input::Input;
use crate::keys::KeyChord;
use crate::screen::{AnsiEncoder, CursorRest, DrawTiming, Reflow, encode_rows};
use crate::terminal::TerminalDisplay;
use crate::test_support::FakeBackend;
use crate::theme::Theme;
use model::{Block, CallId, Message, Part, Role, Stop, ToolOutcome};
use ratatui::layout::Size;
use serde_json::Value;
use session::{Body, Event, Item, ItemDelta, ItemId, ItemStart, ReplyEnd, RequestId, SessionId, Time};
use std::num::NonZeroU16;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Scrollback rows.
const SCROLLBACK: usize = 100_000;

/// The front end on a virtual terminal.
pub(crate) struct AppHarness {
    pub(crate) app: App,
    terminal: TerminalDisplay<Vec<u8>>,
    screen: vt100::Parser,
    /// Runtime for background operations, which never complete.
    runtime: tokio::runtime::Runtime,
}

impl AppHarness {
    /// Opens a new session.
    pub(crate) fn open(width: u16, height: u16) -> Self {
        AppHarness::with_items(width, height, Vec::new())
    }

    /// Opens a session with earlier items.
    pub(crate) fn with_items(width: u16, height: u16, items: Vec<Arc<Item>>) -> Self {
        let size = Size::new(width, height);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle().clone();
        let _within = handle.enter();
        let mut ui = AppHarness {
            app: App::new(
                Arc::new(FakeBackend::default()),
                Theme::default(),
                crate::keys::KeyMap::default(),
                false,
            ),
            terminal: TerminalDisplay::new(Vec::new(), size, AnsiEncoder::default(), Reflow::Cuts),
            screen: vt100::Parser::new(nonzero(height), nonzero(width), SCROLLBACK),
            runtime,
        };
        ui.app.session_opened(&opened(items));
        ui
    }

    /// Switches to another session.
    pub(crate) fn switch(&mut self, target: &SessionTarget, items: Vec<Arc<Item>>) -> Vec<AppEffect> {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        self.app.leave_session(target);
        self.app.state.session = None;
        self.app.session_opened(&opened(items))
    }

    /// Reports that no session could be opened.
    pub(crate) fn open_failed(&mut self, error: &UserError) -> Vec<AppEffect> {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        self.app.open_failed(error)
    }

    /// Draws a frame; returns the number of bytes written.
    pub(crate) fn draw(&mut self) -> usize {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        let size = self.terminal.size();
        let before = self.terminal.written().len();
        match draw::draw_full(&mut self.app, size) {
            Some(frame) => self.terminal.draw_full(&frame.buf, frame.caret).unwrap(),
            None => {
                let mut frame = draw::draw_inline(&mut self.app, size, self.terminal.live_width());
                let history = encode_rows(&frame.history, self.terminal.painter());
                self.terminal
                    .draw_inline(&history, &mut frame.buf, frame.caret, CursorRest::Caret)
                    .unwrap();
            }
        }
        let new = self.terminal.written().get(before..).unwrap().to_vec();
        self.screen.process(&new);
        new.len()
    }

    /// Applies a session event.
    pub(crate) fn event(&mut self, event: Event) {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        self.app.handle_event(&event);
    }

    /// Presses keys, named as in the key map.
    pub(crate) fn press(&mut self, keys: &[&str]) -> Vec<AppEffect> {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        let mut effects = Vec::new();
        for key in keys {
            let key = KeyChord::parse(key).unwrap();
            let event = crossterm::event::KeyEvent::new(key.code(), key.modifiers());
            effects.extend(self.app.handle_input(Input::Key(event)));
        }
        effects
    }

    /// Pastes text.
    pub(crate) fn paste(&mut self, text: &str) {
        let handle = self.runtime.handle().clone();
        let _within = handle.enter();
        self.app.handle_input(Input::Paste(text.into()));
    }

    /// Resizes the terminal.
    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        self.screen.screen_mut().set_size(nonzero(height), nonzero(width));
        let before = self.terminal.written().len();
        self.terminal
            .resize(Size::new(width, height), DrawTiming::BeforeResize)
            .unwrap();
        self.terminal.handle_width(width).unwrap();
        self.terminal.mark_stable();
        let new = self.terminal.written().get(before..).unwrap().to_vec();
        self.screen.process(&new);
        self.draw();
    }

    /// The visible screen without trailing blanks.
    pub(crate) fn screen_text(&self) -> String {
        let rows = self
            .screen
            .screen()
            .rows(0, u16::MAX)
            .map(|row| row.trim_end().to_string());
        rows.collect::<Vec<_>>().join("\n").trim_end().to_string()
    }

    /// The scrollback and the visible screen.
    pub(crate) fn all_lines(&mut self) -> Vec<String> {
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

    /// The cursor's row and column.
    pub(crate) fn cursor(&self) -> (u16, u16) {
        self.screen.screen().cursor_position()
    }

    /// Streams a reply in pieces.
    pub(crate) fn stream(&mut self, id: ItemId, pieces: &[&str]) {
        self.event(Event::ItemStarted {
            id,
            kind: ItemStart::Reply,
        });
        for piece in pieces {
            self.event(Event::ItemDelta {
                id,
                delta: ItemDelta::Text((*piece).into()),
            });
        }
    }
}

fn opened(items: Vec<Arc<Item>>) -> OpenedSession {
    let (commands, _) = mpsc::channel(1);
    let (_, events) = mpsc::channel(1);
    OpenedSession {
        id: SessionId::new(),
        commands,
        events,
        items,
        info: SessionInfo {
            model: "anthropic/claude-sonnet-4-6".into(),
            context_window: 200_000,
            mode: "code".into(),
            permission: "workspace".into(),
            sandbox: "writes the project only, no network".into(),
            root: "/project".into(),
            display_path: "/project".into(),
            ..SessionInfo::default()
        },
        notices: Vec::new(),
    }
}

fn nonzero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

/// A stored item.
pub(crate) fn item(body: Body) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(0),
        body,
    })
}

/// A user prompt.
pub(crate) fn prompt(text: &str) -> Arc<Item> {
    item(Body::Prompt {
        message: Arc::new(Message::user(text)),
    })
}

/// A reply with calls.
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
        end: ReplyEnd::Finished(Stop::End),
    })
}

/// A tool result.
pub(crate) fn result(call: &str, tool: &str, title: &str, text: &str, outcome: ToolOutcome) -> Arc<Item> {
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
        exit: None,
        millis: 1_200,
        changes: Vec::new(),
    })
}
