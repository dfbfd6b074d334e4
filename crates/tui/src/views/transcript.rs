//! The whole conversation on a screen of its own: to scroll, search, unfold and copy. Only what is seen is drawn.

use crate::conversation::{Entry, Fold, look};
use crate::input::Input;
use crate::keys::{Context, Deed};
use crate::row::{Piece, Row};
use crate::view::{Cx, Outcome, Place, View, Wish};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::collections::HashSet;
use unicode_width::UnicodeWidthStr as _;

/// Before each row there is room for the mark of the chosen entry.
const GUTTER: u16 = 2;

/// The whole conversation.
#[derive(Default)]
pub(crate) struct Transcript {
    /// The entry and the row of it at the top; none follows the end.
    top: Option<(usize, usize)>,
    /// The chosen entry.
    chosen: Option<usize>,
    /// Entries that are folded otherwise than the rest.
    turned: HashSet<usize>,
    /// Whether entries are open unless they are turned.
    open: bool,
    /// What is searched for.
    search: Search,
    height: usize,
    width: usize,
    /// What is done as soon as it is known how much fits.
    first: Option<Deed>,
    /// Something that was just done.
    told: Option<String>,
}

#[derive(Default)]
struct Search {
    text: String,
    /// Whether the person is writing it.
    writing: bool,
}

impl View for Transcript {
    fn place(&self) -> Place {
        Place::Full
    }

    fn handle(&mut self, input: Input, cx: &Cx<'_>) -> Outcome {
        self.told = None;
        match input {
            Input::Key(key) if self.search.writing => self.write_search(&key, cx),
            Input::Key(key) => self.key(&key, cx),
            Input::Paste(text) if self.search.writing => {
                self.search.text.push_str(text.lines().next().unwrap_or_default());
                Outcome::Stay
            }
            Input::Paste(_) | Input::Focus(_) => Outcome::Stay,
        }
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        self.height = usize::from(area.height.saturating_sub(1)).max(1);
        self.width = usize::from(area.width.saturating_sub(GUTTER)).max(1);
        if let Some(deed) = self.first.take() {
            self.act(deed, cx);
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
                if self.chosen == Some(index) {
                    Row::of("▎", cx.theme.accent).draw(area.x, y, 1, buf);
                }
                let row = self.marked(row, cx);
                row.draw(area.x + GUTTER, y, area.width.saturating_sub(GUTTER), buf);
                y += 1;
            }
            skip = 0;
        }
        self.foot(entries.len(), top.0, cx).draw(area.x, end, area.width, buf);
        let column = u16::try_from(self.search.text.width())
            .unwrap_or(u16::MAX)
            .saturating_add(1);
        self.search
            .writing
            .then(|| Position::new(area.x + column.min(area.width.saturating_sub(1)), end))
    }
}

impl Transcript {
    /// The whole conversation with everything unfolded.
    pub(crate) fn unfolded() -> Self {
        Transcript {
            open: true,
            ..Transcript::default()
        }
    }

    /// The whole conversation, moved as a key says; `None` where it says nothing of the kind.
    pub(crate) fn moved(deed: Deed) -> Option<Self> {
        let moves = matches!(deed, Deed::PageUp | Deed::ScrollUp | Deed::Top | Deed::PreviousTurn);
        moves.then(|| Transcript {
            first: Some(deed),
            ..Transcript::default()
        })
    }

    /// Moves as a key says; whether it says anything.
    fn act(&mut self, deed: Deed, cx: &Cx<'_>) -> bool {
        match deed {
            Deed::PageUp => self.up(self.page(), cx),
            Deed::PageDown => self.down(self.page(), cx),
            Deed::ScrollUp => self.up(1, cx),
            Deed::ScrollDown => self.down(1, cx),
            Deed::Top => self.top = Some((0, 0)),
            Deed::Bottom => self.top = None,
            Deed::PreviousTurn => self.choose(cx, false, Entry::is_prompt),
            Deed::NextTurn => self.choose(cx, true, Entry::is_prompt),
            _ => return false,
        }
        true
    }

    fn page(&self) -> usize {
        self.height.saturating_sub(2).max(1)
    }

    /// The whole conversation, to be searched.
    pub(crate) fn searching() -> Self {
        Transcript {
            search: Search {
                writing: true,
                ..Search::default()
            },
            ..Transcript::default()
        }
    }

    fn key(&mut self, key: &KeyEvent, cx: &Cx<'_>) -> Outcome {
        // The key that opened it closes it.
        if let Some(Deed::Transcript | Deed::ToggleDetails) = cx.keys.deed(Context::Everywhere, *key) {
            return Outcome::Close;
        }
        if let Some(deed) = cx.keys.deed(Context::Conversation, *key)
            && self.act(deed, cx)
        {
            return Outcome::Stay;
        }
        let page = self.page();
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, ctrl) {
            (KeyCode::Esc | KeyCode::Char('q'), false) | (KeyCode::Char('c'), true) => return Outcome::Close,
            (KeyCode::Up | KeyCode::Char('k'), _) => self.up(1, cx),
            (KeyCode::Down | KeyCode::Char('j'), _) => self.down(1, cx),
            (KeyCode::PageUp | KeyCode::Char('b'), _) => self.up(page, cx),
            (KeyCode::Char('u'), true) => self.up(page / 2, cx),
            (KeyCode::PageDown | KeyCode::Char(' ' | 'f'), _) => self.down(page, cx),
            (KeyCode::Char('d'), true) => self.down(page / 2, cx),
            (KeyCode::Home | KeyCode::Char('g'), _) => self.top = Some((0, 0)),
            (KeyCode::End | KeyCode::Char('G'), _) => self.top = None,
            (KeyCode::Char('['), _) => self.choose(cx, false, |_| true),
            (KeyCode::Char(']'), _) => self.choose(cx, true, |_| true),
            (KeyCode::Char('{'), _) => self.choose(cx, false, Entry::is_prompt),
            (KeyCode::Char('}'), _) => self.choose(cx, true, Entry::is_prompt),
            (KeyCode::Enter | KeyCode::Tab, _) => self.turn(cx),
            (KeyCode::Char('e'), _) => {
                self.open = !self.open;
                self.turned.clear();
            }
            (KeyCode::Char('/'), _) => self.search.writing = true,
            (KeyCode::Char('n'), _) => self.find(cx, true),
            (KeyCode::Char('N'), _) => self.find(cx, false),
            (KeyCode::Char('y'), _) => return self.copy(cx),
            _ => {}
        }
        Outcome::Stay
    }

    fn write_search(&mut self, key: &KeyEvent, cx: &Cx<'_>) -> Outcome {
        match key.code {
            KeyCode::Enter => {
                self.search.writing = false;
                self.find(cx, false);
            }
            KeyCode::Esc => self.search = Search::default(),
            KeyCode::Backspace => drop(self.search.text.pop()),
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => self.search.text.push(c),
            _ => {}
        }
        Outcome::Stay
    }

    /// The rows of an entry, with the blank one before it.
    fn rows(&self, index: usize, entry: &Entry, cx: &Cx<'_>) -> Vec<Row> {
        let fold = if self.open != self.turned.contains(&index) {
            Fold::Open
        } else {
            Fold::Compact
        };
        let before = index
            .checked_sub(1)
            .and_then(|before| cx.state.conversation.entries.get(before));
        let mut rows = Vec::new();
        if before.is_some_and(|before| entry.wants_gap_after(before)) {
            rows.push(Row::empty());
        }
        rows.extend(entry.rows(self.width, fold, look(cx)));
        rows
    }

    fn length(&self, index: usize, cx: &Cx<'_>) -> usize {
        let entry = cx.state.conversation.entries.get(index);
        entry.map_or(0, |entry| self.rows(index, entry, cx).len())
    }

    /// What is at the top: never so far down that the screen is not filled.
    fn visible_top(&mut self, cx: &Cx<'_>) -> (usize, usize) {
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

    fn up(&mut self, rows: usize, cx: &Cx<'_>) {
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

    fn down(&mut self, rows: usize, cx: &Cx<'_>) {
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

    /// Chooses the next entry that is wanted, and goes there.
    fn choose(&mut self, cx: &Cx<'_>, down: bool, wanted: impl Fn(&Entry) -> bool) {
        let entries = &cx.state.conversation.entries;
        let from = self
            .chosen
            .unwrap_or(if down { self.visible_top(cx).0 } else { entries.len() });
        let is_it = |index: &usize| entries.get(*index).is_some_and(&wanted);
        let found = match down {
            true => (from + 1..entries.len()).find(is_it),
            false => (0..from).rev().find(is_it),
        };
        if let Some(found) = found {
            self.chosen = Some(found);
            self.top = Some((found, 0));
        }
    }

    /// Folds or unfolds the chosen entry, or the last one.
    fn turn(&mut self, cx: &Cx<'_>) {
        let last = cx.state.conversation.entries.len().checked_sub(1);
        if let Some(chosen) = self.chosen.or(last) {
            self.chosen = Some(chosen);
            if !self.turned.remove(&chosen) {
                self.turned.insert(chosen);
            }
        }
    }

    fn copy(&mut self, cx: &Cx<'_>) -> Outcome {
        let entries = &cx.state.conversation.entries;
        let text = self
            .chosen
            .or_else(|| entries.len().checked_sub(1))
            .and_then(|chosen| entries.get(chosen));
        match text.map(Entry::copied) {
            Some(text) => {
                self.told = Some(format!("copied {} characters", text.chars().count()));
                Outcome::Do(Wish::Copy(text))
            }
            None => Outcome::Stay,
        }
    }

    /// Goes to the next entry that says what is searched for.
    fn find(&mut self, cx: &Cx<'_>, down: bool) {
        let wanted = self.search.text.to_lowercase();
        if wanted.is_empty() {
            return;
        }
        let before = self.chosen;
        self.choose(cx, down, |entry| entry.copied().to_lowercase().contains(&wanted));
        if self.chosen == before {
            self.told = Some(format!("`{}` is not there", self.search.text));
        } else if let Some(chosen) = self.chosen {
            // What is found may be folded away.
            let folded = self.open == self.turned.contains(&chosen);
            let shown = self.length(chosen, cx);
            if folded && shown <= 2 {
                self.turned.insert(chosen);
            }
        }
    }

    /// A row in which what is searched for stands out.
    fn marked(&self, row: Row, cx: &Cx<'_>) -> Row {
        let wanted = self.search.text.to_lowercase();
        if wanted.is_empty() || !row.text().to_lowercase().contains(&wanted) {
            return row;
        }
        let mut pieces = Vec::new();
        for piece in row.pieces {
            let lower = piece.text.to_lowercase();
            if lower.len() != piece.text.len() {
                pieces.push(piece);
                continue;
            }
            let mut at = 0;
            for (start, found) in lower.match_indices(&wanted) {
                let part = |range: std::ops::Range<usize>| piece.text.get(range).unwrap_or_default().to_string();
                pieces.push(Piece::new(part(at..start), piece.style));
                pieces.push(Piece::new(part(start..start + found.len()), cx.theme.found));
                at = start + found.len();
            }
            pieces.push(Piece::new(piece.text.get(at..).unwrap_or_default(), piece.style));
        }
        Row::from(pieces)
    }

    fn foot(&self, count: usize, first: usize, cx: &Cx<'_>) -> Row {
        let theme = cx.theme;
        if self.search.writing {
            return Row::of("/", theme.accent).and(self.search.text.clone(), theme.text);
        }
        if let Some(told) = &self.told {
            return Row::of(told.clone(), theme.warn);
        }
        let place = match self.top {
            None => "end".to_string(),
            Some(_) => format!("{} of {count}", first + 1),
        };
        let mut row = Row::of(format!("{place}  "), theme.accent);
        let keys = [
            ("{ }", "turns"),
            ("[ ]", "entries"),
            ("enter", "unfold"),
            ("e", "all"),
            ("/", "search"),
            ("y", "copy"),
            ("q", "close"),
        ];
        for (key, word) in keys {
            row = row.and(key, theme.text).and(format!(" {word}  "), theme.dim);
        }
        row.cut(self.width + usize::from(GUTTER))
    }
}
