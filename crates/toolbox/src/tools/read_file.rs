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
use crate::support::project::shown_files::{CurrentView, ShowDecision};
use crate::support::project::{Project, run_blocking, tool_error};
use crate::support::text::count;

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
            (PeerAgent::ClaudeCode, &["Read"]),
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
            && let Some(mut files) = args.get("file").cloned()
        {
            let list = files.as_array_mut().into_iter().flatten();
            list.filter_map(Value::as_object_mut).for_each(read_line_range);
            input.insert("files".into(), files);
        }
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

/// Roo Code writes ranges as `10-20`, one or several per file.
fn read_line_range(file: &mut Map<String, Value>) {
    let ranges = match file.remove("line_range") {
        Some(Value::Array(ranges)) => ranges,
        one => one.into_iter().collect(),
    };
    let bounds = ranges.iter().filter_map(|range| {
        let (first, last) = range.as_str()?.split_once('-')?;
        Some(json!([
            first.trim().parse::<u64>().ok()?,
            last.trim().parse::<u64>().ok()?
        ]))
    });
    let bounds: Vec<Value> = bounds.collect();
    if !bounds.is_empty() {
        file.insert("line_ranges".into(), bounds.into());
    }
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
        all
    }

    fn matching_files(&self, glob: &FileRange) -> Vec<FileRange> {
        let page = ResultPage {
            offset: 0,
            limit: MAX_FILES + 1,
        };
        let query = FindQuery {
            pattern: &glob.path,
            page,
        };
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
