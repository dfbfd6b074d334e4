//! The edit tools: the model is offered the one that it uses best, and calls in the form of the others work as well.

use std::sync::Arc;

use edit::EditFormat;
use futures::future::BoxFuture;
use model::ToolSpec;
use policy::Action;
use serde_json::{Map, Value, json};
use tool::{
    CallContext, CallInput, CallPreview, DynTool, Error, Output, Registry, Tool, ToolEffect, ToolFacts, erase,
    fold_name,
};

use crate::registry::ToolParts;
use crate::support::arguments;
use crate::support::edits::edit_agent::EditAgent;
use crate::support::preview::{PATCH, PATH};
use crate::support::project::Project;
use crate::tools::apply_patch::ApplyPatchTool;
use crate::tools::edit_file::EditFileTool;
use crate::tools::edit_lines::EditLinesTool;
use crate::tools::insert::InsertTool;
use crate::tools::list_directory::ListDirectoryTool;
use crate::tools::read_file::ReadFileTool;
use crate::tools::replace_pattern::{self, ReplacePatternTool};
use crate::tools::write_file::WriteFileTool;

const OLD_TEXT_FIELDS: [&str; 4] = ["old_text", "old_string", "oldString", "old_str"];
const NEW_TEXT_FIELDS: [&str; 4] = ["new_text", "new_string", "newString", "new_str"];
/// Fields that only an insertion has. A new text with a line may be a replacement without its old text.
const INSERT_FIELDS: [&str; 4] = ["insert_line", "insertLine", "insert_text", "text"];

/// Fields that only an edit at line anchors has.
const ANCHOR_FIELDS: [&str; 5] = ["anchor", "start_anchor", "start", "from", "pos"];

/// The edit tools behind one offered specification.
pub(crate) struct EditTools {
    spec: ToolSpec,
    aliases: Vec<&'static str>,
    project: Project,
    edit_file: Arc<dyn DynTool>,
    apply_patch: Arc<dyn DynTool>,
    insert: Arc<dyn DynTool>,
    replace_pattern: Arc<dyn DynTool>,
    edit_lines: Arc<dyn DynTool>,
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
        let edit_lines = erase(EditLinesTool(project.clone()));
        let replace_pattern = erase(ReplacePatternTool(project.clone()));
        let spec = match parts.options.edit_format() {
            Some(EditFormat::ApplyPatch) => apply_patch.spec().clone(),
            Some(EditFormat::Anchors) => edit_lines.spec().clone(),
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
            .chain([
                EditFileTool::NAME,
                ApplyPatchTool::NAME,
                InsertTool::NAME,
                EditLinesTool::NAME,
            ])
            .collect();
        Self {
            spec,
            aliases,
            project: project.clone(),
            edit_file,
            apply_patch,
            insert,
            replace_pattern,
            edit_lines,
        }
    }

    /// The tool and input for a call that reads or writes a whole file: Anthropic's editor has commands, Zed's has modes.
    fn whole_file(&self, input: &Value) -> Option<(&'static str, Value)> {
        let fields = input.as_object()?;
        let path = path_of(fields)?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let write = |content: &str| Some((WriteFileTool::NAME, json!({"path": path, "content": content})));
        match (text("command"), text("mode")) {
            (Some("view"), _) if self.project.locate(path).is_ok_and(|place| place.path().is_dir()) => {
                Some((ListDirectoryTool::NAME, json!({"path": path})))
            }
            (Some("view"), _) => {
                let bounds = fields.get("view_range").and_then(Value::as_array);
                let mut bounds = bounds.into_iter().flatten().map(Value::as_u64);
                let (first, last) = (bounds.next().flatten(), bounds.next().flatten());
                let mut read = Map::from_iter([("path".to_owned(), path.into())]);
                read.extend(first.map(|line| ("start_line".to_owned(), line.into())));
                read.extend(last.map(|line| ("end_line".to_owned(), line.into())));
                Some((ReadFileTool::NAME, read.into()))
            }
            (Some("create"), _) => write(text("file_text").or(text("content"))?),
            (_, Some("create" | "overwrite" | "write")) if !fields.contains_key("edits") => write(text("content")?),
            _ => None,
        }
    }

    /// The tool for a call, determined by its fields.
    fn target_tool(&self, input: &Value) -> &Arc<dyn DynTool> {
        let has = |keys: &[&str]| {
            keys.iter()
                .any(|key| input.get(key).is_some_and(|value| !value.is_null()))
        };
        let is_anchored = |edit: &Value| {
            ANCHOR_FIELDS
                .iter()
                .any(|name| edit.get(name).is_some_and(Value::is_string))
        };
        let edits = input.get("edits").and_then(Value::as_array);
        if edits.is_some_and(|edits| !edits.is_empty() && edits.iter().all(is_anchored)) {
            &self.edit_lines
        } else if input.as_object().is_some_and(replace_pattern::is_needed) {
            &self.replace_pattern
        } else if has(&OLD_TEXT_FIELDS) || has(&["edits", "instructions"]) {
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

/// Roo Code nests the file of a diff, and states the lines of its blocks separately.
fn nested_diff(input: &mut Map<String, Value>) {
    let file = match input.get("args").and_then(|args| args.get("file")) {
        Some(Value::Array(files)) if files.len() == 1 => files.first(),
        file => file,
    };
    let Some(Value::Object(file)) = file.cloned() else {
        return;
    };
    let diffs = match file.get("diff") {
        Some(Value::Array(diffs)) => diffs.clone(),
        diff => diff.into_iter().cloned().collect(),
    };
    let blocks = diffs.iter().filter_map(|diff| {
        let text = diff.get("content").unwrap_or(diff).as_str()?;
        let line = diff.get("start_line").and_then(arguments::number);
        let marker = "<<<<<<< SEARCH\n";
        match line.filter(|_| text.starts_with(marker) && !text.contains(":start_line:")) {
            Some(line) => Some(text.replacen(marker, &format!("{marker}:start_line:{line}\n-------\n"), 1)),
            None => Some(text.to_owned()),
        }
    });
    let diff = blocks.collect::<Vec<_>>().join("\n");
    input.remove("args");
    input.extend(file.into_iter().filter(|(name, _)| name == "path"));
    input.insert("diff".into(), diff.into());
}

/// Rewrites the arguments of other agents' edit tools.
fn adapt(called: &str, input: &mut Map<String, Value>) {
    match called {
        // Roo Code: the line before which to insert; 0 and -1 are the end.
        "insertcontent" => {
            arguments::rename(input, &["content"], "text");
            let line = input.remove("line").as_ref().and_then(arguments::number);
            if let Some(line) = line.filter(|line| *line >= 1.0) {
                input.insert("line".into(), (line as u64 - 1).into());
            }
        }
        "applydiff" => nested_diff(input),
        "searchandreplace" if replace_pattern::is_needed(input) => {}
        "searchandreplace" => {
            arguments::rename(input, &["search"], "old_text");
            if !input.contains_key("new_text") && input.contains_key("replace") {
                let new = input.remove("replace").unwrap_or_default();
                input.insert("new_text".into(), new);
            }
            arguments::rename(input, &["operations"], "edits");
        }
        // An instruction for the edit model, if there is one.
        "inserteditintofile" => {
            if let Some(code) = arguments::text(input, "code") {
                let explanation = arguments::text(input, "explanation").unwrap_or_default();
                let text = format!("{explanation}\n\nThe new code; comments stand for existing code:\n{code}");
                input.insert("instructions".into(), text.trim().into());
            }
        }
        "applypatch" => {
            if let Some(Value::Array(words)) = input.get("command")
                && let Some(patch) = words.last().cloned()
            {
                input.insert("input".into(), patch);
            }
        }
        _ => {}
    }
    // Small models name the new text like the content of a file.
    let has = |fields: &[&str]| fields.iter().any(|name| input.contains_key(*name));
    if has(&OLD_TEXT_FIELDS) && !has(&NEW_TEXT_FIELDS) {
        arguments::rename(input, &["content", "new_content", "replacement", "replace"], "new_text");
    }
    arguments::rename(input, &["replacements"], "edits");
    // Edits in tags or other text are parsed like a patch.
    if arguments::text(input, "edits").is_some_and(|edits| serde_json::from_str::<Value>(edits).is_err()) {
        arguments::rename(input, &["edits"], "diff");
    }
    // Zed's edit agent carries out a description.
    let has = |fields: &[&str]| fields.iter().any(|name| input.contains_key(*name));
    if !(has(&OLD_TEXT_FIELDS) || has(&NEW_TEXT_FIELDS) || has(&PATCH) || has(&["edits", "content", "text"])) {
        arguments::rename(input, &["display_description", "edit_description"], "instructions");
    }
    wrap_anchored_edit(input);
    for edit in input
        .get_mut("edits")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Value::Object(edit) = edit {
            arguments::rename(edit, &["search"], "old_text");
            arguments::rename(edit, &["replace"], "new_text");
        }
    }
    let replaces_all = input.remove("allow_multiple").as_ref().and_then(arguments::truth) == Some(true)
        || input.get("expected_replacements").and_then(arguments::number) > Some(1.0);
    if replaces_all {
        input.entry("replace_all").or_insert(true.into());
    }
    spread_over_files(input);
}

/// Makes one edit at an anchor a list of edits.
fn wrap_anchored_edit(input: &mut Map<String, Value>) {
    let is_anchor =
        |name: &&&str| arguments::text(input, name).is_some_and(|text| edit::LineAnchor::parse(text).is_some());
    let has_anchor = ANCHOR_FIELDS.iter().find(is_anchor).is_some();
    if has_anchor && !input.contains_key("edits") {
        let paths = input.iter().filter(|(name, _)| PATH.contains(&name.as_str()));
        let mut wrapped: Map<String, Value> = paths.map(|(name, value)| (name.clone(), value.clone())).collect();
        let edit = std::mem::take(input);
        let edit: Map<String, Value> = edit
            .into_iter()
            .filter(|(name, _)| !PATH.contains(&name.as_str()))
            .collect();
        wrapped.insert("edits".into(), json!([edit]));
        *input = wrapped;
    }
}

/// Converts edits that name their own files to a patch, or to edits of the one file that all of them name.
fn spread_over_files(input: &mut Map<String, Value>) {
    let Some(edits) = input.get("edits") else {
        return;
    };
    let edits = arguments::objects(Some(edits));
    let paths: Vec<&str> = edits.iter().filter_map(path_of).collect();
    match paths.as_slice() {
        [] => {}
        [first, others @ ..] if others.iter().all(|path| path == first) => {
            let path = (*first).to_owned();
            // The edits may repeat the path.
            if path_of(input).is_none() {
                input.insert("path".into(), path.into());
            }
        }
        _ => *input = Map::from_iter([("input".to_owned(), json!({"edits": edits}).to_string().into())]),
    }
}

fn path_of(input: &Map<String, Value>) -> Option<&str> {
    PATH.iter().find_map(|name| arguments::text(input, name))
}

/// The path and content of a file that an insertion, or edits that begin with an empty old text, would create.
fn new_file(input: &Value) -> Option<(&str, String)> {
    let input = input.as_object()?;
    let path = path_of(input)?;
    let edits = input.get("edits").and_then(Value::as_array);
    let is_edit = edits.is_some() || OLD_TEXT_FIELDS.iter().any(|name| input.contains_key(*name));
    let whole = arguments::text(input, "code").or_else(|| arguments::text(input, "text").filter(|_| !is_edit));
    if let Some(whole) = whole {
        return Some((path, whole.to_owned()));
    }
    let edits: Vec<&Map<String, Value>> = match edits {
        Some(edits) => edits.iter().map(Value::as_object).collect::<Option<_>>()?,
        None => vec![input],
    };
    let (first, others) = edits.split_first()?;
    let (old, mut content) = replaced_text(first)?;
    if !old.is_empty() || content.is_empty() {
        return None;
    }
    for edit in others {
        let (old, new) = replaced_text(edit)?;
        let replaces_all = ["replace_all", "replaceAll"]
            .iter()
            .any(|name| edit.get(*name).and_then(arguments::truth) == Some(true));
        match content.matches(&old).count() {
            1 => content = content.replace(&old, &new),
            2.. if replaces_all && !old.is_empty() => content = content.replace(&old, &new),
            _ => return None,
        }
    }
    Some((path, content))
}

/// The old and the new text of an edit.
fn replaced_text(edit: &Map<String, Value>) -> Option<(String, String)> {
    let text = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| Some(edit.get(*name)?.as_str()?.to_owned()))
    };
    Some((text(&OLD_TEXT_FIELDS)?, text(&NEW_TEXT_FIELDS)?))
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

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        adapt(&fold_name(called), input);
    }

    /// Replacing nothing in a file that does not exist writes the file. Other agents have one tool that also reads and
    /// writes whole files.
    fn resolve(&self, input: &Value, tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        if let Some((name, input)) = self.whole_file(input) {
            return Some((Arc::clone(tools.get(name)?), input));
        }
        let (path, content) = new_file(input)?;
        let is_new = self.project.locate(path).is_ok_and(|file| !file.is_taken());
        let tool = is_new.then(|| tools.get(WriteFileTool::NAME)).flatten()?;
        Some((Arc::clone(tool), json!({"path": path, "content": content})))
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

    fn check<'a>(&'a self, input: &'a CallInput) -> BoxFuture<'a, Result<(), Error>> {
        self.target_tool(input).check(input)
    }

    fn run(self: Arc<Self>, input: CallInput, context: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        Arc::clone(self.target_tool(&input)).run(input, context)
    }
}
