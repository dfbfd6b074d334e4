//! Review of the session's changes by file and hunk.

use super::list::hints;
use crate::action::{AppAction, KeyResponse};
use crate::backend::{HunkDecision, ReviewableFile, ReviewableHunk};
use crate::conversation::render_context;
use crate::diff::LineDiff;
use crate::input::Input;
use crate::keys::{KeyAction, KeyChord, KeyContext};
use crate::row::{StyledRow, sanitise};
use crate::view::{ModalView, PendingResult, ViewContext, ViewPlacement, split_operation};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::borrow::Cow;

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
    /// The diffs of each file, when its text has been read.
    texts: Vec<FileText>,
    /// Whether the undo key was pressed once.
    confirms_undo: bool,
}

/// The text of a file, or the diffs of its hunks with context lines.
enum FileText {
    Pending(PendingResult<String>),
    Ready(Vec<LineDiff>),
}

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
        for (text, file) in self.texts.iter_mut().zip(&self.files) {
            if let FileText::Pending(pending) = text
                && let Some(read) = pending.take()
            {
                let path = file.path.display().to_string();
                let diffs = read.map(|now| LineDiff::hunks(&path, &now, &file.hunks, &**cx.backend));
                *text = FileText::Ready(diffs.unwrap_or_default());
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

    fn rows(&self, width: usize, cx: &ViewContext<'_>) -> DiffRows {
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
                let gutter = if is_chosen { "▌ " } else { "  " };
                let diff = match self.texts.get(index) {
                    Some(FileText::Ready(diffs)) => diffs.get(number).map(Cow::Borrowed),
                    Some(FileText::Pending(_)) | None => None,
                };
                let diff = diff.unwrap_or_else(|| Cow::Owned(LineDiff::between(&hunk.before, &hunk.after, hunk.line)));
                let rows = diff.rows(width.saturating_sub(2), usize::MAX, render_context(cx));
                drawn
                    .rows
                    .extend(rows.into_iter().map(|row| row.prefix(gutter, theme.accent)));
                drawn.positions.push((index, number, start, drawn.rows.len()));
            }
        }
        drawn
    }

    fn draw_body(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) {
        let DiffRows {
            rows,
            positions: places,
        } = self.rows(area.width.into(), cx);
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
