//! From the events and items of the format back to hew's own, for a front end that is attached to a server. Data that the
//! format leaves out is absent: the bytes of media, and what vendors need to continue a reply.

use model::{Block, CallId, Cost, Message, Part, PartOrigin, Role, Stop, ToolOutcome, Usage};
use serde_json::Value;
use session::{
    BlobId, Body, Change, CommandExit, Event, FileKind, FileVersion, Item, ItemDelta, ItemStart, Limit, NoticeLevel,
    PreviewState, PreviewUpdate, Question, QuestionSubject, ReplyEnd, RestoreKind, ReviewedFile, ShownPanel, TextOp,
    Time, Todo, TodoStatus, Totals, TurnEnd,
};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Parses an event; `None` if it is not one of a session, or has an unknown form.
pub fn parse_event(json: &Value) -> Option<Event> {
    Some(match json["type"].as_str()? {
        "turn.started" => Event::TurnStarted,
        "item.started" => Event::ItemStarted {
            id: id(json, "id")?,
            kind: match json["kind"].as_str()? {
                "reply" => ItemStart::Reply,
                "result" => ItemStart::Result {
                    call: call(json)?,
                    tool: text(json, "tool")?,
                    title: text(json, "title")?,
                },
                _ => return None,
            },
        },
        "item.delta" => Event::ItemDelta {
            id: id(json, "id")?,
            delta: parse_delta(&json["delta"])?,
        },
        "item.finished" => Event::ItemFinished {
            item: Arc::new(parse_item(&json["item"])?),
        },
        "item.dropped" => Event::ItemDropped { id: id(json, "id")? },
        "question" => Event::QuestionAsked {
            question: parse_question(json)?,
        },
        "question.answered" => Event::QuestionAnswered {
            question: id(json, "id")?,
        },
        "usage" => Event::Usage {
            request: id(json, "request")?,
            usage: parse_usage(&json["usage"]),
            cost: json["cost_usd"].as_f64().map(Cost::from_usd),
            totals: parse_totals(&json["totals"]),
        },
        "retrying" => Event::Retrying {
            error: text(json, "error")?,
            attempt: u32::try_from(json["attempt"].as_u64()?).ok()?,
            delay: Duration::from_millis(json["delay_ms"].as_u64()?),
        },
        "notice" => Event::Notice {
            level: match json["level"].as_str()? {
                "warning" => NoticeLevel::Warning,
                _ => NoticeLevel::Info,
            },
            text: text(json, "text")?,
        },
        "session.titled" => Event::TitleChanged {
            title: text(json, "title")?,
        },
        "session.rewound" => Event::Rewound {
            head: id(json, "head")?,
        },
        "subtask" => Event::Subtask {
            session: id(json, "session")?,
            call: call(json)?,
            event: Box::new(parse_event(&json["event"])?),
        },
        "subtask.finished" => Event::Subtask {
            session: id(json, "session")?,
            call: call(json)?,
            event: Box::new(parse_turn_end(json)?),
        },
        "turn.finished" => parse_turn_end(json)?,
        _ => return None,
    })
}

/// Parses an item.
pub fn parse_item(json: &Value) -> Option<Item> {
    Some(Item {
        id: id(json, "id")?,
        parent: id(json, "parent"),
        at: Time(json["at_ms"].as_u64()?),
        body: parse_body(json)?,
    })
}

/// Parses totals; absent numbers are 0.
pub fn parse_totals(json: &Value) -> Totals {
    Totals {
        usage: parse_usage(&json["usage"]),
        cost: Cost::from_usd(json["cost_usd"].as_f64().unwrap_or_default()),
        requests: json["requests"].as_u64().unwrap_or_default(),
    }
}

fn parse_body(json: &Value) -> Option<Body> {
    Some(match json["kind"].as_str()? {
        "prompt" => Body::Prompt {
            message: user_message(json),
        },
        "reply" => Body::Reply {
            message: Arc::new(Message {
                role: Role::Assistant,
                parts: parse_parts(json),
            }),
            model: text(json, "model")?,
            // Servers of earlier versions do not send it.
            request: id(json, "request").unwrap_or_default(),
            end: match json["end"].as_str()? {
                "end" => ReplyEnd::Finished(Stop::End),
                "tool_use" => ReplyEnd::Finished(Stop::ToolUse),
                "max_tokens" => ReplyEnd::Finished(Stop::MaxTokens),
                "refusal" => ReplyEnd::Finished(Stop::Refusal { detail: None }),
                "interrupted" => ReplyEnd::Interrupted,
                "cut" => ReplyEnd::Cut {
                    error: "the stream ended early".into(),
                },
                word => ReplyEnd::Finished(Stop::Other { word: word.into() }),
            },
        },
        "result" => parse_result(json)?,
        "summary" => Body::Summary {
            message: user_message(json),
            first_kept: None,
        },
        "notice" => Body::Notice {
            text: text(json, "text")?,
        },
        "wake" => Body::Notification {
            message: user_message(json),
            source: text(json, "cause")?,
        },
        "mode" => Body::Mode {
            name: text(json, "name")?,
            files: Vec::new(),
            edit_approval: None,
        },
        "panels" => Body::Panels {
            messages: Vec::new(),
            states: list(json, "panels", |name| {
                Some(ShownPanel {
                    panel: name.as_str()?.to_owned(),
                    hash: 1,
                    since: Time(0),
                })
            }),
            elision: None,
        },
        "todos" => Body::Todos {
            list: list(json, "list", |todo| {
                Some(Todo {
                    text: text(todo, "text")?,
                    status: match todo["status"].as_str()? {
                        "in_progress" => TodoStatus::InProgress,
                        "completed" => TodoStatus::Completed,
                        "cancelled" => TodoStatus::Cancelled,
                        _ => TodoStatus::Pending,
                    },
                })
            }),
        },
        "review" => Body::Review {
            message: None,
            changes: list(json, "files", |file| {
                let version = |hash: &str| Some(FileVersion::from(BlobId(hash.into())));
                Some(ReviewedFile {
                    path: text(file, "path")?.into(),
                    base: version("reviewed"),
                    current: version(if file["settled"] == true { "reviewed" } else { "open" }),
                })
            }),
        },
        "restored" => Body::Restored {
            message: user_message(json),
            kind: match json["how"].as_str()? {
                "redo" => RestoreKind::Redo,
                "left" => RestoreKind::FilesKept,
                _ => RestoreKind::Undo,
            },
            items: Vec::new(),
            changes: list(json, "changes", parse_change),
        },
        _ => return None,
    })
}

fn parse_result(json: &Value) -> Option<Body> {
    let (call, tool) = (call(json)?, text(json, "tool")?);
    let content = parse_parts(json).into_iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(Block::Text { text }),
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
    });
    let result = Part::ToolResult {
        id: call.clone(),
        name: tool.clone(),
        content: content.collect(),
        outcome: match json["ok"] == true {
            true => ToolOutcome::Ok,
            false => ToolOutcome::Error,
        },
    };
    Some(Body::Result {
        message: Arc::new(Message {
            role: Role::User,
            parts: vec![result],
        }),
        call,
        tool,
        title: text(json, "title")?,
        summary: text(json, "summary"),
        exit: match &json["exit"] {
            Value::Number(code) => Some(CommandExit::Code(i32::try_from(code.as_i64()?).ok()?)),
            Value::String(word) if word == "signal" => Some(CommandExit::Signal),
            Value::String(_) => Some(CommandExit::TimedOut),
            _ => None,
        },
        millis: json["duration_ms"].as_u64().unwrap_or_default(),
        changes: list(json, "changes", parse_change),
    })
}

fn parse_delta(json: &Value) -> Option<ItemDelta> {
    Some(match json["type"].as_str()? {
        "text" => ItemDelta::Text(text(json, "text")?),
        "thinking" => ItemDelta::Thinking(text(json, "text")?),
        "call" => ItemDelta::Call {
            call: call(json)?,
            tool: text(json, "tool")?,
        },
        "input" => ItemDelta::Input {
            call: call(json)?,
            json: text(json, "json")?,
        },
        "preview" => ItemDelta::Preview {
            call: call(json)?,
            update: PreviewUpdate {
                edit: number(json, "edit")?,
                path: text(json, "path").map(PathBuf::from),
                state: parse_preview(&json["sight"])?,
            },
        },
        "output" => ItemDelta::Output(text(json, "text")?),
        _ => return None,
    })
}

fn parse_preview(json: &Value) -> Option<PreviewState> {
    Some(match json["state"].as_str()? {
        "resolving" => PreviewState::Resolving {
            first_line: number(json, "first_line")?,
            last_line: number(json, "last_line")?,
        },
        "ambiguous" => PreviewState::Ambiguous {
            lines: list(json, "lines", |line| usize::try_from(line.as_u64()?).ok()),
        },
        "unresolved" => PreviewState::Unresolved,
        "edited" => PreviewState::Edited {
            first_line: number(json, "first_line")?,
            ops: list(json, "ops", |op| {
                number(op, "keep")
                    .map(TextOp::Keep)
                    .or_else(|| number(op, "delete").map(TextOp::Delete))
                    .or_else(|| text(op, "insert").map(TextOp::Insert))
            }),
        },
        "finished" => PreviewState::Finished,
        _ => return None,
    })
}

fn parse_question(json: &Value) -> Option<Question> {
    let subject = match json.get("action") {
        Some(action) => QuestionSubject::Permission {
            action: serde_json::from_value(action.clone()).ok()?,
            reason: text(json, "why")?,
            input: json["input"].clone(),
            rules: list(json, "rules", |rule| rule.as_str().map(str::to_owned)),
        },
        None => QuestionSubject::Inquiry {
            question: text(json, "question")?,
            choices: {
                let labels: Vec<String> = list(json, "choices", |label| label.as_str().map(str::to_owned));
                let about = |at: usize| json["descriptions"][at].as_str().map(str::to_owned);
                labels
                    .into_iter()
                    .enumerate()
                    .map(|(at, label)| (label, about(at)))
                    .collect()
            },
            multiple: json["several"] == true,
        },
    };
    Some(Question {
        id: id(json, "id")?,
        call: call(json),
        tool: text(json, "tool")?,
        subject,
    })
}

fn parse_turn_end(json: &Value) -> Option<Event> {
    let ending = &json["ending"];
    let value = ending["value"].as_f64().unwrap_or_default();
    Some(Event::TurnFinished {
        ending: match ending["reason"].as_str()? {
            "max_tokens" => TurnEnd::MaxTokens,
            "refused" => TurnEnd::Refused {
                detail: text(ending, "detail"),
            },
            "interrupted" => TurnEnd::Interrupted,
            "limit" => TurnEnd::Limit(match ending["limit"].as_str()? {
                "cost" => Limit::Cost(Cost::from_usd(value)),
                "time" => Limit::Time(Duration::try_from_secs_f64(value).ok()?),
                _ => Limit::Steps(value as u32),
            }),
            "loop" => TurnEnd::Loop {
                tool: text(ending, "tool")?,
                times: u32::try_from(ending["times"].as_u64()?).ok()?,
            },
            "failed" => TurnEnd::Failed {
                error: text(ending, "error")?,
                hint: text(ending, "hint").unwrap_or_default(),
            },
            _ => TurnEnd::Completed,
        },
        answer: text(json, "answer").unwrap_or_default(),
    })
}

fn parse_usage(json: &Value) -> Usage {
    let count = |key: &str| json[key].as_u64().unwrap_or_default();
    Usage {
        input: count("input"),
        cache_read: count("cache_read"),
        cache_write: count("cache_write"),
        cache_write_1h: 0,
        output: count("output"),
        thinking: count("thinking"),
        estimated: json["estimated"] == true,
    }
}

fn parse_change(json: &Value) -> Option<Change> {
    let version = |key: &str, exists: bool| {
        exists.then(|| FileVersion {
            kind: FileKind::File { mode: None },
            content: text(json, key).map(|hash| BlobId(hash.into())),
            is_stored: json[key].is_string(),
        })
    };
    let kind = json["change"].as_str()?;
    Some(Change {
        path: text(json, "path")?.into(),
        before: version("before", kind != "created"),
        after: version("after", kind != "deleted"),
    })
}

fn user_message(json: &Value) -> Arc<Message> {
    Arc::new(Message {
        role: Role::User,
        parts: parse_parts(json),
    })
}

fn parse_parts(json: &Value) -> Vec<Part> {
    list(json, "parts", |part| {
        Some(match part["type"].as_str()? {
            "text" => Part::with_origin(text(part, "text")?, parse_origin(part["origin"].as_str())),
            "thinking" => Part::Thinking {
                text: text(part, "text")?,
                replay: None,
            },
            "tool_call" => Part::ToolCall {
                id: call(part)?,
                name: text(part, "tool")?,
                input: part["input"].clone(),
                malformed: None,
                replay: None,
            },
            "media" => {
                let name = part["name"].as_str().unwrap_or(part["mime"].as_str()?);
                Part::text(format!("[{name}]"))
            }
            _ => return None,
        })
    })
}

fn parse_origin(name: Option<&str>) -> PartOrigin {
    match name {
        Some("rules") => PartOrigin::Rules,
        Some("environment") => PartOrigin::Environment,
        Some("mention") => PartOrigin::Mention,
        Some("attachment") => PartOrigin::Attachment,
        Some("command") => PartOrigin::Command,
        Some("hook") => PartOrigin::Hook,
        Some("reminder") => PartOrigin::Reminder,
        Some("shell") => PartOrigin::Shell,
        Some("summary") => PartOrigin::Summary,
        Some(_) | None => PartOrigin::Author,
    }
}

fn text(json: &Value, key: &str) -> Option<String> {
    json[key].as_str().map(str::to_owned)
}

fn number(json: &Value, key: &str) -> Option<usize> {
    usize::try_from(json[key].as_u64()?).ok()
}

fn id<T: FromStr>(json: &Value, key: &str) -> Option<T> {
    json[key].as_str()?.parse().ok()
}

fn call(json: &Value) -> Option<CallId> {
    json["call"].as_str().map(CallId::from)
}

fn list<T>(json: &Value, key: &str, parse: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    json[key].as_array().into_iter().flatten().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_events::{JsonEvent, JsonTurnEnd};
    use serde_json::json;

    fn to_json(event: &Event) -> Value {
        match event {
            Event::TurnFinished { ending, answer } => {
                json!({"type": "turn.finished", "ending": JsonTurnEnd::of(ending), "answer": answer})
            }
            event => serde_json::to_value(JsonEvent::of(event).unwrap()).unwrap(),
        }
    }

    /// Parses events, and checks that the result has the same form.
    fn check(events: impl IntoIterator<Item = Value>) {
        for event in events {
            let parsed = parse_event(&event).unwrap_or_else(|| panic!("not parsed: {event}"));
            assert_eq!(to_json(&parsed), event);
        }
    }

    const ID: &str = "019a9999-0000-7000-8000-000000000001";

    #[test]
    fn every_event_survives_parsing() {
        let usage =
            json!({"input": 1, "cache_read": 2, "cache_write": 3, "output": 4, "thinking": 5, "estimated": true});
        let totals = json!({"usage": usage, "cost_usd": 0.25, "requests": 7});
        let permission = json!({"type": "question", "id": ID, "call": "c", "tool": "write_file",
            "action": {"action": "fetch", "url": "https://example.org/"}, "why": "w", "rules": ["r"], "input": {"a": 1}});
        let inquiry = json!({"type": "question", "id": ID, "tool": "ask_question", "question": "q",
            "choices": ["a", "b"], "descriptions": [null, "d"], "several": true});
        let deltas = [
            json!({"type": "text", "text": "t"}),
            json!({"type": "thinking", "text": "t"}),
            json!({"type": "call", "call": "c", "tool": "grep"}),
            json!({"type": "input", "call": "c", "json": "{"}),
            json!({"type": "output", "text": "o"}),
        ];
        let previews = [
            json!({"state": "resolving", "first_line": 1, "last_line": 2}),
            json!({"state": "ambiguous", "lines": [1, 5]}),
            json!({"state": "unresolved"}),
            json!({"state": "edited", "first_line": 0, "ops": [{"keep": 1}, {"delete": 2}, {"insert": "x"}]}),
            json!({"state": "finished"}),
        ];
        let previews =
            previews.map(|sight| json!({"type": "preview", "call": "c", "edit": 1, "path": "a", "sight": sight}));
        let deltas = deltas.into_iter().chain(previews);
        check(deltas.map(|delta| json!({"type": "item.delta", "id": ID, "delta": delta})));
        let endings = [
            json!({"reason": "completed"}),
            json!({"reason": "max_tokens"}),
            json!({"reason": "refused", "detail": "d"}),
            json!({"reason": "interrupted"}),
            json!({"reason": "limit", "limit": "steps", "value": 200.0}),
            json!({"reason": "limit", "limit": "cost", "value": 1.5}),
            json!({"reason": "limit", "limit": "time", "value": 60.0}),
            json!({"reason": "loop", "tool": "grep", "times": 3}),
            json!({"reason": "failed", "error": "e", "hint": "h"}),
        ];
        check(endings.iter().flat_map(|ending| {
            let subtask =
                json!({"type": "subtask.finished", "session": ID, "call": "c", "ending": ending, "answer": "a"});
            [
                json!({"type": "turn.finished", "ending": ending, "answer": "a"}),
                subtask,
            ]
        }));
        check([
            json!({"type": "turn.started"}),
            json!({"type": "item.started", "id": ID, "kind": "reply"}),
            json!({"type": "item.started", "id": ID, "kind": "result", "call": "c", "tool": "grep", "title": "t"}),
            json!({"type": "item.dropped", "id": ID}),
            json!({"type": "question.answered", "id": ID}),
            json!({"type": "usage", "request": ID, "usage": usage, "cost_usd": null, "totals": totals}),
            json!({"type": "retrying", "error": "e", "attempt": 2, "delay_ms": 500}),
            json!({"type": "notice", "level": "warning", "text": "t"}),
            json!({"type": "session.titled", "title": "t"}),
            json!({"type": "session.rewound", "head": ID}),
            json!({"type": "subtask", "session": ID, "call": "c", "event": inquiry}),
            permission,
            inquiry,
        ]);
    }

    #[test]
    fn every_item_survives_parsing() {
        let parts = json!([{"type": "text", "text": "t"}, {"type": "text", "text": "r", "origin": "rules"}]);
        let change = json!({"path": "a", "change": "modified", "before": "x", "after": "y"});
        let reply =
            json!([{"type": "thinking", "text": "t"}, {"type": "tool_call", "call": "c", "tool": "grep", "input": {}}]);
        let bodies = [
            json!({"kind": "prompt", "parts": parts}),
            json!({"kind": "reply", "model": "a/b", "parts": reply, "request": ID, "end": "tool_use"}),
            json!({"kind": "result", "call": "c", "tool": "terminal", "title": "t", "summary": "s", "ok": false, "exit": 1,
                "parts": [{"type": "text", "text": "t"}], "duration_ms": 5, "changes": [change]}),
            json!({"kind": "summary", "parts": parts}),
            json!({"kind": "notice", "text": "t"}),
            json!({"kind": "wake", "cause": "job 3", "parts": parts}),
            json!({"kind": "mode", "name": "ask"}),
            json!({"kind": "panels", "panels": ["tree"], "folded": false}),
            json!({"kind": "todos", "list": [{"text": "t", "status": "in_progress"}]}),
            json!({"kind": "review", "files": [{"path": "a", "settled": true}, {"path": "b", "settled": false}]}),
            json!({"kind": "restored", "how": "left", "parts": parts, "changes": [change]}),
        ];
        check(bodies.map(|mut item| {
            item["id"] = ID.into();
            item["parent"] = Value::Null;
            item["at_ms"] = 17.into();
            json!({"type": "item.finished", "item": item})
        }));
    }

    #[test]
    fn unknown_events_are_ignored() {
        for event in [
            json!({"type": "new"}),
            json!({}),
            json!({"type": "item.finished", "item": {"id": ID}}),
        ] {
            assert_eq!(parse_event(&event), None, "{event}");
        }
    }
}
