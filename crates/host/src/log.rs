//! The log file for debugging: one line per event, without the contents of messages and without secrets.
//!
//! It is written only with `--log FILE` or `HEW_LOG`. The crates of hew use `tracing`; sessions are logged by their
//! events.

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result, plain};
use crate::text::{line, now, rfc3339};
use session::{Body, Event, RequestEnd};
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
/// The minimum length of a redacted value: shorter ones would match ordinary text.
const MIN_SECRET: usize = 8;
/// Prefixes of keys.
const KEY_PREFIXES: [&str; 8] = ["sk-", "sk_", "ghp_", "gho_", "github_pat_", "xoxb-", "AIza", "AKIA"];
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
        secrets: RwLock::new(secrets(env)),
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
        Event::ItemFinished { item } => item_summary(&item.body),
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
        Event::Subtask { session, event, .. } => format!("subtask {session}: {}", event_summary(event)?),
        Event::TurnFinished { ending, answer } => {
            format!("turn finished ({}) with {} bytes", ending.name(), answer.len())
        }
    })
}

fn item_summary(body: &Body) -> String {
    let bytes = |message: &model::Message| message.text().len();
    match body {
        Body::Prompt { message } => format!("prompt of {} bytes", bytes(message)),
        Body::Reply {
            message, model, end, ..
        } => format!("{model} replied {} bytes ({})", bytes(message), RequestEnd::from(end)),
        Body::Result {
            tool, millis, changes, ..
        } => format!("{tool} took {millis} ms and changed {} files", changes.len()),
        Body::Summary { message, .. } => format!("summary of {} bytes", bytes(message)),
        Body::Notice { text } => text.clone(),
        Body::Notification { source: cause, .. } => format!("continues because of {cause}"),
        Body::Mode { name, .. } => format!("mode {name}"),
        Body::Todos { list } => format!("{} things to do", list.len()),
        Body::Panels {
            states: shown,
            elision: fold,
            ..
        } => format!("{} panels shown, folded: {}", shown.len(), fold.is_some()),
        Body::Review { changes, .. } => format!("{} changes reviewed", changes.len()),
        Body::Restored { kind: how, changes, .. } => format!("{} of {} files", how.name(), changes.len()),
    }
}

/// The values of variables with names of secrets.
fn secrets(env: &ProcessEnv) -> Vec<String> {
    let is_secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"]
            .iter()
            .any(|word| name.contains(word))
    };
    let all = env.all().iter();
    let found = all.filter(|(name, value)| is_secret(name) && value.len() >= MIN_SECRET);
    let mut found: Vec<String> = found.map(|(_, value)| value.clone()).collect();
    // The longest first: one may contain another.
    found.sort_by_key(|value| std::cmp::Reverse(value.len()));
    found
}

/// Replaces secrets in a text.
fn redact(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret.as_str(), "[secret]");
    }
    let mut out = String::with_capacity(text.len());
    let mut bearer = false;
    for piece in text.split_inclusive([' ', '"', '\'', '=', ':', ',', '&', '?', '/', '\n']) {
        let word = piece.trim_end_matches([' ', '"', '\'', '=', ':', ',', '&', '?', '/', '\n']);
        let is_key = bearer
            || KEY_PREFIXES
                .iter()
                .any(|key| word.len() > key.len() + MIN_SECRET && word.starts_with(key));
        match is_key && !word.is_empty() {
            true => {
                out.push_str("[secret]");
                out.push_str(&piece[word.len()..]);
            }
            false => out.push_str(piece),
        }
        bearer = word.eq_ignore_ascii_case("bearer") || (bearer && word.is_empty());
    }
    out
}

/// Writes `tracing` events to a file.
struct LogFile {
    file: Mutex<File>,
    /// Redacted values, the longest first: one may contain another.
    secrets: RwLock<Vec<String>>,
}

impl LogFile {
    fn hide(&self, secret: &str) {
        let mut secrets = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        if secret.len() >= MIN_SECRET && !secrets.iter().any(|known| known == secret) {
            let place = secrets.partition_point(|known| known.len() > secret.len());
            secrets.insert(place, secret.to_owned());
        }
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
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        let text = line(&redact(&format!("{message}{fields}"), &secrets), MAX_LINE);
        drop(secrets);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted() {
        let env = ProcessEnv::from([
            ("ANTHROPIC_API_KEY", "a-very-own-key"),
            ("GITHUB_TOKEN", "short"),
            ("EDITOR", "vim-improved"),
        ]);
        let hidden = secrets(&env);
        for (text, expected) in [
            ("the key a-very-own-key is wrong", "the key [secret] is wrong"),
            ("vim-improved and short stay", "vim-improved and short stay"),
            ("authorization: Bearer abc.def", "authorization: Bearer [secret]"),
            ("key=sk-ant-0123456789abcdef&x=1", "key=[secret]&x=1"),
            ("\"ghp_0123456789abcdef\"", "\"[secret]\""),
            ("a task-list and sk-short", "a task-list and sk-short"),
        ] {
            assert_eq!(redact(text, &hidden), expected);
        }
    }
}
