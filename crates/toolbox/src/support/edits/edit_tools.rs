//! The edit tools: the model is offered the one that it uses best, and calls in the form of the others work as well.

use std::sync::Arc;

use edit::EditFormat;
use futures::future::BoxFuture;
use model::ToolSpec;
use policy::Action;
use serde_json::Value;
use tool::{CallContext, CallInput, CallPreview, DynTool, Error, Output, Tool, ToolEffect, ToolFacts, erase};

use crate::registry::ToolParts;
use crate::support::edits::edit_agent::EditAgent;
use crate::support::preview::PATCH;
use crate::tools::apply_patch::ApplyPatchTool;
use crate::tools::edit_file::EditFileTool;
use crate::tools::insert::InsertTool;

const OLD_TEXT_FIELDS: [&str; 4] = ["old_text", "old_string", "oldString", "old_str"];
/// Fields that only an insertion has. A new text with a line may be a replacement without its old text.
const INSERT_FIELDS: [&str; 4] = ["insert_line", "insertLine", "insert_text", "text"];

/// The edit tools behind one offered specification.
pub(crate) struct EditTools {
    spec: ToolSpec,
    aliases: Vec<&'static str>,
    edit_file: Arc<dyn DynTool>,
    apply_patch: Arc<dyn DynTool>,
    insert: Arc<dyn DynTool>,
}

impl EditTools {
    /// The edit tools for a model.
    pub(crate) fn new(parts: &ToolParts<'_>) -> Self {
        let project = &parts.project;
        let editor = parts.options.edit_model.clone();
        let agent = editor.map(|editor| EditAgent::new(project.clone(), editor));
        let fit = match agent {
            Some(_) => with_instructions,
            None => without_instructions,
        };
        let edit_file = erase(EditFileTool {
            project: project.clone(),
            agent,
        });
        let apply_patch = erase(ApplyPatchTool(project.clone()));
        let insert = erase(InsertTool(project.clone()));
        let spec = match parts.options.model.map(edit::format_for) {
            Some(EditFormat::ApplyPatch) => apply_patch.spec().clone(),
            Some(
                EditFormat::Auto
                | EditFormat::Json
                | EditFormat::SearchReplace
                | EditFormat::Unified
                | EditFormat::Whole
                | EditFormat::Xml,
            )
            | None => fit(edit_file.spec().clone()),
        };
        let aliases = [&edit_file, &apply_patch, &insert]
            .into_iter()
            .flat_map(|tool| tool.aliases().iter().copied())
            .chain([EditFileTool::NAME, ApplyPatchTool::NAME, InsertTool::NAME])
            .collect();
        Self {
            spec,
            aliases,
            edit_file,
            apply_patch,
            insert,
        }
    }

    /// The tool for a call, determined by its fields.
    fn target_tool(&self, input: &Value) -> &Arc<dyn DynTool> {
        let has = |keys: &[&str]| {
            keys.iter()
                .any(|key| input.get(key).is_some_and(|value| !value.is_null()))
        };
        if has(&OLD_TEXT_FIELDS) || has(&["edits", "instructions"]) {
            &self.edit_file
        } else if has(&PATCH) {
            &self.apply_patch
        } else if has(&INSERT_FIELDS) || has(&["line"]) && has(&["content"]) {
            &self.insert
        } else if self.spec.name == ApplyPatchTool::NAME {
            &self.apply_patch
        } else {
            &self.edit_file
        }
    }
}

/// The specification of edit_file if changes can be described: old and new text are optional.
fn with_instructions(mut spec: ToolSpec) -> ToolSpec {
    if let Some(required) = spec.input_schema["required"].as_array_mut() {
        required.retain(|name| name == "path");
    }
    spec
}

/// The specification of edit_file if no model applies instructions.
fn without_instructions(mut spec: ToolSpec) -> ToolSpec {
    if let Some(properties) = spec.input_schema["properties"].as_object_mut() {
        properties.shift_remove("instructions");
    }
    spec
}

impl DynTool for EditTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &self.aliases
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Mutating
    }

    fn facts(&self) -> ToolFacts {
        EditFileTool::FACTS
    }

    fn title(&self, input: &CallInput) -> String {
        self.target_tool(input).title(input)
    }

    fn actions(&self, input: &CallInput) -> Result<Vec<Action>, Error> {
        self.target_tool(input).actions(input)
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        self.edit_file.preview()
    }

    fn run(self: Arc<Self>, input: CallInput, context: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        Arc::clone(self.target_tool(&input)).run(input, context)
    }
}
