//! The loop: keys, events and signals go to the app, and a frame is drawn when something has changed.

mod asking;

use crate::app::{App, Effect, News};
use crate::draw;
use crate::house::{Done, House, Later, Opened, Trouble, Which};
use crate::input::{Focus, Input, Reader, Signal};
use crate::keys::Keys;
use crate::screen::{Depth, Drawn, Painter, Pictures, Reflow, Rest, Whole, painted};
use crate::terminal::{Terminal, restore_after_fall};
use crate::theme::Theme;
use asking::{ANSWER, Asking};
use base64::Engine as _;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use futures::future::{BoxFuture, FutureExt as _, OptionFuture};
use futures::stream::{FuturesUnordered, StreamExt as _};
use model::Message;
use ratatui::layout::Size;
use session::{Command, Delivery, Delta, Event, Level, SessionId};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// How often the clock and the sign of life move while a turn runs.
const TICK: Duration = Duration::from_millis(200);
/// So long after a resize another one is reckoned with: people drag, and terminals tell of it late.
const SETTLE: Duration = Duration::from_millis(400);
/// So long a terminal may take to tell of a resize when it tells at once.
const LATE: Duration = Duration::from_millis(100);
/// How long a session may take to stop.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many events are taken from the session at once.
const BATCH: usize = 256;
/// How much text is taken in before it is drawn and keys are looked at again: what came too fast waits.
const PORTION: usize = 32 << 10;

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
    /// How it shows images.
    pub pictures: Pictures,
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
    /// Why no session could be opened, where it ended because of that.
    pub trouble: Option<Trouble>,
    /// Whether the person wants to watch the demonstration instead.
    pub demo: bool,
}

/// Runs the front end until the person leaves.
pub async fn run(house: Arc<dyn House>, options: Options) -> io::Result<Ended> {
    let size = window_size()?;
    let raw = Raw::enter()?;
    let painter = Painter {
        depth: options.depth,
        ..Painter::default()
    };
    let terminal = Terminal::new(Whole, size, painter, options.reflow);
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
        heard: 0,
        drawn: None,
        resized: None,
        asking: Asking::default(),
        quit: None,
        demo: false,
        left: None,
        failed: None,
        go_on: options.go_on,
    };
    if let Some(message) = options.prompt {
        drop(running.app.say(message, Delivery::Queue));
    }
    let ended = AssertUnwindSafe(running.work(options.which, options.pictures))
        .catch_unwind()
        .await;
    // However it ended, what was written is kept and the terminal is put back before anything else is tried.
    running.app.composer.flush(&running.app.cx());
    let reset = running.terminal.reset();
    let words = raw.leave();
    let ended = ended.unwrap_or_else(|fall| {
        // There is nobody else to tell.
        drop(io::stderr().write_all(words.as_bytes()));
        resume_unwind(fall)
    });
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
            .filter(|_| running.app.state.conversation.was_said())
            .map(|_| running.app.state.facts.resume.clone()),
        signal,
        trouble: running.failed.filter(|_| running.app.state.session.is_none()),
        demo: running.demo,
    })
}

/// The terminal without line editing, and nobody else's words on it, until this is dropped.
struct Raw {
    /// What was said about the last fall. Most are not this program's end: a tool that falls ends alone, and its call tells so.
    words: Arc<Mutex<String>>,
}

impl Raw {
    fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        let words = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&words);
        std::panic::set_hook(Box::new(move |info| {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = format!("{info}\n");
        }));
        Ok(Raw { words })
    }

    /// Puts the terminal back; what was said about the last fall.
    fn leave(self) -> String {
        std::mem::take(&mut self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if std::thread::panicking() {
            restore_after_fall();
        } else {
            drop(std::panic::take_hook());
        }
        // There is nothing else to be done about a terminal that is gone.
        drop(disable_raw_mode());
    }
}

/// What somebody came back with.
enum Come {
    /// Something was done.
    Done(Done),
    /// Something is to be sent.
    Command(Command),
    /// Something is known now.
    News(News),
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
    told: FuturesUnordered<Later<Come>>,
    /// Which branch is checked out is being found out.
    branch: Option<BoxFuture<'static, Result<Option<String>, Trouble>>>,
    /// Whether the terminal has the focus; absent where it does not say.
    focus: Option<Focus>,
    dirty: bool,
    /// How much text was taken in since the last frame.
    heard: usize,
    drawn: Option<Instant>,
    /// When the terminal was given another size last.
    resized: Option<Instant>,
    /// Whether the terminal is asked how wide it is.
    asking: Asking,
    /// The end, and the signal that brought it.
    quit: Option<Option<i32>>,
    /// Whether the demonstration comes next.
    demo: bool,
    /// The session that was left for the one that is being opened.
    left: Option<Which>,
    /// Why the last session could not be opened.
    failed: Option<Trouble>,
    /// Whether the theme follows the terminal's background.
    by_background: bool,
    /// Whether a turn that was left unfinished goes on when its session is open.
    go_on: bool,
}

impl<W: Write> Running<W> {
    async fn work(&mut self, which: Which, pictures: Pictures) -> io::Result<Option<i32>> {
        self.terminal.set()?;
        self.draw()?;
        self.terminal.ask(pictures)?;
        self.open(which);
        let mut reader = Reader::stdin()?;
        let mut resized = signal(SignalKind::window_change())?;
        let mut ended = signal(SignalKind::terminate())?;
        let mut hung_up = signal(SignalKind::hangup())?;
        let mut signals = Vec::new();
        let mut events = Vec::with_capacity(BATCH);
        let mut waiting = VecDeque::new();
        loop {
            if let Some(signal) = self.quit {
                return Ok(signal);
            }
            let wait = self.wait();
            let wake = self.app.wake.clone();
            // While the terminal is waited for nothing is drawn, and no more is taken in than can be drawn.
            let is_held = self.terminal.is_searching() || self.asking.is_open();
            let goes_on = !waiting.is_empty() && (self.heard < PORTION || !is_held);
            tokio::select! {
                biased;
                _ = ended.recv() => return Ok(Some(15)),
                _ = hung_up.recv() => return Ok(Some(1)),
                read = reader.next(&mut signals) => {
                    if read.is_none() {
                        return Ok(None);
                    }
                    let is_pressed = |signal: &Signal| matches!(signal, Signal::Input(Input::Key(_) | Input::Paste(_)));
                    let pressed = signals.iter().any(is_pressed);
                    for signal in signals.drain(..) {
                        self.signal(signal).await?;
                    }
                    // Whoever presses a key sees it at once, however much else there is to draw.
                    if pressed && self.quit.is_none() && !self.terminal.is_searching() {
                        self.draw()?;
                    }
                }
                _ = resized.recv() => {
                    self.asking.resized();
                    self.resize(window_size()?)?;
                }
                _ = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {
                    self.dirty |= self.app.state.is_working();
                    self.calm_down()?;
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
                        Ok(come) => self.come(come).await,
                        Err(trouble) => self.app.tell_trouble(&trouble),
                    }
                    self.dirty = true;
                }
                () = wake.woken() => {
                    let effects = self.app.settle();
                    self.carry_out(effects).await?;
                }
                count = receive(&mut self.link, &mut events), if waiting.is_empty() => {
                    if count == 0 {
                        self.link = None;
                        self.app.tell(Level::Warning, "the session has ended");
                    }
                    waiting.extend(events.drain(..));
                    self.dirty = true;
                }
                () = std::future::ready(()), if goes_on => {}
            }
            let amount = self.hear(&mut waiting).await?;
            self.draw_if_due(amount)?;
        }
    }

    /// Takes in what the session told, as much of it as is drawn at once.
    async fn hear(&mut self, waiting: &mut VecDeque<Event>) -> io::Result<Amount> {
        if waiting.is_empty() {
            return Ok(Amount::Little);
        }
        let before = self.app.before();
        let mut effects = Vec::new();
        while self.heard < PORTION
            && let Some(event) = waiting.pop_front()
        {
            self.heard += length(&event);
            effects.extend(self.app.hear(&event));
        }
        self.carry_out(effects).await?;
        if let Some(news) = self.app.news(&before) {
            self.call(news)?;
        }
        self.dirty = true;
        Ok(if self.heard < PORTION {
            Amount::Little
        } else {
            Amount::Much
        })
    }

    /// How long until a frame is due; `None` where none is.
    fn wait(&self) -> Option<Duration> {
        let since = self.drawn.map_or(FRAME, |drawn| drawn.elapsed());
        let resized = self.resized.map_or(SETTLE, |resized| resized.elapsed());
        if self.terminal.is_searching() {
            return Some(ANSWER.saturating_sub(resized));
        }
        if let Some(left) = self.asking.left() {
            return Some(left);
        }
        if self.dirty {
            return Some(FRAME.saturating_sub(since));
        }
        if self.terminal.is_unsettled() {
            return Some(SETTLE.saturating_sub(resized));
        }
        self.app.state.is_working().then(|| TICK.saturating_sub(since))
    }

    /// The terminal has, or may have, another size.
    fn resize(&mut self, size: Size) -> io::Result<()> {
        let drawn = match self.drawn {
            Some(drawn) if drawn.elapsed() < LATE => Drawn::Perhaps,
            Some(_) | None => Drawn::Before,
        };
        self.terminal.resize(size, drawn)?;
        self.resized = Some(Instant::now());
        self.dirty = true;
        Ok(())
    }

    /// The terminal says how wide it is.
    fn is_wide(&mut self, width: u16) -> io::Result<()> {
        if !self.asking.answered() {
            return self.terminal.is_wide(width);
        }
        if self.terminal.is_searching() {
            return Ok(());
        }
        let size = self.terminal.size();
        if width == size.width {
            self.draw()
        } else {
            // It will tell so by itself, later.
            self.resize(Size::new(width.max(1), size.height))
        }
    }

    /// What was waited for after a resize does not come any more.
    fn calm_down(&mut self) -> io::Result<()> {
        let resized = self.resized.map(|resized| resized.elapsed());
        if self.terminal.is_searching() && resized.is_none_or(|resized| resized >= ANSWER) {
            self.terminal.is_silent()?;
        }
        if self.terminal.is_unsettled() && resized.is_none_or(|resized| resized >= SETTLE) {
            let size = window_size()?;
            if size != self.terminal.size() {
                self.asking.was_wrong();
                return self.resize(size);
            }
            self.terminal.settle();
            self.dirty = true;
        }
        if self.asking.gives_up() && !self.terminal.is_searching() {
            self.draw()?;
        }
        Ok(())
    }

    /// Where the cursor waits: at the caret, where input methods look for it, unless a turn runs and the line is empty. The
    /// screen then changes by itself at any moment, and only at the beginning of the region the cursor cannot get lost.
    fn rest(&self) -> Rest {
        if self.app.state.is_working() && !self.app.is_composing() {
            Rest::Top
        } else {
            Rest::Caret
        }
    }

    /// Draws without a key. Where the cursor is at the caret it is asked first whether that is where it was put.
    fn draw_if_due(&mut self, amount: Amount) -> io::Result<()> {
        let is_due = amount == Amount::Much || self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
        if !self.dirty || !is_due || self.terminal.is_searching() || self.asking.is_open() {
            return Ok(());
        }
        if self.terminal.is_away() && self.asking.is_of_use() {
            self.asking.begin();
            return self.terminal.ask_width();
        }
        self.draw()
    }

    fn draw(&mut self) -> io::Result<()> {
        let size = self.terminal.size();
        match draw::full(&mut self.app, size) {
            Some(frame) => self.terminal.full(&frame.buf, frame.caret)?,
            None => {
                let mut frame = draw::inline(&mut self.app, size, self.terminal.live_width());
                let history = painted(&frame.history, self.terminal.painter());
                let rest = self.rest();
                self.terminal.inline(&history, &mut frame.buf, frame.caret, rest)?;
            }
        }
        self.dirty = false;
        self.heard = 0;
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
            Signal::Graphics => {
                self.terminal.shows_pictures();
                Ok(())
            }
            Signal::Size { first, second } => {
                let width = self.asking.width(first, second, self.terminal.size());
                self.is_wide(width)
            }
            Signal::KittyFlags(_) | Signal::Attributes | Signal::Cursor { .. } | Signal::Mode { .. } => Ok(()),
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
                    // One in which nothing was said is not kept: another new one is as good.
                    let was_said = self.app.state.conversation.was_said();
                    self.left = self.app.state.session.map(|id| match was_said {
                        true => Which::Named(id.to_string()),
                        false => Which::New,
                    });
                    self.app.part(&which);
                    if let Some(command) = self.app.held() {
                        self.send(command).await;
                    }
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
                    let later = later.map(|told| told.map(|told| Come::Done(Done { told, keep: None })));
                    self.told.push(later.boxed());
                }
                Effect::KeepLater(later) => self.told.push(later.map(|done| done.map(Come::Done)).boxed()),
                Effect::SendLater(later) => self.told.push(later.map(|command| command.map(Come::Command)).boxed()),
                Effect::LearnLater(later) => self.told.push(later.map(|news| news.map(Come::News)).boxed()),
                Effect::Demo => {
                    self.demo = true;
                    self.quit = Some(None);
                }
                Effect::Quit => self.quit = Some(None),
            }
        }
        if let Some(command) = self.app.held() {
            self.send(command).await;
        }
        self.dirty = true;
        Ok(())
    }

    async fn come(&mut self, come: Come) {
        match come {
            Come::Done(done) => self.done(done).await,
            Come::Command(command) => self.send(command).await,
            Come::News(news) => {
                if let Some(command) = self.app.learn(news) {
                    self.send(command).await;
                }
            }
        }
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
        let effects = match opened {
            Ok(mut opened) => {
                let failed = self.failed.take().map(|trouble| trouble.told());
                opened.told.extend(failed.filter(|_| self.left.is_some()));
                self.left = None;
                let effects = self.app.opened(&opened);
                let Opened { commands, events, .. } = opened;
                self.link = Some(Link { commands, events });
                effects
            }
            Err(trouble) => {
                // Whoever wanted another session goes on with the one they had, and is told why.
                if let (Some(left), None) = (self.left.clone(), &self.failed) {
                    self.failed = Some(trouble);
                    self.app.parting = None;
                    self.open(left);
                    return;
                }
                let effects = self.app.not_opened(&trouble);
                self.failed = Some(trouble);
                effects
            }
        };
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
        self.resize(window_size()?)?;
        stopped.map_err(io::Error::from)
    }

    /// Lets the person write in an editor of their own.
    async fn edit(&mut self) -> io::Result<()> {
        self.terminal.reset()?;
        disable_raw_mode()?;
        let edited = self.app.house.edit(self.app.composer.text()).await;
        enable_raw_mode()?;
        self.terminal.set()?;
        self.resize(window_size()?)?;
        match edited {
            Ok(text) => self.app.composer.set_text(&text),
            Err(trouble) => self.app.tell_trouble(&trouble),
        }
        Ok(())
    }
}

/// How much was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Amount {
    /// Less than is drawn at once.
    Little,
    /// As much as is drawn at once.
    Much,
}

/// How much text an event brings; a little where it brings none.
fn length(event: &Event) -> usize {
    let text = match event {
        Event::ItemDelta { delta, .. } => match delta {
            Delta::Text(text) | Delta::Thinking(text) | Delta::Output(text) => text.len(),
            Delta::Input { json, .. } => json.len(),
            Delta::Call { .. } | Delta::Preview { .. } => 0,
        },
        Event::Subtask { event, .. } => length(event),
        _ => 0,
    };
    text + 32
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

#[cfg(test)]
mod tests;
