//! What stands in for a file that is too long to be shown whole: its definitions, with their lines.

use std::time::Duration;

use index::{Definition, Outline, Part};
use workspace::Location;

/// The longest outline.
const MOST: usize = 24_000;
/// How long it may take to find out.
const PATIENCE: Duration = Duration::from_secs(2);

/// The outline of a file, where its language is known and it defines anything.
pub(super) fn of(file: &Location, total: usize) -> Option<String> {
    let text = file.read_text().ok()?;
    let outline = index::outline(file.path(), &text.content, PATIENCE).ok()?;
    if outline.definitions.is_empty() {
        return None;
    }
    let deepest = outline.definitions.iter().map(|definition| definition.depth).max()?;
    // What lies in other definitions goes first when there is too much.
    let fitting = (0..=deepest).rev().find(|depth| length(&outline, *depth) <= MOST);
    let depth = fitting.unwrap_or(0);
    let mut shown = String::new();
    let mut last = 0;
    for definition in outline
        .definitions
        .iter()
        .filter(|definition| definition.depth <= depth)
    {
        let line = line(definition);
        if shown.len() + line.len() > MOST {
            break;
        }
        shown.push_str(&line);
        last = definition.last;
    }
    let cut = match (depth < deepest, outline.part, last < total && shown.len() + 200 > MOST) {
        (_, Part::Start, _) | (_, _, true) => format!("; only up to line {last}"),
        (true, Part::Whole, false) => "; inner definitions are left out".to_owned(),
        (false, Part::Whole, false) => String::new(),
    };
    shown.push_str(&format!(
        "[outline of {total} lines, too many to show{cut}; read parts with start_line and end_line]"
    ));
    Some(shown)
}

fn length(outline: &Outline, depth: usize) -> usize {
    let definitions = outline.definitions.iter();
    definitions
        .filter(|definition| definition.depth <= depth)
        .map(|definition| line(definition).len())
        .sum()
}

fn line(definition: &Definition) -> String {
    let indent = "  ".repeat(definition.depth);
    format!(
        "{}-{}\t{indent}{}\n",
        definition.first,
        definition.last,
        definition.signature.trim()
    )
}
