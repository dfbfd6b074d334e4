//! Writes a whole file.

use std::path::Path;
use std::sync::Arc;

use edit::{EditFormat, MatchMethod};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use session::EditFact;
use tool::{
    CallContext, CallPreview, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing,
    ToolSet, erase,
};
use workspace::{ExpectedContent, Location};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::partial_file::{self, FilePart};
use crate::support::preview;
use crate::support::project::changes::{change, folders};
use crate::support::project::{Project, tool_error};
use crate::support::text::{LineEnding, count};

pub(crate) struct WriteFileTool {
    project: Project,
    /// Whether the model is small: it writes parts of files as whole ones.
    is_small_model: bool,
}

/// Writes a whole file and creates its directories. An existing file must have been read. To change a part, use the
/// edit tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    #[serde(alias = "contents", alias = "file_text")]
    content: String,
}

impl BuiltIn for WriteFileTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(WriteFileTool {
            project: parts.project.clone(),
            is_small_model: parts.options.is_small_model,
        }))
    }
}

impl Tool for WriteFileTool {
    const NAME: &'static str = "write_file";
    const ALIASES: &'static [&'static str] = &["create", "create_file", "write", "write_to_file"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Edit,
        sets: &[ToolSet::McpServer, ToolSet::FileAccess, ToolSet::SmallModel],
        peers: &[
            (PeerAgent::Zed, &["write_file"]),
            (PeerAgent::RooCode, &["write_file", "write_to_file"]),
            (PeerAgent::Crush, &["write"]),
            (PeerAgent::Copilot, &["create_file"]),
            (PeerAgent::ContextPilot, &["Write"]),
            (PeerAgent::ClaudeCode, &["Write"]),
            (PeerAgent::GeminiCli, &["write_file"]),
            (PeerAgent::OpenCode, &["write"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.project.write_actions(&input.path)
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        Some(preview::of_input(&self.project.workspace))
    }

    /// No await: a cancelled call has either written nothing or returned its changes.
    async fn check(&self, input: &Input) -> Result<(), Error> {
        let file = self.project.locate(&input.path)?;
        self.plan(&file, input).map(drop)
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let file = self.project.locate(&input.path)?;
        let PlannedFile { bytes, expect, merged } = self.plan(&file, &input)?;
        let missing = file.missing_folders();
        let written = file.write(&bytes, expect).map_err(tool_error)?;
        self.project.reads.remember(&file, written.snapshot);
        let verb = match written.before {
            Some(_) => "replaced",
            None => "created",
        };
        let lines = count(String::from_utf8_lossy(&bytes).lines().count(), "line");
        let mut output = match merged.is_empty() {
            true => Output::text(format!("{verb} {} ({lines})", file.shown())).with_summary(format!("{verb}, {lines}")),
            false => {
                let parts = merged.join(", ");
                Output::text(format!("replaced {parts} in {} ({lines})", file.shown()))
                    .with_summary(format!("replaced {parts}"))
            }
        };
        output.changes.extend(folders(&missing));
        let fact = EditFact {
            format: EditFormat::Whole.name().into(),
            method: MatchMethod::Whole.name().into(),
        };
        Ok(output
            .with_edits(vec![fact])
            .with_change(change(&file, written.before, bytes)))
    }
}

/// What a call writes.
struct PlannedFile {
    bytes: Vec<u8>,
    expect: ExpectedContent,
    /// The parts of the file that a small model wrote, merged into the whole.
    merged: Vec<String>,
}

impl WriteFileTool {
    fn plan(&self, file: &Location, input: &Input) -> Result<PlannedFile, Error> {
        let mut content = input.content.clone();
        let mut merged = Vec::new();
        if self.is_small_model && file.exists() {
            let old = file.read_text().map_err(tool_error)?.content.replace("\r\n", "\n");
            match partial_file::classify(&old, &content) {
                FilePart::Whole => {}
                FilePart::Merged { content: whole, names } => (content, merged) = (whole, names),
                FilePart::Part { lost } => {
                    return Err(Error::Failed(format!(
                        "this is only a part of {}: {} would be removed, so nothing was written. Write the whole file, or \
                         only the lines that change, as a search/replace block",
                        file.shown(),
                        lost.join(", ")
                    )));
                }
            }
        }
        let before = match file.exists() {
            true => Some(file.read_text().map_err(tool_error)?.content),
            false => None,
        };
        content = edit::whole_content(Path::new(&input.path), before.as_deref(), &content)
            .map_err(|why| Error::Failed(format!("{why}; nothing was written")))?;
        let (bytes, expect) = match file.exists() {
            false => (content.into_bytes(), ExpectedContent::Absent),
            true => self.replacement(file, &content)?,
        };
        Ok(PlannedFile { bytes, expect, merged })
    }

    /// The new bytes of an existing file: its encoding, byte order mark and line endings are kept.
    fn replacement(&self, file: &Location, content: &str) -> Result<(Vec<u8>, ExpectedContent), Error> {
        let text = file.read_text().map_err(tool_error)?;
        // An empty file need not be read.
        if !text.content.is_empty() {
            self.project.reads.check(file, text.snapshot)?;
        }
        let content = match LineEnding::of(&text.content) {
            LineEnding::CrLf => LineEnding::CrLf.apply(content),
            LineEnding::Lf => content.to_owned(),
        };
        if content == text.content {
            return Err(Error::Failed(format!(
                "{} already holds exactly this; nothing was written",
                file.shown()
            )));
        }
        let content = content.strip_prefix('\u{FEFF}').unwrap_or(&content);
        let bytes = file.encode(text.encoding, content).map_err(tool_error)?;
        Ok((bytes, ExpectedContent::Content(text.snapshot)))
    }
}
