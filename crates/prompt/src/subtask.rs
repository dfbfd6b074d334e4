//! System prompt sections for subtasks, and notification messages.

use model::Message;
use std::sync::Arc;

/// The purpose of a subtask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubtaskKind {
    /// Does part of the work.
    Work,
    /// Answers a question without changing anything.
    Research,
}

/// Returns the section of the system prompt for a subtask.
pub fn subtask_section(kind: SubtaskKind) -> Arc<str> {
    let text = match kind {
        SubtaskKind::Work => include_str!("../templates/subtask-work.md"),
        SubtaskKind::Research => include_str!("../templates/subtask-look.md"),
    }
    .trim_end();
    text.into()
}

/// Builds the message about events outside the conversation, each with its source.
pub fn notification_message<'a>(news: impl IntoIterator<Item = (&'a str, &'a str)>) -> Message {
    let mut text = String::from("[Notification, not written by the user]");
    for (source, words) in news {
        text.push_str(&format!("\n{source}: {}", words.trim()));
    }
    Message::user(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subtask_has_its_own_section() {
        assert_ne!(
            subtask_section(SubtaskKind::Research),
            subtask_section(SubtaskKind::Work)
        );
    }

    #[test]
    fn notifications_are_marked() {
        let message = notification_message([("job 3", "ended\n"), ("todo", "open")]);
        assert_eq!(
            message.text(),
            "[Notification, not written by the user]\njob 3: ended\ntodo: open"
        );
    }
}
