//! From hew's own events and items to those of the format.

use super::{
    Added, Asked, Begun, Changed, Close, Content, Entry, LookedAt, Operation, Piece, Seen, Sum, ToDo, Tokens, Told,
    Weight,
};
use model::{Block, Cost, Outcome, Part, Stop, Usage};
use serde_json::Value;
use session::{Body, Delta, End, Ending, Event, Item, ItemKind, Level, Limit, Op, Restoring, Sight, Subject, Totals};
use std::borrow::Cow;

impl<'a> Told<'a> {
    /// An event in this format; `None` for the end of a turn, which says more than the event knows.
    pub(crate) fn of(event: &'a Event) -> Option<Self> {
        Some(match event {
            Event::TurnStarted => Told::TurnStarted,
            Event::ItemStarted { id, kind } => Told::ItemStarted {
                id: id.to_string(),
                kind: match kind {
                    ItemKind::Reply => Begun::Reply,
                    ItemKind::Result { call, tool, title } => Begun::Result {
                        call: call.as_str(),
                        tool,
                        title,
                    },
                },
            },
            Event::ItemDelta { id, delta } => Told::ItemDelta {
                id: id.to_string(),
                delta: Added::of(delta),
            },
            Event::ItemFinished { item } => Told::ItemFinished {
                item: Box::new(Entry::of(item)),
            },
            Event::ItemDropped { id } => Told::ItemDropped { id: id.to_string() },
            Event::Asked { question } => Told::Question {
                id: question.id.to_string(),
                call: question.call.as_ref().map(|call| call.as_str()),
                tool: &question.tool,
                subject: Asked::of(&question.subject),
            },
            Event::Answered { question } => Told::QuestionAnswered {
                id: question.to_string(),
            },
            Event::Usage {
                request,
                usage,
                cost,
                totals,
            } => Told::Usage {
                request: request.to_string(),
                usage: Tokens::of(usage),
                cost_usd: cost.map(Cost::usd),
                totals: Sum::of(totals),
            },
            Event::Retrying { error, attempt, delay } => Told::Retrying {
                error,
                attempt: *attempt,
                delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            },
            Event::Notice { level, text } => Told::Notice {
                level: match level {
                    Level::Info => Weight::Info,
                    Level::Warning => Weight::Warning,
                },
                text,
            },
            Event::Titled { title } => Told::SessionTitled { title },
            Event::Subtask { session, call, event } => match event.as_ref() {
                Event::TurnFinished { ending, answer } => Told::SubtaskFinished {
                    session: session.to_string(),
                    call: call.as_str(),
                    ending: Close::of(ending),
                    answer,
                },
                event => Told::Subtask {
                    session: session.to_string(),
                    call: call.as_str(),
                    event: Box::new(Told::of(event)?),
                },
            },
            Event::TurnFinished { .. } => return None,
        })
    }
}

impl<'a> Asked<'a> {
    fn of(subject: &'a Subject) -> Self {
        match subject {
            Subject::Permission { action, why, rules, .. } => Asked::Permission {
                // Actions are plain data, so that this cannot fail; if it did, the words of `why` would still be there.
                action: serde_json::to_value(action).unwrap_or(Value::Null),
                why,
                rules,
            },
            Subject::Inquiry {
                question,
                choices,
                several,
            } => Asked::Inquiry {
                question,
                choices: choices.iter().map(|(label, _)| label.as_str()).collect(),
                several: *several,
            },
        }
    }
}

impl<'a> Added<'a> {
    fn of(delta: &'a Delta) -> Self {
        match delta {
            Delta::Text(text) => Added::Text { text },
            Delta::Thinking(text) => Added::Thinking { text },
            Delta::Call { call, tool } => Added::Call {
                call: call.as_str(),
                tool,
            },
            Delta::Input { call, json } => Added::Input {
                call: call.as_str(),
                json,
            },
            Delta::Preview { call, glimpse } => Added::Preview {
                call: call.as_str(),
                edit: glimpse.edit,
                path: glimpse.path.as_ref().map(|path| path.display().to_string()),
                sight: Seen::of(&glimpse.sight),
            },
            Delta::Output(text) => Added::Output { text },
        }
    }
}

impl<'a> Seen<'a> {
    fn of(sight: &'a Sight) -> Self {
        match sight {
            Sight::Resolving { first_line, last_line } => Seen::Resolving {
                first_line: *first_line,
                last_line: *last_line,
            },
            Sight::Ambiguous { lines } => Seen::Ambiguous { lines },
            Sight::Unresolved => Seen::Unresolved,
            Sight::Edited { first_line, ops } => Seen::Edited {
                first_line: *first_line,
                ops: ops.iter().map(Operation::of).collect(),
            },
            Sight::Finished => Seen::Finished,
        }
    }
}

impl<'a> Operation<'a> {
    fn of(op: &'a Op) -> Self {
        match op {
            Op::Keep(bytes) => Operation::Keep(*bytes),
            Op::Delete(bytes) => Operation::Delete(*bytes),
            Op::Insert(text) => Operation::Insert(text),
        }
    }
}

impl<'a> Entry<'a> {
    /// An item in this format.
    pub(crate) fn of(item: &'a Item) -> Self {
        Entry {
            id: item.id.to_string(),
            parent: item.parent.map(|parent| parent.to_string()),
            at_ms: item.at.0,
            body: Content::of(&item.body),
        }
    }
}

impl<'a> Content<'a> {
    fn of(body: &'a Body) -> Self {
        match body {
            Body::Prompt { message } => Content::Prompt {
                parts: pieces(&message.parts),
            },
            Body::Reply {
                message, model, end, ..
            } => Content::Reply {
                model,
                parts: pieces(&message.parts),
                end: end_word(end),
            },
            Body::Result {
                message,
                call,
                tool,
                title,
                summary,
                millis,
                changes,
            } => Content::Result {
                call: call.as_str(),
                tool,
                title,
                summary: summary.as_deref(),
                ok: succeeded(&message.parts),
                parts: pieces(&message.parts),
                duration_ms: *millis,
                changes: changes.iter().map(Changed::of).collect(),
            },
            Body::Summary { message, .. } => Content::Summary {
                parts: pieces(&message.parts),
            },
            Body::Notice { text } => Content::Notice { text },
            Body::Wake { message, cause } => Content::Wake {
                cause,
                parts: pieces(&message.parts),
            },
            Body::Todos { list } => Content::Todos {
                list: list.iter().map(ToDo::of).collect(),
            },
            Body::Panels { shown, fold, .. } => Content::Panels {
                panels: shown.iter().map(|shown| shown.panel.as_str()).collect(),
                folded: fold.is_some(),
            },
            Body::Mode { name, .. } => Content::Mode { name },
            Body::Review { changes } => Content::Review {
                files: changes.iter().map(LookedAt::of).collect(),
            },
            Body::Restored {
                message, how, changes, ..
            } => Content::Restored {
                how: match how {
                    Restoring::Undo => "undo",
                    Restoring::Redo => "redo",
                    Restoring::Left => "left",
                },
                parts: pieces(&message.parts),
                changes: changes.iter().map(Changed::of).collect(),
            },
        }
    }
}

impl<'a> Piece<'a> {
    fn media(media: &'a model::Media) -> Self {
        Piece::Media {
            mime: &media.mime,
            name: media.name.as_deref(),
            bytes: media.data.len(),
        }
    }
}

impl Changed {
    fn of(change: &session::Change) -> Self {
        Changed {
            path: change.path.display().to_string(),
            change: match (&change.before, &change.after) {
                (None, _) => "created",
                (Some(_), Some(_)) => "modified",
                (Some(_), None) => "deleted",
            },
        }
    }
}

impl<'a> ToDo<'a> {
    fn of(todo: &'a session::Todo) -> Self {
        ToDo {
            text: &todo.text,
            status: todo.status.word(),
        }
    }
}

impl LookedAt {
    fn of(reviewed: &session::Reviewed) -> Self {
        LookedAt {
            path: reviewed.path.display().to_string(),
            settled: reviewed.is_settled(),
        }
    }
}

impl Tokens {
    /// A usage in this format.
    pub(crate) fn of(usage: &Usage) -> Self {
        Tokens {
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write + usage.cache_write_1h,
            output: usage.output,
            thinking: usage.thinking,
            estimated: usage.estimated,
        }
    }
}

impl Sum {
    /// Totals in this format.
    pub(crate) fn of(totals: &Totals) -> Self {
        Sum {
            usage: Tokens::of(&totals.usage),
            cost_usd: totals.cost.usd(),
            requests: totals.requests,
        }
    }
}

impl<'a> Close<'a> {
    /// An ending in this format.
    pub(crate) fn of(ending: &'a Ending) -> Self {
        match ending {
            Ending::Completed => Close::Completed,
            Ending::MaxTokens => Close::MaxTokens,
            Ending::Refused { detail } => Close::Refused {
                detail: detail.as_deref(),
            },
            Ending::Interrupted => Close::Interrupted,
            Ending::Limit(Limit::Steps(steps)) => Close::Limit {
                limit: "steps",
                value: f64::from(*steps),
            },
            Ending::Limit(Limit::Cost(cost)) => Close::Limit {
                limit: "cost",
                value: cost.usd(),
            },
            Ending::Limit(Limit::Time(time)) => Close::Limit {
                limit: "time",
                value: time.as_secs_f64(),
            },
            Ending::Loop { tool, times } => Close::Loop { tool, times: *times },
            Ending::Failed { error, hint } => Close::Failed { error, hint },
        }
    }
}

/// Whether a tool's result says that it did what it was asked.
pub(crate) fn succeeded(parts: &[Part]) -> bool {
    !parts.iter().any(|part| {
        matches!(
            part,
            Part::ToolResult {
                outcome: Outcome::Error,
                ..
            }
        )
    })
}

fn pieces(parts: &[Part]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Text { text, .. } => pieces.push(Piece::Text { text }),
            Part::Thinking { text, .. } => pieces.push(Piece::Thinking { text }),
            Part::ToolCall { id, name, input, .. } => pieces.push(Piece::ToolCall {
                call: id.as_str(),
                tool: name,
                input,
            }),
            Part::ToolResult { content, .. } => pieces.extend(content.iter().map(|block| match block {
                Block::Text { text } => Piece::Text { text },
                Block::Media(media) => Piece::media(media),
            })),
            Part::Media(media) => pieces.push(Piece::media(media)),
        }
    }
    pieces
}

fn end_word(end: &End) -> Cow<'_, str> {
    match end {
        End::Finished(Stop::End) => "end".into(),
        End::Finished(Stop::ToolUse) => "tool_use".into(),
        End::Finished(Stop::MaxTokens) => "max_tokens".into(),
        End::Finished(Stop::Refusal { .. }) => "refusal".into(),
        End::Finished(Stop::Other { word }) => word.as_str().into(),
        End::Interrupted => "interrupted".into(),
        End::Cut { .. } => "cut".into(),
    }
}
