//! Rough notes of the session.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase, fold_name};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::notes::{NoteName, NoteScope, NoteStore, SCRATCHPAD};
use crate::support::project::{run_blocking, tool_error};
use crate::support::text::count;

/// The start of the heading of a cell.
const HEADING: &str = "## ";

pub(crate) struct ScratchpadTool(pub(crate) NoteStore);

/// A page of rough notes for this session. Returns its content; text is appended, or with replace overwrites the page.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "content", alias = "cell_contents", alias = "contents")]
    text: Option<String>,
    #[serde(default)]
    replace: bool,
    /// Context Pilot: the heading of a cell, which is a section of the page.
    #[schemars(skip)]
    #[serde(alias = "cell_title")]
    title: Option<String>,
    /// Context Pilot: the cells to change or remove, by their number from 1.
    #[schemars(skip)]
    #[serde(default)]
    cells: Vec<usize>,
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
        peers: &[(
            PeerAgent::ContextPilot,
            &[
                "create_cell",
                "edit_cell",
                "scratchpad_create_cell",
                "scratchpad_edit_cell",
                "scratchpad_wipe",
                "wipe",
            ],
        )],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.title.clone().unwrap_or_default()
    }

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        let called = fold_name(called);
        let names = ["cell_ids", "cell_id", "cell", "id", "ids"];
        let ids = match names.iter().find_map(|name| input.remove(*name)) {
            Some(Value::Array(ids)) => ids,
            Some(id) => vec![id],
            None => Vec::new(),
        };
        let number = |id: &Value| match id {
            Value::String(text) => arguments::id_number(text),
            id => arguments::number(id).map(|number| number as usize),
        };
        // An unknown id must not stand for the whole page; no cell has the number 0.
        let ids = ids.iter().filter(|id| !arguments::is_empty(id));
        let cells: Vec<Value> = ids.map(|id| number(id).unwrap_or(0).into()).collect();
        if called.ends_with("wipe") || !cells.is_empty() {
            input.insert("replace".into(), true.into());
            input.insert("cells".into(), cells.into());
        }
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
                (_, true) if !input.cells.is_empty() => change_cells(&old, &input)?,
                (None, false) => old.clone(),
                (None, true) => String::new(),
                (Some(text), true) => text.clone(),
                (Some(text), false) => {
                    let heading = input
                        .title
                        .as_ref()
                        .map(|title| format!("{HEADING}{title}\n"))
                        .unwrap_or_default();
                    format!("{old}{heading}{}\n", text.trim_end())
                }
            };
            if new != old {
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

/// The page with cells changed, or removed if neither a title nor text is given.
fn change_cells(page: &str, input: &Input) -> Result<String, Error> {
    let mut cells: Vec<String> = Vec::new();
    for line in page.split_inclusive('\n') {
        match cells.last_mut() {
            Some(cell) if !line.starts_with(HEADING) => cell.push_str(line),
            Some(_) | None => cells.push(line.to_owned()),
        }
    }
    if let Some(missing) = input.cells.iter().find(|number| !(1..=cells.len()).contains(*number)) {
        return Err(Error::Failed(format!(
            "there is no cell {missing}; the page has {}",
            count(cells.len(), "cell")
        )));
    }
    let is_removal = input.title.is_none() && input.text.is_none();
    let changed = cells.iter().zip(1..).filter_map(|(cell, number)| {
        if !input.cells.contains(&number) {
            return Some(cell.clone());
        }
        let (heading, text) = match cell.strip_prefix(HEADING).and_then(|cell| cell.split_once('\n')) {
            Some((heading, text)) => (heading, text),
            None => ("", cell.as_str()),
        };
        let heading = input.title.as_deref().unwrap_or(heading);
        let text = input.text.as_deref().unwrap_or(text).trim_end();
        (!is_removal).then(|| format!("{HEADING}{heading}\n{text}\n"))
    });
    Ok(changed.collect())
}
