//! A searchable list with key actions on the selected row.

use super::field::InputField;
use super::scroll::ScrollState;
use crate::action::{AppAction, KeyResponse};
use crate::composer::highlight_matches;
use crate::fuzzy::FuzzySearch;
use crate::input::Input;
use crate::keys::{KeyAction, KeyChord, KeyContext};
use crate::row::StyledRow;
use crate::view::{ModalView, PendingResult, ViewContext, ViewPlacement};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::sync::Arc;

/// The contents of a list and the actions of its keys.
pub(crate) trait ListSource: Send {
    /// The data of a row.
    type Item: Send + 'static;

    fn title(&self) -> String;

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Inline(14)
    }

    /// Loads the rows.
    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<Self::Item>;

    /// The searchable text, shown first in a row.
    fn name(&self, entry: &Self::Item) -> String;

    /// Text after the name, and at the right end of the row.
    fn columns(&self, entry: &Self::Item, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let _ = (entry, cx);
        (StyledRow::empty(), StyledRow::empty())
    }

    /// A marker before the name.
    fn marker(&self, entry: &Self::Item, cx: &ViewContext<'_>) -> Option<StyledRow> {
        let _ = (entry, cx);
        None
    }

    /// Details of the selected row, shown in full-screen lists.
    fn detail(&self, entry: &Self::Item, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let _ = (entry, width, cx);
        Vec::new()
    }

    /// Chooses a row.
    fn choose(&mut self, entry: &Self::Item, cx: &ViewContext<'_>) -> ListResponse;

    /// Performs an action on a row. `None` if the action is not available.
    fn perform(&mut self, action: KeyAction, entry: &Self::Item, cx: &ViewContext<'_>) -> Option<ListResponse> {
        let _ = (action, entry, cx);
        None
    }

    /// Handles the text entered for [`ListResponse::Ask`].
    fn submit_text(
        &mut self,
        action: KeyAction,
        text: String,
        entry: &Self::Item,
        cx: &ViewContext<'_>,
    ) -> ListResponse {
        let _ = (action, text, entry, cx);
        ListResponse::Stay
    }

    /// Actions shown at the bottom, the most important first.
    fn key_hints(&self) -> &'static [KeyAction] {
        &[KeyAction::Close, KeyAction::Choose]
    }

    /// Other actions that [`ListSource::perform`] handles, shown with their state as [`ListSource::adjustment`].
    fn adjusting_actions(&self) -> &'static [KeyAction] {
        &[]
    }

    /// What the adjusting actions change, for the selected row.
    fn adjustment(&self, entry: &Self::Item, cx: &ViewContext<'_>) -> String {
        let _ = (entry, cx);
        String::new()
    }

    /// How many rows are listed until the user searches or moves beyond them.
    fn suggested(&self, entries: &[Self::Item], cx: &ViewContext<'_>) -> usize {
        let _ = cx;
        entries.len()
    }

    /// The label of the choose key.
    fn choose_label(&self) -> &'static str {
        "choose"
    }

    /// Shown if the list is empty.
    fn empty_text(&self) -> &'static str {
        "empty"
    }

    /// The row that is selected first.
    fn initial_row(&self, entries: &[Self::Item], cx: &ViewContext<'_>) -> usize {
        let _ = (entries, cx);
        0
    }

    /// Whether session events reload the rows.
    fn is_live(&self) -> bool {
        false
    }
}

/// Rows that are available or being loaded.
pub(crate) enum ListItems<T> {
    Ready(Vec<T>),
    Pending(PendingResult<Vec<T>>),
}

/// How a list responds to a key.
pub(crate) enum ListResponse {
    /// Nothing.
    Stay,
    /// Perform an action of the app.
    Act(AppAction),
    /// Ask for text: the action that needs it, the label and the initial text.
    Ask(KeyAction, String, String),
    /// Wait for an operation, then reload the rows.
    Await(PendingResult<String>),
    /// The same, and perform an action of the app now.
    AwaitAnd(PendingResult<String>, AppAction),
    /// Reload the rows.
    Reload,
}

impl ListResponse {
    /// Closes the list.
    pub(crate) fn close() -> Self {
        ListResponse::Act(AppAction::CloseView)
    }

    /// Closes the list, then performs an action.
    pub(crate) fn close_and(action: AppAction) -> Self {
        ListResponse::Act(action.after_closing())
    }
}

/// A searchable list.
pub(crate) struct ListView<S: ListSource> {
    source: S,
    items: Vec<S::Item>,
    names: Arc<Vec<String>>,
    fuzzy: FuzzySearch,
    filter: InputField,
    scroll: ScrollState,
    loading: Option<PendingResult<Vec<S::Item>>>,
    operation: Option<PendingResult<String>>,
    text_input: Option<(KeyAction, String, InputField)>,
    message: Option<(bool, String)>,
    loaded: bool,
    page: usize,
    /// Rows below the visible ones.
    below: usize,
    /// The number of rows that are listed without a search.
    suggested: usize,
}

impl<S: ListSource> ListView<S> {
    /// Creates a list that loads its rows when it is first drawn.
    pub(crate) fn new(source: S) -> Self {
        ListView {
            source,
            items: Vec::new(),
            names: Arc::default(),
            fuzzy: FuzzySearch::names(Arc::default()),
            filter: InputField::default(),
            scroll: ScrollState::default(),
            loading: None,
            operation: None,
            text_input: None,
            message: None,
            loaded: false,
            page: 10,
            below: 0,
            suggested: usize::MAX,
        }
    }

    fn load(&mut self, cx: &ViewContext<'_>) {
        match self.source.load(cx) {
            ListItems::Ready(entries) => self.set_items(entries, cx),
            ListItems::Pending(pending) => self.loading = Some(pending),
        }
    }

    fn set_items(&mut self, entries: Vec<S::Item>, cx: &ViewContext<'_>) {
        self.names = Arc::new(entries.iter().map(|entry| self.source.name(entry)).collect());
        self.fuzzy = FuzzySearch::names(Arc::clone(&self.names));
        self.fuzzy.set_query(self.filter.text());
        if !self.loaded || self.items.is_empty() {
            self.scroll.select(self.source.initial_row(&entries, cx));
            self.suggested = self.source.suggested(&entries, cx);
        }
        self.loaded = true;
        self.items = entries;
    }

    fn apply_results(&mut self, cx: &ViewContext<'_>) {
        if !self.loaded && self.loading.is_none() {
            self.load(cx);
            // The rows were not counted when this frame was laid out.
            cx.redraw.request();
        }
        if let Some(answer) = self.loading.as_ref().and_then(PendingResult::take) {
            self.loading = None;
            cx.redraw.request();
            match answer {
                Ok(entries) => self.set_items(entries, cx),
                Err(error) => {
                    self.loaded = true;
                    self.message = Some((false, error.to_string()));
                }
            }
        }
        if let Some(answer) = self.operation.as_ref().and_then(PendingResult::take) {
            self.operation = None;
            self.message = Some(match answer {
                Ok(text) => (true, text),
                Err(error) => (false, error.to_string()),
            });
            self.load(cx);
        }
        while self.fuzzy.is_working() {
            self.fuzzy.step();
        }
    }

    /// The number of listed rows.
    fn count(&self) -> usize {
        match self.filter.text().is_empty() {
            true => self.fuzzy.count().min(self.suggested),
            false => self.fuzzy.count(),
        }
    }

    fn selected(&self) -> Option<&S::Item> {
        let index = self.fuzzy.matches().nth(self.scroll.selected())?;
        self.items.get(index)
    }

    fn respond(&mut self, act: ListResponse, cx: &ViewContext<'_>) -> KeyResponse {
        match act {
            ListResponse::Stay => KeyResponse::Handled,
            ListResponse::Act(action) => KeyResponse::Action(action),
            ListResponse::Ask(action, question, text) => {
                self.text_input = Some((action, question, InputField::new(&text)));
                KeyResponse::Handled
            }
            ListResponse::Await(pending) => {
                self.operation = Some(pending);
                KeyResponse::Handled
            }
            ListResponse::AwaitAnd(pending, action) => {
                self.operation = Some(pending);
                KeyResponse::Action(action)
            }
            ListResponse::Reload => {
                self.load(cx);
                KeyResponse::Handled
            }
        }
    }

    fn with_selected(
        &mut self,
        act: impl FnOnce(&mut S, &S::Item) -> Option<ListResponse>,
        cx: &ViewContext<'_>,
    ) -> KeyResponse {
        let index = self.fuzzy.matches().nth(self.scroll.selected());
        let Some(entry) = index.and_then(|index| self.items.get(index)) else {
            return KeyResponse::Handled;
        };
        match act(&mut self.source, entry) {
            Some(act) => self.respond(act, cx),
            None => KeyResponse::Handled,
        }
    }

    fn text_key(&mut self, key: KeyChord, cx: &ViewContext<'_>) -> KeyResponse {
        let Some((action, _, field)) = &mut self.text_input else {
            return KeyResponse::Handled;
        };
        match cx.keys.action(KeyContext::List, key) {
            Some(KeyAction::Choose) => {
                let (action, text) = (*action, field.text().to_owned());
                self.text_input = None;
                self.with_selected(|source, entry| Some(source.submit_text(action, text, entry, cx)), cx)
            }
            Some(KeyAction::Close | KeyAction::Cancel | KeyAction::Leave) => {
                self.text_input = None;
                KeyResponse::Handled
            }
            Some(_) | None => {
                field.handle_key(key, cx.keys);
                KeyResponse::Handled
            }
        }
    }

    fn key(&mut self, key: KeyChord, cx: &ViewContext<'_>) -> KeyResponse {
        if self.text_input.is_some() {
            return self.text_key(key, cx);
        }
        self.message = None;
        let action = cx.keys.action(KeyContext::List, key);
        let is_down = matches!(
            action,
            Some(KeyAction::ListDown | KeyAction::ListPageDown | KeyAction::ListBottom)
        );
        if is_down && self.scroll.selected() + 1 >= self.count() {
            self.suggested = usize::MAX;
        }
        let count = self.count();
        match action {
            Some(KeyAction::ListUp) => self.scroll.select_next(false, count),
            Some(KeyAction::ListDown) => self.scroll.select_next(true, count),
            Some(KeyAction::ListPageUp) => self.scroll.move_by(false, self.page, count),
            Some(KeyAction::ListPageDown) => self.scroll.move_by(true, self.page, count),
            Some(KeyAction::ListTop) => self.scroll.select(0),
            Some(KeyAction::ListBottom) => self.scroll.select(count.saturating_sub(1)),
            Some(KeyAction::Close | KeyAction::Cancel | KeyAction::Leave) if !self.filter.text().is_empty() => {
                self.filter = InputField::default();
                self.update_filter();
            }
            Some(KeyAction::Close | KeyAction::Cancel | KeyAction::Leave) => return KeyResponse::close(),
            Some(KeyAction::Choose) => return self.with_selected(|source, entry| Some(source.choose(entry, cx)), cx),
            Some(KeyAction::Suspend | KeyAction::Redraw) => return KeyResponse::Ignored,
            action => {
                let (shown, adjusting) = (self.source.key_hints(), self.source.adjusting_actions());
                if let Some(action) = action.filter(|action| shown.contains(action) || adjusting.contains(action)) {
                    return self.with_selected(|source, entry| source.perform(action, entry, cx), cx);
                }
                if self.filter.handle_key(key, cx.keys) {
                    self.update_filter();
                }
            }
        }
        KeyResponse::Handled
    }

    fn update_filter(&mut self) {
        self.fuzzy.set_query(self.filter.text());
        self.scroll.select(0);
    }

    fn draw_header(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Option<Position> {
        let theme = cx.theme;
        let title = self.source.title();
        let head = StyledRow::new(title, theme.title).push("  ", theme.dim);
        let left = u16::try_from(head.width()).unwrap_or(u16::MAX).min(area.width);
        head.draw(area.x, area.y, area.width, buf);
        let count = match (self.loaded, self.filter.text().is_empty()) {
            (false, _) => "…".to_owned(),
            (true, true) => self.items.len().to_string(),
            (true, false) => format!("{} of {}", self.fuzzy.count(), self.items.len()),
        };
        let right = u16::try_from(count.len()).unwrap_or(0);
        let field = Rect::new(area.x + left, area.y, area.width.saturating_sub(left + right + 1), 1);
        StyledRow::new(count, theme.dim).draw(area.right().saturating_sub(right), area.y, right, buf);
        match self.text_input {
            Some(_) => {
                self.filter.draw(field, buf, theme, "");
                None
            }
            None => self.filter.draw(field, buf, theme, "type to search"),
        }
    }

    fn draw_rows(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) {
        self.below = 0;
        let theme = cx.theme;
        self.page = usize::from(area.height).max(1);
        let count = self.count();
        if count == 0 {
            let text = match (self.loaded, self.items.is_empty()) {
                (false, _) => "…",
                (true, true) => self.source.empty_text(),
                (true, false) => "no match",
            };
            StyledRow::new(text, theme.dim).draw(area.x + 2, area.y, area.width.saturating_sub(2), buf);
            return;
        }
        let window = self.scroll.visible(count, area.height.into());
        self.below = self.fuzzy.count() - window.end;
        let shown: Vec<usize> = self.fuzzy.matches().skip(window.start).take(window.len()).collect();
        let names = Arc::clone(&self.names);
        let cap = usize::from(area.width / 2).max(12);
        let widest = shown
            .iter()
            .map(|index| StyledRow::new(&*names[*index], theme.text).width())
            .max()
            .unwrap_or(0)
            .min(cap);
        for (offset, (index, y)) in shown.into_iter().zip(area.top()..area.bottom()).enumerate() {
            let is_chosen = window.start + offset == self.scroll.selected();
            let Some(entry) = self.items.get(index) else { continue };
            let mut row = highlight_matches(
                &names[index],
                &self.fuzzy.matched_chars(&names[index]),
                theme,
                is_chosen,
            );
            let (about, right) = self.source.columns(entry, cx);
            // In narrow lists the right column is dropped first.
            let right = match !about.is_blank() && right.width() * 5 > usize::from(area.width) {
                true => StyledRow::empty(),
                false => right,
            };
            let sign = self.source.marker(entry, cx);
            let room = usize::from(area.width).saturating_sub(right.width() + 1);
            if !about.is_blank() {
                row = row.truncate(cap);
                row = row
                    .clone()
                    .push(" ".repeat((widest + 2).saturating_sub(row.width()).max(2)), theme.text);
                row.spans.extend(about.spans);
            }
            if let Some(sign) = sign {
                row.spans.splice(0..0, sign.spans);
            }
            row = row
                .prefix(if is_chosen { "› " } else { "  " }, theme.accent)
                .truncate(room);
            if is_chosen {
                buf.set_style(Rect::new(area.x, y, area.width, 1), theme.selected_background());
            }
            row.draw(area.x, y, area.width, buf);
            let width = u16::try_from(right.width()).unwrap_or(0).min(area.width);
            right.draw(area.right() - width, y, width, buf);
        }
    }

    fn draw_footer(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Option<Position> {
        let theme = cx.theme;
        if let Some((_, question, field)) = &mut self.text_input {
            let head = StyledRow::new(format!("{question} "), theme.accent);
            let left = u16::try_from(head.width()).unwrap_or(0).min(area.width / 2);
            head.draw(area.x, area.y, left, buf);
            return field.draw(Rect::new(area.x + left, area.y, area.width - left, 1), buf, theme, "");
        }
        let row = match &self.message {
            Some((well, text)) => {
                let line = crate::row::sanitise(text).replace('\n', "; ");
                StyledRow::new(line, if *well { theme.good } else { theme.bad })
            }
            None if self.operation.is_some() => StyledRow::new("…", theme.dim),
            None => {
                let more = more_below(self.below);
                let width = area
                    .width
                    .saturating_sub(u16::try_from(more.chars().count()).unwrap_or(0));
                let mut row = hints(self.source.key_hints(), self.source.choose_label(), width, cx);
                let adjustment = self.selected().map(|entry| self.source.adjustment(entry, cx));
                if let Some(text) = adjustment.filter(|text| !text.is_empty()) {
                    row = row.push(format!("   {text}"), theme.accent);
                }
                row.push(more, theme.dim)
            }
        };
        row.truncate(area.width.into()).draw(area.x, area.y, area.width, buf);
        None
    }
}

impl<S: ListSource> ModalView for ListView<S> {
    /// A short list takes only the rows that it needs.
    fn placement(&self) -> ViewPlacement {
        match self.source.placement() {
            ViewPlacement::Inline(rows) if self.loaded => {
                let listed = self.items.len().min(self.suggested);
                let listed = if self.filter.text().is_empty() {
                    listed
                } else {
                    self.items.len()
                };
                let needed = u16::try_from(listed).unwrap_or(u16::MAX).saturating_add(2);
                ViewPlacement::Inline(rows.min(needed).max(3))
            }
            place => place,
        }
    }

    fn handle(&mut self, input: Input, cx: &ViewContext<'_>) -> KeyResponse {
        match input {
            Input::Key(event) => self.key(KeyChord::from(event), cx),
            Input::Paste(text) => {
                match &mut self.text_input {
                    Some((_, _, field)) => field.paste(&text),
                    None => {
                        self.filter.paste(&text);
                        self.update_filter();
                    }
                }
                KeyResponse::Handled
            }
            Input::Focus(_) => KeyResponse::Handled,
        }
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Option<Position> {
        self.apply_results(cx);
        if area.height < 3 || area.width < 8 {
            return None;
        }
        let caret = self.draw_header(Rect { height: 1, ..area }, buf, cx);
        let mut body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
        let foot = Rect::new(area.x, area.bottom() - 1, area.width, 1);
        if let Some(entry) = self
            .selected()
            .filter(|_| self.source.placement() == ViewPlacement::Full)
        {
            let (list, pane, rule) = split_pane(body);
            let detail = self.source.detail(entry, pane.width, cx);
            if !detail.is_empty() && pane.height > 2 && pane.width > 10 {
                body = list;
                draw_rule(rule, buf, cx);
                for (row, y) in detail.into_iter().zip(pane.top()..pane.bottom()) {
                    row.truncate(pane.width.into()).draw(pane.x, y, pane.width, buf);
                }
            }
        }
        self.draw_rows(body, buf, cx);
        self.draw_footer(foot, buf, cx).or(caret)
    }

    fn handle_event(&mut self, event: &session::Event, cx: &ViewContext<'_>) {
        use session::Event::{ItemFinished, Notice, Subtask, TurnFinished, TurnStarted};
        let is_relevant = matches!(
            event,
            ItemFinished { .. } | Notice { .. } | Subtask { .. } | TurnStarted | TurnFinished { .. }
        );
        if self.source.is_live() && self.loaded && self.loading.is_none() && is_relevant {
            self.load(cx);
        }
    }
}

/// A note about rows below the visible ones.
pub(super) fn more_below(rows: usize) -> String {
    match rows {
        0 => String::new(),
        rows => format!("   ↓ {rows} more"),
    }
}

/// Key hints in at most `width` columns. The first is always shown; of the others as many as fit.
pub(crate) fn hints(actions: &[KeyAction], verb: &str, width: u16, cx: &ViewContext<'_>) -> StyledRow {
    let mut row = StyledRow::empty();
    for action in actions {
        let key = cx.keys.hint(*action);
        if key.is_empty() {
            continue;
        }
        let gap = if row.spans.is_empty() { "" } else { "   " };
        let word = if *action == KeyAction::Choose {
            verb
        } else {
            short_label(*action)
        };
        let longer = row
            .clone()
            .push(format!("{gap}{key}"), cx.theme.strong)
            .push(format!(" {word}"), cx.theme.dim);
        if longer.width() <= usize::from(width) || row.spans.is_empty() {
            row = longer;
        }
    }
    row
}

/// Short label of an action.
fn short_label(action: KeyAction) -> &'static str {
    match action {
        KeyAction::Choose => "choose",
        KeyAction::Close => "close",
        KeyAction::Fork => "fork",
        KeyAction::Rename => "rename",
        KeyAction::Scope => "all projects",
        KeyAction::Steer => "message",
        KeyAction::Stop => "stop",
        KeyAction::Revoke => "remove",
        KeyAction::AcceptHunk => "accept",
        KeyAction::RejectHunk => "revert",
        KeyAction::AcceptFile => "accept file",
        KeyAction::RejectFile => "revert file",
        KeyAction::AcceptAll => "accept all",
        KeyAction::NextHunk => "next",
        KeyAction::NextFile => "next file",
        KeyAction::UndoTurn => "undo turn",
        KeyAction::RedoTurn => "redo",
        action => action.binding().description,
    }
}

/// A list with a pane to its right if there is room, otherwise below.
fn split_pane(area: Rect) -> (Rect, Rect, Rect) {
    if area.width >= 100 {
        let left = area.width * 2 / 5;
        let list = Rect {
            width: left - 1,
            ..area
        };
        let rule = Rect::new(area.x + left, area.y, 1, area.height);
        let pane = Rect::new(area.x + left + 2, area.y, area.width - left - 2, area.height);
        return (list, pane, rule);
    }
    let top = area.height / 2;
    let list = Rect { height: top, ..area };
    let rule = Rect::new(area.x, area.y + top, area.width, 1);
    let pane = Rect::new(area.x, area.y + top + 1, area.width, area.height - top - 1);
    (list, pane, rule)
}

fn draw_rule(rule: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) {
    let sign = if rule.width == 1 { "│" } else { "─" };
    for y in rule.top()..rule.bottom() {
        StyledRow::new(sign.repeat(rule.width.into()), cx.theme.border).draw(rule.x, y, rule.width, buf);
    }
}
