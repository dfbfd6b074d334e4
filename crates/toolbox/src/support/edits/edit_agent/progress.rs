//! Live progress of edits by the edit model.

use session::{PreviewState, PreviewUpdate, TextOp};
use std::fmt::Write as _;

use tool::CallContext;

/// Sends edits as they are written: the line and the new text.
#[derive(Default)]
pub(crate) struct EditProgress {
    edit: usize,
}

impl EditProgress {
    pub(crate) fn send(&mut self, updates: Vec<PreviewUpdate>, context: &CallContext) {
        let mut text = String::new();
        for update in updates {
            match update.state {
                PreviewState::Edited { first_line, ops } => {
                    if self.edit != update.edit {
                        self.edit = update.edit;
                        // Writing to a string cannot fail.
                        writeln!(text, "@@ line {} @@", first_line.max(1)).ok();
                    }
                    for op in ops {
                        match op {
                            TextOp::Insert(new) => text.push_str(&new),
                            TextOp::Keep(_) | TextOp::Delete(_) => {}
                        }
                    }
                }
                PreviewState::Resolving { .. }
                | PreviewState::Ambiguous { .. }
                | PreviewState::Unresolved
                | PreviewState::Finished => {}
            }
        }
        if !text.is_empty() {
            context.progress.send(&context.call, text);
        }
    }
}
