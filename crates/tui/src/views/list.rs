//! A list to look through: it is searched by typing, and keys act on the chosen row.

use super::field::Field;
use super::scroll::Scroll;
use crate::composer::marked;
use crate::fuzzy::Fuzzy;
use crate::input::Input;
use crate::keys::{Context, Deed, Key};
use crate::row::Row;
use crate::view::{Cx, Errand, Outcome, Place, View, Wish};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::sync::Arc;

/// What a list shows and what its keys do.
pub(crate) trait Source: Send {
    /// What a row stands for.
    type Entry: Send + 'static;

    /// The list's title.
    fn title(&self) -> String;

    /// Where it stands.
    fn place(&self) -> Place {
        Place::Inline(14)
    }

    /// Its rows, now or later.
    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Self::Entry>;

    /// What is searched, and shown first in a row.
    fn name(&self, entry: &Self::Entry) -> String;

    /// What is shown behind the name, and at the right end of the row.
    fn about(&self, entry: &Self::Entry, cx: &Cx<'_>) -> (Row, Row) {
        let _ = (entry, cx);
        (Row::empty(), Row::empty())
    }

    /// A sign before the name.
    fn sign(&self, entry: &Self::Entry, cx: &Cx<'_>) -> Option<Row> {
        let _ = (entry, cx);
        None
    }

    /// More about the chosen row, shown where there is room.
    fn detail(&self, entry: &Self::Entry, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let _ = (entry, width, cx);
        Vec::new()
    }

    /// A row is chosen.
    fn choose(&mut self, entry: &Self::Entry, cx: &Cx<'_>) -> Act;

    /// A key of this list is pressed on a row; `None` where it has no meaning here.
    fn act(&mut self, deed: Deed, entry: &Self::Entry, cx: &Cx<'_>) -> Option<Act> {
        let _ = (deed, entry, cx);
        None
    }

    /// What was written for a key that needs words.
    fn said(&mut self, deed: Deed, words: String, entry: &Self::Entry, cx: &Cx<'_>) -> Act {
        let _ = (deed, words, entry, cx);
        Act::Stay
    }

    /// The keys that are shown below, the most important first.
    fn hints(&self) -> &'static [Deed] {
        &[Deed::Close, Deed::Choose]
    }

    /// What choosing a row does, in a word or two.
    fn verb(&self) -> &'static str {
        "take"
    }

    /// What is shown where there is nothing.
    fn empty(&self) -> &'static str {
        "nothing here"
    }

    /// The row that is chosen first.
    fn first(&self, entries: &[Self::Entry], cx: &Cx<'_>) -> usize {
        let _ = (entries, cx);
        0
    }

    /// Whether the rows are fetched anew when something happens in the session.
    fn is_live(&self) -> bool {
        false
    }
}

/// Rows, now or later.
pub(crate) enum Fetch<T> {
    /// They are here.
    Now(Vec<T>),
    /// Somebody was sent for them.
    Later(Errand<Vec<T>>),
}

/// What a key led to.
pub(crate) enum Act {
    /// Nothing more.
    Stay,
    /// The list is closed.
    Close,
    /// Something is done and the list stays.
    Do(Wish),
    /// Something is done and the list is closed.
    CloseAnd(Wish),
    /// Words are needed: the question, and what stands there at first.
    Ask(Deed, String, String),
    /// Something is done; the rows are fetched anew when it is.
    Await(Errand<String>),
    /// The rows are fetched anew.
    Again,
}

/// A list to look through.
pub(crate) struct List<S: Source> {
    source: S,
    entries: Vec<S::Entry>,
    names: Arc<Vec<String>>,
    fuzzy: Fuzzy,
    filter: Field,
    scroll: Scroll,
    fetching: Option<Errand<Vec<S::Entry>>>,
    doing: Option<Errand<String>>,
    asking: Option<(Deed, String, Field)>,
    said: Option<(bool, String)>,
    begun: bool,
    page: usize,
}

impl<S: Source> List<S> {
    /// A list that fetches its rows when it is first drawn.
    pub(crate) fn new(source: S) -> Self {
        List {
            source,
            entries: Vec::new(),
            names: Arc::default(),
            fuzzy: Fuzzy::names(Arc::default()),
            filter: Field::default(),
            scroll: Scroll::default(),
            fetching: None,
            doing: None,
            asking: None,
            said: None,
            begun: false,
            page: 10,
        }
    }

    fn begin(&mut self, cx: &Cx<'_>) {
        match self.source.fetch(cx) {
            Fetch::Now(entries) => self.fill(entries, cx),
            Fetch::Later(errand) => self.fetching = Some(errand),
        }
    }

    fn fill(&mut self, entries: Vec<S::Entry>, cx: &Cx<'_>) {
        self.names = Arc::new(entries.iter().map(|entry| self.source.name(entry)).collect());
        self.fuzzy = Fuzzy::names(Arc::clone(&self.names));
        self.fuzzy.seek(self.filter.text());
        if !self.begun || self.entries.is_empty() {
            self.scroll.choose(self.source.first(&entries, cx));
        }
        self.begun = true;
        self.entries = entries;
    }

    fn settle(&mut self, cx: &Cx<'_>) {
        if !self.begun && self.fetching.is_none() {
            self.begin(cx);
        }
        if let Some(answer) = self.fetching.as_ref().and_then(Errand::take) {
            self.fetching = None;
            match answer {
                Ok(entries) => self.fill(entries, cx),
                Err(trouble) => {
                    self.begun = true;
                    self.said = Some((false, trouble.to_string()));
                }
            }
        }
        if let Some(answer) = self.doing.as_ref().and_then(Errand::take) {
            self.doing = None;
            self.said = Some(match answer {
                Ok(text) => (true, text),
                Err(trouble) => (false, trouble.to_string()),
            });
            self.begin(cx);
        }
        while self.fuzzy.is_working() {
            self.fuzzy.step();
        }
    }

    fn chosen(&self) -> Option<&S::Entry> {
        let index = self.fuzzy.found().nth(self.scroll.chosen())?;
        self.entries.get(index)
    }

    fn outcome(&mut self, act: Act, cx: &Cx<'_>) -> Outcome {
        match act {
            Act::Stay => Outcome::Stay,
            Act::Close => Outcome::Close,
            Act::Do(wish) => Outcome::Do(wish),
            Act::CloseAnd(wish) => Outcome::CloseAnd(wish),
            Act::Ask(deed, question, text) => {
                self.asking = Some((deed, question, Field::new(&text)));
                Outcome::Stay
            }
            Act::Await(errand) => {
                self.doing = Some(errand);
                Outcome::Stay
            }
            Act::Again => {
                self.begin(cx);
                Outcome::Stay
            }
        }
    }

    fn with_chosen(&mut self, act: impl FnOnce(&mut S, &S::Entry) -> Option<Act>, cx: &Cx<'_>) -> Outcome {
        let index = self.fuzzy.found().nth(self.scroll.chosen());
        let Some(entry) = index.and_then(|index| self.entries.get(index)) else {
            return Outcome::Stay;
        };
        match act(&mut self.source, entry) {
            Some(act) => self.outcome(act, cx),
            None => Outcome::Stay,
        }
    }

    fn key_asking(&mut self, key: Key, cx: &Cx<'_>) -> Outcome {
        let Some((deed, _, field)) = &mut self.asking else {
            return Outcome::Stay;
        };
        match cx.keys.deed(Context::List, key) {
            Some(Deed::Choose) => {
                let (deed, words) = (*deed, field.text().to_owned());
                self.asking = None;
                self.with_chosen(|source, entry| Some(source.said(deed, words, entry, cx)), cx)
            }
            Some(Deed::Close | Deed::Cancel | Deed::Leave) => {
                self.asking = None;
                Outcome::Stay
            }
            Some(_) | None => {
                field.press(key, cx.keys);
                Outcome::Stay
            }
        }
    }

    fn key(&mut self, key: Key, cx: &Cx<'_>) -> Outcome {
        if self.asking.is_some() {
            return self.key_asking(key, cx);
        }
        self.said = None;
        let count = self.fuzzy.count();
        match cx.keys.deed(Context::List, key) {
            Some(Deed::ListUp) => self.scroll.turn(false, count),
            Some(Deed::ListDown) => self.scroll.turn(true, count),
            Some(Deed::ListPageUp) => self.scroll.step(false, self.page, count),
            Some(Deed::ListPageDown) => self.scroll.step(true, self.page, count),
            Some(Deed::ListTop) => self.scroll.choose(0),
            Some(Deed::ListBottom) => self.scroll.choose(count.saturating_sub(1)),
            Some(Deed::Close | Deed::Cancel | Deed::Leave) if !self.filter.text().is_empty() => {
                self.filter = Field::default();
                self.seek();
            }
            Some(Deed::Close | Deed::Cancel | Deed::Leave) => return Outcome::Close,
            Some(Deed::Choose) => return self.with_chosen(|source, entry| Some(source.choose(entry, cx)), cx),
            Some(Deed::Suspend | Deed::Redraw) => return Outcome::Pass,
            deed => {
                if let Some(deed) = deed.filter(|deed| self.source.hints().contains(deed)) {
                    return self.with_chosen(|source, entry| source.act(deed, entry, cx), cx);
                }
                if self.filter.press(key, cx.keys) {
                    self.seek();
                }
            }
        }
        Outcome::Stay
    }

    fn seek(&mut self) {
        self.fuzzy.seek(self.filter.text());
        self.scroll.choose(0);
    }

    fn draw_head(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        let theme = cx.theme;
        let title = self.source.title();
        let head = Row::of(title, theme.title).and("  ", theme.dim);
        let left = u16::try_from(head.width()).unwrap_or(u16::MAX).min(area.width);
        head.draw(area.x, area.y, area.width, buf);
        let count = match (self.begun, self.filter.text().is_empty()) {
            (false, _) => "…".to_owned(),
            (true, true) => self.entries.len().to_string(),
            (true, false) => format!("{} of {}", self.fuzzy.count(), self.entries.len()),
        };
        let right = u16::try_from(count.len()).unwrap_or(0);
        let field = Rect::new(area.x + left, area.y, area.width.saturating_sub(left + right + 1), 1);
        Row::of(count, theme.dim).draw(area.right().saturating_sub(right), area.y, right, buf);
        match self.asking {
            Some(_) => {
                self.filter.draw(field, buf, theme, "");
                None
            }
            None => self.filter.draw(field, buf, theme, "type to search"),
        }
    }

    fn draw_rows(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let theme = cx.theme;
        self.page = usize::from(area.height).max(1);
        let count = self.fuzzy.count();
        if count == 0 {
            let text = match (self.begun, self.entries.is_empty()) {
                (false, _) => "…",
                (true, true) => self.source.empty(),
                (true, false) => "nothing fits",
            };
            Row::of(text, theme.dim).draw(area.x + 2, area.y, area.width.saturating_sub(2), buf);
            return;
        }
        let window = self.scroll.window(count, area.height.into());
        let shown: Vec<usize> = self.fuzzy.found().skip(window.start).take(window.len()).collect();
        let names = Arc::clone(&self.names);
        let cap = usize::from(area.width / 2).max(12);
        let widest = shown
            .iter()
            .map(|index| Row::of(&*names[*index], theme.text).width())
            .max()
            .unwrap_or(0)
            .min(cap);
        for (offset, (index, y)) in shown.into_iter().zip(area.top()..area.bottom()).enumerate() {
            let is_chosen = window.start + offset == self.scroll.chosen();
            let Some(entry) = self.entries.get(index) else { continue };
            let mut row = marked(&names[index], &self.fuzzy.marks(&names[index]), theme, is_chosen);
            let (about, right) = self.source.about(entry, cx);
            // Where it is narrow, what stands at the right end is the first to go.
            let right = match !about.is_blank() && right.width() * 5 > usize::from(area.width) {
                true => Row::empty(),
                false => right,
            };
            let sign = self.source.sign(entry, cx);
            let room = usize::from(area.width).saturating_sub(right.width() + 1);
            if !about.is_blank() {
                row = row.cut(cap);
                row = row
                    .clone()
                    .and(" ".repeat((widest + 2).saturating_sub(row.width()).max(2)), theme.text);
                row.pieces.extend(about.pieces);
            }
            if let Some(sign) = sign {
                row.pieces.splice(0..0, sign.pieces);
            }
            row = row.after(if is_chosen { "› " } else { "  " }, theme.accent).cut(room);
            if is_chosen {
                buf.set_style(Rect::new(area.x, y, area.width, 1), theme.behind_chosen());
            }
            row.draw(area.x, y, area.width, buf);
            let width = u16::try_from(right.width()).unwrap_or(0).min(area.width);
            right.draw(area.right() - width, y, width, buf);
        }
    }

    fn draw_foot(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        let theme = cx.theme;
        if let Some((_, question, field)) = &mut self.asking {
            let head = Row::of(format!("{question} "), theme.accent);
            let left = u16::try_from(head.width()).unwrap_or(0).min(area.width / 2);
            head.draw(area.x, area.y, left, buf);
            return field.draw(Rect::new(area.x + left, area.y, area.width - left, 1), buf, theme, "");
        }
        let row = match &self.said {
            Some((well, text)) => {
                let line = crate::row::tame(text).replace('\n', "; ");
                Row::of(line, if *well { theme.good } else { theme.bad })
            }
            None if self.doing.is_some() => Row::of("…", theme.dim),
            None => hints(self.source.hints(), self.source.verb(), area.width, cx),
        };
        row.cut(area.width.into()).draw(area.x, area.y, area.width, buf);
        None
    }
}

impl<S: Source> View for List<S> {
    /// A list of few rows takes no more room than it needs.
    fn place(&self) -> Place {
        match self.source.place() {
            Place::Inline(rows) if self.begun => {
                let needed = u16::try_from(self.entries.len()).unwrap_or(u16::MAX).saturating_add(2);
                Place::Inline(rows.min(needed).max(3))
            }
            place => place,
        }
    }

    fn handle(&mut self, input: Input, cx: &Cx<'_>) -> Outcome {
        match input {
            Input::Key(event) => self.key(Key::from(event), cx),
            Input::Paste(text) => {
                match &mut self.asking {
                    Some((_, _, field)) => field.paste(&text),
                    None => {
                        self.filter.paste(&text);
                        self.seek();
                    }
                }
                Outcome::Stay
            }
            Input::Focus(_) => Outcome::Stay,
        }
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        self.settle(cx);
        if area.height < 3 || area.width < 8 {
            return None;
        }
        let caret = self.draw_head(Rect { height: 1, ..area }, buf, cx);
        let mut body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
        let foot = Rect::new(area.x, area.bottom() - 1, area.width, 1);
        if let Some(entry) = self.chosen().filter(|_| self.source.place() == Place::Full) {
            let (list, pane, rule) = split(body);
            let detail = self.source.detail(entry, pane.width, cx);
            if !detail.is_empty() && pane.height > 2 && pane.width > 10 {
                body = list;
                draw_rule(rule, buf, cx);
                for (row, y) in detail.into_iter().zip(pane.top()..pane.bottom()) {
                    row.cut(pane.width.into()).draw(pane.x, y, pane.width, buf);
                }
            }
        }
        self.draw_rows(body, buf, cx);
        self.draw_foot(foot, buf, cx).or(caret)
    }

    fn hear(&mut self, event: &session::Event, cx: &Cx<'_>) {
        use session::Event::{ItemFinished, Subtask, TurnFinished, TurnStarted};
        let tells = matches!(
            event,
            ItemFinished { .. } | Subtask { .. } | TurnStarted | TurnFinished { .. }
        );
        if self.source.is_live() && self.begun && self.fetching.is_none() && tells {
            self.begin(cx);
        }
    }
}

/// Keys with what they do, in a row of at most so many columns. The first is always there; of the others as many as fit.
pub(crate) fn hints(deeds: &[Deed], verb: &str, width: u16, cx: &Cx<'_>) -> Row {
    let mut row = Row::empty();
    for deed in deeds {
        let key = cx.keys.hint(*deed);
        if key.is_empty() {
            continue;
        }
        let gap = if row.pieces.is_empty() { "" } else { "   " };
        let word = if *deed == Deed::Choose { verb } else { short(*deed) };
        let longer = row
            .clone()
            .and(format!("{gap}{key}"), cx.theme.strong)
            .and(format!(" {word}"), cx.theme.dim);
        if longer.width() <= usize::from(width) || row.pieces.is_empty() {
            row = longer;
        }
    }
    row
}

/// What a key does, in a word or two.
fn short(deed: Deed) -> &'static str {
    match deed {
        Deed::Choose => "take",
        Deed::Close => "close",
        Deed::Fork => "fork",
        Deed::Rename => "rename",
        Deed::Scope => "all projects",
        Deed::Steer => "say something",
        Deed::Stop => "stop",
        Deed::Revoke => "take back",
        Deed::AcceptHunk => "accept",
        Deed::RejectHunk => "take back",
        Deed::AcceptFile => "accept file",
        Deed::RejectFile => "take file back",
        Deed::NextHunk => "next",
        Deed::NextFile => "next file",
        Deed::UndoTurn => "undo turn",
        Deed::RedoTurn => "redo",
        deed => deed.binding().says,
    }
}

/// A list and a pane beside it where it is wide, else below it.
fn split(area: Rect) -> (Rect, Rect, Rect) {
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

fn draw_rule(rule: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
    let sign = if rule.width == 1 { "│" } else { "─" };
    for y in rule.top()..rule.bottom() {
        Row::of(sign.repeat(rule.width.into()), cx.theme.border).draw(rule.x, y, rule.width, buf);
    }
}
