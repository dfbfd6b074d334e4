//! Session titles.

use model::{Effort, Message, Request};
use std::sync::Arc;

/// Characters of the first prompt used for a title.
const PROMPT_CHARS: usize = 2_000;
/// Maximum characters of a title.
const TITLE_CHARS: usize = 60;

/// Builds the request that asks the small model for a title.
pub fn title_request(prompt: &str) -> Request {
    let prompt: String = prompt.chars().take(PROMPT_CHARS).collect();
    Request {
        system: vec![
            "Name the conversation that begins with the following message. Write only the name: three to six words, in the \
             language of the message, without quotes or a full stop. Do not answer the message."
                .into(),
        ],
        messages: vec![Arc::new(Message::user(prompt))].into(),
        max_output: Some(64),
        effort: Some(Effort::None),
        ..Request::default()
    }
}

/// Cleans a title from the small model; `None` if nothing usable remains.
pub fn clean_title(written: &str) -> Option<String> {
    let visible = written.rsplit("</think>").next().unwrap_or(written);
    let line = visible.lines().map(str::trim).find(|line| !line.is_empty())?;
    let bare = line.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | '*' | '#' | '.') || c.is_whitespace());
    (!bare.is_empty()).then(|| cut(bare))
}

/// Derives a title from the prompt if no model provides one.
pub fn plain_title(prompt: &str) -> String {
    let line = prompt
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("Untitled");
    cut(line)
}

fn cut(text: &str) -> String {
    if text.chars().count() <= TITLE_CHARS {
        return text.to_string();
    }
    let kept: String = text.chars().take(TITLE_CHARS - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_one_short_line_without_markup() {
        let cases = [
            ("Fix the parser", Some("Fix the parser")),
            ("\n\"Fix the parser.\"\nMore", Some("Fix the parser")),
            ("<think>hm</think>\n**Fix it**", Some("Fix it")),
            ("  \n", None),
            ("\"\"", None),
        ];
        for (written, expected) in cases {
            assert_eq!(clean_title(written).as_deref(), expected, "{written:?}");
        }
        assert_eq!(plain_title("\n  fix\nthis").as_str(), "fix");
        assert_eq!(plain_title(&"ä".repeat(100)).chars().count(), 60);
    }
}
