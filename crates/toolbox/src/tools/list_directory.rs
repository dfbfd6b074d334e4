//! Lists a directory.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing,
    ToolSet, erase,
};
use workspace::{EntryKind, IgnoreStatus, ListEntry};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::{Project, run_blocking, tool_error};

/// Minimum size of a file for which the size is shown.
const LARGE: u64 = 100_000;

pub(crate) struct ListDirectoryTool(pub(crate) Project);

/// Lists a directory, one level deep.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// `.` is the project root.
    #[serde(alias = "dir_path", alias = "target_directory")]
    path: String,
}

impl BuiltIn for ListDirectoryTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(ListDirectoryTool(parts.project.clone())))
    }
}

impl Tool for ListDirectoryTool {
    const NAME: &'static str = "list_directory";
    const ALIASES: &'static [&'static str] = &["list_dir", "list_files", "ls"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Read,
        cap: OutputCap {
            entries: 500,
            line: 300,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::AskProfile, ToolSet::McpServer],
        peers: &[
            (PeerAgent::Zed, &["list_directory"]),
            (PeerAgent::RooCode, &["list_files"]),
            (PeerAgent::Crush, &["ls"]),
            (PeerAgent::Copilot, &["list_dir"]),
            (PeerAgent::ContextPilot, &["tree_toggle"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.read_actions(&input.path)
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let folder = self.0.locate(&input.path)?;
        let listing = run_blocking(move || folder.list(Self::FACTS.cap.entries).map_err(tool_error)).await?;
        let mut lines: Vec<String> = listing.entries.iter().map(line).collect();
        if listing.total == 0 {
            lines.push("[empty directory]".into());
        } else if listing.total > listing.entries.len() {
            let (shown, total) = (listing.entries.len(), listing.total);
            lines.push(format!("[{shown} of {total} entries; use find_path for the others]"));
        }
        let summary: String = match listing.total {
            1 => "1 entry".into(),
            total => format!("{total} entries"),
        };
        Ok(Output::text(lines.join("\n")).with_summary(summary))
    }
}

fn line(entry: &ListEntry) -> String {
    let kind = match entry.kind {
        EntryKind::Directory => "/".to_owned(),
        EntryKind::File { size } if size >= LARGE => format!(" ({size} bytes)"),
        EntryKind::File { .. } => String::new(),
        EntryKind::Link => "@".to_owned(),
        EntryKind::Other => " (special)".to_owned(),
    };
    let ignored = match entry.ignore_status {
        IgnoreStatus::Yes => "",
        IgnoreStatus::Ignored => " (ignored)",
    };
    format!("{}{kind}{ignored}", entry.name)
}
