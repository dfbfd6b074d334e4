//! Messages and their parts as rows.

use super::origin::{OriginRow, origin_by_prefix};
use super::shared::ReplayRow;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(super) struct MessageRow<'a> {
    role: RoleRow,
    parts: Vec<PartRow<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RoleRow {
    User,
    Assistant,
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum PartRow<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<OriginRow>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<ReplayRow<'a>>,
    },
    Thinking {
        text: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<ReplayRow<'a>>,
    },
    Call {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        malformed: Option<Cow<'a, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<ReplayRow<'a>>,
    },
    Result {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        content: Vec<BlockRow<'a>>,
        outcome: OutcomeRow,
    },
    Media(MediaRow<'a>),
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeRow {
    Ok,
    Error,
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockRow<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Media(MediaRow<'a>),
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
struct MediaRow<'a> {
    mime: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    /// In base64.
    data: String,
}

impl<'a> From<&'a model::Message> for MessageRow<'a> {
    fn from(message: &'a model::Message) -> Self {
        MessageRow {
            role: match message.role {
                model::Role::User => RoleRow::User,
                model::Role::Assistant => RoleRow::Assistant,
            },
            parts: message.parts.iter().map(PartRow::from).collect(),
        }
    }
}

impl MessageRow<'_> {
    /// Decodes the known parts; `None` if no part is known.
    pub(super) fn decode(self) -> Result<Option<model::Message>, base64::DecodeError> {
        let role = match self.role {
            RoleRow::User => model::Role::User,
            RoleRow::Assistant => model::Role::Assistant,
            RoleRow::Unknown => return Ok(None),
        };
        let was_empty = self.parts.is_empty();
        let parts: Vec<model::Part> = self
            .parts
            .into_iter()
            .filter_map(|part| part.decode().transpose())
            .collect::<Result<_, _>>()?;
        let is_unknown = parts.is_empty() && !was_empty;
        Ok((!is_unknown).then_some(model::Message { role, parts }))
    }
}

impl<'a> From<&'a model::Part> for PartRow<'a> {
    fn from(part: &'a model::Part) -> Self {
        match part {
            model::Part::Text { text, origin, replay } => PartRow::Text {
                text: Cow::Borrowed(text),
                origin: OriginRow::encode(text, *origin),
                replay: replay.as_ref().map(ReplayRow::from),
            },
            model::Part::Thinking { text, replay } => PartRow::Thinking {
                text: Cow::Borrowed(text),
                replay: replay.as_ref().map(ReplayRow::from),
            },
            model::Part::ToolCall {
                id,
                name,
                input,
                malformed,
                replay,
            } => PartRow::Call {
                id: Cow::Borrowed(id.as_str()),
                name: Cow::Borrowed(name),
                input: Cow::Borrowed(input),
                malformed: malformed.as_deref().map(Cow::Borrowed),
                replay: replay.as_ref().map(ReplayRow::from),
            },
            model::Part::ToolResult {
                id,
                name,
                content,
                outcome,
            } => PartRow::Result {
                id: Cow::Borrowed(id.as_str()),
                name: Cow::Borrowed(name),
                content: content.iter().map(BlockRow::from).collect(),
                outcome: match outcome {
                    model::ToolOutcome::Ok => OutcomeRow::Ok,
                    model::ToolOutcome::Error => OutcomeRow::Error,
                },
            },
            model::Part::Media(media) => PartRow::Media(media.into()),
        }
    }
}

impl PartRow<'_> {
    fn decode(self) -> Result<Option<model::Part>, base64::DecodeError> {
        Ok(Some(match self {
            PartRow::Text { text, origin, replay } => model::Part::Text {
                origin: origin.map_or_else(|| origin_by_prefix(&text), OriginRow::decode),
                text: text.into_owned(),
                replay: replay.map(Into::into),
            },
            PartRow::Thinking { text, replay } => model::Part::Thinking {
                text: text.into_owned(),
                replay: replay.map(Into::into),
            },
            PartRow::Call {
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
            PartRow::Result {
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
                    OutcomeRow::Ok => model::ToolOutcome::Ok,
                    OutcomeRow::Error | OutcomeRow::Unknown => model::ToolOutcome::Error,
                },
            },
            PartRow::Media(media) => model::Part::Media(media.decoded()?),
            PartRow::Unknown => return Ok(None),
        }))
    }
}

impl<'a> From<&'a model::Block> for BlockRow<'a> {
    fn from(block: &'a model::Block) -> Self {
        match block {
            model::Block::Text { text } => BlockRow::Text {
                text: Cow::Borrowed(text),
            },
            model::Block::Media(media) => BlockRow::Media(media.into()),
        }
    }
}

impl BlockRow<'_> {
    fn known(self) -> Result<Option<model::Block>, base64::DecodeError> {
        Ok(Some(match self {
            BlockRow::Text { text } => model::Block::Text {
                text: text.into_owned(),
            },
            BlockRow::Media(media) => model::Block::Media(media.decoded()?),
            BlockRow::Unknown => return Ok(None),
        }))
    }
}

impl<'a> From<&'a model::Media> for MediaRow<'a> {
    fn from(media: &'a model::Media) -> Self {
        MediaRow {
            mime: Cow::Borrowed(&media.mime),
            name: media.name.as_deref().map(Cow::Borrowed),
            data: STANDARD.encode(&media.data),
        }
    }
}

impl MediaRow<'_> {
    fn decoded(self) -> Result<model::Media, base64::DecodeError> {
        Ok(model::Media {
            mime: self.mime.into_owned(),
            name: self.name.map(Cow::into_owned),
            data: STANDARD.decode(self.data)?.into(),
        })
    }
}
