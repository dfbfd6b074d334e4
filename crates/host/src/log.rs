//! The log file for debugging: one line per event, without the contents of messages and without secrets.
//!
//! It is written only with `--log FILE` or `HEW_LOG`. The crates of hew use `tracing`; sessions are logged by their
//! events.

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result, plain};
use crate::redaction::Redactor;
use crate::text::{line, now, rfc3339};
use session::{Body, Event, Item, RequestEnd};
use std::fmt::{Debug, Write as _};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata, Subscriber};

/// The maximum length of a line.
const MAX_LINE: usize = 2_000;
/// Crates that are logged at debug level; others only log warnings.
const OWN_CRATES: [&str; 9] = [
    "hew",
    "lsp",
    "mcp",
    "server",
    "agent",
    "providers",
    "store",
    "sandbox",
    "index",
];

/// Starts logging if a file is given.
pub fn init(file: Option<&Path>, env: &ProcessEnv) -> Result<()> {
    let named = env.get("HEW_LOG").map(Path::new);
    let Some(path) = file.or(named) else { return Ok(()) };
    let open = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let file = open.map_err(|error| {
        Failure::usage(format!("cannot write the log {}: {}", path.display(), plain(&error)))
            .hint("check --log and HEW_LOG")
    })?;
    let log = LogFile {
        file: Mutex::new(file),
        redactor: RwLock::new(Redactor::for_failures(env)),
    };
    // Only tests set a second one.
    tracing::subscriber::set_global_default(log).unwrap_or_default();
    tracing::info!(target: "hew", version = env!("CARGO_PKG_VERSION"), "started");
    Ok(())
}

/// Redacts a secret in the log.
pub fn hide(secret: &str) {
    tracing::dispatcher::get_default(|dispatch| {
        if let Some(log) = dispatch.downcast_ref::<LogFile>() {
            log.hide(secret);
        }
    });
}

/// Logs events on their way to the front end, if logging is enabled.
pub fn log_events(name: &str, mut events: mpsc::Receiver<Event>) -> mpsc::Receiver<Event> {
    if !tracing::enabled!(target: "hew", Level::INFO) {
        return events;
    }
    let name = name.to_owned();
    let (sender, receiver) = mpsc::channel(events.max_capacity());
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let Some(summary) = event_summary(&event) {
                tracing::info!(target: "hew", session = name, "{summary}");
            }
            if sender.send(event).await.is_err() {
                return;
            }
        }
    });
    receiver
}

/// Summarizes an event, without the contents of messages. Returns `None` for events that are not logged.
fn event_summary(event: &Event) -> Option<String> {
    Some(match event {
        Event::TurnStarted => "turn started".into(),
        Event::ItemStarted { .. } | Event::ItemDelta { .. } => return None,
        Event::ItemFinished { item } => item_summary(item),
        Event::ItemDropped { id } => format!("item {id} dropped"),
        Event::QuestionAsked { question } => format!("question {} asked", question.id),
        Event::QuestionAnswered { question } => format!("question {question} answered"),
        Event::Usage {
            request, usage, cost, ..
        } => format!(
            "request {request}: {} prompt tokens, {} cached, {} written, ${:.6}",
            usage.prompt_tokens(),
            usage.cache_read,
            usage.output,
            cost.unwrap_or_default().usd()
        ),
        Event::Retrying { error, attempt, delay } => format!("attempt {attempt} failed, retry in {delay:?}: {error}"),
        Event::Notice { level, text } => format!("{}: {text}", level.name()),
        Event::TitleChanged { .. } => "title set".into(),
        Event::Rewound { .. } => "rewound".into(),
        Event::Subtask { session, event, .. } => format!("subtask {session}: {}", event_summary(event)?),
        Event::TurnFinished { ending, answer } => {
            format!("turn finished ({}) with {} bytes", ending.name(), answer.len())
        }
    })
}

/// The kind of an item and the size of its text. Notices are hew's own text.
fn item_summary(item: &Item) -> String {
    let size = item.message().map_or(0, |message| message.text().len());
    match &item.body {
        Body::Notice { text } => text.clone(),
        Body::Result {
            tool, millis, changes, ..
        } => format!("{tool} took {millis} ms and changed {} files", changes.len()),
        Body::Reply { model, end, .. } => format!("{model} replied {size} bytes ({})", RequestEnd::from(end)),
        _ => format!("{} of {size} bytes", item.kind().name()),
    }
}

/// Writes `tracing` events to a file.
struct LogFile {
    file: Mutex<File>,
    redactor: RwLock<Redactor>,
}

impl LogFile {
    fn hide(&self, secret: &str) {
        let mut redactor = self.redactor.write().unwrap_or_else(PoisonError::into_inner);
        *redactor = std::mem::take(&mut *redactor).with([secret]);
    }
}

impl Subscriber for LogFile {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let krate = metadata.target().split("::").next().unwrap_or_default();
        let most = match OWN_CRATES.contains(&krate) {
            true => Level::DEBUG,
            false => Level::WARN,
        };
        !metadata.is_span() && *metadata.level() <= most
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut recorded = LogFields::default();
        event.record(&mut recorded);
        let metadata = event.metadata();
        let LogFields { message, fields } = recorded;
        let redactor = self.redactor.read().unwrap_or_else(PoisonError::into_inner).clone();
        let text = line(&redactor.redact(&format!("{message}{fields}")), MAX_LINE);
        let text = format!(
            "{} {} {}: {text}\n",
            rfc3339(now()),
            metadata.level(),
            metadata.target()
        );
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that cannot be written must not stop the session.
        file.write_all(text.as_bytes()).unwrap_or_default();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message and the fields of an event.
#[derive(Default)]
struct LogFields {
    message: String,
    fields: String,
}

impl Visit for LogFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string does not fail.
        match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        }
        .unwrap_or_default();
    }
}
