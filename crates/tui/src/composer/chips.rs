//! Attachments in the text: long pastes and images, each shown as one character that cannot be taken apart.

use crate::view::Errand;
use model::Media;
use std::sync::Arc;

/// The first of the private characters that stand for attachments.
const FIRST: u32 = 0x10_0000;
/// The last of them.
const LAST: u32 = 0x10_FFFD;

/// Attachments by the character that stands for them. Numbers are never used again, so that undo finds them.
#[derive(Default)]
pub(crate) struct Chips {
    list: Vec<(String, Chip)>,
}

/// What stands behind an attachment.
pub(crate) enum Chip {
    /// Text that was pasted.
    Text(Arc<str>),
    /// An image that is being read.
    Reading(Errand<Media>),
    /// An image.
    Image(Media),
    /// An image that could not be read, and why.
    Lost(String),
}

impl Chips {
    /// Adds one; the answer is the character that stands for it, unless there are too many.
    pub(crate) fn add(&mut self, label: String, chip: Chip) -> Option<char> {
        let number = u32::try_from(self.list.len()).ok()?.checked_add(FIRST)?;
        let character = char::from_u32(number).filter(|_| number <= LAST)?;
        self.list.push((label, chip));
        Some(character)
    }

    /// What is shown for a character, where it stands for an attachment.
    pub(crate) fn label(&self, character: char) -> Option<&str> {
        self.list.get(index(character)?).map(|(label, _)| label.as_str())
    }

    /// The attachment that a character stands for.
    pub(crate) fn get(&self, character: char) -> Option<&Chip> {
        self.list.get(index(character)?).map(|(_, chip)| chip)
    }

    /// How many images were attached so far.
    pub(crate) fn images(&self) -> usize {
        self.list
            .iter()
            .filter(|(_, chip)| !matches!(chip, Chip::Text(_)))
            .count()
    }

    /// Takes in what was read meanwhile; the answer is what went wrong.
    pub(crate) fn settle(&mut self) -> Option<String> {
        let mut trouble = None;
        for (_, chip) in &mut self.list {
            let Chip::Reading(errand) = chip else { continue };
            match errand.take() {
                None => {}
                Some(Ok(media)) => *chip = Chip::Image(media),
                Some(Err(error)) => {
                    trouble = Some(error.to_string());
                    *chip = Chip::Lost(error.to_string());
                }
            }
        }
        trouble
    }

    /// The text with pasted text in place of its characters. Images are named by their labels.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            match (self.get(character), self.label(character)) {
                (Some(Chip::Text(pasted)), _) => out.push_str(pasted),
                (Some(_), Some(label)) => out.push_str(label),
                (Some(_), None) | (None, _) => out.push(character),
            }
        }
        out
    }
}

/// The text as it may be kept: without control characters that would disturb the terminal, and without characters that would
/// be taken for attachments.
pub(crate) fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars()
        .map(|c| if index(c).is_some() { '\u{fffd}' } else { c })
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

fn index(character: char) -> Option<usize> {
    let number = u32::from(character);
    (FIRST..=LAST).contains(&number).then(|| (number - FIRST) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paste_is_one_character_until_it_is_sent() {
        let mut chips = Chips::default();
        let character = chips
            .add("[pasted 3 lines]".into(), Chip::Text("a\nb\nc".into()))
            .unwrap();
        assert_eq!(chips.label(character), Some("[pasted 3 lines]"));
        assert_eq!(chips.expand(&format!("<{character}>")), "<a\nb\nc>");
    }

    #[test]
    fn pasted_text_is_freed_of_what_would_disturb() {
        assert_eq!(clean("a\r\nb\rc\u{1b}[31m\u{7}\t\u{100000}"), "a\nb\nc[31m\t\u{fffd}");
    }
}
