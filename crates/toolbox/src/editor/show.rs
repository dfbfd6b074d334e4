//! What the person sees of edits that another model is writing.

use std::fmt::Write as _;

use tool::{Context, Glimpse, Op, Sight};

/// Shows edits to the person as they are written: where, and what comes there.
#[derive(Default)]
pub(crate) struct Show {
    edit: usize,
}

impl Show {
    pub(crate) fn glimpses(&mut self, glimpses: Vec<Glimpse>, context: &Context) {
        let mut text = String::new();
        for glimpse in glimpses {
            match glimpse.sight {
                Sight::Edited { first_line, ops } => {
                    if self.edit != glimpse.edit {
                        self.edit = glimpse.edit;
                        // Writing to a string cannot fail.
                        writeln!(text, "@@ line {} @@", first_line.max(1)).ok();
                    }
                    for op in ops {
                        match op {
                            Op::Insert(new) => text.push_str(&new),
                            Op::Keep(_) | Op::Delete(_) => {}
                        }
                    }
                }
                Sight::Resolving { .. } | Sight::Ambiguous { .. } | Sight::Unresolved | Sight::Finished => {}
            }
        }
        if !text.is_empty() {
            context.progress.show(&context.call, text);
        }
    }
}
