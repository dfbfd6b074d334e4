//! Previews an edit while it is streaming: its location and the resulting change. Only [`crate::plan`] is
//! authoritative.

use std::path::{Path, PathBuf};

use crate::document::TextDocument;
use crate::format::{EditDelta, EditEvent, EditFormat, EditParser};
use crate::locator::{EditLocator, LocationGuess};
use crate::streaming_diff::StreamingDiff;
use session::{PreviewState, PreviewUpdate};

/// Looks up a file for a [`EditPreview`], which owns it for the duration of the stream.
pub type PreviewSource = Box<dyn Fn(&Path) -> Option<String> + Send>;

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
            stage: PreviewStage::Quoting {
                locator,
                shown: LocationGuess::Unknown,
            },
        });
    }

    fn end(&mut self, updates: &mut Vec<PreviewUpdate>) {
        let Some(mut current) = self.current.take() else { return };
        match std::mem::replace(&mut current.stage, PreviewStage::Hidden) {
            PreviewStage::Writing { first_line, diff } => {
                current.emit(
                    PreviewState::Edited {
                        first_line,
                        ops: diff.finish(),
                    },
                    updates,
                );
            }
            PreviewStage::Quoting { mut locator, .. } => {
                if locator.finish() == LocationGuess::Nowhere {
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

    fn old(&mut self, text: &str, updates: &mut Vec<PreviewUpdate>) {
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
            self.stage = self.write(guess, updates);
        }
        let PreviewStage::Writing { first_line, diff } = &mut self.stage else {
            return;
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
                }
            }
            LocationGuess::At { first_line, last_line } => {
                let document = TextDocument::parse(content);
                let range = document.line_start(first_line - 1)..document.line_start(last_line);
                PreviewStage::Writing {
                    first_line,
                    diff: StreamingDiff::new(&document.body()[range]),
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
    use session::TextOp;

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
