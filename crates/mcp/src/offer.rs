//! What a server offers, as it is remembered between runs.

use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// As many tools, prompts or resources of one server as are taken in.
pub(crate) const MOST: usize = 1_000;
/// Bytes of a description.
const MOST_DESCRIPTION: usize = 4_000;
/// Bytes of a schema.
const MOST_SCHEMA: usize = 32_000;
/// Bytes of how to use a server.
const MOST_INSTRUCTIONS: usize = 4_000;

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offer {
    /// Which definition it belongs to.
    pub fingerprint: String,
    /// When it was learned, in seconds of Unix time.
    pub at: u64,
    /// Its tools.
    pub tools: Vec<ToolOffer>,
    /// Its prompts.
    pub prompts: Vec<PromptOffer>,
    /// Its resources.
    pub resources: Vec<ResourceOffer>,
    /// Kinds of resources, with addresses that have gaps to fill.
    pub templates: Vec<ResourceOffer>,
    /// What it says about how to use it.
    pub instructions: Option<String>,
    /// What it calls itself, with its version.
    pub title: Option<String>,
}

/// A tool of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOffer {
    /// Its name there.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it takes.
    pub input_schema: Value,
    /// Whether it says of itself that it only looks.
    pub read_only: bool,
}

/// A prompt of a server, which people use as a slash command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptOffer {
    /// Its name there.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it takes.
    pub arguments: Vec<Argument>,
}

/// Something that a prompt takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether the prompt cannot do without.
    pub required: bool,
}

/// A resource of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceOffer {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// What kind of thing.
    pub mime: Option<String>,
}

impl Offer {
    /// Whether both offer the same, whenever it was learned.
    pub(crate) fn same(&self, other: &Offer) -> bool {
        let timeless = |offer: &Offer| Offer { at: 0, ..offer.clone() };
        timeless(self) == timeless(other)
    }
}

impl From<&Tool> for ToolOffer {
    fn from(tool: &Tool) -> Self {
        let title = tool.title.as_deref();
        let description = tool.description.as_deref().or(title).unwrap_or_default();
        ToolOffer {
            name: tool.name.to_string(),
            description: cut(description, MOST_DESCRIPTION),
            input_schema: schema(Value::Object((*tool.input_schema).clone())),
            read_only: tool.annotations.as_ref().and_then(|said| said.read_only_hint) == Some(true),
        }
    }
}

impl From<&Prompt> for PromptOffer {
    fn from(prompt: &Prompt) -> Self {
        let arguments = prompt.arguments.iter().flatten().map(|argument| Argument {
            name: argument.name.clone(),
            description: argument.description.as_deref().map(|text| cut(text, MOST_DESCRIPTION)),
            required: argument.required == Some(true),
        });
        PromptOffer {
            name: prompt.name.clone(),
            description: prompt.description.as_deref().map(|text| cut(text, MOST_DESCRIPTION)),
            arguments: arguments.collect(),
        }
    }
}

impl From<&Resource> for ResourceOffer {
    fn from(resource: &Resource) -> Self {
        ResourceOffer {
            uri: resource.uri.clone(),
            name: resource.name.clone(),
            description: resource.description.as_deref().map(|text| cut(text, MOST_DESCRIPTION)),
            mime: resource.mime_type.clone(),
        }
    }
}

impl From<&ResourceTemplate> for ResourceOffer {
    fn from(template: &ResourceTemplate) -> Self {
        ResourceOffer {
            uri: template.uri_template.clone(),
            name: template.name.clone(),
            description: template.description.as_deref().map(|text| cut(text, MOST_DESCRIPTION)),
            mime: template.mime_type.clone(),
        }
    }
}

/// How to use a server, as far as it is passed on.
pub(crate) fn instructions(text: Option<&str>) -> Option<String> {
    let text = text.map(str::trim).filter(|text| !text.is_empty())?;
    Some(cut(text, MOST_INSTRUCTIONS))
}

/// A schema that vendors take: an object, and not too large.
fn schema(mut schema: Value) -> Value {
    if schema.to_string().len() > MOST_SCHEMA {
        return json!({"type": "object", "description": "Its description is too long to show."});
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
