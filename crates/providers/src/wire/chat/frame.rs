//! The shapes of streamed events, and what some servers send instead.

use super::usage::Figures;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::fmt;

/// One event. What is rare is boxed: most events carry a few letters, and moving a frame should cost as little.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Frame {
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<Box<Figures>>,
    pub(super) x_groq: Option<Box<Groq>>,
    error: Option<Words>,
    object: Option<Words>,
    message: Option<Words>,
    detail: Option<Words>,
}

impl Frame {
    /// Whether the event says that something went wrong, in one of the shapes that this takes.
    pub(super) fn is_failure(&self, name: Option<&str>) -> bool {
        let told = |error: &Option<Words>| error.as_ref().is_some_and(|error| !error.is_empty());
        let groq = self.x_groq.as_ref().is_some_and(|groq| told(&groq.error));
        let choice = self.choices.iter().flatten().any(|choice| told(&choice.error));
        let object = matches!(&self.object, Some(Words::Text(object)) if object == "error");
        let bare = self.choices.is_none() && (self.message.is_some() || told(&self.detail));
        told(&self.error) || groq || choice || object || bare || (name == Some("error") && self.choices.is_none())
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Groq {
    pub(super) usage: Option<Box<Figures>>,
    error: Option<Words>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Choice {
    pub(super) delta: Option<Box<Delta>>,
    /// The whole answer at once, where a server does not stream.
    pub(super) message: Option<Box<Delta>>,
    pub(super) finish_reason: Option<Words>,
    /// Moonshot.
    pub(super) usage: Option<Box<Figures>>,
    error: Option<Words>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) content: Option<Words>,
    pub(super) reasoning_content: Option<Words>,
    pub(super) reasoning: Option<Words>,
    pub(super) reasoning_details: Option<Vec<Map<String, Value>>>,
    pub(super) refusal: Option<Words>,
    pub(super) tool_calls: Option<Vec<CallDelta>>,
    pub(super) function_call: Option<FunctionDelta>,
}

/// A piece of a tool call.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct CallDelta {
    index: Option<f64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionDelta>,
    pub(super) extra_content: Option<Box<Value>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct FunctionDelta {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Words>,
}

impl CallDelta {
    pub(super) fn index(&self) -> Option<i64> {
        self.index.map(|index| index as i64)
    }

    /// The tool's name, where this piece has it.
    pub(super) fn name(&self) -> Option<&str> {
        let function = self.function.as_ref()?;
        function.name.as_deref().filter(|name| !name.is_empty())
    }

    /// Whether the input in this piece begins an object.
    pub(super) fn begins_object(&self) -> bool {
        match self.function.as_ref().and_then(|function| function.arguments.as_ref()) {
            Some(Words::Text(text)) => text.trim_start().starts_with('{'),
            Some(Words::Json(value)) => value.is_object(),
            None => false,
        }
    }
}

impl From<FunctionDelta> for CallDelta {
    fn from(function: FunctionDelta) -> Self {
        CallDelta {
            function: Some(function),
            ..CallDelta::default()
        }
    }
}

/// What should be text, and what some servers send instead.
#[derive(Debug)]
pub(crate) enum Words {
    Text(String),
    Json(Box<Value>),
}

impl Words {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Words::Text(text) if text.is_empty())
    }

    pub(crate) fn into_text(self) -> String {
        match self {
            Words::Text(text) => text,
            Words::Json(value) => spoken(&value),
        }
    }

    /// JSON text: as it came, or rendered where the server sent the value itself.
    pub(crate) fn into_json_text(self) -> String {
        match self {
            Words::Text(text) => text,
            Words::Json(value) if value.is_null() => String::new(),
            Words::Json(value) => value.to_string(),
        }
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = Words;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or any other JSON value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Words, E> {
        Ok(Words::Text(text.to_string()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Words, E> {
        Ok(Words::Text(text))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Words, E> {
        Ok(Words::Json(Box::new(json!(value))))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Words, E> {
        Ok(Words::Json(Box::new(json!(value))))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Words, E> {
        Ok(Words::Json(Box::new(json!(value))))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Words, E> {
        Ok(Words::Json(Box::new(json!(value))))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Words, E> {
        Ok(Words::Json(Box::default()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Words, A::Error> {
        Value::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(|value| Words::Json(Box::new(value)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Words, A::Error> {
        Value::deserialize(de::value::MapAccessDeserializer::new(map)).map(|value| Words::Json(Box::new(value)))
    }
}

/// The text in a value that may be text, a part or a list of parts.
pub(super) fn spoken(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(spoken).collect(),
        Value::Object(map) => map.get("text").and_then(Value::as_str).unwrap_or_default().to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
