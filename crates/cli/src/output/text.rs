//! Events as text: the answer goes to stdout, everything else to stderr.
//!
//! On a terminal the answer streams and a live line shows what is going on. Elsewhere stdout gets the last answer and
//! nothing more, so that it can be piped on.

use super::call::Call;
use super::closing::{Commands, Done, explain};
use super::json::Finish;
use super::live::{Cursor, Live, Row};
use super::lost::Lost;
use super::paint::{self, Paint};
use super::status::{Doing, Status};
use super::words::{line, tame, took, wrap};
use crate::environment::Environment;
use crate::failure::Failure;
use model::Part;
use session::{Body, Delta, Ending, Event, Item, ItemKind, Level, Question, SessionId, Subject};
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// After this time without a word the live line is shown although the answer's line is still open.
const SILENCE: Duration = Duration::from_secs(1);
/// In fewer columns there is no live line.
const NARROW: usize = 20;

/// What the streams can do and what the person wants to see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Whether the answer is shown while it comes.
    pub(crate) answer: Showing,
    /// How stdout is coloured.
    pub(crate) out: Paint,
    /// How stderr is coloured.
    pub(crate) err: Paint,
    /// Whether there is a live line.
    pub(crate) live: bool,
    /// Whether tool calls and notices are shown.
    pub(crate) quiet: bool,
    /// The terminal's width.
    pub(crate) columns: fn() -> usize,
}

/// When the answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// While it comes.
    Streaming,
    /// When it is complete, and only the last one.
    Last,
}

impl Style {
    /// What fits the streams of this process.
    pub(crate) fn of_process(env: &Environment, quiet: bool, answer: Showing) -> Self {
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let out = Paint::of(&stdout, env);
        let err = Paint::of(&stderr, env);
        Style {
            answer: if stdout.is_terminal() { answer } else { Showing::Last },
            out,
            err,
            live: err == Paint::Colour && !quiet,
            quiet,
            columns: paint::columns,
        }
    }
}

/// Writes events as text.
pub(crate) struct Text {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    style: Style,
    status: Status,
    live: Live,
    done: Done,
    /// Whether the answer's last line is still open.
    open: bool,
    /// When the answer last grew.
    wrote: Instant,
    thinking: String,
    /// The text of the newest reply.
    replied: String,
    /// Subtasks in the order of their first words.
    subtasks: Vec<SessionId>,
    /// Whether a question waits for its answer on the screen.
    asking: bool,
    /// What happened meanwhile, shown after the answer.
    held: VecDeque<Event>,
    lost: Lost,
}

impl Text {
    /// Text for the streams of this process.
    pub(crate) fn of_process(style: Style, model: &str) -> Self {
        Text::new(Box::new(std::io::stdout()), Box::new(std::io::stderr()), style, model)
    }

    /// Text for any streams.
    pub(crate) fn new(out: Box<dyn Write>, err: Box<dyn Write>, style: Style, model: &str) -> Self {
        Text {
            out,
            err,
            style,
            status: Status::new(model),
            live: Live::default(),
            done: Done::default(),
            open: false,
            wrote: Instant::now(),
            thinking: String::new(),
            replied: String::new(),
            subtasks: Vec::new(),
            asking: false,
            held: VecDeque::new(),
            lost: Lost::default(),
        }
    }

    /// Tells of an event. The end of a turn is told by [`Text::finish`].
    pub(crate) fn event(&mut self, event: &Event) {
        // Only the live line shows what a tool prints: there is nothing to hold back.
        let printed = matches!(
            event,
            Event::ItemDelta {
                delta: Delta::Output(_),
                ..
            }
        );
        if self.asking && !printed {
            self.held.push_back(event.clone());
        } else {
            self.show(event);
        }
    }

    /// The question on the screen was answered: what happened meanwhile is shown, up to the next question.
    pub(crate) fn answered(&mut self) {
        self.asking = false;
        while !self.asking
            && let Some(event) = self.held.pop_front()
        {
            self.show(&event);
        }
    }

    fn show(&mut self, event: &Event) {
        match event {
            Event::TurnStarted => self.status.restart(),
            Event::ItemStarted { id, kind } => match kind {
                ItemKind::Reply => {
                    self.status.step = self.done.steps + 1;
                    self.status.doing = Doing::Waiting;
                }
                ItemKind::Result { tool, title, .. } => {
                    self.end_line();
                    self.status.doing = Doing::Nothing;
                    self.status.begin(*id, format!("{tool} {}", line(title, 60)));
                }
            },
            Event::ItemDelta { id, delta } => match delta {
                Delta::Text(text) => self.text(text),
                Delta::Thinking(text) => self.think(text),
                Delta::Call { tool, .. } => {
                    self.end_thinking();
                    self.end_line();
                    self.status.doing = Doing::Calling(tool.clone());
                }
                Delta::Input { .. } | Delta::Preview { .. } => {}
                Delta::Output(text) => self.status.printed(*id, text),
            },
            Event::ItemFinished { item } => self.item(item),
            Event::ItemDropped { id } => {
                self.status.end(*id);
                self.thinking.clear();
                if self.open {
                    self.end_line();
                }
            }
            Event::Asked { question } => self.asked(question),
            Event::Answered { .. } => {}
            Event::Usage { usage, cost, .. } => {
                self.done.usage += *usage;
                self.done.cost += cost.unwrap_or_default();
            }
            Event::Retrying { error, attempt, delay } => {
                let when = if delay.is_zero() {
                    "now".into()
                } else {
                    format!("in {}", took(*delay))
                };
                self.say(&self.style.err.yellow(format!("↻ {error}; attempt {attempt} {when}")));
            }
            Event::Notice { level, text } => match level {
                Level::Info => self.say(&self.style.err.dim(format!("note: {text}"))),
                Level::Warning => self.say(&self.style.err.yellow(format!("warning: {text}"))),
            },
            Event::Subtask { session, event, .. } => self.subtask(*session, event),
            Event::Titled { .. } | Event::TurnFinished { .. } => {}
        }
    }

    /// Tells that the turn is over.
    pub(crate) fn finish(&mut self, finish: &Finish<'_>, commands: &Commands) {
        if self.asking {
            // Nobody waits for the answer any more, and the cursor still stands behind the question.
            put(&mut self.err, "\n");
        }
        while self.asking {
            self.answered();
        }
        self.end_thinking();
        self.end_line();
        self.clear();
        let whole = matches!(
            finish.ending,
            Ending::Completed | Ending::MaxTokens | Ending::Refused { .. }
        );
        let shown = self.style.answer == Showing::Streaming && finish.answer == self.replied;
        if !shown && whole && !finish.answer.is_empty() {
            let answer = finish.to_print();
            let text = match self.style.out {
                Paint::Colour => tame(&answer),
                Paint::Plain => answer.into_owned(),
            };
            self.print(&format!("{}\n", text.trim_end()));
        }
        if let Some((what, hint)) = explain(finish.ending, &commands.resume) {
            put(&mut self.err, &format!("{}\nhint: {hint}\n", self.style.err.red(what)));
        }
        let figures = self.done.figures(finish);
        self.say(&self.style.err.dim(format!("— {figures}")));
        if let Some(review) = self.done.review(commands) {
            self.say(&review);
        }
        self.flush();
    }

    /// Draws the live line anew. Called a few times a second.
    pub(crate) fn tick(&mut self) {
        if !self.style.live {
            return;
        }
        let columns = (self.style.columns)();
        if columns < NARROW || self.live.is_stale(columns) {
            self.clear();
        }
        if columns < NARROW || (self.open && self.wrote.elapsed() < SILENCE) {
            return;
        }
        let row = if self.open { Row::Below } else { Row::Here };
        let text = self.status.render(&self.done, columns);
        let before = self.live.draw(&text, columns, row);
        put(&mut self.err, &format!("{before}{}", self.style.err.dim(text)));
        drop(self.err.flush());
    }

    /// Hands over what was written so far.
    pub(crate) fn flush(&mut self) {
        self.lost.note(self.out.flush());
        drop(self.err.flush());
    }

    /// What of the answer could not be written.
    pub(crate) fn lost(&self) -> Option<Failure> {
        self.lost.failure()
    }

    /// Says something on stderr, on a line of its own.
    pub(crate) fn say(&mut self, text: &str) {
        if self.style.quiet {
            return;
        }
        self.end_line();
        self.clear();
        put(&mut self.err, &format!("{text}\n"));
    }

    fn text(&mut self, text: &str) {
        self.end_thinking();
        self.status.doing = Doing::Writing;
        if self.style.answer == Showing::Last || text.is_empty() {
            return;
        }
        self.clear();
        self.print(&tame(text));
        self.wrote = Instant::now();
        self.open = !text.ends_with('\n');
    }

    fn think(&mut self, text: &str) {
        /// Enough to choose a line from; the whole of it is in the session.
        const KEPT: usize = 2_000;
        if self.thinking.len() < KEPT {
            self.thinking.push_str(text);
        }
        let mut words = match std::mem::replace(&mut self.status.doing, Doing::Nothing) {
            Doing::Thinking(words) => words,
            Doing::Waiting | Doing::Writing | Doing::Calling(_) | Doing::Nothing => String::new(),
        };
        words.push_str(text);
        let tail: String = words.chars().rev().take(80).collect();
        self.status.doing = Doing::Thinking(tail.chars().rev().collect());
    }

    /// Thinking is shown in one line: where it began.
    fn end_thinking(&mut self) {
        let thinking = std::mem::take(&mut self.thinking);
        if !thinking.trim().is_empty() {
            let width = (self.style.columns)().saturating_sub(2);
            self.say(&self.style.err.dim(format!("∴ {}", line(&thinking, width))));
        }
    }

    fn item(&mut self, item: &Item) {
        match &item.body {
            Body::Reply { message, .. } => {
                self.end_thinking();
                self.end_line();
                self.done.steps += 1;
                self.status.doing = Doing::Nothing;
                let calls = message.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
                let text = message.text();
                self.replied.clone_from(&text);
                if self.style.answer == Showing::Last && calls && !text.trim().is_empty() {
                    self.say(&tame(text.trim()));
                }
            }
            Body::Result {
                message,
                tool,
                title,
                summary,
                millis,
                changes,
                ..
            } => {
                self.status.end(item.id);
                self.done.changed(changes);
                let call = Call {
                    tool,
                    title,
                    summary: summary.as_deref(),
                    parts: &message.parts,
                    millis: *millis,
                    failed: item.failed(),
                };
                self.say(&call.render(self.style.err, (self.style.columns)()));
            }
            Body::Wake { cause, .. } => self.say(&self.style.err.dim(format!("● going on because of {cause}"))),
            Body::Todos { list } => self.say(&self.style.err.dim(subtasks::todos(list))),
            Body::Mode { name, .. } => self.say(&self.style.err.dim(format!("mode: {name}"))),
            Body::Prompt { .. }
            | Body::Summary { .. }
            | Body::Notice { .. }
            | Body::Panels { .. }
            | Body::Review { .. }
            | Body::Restored { .. } => {}
        }
    }

    fn asked(&mut self, question: &Question) {
        self.question(question, "");
    }

    fn question(&mut self, question: &Question, asker: &str) {
        self.end_line();
        self.clear();
        let text = match &question.subject {
            Subject::Permission { action, why, .. } => {
                flat(&format!("? {} wants {}: {why}", question.tool, describe(action)))
            }
            Subject::Inquiry { question, choices, .. } => {
                let choices = choices.iter().zip(1..).map(|((label, meaning), number)| match meaning {
                    Some(meaning) => format!("\n  {number}. {label}: {meaning}"),
                    None => format!("\n  {number}. {label}"),
                });
                tame(&format!("? {question}{}", choices.collect::<String>()))
            }
        };
        let text = wrap(&format!("{asker}{text}"), (self.style.columns)());
        put(&mut self.err, &format!("{}\n", self.style.err.yellow(text)));
        self.asking = true;
    }

    fn end_line(&mut self) {
        if !self.open {
            return;
        }
        self.clear();
        // Wiping the live line may have left the text's row already.
        if std::mem::take(&mut self.open) {
            self.print("\n");
            self.lost.note(self.out.flush());
        }
    }

    fn clear(&mut self) {
        if let Some((wipe, cursor)) = self.live.wipe((self.style.columns)()) {
            put(&mut self.err, &wipe);
            drop(self.err.flush());
            self.open &= cursor == Cursor::Back;
        }
    }

    /// Writes to stdout.
    fn print(&mut self, text: &str) {
        self.lost.note(self.out.write_all(text.as_bytes()));
    }
}

/// Text in one line, without what could take over a terminal.
pub(crate) fn flat(text: &str) -> String {
    tame(&text.replace(['\n', '\t'], " "))
}

/// What a tool wants to do, in words and in one line.
pub(crate) fn describe(action: &policy::Action) -> String {
    let text = match action {
        policy::Action::Read { path, .. } => format!("to read {}", path.display()),
        policy::Action::Write { path, .. } => format!("to change {}", path.display()),
        policy::Action::Run { command, .. } => format!("to run `{}`", line(command, 200)),
        policy::Action::Escalate { command, .. } => format!("to run `{}` outside the sandbox", line(command, 200)),
        policy::Action::Fetch { url } => format!("to fetch {}", line(url, 200)),
        policy::Action::Mcp { server, tool } => format!("to call `{tool}` of the MCP server `{server}`"),
        policy::Action::SwitchMode { to } => format!("to go on in the mode `{to}`"),
        policy::Action::Subtask { mode } => format!("to hand a part of the work to the mode `{mode}`"),
    };
    flat(&text)
}

fn put(out: &mut Box<dyn Write>, text: &str) {
    // Nobody can be told that stderr cannot be written.
    drop(out.write_all(text.as_bytes()));
}

mod subtasks;
#[cfg(test)]
mod tests;
