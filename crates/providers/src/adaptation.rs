//! Adapts requests to a server that rejects an optional part of them.

use crate::presets::{MaxTokensField, SchemaStyle, SystemRole};
use crate::recorded_body::BodySettings;
use crate::settings::ProviderSettings;
use model::{Error, Info, Wire};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Fields without which a request has no meaning.
const REQUIRED: [&str; 9] = [
    "model",
    "messages",
    "input",
    "contents",
    "system",
    "systemInstruction",
    "instructions",
    "tools",
    "stream",
];
/// Fields for the maximum length of a reply.
const OUTPUT_FIELDS: [&str; 4] = [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxOutputTokens",
];
/// Fields for the reasoning effort.
const EFFORT_FIELDS: [&str; 4] = ["reasoning_effort", "reasoning", "thinking", "output_config"];
/// How servers state that a field or its value is not accepted, in lower case.
const DENIALS: [&str; 26] = [
    "not support",
    "n't support",
    "unsupported",
    "no support",
    "not enabled",
    "not available",
    "not implemented",
    "not permitted",
    "not allowed",
    "not accept",
    "not recognized",
    "not recognised",
    "unrecognized",
    "unrecognised",
    "unknown",
    "unexpected",
    "extra_forbidden",
    "invalid",
    "not a valid",
    "expected",
    "must be",
    "should be",
    "cannot",
    "at most 0",
    "not a multimodal",
    "disabled",
];
/// Statements about a server or a template without system messages, or with strictly alternating roles.
const ROLE_DENIALS: [&str; 9] = [
    "system role",
    "system message",
    "'system' role",
    "role 'system'",
    "role: 'system'",
    "`system`",
    "developer instruction is not enabled",
    "only user and assistant roles",
    "roles must alternate",
];
/// Limits below this number are not plausible.
const MIN_OUTPUT: u64 = 64;

/// What determines the bodies of a model's requests.
#[derive(Clone)]
pub(crate) struct Rendering {
    pub(crate) info: Info,
    pub(crate) settings: ProviderSettings,
    /// The same, as JSON.
    pub(crate) json: Arc<str>,
    /// Whether the other name of the maximum reply was tried.
    renamed_output: bool,
}

/// A response that rejects a request.
pub(crate) struct Rejection {
    status: u16,
    /// The server's message in lower case.
    detail: String,
    /// The field of the request that the response names.
    field: Option<String>,
}

impl Rejection {
    /// The rejection, if the error is one.
    pub(crate) fn of(error: &Error, field: Option<String>) -> Option<Rejection> {
        let (status, detail) = match error {
            Error::BadRequest { status, detail, .. } => (*status, detail),
            Error::Server { status, detail, .. } if matches!(status, 200 | 500 | 501) => (*status, detail),
            Error::NotFound { detail, .. } => (404, detail),
            _ => return None,
        };
        Some(Rejection {
            status,
            detail: detail.to_lowercase(),
            field,
        })
    }

    fn is_denial(&self) -> bool {
        DENIALS.iter().any(|denial| self.detail.contains(denial))
    }

    fn mentions(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.detail.contains(word))
    }

    /// Whether the response names this field: in its data, or as a word of its message.
    fn names(&self, field: &str) -> bool {
        let field = field.to_lowercase();
        let named = self.field.as_deref().map(str::to_lowercase);
        let starts = named.is_some_and(|named| named.split(['.', '[']).next() == Some(field.as_str()));
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let is_code = field.contains('_');
        let is_denial = self.is_denial() && self.status != 404;
        starts
            || (is_denial || (is_code && matches!(self.status, 400 | 422)))
                && self
                    .detail
                    .split(|letter: char| !is_word(letter))
                    .any(|word| word == field)
    }
}

impl Rendering {
    pub(crate) fn new(info: Info, settings: ProviderSettings) -> Self {
        let json = serde_json::to_string(&BodySettings::of(&info, &settings)).unwrap_or_default();
        Rendering {
            json: json.into(),
            info,
            settings,
            renamed_output: false,
        }
    }

    /// The rendering without the rejected part of a body, and what it does instead. `None` if no optional part was rejected.
    pub(crate) fn without(&self, body: &[u8], rejection: &Rejection) -> Option<(Rendering, String)> {
        let text = String::from_utf8_lossy(body);
        let body: Map<String, Value> = serde_json::from_str(&text).ok()?;
        let mut next = self.clone();
        let change = next
            .omit_images(&text, rejection)
            .or_else(|| next.move_system_prompt(&body, rejection))
            .or_else(|| next.limit_output(&body, rejection))
            .or_else(|| next.omit_effort(&body, rejection))
            .or_else(|| next.simplify_schema(&body, rejection))
            .or_else(|| next.omit_field(&body, rejection))?;
        let renamed_output = next.renamed_output;
        let next = Rendering::new(next.info, next.settings);
        Some((Rendering { renamed_output, ..next }, format!("{change} from now on")))
    }

    /// Whether the server rejects the roles of tool calls and their results, since the system prompt has no role of its own.
    pub(crate) fn rejects_tool_roles(&self, rejection: &Rejection) -> bool {
        self.settings.quirks.system_role == SystemRole::User && rejection.mentions(&ROLE_DENIALS[7..])
    }

    fn omit_images(&mut self, body: &str, rejection: &Rejection) -> Option<String> {
        const MARKS: [&str; 4] = [
            "\"image_url\"",
            "\"input_image\"",
            "\"type\":\"image\"",
            "\"inlineData\"",
        ];
        let is_about_images = rejection.mentions(&["image", "multimodal", "vision", "mmproj", "media"])
            // Servers that accept only text reject the list of parts.
            || rejection.mentions(&["valid string", "expected a string", "must be a string", "should be a string"]);
        if !(rejection.is_denial() || rejection.status == 404)
            || !is_about_images
            || !MARKS.iter().any(|mark| body.contains(mark))
        {
            return None;
        }
        self.info.features.images = false;
        Some("images are left out".into())
    }

    fn move_system_prompt(&mut self, body: &Map<String, Value>, rejection: &Rejection) -> Option<String> {
        let has_system = body.get("messages")?.pointer("/0/role") == Some(&json!("system"));
        let is_rejected = rejection.status != 404
            && (rejection.mentions(&ROLE_DENIALS[7..]) || rejection.is_denial() && rejection.mentions(&ROLE_DENIALS));
        if !has_system || !is_rejected || self.settings.wire != Wire::OpenaiChat {
            return None;
        }
        self.settings.quirks.system_role = SystemRole::User;
        Some("the system prompt is sent as a user message".into())
    }

    fn limit_output(&mut self, body: &Map<String, Value>, rejection: &Rejection) -> Option<String> {
        if !OUTPUT_FIELDS.iter().any(|field| rejection.names(field)) {
            return None;
        }
        let nested = body.get("generationConfig").and_then(Value::as_object);
        let sent = |field: &&str| body.get(*field).or_else(|| nested?.get(*field)).is_some();
        let field = *OUTPUT_FIELDS.iter().find(|field| sent(field))?;
        let value = body.get(field).or_else(|| nested?.get(field))?.as_u64()?;
        if let Some(limit) = largest_number_below(&rejection.detail, value) {
            self.info.limits.output = limit;
            return Some(format!("the maximum reply is {limit} tokens"));
        }
        let other = match field {
            "max_tokens" => (MaxTokensField::MaxCompletionTokens, "max_completion_tokens"),
            "max_completion_tokens" => (MaxTokensField::MaxTokens, "max_tokens"),
            _ => return None,
        };
        if self.settings.wire != Wire::OpenaiChat {
            return None;
        }
        if std::mem::replace(&mut self.renamed_output, true) {
            return Some(self.omit(field));
        }
        self.settings.quirks.max_tokens = other.0;
        Some(format!("the maximum reply is sent as `{}`", other.1))
    }

    fn omit_effort(&mut self, body: &Map<String, Value>, rejection: &Rejection) -> Option<String> {
        if body.contains_key("include") && rejection.mentions(&["encrypted"]) {
            return Some(self.omit("include"));
        }
        let sent = EFFORT_FIELDS.into_iter().filter(|field| body.contains_key(*field));
        let sent: Vec<&str> = sent.filter(|field| !self.is_configured(field)).collect();
        let nested = body
            .get("generationConfig")
            .is_some_and(|config| config.get("thinkingConfig").is_some());
        let mut rejected: Vec<&str> = sent.iter().copied().filter(|field| rejection.names(field)).collect();
        let is_about_effort = rejection.status != 404
            && rejection.is_denial()
            && rejection.mentions(&["thinking", "think value", "reasoning", "effort", "thinkingconfig"]);
        if rejected.is_empty() && is_about_effort {
            rejected = sent;
            if nested {
                let removed = json!({"thinkingConfig": null});
                self.settings.model_options.insert("generationConfig".into(), removed);
                rejected.push("thinkingConfig");
            }
        }
        for field in &rejected {
            if *field != "thinkingConfig" {
                self.omit(field);
            }
        }
        let names: Vec<String> = rejected.iter().map(|field| format!("`{field}`")).collect();
        match names.len() {
            0 => None,
            1 => Some(format!("{} is left out", names[0])),
            _ => Some(format!("{} are left out", names.join(" and "))),
        }
    }

    fn simplify_schema(&mut self, body: &Map<String, Value>, rejection: &Rejection) -> Option<String> {
        let format = body.get("response_format")?;
        if !rejection.names("response_format") && !rejection.mentions(&["json_schema", "json_object"]) {
            return None;
        }
        self.settings.quirks.schema = SchemaStyle::JsonObject;
        if format.get("type") == Some(&json!("json_schema")) {
            return Some("the schema of the answer is sent in the prompt".into());
        }
        Some(self.omit("response_format"))
    }

    fn omit_field(&mut self, body: &Map<String, Value>, rejection: &Rejection) -> Option<String> {
        let is_optional = |field: &&String| {
            !REQUIRED.contains(&field.as_str())
                && !OUTPUT_FIELDS.contains(&field.as_str())
                && !self.is_configured(field)
                && rejection.names(field)
        };
        let field = body.keys().find(is_optional)?.clone();
        Some(self.omit(&field))
    }

    /// Whether the user's options set this field.
    fn is_configured(&self, field: &str) -> bool {
        let layers = [&self.settings.options, &self.settings.model_options];
        layers
            .iter()
            .any(|options| options.get(field).is_some_and(|value| !value.is_null()))
    }

    fn omit(&mut self, field: &str) -> String {
        self.settings.model_options.insert(field.to_owned(), Value::Null);
        format!("`{field}` is left out")
    }
}

/// The largest number in a text that is below `limit` and plausible as the maximum of a reply.
fn largest_number_below(text: &str, limit: u64) -> Option<u64> {
    let words = text.split(|letter: char| letter.is_whitespace() || "[](){}<>=`'\",;:".contains(letter));
    let numbers = words.filter_map(|word| word.trim_end_matches('.').parse::<u64>().ok());
    numbers.filter(|number| (MIN_OUTPUT..limit).contains(number)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_maximum_of_a_reply_is_found() {
        for (text, expected) in [
            (
                "max_tokens is too large: 16384. this model supports at most 4096 completion tokens, whereas you provided 16384.",
                Some(4096),
            ),
            (
                "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for claude-3",
                Some(8192),
            ),
            ("range of max_tokens should be [1, 8192]", Some(8192)),
            ("`max_tokens` must be less than or equal to `4096`", Some(4096)),
            ("unsupported parameter: 'max_tokens'", None),
        ] {
            assert_eq!(largest_number_below(text, 16384), expected, "{text}");
        }
    }
}
