//! Renders numbered lines, with notes on what was cut and how to continue.

use tool::Error;
use workspace::{Excerpt, Location};

use super::ranges::LineRange;
use crate::support::project::LineMarks;
use crate::support::text::count;

/// A page of a file.
pub(crate) struct TextPage {
    pub(crate) text: String,
    /// The summary for the user.
    pub(crate) summary: String,
    /// The first and last line shown.
    pub(crate) shown: (usize, usize),
    /// The range as text; empty for the whole file.
    pub(crate) which: String,
}

/// Renders lines.
pub(crate) fn render(
    file: &Location,
    excerpt: &Excerpt,
    requested: LineRange,
    marks: LineMarks,
) -> Result<TextPage, Error> {
    let total = excerpt.total;
    if total == 0 {
        return Ok(TextPage {
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
            requested.first
        )));
    };
    let (start, end) = (first.number, last.number);
    let mut text = String::new();
    for line in &excerpt.lines {
        let mark = marks.of(line.number as u64, &line.text, line.cut);
        text.push_str(&format!("{mark}\t{}", line.text));
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
    text.push_str(&match end < requested.last.min(total) {
        true => format!(
            "[lines {start}-{end} of {total}; continue with start_line {}{encoding}]",
            end + 1
        ),
        false if is_whole => format!("[{lines}{encoding}]"),
        false => format!("[lines {start}-{end} of {total}{encoding}]"),
    });
    let (summary, which) = match is_whole {
        true => (lines, String::new()),
        false => (format!("{start}-{end} of {lines}"), format!(", lines {start}-{end}")),
    };
    Ok(TextPage {
        text,
        summary,
        shown: (start, end),
        which,
    })
}
