//! Runs one task in a session: sends the prompt, shows events, forwards signals and answers.

use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::events::JsonEvent;
use crate::output::json::{JsonWriter, TurnResult};
use crate::output::summary::FollowUpCommands;
use crate::output::text::{AnswerDisplay, TextStyle, TextWriter};
use crate::signals::StopSignals;
use crate::structured_answer::AnswerSchema;
use crate::terminal_answers::AnswerReader;
use backends::{Highlighter, version_text};
use host::sessions::{resume_command, short_id};
use host::{RunningSession, SessionResources};
use model::Message;
use serde_json::Value;
use session::{Command, Delivery, Event, Item, NoticeLevel, Question, QuestionId, SessionId, Totals, TurnEnd};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::SqliteStore;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};
use toolbox::BackgroundJobs;
use tui::{OutputRenderer, TerminationDeadline};

/// Output options of a run.
pub struct RunReporting<'a> {
    /// Prints JSON lines.
    pub json: bool,
    /// Prints only the answer.
    pub quiet: bool,
    /// Whether the session existed before.
    pub resumed: bool,
    /// The project's folder.
    pub root: &'a Path,
    /// The prefix of suggested commands, such as `HEW_DATA_DIR=… `.
    pub prefix: &'a str,
}

/// How often the live line is drawn.
const FRAME: Duration = Duration::from_millis(100);
/// The maximum number of events that are shown before the output is flushed.
const BATCH: usize = 256;
/// Maximum diffs shown for one call.
const MAX_DIFFS: usize = 10;
/// How many times an invalid answer is returned to the model.
const CORRECTIONS: u32 = 2;

/// Sends a task to a session and shows events until it is done.
pub async fn drive(
    session: RunningSession,
    command: Command,
    expected: Option<AnswerSchema>,
    reporting: &RunReporting<'_>,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let id = session.resources.id;
    let mut show = EventSink::begin(&session, reporting, expected.is_some(), env);
    for text in &session.warnings {
        show.notice(text);
    }
    let mut task = RunTask {
        show,
        commands: commands(id, reporting.prefix),
        totals: session.totals,
        started: Instant::now(),
        began: Instant::now(),
        answer: String::new(),
        expected,
        corrections: 0,
        stopped: None,
        asked: VecDeque::new(),
        answers: AnswerReader::new(session.permission),
        autonomous: session.resources.config.autonomy.enabled,
        reported: None,
    };
    let look = format!(
        "`{}hew sessions show {}` shows the answer",
        reporting.prefix,
        short_id(id)
    );
    // The queue is empty, so this does not wait; if the session has ended, its events contain the reason.
    drop(session.commands.send(command).await);
    let mut resources = session.resources;
    let exit = task.run(session.commands, session.events, &mut resources).await;
    for warning in resources.close().await {
        task.show.notice(&warning);
        task.show.flush();
    }
    if task.reported.is_some_and(|reported| reported != exit) {
        task.show.end_of_wait(exit);
    }
    match task.show.lost() {
        Some(failure) => Err(failure.hint(look)),
        None => Ok(exit),
    }
}

struct RunTask {
    show: EventSink,
    commands: FollowUpCommands,
    totals: Totals,
    /// The start of the run.
    started: Instant,
    /// The start of the turn.
    began: Instant,
    /// The text of the newest reply.
    answer: String,
    expected: Option<AnswerSchema>,
    corrections: u32,
    /// The signal that stopped the turn.
    stopped: Option<ExitStatus>,
    /// Pending questions with the subtask that asks; the first one is shown.
    asked: VecDeque<(Option<SessionId>, Question)>,
    answers: AnswerReader,
    /// Whether the agent may continue by itself after the turn.
    autonomous: bool,
    /// The exit status in the newest report.
    reported: Option<ExitStatus>,
}

impl RunTask {
    async fn run(
        &mut self,
        commands: mpsc::Sender<Command>,
        mut events: mpsc::Receiver<Event>,
        session: &mut SessionResources,
    ) -> ExitStatus {
        let mut signals = StopSignals::listen();
        let mut frames = frames();
        let mut batch = Vec::with_capacity(BATCH);
        let mut exit = None;
        let mut closed = false;
        let limit = session.config.limits.time;
        let deadline = limit.and_then(|limit| self.started.checked_add(limit.0));
        let mut termination = Some(TerminationDeadline::start(|| {}));
        loop {
            tokio::select! {
                biased;
                signal = signals.next() => {
                    if let Some(ended) = exit {
                        if closed {
                            return ended;
                        }
                        closed = true;
                        exit = Some(signal);
                        self.stop_waiting(&commands, &session.background).await;
                        continue;
                    }
                    if self.stopped.is_some() {
                        self.leave(signal);
                    }
                    self.stopped = Some(signal);
                    // A session that has ended has nothing to stop.
                    drop(commands.send(Command::Interrupt).await);
                }
                count = events.recv_many(&mut batch, BATCH) => {
                    if count == 0 {
                        break;
                    }
                    for event in batch.drain(..) {
                        let changed = changed_item(&event).filter(|_| self.show.shows_diffs());
                        let next = self.take(event);
                        if let Some(item) = changed {
                            self.show_changes(&item, session.store()).await;
                        }
                        if let Some(next) = next {
                            match next {
                                DriveStep::Ask(command) => drop(commands.send(*command).await),
                                DriveStep::End(ended) => {
                                    exit = Some(ended);
                                    // Hooks and background work have their own limits.
                                    termination = None;
                                    closed = !self.autonomous;
                                    self.report_jobs(&session.background);
                                    let end = if closed { Command::Close } else { Command::Finish };
                                    drop(commands.send(end).await);
                                }
                            }
                        }
                    }
                    self.show.flush();
                }
                (question, answer) = self.answers.next() => {
                    // An answer to a question that was answered meanwhile does not answer the next one.
                    if let Some((asker, _)) = take_first(&mut self.asked, question) {
                        let answer = Command::Answer { question, answer };
                        drop(commands.send(addressed(asker, answer)).await);
                    }
                    self.show.answered();
                    if let Some((_, next)) = self.asked.front() {
                        self.answers.ask(next);
                    }
                }
                () = until(deadline), if exit.is_some() && !closed => {
                    closed = true;
                    exit = Some(ExitStatus::Stopped);
                    self.show.warn("the time limit ended the wait for background work");
                    self.stop_waiting(&commands, &session.background).await;
                }
                _ = frames.tick(), if self.show.is_live() && self.asked.is_empty() && exit.is_none() => self.show.tick(),
            }
        }
        drop(termination);
        drop(commands);
        let ended = session.wait().await;
        match exit {
            Some(exit) => exit,
            None => {
                let why = ended.err().map_or("it ended early".into(), |error| error.to_string());
                self.show.print_stderr(
                    &format!("the session failed: {why}"),
                    &format!("finished work is saved; continue with `{}`", self.commands.resume),
                );
                ExitStatus::Failed
            }
        }
    }

    /// Shows an event and returns the next step.
    fn take(&mut self, event: Event) -> Option<DriveStep> {
        self.show.event(&event);
        match event {
            Event::TurnStarted => self.began = Instant::now(),
            Event::Usage { totals, .. } => self.totals = totals,
            Event::QuestionAsked { question } => self.ask(None, question),
            Event::QuestionAnswered { question } => self.settled(question),
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
            | Event::TitleChanged { .. }
            | Event::Rewound { .. } => {}
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

    /// A question is no longer pending.
    fn settled(&mut self, question: QuestionId) {
        self.asked.retain(|(_, asked)| asked.id != question);
        if self.asked.is_empty() {
            self.show.answered();
        }
    }

    /// Ends a turn: finishes the run, or asks the model to correct its answer.
    fn finish(&mut self, ending: &TurnEnd) -> DriveStep {
        let checked = match (&self.expected, ending) {
            (Some(expected), TurnEnd::Completed) => expected.check(&self.answer).map(Some),
            (Some(_) | None, _) => Ok(None),
        };
        let exit = match (&checked, self.stopped) {
            (_, Some(ExitStatus::Terminated)) => ExitStatus::Terminated,
            (Err(_), _) => ExitStatus::Schema,
            (Ok(_), Some(signal)) if *ending == TurnEnd::Interrupted => signal,
            (Ok(_), _) => ExitStatus::from(ending),
        };
        if let (Err(wrong), Some(expected)) = (&checked, &self.expected)
            && self.corrections < CORRECTIONS
            && exit != ExitStatus::Terminated
        {
            self.corrections += 1;
            let correction = expected.correction_prompt(wrong);
            self.show
                .notice(&format!("the answer does not match the schema: {wrong}; asking again"));
            return DriveStep::Ask(Box::new(Command::Prompt {
                message: Message::user(correction),
                delivery: Delivery::Queue,
            }));
        }
        let output = checked.as_ref().ok().and_then(Option::as_ref);
        self.report(ending, output, exit);
        if let Err(wrong) = &checked {
            self.show.print_stderr(
                &format!("the answer does not match the schema: {wrong}"),
                "loosen the schema, or choose another model",
            );
        }
        DriveStep::End(exit)
    }

    /// Shows the changes of a call as diffs.
    async fn show_changes(&mut self, item: &Item, store: &SqliteStore) {
        for change in item.changes().iter().take(MAX_DIFFS) {
            let before = version_text(store, change.before.clone()).await;
            let after = version_text(store, change.after.clone()).await;
            if before.is_some() || after.is_some() {
                let path = change.path.display().to_string();
                self.show
                    .diff(&path, &before.unwrap_or_default(), &after.unwrap_or_default());
            }
        }
    }

    /// Closes the session instead of waiting for its background work.
    async fn stop_waiting(&mut self, commands: &mpsc::Sender<Command>, jobs: &BackgroundJobs) {
        let stopped = running_jobs(jobs);
        if let Some(stopped) = stopped {
            self.show.warn(&format!("stopped {stopped}"));
        }
        self.show.flush();
        drop(commands.send(Command::Interrupt).await);
        drop(commands.send(Command::Close).await);
    }

    /// Reports the background jobs that are still running at the end of the turn.
    fn report_jobs(&mut self, jobs: &BackgroundJobs) {
        let Some(running) = running_jobs(jobs) else {
            return;
        };
        match self.autonomous {
            true => self.show.event(&Event::Notice {
                level: NoticeLevel::Info,
                text: format!("waiting for {running}; Ctrl-C stops"),
            }),
            false => self.show.warn(&format!(
                "stopped {running}; with `--set autonomy.enabled=true` hew waits at the end of the turn"
            )),
        }
    }

    fn report(&mut self, ending: &TurnEnd, output: Option<&Value>, exit: ExitStatus) {
        let finish = TurnResult {
            ending,
            answer: &self.answer,
            output,
            duration: self.began.elapsed(),
            run: self.started.elapsed(),
            totals: &self.totals,
            exit_code: exit.code(),
        };
        self.show.finish(&finish, &self.commands);
        self.reported = Some(exit);
    }

    /// Exits immediately after the second interrupt. Finished items are saved.
    fn leave(&mut self, signal: ExitStatus) -> ! {
        self.show.flush();
        output::print_stderr(&format!("\nhint: continue with `{}`\n", self.commands.resume));
        std::process::exit(i32::from(signal.code()));
    }
}

/// The running background jobs, with their commands.
fn running_jobs(jobs: &BackgroundJobs) -> Option<String> {
    let running = jobs.list().into_iter().filter(|job| job.ended.is_none());
    let running: Vec<String> = running
        .map(|job| format!("`{}`", output::format::line(&job.command, 80)))
        .collect();
    let count = output::format::plural(running.len() as u64, "background job");
    (!running.is_empty()).then(|| format!("{count}: {}", running.join(", ")))
}

/// Waits until a time; never completes without one.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// The item of an event with changes.
fn changed_item(event: &Event) -> Option<Arc<Item>> {
    match event {
        Event::ItemFinished { item } if !item.changes().is_empty() => Some(Arc::clone(item)),
        _ => None,
    }
}

/// The next step after an event.
enum DriveStep {
    /// Sends a command to the session.
    Ask(Box<Command>),
    /// The task is over.
    End(ExitStatus),
}

/// The question in a subtask's event, if any, with its session.
fn asked_below(session: SessionId, event: &Event) -> Option<(SessionId, &Question)> {
    match event {
        Event::QuestionAsked { question } => Some((session, question)),
        Event::Subtask { session, event, .. } => asked_below(*session, event),
        Event::TurnStarted
        | Event::ItemStarted { .. }
        | Event::ItemDelta { .. }
        | Event::ItemFinished { .. }
        | Event::ItemDropped { .. }
        | Event::QuestionAnswered { .. }
        | Event::Usage { .. }
        | Event::Retrying { .. }
        | Event::Notice { .. }
        | Event::TitleChanged { .. }
        | Event::Rewound { .. }
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
        Event::QuestionAnswered { question } => Some(*question),
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

fn commands(id: SessionId, prefix: &str) -> FollowUpCommands {
    FollowUpCommands {
        resume: format!("{prefix}{}", resume_command(id)),
        review: format!("{prefix}hew changes {}", short_id(id)),
    }
}

fn frames() -> Interval {
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    frames
}

/// The destination of events.
enum EventSink {
    Text { text: Box<TextWriter>, live: bool },
    Json(JsonWriter),
}

impl EventSink {
    fn begin(opened: &RunningSession, reporting: &RunReporting<'_>, whole: bool, env: &ProcessEnv) -> Self {
        if reporting.json {
            let mut json = JsonWriter::stdout();
            json.write_event(JsonEvent::SessionStarted {
                session: opened.resources.id.to_string(),
                resumed: reporting.resumed,
                model: &opened.model,
                cwd: reporting.root.display().to_string(),
                mode: &opened.mode,
                permission: opened.permission.name(),
                hew: env!("CARGO_PKG_VERSION"),
            });
            json.flush();
            return EventSink::Json(json);
        }
        // An answer that must match a schema is shown when it does.
        let showing = if whole {
            AnswerDisplay::Last
        } else {
            AnswerDisplay::Streaming
        };
        let style = TextStyle::of_process(env, reporting.quiet, showing);
        let renderer = OutputRenderer::new(Arc::new(Highlighter), output::color::color_depth(env));
        EventSink::Text {
            text: Box::new(TextWriter::of_process(style, &opened.model).with_renderer(renderer)),
            live: style.live,
        }
    }

    fn shows_diffs(&self) -> bool {
        match self {
            EventSink::Text { text, .. } => text.shows_diffs(),
            EventSink::Json(_) => false,
        }
    }

    fn diff(&mut self, path: &str, before: &str, after: &str) {
        match self {
            EventSink::Text { text, .. } => text.diff(path, before, after),
            EventSink::Json(_) => {}
        }
    }

    fn is_live(&self) -> bool {
        match self {
            EventSink::Text { live, .. } => *live,
            EventSink::Json(_) => false,
        }
    }

    fn event(&mut self, event: &Event) {
        match self {
            EventSink::Text { text, .. } => text.event(event),
            EventSink::Json(json) => json.event(event),
        }
    }

    fn notice(&mut self, what: &str) {
        self.event(&Event::Notice {
            level: NoticeLevel::Warning,
            text: what.into(),
        });
    }

    /// Reports lost work, also with `--quiet`.
    fn warn(&mut self, what: &str) {
        match self {
            EventSink::Text { text, .. } if text.is_quiet() => {
                text.flush();
                output::print_stderr(&format!("warning: {what}\n"));
            }
            EventSink::Text { .. } | EventSink::Json(_) => self.notice(what),
        }
    }

    /// Reports that the wait for background work ended the run with another exit status than its last turn.
    fn end_of_wait(&mut self, exit: ExitStatus) {
        if let EventSink::Json(json) = self {
            json.write_event(JsonEvent::Error {
                message: "the wait for background work was stopped",
                hint: None,
                exit_code: exit.code(),
            });
            json.flush();
        }
    }

    fn print_stderr(&mut self, what: &str, hint: &str) {
        match self {
            EventSink::Text { text, .. } => {
                text.flush();
                output::print_stderr(&format!("error: {what}\nhint: {hint}\n"));
            }
            EventSink::Json(_) => self.notice(what),
        }
    }

    fn finish(&mut self, finish: &TurnResult<'_>, commands: &FollowUpCommands) {
        match self {
            EventSink::Text { text, .. } => text.finish(finish, commands),
            EventSink::Json(json) => json.finish(finish),
        }
    }

    /// The current question was answered.
    fn answered(&mut self) {
        match self {
            EventSink::Text { text, .. } => {
                text.answered();
                text.flush();
            }
            EventSink::Json(_) => {}
        }
    }

    /// The first write error.
    fn lost(&self) -> Option<Failure> {
        match self {
            EventSink::Text { text, .. } => text.lost(),
            EventSink::Json(json) => json.lost(),
        }
    }

    fn tick(&mut self) {
        match self {
            EventSink::Text { text, .. } => text.tick(),
            EventSink::Json(_) => {}
        }
    }

    fn flush(&mut self) {
        match self {
            EventSink::Text { text, .. } => text.flush(),
            EventSink::Json(json) => json.flush(),
        }
    }
}
