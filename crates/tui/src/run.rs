//! The event loop: passes keys, session events and signals to the app, and draws frames when something changed.

mod background_sessions;
mod raw_mode;
mod width_query;

use crate::action::{AppEffect, AsyncResult};
use crate::app::App;
use crate::backend::{Backend, BackendFuture, OpenedSession, SessionTarget, UserError};
use crate::draw;
use crate::input::{FocusChange, Input, InputReader, TerminalEvent};
use crate::keys::KeyMap;
use crate::screen::{
    AnsiEncoder, ColorDepth, CursorRest, DrawTiming, ImageProtocol, Reflow, UnbufferedStdout, encode_rows,
};
use crate::terminal::{TerminalDisplay, restore_blindly};
use crate::termination::TerminationDeadline;
use crate::theme::Theme;
use background_sessions::{BackgroundSession, SessionChannels, receive_background};
use base64::Engine as _;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use futures::future::{BoxFuture, FutureExt as _, OptionFuture};
use futures::stream::{FuturesUnordered, StreamExt as _};
use model::Message;
use ratatui::layout::Size;
use raw_mode::RawMode;
use session::{Command, Delivery, Event, ItemDelta, NoticeLevel, SessionId};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use width_query::{REPLY_TIMEOUT, WidthQuery};

/// Minimum time between two frames.
const FRAME_INTERVAL: Duration = Duration::from_millis(16);
/// Refresh interval of the clock and the spinner while a turn runs.
const TICK_INTERVAL: Duration = Duration::from_millis(200);
/// Refresh interval of background jobs and messages in the status line.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);
/// After a resize, another one is expected for this time, because users drag and terminals report late.
const RESIZE_SETTLE: Duration = Duration::from_millis(400);
/// Maximum delay of a prompt resize report.
const RESIZE_REPORT_DELAY: Duration = Duration::from_millis(100);
/// Time limit for outstanding replies of the terminal when it is given to another program.
const LAST_REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for a signal that may have ended another program.
const LATE_SIGNAL_TIMEOUT: Duration = Duration::from_millis(300);
/// Maximum time for a session to stop.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of events received from the session in one batch.
const EVENT_BATCH: usize = 256;
/// Maximum text processed before a frame is drawn and keys are read again.
const TEXT_PER_FRAME: usize = 32 << 10;

/// Parameters of the front end.
pub struct Options {
    /// The session to open.
    pub session: SessionTarget,
    /// A prompt to send when the session is open.
    pub prompt: Option<Message>,
    /// Whether to continue an unfinished turn.
    pub continue_turn: bool,
    /// The theme; `None` selects it by the terminal's background.
    pub theme: Option<Theme>,
    /// The key map.
    pub keys: KeyMap,
    /// Whether the composer uses Vim keys.
    pub vim: bool,
    /// Colours that the terminal supports.
    pub depth: ColorDepth,
    /// How the terminal treats long rows when resized.
    pub reflow: Reflow,
    /// The terminal's image protocol.
    pub pictures: ImageProtocol,
}

/// How the front end exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TuiExit {
    /// The last open session.
    pub session: Option<SessionId>,
    /// The command that resumes it.
    pub resume_command: Option<String>,
    /// The signal that terminated the front end.
    pub signal: Option<i32>,
    /// Why no session could be opened.
    pub error: Option<UserError>,
    /// Whether the user chose the demo.
    pub demo: bool,
}

/// Runs the front end until the user quits.
pub async fn run(backend: Arc<dyn Backend>, options: Options) -> io::Result<TuiExit> {
    let size = window_size()?;
    let raw = RawMode::enter()?;
    let painter = AnsiEncoder {
        depth: options.depth,
        ..AnsiEncoder::default()
    };
    let terminal = TerminalDisplay::new(UnbufferedStdout, size, painter, options.reflow);
    let mut event_loop = EventLoop {
        theme_by_background: options.theme.is_none(),
        app: App::new(
            Arc::clone(&backend),
            options.theme.unwrap_or_default(),
            options.keys,
            options.vim,
        ),
        terminal,
        reader: None,
        opening: None,
        channels: None,
        background: Vec::new(),
        pending: FuturesUnordered::new(),
        branch: None,
        focus: None,
        dirty: true,
        processed: 0,
        last_frame: None,
        last_resize: None,
        last_refresh: None,
        width_query: WidthQuery::default(),
        quit: None,
        signals: None,
        demo: false,
        previous: None,
        open_error: None,
        continue_turn: options.continue_turn,
    };
    event_loop.app.depth = options.depth;
    let theme = event_loop.app.theme.clone();
    event_loop.app.use_theme(theme);
    if let Some(message) = options.prompt {
        drop(event_loop.app.submit_prompt(message, Delivery::Queue));
    }
    let deadline = TerminationDeadline::start(restore_blindly);
    let ended = AssertUnwindSafe(event_loop.run(options.session, options.pictures))
        .catch_unwind()
        .await;
    drop(AssertUnwindSafe(event_loop.discard_replies()).catch_unwind().await);
    // However it ended, first save the draft and restore the terminal.
    event_loop.app.composer.flush(&event_loop.app.cx());
    let reset = event_loop.terminal.reset();
    let panic_message = raw.restore();
    let ended = ended.unwrap_or_else(|panic| {
        // There is no other way to report the error.
        drop(io::stderr().write_all(panic_message.as_bytes()));
        resume_unwind(panic)
    });
    event_loop.close_all().await;
    drop(deadline);
    let signal = ended?;
    // A closed terminal cannot be restored.
    if signal.is_none() {
        reset?;
    }
    Ok(TuiExit {
        session: event_loop.app.state.session,
        resume_command: event_loop
            .app
            .state
            .session
            // An empty session is not stored.
            .filter(|_| event_loop.app.state.conversation.has_content())
            .map(|_| event_loop.app.state.info.resume_command.clone()),
        signal,
        error: event_loop.open_error.filter(|_| event_loop.app.state.session.is_none()),
        demo: event_loop.demo,
    })
}

/// Signals that end the program.
struct ExitSignals {
    interrupted: Signal,
    quit: Signal,
    ended: Signal,
    hung_up: Signal,
}

impl ExitSignals {
    fn listen() -> io::Result<Self> {
        Ok(ExitSignals {
            interrupted: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            ended: signal(SignalKind::terminate())?,
            hung_up: signal(SignalKind::hangup())?,
        })
    }

    /// Discards signals of Ctrl-C and Ctrl-\ in another program: they reach every process of the terminal. A signal that
    /// made the program fail may arrive after its end.
    async fn discard_typed(&mut self, has_failed: bool) {
        if has_failed {
            let late = async {
                tokio::select! {
                    _ = self.interrupted.recv() => {}
                    _ = self.quit.recv() => {}
                }
            };
            drop(tokio::time::timeout(LATE_SIGNAL_TIMEOUT, late).await);
        }
        self.interrupted.recv().now_or_never();
        self.quit.recv().now_or_never();
    }

    /// Waits for the next one; returns its number.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupted.recv() => 2,
            _ = self.quit.recv() => 3,
            _ = self.ended.recv() => 15,
            _ = self.hung_up.recv() => 1,
        }
    }
}

struct EventLoop<W: Write> {
    app: App,
    terminal: TerminalDisplay<W>,
    /// The terminal's input; `None` until the loop runs.
    reader: Option<InputReader>,
    opening: Option<BoxFuture<'static, Result<OpenedSession, UserError>>>,
    channels: Option<SessionChannels>,
    /// Sessions that continue while another one is shown.
    background: Vec<BackgroundSession>,
    /// Pending background operations.
    pending: FuturesUnordered<BackendFuture<AsyncResult>>,
    /// Pending query of the Git branch.
    branch: Option<BoxFuture<'static, Result<Option<String>, UserError>>>,
    /// The terminal's focus; `None` if it is not reported.
    focus: Option<FocusChange>,
    dirty: bool,
    /// Bytes of text processed since the last frame.
    processed: usize,
    last_frame: Option<Instant>,
    /// Time of the last resize.
    last_resize: Option<Instant>,
    /// Time of the last refresh.
    last_refresh: Option<Instant>,
    /// Query of the terminal's width.
    width_query: WidthQuery,
    /// Set to quit, with the signal that caused it.
    quit: Option<Option<i32>>,
    /// Signals that end the program; `None` until the loop runs.
    signals: Option<ExitSignals>,
    /// Whether to start the demo after quitting.
    demo: bool,
    /// The previous session, to return to if the new one cannot be opened.
    previous: Option<SessionTarget>,
    /// Why the last session could not be opened.
    open_error: Option<UserError>,
    /// Whether the theme follows the terminal's background.
    theme_by_background: bool,
    /// Whether to continue an unfinished turn when its session is open.
    continue_turn: bool,
}

impl<W: Write> EventLoop<W> {
    async fn run(&mut self, target: SessionTarget, pictures: ImageProtocol) -> io::Result<Option<i32>> {
        // From the first query on, a signal must not end the program before the replies are read.
        self.signals = Some(ExitSignals::listen()?);
        self.terminal.set_modes()?;
        self.draw()?;
        self.terminal.query_features(pictures)?;
        self.open_session(target).await;
        self.reader = Some(InputReader::stdin()?);
        self.process_until_quit().await
    }

    /// Reads outstanding replies of the terminal, which would otherwise appear as input of the next program. Keys pressed
    /// meanwhile are lost.
    async fn discard_replies(&mut self) {
        let mut signals = Vec::new();
        while let Some(deadline) = self.terminal.reply_deadline(LAST_REPLY_TIMEOUT) {
            let read = tokio::time::timeout_at(deadline.into(), read_input(&mut self.reader, &mut signals));
            if !matches!(read.await, Ok(Some(()))) {
                return;
            }
            for signal in signals.drain(..) {
                match signal {
                    TerminalEvent::Size { .. } => {
                        self.terminal.size_reported();
                        self.width_query.accept_reply();
                    }
                    TerminalEvent::Attributes => self.terminal.attributes_reported(),
                    _ => {}
                }
            }
        }
    }

    async fn process_until_quit(&mut self) -> io::Result<Option<i32>> {
        let mut resized = signal(SignalKind::window_change())?;
        let mut signals = Vec::new();
        let mut events = Vec::with_capacity(EVENT_BATCH);
        let mut others = Vec::new();
        let mut waiting = VecDeque::new();
        loop {
            if let Some(signal) = self.quit {
                return Ok(signal);
            }
            let wait = self.time_to_next_frame();
            let redraw = self.app.redraw.clone();
            // While a reply from the terminal is pending, nothing is drawn and no more events are processed than can be
            // drawn.
            let is_blocked = self.terminal.is_cursor_moving() || self.width_query.is_pending();
            let has_backlog = !waiting.is_empty() && (self.processed < TEXT_PER_FRAME || !is_blocked);
            tokio::select! {
                biased;
                Some(number) = OptionFuture::from(self.signals.as_mut().map(ExitSignals::next)) => return Ok(Some(number)),
                read = read_input(&mut self.reader, &mut signals) => {
                    if read.is_none() {
                        return Ok(None);
                    }
                    let is_pressed = |signal: &TerminalEvent| matches!(signal, TerminalEvent::Input(Input::Key(_) | Input::Paste(_)));
                    let pressed = signals.iter().any(is_pressed);
                    for signal in signals.drain(..) {
                        self.handle_terminal_event(signal).await?;
                    }
                    // Keys are echoed immediately, however much else there is to draw.
                    if pressed && self.quit.is_none() && !self.terminal.is_cursor_moving() {
                        self.draw()?;
                    }
                }
                _ = resized.recv() => {
                    self.width_query.resize_reported();
                    self.resize(window_size()?)?;
                }
                _ = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {
                    self.dirty |= self.app.state.is_working();
                    self.refresh();
                    self.handle_timeouts()?;
                }
                Some(opened) = OptionFuture::from(self.opening.as_mut()) => {
                    self.opening = None;
                    self.session_opened(opened).await;
                }
                Some(branch) = OptionFuture::from(self.branch.as_mut()) => {
                    self.branch = None;
                    self.app.state.branch = branch.unwrap_or_default();
                    self.dirty = true;
                }
                Some(result) = self.pending.next(), if !self.pending.is_empty() => {
                    match result.map(|result| self.app.apply_async_result(result)) {
                        Ok(effects) => self.apply_effects(effects).await?,
                        Err(error) => self.app.show_error(&error),
                    }
                    self.dirty = true;
                }
                () = redraw.requested() => {
                    let effects = self.app.apply_results();
                    self.apply_effects(effects).await?;
                }
                count = receive(&mut self.channels, &mut events), if waiting.is_empty() => {
                    if count == 0 {
                        self.channels = None;
                        self.app.show_notice(NoticeLevel::Warning, "the session ended");
                    }
                    waiting.extend(events.drain(..));
                    self.dirty = true;
                }
                index = receive_background(&mut self.background, &mut others), if !self.background.is_empty() => {
                    self.process_background(index, &mut others).await?;
                }
                () = std::future::ready(()), if has_backlog => {}
            }
            self.process_events(&mut waiting).await?;
            self.draw_if_due()?;
        }
    }

    /// Processes session events, up to the amount drawn in one frame.
    async fn process_events(&mut self, waiting: &mut VecDeque<Event>) -> io::Result<()> {
        if waiting.is_empty() {
            return Ok(());
        }
        let before = self.app.baseline();
        let mut effects = Vec::new();
        while self.processed < TEXT_PER_FRAME
            && let Some(event) = waiting.pop_front()
        {
            self.processed += text_length(&event);
            effects.extend(self.app.handle_event(&event));
        }
        self.apply_effects(effects).await?;
        if let Some(message) = self.app.attention_message(&before) {
            self.notify_user(message)?;
        }
        self.dirty = true;
        self.app.refresh();
        Ok(())
    }

    /// Updates what no event reports, at intervals.
    fn refresh(&mut self) {
        if self.last_refresh.is_none_or(|time| time.elapsed() >= REFRESH_INTERVAL) {
            self.last_refresh = Some(Instant::now());
            self.dirty |= self.app.refresh();
        }
    }

    /// Time until the next frame is due; `None` if none is.
    fn time_to_next_frame(&self) -> Option<Duration> {
        let since = self.last_frame.map_or(FRAME_INTERVAL, |drawn| drawn.elapsed());
        let resized = self.last_resize.map_or(RESIZE_SETTLE, |resized| resized.elapsed());
        if self.terminal.is_cursor_moving() {
            return Some(REPLY_TIMEOUT.saturating_sub(resized));
        }
        if let Some(left) = self.width_query.remaining() {
            return Some(left);
        }
        if self.dirty {
            return Some(FRAME_INTERVAL.saturating_sub(since));
        }
        if self.terminal.is_resizing() {
            return Some(RESIZE_SETTLE.saturating_sub(resized));
        }
        if self.app.state.is_working() {
            return Some(TICK_INTERVAL.saturating_sub(since));
        }
        let refreshed = self.last_refresh.map_or(REFRESH_INTERVAL, |time| time.elapsed());
        self.app
            .needs_refresh()
            .then(|| REFRESH_INTERVAL.saturating_sub(refreshed))
    }

    /// Handles a possible size change.
    fn resize(&mut self, size: Size) -> io::Result<()> {
        let drawn = match self.last_frame {
            Some(drawn) if drawn.elapsed() < RESIZE_REPORT_DELAY => DrawTiming::MaybeAfterResize,
            Some(_) | None => DrawTiming::BeforeResize,
        };
        self.terminal.resize(size, drawn)?;
        self.last_resize = Some(Instant::now());
        self.dirty = true;
        Ok(())
    }

    /// Handles the terminal's reply to a width query.
    fn handle_width(&mut self, width: u16) -> io::Result<()> {
        if !self.width_query.accept_reply() {
            return self.terminal.handle_width(width);
        }
        if self.terminal.is_cursor_moving() {
            return Ok(());
        }
        let size = self.terminal.size();
        if width == size.width {
            self.draw()
        } else {
            // The terminal reports the resize itself later.
            self.resize(Size::new(width.max(1), size.height))
        }
    }

    /// Handles timeouts after a resize.
    fn handle_timeouts(&mut self) -> io::Result<()> {
        let resized = self.last_resize.map(|resized| resized.elapsed());
        if self.terminal.is_cursor_moving() && resized.is_none_or(|resized| resized >= REPLY_TIMEOUT) {
            self.terminal.assume_width()?;
        }
        if self.terminal.is_resizing() && resized.is_none_or(|resized| resized >= RESIZE_SETTLE) {
            let size = window_size()?;
            if size != self.terminal.size() {
                self.width_query.distrust();
                return self.resize(size);
            }
            self.terminal.mark_stable();
            self.dirty = true;
        }
        if self.width_query.expire() && !self.terminal.is_cursor_moving() {
            self.draw()?;
        }
        Ok(())
    }

    /// Where the cursor rests: at the caret, where input methods expect it, unless a turn runs and the composer is
    /// empty. Then the screen changes at any time, and the cursor is only safe at the start of the region.
    fn cursor_rest(&self) -> CursorRest {
        if self.app.state.is_working() && !self.app.is_composing() {
            CursorRest::Top
        } else {
            CursorRest::Caret
        }
    }

    /// Draws without a key press. If the cursor is at the caret, the terminal's width is checked first.
    fn draw_if_due(&mut self) -> io::Result<()> {
        let is_due =
            self.processed >= TEXT_PER_FRAME || self.last_frame.is_none_or(|drawn| drawn.elapsed() >= FRAME_INTERVAL);
        if self.quit.is_some()
            || !self.dirty
            || !is_due
            || self.terminal.is_cursor_moving()
            || self.width_query.is_pending()
        {
            return Ok(());
        }
        if self.terminal.is_cursor_at_caret() && self.width_query.is_useful() {
            self.width_query.begin();
            return self.terminal.query_width();
        }
        self.draw()
    }

    fn draw(&mut self) -> io::Result<()> {
        let size = self.terminal.size();
        match draw::draw_full(&mut self.app, size) {
            Some(frame) => self.terminal.draw_full(&frame.buf, frame.caret)?,
            None => {
                let mut frame = draw::draw_inline(&mut self.app, size, self.terminal.live_width());
                let history = encode_rows(&frame.history, self.terminal.painter());
                let rest = self.cursor_rest();
                self.terminal.draw_inline(&history, &mut frame.buf, frame.caret, rest)?;
            }
        }
        self.dirty = false;
        self.processed = 0;
        self.last_frame = Some(Instant::now());
        Ok(())
    }

    /// Handles a terminal event.
    async fn handle_terminal_event(&mut self, signal: TerminalEvent) -> io::Result<()> {
        match signal {
            TerminalEvent::Input(input) => {
                if let Input::Focus(focus) = &input {
                    self.focus = Some(*focus);
                }
                let effects = self.app.handle_input(input);
                self.dirty = true;
                self.apply_effects(effects).await
            }
            TerminalEvent::Background(r, g, b) => {
                let is_bright = u32::from(r) * 3 + u32::from(g) * 6 + u32::from(b) > 1_275;
                if let (true, true, Some(light)) = (self.theme_by_background, is_bright, Theme::built_in("light")) {
                    self.app.use_theme(light);
                    self.dirty = true;
                }
                Ok(())
            }
            TerminalEvent::Graphics => {
                self.terminal.enable_images();
                Ok(())
            }
            TerminalEvent::Size { first, second } => {
                self.terminal.size_reported();
                let width = self.width_query.width(first, second, self.terminal.size());
                self.handle_width(width)
            }
            TerminalEvent::Attributes => {
                self.terminal.attributes_reported();
                Ok(())
            }
            TerminalEvent::KittyFlags(_) | TerminalEvent::Cursor { .. } | TerminalEvent::Mode { .. } => Ok(()),
        }
    }

    /// Notifies the user unless the terminal has the focus.
    fn notify_user(&mut self, message: &str) -> io::Result<()> {
        match self.focus {
            Some(FocusChange::Gained) => Ok(()),
            None => self.terminal.write("\x07"),
            Some(FocusChange::Lost) => {
                let message = &crate::row::sanitise(message).replace(['\n', '\t', ';'], " ");
                self.app.backend.notify("hew", message);
                let sequence = format!("\x07\x1b]9;hew: {message}\x1b\\\x1b]777;notify;hew;{message}\x1b\\");
                self.terminal.write(&sequence)
            }
        }
    }

    async fn apply_effects(&mut self, effects: Vec<AppEffect>) -> io::Result<()> {
        for effect in effects {
            match effect {
                AppEffect::Send(command) => self.send(command).await,
                AppEffect::OpenSession(target) => self.switch_session(target).await,
                AppEffect::Suspend => self.suspend().await?,
                AppEffect::Redraw => self.terminal.redraw()?,
                AppEffect::Copy(text) => {
                    let text = base64::engine::general_purpose::STANDARD.encode(text);
                    self.terminal.write(&format!("\x1b]52;c;{text}\x07"))?;
                }
                AppEffect::OpenEditor => self.edit_prompt().await?,
                AppEffect::EditFile(path) => self.edit_file(path).await?,
                AppEffect::Await(operation) => self.pending.push(operation),
                AppEffect::Demo => {
                    self.demo = true;
                    self.quit = Some(None);
                }
                AppEffect::Quit => self.quit = Some(None),
            }
        }
        if let Some(command) = self.app.held_prompts_command() {
            self.send(command).await;
        }
        self.dirty = true;
        Ok(())
    }

    async fn send(&mut self, command: Command) {
        if let Some(link) = &self.channels {
            // A closed session is reported through its events.
            drop(link.commands.send(command).await);
        }
    }

    /// Suspends the process, and restores the screen when it continues.
    async fn suspend(&mut self) -> io::Result<()> {
        self.discard_replies().await;
        self.terminal.reset()?;
        disable_raw_mode()?;
        let stopped = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
        enable_raw_mode()?;
        self.terminal.set_modes()?;
        self.resize(window_size()?)?;
        stopped.map_err(io::Error::from)
    }

    /// Opens the composer's text in the user's editor.
    async fn edit_prompt(&mut self) -> io::Result<()> {
        let text = self.app.composer.text();
        match self.lend_terminal(self.app.backend.open_editor(text)).await? {
            Ok(text) => self.app.composer.set_text(&text),
            Err(error) => self.app.show_error(&error),
        }
        Ok(())
    }

    /// Opens a file in the user's editor.
    async fn edit_file(&mut self, path: PathBuf) -> io::Result<()> {
        if let Err(error) = self.lend_terminal(self.app.backend.edit_file(path)).await? {
            self.app.show_error(&error);
        }
        Ok(())
    }

    /// Releases the terminal while an operation runs.
    async fn lend_terminal<T>(&mut self, operation: BackendFuture<T>) -> io::Result<Result<T, UserError>> {
        self.discard_replies().await;
        self.terminal.reset()?;
        disable_raw_mode()?;
        let result = operation.await;
        if let Some(signals) = &mut self.signals {
            signals.discard_typed(result.is_err()).await;
        }
        enable_raw_mode()?;
        self.terminal.set_modes()?;
        self.resize(window_size()?)?;
        Ok(result)
    }
}

/// Bytes of text in an event, plus a constant.
fn text_length(event: &Event) -> usize {
    let text = match event {
        Event::ItemDelta { delta, .. } => match delta {
            ItemDelta::Text(text) | ItemDelta::Thinking(text) | ItemDelta::Output(text) => text.len(),
            ItemDelta::Input { json, .. } => json.len(),
            ItemDelta::Call { .. } | ItemDelta::Preview { .. } => 0,
        },
        Event::Subtask { event, .. } => text_length(event),
        _ => 0,
    };
    text + 32
}

/// Reads terminal events; never completes without a reader.
async fn read_input(reader: &mut Option<InputReader>, signals: &mut Vec<TerminalEvent>) -> Option<()> {
    match reader {
        Some(reader) => reader.next(signals).await,
        None => std::future::pending().await,
    }
}

/// Receives session events; never completes without a session.
async fn receive(link: &mut Option<SessionChannels>, events: &mut Vec<Event>) -> usize {
    match link {
        Some(link) => link.events.recv_many(events, EVENT_BATCH).await,
        None => std::future::pending().await,
    }
}

fn window_size() -> io::Result<Size> {
    let (width, height) = crossterm::terminal::size()?;
    Ok(Size::new(width.max(1), height.max(1)))
}

#[cfg(test)]
mod tests;
