//! Deletes a file or directory.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::trees::{self, TreeChange};
use crate::support::project::{Project, TREE, tool_error};

pub(crate) struct DeletePathTool(pub(crate) Project);

/// Deletes a file, a link, or a directory with its contents.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
}

impl BuiltIn for DeletePathTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(DeletePathTool(parts.project.clone())))
    }
}

impl Tool for DeletePathTool {
    const NAME: &'static str = "delete_path";
    const ALIASES: &'static [&'static str] = &["delete", "delete_file", "remove", "remove_path", "rm"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Delete,
        sets: &[ToolSet::McpServer],
        peers: &[(PeerAgent::Zed, &["delete_path"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.write_tree_actions(&input.path, self.0.locate_entry(&input.path))
    }

    async fn check(&self, input: &Input) -> Result<(), Error> {
        let path = self.0.locate_entry(&input.path)?;
        trees::refuse_project(&path, "removed")?;
        path.tree_entries(TREE).map_err(tool_error).map(drop)
    }

    /// No await: a cancelled call has either changed nothing or returned its changes.
    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let path = self.0.locate_entry(&input.path)?;
        trees::refuse_project(&path, "removed")?;
        let leaves = path.tree_entries(TREE).map_err(tool_error)?;
        path.remove_all().map_err(tool_error)?;
        self.0.reads.forget_tree(path.path());
        let count = trees::count_files(&leaves);
        let text = format!("removed {} ({count})", path.shown());
        Ok(Output {
            changes: trees::changes(&path, leaves, TreeChange::Removed),
            ..Output::text(text).with_summary(count)
        })
    }
}
