//! Drives a session through one task: hands over the prompt, shows events, passes on signals and answers.

use super::answer::Expected;
use super::ask::Answers;
use super::run::{resume_command, short};
use super::signals::Signals;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::closing::Commands;
use crate::output::events::Told as Line;
use crate::output::json::{Finish, Json};
use crate::output::text::{Showing, Style, Text};
use crate::wiring::Started;
use agent::Handle;
use model::Message;
use serde_json::Value;
use session::{Command, Delivery, Ending, Event, Level, Question, QuestionId, SessionId, Totals};
use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How a task is told of.
pub(super) struct Told<'a> {
    /// As JSON lines.
    pub(super) json: bool,
    /// Nothing but the answer.
    pub(super) quiet: bool,
    /// Whether the session existed before.
    pub(super) resumed: bool,
    /// The project's folder.
    pub(super) root: &'a Path,
    /// What stands before commands that the person may copy, such as `HEW_DATA_DIR=… `.
    pub(super) prefix: &'a str,
}

/// How often the live line is drawn.
const FRAME: Duration = Duration::from_millis(100);
/// How many events are shown before the output is handed over.
const BATCH: usize = 256;
/// How often a wrong answer is given back to the model.
const CORRECTIONS: u32 = 2;

/// Gives a session its task and shows what happens until it is done.
pub(super) async fn drive(
    started: Started,
    command: Command,
    expected: Option<Expected>,
    told: &Told<'_>,
    env: &Environment,
) -> Result<Exit> {
    let Started { handle, id, lease, .. } = &started;
    let mut show = Show::begin(&started, told, expected.is_some(), env);
    for text in &started.told {
        show.notice(text);
    }
    if let Some(warning) = started.formats.as_ref().and_then(|formats| formats.warning.as_deref()) {
        show.notice(warning);
    }
    let mut task = Task {
        show,
        commands: commands(*id, told.prefix),
        totals: started.totals,
        started: Instant::now(),
        began: Instant::now(),
        answer: String::new(),
        expected,
        corrections: 0,
        stopped: None,
        asked: VecDeque::new(),
        answers: Answers::new(started.permission),
        autonomous: started.autonomous,
    };
    let _held = lease;
    let look = format!("`{}hew sessions show {}` shows the answer", told.prefix, short(*id));
    // The queue is empty yet, so that this cannot wait; if the session is gone already, its events say why.
    drop(handle.commands.send(command).await);
    let Started { handle, formats, .. } = started;
    let exit = task.run(handle).await;
    if let Some(Err(failure)) = formats.map(|formats| formats.save()) {
        // The work is done all the same.
        task.show.notice(&failure.what);
        task.show.flush();
    }
    match task.show.lost() {
        Some(failure) => Err(failure.hint(look)),
        None => Ok(exit),
    }
}

struct Task {
    show: Show,
    commands: Commands,
    totals: Totals,
    /// When hew began to work.
    started: Instant,
    /// When the turn began.
    began: Instant,
    /// The text of the newest reply.
    answer: String,
    expected: Option<Expected>,
    corrections: u32,
    /// The signal that stopped the turn.
    stopped: Option<Exit>,
    /// Questions that wait for the person, and the subtask that asks; the first has been asked.
    asked: VecDeque<(Option<SessionId>, Question)>,
    answers: Answers,
    /// Whether the agent may go on by itself after the turn.
    autonomous: bool,
}

impl Task {
    async fn run(&mut self, handle: Handle) -> Exit {
        let Handle {
            commands,
            mut events,
            task,
        } = handle;
        let mut signals = Signals::listen();
        let mut frames = frames();
        let mut batch = Vec::with_capacity(BATCH);
        let mut exit = None;
        let mut closed = false;
        loop {
            tokio::select! {
                biased;
                signal = signals.next() => {
                    if let Some(exit) = exit {
                        if closed {
                            return exit;
                        }
                        closed = true;
                        // What goes on beside the conversation is not waited for any more.
                        drop(commands.send(Command::Interrupt).await);
                        drop(commands.send(Command::Close).await);
                        continue;
                    }
                    if self.stopped.is_some() {
                        self.leave(signal);
                    }
                    self.stopped = Some(signal);
                    // A session that is gone has nothing to stop.
                    drop(commands.send(Command::Interrupt).await);
                }
                count = events.recv_many(&mut batch, BATCH) => {
                    if count == 0 {
                        break;
                    }
                    for event in batch.drain(..) {
                        if let Some(next) = self.take(event) {
                            match next {
                                Next::Ask(command) => drop(commands.send(*command).await),
                                Next::End(ended) => {
                                    exit = Some(ended);
                                    closed = !self.autonomous;
                                    let end = if closed { Command::Close } else { Command::Finish };
                                    drop(commands.send(end).await);
                                }
                            }
                        }
                    }
                    self.show.flush();
                }
                (question, answer) = self.answers.next() => {
                    // An answer to a question that was settled meanwhile is not one to the next.
                    if let Some((asker, _)) = take_first(&mut self.asked, question) {
                        let answer = Command::Answer { question, answer };
                        drop(commands.send(addressed(asker, answer)).await);
                    }
                    self.show.answered();
                    if let Some((_, next)) = self.asked.front() {
                        self.answers.ask(next);
                    }
                }
                _ = frames.tick(), if self.show.is_live() && self.asked.is_empty() && exit.is_none() => self.show.tick(),
            }
        }
        drop(commands);
        let ended = task.await;
        match exit {
            Some(exit) => exit,
            None => {
                let why = ended.err().map_or("it ended early".into(), |error| error.to_string());
                self.show.complain(
                    &format!("the session broke down: {why}"),
                    &format!(
                        "everything that was finished is saved; `{}` goes on",
                        self.commands.resume
                    ),
                );
                Exit::Failed
            }
        }
    }

    /// Shows an event and says what follows from it.
    fn take(&mut self, event: Event) -> Option<Next> {
        self.show.event(&event);
        match event {
            Event::TurnStarted => self.began = Instant::now(),
            Event::Usage { totals, .. } => self.totals = totals,
            Event::Asked { question } => self.ask(None, question),
            Event::Answered { question } => self.settled(question),
            Event::Subtask { session, event, .. } => {
                if let Some((asker, question)) = asked_below(session, &event) {
                    self.ask(Some(asker), question.clone());
                }
                if let Some(question) = answered_below(&event) {
                    self.settled(question);
                }
            }
            Event::TurnFinished { ending, answer } => {
                self.answer = answer;
                return Some(self.finish(&ending));
            }
            Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. }
            | Event::Titled { .. } => {}
        }
        None
    }

    fn ask(&mut self, asker: Option<SessionId>, question: Question) {
        if self.asked.is_empty() {
            self.show.flush();
            self.answers.ask(&question);
        }
        self.asked.push_back((asker, question));
    }

    /// A question no longer waits for the person.
    fn settled(&mut self, question: QuestionId) {
        self.asked.retain(|(_, asked)| asked.id != question);
        if self.asked.is_empty() {
            self.show.answered();
        }
    }

    /// A turn is over: it was the last, or the model has to mend its answer.
    fn finish(&mut self, ending: &Ending) -> Next {
        let checked = match (&self.expected, ending) {
            (Some(expected), Ending::Completed) => expected.check(&self.answer).map(Some),
            (Some(_) | None, _) => Ok(None),
        };
        let exit = match (&checked, self.stopped) {
            (Err(_), _) => Exit::Schema,
            (Ok(_), Some(signal)) if *ending == Ending::Interrupted => signal,
            (Ok(_), _) => Exit::from(ending),
        };
        if let (Err(wrong), Some(expected)) = (&checked, &self.expected)
            && self.corrections < CORRECTIONS
        {
            self.corrections += 1;
            let complaint = expected.complaint(wrong);
            self.show
                .notice(&format!("the answer does not match the schema: {wrong}; asking again"));
            return Next::Ask(Box::new(Command::Prompt {
                message: Message::user(complaint),
                delivery: Delivery::Queue,
            }));
        }
        let output = checked.as_ref().ok().and_then(Option::as_ref);
        self.report(ending, output, exit);
        if let Err(wrong) = &checked {
            self.show.complain(
                &format!("the answer does not match the schema: {wrong}"),
                "loosen the schema, or choose another model",
            );
        }
        Next::End(exit)
    }

    fn report(&mut self, ending: &Ending, output: Option<&Value>, exit: Exit) {
        let finish = Finish {
            ending,
            answer: &self.answer,
            output,
            duration: self.began.elapsed(),
            run: self.started.elapsed(),
            totals: &self.totals,
            exit_code: exit.code(),
        };
        self.show.finish(&finish, &self.commands);
    }

    /// Leaves at once: the person asked twice. Everything that was finished is saved.
    fn leave(&mut self, signal: Exit) -> ! {
        self.show.flush();
        output::complain(&format!("\nhint: `{}` goes on\n", self.commands.resume));
        std::process::exit(i32::from(signal.code()));
    }
}

/// What follows from an event.
enum Next {
    /// The session has one more thing to do.
    Ask(Box<Command>),
    /// The task is over.
    End(Exit),
}

/// The question in an event of a subtask, if it is one, and whose it is.
fn asked_below(session: SessionId, event: &Event) -> Option<(SessionId, &Question)> {
    match event {
        Event::Asked { question } => Some((session, question)),
        Event::Subtask { session, event, .. } => asked_below(*session, event),
        Event::TurnStarted
        | Event::ItemStarted { .. }
        | Event::ItemDelta { .. }
        | Event::ItemFinished { .. }
        | Event::ItemDropped { .. }
        | Event::Answered { .. }
        | Event::Usage { .. }
        | Event::Retrying { .. }
        | Event::Notice { .. }
        | Event::Titled { .. }
        | Event::TurnFinished { .. } => None,
    }
}

/// Takes the first question out if it is this one.
fn take_first(
    asked: &mut VecDeque<(Option<SessionId>, Question)>,
    question: QuestionId,
) -> Option<(Option<SessionId>, Question)> {
    match asked.front() {
        Some((_, first)) if first.id == question => asked.pop_front(),
        Some(_) | None => None,
    }
}

/// The question of a subtask that was answered by an event, if it is such an event.
fn answered_below(event: &Event) -> Option<QuestionId> {
    match event {
        Event::Answered { question } => Some(*question),
        Event::Subtask { event, .. } => answered_below(event),
        _ => None,
    }
}

/// A command for the session, or for one of its subtasks.
fn addressed(to: Option<SessionId>, command: Command) -> Command {
    match to {
        Some(session) => Command::Subtask {
            session,
            command: Box::new(command),
        },
        None => command,
    }
}

fn commands(id: SessionId, prefix: &str) -> Commands {
    Commands {
        resume: format!("{prefix}{}", resume_command(id)),
        review: format!("{prefix}hew changes {}", short(id)),
    }
}

fn frames() -> Interval {
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    frames
}

/// Where events are shown.
enum Show {
    Text { text: Box<Text>, live: bool },
    Json(Json),
}

impl Show {
    fn begin(started: &Started, told: &Told<'_>, whole: bool, env: &Environment) -> Self {
        if told.json {
            let mut json = Json::stdout();
            json.tell(Line::SessionStarted {
                session: started.id.to_string(),
                resumed: told.resumed,
                model: &started.model,
                cwd: told.root.display().to_string(),
                mode: &started.mode,
                permission: started.permission,
                hew: env!("CARGO_PKG_VERSION"),
            });
            json.flush();
            return Show::Json(json);
        }
        // An answer that must match a schema is shown when it does.
        let showing = if whole { Showing::Last } else { Showing::Streaming };
        let style = Style::of_process(env, told.quiet, showing);
        Show::Text {
            text: Box::new(Text::of_process(style, &started.model)),
            live: style.live,
        }
    }

    fn is_live(&self) -> bool {
        match self {
            Show::Text { live, .. } => *live,
            Show::Json(_) => false,
        }
    }

    fn event(&mut self, event: &Event) {
        match self {
            Show::Text { text, .. } => text.event(event),
            Show::Json(json) => json.event(event),
        }
    }

    fn notice(&mut self, what: &str) {
        self.event(&Event::Notice {
            level: Level::Warning,
            text: what.into(),
        });
    }

    fn complain(&mut self, what: &str, hint: &str) {
        match self {
            Show::Text { text, .. } => {
                text.flush();
                output::complain(&format!("error: {what}\nhint: {hint}\n"));
            }
            Show::Json(_) => self.notice(what),
        }
    }

    fn finish(&mut self, finish: &Finish<'_>, commands: &Commands) {
        match self {
            Show::Text { text, .. } => text.finish(finish, commands),
            Show::Json(json) => json.finish(finish),
        }
    }

    /// The person answered the question on the screen.
    fn answered(&mut self) {
        match self {
            Show::Text { text, .. } => {
                text.answered();
                text.flush();
            }
            Show::Json(_) => {}
        }
    }

    /// What could not be written.
    fn lost(&self) -> Option<Failure> {
        match self {
            Show::Text { text, .. } => text.lost(),
            Show::Json(json) => json.lost(),
        }
    }

    fn tick(&mut self) {
        match self {
            Show::Text { text, .. } => text.tick(),
            Show::Json(_) => {}
        }
    }

    fn flush(&mut self) {
        match self {
            Show::Text { text, .. } => text.flush(),
            Show::Json(json) => json.flush(),
        }
    }
}
