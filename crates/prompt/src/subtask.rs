//! What a session is told that works on a part of another one's task, and what it is told when it is woken.

use model::Message;
use policy::Mode;
use std::sync::Arc;

/// What a subtask is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subtask {
    /// To do a part of the work.
    Work,
    /// To find something out, without changing anything.
    Look,
}

/// The section of the system prompt for a subtask, and the role of its mode where that is not the one of the session above.
pub fn subtask(kind: Subtask, mode: Option<&Mode>) -> Arc<str> {
    let mut text = match kind {
        Subtask::Work => include_str!("../templates/subtask-work.md"),
        Subtask::Look => include_str!("../templates/subtask-look.md"),
    }
    .trim_end()
    .to_string();
    if let Some(mode) = mode {
        text.push_str(&format!("\nYou work in the mode `{}` now.", mode.name));
        for words in [&mode.role, &mode.instructions] {
            if !words.trim().is_empty() {
                text.push('\n');
                text.push_str(words.trim());
            }
        }
    }
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
    fn a_subtask_is_told_what_it_is_and_its_mode_only_where_it_is_another() {
        let same = subtask(Subtask::Work, None);
        let other = subtask(Subtask::Work, Some(&Mode::ask()));
        assert!(other.starts_with(&*same) && other.contains("mode `ask`"), "{other}");
        assert_ne!(subtask(Subtask::Look, None), same);
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
