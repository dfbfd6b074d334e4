//! Turns a model's answer into a prediction.

use crate::prompt::PredictionPrompt;
use crate::{EditHistory, EditorBuffer, FormatKind, Prediction, PromptFormat};

/// The maximum number of lines that are inserted at the cursor.
const MAX_FIM_LINES: usize = 12;
/// A rewritten region that keeps less than this share of its lines is not an edit but a different text.
const MIN_KEPT_PERCENT: usize = 20;
/// Regions with fewer lines may be replaced completely.
const MIN_LINES_TO_COMPARE: usize = 5;

/// Why an answer is not a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectedAnswer {
    /// It changes nothing.
    NoEdit,
    /// It ended before the region did.
    Truncated,
    /// It undoes what the user just did.
    Reverts,
    /// It replaces the region by a different text, or leaves parts out.
    Unrelated,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The model stopped.
    Complete,
    /// The token limit was reached.
    Limit,
}

/// Parses an answer to a prompt about a buffer, which must not have changed since.
pub fn parse(
    format: &PromptFormat,
    prompt: &PredictionPrompt,
    buffer: &EditorBuffer,
    history: &EditHistory,
    path: &str,
    answer: (&str, AnswerEnd),
) -> Result<Prediction, RejectedAnswer> {
    let old = &buffer.text()[prompt.target.clone()];
    let (text, end) = answer;
    let new = match format.kind {
        FormatKind::Fim => completion(format, buffer, prompt, text, end),
        FormatKind::Window | FormatKind::Chat => rewritten(format, old, text, end)?,
    };
    let new = if buffer.text().contains("\r\n") {
        new.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        new
    };
    if format.kind != FormatKind::Fim && is_unrelated(old, &new) {
        return Err(RejectedAnswer::Unrelated);
    }
    let prediction = Prediction::between(buffer, prompt.target.clone(), &new).ok_or(RejectedAnswer::NoEdit)?;
    if history.reverts(path, buffer, &prediction.apply(buffer)) {
        return Err(RejectedAnswer::Reverts);
    }
    Ok(prediction)
}

/// The text to insert at the cursor: up to an end marker, without what the text after the cursor repeats.
fn completion(
    format: &PromptFormat,
    buffer: &EditorBuffer,
    prompt: &PredictionPrompt,
    text: &str,
    end: AnswerEnd,
) -> String {
    let text = before_end(format, text);
    let text = match (end, text.rfind('\n')) {
        // The last line may be cut anywhere.
        (AnswerEnd::Limit, Some(last)) => &text[..last],
        (AnswerEnd::Limit | AnswerEnd::Complete, _) => text,
    };
    let after = &buffer.text()[prompt.target.end..];
    let next = after.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // A completion that has reached the next existing line repeats what follows.
    let is_next = |line: &str| next.trim().len() > 2 && line.trim_end() == next.trim_end();
    let lines: Vec<&str> = text.split('\n').collect();
    let keep = lines
        .iter()
        .enumerate()
        .position(|(number, line)| number > 0 && is_next(line))
        .unwrap_or(lines.len());
    let kept = lines[..keep.min(MAX_FIM_LINES)].join("\n");
    let kept = kept.trim_end_matches([' ', '\t', '\n', '\r']);
    let rest = after.split('\n').next().unwrap_or_default().trim_end();
    // Brackets that the editor has closed already.
    let overlap = (1..=rest.len())
        .rev()
        .filter(|length| rest.is_char_boundary(*length))
        .find(|length| kept.ends_with(&rest[..*length]));
    match overlap {
        Some(length) if !kept[..kept.len() - length].trim().is_empty() => kept[..kept.len() - length].to_owned(),
        Some(_) | None => kept.to_owned(),
    }
}

/// The new text of the region.
fn rewritten(format: &PromptFormat, old: &str, text: &str, end: AnswerEnd) -> Result<String, RejectedAnswer> {
    let marked = format.end.iter().any(|marker| text.contains(marker.as_str()));
    let (fenced, is_closed) = unfenced(text);
    if end == AnswerEnd::Limit && !marked && !is_closed {
        return Err(RejectedAnswer::Truncated);
    }
    let text = format
        .start
        .iter()
        .fold(fenced, |text, marker| match text.find(marker.as_str()) {
            Some(at) => &text[at + marker.len()..],
            None => text,
        });
    let mut text = before_end(format, text).replace(format.cursor.as_str(), "");
    if format.cursor.is_empty() {
        text = before_end(format, fenced).to_owned();
    }
    let starts_on_new_line = text.starts_with('\n') && !old.starts_with('\n');
    let text = if starts_on_new_line { &text[1..] } else { &text };
    let body = text.trim_end_matches(['\n', '\r']);
    if body.trim().is_empty() && !old.trim().is_empty() {
        return Err(RejectedAnswer::Unrelated);
    }
    let breaks = &old[old.trim_end_matches(['\n', '\r']).len()..];
    Ok(format!("{body}{}", breaks.replace("\r\n", "\n")))
}

/// The content of the first code block, if the answer has one, and whether it is closed.
fn unfenced(text: &str) -> (&str, bool) {
    let Some(open) = text.find("```") else {
        return (text, false);
    };
    let before = &text[..open];
    if !before.is_empty() && !before.ends_with('\n') {
        return (text, false);
    }
    let Some(line_end) = text[open..].find('\n') else {
        return (text, false);
    };
    let body = &text[open + line_end + 1..];
    if body.starts_with("```") {
        return ("", true);
    }
    match body.rfind("\n```") {
        Some(close) => (&body[..close + 1], true),
        None => (body, false),
    }
}

fn before_end<'a>(format: &PromptFormat, text: &'a str) -> &'a str {
    let at = format
        .end
        .iter()
        .filter(|marker| !marker.is_empty())
        .filter_map(|marker| text.find(marker.as_str()))
        .min();
    &text[..at.unwrap_or(text.len())]
}

/// Whether a rewritten region keeps too few of its lines, or has a placeholder for lines that it leaves out.
fn is_unrelated(old: &str, new: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        let trimmed = text.lines().map(|line| line.trim().to_owned());
        trimmed.filter(|line| !line.is_empty()).collect()
    };
    let (old, new) = (lines(old), lines(new));
    let kept = old.iter().filter(|line| new.contains(line)).count();
    let is_placeholder = |line: &&String| {
        let comment = line.trim_start_matches(['/', '#', '-', '*', '<', '!', ' ']);
        (comment.len() < line.len() || comment.starts_with("...")) && comment.contains("...") && !old.contains(line)
    };
    let too_few = old.len() >= MIN_LINES_TO_COMPARE && kept * 100 < old.len() * MIN_KEPT_PERCENT;
    too_few || kept < old.len() && new.iter().any(|line| is_placeholder(&line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{PromptInput, build};
    use crate::{EditSource, ExcerptLimits, format_for};

    /// The buffer after the answer to a prompt at `^`, or why there is none.
    fn check(model: &str, text: &str, answer: &str) -> Result<String, RejectedAnswer> {
        check_end(model, text, answer, AnswerEnd::Complete)
    }

    fn check_end(model: &str, text: &str, answer: &str, end: AnswerEnd) -> Result<String, RejectedAnswer> {
        let cursor = text.find('^').unwrap();
        let buffer = EditorBuffer::new(text.replacen('^', "", 1));
        let history = EditHistory::default();
        let format = format_for(model).unwrap();
        let input = PromptInput {
            path: "a.py",
            buffer: &buffer,
            cursor,
            blocks: &[],
            history: &history,
            related: &[],
            diagnostics: &[],
            limits: ExcerptLimits::default(),
        };
        let prompt = build(format, &input).unwrap();
        let prediction = parse(format, &prompt, &buffer, &history, "a.py", (answer, end))?;
        Ok(prediction.apply(&buffer).text().to_owned())
    }

    #[test]
    fn completions_are_inserted_without_repeating_what_follows() {
        for (text, answer, expected) in [
            ("print(^)\n", "x, y)", "print(x, y)\n"),
            ("print(^)\n", "x, y", "print(x, y)\n"),
            ("a = ^\nb = 2\n", "1\nb = 2\nc = 3", "a = 1\nb = 2\n"),
            ("a = ^\n", "1<|endoftext|>junk", "a = 1\n"),
            ("a = ^old(1)\n", "new(2)\n", "a = new(2)\n"),
            ("if x:^\r\nz\r\n", "\n    y\n", "if x:\r\n    y\r\nz\r\n"),
        ] {
            assert_eq!(check("qwen2.5-coder", text, answer), Ok(expected.to_owned()), "{text}");
        }
        assert_eq!(check("qwen2.5-coder", "a^\n", "  \n"), Err(RejectedAnswer::NoEdit));
        let cut = check_end("qwen2.5-coder", "a = ^\n", "1\nb = 2\nc = so", AnswerEnd::Limit);
        assert_eq!(cut, Ok("a = 1\nb = 2\n".to_owned()));
    }

    #[test]
    fn rewritten_regions_are_read_from_every_form_of_answer() {
        let text = "def f():\n    return ^x\n";
        let expected = Ok("def f():\n    return y\n".to_owned());
        let region = "def f():\n    return y\n";
        for (model, answer) in [
            ("chat", format!("```python\n{region}```")),
            (
                "chat",
                format!("Here it is:\n\n```python\n<region>\n{region}</region>\n```\nDone."),
            ),
            ("chat", region.to_owned()),
            ("chat", region.replace("y", "y<cursor>")),
            ("zeta-2", format!("{region}>>>>>>> UPDATED\n")),
            (
                "zeta-2",
                region
                    .replace("return", "return<|user_cursor|>")
                    .replace("<|user_cursor|> ", " "),
            ),
            ("sweep-next-edit", format!("{region}<|file_sep|>other")),
            (
                "mercury-coder",
                format!("```\n<|code_to_edit|>\n{region}<|/code_to_edit|>\n```"),
            ),
        ] {
            assert_eq!(check(model, text, &answer), expected, "{model}: {answer}");
        }
    }

    #[test]
    fn answers_that_lose_code_are_rejected() {
        let text = "one\ntwo\nthree\nfour\nfive\nsix^\n";
        for (answer, reason) in [
            ("one\ntwo\nthree\nfour\nfive\nsix\n", RejectedAnswer::NoEdit),
            ("Sure! I can help with that.", RejectedAnswer::Unrelated),
            (
                "one\n# ... existing code ...\nsix and more\n",
                RejectedAnswer::Unrelated,
            ),
            ("", RejectedAnswer::Unrelated),
        ] {
            assert_eq!(check("chat", text, answer), Err(reason), "{answer}");
        }
        let cut = check_end("chat", text, "```\none\ntwo\n", AnswerEnd::Limit);
        assert_eq!(cut, Err(RejectedAnswer::Truncated));
    }

    #[test]
    fn an_answer_that_reverts_the_users_edit_is_rejected() {
        let mut buffer = EditorBuffer::new("a = 1\nb = 2\n".into());
        let mut history = EditHistory::default();
        let edit = buffer.replace_span(4..5, "7");
        history.record("a.py", &buffer, &edit, EditSource::User, 0);
        let format = format_for("chat").unwrap();
        let input = PromptInput {
            path: "a.py",
            buffer: &buffer,
            cursor: 5,
            blocks: &[],
            history: &history,
            related: &[],
            diagnostics: &[],
            limits: ExcerptLimits::default(),
        };
        let prompt = build(format, &input).unwrap();
        let parse = |answer| {
            parse(
                format,
                &prompt,
                &buffer,
                &history,
                "a.py",
                (answer, AnswerEnd::Complete),
            )
        };
        assert_eq!(parse("a = 1\nb = 2\n"), Err(RejectedAnswer::Reverts));
        assert!(parse("a = 7\nb = 8\n").is_ok());
    }
}
