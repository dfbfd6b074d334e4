//! Messages and their parts as rows.

use super::shared::Replay;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(super) struct Message<'a> {
    role: Role,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay<'a>>,
    },
    Thinking {
        text: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay<'a>>,
    },
    Call {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        malformed: Option<Cow<'a, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay<'a>>,
    },
    Result {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        content: Vec<Block<'a>>,
        outcome: Outcome,
    },
    Media(Media<'a>),
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Ok,
    Error,
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Media(Media<'a>),
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
struct Media<'a> {
    mime: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    /// In base64.
    data: String,
}

impl<'a> From<&'a model::Message> for Message<'a> {
    fn from(message: &'a model::Message) -> Self {
        Message {
            role: match message.role {
                model::Role::User => Role::User,
                model::Role::Assistant => Role::Assistant,
            },
            parts: message.parts.iter().map(Part::from).collect(),
        }
    }
}

impl Message<'_> {
    /// As far as this version knows its parts; `None` where it knows nothing of it.
    pub(super) fn known(self) -> Result<Option<model::Message>, base64::DecodeError> {
        let role = match self.role {
            Role::User => model::Role::User,
            Role::Assistant => model::Role::Assistant,
            Role::Unknown => return Ok(None),
        };
        let was_empty = self.parts.is_empty();
        let parts: Vec<model::Part> = self
            .parts
            .into_iter()
            .filter_map(|part| part.known().transpose())
            .collect::<Result<_, _>>()?;
        let is_unknown = parts.is_empty() && !was_empty;
        Ok((!is_unknown).then_some(model::Message { role, parts }))
    }
}

impl<'a> From<&'a model::Part> for Part<'a> {
    fn from(part: &'a model::Part) -> Self {
        match part {
            model::Part::Text { text, replay } => Part::Text {
                text: Cow::Borrowed(text),
                replay: replay.as_ref().map(Replay::from),
            },
            model::Part::Thinking { text, replay } => Part::Thinking {
                text: Cow::Borrowed(text),
                replay: replay.as_ref().map(Replay::from),
            },
            model::Part::ToolCall {
                id,
                name,
                input,
                malformed,
                replay,
            } => Part::Call {
                id: Cow::Borrowed(id.as_str()),
                name: Cow::Borrowed(name),
                input: Cow::Borrowed(input),
                malformed: malformed.as_deref().map(Cow::Borrowed),
                replay: replay.as_ref().map(Replay::from),
            },
            model::Part::ToolResult {
                id,
                name,
                content,
                outcome,
            } => Part::Result {
                id: Cow::Borrowed(id.as_str()),
                name: Cow::Borrowed(name),
                content: content.iter().map(Block::from).collect(),
                outcome: match outcome {
                    model::Outcome::Ok => Outcome::Ok,
                    model::Outcome::Error => Outcome::Error,
                },
            },
            model::Part::Media(media) => Part::Media(media.into()),
        }
    }
}

impl Part<'_> {
    fn known(self) -> Result<Option<model::Part>, base64::DecodeError> {
        Ok(Some(match self {
            Part::Text { text, replay } => model::Part::Text {
                text: text.into_owned(),
                replay: replay.map(Into::into),
            },
            Part::Thinking { text, replay } => model::Part::Thinking {
                text: text.into_owned(),
                replay: replay.map(Into::into),
            },
            Part::Call {
                id,
                name,
                input,
                malformed,
                replay,
            } => model::Part::ToolCall {
                id: id.into_owned().into(),
                name: name.into_owned(),
                input: input.into_owned(),
                malformed: malformed.map(Cow::into_owned),
                replay: replay.map(Into::into),
            },
            Part::Result {
                id,
                name,
                content,
                outcome,
            } => model::Part::ToolResult {
                id: id.into_owned().into(),
                name: name.into_owned(),
                content: content
                    .into_iter()
                    .filter_map(|block| block.known().transpose())
                    .collect::<Result<_, _>>()?,
                outcome: match outcome {
                    Outcome::Ok => model::Outcome::Ok,
                    Outcome::Error | Outcome::Unknown => model::Outcome::Error,
                },
            },
            Part::Media(media) => model::Part::Media(media.decoded()?),
            Part::Unknown => return Ok(None),
        }))
    }
}

impl<'a> From<&'a model::Block> for Block<'a> {
    fn from(block: &'a model::Block) -> Self {
        match block {
            model::Block::Text { text } => Block::Text {
                text: Cow::Borrowed(text),
            },
            model::Block::Media(media) => Block::Media(media.into()),
        }
    }
}

impl Block<'_> {
    fn known(self) -> Result<Option<model::Block>, base64::DecodeError> {
        Ok(Some(match self {
            Block::Text { text } => model::Block::Text {
                text: text.into_owned(),
            },
            Block::Media(media) => model::Block::Media(media.decoded()?),
            Block::Unknown => return Ok(None),
        }))
    }
}

impl<'a> From<&'a model::Media> for Media<'a> {
    fn from(media: &'a model::Media) -> Self {
        Media {
            mime: Cow::Borrowed(&media.mime),
            name: media.name.as_deref().map(Cow::Borrowed),
            data: STANDARD.encode(&media.data),
        }
    }
}

impl Media<'_> {
    fn decoded(self) -> Result<model::Media, base64::DecodeError> {
        Ok(model::Media {
            mime: self.mime.into_owned(),
            name: self.name.map(Cow::into_owned),
            data: STANDARD.decode(self.data)?.into(),
        })
    }
}
