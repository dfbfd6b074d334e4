//! Attachments in the text: long pastes and images, each represented by one indivisible character.

use crate::view::PendingResult;
use model::Media;
use std::sync::Arc;

/// First private-use character for attachments.
const FIRST_CHAR: u32 = 0x10_0000;
/// Last private-use character for attachments.
const LAST_CHAR: u32 = 0x10_FFFD;

/// Attachments by their character. Characters are never reused, so that undo can restore them.
#[derive(Default)]
pub(crate) struct Attachments {
    list: Vec<(String, Attachment)>,
}

/// An attachment.
pub(crate) enum Attachment {
    /// Pasted text.
    Text(Arc<str>),
    /// An image that is being read.
    Reading(PendingResult<Media>),
    /// An image.
    Image(Media),
    /// An unreadable image and the reason.
    Failed(String),
}

impl Attachments {
    /// Adds an attachment. Returns its character, or `None` if there are too many.
    pub(crate) fn add(&mut self, label: String, chip: Attachment) -> Option<char> {
        let number = u32::try_from(self.list.len()).ok()?.checked_add(FIRST_CHAR)?;
        let character = char::from_u32(number).filter(|_| number <= LAST_CHAR)?;
        self.list.push((label, chip));
        Some(character)
    }

    /// The label of the attachment that a character represents.
    pub(crate) fn label(&self, character: char) -> Option<&str> {
        self.list.get(index(character)?).map(|(label, _)| label.as_str())
    }

    /// The attachment that a character represents.
    pub(crate) fn get(&self, character: char) -> Option<&Attachment> {
        self.list.get(index(character)?).map(|(_, chip)| chip)
    }

    /// Number of images attached so far.
    pub(crate) fn images(&self) -> usize {
        self.list
            .iter()
            .filter(|(_, chip)| !matches!(chip, Attachment::Text(_)))
            .count()
    }

    /// Applies completed reads; returns the last error.
    pub(crate) fn apply_results(&mut self) -> Option<String> {
        let mut failure = None;
        for (_, chip) in &mut self.list {
            let Attachment::Reading(pending) = chip else { continue };
            match pending.take() {
                None => {}
                Some(Ok(media)) => *chip = Attachment::Image(media),
                Some(Err(error)) => {
                    failure = Some(error.to_string());
                    *chip = Attachment::Failed(error.to_string());
                }
            }
        }
        failure
    }

    /// Replaces attachment characters by pasted text, or by labels for images.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            match (self.get(character), self.label(character)) {
                (Some(Attachment::Text(pasted)), _) => out.push_str(pasted),
                (Some(_), Some(label)) => out.push_str(label),
                (Some(_), None) | (None, _) => out.push(character),
            }
        }
        out
    }
}

/// Removes control characters and characters reserved for attachments.
pub(crate) fn sanitise_input(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars()
        .map(|c| if index(c).is_some() { '\u{fffd}' } else { c })
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

fn index(character: char) -> Option<usize> {
    let number = u32::from(character);
    (FIRST_CHAR..=LAST_CHAR)
        .contains(&number)
        .then(|| (number - FIRST_CHAR) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paste_is_one_character_until_it_is_sent() {
        let mut chips = Attachments::default();
        let character = chips
            .add("[pasted 3 lines]".into(), Attachment::Text("a\nb\nc".into()))
            .unwrap();
        assert_eq!(chips.label(character), Some("[pasted 3 lines]"));
        assert_eq!(chips.expand(&format!("<{character}>")), "<a\nb\nc>");
    }

    #[test]
    fn pasted_text_is_sanitised() {
        assert_eq!(
            sanitise_input("a\r\nb\rc\u{1b}[31m\u{7}\t\u{100000}"),
            "a\nb\nc[31m\t\u{fffd}"
        );
    }
}
