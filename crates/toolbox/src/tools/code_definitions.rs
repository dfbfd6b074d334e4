//! Lists the definitions in source files.

use std::sync::Arc;
use std::time::Duration;

use index::{Language, Outline, OutlineCoverage};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase,
};
use workspace::{Location, StopSignal};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::{Project, run_blocking, run_search, search_notes, tool_error};
use crate::support::text::count;

/// Time limit per file.
const FILE_TIME: Duration = Duration::from_secs(2);
/// Maximum definitions per file in a directory.
const PER_FILE: usize = 60;
/// Languages skipped in a directory: data and prose.
const NOT_CODE: [&str; 6] = ["CSS", "HTML", "JSON", "Markdown", "TOML", "YAML"];
/// Maximum number of files read in a directory.
const MAX_FILES: usize = 50_000;

pub(crate) struct CodeDefinitionsTool(pub(crate) Project);

/// Outlines a source file, or the source files below a directory: the functions, types and so on that they define, with
/// their lines.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// File or directory; default: the project.
    #[serde(
        alias = "file_path",
        alias = "filePath",
        alias = "relative_path",
        alias = "directory"
    )]
    path: Option<String>,
    /// Files to skip.
    offset: Option<usize>,
}

impl BuiltIn for CodeDefinitionsTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(CodeDefinitionsTool(parts.project.clone())))
    }
}

impl Tool for CodeDefinitionsTool {
    const NAME: &'static str = "code_definitions";
    const ALIASES: &'static [&'static str] = &[
        "list_code_definition_names",
        "get_symbols",
        "get_symbols_overview",
        "document_symbols",
        "file_outline",
    ];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        cap: OutputCap {
            entries: 400,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::AskProfile, ToolSet::McpServer],
        peers: &[
            (PeerAgent::RooCode, &["list_code_definition_names"]),
            (PeerAgent::Crush, &["lsp_symbols"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone().unwrap_or_else(|| ".".into())
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.read_actions(input.path.as_deref().unwrap_or_default())
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let location = self.0.locate(input.path.as_deref().unwrap_or_default())?;
        let offset = input.offset.unwrap_or(0);
        match location.is_dir() {
            true => run_search(move |stop| folder(&location, offset, stop)).await,
            false => run_blocking(move || file(&location)).await,
        }
    }
}

fn file(location: &Location) -> Result<Output, Error> {
    let text = location.read_text().map_err(tool_error)?;
    let outline =
        index::outline(location.path(), &text.content, FILE_TIME).map_err(|error| refused(location, &error))?;
    let cap = CodeDefinitionsTool::FACTS.cap;
    let (outline, left) = outline.truncate(cap.entries);
    let mut shown = outline.render();
    let mut notes = vec![format!("{}, {}", outline.language, count(outline.lines, "line"))];
    if outline.definitions.is_empty() {
        notes.push("no definitions".into());
    }
    if shown.len() > cap.bytes {
        shown.truncate(shown.floor_char_boundary(cap.bytes));
        shown.push_str("…\n");
        notes.push("cut here".into());
    }
    notes.extend(missing(&outline, left));
    shown.push_str(&format!("[{}]", notes.join("; ")));
    Ok(Output::text(shown).with_summary(count(outline.definitions.len(), "definition")))
}

fn refused(location: &Location, error: &index::Error) -> Error {
    Error::Failed(match error {
        index::Error::UnknownLanguage { .. } => {
            format!("{} is in an unsupported language; use read_file", location.shown())
        }
        index::Error::TooLarge { .. } | index::Error::TooSlow { .. } | index::Error::Grammar { .. } => {
            format!("{}: {error}; use grep", location.shown())
        }
    })
}

fn missing(outline: &Outline, left: usize) -> Option<String> {
    match (left, outline.coverage) {
        (0, OutlineCoverage::Complete) => None,
        (0, OutlineCoverage::Partial) => Some("there are more".into()),
        (left, _) => Some(format!("{left} more inside or after these")),
    }
}

fn folder(location: &Location, offset: usize, stop: &StopSignal) -> Result<Output, workspace::Error> {
    let is_code =
        |path: &std::path::Path| Language::of_path(path).is_some_and(|language| !NOT_CODE.contains(&language.name));
    let files = location.files(&is_code, MAX_FILES, stop)?;
    let total = files.total;
    let cap = CodeDefinitionsTool::FACTS.cap;
    let mut shown = String::new();
    let (mut seen, mut definitions) = (offset, 0);
    for file in files.files.iter().skip(offset) {
        if shown.len() > cap.bytes / 2 || definitions > cap.entries || stop.is_due() {
            break;
        }
        seen += 1;
        let section = section(file);
        definitions += section.1;
        shown.push_str(&section.0);
    }
    let found = count(total, "source file");
    let mut notes = vec![match (total, seen) {
        (0, _) => "no source files here".to_owned(),
        (_, seen) if offset >= total => format!("{found}; offset {seen} is past the end"),
        (_, seen) if seen < total => format!("{}-{seen} of {found}; continue with offset {seen}", offset + 1),
        _ => found,
    }];
    notes.extend(search_notes(files.ended, files.unreadable));
    shown.push_str(&format!("[{}]", notes.join("; ")));
    Ok(Output::text(shown).with_summary(count(total, "source file")))
}

/// The outline of one file in a directory, and the number of its definitions.
fn section(file: &Location) -> (String, usize) {
    let shown = file.shown();
    let text = match file.read_text() {
        Ok(text) => text.content,
        Err(error) => return (format!("{shown} [{}]\n", short(&error)), 0),
    };
    match index::outline(file.path(), &text, FILE_TIME) {
        Ok(outline) => {
            let (outline, left) = outline.truncate(PER_FILE);
            let more = missing(&outline, left)
                .map(|more| format!("  [{more}]\n"))
                .unwrap_or_default();
            let lines = outline.render();
            let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
            (format!("{shown}\n{lines}{more}"), outline.definitions.len())
        }
        Err(error) => (format!("{shown} [{error}]\n"), 0),
    }
}

/// Why a file was skipped.
fn short(error: &workspace::Error) -> &'static str {
    match error {
        workspace::Error::Denied { .. } => "permission denied",
        workspace::Error::Binary { .. } | workspace::Error::NotUtf8 { .. } | workspace::Error::Utf16 { .. } => {
            "not UTF-8 text"
        }
        workspace::Error::TooLarge { .. } => "too large",
        _ => "could not be read",
    }
}
