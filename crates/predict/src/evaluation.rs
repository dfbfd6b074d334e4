//! Measures predictions on edits that were really made: commits split into sequences of edits.

use std::collections::HashMap;
use std::ops::Range;

use edit::compare;

use crate::buffer::common_ends;
use crate::{EditHistory, EditSource, EditorBuffer};

/// Changed blocks above this size are not predicted.
const MAX_BLOCK: usize = 1_500;
/// The time between two edits of a sequence, in milliseconds.
const STEP_MS: u64 = 60_000;
/// The longest sequence of characters that chrF compares.
const MAX_GRAM: usize = 6;

/// One edit to predict: everything before it has been made.
#[derive(Debug, Clone)]
pub struct PredictionCase {
    /// The path of the file.
    pub path: String,
    /// The text before the edit.
    pub buffer: EditorBuffer,
    /// The edits before it.
    pub history: EditHistory,
    /// The place of the edit.
    pub cursor: usize,
    /// The text after the edit.
    pub expected: EditorBuffer,
}

/// How a prediction compares with the real edit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PredictionScore {
    /// Whether the texts are the same.
    pub exact: bool,
    /// The F1 score of the changed lines.
    pub line_f1: f64,
    /// The character n-gram score of the inserted text.
    pub delta_chrf: f64,
}

/// Splits a commit's change of one file into cases, one for each changed block after the first.
pub fn cases(path: &str, before: &str, after: &str) -> Vec<PredictionCase> {
    let mut buffer = EditorBuffer::new(before.to_owned());
    let mut history = EditHistory::default();
    let mut cases = Vec::new();
    for (number, (lines, new)) in changed_blocks(before, after).into_iter().enumerate() {
        // Blocks come in order from the end, so that earlier line numbers stay valid.
        let span = buffer.line_span(lines);
        let old = &buffer.text()[span.clone()];
        let (prefix, suffix) = common_ends(old, &new);
        let start = span.start + prefix;
        let mut expected = buffer.clone();
        let edit = expected.replace_span(start..span.end - suffix, &new[prefix..new.len() - suffix]);
        if number > 0 && old.len().max(new.len()) <= MAX_BLOCK {
            cases.push(PredictionCase {
                path: path.to_owned(),
                buffer: buffer.clone(),
                history: history.clone(),
                cursor: start,
                expected: expected.clone(),
            });
        }
        buffer = expected;
        history.record(path, &buffer, &edit, EditSource::User, number as u64 * STEP_MS);
    }
    cases
}

/// The changed blocks from the last to the first: lines of the old text, and their new text.
fn changed_blocks(before: &str, after: &str) -> Vec<(Range<usize>, String)> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let mut blocks: Vec<(Range<usize>, String)> = compare(&old, &new, None)
        .into_iter()
        .map(|operation| operation.as_tag_tuple())
        .filter(|(_, before, after)| old[before.clone()] != new[after.clone()])
        .map(|(_, before, after)| (before, new[after].concat()))
        .collect();
    blocks.reverse();
    blocks
}

/// Compares the text after a prediction with the text after the real edit.
pub fn score(case: &PredictionCase, predicted: &EditorBuffer) -> PredictionScore {
    let (expected_lines, expected_text) = changes(&case.buffer, &case.expected);
    let (predicted_lines, predicted_text) = changes(&case.buffer, predicted);
    PredictionScore {
        exact: case.expected.text() == predicted.text(),
        line_f1: f1(&expected_lines, &predicted_lines),
        delta_chrf: chrf(&expected_text, &predicted_text),
    }
}

/// The removed and added lines of a change with their counts, and the inserted text.
fn changes(old: &EditorBuffer, new: &EditorBuffer) -> (HashMap<(char, String), usize>, String) {
    let old: Vec<&str> = old.text().split_inclusive('\n').collect();
    let new: Vec<&str> = new.text().split_inclusive('\n').collect();
    let (mut counts, mut inserted) = (HashMap::new(), String::new());
    for operation in compare(&old, &new, None) {
        let (_, before, after) = operation.as_tag_tuple();
        let (before, after) = (&old[before], &new[after]);
        if before == after {
            continue;
        }
        for (sign, lines) in [('-', before), ('+', after)] {
            for line in lines {
                *counts.entry((sign, line.trim_end().to_owned())).or_insert(0) += 1;
            }
        }
        let (before, after) = (before.concat(), after.concat());
        let (prefix, suffix) = common_ends(&before, &after);
        inserted.push_str(&after[prefix..after.len() - suffix]);
    }
    (counts, inserted)
}

fn f1(expected: &HashMap<(char, String), usize>, predicted: &HashMap<(char, String), usize>) -> f64 {
    let common: usize = expected
        .iter()
        .map(|(line, count)| (*count).min(predicted.get(line).copied().unwrap_or(0)))
        .sum();
    let all: usize = expected.values().chain(predicted.values()).sum();
    if all == 0 {
        1.0
    } else {
        2.0 * common as f64 / all as f64
    }
}

/// The mean F2 score of character n-grams up to six, without blanks.
fn chrf(expected: &str, predicted: &str) -> f64 {
    let letters = |text: &str| -> Vec<char> { text.chars().filter(|letter| !letter.is_whitespace()).collect() };
    let (expected, predicted) = (letters(expected), letters(predicted));
    if expected.is_empty() || predicted.is_empty() {
        return f64::from(u8::from(expected == predicted));
    }
    let scores: Vec<f64> = (1..=MAX_GRAM)
        .filter(|length| expected.len() >= *length)
        .map(|length| {
            let grams = |letters: &[char]| {
                let mut counts: HashMap<Vec<char>, usize> = HashMap::new();
                for gram in letters.windows(length) {
                    *counts.entry(gram.to_vec()).or_default() += 1;
                }
                counts
            };
            let (expected, predicted) = (grams(&expected), grams(&predicted));
            let common: usize = expected
                .iter()
                .map(|(gram, count)| (*count).min(predicted.get(gram).copied().unwrap_or(0)))
                .sum();
            let share = |all: usize| if all == 0 { 0.0 } else { common as f64 / all as f64 };
            let (precision, recall) = (share(predicted.values().sum()), share(expected.values().sum()));
            if precision + recall == 0.0 {
                0.0
            } else {
                5.0 * precision * recall / (4.0 * precision + recall)
            }
        })
        .collect();
    scores.iter().sum::<f64>() / scores.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n";
    const AFTER: &str = "a = 10\nb = 2\nc = 30\nd = 4\ne = 50\n";

    #[test]
    fn a_commit_becomes_a_sequence_of_edits() {
        let cases = cases("x.py", BEFORE, AFTER);
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[0].buffer.text(), "a = 1\nb = 2\nc = 3\nd = 4\ne = 50\n");
        assert_eq!(cases[0].expected.text(), "a = 1\nb = 2\nc = 30\nd = 4\ne = 50\n");
        assert_eq!(cases[0].cursor, "a = 1\nb = 2\nc = 3".len());
        assert_eq!(cases[0].history.entries().count(), 1);
        assert_eq!(cases[1].expected.text(), AFTER);
    }

    #[test]
    fn scores_compare_what_was_changed() {
        let case = cases("x.py", BEFORE, AFTER).remove(0);
        let right = score(&case, &case.expected);
        assert_eq!((right.exact, right.line_f1, right.delta_chrf), (true, 1.0, 1.0));
        let none = score(&case, &case.buffer);
        assert_eq!((none.exact, none.line_f1, none.delta_chrf), (false, 0.0, 0.0));
        let close = EditorBuffer::new(case.expected.text().replace("c = 30", "c = 31"));
        let close = score(&case, &close);
        assert!(!close.exact && close.line_f1 == 0.5, "{close:?}");
    }
}
