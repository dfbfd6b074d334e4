//! A stored form of everything in a request except its messages.

use model::{Breakpoint, Effort, Message, OutputSchema, Request, ToolChoice, ToolSpec, WireTrace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Everything in a request except its messages. Long texts are stored separately, by name, because many requests share
/// them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestSnapshot {
    /// Name of the blob with the list of tools.
    tools: String,
    /// Names of the blobs with the sections of the system prompt.
    system: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_choice: Option<StoredToolChoice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_output: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<(String, Value)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    affinity: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    options: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredToolChoice {
    None,
    Required,
    Named(String),
}

impl RequestSnapshot {
    /// Creates a snapshot of a request; `store` stores a text and returns its name.
    pub fn from_request(request: &Request, mut store: impl FnMut(Vec<u8>) -> String) -> RequestSnapshot {
        RequestSnapshot {
            tools: store(serde_json::to_vec(&*request.tools).unwrap_or_default()),
            system: request
                .system
                .iter()
                .map(|section| store(section.as_bytes().to_vec()))
                .collect(),
            tool_choice: match &request.tool_choice {
                ToolChoice::Auto => None,
                ToolChoice::None => Some(StoredToolChoice::None),
                ToolChoice::Required => Some(StoredToolChoice::Required),
                ToolChoice::Named(name) => Some(StoredToolChoice::Named(name.clone())),
            },
            max_output: request.max_output,
            effort: request.effort,
            temperature: request.temperature,
            output_schema: request
                .output_schema
                .as_ref()
                .map(|schema| (schema.name.clone(), schema.schema.clone())),
            affinity: request.affinity.clone(),
            options: request.options.clone(),
        }
    }

    /// The names of all stored texts.
    pub fn blob_names(&self) -> impl Iterator<Item = &str> {
        [&self.tools].into_iter().chain(&self.system).map(String::as_str)
    }

    /// Restores the request; `None` if a text is missing or damaged.
    pub fn restore(
        &self,
        find: impl Fn(&str) -> Option<Vec<u8>>,
        messages: Vec<Arc<Message>>,
        breakpoints: Vec<Breakpoint>,
    ) -> Option<Request> {
        let tools: Vec<ToolSpec> = serde_json::from_slice(&find(&self.tools)?).ok()?;
        let section = |name: &String| Some(Arc::from(String::from_utf8(find(name)?).ok()?));
        let system: Option<Vec<Arc<str>>> = self.system.iter().map(section).collect();
        Some(Request {
            tools: tools.into(),
            system: system?,
            messages: messages.into(),
            breakpoints,
            tool_choice: match &self.tool_choice {
                None => ToolChoice::Auto,
                Some(StoredToolChoice::None) => ToolChoice::None,
                Some(StoredToolChoice::Required) => ToolChoice::Required,
                Some(StoredToolChoice::Named(name)) => ToolChoice::Named(name.clone()),
            },
            max_output: self.max_output,
            effort: self.effort,
            temperature: self.temperature,
            output_schema: self
                .output_schema
                .clone()
                .map(|(name, schema)| OutputSchema { name, schema }),
            affinity: self.affinity.clone(),
            options: self.options.clone(),
            trace: WireTrace::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::HashMap;

    #[test]
    fn a_request_survives_a_snapshot() {
        let tool = ToolSpec {
            name: "t".into(),
            description: "d".into(),
            input_schema: json!({"b": 1, "a": 2}),
        };
        let request = Request {
            tools: [tool].into(),
            system: vec!["one".into(), "two".into()],
            messages: vec![Arc::new(Message::user("hello"))].into(),
            breakpoints: vec![Breakpoint::Tools, Breakpoint::Message(0)],
            tool_choice: ToolChoice::Named("t".into()),
            max_output: Some(5),
            effort: Some(Effort::High),
            temperature: Some(0.5),
            output_schema: Some(OutputSchema {
                name: "o".into(),
                schema: json!({"type": "object"}),
            }),
            affinity: Some("s".into()),
            options: json!({"x": 1}).as_object().cloned().unwrap_or_default(),
            ..Request::default()
        };
        let mut kept = HashMap::new();
        let snapshot = RequestSnapshot::from_request(&request, |text| {
            let name = kept.len().to_string();
            kept.insert(name.clone(), text);
            name
        });
        let json = serde_json::to_string(&snapshot).unwrap();
        let snapshot: RequestSnapshot = serde_json::from_str(&json).unwrap();
        assert_eq!(snapshot.blob_names().count(), kept.len());
        let restored = snapshot.restore(
            |name| kept.get(name).cloned(),
            request.messages.to_vec(),
            request.breakpoints.clone(),
        );
        assert_eq!(format!("{restored:?}"), format!("{:?}", Some(request)));
        assert!(snapshot.restore(|_| None, Vec::new(), Vec::new()).is_none());
    }
}
