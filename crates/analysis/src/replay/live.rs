//! Prepares a session in which the model answers again from an item on, in a copy of the project.

use crate::failure::{Failure, Result};
use crate::output::format::{dollars, plural, tokens};
use crate::project_copy;
use crate::replay::ReplaySource;
use host::environment::ProcessEnv;
use host::sessions::copy_items;
use model::{Cost, Message, Part, PartOrigin};
use session::{Body, Command, Delivery, Item, ItemId, SessionId, SessionMeta, Store as _, Time};
use std::path::PathBuf;
use std::sync::Arc;

/// A copy of a session up to an item, in a copy of its project.
pub struct LiveReplay {
    /// The copy.
    pub copy: SessionMeta,
    /// The copy of the project.
    pub folder: PathBuf,
    /// The command that lets the model answer.
    pub command: Command,
    /// The time of the item in the original session.
    since: Time,
}

impl LiveReplay {
    /// Copies the session and the project up to `from`, by default up to the first prompt.
    pub async fn prepare(source: &ReplaySource, from: Option<ItemId>, env: &ProcessEnv) -> Result<LiveReplay> {
        let ReplaySource { store, meta, .. } = source;
        let original = store.load(meta.id).await?;
        let start = start(&original.items, from)?;
        let since = original.items.get(start.kept).map_or(Time(0), |item| item.at);
        let folder = host::paths::data_dir(env)?
            .join("replays")
            .join(SessionId::new().to_string());
        match meta.root.is_dir() {
            true => project_copy::copy_project(&meta.root, &folder)?,
            false => std::fs::create_dir_all(&folder).map_err(|error| Failure::file("create", &folder, &error))?,
        }
        project_copy::restore(store, &original.items, start.kept, &meta.root, &folder).await?;
        let folder = folder
            .canonicalize()
            .map_err(|error| Failure::file("open", &folder, &error))?;
        let title = format!("{} (replay)", meta.title.as_deref().unwrap_or("untitled"));
        let id = copy_items(store, original, start.kept, &folder, Some(title)).await?;
        Ok(LiveReplay {
            copy: host::sessions::find(store, Some(&id.to_string()), &folder).await?,
            folder,
            command: start.command,
            since,
        })
    }

    /// What the requests of the original session from the item on, and those of the copy, used: two lines.
    pub async fn comparison(&self, source: &ReplaySource) -> Result<String> {
        let before = spent(source, source.meta.id, self.since).await?;
        let now = spent(source, self.copy.id, Time(0)).await?;
        Ok(format!("before: {before}\nnow:    {now}\n"))
    }
}

/// The position from which the model answers again.
struct LiveStart {
    /// The number of items before it.
    kept: usize,
    command: Command,
}

fn start(items: &[Arc<Item>], from: Option<ItemId>) -> Result<LiveStart> {
    let index = match from {
        Some(from) => items.iter().position(|item| item.id == from),
        None => items.iter().position(|item| matches!(item.body, Body::Prompt { .. })),
    };
    let index = index.ok_or_else(|| Failure::usage("the conversation does not contain this item"))?;
    Ok(match &items[index].body {
        Body::Prompt { message } => LiveStart {
            kept: index,
            command: Command::Prompt {
                message: written(message),
                delivery: Delivery::Queue,
            },
        },
        Body::Reply { .. } => LiveStart {
            kept: index,
            command: Command::Continue,
        },
        _ => {
            // The results of a reply belong together.
            let results = items[index..].iter();
            let count = results
                .take_while(|item| !matches!(item.body, Body::Reply { .. } | Body::Prompt { .. }))
                .count();
            LiveStart {
                kept: index + count,
                command: Command::Continue,
            }
        }
    })
}

/// The parts of a prompt that the user wrote; hew generates the others again.
fn written(message: &Message) -> Message {
    let is_own = |part: &&Part| match part {
        Part::Text { origin, .. } => *origin == PartOrigin::Author,
        Part::Media(_) => true,
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => false,
    };
    Message {
        parts: message.parts.iter().filter(is_own).cloned().collect(),
        ..message.clone()
    }
}

/// The requests of a session since a time.
async fn spent(source: &ReplaySource, session: SessionId, since: Time) -> Result<String> {
    let records = source.store.request_records(session).await?;
    let records: Vec<_> = records.iter().filter(|record| record.at >= since).collect();
    let (mut used, mut cost) = (0, Cost::default());
    for record in &records {
        used += record.usage.prompt_tokens() + record.usage.output;
        cost += record.cost.unwrap_or_default();
    }
    Ok(format!(
        "{}, {} tokens, {}",
        plural(records.len() as u64, "request"),
        tokens(used),
        dollars(cost)
    ))
}
