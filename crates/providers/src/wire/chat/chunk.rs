//! The formats of streamed events, including deviations of some servers.

use super::usage::ChatUsage;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::fmt;

/// One event. Rare fields are boxed: most events contain a few letters, so moving one should be cheap.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ChatChunk {
    pub(super) choices: Option<Vec<ChatChoice>>,
    pub(super) usage: Option<Box<ChatUsage>>,
    pub(super) x_groq: Option<Box<GroqExtension>>,
    error: Option<LooseText>,
    object: Option<LooseText>,
    message: Option<LooseText>,
    detail: Option<LooseText>,
}

impl ChatChunk {
    /// Whether the event reports an error in one of the known formats.
    pub(super) fn is_failure(&self, name: Option<&str>) -> bool {
        let has_error = |error: &Option<LooseText>| error.as_ref().is_some_and(|error| !error.is_empty());
        let groq = self.x_groq.as_ref().is_some_and(|groq| has_error(&groq.error));
        let choice = self.choices.iter().flatten().any(|choice| has_error(&choice.error));
        let object = matches!(&self.object, Some(LooseText::Text(object)) if object == "error");
        let bare = self.choices.is_none() && (self.message.is_some() || has_error(&self.detail));
        has_error(&self.error) || groq || choice || object || bare || (name == Some("error") && self.choices.is_none())
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct GroqExtension {
    pub(super) usage: Option<Box<ChatUsage>>,
    error: Option<LooseText>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ChatChoice {
    pub(super) delta: Option<Box<ChatDelta>>,
    /// The complete message, if a server does not stream.
    pub(super) message: Option<Box<ChatDelta>>,
    pub(super) finish_reason: Option<LooseText>,
    /// Moonshot.
    pub(super) usage: Option<Box<ChatUsage>>,
    error: Option<LooseText>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ChatDelta {
    pub(super) content: Option<LooseText>,
    pub(super) reasoning_content: Option<LooseText>,
    pub(super) reasoning: Option<LooseText>,
    pub(super) reasoning_details: Option<Vec<Map<String, Value>>>,
    pub(super) refusal: Option<LooseText>,
    pub(super) tool_calls: Option<Vec<ToolCallDelta>>,
    pub(super) function_call: Option<FunctionDelta>,
}

/// A delta of a tool call.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ToolCallDelta {
    index: Option<f64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionDelta>,
    pub(super) extra_content: Option<Box<Value>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct FunctionDelta {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<LooseText>,
}

impl ToolCallDelta {
    pub(super) fn index(&self) -> Option<i64> {
        self.index.map(|index| index as i64)
    }

    /// The tool's name, if this delta contains it.
    pub(super) fn name(&self) -> Option<&str> {
        let function = self.function.as_ref()?;
        function.name.as_deref().filter(|name| !name.is_empty())
    }

    /// Whether the input in this delta starts an object.
    pub(super) fn begins_object(&self) -> bool {
        match self.function.as_ref().and_then(|function| function.arguments.as_ref()) {
            Some(LooseText::Text(text)) => text.trim_start().starts_with('{'),
            Some(LooseText::Json(value)) => value.is_object(),
            None => false,
        }
    }
}

impl From<FunctionDelta> for ToolCallDelta {
    fn from(function: FunctionDelta) -> Self {
        ToolCallDelta {
            function: Some(function),
            ..ToolCallDelta::default()
        }
    }
}

/// A text field, which some servers send as another type.
#[derive(Debug)]
pub(crate) enum LooseText {
    Text(String),
    Json(Box<Value>),
}

impl LooseText {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, LooseText::Text(text) if text.is_empty())
    }

    pub(crate) fn into_text(self) -> String {
        match self {
            LooseText::Text(text) => text,
            LooseText::Json(value) => joined_text(&value),
        }
    }

    /// JSON text: unchanged, or rendered if the server sent a value.
    pub(crate) fn into_json_text(self) -> String {
        match self {
            LooseText::Text(text) => text,
            LooseText::Json(value) if value.is_null() => String::new(),
            LooseText::Json(value) => value.to_string(),
        }
    }
}

impl<'de> Deserialize<'de> for LooseText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseTextVisitor)
    }
}

struct LooseTextVisitor;

impl<'de> Visitor<'de> for LooseTextVisitor {
    type Value = LooseText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or any other JSON value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<LooseText, E> {
        Ok(LooseText::Text(text.to_string()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<LooseText, E> {
        Ok(LooseText::Text(text))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<LooseText, E> {
        Ok(LooseText::Json(Box::new(json!(value))))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<LooseText, E> {
        Ok(LooseText::Json(Box::new(json!(value))))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<LooseText, E> {
        Ok(LooseText::Json(Box::new(json!(value))))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<LooseText, E> {
        Ok(LooseText::Json(Box::new(json!(value))))
    }

    fn visit_unit<E: de::Error>(self) -> Result<LooseText, E> {
        Ok(LooseText::Json(Box::default()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<LooseText, A::Error> {
        Value::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(|value| LooseText::Json(Box::new(value)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LooseText, A::Error> {
        Value::deserialize(de::value::MapAccessDeserializer::new(map)).map(|value| LooseText::Json(Box::new(value)))
    }
}

/// The text of a value that may be text, a part or a list of parts.
pub(super) fn joined_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(joined_text).collect(),
        Value::Object(map) => map.get("text").and_then(Value::as_str).unwrap_or_default().to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
