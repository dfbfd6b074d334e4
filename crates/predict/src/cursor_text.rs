//! Completion requests of editors that build their own prompt: the text around the cursor, and the text to insert there.

use crate::answer::{self, AnswerEnd};
use crate::prompt::{self, PredictionPrompt, PromptInput};
use crate::{EditHistory, EditorBuffer, ExcerptLimits, FormatKind, PromptFormat, formats};

/// The text before and after a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorText {
    /// The text before the cursor.
    pub before: String,
    /// The text after the cursor.
    pub after: String,
}

impl CursorText {
    /// The text around the cursor in a prompt: by the markers of a known format, or else all of it is before the cursor.
    pub fn from_prompt(text: &str) -> Self {
        let templates = formats().iter().filter(|format| format.kind == FormatKind::Fim);
        let found = templates.filter_map(|format| split_by_markers(&format.template, text));
        // The markers of a format may be part of those of another one: the longest markers leave the least text.
        let found = found.min_by_key(|found| found.before.len() + found.after.len());
        found.unwrap_or_else(|| CursorText {
            before: text.to_owned(),
            after: String::new(),
        })
    }

    /// The prompt in the format of a model; `None` if the text contains markers of the format.
    pub fn prompt(&self, format: &PromptFormat) -> Option<PredictionPrompt> {
        let (buffer, history) = (self.buffer(), EditHistory::default());
        let input = PromptInput {
            path: "",
            buffer: &buffer,
            cursor: self.before.len(),
            blocks: &[],
            history: &history,
            related: &[],
            diagnostics: &[],
            limits: ExcerptLimits::default(),
        };
        let built = prompt::build(format, &input)?;
        Some(match format.kind {
            FormatKind::Fim => prompt::completion_at_cursor(format, &input, built),
            FormatKind::Window | FormatKind::Chat => built,
        })
    }

    /// The text that an answer inserts at the cursor. Empty if the answer changes other text.
    pub fn inserted(&self, format: &PromptFormat, prompt: &PredictionPrompt, answer: (&str, AnswerEnd)) -> String {
        let buffer = self.buffer();
        let parsed = answer::parse(format, prompt, &buffer, &EditHistory::default(), "", answer);
        let Ok(prediction) = parsed else {
            return String::new();
        };
        let predicted = prediction.apply(&buffer);
        let inserted = predicted.text().strip_prefix(self.before.as_str());
        let inserted = inserted.and_then(|rest| rest.strip_suffix(self.after.as_str()));
        inserted.unwrap_or_default().to_owned()
    }

    fn buffer(&self) -> EditorBuffer {
        EditorBuffer::new(format!("{}{}", self.before, self.after))
    }
}

/// Splits a prompt at the literal parts of a template with `{prefix}` and `{suffix}`.
fn split_by_markers(template: &str, text: &str) -> Option<CursorText> {
    let fields = ["{prefix}", "{suffix}"];
    let mut order = fields.map(|field| (template.find(field), field));
    order.sort();
    let [(Some(first), first_field), (Some(second), second_field)] = order else {
        return None;
    };
    // Other fields before the first one, such as related code, are not part of the text around the cursor.
    let opening = &template[..first];
    let opening = &opening[opening.rfind('}').map_or(0, |end| end + 1)..];
    let middle = &template[first + first_field.len()..second];
    let closing = &template[second + second_field.len()..];
    if opening.is_empty() || middle.is_empty() {
        return None;
    }
    let rest = &text[text.find(opening)? + opening.len()..];
    let at = rest.find(middle)?;
    let (one, rest) = (&rest[..at], &rest[at + middle.len()..]);
    let two = rest
        .strip_suffix(closing)
        .or_else(|| rest.trim_end().strip_suffix(closing))?;
    let (before, after) = match first_field {
        "{prefix}" => (one, two),
        _ => (two, one),
    };
    Some(CursorText {
        before: before.to_owned(),
        after: after.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_for;

    #[test]
    fn the_text_around_the_cursor_is_found_in_prompts_of_every_format() {
        let expected = CursorText {
            before: "fn add(a: i32) {\n    ".into(),
            after: "\n}\n".into(),
        };
        for format in formats().iter().filter(|format| format.kind == FormatKind::Fim) {
            let prompt = expected.prompt(format).unwrap();
            assert_eq!(CursorText::from_prompt(&prompt.text), expected, "{}", format.name);
        }
        let plain = CursorText::from_prompt("def f():");
        assert_eq!((plain.before.as_str(), plain.after.as_str()), ("def f():", ""));
    }

    #[test]
    fn an_answer_becomes_the_text_to_insert() {
        let text = CursorText {
            before: "let total = ".into(),
            after: ";\nprint(total);\n".into(),
        };
        for (model, answer, expected) in [
            ("qwen2.5-coder", "a + b;<|endoftext|>", "a + b"),
            ("gpt", "```\nlet total = a + b;\nprint(total);\n```", "a + b"),
            ("gpt", "```\nlet sum = a + b;\nprint(total);\n```", ""),
        ] {
            let format = format_for(model).unwrap();
            let prompt = text.prompt(format).unwrap();
            assert_eq!(
                text.inserted(format, &prompt, (answer, AnswerEnd::Complete)),
                expected,
                "{model}"
            );
        }
    }
}
