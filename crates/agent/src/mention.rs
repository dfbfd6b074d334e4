//! Looks up what a prompt mentions, with the tools that the model has, and puts it behind the prompt.
//!
//! What the person names themselves needs no question, unless it only looks as if they did, or nobody is there; what is denied or
//! hidden stays so.

use crate::Approvals;
use crate::calls::paths;
use crate::desk::Wanted;
use crate::inbox::Inbox;
use crate::state::State;
use crate::surroundings::Command;
use futures::FutureExt as _;
use futures::future::join_all;
use model::{Block, CallId, Media, Message, Part, Role};
use prompt::{Certainty, Mention, Mentioned, Owner};
use serde_json::{Value, json};
use session::Level;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use tool::Context;

/// What is mentioned takes at most its part of the budget, and this many bytes, also where nobody knows the window.
const MOST_BYTES: usize = 200_000;
/// As many definitions of one symbol are shown.
const DEFINITIONS: usize = 3;
/// How input that was piped in begins, and an attached file.
const PIPED: &str = "\n\n<stdin>\n";
const ATTACHED: &str = "<file path=\"";
/// At most this much of another session is shown.
const THREAD_BYTES: usize = 40_000;

/// The prompt with its command and what both mention behind it, and the files that this touched. What is not found is told to
/// the person.
pub(crate) async fn resolve(
    state: &State,
    inbox: &Arc<Inbox>,
    mut message: Message,
    command: Option<Command>,
) -> (Message, Vec<PathBuf>) {
    // The prompt of a subtask was written by a model, which has to ask like any other call.
    if state.depth > 0 {
        return (message, Vec::new());
    }
    let mentions = mentions(state, &message, command.as_ref());
    message
        .parts
        .extend(command.map(|command| Part::text(command.expanded.text)));
    if mentions.is_empty() {
        return (message, Vec::new());
    }
    let looked_up = join_all(
        mentions
            .iter()
            .map(|(mention, wanted)| look_up(state, inbox, mention, *wanted)),
    )
    .await;
    let (mut pieces, mut media, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    for ((mention, _), found) in mentions.iter().zip(looked_up) {
        let found = found.map(|(found, paths)| {
            touched.extend(paths);
            found
        });
        match found {
            Ok(Found::Text(found)) => pieces.extend(found),
            Ok(Found::Media(found)) => media.extend(found),
            Err(_) if is_guess(mention) => {}
            Err(why) if is_word(mention) && why.ends_with("does not exist") => {}
            Err(why) => {
                let text = format!("not included: {}: {why}", name(mention));
                state.notice(Level::Warning, text).await;
            }
        }
    }
    let budget = state.frame.budget;
    let bytes = budget.map_or(MOST_BYTES, |budget| {
        budget.family.bytes(budget.mentions()).min(MOST_BYTES)
    });
    if let Some(context) = prompt::context(&pieces, bytes) {
        for cut in context.cut {
            state.notice(Level::Info, cut).await;
        }
        message.parts.push(Part::text(context.text));
    }
    message.parts.extend(media.into_iter().map(Part::Media));
    (message, touched)
}

/// What the person mentions themselves, and what the command that they call does. Piped input and attached files were not
/// written to mention anything.
fn mentions(state: &State, message: &Message, command: Option<&Command>) -> Vec<(Mention, Wanted)> {
    let surely = match state.approvals == Approvals::Deny {
        true => Wanted::Perhaps,
        false => Wanted::Surely,
    };
    let mut found: Vec<(Mention, Wanted)> = Vec::new();
    let mut add = |text: &str, wanted: Wanted| {
        for mention in prompt::mentions(text) {
            if !found.iter().any(|(known, _)| *known == mention) {
                let wanted = if is_guess(&mention) { Wanted::Perhaps } else { wanted };
                found.push((mention, wanted));
            }
        }
    };
    for part in &message.parts {
        match part {
            Part::Text { text, .. } if !text.starts_with(ATTACHED) => {
                add(text.split(PIPED).next().unwrap_or(text), surely);
            }
            Part::Text { .. }
            | Part::Thinking { .. }
            | Part::ToolCall { .. }
            | Part::ToolResult { .. }
            | Part::Media(_) => {}
        }
    }
    if let Some(command) = command {
        let wanted = match command.owner {
            Owner::Person => surely,
            Owner::Project => Wanted::Perhaps,
        };
        add(&command.expanded.body, wanted);
    }
    found
}

/// What git says where there is no commit yet.
const NO_COMMITS: &str = "ambiguous argument 'HEAD'";
/// What git calls a tree without files.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

enum Found {
    Text(Vec<Mentioned>),
    Media(Vec<Media>),
}

fn is_guess(mention: &Mention) -> bool {
    match mention {
        Mention::Path { certainty, .. } => *certainty == Certainty::Guessed,
        // Words with a `#` in front are often only words, unless they are written as only code is.
        Mention::Symbol(name) => {
            let hump = |pair: &[char]| pair[0].is_lowercase() && pair[1].is_uppercase();
            let letters: Vec<char> = name.chars().collect();
            !name.contains(['_', ':', '.']) && !letters.windows(2).any(hump)
        }
        Mention::Thread(_) | Mention::Url(_) | Mention::Rule(_) | Mention::Diff | Mention::Diagnostics => false,
    }
}

/// Whether it may well be a name of something that is no path.
fn is_word(mention: &Mention) -> bool {
    matches!(
        mention,
        Mention::Path {
            certainty: Certainty::Worded,
            ..
        }
    )
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

/// What a mention stands for, and the files that were touched to find it.
async fn look_up(
    state: &State,
    inbox: &Arc<Inbox>,
    mention: &Mention,
    wanted: Wanted,
) -> Result<(Found, Vec<PathBuf>), String> {
    let text = |piece: Mentioned| Found::Text(vec![piece]);
    let call = |tools: &'static [&'static str], input: Value| call(state, inbox, tools, input, wanted);
    match mention {
        Mention::Path { path, lines: None, .. } => {
            let as_folder = call(&["list_directory"], json!({"path": path})).await;
            if let Ok(Looked {
                said: listing, touched, ..
            }) = as_folder
            {
                let path = path.clone();
                return Ok((text(Mentioned::Folder { path, listing }), touched));
            }
            let Looked { said, media, touched } = call(&["read_file"], json!({"path": path})).await?;
            if !media.is_empty() {
                return Ok((Found::Media(media), touched));
            }
            let path = path.clone();
            Ok((text(Mentioned::File { path, text: said }), touched))
        }
        Mention::Path {
            path,
            lines: Some(lines),
            ..
        } => {
            let input = json!({"path": path, "start_line": lines.start(), "end_line": lines.end()});
            let Looked { said, touched, .. } = call(&["read_file"], input).await?;
            let (path, lines) = (path.clone(), lines.clone());
            Ok((
                text(Mentioned::Selection {
                    path,
                    lines,
                    text: said,
                }),
                touched,
            ))
        }
        Mention::Symbol(name) => {
            let looked = call(&["definition"], json!({"symbol": name})).await?;
            let places: Vec<Place<'_>> = looked.said.lines().filter_map(place).take(DEFINITIONS).collect();
            if places.is_empty() {
                return Err("it is not defined in this project".into());
            }
            let mut symbols = Vec::new();
            let mut touched = Vec::new();
            for Place { path, first, last } in places {
                let input = json!({"path": path, "start_line": first, "end_line": last});
                let looked = call(&["read_file"], input).await?;
                touched.extend(looked.touched);
                symbols.push(Mentioned::Symbol {
                    path: path.to_owned(),
                    lines: first..=last,
                    name: name.clone(),
                    text: looked.said,
                });
            }
            Ok((Found::Text(symbols), touched))
        }
        Mention::Url(url) => {
            let looked = call(&["fetch"], json!({"url": url})).await?;
            let (url, text) = (url.clone(), looked.said);
            Ok((Found::Text(vec![Mentioned::Page { url, text }]), Vec::new()))
        }
        Mention::Diff => {
            let mut looked = call(&["terminal"], json!({"command": "git --no-pager diff HEAD"})).await?;
            let is_first = looked.said.contains(NO_COMMITS);
            if is_first {
                let command = format!("git --no-pager diff {EMPTY_TREE}");
                looked = call(&["terminal"], json!({ "command": command })).await?;
            }
            // Git says in its output what is wrong, and nothing where nothing is changed.
            if let Some(why) = looked.said.lines().find_map(|line| line.strip_prefix("fatal: ")) {
                return Err(why.into());
            }
            if !looked.said.contains("diff --git ") {
                return Err(match is_first {
                    true => "there is no commit yet, and no file is tracked".into(),
                    false => "nothing is changed since the last commit".into(),
                });
            }
            Ok((text(Mentioned::Diff { text: looked.said }), Vec::new()))
        }
        Mention::Diagnostics => {
            let looked = call(&["diagnostics"], json!({})).await?;
            Ok((text(Mentioned::Diagnostics { text: looked.said }), Vec::new()))
        }
        Mention::Rule(name) => {
            let wanted = name.clone();
            let saved = state.aside(move |around| around.saved(&wanted)).await;
            let said = saved.unwrap_or_else(|| Err("looking for it failed".into()))?;
            let name = name.clone();
            Ok((text(Mentioned::Rule { name, text: said }), Vec::new()))
        }
        Mention::Thread(id) => Ok((thread(state, id).await?, Vec::new())),
    }
}

/// Where something is defined.
struct Place<'a> {
    path: &'a str,
    first: usize,
    last: usize,
}

/// The place in a line such as `src/parser.rs:12-40 fn next(&mut self)`.
fn place(line: &str) -> Option<Place<'_>> {
    let (path, rest) = line.split_once(':')?;
    let lines = rest.split(' ').next()?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    Some(Place {
        path,
        first: first.parse().ok()?,
        last: last.parse().ok()?,
    })
}

/// What a tool said to a mention.
struct Looked {
    said: String,
    media: Vec<Media>,
    touched: Vec<PathBuf>,
}

/// Runs the first of these tools that there is, as the model would, but without a question.
async fn call(
    state: &State,
    inbox: &Arc<Inbox>,
    tools: &[&str],
    input: Value,
    wanted: Wanted,
) -> Result<Looked, String> {
    let tool = tools
        .iter()
        .find_map(|name| state.tools.get(name))
        .ok_or_else(|| format!("there is no tool for it ({})", tools.join(", ")))?;
    let id = CallId::from("mention");
    let desk = Arc::new(state.desk(inbox, Some(id.clone()), &tool.spec().name));
    let crashed = |_| format!("`{}` crashed; this is a defect in hew", tool.spec().name);
    // A panic in a tool ends that tool, not the session.
    catch_unwind(AssertUnwindSafe(|| desk.forbids(tool.as_ref(), &input, wanted))).map_err(crashed)??;
    let touched = catch_unwind(AssertUnwindSafe(|| tool.actions(&input))).map_err(crashed)?;
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
    Ok(Looked {
        said: texts.join("\n"),
        media,
        touched: touched.map(paths).unwrap_or_default(),
    })
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
    Ok(Found::Text(vec![Mentioned::Thread {
        title: loaded.meta.title.unwrap_or_else(|| found.to_string()),
        text,
    }]))
}
