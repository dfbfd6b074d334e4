//! The full conversation: scrolling, searching, expanding and copying. Only visible entries are rendered.

use crate::action::{AppAction, KeyResponse};
use crate::conversation::{ConversationEntry, EntryDetail, render_context};
use crate::input::Input;
use crate::keys::{KeyAction, KeyContext};
use crate::row::{StyledRow, StyledSpan};
use crate::view::{ModalView, ViewContext, ViewPlacement};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::collections::HashSet;
use unicode_width::UnicodeWidthStr as _;

/// Columns for the marker of the selected entry.
const GUTTER: u16 = 2;

/// The transcript view.
#[derive(Default)]
pub(crate) struct TranscriptView {
    /// The first visible entry and row; `None` follows the end.
    top: Option<(usize, usize)>,
    /// The selected entry.
    selected: Option<usize>,
    /// Entries with the opposite of the default detail.
    toggled: HashSet<usize>,
    /// Whether entries are expanded by default.
    expanded: bool,
    search: TranscriptSearch,
    height: usize,
    width: usize,
    /// An action to perform when the size is known.
    initial_action: Option<KeyAction>,
    /// A message about the last action.
    message: Option<String>,
}

#[derive(Default)]
struct TranscriptSearch {
    text: String,
    /// Whether the user is typing it.
    editing: bool,
    /// The entry and the row of the last match.
    found: Option<(usize, usize)>,
}

impl ModalView for TranscriptView {
    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn handle(&mut self, input: Input, cx: &ViewContext<'_>) -> KeyResponse {
        self.message = None;
        match input {
            Input::Key(key) if self.search.editing => self.search_key(&key, cx),
            Input::Key(key) => self.key(&key, cx),
            Input::Paste(text) if self.search.editing => {
                self.search.text.push_str(text.lines().next().unwrap_or_default());
                KeyResponse::Handled
            }
            Input::Paste(_) | Input::Focus(_) => KeyResponse::Handled,
        }
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Option<Position> {
        self.height = usize::from(area.height.saturating_sub(1)).max(1);
        self.width = usize::from(area.width.saturating_sub(GUTTER)).max(1);
        if let Some(action) = self.initial_action.take() {
            self.scroll(action, cx);
        }
        let entries = &cx.state.conversation.entries;
        let top = self.visible_top(cx);
        let mut y = area.y;
        let end = area.y + area.height.saturating_sub(1);
        let mut skip = top.1;
        for (index, entry) in entries.iter().enumerate().skip(top.0) {
            if y >= end {
                break;
            }
            for row in self.rows(index, entry, cx).into_iter().skip(skip) {
                if y >= end {
                    break;
                }
                if self.selected == Some(index) {
                    StyledRow::new("▎", cx.theme.accent).draw(area.x, y, 1, buf);
                }
                let row = self.highlight_search(row, cx);
                row.draw(area.x + GUTTER, y, area.width.saturating_sub(GUTTER), buf);
                y += 1;
            }
            skip = 0;
        }
        self.footer(entries.len(), top.0, cx).draw(area.x, end, area.width, buf);
        let column = u16::try_from(self.search.text.width())
            .unwrap_or(u16::MAX)
            .saturating_add(1);
        self.search
            .editing
            .then(|| Position::new(area.x + column.min(area.width.saturating_sub(1)), end))
    }
}

impl TranscriptView {
    /// The transcript with all entries expanded.
    pub(crate) fn expanded() -> Self {
        TranscriptView {
            expanded: true,
            ..TranscriptView::default()
        }
    }

    /// The transcript, scrolled by an action; `None` if the action does not scroll up.
    pub(crate) fn scrolled(action: KeyAction) -> Option<Self> {
        let moves = matches!(
            action,
            KeyAction::PageUp | KeyAction::ScrollUp | KeyAction::Top | KeyAction::PreviousTurn
        );
        moves.then(|| TranscriptView {
            initial_action: Some(action),
            ..TranscriptView::default()
        })
    }

    /// Scrolls by an action; returns whether the action scrolls.
    fn scroll(&mut self, action: KeyAction, cx: &ViewContext<'_>) -> bool {
        match action {
            KeyAction::PageUp => self.up(self.page(), cx),
            KeyAction::PageDown => self.down(self.page(), cx),
            KeyAction::ScrollUp => self.up(1, cx),
            KeyAction::ScrollDown => self.down(1, cx),
            KeyAction::Top => self.top = Some((0, 0)),
            KeyAction::Bottom => self.top = None,
            KeyAction::PreviousTurn => self.select(cx, false, ConversationEntry::is_prompt),
            KeyAction::NextTurn => self.select(cx, true, ConversationEntry::is_prompt),
            _ => return false,
        }
        true
    }

    fn page(&self) -> usize {
        self.height.saturating_sub(2).max(1)
    }

    /// The transcript with an open search.
    pub(crate) fn searching() -> Self {
        TranscriptView {
            search: TranscriptSearch {
                editing: true,
                ..TranscriptSearch::default()
            },
            ..TranscriptView::default()
        }
    }

    fn key(&mut self, key: &KeyEvent, cx: &ViewContext<'_>) -> KeyResponse {
        // The key that opened the transcript also closes it.
        if let Some(KeyAction::Transcript | KeyAction::ToggleDetails) = cx.keys.action(KeyContext::Everywhere, *key) {
            return KeyResponse::close();
        }
        if let Some(action) = cx.keys.action(KeyContext::Conversation, *key)
            && self.scroll(action, cx)
        {
            return KeyResponse::Handled;
        }
        let page = self.page();
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, ctrl) {
            (KeyCode::Esc | KeyCode::Char('q'), false) | (KeyCode::Char('c'), true) => return KeyResponse::close(),
            (KeyCode::Up | KeyCode::Char('k'), _) => self.up(1, cx),
            (KeyCode::Down | KeyCode::Char('j'), _) => self.down(1, cx),
            (KeyCode::PageUp | KeyCode::Char('b'), _) => self.up(page, cx),
            (KeyCode::Char('u'), true) => self.up(page / 2, cx),
            (KeyCode::PageDown | KeyCode::Char(' ' | 'f'), _) => self.down(page, cx),
            (KeyCode::Char('d'), true) => self.down(page / 2, cx),
            (KeyCode::Home | KeyCode::Char('g'), _) => self.top = Some((0, 0)),
            (KeyCode::End | KeyCode::Char('G'), _) => self.top = None,
            (KeyCode::Char('['), _) => self.select(cx, false, |_| true),
            (KeyCode::Char(']'), _) => self.select(cx, true, |_| true),
            (KeyCode::Char('{'), _) => self.select(cx, false, ConversationEntry::is_prompt),
            (KeyCode::Char('}'), _) => self.select(cx, true, ConversationEntry::is_prompt),
            (KeyCode::Enter | KeyCode::Tab, _) => self.toggle_entry(cx),
            (KeyCode::Char('e'), _) => {
                self.expanded = !self.expanded;
                self.toggled.clear();
            }
            (KeyCode::Char('/'), _) => {
                self.selected = None;
                self.search = TranscriptSearch {
                    editing: true,
                    ..TranscriptSearch::default()
                }
            }
            (KeyCode::Char('n'), _) => self.find(cx, true),
            (KeyCode::Char('N'), _) => self.find(cx, false),
            (KeyCode::Char('y'), _) => return self.copy(cx),
            _ => {}
        }
        KeyResponse::Handled
    }

    fn search_key(&mut self, key: &KeyEvent, cx: &ViewContext<'_>) -> KeyResponse {
        match key.code {
            KeyCode::Enter => {
                self.search.editing = false;
                self.find(cx, false);
            }
            KeyCode::Esc => self.search = TranscriptSearch::default(),
            KeyCode::Backspace => drop(self.search.text.pop()),
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => self.search.text.clear(),
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => self.search.text.push(c),
            _ => {}
        }
        KeyResponse::Handled
    }

    /// The rows of an entry, with the blank row before it.
    fn rows(&self, index: usize, entry: &ConversationEntry, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let detail = if self.expanded != self.toggled.contains(&index) {
            EntryDetail::Full
        } else {
            EntryDetail::Compact
        };
        let before = index
            .checked_sub(1)
            .and_then(|before| cx.state.conversation.entries.get(before));
        let mut rows = Vec::new();
        if before.is_some_and(|before| entry.wants_gap_after(before)) {
            rows.push(StyledRow::empty());
        }
        rows.extend(entry.rows(self.width, detail, render_context(cx)));
        rows
    }

    fn length(&self, index: usize, cx: &ViewContext<'_>) -> usize {
        let entry = cx.state.conversation.entries.get(index);
        entry.map_or(0, |entry| self.rows(index, entry, cx).len())
    }

    /// The first visible row, at most so far down that the screen is filled.
    fn visible_top(&mut self, cx: &ViewContext<'_>) -> (usize, usize) {
        let count = cx.state.conversation.entries.len();
        if let Some((entry, row)) = self.top {
            let mut below = self.length(entry, cx).saturating_sub(row);
            let mut index = entry + 1;
            while below < self.height && index < count {
                below += self.length(index, cx);
                index += 1;
            }
            if below >= self.height && entry < count {
                return (entry, row);
            }
        }
        self.top = None;
        let mut index = count;
        let mut rows = 0;
        while rows < self.height && index > 0 {
            index -= 1;
            rows += self.length(index, cx);
        }
        (index, rows.saturating_sub(self.height))
    }

    fn up(&mut self, rows: usize, cx: &ViewContext<'_>) {
        let (mut entry, mut row) = self.visible_top(cx);
        let mut left = rows;
        while left > 0 {
            if row >= left {
                row -= left;
                break;
            }
            left -= row;
            row = 0;
            if entry == 0 {
                break;
            }
            entry -= 1;
            row = self.length(entry, cx);
        }
        self.top = Some((entry, row));
    }

    fn down(&mut self, rows: usize, cx: &ViewContext<'_>) {
        let Some((mut entry, mut row)) = self.top else {
            return;
        };
        row += rows;
        loop {
            let length = self.length(entry, cx);
            if row < length {
                break;
            }
            if entry + 1 >= cx.state.conversation.entries.len() {
                self.top = None;
                return;
            }
            row -= length;
            entry += 1;
        }
        self.top = Some((entry, row));
    }

    /// Selects the next matching entry and scrolls to it.
    fn select(&mut self, cx: &ViewContext<'_>, down: bool, query: impl Fn(&ConversationEntry) -> bool) {
        let entries = &cx.state.conversation.entries;
        let from = self
            .selected
            .unwrap_or(if down { self.visible_top(cx).0 } else { entries.len() });
        let is_it = |index: &usize| entries.get(*index).is_some_and(&query);
        let found = match down {
            true => (from + 1..entries.len()).find(is_it),
            false => (0..from).rev().find(is_it),
        };
        if let Some(found) = found {
            self.selected = Some(found);
            self.top = Some((found, 0));
        }
    }

    /// Expands or collapses the selected entry, or the last one.
    fn toggle_entry(&mut self, cx: &ViewContext<'_>) {
        let last = cx.state.conversation.entries.len().checked_sub(1);
        if let Some(chosen) = self.selected.or(last) {
            self.selected = Some(chosen);
            if !self.toggled.remove(&chosen) {
                self.toggled.insert(chosen);
            }
        }
    }

    fn copy(&mut self, cx: &ViewContext<'_>) -> KeyResponse {
        let entries = &cx.state.conversation.entries;
        let text = self
            .selected
            .or_else(|| entries.len().checked_sub(1))
            .and_then(|chosen| entries.get(chosen));
        match text.map(ConversationEntry::copy_text) {
            Some(text) => {
                self.message = Some(format!("copied {} characters", text.chars().count()));
                KeyResponse::Action(AppAction::Copy(text))
            }
            None => KeyResponse::Handled,
        }
    }

    /// Scrolls to the next row that contains the search text.
    fn find(&mut self, cx: &ViewContext<'_>, down: bool) {
        let query = self.search.text.to_lowercase();
        if query.is_empty() {
            return;
        }
        // A search downwards begins on the screen, one upwards at the end; both continue from the last match.
        let last = self.search.found.filter(|(entry, _)| Some(*entry) == self.selected);
        let from = match (last, self.selected) {
            (Some((entry, row)), _) => Some((entry, if down { row + 1 } else { row })),
            (None, None) if down => Some(self.visible_top(cx)),
            (None, _) => None,
        };
        if let Some((entry, from)) = from {
            let matches = self.matching_rows(entry, &query, cx);
            let next = match down {
                true => matches.into_iter().find(|row| *row >= from),
                false => matches.into_iter().rev().find(|row| *row < from),
            };
            if let Some(row) = next {
                self.selected = Some(entry);
                return self.show_match(entry, row);
            }
        }
        let before = self.selected;
        self.select(cx, down, |entry| entry.copy_text().to_lowercase().contains(&query));
        match self.selected.filter(|_| self.selected != before) {
            None => self.message = Some(format!("`{}` not found", self.search.text)),
            Some(entry) => {
                let mut matches = self.matching_rows(entry, &query, cx);
                // The match may be collapsed.
                if matches.is_empty() && self.expanded == self.toggled.contains(&entry) {
                    self.toggle_entry(cx);
                    matches = self.matching_rows(entry, &query, cx);
                }
                let row = if down { matches.first() } else { matches.last() };
                self.show_match(entry, row.copied().unwrap_or(0));
            }
        }
    }

    /// The rows of an entry that contain the search text.
    fn matching_rows(&self, entry: usize, query: &str, cx: &ViewContext<'_>) -> Vec<usize> {
        let shown = cx.state.conversation.entries.get(entry);
        let rows = shown.map(|shown| self.rows(entry, shown, cx)).unwrap_or_default();
        let is_match = |(at, row): (usize, &StyledRow)| row.text().to_lowercase().contains(query).then_some(at);
        rows.iter().enumerate().filter_map(is_match).collect()
    }

    /// Scrolls to a match, with the beginning of its entry if both fit.
    fn show_match(&mut self, entry: usize, row: usize) {
        self.search.found = Some((entry, row));
        let above = if row < self.height { row } else { self.height / 2 };
        self.top = Some((entry, row - above));
    }

    /// A row with the search text highlighted.
    fn highlight_search(&self, row: StyledRow, cx: &ViewContext<'_>) -> StyledRow {
        let query = self.search.text.to_lowercase();
        if query.is_empty() || !row.text().to_lowercase().contains(&query) {
            return row;
        }
        let mut pieces = Vec::new();
        for piece in row.spans {
            let lower = piece.text.to_lowercase();
            if lower.len() != piece.text.len() {
                pieces.push(piece);
                continue;
            }
            let mut at = 0;
            for (start, found) in lower.match_indices(&query) {
                let part = |range: std::ops::Range<usize>| piece.text.get(range).unwrap_or_default().to_string();
                pieces.push(StyledSpan::new(part(at..start), piece.style));
                pieces.push(StyledSpan::new(part(start..start + found.len()), cx.theme.found));
                at = start + found.len();
            }
            pieces.push(StyledSpan::new(piece.text.get(at..).unwrap_or_default(), piece.style));
        }
        StyledRow::from(pieces)
    }

    fn footer(&self, count: usize, first: usize, cx: &ViewContext<'_>) -> StyledRow {
        let theme = cx.theme;
        if self.search.editing {
            return StyledRow::new("/", theme.accent).push(self.search.text.clone(), theme.text);
        }
        if let Some(message) = &self.message {
            return StyledRow::new(message.clone(), theme.warn);
        }
        let place = match self.top {
            None => "end".to_string(),
            Some(_) => format!("{} of {count}", first + 1),
        };
        let mut row = StyledRow::new(format!("{place}  "), theme.accent);
        let keys = [
            ("{ }", "turns"),
            ("[ ]", "entries"),
            ("enter", "expand"),
            ("e", "all"),
            ("/", "search"),
            ("y", "copy"),
            ("q", "close"),
        ];
        for (key, word) in keys {
            row = row.push(key, theme.text).push(format!(" {word}  "), theme.dim);
        }
        row.truncate(self.width + usize::from(GUTTER))
    }
}
