//! Lines of text as the model sees them: numbered, with what was cut and how to go on.

use tool::Error;
use workspace::{Excerpt, Location};

use super::input::Lines;
use crate::text::count;

/// A page of a file.
pub(super) struct Page {
    pub(super) text: String,
    /// For the person.
    pub(super) summary: String,
    /// The first and the last line that are shown.
    pub(super) shown: (usize, usize),
    /// Which part of the file it is, in words; nothing for the whole.
    pub(super) which: String,
}

/// Renders the lines that were read.
pub(super) fn render(file: &Location, excerpt: &Excerpt, wanted: Lines) -> Result<Page, Error> {
    let total = excerpt.total;
    if total == 0 {
        return Ok(Page {
            text: "[empty file]".into(),
            summary: "empty".into(),
            shown: (0, 0),
            which: String::new(),
        });
    }
    let lines = count(total, "line");
    let (Some(first), Some(last)) = (excerpt.lines.first(), excerpt.lines.last()) else {
        return Err(Error::Failed(format!(
            "{} has {lines}; start_line {} is past its end",
            file.shown(),
            wanted.first
        )));
    };
    let (start, end) = (first.number, last.number);
    let mut text = String::new();
    for line in &excerpt.lines {
        text.push_str(&format!("{}\t{}", line.number, line.text));
        if line.cut > 0 {
            text.push_str(&format!(" [+{} bytes]", line.cut));
        }
        text.push('\n');
    }
    let encoding = excerpt
        .encoding
        .name()
        .map_or_else(String::new, |name| format!("; {name}"));
    let is_whole = start == 1 && end == total;
    text.push_str(&match end < wanted.last.min(total) {
        true => format!(
            "[lines {start}-{end} of {total}; go on with start_line {}{encoding}]",
            end + 1
        ),
        false if is_whole => format!("[{lines}{encoding}]"),
        false => format!("[lines {start}-{end} of {total}{encoding}]"),
    });
    let (summary, which) = match is_whole {
        true => (lines, String::new()),
        false => (format!("{start}-{end} of {lines}"), format!(", lines {start}-{end}")),
    };
    Ok(Page {
        text,
        summary,
        shown: (start, end),
        which,
    })
}
