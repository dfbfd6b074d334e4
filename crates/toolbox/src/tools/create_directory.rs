//! Creates a directory.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, UnsavedChange,
    UnsavedVersion, erase,
};
use workspace::{FolderCreation, Location};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::{Project, tool_error};

pub(crate) struct CreateDirectoryTool(pub(crate) Project);

/// Creates a directory (folder) and its parents. Writing a file creates its directories automatically.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "dirPath", alias = "dir_path", alias = "directory")]
    path: String,
}

impl BuiltIn for CreateDirectoryTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(CreateDirectoryTool(parts.project.clone())))
    }
}

impl Tool for CreateDirectoryTool {
    const NAME: &'static str = "create_directory";
    const ALIASES: &'static [&'static str] = &["create_dir", "make_directory", "mkdir"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Edit,
        sets: &[ToolSet::McpServer],
        peers: &[
            (PeerAgent::Zed, &["create_directory"]),
            (PeerAgent::Copilot, &["create_directory"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.write_actions(&input.path)
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let folder = self.0.locate(&input.path)?;
        let made: Vec<Location> = match folder.is_dir() {
            true => Vec::new(),
            false => [folder.clone()].into_iter().chain(folder.missing_folders()).collect(),
        };
        let text = match folder.create_folder().map_err(tool_error)? {
            FolderCreation::Created => format!("created {}", folder.shown()),
            FolderCreation::Existed => format!("{} exists already", folder.shown()),
        };
        let changes = made.iter().rev().map(|folder| UnsavedChange {
            path: folder.relative().to_owned(),
            before: None,
            after: Some(UnsavedVersion::folder(None)),
        });
        Ok(Output {
            changes: changes.collect(),
            ..Output::text(text)
        })
    }
}
