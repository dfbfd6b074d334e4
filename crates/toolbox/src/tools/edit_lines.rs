//! Changes lines that are named by anchors.

use std::sync::Arc;

use edit::{AnchorOp, AnchoredEdit, EditChange, EditFormat, LineAnchor, ParsedEdit};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    CallContext, CallPreview, DynTool, Error, Output, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing, ToolSet,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::edits::write::{check_edits, write_edits};
use crate::support::project::Project;

pub(crate) struct EditLinesTool(pub(crate) Project);

/// Changes whole lines of a file that you have read. Lines are named by their anchors: `12#abc` before a line in the
/// result of `read_file` or `grep` is its number and a hash of its text.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    /// All are made or none; every anchor refers to the file before the call.
    edits: Vec<AnchoredEditInput>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct AnchoredEditInput {
    /// Default: `replace`.
    #[serde(alias = "operation", alias = "action", alias = "type")]
    op: Option<AnchorOpInput>,
    /// The first line, such as `12#abc`.
    #[serde(alias = "start_anchor", alias = "start", alias = "from", alias = "pos")]
    anchor: String,
    /// The last line, if there are several.
    #[serde(default, alias = "end_anchor", alias = "to")]
    end: Option<String>,
    /// The new lines, with their indentation and without anchors.
    #[serde(default, alias = "new_text", alias = "content", alias = "new_string")]
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AnchorOpInput {
    #[serde(alias = "set", alias = "update")]
    Replace,
    #[serde(alias = "remove")]
    Delete,
    #[serde(alias = "before", alias = "prepend")]
    InsertBefore,
    #[serde(alias = "after", alias = "append", alias = "insert")]
    InsertAfter,
}

impl BuiltIn for EditLinesTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        // Part of `EditTools`.
        None
    }
}

impl Tool for EditLinesTool {
    const NAME: &'static str = "edit_lines";
    const ALIASES: &'static [&'static str] = &[];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Edit,
        sets: &[ToolSet::FileAccess],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.write_actions(&input.path)
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        None
    }

    async fn check(&self, input: &Input) -> Result<(), Error> {
        let file = self.0.locate(&input.path)?;
        let edits = input.edits.iter().cloned().map(parsed).collect::<Result<Vec<_>, _>>()?;
        check_edits(&self.0, file, edits, EditFormat::Anchors).await
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let file = self.0.locate(&input.path)?;
        let edits = input.edits.into_iter().map(parsed).collect::<Result<Vec<_>, _>>()?;
        write_edits(&self.0, file, edits, EditFormat::Anchors).await
    }
}

fn parsed(input: AnchoredEditInput) -> Result<ParsedEdit, Error> {
    let fail = |detail: String| Error::Input {
        tool: EditLinesTool::NAME.into(),
        detail,
    };
    let anchor = |text: &str| {
        LineAnchor::parse(text).ok_or_else(|| {
            fail(format!(
                "`{text}` is not an anchor; copy one such as `12#abc` from the result of read_file"
            ))
        })
    };
    let op = match (input.op, &input.text) {
        (Some(AnchorOpInput::Delete), _) | (None, None) => AnchorOp::Delete,
        (Some(AnchorOpInput::Replace) | None, Some(_)) => AnchorOp::Replace,
        (Some(AnchorOpInput::InsertBefore), Some(_)) => AnchorOp::InsertBefore,
        (Some(AnchorOpInput::InsertAfter), Some(_)) => AnchorOp::InsertAfter,
        (Some(_), None) => return Err(fail("missing field `text`".into())),
    };
    let end = input.end.filter(|end| !end.trim().is_empty());
    let edit = AnchoredEdit {
        op,
        start: anchor(&input.anchor)?,
        end: end.as_deref().map(anchor).transpose()?,
        text: input.text.unwrap_or_default(),
    };
    Ok(ParsedEdit {
        names: Vec::new(),
        path_source: edit::PathSource::Stated,
        change: EditChange::Anchored(edit),
    })
}
