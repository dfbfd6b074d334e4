//! What happened, as rows: a kind, and JSON whose shape depends on it.

use super::message::Message;
use super::panels::Panels;
use super::shared::Stop;
use super::todo::Todo;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use session::{Body, Change, ItemId, RequestId, Restoring, Reviewed};
use std::borrow::Cow;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// The versions of files that a body names, as rows of their own: before and after a change, or what counts as accepted
/// and what the file held after a review.
pub(crate) fn changes(body: &Body) -> Cow<'_, [Change]> {
    match body {
        Body::Result { changes, .. } | Body::Restored { changes, .. } => Cow::Borrowed(changes),
        Body::Review { changes } => Cow::Owned(changes.iter().map(change).collect()),
        Body::Prompt { .. }
        | Body::Reply { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Mode { .. }
        | Body::Wake { .. }
        | Body::Todos { .. }
        | Body::Panels { .. } => Cow::Borrowed(&[]),
    }
}

fn change(reviewed: &Reviewed) -> Change {
    Change {
        path: reviewed.path.clone(),
        before: reviewed.base.clone(),
        after: reviewed.current.clone(),
    }
}

fn reviewed(change: Change) -> Reviewed {
    Reviewed {
        path: change.path,
        base: change.before,
        current: change.after,
    }
}

/// The kind and the JSON of a body. Changes of files are kept in a table of their own.
pub(crate) fn encode(body: &Body) -> serde_json::Result<(&'static str, String)> {
    Ok(match body {
        Body::Prompt { message } => ("prompt", serde_json::to_string(&Said::of(message))?),
        Body::Summary { message, kept } => (
            "summary",
            serde_json::to_string(&Summary {
                message: message.as_ref().into(),
                kept: kept.map(|kept| Cow::Owned(kept.to_string())),
            })?,
        ),
        Body::Notice { text } => (
            "notice",
            serde_json::to_string(&Notice {
                text: Cow::Borrowed(text),
            })?,
        ),
        Body::Mode { name, files } => (
            "mode",
            serde_json::to_string(&Mode {
                name: Cow::Borrowed(name),
                files: Cow::Borrowed(files),
            })?,
        ),
        Body::Wake { message, cause } => (
            "wake",
            serde_json::to_string(&Woken {
                message: message.as_ref().into(),
                cause: Cow::Borrowed(cause),
            })?,
        ),
        Body::Todos { list } => (
            "todos",
            serde_json::to_string(&Todos {
                list: list.iter().map(Into::into).collect(),
            })?,
        ),
        Body::Panels { messages, shown, fold } => (
            "panels",
            serde_json::to_string(&Panels::of(messages, shown, fold.as_ref()))?,
        ),
        // Everything about it is in the table of changes.
        Body::Review { changes: _ } => ("review", "{}".into()),
        Body::Restored {
            message,
            how,
            of,
            changes: _,
        } => (
            "restored",
            serde_json::to_string(&Restored {
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
            serde_json::to_string(&Reply {
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
            millis,
            changes: _,
        } => (
            "result",
            serde_json::to_string(&Outcome {
                message: message.as_ref().into(),
                call: Cow::Borrowed(call.as_str()),
                tool: Cow::Borrowed(tool),
                title: Cow::Borrowed(title),
                summary: summary.as_deref().map(Cow::Borrowed),
                millis: *millis,
            })?,
        ),
    })
}

/// The body of this kind; `None` where this version does not know it.
pub(crate) fn decode(kind: &str, json: &str, changes: Vec<Change>) -> serde_json::Result<Option<Body>> {
    match kind {
        "prompt" => Ok(serde_json::from_str::<Said<'_>>(json)?
            .message()?
            .map(|message| Body::Prompt { message })),
        "summary" => serde_json::from_str::<Summary<'_>>(json)?.known(),
        "notice" => {
            let Notice { text } = serde_json::from_str(json)?;
            Ok(Some(Body::Notice {
                text: text.into_owned(),
            }))
        }
        "mode" => {
            let Mode { name, files } = serde_json::from_str(json)?;
            Ok(Some(Body::Mode {
                name: name.into_owned(),
                files: files.into_owned(),
            }))
        }
        "wake" => serde_json::from_str::<Woken<'_>>(json)?.known(),
        "todos" => {
            let Todos { list } = serde_json::from_str(json)?;
            Ok(Some(Body::Todos {
                list: list.into_iter().map(Into::into).collect(),
            }))
        }
        "panels" => serde_json::from_str::<Panels<'_>>(json)?.known(),
        "review" => Ok(Some(Body::Review {
            changes: changes.into_iter().map(reviewed).collect(),
        })),
        "restored" => serde_json::from_str::<Restored<'_>>(json)?.known(changes),
        "reply" => serde_json::from_str::<Reply<'_>>(json)?.known(),
        "result" => serde_json::from_str::<Outcome<'_>>(json)?.known(changes),
        _ => Ok(None),
    }
}

#[derive(Serialize, Deserialize)]
struct Said<'a> {
    message: Message<'a>,
}

#[derive(Serialize, Deserialize)]
struct Summary<'a> {
    message: Message<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
struct Mode<'a> {
    name: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "<[PathBuf]>::is_empty")]
    files: Cow<'a, [PathBuf]>,
}

#[derive(Serialize, Deserialize)]
struct Notice<'a> {
    text: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct Restored<'a> {
    message: Message<'a>,
    how: How,
    of: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Undo,
    Redo,
    Left,
}

#[derive(Serialize, Deserialize)]
struct Woken<'a> {
    message: Message<'a>,
    cause: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct Todos<'a> {
    list: Vec<Todo<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Reply<'a> {
    message: Message<'a>,
    model: Cow<'a, str>,
    request: Cow<'a, str>,
    end: End<'a>,
}

#[derive(Serialize, Deserialize)]
struct Outcome<'a> {
    message: Message<'a>,
    call: Cow<'a, str>,
    tool: Cow<'a, str>,
    title: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<Cow<'a, str>>,
    #[serde(default)]
    millis: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum End<'a> {
    Finished {
        stop: Stop<'a>,
    },
    Interrupted,
    Cut {
        error: Cow<'a, str>,
    },
    #[serde(other)]
    Unknown,
}

impl<'a> Said<'a> {
    fn of(message: &'a model::Message) -> Self {
        Said {
            message: message.into(),
        }
    }

    fn message(self) -> serde_json::Result<Option<Arc<model::Message>>> {
        known(self.message)
    }
}

impl Summary<'_> {
    fn known(self) -> serde_json::Result<Option<Body>> {
        let kept = self.kept.map(|kept| ItemId::from_str(&kept)).transpose();
        let kept = kept.map_err(serde_json::Error::custom)?;
        Ok(known(self.message)?.map(|message| Body::Summary { message, kept }))
    }
}

impl Restored<'_> {
    fn known(self, changes: Vec<Change>) -> serde_json::Result<Option<Body>> {
        let of = self.of.iter().map(|id| ItemId::from_str(id));
        let of = of.collect::<Result<Vec<_>, _>>().map_err(serde_json::Error::custom)?;
        Ok(known(self.message)?.map(|message| Body::Restored {
            message,
            how: self.how.into(),
            of,
            changes,
        }))
    }
}

impl Woken<'_> {
    fn known(self) -> serde_json::Result<Option<Body>> {
        Ok(known(self.message)?.map(|message| Body::Wake {
            message,
            cause: self.cause.into_owned(),
        }))
    }
}

impl From<Restoring> for How {
    fn from(how: Restoring) -> Self {
        match how {
            Restoring::Undo => How::Undo,
            Restoring::Redo => How::Redo,
            Restoring::Left => How::Left,
        }
    }
}

impl From<How> for Restoring {
    fn from(how: How) -> Self {
        match how {
            How::Undo => Restoring::Undo,
            How::Redo => Restoring::Redo,
            How::Left => Restoring::Left,
        }
    }
}

impl Reply<'_> {
    fn known(self) -> serde_json::Result<Option<Body>> {
        let request = RequestId::from_str(&self.request).map_err(serde_json::Error::custom)?;
        Ok(known(self.message)?.map(|message| Body::Reply {
            message,
            model: self.model.into_owned(),
            request,
            end: self.end.into(),
        }))
    }
}

impl Outcome<'_> {
    fn known(self, changes: Vec<Change>) -> serde_json::Result<Option<Body>> {
        Ok(known(self.message)?.map(|message| Body::Result {
            message,
            call: self.call.into_owned().into(),
            tool: self.tool.into_owned(),
            title: self.title.into_owned(),
            summary: self.summary.map(Cow::into_owned),
            millis: self.millis,
            changes,
        }))
    }
}

impl<'a> From<&'a session::End> for End<'a> {
    fn from(end: &'a session::End) -> Self {
        match end {
            session::End::Finished(stop) => End::Finished { stop: stop.into() },
            session::End::Interrupted => End::Interrupted,
            session::End::Cut { error } => End::Cut {
                error: Cow::Borrowed(error),
            },
        }
    }
}

impl From<End<'_>> for session::End {
    fn from(row: End<'_>) -> Self {
        match row {
            End::Finished { stop } => session::End::Finished(stop.into()),
            End::Interrupted | End::Unknown => session::End::Interrupted,
            End::Cut { error } => session::End::Cut {
                error: error.into_owned(),
            },
        }
    }
}

/// The message; `None` where this version does not know all of it.
pub(super) fn known(message: Message<'_>) -> serde_json::Result<Option<Arc<model::Message>>> {
    message
        .known()
        .map(|message| message.map(Arc::new))
        .map_err(serde_json::Error::custom)
}
