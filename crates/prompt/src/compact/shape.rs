//! Whether notes have the sections that were asked for.

/// The headings that `compact.md` asks for.
const HEADINGS: [&str; 6] = ["task", "state", "decisions", "files", "commands", "next"];
/// A model may leave out headings that have nothing to say, but not all of them.
const FEWEST: usize = 2;

/// Whether notes say what the task is, or have at least some of the sections that were asked for.
pub(super) fn is_structured(notes: &str) -> bool {
    let named: Vec<String> = notes.lines().filter_map(heading).collect();
    let has = |heading: &str| named.iter().any(|name| name == heading);
    has("task") || HEADINGS.iter().filter(|heading| has(heading)).count() >= FEWEST
}

/// The first word of a heading, however it is marked: `## Task`, `**Task**`, `1. Task:`.
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
    fn notes_must_have_the_sections_that_were_asked_for() {
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
            assert!(is_structured(notes), "{notes}");
        }
        for notes in bad {
            assert!(!is_structured(notes), "{notes}");
        }
    }
}
