//! Updates the todo list. The session stores it, so it survives a restart and a rewind.

use session::{Todo, TodoStatus};
use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use tool::{
    Availability, CallContext, DynTool, Error, ModelClass, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind,
    ToolListing, erase, fold_name,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;

/// Maximum number of items.
const MAX_ITEMS: usize = 100;
/// Maximum length of an item.
const TEXT: usize = 500;

pub(crate) struct TodoTool;

/// Updates your todo list, for work of three steps or more. Replaces the whole list; with merge, only changes or adds
/// the given items. Keep one in_progress.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(
        default,
        alias = "todoList",
        alias = "todo_list",
        alias = "plan",
        alias = "items",
        deserialize_with = "list"
    )]
    #[schemars(with = "Vec<TodoInput>")]
    todos: Option<Vec<TodoInput>>,
    #[serde(default)]
    merge: bool,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct TodoInput {
    #[serde(alias = "text", alias = "title", alias = "step", alias = "task", alias = "name")]
    content: Option<String>,
    /// pending, in_progress, completed or cancelled.
    #[serde(default, alias = "state", deserialize_with = "status")]
    #[schemars(with = "String")]
    status: Option<TodoStatus>,
    /// The item's number, from 1, if content is missing.
    #[serde(default, deserialize_with = "number")]
    #[schemars(skip)]
    id: Option<usize>,
}

impl BuiltIn for TodoTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(TodoTool))
    }
}

impl Tool for TodoTool {
    const NAME: &'static str = "todo";
    const ALIASES: &'static [&'static str] = &[
        "todos",
        "update_todo_list",
        "todo_write",
        "TodoWrite",
        "todo_read",
        "TodoRead",
        "manage_todo_list",
        "todo_create",
        "todo_update",
        "todo_move",
        "update_plan",
        "write_todos",
    ];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Think,
        exceptions: &[(ModelClass::SmallWindow, Availability::Deferred)],
        peers: &[
            (PeerAgent::Zed, &["update_plan"]),
            (PeerAgent::RooCode, &["update_todo_list"]),
            (PeerAgent::Crush, &["todos"]),
            (PeerAgent::Copilot, &["manage_todo_list"]),
            (PeerAgent::ContextPilot, &["todo_create", "todo_move", "todo_update"]),
            (
                PeerAgent::ClaudeCode,
                &[
                    "TaskCreate",
                    "TaskGet",
                    "TaskList",
                    "TaskUpdate",
                    "TodoRead",
                    "TodoWrite",
                ],
            ),
            (PeerAgent::Codex, &["update_plan"]),
            (PeerAgent::GeminiCli, &["write_todos"]),
            (PeerAgent::OpenCode, &["todoread", "todowrite"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let given = input.todos.as_deref().unwrap_or_default();
        let current = given.iter().find(|one| one.status == Some(TodoStatus::InProgress));
        current.and_then(|one| one.content.clone()).unwrap_or_default()
    }

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        adapt(&fold_name(called), input);
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let Some(given) = input.todos else {
            return Ok(Output::text(render(&context.todos)));
        };
        let list = match input.merge {
            true => merged(&context.todos, given)?,
            false => replaced(&context.todos, given)?,
        };
        if list.len() > MAX_ITEMS {
            return Err(Error::Failed(format!(
                "too many items ({}); the maximum is {MAX_ITEMS}",
                list.len()
            )));
        }
        let done = list.iter().filter(|todo| !is_open(todo)).count();
        let summary = format!("{done} of {} done", list.len());
        Ok(Output {
            todos: Some(list.clone()),
            ..Output::text(render(&list)).with_summary(summary)
        })
    }
}

/// Rewrites the arguments of other agents' todo tools.
fn adapt(called: &str, input: &mut Map<String, Value>) {
    let reads = matches!(called, "todoread" | "tasklist" | "taskget" | "todomove")
        || arguments::text(input, "operation") == Some("read");
    if reads {
        input.clear();
        return;
    }
    match called {
        // Claude Code and Context Pilot add and change single items.
        "taskcreate" | "taskupdate" => {
            let item = std::mem::take(input);
            input.insert("todos".into(), Value::Array(vec![Value::Object(item)]));
            input.insert("merge".into(), true.into());
        }
        "todocreate" | "todoupdate" => {
            arguments::rename(input, &["updates"], "todos");
            if !input.contains_key("todos") && !input.is_empty() {
                let item = std::mem::take(input);
                input.insert("todos".into(), Value::Array(vec![Value::Object(item)]));
            }
            input.insert("merge".into(), true.into());
        }
        _ => {}
    }
    for name in ["todos", "todoList", "todo_list"] {
        if let Some(Value::String(text)) = input.get(name)
            && let Ok(list @ Value::Array(_)) = serde_json::from_str(text)
        {
            input.insert(name.into(), list);
        }
        let items = input.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten();
        items.filter_map(Value::as_object_mut).for_each(adapt_item);
    }
}

/// Rewrites an item: its title, its number, and its removal.
fn adapt_item(item: &mut Map<String, Value>) {
    arguments::rename(item, &["text", "title", "step", "task", "name", "subject"], "content");
    arguments::rename(item, &["description"], "content");
    arguments::rename(item, &["taskId", "task_id"], "id");
    if let Some(number) = arguments::text(item, "id").and_then(arguments::id_number) {
        item.insert("id".into(), number.into());
    }
    if item.remove("delete").as_ref().and_then(arguments::truth) == Some(true) {
        item.insert("status".into(), "cancelled".into());
    }
}

fn replaced(old: &[Todo], given: Vec<TodoInput>) -> Result<Vec<Todo>, Error> {
    let named = given.into_iter().map(|one| {
        let known = one.id.and_then(|number| old.get(number.checked_sub(1)?));
        let text = one.content.clone().or_else(|| known.map(|todo| todo.text.clone()));
        match text.as_deref().map(str::trim) {
            Some(text) if !text.is_empty() => Ok(Todo {
                text: cut(text),
                status: one.status.unwrap_or_default(),
            }),
            Some(_) | None => Err(nameless()),
        }
    });
    named.collect()
}

fn merged(old: &[Todo], given: Vec<TodoInput>) -> Result<Vec<Todo>, Error> {
    let mut list = old.to_vec();
    for one in given {
        let text = one.content.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let by_text = text.and_then(|text| list.iter().position(|todo| todo.text == cut(text)));
        let by_number = one.id.and_then(|id| id.checked_sub(1)).filter(|at| *at < list.len());
        match (by_text.or(by_number), text) {
            (Some(at), text) => {
                if let Some(todo) = list.get_mut(at) {
                    todo.status = one.status.unwrap_or(todo.status);
                    todo.text = text.map_or(todo.text.clone(), cut);
                }
            }
            (None, Some(text)) => list.push(Todo {
                text: cut(text),
                status: one.status.unwrap_or_default(),
            }),
            (None, None) => return Err(nameless()),
        }
    }
    Ok(list)
}

fn nameless() -> Error {
    Error::Failed("each item needs content, or the id of an existing item".into())
}

fn is_open(todo: &Todo) -> bool {
    match todo.status {
        TodoStatus::Pending | TodoStatus::InProgress => true,
        TodoStatus::Completed | TodoStatus::Cancelled => false,
    }
}

fn render(list: &[Todo]) -> String {
    if list.is_empty() {
        return "The list is empty.".into();
    }
    let lines = list.iter().zip(1..).map(|(todo, number)| {
        let mark = match todo.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[-]",
            TodoStatus::Completed => "[x]",
            TodoStatus::Cancelled => "[cancelled]",
        };
        format!("{number}. {mark} {}", todo.text)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn cut(text: &str) -> String {
    match text.chars().count() > TEXT {
        true => format!("{}…", text.chars().take(TEXT).collect::<String>()),
        false => text.into(),
    }
}

/// Deserializes a list, or a Markdown checklist.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<TodoInput>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of todos with content and status")]
    enum TodoListInput {
        List(Vec<TodoLineInput>),
        Text(String),
        One(TodoInput),
        Nothing(()),
    }
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a todo with content and status")]
    enum TodoLineInput {
        Whole(TodoInput),
        Text(String),
    }
    Ok(match TodoListInput::deserialize(deserializer)? {
        TodoListInput::List(lines) => Some(
            lines
                .into_iter()
                .flat_map(|line| match line {
                    TodoLineInput::Whole(given) => vec![given],
                    TodoLineInput::Text(text) => match checklist(&text) {
                        parsed if parsed.is_empty() => vec![TodoInput {
                            content: Some(text),
                            status: None,
                            id: None,
                        }],
                        parsed => parsed,
                    },
                })
                .collect(),
        ),
        TodoListInput::Text(text) => match serde_json::from_str::<Vec<TodoInput>>(&text) {
            Ok(list) => Some(list),
            Err(_) => Some(checklist(&text)),
        },
        TodoListInput::One(given) => Some(vec![given]),
        TodoListInput::Nothing(()) => None,
    })
}

/// The items of a Markdown checklist; other lines are ignored.
fn checklist(text: &str) -> Vec<TodoInput> {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim();
        let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let bullet = match number.len() < line.len() {
            true => number.strip_prefix(['.', ')']),
            false => line.strip_prefix(['-', '*', '+']),
        };
        let line = bullet.map_or(line, str::trim_start);
        let (mark, rest) = line.strip_prefix('[')?.split_once(']')?;
        let status = match mark.trim() {
            "" => TodoStatus::Pending,
            "x" | "X" => TodoStatus::Completed,
            "-" | "~" => TodoStatus::InProgress,
            _ => return None,
        };
        let content = rest.trim();
        let is_item = rest.starts_with(char::is_whitespace) && !content.is_empty();
        is_item.then(|| TodoInput {
            content: Some(content.into()),
            status: Some(status),
            id: None,
        })
    });
    lines.collect()
}

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TodoStatus>, D::Error> {
    use serde::de::Error as _;
    let Some(word) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    match word.trim().to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "" | "pending" | "not_started" | "todo" | "open" => Ok(Some(TodoStatus::Pending)),
        "in_progress" | "doing" | "active" | "started" => Ok(Some(TodoStatus::InProgress)),
        "completed" | "complete" | "done" | "finished" => Ok(Some(TodoStatus::Completed)),
        "cancelled" | "canceled" | "dropped" | "deleted" => Ok(Some(TodoStatus::Cancelled)),
        _ => Err(D::Error::custom(format!(
            "`{word}` is none of pending, in_progress, completed, cancelled"
        ))),
    }
}

/// Deserializes a number, also from text; other ids are ignored.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let value = Option::<serde_json::Value>::deserialize(deserializer)?;
    Ok(value.and_then(|value| match value.as_u64() {
        Some(number) => usize::try_from(number).ok(),
        None => value.as_str()?.trim().parse().ok(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, TodoStatus)> {
        let given = checklist(text).into_iter();
        given
            .map(|one| (one.content.unwrap_or_default(), one.status.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn markdown_checklists_are_parsed() {
        use TodoStatus::{Completed, InProgress, Pending};
        for (text, expected) in [
            ("", vec![]),
            (
                "[ ] a\n[x] b\n[X] c",
                vec![("a", Pending), ("b", Completed), ("c", Completed)],
            ),
            ("- [-] a\n- [~] b", vec![("a", InProgress), ("b", InProgress)]),
            (
                "This is not a checklist\n[ ] Valid task\n- Not one\n- [x] done\n[not valid] no\n[x]nothing between",
                vec![("Valid task", Pending), ("done", Completed)],
            ),
            (
                "  [ ]   spaces  \n-  [ ]  dash\n-   [X]   both\r\n[-] crlf\r",
                vec![
                    ("spaces", Pending),
                    ("dash", Pending),
                    ("both", Completed),
                    ("crlf", InProgress),
                ],
            ),
            (
                "1. [x] first\n12) [ ] twelfth\n+ [-] plus\n3 [ ] no bullet",
                vec![("first", Completed), ("twelfth", Pending), ("plus", InProgress)],
            ),
            ("[ ] same\n[x] same", vec![("same", Pending), ("same", Completed)]),
        ] {
            let expected: Vec<(String, TodoStatus)> =
                expected.into_iter().map(|(text, it)| (text.into(), it)).collect();
            assert_eq!(parsed(text), expected, "{text:?}");
        }
    }
}
