//! Previews an edit while it is streaming: its location and the resulting change. Only [`crate::plan`] is
//! authoritative.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::document::{TextDocument, normalize_newlines};
use crate::format::{EditDelta, EditEvent, EditFormat, EditParser};
use crate::locator::{EditLocator, LocationGuess};
use crate::streaming_diff::StreamingDiff;
use session::{PreviewState, PreviewUpdate, TextOp};

/// Looks up a file for a [`EditPreview`], which owns it for the duration of the stream.
pub type PreviewSource = Box<dyn Fn(&Path) -> Option<String> + Send>;

/// Maximum number of equal places that are shown.
const MAX_PLACES: usize = 50;

/// A preview of streaming edit text.
pub struct EditPreview {
    parser: EditParser,
    target: Option<PathBuf>,
    lookup: PreviewSource,
    current: Option<CurrentEdit>,
}

/// The edit that is currently streaming.
struct CurrentEdit {
    edit: usize,
    path: Option<PathBuf>,
    content: Option<String>,
    /// The old text so far.
    old: String,
    hint: Option<usize>,
    stage: PreviewStage,
}

enum PreviewStage {
    Quoting {
        locator: EditLocator,
        shown: LocationGuess,
    },
    Writing {
        first_line: usize,
        diff: StreamingDiff,
        /// The rest of the last line after the old text, in bytes.
        rest: usize,
        /// Whether the line break after the tag of the new text has not arrived yet.
        awaits_break: bool,
    },
    /// It cannot be previewed: not found, or a patch with mixed lines.
    Hidden,
}

impl EditPreview {
    /// A preview of text in `format`; `target` is the file for edits without a name.
    pub fn new(format: EditFormat, target: Option<&Path>, lookup: PreviewSource) -> Self {
        Self {
            parser: EditParser::new(format),
            target: target.map(Path::to_owned),
            lookup,
            current: None,
        }
    }

    /// Adds text.
    pub fn push(&mut self, chunk: &str) -> Vec<PreviewUpdate> {
        let mut updates = Vec::new();
        for event in self.parser.push(chunk) {
            self.event(event, &mut updates);
        }
        updates
    }

    /// The text is complete.
    pub fn finish(mut self) -> Vec<PreviewUpdate> {
        let mut updates = Vec::new();
        self.end(&mut updates);
        updates
    }

    fn event(&mut self, event: EditEvent, updates: &mut Vec<PreviewUpdate>) {
        if self.current.as_ref().is_none_or(|current| current.edit != event.edit) {
            let (name, hint) = match &event.delta {
                EditDelta::Started { name, hint } => (name.clone(), *hint),
                _ => (None, None),
            };
            self.end(updates);
            self.start(event.edit, name, hint);
        }
        let Some(current) = &mut self.current else { return };
        match event.delta {
            EditDelta::Started { .. } => {}
            EditDelta::Old(text) => current.old(&text, updates),
            EditDelta::New(text) => current.new_text(&text, updates),
            // Patches alternate between quoting and writing: the quoted lines are located, and the change is shown once
            // it is planned.
            EditDelta::Kept(text) => current.old(&text, updates),
            EditDelta::Finished => self.end(updates),
        }
    }

    fn start(&mut self, edit: usize, name: Option<String>, hint: Option<usize>) {
        let named = name.map(PathBuf::from);
        let path = named
            .filter(|path| (self.lookup)(path).is_some() || self.target.is_none())
            .or_else(|| self.target.clone());
        let content = path.as_deref().and_then(|path| (self.lookup)(path));
        let locator = EditLocator::new(content.as_deref().unwrap_or_default(), hint);
        self.current = Some(CurrentEdit {
            edit,
            path,
            content,
            old: String::new(),
            hint,
            stage: PreviewStage::Quoting {
                locator,
                shown: LocationGuess::Unknown,
            },
        });
    }

    fn end(&mut self, updates: &mut Vec<PreviewUpdate>) {
        let Some(mut current) = self.current.take() else { return };
        match std::mem::replace(&mut current.stage, PreviewStage::Hidden) {
            PreviewStage::Writing {
                first_line, diff, rest, ..
            } => {
                let mut ops = diff.finish();
                match ops.last_mut() {
                    _ if rest == 0 => {}
                    Some(TextOp::Keep(kept)) => *kept += rest,
                    Some(TextOp::Delete(_) | TextOp::Insert(_)) | None => ops.push(TextOp::Keep(rest)),
                }
                current.emit(PreviewState::Edited { first_line, ops }, updates);
            }
            PreviewStage::Quoting { mut locator, .. } => {
                if locator.finish() == LocationGuess::Nowhere && current.exact_places().is_empty() {
                    current.emit(PreviewState::Unresolved, updates);
                }
            }
            PreviewStage::Hidden => {}
        }
        current.emit(PreviewState::Finished, updates);
    }
}

impl CurrentEdit {
    fn emit(&self, state: PreviewState, updates: &mut Vec<PreviewUpdate>) {
        updates.push(PreviewUpdate {
            edit: self.edit + 1,
            path: self.path.clone(),
            state,
        });
    }

    /// The bytes where the old text is exactly; it may start and end inside a line.
    fn exact_places(&self) -> Vec<Range<usize>> {
        let document = TextDocument::parse(self.content.as_deref().unwrap_or_default());
        let old = normalize_newlines(&self.old);
        let old = match old.strip_prefix('\n') {
            Some(lines) => lines.strip_suffix('\n').unwrap_or(lines),
            None => &old,
        };
        if old.trim().is_empty() {
            return Vec::new();
        }
        let found = document.body().match_indices(old).take(MAX_PLACES);
        let found: Vec<Range<usize>> = found.map(|(at, _)| at..at + old.len()).collect();
        let hinted = self.hint.and_then(|hint| {
            let is_there = |range: &&Range<usize>| document.line_at(range.start) + 1 == hint;
            found.iter().find(is_there).cloned()
        });
        hinted.map_or(found, |range| vec![range])
    }

    /// Starts to show the change of text at an exact place.
    fn write_exact(&self, range: &Range<usize>, updates: &mut Vec<PreviewUpdate>) -> PreviewStage {
        let document = TextDocument::parse(self.content.as_deref().unwrap_or_default());
        let (first, last) = (
            document.line_at(range.start),
            document.line_at(range.end.saturating_sub(1)),
        );
        let before = range.start - document.line_start(first);
        let rest = document.line_start(last + 1).saturating_sub(range.end);
        let first_line = first + 1;
        if before > 0 {
            let ops = vec![TextOp::Keep(before)];
            self.emit(PreviewState::Edited { first_line, ops }, updates);
        }
        PreviewStage::Writing {
            first_line,
            diff: StreamingDiff::new(&document.body()[range.clone()]),
            rest,
            awaits_break: self.old.starts_with('\n'),
        }
    }

    fn old(&mut self, text: &str, updates: &mut Vec<PreviewUpdate>) {
        self.old.push_str(text);
        let PreviewStage::Quoting { locator, shown } = &mut self.stage else {
            return;
        };
        let guess = locator.push(text);
        if guess != *shown {
            *shown = guess.clone();
            if let LocationGuess::At { first_line, last_line } = guess {
                self.emit(PreviewState::Resolving { first_line, last_line }, updates);
            }
        }
    }

    fn new_text(&mut self, text: &str, updates: &mut Vec<PreviewUpdate>) {
        if let PreviewStage::Quoting { locator, .. } = &mut self.stage {
            let guess = locator.finish();
            self.stage = match (self.exact_places().as_slice(), guess) {
                ([range], _) => self.write_exact(range, updates),
                (many @ [_, _, ..], LocationGuess::Nowhere) => {
                    let document = TextDocument::parse(self.content.as_deref().unwrap_or_default());
                    let lines = many.iter().map(|range| document.line_at(range.start) + 1).collect();
                    self.emit(PreviewState::Ambiguous { lines }, updates);
                    PreviewStage::Hidden
                }
                (_, guess) => self.write(guess, updates),
            };
        }
        let PreviewStage::Writing {
            first_line,
            diff,
            awaits_break,
            ..
        } = &mut self.stage
        else {
            return;
        };
        let text = match std::mem::take(awaits_break) && !text.is_empty() {
            true => text.strip_prefix('\n').unwrap_or(text),
            false => text,
        };
        let (first_line, ops) = (*first_line, diff.push(text));
        if !ops.is_empty() {
            self.emit(PreviewState::Edited { first_line, ops }, updates);
        }
    }

    fn write(&self, guess: LocationGuess, updates: &mut Vec<PreviewUpdate>) -> PreviewStage {
        let content = self.content.as_deref().unwrap_or_default();
        match guess {
            // No old text: the whole file.
            LocationGuess::Unknown => {
                let first_line = usize::from(self.content.is_some());
                PreviewStage::Writing {
                    first_line,
                    diff: StreamingDiff::new(content),
                    rest: 0,
                    awaits_break: false,
                }
            }
            LocationGuess::At { first_line, last_line } => {
                let document = TextDocument::parse(content);
                let range = document.line_start(first_line - 1)..document.line_start(last_line);
                PreviewStage::Writing {
                    first_line,
                    diff: StreamingDiff::new(&document.body()[range]),
                    rest: 0,
                    awaits_break: self.old.starts_with('\n'),
                }
            }
            LocationGuess::Several(lines) => {
                self.emit(PreviewState::Ambiguous { lines }, updates);
                PreviewStage::Hidden
            }
            LocationGuess::Nowhere => {
                self.emit(PreviewState::Unresolved, updates);
                PreviewStage::Hidden
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The region after the operations of a preview of JSON arguments, letter by letter, and the final states.
    fn preview(file: &str, old: &str, new: &str) -> (usize, String, Vec<PreviewState>) {
        let content = file.to_owned();
        let lookup = Box::new(move |_: &Path| Some(content.clone()));
        let mut preview = EditPreview::new(EditFormat::Json, Some(Path::new("a.rs")), lookup);
        let text = serde_json::json!({"old_text": old, "new_text": new}).to_string();
        let mut states: Vec<PreviewState> = Vec::new();
        for piece in text.chars() {
            states.extend(preview.push(&piece.to_string()).into_iter().map(|update| update.state));
        }
        states.extend(preview.finish().into_iter().map(|update| update.state));
        let (mut line, mut at, mut after) = (0, 0, String::new());
        for state in &states {
            if let PreviewState::Edited { first_line, ops } = state {
                line = *first_line;
                let start = file.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
                for op in ops {
                    match op {
                        TextOp::Keep(bytes) => {
                            after.push_str(&file[start + at..start + at + bytes]);
                            at += bytes;
                        }
                        TextOp::Delete(bytes) => at += bytes,
                        TextOp::Insert(text) => after.push_str(text),
                    }
                }
            }
        }
        (line, after, states)
    }

    #[test]
    fn text_inside_of_a_line_is_previewed_with_the_rest_of_the_line() {
        let file = "fn f() {\n    return x;\n}\nlet a = f(x) + g(x);\nlet b = h(x);\n";
        for (old, new, line, after) in [
            ("return x", "return y", 2, "    return y;\n"),
            ("return x;", "go();\n    return x;", 2, "    go();\n    return x;\n"),
            ("f(x)", "f(y)", 4, "let a = f(y) + g(x);\n"),
            ("    return x;", "    return z;", 2, "    return z;\n"),
            (
                "x;\n}\nlet a",
                "y;\n}\nlet c",
                2,
                "    return y;\n}\nlet c = f(x) + g(x);\n",
            ),
            ("    return x;\n", "", 2, ""),
        ] {
            let (shown_line, shown, states) = preview(file, old, new);
            assert_eq!((shown_line, shown.as_str()), (line, after), "{old}");
            assert!(!states.contains(&PreviewState::Unresolved), "{old}");
        }
        let (_, _, states) = preview(file, "(x)", "(y)");
        assert!(states.contains(&PreviewState::Ambiguous { lines: vec![4, 4, 5] }));
        let (_, _, states) = preview(file, "missing", "x");
        assert!(states.contains(&PreviewState::Unresolved));
    }

    #[test]
    fn a_streaming_edit_is_previewed() {
        let file = "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(2);\n}\n".to_owned();
        let lookup = Box::new(move |_: &Path| Some(file.clone()));
        let mut preview = EditPreview::new(EditFormat::SearchReplace, Some(Path::new("a.rs")), lookup);
        let text = "<<<<<<< SEARCH\nfn b() {\n    go(2);\n=======\nfn b() {\n    go(3);\n>>>>>>> REPLACE\n";
        let mut states: Vec<PreviewState> = Vec::new();
        for piece in text.split_inclusive('\n') {
            states.extend(preview.push(piece).into_iter().map(|update| update.state));
        }
        states.extend(preview.finish().into_iter().map(|update| update.state));
        let edited = |ops: &[TextOp]| PreviewState::Edited {
            first_line: 5,
            ops: ops.to_vec(),
        };
        assert_eq!(
            states,
            [
                PreviewState::Resolving {
                    first_line: 5,
                    last_line: 5
                },
                PreviewState::Resolving {
                    first_line: 5,
                    last_line: 6
                },
                edited(&[TextOp::Keep(9)]),
                edited(&[
                    TextOp::Keep(7),
                    TextOp::Delete(1),
                    TextOp::Insert("3".to_owned()),
                    TextOp::Keep(3)
                ]),
                edited(&[]),
                PreviewState::Finished,
            ]
        );
    }
}
