//! Item bodies as rows: a kind, and JSON that depends on it.

use super::message::MessageRow;
use super::panels::PanelsRow;
use super::shared::StopRow;
use super::todo::TodoRow;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use session::{Body, Change, CommandExit, ItemId, RequestId, RestoreKind, ReviewedFile};
use std::borrow::Cow;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// The file versions that a body references, stored as separate rows: before and after a change, or accepted and
/// current after a review.
pub(crate) fn changes(body: &Body) -> Cow<'_, [Change]> {
    match body {
        Body::Result { changes, .. } | Body::Restored { changes, .. } => Cow::Borrowed(changes),
        Body::Review { changes, .. } => Cow::Owned(changes.iter().map(change).collect()),
        Body::Prompt { .. }
        | Body::Reply { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Mode { .. }
        | Body::Notification { .. }
        | Body::Todos { .. }
        | Body::Panels { .. } => Cow::Borrowed(&[]),
    }
}

fn change(reviewed: &ReviewedFile) -> Change {
    Change {
        path: reviewed.path.clone(),
        before: reviewed.base.clone(),
        after: reviewed.current.clone(),
    }
}

fn reviewed(change: Change) -> ReviewedFile {
    ReviewedFile {
        path: change.path,
        base: change.before,
        current: change.after,
    }
}

/// The kind and the JSON of a body. Changes are stored in their own table.
pub(crate) fn encode(body: &Body) -> serde_json::Result<(&'static str, String)> {
    Ok(match body {
        Body::Prompt { message } => ("prompt", serde_json::to_string(&PromptItemRow::of(message))?),
        Body::Summary {
            message,
            first_kept: kept,
        } => (
            "summary",
            serde_json::to_string(&SummaryRow {
                message: message.as_ref().into(),
                kept: kept.map(|kept| Cow::Owned(kept.to_string())),
            })?,
        ),
        Body::Notice { text } => (
            "notice",
            serde_json::to_string(&NoticeRow {
                text: Cow::Borrowed(text),
            })?,
        ),
        Body::Mode {
            name,
            files,
            edit_approval,
        } => (
            "mode",
            serde_json::to_string(&ModeRow {
                name: Cow::Borrowed(name),
                files: Cow::Borrowed(files),
                edit_approval: *edit_approval,
            })?,
        ),
        Body::Notification { message, source: cause } => (
            "wake",
            serde_json::to_string(&NotificationRow {
                message: message.as_ref().into(),
                cause: Cow::Borrowed(cause),
            })?,
        ),
        Body::Todos { list } => (
            "todos",
            serde_json::to_string(&TodosRow {
                list: list.iter().map(Into::into).collect(),
            })?,
        ),
        Body::Panels {
            messages,
            states: shown,
            elision: fold,
        } => (
            "panels",
            serde_json::to_string(&PanelsRow::of(messages, shown, fold.as_ref()))?,
        ),
        Body::Review { message, changes: _ } => (
            "review",
            serde_json::to_string(&ReviewRow {
                message: message.as_deref().map(Into::into),
            })?,
        ),
        Body::Restored {
            message,
            kind: how,
            items: of,
            changes: _,
        } => (
            "restored",
            serde_json::to_string(&RestoredRow {
                message: message.as_ref().into(),
                how: (*how).into(),
                of: of.iter().map(ItemId::to_string).collect(),
            })?,
        ),
        Body::Reply {
            message,
            model,
            request,
            end,
        } => (
            "reply",
            serde_json::to_string(&ReplyRow {
                message: message.as_ref().into(),
                model: Cow::Borrowed(model),
                request: Cow::Owned(request.to_string()),
                end: end.into(),
            })?,
        ),
        Body::Result {
            message,
            call,
            tool,
            title,
            summary,
            exit,
            millis,
            changes: _,
        } => (
            "result",
            serde_json::to_string(&ResultRow {
                message: message.as_ref().into(),
                call: Cow::Borrowed(call.as_str()),
                tool: Cow::Borrowed(tool),
                title: Cow::Borrowed(title),
                summary: summary.as_deref().map(Cow::Borrowed),
                exit: exit.map(ExitRow::from),
                millis: *millis,
            })?,
        ),
    })
}

/// Decodes a body; `None` if the kind is unknown.
pub(crate) fn decode(kind: &str, json: &str, changes: Vec<Change>) -> serde_json::Result<Option<Body>> {
    match kind {
        "prompt" => Ok(serde_json::from_str::<PromptItemRow<'_>>(json)?
            .message()?
            .map(|message| Body::Prompt { message })),
        "summary" => serde_json::from_str::<SummaryRow<'_>>(json)?.known(),
        "notice" => {
            let NoticeRow { text } = serde_json::from_str(json)?;
            Ok(Some(Body::Notice {
                text: text.into_owned(),
            }))
        }
        "mode" => {
            let ModeRow {
                name,
                files,
                edit_approval,
            } = serde_json::from_str(json)?;
            Ok(Some(Body::Mode {
                name: name.into_owned(),
                files: files.into_owned(),
                edit_approval,
            }))
        }
        "wake" => serde_json::from_str::<NotificationRow<'_>>(json)?.known(),
        "todos" => {
            let TodosRow { list } = serde_json::from_str(json)?;
            Ok(Some(Body::Todos {
                list: list.into_iter().map(Into::into).collect(),
            }))
        }
        "panels" => serde_json::from_str::<PanelsRow<'_>>(json)?.known(),
        "review" => {
            let ReviewRow { message } = serde_json::from_str(json)?;
            Ok(Some(Body::Review {
                message: message.map(decode_message).transpose()?.flatten(),
                changes: changes.into_iter().map(reviewed).collect(),
            }))
        }
        "restored" => serde_json::from_str::<RestoredRow<'_>>(json)?.known(changes),
        "reply" => serde_json::from_str::<ReplyRow<'_>>(json)?.known(),
        "result" => serde_json::from_str::<ResultRow<'_>>(json)?.decode_message(changes),
        _ => Ok(None),
    }
}

#[derive(Serialize, Deserialize)]
struct PromptItemRow<'a> {
    message: MessageRow<'a>,
}

#[derive(Serialize, Deserialize)]
struct SummaryRow<'a> {
    message: MessageRow<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
struct ModeRow<'a> {
    name: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "<[PathBuf]>::is_empty")]
    files: Cow<'a, [PathBuf]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edit_approval: Option<policy::ApprovalMode>,
}

#[derive(Serialize, Deserialize)]
struct NoticeRow<'a> {
    text: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct ReviewRow<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<MessageRow<'a>>,
}

#[derive(Serialize, Deserialize)]
struct RestoredRow<'a> {
    message: MessageRow<'a>,
    how: RestoreKindRow,
    of: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RestoreKindRow {
    Undo,
    Redo,
    Left,
}

#[derive(Serialize, Deserialize)]
struct NotificationRow<'a> {
    message: MessageRow<'a>,
    cause: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct TodosRow<'a> {
    list: Vec<TodoRow<'a>>,
}

#[derive(Serialize, Deserialize)]
struct ReplyRow<'a> {
    message: MessageRow<'a>,
    model: Cow<'a, str>,
    request: Cow<'a, str>,
    end: ReplyEndRow<'a>,
}

#[derive(Serialize, Deserialize)]
struct ResultRow<'a> {
    message: MessageRow<'a>,
    call: Cow<'a, str>,
    tool: Cow<'a, str>,
    title: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<ExitRow>,
    #[serde(default)]
    millis: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExitRow {
    Code(i32),
    Signal,
    TimedOut,
    Unknown,
}

impl From<CommandExit> for ExitRow {
    fn from(exit: CommandExit) -> Self {
        match exit {
            CommandExit::Code(code) => ExitRow::Code(code),
            CommandExit::Signal => ExitRow::Signal,
            CommandExit::TimedOut => ExitRow::TimedOut,
            CommandExit::Unknown => ExitRow::Unknown,
        }
    }
}

impl From<ExitRow> for CommandExit {
    fn from(exit: ExitRow) -> Self {
        match exit {
            ExitRow::Code(code) => CommandExit::Code(code),
            ExitRow::Signal => CommandExit::Signal,
            ExitRow::TimedOut => CommandExit::TimedOut,
            ExitRow::Unknown => CommandExit::Unknown,
        }
    }
}

/// The exit of a result that was stored before results had one: it was part of the summary.
fn exit_in_summary(summary: &str) -> Option<CommandExit> {
    if let Some(rest) = summary.strip_prefix("exit code ") {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '-')
            .unwrap_or(rest.len());
        return rest[..digits].parse().ok().map(CommandExit::Code);
    }
    let ended = [
        ("ended by signal ", CommandExit::Signal),
        ("stopped after ", CommandExit::TimedOut),
    ];
    ended
        .into_iter()
        .find(|(text, _)| summary.starts_with(text))
        .map(|(_, exit)| exit)
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ReplyEndRow<'a> {
    Finished {
        stop: StopRow<'a>,
    },
    Interrupted,
    Cut {
        error: Cow<'a, str>,
    },
    #[serde(other)]
    Unknown,
}

impl<'a> PromptItemRow<'a> {
    fn of(message: &'a model::Message) -> Self {
        PromptItemRow {
            message: message.into(),
        }
    }

    fn message(self) -> serde_json::Result<Option<Arc<model::Message>>> {
        decode_message(self.message)
    }
}

impl SummaryRow<'_> {
    fn known(self) -> serde_json::Result<Option<Body>> {
        let kept = self.kept.map(|kept| ItemId::from_str(&kept)).transpose();
        let kept = kept.map_err(serde_json::Error::custom)?;
        Ok(decode_message(self.message)?.map(|message| Body::Summary {
            message,
            first_kept: kept,
        }))
    }
}

impl RestoredRow<'_> {
    fn known(self, changes: Vec<Change>) -> serde_json::Result<Option<Body>> {
        let of = self.of.iter().map(|id| ItemId::from_str(id));
        let of = of.collect::<Result<Vec<_>, _>>().map_err(serde_json::Error::custom)?;
        Ok(decode_message(self.message)?.map(|message| Body::Restored {
            message,
            kind: self.how.into(),
            items: of,
            changes,
        }))
    }
}

impl NotificationRow<'_> {
    fn known(self) -> serde_json::Result<Option<Body>> {
        Ok(decode_message(self.message)?.map(|message| Body::Notification {
            message,
            source: self.cause.into_owned(),
        }))
    }
}

impl From<RestoreKind> for RestoreKindRow {
    fn from(how: RestoreKind) -> Self {
        match how {
            RestoreKind::Undo => RestoreKindRow::Undo,
            RestoreKind::Redo => RestoreKindRow::Redo,
            RestoreKind::FilesKept => RestoreKindRow::Left,
        }
    }
}

impl From<RestoreKindRow> for RestoreKind {
    fn from(how: RestoreKindRow) -> Self {
        match how {
            RestoreKindRow::Undo => RestoreKind::Undo,
            RestoreKindRow::Redo => RestoreKind::Redo,
            RestoreKindRow::Left => RestoreKind::FilesKept,
        }
    }
}

impl ReplyRow<'_> {
    fn known(self) -> serde_json::Result<Option<Body>> {
        let request = RequestId::from_str(&self.request).map_err(serde_json::Error::custom)?;
        Ok(decode_message(self.message)?.map(|message| Body::Reply {
            message,
            model: self.model.into_owned(),
            request,
            end: self.end.into(),
        }))
    }
}

impl ResultRow<'_> {
    fn decode_message(self, changes: Vec<Change>) -> serde_json::Result<Option<Body>> {
        let exit = self.exit.map(CommandExit::from);
        let exit = exit.or_else(|| exit_in_summary(self.summary.as_deref()?));
        Ok(decode_message(self.message)?.map(|message| Body::Result {
            message,
            exit,
            call: self.call.into_owned().into(),
            tool: self.tool.into_owned(),
            title: self.title.into_owned(),
            summary: self.summary.map(Cow::into_owned),
            millis: self.millis,
            changes,
        }))
    }
}

impl<'a> From<&'a session::ReplyEnd> for ReplyEndRow<'a> {
    fn from(end: &'a session::ReplyEnd) -> Self {
        match end {
            session::ReplyEnd::Finished(stop) => ReplyEndRow::Finished { stop: stop.into() },
            session::ReplyEnd::Interrupted => ReplyEndRow::Interrupted,
            session::ReplyEnd::Cut { error } => ReplyEndRow::Cut {
                error: Cow::Borrowed(error),
            },
        }
    }
}

impl From<ReplyEndRow<'_>> for session::ReplyEnd {
    fn from(row: ReplyEndRow<'_>) -> Self {
        match row {
            ReplyEndRow::Finished { stop } => session::ReplyEnd::Finished(stop.into()),
            ReplyEndRow::Interrupted | ReplyEndRow::Unknown => session::ReplyEnd::Interrupted,
            ReplyEndRow::Cut { error } => session::ReplyEnd::Cut {
                error: error.into_owned(),
            },
        }
    }
}

/// Decodes a message; `None` if it is unknown.
pub(super) fn decode_message(message: MessageRow<'_>) -> serde_json::Result<Option<Arc<model::Message>>> {
    message
        .decode()
        .map(|message| message.map(Arc::new))
        .map_err(serde_json::Error::custom)
}
