//! Whether notes have the requested sections.

/// The headings that `compact.md` requests.
const HEADINGS: [&str; 6] = ["task", "state", "decisions", "files", "commands", "next"];
/// A model may omit empty headings, but not all of them.
const MIN_HEADINGS: usize = 2;

/// Whether notes contain the task, or at least some of the requested sections.
pub(super) fn has_sections(notes: &str) -> bool {
    let named: Vec<String> = notes.lines().filter_map(heading).collect();
    let has = |heading: &str| named.iter().any(|name| name == heading);
    has("task") || HEADINGS.iter().filter(|heading| has(heading)).count() >= MIN_HEADINGS
}

/// The first word of a heading in any markup: `## Task`, `**Task**`, `1. Task:`.
fn heading(line: &str) -> Option<String> {
    let is_marked =
        line.trim_start().starts_with(['#', '*', '1', '2', '3', '4', '5', '6']) || line.trim_end().ends_with(':');
    let word: String = line
        .trim_start_matches(|c: char| !c.is_alphabetic())
        .chars()
        .take_while(|c| c.is_alphabetic())
        .collect();
    (is_marked && !word.is_empty()).then(|| word.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_must_have_the_requested_sections() {
        let good = [
            "## Task\nBuild it.",
            "**Task:** build it",
            "1. Task\nBuild it.",
            "## State\nHalf done.\n\n## Next\nTest it.",
        ];
        let bad = [
            "Sure! I will go on with the task now.",
            "lorem ipsum",
            "## State\nDone.",
            "state of files next",
        ];
        for notes in good {
            assert!(has_sections(notes), "{notes}");
        }
        for notes in bad {
            assert!(!has_sections(notes), "{notes}");
        }
    }
}
