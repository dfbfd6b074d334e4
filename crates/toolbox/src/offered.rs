//! One edit tool is offered to a model, the one it writes best; calls in the shape of the others are served as well.

use std::sync::Arc;

use edit::Format;
use futures::future::BoxFuture;
use model::ToolSpec;
use policy::Action;
use serde_json::Value;
use tool::{Context, DynTool, Effect, Error, Output, Preview, Registry, Tool};

use crate::apply_patch::ApplyPatch;
use crate::edit_file::EditFile;
use crate::editor::EditAgent;
use crate::insert::Insert;
use crate::preview::PATCH;
use crate::project::Project;

const OLD: [&str; 4] = ["old_text", "old_string", "oldString", "old_str"];
/// Fields that only an insertion has. A new text with a line may be a replacement that lacks its old text.
const INSERTED: [&str; 4] = ["insert_line", "insertLine", "insert_text", "text"];

/// The edit tools, of which one is offered.
pub(crate) struct Offered {
    spec: ToolSpec,
    aliases: Vec<&'static str>,
    edit_file: Arc<dyn DynTool>,
    apply_patch: Arc<dyn DynTool>,
    insert: Arc<dyn DynTool>,
}

impl Offered {
    /// The edit tools for a model; nothing if they are not to be had.
    pub(crate) fn new(project: &Project, model: Option<&str>, agent: Option<EditAgent>) -> Option<Self> {
        let fit = match agent {
            Some(_) => with_instructions,
            None => without_instructions,
        };
        let edit_file = EditFile {
            project: project.clone(),
            agent,
        };
        // A registry is where a typed tool becomes one that can stand beside others.
        let tools = Registry::default()
            .with(edit_file)
            .with(ApplyPatch(project.clone()))
            .with(Insert(project.clone()));
        let tool = |name: &str| tools.get(name).map(Arc::clone);
        let edit_file = tool(EditFile::NAME)?;
        let apply_patch = tool(ApplyPatch::NAME)?;
        let insert = tool(Insert::NAME)?;
        let spec = match model.map(edit::format_for) {
            Some(Format::ApplyPatch) => apply_patch.spec().clone(),
            Some(
                Format::Auto | Format::Json | Format::SearchReplace | Format::Unified | Format::Whole | Format::Xml,
            )
            | None => fit(edit_file.spec().clone()),
        };
        let aliases = [&edit_file, &apply_patch, &insert]
            .into_iter()
            .flat_map(|tool| tool.aliases().iter().copied())
            .chain([EditFile::NAME, ApplyPatch::NAME, Insert::NAME])
            .collect();
        Some(Self {
            spec,
            aliases,
            edit_file,
            apply_patch,
            insert,
        })
    }

    /// The tool that a call means, judged by its fields.
    fn meant(&self, input: &Value) -> &Arc<dyn DynTool> {
        let has = |keys: &[&str]| {
            keys.iter()
                .any(|key| input.get(key).is_some_and(|value| !value.is_null()))
        };
        if has(&OLD) || has(&["edits", "instructions"]) {
            &self.edit_file
        } else if has(&PATCH) {
            &self.apply_patch
        } else if has(&INSERTED) || has(&["line"]) && has(&["content"]) {
            &self.insert
        } else if self.spec.name == ApplyPatch::NAME {
            &self.apply_patch
        } else {
            &self.edit_file
        }
    }
}

/// edit_file where a change may be described: the texts are no longer a must.
fn with_instructions(mut spec: ToolSpec) -> ToolSpec {
    if let Some(required) = spec.input_schema["required"].as_array_mut() {
        required.retain(|name| name == "path");
    }
    spec
}

/// edit_file where nobody would carry out what is described.
fn without_instructions(mut spec: ToolSpec) -> ToolSpec {
    if let Some(properties) = spec.input_schema["properties"].as_object_mut() {
        properties.shift_remove("instructions");
    }
    spec
}

impl DynTool for Offered {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &self.aliases
    }

    fn effect(&self) -> Effect {
        Effect::Changes
    }

    fn title(&self, input: &Value) -> String {
        self.meant(input).title(input)
    }

    fn actions(&self, input: &Value) -> Result<Vec<Action>, Error> {
        self.meant(input).actions(input)
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        self.edit_file.preview()
    }

    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        Arc::clone(self.meant(&input)).run(input, context)
    }
}
