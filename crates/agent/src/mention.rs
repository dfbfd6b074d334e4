//! Looks up what a prompt mentions, with the tools that the model has, and puts it behind the prompt.
//!
//! What the person names themselves needs no question, unless it only looks as if they did, or nobody is there; what is denied or
//! hidden stays so.

use crate::Approvals;
use crate::desk::Wanted;
use crate::inbox::Inbox;
use crate::state::State;
use futures::FutureExt as _;
use futures::future::join_all;
use model::{Block, CallId, Media, Message, Part, Role};
use prompt::{Certainty, Mention, Mentioned};
use serde_json::{Value, json};
use session::Level;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tool::Context;

/// What is mentioned takes at most this part of the window, at about four bytes a token.
const WINDOW_PART: u64 = 6;
/// And at most this many bytes, also where nobody knows the window.
const MOST_BYTES: u64 = 200_000;
/// At most this much of another session is shown.
const THREAD_BYTES: usize = 40_000;

/// The prompt with what it mentions behind it. What is not found is told to the person.
pub(crate) async fn resolve(state: &State, inbox: &Arc<Inbox>, mut message: Message) -> Message {
    // The prompt of a subtask was written by a model, which has to ask like any other call.
    if state.depth > 0 {
        return message;
    }
    let mentions = prompt::mentions(&message.text());
    if mentions.is_empty() {
        return message;
    }
    let looked_up = join_all(mentions.iter().map(|mention| look_up(state, inbox, mention))).await;
    let (mut pieces, mut media) = (Vec::new(), Vec::new());
    for (mention, found) in mentions.iter().zip(looked_up) {
        match found {
            Ok(Found::Text(piece)) => pieces.push(piece),
            Ok(Found::Media(found)) => media.extend(found),
            Err(_) if is_guess(mention) => {}
            Err(why) => {
                let text = format!("not included: {}: {why}", name(mention));
                state.notice(Level::Warning, text).await;
            }
        }
    }
    let window = state.model.info().limits.window;
    let bytes = match window {
        0 => MOST_BYTES,
        window => (window * 4 / WINDOW_PART).min(MOST_BYTES),
    };
    if let Some(context) = prompt::context(&pieces, bytes as usize) {
        for cut in context.cut {
            state.notice(Level::Info, cut).await;
        }
        message.parts.push(Part::text(context.text));
    }
    message.parts.extend(media.into_iter().map(Part::Media));
    message
}

enum Found {
    Text(Mentioned),
    Media(Vec<Media>),
}

fn is_guess(mention: &Mention) -> bool {
    match mention {
        Mention::Path { certainty, .. } => *certainty == Certainty::Guessed,
        // Words with a `#` in front are often only words.
        Mention::Symbol(_) => true,
        Mention::Thread(_) | Mention::Url(_) | Mention::Rule(_) | Mention::Diff | Mention::Diagnostics => false,
    }
}

/// What a mention is called, as the person wrote it.
fn name(mention: &Mention) -> String {
    match mention {
        Mention::Path { path, .. } => format!("@{path}"),
        Mention::Symbol(name) => format!("#{name}"),
        Mention::Thread(id) => format!("@thread:{id}"),
        Mention::Url(url) => format!("@{url}"),
        Mention::Rule(name) => format!("@rule:{name}"),
        Mention::Diff => "@diff".into(),
        Mention::Diagnostics => "@diagnostics".into(),
    }
}

async fn look_up(state: &State, inbox: &Arc<Inbox>, mention: &Mention) -> Result<Found, String> {
    let wanted = match is_guess(mention) || state.approvals == Approvals::Deny {
        true => Wanted::Perhaps,
        false => Wanted::Surely,
    };
    let call = |tools: &'static [&'static str], input: Value| call(state, inbox, tools, input, wanted);
    match mention {
        Mention::Path { path, lines: None, .. } => {
            let as_folder = call(&["list_directory"], json!({"path": path})).await;
            if let Ok((listing, _)) = as_folder {
                return Ok(Found::Text(Mentioned::Folder {
                    path: path.clone(),
                    listing,
                }));
            }
            let (text, media) = call(&["read_file"], json!({"path": path})).await?;
            if !media.is_empty() {
                return Ok(Found::Media(media));
            }
            Ok(Found::Text(Mentioned::File {
                path: path.clone(),
                text,
            }))
        }
        Mention::Path {
            path,
            lines: Some(lines),
            ..
        } => {
            let input = json!({"path": path, "start_line": lines.start(), "end_line": lines.end()});
            let (text, _) = call(&["read_file"], input).await?;
            Ok(Found::Text(Mentioned::Selection {
                path: path.clone(),
                lines: lines.clone(),
                text,
            }))
        }
        Mention::Symbol(name) => {
            let (text, _) = call(&["definition", "references"], json!({"symbol": name})).await?;
            Ok(Found::Text(Mentioned::Rule {
                name: format!("#{name}"),
                text,
            }))
        }
        Mention::Url(url) => {
            let (text, _) = call(&["fetch"], json!({"url": url})).await?;
            Ok(Found::Text(Mentioned::Page { url: url.clone(), text }))
        }
        Mention::Diff => {
            let (text, _) = call(&["terminal"], json!({"command": "git --no-pager diff HEAD"})).await?;
            Ok(Found::Text(Mentioned::Diff { text }))
        }
        Mention::Diagnostics => {
            let (text, _) = call(&["diagnostics"], json!({})).await?;
            Ok(Found::Text(Mentioned::Diagnostics { text }))
        }
        Mention::Rule(name) => match state.library.get(name) {
            Some(text) => Ok(Found::Text(Mentioned::Rule {
                name: name.clone(),
                text: text.to_string(),
            })),
            None => Err("there is no rule or prompt of this name".into()),
        },
        Mention::Thread(id) => thread(state, id).await,
    }
}

/// Runs the first of these tools that there is, as the model would, but without a question.
async fn call(
    state: &State,
    inbox: &Arc<Inbox>,
    tools: &[&str],
    input: Value,
    wanted: Wanted,
) -> Result<(String, Vec<Media>), String> {
    let tool = tools
        .iter()
        .find_map(|name| state.tools.get(name))
        .ok_or_else(|| format!("there is no tool for it ({})", tools.join(", ")))?;
    let id = CallId::from("mention");
    let desk = Arc::new(state.desk(inbox, Some(id.clone()), &tool.spec().name));
    let crashed = |_| format!("`{}` crashed; this is a defect in hew", tool.spec().name);
    // A panic in a tool ends that tool, not the session.
    catch_unwind(AssertUnwindSafe(|| desk.forbids(tool.as_ref(), &input, wanted))).map_err(crashed)??;
    let context = Context {
        session: state.frame.affinity.clone().unwrap_or_default(),
        view: state.view,
        level: desk.level(),
        spending: state.spending.clone(),
        desk,
        ..Context::alone(id, state.model.info().features)
    };
    let running = AssertUnwindSafe(Arc::clone(tool).run(input, context)).catch_unwind();
    let output = running.await.map_err(crashed)?.map_err(|error| error.to_string())?;
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for block in output.content {
        match block {
            Block::Text { text } => texts.push(text),
            Block::Media(found) => media.push(found),
        }
    }
    Ok((texts.join("\n"), media))
}

/// What was said in another session, its end first of all.
async fn thread(state: &State, id: &str) -> Result<Found, String> {
    let found = state.store.find(id).await.map_err(|error| error.to_string())?;
    let loaded = state.store.load(found).await.map_err(|error| error.to_string())?;
    let mut text = String::new();
    for item in prompt::view(&loaded.items) {
        let Some(message) = item.message() else { continue };
        let said = message.text();
        if said.trim().is_empty() {
            continue;
        }
        text.push_str(match message.role {
            Role::User => "[person] ",
            Role::Assistant => "[agent] ",
        });
        text.push_str(said.trim());
        text.push('\n');
    }
    if text.len() > THREAD_BYTES {
        let from = text.ceil_char_boundary(text.len() - THREAD_BYTES);
        text = format!("({from} bytes before this are left out)\n{}", &text[from..]);
    }
    Ok(Found::Text(Mentioned::Thread {
        title: loaded.meta.title.unwrap_or_else(|| found.to_string()),
        text,
    }))
}
