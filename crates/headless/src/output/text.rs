//! Events as text: the answer goes to stdout, everything else to stderr.
//!
//! On a terminal the answer streams and a status line shows the activity. Elsewhere stdout gets the last answer and
//! nothing else, so that it can be piped.

use super::call_line::CallLine;
use super::color::{self, ColorMode};
use super::format::{duration, line, sanitise, wrap};
use super::json::TurnResult;
use super::printable::printable;
use super::status::{LiveStatus, ModelActivity};
use super::status_line::{CursorPosition, StatusLine, StatusRow};
use super::summary::{FollowUpCommands, RunSummary, explain};
use super::write_failures::WriteFailures;
use crate::environment::ProcessEnv;
use crate::failure::Failure;
use model::Part;
use session::{Body, Event, Item, ItemDelta, ItemStart, NoticeLevel, Question, QuestionSubject, SessionId, TurnEnd};
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use tui::OutputRenderer;
use tui::format::tool_label;

/// After this time without text, the live line is shown even if the answer's last line is unfinished.
const STATUS_DELAY: Duration = Duration::from_secs(1);
/// In fewer columns there is no live line.
const NARROW: usize = 20;

/// Capabilities of the streams, and options.
#[derive(Debug, Clone, Copy)]
pub struct TextStyle {
    /// Whether the answer is shown while it streams.
    pub answer: AnswerDisplay,
    /// How stdout is coloured.
    pub out: ColorMode,
    /// How stderr is coloured.
    pub err: ColorMode,
    /// Whether there is a status line.
    pub live: bool,
    /// Whether tool calls and notices are shown.
    pub quiet: bool,
    /// The terminal's width.
    pub columns: fn() -> usize,
}

/// When the answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerDisplay {
    /// While it streams.
    Streaming,
    /// When it is complete, and only the last one.
    Last,
}

impl TextStyle {
    /// The style for the streams of this process.
    pub fn of_process(env: &ProcessEnv, quiet: bool, answer: AnswerDisplay) -> Self {
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let out = ColorMode::of(&stdout, env);
        let err = ColorMode::of(&stderr, env);
        TextStyle {
            answer: if stdout.is_terminal() {
                answer
            } else {
                AnswerDisplay::Last
            },
            out,
            err,
            live: err == ColorMode::Colour && !quiet,
            quiet,
            columns: color::columns,
        }
    }
}

/// Writes events as text.
pub struct TextWriter {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    style: TextStyle,
    status: LiveStatus,
    live: StatusLine,
    done: RunSummary,
    /// Whether the answer's last line is unfinished.
    open: bool,
    /// Whether text of an unfinished reply is shown.
    replying: bool,
    /// Renders replies and changes on a terminal; without it they are printed as they are.
    renderer: Option<OutputRenderer>,
    /// When the answer last grew.
    wrote: Instant,
    thinking: String,
    /// The text of the newest reply.
    replied: String,
    /// Subtasks in the order of their first output.
    subtasks: Vec<SessionId>,
    /// Whether a question waits for its answer on the screen.
    asking: bool,
    /// Events during a question, shown after its answer.
    held: VecDeque<Event>,
    lost: WriteFailures,
}

impl TextWriter {
    /// Text for the streams of this process.
    pub fn of_process(style: TextStyle, model: &str) -> Self {
        TextWriter::new(Box::new(std::io::stdout()), Box::new(std::io::stderr()), style, model)
    }

    /// Text for any streams.
    pub fn new(out: Box<dyn Write>, err: Box<dyn Write>, style: TextStyle, model: &str) -> Self {
        TextWriter {
            out,
            err,
            style,
            status: LiveStatus::new(model),
            live: StatusLine::default(),
            done: RunSummary::default(),
            open: false,
            replying: false,
            renderer: None,
            wrote: Instant::now(),
            thinking: String::new(),
            replied: String::new(),
            subtasks: Vec::new(),
            asking: false,
            held: VecDeque::new(),
            lost: WriteFailures::default(),
        }
    }

    /// Renders replies and changes with this renderer if the answer streams to a terminal with colours.
    pub fn with_renderer(mut self, renderer: OutputRenderer) -> Self {
        let is_terminal = self.style.out == ColorMode::Colour && self.style.answer == AnswerDisplay::Streaming;
        self.renderer = Some(renderer).filter(|_| is_terminal);
        self
    }

    /// Whether only the answer and errors are printed.
    pub fn is_quiet(&self) -> bool {
        self.style.quiet
    }

    /// Whether changes are shown as diffs.
    pub fn shows_diffs(&self) -> bool {
        self.renderer.is_some() && !self.style.quiet
    }

    /// Shows the change of a file below its call.
    pub fn diff(&mut self, path: &str, before: &str, after: &str) {
        let columns = (self.style.columns)();
        let rendered = self
            .renderer
            .as_ref()
            .map(|renderer| renderer.diff(path, before, after, columns));
        if let Some(text) = rendered.filter(|text| !text.is_empty()) {
            self.write_rendered(text.trim_end_matches('\n'));
        }
    }

    /// Shows an event, except the end of a turn, which [`TextWriter::finish`] shows.
    pub fn event(&mut self, event: &Event) {
        // Tool output appears in the status line only.
        let printed = matches!(
            event,
            Event::ItemDelta {
                delta: ItemDelta::Output(_),
                ..
            }
        );
        if self.asking && !printed {
            self.held.push_back(event.clone());
        } else {
            self.show(event);
        }
    }

    /// The current question was answered: shows the deferred events up to the next question.
    pub fn answered(&mut self) {
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
                ItemStart::Reply => {
                    self.status.step = self.done.steps + 1;
                    self.status.doing = ModelActivity::Waiting;
                }
                ItemStart::Result { tool, title, .. } => {
                    self.end_line();
                    self.status.doing = ModelActivity::Nothing;
                    let label = tool_label(tool).to_owned();
                    self.status.begin(*id, format!("{label} {}", line(title, 60)));
                }
            },
            Event::ItemDelta { id, delta } => match delta {
                ItemDelta::Text(text) => self.text(text),
                ItemDelta::Thinking(text) => self.think(text),
                ItemDelta::Call { tool, .. } => {
                    self.end_thinking();
                    self.end_line();
                    self.status.doing = ModelActivity::Calling(tool.clone());
                }
                ItemDelta::Input { .. } | ItemDelta::Preview { .. } => {}
                ItemDelta::Output(text) => self.status.printed(*id, text),
            },
            Event::ItemFinished { item } => self.item(item),
            Event::ItemDropped { id } => {
                self.status.end(*id);
                self.thinking.clear();
                if std::mem::take(&mut self.replying) && self.style.answer == AnswerDisplay::Streaming {
                    self.write_text(&self.style.err.yellow("the reply above was cut off and is discarded"));
                }
            }
            Event::QuestionAsked { question } => self.asked(question),
            Event::QuestionAnswered { .. } => {}
            Event::Usage { usage, cost, .. } => {
                self.done.usage += *usage;
                self.done.cost += cost.unwrap_or_default();
            }
            Event::Retrying { error, attempt, delay } => {
                let when = if delay.is_zero() {
                    "now".into()
                } else {
                    format!("in {}", duration(*delay))
                };
                self.write_text(&self.style.err.yellow(format!("↻ {error}; attempt {attempt} {when}")));
            }
            Event::Notice { level, text } => match level {
                NoticeLevel::Info => self.write_text(&self.style.err.dim(format!("note: {text}"))),
                NoticeLevel::Warning => self.write_text(&self.style.err.yellow(format!("warning: {text}"))),
            },
            Event::Subtask { session, event, .. } => self.subtask(*session, event),
            Event::TitleChanged { .. } | Event::Rewound { .. } | Event::TurnFinished { .. } => {}
        }
    }

    /// Shows the end of a turn.
    pub fn finish(&mut self, finish: &TurnResult<'_>, commands: &FollowUpCommands) {
        if self.asking {
            // The question is obsolete, and the cursor is still behind it.
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
            TurnEnd::Completed | TurnEnd::MaxTokens | TurnEnd::Refused { .. }
        );
        let shown = self.style.answer == AnswerDisplay::Streaming && finish.answer == self.replied;
        if !shown && whole && !finish.answer.is_empty() {
            let answer = finish.to_print();
            self.print(&format!("{}\n", sanitise(&answer).trim_end()));
        }
        if let Some((what, hint)) = explain(finish.ending, &commands.resume) {
            let text = format!("{}\nhint: {hint}\n", self.style.err.red(what));
            put(&mut self.err, &printable(&text));
        }
        let figures = self.done.figures(finish);
        self.write_text(&self.style.err.dim(format!("— {figures}")));
        if let Some(review) = self.done.review(commands) {
            self.write_text(&review);
        }
        self.flush();
    }

    /// Redraws the live line. Called a few times per second.
    pub fn tick(&mut self) {
        if !self.style.live {
            return;
        }
        let columns = (self.style.columns)();
        if columns < NARROW || self.live.is_stale(columns) {
            self.clear();
        }
        if columns < NARROW || (self.open && self.wrote.elapsed() < STATUS_DELAY) {
            return;
        }
        let row = if self.open { StatusRow::Below } else { StatusRow::Here };
        let text = self.status.render(&self.done, columns);
        let before = self.live.draw(&text, columns, row);
        put(
            &mut self.err,
            &format!("{before}{}", printable(&self.style.err.dim(text))),
        );
        drop(self.err.flush());
    }

    /// Flushes the output.
    pub fn flush(&mut self) {
        self.lost.note(self.out.flush());
        drop(self.err.flush());
    }

    /// The first error while writing the answer.
    pub fn lost(&self) -> Option<Failure> {
        self.lost.failure()
    }

    /// Writes a line to stderr.
    pub fn write_text(&mut self, text: &str) {
        self.write_rendered(&printable(text));
    }

    /// Writes a line with escape sequences of the renderer to stderr.
    fn write_rendered(&mut self, text: &str) {
        if self.style.quiet {
            return;
        }
        self.end_line();
        self.clear();
        put(&mut self.err, &format!("{text}\n"));
    }

    fn text(&mut self, text: &str) {
        self.end_thinking();
        self.status.doing = ModelActivity::Writing;
        if self.style.answer == AnswerDisplay::Last || text.is_empty() {
            return;
        }
        self.replying = true;
        let columns = (self.style.columns)();
        if let Some(renderer) = &mut self.renderer {
            let rows = renderer.push(text, columns);
            if !rows.is_empty() {
                self.clear();
                self.print(&rows);
            }
            return;
        }
        self.clear();
        self.print(&sanitise(text));
        self.wrote = Instant::now();
        self.open = !text.ends_with('\n');
    }

    fn think(&mut self, text: &str) {
        /// Enough text for one line; the session contains all of it.
        const KEPT: usize = 2_000;
        if self.thinking.len() < KEPT {
            self.thinking.push_str(text);
        }
        let mut words = match std::mem::replace(&mut self.status.doing, ModelActivity::Nothing) {
            ModelActivity::Thinking(words) => words,
            ModelActivity::Waiting | ModelActivity::Writing | ModelActivity::Calling(_) | ModelActivity::Nothing => {
                String::new()
            }
        };
        words.push_str(text);
        let tail: String = words.chars().rev().take(80).collect();
        self.status.doing = ModelActivity::Thinking(tail.chars().rev().collect());
    }

    /// Thinking is shown as one line: its beginning.
    fn end_thinking(&mut self) {
        let thinking = std::mem::take(&mut self.thinking);
        if !thinking.trim().is_empty() {
            let width = (self.style.columns)().saturating_sub(2);
            self.write_text(&self.style.err.dim(format!("∴ {}", line(&thinking, width))));
        }
    }

    fn item(&mut self, item: &Item) {
        match &item.body {
            Body::Reply { message, .. } => {
                self.end_thinking();
                self.end_line();
                self.replying = false;
                self.done.steps += 1;
                self.status.doing = ModelActivity::Nothing;
                let calls = message.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
                let text = message.text();
                self.replied.clone_from(&text);
                if self.style.answer == AnswerDisplay::Last && calls && !text.trim().is_empty() {
                    self.write_text(&sanitise(text.trim()));
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
                let call = CallLine {
                    tool: tool_label(tool),
                    title,
                    summary: summary.as_deref(),
                    parts: &message.parts,
                    millis: *millis,
                    failed: item.has_failed(),
                };
                self.write_text(&call.render(self.style.err, (self.style.columns)()));
            }
            Body::Notification { source: cause, .. } => {
                self.write_text(&self.style.err.dim(format!("● continuing because of {cause}")))
            }
            Body::Todos { list } => self.write_text(&self.style.err.dim(subtasks::todos(list))),
            // The mode at the start is the user's choice.
            Body::Mode { name, .. } if self.done.steps > 0 => {
                self.write_text(&self.style.err.dim(format!("mode: {name}")))
            }
            _ => {}
        }
    }

    fn asked(&mut self, question: &Question) {
        self.question(question, "");
    }

    fn question(&mut self, question: &Question, asker: &str) {
        self.end_line();
        self.clear();
        let text = match &question.subject {
            QuestionSubject::Permission {
                action, reason: why, ..
            } => flat(&format!("? hew wants {}: {why}", describe(action))),
            QuestionSubject::Inquiry { question, choices, .. } => {
                let choices = choices.iter().zip(1..).map(|((label, meaning), number)| match meaning {
                    Some(meaning) => format!("\n  {number}. {label}: {meaning}"),
                    None => format!("\n  {number}. {label}"),
                });
                sanitise(&format!("? {question}{}", choices.collect::<String>()))
            }
        };
        let text = wrap(&format!("{asker}{text}"), (self.style.columns)());
        put(&mut self.err, &format!("{}\n", self.style.err.yellow(text)));
        self.asking = true;
    }

    fn end_line(&mut self) {
        let columns = (self.style.columns)();
        let rest = self.renderer.as_mut().map(|renderer| renderer.finish(columns));
        if let Some(rows) = rest.filter(|rows| !rows.is_empty()) {
            self.clear();
            self.print(&rows);
            self.lost.note(self.out.flush());
        }
        if !self.open {
            return;
        }
        self.clear();
        // Erasing the live line may have moved the cursor out of the text's row.
        if std::mem::take(&mut self.open) {
            self.print("\n");
            self.lost.note(self.out.flush());
        }
    }

    fn clear(&mut self) {
        if let Some((wipe, cursor)) = self.live.wipe((self.style.columns)()) {
            put(&mut self.err, &wipe);
            drop(self.err.flush());
            self.open &= cursor == CursorPosition::Back;
        }
    }

    /// Writes to stdout.
    fn print(&mut self, text: &str) {
        self.lost.note(self.out.write_all(text.as_bytes()));
    }
}

/// Text in one line, without control characters.
pub fn flat(text: &str) -> String {
    sanitise(&text.replace(['\n', '\t'], " "))
}

/// An action, described in one line.
pub fn describe(action: &policy::Action) -> String {
    let text = match action {
        policy::Action::Read { path, .. } => format!("to read {}", path.display()),
        policy::Action::Write { path, .. } => format!("to change {}", path.display()),
        policy::Action::Run { command, .. } => format!("to run `{}`", line(command, 200)),
        policy::Action::Escalate { command, .. } => format!("to run `{}` outside the sandbox", line(command, 200)),
        policy::Action::Fetch { url } => format!("to fetch {}", line(url, 200)),
        policy::Action::Mcp { server, tool } => format!("to call `{tool}` of the MCP server `{server}`"),
        policy::Action::SwitchMode { to } => format!("to switch to mode `{to}`"),
        policy::Action::Subtask { mode } => format!("to start a subtask in mode `{mode}`"),
    };
    flat(&text)
}

fn put(out: &mut Box<dyn Write>, text: &str) {
    // A failure to write to stderr cannot be reported.
    drop(out.write_all(text.as_bytes()));
}

mod subtasks;
#[cfg(test)]
mod tests;
