//! Applies a patch to several files.

use std::path::Path;
use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    CallContext, CallPreview, DynTool, Error, Output, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing, ToolSet,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::edits::patch::PatchPlanner;
use crate::support::edits::transaction::apply_all;
use crate::support::preview;
use crate::support::project::{Project, run_blocking};
use crate::support::text::count;

/// Maximum number of files named in the title.
const MAX_NAMED: usize = 3;

pub(crate) struct ApplyPatchTool(pub(crate) Project);

/// Edits, adds, moves and deletes files with one patch: all of it is applied, or nothing.
///
/// `*** Begin Patch`, then for each file `*** Update File: path` (then `*** Move to: path` to rename it), `*** Add
/// File: path` or `*** Delete File: path`, then `*** End Patch`. An update consists of hunks: `@@`, with a preceding
/// line such as `fn main() {` if the context alone is not unique, then about 3 lines of context around each change,
/// marked by a space, and lines to remove (`-`) and to add (`+`). Every line of an added file starts with `+`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "patch", alias = "patchText", alias = "patch_text", alias = "diff")]
    input: String,
    /// The file for edits without a path: some models send it next to the patch.
    #[schemars(skip)]
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: Option<String>,
}

impl Input {
    fn target(&self) -> Option<&Path> {
        self.path.as_deref().map(Path::new)
    }
}

impl BuiltIn for ApplyPatchTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        // Part of `EditTools`.
        None
    }
}

impl Tool for ApplyPatchTool {
    const NAME: &'static str = "apply_patch";
    const ALIASES: &'static [&'static str] = &["apply_diff", "patch"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Edit,
        sets: &[ToolSet::McpServer, ToolSet::FileAccess],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let paths = PatchPlanner::new(&self.0).paths(&input.input, input.target());
        match paths.len() <= MAX_NAMED {
            true => paths.join(", "),
            false => count(paths.len(), "file"),
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let planner = PatchPlanner::new(&self.0);
        let paths = planner.paths(&input.input, input.target());
        let actions = paths.iter().flat_map(|path| {
            let reading = match planner.is_unread(path) {
                true => self.0.read_actions(path),
                false => Vec::new(),
            };
            reading.into_iter().chain(self.0.write_actions(path))
        });
        actions.collect()
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        Some(preview::of_input(&self.0.workspace))
    }

    async fn check(&self, input: &Input) -> Result<(), Error> {
        let (project, input) = (self.0.clone(), input.clone());
        let prepare = move || PatchPlanner::new(&project).prepare(&input.input, input.target());
        run_blocking(prepare).await.map(drop)
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let project = self.0.clone();
        let ready = run_blocking(move || PatchPlanner::new(&project).prepare(&input.input, input.target())).await?;
        // No await from here on: a cancelled call has either written nothing or returned its changes.
        apply_all(ready.steps)?;
        for (file, now) in &ready.known {
            match now {
                Some(snapshot) => self.0.reads.remember(file, *snapshot),
                None => self.0.reads.forget(file),
            }
        }
        for (file, before) in &ready.edited {
            self.0.lines.edited(file, before);
        }
        Ok(Output {
            changes: ready.changes,
            edits: ready.edits,
            ..Output::text(ready.report_lines.join("\n"))
        }
        .with_summary(count(ready.report_lines.len(), "file")))
    }
}
