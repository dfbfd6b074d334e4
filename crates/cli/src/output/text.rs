//! Events as text: the answer goes to stdout, everything else to stderr.
//!
//! On a terminal the answer streams and a live line shows what is going on. Elsewhere stdout gets the last answer and
//! nothing more, so that it can be piped on.

use super::events::succeeded;
use super::json::Finish;
use super::paint::{self, Paint};
use super::status::{Doing, Status};
use super::words::{line, money, tame, tokens, took};
use crate::config::Span;
use crate::environment::Environment;
use model::Part;
use session::{Body, Delta, Ending, Event, Item, ItemKind, Level, Limit, Question};
use std::io::{IsTerminal, Write};
use std::time::Duration;

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
    /// Whether the live line is on the screen.
    drawn: bool,
    /// Whether the answer's last line is still open.
    open: bool,
    thinking: String,
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
            drawn: false,
            open: false,
            thinking: String::new(),
        }
    }

    /// Tells of an event. The end of a turn is told by [`Text::finish`].
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::TurnStarted => self.status.restart(),
            Event::ItemStarted { id, kind } => match kind {
                ItemKind::Reply => {
                    self.status.step += 1;
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
            Event::Usage { totals, .. } => self.status.totals = *totals,
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
            Event::Titled { .. } | Event::TurnFinished { .. } => {}
        }
    }

    /// Tells that the turn is over; `resume` is the command that goes on with it.
    pub(crate) fn finish(&mut self, finish: &Finish<'_>, resume: &str) {
        self.end_thinking();
        self.end_line();
        self.clear();
        let whole = matches!(
            finish.ending,
            Ending::Completed | Ending::MaxTokens | Ending::Refused { .. }
        );
        if self.style.answer == Showing::Last && whole && !finish.answer.is_empty() {
            let text = match self.style.out {
                Paint::Colour => tame(finish.answer),
                Paint::Plain => finish.answer.to_string(),
            };
            put(&mut self.out, text.trim_end());
            put(&mut self.out, "\n");
        }
        if let Some((what, hint)) = explain(finish.ending, resume) {
            put(&mut self.err, &format!("{}\nhint: {hint}\n", self.style.err.red(what)));
        }
        let mut parts = vec![took(finish.duration), plural(self.status.step, "step")];
        let usage = finish.totals.usage;
        if usage.prompt() + usage.output > 0 {
            parts.push(format!(
                "{} tokens in, {} out",
                tokens(usage.prompt()),
                tokens(usage.output)
            ));
        }
        if usage.cache_read > 0 {
            parts.push(format!("{}% cached", usage.cache_read * 100 / usage.prompt().max(1)));
        }
        if finish.totals.cost.nano_usd > 0 {
            parts.push(money(finish.totals.cost));
        }
        self.say(&self.style.err.dim(format!("— {}", parts.join(" · "))));
        self.flush();
    }

    /// Draws the live line anew. Called a few times a second.
    pub(crate) fn tick(&mut self) {
        if !self.style.live || self.open {
            return;
        }
        let text = self.status.render((self.style.columns)());
        put(&mut self.err, &format!("\r\u{1b}[2K{}", self.style.err.dim(text)));
        drop(self.err.flush());
        self.drawn = true;
    }

    /// Hands over what was written so far.
    pub(crate) fn flush(&mut self) {
        drop(self.out.flush().and_then(|()| self.err.flush()));
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
        put(&mut self.out, &tame(text));
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
                self.status.doing = Doing::Nothing;
                let calls = message.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
                let text = message.text();
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
                ..
            } => {
                self.status.end(item.id);
                let told = self.result(tool, title, summary.as_deref(), *millis, succeeded(&message.parts));
                self.say(&told);
            }
            Body::Prompt { .. } | Body::Summary { .. } | Body::Notice { .. } | Body::Review { .. } => {}
        }
    }

    fn result(&self, tool: &str, title: &str, summary: Option<&str>, millis: u64, ok: bool) -> String {
        let paint = self.style.err;
        let mark = if ok { paint.green("✓") } else { paint.red("✗") };
        let width = (self.style.columns)();
        let took = match millis {
            // What takes no time need not be said.
            0..20 => String::new(),
            _ => format!(" · {}", took(Duration::from_millis(millis))),
        };
        let room = width.saturating_sub(tool.chars().count() + took.chars().count() + 6);
        let summary = line(summary.unwrap_or_default(), room / 2);
        let title = line(title, room.saturating_sub(summary.chars().count()).max(16));
        let mut told = format!("{mark} {}", paint.bold(tool));
        if !title.is_empty() {
            told.push_str(&format!(" {title}"));
        }
        if !summary.is_empty() {
            told.push_str(&format!(" · {summary}"));
        }
        format!("{told}{}", paint.dim(took))
    }

    fn asked(&mut self, question: &Question) {
        self.end_line();
        self.clear();
        let text = format!(
            "? {} wants {}: {}",
            question.tool,
            describe(&question.action),
            question.why
        );
        put(&mut self.err, &format!("{}\n", self.style.err.yellow(text)));
    }

    fn end_line(&mut self) {
        if self.open {
            put(&mut self.out, "\n");
            drop(self.out.flush());
            self.open = false;
        }
    }

    fn clear(&mut self) {
        if self.drawn {
            put(&mut self.err, "\r\u{1b}[2K");
            drop(self.err.flush());
            self.drawn = false;
        }
    }
}

/// What a tool wants to do, in words.
pub(crate) fn describe(action: &policy::Action) -> String {
    match action {
        policy::Action::Read { path, .. } => format!("to read {}", path.display()),
        policy::Action::Write { path, .. } => format!("to change {}", path.display()),
        policy::Action::Run { command, .. } => format!("to run `{}`", line(command, 200)),
    }
}

/// What to say about an ending that is not what the person hoped for, and what they can do.
fn explain(ending: &Ending, resume: &str) -> Option<(String, String)> {
    let go_on = format!("`{resume}` goes on");
    Some(match ending {
        Ending::Completed => return None,
        Ending::MaxTokens => (
            "the output limit cut the answer".into(),
            format!("raise --max-output, or let it go on with `{resume}`"),
        ),
        Ending::Refused { detail } => (
            match detail {
                Some(detail) => format!("the model refused: {detail}"),
                None => "the model refused".into(),
            },
            "put the task differently, or choose another model".into(),
        ),
        Ending::Interrupted => ("interrupted".into(), go_on),
        Ending::Limit(limit) => (
            match limit {
                Limit::Steps(steps) => format!("stopped after {}", plural(*steps, "step")),
                Limit::Cost(cost) => format!("stopped at the cost limit of {}", money(*cost)),
                Limit::Time(time) => format!("stopped at the time limit of {}", Span(*time)),
            },
            go_on,
        ),
        Ending::Loop { tool, times } => (
            format!("stopped: the model called `{tool}` {times} times with the same input"),
            format!("say what to do differently: {resume} \"…\""),
        ),
        Ending::Failed { error, hint } => (format!("error: {error}"), format!("{hint}; then `{resume}` goes on")),
    })
}

fn plural(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn put(out: &mut Box<dyn Write>, text: &str) {
    // A reader who has left is no mistake: the work goes on, and the session has everything.
    drop(out.write_all(text.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CallId, Message, Outcome, Role};
    use session::{End, ItemId, RequestId, Time, Totals};
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Arc;

    /// Both streams in one, as a terminal shows them.
    #[derive(Clone, Default)]
    struct Screen(Rc<RefCell<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn style(answer: Showing, live: bool) -> Style {
        Style {
            answer,
            out: Paint::Plain,
            err: Paint::Plain,
            live,
            quiet: false,
            columns: || 60,
        }
    }

    fn item(body: Body) -> Event {
        Event::ItemFinished {
            item: Arc::new(Item {
                id: ItemId::new(),
                parent: None,
                at: Time(0),
                body,
            }),
        }
    }

    fn reply(parts: Vec<Part>) -> Event {
        item(Body::Reply {
            message: Arc::new(Message {
                role: Role::Assistant,
                parts,
            }),
            model: "p/m".into(),
            request: RequestId::new(),
            end: End::Interrupted,
        })
    }

    fn result(outcome: Outcome, title: &str, summary: &str, millis: u64) -> Event {
        let call = CallId::from("c");
        let parts = vec![Part::ToolResult {
            id: call.clone(),
            name: "terminal".into(),
            content: Vec::new(),
            outcome,
        }];
        item(Body::Result {
            message: Arc::new(Message {
                role: Role::User,
                parts,
            }),
            call,
            tool: "terminal".into(),
            title: title.into(),
            summary: Some(summary.into()),
            millis,
            changes: Vec::new(),
        })
    }

    fn story() -> Vec<Event> {
        let id = ItemId::new();
        let delta = |delta| Event::ItemDelta { id, delta };
        let call = Part::ToolCall {
            id: "c".into(),
            name: "terminal".into(),
            input: serde_json::Value::Null,
            malformed: None,
            replay: None,
        };
        vec![
            Event::TurnStarted,
            Event::ItemStarted {
                id,
                kind: ItemKind::Reply,
            },
            delta(Delta::Thinking("Where to\nbegin? ".into())),
            delta(Delta::Thinking("With the tests.".into())),
            delta(Delta::Text("I will ".into())),
            delta(Delta::Text("test\u{1b}[31m it.".into())),
            delta(Delta::Call {
                call: "c".into(),
                tool: "terminal".into(),
            }),
            reply(vec![Part::text("I will test it."), call]),
            result(Outcome::Error, "make test", "exit code 2", 1_234),
            result(Outcome::Ok, &"long ".repeat(40), "fine", 1),
            Event::Retrying {
                error: "busy".into(),
                attempt: 2,
                delay: Duration::from_secs(3),
            },
            delta(Delta::Text("Done.".into())),
            reply(vec![Part::text("Done.")]),
        ]
    }

    fn show(style: Style, ending: &Ending) -> String {
        let screen = Screen::default();
        let mut text = Text::new(Box::new(screen.clone()), Box::new(screen.clone()), style, "p/m");
        for event in story() {
            text.event(&event);
        }
        let finish = Finish {
            ending,
            answer: "Done.",
            output: None,
            duration: Duration::from_secs(2),
            totals: &Totals::default(),
            exit_code: 0,
        };
        text.finish(&finish, "hew resume 0199");
        String::from_utf8(screen.0.take()).unwrap()
    }

    #[test]
    fn a_terminal_sees_the_answer_stream_between_tool_lines() {
        insta::assert_snapshot!(show(style(Showing::Streaming, false), &Ending::Completed));
    }

    #[test]
    fn a_pipe_sees_the_last_answer_and_how_it_ended() {
        insta::assert_snapshot!(show(style(Showing::Last, false), &Ending::Limit(Limit::Steps(1))));
    }

    #[test]
    fn the_live_line_is_gone_before_anything_else_is_printed() {
        let screen = Screen::default();
        let mut text = Text::new(
            Box::new(screen.clone()),
            Box::new(screen.clone()),
            style(Showing::Streaming, true),
            "p/m",
        );
        for event in story() {
            text.event(&event);
            text.tick();
        }
        let shown = String::from_utf8(screen.0.borrow().clone()).unwrap();
        let clear = "\r\u{1b}[2K";
        for line in shown.split('\n') {
            let last = line.rsplit(clear).next().unwrap_or(line);
            let drawn = last.contains("p/m") || last.contains("m · 0s");
            let unfinished = line == shown.split('\n').next_back().unwrap_or_default();
            assert!(!drawn || unfinished, "{line:?}");
        }
        assert!(shown.contains("calling terminal · m · 0s · step 1"), "{shown}");
    }
}
