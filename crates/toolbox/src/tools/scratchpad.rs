//! Rough notes of the session.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::notes::{NoteName, NoteScope, NoteStore, SCRATCHPAD};
use crate::support::project::{run_blocking, tool_error};
use crate::support::text::count;

pub(crate) struct ScratchpadTool(pub(crate) NoteStore);

/// A page of rough notes for this session. Returns its content; text is appended, or with replace overwrites the page.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "content", alias = "cell_contents", alias = "contents")]
    text: Option<String>,
    #[serde(default)]
    replace: bool,
    #[schemars(skip)]
    #[serde(alias = "cell_title")]
    title: Option<String>,
}

impl BuiltIn for ScratchpadTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(ScratchpadTool(parts.notebook())))
    }
}

impl Tool for ScratchpadTool {
    const NAME: &'static str = "scratchpad";
    const ALIASES: &'static [&'static str] = &[
        "scratchpad_create_cell",
        "scratchpad_edit_cell",
        "scratchpad_wipe",
        "create_cell",
        "edit_cell",
    ];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Think,
        peers: &[(PeerAgent::ContextPilot, &["create_cell", "edit_cell", "wipe"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.title.clone().unwrap_or_default()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let notebook = self.0.clone();
        run_blocking(move || {
            let name = NoteName {
                scope: NoteScope::Session,
                rest: SCRATCHPAD.into(),
            };
            let page = notebook.locate(&name, &context.session)?;
            let old = match page.exists() {
                true => page.read_text().map_err(tool_error)?.content,
                false => String::new(),
            };
            let new = match (&input.text, input.replace) {
                (None, false) => old,
                (None, true) => String::new(),
                (Some(text), true) => text.clone(),
                (Some(text), false) => {
                    let heading = input
                        .title
                        .as_ref()
                        .map(|title| format!("## {title}\n"))
                        .unwrap_or_default();
                    format!("{old}{heading}{}\n", text.trim_end())
                }
            };
            if input.text.is_some() || input.replace {
                notebook.write(&page, &new)?;
            }
            let lines = count(new.lines().count(), "line");
            Ok(match new.trim().is_empty() {
                true => Output::text("The page is empty."),
                false => Output::text(new).with_summary(lines),
            })
        })
        .await
    }
}
