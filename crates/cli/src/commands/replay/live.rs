//! `hew replay --live`: the model answers again from an item on, in a copy of the project.

use crate::args::{GlobalArgs, ReplayArgs, TurnArgs};
use crate::commands::{load, project_copy, run};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::format::{dollars, plural, tokens};
use host::replay::ReplayChange;
use host::sessions::{copy_items, short_id};
use host::system_prompt::PromptChange;
use model::{Cost, Message, Part, PartOrigin};
use session::{Body, Command, Delivery, Item, ItemId, SessionId, SessionMeta, Store as _, Time};
use std::sync::Arc;
use store::SqliteStore;

/// Answers again from `from` on, by default from the first prompt.
pub(super) async fn answer(
    args: &ReplayArgs,
    (store, meta): (Arc<SqliteStore>, SessionMeta),
    from: Option<ItemId>,
    change: ReplayChange,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
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
    project_copy::restore(&store, &original.items, start.kept, &meta.root, &folder).await?;
    let folder = folder
        .canonicalize()
        .map_err(|error| Failure::file("open", &folder, &error))?;
    let title = format!("{} (replay)", meta.title.as_deref().unwrap_or("untitled"));
    let id = copy_items(&store, original, start.kept, &folder, Some(title)).await?;
    output::print_stderr(&format!(
        "session {} in {}\n",
        short_id(id),
        host::paths::display_path(&folder, env)
    ));
    let copy = host::sessions::find(&store, Some(&id.to_string()), &folder).await?;
    let mut global = global.clone();
    if !change.without.is_empty() {
        let mut disabled = load(&global, env, Vec::new())?.1.config.tools.disabled;
        disabled.extend(change.without.iter().cloned());
        global.set.push(format!("tools.disabled={disabled:?}"));
    }
    global.cwd = None;
    let turn = TurnArgs {
        json: args.json,
        model: args.with_model.clone().or_else(|| global.turn.model.clone()),
        ..global.turn.clone()
    };
    let prompt_change = PromptChange {
        templates: change.templates,
        rules: change.rules,
    };
    let exit = run::resume_changed(
        copy,
        Arc::clone(&store),
        start.command,
        turn,
        prompt_change,
        &global,
        env,
    )
    .await?;
    let before = spent(&store, meta.id, since).await?;
    let after = spent(&store, id, Time(0)).await?;
    output::print_stderr(&format!("before: {before}\nnow:    {after}\n"));
    Ok(exit)
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
async fn spent(store: &SqliteStore, session: SessionId, since: Time) -> Result<String> {
    let records = store.request_records(session).await?;
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
