//! From hew's own events and items to those of the format.

use super::{
    JsonBody, JsonDelta, JsonEvent, JsonFileChange, JsonItem, JsonItemStart, JsonLevel, JsonPart, JsonPreview,
    JsonQuestion, JsonReviewedFile, JsonTextOp, JsonTodo, JsonTotals, JsonTurnEnd, JsonUsage,
};
use model::{Block, Cost, Part, PartOrigin, Stop, ToolOutcome, Usage};
use serde_json::Value;
use session::{
    Body, CommandExit, Event, FileVersion, Item, ItemDelta, ItemStart, Limit, NoticeLevel, PreviewState,
    QuestionSubject, ReplyEnd, RestoreKind, TextOp, Totals, TurnEnd,
};
use std::borrow::Cow;

impl<'a> JsonEvent<'a> {
    /// An event in this format; `None` for the end of a turn, which needs more data than the event has.
    pub fn of(event: &'a Event) -> Option<Self> {
        Some(match event {
            Event::TurnStarted => JsonEvent::TurnStarted,
            Event::ItemStarted { id, kind } => JsonEvent::ItemStarted {
                id: id.to_string(),
                kind: match kind {
                    ItemStart::Reply => JsonItemStart::Reply,
                    ItemStart::Result { call, tool, title } => JsonItemStart::Result {
                        call: call.as_str(),
                        tool,
                        title,
                    },
                },
            },
            Event::ItemDelta { id, delta } => JsonEvent::ItemDelta {
                id: id.to_string(),
                delta: JsonDelta::of(delta),
            },
            Event::ItemFinished { item } => JsonEvent::ItemFinished {
                item: Box::new(JsonItem::of(item)),
            },
            Event::ItemDropped { id } => JsonEvent::ItemDropped { id: id.to_string() },
            Event::QuestionAsked { question } => JsonEvent::Question {
                id: question.id.to_string(),
                call: question.call.as_ref().map(|call| call.as_str()),
                tool: &question.tool,
                subject: JsonQuestion::of(&question.subject),
            },
            Event::QuestionAnswered { question } => JsonEvent::QuestionAnswered {
                id: question.to_string(),
            },
            Event::Usage {
                request,
                usage,
                cost,
                totals,
            } => JsonEvent::Usage {
                request: request.to_string(),
                usage: JsonUsage::of(usage),
                cost_usd: cost.map(Cost::usd),
                totals: JsonTotals::of(totals),
            },
            Event::Retrying { error, attempt, delay } => JsonEvent::Retrying {
                error,
                attempt: *attempt,
                delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            },
            Event::Notice { level, text } => JsonEvent::Notice {
                level: match level {
                    NoticeLevel::Info => JsonLevel::Info,
                    NoticeLevel::Warning => JsonLevel::Warning,
                },
                text,
            },
            Event::TitleChanged { title } => JsonEvent::SessionTitled { title },
            Event::Rewound { head } => JsonEvent::SessionRewound { head: head.to_string() },
            Event::Subtask { session, call, event } => match event.as_ref() {
                Event::TurnFinished { ending, answer } => JsonEvent::SubtaskFinished {
                    session: session.to_string(),
                    call: call.as_str(),
                    ending: JsonTurnEnd::of(ending),
                    answer,
                },
                event => JsonEvent::Subtask {
                    session: session.to_string(),
                    call: call.as_str(),
                    event: Box::new(JsonEvent::of(event)?),
                },
            },
            Event::TurnFinished { .. } => return None,
        })
    }
}

impl<'a> JsonQuestion<'a> {
    fn of(subject: &'a QuestionSubject) -> Self {
        match subject {
            QuestionSubject::Permission {
                action,
                reason: why,
                rules,
                input,
            } => JsonQuestion::Permission {
                // Actions are plain data: serialising them does not fail. `reason` describes them too.
                action: serde_json::to_value(action).unwrap_or(Value::Null),
                why,
                rules,
                input,
            },
            QuestionSubject::Inquiry {
                question,
                choices,
                multiple: several,
            } => JsonQuestion::Inquiry {
                question,
                choices: choices.iter().map(|(label, _)| label.as_str()).collect(),
                descriptions: choices.iter().map(|(_, about)| about.as_deref()).collect(),
                several: *several,
            },
        }
    }
}

impl<'a> JsonDelta<'a> {
    fn of(delta: &'a ItemDelta) -> Self {
        match delta {
            ItemDelta::Text(text) => JsonDelta::Text { text },
            ItemDelta::Thinking(text) => JsonDelta::Thinking { text },
            ItemDelta::Call { call, tool } => JsonDelta::Call {
                call: call.as_str(),
                tool,
            },
            ItemDelta::Input { call, json } => JsonDelta::Input {
                call: call.as_str(),
                json,
            },
            ItemDelta::Preview { call, update: glimpse } => JsonDelta::Preview {
                call: call.as_str(),
                edit: glimpse.edit,
                path: glimpse.path.as_ref().map(|path| path.display().to_string()),
                sight: JsonPreview::of(&glimpse.state),
            },
            ItemDelta::Output(text) => JsonDelta::Output { text },
        }
    }
}

impl<'a> JsonPreview<'a> {
    fn of(state: &'a PreviewState) -> Self {
        match state {
            PreviewState::Resolving { first_line, last_line } => JsonPreview::Resolving {
                first_line: *first_line,
                last_line: *last_line,
            },
            PreviewState::Ambiguous { lines } => JsonPreview::Ambiguous { lines },
            PreviewState::Unresolved => JsonPreview::Unresolved,
            PreviewState::Edited { first_line, ops } => JsonPreview::Edited {
                first_line: *first_line,
                ops: ops.iter().map(JsonTextOp::of).collect(),
            },
            PreviewState::Finished => JsonPreview::Finished,
        }
    }
}

impl<'a> JsonTextOp<'a> {
    fn of(op: &'a TextOp) -> Self {
        match op {
            TextOp::Keep(bytes) => JsonTextOp::Keep(*bytes),
            TextOp::Delete(bytes) => JsonTextOp::Delete(*bytes),
            TextOp::Insert(text) => JsonTextOp::Insert(text),
        }
    }
}

impl<'a> JsonItem<'a> {
    /// An item in this format.
    pub fn of(item: &'a Item) -> Self {
        JsonItem {
            id: item.id.to_string(),
            parent: item.parent.map(|parent| parent.to_string()),
            at_ms: item.at.0,
            body: JsonBody::of(&item.body),
        }
    }
}

impl<'a> JsonBody<'a> {
    fn of(body: &'a Body) -> Self {
        match body {
            Body::Prompt { message } => JsonBody::Prompt {
                parts: pieces(&message.parts),
            },
            Body::Reply {
                message,
                model,
                request,
                end,
            } => JsonBody::Reply {
                model,
                parts: pieces(&message.parts),
                request: request.to_string(),
                end: end_word(end),
            },
            Body::Result {
                message,
                call,
                tool,
                title,
                summary,
                exit,
                millis,
                changes,
            } => JsonBody::Result {
                call: call.as_str(),
                tool,
                title,
                summary: summary.as_deref(),
                ok: succeeded(&message.parts),
                exit: exit.and_then(exit_value),
                parts: pieces(&message.parts),
                duration_ms: *millis,
                changes: changes.iter().map(JsonFileChange::of).collect(),
            },
            Body::Summary { message, .. } => JsonBody::Summary {
                parts: pieces(&message.parts),
            },
            Body::Notice { text } => JsonBody::Notice { text },
            Body::Notification { message, source: cause } => JsonBody::Wake {
                cause,
                parts: pieces(&message.parts),
            },
            Body::Todos { list } => JsonBody::Todos {
                list: list.iter().map(JsonTodo::of).collect(),
            },
            Body::Panels {
                states: shown,
                elision: fold,
                ..
            } => JsonBody::Panels {
                panels: shown.iter().map(|shown| shown.panel.as_str()).collect(),
                folded: fold.is_some(),
            },
            Body::Mode { name, .. } => JsonBody::Mode { name },
            Body::Review { changes, .. } => JsonBody::Review {
                files: changes.iter().map(JsonReviewedFile::of).collect(),
            },
            Body::Restored {
                message,
                kind: how,
                changes,
                ..
            } => JsonBody::Restored {
                how: match how {
                    RestoreKind::Undo => "undo",
                    RestoreKind::Redo => "redo",
                    RestoreKind::FilesKept => "left",
                },
                parts: pieces(&message.parts),
                changes: changes.iter().map(JsonFileChange::of).collect(),
            },
        }
    }
}

impl<'a> JsonPart<'a> {
    fn media(media: &'a model::Media) -> Self {
        JsonPart::Media {
            mime: &media.mime,
            name: media.name.as_deref(),
            bytes: media.data.len(),
        }
    }
}

impl JsonFileChange {
    fn of(change: &session::Change) -> Self {
        JsonFileChange {
            path: change.path.display().to_string(),
            change: match (&change.before, &change.after) {
                (None, _) => "created",
                (Some(_), Some(_)) => "modified",
                (Some(_), None) => "deleted",
            },
            before: content_id(change.before.as_ref()),
            after: content_id(change.after.as_ref()),
        }
    }
}

impl<'a> JsonTodo<'a> {
    fn of(todo: &'a session::Todo) -> Self {
        JsonTodo {
            text: &todo.text,
            status: todo.status.name(),
        }
    }
}

impl JsonReviewedFile {
    fn of(reviewed: &session::ReviewedFile) -> Self {
        JsonReviewedFile {
            path: reviewed.path.display().to_string(),
            settled: reviewed.is_resolved(),
        }
    }
}

impl JsonUsage {
    /// A usage in this format.
    pub fn of(usage: &Usage) -> Self {
        JsonUsage {
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write + usage.cache_write_1h,
            output: usage.output,
            thinking: usage.thinking,
            estimated: usage.estimated,
        }
    }
}

impl JsonTotals {
    /// Totals in this format.
    pub fn of(totals: &Totals) -> Self {
        JsonTotals {
            usage: JsonUsage::of(&totals.usage),
            cost_usd: totals.cost.usd(),
            requests: totals.requests,
        }
    }
}

impl<'a> JsonTurnEnd<'a> {
    /// An ending in this format.
    pub fn of(ending: &'a TurnEnd) -> Self {
        match ending {
            TurnEnd::Completed => JsonTurnEnd::Completed,
            TurnEnd::MaxTokens => JsonTurnEnd::MaxTokens,
            TurnEnd::Refused { detail } => JsonTurnEnd::Refused {
                detail: detail.as_deref(),
            },
            TurnEnd::Interrupted => JsonTurnEnd::Interrupted,
            TurnEnd::Limit(Limit::Steps(steps)) => JsonTurnEnd::Limit {
                limit: "steps",
                value: f64::from(*steps),
            },
            TurnEnd::Limit(Limit::Cost(cost)) => JsonTurnEnd::Limit {
                limit: "cost",
                value: cost.usd(),
            },
            TurnEnd::Limit(Limit::Time(time)) => JsonTurnEnd::Limit {
                limit: "time",
                value: time.as_secs_f64(),
            },
            TurnEnd::Loop { tool, times } => JsonTurnEnd::Loop { tool, times: *times },
            TurnEnd::Failed { error, hint } => JsonTurnEnd::Failed { error, hint },
        }
    }
}

/// Whether a tool result reports success.
pub fn succeeded(parts: &[Part]) -> bool {
    !parts.iter().any(|part| {
        matches!(
            part,
            Part::ToolResult {
                outcome: ToolOutcome::Error,
                ..
            }
        )
    })
}

fn pieces(parts: &[Part]) -> Vec<JsonPart<'_>> {
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Text { text, origin, .. } => pieces.push(JsonPart::Text {
                text,
                origin: origin_name(*origin),
            }),
            Part::Thinking { text, .. } => pieces.push(JsonPart::Thinking { text }),
            Part::ToolCall { id, name, input, .. } => pieces.push(JsonPart::ToolCall {
                call: id.as_str(),
                tool: name,
                input,
            }),
            Part::ToolResult { content, .. } => pieces.extend(content.iter().map(|block| match block {
                Block::Text { text } => JsonPart::Text { text, origin: None },
                Block::Media(media) => JsonPart::media(media),
            })),
            Part::Media(media) => pieces.push(JsonPart::media(media)),
        }
    }
    pieces
}

fn end_word(end: &ReplyEnd) -> Cow<'_, str> {
    match end {
        ReplyEnd::Finished(Stop::End) => "end".into(),
        ReplyEnd::Finished(Stop::ToolUse) => "tool_use".into(),
        ReplyEnd::Finished(Stop::MaxTokens) => "max_tokens".into(),
        ReplyEnd::Finished(Stop::Refusal { .. }) => "refusal".into(),
        ReplyEnd::Finished(Stop::Other { word }) => word.as_str().into(),
        ReplyEnd::Interrupted => "interrupted".into(),
        ReplyEnd::Cut { .. } => "cut".into(),
    }
}

fn exit_value(exit: CommandExit) -> Option<Value> {
    match exit {
        CommandExit::Code(code) => Some(code.into()),
        CommandExit::Signal => Some("signal".into()),
        CommandExit::TimedOut => Some("timeout".into()),
        CommandExit::Unknown => None,
    }
}

fn content_id(version: Option<&FileVersion>) -> Option<String> {
    let version = version.filter(|version| version.is_stored)?;
    version.content.as_ref().map(ToString::to_string)
}

/// The name of an origin; `None` for the author of the message.
fn origin_name(origin: PartOrigin) -> Option<&'static str> {
    match origin {
        PartOrigin::Author => None,
        PartOrigin::Rules => Some("rules"),
        PartOrigin::Environment => Some("environment"),
        PartOrigin::Mention => Some("mention"),
        PartOrigin::Attachment => Some("attachment"),
        PartOrigin::Command => Some("command"),
        PartOrigin::Hook => Some("hook"),
        PartOrigin::Reminder => Some("reminder"),
        PartOrigin::Shell => Some("shell"),
        PartOrigin::Summary => Some("summary"),
    }
}
