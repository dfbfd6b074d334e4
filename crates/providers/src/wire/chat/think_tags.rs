//! Splits off reasoning that precedes a reply between `<think>` and `</think>`.

use model::Chunk;

/// The opening and closing tags.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Splits text that may start with reasoning. The tags may be split anywhere.
#[derive(Debug, Default)]
pub(super) struct ThinkTagSplitter {
    state: ThinkTagState,
    /// Text that may be part of a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy)]
enum ThinkTagState {
    /// Only white space has arrived.
    #[default]
    Start,
    /// Before the first character of the reasoning, which ends with this tag.
    Opened(&'static str),
    /// In the reasoning, which ends with this tag.
    Inside(&'static str),
    /// After the reasoning, before the first character of the reply.
    Between,
    /// In the reply.
    Outside,
}

impl ThinkTagSplitter {
    /// Adds text.
    pub(super) fn push(&mut self, text: String, out: &mut Vec<Chunk>) {
        match self.state {
            ThinkTagState::Outside => out.push(Chunk::Text(text)),
            ThinkTagState::Start | ThinkTagState::Opened(_) | ThinkTagState::Inside(_) | ThinkTagState::Between => {
                self.held.push_str(&text);
                while self.step(out) {}
            }
        }
    }

    /// The text has ended.
    pub(super) fn finish(&mut self, out: &mut Vec<Chunk>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            _ if held.is_empty() => {}
            ThinkTagState::Inside(_) => out.push(Chunk::Thinking(held)),
            ThinkTagState::Start | ThinkTagState::Outside => out.push(Chunk::Text(held)),
            ThinkTagState::Opened(_) | ThinkTagState::Between => {}
        }
    }

    /// Processes the buffered text as far as possible; returns whether there is more to do.
    fn step(&mut self, out: &mut Vec<Chunk>) -> bool {
        match self.state {
            ThinkTagState::Start => {
                let begun = self.held.trim_start();
                if let Some((open, close)) = TAGS.into_iter().find(|(open, _)| begun.starts_with(open)) {
                    self.held = begun[open.len()..].to_string();
                    self.state = ThinkTagState::Opened(close);
                    return true;
                }
                if TAGS.iter().any(|(open, _)| open.starts_with(begun)) {
                    return false;
                }
                self.state = ThinkTagState::Outside;
                self.flush(out);
                false
            }
            ThinkTagState::Opened(close) => {
                self.held = self.held.trim_start_matches('\n').to_string();
                if self.held.is_empty() {
                    return false;
                }
                self.state = ThinkTagState::Inside(close);
                true
            }
            ThinkTagState::Inside(close) => {
                if let Some(end) = self.held.find(close) {
                    let rest = self.held.split_off(end + close.len());
                    self.held.truncate(end);
                    let thought = std::mem::replace(&mut self.held, rest);
                    if !thought.is_empty() {
                        out.push(Chunk::Thinking(thought));
                    }
                    self.state = ThinkTagState::Between;
                    return true;
                }
                let safe = self.held.len() - overlap(&self.held, close);
                let kept = self.held.split_off(safe);
                let thought = std::mem::replace(&mut self.held, kept);
                if !thought.is_empty() {
                    out.push(Chunk::Thinking(thought));
                }
                false
            }
            ThinkTagState::Between => {
                let answer = self.held.trim_start();
                if answer.is_empty() {
                    self.held.clear();
                    return false;
                }
                self.held = answer.to_string();
                self.state = ThinkTagState::Outside;
                self.flush(out);
                false
            }
            ThinkTagState::Outside => false,
        }
    }

    fn flush(&mut self, out: &mut Vec<Chunk>) {
        if !self.held.is_empty() {
            out.push(Chunk::Text(std::mem::take(&mut self.held)));
        }
    }
}

/// The number of bytes at the end of a text that could start a tag.
fn overlap(text: &str, tag: &str) -> usize {
    let longest = tag.len().saturating_sub(1).min(text.len());
    (1..=longest)
        .rev()
        .find(|length| text.ends_with(&tag[..*length]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, size: usize) -> (String, String) {
        let mut think = ThinkTagSplitter::default();
        let mut out = Vec::new();
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(size) {
            think.push(piece.iter().collect(), &mut out);
        }
        think.finish(&mut out);
        let (mut thought, mut answer) = (String::new(), String::new());
        for chunk in out {
            match chunk {
                Chunk::Thinking(text) => thought.push_str(&text),
                Chunk::Text(text) => answer.push_str(&text),
                other => panic!("{other:?}"),
            }
        }
        (thought, answer)
    }

    #[test]
    fn thinking_at_the_start_is_split_off_wherever_the_pieces_break() {
        let cases = [
            ("<think>\nhm, 1 < 2\n</think>\n\nYes.", "hm, 1 < 2\n", "Yes."),
            (" \n<think>a</th b</think>c", "a</th b", "c"),
            ("<thinking>ä</thinking>ö", "ä", "ö"),
            ("<think></think>\n\nhello", "", "hello"),
            ("<think>never ends", "never ends", ""),
            (
                "plain text with <think>x</think>",
                "",
                "plain text with <think>x</think>",
            ),
            ("<thin", "", "<thin"),
            ("  ", "", "  "),
            ("<b>bold</b>", "", "<b>bold</b>"),
        ];
        for (text, thought, answer) in cases {
            for size in 1..=text.len() {
                assert_eq!(
                    split(text, size),
                    (thought.to_string(), answer.to_string()),
                    "{text} in {size}s"
                );
            }
        }
    }
}
