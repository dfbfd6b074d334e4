//! Replaces text in a file.

use std::sync::Arc;

use edit::{EditFormat, ParsedEdit, ReplaceScope, ReplaceUnit, Replacement};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    CallContext, CallPreview, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing,
    ToolSet,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::edits::edit_agent::EditAgent;
use crate::support::edits::edit_tools::EditTools;
use crate::support::edits::write::{check_edits, write_edits};
use crate::support::preview;
use crate::support::project::{Project, tool_error};
use crate::support::text::count;
use workspace::Location;

/// The result of a call with instructions if no model carries them out.
const NO_EDIT_MODEL: &str = "no model is configured that carries out instructions; call `edit_file` with `old_text` and \
                             `new_text`, or write the whole file with `write_file`";

pub(crate) struct EditFileTool {
    pub(crate) project: Project,
    /// Writes edits from instructions, if an edit model is configured.
    pub(crate) agent: Option<EditAgent>,
}

/// Replaces text in a file that you have read. `old_text` must match the file exactly, without line numbers, and match
/// one place only: include enough surrounding lines.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    // The schema requires both, but input with everything in `edits` is accepted.
    #[schemars(required, with = "String")]
    #[serde(
        default,
        alias = "old_string",
        alias = "oldString",
        alias = "old_str",
        deserialize_with = "tool::optional_text"
    )]
    old_text: Option<String>,
    #[schemars(required, with = "String")]
    #[serde(
        default,
        alias = "new_string",
        alias = "newString",
        alias = "new_str",
        deserialize_with = "tool::optional_text"
    )]
    new_text: Option<String>,
    /// Replace every occurrence.
    #[serde(alias = "replaceAll")]
    replace_all: Option<bool>,
    /// The line where `old_text` starts, to choose between several matches.
    line: Option<usize>,
    /// More replacements in this file; all are made or none.
    edits: Option<Vec<ReplacementInput>>,
    /// Gemini CLI: how many places are replaced.
    #[schemars(skip)]
    expected_replacements: Option<usize>,
    /// Instead of texts: instructions for the change, or for a new file. They are carried out in a separate request.
    instructions: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct ReplacementInput {
    #[serde(alias = "old_string", alias = "oldString", alias = "old_str")]
    old_text: String,
    #[serde(alias = "new_string", alias = "newString", alias = "new_str")]
    new_text: String,
    #[serde(alias = "replaceAll")]
    replace_all: Option<bool>,
    line: Option<usize>,
}

impl BuiltIn for EditFileTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(Arc::new(EditTools::new(parts)))
    }
}

impl Tool for EditFileTool {
    const NAME: &'static str = "edit_file";
    const ALIASES: &'static [&'static str] = &[
        "edit",
        "multi_edit",
        "multiedit",
        "replace",
        "replace_string_in_file",
        "search_replace",
        "str_replace",
        "str_replace_based_edit_tool",
        "str_replace_editor",
    ];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Edit,
        sets: &[ToolSet::McpServer, ToolSet::FileAccess, ToolSet::SmallModel],
        peers: &[
            (PeerAgent::Zed, &["edit_file"]),
            (
                PeerAgent::RooCode,
                &[
                    "apply_diff",
                    "apply_patch",
                    "edit",
                    "edit_file",
                    "insert_content",
                    "search_and_replace",
                    "search_replace",
                ],
            ),
            (PeerAgent::Crush, &["edit", "multiedit"]),
            (
                PeerAgent::Copilot,
                &[
                    "apply_patch",
                    "insert_edit_into_file",
                    "multi_replace_string_in_file",
                    "replace_string_in_file",
                ],
            ),
            (PeerAgent::ContextPilot, &["Edit"]),
            (PeerAgent::ClaudeCode, &["Edit", "MultiEdit"]),
            (PeerAgent::Codex, &["apply_patch"]),
            (PeerAgent::GeminiCli, &["replace"]),
            (PeerAgent::OpenCode, &["apply_patch", "edit", "multiedit", "patch"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let writing = self.project.write_actions(&input.path);
        match (input.described(), &self.agent) {
            // The file is sent to the edit model.
            (Some(_), Some(_)) => [self.project.read_actions(&input.path), writing].concat(),
            _ => writing,
        }
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        Some(preview::of_input(&self.project.workspace))
    }

    async fn check(&self, input: &Input) -> Result<(), Error> {
        match (input.described(), &self.agent) {
            (Some(_), Some(_)) => Ok(()),
            (Some(_), None) => Err(Error::Failed(NO_EDIT_MODEL.into())),
            (None, _) => {
                let file = self.file(input)?;
                check_edits(&self.project, file, edits(input.clone())?, EditFormat::Json).await
            }
        }
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        if let (Some(instructions), Some(agent)) = (input.described(), &self.agent) {
            return agent.run(&input.path, instructions, &context).await;
        }
        if input.described().is_some() {
            return Err(Error::Failed(NO_EDIT_MODEL.into()));
        }
        let file = self.file(&input)?;
        write_edits(&self.project, file, edits(input)?, EditFormat::Json).await
    }
}

impl EditFileTool {
    /// The file, which contains the old text as often as expected.
    fn file(&self, input: &Input) -> Result<Location, Error> {
        let file = self.project.locate(&input.path)?;
        if let (Some(expected), Some(old)) = (input.expected_replacements, &input.old_text) {
            let text = file.read_text().map_err(tool_error)?;
            self.project.reads.check(&file, text.snapshot)?;
            // Other matches than exact ones are judged like those of any edit.
            let found = text.content.matches(old.as_str()).count();
            if found > 0 && found != expected {
                return Err(Error::Failed(format!(
                    "the old text is at {} of {}, not at {expected}; nothing was changed",
                    count(found, "place"),
                    file.shown()
                )));
            }
        }
        Ok(file)
    }
}

impl Input {
    /// The instructions, if no texts are given.
    fn described(&self) -> Option<&str> {
        let is_empty = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
        let has_text = !is_empty(&self.old_text) || !is_empty(&self.new_text) || self.edits.is_some();
        self.instructions
            .as_deref()
            .map(str::trim)
            .filter(|instructions| !instructions.is_empty() && !has_text)
    }
}

fn edits(input: Input) -> Result<Vec<ParsedEdit>, Error> {
    let first = match (input.old_text, input.new_text) {
        (Some(old_text), Some(new_text)) => Some(ReplacementInput {
            old_text,
            new_text,
            replace_all: input.replace_all,
            line: input.line,
        }),
        (None, None) if input.edits.is_some() => None,
        (old_text, _) => {
            let missing = if old_text.is_none() { "old_text" } else { "new_text" };
            return Err(Error::Input {
                tool: EditFileTool::NAME.into(),
                detail: format!("missing field `{missing}`"),
            });
        }
    };
    Ok(first
        .into_iter()
        .chain(input.edits.into_iter().flatten())
        .map(ParsedEdit::from)
        .collect())
}

impl From<ReplacementInput> for ParsedEdit {
    fn from(further: ReplacementInput) -> Self {
        let scope = match further.replace_all {
            Some(true) => ReplaceScope::All,
            Some(false) | None => ReplaceScope::One,
        };
        let readings = vec![(further.old_text, further.new_text)];
        let replace = Replacement {
            readings,
            hint: further.line,
            scope,
            unit: ReplaceUnit::Text,
        };
        ParsedEdit {
            names: Vec::new(),
            path_source: edit::PathSource::Stated,
            change: edit::EditChange::Replace(replace),
        }
    }
}
