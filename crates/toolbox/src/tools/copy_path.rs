//! Copies a file or directory.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::trees::{self, TreeChange};
use crate::support::project::{Project, TREE, tool_error};

pub(crate) struct CopyPathTool(pub(crate) Project);

/// Copies a file or directory. The destination must not exist; if it is a directory, the copy is placed inside it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "source", alias = "from", alias = "path")]
    source_path: String,
    #[serde(alias = "destination", alias = "to", alias = "target")]
    destination_path: String,
}

impl BuiltIn for CopyPathTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(CopyPathTool(parts.project.clone())))
    }
}

impl Tool for CopyPathTool {
    const NAME: &'static str = "copy_path";
    const ALIASES: &'static [&'static str] = &["copy", "copy_file", "cp"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Move,
        sets: &[ToolSet::McpServer],
        peers: &[(PeerAgent::Zed, &["copy_path"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("{} to {}", input.source_path, input.destination_path)
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut actions = self.0.read_tree_actions(&input.source_path);
        let to = trees::destination(&self.0, &input.source_path, &input.destination_path);
        let writes = self.0.write_tree_actions(&input.destination_path, to);
        if let (Some(Action::Write { path: to, place }), Ok(from)) = (writes.first(), self.0.locate(&input.source_path))
        {
            // Rules for single files also apply to the copies.
            let below = actions.iter().filter_map(|action| match action {
                Action::Read { path, .. } => path.strip_prefix(from.path()).ok(),
                _ => None,
            });
            let below = below.filter(|rest| !rest.as_os_str().is_empty());
            let made = below.map(|rest| Action::Write {
                path: to.join(rest),
                place: *place,
            });
            let made: Vec<Action> = made.collect();
            actions.extend(made);
        }
        actions.extend(writes);
        actions
    }

    /// No await: a cancelled call has either changed nothing or returned its changes.
    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let from = self.0.locate(&input.source_path)?;
        let to = trees::destination(&self.0, &input.source_path, &input.destination_path)?;
        let leaves = from.copy(&to, TREE).map_err(tool_error)?;
        let count = trees::count_files(&leaves);
        let text = format!("copied {} to {} ({count})", from.shown(), to.shown());
        Ok(Output {
            changes: trees::changes(&to, leaves, TreeChange::Added),
            ..Output::text(text).with_summary(count)
        })
    }
}
