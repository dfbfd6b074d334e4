//! The outline of a file that is too long to show: its definitions and their lines.

use std::time::Duration;

use index::{Outline, OutlineCoverage, OutlineDefinition};
use workspace::Location;

/// Maximum size of an outline.
const MAX_OUTLINE: usize = 24_000;
/// The time limit.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The outline of a file, or `None` if its language is not supported or it has no definitions.
pub(crate) fn of(file: &Location, total: usize) -> Option<String> {
    let text = file.read_text().ok()?;
    let outline = index::outline(file.path(), &text.content, TIMEOUT).ok()?;
    if outline.definitions.is_empty() {
        return None;
    }
    let deepest = outline.definitions.iter().map(|definition| definition.depth).max()?;
    // Nested definitions are dropped first if the outline is too long.
    let fitting = (0..=deepest)
        .rev()
        .find(|depth| length(&outline, *depth) <= MAX_OUTLINE);
    let depth = fitting.unwrap_or(0);
    let mut shown = String::new();
    let mut last = 0;
    for definition in outline
        .definitions
        .iter()
        .filter(|definition| definition.depth <= depth)
    {
        let line = line(definition);
        if shown.len() + line.len() > MAX_OUTLINE {
            break;
        }
        shown.push_str(&line);
        last = definition.last;
    }
    let cut = match (
        depth < deepest,
        outline.coverage,
        last < total && shown.len() + 200 > MAX_OUTLINE,
    ) {
        (_, OutlineCoverage::Partial, _) | (_, _, true) => format!("; only up to line {last}"),
        (true, OutlineCoverage::Complete, false) => "; nested definitions omitted".to_owned(),
        (false, OutlineCoverage::Complete, false) => String::new(),
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

fn line(definition: &OutlineDefinition) -> String {
    let indent = "  ".repeat(definition.depth);
    format!(
        "{}-{}\t{indent}{}\n",
        definition.first,
        definition.last,
        definition.signature.trim()
    )
}
