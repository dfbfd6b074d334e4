//! Builds the prompt for a prediction. The parts that change least come first, so that servers can reuse their cache.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use crate::{
    CursorExcerpt, EditHistory, EditSource, EditorBuffer, ExcerptLimits, FormatKind, HistoryEntry, PromptFormat,
};

/// The maximum size of the edit history and of related excerpts, in bytes.
const MAX_HISTORY: usize = 3_000;
const MAX_RELATED: usize = 4_000;
/// The maximum number of diagnostics.
const MAX_DIAGNOSTICS: usize = 10;
/// The maximum number of tokens of an answer beyond the editable region.
const EXTRA_TOKENS: usize = 96;
/// The maximum number of tokens that are inserted at the cursor.
const FIM_TOKENS: usize = 96;
/// An estimate that never is too low for code.
const BYTES_PER_TOKEN: usize = 3;

/// Code of another place that helps with the prediction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedExcerpt {
    /// The path of the file.
    pub path: String,
    /// The code.
    pub text: String,
}

/// What a prompt is built from.
#[derive(Debug, Clone, Copy)]
pub struct PromptInput<'a> {
    /// The path of the open file, for display.
    pub path: &'a str,
    /// The open file.
    pub buffer: &'a EditorBuffer,
    /// The cursor as a byte offset.
    pub cursor: usize,
    /// Line ranges of syntactic units around the cursor.
    pub blocks: &'a [Range<usize>],
    /// The recent edits.
    pub history: &'a EditHistory,
    /// Related code, most relevant first.
    pub related: &'a [RelatedExcerpt],
    /// Diagnostics near the cursor, such as `12: unknown name`.
    pub diagnostics: &'a [String],
    /// The sizes of the excerpt.
    pub limits: ExcerptLimits,
}

/// A prompt, and the part of the buffer that its answer replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictionPrompt {
    /// The system prompt of a conversation.
    pub system: String,
    /// The prompt.
    pub text: String,
    /// The text after the cursor, for servers that have a field for it. Empty for other kinds.
    pub suffix: String,
    /// The text before the cursor, for servers that build the prompt themselves. Empty for other kinds.
    pub prefix: String,
    /// The bytes of the buffer that the answer replaces.
    pub target: Range<usize>,
    /// The maximum number of tokens of the answer.
    pub max_tokens: usize,
    /// A hash of everything above.
    pub hash: u64,
}

/// Builds a prompt; `None` if the excerpt contains markers of the format.
pub fn build(format: &PromptFormat, input: &PromptInput<'_>) -> Option<PredictionPrompt> {
    let excerpt = CursorExcerpt::around(input.buffer, input.cursor, input.blocks, input.limits);
    let buffer = input.buffer.text();
    if format.is_ambiguous(&buffer[excerpt.excerpt.clone()]) {
        return None;
    }
    let target = match format.kind {
        FormatKind::Fim => fim_target(input.buffer, input.cursor),
        FormatKind::Window | FormatKind::Chat => excerpt.editable.clone(),
    };
    let above = unix(&buffer[excerpt.excerpt.start..excerpt.editable.start]);
    let below = unix(&buffer[excerpt.editable.end..excerpt.excerpt.end]);
    let region = with_line_break(with_marker(input.buffer, &excerpt, &format.cursor));
    let original = original(input, &excerpt);
    let related = related(format, input.related);
    let history = history(format, input.history);
    let diagnostics = diagnostics(format, input.diagnostics);
    let file = fill(&format.file, &[("path", input.path)]);
    let prefix = format!("{file}{}", unix(&buffer[excerpt.excerpt.start..target.start]));
    let suffix = unix(&buffer[target.end..excerpt.excerpt.end.max(target.end)]);
    let text = fill(
        &format.template,
        &[
            ("path", input.path),
            ("above", &above),
            ("below", &below),
            ("region", &region),
            ("original", &original),
            ("related", &related),
            ("history", &history),
            ("diagnostics", &diagnostics),
            ("prefix", &prefix),
            ("suffix", &suffix),
        ],
    );
    let max_tokens = match format.kind {
        FormatKind::Fim => FIM_TOKENS,
        FormatKind::Window | FormatKind::Chat => target.len() / 2 + EXTRA_TOKENS,
    };
    let is_fim = format.kind == FormatKind::Fim;
    let mut prompt = PredictionPrompt {
        system: format.system.clone(),
        text,
        suffix: if is_fim { suffix } else { String::new() },
        prefix: if is_fim { prefix } else { String::new() },
        target,
        max_tokens,
        hash: 0,
    };
    prompt.hash = hash(input.path, &prompt);
    Some(prompt)
}

/// The plain completion at the cursor in the same excerpt: no history, no related code, nothing replaced.
pub fn completion_at_cursor(
    format: &PromptFormat,
    input: &PromptInput<'_>,
    built: PredictionPrompt,
) -> PredictionPrompt {
    let excerpt = CursorExcerpt::around(input.buffer, input.cursor, input.blocks, input.limits);
    let buffer = input.buffer.text();
    let prefix = unix(&buffer[excerpt.excerpt.start..input.cursor]);
    let suffix = unix(&buffer[input.cursor..excerpt.excerpt.end.max(input.cursor)]);
    let values = [
        ("prefix", prefix.as_str()),
        ("suffix", suffix.as_str()),
        ("related", ""),
        ("history", ""),
    ];
    PredictionPrompt {
        text: fill(&format.template, &values),
        target: input.cursor..input.cursor,
        prefix,
        suffix,
        ..built
    }
}

/// What a completion at the cursor replaces: nothing, or the rest of the line if it is more than closing brackets.
/// Such a rest is usually part of what the user is changing.
fn fim_target(buffer: &EditorBuffer, cursor: usize) -> Range<usize> {
    let line = buffer.line_of(cursor);
    let span = buffer.line_span(line..line + 1);
    let end = span.start + buffer.text()[span].trim_end_matches(['\n', '\r']).len();
    let end = end.max(cursor);
    let rest = &buffer.text()[cursor..end];
    let closes = |letter: char| letter.is_whitespace() || ")]}>;,:\"'`".contains(letter);
    if rest.chars().all(closes) {
        cursor..cursor
    } else {
        cursor..end
    }
}

/// The editable region with the cursor's marker.
fn with_marker(buffer: &EditorBuffer, excerpt: &CursorExcerpt, marker: &str) -> String {
    let at = excerpt.cursor.clamp(excerpt.editable.start, excerpt.editable.end);
    let (before, after) = (
        &buffer.text()[excerpt.editable.start..at],
        &buffer.text()[at..excerpt.editable.end],
    );
    unix(&format!("{before}{marker}{after}"))
}

/// The region before the user's last edit in this file, for formats that show both.
fn original(input: &PromptInput<'_>, excerpt: &CursorExcerpt) -> String {
    let region = with_line_break(unix(&input.buffer.text()[excerpt.editable.clone()]));
    let last = input.history.entries().rev().find(|entry| entry.path == input.path);
    match last.map(|entry| (unix(&entry.old), unix(&entry.new))) {
        Some((old, new)) if !new.is_empty() && region.contains(&new) => region.replacen(&new, &old, 1),
        _ => region,
    }
}

/// The related excerpts that fit, ordered by path so that a changed relevance does not change the text.
fn related(format: &PromptFormat, related: &[RelatedExcerpt]) -> String {
    let mut left = MAX_RELATED;
    let mut chosen: Vec<&RelatedExcerpt> = related
        .iter()
        .filter(|excerpt| !format.is_ambiguous(&excerpt.text))
        .take_while(|excerpt| {
            let fits = excerpt.text.len() <= left;
            left = left.saturating_sub(excerpt.text.len());
            fits
        })
        .collect();
    chosen.sort_by(|a, b| (&a.path, &a.text).cmp(&(&b.path, &b.text)));
    let render = |excerpt: &&RelatedExcerpt| {
        fill(
            &format.related,
            &[("path", &excerpt.path), ("text", &unix(&excerpt.text))],
        )
    };
    chosen.iter().map(render).collect()
}

/// The newest edits that fit, oldest first.
fn history(format: &PromptFormat, history: &EditHistory) -> String {
    let mut left = MAX_HISTORY;
    let mut diffs: Vec<String> = history
        .entries()
        .rev()
        .map(|entry| render_edit(format, entry))
        .filter(|text| !format.is_ambiguous(text) || !format.history_entry.is_empty())
        .take_while(|text| {
            let fits = text.len() <= left;
            left = left.saturating_sub(text.len());
            fits
        })
        .collect();
    diffs.reverse();
    if diffs.is_empty() {
        return String::new();
    }
    fill(&format.history, &[("diffs", &diffs.concat())])
}

fn render_edit(format: &PromptFormat, entry: &HistoryEntry) -> String {
    if format.history_entry.is_empty() {
        let note = match entry.source {
            EditSource::User => "",
            EditSource::Prediction => "# accepted prediction\n",
        };
        return format!("{note}{}", unix(&entry.diff()));
    }
    let (old, new) = (unix(&entry.old), unix(&entry.new));
    fill(
        &format.history_entry,
        &[("path", &entry.path), ("old", old.trim_end()), ("new", new.trim_end())],
    )
}

fn diagnostics(format: &PromptFormat, diagnostics: &[String]) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let list: Vec<String> = diagnostics
        .iter()
        .take(MAX_DIAGNOSTICS)
        .map(|text| format!("- {text}"))
        .collect();
    fill(&format.diagnostics, &[("list", &list.join("\n"))])
}

/// Replaces `{name}` in one pass, so that inserted text is never a template.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        text.push_str(before);
        let value = values
            .iter()
            .find(|(name, _)| from[1..].starts_with(name) && from[1 + name.len()..].starts_with('}'));
        match value {
            Some((name, value)) => {
                text.push_str(value);
                rest = &from[name.len() + 2..];
            }
            None => {
                text.push('{');
                rest = &from[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

/// The text with `\n` as its only line break.
fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn with_line_break(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn hash(path: &str, prompt: &PredictionPrompt) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, &prompt.system, &prompt.text, &prompt.target, prompt.max_tokens).hash(&mut hasher);
    hasher.finish()
}

/// The number of tokens of a text, by its length.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_for;

    fn prompt(model: &str, text: &str) -> Option<PredictionPrompt> {
        let cursor = text.find('^').unwrap();
        let mut buffer = EditorBuffer::new(text.replacen('^', "", 1));
        let mut history = EditHistory::default();
        let edit = buffer.replace_span(0..3, "new");
        history.record("src/a.py", &buffer, &edit, EditSource::User, 0);
        let related = [RelatedExcerpt {
            path: "src/b.py".into(),
            text: "def helper(): ...".into(),
        }];
        build(
            format_for(model)?,
            &PromptInput {
                path: "src/a.py",
                buffer: &buffer,
                cursor,
                blocks: &[],
                history: &history,
                related: &related,
                diagnostics: &["3: unknown name `y`".to_owned()],
                limits: ExcerptLimits::default(),
            },
        )
    }

    #[test]
    fn a_completion_has_the_history_before_the_open_file() {
        let built = prompt("qwen2.5-coder", "old = 1\r\nprint(^)\r\nend\r\n").unwrap();
        assert_eq!(
            built.text,
            "<|file_sep|>src/b.py\ndef helper(): ...\n<|file_sep|>recent.diff\n--- a/src/a.py\n+++ b/src/a.py\n@@\n-old = 1\n\
             +new = 1\n print()\n end\n<|fim_prefix|><|file_sep|>src/a.py\nnew = 1\nprint(<|fim_suffix|>)\nend\n<|fim_middle|>"
        );
        assert_eq!((built.target.start, built.target.end), (15, 15));
    }

    #[test]
    fn the_rest_of_a_line_is_replaced_unless_it_only_closes() {
        let built = prompt("qwen2.5-coder", "old = 1\nx = ^foo(1)\nend\n").unwrap();
        assert_eq!(built.target, 12..18);
        assert!(
            built.text.contains("<|fim_suffix|>\nend\n<|fim_middle|>"),
            "{}",
            built.text
        );
    }

    #[test]
    fn a_window_shows_the_region_with_the_cursor() {
        let built = prompt("zeta-2", "old = 1\nprint(^)\n").unwrap();
        assert!(
            built
                .text
                .contains("<<<<<<< CURRENT\nnew = 1\nprint(<|user_cursor|>)\n=======\n"),
            "{}",
            built.text
        );
        let built = prompt("sweep-next-edit", "old = 1\nprint(^)\n").unwrap();
        assert!(
            built.text.ends_with(
                "<|file_sep|>original/src/a.py\nold = 1\nprint()\n<|file_sep|>current/src/a.py\nnew = 1\nprint()\n\
                 <|file_sep|>updated/src/a.py\n"
            ),
            "{}",
            built.text
        );
    }

    #[test]
    fn a_conversation_lists_problems() {
        let built = prompt("some-model", "old = 1\nprint(^)\n").unwrap();
        assert!(built.text.contains("- 3: unknown name `y`\n"), "{}", built.text);
        assert!(
            built.text.contains("<region>\nnew = 1\nprint(<cursor>)\n</region>\n"),
            "{}",
            built.text
        );
    }

    #[test]
    fn text_with_markers_of_the_format_is_not_sent() {
        assert_eq!(prompt("qwen2.5-coder", "old\n'<|fim_middle|>'^\n"), None);
        assert_eq!(prompt("any", "old\n</region>^\n"), None);
        assert!(prompt("starcoder", "old\n'<|fim_middle|>'^\n").is_some());
    }

    #[test]
    fn inserted_text_is_not_a_template() {
        assert_eq!(fill("{a}{b}{c}", &[("a", "{b}"), ("b", "x")]), "{b}x{c}");
    }
}
