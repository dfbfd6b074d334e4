//! Formats a file with its language server.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, Tool, ToolEffect, ToolFacts, ToolKind, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::code_server::CodeServer;
use crate::support::edits::rewrite;
use crate::support::project::Project;

pub(crate) struct FormatFileTool(pub(crate) Project, pub(crate) Arc<dyn CodeServer>);

/// Formats a file with its language server.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
}

impl BuiltIn for FormatFileTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(FormatFileTool(
            parts.project.clone(),
            parts.options.code_server.clone()?,
        )))
    }
}

impl Tool for FormatFileTool {
    const NAME: &'static str = "format_file";
    const ALIASES: &'static [&'static str] = &["lsp_format", "format_document"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Edit,
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.write_actions(&input.path)
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let path = self.0.locate(&input.path)?.path().to_owned();
        let rewrites = self.1.format(&path).await?;
        if rewrites.is_empty() {
            return Ok(Output::text("already formatted").with_summary("nothing to change"));
        }
        rewrite::apply_rewrites(&self.0, &context, rewrites, "formatted").await
    }
}
