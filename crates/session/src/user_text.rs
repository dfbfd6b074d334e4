//! The user's own text in a message, and shell output that the user adds to a prompt.

use model::{Message, Part, PartOrigin};

/// Start of a part with shell output.
const SHELL_OUTPUT_PREFIX: &str = "<ran by=\"user\">\n$ ";

/// A part of a prompt with the output of a shell line that the user ran.
pub fn shell_output_part(line: &str, printed: &str) -> Part {
    Part::with_origin(
        format!("{SHELL_OUTPUT_PREFIX}{line}\n{printed}\n</ran>"),
        PartOrigin::Shell,
    )
}

/// The shell line of a part with shell output; `None` for other parts.
pub fn shell_command(part: &Part) -> Option<&str> {
    match part {
        Part::Text {
            text,
            origin: PartOrigin::Shell,
            ..
        } => text.split_once("\n$ ")?.1.lines().next(),
        _ => None,
    }
}

/// The text of a message without the parts that hew added.
pub fn user_text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text { text, origin, .. } if is_user_text(*origin) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Whether a part with this origin is the user's own text or a file that the user attached.
pub fn is_user_text(origin: PartOrigin) -> bool {
    matches!(origin, PartOrigin::Author | PartOrigin::Attachment)
}
