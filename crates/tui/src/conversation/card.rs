//! A tool call as a card: what it does, what it prints or changes, how long it took.

use super::entry::Fold;
use super::entry::attachment;
use super::growing::Growing;
use super::words;
use crate::diff::Diff;
use crate::house::Contents;
use crate::markdown::Look;
use crate::row::{Piece, Row, tame};
use crate::view::{Cx, Errand};
use model::{Block, CallId, Media, Outcome, Part};
use serde_json::Value;
use session::{Body, Glimpse, Item, ItemId};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// So many lines of output are shown while a tool works, and when it failed.
const OUTPUT: usize = 5;
/// So many lines of output stay when it is over.
const PRINTED: usize = 3;
/// So many lines of a change are shown.
const CHANGE: usize = 24;
/// So many files of a change are shown.
const FILES: usize = 6;
/// So much of what a tool prints is held while it works.
const HELD: usize = 16 << 10;

/// A tool call.
pub(crate) struct Card {
    /// The call.
    pub(crate) call: CallId,
    tool: String,
    title: String,
    /// How far its input has been written: what was seen of it.
    input: String,
    growing: Growing,
    /// What stands in the file that is being changed.
    file: OnceLock<Errand<String>>,
    base: OnceLock<String>,
    stage: Stage,
    /// The last lines that it printed.
    printed: Vec<String>,
    /// What happens in the subtask that it started.
    below: VecDeque<String>,
    /// What it changed.
    changes: Changes,
}

enum Stage {
    /// The model writes it.
    Written,
    /// It waits for its turn, or for the person.
    Waiting(Arc<Item>),
    /// It works.
    Running {
        item: ItemId,
        since: Instant,
        output: String,
    },
    /// It is over.
    Done(Arc<Item>),
    /// It never came to an end.
    Stopped,
}

/// What a call changed.
enum Changes {
    /// Nobody has asked yet.
    Unknown,
    /// It is being found out.
    Wanted(Errand<Vec<Contents>>),
    /// It is known.
    Known(Vec<(String, Diff)>),
}

impl Card {
    /// A call that the model begins to write.
    pub(crate) fn new(call: CallId, tool: &str) -> Self {
        Card {
            call,
            tool: tool.into(),
            title: String::new(),
            input: String::new(),
            growing: Growing::default(),
            file: OnceLock::new(),
            base: OnceLock::new(),
            stage: Stage::Written,
            printed: Vec::new(),
            below: VecDeque::new(),
            changes: Changes::Unknown,
        }
    }

    /// More of its input has come.
    pub(super) fn write(&mut self, json: &str) {
        if self.input.len() < HELD {
            self.input.push_str(json);
        }
    }

    /// More can be seen of what it will change.
    pub(super) fn glimpse(&mut self, glimpse: &Glimpse) {
        self.growing.take(glimpse);
    }

    /// Its input is complete.
    pub(super) fn written(&mut self, reply: &Arc<Item>) {
        self.input = String::new();
        if matches!(self.stage, Stage::Written) {
            self.stage = Stage::Waiting(Arc::clone(reply));
        }
    }

    /// It begins to work.
    pub(super) fn start(&mut self, item: ItemId, tool: &str, title: &str) {
        self.tool = tool.into();
        self.title = tame(title).replace('\n', " ");
        self.stage = Stage::Running {
            item,
            since: Instant::now(),
            output: String::new(),
        };
    }

    /// What it asked was answered: the time until then was not its own.
    pub(super) fn answered(&mut self) {
        if let Stage::Running { since, .. } = &mut self.stage {
            *since = Instant::now();
        }
    }

    /// The item that it becomes, while it works.
    pub(super) fn item(&self) -> Option<ItemId> {
        match &self.stage {
            Stage::Running { item, .. } => Some(*item),
            Stage::Written | Stage::Waiting(_) | Stage::Done(_) | Stage::Stopped => None,
        }
    }

    /// It prints something.
    pub(super) fn print(&mut self, text: &str) {
        if let Stage::Running { output, .. } = &mut self.stage {
            output.push_str(text);
            if output.len() > 2 * HELD {
                let from = (output.len() - HELD..output.len()).find(|at| output.is_char_boundary(*at));
                output.drain(..from.unwrap_or(0));
            }
        }
    }

    /// Something happens in the subtask that it started.
    pub(super) fn progress(&mut self, line: String) {
        self.below.push_back(tame(&line).replace('\n', " "));
        if self.below.len() > 3 {
            self.below.pop_front();
        }
    }

    /// It is over.
    pub(super) fn finish(&mut self, item: &Arc<Item>) {
        if let Body::Result { tool, title, .. } = &item.body {
            self.tool.clone_from(tool);
            self.title = tame(title).replace('\n', " ");
        }
        if let Stage::Running { output, .. } = &self.stage {
            let lines = tame(output.trim_end());
            let from = lines.lines().count().saturating_sub(PRINTED);
            self.printed = lines.lines().skip(from).map(String::from).collect();
        }
        self.growing = Growing::default();
        self.stage = Stage::Done(Arc::clone(item));
    }

    /// The turn is over, so that nothing more will come.
    pub(super) fn stop(&mut self) {
        if !matches!(self.stage, Stage::Done(_)) {
            self.stage = Stage::Stopped;
        }
    }

    /// Whether it is only written so far.
    pub(super) fn is_written_only(&self) -> bool {
        matches!(self.stage, Stage::Written)
    }

    /// Whether it takes more than its title.
    pub(super) fn is_tall(&self) -> bool {
        match (&self.stage, &self.changes) {
            (Stage::Done(item), Changes::Unknown | Changes::Wanted(_)) => !changes(item).is_empty(),
            (_, Changes::Known(diffs)) => !self.printed.is_empty() || diffs.iter().any(|(_, diff)| !diff.is_empty()),
            (Stage::Running { output, .. }, _) => !output.is_empty(),

            (Stage::Written | Stage::Waiting(_) | Stage::Stopped, _) => false,
        }
    }

    /// Whether it no longer changes. What it did to files is found out first.
    pub(super) fn is_finished(&mut self, cx: &Cx<'_>) -> bool {
        let item = match &self.stage {
            Stage::Done(item) => item,
            Stage::Stopped => return true,
            Stage::Written | Stage::Waiting(_) | Stage::Running { .. } => return false,
        };
        match &self.changes {
            Changes::Unknown if changes(item).is_empty() => self.changes = Changes::Known(Vec::new()),
            Changes::Unknown => {
                let few = changes(item).iter().take(FILES).cloned().collect();
                self.changes = Changes::Wanted(cx.fetch(cx.house.contents(few)));
                return false;
            }
            Changes::Wanted(errand) => match errand.take() {
                Some(found) => self.changes = Changes::Known(found.map(compared).unwrap_or_default()),
                None => return false,
            },
            Changes::Known(_) => {}
        }
        true
    }

    /// What it gave, to be copied.
    pub(super) fn copied(&self) -> String {
        match &self.stage {
            Stage::Done(item) => result(item),
            Stage::Running { output, .. } => output.clone(),
            Stage::Written | Stage::Waiting(_) | Stage::Stopped => self.title.clone(),
        }
    }

    /// The change that is being written, as far as it can be seen.
    pub(crate) fn growth(&self, cx: &Cx<'_>) -> Option<Diff> {
        let path = self.growing.path()?;
        let errand = self.file.get_or_init(|| cx.fetch(cx.house.text(path.clone())));
        let found = self
            .base
            .get()
            .cloned()
            .or_else(|| errand.take().map(Result::unwrap_or_default));
        let base = found?;
        self.growing.diff(self.base.get_or_init(|| base))
    }

    /// Its rows.
    pub(super) fn rows(&self, width: usize, fold: Fold, look: Look<'_>) -> Vec<Row> {
        let mut rows = vec![self.head(width, look)];
        match &self.stage {
            Stage::Written | Stage::Waiting(_) | Stage::Stopped => {}
            Stage::Running { output, .. } => {
                rows.extend(tail(output, OUTPUT, width, look));
                rows.extend(
                    self.below
                        .iter()
                        .map(|line| Row::of(format!("  │ {line}"), look.theme.dim).cut(width)),
                );
            }
            Stage::Done(item) => rows.extend(self.outcome(item, width, fold, look)),
        }
        rows
    }

    /// Rows of the change that is being written.
    pub(super) fn growing_rows(&self, width: usize, cx: &Cx<'_>) -> Vec<Row> {
        if !matches!(self.stage, Stage::Written | Stage::Waiting(_)) {
            return Vec::new();
        }
        let rows = self
            .growth(cx)
            .map(|diff| diff.rows(width.saturating_sub(2), usize::MAX, cx.theme));
        let rows = rows.unwrap_or_default();
        let excess = rows.len().saturating_sub(CHANGE / 2);
        rows.into_iter()
            .skip(excess)
            .map(|row| row.after("  ", cx.theme.dim))
            .collect()
    }

    fn head(&self, width: usize, look: Look<'_>) -> Row {
        let theme = look.theme;
        let (mark, style) = match &self.stage {
            Stage::Written => ("○", theme.dim),
            Stage::Waiting(_) => ("○", theme.accent),
            Stage::Running { since, .. } => (sign_of_life(since.elapsed()), theme.accent),
            Stage::Done(item) if item.failed() => ("✗", theme.bad),
            Stage::Done(_) => ("●", theme.good),
            Stage::Stopped => ("◌", theme.warn),
        };
        let title = match self.title.is_empty() {
            true => partial_title(&self.input)
                .or_else(|| self.waiting_title())
                .unwrap_or_default(),
            false => self.title.clone(),
        };
        let mut row = Row::of(format!("{mark} "), style).and(self.tool.clone(), theme.strong);
        if !title.is_empty() {
            row = row.and(format!(" {title}"), theme.text);
        }
        let mut behind = Vec::new();
        if let Changes::Known(diffs) = &self.changes {
            for (_, diff) in diffs.iter().filter(|(_, diff)| !diff.is_empty()).take(1) {
                behind.push(Piece::new("  ", theme.dim));
                behind.extend(diff.counts(theme));
            }
        }
        let dim = |text: String| Piece::new(text, theme.dim);
        match &self.stage {
            Stage::Running { since, .. } if since.elapsed() >= Duration::from_secs(1) => {
                behind.push(dim(format!("  {}", words::took(since.elapsed()))));
            }
            Stage::Done(item) => {
                if let Body::Result { summary, millis, .. } = &item.body {
                    let summary = summary.as_deref().map(|text| tame(text).replace('\n', " "));
                    if let Some(summary) = summary.as_deref().filter(|text| !text.is_empty()) {
                        behind.push(dim(format!(" · {summary}")));
                    }
                    let said = summary
                        .as_deref()
                        .is_some_and(|text| text.ends_with(['s', 'm']) && text.contains(char::is_numeric));
                    if *millis >= 100 && !said {
                        behind.push(dim(format!(" · {}", words::took(Duration::from_millis(*millis)))));
                    }
                }
            }
            Stage::Stopped => behind.push(dim(" · interrupted".into())),
            Stage::Written | Stage::Waiting(_) | Stage::Running { .. } => {}
        }
        let behind = Row::from(behind);
        let room = width.saturating_sub(behind.width().min(width / 2));
        let mut row = row.cut(room);
        row.pieces.extend(behind.pieces);
        row.cut(width)
    }

    /// The title of a call that has not begun to work: what its input names first.
    fn waiting_title(&self) -> Option<String> {
        let Stage::Waiting(reply) = &self.stage else {
            return None;
        };
        let input = reply.message()?.parts.iter().find_map(|part| match part {
            Part::ToolCall { id, input, .. } if *id == self.call => Some(input),
            _ => None,
        })?;
        let text = TELLING
            .iter()
            .find_map(|field| input.get(field).and_then(Value::as_str))?;
        Some(tame(text).replace('\n', " "))
    }

    /// What came of it.
    fn outcome(&self, item: &Item, width: usize, fold: Fold, look: Look<'_>) -> Vec<Row> {
        let theme = look.theme;
        let mut rows = Vec::new();
        if let Changes::Known(diffs) = &self.changes {
            // A folder that had to be made has nothing to show.
            let shown = || diffs.iter().filter(|(_, diff)| !diff.is_empty());
            let many = shown().count() > 1;
            for (path, diff) in shown() {
                if many {
                    let mut row = Row::of(format!("  {path}  "), theme.text);
                    row.pieces.extend(diff.counts(theme));
                    rows.push(row.cut(width));
                }
                let most = match fold {
                    Fold::Compact => CHANGE,
                    Fold::Open => usize::MAX,
                };
                let lines = diff.rows(width.saturating_sub(2), most, theme);
                rows.extend(lines.into_iter().map(|row| row.after("  ", theme.dim)));
            }
        }
        match fold {
            Fold::Open => rows.extend(tail(&result(item), usize::MAX, width, look)),
            Fold::Compact if outcome(item) == Outcome::Error => rows.extend(tail(&result(item), OUTPUT, width, look)),
            Fold::Compact => rows.extend(tail(&self.printed.join("\n"), PRINTED, width, look)),
        }
        rows.extend(images(item).map(|media| attachment(media, width, look)));
        rows
    }
}

/// Fields of an input that say what a call is about.
const TELLING: &[&str] = &[
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

/// A title from input that is still being written.
fn partial_title(input: &str) -> Option<String> {
    let (_, rest) = TELLING
        .iter()
        .find_map(|field| input.split_once(&format!("\"{field}\"")))?;
    let text = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let end = text.find(['"', '\\']).unwrap_or(text.len().min(80));
    text.get(..end).map(tame)
}

/// The end of a text, as rows behind a bar.
fn tail(text: &str, most: usize, width: usize, look: Look<'_>) -> Vec<Row> {
    let text = tame(text.trim_end());
    let lines: Vec<&str> = text.lines().collect();
    let missing = lines.len().saturating_sub(most);
    let mut rows = Vec::new();
    if missing > 0 {
        rows.push(Row::of(format!("  │ … {missing} lines before"), look.theme.dim));
    }
    rows.extend(lines.iter().skip(missing).map(|line| {
        let row = Row::of("  │ ", look.theme.border).and(*line, look.theme.dim);
        row.cut(width)
    }));
    rows
}

fn sign_of_life(elapsed: Duration) -> &'static str {
    const SIGNS: [&str; 4] = ["◐", "◓", "◑", "◒"];
    let turn = usize::try_from(elapsed.as_millis() / 200).unwrap_or(0);
    SIGNS.get(turn % SIGNS.len()).copied().unwrap_or("◐")
}

fn changes(item: &Item) -> &[session::Change] {
    match &item.body {
        Body::Result { changes, .. } => changes,
        _ => &[],
    }
}

fn compared(contents: Vec<Contents>) -> Vec<(String, Diff)> {
    let diff = |contents: Contents| {
        let diff = Diff::between(
            contents.before.as_deref().unwrap_or_default(),
            contents.after.as_deref().unwrap_or_default(),
            1,
        );
        (contents.path.display().to_string(), diff)
    };
    contents.into_iter().map(diff).collect()
}

/// Images that a tool brought.
fn images(item: &Item) -> impl Iterator<Item = &Media> {
    let parts = item
        .message()
        .map(|message| message.parts.as_slice())
        .unwrap_or_default();
    let blocks = parts.iter().flat_map(|part| match part {
        Part::ToolResult { content, .. } => content.as_slice(),
        _ => &[],
    });
    blocks.filter_map(|block| match block {
        Block::Media(media) => Some(media),
        Block::Text { .. } => None,
    })
}

/// Whether a tool did what it was asked.
fn outcome(item: &Item) -> Outcome {
    let parts = item
        .message()
        .map(|message| message.parts.as_slice())
        .unwrap_or_default();
    let found = parts.iter().find_map(|part| match part {
        Part::ToolResult { outcome, .. } => Some(*outcome),
        _ => None,
    });
    found.unwrap_or(Outcome::Ok)
}

/// What a tool said.
fn result(item: &Item) -> String {
    let parts = item
        .message()
        .map(|message| message.parts.as_slice())
        .unwrap_or_default();
    let found = parts.iter().find_map(|part| match part {
        Part::ToolResult { content, .. } => Some(content),
        _ => None,
    });
    let Some(content) = found else {
        return String::new();
    };
    let texts = content.iter().map(|block| match block {
        Block::Text { text } => text.clone(),
        Block::Media(media) => format!("[{} · {}]", media.mime, words::size(media.data.len())),
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{Given, Stage as Scenery};

    #[test]
    fn a_card_about_one_file_names_it_once() {
        let scenery = Scenery::new(Given::default());
        let contents = |path: &str, after: Option<&str>| Contents {
            path: path.into(),
            before: None,
            after: after.map(Into::into),
        };
        let rows = |changed: Vec<Contents>| {
            let mut card = Card::new(CallId::from("1"), "write_file");
            card.finish(&crate::scenes::result("1", "write_file", "new/a.txt", "", Outcome::Ok));
            card.changes = Changes::Known(compared(changed));
            let rows = card.rows(80, Fold::Compact, super::super::look(&scenery.cx()));
            let text = |row: &Row| row.pieces.iter().map(|piece| piece.text.as_str()).collect::<String>();
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
