//! Inserts lines into a file.

use std::sync::Arc;

use edit::{EditFormat, InsertPosition, ParsedEdit};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing, ToolSet};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::edits::write::{check_edits, write_edits};
use crate::support::project::Project;

pub(crate) struct InsertTool(pub(crate) Project);

/// Inserts whole lines into a file that you have read.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    /// Insert after this line; 0 is the top. Default: the end.
    #[serde(alias = "insert_line", alias = "insertLine")]
    line: Option<usize>,
    #[serde(
        alias = "content",
        alias = "insert_text",
        alias = "new_str",
        alias = "new_string",
        alias = "new_text"
    )]
    text: String,
}

impl BuiltIn for InsertTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        // Part of `EditTools`.
        None
    }
}

impl Tool for InsertTool {
    const NAME: &'static str = "insert";
    const ALIASES: &'static [&'static str] = &["insert_text"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Edit,
        sets: &[ToolSet::FileAccess],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match input.line {
            Some(line) => format!("{}:{line}", input.path),
            None => input.path.clone(),
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.write_actions(&input.path)
    }

    async fn check(&self, input: &Input) -> Result<(), Error> {
        let file = self.0.locate(&input.path)?;
        check_edits(&self.0, file, vec![edit(input)], EditFormat::Json).await
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let file = self.0.locate(&input.path)?;
        write_edits(&self.0, file, vec![edit(&input)], EditFormat::Json).await
    }
}

fn edit(input: &Input) -> ParsedEdit {
    ParsedEdit {
        names: Vec::new(),
        path_source: edit::PathSource::Stated,
        change: edit::EditChange::Insert {
            position: input.line.map_or(InsertPosition::End, InsertPosition::After),
            text: input.text.clone(),
        },
    }
}
