//! Stores notes for the user, the project and the session.

use std::sync::Arc;

use policy::{Action, PathArea};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase, fold_name};
use workspace::Location;

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::notes::{NoteName, NoteScope, NoteStore};
use crate::support::project::{run_blocking, tool_error};
use crate::support::text::count;

/// Context lines shown around a change.
const CONTEXT_LINES: usize = 4;

pub(crate) struct MemoryTool(pub(crate) NoteStore);

/// Notes that outlive the session, as Markdown files: user/… (all projects), project/… (this one), session/… (this
/// conversation). View before you write; keep what will matter again.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// view (a note, or a list without path), create, str_replace, insert, delete or rename.
    command: MemoryCommand,
    /// Such as project/build.md.
    #[serde(alias = "old_path")]
    path: Option<String>,
    #[serde(default, alias = "content", alias = "text", deserialize_with = "tool::optional_text")]
    #[schemars(with = "Option<String>")]
    file_text: Option<String>,
    old_str: Option<String>,
    new_str: Option<String>,
    /// Line after which to insert; 0 for the beginning.
    insert_line: Option<usize>,
    insert_text: Option<String>,
    new_path: Option<String>,
    #[schemars(skip)]
    view_range: Option<Vec<i64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(with = "String")]
enum MemoryCommand {
    #[serde(alias = "list", alias = "read")]
    View,
    #[serde(alias = "write")]
    Create,
    #[serde(alias = "update", alias = "edit")]
    StrReplace,
    Insert,
    Delete,
    Rename,
}

impl BuiltIn for MemoryTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(MemoryTool(parts.notebook())))
    }
}

impl Tool for MemoryTool {
    const NAME: &'static str = "memory";
    const ALIASES: &'static [&'static str] = &["memory_create", "remember", "save_memory"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Think,
        peers: &[
            (PeerAgent::Copilot, &["memory"]),
            (PeerAgent::ContextPilot, &["memory_create", "tree_describe"]),
            (PeerAgent::GeminiCli, &["save_memory"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        adapt(&fold_name(called), input);
    }

    fn title(&self, input: &Input) -> String {
        let verb = match input.command {
            MemoryCommand::View => "view",
            MemoryCommand::Create => "create",
            MemoryCommand::StrReplace => "change",
            MemoryCommand::Insert => "insert into",
            MemoryCommand::Delete => "delete",
            MemoryCommand::Rename => "rename",
        };
        format!("{verb} {}", input.path.as_deref().unwrap_or("all"))
    }

    /// Notes are in hew's data directory. Those of the project and the session count as files of the project; those of
    /// the user are outside, because they are part of the prompts of all projects.
    fn actions(&self, input: &Input) -> Vec<Action> {
        if input.command == MemoryCommand::View {
            return Vec::new();
        }
        let paths = [&input.path, &input.new_path];
        let paths = paths.into_iter().flatten().map(|path| path.trim());
        paths
            .filter(|path| !path.is_empty())
            .map(|path| self.writing(path))
            .collect()
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let notebook = self.0.clone();
        run_blocking(move || run(&notebook, &input, &context.session)).await
    }
}

/// The note for facts that other agents store without a name.
const FACTS_NOTE: &str = "project/memory.md";
/// The note for descriptions of files.
const FILES_NOTE: &str = "project/files.md";

/// Rewrites the arguments of other agents' memory tools: each fact becomes a line of a note.
fn adapt(called: &str, input: &mut Map<String, Value>) {
    let is_named = input.contains_key("command");
    let (note, lines) = match called {
        "savememory" | "remember" | "memorycreate" if !is_named => {
            let listed = arguments::objects(input.get("memories"));
            let single = listed.is_empty().then(|| input.clone());
            let fact = |fields: &Map<String, Value>| {
                let names = ["fact", "content", "contents", "tl_dr", "text", "memory"];
                names
                    .iter()
                    .find_map(|name| arguments::text(fields, name).map(str::to_owned))
            };
            (
                FACTS_NOTE,
                listed.iter().chain(&single).filter_map(fact).collect::<Vec<_>>(),
            )
        }
        "treedescribe" => {
            let listed = arguments::objects(input.get("descriptions"));
            let single = listed.is_empty().then(|| input.clone());
            let line = |fields: &Map<String, Value>| {
                let path = arguments::text(fields, "path")?;
                let text = match fields.get("delete").and_then(arguments::truth) {
                    Some(true) => "(no description)",
                    Some(false) | None => arguments::text(fields, "description")?,
                };
                Some(format!("{path}: {text}"))
            };
            (FILES_NOTE, listed.iter().chain(&single).filter_map(line).collect())
        }
        _ => return,
    };
    if lines.is_empty() {
        return;
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    input.insert("command".into(), "insert".into());
    input.insert("path".into(), note.into());
    input.insert("insert_text".into(), lines.join("\n").into());
}

impl MemoryTool {
    fn writing(&self, path: &str) -> Action {
        let found = NoteStore::name(path).and_then(|name| Ok((name.scope, self.0.locate(&name, "")?)));
        match found {
            Ok((scope, note)) => Action::Write {
                path: note.path().to_owned(),
                place: match scope {
                    NoteScope::User => PathArea::Outside,
                    NoteScope::Project | NoteScope::Session => PathArea::Inside,
                },
            },
            // Rejected when the call runs.
            Err(_) => Action::Write {
                path: path.into(),
                place: PathArea::Outside,
            },
        }
    }
}

fn run(notebook: &NoteStore, input: &Input, session: &str) -> Result<Output, Error> {
    let name = match input.path.as_deref().map(str::trim) {
        None | Some("" | "/" | "/memories" | "/memories/") if input.command == MemoryCommand::View => {
            return list(notebook, &NoteScope::ALL, session);
        }
        Some(path) if !path.is_empty() => NoteStore::name(path)?,
        Some(_) | None => return missing("path"),
    };
    if name.rest.is_empty() {
        return match input.command {
            MemoryCommand::View => list(notebook, &[name.scope], session),
            _ => Err(Error::Failed(format!(
                "`{}` is a folder; name a note in it, such as {0}/notes.md",
                name.scope.word()
            ))),
        };
    }
    let note = notebook.locate(&name, session)?;
    match input.command {
        MemoryCommand::View => view(&name, &note, input.view_range.as_deref()),
        MemoryCommand::Create => {
            let Some(text) = &input.file_text else {
                return missing("file_text");
            };
            notebook.write(&note, text)?;
            done(&name, "kept", text)
        }
        MemoryCommand::StrReplace => {
            let Some(old) = input.old_str.as_deref().filter(|old| !old.is_empty()) else {
                return missing("old_str");
            };
            let text = read(&note)?;
            let new = input.new_str.as_deref().unwrap_or_default();
            match text.matches(old).count() {
                1 => {}
                0 => {
                    return Err(Error::Failed(
                        "old_str is not in the note; view it and quote it exactly".into(),
                    ));
                }
                many => {
                    return Err(Error::Failed(format!(
                        "old_str matches {}; quote more of it",
                        count(many, "time")
                    )));
                }
            }
            let line = text.split(old).next().unwrap_or_default().matches('\n').count();
            let changed = text.replacen(old, new, 1);
            notebook.write(&note, &changed)?;
            echo(&name, &changed, line, new)
        }
        MemoryCommand::Insert => {
            let Some(new) = input.insert_text.as_ref().or(input.file_text.as_ref()) else {
                return missing("insert_text");
            };
            let text = match note.exists() {
                true => read(&note)?,
                false => String::new(),
            };
            let lines: Vec<&str> = text.lines().collect();
            let at = input.insert_line.unwrap_or(lines.len());
            if at > lines.len() {
                return Err(Error::Failed(format!(
                    "line {at} is past the end; the note has {}",
                    count(lines.len(), "line")
                )));
            }
            let (before, after) = lines.split_at(at);
            let changed = [before, &[new.trim_end_matches('\n')], after].concat().join("\n") + "\n";
            notebook.write(&note, &changed)?;
            echo(&name, &changed, at, new)
        }
        MemoryCommand::Delete => {
            note.remove_all().map_err(tool_error)?;
            Ok(Output::text(format!("Deleted {}.", display_name(&name))))
        }
        MemoryCommand::Rename => {
            let Some(to) = input.new_path.as_deref().filter(|to| !to.trim().is_empty()) else {
                return missing("new_path");
            };
            rename(notebook, &name, &note, &NoteStore::name(to)?, session)
        }
    }
}

fn rename(
    notebook: &NoteStore,
    name: &NoteName,
    note: &Location,
    to: &NoteName,
    session: &str,
) -> Result<Output, Error> {
    let target = notebook.locate(to, session)?;
    if to.rest.is_empty() || target.is_taken() {
        return Err(Error::Failed(format!("{} exists already", display_name(to))));
    }
    let text = read(note)?;
    notebook.write(&target, &text)?;
    note.remove_all().map_err(tool_error)?;
    Ok(Output::text(format!(
        "{} is {} now.",
        display_name(name),
        display_name(to)
    )))
}

fn list(notebook: &NoteStore, scopes: &[NoteScope], session: &str) -> Result<Output, Error> {
    let mut names = Vec::new();
    for scope in scopes {
        names.extend(notebook.list(*scope, session)?);
    }
    let summary = count(names.len(), "note");
    Ok(match names.is_empty() {
        true => Output::text("There are no notes yet.").with_summary(summary),
        false => Output::text(names.join("\n")).with_summary(summary),
    })
}

fn view(name: &NoteName, note: &Location, range: Option<&[i64]>) -> Result<Output, Error> {
    if note.is_dir() {
        return Err(Error::Failed(format!(
            "{} is a folder; view its scope to see its notes",
            display_name(name)
        )));
    }
    let text = read(note)?;
    let total = text.lines().count();
    let (first, last) = match range {
        Some([first, last, ..]) => (*first, if *last < 0 { i64::MAX } else { *last }),
        Some(_) | None => (1, i64::MAX),
    };
    let lines = text
        .lines()
        .zip(1_i64..)
        .filter(|(_, number)| (first..=last).contains(number));
    let shown: Vec<String> = lines.map(|(line, number)| format!("{number}\t{line}")).collect();
    Ok(Output::text(shown.join("\n")).with_summary(count(total, "line")))
}

fn done(name: &NoteName, what: &str, text: &str) -> Result<Output, Error> {
    let lines = count(text.lines().count(), "line");
    Ok(Output::text(format!("{} is {what}: {lines}.", display_name(name))).with_summary(lines))
}

/// The changed part of a note with context.
fn echo(name: &NoteName, text: &str, line: usize, new: &str) -> Result<Output, Error> {
    let first = line.saturating_sub(CONTEXT_LINES);
    let last = line + new.lines().count() + CONTEXT_LINES;
    let part: Vec<String> = text
        .lines()
        .zip(1..)
        .skip(first)
        .take(last - first)
        .map(|(line, number)| format!("{number}\t{line}"))
        .collect();
    Ok(Output::text(format!("{} now contains:\n{}", display_name(name), part.join("\n"))).with_summary("changed"))
}

fn read(note: &Location) -> Result<String, Error> {
    Ok(note.read_text().map_err(tool_error)?.content)
}

fn display_name(name: &NoteName) -> String {
    format!("{}/{}", name.scope.word(), name.rest)
}

fn missing<T>(field: &str) -> Result<T, Error> {
    Err(Error::Failed(format!("this command needs `{field}`")))
}
