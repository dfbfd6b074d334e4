//! The offer of a server, as cached between runs.

use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum number of tools, prompts or resources per server.
pub(crate) const MAX_ENTRIES: usize = 1_000;
/// Maximum bytes of a description.
const MAX_DESCRIPTION: usize = 4_000;
/// Maximum bytes of a schema.
const MAX_SCHEMA: usize = 32_000;
/// Maximum bytes of instructions.
const MAX_INSTRUCTIONS: usize = 4_000;

/// The offer of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerOffer {
    /// Fingerprint of its definition.
    pub fingerprint: String,
    /// Time of the query, in seconds of Unix time.
    pub at: u64,
    /// Its tools.
    pub tools: Vec<ToolOffer>,
    /// Its prompts.
    pub prompts: Vec<PromptOffer>,
    /// Its resources.
    pub resources: Vec<ResourceOffer>,
    /// Resource templates.
    pub templates: Vec<ResourceOffer>,
    /// Usage instructions.
    pub instructions: Option<String>,
    /// Its name and version.
    pub title: Option<String>,
}

/// A tool of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOffer {
    /// Its name on the server.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its parameters.
    pub input_schema: Value,
    /// Whether it is annotated as read-only.
    pub read_only: bool,
}

/// A prompt of a server, used as a slash command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptOffer {
    /// Its name on the server.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its parameters.
    pub arguments: Vec<PromptArgument>,
}

/// A parameter of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Whether it is required.
    pub required: bool,
}

/// A resource of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceOffer {
    /// Its URL.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its MIME type.
    pub mime: Option<String>,
}

impl ServerOffer {
    /// Whether both offers are equal, regardless of their time.
    pub(crate) fn same_content(&self, other: &ServerOffer) -> bool {
        let timeless = |offer: &ServerOffer| ServerOffer { at: 0, ..offer.clone() };
        timeless(self) == timeless(other)
    }
}

impl From<&Tool> for ToolOffer {
    fn from(tool: &Tool) -> Self {
        let title = tool.title.as_deref();
        let description = tool.description.as_deref().or(title).unwrap_or_default();
        ToolOffer {
            name: tool.name.to_string(),
            description: cut(description, MAX_DESCRIPTION),
            input_schema: schema(Value::Object((*tool.input_schema).clone())),
            read_only: tool
                .annotations
                .as_ref()
                .and_then(|annotations| annotations.read_only_hint)
                == Some(true),
        }
    }
}

impl From<&Prompt> for PromptOffer {
    fn from(prompt: &Prompt) -> Self {
        let arguments = prompt.arguments.iter().flatten().map(|argument| PromptArgument {
            name: argument.name.clone(),
            description: argument.description.as_deref().map(|text| cut(text, MAX_DESCRIPTION)),
            required: argument.required == Some(true),
        });
        PromptOffer {
            name: prompt.name.clone(),
            description: prompt.description.as_deref().map(|text| cut(text, MAX_DESCRIPTION)),
            arguments: arguments.collect(),
        }
    }
}

impl From<&Resource> for ResourceOffer {
    fn from(resource: &Resource) -> Self {
        ResourceOffer {
            uri: resource.uri.clone(),
            name: resource.name.clone(),
            description: resource.description.as_deref().map(|text| cut(text, MAX_DESCRIPTION)),
            mime: resource.mime_type.clone(),
        }
    }
}

impl From<&ResourceTemplate> for ResourceOffer {
    fn from(template: &ResourceTemplate) -> Self {
        ResourceOffer {
            uri: template.uri_template.clone(),
            name: template.name.clone(),
            description: template.description.as_deref().map(|text| cut(text, MAX_DESCRIPTION)),
            mime: template.mime_type.clone(),
        }
    }
}

/// Bounds usage instructions.
pub(crate) fn instructions(text: Option<&str>) -> Option<String> {
    let text = text.map(str::trim).filter(|text| !text.is_empty())?;
    Some(cut(text, MAX_INSTRUCTIONS))
}

/// Adapts a schema for vendors: an object of bounded size.
fn schema(mut schema: Value) -> Value {
    if schema.to_string().len() > MAX_SCHEMA {
        return json!({"type": "object", "description": "The schema is too long to show."});
    }
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

fn cut(text: &str, most: usize) -> String {
    match text.len() > most {
        true => format!("{} […]", &text[..text.floor_char_boundary(most)]),
        false => text.to_owned(),
    }
}
