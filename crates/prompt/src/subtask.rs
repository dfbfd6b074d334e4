//! What a session is told that works on a part of another one's task, and what it is told when it is woken.

use model::Message;
use std::sync::Arc;

/// What a subtask is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subtask {
    /// To do a part of the work.
    Work,
    /// To find something out, without changing anything.
    Look,
}

/// The section of the system prompt for a subtask.
pub fn subtask(kind: Subtask) -> Arc<str> {
    let text = match kind {
        Subtask::Work => include_str!("../templates/subtask-work.md"),
        Subtask::Look => include_str!("../templates/subtask-look.md"),
    }
    .trim_end();
    text.into()
}

/// What the model is told when something happened beside the conversation: who tells, and what.
pub fn wake<'a>(news: impl IntoIterator<Item = (&'a str, &'a str)>) -> Message {
    let mut text = String::from("[Notification, not written by the person]");
    for (source, words) in news {
        text.push_str(&format!("\n{source}: {}", words.trim()));
    }
    Message::user(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subtask_is_told_what_it_is() {
        assert_ne!(subtask(Subtask::Look), subtask(Subtask::Work));
    }

    #[test]
    fn news_is_marked_as_such() {
        let message = wake([("job 3", "ended\n"), ("todo", "open")]);
        assert_eq!(
            message.text(),
            "[Notification, not written by the person]\njob 3: ended\ntodo: open"
        );
    }
}
