//! A predicted change of a buffer, and what remains of it while the user types.

use std::ops::Range;

use edit::compare;

use crate::buffer::common_ends;
use crate::{BufferEdit, EditorBuffer};

/// One replacement of a prediction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictionEdit {
    /// The replaced bytes.
    pub range: Range<usize>,
    /// The new text.
    pub text: String,
}

/// A predicted change: replacements in order that do not overlap. It has at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The replacements.
    pub edits: Vec<PredictionEdit>,
}

/// What the user's edit leaves of a prediction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interpolation {
    /// The user typed part of it; this is the rest.
    Rest(Prediction),
    /// The user typed all of it.
    Complete,
    /// The user typed something else.
    Contradicted,
}

impl Prediction {
    /// The difference between a range of the buffer and its predicted text; `None` if they are equal.
    ///
    /// Lines are compared first; each changed group of lines is reduced to the part that differs.
    pub fn between(buffer: &EditorBuffer, range: Range<usize>, new: &str) -> Option<Self> {
        let old = &buffer.text()[range.clone()];
        let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
        let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
        let mut edits = Vec::new();
        let (old_starts, new_starts) = (offsets(&old_lines), offsets(&new_lines));
        for operation in compare(&old_lines, &new_lines, None) {
            let (_, before, after) = operation.as_tag_tuple();
            let before = old_starts[before.start]..old_starts[before.end];
            let after = &new[new_starts[after.start]..new_starts[after.end]];
            let (prefix, suffix) = common_ends(&old[before.clone()], after);
            let text = after[prefix..after.len() - suffix].to_owned();
            let start = range.start + before.start + prefix;
            let end = range.start + before.end - suffix;
            if start < end || !text.is_empty() {
                edits.push(PredictionEdit {
                    range: start..end,
                    text,
                });
            }
        }
        (!edits.is_empty()).then_some(Prediction { edits })
    }

    /// The buffer after the prediction.
    pub fn apply(&self, buffer: &EditorBuffer) -> EditorBuffer {
        let mut result = buffer.clone();
        for edit in self.edits.iter().rev() {
            result.replace_span(edit.range.clone(), &edit.text);
        }
        result
    }

    /// The replacement nearest to a byte offset, which the editor shows first.
    pub fn nearest(&self, cursor: usize) -> Option<&PredictionEdit> {
        let distance = |edit: &&PredictionEdit| {
            let before = edit.range.start.saturating_sub(cursor);
            before.max(cursor.saturating_sub(edit.range.end))
        };
        self.edits.iter().min_by_key(distance)
    }

    /// What remains after an edit of the user. The result after both is the same as before, or the prediction is
    /// contradicted.
    pub fn interpolate(&self, user: &BufferEdit) -> Interpolation {
        let user_range = user.start..user.start + user.removed.len();
        let mut rest = Vec::with_capacity(self.edits.len());
        let mut used = user.removed.is_empty() && user.inserted.is_empty();
        for edit in &self.edits {
            if !used && let Some(left) = remainder(edit, &user_range, &user.inserted) {
                used = true;
                rest.extend(left);
            } else if edit.range.end <= user.start {
                rest.push(edit.clone());
            } else if edit.range.start >= user_range.end {
                let shift = |at: usize| at - user.removed.len() + user.inserted.len();
                rest.push(PredictionEdit {
                    range: shift(edit.range.start)..shift(edit.range.end),
                    text: edit.text.clone(),
                });
            } else {
                return Interpolation::Contradicted;
            }
        }
        match (used, rest.is_empty()) {
            (false, _) => Interpolation::Contradicted,
            (true, true) => Interpolation::Complete,
            (true, false) => Interpolation::Rest(Prediction { edits: rest }),
        }
    }
}

/// What remains of a replacement after the user's edit, if that edit is a part of it.
fn remainder(edit: &PredictionEdit, user: &Range<usize>, inserted: &str) -> Option<Option<PredictionEdit>> {
    if inserted.is_empty() && edit.range.start <= user.start && user.end <= edit.range.end {
        // The user deleted text that the prediction deletes too.
        let left = PredictionEdit {
            range: edit.range.start..edit.range.end - user.len(),
            text: edit.text.clone(),
        };
        return Some((!left.range.is_empty() || !left.text.is_empty()).then_some(left));
    }
    if user.start != edit.range.start || user.end > edit.range.end {
        return None;
    }
    let text = edit.text.strip_prefix(inserted)?;
    let start = user.start + inserted.len();
    let left = PredictionEdit {
        range: start..start + (edit.range.end - user.end),
        text: text.to_owned(),
    };
    Some((!left.range.is_empty() || !left.text.is_empty()).then_some(left))
}

fn offsets(lines: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let ends = lines.iter().map(|line| {
        at += line.len();
        at
    });
    std::iter::once(0).chain(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn between(old: &str, new: &str) -> Option<Prediction> {
        Prediction::between(&EditorBuffer::new(old.into()), 0..old.len(), new)
    }

    #[test]
    fn only_the_changed_parts_are_replaced() {
        let edits = between("fn a() {}\nkeep\nlet x = 1;\n", "fn ab() {}\nkeep\nlet x = 12;\n");
        let expected = vec![
            PredictionEdit {
                range: 4..4,
                text: "b".into(),
            },
            PredictionEdit {
                range: 24..24,
                text: "2".into(),
            },
        ];
        assert_eq!(edits, Some(Prediction { edits: expected }));
        assert_eq!(between("same\n", "same\n"), None);
    }

    #[test]
    fn typing_the_prediction_keeps_the_rest() {
        let mut buffer = EditorBuffer::new("let x = \n".into());
        let prediction = Prediction::between(&buffer, 0..9, "let x = 42;\n").unwrap();
        let edit = buffer.replace_span(8..8, "4");
        let Interpolation::Rest(rest) = prediction.interpolate(&edit) else {
            panic!("{prediction:?}");
        };
        assert_eq!(rest.apply(&buffer).text(), "let x = 42;\n");
        let edit = buffer.replace_span(9..9, "2;");
        assert_eq!(rest.interpolate(&edit), Interpolation::Complete);
        let edit = buffer.replace_span(0..0, "y");
        assert_eq!(rest.interpolate(&edit), Interpolation::Contradicted);
    }

    proptest! {
        #[test]
        fn a_prediction_gives_the_new_text(old in "[ab\n]{0,20}", new in "[ab\n]{0,20}") {
            let buffer = EditorBuffer::new(old.clone());
            match Prediction::between(&buffer, 0..old.len(), &new) {
                Some(prediction) => prop_assert_eq!(prediction.apply(&buffer).text().to_owned(), new),
                None => prop_assert_eq!(old, new),
            }
        }

        #[test]
        fn an_interpolated_prediction_has_the_same_result(
            old in "[abc\n]{0,16}", new in "[abc\n]{0,16}",
            start in 0usize..17, length in 0usize..3, typed in "[abc\n]{0,3}",
        ) {
            let buffer = EditorBuffer::new(old.clone());
            let Some(prediction) = Prediction::between(&buffer, 0..old.len(), &new) else { return Ok(()) };
            let mut after = buffer.clone();
            let edit = after.replace_span(start..start + length, &typed);
            match prediction.interpolate(&edit) {
                Interpolation::Rest(rest) => prop_assert_eq!(rest.apply(&after).text().to_owned(), new),
                Interpolation::Complete => prop_assert_eq!(after.text(), new),
                Interpolation::Contradicted => {}
            }
        }
    }
}
