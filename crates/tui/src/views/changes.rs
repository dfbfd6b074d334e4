//! Review of the session's changes by file and hunk.

use super::list::hints;
use crate::action::{AppAction, KeyResponse};
use crate::backend::{HunkDecision, ReviewableFile, ReviewableHunk};
use crate::input::Input;
use crate::keys::{KeyAction, KeyChord, KeyContext};
use crate::row::{StyledRow, sanitise};
use crate::view::{ModalView, PendingResult, ViewContext, ViewPlacement, split_operation};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use similar::DiffTag;

/// Larger hunks are not compared word by word.
const MAX_WORD_DIFF_LINES: usize = 200;

/// The changes view.
#[derive(Default)]
pub(crate) struct ChangesView {
    files: Vec<ReviewableFile>,
    loaded: bool,
    loading: Option<PendingResult<Vec<ReviewableFile>>>,
    operation: Option<PendingResult<String>>,
    message: Option<(bool, String)>,
    /// The selected hunk: its file and its index there.
    file: usize,
    hunk: usize,
    top: usize,
    /// The current text of each file, when it has been read.
    texts: Vec<FileText>,
    /// Whether the undo key was pressed once.
    confirms_undo: bool,
}

/// The text of a file for context lines.
enum FileText {
    Pending(PendingResult<String>),
    Ready(Vec<String>),
}

/// Context lines before and after a hunk.
const CONTEXT_LINES: usize = 3;
/// Maximum files with context lines.
const MAX_CONTEXT_FILES: usize = 100;

/// Rows of the whole diff and the position of each hunk.
struct DiffRows {
    rows: Vec<StyledRow>,
    /// File, hunk, first row and end row.
    positions: Vec<(usize, usize, usize, usize)>,
}

impl ChangesView {
    fn apply_results(&mut self, cx: &ViewContext<'_>) {
        for text in &mut self.texts {
            if let FileText::Pending(pending) = text
                && let Some(read) = pending.take()
            {
                let lines = read.map(|text| text.lines().map(String::from).collect());
                *text = FileText::Ready(lines.unwrap_or_default());
            }
        }
        if !self.loaded && self.loading.is_none() {
            self.loading = Some(cx.start(cx.backend.pending_changes()));
        }
        if let Some(answer) = self.operation.as_ref().and_then(PendingResult::take) {
            self.operation = None;
            self.message = Some(match answer {
                Ok(text) => (true, text),
                Err(error) => (false, error.to_string()),
            });
            self.loading = Some(cx.start(cx.backend.pending_changes()));
        }
        if let Some(answer) = self.loading.as_ref().and_then(PendingResult::take) {
            self.loading = None;
            self.loaded = true;
            match answer {
                Ok(files) => self.set_files(files, cx),
                Err(error) => self.message = Some((false, error.to_string())),
            }
            self.file = self.file.min(self.files.len().saturating_sub(1));
            self.hunk = self.hunk.min(self.hunks().saturating_sub(1));
        }
    }

    fn set_files(&mut self, files: Vec<ReviewableFile>, cx: &ViewContext<'_>) {
        let read = |(at, file): (usize, &ReviewableFile)| match at < MAX_CONTEXT_FILES && file.no_diff_reason.is_none()
        {
            true => FileText::Pending(cx.start(cx.backend.read_file(file.path.clone()))),
            false => FileText::Ready(Vec::new()),
        };
        self.texts = files.iter().enumerate().map(read).collect();
        self.files = files;
    }

    /// Unchanged lines around a hunk: before and after it.
    fn context(&self, file: usize, hunk: &ReviewableHunk) -> (&[String], &[String]) {
        let Some(FileText::Ready(lines)) = self.texts.get(file) else {
            return (&[], &[]);
        };
        let first = hunk.line.saturating_sub(1);
        let end = first + hunk.after.lines().count();
        let before = lines
            .get(first.saturating_sub(CONTEXT_LINES)..first)
            .unwrap_or_default();
        let after = lines
            .get(end..(end + CONTEXT_LINES).min(lines.len()))
            .unwrap_or_default();
        (before, after)
    }

    /// Accepts all changes.
    fn accept_all(&mut self, cx: &ViewContext<'_>) -> KeyResponse {
        let hunks = self.files.iter().flat_map(|file| &file.hunks);
        let verdicts = hunks.map(|hunk| (hunk.id.clone(), HunkDecision::Accept)).collect();
        self.decide(verdicts, cx)
    }

    fn hunks(&self) -> usize {
        self.files.get(self.file).map_or(0, |file| file.hunks.len())
    }

    fn selected(&self) -> Option<&ReviewableHunk> {
        self.files.get(self.file)?.hunks.get(self.hunk)
    }

    fn step(&mut self, forward: bool) {
        match forward {
            true if self.hunk + 1 < self.hunks() => self.hunk += 1,
            true if self.file + 1 < self.files.len() => {
                self.file += 1;
                self.hunk = 0;
            }
            false if self.hunk > 0 => self.hunk -= 1,
            false if self.file > 0 => {
                self.file -= 1;
                self.hunk = self.hunks().saturating_sub(1);
            }
            true | false => {}
        }
    }

    fn step_file(&mut self, forward: bool) {
        self.hunk = 0;
        self.file = match forward {
            true => (self.file + 1).min(self.files.len().saturating_sub(1)),
            false => self.file.saturating_sub(1),
        };
    }

    /// Accepts or reverts the hunk or its whole file.
    fn review(&mut self, verdict: HunkDecision, whole_file: bool, cx: &ViewContext<'_>) -> KeyResponse {
        if self.operation.is_some() {
            return KeyResponse::Handled;
        }
        let Some(file) = self.files.get(self.file) else {
            return KeyResponse::Handled;
        };
        let hunks: Vec<&ReviewableHunk> = match whole_file {
            true => file.hunks.iter().collect(),
            false => self.selected().into_iter().collect(),
        };
        if verdict == HunkDecision::Reject && hunks.iter().any(|hunk| !hunk.rejectable) {
            self.message = Some((false, "cannot revert: the text was changed afterwards".into()));
            return KeyResponse::Handled;
        }
        let verdicts = hunks.into_iter().map(|hunk| (hunk.id.clone(), verdict)).collect();
        self.decide(verdicts, cx)
    }

    fn decide(&mut self, verdicts: Vec<(String, HunkDecision)>, cx: &ViewContext<'_>) -> KeyResponse {
        if cx.state.is_working() {
            self.message = Some((false, "interrupt the turn first (esc)".into()));
            return KeyResponse::Handled;
        }
        if verdicts.is_empty() || self.operation.is_some() {
            return KeyResponse::Handled;
        }
        let (pending, later) = split_operation(cx.backend.review_changes(verdicts), cx.redraw);
        self.operation = Some(pending);
        KeyResponse::Action(AppAction::AwaitOperation(later))
    }

    fn key(&mut self, key: KeyChord, cx: &ViewContext<'_>) -> KeyResponse {
        self.message = None;
        let confirms_undo = std::mem::take(&mut self.confirms_undo);
        let action = cx.keys.action(KeyContext::Changes, key);
        match action.or_else(|| cx.keys.action(KeyContext::List, key)) {
            Some(KeyAction::NextHunk) => self.step(true),
            Some(KeyAction::PreviousHunk) => self.step(false),
            Some(KeyAction::NextFile) => self.step_file(true),
            Some(KeyAction::PreviousFile) => self.step_file(false),
            Some(KeyAction::AcceptHunk) => return self.review(HunkDecision::Accept, false, cx),
            Some(KeyAction::RejectHunk) => return self.review(HunkDecision::Reject, false, cx),
            Some(KeyAction::AcceptFile) => return self.review(HunkDecision::Accept, true, cx),
            Some(KeyAction::RejectFile) => return self.review(HunkDecision::Reject, true, cx),
            Some(KeyAction::AcceptAll) => return self.accept_all(cx),
            Some(KeyAction::UndoTurn) if confirms_undo => {
                return KeyResponse::close_and(AppAction::Key(KeyAction::UndoTurn));
            }
            Some(KeyAction::UndoTurn) => {
                self.confirms_undo = true;
                let key = cx.keys.hint(KeyAction::UndoTurn);
                let text = format!("{key} again undoes all file changes of the last turn; any other key cancels");
                self.message = Some((false, text));
            }
            Some(KeyAction::RedoTurn) => return KeyResponse::close_and(AppAction::Key(KeyAction::RedoTurn)),
            // The key only cancels the confirmation.
            Some(KeyAction::Close | KeyAction::Interrupt | KeyAction::Cancel | KeyAction::Leave) if confirms_undo => {}
            Some(KeyAction::Close | KeyAction::Interrupt | KeyAction::Cancel | KeyAction::Leave) => {
                return KeyResponse::close();
            }
            Some(KeyAction::Suspend | KeyAction::Redraw) => return KeyResponse::Ignored,
            Some(_) | None => {}
        }
        KeyResponse::Handled
    }

    fn rows(&self, cx: &ViewContext<'_>) -> DiffRows {
        let theme = cx.theme;
        let mut drawn = DiffRows {
            rows: Vec::new(),
            positions: Vec::new(),
        };
        for (index, file) in self.files.iter().enumerate() {
            if index > 0 {
                drawn.rows.push(StyledRow::empty());
            }
            let head = drawn.rows.len();
            let (added, removed) = counts(file);
            let title = StyledRow::new(file.path.display().to_string(), theme.strong)
                .push(format!("  {}", file.status), theme.dim);
            // Binary files have no line counts.
            drawn.rows.push(match file.no_diff_reason {
                Some(_) => title,
                None => title
                    .push(format!("  +{added}"), theme.good)
                    .push(format!(" −{removed}"), theme.bad),
            });
            if let Some(why) = &file.no_diff_reason {
                drawn.rows.push(StyledRow::new(format!("  {why}"), theme.dim));
            }
            for (number, hunk) in file.hunks.iter().enumerate() {
                let start = if number == 0 { head } else { drawn.rows.len() };
                let is_chosen = (index, number) == (self.file, self.hunk);
                let mark = if is_chosen { "› " } else { "  " };
                let mixed = if hunk.has_user_edits {
                    "  includes your edits"
                } else {
                    ""
                };
                drawn.rows.push(
                    StyledRow::new(mark, theme.accent)
                        .push(place(file, hunk), theme.hunk)
                        .push(mixed, theme.warn),
                );
                let (before, after) = self.context(index, hunk);
                let unchanged = |line: &String| {
                    let gutter = if is_chosen { "▌ " } else { "  " };
                    StyledRow::new(gutter, theme.accent).push(format!("  {}", sanitise(line)), theme.dim)
                };
                drawn.rows.extend(before.iter().map(unchanged));
                drawn.rows.extend(diff(hunk, is_chosen, cx));
                drawn.rows.extend(after.iter().map(unchanged));
                drawn.positions.push((index, number, start, drawn.rows.len()));
            }
        }
        drawn
    }

    fn draw_body(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) {
        let DiffRows {
            rows,
            positions: places,
        } = self.rows(cx);
        let height = usize::from(area.height);
        let here = places
            .iter()
            .find(|(file, hunk, ..)| (*file, *hunk) == (self.file, self.hunk));
        if let Some((_, _, start, end)) = here {
            // Scroll to the whole hunk if it fits, otherwise to its start.
            self.top = self.top.max(end.saturating_sub(height)).min(*start);
        }
        self.top = self.top.min(rows.len().saturating_sub(height));
        for (row, y) in rows.into_iter().skip(self.top).zip(area.top()..area.bottom()) {
            row.truncate(area.width.into()).draw(area.x, y, area.width, buf);
        }
    }
}

impl ModalView for ChangesView {
    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn handle(&mut self, input: Input, cx: &ViewContext<'_>) -> KeyResponse {
        match input {
            Input::Key(event) => self.key(KeyChord::from(event), cx),
            Input::Paste(_) | Input::Focus(_) => KeyResponse::Handled,
        }
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Option<Position> {
        self.apply_results(cx);
        if area.height < 3 {
            return None;
        }
        let theme = cx.theme;
        let hunks: usize = self.files.iter().map(|file| file.hunks.len()).sum();
        let count = match (self.loaded, hunks) {
            (false, _) => "…".to_owned(),
            (true, _) => format!("{} in {}", plural(hunks, "change"), plural(self.files.len(), "file")),
        };
        StyledRow::new("Changes", theme.title)
            .push(format!("  {count}"), theme.dim)
            .draw(area.x, area.y, area.width, buf);
        let body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
        if self.loaded && self.files.is_empty() {
            StyledRow::new("  no changes to review", theme.dim).draw(body.x, body.y, body.width, buf);
        }
        self.draw_body(body, buf, cx);
        let foot = match &self.message {
            Some((true, text)) => StyledRow::new(sanitise(text).replace('\n', "; "), theme.good),
            Some((false, text)) => StyledRow::new(sanitise(text).replace('\n', "; "), theme.bad),
            None if self.operation.is_some() => StyledRow::new("…", theme.dim),
            None => hints(
                &[
                    KeyAction::Close,
                    KeyAction::AcceptHunk,
                    KeyAction::RejectHunk,
                    KeyAction::AcceptAll,
                    KeyAction::UndoTurn,
                    KeyAction::NextHunk,
                    KeyAction::AcceptFile,
                    KeyAction::RejectFile,
                    KeyAction::NextFile,
                ],
                "",
                area.width,
                cx,
            ),
        };
        foot.truncate(area.width.into())
            .draw(area.x, area.bottom() - 1, area.width, buf);
        None
    }

    fn handle_event(&mut self, event: &session::Event, cx: &ViewContext<'_>) {
        let reviewed = match event {
            session::Event::ItemFinished { item } => matches!(item.body, session::Body::Review { .. }),
            event => matches!(event, session::Event::TurnFinished { .. }),
        };
        if reviewed {
            self.loading = Some(cx.start(cx.backend.pending_changes()));
        }
    }
}

/// Removed and added lines of a hunk, with the changed words highlighted.
fn diff(hunk: &ReviewableHunk, is_chosen: bool, cx: &ViewContext<'_>) -> Vec<StyledRow> {
    let theme = cx.theme;
    let gutter = if is_chosen { "▌ " } else { "  " };
    let row = |sign: &str, text: &str, style| {
        let text = sanitise(text.trim_end_matches('\n'));
        StyledRow::new(gutter, theme.accent).push(sign, style).push(text, style)
    };
    let before: Vec<&str> = hunk.before.lines().collect();
    let after: Vec<&str> = hunk.after.lines().collect();
    if before.len() != after.len() || before.len() > MAX_WORD_DIFF_LINES {
        let removed = before.iter().map(|line| row("− ", line, theme.removed));
        let added = after.iter().map(|line| row("+ ", line, theme.added));
        return removed.chain(added).collect();
    }
    let pairs: Vec<(StyledRow, StyledRow)> = before
        .iter()
        .zip(&after)
        .map(|(old, new)| words(old, new, cx))
        .collect();
    let (removed, added): (Vec<StyledRow>, Vec<StyledRow>) = pairs.into_iter().unzip();
    removed
        .into_iter()
        .chain(added)
        .map(|line| line.prefix(gutter, theme.accent))
        .collect()
}

/// A line before and after, with the changed words highlighted.
fn words(old: &str, new: &str, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
    let theme = cx.theme;
    let (old, new) = (sanitise(old), sanitise(new));
    let mut removed = StyledRow::new("− ", theme.removed);
    let mut added = StyledRow::new("+ ", theme.added);
    let (old, new) = (edit::words(&old), edit::words(&new));
    for op in edit::compare(&old, &new, None) {
        let (tag, before, after) = op.as_tag_tuple();
        let (went, came) = match tag {
            DiffTag::Equal => (theme.removed, theme.added),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => (theme.removed_words, theme.added_words),
        };
        for word in old.get(before).unwrap_or_default() {
            removed = removed.push(*word, went);
        }
        for word in new.get(after).unwrap_or_default() {
            added = added.push(*word, came);
        }
    }
    (removed, added)
}

/// The location of a change.
fn place(file: &ReviewableFile, hunk: &ReviewableHunk) -> String {
    match file.no_diff_reason {
        Some(_) => "whole file".into(),
        None => format!("line {}", hunk.line),
    }
}

fn counts(file: &ReviewableFile) -> (usize, usize) {
    let lines = |text: &dyn Fn(&ReviewableHunk) -> usize| file.hunks.iter().map(text).sum();
    (
        lines(&|hunk| hunk.after.lines().count()),
        lines(&|hunk| hunk.before.lines().count()),
    )
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
