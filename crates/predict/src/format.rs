//! Prompt formats of model families, as data.

use std::sync::OnceLock;

use serde::Deserialize;

/// How a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormatKind {
    /// A completion with the text before and after the cursor: the model writes the text in between.
    Fim,
    /// A completion in which the model rewrites the editable region.
    Window,
    /// A conversation in which the model rewrites the editable region.
    Chat,
}

/// A prompt format. Templates contain `{names}` that are replaced; see `prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptFormat {
    /// Its name in the configuration.
    pub name: String,
    /// Parts of model ids that use it.
    pub models: Vec<String>,
    /// How the model is asked.
    pub kind: FormatKind,
    /// The system prompt of a conversation.
    #[serde(default)]
    pub system: String,
    /// The prompt.
    pub template: String,
    /// The marker of the cursor in the region.
    #[serde(default)]
    pub cursor: String,
    /// Markers before an answer, which are removed.
    #[serde(default)]
    pub start: Vec<String>,
    /// Markers that end an answer.
    #[serde(default)]
    pub end: Vec<String>,
    /// Stop sequences of the request.
    #[serde(default)]
    pub stop: Vec<String>,
    /// The template of one related excerpt.
    #[serde(default)]
    pub related: String,
    /// The template of the edit history.
    #[serde(default)]
    pub history: String,
    /// The template of one edit, if it is not a unified diff.
    #[serde(default)]
    pub history_entry: String,
    /// The template of diagnostics.
    #[serde(default)]
    pub diagnostics: String,
    /// The header of the open file.
    #[serde(default)]
    pub file: String,
}

impl PromptFormat {
    /// Whether a text contains a marker of this format, so that the model could not tell them apart.
    pub fn is_ambiguous(&self, text: &str) -> bool {
        let markers = self.start.iter().chain(&self.end).chain(&self.stop);
        markers
            .chain(std::iter::once(&self.cursor))
            .any(|marker| !marker.is_empty() && text.contains(marker.as_str()))
    }
}

/// All formats, more specific ones first.
pub fn formats() -> &'static [PromptFormat] {
    static FORMATS: OnceLock<Vec<PromptFormat>> = OnceLock::new();
    // A test parses the embedded data.
    FORMATS.get_or_init(|| serde_json::from_str(include_str!("../data/formats.json")).unwrap_or_default())
}

/// The format with this name, or for a model by its id; any other model is asked in a conversation.
pub fn format_for(name_or_model: &str) -> Option<&'static PromptFormat> {
    let wanted = name_or_model.to_lowercase();
    let by_name = formats().iter().find(|format| format.name == wanted);
    let matches = |format: &&PromptFormat| format.models.iter().any(|part| wanted.contains(part.as_str()));
    by_name
        .or_else(|| formats().iter().find(matches))
        .or_else(|| formats().iter().find(|format| format.name == "chat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_get_the_format_of_their_family() {
        for (model, format) in [
            ("ollama/qwen2.5-coder:1.5b-base", "qwen"),
            ("Qwen3-Coder-30B-A3B", "qwen"),
            ("zed-industries/zeta-2", "zeta2"),
            ("sweepai/sweep-next-edit-1.5b", "sweep"),
            ("bigcode/starcoder2-3b", "starcoder"),
            ("codellama:7b-code", "codellama"),
            ("deepseek-coder-v2:16b", "deepseek"),
            ("mistral/codestral-latest", "codestral"),
            ("codegeex4", "glm"),
            ("inception/mercury-coder", "mercury"),
            ("anthropic/claude-haiku-5-5", "chat"),
            ("starcoder", "starcoder"),
        ] {
            assert_eq!(format_for(model).map(|format| &*format.name), Some(format), "{model}");
        }
    }

    #[test]
    fn every_format_has_the_parts_that_its_kind_needs() {
        assert!(formats().len() >= 11);
        for format in formats() {
            let needed: &[&str] = match format.kind {
                FormatKind::Fim => &["{prefix}", "{suffix}"],
                FormatKind::Window | FormatKind::Chat => &["{path}", "{region}"],
            };
            for part in needed {
                assert!(format.template.contains(part), "{} lacks {part}", format.name);
            }
        }
    }
}
