//! The loop: keys, events and signals go to the app, and a frame is drawn when something has changed.

use crate::app::{App, Effect};
use crate::draw;
use crate::house::{Done, House, Opened, Trouble, Which};
use crate::input::{Focus, Input, Reader, Signal};
use crate::keys::Keys;
use crate::screen::{Depth, Reflow, painted};
use crate::terminal::{Terminal, restore_after_fall};
use crate::theme::Theme;
use base64::Engine as _;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use futures::future::{BoxFuture, FutureExt as _, OptionFuture};
use futures::stream::{FuturesUnordered, StreamExt as _};
use model::Message;
use ratatui::layout::Size;
use session::{Command, Delivery, Event, Level, SessionId};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// How often the clock and the sign of life move while a turn runs.
const TICK: Duration = Duration::from_millis(200);
/// How long a session may take to stop.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many events are taken in before keys are looked at again.
const BATCH: usize = 256;

/// What the front end is started with.
pub struct Options {
    /// The session to open.
    pub which: Which,
    /// What is said at once.
    pub prompt: Option<Message>,
    /// Whether a turn that was left unfinished goes on at once.
    pub go_on: bool,
    /// How it looks; by the terminal's background where nobody chose.
    pub theme: Option<Theme>,
    /// Which keys do what.
    pub keys: Keys,
    /// Whether prompts are written with vim's keys.
    pub vim: bool,
    /// How many colours the terminal has.
    pub depth: Depth,
    /// What it does with long rows.
    pub reflow: Reflow,
}

/// How the front end ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The session that was open last.
    pub session: Option<SessionId>,
    /// The command that goes on with it.
    pub resume: Option<String>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
}

/// Runs the front end until the person leaves.
pub async fn run(house: Arc<dyn House>, options: Options) -> io::Result<Ended> {
    let size = window_size()?;
    let _raw = Raw::enter()?;
    let terminal = Terminal::new(io::stdout(), size, options.depth, options.reflow);
    let mut running = Running {
        by_background: options.theme.is_none(),
        app: App::new(
            Arc::clone(&house),
            options.theme.unwrap_or_default(),
            options.keys,
            options.vim,
        ),
        terminal,
        opening: None,
        link: None,
        told: FuturesUnordered::new(),
        branch: None,
        focus: None,
        dirty: true,
        drawn: None,
        quit: None,
        go_on: options.go_on,
    };
    if let Some(message) = options.prompt {
        drop(running.app.say(message, Delivery::Queue));
    }
    running.terminal.set()?;
    running.draw()?;
    running.terminal.ask()?;
    running.open(options.which);
    let ended = running.work().await;
    let reset = running.terminal.reset();
    running.leave().await;
    let signal = ended?;
    // A terminal that is gone cannot be put back.
    if signal.is_none() {
        reset?;
    }
    Ok(Ended {
        session: running.app.state.session,
        resume: running
            .app
            .state
            .session
            // A session in which nothing was said is not kept.
            .filter(|_| !running.app.state.conversation.is_empty())
            .map(|_| running.app.state.facts.resume.clone()),
        signal,
    })
}

/// The terminal without line editing, until this is dropped.
struct Raw;

impl Raw {
    fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore_after_fall();
            before(info);
        }));
        Ok(Raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // There is nothing else to be done about a terminal that is gone.
        drop(disable_raw_mode());
    }
}

/// The ends that are held of a session.
struct Link {
    commands: mpsc::Sender<Command>,
    events: mpsc::Receiver<Event>,
}

struct Running<W: Write> {
    app: App,
    terminal: Terminal<W>,
    opening: Option<BoxFuture<'static, Result<Opened, Trouble>>>,
    link: Option<Link>,
    /// Answers that are told when they are there.
    told: FuturesUnordered<BoxFuture<'static, Result<Done, Trouble>>>,
    /// Which branch is checked out is being found out.
    branch: Option<BoxFuture<'static, Result<Option<String>, Trouble>>>,
    /// Whether the terminal has the focus; absent where it does not say.
    focus: Option<Focus>,
    dirty: bool,
    drawn: Option<Instant>,
    /// The end, and the signal that brought it.
    quit: Option<Option<i32>>,
    /// Whether the theme follows the terminal's background.
    by_background: bool,
    /// Whether a turn that was left unfinished goes on when its session is open.
    go_on: bool,
}

impl<W: Write> Running<W> {
    async fn work(&mut self) -> io::Result<Option<i32>> {
        let mut reader = Reader::stdin()?;
        let mut resized = signal(SignalKind::window_change())?;
        let mut ended = signal(SignalKind::terminate())?;
        let mut hung_up = signal(SignalKind::hangup())?;
        let mut signals = Vec::new();
        let mut events = Vec::with_capacity(BATCH);
        loop {
            if let Some(signal) = self.quit {
                return Ok(signal);
            }
            let wait = self.wait();
            let wake = self.app.wake.clone();
            tokio::select! {
                biased;
                _ = ended.recv() => return Ok(Some(15)),
                _ = hung_up.recv() => return Ok(Some(1)),
                read = reader.next(&mut signals) => {
                    if read.is_none() {
                        return Ok(None);
                    }
                    for signal in signals.drain(..) {
                        self.signal(signal).await?;
                    }
                }
                _ = resized.recv() => {
                    self.terminal.resize(window_size()?)?;
                    self.dirty = true;
                }
                _ = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {
                    self.dirty |= self.app.state.is_working();
                    self.draw_if_due()?;
                }
                Some(opened) = OptionFuture::from(self.opening.as_mut()) => {
                    self.opening = None;
                    self.opened(opened).await;
                }
                Some(branch) = OptionFuture::from(self.branch.as_mut()) => {
                    self.branch = None;
                    self.app.state.branch = branch.unwrap_or_default();
                    self.dirty = true;
                }
                Some(told) = self.told.next(), if !self.told.is_empty() => {
                    match told {
                        Ok(done) => self.done(done).await,
                        Err(trouble) => self.app.tell_trouble(&trouble),
                    }
                    self.dirty = true;
                }
                count = receive(&mut self.link, &mut events) => {
                    if count == 0 {
                        self.link = None;
                        self.app.tell(Level::Warning, "the session has ended");
                    }
                    let before = self.app.before();
                    let heard: Vec<Effect> = events.drain(..).flat_map(|event| self.app.hear(&event)).collect();
                    self.carry_out(heard).await?;
                    if let Some(news) = self.app.news(&before) {
                        self.call(news)?;
                    }
                    self.dirty = true;
                }
                () = wake.woken() => {
                    let effects = self.app.settle();
                    self.carry_out(effects).await?;
                }
            }
            self.draw_if_due()?;
        }
    }

    /// How long until a frame is due; `None` where none is.
    fn wait(&self) -> Option<Duration> {
        let since = self.drawn.map_or(FRAME, |drawn| drawn.elapsed());
        if self.dirty {
            return Some(FRAME.saturating_sub(since));
        }
        self.app.state.is_working().then(|| TICK.saturating_sub(since))
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        let due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
        if self.dirty && due { self.draw() } else { Ok(()) }
    }

    fn draw(&mut self) -> io::Result<()> {
        let size = self.terminal.size();
        match draw::full(&mut self.app, size) {
            Some(frame) => self.terminal.full(&frame.buf, frame.caret)?,
            None => {
                let frame = draw::inline(&mut self.app, size);
                let history = painted(&frame.history, self.terminal.painter());
                self.terminal.inline(&history, &frame.buf, frame.caret)?;
            }
        }
        self.dirty = false;
        self.drawn = Some(Instant::now());
        Ok(())
    }

    /// The terminal sent something.
    async fn signal(&mut self, signal: Signal) -> io::Result<()> {
        match signal {
            Signal::Input(input) => {
                if let Input::Focus(focus) = &input {
                    self.focus = Some(*focus);
                }
                let effects = self.app.take(input);
                self.dirty = true;
                self.carry_out(effects).await
            }
            Signal::Background(r, g, b) => {
                let is_bright = u32::from(r) * 3 + u32::from(g) * 6 + u32::from(b) > 1_275;
                if let (true, true, Some(light)) = (self.by_background, is_bright, Theme::built_in("light")) {
                    self.app.theme = light;
                    self.dirty = true;
                }
                Ok(())
            }
            Signal::KittyFlags(_)
            | Signal::Attributes
            | Signal::Cursor { .. }
            | Signal::Mode { .. }
            | Signal::Graphics => Ok(()),
        }
    }

    /// Calls the person, unless they are looking.
    fn call(&mut self, news: &str) -> io::Result<()> {
        match self.focus {
            Some(Focus::Gained) => Ok(()),
            None => self.terminal.write("\x07"),
            Some(Focus::Lost) => {
                self.app.house.notify("hew", news);
                let notes = format!("\x07\x1b]9;hew: {news}\x1b\\\x1b]777;notify;hew;{news}\x1b\\");
                self.terminal.write(&notes)
            }
        }
    }

    async fn carry_out(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        for effect in effects {
            match effect {
                Effect::Send(command) => self.send(command).await,
                Effect::Open(which) => {
                    self.leave().await;
                    self.app.state.session = None;
                    self.open(which);
                }
                Effect::Suspend => self.suspend()?,
                Effect::Redraw => self.terminal.forget()?,
                Effect::Copy(text) => {
                    let text = base64::engine::general_purpose::STANDARD.encode(text);
                    self.terminal.write(&format!("\x1b]52;c;{text}\x07"))?;
                }
                Effect::Editor => self.edit().await?,
                Effect::TellLater(later) => {
                    let later = later.map(|told| told.map(|told| Done { told, keep: None }));
                    self.told.push(later.boxed());
                }
                Effect::KeepLater(later) => self.told.push(later),
                Effect::Quit => {
                    self.app.composer.flush(&self.app.cx());
                    self.quit = Some(None);
                }
            }
        }
        self.dirty = true;
        Ok(())
    }

    async fn done(&mut self, Done { told, keep }: Done) {
        if let Some(body) = keep {
            self.send(Command::Keep { body: Box::new(body) }).await;
        }
        if !told.is_empty() {
            self.app.tell(Level::Info, &told);
        }
    }

    async fn send(&mut self, command: Command) {
        if let Some(link) = &self.link {
            // A session that is gone says so by its events.
            drop(link.commands.send(command).await);
        }
    }

    fn open(&mut self, which: Which) {
        self.opening = Some(self.app.house.open(which));
    }

    async fn opened(&mut self, opened: Result<Opened, Trouble>) {
        let effects = match &opened {
            Ok(opened) => self.app.opened(Ok(opened)),
            Err(trouble) => self.app.opened(Err(trouble.clone())),
        };
        if let Ok(Opened { commands, events, .. }) = opened {
            self.link = Some(Link { commands, events });
        }
        // Nothing of this touches the terminal.
        drop(self.carry_out(effects).await);
        if std::mem::take(&mut self.go_on) && self.app.state.facts.unfinished {
            self.send(Command::Continue).await;
        }
        self.branch = Some(self.app.house.branch());
    }

    /// Ends the session that is open: what it still says is not waited for longer than it takes to stop.
    async fn leave(&mut self) {
        if let Some(Link { commands, mut events }) = self.link.take() {
            drop(commands.send(Command::Interrupt).await);
            drop(commands.send(Command::Close).await);
            drop(commands);
            let last_words = async { while events.recv().await.is_some() {} };
            // What does not stop by then is ended with the program.
            drop(tokio::time::timeout(PATIENCE, last_words).await);
            self.app.house.close().await;
        }
    }

    /// Hands the terminal back to the shell, and takes it again when the person comes back.
    fn suspend(&mut self) -> io::Result<()> {
        self.terminal.reset()?;
        disable_raw_mode()?;
        let stopped = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
        enable_raw_mode()?;
        self.terminal.set()?;
        self.terminal.resize(window_size()?)?;
        self.dirty = true;
        stopped.map_err(io::Error::from)
    }

    /// Lets the person write in an editor of their own.
    async fn edit(&mut self) -> io::Result<()> {
        self.terminal.reset()?;
        disable_raw_mode()?;
        let edited = self.app.house.edit(self.app.composer.text()).await;
        enable_raw_mode()?;
        self.terminal.set()?;
        self.terminal.resize(window_size()?)?;
        self.dirty = true;
        match edited {
            Ok(text) => self.app.composer.set_text(&text),
            Err(trouble) => self.app.tell_trouble(&trouble),
        }
        Ok(())
    }
}

/// Events of the session; never where there is none.
async fn receive(link: &mut Option<Link>, events: &mut Vec<Event>) -> usize {
    match link {
        Some(link) => link.events.recv_many(events, BATCH).await,
        None => std::future::pending().await,
    }
}

fn window_size() -> io::Result<Size> {
    let (width, height) = crossterm::terminal::size()?;
    Ok(Size::new(width.max(1), height.max(1)))
}
