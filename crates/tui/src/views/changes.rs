//! What this session changed, file by file: each hunk is accepted or taken back with a key.

use super::list::hints;
use crate::house::{FileChanges, Hunk, Verdict};
use crate::input::Input;
use crate::keys::{Context, Deed, Key};
use crate::row::{Row, tame};
use crate::view::{Cx, Errand, Outcome, Place, View, Wish, shared};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use similar::DiffTag;

/// The most lines of a hunk that are compared word by word.
const WORDS: usize = 200;

/// What this session changed.
#[derive(Default)]
pub(crate) struct Changes {
    files: Vec<FileChanges>,
    begun: bool,
    fetching: Option<Errand<Vec<FileChanges>>>,
    doing: Option<Errand<String>>,
    said: Option<(bool, String)>,
    /// The hunk that keys act on: its file and its place there.
    file: usize,
    hunk: usize,
    top: usize,
}

/// What is drawn: rows of the whole diff, and where each hunk begins.
struct Drawn {
    rows: Vec<Row>,
    /// File, hunk, first row and the row behind the last.
    places: Vec<(usize, usize, usize, usize)>,
}

impl Changes {
    fn settle(&mut self, cx: &Cx<'_>) {
        if !self.begun && self.fetching.is_none() {
            self.fetching = Some(cx.fetch(cx.house.changes()));
        }
        if let Some(answer) = self.doing.as_ref().and_then(Errand::take) {
            self.doing = None;
            self.said = Some(match answer {
                Ok(text) => (true, text),
                Err(trouble) => (false, trouble.to_string()),
            });
            self.fetching = Some(cx.fetch(cx.house.changes()));
        }
        if let Some(answer) = self.fetching.as_ref().and_then(Errand::take) {
            self.fetching = None;
            self.begun = true;
            match answer {
                Ok(files) => self.files = files,
                Err(trouble) => self.said = Some((false, trouble.to_string())),
            }
            self.file = self.file.min(self.files.len().saturating_sub(1));
            self.hunk = self.hunk.min(self.hunks().saturating_sub(1));
        }
    }

    fn hunks(&self) -> usize {
        self.files.get(self.file).map_or(0, |file| file.hunks.len())
    }

    fn chosen(&self) -> Option<&Hunk> {
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

    /// Accepts or takes back: the hunk, or all of its file.
    fn decide(&mut self, verdict: Verdict, whole_file: bool, cx: &Cx<'_>) -> Outcome {
        if self.doing.is_some() {
            return Outcome::Stay;
        }
        let Some(file) = self.files.get(self.file) else {
            return Outcome::Stay;
        };
        let hunks: Vec<&Hunk> = match whole_file {
            true => file.hunks.iter().collect(),
            false => self.chosen().into_iter().collect(),
        };
        if verdict == Verdict::Reject && hunks.iter().any(|hunk| !hunk.rejectable) {
            self.said = Some((false, "it cannot be taken back: others have worked on it".into()));
            return Outcome::Stay;
        }
        if cx.state.is_working() {
            self.said = Some((false, "stop the turn first (esc)".into()));
            return Outcome::Stay;
        }
        let verdicts: Vec<(String, Verdict)> = hunks.into_iter().map(|hunk| (hunk.id.clone(), verdict)).collect();
        if verdicts.is_empty() {
            return Outcome::Stay;
        }
        let (errand, later) = shared(cx.house.review(verdicts), cx.wake);
        self.doing = Some(errand);
        Outcome::Do(Wish::KeepLater(later))
    }

    fn key(&mut self, key: Key, cx: &Cx<'_>) -> Outcome {
        self.said = None;
        let deed = cx.keys.deed(Context::Changes, key);
        match deed.or_else(|| cx.keys.deed(Context::List, key)) {
            Some(Deed::NextHunk) => self.step(true),
            Some(Deed::PreviousHunk) => self.step(false),
            Some(Deed::NextFile) => self.step_file(true),
            Some(Deed::PreviousFile) => self.step_file(false),
            Some(Deed::AcceptHunk) => return self.decide(Verdict::Accept, false, cx),
            Some(Deed::RejectHunk) => return self.decide(Verdict::Reject, false, cx),
            Some(Deed::AcceptFile) => return self.decide(Verdict::Accept, true, cx),
            Some(Deed::RejectFile) => return self.decide(Verdict::Reject, true, cx),
            Some(Deed::UndoTurn) => return Outcome::CloseAnd(Wish::Act(Deed::UndoTurn)),
            Some(Deed::RedoTurn) => return Outcome::CloseAnd(Wish::Act(Deed::RedoTurn)),
            Some(Deed::Close | Deed::Interrupt | Deed::Cancel | Deed::Leave) => return Outcome::Close,
            Some(Deed::Suspend | Deed::Redraw) => return Outcome::Pass,
            Some(_) | None => {}
        }
        Outcome::Stay
    }

    fn rows(&self, cx: &Cx<'_>) -> Drawn {
        let theme = cx.theme;
        let mut drawn = Drawn {
            rows: Vec::new(),
            places: Vec::new(),
        };
        for (index, file) in self.files.iter().enumerate() {
            if index > 0 {
                drawn.rows.push(Row::empty());
            }
            let head = drawn.rows.len();
            let (added, removed) = counts(file);
            let title =
                Row::of(file.path.display().to_string(), theme.strong).and(format!("  {}", file.status), theme.dim);
            // What is not text has no lines to count.
            drawn.rows.push(match file.why {
                Some(_) => title,
                None => title
                    .and(format!("  +{added}"), theme.added)
                    .and(format!(" −{removed}"), theme.removed),
            });
            if let Some(why) = &file.why {
                drawn.rows.push(Row::of(format!("  {why}"), theme.dim));
            }
            for (number, hunk) in file.hunks.iter().enumerate() {
                let start = if number == 0 { head } else { drawn.rows.len() };
                let is_chosen = (index, number) == (self.file, self.hunk);
                let mark = if is_chosen { "› " } else { "  " };
                let mixed = if hunk.mixed { "  with edits of your own" } else { "" };
                drawn.rows.push(
                    Row::of(mark, theme.accent)
                        .and(place(file, hunk), theme.hunk)
                        .and(mixed, theme.warn),
                );
                drawn.rows.extend(diff(hunk, is_chosen, cx));
                drawn.places.push((index, number, start, drawn.rows.len()));
            }
        }
        drawn
    }

    fn draw_body(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let Drawn { rows, places } = self.rows(cx);
        let height = usize::from(area.height);
        let here = places
            .iter()
            .find(|(file, hunk, ..)| (*file, *hunk) == (self.file, self.hunk));
        if let Some((_, _, start, end)) = here {
            // The whole hunk where it fits, else its beginning.
            self.top = self.top.max(end.saturating_sub(height)).min(*start);
        }
        self.top = self.top.min(rows.len().saturating_sub(height));
        for (row, y) in rows.into_iter().skip(self.top).zip(area.top()..area.bottom()) {
            row.cut(area.width.into()).draw(area.x, y, area.width, buf);
        }
    }
}

impl View for Changes {
    fn place(&self) -> Place {
        Place::Full
    }

    fn handle(&mut self, input: Input, cx: &Cx<'_>) -> Outcome {
        match input {
            Input::Key(event) => self.key(Key::from(event), cx),
            Input::Paste(_) | Input::Focus(_) => Outcome::Stay,
        }
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        self.settle(cx);
        if area.height < 3 {
            return None;
        }
        let theme = cx.theme;
        let hunks: usize = self.files.iter().map(|file| file.hunks.len()).sum();
        let count = match (self.begun, hunks) {
            (false, _) => "…".to_owned(),
            (true, _) => format!("{} in {}", plural(hunks, "change"), plural(self.files.len(), "file")),
        };
        Row::of("Changes", theme.title)
            .and(format!("  {count}"), theme.dim)
            .draw(area.x, area.y, area.width, buf);
        let body = Rect::new(area.x, area.y + 1, area.width, area.height - 2);
        if self.begun && self.files.is_empty() {
            Row::of("  nothing waits to be looked at", theme.dim).draw(body.x, body.y, body.width, buf);
        }
        self.draw_body(body, buf, cx);
        let foot = match &self.said {
            Some((true, text)) => Row::of(tame(text).replace('\n', "; "), theme.good),
            Some((false, text)) => Row::of(tame(text).replace('\n', "; "), theme.bad),
            None if self.doing.is_some() => Row::of("…", theme.dim),
            None => hints(
                &[
                    Deed::Close,
                    Deed::AcceptHunk,
                    Deed::RejectHunk,
                    Deed::AcceptFile,
                    Deed::RejectFile,
                    Deed::NextHunk,
                    Deed::NextFile,
                    Deed::UndoTurn,
                ],
                "",
                area.width,
                cx,
            ),
        };
        foot.cut(area.width.into())
            .draw(area.x, area.bottom() - 1, area.width, buf);
        None
    }

    fn hear(&mut self, event: &session::Event, cx: &Cx<'_>) {
        let reviewed = match event {
            session::Event::ItemFinished { item } => matches!(item.body, session::Body::Review { .. }),
            event => matches!(event, session::Event::TurnFinished { .. }),
        };
        if reviewed {
            self.fetching = Some(cx.fetch(cx.house.changes()));
        }
    }
}

/// The lines of a hunk: those that go, those that come, with the words that differ set off.
fn diff(hunk: &Hunk, is_chosen: bool, cx: &Cx<'_>) -> Vec<Row> {
    let theme = cx.theme;
    let gutter = if is_chosen { "▌ " } else { "  " };
    let row = |sign: &str, text: &str, style| {
        let text = tame(text.trim_end_matches('\n'));
        Row::of(gutter, theme.accent).and(sign, style).and(text, style)
    };
    let before: Vec<&str> = hunk.before.lines().collect();
    let after: Vec<&str> = hunk.after.lines().collect();
    if before.len() != after.len() || before.len() > WORDS {
        let removed = before.iter().map(|line| row("− ", line, theme.removed));
        let added = after.iter().map(|line| row("+ ", line, theme.added));
        return removed.chain(added).collect();
    }
    let pairs: Vec<(Row, Row)> = before
        .iter()
        .zip(&after)
        .map(|(old, new)| words(old, new, cx))
        .collect();
    let (removed, added): (Vec<Row>, Vec<Row>) = pairs.into_iter().unzip();
    removed
        .into_iter()
        .chain(added)
        .map(|line| line.after(gutter, theme.accent))
        .collect()
}

/// A line before and after, with the words that differ set off.
fn words(old: &str, new: &str, cx: &Cx<'_>) -> (Row, Row) {
    let theme = cx.theme;
    let (old, new) = (tame(old), tame(new));
    let mut removed = Row::of("− ", theme.removed);
    let mut added = Row::of("+ ", theme.added);
    let (old, new) = (edit::words(&old), edit::words(&new));
    for op in edit::compare(&old, &new, None) {
        let (tag, before, after) = op.as_tag_tuple();
        let (went, came) = match tag {
            DiffTag::Equal => (theme.removed, theme.added),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => (theme.removed_words, theme.added_words),
        };
        for word in old.get(before).unwrap_or_default() {
            removed = removed.and(*word, went);
        }
        for word in new.get(after).unwrap_or_default() {
            added = added.and(*word, came);
        }
    }
    (removed, added)
}

/// Where a change is.
fn place(file: &FileChanges, hunk: &Hunk) -> String {
    match file.why {
        Some(_) => "the whole file".into(),
        None => format!("line {}", hunk.line),
    }
}

fn counts(file: &FileChanges) -> (usize, usize) {
    let lines = |text: &dyn Fn(&Hunk) -> usize| file.hunks.iter().map(text).sum();
    (
        lines(&|hunk| hunk.after.lines().count()),
        lines(&|hunk| hunk.before.lines().count()),
    )
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
