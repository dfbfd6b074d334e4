//! A log file for whoever looks for a fault: what happened when, one line each, without what was said and without secrets.
//!
//! It is written only where somebody asks for it, with `--log FILE` or `HEW_LOG`. Our own crates say what they do through
//! `tracing`; what a session does is read off its events.

use crate::environment::Environment;
use crate::failure::{Failure, Result, plain};
use crate::output::words::{line, moment, now};
use session::{Body, Event};
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

/// Longer lines are cut.
const WIDEST: usize = 2_000;
/// Shorter values of variables hide too much that is no secret.
const SHORTEST: usize = 8;
/// Words that begin so are keys, whoever gave them.
const KEYS: [&str; 8] = ["sk-", "sk_", "ghp_", "gho_", "github_pat_", "xoxb-", "AIza", "AKIA"];
/// Libraries whose events are worth a line only where something is wrong.
const OWN: [&str; 9] = [
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

/// Begins to write the log, if somebody wants one.
pub(crate) fn begin(file: Option<&Path>, env: &Environment) -> Result<()> {
    let named = env.get("HEW_LOG").map(Path::new);
    let Some(path) = file.or(named) else { return Ok(()) };
    let open = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let file = open.map_err(|error| {
        Failure::usage(format!("cannot write the log {}: {}", path.display(), plain(&error)))
            .hint("check --log and HEW_LOG")
    })?;
    let log = Log {
        file: Mutex::new(file),
        secrets: RwLock::new(secrets(env)),
    };
    // A second one can only be begun by a test.
    tracing::subscriber::set_global_default(log).unwrap_or_default();
    tracing::info!(target: "hew", version = env!("CARGO_PKG_VERSION"), "started");
    Ok(())
}

/// Keeps a secret that has just been found out of the log, if there is one.
pub(crate) fn hide(secret: &str) {
    tracing::dispatcher::get_default(|dispatch| {
        if let Some(log) = dispatch.downcast_ref::<Log>() {
            log.hide(secret);
        }
    });
}

/// Events on their way to the front end, written down as they pass; as they are where nobody wants a log.
pub(crate) fn passing(name: &str, mut events: mpsc::Receiver<Event>) -> mpsc::Receiver<Event> {
    if !tracing::enabled!(target: "hew", Level::INFO) {
        return events;
    }
    let name = name.to_owned();
    let (sender, receiver) = mpsc::channel(events.max_capacity());
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let Some(words) = told(&event) {
                tracing::info!(target: "hew", session = name, "{words}");
            }
            if sender.send(event).await.is_err() {
                return;
            }
        }
    });
    receiver
}

/// An event in few words; nothing where it says nothing by itself. What was said is not repeated, only how much.
fn told(event: &Event) -> Option<String> {
    Some(match event {
        Event::TurnStarted => "the turn begins".into(),
        Event::ItemStarted { .. } | Event::ItemDelta { .. } => return None,
        Event::ItemFinished { item } => kept(&item.body),
        Event::ItemDropped { id } => format!("item {id} is dropped"),
        Event::Asked { question } => format!("question {} is asked", question.id),
        Event::Answered { question } => format!("question {question} is answered"),
        Event::Usage {
            request, usage, cost, ..
        } => format!(
            "request {request}: {} prompt tokens, {} cached, {} written, ${:.6}",
            usage.prompt(),
            usage.cache_read,
            usage.output,
            cost.unwrap_or_default().usd()
        ),
        Event::Retrying { error, attempt, delay } => format!("attempt {attempt} failed, again in {delay:?}: {error}"),
        Event::Notice { level, text } => format!("{level:?}: {text}"),
        Event::Titled { .. } => "it has a title".into(),
        Event::Subtask { session, event, .. } => format!("subtask {session}: {}", told(event)?),
        Event::TurnFinished { ending, answer } => format!("the turn ends ({ending:?}) with {} bytes", answer.len()),
    })
}

fn kept(body: &Body) -> String {
    let bytes = |message: &model::Message| message.text().len();
    match body {
        Body::Prompt { message } => format!("prompt of {} bytes", bytes(message)),
        Body::Reply {
            message, model, end, ..
        } => format!("{model} replied {} bytes ({end:?})", bytes(message)),
        Body::Result {
            tool, millis, changes, ..
        } => format!("{tool} took {millis} ms and changed {} files", changes.len()),
        Body::Summary { message, .. } => format!("summary of {} bytes", bytes(message)),
        Body::Notice { text } => text.clone(),
        Body::Wake { cause, .. } => format!("goes on because of {cause}"),
        Body::Mode { name, .. } => format!("mode {name}"),
        Body::Todos { list } => format!("{} things to do", list.len()),
        Body::Panels { shown, fold, .. } => format!("{} panels shown, folded: {}", shown.len(), fold.is_some()),
        Body::Review { changes } => format!("{} changes reviewed", changes.len()),
        Body::Restored { how, changes, .. } => format!("{how:?} of {} files", changes.len()),
    }
}

/// Values that must not be written: those of variables that are called so.
fn secrets(env: &Environment) -> Vec<String> {
    let is_secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"]
            .iter()
            .any(|word| name.contains(word))
    };
    let all = env.all().iter();
    let found = all.filter(|(name, value)| is_secret(name) && value.len() >= SHORTEST);
    let mut found: Vec<String> = found.map(|(_, value)| value.clone()).collect();
    // One may be a part of another.
    found.sort_by_key(|value| std::cmp::Reverse(value.len()));
    found
}

/// A text without secrets.
fn redacted(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret.as_str(), "[secret]");
    }
    let mut out = String::with_capacity(text.len());
    let mut bearer = false;
    for piece in text.split_inclusive([' ', '"', '\'', '=', ':', ',', '&', '?', '/', '\n']) {
        let word = piece.trim_end_matches([' ', '"', '\'', '=', ':', ',', '&', '?', '/', '\n']);
        let is_key = bearer
            || KEYS
                .iter()
                .any(|key| word.len() > key.len() + SHORTEST && word.starts_with(key));
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

/// Writes events of `tracing` to a file.
struct Log {
    file: Mutex<File>,
    /// What must not be written, the longest first: one may be a part of another.
    secrets: RwLock<Vec<String>>,
}

impl Log {
    fn hide(&self, secret: &str) {
        let mut secrets = self.secrets.write().unwrap_or_else(PoisonError::into_inner);
        if secret.len() >= SHORTEST && !secrets.iter().any(|known| known == secret) {
            let place = secrets.partition_point(|known| known.len() > secret.len());
            secrets.insert(place, secret.to_owned());
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let krate = metadata.target().split("::").next().unwrap_or_default();
        let most = match OWN.contains(&krate) {
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
        let mut words = Words::default();
        event.record(&mut words);
        let metadata = event.metadata();
        let Words { message, fields } = words;
        let secrets = self.secrets.read().unwrap_or_else(PoisonError::into_inner);
        let said = line(&redacted(&format!("{message}{fields}"), &secrets), WIDEST);
        drop(secrets);
        let text = format!("{} {} {}: {said}\n", moment(now()), metadata.level(), metadata.target());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that cannot be written must not stop the work.
        file.write_all(text.as_bytes()).unwrap_or_default();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What an event says.
#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a text does not fail.
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
    fn secrets_are_not_written_whoever_names_them() {
        let env = Environment::from([
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
            assert_eq!(redacted(text, &hidden), expected);
        }
    }
}
