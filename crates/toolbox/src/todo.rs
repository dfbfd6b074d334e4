//! Keeps the list of things to do. The session keeps it: it survives a restart, and going back in the conversation.

use policy::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use tool::{Context, Effect, Error, Output, Status, Todo, Tool};

/// A longer list helps nobody.
const MOST: usize = 100;
/// A longer text is cut.
const TEXT: usize = 500;

pub(crate) struct TodoList;

/// Keeps your list of things to do, for work of three steps or more. Replaces the whole list; with merge, changes or adds only
/// the given ones. Keep one in_progress.
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
    #[schemars(with = "Vec<Given>")]
    todos: Option<Vec<Given>>,
    #[serde(default)]
    merge: bool,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Given {
    #[serde(alias = "text", alias = "title", alias = "step", alias = "task", alias = "name")]
    content: Option<String>,
    /// pending, in_progress, completed or cancelled.
    #[serde(default, alias = "state", deserialize_with = "status")]
    #[schemars(with = "String")]
    status: Option<Status>,
    /// Which one, counted from 1, when it has no content.
    #[serde(default, deserialize_with = "number")]
    #[schemars(skip)]
    id: Option<usize>,
}

impl Tool for TodoList {
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
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let given = input.todos.as_deref().unwrap_or_default();
        let current = given.iter().find(|one| one.status == Some(Status::InProgress));
        current.and_then(|one| one.content.clone()).unwrap_or_default()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let Some(given) = input.todos else {
            return Ok(Output::text(render(&context.todos)));
        };
        let list = match input.merge {
            true => merged(&context.todos, given)?,
            false => replaced(&context.todos, given)?,
        };
        if list.len() > MOST {
            return Err(Error::Failed(format!(
                "{} things are too many; keep at most {MOST}",
                list.len()
            )));
        }
        let done = list.iter().filter(|todo| !is_open(todo)).count();
        let summary = format!("{done} of {} done", list.len());
        Ok(Output {
            todos: Some(list.clone()),
            ..Output::text(render(&list)).summary(summary)
        })
    }
}

fn replaced(old: &[Todo], given: Vec<Given>) -> Result<Vec<Todo>, Error> {
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

fn merged(old: &[Todo], given: Vec<Given>) -> Result<Vec<Todo>, Error> {
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
    Error::Failed("each thing to do needs a content, or the id of one that is on the list".into())
}

fn is_open(todo: &Todo) -> bool {
    match todo.status {
        Status::Pending | Status::InProgress => true,
        Status::Completed | Status::Cancelled => false,
    }
}

fn render(list: &[Todo]) -> String {
    if list.is_empty() {
        return "The list is empty.".into();
    }
    let lines = list.iter().zip(1..).map(|(todo, number)| {
        let mark = match todo.status {
            Status::Pending => "[ ]",
            Status::InProgress => "[-]",
            Status::Completed => "[x]",
            Status::Cancelled => "[cancelled]",
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

/// A list, or a Markdown checklist in one text.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Given>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        List(Vec<Line>),
        Text(String),
        One(Given),
        Nothing(()),
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Line {
        Whole(Given),
        Text(String),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::List(lines) => Some(
            lines
                .into_iter()
                .flat_map(|line| match line {
                    Line::Whole(given) => vec![given],
                    Line::Text(text) => match checklist(&text) {
                        parsed if parsed.is_empty() => vec![Given {
                            content: Some(text),
                            status: None,
                            id: None,
                        }],
                        parsed => parsed,
                    },
                })
                .collect(),
        ),
        Form::Text(text) => match serde_json::from_str::<Vec<Given>>(&text) {
            Ok(list) => Some(list),
            Err(_) => Some(checklist(&text)),
        },
        Form::One(given) => Some(vec![given]),
        Form::Nothing(()) => None,
    })
}

/// The things of a Markdown checklist; lines that are none are left out.
fn checklist(text: &str) -> Vec<Given> {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix(['-', '*']).map_or(line, str::trim_start);
        let (mark, rest) = line.strip_prefix('[')?.split_once(']')?;
        let status = match mark.trim() {
            "" => Status::Pending,
            "x" | "X" => Status::Completed,
            "-" | "~" => Status::InProgress,
            _ => return None,
        };
        let content = rest.trim();
        let is_item = rest.starts_with(char::is_whitespace) && !content.is_empty();
        is_item.then(|| Given {
            content: Some(content.into()),
            status: Some(status),
            id: None,
        })
    });
    lines.collect()
}

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Status>, D::Error> {
    use serde::de::Error as _;
    let Some(word) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    match word.trim().to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "" | "pending" | "not_started" | "todo" | "open" => Ok(Some(Status::Pending)),
        "in_progress" | "doing" | "active" | "started" => Ok(Some(Status::InProgress)),
        "completed" | "complete" | "done" | "finished" => Ok(Some(Status::Completed)),
        "cancelled" | "canceled" | "dropped" | "deleted" => Ok(Some(Status::Cancelled)),
        _ => Err(D::Error::custom(format!(
            "`{word}` is none of pending, in_progress, completed, cancelled"
        ))),
    }
}

/// A number, also where a model writes it as a text; other names of things mean nothing here.
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

    fn parsed(text: &str) -> Vec<(String, Status)> {
        let given = checklist(text).into_iter();
        given
            .map(|one| (one.content.unwrap_or_default(), one.status.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn checklists_are_read_as_models_write_them() {
        use Status::{Completed, InProgress, Pending};
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
            ("[ ] same\n[x] same", vec![("same", Pending), ("same", Completed)]),
        ] {
            let expected: Vec<(String, Status)> = expected.into_iter().map(|(text, it)| (text.into(), it)).collect();
            assert_eq!(parsed(text), expected, "{text:?}");
        }
    }
}
