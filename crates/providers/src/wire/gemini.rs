//! Gemini: `streamGenerateContent` on Google's API and on Vertex AI.

mod decoder;
mod message_form;
mod schema;

pub(crate) use decoder::GeminiDecoder;

use super::chat::{max_output, merge_options, write_open_object, write_tools};
use super::{BodyWriter, sanitize_tool_name};
use crate::prompt_size::{ObjectList, RenderedForm, block_size, quoted_len};
use crate::settings::ProviderSettings;
use crate::wire_cache::{MessageSpan, WireCache};
use bytes::Bytes;
use model::{Effort, Info, Message, Request, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

/// The request's JSON, in pieces.
pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    let mut fields = fields(request, info);
    merge_options(&mut fields, request, info, settings);
    let extra_tools = fields.shift_remove("tools");
    fields.shift_remove("contents");
    if fields.is_empty() {
        // The object must not be empty, so that more fields can follow.
        fields.insert("generationConfig".into(), json!({}));
    }
    let mut pieces = BodyWriter::default();
    write_open_object(&mut pieces, &fields);
    write_tools(&mut pieces, cache.tools(&request.tools, render_tools), extra_tools);
    pieces.push_raw(",\"contents\":[");
    cache.system(&request.system, || {
        let parts = request
            .system
            .iter()
            .map(|section| r#"{"text":}"#.len() + quoted_len(section));
        parts.map(|part| block_size("", part)).sum()
    });
    let form = |_: Option<&Bytes>, message: &Message| message_form::render(message, info, settings, notices);
    cache.write(&mut pieces, "", &request.messages, &[], form, write_turns);
    pieces.push_raw("]}");
    pieces.finish()
}

/// The path below the base URL.
pub(crate) fn path(info: &Info, settings: &ProviderSettings) -> String {
    let base = settings.base_url.trim_end_matches('/');
    let versioned = ["/v1", "/v1beta", "/v1beta1", "/v1alpha"]
        .iter()
        .any(|version| base.ends_with(version));
    let id = info.id.strip_prefix("models/").unwrap_or(&info.id);
    let (version, parent) = match &settings.google {
        Some(google) => {
            let parent = format!(
                "/projects/{}/locations/{}/publishers/google",
                google.project, google.location
            );
            ("/v1", parent)
        }
        None => ("/v1beta", String::new()),
    };
    let version = if versioned { "" } else { version };
    format!("{version}{parent}/models/{id}:streamGenerateContent?alt=sse")
}

fn write_turns(pieces: &mut BodyWriter, span: &MessageSpan<'_>) {
    span.write_alternating(pieces, "model", "parts");
}

/// All tools are functions of one tool, because Gemini counts tools by kind.
fn render_tools(tools: &[ToolSpec]) -> RenderedForm {
    if tools.is_empty() {
        return RenderedForm::default();
    }
    let declare = |tool: &ToolSpec| {
        let mut function = json!({"name": sanitize_tool_name(&tool.name), "description": tool.description});
        if let Some(parameters) = schema::parameters(&tool.input_schema) {
            function["parametersJsonSchema"] = parameters;
        }
        function
    };
    let mut functions = ObjectList::default();
    tools.iter().for_each(|tool| functions.push("", &declare(tool)));
    let RenderedForm { form, bytes } = functions.finish();
    let form = [&br#"{"functionDeclarations":["#[..], &form, b"]}"].concat();
    RenderedForm {
        form: Bytes::from(form),
        bytes,
    }
}

/// All fields except tools and contents.
fn fields(request: &Request, info: &Info) -> Map<String, Value> {
    let mut fields = Map::new();
    // Before Gemini 3, tools and a reply schema exclude each other; the schema is then sent as an instruction.
    let enforceable = request.tools.is_empty() || generation(&info.id) >= 3;
    let (enforced, wished) = match &request.output_schema {
        Some(schema) if enforceable => (Some(&schema.schema), None),
        Some(schema) => (None, Some(&schema.schema)),
        None => (None, None),
    };
    let mut sections: Vec<Value> = request.system.iter().map(|section| json!({"text": section})).collect();
    if let Some(schema) = wished {
        sections.push(json!({"text": format!("Reply with one JSON object that follows this schema:\n{schema}")}));
    }
    if !sections.is_empty() {
        fields.insert("systemInstruction".into(), json!({"parts": sections}));
    }
    let mut config = Map::new();
    if let Some(most) = max_output(request, info) {
        config.insert("maxOutputTokens".into(), json!(most));
    }
    if let Some(temperature) = request.temperature {
        config.insert("temperature".into(), json!(temperature));
    }
    if info.features.reasoning {
        config.insert("thinkingConfig".into(), thinking(&info.id, request.effort));
    }
    if let Some(schema) = enforced {
        config.insert("responseMimeType".into(), json!("application/json"));
        config.insert("responseJsonSchema".into(), schema::reduce(schema));
    }
    if !config.is_empty() {
        fields.insert("generationConfig".into(), Value::Object(config));
    }
    if let Some(choice) = tool_choice(&request.tool_choice).filter(|_| !request.tools.is_empty()) {
        fields.insert("toolConfig".into(), json!({"functionCallingConfig": choice}));
    }
    fields
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({"mode": "NONE"})),
        ToolChoice::Required => Some(json!({"mode": "ANY"})),
        ToolChoice::Named(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
    }
}

/// The generation of a model: 2 for `gemini-2.5-pro`. Names without a number refer to the newest.
pub(super) fn generation(id: &str) -> u32 {
    let number = id.rsplit('/').next().and_then(|id| id.strip_prefix("gemini-"));
    let major = number.and_then(|rest| rest.split(['.', '-']).next());
    major.and_then(|major| major.parse().ok()).unwrap_or(3)
}

/// The reasoning effort: a token budget for Gemini 2.5, a level for later models. Sending both is an error.
fn thinking(id: &str, effort: Option<Effort>) -> Value {
    let mut config = json!({"includeThoughts": true});
    let Some(effort) = effort else { return config };
    if generation(id) < 3 {
        let pro = id.contains("pro");
        let budget = match effort {
            Effort::None if pro => 128,
            Effort::None => 0,
            Effort::Minimal => 512,
            Effort::Low => 2_048,
            Effort::Medium => 8_192,
            Effort::High => 24_576,
            Effort::Max if pro => 32_768,
            Effort::Max => 24_576,
        };
        config["thinkingBudget"] = json!(budget);
        config["includeThoughts"] = json!(budget > 0);
        return config;
    }
    let level = match effort {
        Effort::None | Effort::Minimal if id.contains("flash") => "MINIMAL",
        Effort::None | Effort::Minimal | Effort::Low => "LOW",
        // The first models of generation 3 support only two levels.
        Effort::Medium if id.contains("gemini-3-pro") => "HIGH",
        Effort::Medium => "MEDIUM",
        Effort::High | Effort::Max => "HIGH",
    };
    config["thinkingLevel"] = json!(level);
    config
}

#[cfg(test)]
mod tests;
