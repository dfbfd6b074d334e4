//! A tool call as a card: title, output or changes, and duration.

use super::call_result::{
    background_job, changes, command_output, images, is_command, is_in_background, result_outcome, result_text,
    was_interrupted,
};
use super::descriptions;
use super::entry::EntryDetail;
use super::entry::attachment;
use super::output_rows::{first_lines, hidden_count, tail, wrapped};
use super::streaming_edits::StreamingEdits;
use crate::backend::{Backend, FileVersions};
use crate::conversation::relative_paths;
use crate::diff::LineDiff;
use crate::format::tool_label;
use crate::keys::KeyAction;
use crate::markdown::RenderContext;
use crate::row::{StyledRow, StyledSpan, sanitise, sanitise_output};
use crate::view::{PendingResult, ViewContext};
use model::{CallId, Part, ToolOutcome};
use serde_json::Value;
use session::{Body, CommandExit, Item, ItemId, PreviewUpdate};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Visible output lines while a tool runs.
const RUNNING_LINES: usize = 5;
/// Visible output lines after it finished.
const FINISHED_LINES: usize = 3;
/// Visible output lines after it failed.
const FAILED_LINES: usize = 8;
/// A running command shows how to move it to the background after this time.
const BACKGROUND_HINT: Duration = Duration::from_secs(5);
/// Visible lines of a change.
const DIFF_LINES: usize = 24;
/// Visible files of a change.
const DIFF_FILES: usize = 6;
/// Maximum bytes of input and output held while a tool runs.
const HELD_BYTES: usize = 16 << 10;

/// A tool call.
pub(crate) struct ToolCard {
    pub(crate) call: CallId,
    tool: String,
    title: String,
    /// The streamed part of the input.
    input: String,
    streaming: StreamingEdits,
    /// The current contents of the files that are being changed.
    bases: Mutex<BTreeMap<PathBuf, BaseText>>,
    /// The changes that the complete call would make.
    planned: OnceLock<Vec<(String, LineDiff)>>,
    /// Whether a question about it is open.
    is_asking: bool,
    /// Whether it finished before the session was loaded; its job may have ended since.
    is_restored: bool,
    stage: CardStage,
    /// The last lines of output.
    last_output: Vec<String>,
    /// The number of lines before them.
    hidden_output: usize,
    /// The last events of its subtask.
    subtask_lines: VecDeque<String>,
    /// The files that it changed.
    changes: CardChanges,
}

/// The contents of a file that is being changed.
enum BaseText {
    Requested(PendingResult<String>),
    Loaded(Arc<str>),
}

enum CardStage {
    /// The model is writing it.
    Writing,
    /// It waits for execution or approval.
    Waiting(Arc<Item>),
    /// It is running.
    Running {
        item: ItemId,
        since: Instant,
        output: String,
        /// Line breaks in output that is no longer held.
        dropped: usize,
    },
    /// It is finished.
    Done(Arc<Item>),
    /// It was interrupted.
    Stopped,
}

/// The changes of a call.
enum CardChanges {
    /// Not requested.
    NotRequested,
    /// Requested.
    Requested(PendingResult<Vec<FileVersions>>),
    /// Loaded.
    Loaded(Vec<(String, LineDiff)>),
}

impl ToolCard {
    /// A call that the model starts to write.
    pub(crate) fn new(call: CallId, tool: &str) -> Self {
        ToolCard {
            call,
            tool: tool.into(),
            title: String::new(),
            input: String::new(),
            streaming: StreamingEdits::default(),
            bases: Mutex::default(),
            planned: OnceLock::new(),
            is_asking: false,
            is_restored: false,
            stage: CardStage::Writing,
            last_output: Vec::new(),
            hidden_output: 0,
            subtask_lines: VecDeque::new(),
            changes: CardChanges::NotRequested,
        }
    }

    /// Appends streamed input.
    pub(super) fn append_input(&mut self, json: &str) {
        if self.input.len() < HELD_BYTES {
            self.input.push_str(json);
        }
    }

    /// Applies a preview update.
    pub(super) fn apply_preview(&mut self, update: &PreviewUpdate) {
        self.streaming.apply(update);
    }

    /// Marks the input as complete.
    pub(super) fn input_complete(&mut self, reply: &Arc<Item>) {
        self.input = String::new();
        if matches!(self.stage, CardStage::Writing) {
            self.stage = CardStage::Waiting(Arc::clone(reply));
        }
    }

    /// Marks the call as running.
    pub(super) fn start(&mut self, item: ItemId, tool: &str, title: &str) {
        self.tool = tool.into();
        self.title = sanitise(title).replace('\n', " ");
        self.stage = CardStage::Running {
            item,
            since: Instant::now(),
            output: String::new(),
            dropped: 0,
        };
    }

    /// Notes that a question about it is open.
    pub(super) fn ask(&mut self) {
        self.is_asking = true;
    }

    /// Restarts the clock after approval, so that waiting is not counted.
    pub(super) fn restart_clock(&mut self) {
        self.is_asking = false;
        if let CardStage::Running { since, .. } = &mut self.stage {
            *since = Instant::now();
        }
    }

    /// The item of a running call.
    pub(super) fn item(&self) -> Option<ItemId> {
        match &self.stage {
            CardStage::Running { item, .. } => Some(*item),
            CardStage::Writing | CardStage::Waiting(_) | CardStage::Done(_) | CardStage::Stopped => None,
        }
    }

    /// Appends output.
    pub(super) fn append_output(&mut self, text: &str) {
        if let CardStage::Running { output, dropped, .. } = &mut self.stage {
            output.push_str(text);
            if output.len() > 2 * HELD_BYTES {
                let from = (output.len() - HELD_BYTES..output.len()).find(|at| output.is_char_boundary(*at));
                *dropped += output.drain(..from.unwrap_or(0)).filter(|c| *c == '\n').count();
            }
        }
    }

    /// Notes that it was loaded from the log.
    pub(super) fn mark_restored(&mut self) {
        self.is_restored = true;
    }

    /// Adds an event of its subtask.
    pub(super) fn add_progress(&mut self, line: String) {
        self.subtask_lines.push_back(sanitise(&line).replace('\n', " "));
        if self.subtask_lines.len() > 3 {
            self.subtask_lines.pop_front();
        }
    }

    /// Marks the call as finished.
    pub(super) fn finish(&mut self, item: &Arc<Item>) {
        if let Body::Result { tool, title, .. } = &item.body {
            self.tool.clone_from(tool);
            // The result of a call that crashed has no title.
            self.title = match title.is_empty() {
                true => self.waiting_title().unwrap_or_default(),
                false => sanitise(title).replace('\n', " "),
            };
        }
        let most = if item.has_failed() {
            FAILED_LINES
        } else {
            FINISHED_LINES
        };
        match &self.stage {
            CardStage::Running { output, dropped, .. } => self.keep_output(&output.clone(), *dropped, most),
            // A restored command shows the output that the model saw.
            _ if is_command(item) => self.keep_output(command_output(&result_text(item)), 0, most),
            _ => {}
        }
        self.streaming = StreamingEdits::default();
        self.bases = Mutex::default();
        self.planned = OnceLock::new();
        self.is_asking = false;
        self.stage = CardStage::Done(Arc::clone(item));
    }

    /// Keeps the last lines of output; `dropped` lines preceded it.
    fn keep_output(&mut self, output: &str, dropped: usize, most: usize) {
        let lines = sanitise_output(output.trim_end());
        let from = match dropped {
            0 => hidden_count(lines.lines().count(), most),
            _ => lines.lines().count().saturating_sub(most),
        };
        self.last_output = lines.lines().skip(from).map(String::from).collect();
        self.hidden_output = from + dropped;
    }

    /// Marks an unfinished call as interrupted when the turn ends.
    pub(super) fn interrupt(&mut self) {
        if !matches!(self.stage, CardStage::Done(_)) {
            if self.title.is_empty() {
                let title = partial_title(&self.input).or_else(|| self.waiting_title());
                self.title = title.unwrap_or_default();
            }
            self.stage = CardStage::Stopped;
        }
    }

    /// Whether the model is still writing it.
    pub(super) fn is_being_written(&self) -> bool {
        matches!(self.stage, CardStage::Writing)
    }

    /// Whether it takes more than its title row.
    pub(super) fn has_body(&self) -> bool {
        match (&self.stage, &self.changes) {
            (CardStage::Done(item), CardChanges::NotRequested | CardChanges::Requested(_)) => !changes(item).is_empty(),
            (_, CardChanges::Loaded(diffs)) => {
                !self.last_output.is_empty() || diffs.iter().any(|(_, diff)| !diff.is_empty())
            }
            (CardStage::Running { output, .. }, _) => !output.is_empty(),

            (CardStage::Writing | CardStage::Waiting(_) | CardStage::Stopped, _) => false,
        }
    }

    /// Whether it no longer changes. Requests its file changes first.
    pub(super) fn is_finished(&mut self, cx: &ViewContext<'_>) -> bool {
        let item = match &self.stage {
            CardStage::Done(item) => item,
            CardStage::Stopped => return true,
            CardStage::Writing | CardStage::Waiting(_) | CardStage::Running { .. } => return false,
        };
        match &self.changes {
            CardChanges::NotRequested if changes(item).is_empty() => self.changes = CardChanges::Loaded(Vec::new()),
            CardChanges::NotRequested => {
                let few = changes(item).iter().take(DIFF_FILES).cloned().collect();
                self.changes = CardChanges::Requested(cx.start(cx.backend.file_versions(few)));
                return false;
            }
            CardChanges::Requested(pending) => match pending.take() {
                Some(found) => {
                    let diffs = found.map(|versions| diff_versions(versions, &**cx.backend));
                    self.changes = CardChanges::Loaded(diffs.unwrap_or_default());
                }
                None => return false,
            },
            CardChanges::Loaded(_) => {}
        }
        true
    }

    /// The text for copying.
    pub(super) fn copy_text(&self) -> String {
        match &self.stage {
            CardStage::Done(item) => result_text(item),
            CardStage::Running { output, .. } => output.clone(),
            CardStage::Writing | CardStage::Waiting(_) | CardStage::Stopped => self.title.clone(),
        }
    }

    /// The partial diff of the change that is being written.
    pub(crate) fn streaming_diff(&self, cx: &ViewContext<'_>) -> Option<LineDiff> {
        let path = self.streaming.path()?;
        self.streaming.diff(&self.base(path, cx)?)
    }

    /// The changes that the complete call would make, by file. `None` until they are known, and if the previews do not show all
    /// of them.
    pub(crate) fn planned_changes(&self, cx: &ViewContext<'_>) -> Option<&[(String, LineDiff)]> {
        if matches!(self.stage, CardStage::Writing) {
            return None;
        }
        if self.planned.get().is_none() {
            let mut planned = Vec::new();
            for path in self.streaming.paths() {
                let before = self.base(path, cx)?;
                let after = self.streaming.apply_to(path, &before)?;
                let name = path.display().to_string();
                let diff = LineDiff::highlighted(&name, &before, &after, &**cx.backend);
                planned.push((name, diff));
            }
            return Some(self.planned.get_or_init(|| planned));
        }
        self.planned.get().map(Vec::as_slice)
    }

    /// Whether the call writes one file that is empty or does not exist.
    pub(crate) fn creates_file(&self, cx: &ViewContext<'_>) -> bool {
        match self.streaming.paths().as_slice() {
            [path] if self.tool == "write_file" => self.base(path, cx).is_some_and(|text| text.is_empty()),
            _ => false,
        }
    }

    /// The tool's name, and the title with the files.
    pub(crate) fn tool_and_title(&self) -> (&str, &str) {
        (&self.tool, &self.title)
    }

    /// The current contents of a file, once they are loaded; empty if it does not exist.
    fn base(&self, path: &Path, cx: &ViewContext<'_>) -> Option<Arc<str>> {
        let mut bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        let base = bases
            .entry(path.to_owned())
            .or_insert_with(|| BaseText::Requested(cx.start(cx.backend.read_file(path.to_owned()))));
        if let BaseText::Requested(pending) = base {
            let text = pending.take()?.unwrap_or_default();
            *base = BaseText::Loaded(text.into());
        }
        match base {
            BaseText::Loaded(text) => Some(Arc::clone(text)),
            BaseText::Requested(_) => None,
        }
    }

    pub(super) fn rows(&self, width: usize, detail: EntryDetail, context: RenderContext<'_>) -> Vec<StyledRow> {
        let mut rows = vec![self.head(width, context)];
        match &self.stage {
            CardStage::Writing | CardStage::Waiting(_) | CardStage::Stopped => {}
            CardStage::Running { output, dropped, .. } => {
                rows.extend(tail(output, RUNNING_LINES, *dropped, width, context));
                rows.extend(
                    self.subtask_lines
                        .iter()
                        .map(|line| StyledRow::new(format!("  │ {line}"), context.theme.dim).truncate(width)),
                );
            }
            CardStage::Done(item) => rows.extend(self.result_rows(item, width, detail, context)),
        }
        rows
    }

    /// Rows of the change that is being written.
    pub(super) fn streaming_rows(&self, width: usize, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        if !matches!(self.stage, CardStage::Writing | CardStage::Waiting(_)) {
            return Vec::new();
        }
        let rows = self
            .streaming_diff(cx)
            .map(|diff| diff.rows(width.saturating_sub(2), usize::MAX, super::render_context(cx)));
        let rows = rows.unwrap_or_default();
        let excess = rows.len().saturating_sub(DIFF_LINES / 2);
        rows.into_iter()
            .skip(excess)
            .map(|row| row.prefix("  ", cx.theme.dim))
            .collect()
    }

    fn head(&self, width: usize, context: RenderContext<'_>) -> StyledRow {
        let theme = context.theme;
        let (mark, style) = match &self.stage {
            CardStage::Writing => ("○", theme.dim),
            CardStage::Waiting(_) => ("○", theme.accent),
            CardStage::Running { .. } if self.is_asking => ("○", theme.accent),
            CardStage::Running { since, .. } => (spinner(since.elapsed()), theme.accent),
            CardStage::Done(item) if was_interrupted(item) => ("◌", theme.warn),
            CardStage::Done(item) if item.has_failed() => ("✗", theme.bad),
            CardStage::Done(item) if is_in_background(item) => ("◐", theme.accent),
            CardStage::Done(_) => ("●", theme.good),
            CardStage::Stopped => ("◌", theme.warn),
        };
        let title = match self.title.is_empty() {
            true => partial_title(&self.input)
                .or_else(|| self.waiting_title())
                .unwrap_or_default(),
            false => self.title.clone(),
        };
        let title = match tool_label(&self.tool) {
            // A command is shown as it runs.
            "Run" => title,
            _ => relative_paths(&title, context.root),
        };
        let mut row = StyledRow::new(format!("{mark} "), style).push(tool_label(&self.tool), theme.strong);
        if !title.is_empty() {
            row = row.push(format!(" {title}"), theme.text);
        }
        let mut behind = Vec::new();
        if let CardChanges::Loaded(diffs) = &self.changes {
            for (_, diff) in diffs.iter().filter(|(_, diff)| !diff.is_empty()).take(1) {
                behind.push(StyledSpan::new("  ", theme.dim));
                behind.extend(diff.counts(theme));
            }
        }
        let dim = |text: String| StyledSpan::new(text, theme.dim);
        match &self.stage {
            CardStage::Running { .. } if self.is_asking => {}
            CardStage::Running { since, .. } if since.elapsed() >= Duration::from_secs(1) => {
                behind.push(dim(format!("  {}", descriptions::elapsed(since.elapsed()))));
                let key = context.keys.hint(KeyAction::Background);
                if self.tool == "terminal" && since.elapsed() >= BACKGROUND_HINT && !key.is_empty() {
                    behind.push(dim(format!(" · {key} moves it to the background")));
                }
            }
            CardStage::Done(item) => {
                if let Some(job) = background_job(item) {
                    behind.push(dim(match self.is_restored {
                        true => format!(" · moved to the background as {job}"),
                        false => format!(" · running in the background as {job} · /jobs"),
                    }));
                } else if let Body::Result {
                    summary, millis, exit, ..
                } = &item.body
                {
                    // The mark shows that a command succeeded, and the counts show how much of one place changed.
                    let is_shown = |text: &&str| *exit != Some(CommandExit::Code(0)) && *text != "1 place";
                    let summary = summary.as_deref().filter(is_shown);
                    let summary = summary.map(|text| sanitise(text).replace('\n', " "));
                    if let Some(summary) = summary.as_deref().filter(|text| !text.is_empty()) {
                        behind.push(dim(format!(" · {summary}")));
                    }
                    let has_duration = summary
                        .as_deref()
                        .is_some_and(|text| text.ends_with(['s', 'm']) && text.contains(char::is_numeric));
                    if *millis >= 100 && !has_duration {
                        behind.push(dim(format!(
                            " · {}",
                            descriptions::elapsed(Duration::from_millis(*millis))
                        )));
                    }
                }
            }
            CardStage::Stopped => behind.push(dim(" · interrupted".into())),
            CardStage::Writing | CardStage::Waiting(_) | CardStage::Running { .. } => {}
        }
        let behind = StyledRow::from(behind);
        let room = width.saturating_sub(behind.width().min(width / 2));
        let mut row = row.truncate(room);
        row.spans.extend(behind.spans);
        row.truncate(width)
    }

    /// The title of a call that has not started, from its input.
    fn waiting_title(&self) -> Option<String> {
        let CardStage::Waiting(reply) = &self.stage else {
            return None;
        };
        let input = reply.message()?.parts.iter().find_map(|part| match part {
            Part::ToolCall { id, input, .. } if *id == self.call => Some(input),
            _ => None,
        })?;
        let text = TITLE_FIELDS
            .iter()
            .find_map(|field| input.get(field).and_then(Value::as_str))?;
        Some(sanitise(text).replace('\n', " "))
    }

    /// Rows of the result.
    fn result_rows(
        &self,
        item: &Item,
        width: usize,
        detail: EntryDetail,
        context: RenderContext<'_>,
    ) -> Vec<StyledRow> {
        let theme = context.theme;
        let mut rows = Vec::new();
        if let CardChanges::Loaded(diffs) = &self.changes {
            // A created folder has no diff.
            let shown = || diffs.iter().filter(|(_, diff)| !diff.is_empty());
            let many = shown().count() > 1;
            for (path, diff) in shown() {
                if many {
                    let mut row = StyledRow::new(format!("  {path}  "), theme.text);
                    row.spans.extend(diff.counts(theme));
                    rows.push(row.truncate(width));
                }
                let most = match detail {
                    EntryDetail::Compact => DIFF_LINES,
                    EntryDetail::Full => usize::MAX,
                };
                let lines = diff.rows(width.saturating_sub(2), most, context);
                rows.extend(lines.into_iter().map(|row| row.prefix("  ", theme.dim)));
            }
        }
        match detail {
            EntryDetail::Full => rows.extend(wrapped(&result_text(item), width, context)),
            // The end of a failed command's output has the reason; other errors begin with it.
            EntryDetail::Compact if result_outcome(item) == ToolOutcome::Error && is_command(item) => {
                rows.extend(tail(&result_text(item), FAILED_LINES, 0, width, context))
            }
            EntryDetail::Compact if result_outcome(item) == ToolOutcome::Error => {
                rows.extend(first_lines(&result_text(item), FAILED_LINES, width, context))
            }
            EntryDetail::Compact => {
                let text = self.last_output.join("\n");
                rows.extend(tail(&text, usize::MAX, self.hidden_output, width, context))
            }
        }
        rows.extend(images(item).map(|media| attachment(media, width, context)));
        rows
    }
}

/// Input fields that describe a call, most descriptive first.
const TITLE_FIELDS: &[&str] = &[
    "command",
    "path",
    "file_path",
    "pattern",
    "query",
    "url",
    "question",
    "task",
    "prompt",
    "name",
];

/// A title from partial input.
fn partial_title(input: &str) -> Option<String> {
    let (_, rest) = TITLE_FIELDS
        .iter()
        .find_map(|field| input.split_once(&format!("\"{field}\"")))?;
    let text = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let end = text.find(['"', '\\']).unwrap_or(text.len().min(80));
    text.get(..end).map(sanitise)
}

fn spinner(elapsed: Duration) -> &'static str {
    const SIGNS: [&str; 4] = ["◐", "◓", "◑", "◒"];
    let turn = usize::try_from(elapsed.as_millis() / 200).unwrap_or(0);
    SIGNS.get(turn % SIGNS.len()).copied().unwrap_or("◐")
}

fn diff_versions(contents: Vec<FileVersions>, backend: &dyn Backend) -> Vec<(String, LineDiff)> {
    let diff = |contents: FileVersions| {
        let path = contents.path.display().to_string();
        let diff = LineDiff::highlighted(
            &path,
            contents.before.as_deref().unwrap_or_default(),
            contents.after.as_deref().unwrap_or_default(),
            backend,
        );
        (path, diff)
    };
    contents.into_iter().map(diff).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{FakeBackend, ViewHarness as Scenery};

    #[test]
    fn a_card_with_one_file_names_it_once() {
        let scenery = Scenery::new(FakeBackend::default());
        let contents = |path: &str, after: Option<&str>| FileVersions {
            path: path.into(),
            before: None,
            after: after.map(Into::into),
        };
        let rows = |changed: Vec<FileVersions>| {
            let mut card = ToolCard::new(CallId::from("1"), "write_file");
            card.finish(&crate::app_tests::result(
                "1",
                "write_file",
                "new/a.txt",
                "",
                ToolOutcome::Ok,
            ));
            card.changes = CardChanges::Loaded(diff_versions(changed, &FakeBackend::default()));
            let rows = card.rows(80, EntryDetail::Compact, super::super::render_context(&scenery.cx()));
            let text = |row: &StyledRow| row.spans.iter().map(|piece| piece.text.as_str()).collect::<String>();
            rows.iter().map(text).collect::<Vec<_>>().join("\n")
        };
        let one = rows(vec![contents("new", None), contents("new/a.txt", Some("one\n"))]);
        assert_eq!(one.matches("new/a.txt").count(), 1, "{one}");
        let two = rows(vec![
            contents("b.txt", Some("two\n")),
            contents("new/a.txt", Some("one\n")),
        ]);
        assert!(two.contains("  b.txt"), "{two}");
    }
}
