//! Reads files.

use std::sync::Arc;
use std::time::Duration;

use model::Block;
use policy::Action;
use serde_json::{Map, Value, json};
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing,
    ToolSet, erase, fold_name,
};
use workspace::{FindQuery, LineWindow, Location, ResultPage, StopSignal};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::file_view::ranges::{FileRange, Input, LineRange};
use crate::support::file_view::{FileView, lines, media, notebook, outline};
use crate::support::model_profiles::matches_pattern;
use crate::support::preview::PATH;
use crate::support::project::shown_files::{CurrentView, ShowDecision};
use crate::support::project::{Project, run_blocking, tool_error};
use crate::support::text::count;
use crate::tools::list_directory::ListDirectoryTool;

/// Maximum number of files per call.
const MAX_FILES: usize = 30;
/// Minimum space in the result to start another file.
const MIN_SPACE: usize = 4_000;
/// The time limit for finding the files of a glob.
const GLOB_TIME: Duration = Duration::from_secs(5);

pub(crate) struct ReadFileTool(pub(crate) Project);

impl BuiltIn for ReadFileTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(ReadFileTool(parts.project.clone())))
    }
}

impl Tool for ReadFileTool {
    const NAME: &'static str = "read_file";
    const ALIASES: &'static [&'static str] = &[
        "Open",
        "copilot_getNotebookSummary",
        "read",
        "read_many_files",
        "view",
        "view_file",
        "view_image",
    ];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Read,
        cap: OutputCap {
            entries: 2_000,
            line: 2_000,
            bytes: 64 * 1024,
            result: 160 * 1024,
        },
        sets: &[
            ToolSet::AskProfile,
            ToolSet::McpServer,
            ToolSet::FileAccess,
            ToolSet::FileReader,
            ToolSet::SmallModel,
        ],
        peers: &[
            (PeerAgent::Zed, &["read_file"]),
            (PeerAgent::RooCode, &["read_file"]),
            (PeerAgent::Crush, &["view"]),
            (
                PeerAgent::Copilot,
                &[
                    "copilot_getNotebookSummary",
                    "read_file",
                    "read_notebook_cell_output",
                    "view_image",
                ],
            ),
            (PeerAgent::ContextPilot, &["Open", "ocr"]),
            (PeerAgent::ClaudeCode, &["NotebookRead", "Read"]),
            (PeerAgent::Codex, &["read_file", "view_image"]),
            (PeerAgent::GeminiCli, &["read_file", "read_many_files"]),
            (PeerAgent::OpenCode, &["read"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        // Crush and Gemini CLI count the lines to skip.
        if (fold_name(called) == "view" || input.contains_key("absolute_path"))
            && let Some(offset) = input.get("offset").and_then(arguments::number)
        {
            input.insert("offset".into(), (offset as u64 + 1).into());
        }
        arguments::rename(input, &["absolute_path", "notebook_path"], "path");
        arguments::rename(input, &["include"], "paths");
        // Roo Code nests the files.
        if let Some(Value::Object(args)) = input.get("args")
            && let Some(files) = args.get("file").cloned()
        {
            input.insert("files".into(), files);
        }
        if RANGES.iter().any(|name| input.contains_key(*name)) {
            let names = ["path", "file_path", "filePath"];
            let file = input
                .iter()
                .filter(|(name, _)| names.contains(&name.as_str()) || RANGES.contains(&name.as_str()));
            let file: Map<String, Value> = file.map(|(name, value)| (name.clone(), value.clone())).collect();
            input.retain(|name, _| !file.contains_key(name));
            input.insert("files".into(), json!([file]));
        }
        for name in ["files", "paths", "path"] {
            match input.get_mut(name) {
                Some(Value::Array(files)) => files
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(read_line_ranges),
                Some(Value::Object(file)) => read_line_ranges(file),
                _ => {}
            }
        }
    }

    /// The content of a directory is its list.
    fn redirect(&self, input: &Value) -> Option<(&'static str, Value)> {
        let fields = input.as_object()?;
        let path = PATH.iter().find_map(|name| arguments::text(fields, name))?;
        let has_more = ["files", "more", "paths"].iter().any(|name| fields.contains_key(*name));
        let is_directory = self.0.workspace.locate(path).is_ok_and(|place| place.path().is_dir());
        (!has_more && is_directory).then(|| (ListDirectoryTool::NAME, json!({"path": path})))
    }

    fn title(&self, input: &Input) -> String {
        let names: Vec<String> = self.ranges(input).iter().map(FileRange::title).collect();
        names.join(", ")
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut actions: Vec<Action> = Vec::new();
        for range in self.ranges(input) {
            for action in self.0.read_actions(&range.path) {
                if !actions.contains(&action) {
                    actions.push(action);
                }
            }
        }
        actions
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let ranges = self.ranges(&input);
        match ranges.as_slice() {
            [one] => {
                let seen = self.view(one, Self::FACTS.cap.bytes, &context).await?;
                Ok(seen.into_output())
            }
            several => self.view_all(several, &context).await,
        }
    }
}

/// The names of line ranges in other agents.
const RANGES: [&str; 4] = ["line_range", "line_ranges", "lineRange", "lineRanges"];

/// Roo Code writes ranges as `10-20`, `[10, 20]` or an object, one or several per file.
fn read_line_ranges(file: &mut Map<String, Value>) {
    let given: Vec<Value> = RANGES.iter().filter_map(|name| file.remove(*name)).collect();
    let bounds: Vec<[u64; 2]> = given.iter().flat_map(line_ranges).collect();
    if !bounds.is_empty() {
        file.insert("line_ranges".into(), json!(bounds));
    }
}

fn line_ranges(value: &Value) -> Vec<[u64; 2]> {
    let line = |value: &Value| arguments::number(value).map(|number| number as u64);
    let pair = |first: &Value, last: &Value| Some(vec![[line(first)?, line(last)?]]);
    let own = match value {
        Value::Array(bounds) => match bounds.as_slice() {
            [first, last] => pair(first, last),
            _ => None,
        },
        Value::Object(range) => range
            .get("start")
            .zip(range.get("end"))
            .and_then(|(first, last)| pair(first, last)),
        Value::String(text) => text
            .split_once('-')
            .and_then(|(first, last)| pair(&first.into(), &last.into())),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    };
    own.unwrap_or_else(|| value.as_array().into_iter().flatten().flat_map(line_ranges).collect())
}

/// The content of a file by type.
enum ReadContent {
    Text(workspace::Excerpt),
    Outline { text: String, total: usize },
    Notebook(notebook::RenderedNotebook, workspace::Fingerprint),
    Media(media::MediaFile),
}

impl ReadFileTool {
    /// The requested files and ranges. A glob that is not the name of a file stands for the files that match it.
    fn ranges(&self, input: &Input) -> Vec<FileRange> {
        let exists = |path: &str| self.0.locate(path).is_ok_and(|file| file.exists());
        let mut all = Vec::new();
        for range in input.ranges(exists) {
            match range.path.contains(['*', '?']) && !exists(&range.path) {
                true => all.extend(self.matching_files(&range)),
                false => all.push(range),
            }
        }
        let is_excluded = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let mut patterns = input.exclude.iter();
            patterns.any(|pattern| matches_pattern(pattern, name) || matches_pattern(pattern, path))
        };
        if all.len() > 1 {
            all.retain(|range| !is_excluded(&range.path));
        }
        all
    }

    fn matching_files(&self, glob: &FileRange) -> Vec<FileRange> {
        let page = ResultPage {
            offset: 0,
            limit: MAX_FILES + 1,
        };
        let query = FindQuery::new(&glob.path, page);
        let stop = StopSignal::after(GLOB_TIME);
        let found = self.0.workspace.locate("").and_then(|root| root.find(&query, &stop));
        let paths = found.map(|found| found.paths).unwrap_or_default();
        let files = paths.into_iter().filter(|path| !path.ends_with('/'));
        let ranges: Vec<FileRange> = files
            .map(|path| FileRange {
                path,
                lines: glob.lines,
            })
            .collect();
        match ranges.is_empty() {
            true => vec![glob.clone()],
            false => ranges,
        }
    }

    async fn view_all(&self, several: &[FileRange], context: &CallContext) -> Result<Output, Error> {
        let cap = Self::FACTS.cap;
        let (mut blocks, mut left, mut failed) = (Vec::new(), cap.result - MIN_SPACE, 0);
        let mut text = String::new();
        for (place, range) in several.iter().enumerate() {
            if place >= MAX_FILES || left < MIN_SPACE {
                let rest: Vec<String> = several.iter().skip(place).map(FileRange::title).collect();
                text.push_str(&format!("[not read, the result is full: {}]", rest.join(", ")));
                break;
            }
            let seen = self.view(range, cap.bytes.min(left), context).await;
            text.push_str(&format!("==> {} <==\n", range.title()));
            let seen = seen.unwrap_or_else(|error| {
                failed += 1;
                FileView::text(format!("[{error}]"), "")
            });
            for block in seen.blocks {
                match block {
                    Block::Text { text: part } => {
                        left = left.saturating_sub(part.len());
                        text.push_str(&part);
                    }
                    media @ Block::Media(_) => {
                        blocks.push(Block::text(std::mem::take(&mut text)));
                        blocks.push(media);
                    }
                }
            }
            text.push_str("\n\n");
        }
        if failed == several.len() {
            return Err(Error::Failed(text.trim_end().to_owned()));
        }
        blocks.push(Block::text(text.trim_end()));
        Ok(Output {
            content: blocks,
            ..Output::default()
        }
        .with_summary(count(several.len(), "file")))
    }

    async fn view(&self, range: &FileRange, most: usize, context: &CallContext) -> Result<FileView, Error> {
        let file = self.0.locate(&range.path)?;
        let (lines, features) = (range.lines, context.features);
        let content = {
            let file = file.clone();
            run_blocking(move || content(&file, lines, most)).await?
        };
        match content {
            ReadContent::Media(medium) => medium.show(&file, features),
            ReadContent::Outline { text, total } => {
                let summary = format!("outline of {}", count(total, "line"));
                Ok(FileView::text(text, summary))
            }
            ReadContent::Notebook(rendered, snapshot) => {
                self.0.reads.remember(&file, snapshot);
                let now = CurrentView {
                    snapshot,
                    bytes: rendered.text.len(),
                };
                match self.0.shown.show(context, &file, (0, 0), now) {
                    ShowDecision::Unchanged => Ok(unchanged(&file, "")),
                    ShowDecision::Show => Ok(rendered.show(features)),
                }
            }
            ReadContent::Text(excerpt) => {
                self.0.reads.remember(&file, excerpt.snapshot);
                self.0.lines.read(&file);
                let page = lines::render(&file, &excerpt, lines, self.0.marks)?;
                let now = CurrentView {
                    snapshot: excerpt.snapshot,
                    bytes: page.text.len(),
                };
                match self.0.shown.show(context, &file, page.shown, now) {
                    ShowDecision::Unchanged => Ok(unchanged(&file, &page.which)),
                    ShowDecision::Show => Ok(FileView::text(page.text, page.summary)),
                }
            }
        }
    }
}

/// The result for a file that is unchanged in the model's context.
fn unchanged(file: &Location, which: &str) -> FileView {
    let text = format!("[unchanged since you last read it: {}{which}]", file.shown());
    FileView::text(text, "unchanged")
}

/// Reads a file according to its type.
fn content(file: &Location, lines: LineRange, most: usize) -> Result<ReadContent, Error> {
    let head = file.first_bytes(media::SNIFF).map_err(tool_error)?;
    if let Some(kind) = media::MediaKind::of(&head) {
        return media::MediaFile::read(file, kind)
            .map(ReadContent::Media)
            .map_err(tool_error);
    }
    if lines == LineRange::ALL && notebook::is_name(file) {
        let text = file.read_text().map_err(tool_error)?;
        if let Some(rendered) = notebook::render(&text.content, most) {
            return Ok(ReadContent::Notebook(rendered, text.snapshot));
        }
    }
    let cap = ReadFileTool::FACTS.cap;
    let window = LineWindow {
        first: lines.first.max(1),
        last: lines.last,
        max_lines: cap.entries,
        max_bytes: most,
        max_line: cap.line,
    };
    let excerpt = file.read_lines(&window).map_err(tool_error)?;
    let is_cut = excerpt.lines.last().is_some_and(|line| line.number < excerpt.total);
    if lines == LineRange::ALL
        && is_cut
        && let Some(text) = outline::of(file, excerpt.total)
    {
        let total = excerpt.total;
        return Ok(ReadContent::Outline { text, total });
    }
    Ok(ReadContent::Text(excerpt))
}
