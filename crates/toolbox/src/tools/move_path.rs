//! Moves or renames a file or directory.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::trees::{self, TreeChange};
use crate::support::project::{Project, TREE, tool_error};

pub(crate) struct MovePathTool(pub(crate) Project);

/// Moves or renames a file or directory. The destination must not exist; if it is a directory, the source is placed
/// inside it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "source", alias = "from", alias = "path", alias = "old_path")]
    source_path: String,
    #[serde(alias = "destination", alias = "to", alias = "target", alias = "new_path")]
    destination_path: String,
}

impl BuiltIn for MovePathTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(MovePathTool(parts.project.clone())))
    }
}

impl Tool for MovePathTool {
    const NAME: &'static str = "move_path";
    const ALIASES: &'static [&'static str] = &["move", "move_file", "mv", "rename", "rename_file", "rename_path"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Move,
        sets: &[ToolSet::McpServer],
        peers: &[(PeerAgent::Zed, &["move_path"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("{} to {}", input.source_path, input.destination_path)
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut actions = self
            .0
            .write_tree_actions(&input.source_path, self.0.locate_entry(&input.source_path));
        let to = trees::destination(&self.0, &input.source_path, &input.destination_path);
        actions.extend(self.0.write_tree_actions(&input.destination_path, to));
        actions
    }

    async fn check(&self, input: &Input) -> Result<(), Error> {
        let from = self.0.locate_entry(&input.source_path)?;
        trees::destination(&self.0, &input.source_path, &input.destination_path)?;
        trees::refuse_project(&from, "moved")?;
        from.tree_entries(TREE).map_err(tool_error).map(drop)
    }

    /// No await: a cancelled call has either changed nothing or returned its changes.
    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let from = self.0.locate_entry(&input.source_path)?;
        let to = trees::destination(&self.0, &input.source_path, &input.destination_path)?;
        trees::refuse_project(&from, "moved")?;
        let leaves = from.tree_entries(TREE).map_err(tool_error)?;
        from.move_to(&to, TREE).map_err(tool_error)?;
        self.0.reads.moved(from.path(), to.path());
        let count = trees::count_files(&leaves);
        let mut changes = trees::changes(&from, leaves.clone(), TreeChange::Removed);
        changes.extend(trees::changes(&to, leaves, TreeChange::Added));
        let text = format!("moved {} to {} ({count})", from.shown(), to.shown());
        Ok(Output {
            changes,
            ..Output::text(text).with_summary(count)
        })
    }
}
